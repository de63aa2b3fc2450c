#!/usr/bin/env python3
"""Measures PyTorch's own kernels over random shapes and writes records that ridge reads.

    torch-kernels.py OUT --seeds 21,22 --seconds 120

`torch_plan.py` and `torch_streams.py`, beside this script, define the cases. Each seed has one folder of records
(OUT/seed-21/softmax.jsonl ...), which `ridge validate` judges and `ridge fit torch --records` fits.
Shapes are drawn log-uniformly, including small and odd ones. A seed gives the same shapes everywhere, in
an order of its own, so that a run that ends early has measured every class. What the folder already holds is
not measured again, so a second run continues where the first stopped. `ridge calibrate --full` runs this
script.

Method. The time of an operation is the sum of its kernels' durations from CUPTI activity records
(torch.profiler), without dispatch and gaps. Each sample stands between two marker
kernels. L2: `cold` after reading 256 MB, `dirty` after writing 256 MB, `warm` right after the same
operation. The record keeps names, grids, threads, registers and shared memory of the kernels.
Several processes compile the kernels of torch.compile beforehand, so that compiling does not occupy
the GPU.

Limits: results are not compared with a reference.
"""
import argparse
import contextlib
import gc
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import torch

from torch_plan import CLASSES, COMPILING, DEVICE, NAMED, cases_of, float_products, rare_products

FLUSH_BYTES = 256 << 20
MARKER = "spin_kernel"


