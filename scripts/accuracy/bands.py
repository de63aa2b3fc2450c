#!/usr/bin/env python3
"""How honest the 80 % bands are: coverage and interval score at home and abroad, in one table (docs/accuracy.md, Bands).

    scripts/accuracy/bands.py RIDGE [--reference TABLES] [--write]

A band is honest if it holds 80 % of the times that nobody has fitted, and no wider than that needs. The interval score (errors.py) measures
both: width of the band in ln, and ten times what a time lies outside of it. Beside it stands the score of a band of a factor 2.
At home: judging records of PyTorch, of models' shapes, of ridge's kernels; engines' shapes that no fit saw (TABLES). Abroad, with TABLES: GPUs
left out (left_out.py) and an L40S, whose products and attention no fit uses; versions, classes and regions left out.
Regions: the rows of a class whose extents reach beyond what the rest has (long k, thin, huge, long rows). The class's band without corrections
is found again from the rest (8 and 92 % quantiles, as `ridge fit bands` does), wider by what ridge adds outside the validated range, and
judged on the region. A class left out has the mean band of the others. Classes are those of `--by`: kind of row; a class counts from 40 rows.
"""
import argparse
import collections
import csv
import io
import math
import pathlib
import re
import statistics
import subprocess
import tempfile
import tomllib

import left_out
from errors import Judged
from marked import with_part

ROOT = pathlib.Path(__file__).resolve().parents[2]
ENOUGH, LEAST, MOST = 40, 72.0, 90.0
HOME = {"PyTorch's kernels, H200": "h200-sxm-torch-judge", "PyTorch's kernels, H100": "h100-sxm-torch-judge",
        "PyTorch's kernels, shapes of models, H200": "h200-sxm-torch-usual-judge", "ridge's kernels and cuBLASLt, H200": "h200-sxm-judge"}
OTHERS = ("matmul_l40s", "attention_prefill_l40s", "attention_decode_l40s", "collectives_l40s")  # tables of a GPU that nothing was fitted to
MOST_ROWS = 1500
OUTSIDE = 0.08  # on either side, as in measure/fit/fit_bands.cpp
BEYOND = tomllib.loads((ROOT / "calibration/bands.toml").read_text(encoding="utf-8"))["factor"]["beyond_data"]["value"]
HEAD = "| what | rows | in band | classes | outside 72 to 90 % | interval score | of a factor 2 |\n|---|---:|---:|---:|---|---:|---:|\n"


def validated(ridge, folder, *options):
    """The rows of `ridge validate` over records."""
    text = subprocess.run([ridge, "validate", str(folder), *options, "--format", "csv"], check=True, capture_output=True, text=True).stdout
    return list(csv.DictReader(io.StringIO(text)))


def fields_of(row):
    return dict(word.split("=", 1) for word in row["op"].split() if "=" in word)


def class_of(row):
    """Operation, implementation, direction, and the type of a product."""
    fields = fields_of(row)
    name = row["operation"] + (" backward" if fields.get("direction") == "backward" else "")
    kind = fields["dtype"] + " " + fields.get("l2", "warm") if row["operation"] == "matmul" and row["implementation"] == "torch" else row["implementation"]
    return f"{name} {kind}"


def judged(row):
    return Judged(*(float(row[name]) for name in ("predicted_us", "measured_us", "low_us", "high_us")))


def line(name, classes):
    """The row of a kind: all its classes together, and which of them hold too few or too many times."""
    every = [one for members in classes.values() for one in members]
    large = {key: 100.0 * statistics.fmean(one.inside for one in members) for key, members in classes.items() if len(members) >= ENOUGH}
    wrong = "; ".join(f"{key} {share:.0f} %" for key, share in sorted(large.items()) if not LEAST <= round(share) <= MOST)
    return (f"| {name} | {len(every)} | {100.0 * statistics.fmean(one.inside for one in every):.0f} % | {len(large)} | {wrong or 'none'} | "
            f"{statistics.fmean(one.score() for one in every):.2f} | {statistics.fmean(one.plain_score() for one in every):.2f} |\n")


