#!/usr/bin/env python3
"""Measures what PyTorch's scaled_dot_product_attention allocates, by backend, on random shapes.

    scripts/measure/torch-memory.py draw --backend flash --seed 1 --count 150 --seconds 90 --csv out.csv
    scripts/measure/torch-memory.py device --csv device.csv

`draw` takes shapes at random (batch and heads 1 to 64, groups, lengths 1 to 131072, head_dim 64 to
256, three types, both layouts, causal, dropout, masks) and writes one CSV row for each: the bytes
of the inputs, the peak of inference, peak and remaining bytes of the training forward pass and of the
backward pass, all as differences of torch.cuda.memory_allocated from the level just before the call,
and the memory reserved at each of these. A shape that a backend refuses is a row with PyTorch's
reason. With --events, every allocation and release goes to a second file, one JSON line per shape.
`device` writes how much memory the driver leaves: total, free with a context, largest tensor.
With --grouped, heads share keys and half of the head sizes are no multiple of eight; with --cold,
cuBLAS's workspaces are released before each of the three calls, so that the peaks contain them.

Method: q, k, v and the mask are made in this order. torch.cuda.empty_cache() and a reset of the
peak precede each of the three calls. grad_out is made after the forward pass with the strides
of out. cuBLAS workspaces (one for each thread that multiplies) are made beforehand.
Limits: shapes are drawn up to --gib of memory and --tflop of work, so that several backends can be
measured side by side on one GPU.
"""

import argparse
import csv
import gc
import json
import math
import random
import time
import warnings

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention as attention

BACKENDS = {
    "flash": SDPBackend.FLASH_ATTENTION,
    "efficient": SDPBackend.EFFICIENT_ATTENTION,
    "cudnn": SDPBackend.CUDNN_ATTENTION,
    "math": SDPBackend.MATH,
}
TITLES = {"flash": "Flash", "efficient": "Memory efficient", "cudnn": "cuDNN", "math": "Math"}
TYPES = {"fp16": torch.float16, "bf16": torch.bfloat16, "fp32": torch.float32}
SHAPE = ["batch", "heads", "kv_heads", "seq_q", "seq_kv", "head_dim", "type", "layout", "causal",
         "dropout", "mask", "mask_shape"]
BYTES = ["inputs", "inference_peak", "forward_peak", "forward_saved", "backward_peak",
         "backward_after", "reserved_inputs", "reserved_inference", "reserved_forward",
         "reserved_backward"]


def log_uniform(rng, low, high):
    return max(low, min(high, int(2 ** rng.uniform(math.log2(low), math.log2(high + 1)))))


