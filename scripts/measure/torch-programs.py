#!/usr/bin/env python3
"""Records one step of programs of many kinds: a trace with shapes, the step's time and its memory.

    torch-programs.py OUT --seconds 200 [--only vit_amp,unet3d] [--repeat conformer:6] [--fresh] [--execution]

OUT gets NAME.json.gz for each program (torch.profiler, record_shapes) and steps.csv: wall time without the profiler,
kernels and their time, bytes allocated before the step and at its peak (also requested, before rounding), reserved.
`torch_programs.py`, beside this script, has the programs, and which half no rule may be chosen by. With --execution,
NAME.execution.json.gz is the step's execution trace (ExecutionTraceObserver), which says what each operator reads and writes.

Method. Three warm-up steps; wall is the median of up to 10 steps between synchronisations, least the shortest.
Memory comes from torch.cuda.memory_stats of one step, with the peak reset before. A program with `capture` is recorded
with the capture of its CUDA graph before the replay. Order: drawn at random, compiled programs last.
"""
import argparse
import csv
import gc
import json
import gzip
import pathlib
import random
import statistics
import sys
import tempfile
import time

import torch

import torch_programs as table
from torch_programs_fresh import FRESH
from torch_programs_judges import JUDGES
from torch_programs_more import BESIDE
from torch_programs_pairs import BESIDE as PAIRED

FIELDS = ["program", "half", "wall_us", "least_wall_us", "kernel_us", "kernels", "allocated_before", "peak_bytes", "requested_peak",
          "reserved_bytes", "device", "torch", "reason"]
COMPILED = {"llama_compiled": 1, "convnet_compiled": 2, "compiled_decoder": 1, "fast_chain": 3,
            "compiled_segmenter": 4, "compiled_messages": 5, "compiled_masked": 6}


def walls(step, seconds=1.5):
    """Times of single steps without the profiler."""
    found, start = [], time.monotonic()
    while len(found) < 10 and (len(found) < 3 or time.monotonic() - start < seconds):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        step()
        torch.cuda.synchronize()
        found.append((time.perf_counter() - begin) * 1e6)
    return found


def memory(step):
    torch.cuda.synchronize()
    gc.collect()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    step()
    torch.cuda.synchronize()
    stats = torch.cuda.memory_stats()
    return {"allocated_before": before, "peak_bytes": stats["allocated_bytes.all.peak"],
            "requested_peak": stats["requested_bytes.all.peak"], "reserved_bytes": stats["reserved_bytes.all.peak"]}


def packed(source, path):
    text = pathlib.Path(source).read_bytes()
    with gzip.open(path, "wb", 9) as out:
        out.write(text)
    return text


def record(step, path, execution=False):
    """Writes the trace of one step; its kernels and their time in us."""
    capture = getattr(step, "capture", None)
    kinds = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    seen = path.with_name(path.name.replace(".json.gz", ".execution.json"))
    observer = {"execution_trace_observer": torch.profiler.ExecutionTraceObserver().register_callback(str(seen))} if execution else {}
    with torch.profiler.profile(activities=kinds, record_shapes=True, **observer) as profile:
        if capture is not None:
            capture()
        step()
        torch.cuda.synchronize()
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        profile.export_chrome_trace(file.name)
        text = packed(file.name, path)
    if execution:
        packed(seen, f"{seen}.gz")
        seen.unlink()
    kernels = [each["dur"] for each in json.loads(text)["traceEvents"]
               if each.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")]
    return len(kernels), sum(kernels)


def measure(name, options):
    tables = {"": table.PROGRAMS, "beside": BESIDE, "judge": JUDGES, "judge beside": PAIRED, "fresh": FRESH}
    which, build = next((which, found[name]) for which, found in tables.items() if name in found)
    row = {"program": name, "half": which or ("unseen" if name in table.half("unseen") else "seen"),
           "device": torch.cuda.get_device_name(), "torch": torch.__version__}
    torch.manual_seed(1)
    try:
        with torch.device("cuda" if which.startswith("judge") or which == "fresh" else "cpu"):
            step = build(table.Context("cuda"))
        for _ in range(3):
            step()
        times = walls(step)
        row |= {"wall_us": round(statistics.median(times), 1), "least_wall_us": round(min(times), 1)}
        row |= memory(step)
        for again in range(options.repeats.get(name, 1)):
            path = options.out / (f"{name}.json.gz" if again == 0 else f"{name}-{again}.json.gz")
            row["kernels"], row["kernel_us"] = record(step, path, options.execution)
        row["kernel_us"] = round(row["kernel_us"], 2)
    except Exception as error:  # noqa: BLE001: a program less
        row["reason"] = (str(error).splitlines() or [repr(error)])[0][:150]
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--seconds", type=float, default=200.0)
    parser.add_argument("--only", type=lambda text: text.split(","), default=[])
    parser.add_argument("--judges", action="store_true", help="the programs of torch_programs_judges.py")
    parser.add_argument("--fresh", action="store_true", help="the programs of torch_programs_fresh.py")
    parser.add_argument("--execution", action="store_true", help="execution traces too")
    parser.add_argument("--repeat", default="", help="NAME:COUNT, several traces of programs, with commas between them")
    options = parser.parse_args()
    options.repeats = {name: int(count) for name, _, count in (each.partition(":") for each in options.repeat.split(",") if each)}
    options.out.mkdir(parents=True, exist_ok=True)
    torch.backends.cuda.matmul.allow_tf32 = False
    names = options.only or ([*JUDGES, *PAIRED] if options.judges else [*FRESH] if options.fresh else [*table.PROGRAMS, *BESIDE])
    random.Random(table.SPLIT_SEED).shuffle(names)
    names.sort(key=lambda name: COMPILED.get(name, 2 if name in PAIRED else 0))
    start = time.monotonic()
    with open(options.out / "steps.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, FIELDS)
        writer.writeheader()
        for name in names:
            if time.monotonic() - start > options.seconds:
                print(f"out of time before {name}", flush=True)
                break
            begin = time.monotonic()
            row = measure(name, options)
            writer.writerow(row)
            file.flush()
            gc.collect()
            torch.cuda.empty_cache()
            print(name, row.get("wall_us"), row.get("kernel_us"), row.get("reason", ""),
                  f"{time.monotonic() - begin:.1f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