def home(ridge, folder):
    classes = collections.defaultdict(list)
    for row in validated(ridge, ROOT / "records" / folder):
        classes[class_of(row)].append(judged(row))
    return classes


def foreign(ridge, tables):
    """An L40S as the catalogue describes it."""
    classes = collections.defaultdict(list)
    for name in OTHERS:
        with open(pathlib.Path(tables) / f"{name}.csv", newline="", encoding="utf-8") as file:
            rows = [row for row in csv.DictReader(file) if not left_out.too_short(row)]
        rows = rows[::max(1, len(rows) // MOST_ROWS)]
        for row in rows:
            if "bytes" in row:  # the tables count elements
                row["bytes"] = str(int(row["bytes"]) * left_out.SIZES[row["dtype"]])
        text = io.StringIO()
        writer = csv.DictWriter(text, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
        answer = subprocess.run([ridge, "predict", "--from", "-"], input=text.getvalue(), capture_output=True, text=True, check=False).stdout
        for row in csv.DictReader(io.StringIO(answer)):
            if one := Judged.of(row):
                classes[left_out.class_of(row)].append(one)
    return classes


# What a region holds, of the fields of a row, and the classes that have it.
REGIONS = {"long k (over 8192)": (lambda f: int(f.get("k", 0)) > 8192, ("matmul",)),
           "thin (at most 16 rows)": (lambda f: int(f.get("m", 99)) <= 16, ("matmul",)),
           "long rows (over 16384)": (lambda f: int(f.get("cols", 0)) > 16384, ("softmax", "layernorm", "rmsnorm", "sum", "mean", "max", "argmax", "cross_entropy", "scan", "gather")),
           "many rows (over 16384)": (lambda f: int(f.get("rows", 0)) > 16384, ("softmax", "layernorm", "rmsnorm", "sum", "mean", "max", "argmax", "cross_entropy", "scan", "gather")),
           "huge (over 2^26 elements)": (lambda f: int(f.get("elements", 0)) > 1 << 26, ("elementwise", "copy", "cast")),
           "long keys (over 4096)": (lambda f: int(f.get("seq_kv", 0)) > 4096, ("attention",))}


def quantile(ordered, share):
    position = share * (len(ordered) - 1)
    below = int(position)
    return ordered[below] + (position - below) * (ordered[min(below + 1, len(ordered) - 1)] - ordered[below])


def regions(ridge):
    """For each region: classes of rows inside it, with the band of the rest."""
    found = collections.defaultdict(lambda: collections.defaultdict(list))
    classes = collections.defaultdict(list)
    for row in validated(ridge, ROOT / "records/h200-sxm-torch", "--analytic"):
        classes[class_of(row)].append(row)
    for key, rows in classes.items():
        for name, (holds, operations) in REGIONS.items():
            if rows[0]["operation"] not in operations:
                continue
            sides = {True: [], False: []}
            for row in rows:
                sides[holds(fields_of(row))].append(row)
            if len(sides[False]) < ENOUGH or len(sides[True]) < ENOUGH:
                continue
            logs = sorted(judged(row).log for row in sides[False])
            low, high = (BEYOND * quantile(logs, share) for share in (OUTSIDE, 1.0 - OUTSIDE))
            for row in sides[True]:
                predicted = float(row["predicted_us"])
                found[name][key].append(Judged(predicted, float(row["measured_us"]), predicted * math.exp(low), predicted * math.exp(high)))
    return found


def asked(ridge, rows, **more):
    """Judged rows of a table as ridge answers them, with fields added."""
    text = io.StringIO()
    writer = csv.DictWriter(text, [*rows[0], *(name for name in more if name not in rows[0])])
    writer.writeheader()
    writer.writerows({**row, **more} for row in rows)
    answer = subprocess.run([ridge, "predict", "--from", "-", "--format", "csv"], input=text.getvalue(), capture_output=True, text=True, check=False).stdout
    return [one for one in map(Judged.of, csv.DictReader(io.StringIO(answer))) if one]


def read(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def versions(ridge, tables):
    """Kernels of one version predicted by what was measured of another: cuBLASLt's products in engines that have the values of TensorRT-LLM's
    calls, and PyTorch 2.1's products on GPUs of which PyTorch 2.11 was never measured."""
    cublas, torch = {}, {}
    for gpu in ("h200-sxm", "b200"):
        rows = [row for row in read(pathlib.Path(tables) / f"engine_matmul_{gpu}.csv") if row["dtype"] == "bf16"]
        for engine in ("vllm-0.24.0", "sglang-0.5.14"):
            cublas[f"{engine} {gpu}"] = asked(ridge, [row for row in rows if row["software"] == engine])
    rows = read(pathlib.Path(tables) / "matmul_fp32_neusight.csv")
    for gpu in sorted({row["gpu"] for row in rows}):
        torch[f"matmul fp32 {gpu}"] = asked(ridge, [row for row in rows if row["gpu"] == gpu], impl="torch")
    return {"cuBLASLt in vLLM and SGLang from TensorRT-LLM's": cublas, "PyTorch 2.1's products from 2.11's on an H200": torch}


def left_out_classes(ridge):
    """Each class of PyTorch's kernels without corrections, in a band from all the other classes, each with the same weight."""
    logs = collections.defaultdict(list)
    rows = collections.defaultdict(list)
    for row in validated(ridge, ROOT / "records/h200-sxm-torch", "--analytic"):
        logs[class_of(row)].append(judged(row).log)
        rows[class_of(row)].append(row)
    large = sorted(key for key in rows if len(rows[key]) >= ENOUGH)
    ends = {key: [quantile(sorted(logs[key]), share) for share in (OUTSIDE, 1.0 - OUTSIDE)] for key in large}
    classes = {}
    for key in large:
        low, high = (statistics.fmean(ends[other][side] for other in large if other != key) for side in (0, 1))
        classes[key] = [Judged(predicted, float(row["measured_us"]), predicted * math.exp(low), predicted * math.exp(high))
                        for row in rows[key] for predicted in [float(row["predicted_us"])]]
    return classes


def programs(ridge):
    """Operators of recorded programs that judge, weighted alike."""
    import programs as recorded  # noqa: PLC0415: only here
    classes = collections.defaultdict(list)
    with open(ROOT / "records/torch-programs-judge/h200.csv", encoding="utf-8") as file:
        half_of = recorded.halves_of({row["program"]: row for row in csv.DictReader(file) if not row["reason"]})
    for path in sorted((ROOT / "records/torch-programs-judge").glob("*.json.gz")):
        name = path.name.removesuffix(".json.gz")
        for row in recorded.report_of(ridge, path)["operators"] if half_of.get(name, "").startswith("judge") else ():
            if row.get("predicted_us") and row["low_us"] > 0:
                classes[half_of[name]].append(Judged(row["predicted_us"], row["measured_us"], row["low_us"], row["high_us"]))
    return classes


def table(ridge, tables):
    text = HEAD
    for name, folder in HOME.items():
        text += line("home: " + name, home(ridge, folder))
    if tables:
        by_gpu = collections.defaultdict(dict)
        for (kind, gpu), members in left_out.results(ridge, tables).items():
            by_gpu[gpu][kind] = members
        for gpu, classes in sorted(by_gpu.items()):
            text += line(f"GPU left out: {gpu} from {left_out.DONORS[gpu][0]}", classes)
        text += line("GPU never fitted: l40s", foreign(ridge, tables))
        for name, classes in versions(ridge, tables).items():
            text += line("version left out: " + name, classes)
    text += line("class left out: PyTorch's kernels, in the mean band of the others", left_out_classes(ridge))
    for name, classes in regions(ridge).items():
        text += line("region left out: " + name, classes)
    for half, members in sorted(programs(ridge).items()):
        text += line(f"programs, {half}: operators", {half: members})
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ridge")
    parser.add_argument("--reference", help="folder of public measurements")
    parser.add_argument("--write", action="store_true", help="into docs/accuracy.md")
    options = parser.parse_args()
    text = table(options.ridge, options.reference)
    print(text, end="")
    if options.write:
        page = ROOT / "docs/accuracy.md"
        page.write_text(with_part(page.read_text(encoding="utf-8"), "bands", text), encoding="utf-8")


if __name__ == "__main__":
    main()
