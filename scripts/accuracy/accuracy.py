#!/usr/bin/env python3
"""Writes the marked parts of docs/accuracy.md, the details in docs/accuracy/ and their pictures: how far predictions are
from measured times. What stands outside of the marks is written by hand and stays. The page opens with lines taken
from its own tables. The detail pages hold every class, the counters and the ten largest errors of each class.

Usage: scripts/accuracy/accuracy.py RIDGE [--reference TABLES] [--judge RECORDS] [--judge-h100 RECORDS]
RIDGE is the program. TABLES is a folder of public measurements as CSV tables (columns as in
`ridge predict --from`, with `measured_us`). Its rows are not part of the project: errors, shapes
and pictures are written, times are not. RECORDS is a folder of `ridge measure --random N --seed S`,
drawn after everything was fitted. It is refused if a record has no seed, has a seed that a
training folder of its GPU has, or is older than a training record. Without TABLES or RECORDS, the old text of
that part of the page is kept. The other parts come from the records in records/.
"""
import argparse
import collections
import csv
import io
import math
import pathlib
import json
import re
import statistics
import subprocess
import sys
import tempfile

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / each) for each in ("accuracy", "records")]
import left_out
import published
import record_files
import torch_accuracy  # noqa: E402: beside this script
from accuracy_texts import CHARTS, DETAILS, LEFT_HEAD, LEFT_OUT, LISTS_HEAD, NOT_JUDGED, PUBLIC, PUBLISHED_HEAD, RANDOM, SEEN, SUITE, TITLES
from marked import part_of, with_part, with_parts

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "accuracy.md"
LISTS = ROOT / "docs" / "accuracy"
TRAINING = ("h200-sxm", "h200-sxm-fit", "h200-sxm-random", "h200-sxm-corrections", "h100-sxm", "h100-sxm-corrections")
JUDGED_BEFORE = (315, 316, 317, 318, 319, 320, 321)  # judged earlier fits, before the last training records; no fit has seen them
CALIBRATION = ("h100-sxm", "h100-sxm-corrections")  # what `ridge calibrate --full` measured on an H100
OVERLAYS = [f"--gpu-file=records/h100-sxm/{name}.toml" for name in ("ceilings", "calibrated")]
NEIGHBOURS = 8
SIZES = {"half": 2, "int8": 1}
# Tables of other scripts (engines.py, energy.py, published_serving.py), and of GPUs that no parameter is fitted to (bands.py).
JUDGED_ELSEWHERE = ("engine_", "power_", "serving_")
NOT_FITTED = ("_l40s.csv",)


class Row:
    """One compared row: the class it belongs to, its shape and its error."""

    def __init__(self, group, texts, error, inside, limiter):
        self.group = group
        self.numbers = {}
        self.words = {}
        for name, value in texts.items():
            if re.fullmatch(r"\d+", value) and int(value) > 0:
                self.numbers[name] = math.log2(int(value))
            else:
                self.words[name] = value
        self.shape = " ".join(value if name == "op" else f"{name}={value}"
                              for name, value in texts.items() if value)
        self.error = error
        self.inside = inside
        self.limiter = limiter

    def distance(self, other):
        if self.words != other.words or self.numbers.keys() != other.numbers.keys():
            return math.inf
        return sum((value - other.numbers[name]) ** 2 for name, value in self.numbers.items())


def median(values):
    return statistics.median(values)


def quantile(values, tenths):
    """The quantile as in measure/statistics/quantile.h."""
    return statistics.quantiles(values, n=10, method="inclusive")[tenths - 1] if len(values) > 1 else values[0]


def percent(value):
    return f"{100 * value:+.1f} %"


def reason_of(row, rows):
    near = sorted((other.distance(row), abs(other.error), other.error) for other in rows if other is not row)
    near = [error for distance, _, error in near[:NEIGHBOURS] if distance < math.inf]
    if len(near) < 3:
        return f"{row.limiter} limits; there is no similar shape to compare"
    middle = median(near)
    if middle * row.error > 0 and abs(middle) > 0.4 * abs(row.error):
        return f"{row.limiter} limits; its neighbours are off by {percent(middle)}: the model"
    return f"{row.limiter} limits; its neighbours are off by {percent(middle)}: this shape alone"


