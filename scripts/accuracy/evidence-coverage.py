#!/usr/bin/env python3
"""How many measured times lie in the 80 % band, by the evidence of their predictions (R9 of docs/model.md).

    scripts/accuracy/evidence-coverage.py RIDGE TABLE.csv...              # tables of `ridge predict --from` with measured_us
    scripts/accuracy/evidence-coverage.py RIDGE --by software TABLE.csv   # also by a column of the tables

Prints, for each chip (own, relative, foreign, datasheet), grade and limiter: how many rows, the share in the band, the quantiles of
ln(measured / predicted), and the margin in ln by which the band would have to be wider for 80 % (0: it is wide enough). Margins that were read
off one table are judged on the others: the line "left out" applies, for each table and limiter, the largest margin that the other tables need.
Tables of GPUs that nothing was fitted to judge the margins of foreign chips; model/roof/evidence_rules.inc holds what was chosen.
"""
import argparse
import collections
import csv
import io
import json
import math
import pathlib
import subprocess

INSIDE = 0.8


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


def needed(errors):
    """The margin that puts 80 % of the errors into the band."""
    beyond = sorted(max(low - error, error - high, 0.0) for error, low, high in errors)
    return beyond[min(len(beyond) - 1, int(INSIDE * len(beyond)))]


def coverage(errors, margin=0.0):
    return sum(low - margin <= error <= high + margin for error, low, high in errors) / len(errors)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ridge")
    parser.add_argument("tables", nargs="+")
    parser.add_argument("--by", default="", help="a column of the tables to tell apart")
    parser.add_argument("--most", type=int, default=3000, help="rows of each table")
    options = parser.parse_args()
    found = collections.defaultdict(list)
    refused = 0
    for path in options.tables:
        for row, answer in zip(*predictions(options.ridge, path, options.most)):
            if "time_us" not in answer:
                refused += 1
                continue
            time, measured = answer["time_us"], float(row["measured_us"])
            error = tuple(math.log(value / time) for value in (measured, answer["time_low_us"], answer["time_high_us"]))
            evidence = answer["evidence"]
            key = (pathlib.Path(path).stem, row.get(options.by, ""), evidence["chip"], evidence["grade"], answer["limiter"])
            found[key].append(error)
    print("| table | | chip | grade | limiter | n | in band | q10 | q50 | q90 | margin |")
    print("|---|---|---|---|---|---:|---:|---:|---:|---:|---:|")
    for key, errors in sorted(found.items()):
        ordered = sorted(error for error, _, _ in errors)
        quantiles = " | ".join(f"{ordered[int(q * (len(ordered) - 1))]:+.2f}" for q in (0.1, 0.5, 0.9))
        print(f"| {' | '.join(key)} | {len(errors)} | {100 * coverage(errors):.0f} % | {quantiles} | {needed(errors):.2f} |")
    tables = {key[0] for key in found}
    for table in sorted(tables):
        inside = total = 0
        for key, errors in found.items():
            if key[0] != table:
                continue
            others = [needed(more) for other, more in found.items() if other[0] != table and other[2:] == key[2:]]
            inside += coverage(errors, max(others, default=0.0)) * len(errors)
            total += len(errors)
        print(f"left out: {table}: {100 * inside / total:.0f} % of {total} in the band with the margins of the other tables")
    every = [error for errors in found.values() for error in errors]
    if every:
        print(f"all: {100 * coverage(every):.0f} % of {len(every)} in the band; {refused} not modelled")


main()
