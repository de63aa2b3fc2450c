#!/usr/bin/env python3
"""How well `ridge trace` predicts the recorded programs, and what it says that a wrong one would save (docs/traces.md).

    scripts/accuracy/programs.py --ridge build/dev/ridge records/torch-programs records/torch-programs-judge
    scripts/accuracy/programs.py --ridge build/dev/ridge --traces other/*.json.gz    (attributed, predicted, error of each)

A folder has NAME.json.gz and h200.csv of scripts/measure/torch-programs.py. For each program: the error weighted by operator, that of
the total, the share of kernel time within the 80 % band, and the share that is predicted; then means by half, and the pairs: the time
that the savings of the wrong program leave of its kernels, beside what the right program takes. The programs that judge are drawn into
halves A, which may be looked at by operator, and B, of which only the figures are read (`--part`).
"""
import argparse
import collections
import csv
import json
import pathlib
import random
import statistics
import subprocess

from errors import mean_size

# What each wrong program lacks, and the program that has it.
PAIRS = {"wrong_layout": ("layout", "resnet_last"), "wrong_precision": ("precision", "vit_amp"), "wrong_attention": ("attention", "right_attention"),
         "wrong_eager": ("idle", "decode_graph"), "slow_layout": ("layout", "fast_layout"), "slow_precision": ("precision", "fast_precision"),
         "slow_attention": ("attention", "fast_precision"), "slow_chain": ("fusion", "fast_chain"), "slow_launches": ("idle", "fast_launches")}


# The same for what is replayed: kind, words of the saving, the other program, and what its step has of the samples.
REPLAYED = {"few_images": ("batch", "", "twice_images", 2), "slow_batch": ("batch", "", "few_rows", 2), "half_rows": ("batch", "", "fast_precision", 2),
            "odd_words": ("padding", "", "padded_words", 1), "slow_loading": ("loading", "DataLoader", "fast_loading", 1),
            "fast_loading": ("loading", "pageable", "pinned_loading", 1)}

SPLIT_SEED = 38  # of the halves of the programs that judge


def halves_of(steps):
    """The half of each program; those that judge are split in two."""
    judges = sorted(name for name, row in steps.items() if row["half"] == "judge")
    first = set(random.Random(SPLIT_SEED).sample(judges, len(judges) // 2))
    return {name: row["half"] + (" A" if name in first else " B" if row["half"] == "judge" else "") for name, row in steps.items()}


def report_of(ridge, path):
    return json.loads(subprocess.run([ridge, "trace", str(path), "--format", "json"], check=True, capture_output=True).stdout)


def figures(report):
    rows = [row for row in report["operators"] if row.get("predicted_us") is not None]
    measured = sum(row["measured_us"] for row in rows)
    if not measured:
        return None
    return {"error": sum(abs(row["predicted_us"] - row["measured_us"]) for row in rows) / measured,
            "total": sum(row["predicted_us"] for row in rows) / measured - 1.0,
            "band": sum(row["measured_us"] for row in rows if row["low_us"] <= row["measured_us"] <= row["high_us"]),
            "predicted": measured, "time": report["kernel_time_us"]}


def pair_line(name, reports, steps):
    kind, right = PAIRS[name]
    wanted = [each for each in reports[name]["savings"] if each["kind"] == kind]
    saved = sum(each["saves_us"] for each in wanted)
    if kind == "idle":  # a profiled host is slower, so only what is left can be compared
        before, after = reports[name]["span_us"], float(steps[right]["wall_us"])
    else:
        before, after = float(steps[name]["kernel_us"]), float(steps[right]["kernel_us"])
    return (f"{name:18s} {kind:10s} {before:9.0f} us, then predicted {before - saved:9.0f}, measured {after:9.0f}: "
            f"{100 * ((before - saved) / after - 1):+.0f} %")


def replayed_line(name, reports, steps):
    """Steps without the profiler take the share that the recording leaves. Of data loading recorded spans are compared, because the
    first wait of a step lies before its first kernel."""
    kind, words, right, samples = REPLAYED[name]
    found = [each for each in reports[name]["savings"] if each["kind"] == kind and words in each["what"]]
    left = found[0]["then_us"] / found[0]["now_us"] if found else 1.0
    if kind == "loading":
        before, after = reports[name]["span_us"], reports[right]["span_us"]
    else:
        before, after = float(steps[name]["wall_us"]), float(steps[right]["wall_us"]) / samples
    return f"{name:18s} {kind:10s} {before:9.0f} us, then predicted {before * left:9.0f}, measured {after:9.0f}: {100 * (before * left / after - 1):+.0f} %"


def print_traces(ridge, paths):
    for path in paths:
        report = report_of(ridge, path)
        found = figures(report)
        judged = (f"error {100 * found['error']:5.1f} %  total {100 * found['total']:+6.1f} %  in band {100 * found['band'] / found['predicted']:3.0f} %"
                  if found else "nothing predicted")
        slower = sum(each["kind"] == "slower" for each in report["savings"])
        print(f"{path.name.removesuffix('.json.gz'):36s} {report['gpu']:10s} attributed {100 * report['attributed_share']:3.0f} %  "
              f"predicted {100 * report['modelled_share']:3.0f} %  {judged}  slower: {slower}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=pathlib.Path)
    parser.add_argument("--traces", nargs="+", default=[], type=pathlib.Path, help="traces without measured steps")
    parser.add_argument("--ridge", default="build/dev/ridge")
    parser.add_argument("--part", choices=("A", "B"), help="only this half of the programs that judge")
    options = parser.parse_args()
    print_traces(options.ridge, options.traces)
    steps, reports, halves = {}, {}, collections.defaultdict(list)
    for folder in options.folders:
        with open(folder / "h200.csv", encoding="utf-8") as file:
            steps |= {row["program"]: row for row in csv.DictReader(file) if not row["reason"]}
        half_of = halves_of(steps)
        for path in sorted(folder.glob("*.json.gz")):
            name = path.name.removesuffix(".json.gz")
            if name not in steps or (options.part and half_of[name] != f"judge {options.part}"):
                continue
            reports[name] = report_of(options.ridge, path)
            found = figures(reports[name])
            if found is None:
                continue
            halves[half_of[name]].append((name, found))
            print(f"{name:22s} {half_of[name]:14s} error {100 * found['error']:5.1f} %  total {100 * found['total']:+6.1f} %  "
                  f"in band {100 * found['band'] / found['predicted']:3.0f} %  predicted {100 * found['predicted'] / found['time']:3.0f} %")
    for half, found in halves.items():
        errors, totals = ([each[key] for _, each in found] for key in ("error", "total"))
        print(f"{half}: {len(found)} programs; error {100 * mean_size(errors):.1f} %, median {100 * statistics.median(errors):.1f}, "
              f"worst {100 * max(errors):.0f}; total {100 * mean_size(totals):.1f} %, worst {100 * max(map(abs, totals)):.0f}; "
              f"in band {100 * sum(each['band'] for _, each in found) / sum(each['predicted'] for _, each in found):.0f} % of kernel time; "
              f"predicted {100 * sum(each['predicted'] for _, each in found) / sum(each['time'] for _, each in found):.0f} %")
    for name in PAIRS:
        if name in reports and PAIRS[name][1] in reports:
            print(pair_line(name, reports, steps))
    for name in REPLAYED:
        if name in reports and REPLAYED[name][2] in steps and not (options.part or name not in steps):
            print(replayed_line(name, reports, steps))


if __name__ == "__main__":
    main()
