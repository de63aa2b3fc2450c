#!/usr/bin/env python3
"""Measures steps of transformers models with random weights: kernels, their time, wall time, memory.

    scripts/measure/torch-models.py --csv out.csv --seconds 200 [--models llama-3.2-1b,gpt2] [--operators o.jsonl]
    scripts/measure/torch-models.py --csv out.csv --drawn records/torch-models/drawn

Each model is built from its preset in programs/presets (no download), in bf16, with transformers' eager code and SDPA:
prefill of a prompt (use_cache, logits of the last token), one decode step with a DynamicCache of
`seq` tokens, and a training step (model(ids, labels=ids).loss, backward, AdamW as torch.optim makes
it, gradients dropped before). A row holds what `ridge model` predicts: kernels (CUDA kernels, not
memsets or copies), the sum of their times, wall time of the step without the profiler, and bytes of
weights, cache, allocated before the step, its peak (also the requested peak, before the allocator
rounds), and reserved. --drawn measures the steps that scripts/measure/draw-models.py drew.

Method: three warm-up steps. wall is the median of up to 10 steps between synchronisations, dispatch the
part of it before the step returned, and probe the host's time for one small kernel between
these steps (hosts that are virtual machines change within seconds). A decode
step is repeated from the same cache; new_length_wall_us is a step with a new length. Memory comes from
torch.cuda.memory_stats of one step, with the peak reset before. Kernels and their time come from
the profiler (CUPTI activities) of one more step. --operators also keeps every distinct kernel of a
step with its operator's shapes, count and time.
Limits: a step that does not fit is a row with the reason. Steps are measured until the seconds are
used up, so list the most important models first.
"""

import argparse
import csv
import gc
import json
import pathlib
import platform
import statistics
import time

import torch
import transformers
from transformers import AutoConfig, AutoModelForCausalLM, DynamicCache

# (phase, batch, seq) of each model; `judge` marks rows that must not be used to choose constants.
STEPS = {
    "llama-3.2-1b": [("prefill", 2, 1024), ("prefill", 1, 4096), ("prefill", 8, 2048),
                 ("decode", 1, 1024), ("decode", 16, 2048), ("decode", 64, 4096),
                 ("train", 2, 1024), ("train", 4, 2048)],
    "gpt2": [("prefill", 8, 1024), ("decode", 8, 512), ("train", 4, 1024), ("train", 8, 512)],
    "qwen2.5-1.5b": [("prefill", 1, 2048), ("prefill", 4, 4096), ("decode", 1, 512),
                     ("decode", 32, 2048), ("train", 2, 1024)],
    "qwen3-4b": [("prefill", 1, 2048), ("prefill", 2, 4096), ("decode", 8, 1024)],
    "llama-3.1-8b": [("prefill", 1, 2048), ("prefill", 4, 2048), ("decode", 1, 2048),
                 ("decode", 32, 1024)],
    "gemma-3-1b": [("prefill", 2, 1024), ("prefill", 8, 2048), ("decode", 4, 1024),
                   ("decode", 1, 300)],
    "olmoe-1b-7b": [("prefill", 1, 1024), ("prefill", 4, 2048), ("decode", 1, 512),
                    ("decode", 32, 1024)],
    "pythia-410m": [("prefill", 4, 2048), ("decode", 16, 1024), ("train", 4, 1024)],
    "phi-2": [("prefill", 1, 2048), ("prefill", 8, 1024), ("decode", 4, 1024)],
    "gpt2-medium": [("prefill", 16, 1024), ("decode", 4, 512), ("train", 8, 1024)],
    "llama-3.2-3b": [("prefill", 1, 8192), ("prefill", 4, 1024), ("decode", 8, 4096),
                 ("train", 1, 2048)],
    "mistral-7b-v0.3": [("prefill", 2, 3000), ("decode", 16, 1500)],
    "phi-3-mini-4k": [("prefill", 2, 2048), ("decode", 8, 1024)],
    "deepseek-v2-lite": [("prefill", 2, 1024), ("decode", 8, 1024)],
}
JUDGE = {"gpt2-medium", "llama-3.2-3b", "mistral-7b-v0.3", "phi-3-mini-4k"}
FIELDS = ["model", "layers", "window", "phase", "batch", "seq", "dtype", "optimizer", "judge", "parameters",
          "weights_bytes", "kv_cache_bytes", "allocated_before", "peak_extra_bytes",
          "requested_extra_bytes", "reserved_bytes", "kernels", "time_us", "wall_us", "least_wall_us", "dispatch_us", "probe_us",
          "new_length_wall_us", "memsets", "copies", "reason"]
