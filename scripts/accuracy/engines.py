#!/usr/bin/env python3
"""Errors of engines' kernels on the shapes that no fit saw, for docs/accuracy.md.

    python3 scripts/accuracy/engines.py --ridge build/dev/ridge --data DIR            # the tables as Markdown
    python3 scripts/accuracy/engines.py --ridge build/dev/ridge --data DIR --kernels  # one line for each kernel
    python3 scripts/accuracy/engines.py --ridge build/dev/ridge --own records/h200-sxm-engines

DIR holds the tables engine_OP_GPU.csv. Shapes are left out by a hash (measure/fit/left_out.h): of products whole pairs of n and k, of
attention whole heads with their head dimension, and single shapes; of experts single shapes. Prefill counts from 20 us. The
columns `single` and `pairs` divide the rows by that; `analytic` is without corrections.
"""

import argparse
import collections
import csv
import pathlib
import statistics
import subprocess

GPUS = ["h200-sxm", "b200", "l40s"]
OPERATIONS = ["matmul", "attention", "moe"]
MOE = ["tokens", "hidden", "intermediate", "topk", "experts", "tp", "ep"]


def in_fifth(text):
    value = 14695981039346656037
    for letter in text.encode():
        value = ((value ^ letter) * 1099511628211) % 2**64
    return (value >> 32) % 5 == 0


def side_of(row):
    """0 fitted, 1 single shape left out, 2 whole pair left out."""
    if row["op"] == "matmul":
        if in_fifth(f"matmul|n={row['n']}|k={row['k']}"):
            return 2
        return int(in_fifth(f"matmul|batch={row['batch']}|m={row['m']}|n={row['n']}|k={row['k']}"))
    if row["op"] == "attention":
        heads = f"attention|heads={row['heads']}|kv_heads={row['kv_heads']}|head_dim={row['head_dim']}"
        if in_fifth(heads):
            return 2
        return int(in_fifth(f"{heads}|batch={row['batch']}|seq_q={row['seq_q']}|seq_kv={row['seq_kv']}"))
    fields = "|".join(f"{name}={row[name] or 1}" for name in MOE)
    return int(in_fifth("moe|" + fields))


def class_of(row):
    if row["op"] == "matmul":
        return "products " + row["dtype"]
    if row["op"] == "moe":
        return "experts " + row["software"].split("-")[0]
    if row["kv_write"] in ("", "0") and row["causal"] == "0":
        return "attention, encoder"
    if int(row["seq_q"]) > 1 or row["seq_kv"] == "1":
        return "attention, prefill"
    return "attention, decode" + (", 8-bit cache" if row["kv_dtype"] not in ("", row["dtype"]) else "")


def predicted(ridge, table, more=()):
    out = subprocess.run([ridge, "predict", "--from", str(table), "--format", "csv", *more], check=False,
                         capture_output=True, text=True).stdout
    return [row for row in csv.DictReader(out.splitlines()) if row["time_us"]]


def error(row):
    return 100 * abs(float(row["time_us"]) / float(row["measured_us"]) - 1)


def quantile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def inside(row):
    return float(row["time_low_us"]) <= float(row["measured_us"]) <= float(row["time_high_us"])


def mean(values):
    return f"{statistics.fmean(values):.1f} %" if values else "-"


def judged(ridge, data, kernels):
    groups = collections.defaultdict(list)
    for gpu in GPUS:
        for operation in OPERATIONS:
            table = data / f"engine_{operation}_{gpu}.csv"
            analytic = predicted(ridge, table, ["--analytic"])
            for row, plain in zip(predicted(ridge, table), analytic, strict=True):
                side = side_of(row)
                name = class_of(row)
                if side == 0 or (name.endswith("prefill") and float(row["measured_us"]) < 20):
                    continue
                if kernels:
                    name += f" | {row['software'].split('-')[0]} | `{row['kernel']}`"
                groups[gpu, name].append((row, side, error(plain)))
    return groups


def write(groups, kernels):
    print("| GPU | kernels |" + (" engine | kernel |" if kernels else "")
          + " rows | mean | median | p90 | in band | single | pairs | analytic |")
    print("|---|---|" + ("---|---|" if kernels else "") + "---:|" * 8)
    for (gpu, name), rows in sorted(groups.items(), key=lambda group: (GPUS.index(group[0][0]), group[0][1])):
        errors = [error(row) for row, _, _ in rows]
        held = sum(inside(row) for row, _, _ in rows) / len(rows)
        single = [error(row) for row, side, _ in rows if side == 1]
        pairs = [error(row) for row, side, _ in rows if side == 2]
        print(f"| {gpu} | {name} | {len(rows)} | {mean(errors)} | {statistics.median(errors):.1f} % | "
              f"{quantile(errors, 0.9):.1f} % | {100 * held:.0f} % | {mean(single)} | {mean(pairs)} | "
              f"{mean([plain for _, _, plain in rows])} |")


def write_own(ridge, folder):
    print("| kernel | phase | rows | mean | median | bias | in band |\n|---|---|---:|---:|---:|---:|---:|")
    groups = collections.defaultdict(list)
    for table in sorted(folder.glob("engine_*.csv")):
        for row in predicted(ridge, table):
            groups[row["kernel"], row.get("phase", "")].append(row)
    for (kernel, phase), rows in sorted(groups.items()):
        errors = [error(row) for row in rows]
        bias = statistics.median(100 * (float(row["time_us"]) / float(row["measured_us"]) - 1) for row in rows)
        print(f"| `{kernel}` | {phase} | {len(rows)} | {mean(errors)} | {statistics.median(errors):.1f} % | {bias:+.1f} % | "
              f"{100 * sum(map(inside, rows)) / len(rows):.0f} % |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--ridge", default="build/dev/ridge")
    parser.add_argument("--data", type=pathlib.Path)
    parser.add_argument("--own", type=pathlib.Path)
    parser.add_argument("--kernels", action="store_true")
    arguments = parser.parse_args()
    if arguments.data:
        write(judged(arguments.ridge, arguments.data, arguments.kernels), arguments.kernels)
    if arguments.own:
        write_own(arguments.ridge, arguments.own)


if __name__ == "__main__":
    main()
