#!/usr/bin/env python3
"""How many measured times lie in the 80 % band, by the evidence of their predictions (R9 of docs/model.md).

    scripts/accuracy/evidence-coverage.py RIDGE TABLE.csv...     # tables of `ridge predict --from` with measured_us

Two tables in Markdown. The first: coverage of the bands as printed, for each chip (own, relative, foreign, datasheet), whether the shape is in
the validated range, whether the kernel was measured, the software, and the class. The second is blind: for each GPU, class, region of shapes
and software that is left out, the margins of calibration/bands.toml are taken off its bands and found again on the other rows with the
same evidence (for each limiter the margin in ln with which 80 % of those rows lie in the band; of all limiters together where fewer than
`FEW` rows have this one), and the left-out rows are judged with them. Only rows of foreign chips have such margins.
The region is the third of rows of a class with the least work, the middle third, or the third with the most.
"""
import argparse
import collections
import csv
import functools
import io
import json
import math
import pathlib
import re
import subprocess
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]
INSIDE = 0.8
FEW = 30
RULES = {name: (rule["alike"], rule["unlike"])
         for name, rule in tomllib.loads((ROOT / "calibration/bands.toml").read_text(encoding="utf-8"))["limiter"].items()}


@functools.cache
def is_alike(gpu, links):
    """Whether a GPU has the smaller margins: links for a collective, else HBM (`widen_for_other_chip` of model/roof/band.cpp)."""
    text = (ROOT / "hardware/gpus" / f"{gpu}.toml").read_text(encoding="utf-8")
    return "\n[link]" in text if links else re.search(r'\btype = \{ value = "HBM', text) is not None


def predictions(ridge, path, most):
    with open(path, encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    rows = rows[:: max(1, len(rows) // most)]
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    done = subprocess.run([ridge, "predict", "--from", "-", "--format", "json", "--keep", "all"],
                          input=text.getvalue(), capture_output=True, text=True, check=False)
    return rows, json.loads(done.stdout)


def class_of(row):
    """"attention decode", "matmul fp8", "all_gather"."""
    if row["op"] == "attention":
        return "attention " + ("decode" if row.get("seq_q") == "1" else "prefill")
    return f"{row['op']} {row['dtype']}" if row["op"] == "matmul" else row["op"]


class Case:
    """A row with its errors, in ln: measured, low and high over predicted."""

    def __init__(self, row, answer):
        evidence = answer["evidence"]
        self.gpu, self.kind, self.software = row["gpu"], class_of(row), row.get("software") or "-"
        self.chip, self.shape, self.kernel = evidence["chip"], evidence["shape"], evidence["kernel"]
        # The rule of a collective is that of its links.
        self.limiter = "link" if "bytes" in row else answer["limiter"]
        self.time = answer["time_us"]
        alike = is_alike(self.gpu, self.limiter == "link") and (self.limiter == "link" or evidence["band_class"] != "engine_kernel")
        self.margin = RULES[{"load/store": "load_store", "shared memory": "shared"}.get(self.limiter, self.limiter)][0 if alike else 1]
        self.error, self.low, self.high = (math.log(value / self.time) for value in (
            float(row["measured_us"]), answer["time_low_us"], answer["time_high_us"]))
        self.region = ""

    def beyond(self, margin=0.0):
        """How far the time is outside of the band."""
        return max(self.low - margin - self.error, self.error - self.high - margin, 0.0)

    def stripped(self):
        """How far the time is outside of the band without the margin of its limiter."""
        return self.beyond(-self.margin)


def share(cases):
    return f"{100 * sum(case.beyond() == 0.0 for case in cases) / len(cases):.0f} %"


def as_printed(cases):
    print("| chip | shape | kernel | software | class | rows | in band |\n|---|---|---|---|---|---:|---:|")
    groups = collections.defaultdict(list)
    for case in cases:
        groups[(case.chip, case.shape, case.kernel, case.software, case.kind)].append(case)
    for key, members in sorted(groups.items()):
        print(f"| {' | '.join(key)} | {len(members)} | {share(members)} |")
    for name in ("chip", "shape", "kernel"):
        for value in sorted({getattr(case, name) for case in cases}):
            members = [case for case in cases if getattr(case, name) == value]
            print(f"| all: {name} {value} | | | | | {len(members)} | {share(members)} |")


def blind(cases):
    print("\n| left out | rows | in band, blind | as printed |\n|---|---:|---:|---:|")
    for name in ("gpu", "kind", "region", "software"):
        for value in sorted({getattr(case, name) for case in cases}):
            out = [case for case in cases if getattr(case, name) == value]
            rest = [case for case in cases if getattr(case, name) != value]
            if len(rest) < FEW:
                continue
            margins = {}
            for limiter in {case.limiter for case in out}:
                seen = [case for case in rest if case.limiter == limiter]
                found = sorted(case.stripped() for case in (seen if len(seen) >= FEW else rest))
                margins[limiter] = found[min(len(found) - 1, int(INSIDE * len(found)))]
            inside = sum(case.stripped() <= margins[case.limiter] for case in out)
            print(f"| {name} {value} | {len(out)} | {100 * inside / len(out):.0f} % | {share(out)} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ridge")
    parser.add_argument("tables", nargs="+")
    parser.add_argument("--most", type=int, default=3000, help="rows of each table")
    options = parser.parse_args()
    cases = []
    refused = 0
    for path in options.tables:
        found = []
        for row, answer in zip(*predictions(options.ridge, pathlib.Path(path), options.most)):
            if "time_us" in answer and row.get("measured_us"):
                found.append(Case(row, answer))
            else:
                refused += 1
        found.sort(key=lambda case: case.time)
        for i, case in enumerate(found):
            case.region = ("short", "middle", "long")[3 * i // len(found)]
        cases += found
    as_printed(cases)
    blind([case for case in cases if case.chip == "foreign"])
    print(f"\nall: {share(cases)} of {len(cases)} in the band; {refused} not modelled")


main()
