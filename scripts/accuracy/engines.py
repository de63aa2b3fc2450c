#!/usr/bin/env python3
"""Errors of engines' kernels on shapes that no fit saw: the tables of docs/accuracy.md and docs/accuracy/engines.md.

    python3 scripts/accuracy/engines.py --ridge build/dev/ridge --data DIR                  # prints both tables
    python3 scripts/accuracy/engines.py --ridge build/dev/ridge --data DIR --folds --write  # writes them into docs/
    python3 scripts/accuracy/engines.py --ridge build/dev/ridge --own records/h200-sxm-engines
    python3 scripts/accuracy/engines.py --data DIR --alike                                  # how far like rows lie apart

DIR holds the tables engine_OP_GPU.csv. Shapes are left out by a hash (measure/fit/left_out.h; the test left_out_shapes compares
the two): of products whole pairs of n and k, of attention whole heads with their head dimension, and single shapes; of experts
single shapes. Prefill counts from 20 us. The columns `single` and `pairs` divide the rows by that; `analytic` is without
corrections. --folds adds the cross-validation of the fitted rows (`ridge fit engine`, five folds of whole pairs, heads or shapes;
some ten minutes; without it, docs/accuracy.md keeps its column); there, prefill counts from the start, corrections do not count,
and kernels without a law of their own are missing. --alike compares, on fitted rows, calls of one library that several engines
measured: after the median ratio of two tables their rows differ by a mean; three such differences give each table's own scatter,
s_a^2 = (d_ab^2 + d_ac^2 - d_bc^2) / 2, below which no law of shapes can come.
"""

import argparse
import collections
import csv
import itertools
import json
import math
import pathlib
import statistics
import subprocess
import tempfile

from marked import part_of, with_part

ROOT = pathlib.Path(__file__).resolve().parents[2]
GPUS = {"h200-sxm": "H200", "b200": "B200", "l40s": "L40S"}
OPERATIONS = ["matmul", "attention", "moe"]
SHAPES = {"matmul": ["batch", "m", "n", "k"],
          "moe": ["tokens", "hidden", "intermediate", "topk", "experts", "tp", "ep"]}
LEFT_AT_ONE = {"batch", "tp", "ep"}  # not part of the text where they are 1
REACH = {"products bf16": 5, "products fp8": 5, "products fp8_block": 8, "products nvfp4": 6, "prefill": 6, "decode": 6,
         "decode, 8-bit cache": 6, "encoder": 8, "experts": 12}
REACH_OF_ADA = {"products bf16": 7, "products fp8": 7, "decode": 8}
SUMMARY_HEAD = ["kernels", "GPU", "reach", "rows", "mean", "median", "p90", "in band", "single", "pairs", "analytic", "five folds"]
KERNEL_HEAD = ["kernels", "GPU", "engine", "kernel", "rows", "mean", "median", "p90", "bias", "in band", "single", "pairs", "analytic"]


def in_fifth(text):
    value = 14695981039346656037
    for letter in text.encode():
        value = ((value ^ letter) * 1099511628211) % 2**64
    return (value >> 32) % 5 == 0


def shape_text(row):
    fields = [(name, row.get(name) or "1") for name in SHAPES[row["op"]]]
    return "|".join([row["op"]] + [f"{name}={value}" for name, value in fields if value != "1" or name not in LEFT_AT_ONE])


def side_of(row):
    """0 fitted, 1 single shape left out, 2 whole pair left out."""
    if row["op"] == "attention":
        heads = f"attention|heads={row['heads']}|kv_heads={row['kv_heads']}|head_dim={row['head_dim']}"
        if in_fifth(heads):
            return 2
        return int(in_fifth(f"{heads}|batch={row['batch']}|seq_q={row['seq_q']}|seq_kv={row['seq_kv']}"))
    if row["op"] == "matmul" and in_fifth(f"matmul|n={row['n']}|k={row['k']}"):
        return 2
    return int(in_fifth(shape_text(row)))


def class_of(row):
    if row["op"] == "matmul":
        return "products " + row["dtype"]
    if row["op"] == "moe":
        return "experts"
    if row["kv_write"] in ("", "0") and row["causal"] == "0":
        return "encoder"
    if int(row["seq_q"]) > 1 or row["seq_kv"] == "1":
        return "prefill"
    return "decode" + (", 8-bit cache" if row["kv_dtype"] not in ("", row["dtype"]) or row["dtype"] == "fp8" else "")


