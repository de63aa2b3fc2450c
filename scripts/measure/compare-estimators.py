#!/usr/bin/env python3
"""Compares ridge.torch.estimate with PyTorch's RuntimeEstimator and MemTracker, and with measurements.

    scripts/measure/compare-estimators.py --csv out.csv [--parts measured,benchmark,estimates] [--seconds 90]

Steps of transformers models with random weights (presets of programs/presets, bf16): prefill, a decode
step with a DynamicCache, and a training step with AdamW. Each step has rows with time and peak memory of

measured        the sum of its kernels (profiler) and torch.cuda's peak of allocated bytes
benchmark       RuntimeEstimator("operator-level-benchmark"): every operator, run alone on the GPU
cost model      RuntimeEstimator("operator-level-cost-model"): the roofline of its FLOP and bytes
MemTracker      the peak on fake tensors
ridge           ridge.torch.estimate(gpu=...), which needs no GPU

`measured` and `benchmark` run kernels; `estimates` (the other three) can run beside other work. --join A.csv B.csv
joins the rows of each step and prints the table of docs/python.md.
Limits: PyTorch's estimators get the models on fake CUDA tensors, as their documentation shows. ridge gets them
on the CPU, as on a machine without a GPU.
"""

import argparse
import csv
import gc
import json
import pathlib
import time

from siblings import sibling

STEPS = [
    ("llama-3.2-1b", "prefill", 2, 1024), ("llama-3.2-1b", "decode", 16, 2048), ("llama-3.2-1b", "train", 2, 1024),
    ("gpt2", "prefill", 8, 1024), ("gpt2", "decode", 8, 512), ("gpt2", "train", 4, 1024),
    ("qwen3-0.6b", "prefill", 4, 1024), ("qwen3-0.6b", "decode", 8, 1024), ("qwen3-0.6b", "train", 2, 1024),
    ("pythia-410m", "prefill", 4, 2048), ("pythia-410m", "decode", 16, 1024), ("pythia-410m", "train", 4, 1024),
    ("phi-1.5", "prefill", 4, 1024), ("phi-1.5", "decode", 8, 1024), ("phi-1.5", "train", 2, 1024),
    ("gemma-3-270m", "prefill", 4, 1024), ("gemma-3-270m", "decode", 8, 1024), ("gemma-3-270m", "train", 2, 1024),
    ("vit-base", "inference", 64, 224), ("vit-base", "train", 32, 224),
    ("resnet-50", "inference", 64, 224), ("resnet-50", "train", 32, 224),
]
# Networks for images, as transformers configures them; a step's length is the edge of the image.
VISION = {"vit-base": "vit", "resnet-50": "resnet"}
FIELDS = ["model", "phase", "batch", "seq", "method", "time_us", "peak_bytes", "kernels", "seconds", "reason"]
METHODS = ("measured", "benchmark", "cost model", "MemTracker", "ridge")


def model_of(name, device, train):
    """The preset's model on a device, with uninitialised weights."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    if name in VISION:
        from transformers import AutoModelForImageClassification

        config = AutoConfig.for_model(VISION[name], num_labels=1000)
        with torch.device(device):
            model = AutoModelForImageClassification.from_config(config, dtype=torch.bfloat16)
        return model.train(train)
    root = pathlib.Path(__file__).resolve().parents[2]
    fields = json.loads((root / "programs" / "presets" / f"{name}.json").read_text(encoding="utf-8"))
    fields = {key: value for key, value in fields.items() if not key.startswith("ridge_")}
    config = AutoConfig.for_model(fields.pop("model_type"), **fields)
    config._attn_implementation = "sdpa"
    torch.nn.init.normal_ = lambda tensor, *a, **k: tensor
    with torch.device(device):
        model = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
    return model.train(train)  # MemTracker hooks every parameter, so they keep requires_grad


def filled_cache(model, batch, seq, device):
    """A cache of `seq` tokens, without computing them."""
    import torch
    from transformers import DynamicCache

    config = model.config
    cache = DynamicCache(config=config)
    heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
    width = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    for layer in range(config.num_hidden_layers):
        keys = torch.empty(batch, heads, seq, width, dtype=torch.bfloat16, device=device)
        cache.update(keys, torch.empty_like(keys), layer)
    for layer in cache.layers:  # a window is a view of all tokens until a step appends its own
        layer.keys, layer.values = layer.keys.clone(), layer.values.clone()
    return cache


def inputs_of(model, phase, batch, seq, device):
    """Token ids, and the model's keyword arguments: the ids, or images (with labels in training)."""
    import torch

    train = phase == "train"
    if not hasattr(model.config, "vocab_size"):
        images = torch.zeros(batch, 3, seq, seq, dtype=torch.bfloat16, device=device)
        labels = torch.zeros(batch, dtype=torch.long, device=device)
        return None, {"pixel_values": images, **({"labels": labels} if train else {})}
    ids = torch.zeros(batch, 1 if phase == "decode" else seq, dtype=torch.long, device=device)
    return ids, {"input_ids": ids, "labels": ids} if train else {"input_ids": ids}