def write_details(name, report, groups=()):
    """Writes a detail page: the whole report, then the ten largest errors of each class."""
    text = DETAILS.format(title=TITLES[name], report=report.strip() + "\n") + (LISTS_HEAD if groups else "")
    for title, rows in groups:
        text += f"## {title}\n\n| shape | error | reason |\n|---|---:|---|\n"
        for row in sorted(rows, key=lambda row: -abs(row.error))[:10]:
            text += f"| {row.shape} | {percent(row.error)} | {reason_of(row, rows)} |\n"
        text += "\n"
    LISTS.mkdir(exist_ok=True)
    (LISTS / f"{name}.md").write_text(text.rstrip("\n") + "\n", encoding="utf-8")


def summary(rows):
    errors = [abs(row.error) for row in rows]
    figures = (sum(errors) / len(errors), median(errors), quantile(errors, 9))
    return (" | ".join(f"{100 * figure:.1f} %" for figure in figures) +
            f" | {percent(median([row.error for row in rows]))} | "
            f"{100 * sum(row.inside for row in rows) / len(rows):.0f} %")


def run(arguments, text=None):
    return subprocess.run(arguments, input=text, capture_output=True, text=True, check=True).stdout


def table_of(path):
    """A reference table with message sizes in bytes, without calls too short to judge."""
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        if "bytes" in row:
            row["bytes"] = str(int(row["bytes"]) * SIZES[row["dtype"]])
    short = lambda row: float(row["measured_us"]) <= 20 and (
        row["op"] == "elementwise" or row.get("causal") == "1")
    return [row for row in rows if not short(row)]


def tuned_shape(row):
    """The key of the collectors' tuned tiles for a block of experts (docs/model.md X7)."""
    hidden, inner, experts, tp, ep = (int(row[name]) for name in ("hidden", "intermediate", "experts", "tp", "ep"))
    return hidden, inner // tp, experts // ep


def shared_shapes(rows):
    """Expert shapes on one GPU that several models of the table share."""
    owners = collections.defaultdict(set)
    for row in rows:
        owners[tuned_shape(row)].add((row["intermediate"], row["topk"], row["experts"]))
    return {shape for shape, models in owners.items() if len(models) > 1}


def csv_text(rows):
    text = io.StringIO()
    writer = csv.DictWriter(text, rows[0].keys())
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def class_of(row):
    if row["op"] == "mla":
        cache = ", 8-bit cache" if row["kv_dtype"] == "fp8" else ""
        return f"mla {row['phase']}{cache}", "serving"
    if row["op"] == "moe":
        return f"moe {row['dtype']}" + (", shapes of two models" if row.get("shared") else ""), "serving"
    if row["op"] == "attention" and row.get("kv_dtype", row["dtype"]) != row["dtype"]:
        phase = "decode" if row["causal"] == "0" else "prefill, over 20 us"
        return f"attention over an 8-bit cache, {phase}", "serving"
    if row["op"] == "attention":
        phase = "decode" if row["causal"] == "0" else "prefill, over 20 us"
        return f"attention {phase} {row['impl']}", "decode" if row["causal"] == "0" else "prefill"
    if "bytes" in row:
        return "collectives, 2 to 8 GPUs", "collectives"
    return f"{row['op']} {row['dtype']}", "matmul" if row["op"] == "matmul" else "streaming"


def shape_of(row):
    left_out = {"gpu", "measured_us", "source", "kernel", "l2", "launch", "kv_write", "causal", "impl"}
    inputs = list(row)[:list(row).index("measured_us")]
    return {name: row[name] for name in inputs if name not in left_out}