def class_of_section(section):
    """The class of model.engine.LAW.ENGINE.KERNEL."""
    law, _, kernel = section.split(".")[2:]
    if law == "tiled_product":
        return "products " + next(dtype for dtype in ("fp8_block", "fp8", "bf16", "nvfp4") if kernel.startswith(dtype))
    if law == "expert_block":
        return "experts"
    if law == "attention_parts":
        return "decode, 8-bit cache" if "kv8" in kernel else "decode"
    return "encoder" if kernel.startswith("encoder") else "prefill"


def predicted(ridge, table, more=()):
    out = subprocess.run([ridge, "predict", "--from", str(table), "--format", "csv", *more], check=False,
                         capture_output=True, text=True).stdout
    return list(csv.DictReader(out.splitlines()))


def signed(row):
    return 100 * (float(row["time_us"]) / float(row["measured_us"]) - 1)


def quantile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def inside(row):
    return float(row["time_low_us"]) <= float(row["measured_us"]) <= float(row["time_high_us"])


def mean(values):
    return f"{statistics.fmean(values):.1f} %" if values else "-"


def judged(ridge, data):
    """Rows left out as (row, side, row without corrections), by GPU and class; and how many have no answer."""
    groups, refused = collections.defaultdict(list), collections.Counter()
    for gpu in GPUS:
        for operation in OPERATIONS:
            table = data / f"engine_{operation}_{gpu}.csv"
            for row, plain in zip(predicted(ridge, table), predicted(ridge, table, ["--analytic"]), strict=True):
                side, name = side_of(row), class_of(row)
                if side == 0 or (name == "prefill" and float(row["measured_us"]) < 20):
                    continue
                if row["time_us"] and plain["time_us"]:
                    groups[gpu, name].append((row, side, plain))
                else:
                    refused[gpu, row["software"], row["kernel"]] += 1
    return groups, refused


def folds(ridge, data):
    """(rows, mean error, share in band) of each kernel's cross-validation, by GPU and class."""
    found = collections.defaultdict(list)
    with tempfile.TemporaryDirectory() as scratch:
        for gpu in GPUS:
            for operation in OPERATIONS:
                folder = pathlib.Path(scratch) / f"{operation}-{gpu}"
                folder.mkdir()
                (folder / f"engine_{operation}_{gpu}.csv").symlink_to((data / f"engine_{operation}_{gpu}.csv").resolve())
                out = subprocess.run([ridge, "fit", "engine", "--data", str(folder), "--gpu", gpu, "--format", "json"],
                                     check=True, capture_output=True, text=True).stdout
                for report in json.loads(out):
                    whole = report["cross_validated"][-1]
                    section = report["data"].split()[1]
                    found[gpu, class_of_section(section)].append((whole["rows"], whole["mean_error"], whole["in_band"]))
    return found


def folds_of_page():
    """The column of folds as docs/accuracy.md has it, by GPU and class."""
    table = part_of((ROOT / "docs/accuracy.md").read_text(encoding="utf-8"), "engines")
    rows = [line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("| ")]
    ids = {shown: gpu for gpu, shown in GPUS.items()}
    return {(ids[row[1]], row[0]): row[-1] for row in rows[1:]}


def of_folds(kernels):
    if isinstance(kernels, str):
        return kernels
    if not kernels:
        return "-"
    rows = sum(count for count, _, _ in kernels)
    error, held = (sum(kernel[0] * kernel[i] for kernel in kernels) / rows for i in (1, 2))
    return f"{100 * error:.1f} %, {100 * held:.0f} % in band"


def figures(rows, with_bias):
    errors = [abs(signed(row)) for row, _, _ in rows]
    sides = [[abs(signed(row)) for row, side, _ in rows if side == which] for which in (1, 2)]
    bias = [f"{statistics.median(signed(row) for row, _, _ in rows):+.1f} %"] if with_bias else []
    return [len(rows), mean(errors), f"{statistics.median(errors):.1f} %", f"{quantile(errors, 0.9):.1f} %", *bias,
            f"{100 * sum(inside(row) for row, _, _ in rows) / len(rows):.0f} %", mean(sides[0]), mean(sides[1]),
            mean([abs(signed(plain)) for _, _, plain in rows])]


def table_of(head, rows):
    words = {"kernels", "GPU", "engine", "kernel"}
    lines = ["| " + " | ".join(head) + " |", "|" + "".join("---|" if name in words else "---:|" for name in head)]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows])


def places(groups):
    return sorted(groups, key=lambda place: (list(REACH).index(place[1]), list(GPUS).index(place[0])))


def summary(groups, cross):
    rows = []
    for gpu, name in places(groups):
        reach = REACH_OF_ADA.get(name, REACH[name]) if gpu == "l40s" else REACH[name]
        rows.append([name, GPUS[gpu], reach, *figures(groups[gpu, name], False), of_folds(cross.get((gpu, name), []))])
    return table_of(SUMMARY_HEAD, rows)


