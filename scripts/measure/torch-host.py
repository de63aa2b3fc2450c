#!/usr/bin/env python3
"""Measures how long a host takes to dispatch PyTorch: by kind of call, in CUDA graphs, compiled.

    scripts/measure/torch-host.py --csv out.csv [--seconds 60] [--parts kinds,graph,compiled]

kinds: microseconds per call on tiny tensors, without and with gradients (`forward`, and `backward` per
node of the tape), for views, elementwise operators, products, attention, modules, and AdamW per
tensor. graph: a prefill of few tokens, eager and replayed as a CUDA graph. compiled: torch.compile of
shallow models, prefill and training step, with the default mode and mode "reduce-overhead" (CUDA graphs).

A row holds kind, name, count (calls, or kernels of the step), us (per call; for a step: wall),
dispatch_us (the part of wall before the step returned), gpu_us (sum of its kernels), probe_us (the
launch time of a small kernel at that moment, see scripts/measure/torch-models.py).
Method: medians of ten; at most 200 calls between synchronisations, so that the queue of the
driver never fills.
"""

import argparse
import csv
import statistics
import time

import torch
import torch.nn.functional as F

from siblings import sibling

MODELS = sibling("torch-models.py")
FIELDS = ["part", "name", "phase", "batch", "seq", "layers", "count", "us", "dispatch_us", "gpu_us", "probe_us",
          "reason"]
CALLS = 60


def timed(call):
    """Median microseconds until the call has returned, and until the GPU has finished."""
    walls, sent = MODELS.timed(call, seconds=float("inf"))
    return statistics.median(sent), statistics.median(walls)


class Plain(torch.nn.Module):
    """A module that does nothing."""

    def forward(self, x):
        return x


def kinds():
    """Calls by name; each is a function of x, which may require gradients."""
    def tensor(*shape):
        return torch.randn(*shape, device="cuda", dtype=torch.bfloat16)

    x, y, weight, norm = tensor(1, 8, 64), tensor(1, 8, 64), tensor(64, 64), tensor(64)
    heads = tensor(1, 1, 8, 64)  # whose attention is a fused kernel
    ids = torch.zeros(1, 8, dtype=torch.long, device="cuda")
    table = tensor(100, 64)
    linear = torch.nn.Linear(64, 64, bias=False, device="cuda", dtype=torch.bfloat16)
    plain = Plain()
    return x, {
        "nothing": lambda t: t,
        "module": plain,
        "view": lambda t: t.view(8, 64),
        "transpose": lambda t: t.transpose(1, 2),
        "slice": lambda t: t[..., :32],
        "unsqueeze": lambda t: t.unsqueeze(1),
        "empty": torch.empty_like,
        "add": lambda t: t + y,
        "multiply by a row": lambda t: t * norm,
        "silu": F.silu,
        "cast": lambda t: t.to(torch.float32),
        "mean": lambda t: t.mean(-1, keepdim=True),
        "softmax": lambda t: t.softmax(-1),
        "layer norm": lambda t: F.layer_norm(t, (64,), norm, norm),
        "cat": lambda t: torch.cat((t, y), dim=-1),
        "linear": lambda t: F.linear(t, weight),
        "nn.Linear": linear,
        "attention": lambda t: F.scaled_dot_product_attention(t.unsqueeze(0), heads, heads, is_causal=True),
        "embedding": lambda _: F.embedding(ids, table),
    }


def measure_kinds(write):
    x, calls = kinds()
    for name, call in calls.items():
        row = {"part": "kinds", "name": name, "count": CALLS, "probe_us": MODELS.probe()}

        def run(call=call):
            for _ in range(CALLS):
                call(x)

        with torch.no_grad():
            run()
            write(dict(row, phase="inference", us=timed(run)[0] / CALLS))
        x.requires_grad_(True)
        outs = []

        def taped(call=call):
            outs.clear()
            outs.extend(call(x) for _ in range(CALLS))

        taped()
        write(dict(row, phase="forward", us=timed(taped)[0] / CALLS))
        if outs[0] is not x and outs[0].requires_grad:
            backward = []
            for _ in range(6):
                taped()
                ones = [torch.ones_like(out) for out in outs]
                torch.cuda.synchronize()
                start = time.perf_counter()
                torch.autograd.backward(outs, ones)
                backward.append((time.perf_counter() - start) * 1e6 / CALLS)
                x.grad = None
            write(dict(row, phase="backward", us=statistics.median(backward)))
        outs.clear()
        x.requires_grad_(False)
    for tensors in (20, 200):
        weights = [torch.nn.Parameter(torch.zeros(64, device="cuda", dtype=torch.bfloat16)) for _ in range(tensors)]
        for weight in weights:
            weight.grad = torch.ones_like(weight)
        optimizer = torch.optim.AdamW(weights, lr=1e-5)
        optimizer.step()
        write({"part": "kinds", "name": "AdamW", "phase": "update", "count": tensors, "probe_us": MODELS.probe(),
               "us": timed(optimizer.step)[0] / tensors})


