#!/usr/bin/env python3
"""Times products in tf32 and int8, softmax, layer norms and sums of usual sizes in PyTorch, twice: the kernel by the profiler, and the call between two events.

    scripts/measure/usual-shapes.py OUTPUT.csv [COUNT]

Sizes are those of models instead of random ones, so that shapes and ways of measuring can be told apart (docs/accuracy.md).
`measured_us` is the mean of five kernels, `event_us` the median of nine calls behind a busy GPU; 256 MiB of zeros leave the L2 dirty.
"""
import csv
import random
import sys

import torch

SIZES = (1024, 2048, 4096, 5120, 8192, 14336)
COLUMNS = "op dtype m n k b_layout out_dtype rows cols impl l2 measured_us event_us".split()


def event_time(call, flush):
    times = []
    for _ in range(12):
        if flush is not None:
            flush.zero_()
        torch.cuda._sleep(200000)
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        call()
        end.record()
        end.synchronize()
        times.append(1e3 * begin.elapsed_time(end))
    return sorted(times[3:])[4]


def kernel_time(call, flush):
    repeats = 5
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        for _ in range(repeats):
            if flush is not None:
                flush.zero_()
            call()
        torch.cuda.synchronize()
    kernels = [event for event in profile.events() if event.device_type == torch.autograd.DeviceType.CUDA and "fill" not in event.name.lower()]
    return sum(event.device_time_total for event in kernels) / repeats


def cases(count):
    functional = torch.nn.functional
    for _ in range(count):
        m, n, k = random.choice((32, 128, 512, 2048, 8192)), random.choice(SIZES), random.choice(SIZES)
        a, b = torch.randn(m, k, device="cuda"), torch.randn(n, k, device="cuda")
        product = {"op": "matmul", "m": m, "n": n, "k": k, "b_layout": "column"}
        yield {**product, "dtype": "tf32"}, lambda a=a, b=b: a @ b.t()
        yield {**product, "dtype": "int8", "out_dtype": "int32"}, lambda a=a.char(), b=b.char(): torch._int_mm(a, b.t())
        rows, cols = random.choice((512, 2048, 8192, 32768)), random.choice((768, 1024, 4096, 8192))
        x = torch.randn(rows, cols, device="cuda", dtype=torch.bfloat16)
        one = torch.ones(cols, device="cuda", dtype=torch.bfloat16)
        shape = {"dtype": "bf16", "rows": rows, "cols": cols}
        yield {**shape, "op": "softmax"}, lambda x=x: x.softmax(-1)
        yield {**shape, "op": "layernorm"}, lambda x=x, one=one: functional.layer_norm(x, (x.shape[1],), one, one)
        yield {**shape, "op": "sum"}, lambda x=x: x.sum(-1)


def main():
    random.seed(5)
    torch.backends.cuda.matmul.allow_tf32 = True
    zeros = torch.empty(64 << 20, device="cuda")
    with open(sys.argv[1], "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        for shape, call in cases(int(sys.argv[2]) if len(sys.argv) > 2 else 22):
            for l2, flush in (("warm", None), ("dirty", zeros)):
                event = event_time(call, flush)
                writer.writerow({**shape, "impl": "torch", "l2": l2, "measured_us": f"{kernel_time(call, flush):.2f}", "event_us": f"{event:.2f}"})


if __name__ == "__main__":
    main()