def by_kernel(groups):
    rows = []
    for gpu, name in places(groups):
        kernels = collections.defaultdict(list)
        for entry in groups[gpu, name]:
            kernels[entry[0]["software"].split("-")[0], entry[0]["kernel"]].append(entry)
        for (engine, kernel), entries in sorted(kernels.items()):
            rows.append([name, GPUS[gpu], engine, f"`{kernel}`", *figures(entries, True)])
    return table_of(KERNEL_HEAD, rows)


def of_refused(refused):
    if not refused:
        return "Every row has an answer."
    each = [f"{count} of {software.split('-')[0]}'s `{kernel}` on {gpu}" for (gpu, software, kernel), count in sorted(refused.items())]
    return "Rows without an answer: " + ", ".join(each) + "."


# Kernels that call one library, by type: cuBLASLt.
ALIKE = {"bf16": {"torch.nn.functional.linear", "sglang_torch_linear", "torch_flow"}}


def scatter(pair):
    """The median ratio of like rows of two tables, the mean size of what is left, and their number; None if they are few."""
    ratios = [math.log(a / b) for a, b in pair]
    if len(ratios) < 20:
        return None
    middle = statistics.median(ratios)
    return math.expm1(middle), statistics.fmean(abs(ratio - middle) for ratio in ratios), len(ratios)


def alike(data):
    rows = []
    for gpu, (dtype, kernels) in itertools.product(GPUS, ALIKE.items()):
        times = collections.defaultdict(dict)
        with open(data / f"engine_matmul_{gpu}.csv", encoding="utf-8") as table:
            for row in csv.DictReader(table):
                if row["dtype"] == dtype and row["kernel"] in kernels and side_of(row) == 0:
                    times[row["software"].split("-")[0]][row["m"], row["n"], row["k"]] = float(row["measured_us"])
        found = {}
        for a, b in itertools.combinations(sorted(times), 2):
            both = times[a].keys() & times[b].keys()
            found[a, b] = found[b, a] = scatter([(times[a][shape], times[b][shape]) for shape in both])
            if found[a, b]:
                middle, off, count = found[a, b]
                rows.append([GPUS[gpu], dtype, f"{a} / {b}", count, f"{100 * middle:+.1f} %", f"{100 * off:.1f} %"])
        for a in sorted(times):
            b, c = (name for name in sorted(times) if name != a)
            if found[a, b] and found[a, c] and found[b, c]:
                square = (found[a, b][1] ** 2 + found[a, c][1] ** 2 - found[b, c][1] ** 2) / 2
                rows.append([GPUS[gpu], dtype, a, len(times[a]), "", f"{100 * math.sqrt(max(square, 0.0)):.1f} %"])
    return table_of(["GPU", "type", "engines", "rows", "median ratio", "scatter"], rows)


def own(ridge, folder):
    groups = collections.defaultdict(list)
    for table in sorted(folder.glob("engine_*.csv")):
        for row in predicted(ridge, table):
            groups[row["kernel"], row.get("phase", "")].append(row)
    rows = []
    for (kernel, phase), entries in sorted(groups.items()):
        errors = [abs(signed(row)) for row in entries]
        rows.append([f"`{kernel}`", phase, len(entries), mean(errors), f"{statistics.median(errors):.1f} %",
                     f"{statistics.median(map(signed, entries)):+.1f} %", f"{100 * sum(map(inside, entries)) / len(entries):.0f} %"])
    return table_of(["kernel", "phase", "rows", "mean", "median", "bias", "in band"], rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--ridge", default="build/dev/ridge")
    parser.add_argument("--data", type=pathlib.Path)
    parser.add_argument("--own", type=pathlib.Path)
    parser.add_argument("--alike", action="store_true", help="how far like rows of several engines lie apart")
    parser.add_argument("--folds", action="store_true", help="cross-validate the fitted rows, too")
    parser.add_argument("--write", action="store_true", help="write the tables into docs/")
    arguments = parser.parse_args()
    if arguments.alike:
        print(alike(arguments.data))
    elif arguments.data:
        groups, refused = judged(arguments.ridge, arguments.data)
        cross = folds(arguments.ridge, arguments.data) if arguments.folds else folds_of_page()
        pages = {"accuracy.md": summary(groups, cross) + "\n\n" + of_refused(refused), "accuracy/engines.md": by_kernel(groups)}
        for name, text in pages.items():
            if arguments.write:
                page = ROOT / "docs" / name
                page.write_text(with_part(page.read_text(encoding="utf-8"), "engines", text), encoding="utf-8")
            else:
                print(text + "\n")
    if arguments.own:
        print(own(arguments.ridge, arguments.own))


if __name__ == "__main__":
    main()