def kernels_of(call):
    """The number of kernels of one call and the sum of their times."""
    activities = [torch.profiler.ProfilerActivity.CUDA, torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=activities) as run:
        call()
        torch.cuda.synchronize()
    times = [microseconds for name, microseconds in MODELS.device_work(run)
             if not name.startswith(("Memset", "Memcpy"))]
    return len(times), sum(times)


def step_row(part, name, phase, batch, seq, layers, call):
    for _ in range(3):
        call()
    row = {"part": part, "name": name, "phase": phase, "batch": batch, "seq": seq, "layers": layers,
           "probe_us": MODELS.probe()}
    row["dispatch_us"], row["us"] = timed(call)
    row["count"], row["gpu_us"] = kernels_of(call)
    return row


def shallow(name, layers, train):
    """A preset's model with fewer layers."""
    MODELS.CHANGES[name] = {"n_layer" if name.startswith("gpt2") else "num_hidden_layers": layers}
    return MODELS.build(name, train).train(train)


def measure_graph(write):
    for name, batch, seq in (("llama-3.2-1b", 1, 64), ("gpt2", 1, 64), ("qwen3-0.6b", 1, 64)):
        model = shallow(name, 12, False)
        ids = torch.zeros(batch, seq, dtype=torch.long, device="cuda")

        def step(model=model, ids=ids):
            with torch.no_grad():
                return model(ids, use_cache=True, logits_to_keep=1).logits

        write(step_row("graph", name + " eager", "prefill", batch, seq, 12, step))
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            step()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            step()
        write(step_row("graph", name + " graph", "prefill", batch, seq, 12, graph.replay))
        del model


COMPILED = [("llama-3.2-1b", "prefill", 1, 64), ("llama-3.2-1b", "prefill", 2, 1024), ("gpt2", "prefill", 1, 64),
            ("gpt2", "train", 4, 512), ("llama-3.2-1b", "train", 2, 512)]


def measure_compiled(write, late):
    for name, phase, batch, seq in COMPILED:
        for mode in ("default", "reduce-overhead"):
            if late() or (phase == "train" and mode != "default"):
                continue
            torch._dynamo.reset()
            train = phase == "train"
            model = shallow(name, 4, train)
            compiled = torch.compile(model, mode=mode)
            ids = torch.zeros(batch, seq, dtype=torch.long, device="cuda")

            def prefill(compiled=compiled, ids=ids):
                with torch.no_grad():
                    return compiled(ids, use_cache=True, logits_to_keep=1).logits

            optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5) if train else None

            def training(compiled=compiled, ids=ids, optimizer=optimizer):
                optimizer.zero_grad(set_to_none=True)
                compiled(ids, labels=ids, use_cache=False).loss.backward()
                optimizer.step()

            began = time.perf_counter()
            try:
                write(step_row("compiled", f"{name} {mode}", phase, batch, seq, 4, training if train else prefill))
            except Exception as error:  # pylint: disable=broad-except
                write({"part": "compiled", "name": f"{name} {mode}", "phase": phase, "reason": repr(error)[:200]})
            print("   compiling and measuring took", round(time.perf_counter() - began, 1), "s", flush=True)
            del model, compiled, optimizer


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--csv", required=True)
    parser.add_argument("--parts", default="kinds,graph,compiled")
    parser.add_argument("--seconds", type=float, default=1e9)
    args = parser.parse_args()
    torch.nn.init.normal_ = lambda tensor, *a, **k: tensor
    began = time.perf_counter()
    with open(args.csv, "w", newline="", encoding="utf-8") as file:
        file.write(f"# {torch.cuda.get_device_name()}, torch {torch.__version__}, CPU {MODELS.cpu_name()}\n")
        out = csv.DictWriter(file, FIELDS)
        out.writeheader()

        def write(row):
            row = {key: round(value, 3) if isinstance(value, float) else value for key, value in row.items()}
            out.writerow(row)
            file.flush()
            print(round(time.perf_counter() - began, 1), row, flush=True)

        parts = args.parts.split(",")
        if "kinds" in parts:
            measure_kinds(write)
        if "graph" in parts:
            measure_graph(write)
        if "compiled" in parts:
            measure_compiled(write, lambda: time.perf_counter() - began > args.seconds)


if __name__ == "__main__":
    main()