def public_part(ridge, folder):
    groups = collections.defaultdict(list)
    with tempfile.TemporaryDirectory() as scratch:
        tables = collections.defaultdict(list)
        for path in sorted(pathlib.Path(folder).glob("*.csv")):
            if path.name.startswith(JUDGED_ELSEWHERE) or path.name.endswith(NOT_FITTED):
                continue
            rows = table_of(path)
            chart = class_of(rows[0])[1]
            copy = pathlib.Path(scratch) / path.name
            copy.write_text(csv_text(rows), encoding="utf-8")
            answer = subprocess.run([ridge, "predict", "--from", str(copy)], capture_output=True, text=True)
            if answer.returncode != 0:
                print(f"left out: {path.name}, which has rows that are not modelled", file=sys.stderr)
                continue
            tables[chart].append(str(copy))
            shared = shared_shapes(rows) if rows[0]["op"] == "moe" else ()
            for row in csv.DictReader(io.StringIO(answer.stdout)):
                if shared and tuned_shape(row) in shared:
                    row["shared"] = True
                measured = float(row["measured_us"])
                inside = float(row["time_low_us"]) <= measured <= float(row["time_high_us"])
                name = class_of(row)[0]
                groups[(name, row["gpu"])].append(
                    Row(name, shape_of(row), float(row["time_us"]) / measured - 1, inside, row["limiter"]))
        for chart, paths in tables.items():
            picture = str(ROOT / f"docs/images/accuracy-{chart}.png")
            run([ridge, "plot", "scatter", *paths, "-o", picture])
            run([sys.executable, str(ROOT / "scripts/docs/palette.py"), picture])
    text = PUBLIC
    text += "".join(f"| {name} | {gpu} | {len(rows)} | {summary(rows)} |\n"
                    for (name, gpu), rows in sorted(groups.items()))
    pictures = "".join(f"![{title}: predicted over measured time](../images/accuracy-{chart}.png)\n\n"
                       for chart, title in CHARTS.items())
    write_details("public", pictures, [(f"{name}, {gpu}", rows) for (name, gpu), rows in sorted(groups.items())])
    return text


def record_rows(ridge, records, options=()):
    groups = collections.defaultdict(list)
    for row in csv.DictReader(io.StringIO(run([ridge, "validate", records, *options, "--format", "csv"]))):
        words = re.findall(r'(\w+)=("[^"]*"|\S+)', row["op"])
        group = f"{row['operation']} {row['implementation']}"
        groups[group].append(Row(group, {name: value.strip('"') for name, value in words if name != "impl"},
                                 float(row["error"]), row["in_band"] == "1", row["limiter"]))
    return groups


def record_part(ridge, records, name, head="", options=()):
    """Writes the details; returns the table of errors."""
    report = run([ridge, "validate", records, *options, "--format", "md"])
    report = report[:report.index("| worst cases")]
    write_details(name, head + report, sorted(record_rows(ridge, records, options).items()))
    return report[:report.index("\n\n") + 1]


def cells_of(text, first):
    """Rows of the first Markdown table whose header begins with `first`, by column."""
    lines = text[text.index(f"| {first} |"):].splitlines()
    split = lambda line: [cell.strip() for cell in line.strip().strip("|").split("|")]
    names = split(lines[0])
    rows = []
    for line in lines[2:]:
        if not line.startswith("|"):
            break
        rows.append(dict(zip(names, split(line))))
    return rows


def share(text):
    return float(text.rstrip(" %"))


def weighted(rows, count):
    """Mean error and share in the band of several classes, each weighted by its records."""
    n = sum(int(row[count]) for row in rows)
    mean, inside = (sum(int(row[count]) * share(row[name]) for row in rows) / n for name in ("mean", "in band"))
    return f"{n} records, mean {mean:.1f} %, {inside:.0f} % in the band"


def as_users_meet_them(judged, public, torch):
    """Errors of the kinds of kernels apart, first what users run."""
    own = [row for row in cells_of(judged, "operation") if row["operation"] != "all"]
    products = [row for row in own if row["impl"] == "library"]
    engines = [row for row in cells_of(public, "class") if row["class"].startswith(("attention", "moe", "mla"))]
    kinds = [("PyTorch's kernels (H200, H100; judged blind)", weighted(cells_of(torch, "kernels"), "records")),
             ("engines' attention and experts (public tables, in-sample)", weighted(engines, "rows")),
             ("cuBLASLt's products (H200; judged blind)", weighted(products, "n")),
             ("ridge's own kernels (H200; judged blind)", weighted([row for row in own if row not in products], "n"))]
    return "**As users meet them**: " + "; ".join(f"{name}: {figures}" for name, figures in kinds) + "."