# Short steps that wait for their host, to measure the time of the host.
HOST = [("prefill", 1, 64), ("decode", 1, 256), ("train", 1, 64)]
HOST_MODELS = ["gpt2", "llama-3.2-1b", "qwen3-0.6b", "gemma-3-270m", "pythia-160m", "phi-1.5"]
# Events other than kernels that the profiler writes on the GPU's track.
ANNOTATIONS = ("Optimizer.", "nccl:", "record_param", "FSDP::", "Torch-Compiled", "CompiledFunction", "##")
PRESETS = pathlib.Path(__file__).resolve().parents[2] / "programs" / "presets"


class Stepper:
    """One phase of one model: `step` runs it once, from the same state each time."""

    def __init__(self, model, phase, batch, seq, optimizer):
        self.model, self.phase, self.batch, self.seq = model, phase, batch, seq
        self.vocabulary = getattr(model, "module", model).config.vocab_size
        self.ids = torch.randint(0, self.vocabulary, (batch, 1 if phase == "decode" else seq),
                                 device="cuda")
        self.optimizer = optimizer
        self.cache = None
        self.held = []

    def fill(self):
        """Fills a cache with `seq` random tokens, as prefill leaves it."""
        cache = DynamicCache(config=self.model.config)
        with torch.no_grad():
            prompt = torch.randint(0, self.vocabulary, (self.batch, self.seq), device="cuda")
            self.model(prompt, past_key_values=cache, use_cache=True, logits_to_keep=1)
        return cache

    def prepare(self):
        if self.phase == "train":
            self.model.train()
            self.optimizer.zero_grad(set_to_none=True)
        else:
            self.model.eval()
        if self.phase == "decode" and self.cache is None:
            self.cache = self.fill()

    def step(self):
        if self.phase == "train":
            loss = self.model(input_ids=self.ids, labels=self.ids).loss
            loss.backward()
            self.optimizer.step()
            return loss
        with torch.no_grad():
            if self.phase == "decode":
                return self.model(self.ids, past_key_values=self.cache, use_cache=True)
            return self.model(self.ids, use_cache=True, logits_to_keep=1)

    def hold(self):
        """Makes every later decode step start from the cache as it is now. With a new length, cuDNN
        plans its kernel again, which takes longer than all dispatch."""
        if self.cache is not None:
            self.held = [(layer, layer.keys, layer.values, getattr(layer, "cumulative_length", None))
                         for layer in self.cache.layers]

    def after(self):
        """Restores the state before the step."""
        if self.phase == "train":
            self.optimizer.zero_grad(set_to_none=True)
        for layer, keys, values, length in self.held:
            layer.keys, layer.values = keys, values
            if length is not None:
                layer.cumulative_length = length


def timed(step, after=lambda: None, ready=torch.cuda.synchronize, repeats=10, seconds=0.5):
    """Microseconds of several steps, from `ready` until the GPU has finished and until the call returned.

    Runs at least three steps, at most `repeats`, and no longer than `seconds`. `after` is not timed.
    """
    walls, sent = [], []
    began = time.perf_counter()
    while len(walls) < repeats and (len(walls) < 3 or time.perf_counter() - began < seconds):
        ready()
        start = time.perf_counter()
        out = step()
        sent.append((time.perf_counter() - start) * 1e6)
        torch.cuda.synchronize()
        walls.append((time.perf_counter() - start) * 1e6)
        del out
        after()
    return walls, sent


def device_work(run):
    """(name, microseconds) of the GPU work of a profiled run, without annotations."""
    for event in run.profiler.kineto_results.events():
        name = event.name()
        if event.device_type() != torch.autograd.DeviceType.CUDA or event.duration_ns() <= 0:
            continue
        if event.is_user_annotation():
            continue
        if not name.startswith(ANNOTATIONS):
            yield name, event.duration_ns() / 1000.0


