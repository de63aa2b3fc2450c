#!/usr/bin/env python3
"""Thins traces of the PyTorch profiler for records/: keeps what `ridge trace` reads, at a third of the size.

    scripts/records/thin-trace.py records/torch-programs/*.json.gz            # in place
    scripts/records/thin-trace.py --into OUT trace.json.gz                    # OUT/trace.json.gz
    scripts/records/thin-trace.py --check RIDGE trace.json.gz                 # and compare the answers of both

Kept are annotations, kernels, copies and fills, and the operators that started one of these or enclose one that did, with the
members that programs/traces/trace_event.cpp reads; of the calls of CUDA those that started work, wait for it or belong to the
capture of a graph. Times count from the first event of the file, to the nanosecond as recorded; identifiers are numbered anew. Dropped are
flows between events, occupancies, queues, and operators and calls that started nothing. The same trace gives the same bytes.

Limits: traces of one process and PyTorch's profiler only.
"""
import argparse
import bisect
import collections
import decimal
import gzip
import json
import pathlib
import subprocess
import sys
import tempfile

ON_GPU = {"kernel", "gpu_memcpy", "gpu_memset"}
ON_HOST = {"cpu_op", "user_annotation", "python_function"}
CALLS = {"cuda_runtime", "cuda_driver"}
MEMBERS = ("External id", "correlation", "Sequence number", "device", "stream", "bytes", "registers per thread", "shared memory",
           "graph node id", "grid", "block", "Input type", "Input Dims", "Input Strides", "Concrete Inputs", "Collective name", "dtype",
           "In msg nelems", "Out msg nelems", "Group size")
DEVICE = ("id", "name", "totalGlobalMem", "computeMajor", "computeMinor", "numSms")


def kept(event, started):
    """Whether `ridge trace` reads the event."""
    category = event.get("cat")
    if event.get("ph") != "X" or category is None:
        return False
    if category in CALLS:
        captures = "LaunchKernel" in event["name"] or "Capture" in event["name"]
        return captures or "Synchronize" in event["name"] or event.get("args", {}).get("correlation") in started
    return category in ON_GPU or category in ON_HOST


def renumbered(numbers, value):
    return numbers.setdefault(value, len(numbers) + 1) if value >= 0 else value


def starts_of_work(events):
    """By thread, when operators began or CUDA was called for what ran on the GPU, sorted; and the operators' identifiers."""
    on_gpu = [event["args"] for event in events if event["cat"] in ON_GPU]
    correlations = {arguments.get("correlation") for arguments in on_gpu}
    operators = {arguments["External id"] for arguments in on_gpu if "External id" in arguments}
    starts = collections.defaultdict(list)
    for event in events:
        arguments = event.get("args", {})
        captured = event["cat"] in CALLS and "LaunchKernel" in event["name"]
        started = event["cat"] in CALLS and (captured or arguments.get("correlation") in correlations)
        if started or (event["cat"] == "cpu_op" and arguments.get("External id") in operators):
            starts[event["tid"]].append(decimal.Decimal(event["ts"]))
    for each in starts.values():
        each.sort()
    return starts, operators


def without_idle(events):
    """Leaves out operators during which nothing was started, and the identifiers that no kernel names."""
    starts, operators = starts_of_work(events)
    for event in events:
        if event["cat"] == "cpu_op":
            begin = decimal.Decimal(event["ts"])
            of_thread = starts.get(event["tid"], [])
            place = bisect.bisect_left(of_thread, begin)
            if place == len(of_thread) or of_thread[place] > begin + decimal.Decimal(event.get("dur", 0)):
                continue
            if event["args"].get("External id") not in operators:
                event["args"].pop("External id", None)
        yield event


def thin(trace):
    """The trace with what is read of it."""
    events = trace["traceEvents"]
    started = {event["args"].get("correlation") for event in events if event.get("cat") in ON_GPU}
    events = list(without_idle([event for event in events if kept(event, started)]))
    first = min(decimal.Decimal(event["ts"]) for event in events)
    numbers = {"External id": {}, "correlation": {}}
    thinned = []
    for event in events:
        arguments = {name: event["args"][name] for name in MEMBERS if name in event.get("args", {})}
        for name, known in numbers.items():
            if name in arguments:
                arguments[name] = renumbered(known, arguments[name])
        thinned.append({"ph": "X", "cat": event["cat"], "name": event["name"], "pid": event["pid"], "tid": event["tid"],
                        "ts": decimal.Decimal(event["ts"]) - first, "dur": decimal.Decimal(event.get("dur", 0)), "args": arguments})
    # Each kind by itself: what follows each other is then alike.
    thinned.sort(key=lambda event: (event["cat"] in ON_GPU, event["cat"] in CALLS, str(event["tid"]), event["ts"], -event["dur"]))
    devices = [{name: device[name] for name in DEVICE if name in device} for device in trace.get("deviceProperties", [])]
    rest = {name: trace[name] for name in ("schemaVersion", "distributedInfo") if name in trace}
    return {**rest, "deviceProperties": devices, "traceEvents": thinned}


def text_of(trace):
    """JSON with one event on each line."""
    lines = [json.dumps(event, separators=(",", ":"), ensure_ascii=False, default=float) for event in trace["traceEvents"]]
    head = json.dumps({name: value for name, value in trace.items() if name != "traceEvents"}, separators=(",", ":"))
    return head[:-1] + ',"traceEvents":[\n' + ",\n".join(lines) + "\n]}\n"


def answer_of(ridge, path):
    answer = subprocess.run([ridge, "trace", str(path), "--format", "json"], check=True, capture_output=True).stdout
    return json.loads(answer)


def without(answer, *names):
    return {name: value for name, value in answer.items() if name not in names}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("traces", nargs="+", type=pathlib.Path)
    parser.add_argument("--into", type=pathlib.Path, help="folder for the thinned traces (default: in place)")
    parser.add_argument("--check", metavar="RIDGE", help="compare what this program says of both; a difference is an error")
    options = parser.parse_args()
    for path in options.traces:
        data = path.read_bytes()
        text = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
        made = gzip.compress(text_of(thin(json.loads(text, parse_float=decimal.Decimal))).encode(), 9, mtime=0)
        if options.check:
            with tempfile.TemporaryDirectory() as folder:
                new = pathlib.Path(folder) / path.name
                new.write_bytes(made)
                before, after = answer_of(options.check, path), answer_of(options.check, new)
            if without(before, "file", "events") != without(after, "file", "events"):
                sys.exit(f"{path}: ridge trace says something else of the thinned trace")
        target = (options.into or path.parent) / path.name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(made)
        print(f"{target}: {len(data)} -> {len(made)} bytes")


if __name__ == "__main__":
    main()