def opening(ridge, judged, public, left, torch):
    """The lines that the page opens with, from its own tables."""
    fitted = cells_of(public, "class")
    gpus = sorted({row["GPU"] for row in fitted})
    means = sorted(share(row["mean"]) for row in fitted)
    rows = sum(int(row["rows"]) for row in fitted)
    first = [] if judged == NOT_JUDGED else [as_users_meet_them(judged, public, torch)]
    lines = first + [f"**In-sample**: parameters are fitted to {rows} public measurements of {', '.join(gpus)} and to records of an H200; mean error by "
             f"class {means[0]:.1f} to {means[-1]:.1f} %, median class {median(means):.1f} %."]
    if judged == NOT_JUDGED:
        lines += ["**Judged blind**: " + NOT_JUDGED.strip(), "**Weakest classes**: known when a seed has been drawn."]
    else:
        classes = cells_of(judged, "operation")
        total = next(row for row in classes if row["operation"] == "all")
        weakest = sorted((row for row in classes if row["operation"] != "all" and int(row["n"]) >= 5),
                         key=lambda row: -share(row["mean"]))[:3]
        lines += [f"**Judged blind**, ridge's own kernels and cuBLASLt: {total['n']} random shapes on an H200 that no fit has seen: mean {total['mean']}, "
                  f"90 % within {total['p90']}, {total['in band']} inside the 80 % band.",
                  "**Weakest classes** there: " +
                  ", ".join(f"{row['operation']} {row['impl']} ({row['mean']} mean, {row['p90']} p90)" for row in weakest) + "."]
    names = [row["name"] for row in csv.DictReader(io.StringIO(run([ridge, "gpus", "--format", "csv"])))]
    never = [name for name in names if name not in gpus and name != "h200-sxm"]
    carried = sorted((share(row["mean"]), f"{row['class']} on {row['GPU']}") for row in cells_of(left, "class"))
    lines.append(f"**Never measured**: {len(never)} of the {len(names)} GPUs of the catalogue take their efficiencies from a related GPU, and the answer "
                 f"says so. Measured GPUs treated the same way are off by {median([mean for mean, _ in carried]):.1f} % (median class), "
                 f"{carried[0][0]:.1f} to {carried[-1][0]:.0f} % (worst: {carried[-1][1]}).")
    lines.append("**Bands** hold 80 % of such errors by design; the column \"in band\" shows how many they do hold.")
    return "\n".join("- " + line for line in lines)


def records_in(folder):
    """(file, line, record) of every record of a folder."""
    for path in record_files.files_in(pathlib.Path(folder)):
        for number, record in record_files.records_of(path):
            yield path, number, record


def judging_seeds(folder, training):
    """The seeds of a judging folder; SystemExit if it cannot judge fits to `training`."""
    seen, newest = collections.defaultdict(set), ""
    for known in training:
        for _, _, record in records_in(known):
            newest = max(newest, record["date"])
            if "seed" in record:
                seen[record["seed"]].add(pathlib.Path(known).name)
    seeds = set()
    for path, number, record in records_in(folder):
        place = f"accuracy.py: {path}:{number}: "
        if "seed" not in record:
            sys.exit(place + "the record has no seed; measure with ridge measure --random N --seed S")
        if record["seed"] in seen:
            names = ", ".join(sorted(seen[record["seed"]]))
            sys.exit(place + f"seed {record['seed']} cannot judge: the fits have seen it ({names})")
        if record["date"] <= newest and record["seed"] not in JUDGED_BEFORE:
            sys.exit(place + f"measured {record['date']}, before the last training record ({newest}); "
                     "draw a seed after the fits")
        seeds.add(record["seed"])
    if not seeds:
        sys.exit(f"accuracy.py: {folder}: no records")
    return sorted(seeds)


def seed_rows(ridge, folder, seeds, options):
    """The figures of each seed, one line per seed."""
    lines = collections.defaultdict(lambda: collections.defaultdict(list))
    for path, _, record in records_in(folder):
        lines[record["seed"]][path.name.removesuffix(".gz")].append(json.dumps(record) + "\n")
    text = "| seed | measured | n | mean | median | p90 | bias | in band |\n|---|---|---:|---:|---:|---:|---:|---:|\n"
    for seed in seeds:
        with tempfile.TemporaryDirectory() as scratch:
            for name, records in lines[seed].items():
                (pathlib.Path(scratch) / name).write_text("".join(records), encoding="utf-8")
            rows = [row for group in record_rows(ridge, scratch, options).values() for row in group]
            dates = [record["date"] for _, _, record in records_in(scratch)]
        text += f"| {seed} | {max(dates)[:16].replace('T', ' ')} | {len(rows)} | {summary(rows)} |\n"
    return text


