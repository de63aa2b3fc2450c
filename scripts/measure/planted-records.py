#!/usr/bin/env python3
"""Writes the counters of the planted kernels (tests/device/planted) as a table, one row a kernel.

  ridge profile --counters -o planted -- build/cuda/tests/device/planted 16
  ridge trace planted.*.ridge planted.counters.*.ridge --format json > planted.json
  scripts/measure/planted-records.py planted.json > tests/kernel/data/planted_h100.csv

Kernels of cuBLAS are the healthy ones h06 and up, in order of their names. Numbers have six digits.
"""
import json
import re
import sys


def name_of(kernel):
    own = re.search(r"::([a-z]\d\d[ab]?)\(", kernel)
    if own:
        return own.group(1)
    return kernel if re.match(r"nvjet|sm\d\d_xmma|cutlass", kernel) else None


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        operators = json.load(file)["operators"]
    rows = {}
    for row in operators:
        name = name_of(row["kernel"])
        metrics = row.get("counters", {}).get("metrics")
        if not name or not metrics:
            continue
        launch = row["launch"]
        rows[name] = {"time_us": row["causes"]["measured_us"], "grid": "x".join(map(str, launch["grid"])),
                      "block": "x".join(map(str, launch["block"])), "registers": launch["registers"],
                      "shared_bytes": launch["shared_bytes"], **metrics}
    library = sorted(name for name in rows if not re.fullmatch(r"[a-z]\d\d[ab]?", name))
    for number, name in enumerate(library, 6):
        rows[f"h{number:02}"] = rows.pop(name)
    columns = ["time_us", "grid", "block", "registers", "shared_bytes"]
    columns += sorted({column for row in rows.values() for column in row} - set(columns))
    print(",".join(["kernel"] + columns))
    for name in sorted(rows):
        cells = [rows[name].get(column, "") for column in columns]
        print(",".join([name] + [f"{cell:.6g}" if isinstance(cell, (int, float)) else cell for cell in cells]))


main()
