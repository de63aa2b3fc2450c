#!/usr/bin/env python3
"""Fits the laws of the kernels that carry convolutions out (docs/model.md S13), and writes software/.../kernels.toml.

    scripts/fit/kernels.py --ridge build/dev/ridge --work /tmp/laws -o software/pytorch-2.11/kernels.toml

It reads the same answers of `ridge trace` as scripts/fit/templates.py: there a convolution has its kernels by class (`parts`), each
with what its blocks go through and its measured time.

Method. Terms of a class, with coefficients of at least 0, are chosen as in templates.py: by the error of five folds. A convolution is the
sum of its kernels. For each form of convolution the sum, every part predicted with its own fold left out, is set against the law or rule
that the form has (templates.toml, fitted to all rows); the form takes the sum where its error is below 0.9 of that. Its band holds 80 %
of the time of the folds.

Limits: classes that fewer than eight calls show have no law, and calls with such a kernel keep the law of their form.
"""
import argparse
import collections
import concurrent.futures
import json
import math
import pathlib
import tomllib

import numpy as np
import templates
from templates import BANDWIDTH, CLOCK, ROOT, SMS

SPREAD = ["window", "results", "table", "weights", "threads", "blocks", "visited", "padded", "outputs"]
TURNS = ["launches", "part", "depth", "tiled"]
# The first three places are those that templates.fit begins with; here a law begins with its launches alone.
NAMES = ["chain.launches", "", "", "bytes"] + [f"clocks.{each}" for each in SPREAD] + [f"turns.{each}" for each in TURNS]
FEWEST = 8


class Part:
    """The kernels of one class in one call."""

    def __init__(self, part, group, program, share):
        counts = part["counts"]
        turns = math.ceil(max(1.0, counts.get("channels", 0.0)) / SMS)
        self.group, self.program, self.time, self.share = group, program, max(part["measured_us"], 0.3), share
        self.rule, self.name = 0.0, ""
        self.terms = [counts["launches"] / CLOCK * 1e6, 0.0, 0.0, counts.get("bytes", 0.0) / BANDWIDTH * 1e6]
        self.terms += [counts.get(each, 0.0) / (SMS * CLOCK) * 1e6 for each in SPREAD]
        self.terms += [turns * counts.get(each, 0.0) / CLOCK * 1e6 for each in TURNS]


def law_times(path):
    """How a law of templates.toml predicts a row, by the operator's name; laws of launches first."""
    laws = {}
    for law in tomllib.loads(path.read_text(encoding="utf-8"))["template"]:
        if law.get("fallback"):
            continue
        values = {"fixed": law["fixed_us"], "bytes": law.get("bytes", 0.0), "bytes_missed": law.get("bytes_missed", 0.0), "rule": law.get("rule", 0.0)}
        for kind in ("clocks", "chain", "turns", "missed"):
            values |= {f"{kind}.{key}": value for key, value in law.get(kind, {}).items()}
        weights = np.array([values.get(name, 0.0) for name in templates.NAMES])
        for name in law["operators"]:
            if law.get("launched") or name not in laws:
                laws[name] = weights
    return laws


def read(options):
    """Parts by class, and convolutions with their parts."""
    classes, calls = collections.defaultdict(list), []
    for trace, report in templates.reports_of(options):
        drawn = trace.name.startswith("all")
        for number, row in enumerate(report["operators"]):
            if not row.get("parts") or not row["count"] or row["measured_us"] <= 0:
                continue
            group = (trace, number) if drawn else trace.name
            whole = templates.Row(row, group, not drawn)
            parts = [(part["law"], Part(part, group, not drawn, row["measured_us"])) for part in row["parts"]]
            for law, part in parts:
                classes[law].append(part)
            calls.append((whole, parts))
    return classes, calls


def law_of(task):
    """Chosen terms, coefficients, and what each row is predicted with its fold left out."""
    name, rows = task
    data = templates.Data(rows)
    chosen, solution, errors = templates.fit(data, list(range(3, len(NAMES))))
    known = {id(row): error for row, error in zip(data.rows, errors)}
    times = [row.time * math.exp(known[id(row)]) if id(row) in known else float(np.dot(np.array(row.terms)[chosen], solution)) for row in rows]
    return name, dict(zip((NAMES[term] for term in chosen), solution)), times, len(rows), data.groups