def judged_part(ridge, folder, training, name, options=()):
    seeds = judging_seeds(folder, [ROOT / "records" / each for each in training])
    rows = [record for _, _, record in records_in(folder)]
    days = sorted({record["date"][:10] for record in rows})
    devices = sorted({f"{record['device']['name']}, driver {record['device']['driver']}" for record in rows})
    named = ("seed " if len(seeds) == 1 else "seeds ") + " and ".join(filter(None, [", ".join(map(str, seeds[:-1])), str(seeds[-1])]))
    when = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    return (f"{len(rows)} shapes of {named}, measured {when} ({'; '.join(devices)}); no fit has seen them.\n\n" +
            seed_rows(ridge, folder, seeds, options) + "\n" + record_part(ridge, folder, name, options=options))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("ridge")
    parser.add_argument("--reference", help="folder of public measurements")
    parser.add_argument("--judge", help="folder of records of a seed that no fit has seen, on an H200")
    parser.add_argument("--judge-h100", help="the same, on an H100")
    arguments = parser.parse_args()
    ridge = arguments.ridge
    old = PAGE.read_text(encoding="utf-8")
    parts = {}
    parts["judged"] = judged_part(ridge, arguments.judge, TRAINING, "judged") if arguments.judge else part_of(old, "judged") or NOT_JUDGED
    if arguments.judge_h100:
        parts["calibrated"] = judged_part(ridge, arguments.judge_h100, CALIBRATION, "calibrated", OVERLAYS)
    parts["before calibration"] = before_calibration(ridge)
    parts["public"] = public_part(ridge, arguments.reference) if arguments.reference else part_of(old, "public")
    before = (LISTS / "left-out.md").read_text(encoding="utf-8")
    left = left_out.part(ridge, arguments.reference) if arguments.reference else part_of(before, "left out")
    write_details("left-out", with_part(LEFT_HEAD, "left out", left))
    write_details("published", PUBLISHED_HEAD + published.part(ridge))
    torch, parts["torch"] = torch_accuracy.part(ridge)
    write_details("torch", torch)
    parts["left out"] = LEFT_OUT + left_summary(left)
    parts["seen"] = SEEN + "".join(training_line(ridge, *each) for each in (("h200-sxm", "suite", SUITE), ("h200-sxm-random", "random", RANDOM)))
    parts["opening"] = opening(ridge, parts["judged"], parts["public"], left, parts["torch"])
    PAGE.write_text(with_parts(old, parts), encoding="utf-8")


def before_calibration(ridge):
    """Errors on the H100's judging shapes without the calibration."""
    rows = [row for group in record_rows(ridge, "records/h100-sxm-judge").values() for row in group]
    errors = [abs(row.error) for row in rows]
    return (f"Mean {100 * sum(errors) / len(errors):.1f} %, 90 % within {100 * quantile(errors, 9):.1f} %, "
            f"{100 * sum(row.inside for row in rows) / len(rows):.1f} % inside the band.")


def training_line(ridge, folder, name, head):
    table = cells_of(record_part(ridge, f"records/{folder}", name, head), "operation")
    total = next(row for row in table if row["operation"] == "all")
    columns = ("n", "mean", "median", "p90", "bias", "in band")
    return f"| [{TITLES[name]}](accuracy/{name}.md) | " + " | ".join(total[column] for column in columns) + " |\n"


def left_summary(left):
    """A line for each GPU that was left out, over its classes."""
    classes = collections.defaultdict(list)
    for row in cells_of(left, "class"):
        classes[row["GPU"], row["parameters of"]].append(row)
    text = ""
    for (gpu, donor), rows in sorted(classes.items()):
        ordered = sorted(rows, key=lambda row: share(row["mean"]))
        inside = sorted(share(row["in band"]) for row in rows)
        text += (f"| {gpu} | {donor} | {len(rows)} | {median([share(row['mean']) for row in rows]):.1f} % | "
                 f"{ordered[0]['class']}, {ordered[0]['mean']} | {ordered[-1]['class']}, {ordered[-1]['mean']} | "
                 f"{inside[0]:.0f} to {inside[-1]:.0f} % |\n")
    return text


if __name__ == "__main__":
    main()