def step_of(model, phase, batch, seq, device, optimizer):
    """A function that runs one step."""
    import torch

    ids, inputs = inputs_of(model, phase, batch, seq, device)
    if phase == "train":
        def step():
            model(**inputs).loss.backward()
            optimizer.step()
        return step
    if "pixel_values" in inputs:
        return torch.no_grad()(lambda: model(**inputs))
    cache = filled_cache(model, batch, seq, device) if phase == "decode" else None

    def forward():
        with torch.no_grad():
            if cache is not None:
                return model(ids, past_key_values=cache, use_cache=True)
            return model(ids, use_cache=True, logits_to_keep=1)
    return forward


def on_fake_tensors(name, phase, batch, seq, watch):
    """Runs a step on fake CUDA tensors in the context that `watch(model, optimizer)` returns; returns the context."""
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode

    train = phase == "train"
    with FakeTensorMode():
        model = model_of(name, "cuda", train)
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, foreach=True) if train else None
        step = step_of(model, phase, batch, seq, "cuda", optimizer)
        if train:  # the first step creates the optimizer's states
            step()
            optimizer.zero_grad(set_to_none=True)
        watcher = watch(model, optimizer)
        with watcher:
            out = step()
        del out
    return watcher


def runtime_estimate(kind):
    def run(name, phase, batch, seq):
        from torch.distributed._tools.runtime_estimator import RuntimeEstimator

        found = on_fake_tensors(name, phase, batch, seq, lambda *_: RuntimeEstimator()(kind))
        return {"time_us": found.total_runtime * 1000.0}
    return run


def tracked_memory(name, phase, batch, seq):
    from torch.distributed._tools.mem_tracker import MemTracker

    def watch(model, optimizer):
        tracker = MemTracker()
        tracker.track_external(*(thing for thing in (model, optimizer) if thing is not None))
        return tracker

    found = on_fake_tensors(name, phase, batch, seq, watch).get_tracker_snapshot("peak")
    return {"peak_bytes": max(int(snapshot["Total"]) for device, snapshot in found.items() if device.type == "cuda")}


def ridge_estimate(gpu):
    def run(name, phase, batch, seq):
        import ridge.torch

        train = phase == "train"
        model = model_of(name, "meta", train)
        ids, inputs = inputs_of(model, phase, batch, seq, "meta")
        if train:
            report = ridge.torch.estimate(model, **inputs, gpu=gpu, mode="train", optimizer="adamw")
        elif ids is None:
            report = ridge.torch.estimate(model, **inputs, gpu=gpu)
        elif phase == "decode":
            cache = filled_cache(model, batch, seq, "meta")
            report = ridge.torch.estimate(model, ids, past_key_values=cache, use_cache=True, gpu=gpu)
        else:
            report = ridge.torch.estimate(model, ids, use_cache=True, logits_to_keep=1, gpu=gpu)
        return {"time_us": report.gpu_time_us, "peak_bytes": report.peak_bytes, "kernels": report.kernels}
    return run


def image_stepper(models, model, phase, batch, seq, optimizer):
    """Like models.Stepper, for a network that takes images."""
    import torch

    class Images(models.Stepper):
        def __init__(self):  # pylint: disable=super-init-not-called
            self.model, self.phase, self.optimizer = model, phase, optimizer
            self.cache, self.held = None, []
            self.inputs = inputs_of(model, phase, batch, seq, "cuda")[1]

        def step(self):
            if phase != "train":
                with torch.no_grad():
                    return model(**self.inputs)
            loss = model(**self.inputs).loss
            loss.backward()
            optimizer.step()
            return loss

    return Images()


OPERATORS = None  # with --operators: the file for every distinct kernel of the measured steps


