#!/usr/bin/env python3
"""Compares every counter of the sets of causes with Nsight Compute, kernel by kernel, and what both tools cost.

  compare-sets.py RIDGE PLANTED OUT.json [--kernels k04a,k11a,...] [--seconds 60]

PLANTED is build/cuda/tests/device/planted. ridge counts each kernel where the program runs it (`ridge profile --counters`,
16 launches); ncu replays the application for each pass, so that every kernel follows its true predecessor, and leaves
clocks and caches alone. Metrics that ncu does not know are left out. Prints, for each metric, the median and the largest
difference over the kernels; for each tool the seconds it took. Counts below a hundredth of the kernel's largest
are left out of the differences: some hundred wavefronts or cycles are not the kernel's.
"""
import argparse
import csv
import io
import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

KERNELS = "k04a,k08a,k11a,k18a,k21a,k34a,k35a,k46a"


def counted_by_ridge(ridge, planted, kernels):
    with tempfile.TemporaryDirectory() as folder:
        record = str(pathlib.Path(folder) / "sets")
        start = time.monotonic()
        subprocess.run([ridge, "profile", "--counters", "--no-lines", "-o", record, "--", planted, "16", *kernels],
                       check=True, capture_output=True, text=True)
        seconds = time.monotonic() - start
        files = sorted(str(path) for path in pathlib.Path(folder).glob("*.ridge"))
        answer = subprocess.run([ridge, "trace", *files, "--top", "0", "--format", "json"], check=True, capture_output=True, text=True)
    found = {}
    for row in json.loads(answer.stdout)["operators"]:
        name = re.search(r"::([a-z]\d\d[ab])\(", row["kernel"])
        if name and row.get("counters", {}).get("metrics"):
            found[name.group(1)] = row["counters"]["metrics"]
    return found, seconds


def counted_by_ncu(planted, kernels, metrics, limit):
    start = time.monotonic()
    run = subprocess.run(["ncu", "--clock-control", "none", "--cache-control", "none", "--replay-mode", "application", "--csv",
                          "--page", "raw", "--print-units", "base", "-k", f"regex:^({'|'.join(kernels)})$", "--metrics", ",".join(metrics), planted,
                          "1", *kernels], capture_output=True, text=True, timeout=limit, check=False)
    seconds = time.monotonic() - start
    begin = run.stdout.find('"ID"')
    if begin < 0:
        raise RuntimeError((run.stdout + run.stderr)[-600:])
    found = {}
    for row in csv.DictReader(io.StringIO(run.stdout[begin:])):
        name = re.search(r"([a-z]\d\d[ab])\b", row["Kernel Name"] or "")
        if name and (row["ID"] or "").isdigit():
            values = {}
            for metric in metrics:
                try:
                    values[metric] = float(row[metric].replace(",", ""))
                except (KeyError, ValueError, AttributeError):
                    pass
            found[name.group(1)] = values
    return found, seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ridge")
    parser.add_argument("planted")
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--kernels", default=KERNELS)
    parser.add_argument("--seconds", type=float, default=60.0)
    options = parser.parse_args()
    kernels = options.kernels.split(",")
    ours, our_seconds = counted_by_ridge(options.ridge, options.planted, kernels)
    options.out.write_text(json.dumps({"ridge": ours, "ridge_s": our_seconds}, indent=1), encoding="utf-8")
    metrics = sorted({name for each in ours.values() for name in each if not name.startswith("ridge__")})
    theirs, their_seconds = counted_by_ncu(options.planted, kernels, metrics, options.seconds)
    options.out.write_text(json.dumps({"ridge": ours, "ridge_s": our_seconds, "ncu": theirs, "ncu_s": their_seconds}, indent=1), encoding="utf-8")
    print(f"{len(kernels)} kernels, {len(metrics)} metrics: ridge {our_seconds:.1f} s, ncu {their_seconds:.1f} s")
    for metric in metrics:
        differences = []
        for name, counted in ours.items():
            here, there = counted.get(metric), theirs.get(name, {}).get(metric)
            if here is None or there is None or max(here, there) < 0.01 * counted.get("smsp__inst_executed.sum", 0.0):
                continue
            differences.append((abs(here / there - 1.0) if there else float("inf"), name))
        if differences:
            worst = max(differences)
            print(f"{metric:75} median {100 * statistics.median(d for d, _ in differences):7.2f} %  largest {100 * worst[0]:8.2f} % ({worst[1]})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
