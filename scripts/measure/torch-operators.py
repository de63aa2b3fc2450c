#!/usr/bin/env python3
"""Measures PyTorch's operators over calls drawn at random, each with the shapes, strides and types that ridge reads.

    torch-operators.py OUT.csv --seed 38 --seconds 240 [--first 0]

One row for each operator that launched kernels: the call as the profiler recorded it (four lists joined by '|', which
ridge reads as it reads a trace), the median time of its kernels with a cold and with a warm L2, and names, grids,
blocks, registers and shared memory of the kernels. `torch_operator_cases.py`, beside this script, draws the calls; with `--cases`
torch_operator_networks calls have the sizes of real layers, and with torch_network_cases a case is a step of a network, with a row for
each of its operators (`calls`: how often the step calls it). Rows are written while it runs.

Method. The time of an operator is the sum of its kernels' durations from CUPTI activity records (torch.profiler),
without dispatch and gaps. After two runs to warm up, a case runs five times: twice after 256 MB were written (`cold_us`:
the first operator of the case finds nothing in L2), three times right after itself (`warm_us`); a network twice. Files of profiles are read by other processes.

Limits: results are not compared with a reference. Gradients run in the order of autograd, so that their inputs may
be in L2 in both states.
"""
import argparse
import collections
import csv
import gc
import importlib
import json
import multiprocessing
import os
import pathlib
import statistics
import sys
import tempfile
import time

FIELDS = ["case", "name", "op", "inputs", "cold_us", "warm_us", "spread", "calls", "kernels"]
STATES = ("cold", "warm", "warm", "cold", "warm")
ON_GPU = ("kernel", "gpu_memcpy", "gpu_memset")
LONGEST_NAME, LONGEST_OF_LISTS = 180, 280  # the types of lists of tensors stand far behind


def text_of(value):
    """A list of the profiler as ridge reads it: JSON without spaces."""
    return json.dumps(value, separators=(",", ":"))


def inputs_of(arguments):
    return "|".join(text_of(arguments.get(key, [])) for key in
                    ("Input type", "Input Dims", "Input Strides", "Concrete Inputs"))


def kernels_of(events):
    found = []
    for event in events:
        arguments, name = event.get("args", {}), event["name"].removeprefix("void ")
        found.append([name[:LONGEST_OF_LISTS if "multi_tensor_apply" in name else LONGEST_NAME], arguments.get("grid", []),
                      arguments.get("block", []), arguments.get("registers per thread", 0),
                      arguments.get("shared memory", 0), round(event["dur"], 3)])
    return found