def measured(name, phase, batch, seq):
    import torch

    models = sibling("torch-models.py")
    train = phase == "train"
    torch._C._cuda_clearCublasWorkspaces()  # of the previous model
    model = model_of(name, "cuda", train) if name in VISION else models.build(name, train)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(0.0, 0.02)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5) if train else None
    stepper = models.Stepper(model, phase, batch, seq, optimizer) if name not in VISION else \
        image_stepper(models, model, phase, batch, seq, optimizer)
    row = models.measure(stepper, OPERATORS, {"model": name, "phase": phase}, 3)
    return {"time_us": row["time_us"], "kernels": row["kernels"],
            "peak_bytes": row["allocated_before"] + row["peak_extra_bytes"]}


def joined(paths):
    """Prints estimates over measurements, one line per step."""
    found = {}
    for path in paths:
        with open(path, encoding="utf-8") as file:
            for row in csv.DictReader(line for line in file if not line.startswith("#")):
                key = (row["model"], row["phase"], f"{row['batch']} x {row['seq']}")
                found.setdefault(key, {})[row["method"]] = row
    head = ["step", "measured", "ridge", "benchmark", "cost model", "peak", "ridge", "MemTracker"]
    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    errors = {}
    for key, rows in found.items():
        def cell(method, column, base=rows):
            value, truth = base.get(method, {}).get(column), base.get("measured", {}).get(column)
            if not value or not truth:
                return "-"
            error = float(value) / float(truth) - 1
            errors.setdefault((method, column), []).append(abs(error))
            return f"{100 * error:+.1f} %"
        truth = rows.get("measured", {})
        if not truth.get("time_us"):
            continue
        cells = [" ".join(key), f"{float(truth['time_us']) / 1000:.1f} ms"]
        cells += [cell(method, "time_us") for method in ("ridge", "benchmark", "cost model")]
        cells += [f"{float(truth['peak_bytes']) / 2**20:.0f} MiB"]
        cells += [cell(method, "peak_bytes") for method in ("ridge", "MemTracker")]
        print("| " + " | ".join(cells) + " |")
    for (method, column), values in errors.items():
        print(f"{method} {column}: mean {100 * sum(values) / len(values):.1f} %, worst {100 * max(values):.1f} % of {len(values)}")


def run_parts(args, methods):
    began = time.perf_counter()
    with open(args.csv, "w", newline="", encoding="utf-8") as file:
        out = csv.DictWriter(file, FIELDS)
        out.writeheader()
        for step in STEPS:
            for method, run in methods.items():
                if time.perf_counter() - began > args.seconds:
                    return
                row = dict(zip(FIELDS, step), method=method)
                start = time.perf_counter()
                try:
                    row.update(run(*step))
                except Exception as error:  # pylint: disable=broad-except
                    row["reason"] = repr(error)[:300]
                row["seconds"] = round(time.perf_counter() - start, 2)
                out.writerow(row)
                file.flush()
                print(round(time.perf_counter() - began, 1), row, flush=True)
                gc.collect()
                if method in ("measured", "benchmark"):
                    import torch

                    torch.cuda.empty_cache()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--csv")
    parser.add_argument("--parts", default="measured,benchmark,estimates")
    parser.add_argument("--gpu", default="h200-sxm")
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--join", nargs="+")
    parser.add_argument("--models", help="names, separated by commas")
    parser.add_argument("--operators", help="file for the kernels of the measured steps")
    args = parser.parse_args()
    if args.models:
        STEPS[:] = [step for step in STEPS if step[0] in args.models.split(",")]
    if args.join:
        joined(args.join)
        return
    if not args.csv:
        parser.error("--csv or --join is needed")
    if args.operators:
        global OPERATORS  # pylint: disable=global-statement
        OPERATORS = open(args.operators, "w", encoding="utf-8")
    parts = args.parts.split(",")
    methods = {}
    if "measured" in parts:
        methods["measured"] = measured
    if "benchmark" in parts:
        methods["benchmark"] = runtime_estimate("operator-level-benchmark")
    if "estimates" in parts:
        methods["cost model"] = runtime_estimate("operator-level-cost-model")
        methods["MemTracker"] = tracked_memory
    if "estimates" in parts or "ridge" in parts:
        methods["ridge"] = ridge_estimate(args.gpu)
    run_parts(args, methods)


if __name__ == "__main__":
    main()
