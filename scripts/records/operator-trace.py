#!/usr/bin/env python3
"""Makes a trace, which `ridge trace` reads, of records of operators (scripts/measure/torch-operators.py).

    scripts/records/operator-trace.py records/h200-sxm-operators/operators.csv.xz fit.json.gz --part fit
    ridge trace fit.json.gz

Each row becomes an operator with its kernels, whose times add up to the row's time with a warm L2, as often as `calls` says.
`--part judge` takes a third of the cases, by a hash of their number, and `fit` the others. TRACE that does not end in `.json.gz` is
a folder: it gets all.json.gz, or with `--each` a trace for each case.
"""
import argparse
import csv
import gzip
import hashlib
import json
import lzma
import pathlib
import sys

KEYS = ("Input type", "Input Dims", "Input Strides", "Concrete Inputs")


def lists_of(inputs):
    decoder, found, at = json.JSONDecoder(), [], 0
    while at < len(inputs):
        value, end = decoder.raw_decode(inputs, at)
        found.append(value)
        at = end + 1
    return found


def judges(case):
    return hashlib.sha1(case.encode()).digest()[0] % 3 == 0


def kernel_event(kernel, number, begin, scale):
    name, grid, block, registers, shared, time = kernel
    arguments = {"External id": number, "correlation": number, "stream": 7, "device": 0}
    kind = "gpu_memset" if name.startswith("Memset") else "gpu_memcpy" if name.startswith("Memcpy") else "kernel"
    if kind == "kernel":
        arguments |= {"grid": grid, "block": block, "registers per thread": registers, "shared memory": shared}
    return {"ph": "X", "cat": kind, "name": name, "pid": 0, "tid": 7, "ts": round(begin, 3), "dur": round(time * scale, 3),
            "args": arguments}


def events_of(rows, part):
    now = 0.0
    for number, row in enumerate(rows, 1):
        if part != "all" and judges(row["case"]) != (part == "judge"):
            continue
        kernels = json.loads(row["kernels"])
        scale = float(row["warm_us"] or row["cold_us"]) / sum(kernel[5] for kernel in kernels)
        for call in range(int(row.get("calls") or 1)):
            key = 100000 * call + number
            yield {"ph": "X", "cat": "cpu_op", "name": row["op"], "pid": 1, "tid": 1, "ts": round(now, 3), "dur": 1,
                   "args": {"External id": key, **dict(zip(KEYS, lists_of(row["inputs"])))}}
            for kernel in kernels:
                yield kernel_event(kernel, key, now, scale)
                now += kernel[5] * scale + 1
            now += 2


def write(path, rows, options):
    events = list(events_of(rows, options.part))
    device = {"id": 0, "name": options.device, "computeMajor": 9, "computeMinor": 0, "numSms": 132}
    text = json.dumps({"schemaVersion": 1, "deviceProperties": [device], "traceEvents": events}, separators=(",", ":"))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text.encode(), 4, mtime=0))
    print(f"{path.name}: {len(events)} events")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("records", type=pathlib.Path)
    parser.add_argument("trace", type=pathlib.Path)
    parser.add_argument("--part", choices=("all", "fit", "judge"), default="all")
    parser.add_argument("--each", action="store_true", help="a trace for each case")
    parser.add_argument("--device", default="NVIDIA H200")
    options = parser.parse_args()
    csv.field_size_limit(1 << 30)
    unpack = lzma.open if options.records.suffix == ".xz" else gzip.open
    with unpack(options.records, "rt", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    if options.trace.name.endswith(".json.gz"):
        write(options.trace, rows, options)
    elif not options.each:
        write(options.trace / "all.json.gz", rows, options)
    else:
        cases = {}
        for row in rows:
            cases.setdefault((int(row["case"]), row["name"]), []).append(row)
        for (case, name), found in cases.items():
            write(options.trace / f"{case}-{name}.json.gz", found, options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