def read_profile(path):
    """Rows of one exported profile; its annotations are named 'case INDEX NAME STATE'."""
    with open(path, encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    os.unlink(path)
    spans, operators, kernels = [], {}, collections.defaultdict(list)
    for event in events:
        kind = event.get("cat")
        if kind == "user_annotation" and event["name"].startswith("case "):
            spans.append((event["ts"], event["ts"] + event["dur"], event["name"].split(" ")[1:]))
        elif kind == "cpu_op":
            operators[event["args"].get("External id")] = event
        elif kind in ON_GPU:
            kernels[event["args"].get("External id")].append(event)
    spans.sort()
    groups = {}
    for key, launched in kernels.items():
        operator = operators.get(key)
        if operator is None:
            continue
        span = next((each for each in spans if each[0] <= operator["ts"] < each[1]), None)
        if span is None:
            continue
        case, name, state = span[2]
        launched.sort(key=lambda event: event["ts"])
        row = groups.setdefault((case, name, operator["name"], inputs_of(operator["args"])), ({}, [], []))
        row[0].setdefault((state, span[0]), []).append(sum(event["dur"] for event in launched))
        if len(launched) > len(row[1]):
            row[1][:] = launched
    return [row_of(key, *group) for key, group in groups.items()]


def row_of(key, runs, launched, _):
    times = {state: [each for (which, _), found in runs.items() if which == state for each in found]
             for state in ("cold", "warm")}
    middle = {state: statistics.median(found) if found else "" for state, found in times.items()}
    warm = times["warm"]
    spread = (max(warm) - min(warm)) / middle["warm"] if warm else ""
    return {"case": key[0], "name": key[1], "op": key[2], "inputs": key[3],
            "cold_us": round(middle["cold"], 3) if times["cold"] else "",
            "warm_us": round(middle["warm"], 3) if warm else "", "spread": round(spread, 3) if warm else "",
            "calls": max(map(len, runs.values())),
            "kernels": text_of(kernels_of(launched))}


class Measurer:
    """Runs batches of cases under the profiler and hands their files to other processes."""

    def __init__(self, options):
        import torch
        cases = importlib.import_module(options.cases)
        self.states = getattr(cases, "STATES", STATES)
        self.torch, self.cases, self.options = torch, cases, options
        self.on_gpu = torch.cuda.is_available()
        if not self.on_gpu:
            cases.DEVICE = "cpu"
        self.written = torch.zeros((64 << 20) if self.on_gpu else 64, device=cases.DEVICE)
        self.left_out = collections.Counter()
        kind = torch.profiler.ProfilerActivity
        self.activities = [kind.CPU, kind.CUDA] if self.on_gpu else [kind.CPU]

    def wait(self):
        if self.on_gpu:
            self.torch.cuda.synchronize()

    def prepare(self, index):
        """The case of an index after two runs; None if it is refused or takes too long."""
        torch = self.torch
        torch.manual_seed(index)
        name = "?"
        try:
            name, run = self.cases.draw(self.options.seed, index, self.options.scale)
            run()
            self.wait()
            begin = time.monotonic()
            run()
            self.wait()
            if time.monotonic() - begin <= self.options.longest:
                return index, name, run
            self.left_out[name + " (long)"] += 1
        except Exception as error:  # noqa: BLE001: a refused call is no reason to stop
            self.leave_out(name, error)
        return None

    def leave_out(self, name, error):
        if "CUDA error" in str(error):
            raise error
        self.left_out[f"{name}: {str(error).splitlines()[0][:100] if str(error) else type(error)}"] += 1

    def run_case(self, index, name, run):
        try:
            for state in self.states:
                if state == "cold":
                    self.written.fill_(1.0)
                with self.torch.profiler.record_function(f"case {index} {name} {state}"):
                    run()
                    self.wait()
        except Exception as error:  # noqa: BLE001
            self.leave_out(name, error)

    def batch(self, first, path):
        torch = self.torch
        prepared = [self.prepare(index) for index in range(first, first + self.options.batch)]
        with torch.profiler.profile(activities=self.activities, record_shapes=True) as profile:
            for case in prepared:
                if case is not None:
                    self.run_case(*case)
            self.wait()
        profile.export_chrome_trace(path)
        del prepared
        gc.collect()
        if self.on_gpu:
            torch.cuda.empty_cache()


def collect(pending, writer, file, everything):
    rows = 0
    while pending and (everything or pending[0].ready()):
        result = pending.popleft()
        try:
            for row in result.get(timeout=60):
                writer.writerow(row)
                rows += 1
        except Exception as error:  # noqa: BLE001: one profile less
            print(f"profile not read: {error}", flush=True)
    file.flush()
    return rows


def measure(options):
    start = time.monotonic()
    measurer = Measurer(options)
    print(f"{options.seed}: begins after {time.monotonic() - start:.0f} s", flush=True)
    rows, first, pending = 0, options.first, collections.deque()
    start = time.monotonic()
    folder = tempfile.mkdtemp()
    with multiprocessing.get_context("spawn").Pool(options.workers) as pool, \
            open(options.out, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, FIELDS)
        writer.writeheader()
        while time.monotonic() - start < options.seconds and first < options.last:
            path = os.path.join(folder, f"{first}.json")
            try:
                measurer.batch(first, path)
                pending.append(pool.apply_async(read_profile, (path,)))
            except Exception as error:  # noqa: BLE001
                print(f"batch {first}: {error}", flush=True)
                if "CUDA error" in str(error):  # a broken context makes every later call fail
                    first = options.last
            first += options.batch
            rows += collect(pending, writer, file, everything=False)
        rows += collect(pending, writer, file, everything=True)
    print(f"{first - options.first} cases, {rows} rows in {time.monotonic() - start:.0f} s", flush=True)
    for what, count in measurer.left_out.most_common(40):
        print(f"left out {count}: {what}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=38)
    parser.add_argument("--seconds", type=float, default=240.0)
    parser.add_argument("--cases", default="torch_operator_cases", help="the module that draws them")
    parser.add_argument("--first", type=int, default=0, help="index of the first case")
    parser.add_argument("--last", type=int, default=1 << 40)
    parser.add_argument("--batch", type=int, default=24, help="cases of one profile")
    parser.add_argument("--longest", type=float, default=0.1, help="seconds of a call; longer ones are left out")
    parser.add_argument("--workers", type=int, default=10, help="processes that read profiles")
    parser.add_argument("--scale", type=float, default=1.0, help="below 1: smaller tensors, to try the script")
    measure(parser.parse_args())
    return 0


if __name__ == "__main__":
    sys.exit(main())