def mean_error(errors, worth):
    return float(np.average(np.minimum(np.abs(errors), 2.0), weights=worth))


def forms_of(calls, times, laws):
    """For each form of convolution its band, where the sum of its kernels is better; and a line for the reader."""
    forms = collections.defaultdict(list)
    for whole, parts in calls:
        if all(id(part) in times for _, part in parts):
            forms[whole.name].append((whole, sum(times[id(part)] for _, part in parts)))
    found = {}
    for name, rows in sorted(forms.items()):
        y = np.array([whole.time for whole, _ in rows])
        worth = templates.worth_of(y, np.array([whole.program for whole, _ in rows]))
        summed = np.log(np.maximum([time for _, time in rows], 0.5) / y)
        before = [float(np.dot(laws[name], whole.terms)) if name in laws else whole.rule for whole, _ in rows]
        before = np.where(np.array(before) > 0, np.log(np.maximum(before, 0.5) / y), 2.0)
        now, was = mean_error(summed, worth), mean_error(before, worth)
        groups = len({str(whole.group) for whole, _ in rows})
        taken = len(rows) >= FEWEST and now < templates.BETTER * was
        print(f"{name:42s} rows {len(rows):5d} {was:5.2f} -> {now:5.2f}{'' if taken else ' (stays)'}", flush=True)
        if taken:
            share = np.sqrt(np.array([whole.share for whole, _ in rows]))
            found[name] = (*templates.band_of(summed, share, groups), len(rows), groups)
    return found


def section(name, values, rows, groups):
    lines = ["[[template]]", f'operators = ["{name}"]', "fixed_us = 0"]
    if values.get("bytes"):
        lines.append(f"bytes = {values['bytes']:.4g}")
    for kind in ("clocks", "chain", "turns"):
        terms = {key.split(".")[1]: value for key, value in values.items() if key.startswith(kind + ".") and value > 0}
        if terms:
            lines.append(f"{kind} = {{ " + ", ".join(f"{key} = {value:.4g}" if value >= 1 else f"{key} = {value:.6f}" for key, value in terms.items()) + " }")
    return "\n".join([*lines, f"rows = {rows}", f"groups = {groups}", ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    templates.add_options(parser)
    parser.add_argument("--laws", type=pathlib.Path, default=ROOT / "software/pytorch-2.11/templates.toml")
    options = parser.parse_args()
    classes, calls = read(options)
    tasks = [(name, rows) for name, rows in sorted(classes.items()) if len(rows) >= FEWEST]
    sections, times = [], {}
    with concurrent.futures.ProcessPoolExecutor(options.jobs) as pool:
        for (name, values, predicted, count, groups), (_, rows) in zip(pool.map(law_of, tasks), tasks):
            times |= {id(row): time for row, time in zip(rows, predicted)}
            sections.append(section(name, values, count, groups))
            error = np.mean([min(2.0, abs(math.log(max(time, 0.3) / row.time))) for row, time in zip(rows, predicted)])
            print(f"{name:34s} rows {count:5d} {error:5.2f} " + " ".join(f"{key}={value:.3g}" for key, value in values.items()), flush=True)
    for name, (low, high, count, groups) in forms_of(calls, times, law_times(options.laws)).items():
        sections.append("\n".join(["[[template]]", f"operators = {json.dumps([name])}", "kernels = true", f"low = {low:.3f}", f"high = {high:.3f}",
                                   f"rows = {count}", f"groups = {groups}", ""]))
    if options.output:
        head = ("# Laws of the kernels that carry convolutions out in PyTorch 2.11 (docs/model.md S13), and the forms of convolution that are\n"
                "# predicted as the sum of their kernels, with its band; written by scripts/fit/kernels.py.\nschema = 1\n\n")
        options.output.write_text(head + "\n".join(sections), encoding="utf-8")


if __name__ == "__main__":
    main()