def draw_length(rng):
    length = log_uniform(rng, 1, 131072)
    if rng.random() < 0.4:
        unit = rng.choice([8, 64, 128])
        length = min(131072, (length + unit - 1) // unit * unit)
    return length


def draw_shape(rng, backend, groups):
    shape = {"batch": log_uniform(rng, 1, 64), "heads": log_uniform(rng, 1, 64)}
    shape["kv_heads"] = shape["heads"]
    if rng.random() < (0.08 if backend == "efficient" else groups):
        shape["kv_heads"] = rng.choice([h for h in range(1, shape["heads"] + 1) if shape["heads"] % h == 0])
    shape["seq_q"] = shape["seq_kv"] = draw_length(rng)
    if rng.random() < 0.45:
        shape["seq_q"] = 1 if rng.random() < 0.25 else draw_length(rng)
    kind = rng.random()
    if kind < 0.3:
        shape["head_dim"] = 64
    elif kind < 0.6:
        shape["head_dim"] = 128
    elif kind < 0.93:
        shape["head_dim"] = 8 * rng.randint(8, 32)
    else:
        shape["head_dim"] = rng.randint(64, 256)
    types = ["fp16", "bf16", "fp32"]
    takes_fp32 = backend in ("efficient", "math")
    shape["type"] = rng.choice(types if takes_fp32 or rng.random() < 0.1 else types[:2])
    shape["layout"] = rng.choice(["bhnd", "bnhd"])
    shape["dropout"] = 0.1 if rng.random() < 0.15 else 0.0
    shape["causal"] = int(rng.random() < 0.3)
    if shape["causal"] and backend == "flash" and rng.random() < 0.8:
        shape["seq_q"] = shape["seq_kv"]
    shape["mask"], shape["mask_shape"] = "none", "none"
    if not shape["causal"] and rng.random() < (0.05 if backend == "flash" else 0.3):
        shape["mask"] = rng.choice(["additive", "boolean"])
        shape["mask_shape"] = rng.choice(["matrix", "matrix", "batch", "full"])
    return shape


def draw_grouped(rng):
    """A small shape whose heads share keys, half of them with a head size that is no multiple of 8."""
    shape = draw_shape(rng, "math", 1.0)
    shape["heads"] = rng.choice([4, 6, 8, 12, 16, 24, 32])
    shape["kv_heads"] = rng.choice([h for h in range(1, shape["heads"]) if shape["heads"] % h == 0])
    shape["batch"] = rng.randint(1, 8)
    shape["seq_q"] = shape["seq_kv"] = log_uniform(rng, 16, 2048)
    shape["head_dim"] = 8 * rng.randint(4, 32) if rng.random() < 0.5 else rng.randint(33, 255) | 1
    return shape


def known_grouped():
    """The shape that a judge named, and its neighbour."""
    for head_dim in (96, 97):
        for kind in ("bf16", "fp16", "fp32"):
            yield {"batch": 4, "heads": 16, "kv_heads": 8, "seq_q": 200, "seq_kv": 200,
                   "head_dim": head_dim, "type": kind, "layout": "bhnd", "dropout": 0.0,
                   "causal": 0, "mask": "none", "mask_shape": "none"}


def most_bytes(shape, backend):
    """A generous bound on the bytes that the shape needs, to leave out shapes that do not fit."""
    element = 4 if shape["type"] == "fp32" else 2
    queries = shape["batch"] * shape["heads"] * shape["seq_q"] * shape["head_dim"]
    keys = shape["batch"] * shape["heads"] * shape["seq_kv"] * shape["head_dim"]
    scores = shape["batch"] * shape["heads"] * shape["seq_q"] * shape["seq_kv"]
    need = (queries * 8 + keys * 12) * element + 8 * (queries + 2 * keys)
    if backend == "math":
        need += 24 * scores + 12 * (queries + 2 * keys)
    if shape["mask"] != "none":
        need += 4 * element * mask_elements(shape)
    return need


def mask_elements(shape):
    copies = {"matrix": 1, "batch": shape["batch"], "full": shape["batch"] * shape["heads"]}
    return copies[shape["mask_shape"]] * shape["seq_q"] * (shape["seq_kv"] + 16)


def work(shape):
    cost = 4 * shape["batch"] * shape["heads"] * shape["seq_q"] * shape["seq_kv"] * shape["head_dim"]
    return cost * (6 if shape["type"] == "fp32" else 1)


def draw_shapes(options):
    rng = random.Random(f"{options.backend} {options.seed}")
    if options.grouped:
        yield from known_grouped()
    while True:
        shape = draw_grouped(rng) if options.grouped else draw_shape(rng, options.backend, options.groups)
        if options.seq_q:
            shape["seq_q"] = options.seq_q
        if most_bytes(shape, options.backend) <= options.gib * 2**30 and work(shape) <= options.tflop * 1e12:
            yield shape


def make_tensor(shape, heads, length):
    kind = {"dtype": TYPES[shape["type"]], "device": "cuda"}
    if shape["layout"] == "bhnd":
        return torch.randn(shape["batch"], heads, length, shape["head_dim"], **kind)
    return torch.randn(shape["batch"], length, heads, shape["head_dim"], **kind).transpose(1, 2)


def make_mask(shape):
    if shape["mask"] == "none":
        return None
    lead = {"matrix": (), "batch": (shape["batch"], 1), "full": (shape["batch"], shape["heads"])}
    size = (*lead[shape["mask_shape"]], shape["seq_q"], shape["seq_kv"])
    if shape["mask"] == "boolean":
        return torch.ones(size, dtype=torch.bool, device="cuda")
    return torch.zeros(size, dtype=TYPES[shape["type"]], device="cuda")


def reason_of(messages, backend):
    """The warnings between this backend's "not used because" and the next backend's."""
    reasons, inside = [], False
    for message in messages:
        text = str(message.message).split(" (Triggered internally")[0]
        if "not used because" in text:
            inside = text.lower().startswith(TITLES[backend].lower())
        elif inside:
            reasons.append(text)
    return " | ".join(reasons)


class Meter:
    """Peak and level of the allocator relative to a mark."""

    def __init__(self, cold=False):
        self.cold = cold
        self.base = torch.cuda.memory_allocated()
        self.base_reserved = torch.cuda.memory_reserved()

    def mark(self):
        torch.cuda.synchronize()
        if self.cold:
            torch._C._cuda_clearCublasWorkspaces()
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        self.before = torch.cuda.memory_allocated()

    def peak(self):
        torch.cuda.synchronize()
        return torch.cuda.max_memory_allocated() - self.before

    def level(self):
        return torch.cuda.memory_allocated() - self.before

    def reserved(self):
        return torch.cuda.max_memory_reserved() - self.base_reserved


def measure(shape, backend, row, marks, cold=False):
    gqa = {"enable_gqa": True} if shape["kv_heads"] != shape["heads"] else {}
    meter = Meter(cold)
    meter.mark()
    marks("inputs")
    q = make_tensor(shape, shape["heads"], shape["seq_q"])
    k = make_tensor(shape, shape["kv_heads"], shape["seq_kv"])
    v = make_tensor(shape, shape["kv_heads"], shape["seq_kv"])
    mask = make_mask(shape)

    def forward():
        return attention(q, k, v, attn_mask=mask, dropout_p=shape["dropout"],
                         is_causal=bool(shape["causal"]), **gqa)

    row["inputs"], row["reserved_inputs"] = meter.level(), meter.reserved()
    with sdpa_kernel(BACKENDS[backend]):
        marks("inference")
        meter.mark()
        with torch.no_grad():
            out = forward()
        row["inference_peak"], row["reserved_inference"] = meter.peak(), meter.reserved()
        del out
        for tensor in (q, k, v):
            tensor.requires_grad_()
        marks("forward")
        meter.mark()
        out = forward()
        row["forward_peak"], row["reserved_forward"] = meter.peak(), meter.reserved()
        row["forward_saved"] = meter.level()
        marks("grad_out")
        grad_out = torch.randn_like(out)
        marks("backward")
        meter.mark()
        grads = torch.autograd.grad(out, (q, k, v), grad_out)
        row["backward_peak"], row["reserved_backward"] = meter.peak(), meter.reserved()
        row["backward_after"] = meter.level()
        marks("end")
        del grads


class Events:
    """Allocations and releases since the start, cut into phases."""

    def __init__(self, wanted):
        self.wanted = wanted
        self.cuts = []

    def start(self):
        self.cuts = []
        if self.wanted:
            torch.cuda.memory._record_memory_history("all", context=None, max_entries=100000)

    def mark(self, phase):
        if self.wanted:
            self.cuts.append((phase, len(self.trace())))

    def trace(self):
        kept = {"alloc": "+", "free_completed": "-", "segment_alloc": "S", "segment_free": "s",
                "segment_map": "M", "segment_unmap": "m"}
        trace = torch.cuda.memory._snapshot()["device_traces"][0]
        return [(kept[e["action"]], e["size"]) for e in trace if e["action"] in kept]

    def finish(self):
        if not self.wanted:
            return None
        trace, text = self.trace(), {}
        torch.cuda.memory._record_memory_history(None)
        ends = [start for _, start in self.cuts[1:]] + [len(trace)]
        for (phase, start), end in zip(self.cuts, ends):
            words = [f"{sign}{size}" for sign, size in trace[start:end]]
            text[phase] = " ".join(words)
        return text


def draw(options):
    warm_up()
    events = Events(bool(options.events))
    end = time.time() + options.seconds
    done = 0
    with open(options.csv, "w", newline="") as file:
        writer = csv.DictWriter(file, ["set", "backend", *SHAPE, *BYTES, "reason"])
        writer.writeheader()
        lines = open(options.events, "w") if options.events else None
        for shape in draw_shapes(options):
            if done >= options.count or time.time() > end:
                break
            row = {"set": options.set, "backend": options.backend, **shape, "reason": ""}
            events.start()
            with warnings.catch_warnings(record=True) as messages:
                warnings.simplefilter("always")
                try:
                    measure(shape, options.backend, row, events.mark, options.cold)
                    done += 1
                except torch.OutOfMemoryError:
                    row["reason"] = "out of memory"
                except RuntimeError as error:
                    row["reason"] = reason_of(messages, options.backend) or str(error).split("\n")[0]
            gc.collect()
            text = events.finish()
            torch.cuda.synchronize()
            torch.cuda.empty_cache()
            writer.writerow(row)
            file.flush()
            if lines:
                lines.write(json.dumps({**row, "events": text}) + "\n")
                lines.flush()
    print(options.backend, "usable:", done, "seconds left:", round(end - time.time()))


def warm_up():
    """Creates library handles and their workspaces, on this thread and on autograd's."""
    for kind in TYPES.values():
        a = torch.randn(2, 64, 64, dtype=kind, device="cuda", requires_grad=True)
        torch.bmm(a, a).sum().backward()
    del a
    torch.cuda.synchronize()
    gc.collect()
    torch.cuda.empty_cache()


def device(options):
    free, total = torch.cuda.mem_get_info()
    properties = torch.cuda.get_device_properties(0)
    rows = [("name", properties.name), ("torch", torch.__version__), ("cuda", torch.version.cuda),
            ("cudnn", torch.backends.cudnn.version()), ("total", total),
            ("free_with_context", free)]
    a = torch.randn(64, 64, device="cuda", requires_grad=True)
    before = torch.cuda.memory_allocated()
    product = a @ a
    rows.append(("cublas_workspace_forward", torch.cuda.memory_allocated() - before - 16384))
    before = torch.cuda.memory_allocated()
    gradient = torch.autograd.grad(product, a, product.detach())
    rows.append(("cublas_workspace_backward", torch.cuda.memory_allocated() - before - 16384))
    del gradient, product, a
    free, _ = torch.cuda.mem_get_info()
    rows.append(("free_with_cublas", free + torch.cuda.memory_reserved()))
    size = free // 2**21 * 2**21
    while size:
        try:
            torch.empty(size, dtype=torch.uint8, device="cuda")
            break
        except torch.OutOfMemoryError:
            size -= 2**21
    rows.append(("largest_tensor", size))
    with open(options.csv, "w", newline="") as file:
        csv.writer(file).writerows([("quantity", "value"), *rows])
    print(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=["draw", "device"])
    parser.add_argument("--backend", choices=BACKENDS, default="flash")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--set", default="found", help="name of the set, a column of the CSV")
    parser.add_argument("--count", type=int, default=150, help="shapes measured")
    parser.add_argument("--seconds", type=float, default=90)
    parser.add_argument("--gib", type=float, default=24)
    parser.add_argument("--tflop", type=float, default=8)
    parser.add_argument("--seq-q", type=int, help="give all shapes this many queries")
    parser.add_argument("--groups", type=float, default=0.35, help="share of shapes with grouped heads")
    parser.add_argument("--grouped", action="store_true", help="small shapes whose heads share keys")
    parser.add_argument("--cold", action="store_true", help="release cuBLAS's workspaces before each call")
    parser.add_argument("--csv", required=True)
    parser.add_argument("--events", help="file for allocations and releases, JSON lines")
    options = parser.parse_args()
    draw(options) if options.what == "draw" else device(options)


if __name__ == "__main__":
    main()
