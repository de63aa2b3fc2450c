#!/usr/bin/env python3
"""Which kernel F.scaled_dot_product_attention takes by default, and its time: the facts behind `default_impl` of software/pytorch-*.

    scripts/measure/torch-sdpa.py OUTPUT.csv

Each case is called without a choice of backend. `kernel` is the kernel that takes the most time, `backend` the operator that launched it, `measured_us`
the mean of five calls' kernels with a warm L2, `others_us` what other kernels than the longest take of it.
"""
import csv
import itertools
import sys

import torch
import torch.nn.functional as F

TYPES = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}
COLUMNS = "dtype batch heads kv_heads seq_q seq_kv head_dim causal mask direction backend kernel measured_us others_us".split()
REPEATS = 5


def cases():
    """Shapes of prompts, decoding, encoders and training; every head dimension in one shape."""
    for dtype, dim, causal in itertools.product(("bf16", "fp16", "fp32"), (64, 128, 256), (0, 1)):
        yield dict(dtype=dtype, batch=2, heads=16, kv_heads=16, seq_q=1024, seq_kv=1024, head_dim=dim, causal=causal, mask="")
    for dim in (32, 40, 72, 80, 88, 96, 100, 112, 160, 192, 320, 512):
        yield dict(dtype="bf16", batch=1, heads=16, kv_heads=16, seq_q=2048, seq_kv=2048, head_dim=dim, causal=0, mask="")
    for keys, group in itertools.product((512, 2048, 16384), (1, 4)):
        yield dict(dtype="bf16", batch=8, heads=32, kv_heads=32 // group, seq_q=1, seq_kv=keys, head_dim=128, causal=0, mask="")
    for mask, dim in itertools.product(("bool", "bf16"), (64, 72, 80, 128)):
        yield dict(dtype="bf16", batch=1, heads=16, kv_heads=16, seq_q=2048, seq_kv=2048, head_dim=dim, causal=0, mask=mask)
    for queries, keys in ((64, 64), (256, 256), (128, 4096), (4096, 4096), (8192, 8192)):
        yield dict(dtype="bf16", batch=1, heads=32, kv_heads=8, seq_q=queries, seq_kv=keys, head_dim=128, causal=int(queries == keys), mask="")
    for dtype, dim, causal in itertools.product(("bf16", "fp32"), (64, 128, 256), (0, 1)):
        yield dict(dtype=dtype, batch=2, heads=16, kv_heads=16, seq_q=1024, seq_kv=1024, head_dim=dim, causal=causal, mask="", direction="backward")


def call_of(case):
    dtype = TYPES[case["dtype"]]
    train = case.get("direction") == "backward"
    q, k, v = (torch.randn(case["batch"], heads, tokens, case["head_dim"], device="cuda", dtype=dtype, requires_grad=train)
               for heads, tokens in ((case["heads"], case["seq_q"]), (case["kv_heads"], case["seq_kv"]), (case["kv_heads"], case["seq_kv"])))
    mask = None
    if case["mask"]:
        mask = torch.rand(1, 1, case["seq_q"], case["seq_kv"], device="cuda") > 0.5
        mask = mask if case["mask"] == "bool" else mask.to(dtype)

    def forward():
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=bool(case["causal"]), enable_gqa=case["heads"] != case["kv_heads"])
    if not train:
        return forward
    out = forward()
    gradient = torch.randn_like(out)
    return lambda: torch.autograd.grad(out, (q, k, v), gradient, retain_graph=True)


def measured(call):
    for _ in range(2):
        call()
    torch.cuda.synchronize()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]) as run:
        for _ in range(REPEATS):
            call()
        torch.cuda.synchronize()
    backend = max((event for event in run.events() if event.kernels), key=lambda event: max(kernel.duration for kernel in event.kernels)).name
    times = {}
    for event in run.events():
        if event.device_type == torch.autograd.DeviceType.CUDA:
            times[event.name] = times.get(event.name, 0.0) + event.device_time_total / REPEATS
    kernel, longest = max(times.items(), key=lambda each: each[1])
    return {"backend": backend, "kernel": kernel[:110], "measured_us": round(sum(times.values()), 2), "others_us": round(sum(times.values()) - longest, 2)}


def main():
    with open(sys.argv[1], "w", newline="", encoding="utf-8") as file:
        file.write(f"# {torch.cuda.get_device_name()}, torch {torch.__version__}, cuDNN {torch.backends.cudnn.version()}\n")
        rows = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        rows.writeheader()
        for case in cases():
            try:
                rows.writerow({"direction": "forward", **case, **measured(call_of(case))})
            except Exception as error:  # the reason is the row's answer
                rows.writerow({"direction": "forward", **case, "kernel": f"{type(error).__name__}: {error}"[:100].replace("\n", " ")})
            file.flush()


if __name__ == "__main__":
    main()