def probe(times=10):
    """Microseconds that the host takes now for one small kernel: the median of `times` runs of a hundred."""
    x = torch.zeros(1, device="cuda")
    taken = []
    for _ in range(times):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(100):
            x.add_(1.0)
        taken.append((time.perf_counter() - start) * 1e4)
    torch.cuda.synchronize()
    return statistics.median(taken)


def layers_of(model):
    """The list of a decoder's layers."""
    for body, layers in (("model", "layers"), ("transformer", "h"), ("gpt_neox", "layers")):
        if hasattr(model, body):
            return getattr(getattr(model, body), layers)
    raise ValueError(f"{type(model).__name__} has no layers that are known")


def cache_bytes(cache):
    total = 0
    for layer in cache.layers:
        for tensor in (layer.keys, layer.values):
            total += tensor.numel() * tensor.element_size()
    return total


def profile(stepper, operators_file, label):
    """Number and time of the kernels of one step; also, by operator, its shapes and kernel."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA,
                                            torch.profiler.ProfilerActivity.CPU],
                                record_shapes=operators_file is not None) as run:
        out = stepper.step()
        torch.cuda.synchronize()
    del out
    stepper.after()
    kernels, memsets, copies, total = 0, 0, 0, 0.0
    for name, microseconds in device_work(run):
        if name.startswith("Memset"):
            memsets += 1
        elif name.startswith("Memcpy"):
            copies += 1
        else:
            kernels += 1
            total += microseconds
    if operators_file is not None:
        rows = {}
        for event in run.events():
            for kernel in event.kernels:
                if kernel.name.startswith(("Memset", "Memcpy")):
                    continue
                key = (event.name, str(event.input_shapes)[:160], kernel.name[:110])
                seen = rows.setdefault(key, [0, 0.0])
                seen[0] += 1
                seen[1] += kernel.duration
        for (name, shapes, kernel), (count, time_us) in rows.items():
            operators_file.write(json.dumps(dict(label, op=name, shapes=shapes, kernel=kernel,
                                                 count=count, time_us=round(time_us, 2))) + "\n")
        operators_file.flush()
    return kernels, total, memsets, copies


def measure(stepper, operators_file, label, repeats):
    stepper.prepare()
    for _ in range(3):
        stepper.step()
        stepper.after()
    torch.cuda.synchronize()
    row = {}
    stats = torch.cuda.memory_stats()
    before, requested = stats["allocated_bytes.all.current"], stats["requested_bytes.all.current"]
    torch.cuda.reset_peak_memory_stats()
    out = stepper.step()
    torch.cuda.synchronize()
    stats = torch.cuda.memory_stats()
    row["allocated_before"] = before
    row["peak_extra_bytes"] = stats["allocated_bytes.all.peak"] - before
    row["requested_extra_bytes"] = stats["requested_bytes.all.peak"] - requested
    row["reserved_bytes"] = stats["reserved_bytes.all.current"]
    if stepper.phase == "prefill":
        row["kv_cache_bytes"] = cache_bytes(out.past_key_values)
    elif stepper.phase == "decode":
        row["kv_cache_bytes"] = cache_bytes(stepper.cache)
    del out
    stepper.after()
    if stepper.phase == "decode":
        start = time.perf_counter()
        stepper.step()
        torch.cuda.synchronize()
        row["new_length_wall_us"] = round((time.perf_counter() - start) * 1e6, 1)
        stepper.hold()
        for _ in range(2):
            stepper.step()
            stepper.after()
    probes = []

    def after():
        stepper.after()
        probes.append(probe(3))

    walls, sent = timed(stepper.step, after, repeats=repeats)
    row["probe_us"] = round(statistics.median(probes), 3)
    row["wall_us"] = round(statistics.median(walls), 1)
    row["least_wall_us"] = round(min(walls), 1)
    row["dispatch_us"] = round(statistics.median(sent), 1)
    stepper.held = []
    row["kernels"], total, row["memsets"], row["copies"] = profile(stepper, operators_file, label)
    row["time_us"] = round(total, 1)
    return row


# A short run can build twelve layers. A window of 2047 has no effect on these lengths but still costs
# its masks.
CHANGES = {"deepseek-v2-lite": {"num_hidden_layers": 12}, "phi-3-mini-4k": {"sliding_window": None}}


def build(name, train, folder=PRESETS):
    """The model of a preset, in bf16."""
    fields = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    fields = {key: value for key, value in fields.items() if not key.startswith("ridge_")}
    fields.update(CHANGES.get(name, {}))
    config = AutoConfig.for_model(fields.pop("model_type"), **fields)
    config._attn_implementation = "sdpa"
    with torch.device("cuda"):
        model = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
    model.requires_grad_(train)
    return model


def recorded_changes(name):
    """The differences from the preset, as the columns of a row."""
    changes = CHANGES.get(name, {})
    return {"layers": changes.get("num_hidden_layers", ""),
            "window": 0 if "sliding_window" in changes else ""}


def cpu_name():
    try:
        for line in open("/proc/cpuinfo", encoding="utf-8"):
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor()


def drawn_steps(folder):
    """The steps of each drawn model."""
    steps = {}
    with open(folder / "steps.csv", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            steps.setdefault(row["model"], []).append((row["phase"], int(row["batch"]), int(row["seq"])))
    return steps


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--csv", required=True)
    parser.add_argument("--models", help="names, separated by commas")
    parser.add_argument("--drawn", type=pathlib.Path, help="folder of scripts/measure/draw-models.py")
    parser.add_argument("--fitted", action="store_true", help="constants may be chosen from the drawn models")
    parser.add_argument("--host", action="store_true", help="short steps, for the time of the host")
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--operators")
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--phases", default="prefill,decode,train")
    args = parser.parse_args()
    planned = drawn_steps(args.drawn) if args.drawn else STEPS
    if args.host:
        planned = {name: HOST for name in HOST_MODELS}
    # The values of weights do not matter, so they are not drawn.
    torch.nn.init.normal_ = lambda tensor, *a, **k: tensor
    began = time.perf_counter()
    operators_file = open(args.operators, "w", encoding="utf-8") if args.operators else None
    with open(args.csv, "w", newline="", encoding="utf-8") as file:
        file.write(f"# {torch.cuda.get_device_name()}, torch {torch.__version__}, transformers "
                   f"{transformers.__version__}, CPU {cpu_name()}\n")
        out = csv.DictWriter(file, FIELDS)
        out.writeheader()
        for name in args.models.split(",") if args.models else planned:
            steps = [s for s in planned[name] if s[0] in args.phases.split(",")]
            for train in (False, True):
                chosen = [s for s in steps if (s[0] == "train") == train]
                if not chosen or time.perf_counter() - began > args.seconds:
                    continue
                model = build(name, train, args.drawn or PRESETS)
                for parameter in model.parameters():
                    with torch.no_grad():
                        parameter.normal_(0.0, 0.02)
                optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5) if train else None
                for phase, batch, seq in chosen:
                    if time.perf_counter() - began > args.seconds:
                        break
                    label = {"model": name, "phase": phase, "batch": batch, "seq": seq}
                    row = dict(label, dtype="bf16", **recorded_changes(name), optimizer="adamw" if train else "",
                               judge=int(name in JUDGE or args.drawn is not None and not args.fitted),
                               parameters=sum(p.numel() for p in model.parameters()),
                               weights_bytes=sum(p.numel() * p.element_size()
                                                 for p in model.parameters()))
                    stepper = Stepper(model, phase, batch, seq, optimizer)
                    try:
                        row.update(measure(stepper, operators_file, label, args.repeats))
                    except Exception as error:  # pylint: disable=broad-except
                        row["reason"] = repr(error)[:200]
                    out.writerow(row)
                    file.flush()
                    print(round(time.perf_counter() - began, 1), name, phase, batch, seq,
                          row.get("kernels"), row.get("time_us"), row.get("wall_us"),
                          row.get("peak_extra_bytes"), row.get("reason", ""), flush=True)
                    del stepper
                    gc.collect()
                    torch.cuda.empty_cache()
                del model, optimizer
                gc.collect()
                torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