def events_of(profile, wanted):
    """The profiled events that `wanted` accepts, in order of time."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.json")
        profile.export_chrome_trace(path)
        with open(path, encoding="utf-8") as file:
            events = json.load(file)["traceEvents"]
    return sorted((each for each in events if wanted(each)), key=lambda each: each["ts"])


class Watch:
    """Runs batches of cases under the profiler and reads their kernels."""

    def __init__(self):
        self.clean = torch.zeros(FLUSH_BYTES // 4, device=DEVICE)
        self.written = torch.zeros(FLUSH_BYTES // 4, device=DEVICE)
        self.a = torch.randn(4096, 4096, device=DEVICE, dtype=torch.bfloat16)

    def flush(self, state):
        if state == "cold":
            self.clean.sum()
        elif state == "dirty":
            self.written.fill_(1.0)

    def run(self, cases, repeats):
        """(case, state, samples) of each; a batch whose trace lacks kernels is measured again in halves."""
        found = self.run_once(cases, repeats)
        if found is None and len(cases) > 1:
            half = len(cases) // 2
            return self.run(cases[:half], repeats) + self.run(cases[half:], repeats)
        return found or []

    def run_once(self, cases, repeats):
        """Samples of one profile, None if the trace lacks kernels; a failing case is printed and left out."""
        for _ in range(20):
            torch.mm(self.a, self.a)
        torch.cuda.synchronize()
        plan = []
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
            for case in cases:
                try:
                    with torch.inference_mode("backward" not in case.op and
                                              case.implementation != "compiled" and
                                              not case.op.startswith("adamw")):
                        run = case.make()
                        run()
                        run()
                        torch.cuda.synchronize()
                        for state in case.states:
                            for _ in range(repeats):
                                self.flush(state)
                                torch.cuda._sleep(1000)
                                run()
                                torch.cuda._sleep(1000)
                                plan.append((case, state))
                        del run
                except Exception as error:  # noqa: BLE001: a refused call is no reason to stop
                    print(f"left out: {case.implementation} {case.op}: "
                          f"{str(error).splitlines()[0][:150]}", flush=True)
                    torch.cuda.synchronize()
            torch.cuda.synchronize()
        return self.assign(profile, plan)

    @staticmethod
    def assign(profile, plan):
        kinds = ("kernel", "gpu_memcpy", "gpu_memset")
        samples, inside = [], None
        for event in events_of(profile, lambda each: each.get("cat") in kinds):
            if MARKER in event["name"]:
                if inside is None:
                    inside = []
                else:
                    samples.append(inside)
                    inside = None
            elif inside is not None:
                inside.append(event)
        if len(samples) != len(plan):
            print(f"lost: {len(samples)} samples of {len(plan)}", flush=True)
            return None
        found = {}
        for (case, state), kernels in zip(plan, samples):
            if kernels:
                found.setdefault((id(case), state), (case, state, []))[2].append(kernels)
        return list(found.values())


def quantile(ordered, q):
    position = q * (len(ordered) - 1)
    below = int(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (position - below) * (ordered[above] - ordered[below])


def summary_of(times):
    ordered = sorted(times)
    return {"count": len(times), "median_s": quantile(ordered, 0.5), "p5_s": quantile(ordered, 0.05),
            "p95_s": quantile(ordered, 0.95), "low_s": ordered[0], "high_s": ordered[-1],
            "confidence": 1.0 - 2.0 ** (1 - len(times)) if len(times) > 1 else 0.0, "drift": 0.0}


def geometry_of(kernels):
    launches = []
    for event in kernels:
        arguments = event.get("args", {})
        name = event["name"].removeprefix("void ")[:110]
        block = arguments.get("block", [0, 1, 1])
        entry = {"name": name, "grid": arguments.get("grid", [1, 1, 1]),
                 "block_threads": math.prod(block), "registers":
                 arguments.get("registers per thread", 0),
                 "shared_bytes": int(arguments.get("shared memory", 0)), "repeat": 1}
        if launches and all(launches[-1][key] == entry[key] for key in entry if key != "repeat"):
            launches[-1]["repeat"] += 1
        else:
            launches.append(entry)
    return {"kernels": launches, "split": 1}


def describe_device():
    properties = torch.cuda.get_device_properties(0)
    driver = "unknown"
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        driver = subprocess.run(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"],
                                capture_output=True, text=True, check=True).stdout.strip()
    return {"name": properties.name, "compute_capability": properties.major * 10 + properties.minor,
            "sm_count": properties.multi_processor_count, "driver": driver,
            "cuda": torch.version.cuda, "cupti": torch.version.cuda}


def record_of(case, state, samples, seed, device):
    times = [sum(event["dur"] for event in kernels) * 1e-6 for kernels in samples]
    return {"schema": 1, "op": case.op, "implementation": case.implementation, "l2": state,
            "launch": "kernel", "pattern": "normal", "seed": seed,
            "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "tool": f"torch-kernels.py, PyTorch {torch.__version__}",
            "software": "pytorch-" + torch.__version__.split("+")[0], "device": device,
            "geometry": geometry_of(samples[-1]),
            "no_counters": {"reason": "not requested", "remedy": ""},
            "before": {}, "after": {},
            "timing": {"method": "activity", "statistics": summary_of(times), "discarded": 0,
                       "converged": False, "seconds": sum(times), "times_s": times}}


def write_records(folder, records):
    folder.mkdir(parents=True, exist_ok=True)
    for record in records:
        name = record["op"].split(" ")[0]
        with open(folder / f"{name}.jsonl", "ab+") as file:
            if file.seek(0, os.SEEK_END) > 0:
                file.seek(-1, os.SEEK_END)
                if file.read(1) != b"\n":  # a line cut short by a kill
                    file.write(b"\n")
            file.write((json.dumps(record, separators=(",", ":")) + "\n").encode())


def recorded(folder):
    """(op, implementation, l2) of the records that the folder already holds."""
    found = set()
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            with contextlib.suppress(ValueError):  # a line cut short by a kill
                record = json.loads(line)
                found.add((record["op"], record["implementation"], record["l2"]))
    return found


def measure(folder, seed, options, device):
    start, done, known = time.monotonic(), 0, recorded(folder)
    cases = cases_of(seed, options.classes)
    if options.cold:
        for case in cases:
            case.states = ("cold",)
    cases = [case for case in cases
             if not all((case.op, case.implementation, state) in known for state in case.states)]
    if not cases:
        print(f"seed {seed}: nothing left to measure", flush=True)
        return
    watch = Watch()
    for first in range(0, len(cases), options.batch):
        if time.monotonic() - start > options.seconds:
            print(f"out of time after {done} of {len(cases)} cases", flush=True)
            break
        found = watch.run(cases[first:first + options.batch], options.repeats)
        write_records(folder, [record_of(*each, seed, device) for each in found])
        done = min(first + options.batch, len(cases))
        gc.collect()
        torch.cuda.empty_cache()
    print(f"seed {seed}: {done} cases in {time.monotonic() - start:.0f} s", flush=True)


def precompile(options):
    """Fills the on-disk cache of torch.compile from several processes."""
    start = time.monotonic()
    workers = [subprocess.Popen([sys.executable, __file__, str(options.out), "--seeds",
                                 ",".join(map(str, options.seeds)), "--part",
                                 f"{part}/{options.workers}", "--classes",
                                 ",".join(options.classes)],
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
               for part in range(options.workers)]
    for worker in workers:
        try:
            worker.wait(timeout=max(1.0, options.compile_seconds - (time.monotonic() - start)))
        except subprocess.TimeoutExpired:
            worker.kill()
    print(f"compiled in {time.monotonic() - start:.0f} s", flush=True)


def compile_part(options):
    part, of = map(int, options.part.split("/"))
    classes = [name for name in options.classes if name in COMPILING] or ["compiled"]
    cases = [case for seed in options.seeds for case in cases_of(seed, classes)]
    for case in cases[part::of]:
        with contextlib.suppress(Exception):
            case.make()()
        torch.cuda.synchronize()


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--seeds", type=lambda text: [int(each) for each in text.split(",")],
                        default=[21])
    parser.add_argument("--seconds", type=float, default=120.0, help="of each seed")
    parser.add_argument("--classes", type=lambda text: text.split(","), default=[],
                        help="only these: " + ", ".join(each.__name__ for each in
                                                        [*CLASSES, *NAMED, rare_products,
                                                         float_products]))
    parser.add_argument("--batch", type=int, default=40, help="cases per profile")
    parser.add_argument("--repeats", type=int, default=4)
    parser.add_argument("--cold", action="store_true", help="with a cold L2 only")
    parser.add_argument("--workers", type=int, default=12, help="processes that compile")
    parser.add_argument("--compile-seconds", type=float, default=60.0)
    parser.add_argument("--list", action="store_true", help="print the cases and stop")
    parser.add_argument("--part", default="", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.list:
        for seed in options.seeds:
            for case in cases_of(seed, options.classes):
                print(case.implementation, ",".join(case.states), case.op)
        return 0
    if options.part:
        compile_part(options)
        return 0
    if options.workers > 0 and (not options.classes or COMPILING & set(options.classes)):
        precompile(options)
    device = describe_device()
    for seed in options.seeds:
        measure(options.out / f"seed-{seed}", seed, options, device)
    return 0


if __name__ == "__main__":
    sys.exit(main())
