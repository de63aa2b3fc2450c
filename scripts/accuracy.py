#!/usr/bin/env python3
"""Writes docs/accuracy.md: how far predictions are from measured times.

Usage: scripts/accuracy.py RIDGE [REFERENCE]
RIDGE is the program. REFERENCE is a folder of public measurements as CSV tables (columns as in
`ridge predict --from`, with `measured_us`); its rows are not part of the project, only the errors
are written. The second part comes from the records in measure/records/.
"""
import collections
import csv
import io
import pathlib
import subprocess
import sys

HEAD = """# Accuracy

Errors are predicted / measured - 1. Made by `scripts/accuracy.py`; do not edit.

## Against public measurements

Rows that `ridge predict --from` predicts as they stand: bf16 and fp8 matrix products, attention and collectives of
aiconfigurator (Apache-2.0), fp32 eager kernels and matrix products of NeuSight (MIT). The parameters were fitted on these rows
(`ridge fit`), so the table is in-sample; cross-validation over whole groups of shapes adds at most 0.1 points for matrix products and
attention, and up to 4 points for softmax and layernorm by blocks, of which there are few rows (`ridge fit CLASS --data DIR` prints it). "In band"
is the share of measured times inside the 80 % band. Message sizes of the collectives' tables count elements and are converted to bytes.

| class | GPU | rows | mean | median | p90 | bias | in band |
|---|---|---:|---:|---:|---:|---:|---:|
"""
SIZES = {"half": 2, "int8": 1}


def rows_of(ridge, path):
    """The table predicted, with message sizes in bytes."""
    with open(path, newline="", encoding="utf-8") as file:
        table = list(csv.DictReader(file))
    for row in table:
        if "bytes" in row:
            row["bytes"] = str(int(row["bytes"]) * SIZES[row["dtype"]])
    text = io.StringIO()
    writer = csv.DictWriter(text, table[0].keys())
    writer.writeheader()
    writer.writerows(table)
    run = subprocess.run([ridge, "predict", "--from", "-"], input=text.getvalue(),
                         capture_output=True, text=True, check=True)
    return csv.DictReader(io.StringIO(run.stdout))


def class_of(row):
    if row["op"] == "attention":
        return f"attention {'decode' if row['causal'] == '0' else 'prefill, over 20 us'} {row['impl']}"
    if "bytes" in row:
        return "collectives, 2 to 8 GPUs"
    return f"{row['op']} {row['dtype']}"


def summary(errors, inside):
    ordered = sorted(abs(error) for error in errors)
    count = len(ordered)
    median = lambda values: sorted(values)[len(values) // 2]
    figures = (sum(ordered) / count, median(ordered), ordered[count * 9 // 10])
    return (" | ".join(f"{100 * figure:.1f} %" for figure in figures) +
            f" | {100 * median(errors):+.1f} % | {100 * sum(inside) / count:.0f} %")


def public_table(ridge, folder):
    groups = collections.defaultdict(lambda: ([], []))
    for path in sorted(pathlib.Path(folder).glob("*.csv")):
        for row in rows_of(ridge, path):
            measured = float(row["measured_us"])
            short = row["op"] in ("attention", "elementwise") and measured <= 20
            if short and row.get("causal") != "0":
                continue
            errors, inside = groups[(class_of(row), row["gpu"])]
            errors.append(float(row["time_us"]) / measured - 1)
            inside.append(float(row["time_low_us"]) <= measured <= float(row["time_high_us"]))
    return "".join(f"| {name} | {gpu} | {len(errors)} | {summary(errors, inside)} |\n"
                   for (name, gpu), (errors, inside) in sorted(groups.items()))


def validated(ridge, records):
    run = subprocess.run([ridge, "validate", records, "--format", "md"], capture_output=True,
                         text=True, check=True)
    return run.stdout


def main():
    ridge, *reference = sys.argv[1:]
    root = pathlib.Path(__file__).resolve().parent.parent
    target = root / "docs" / "accuracy.md"
    if reference:
        public = public_table(ridge, reference[0])
    else:
        old = target.read_text(encoding="utf-8")
        public = old[old.index("---:|\n") + 6:old.index("\n## Against")] if "\n## Against" in old else ""
    text = HEAD + public + """
## Against an NVIDIA H200, the full suite

`measure/records/h200-sxm/`: bundled kernels, cuBLASLt and access patterns, timed and counted by `ridge measure --suite full`.
DRAM and FLOP are predicted / counted; rate is what is left of the error.

![Predicted against measured times of the full suite](images/scatter-h200.svg)

""" + validated(ridge, "measure/records/h200-sxm") + """
## Against an NVIDIA H200, shapes drawn at random

`measure/records/h200-sxm-random/`: `ridge measure --random 200 --seed 2`. Parameters of bundled kernels were chosen on the full suite and on 300 other
random shapes, while these records were looked at for judging.

""" + validated(ridge, "measure/records/h200-sxm-random")
    target.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
