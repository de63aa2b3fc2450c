#!/usr/bin/env python3
"""Compares predicted power and energy with public tables, as the lines of docs/energy.md.

    scripts/accuracy/energy.py FOLDER [RIDGE] [--configs FOLDER]        # default: build/release/ridge

FOLDER has serving_steady.csv and power_*.csv (docs/reference-tables.md; none of it is part of the project). Servers: joules per token of
the steady state (`ridge serve --steady`, W16 and EN9) with the prompts that fit/served_rows.py assumes, beside what was published, by
GPU and kind of model; the time per token of the same rows beside it, since energy is power times time. Rows of single kernels:
products and encoder attention of 200 us and more, the predicted power beside the table's.

Limits: what the tables lack (idle power, temperature, the prompts' lengths) is assumed. A B200's servers on one GPU that answer gpqa have a slow host
and are told apart (served_rows.host_of).
"""
import argparse
import concurrent.futures
import csv
import io
import pathlib
import subprocess
import sys

from errors import summary

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "fit"))
from served_rows import ROOT, TEXT, ask, config_of, groups_of, host_of, read  # noqa: E402

LIMIT, LEAST_US = 0.95, 200.0


def kind_of(row):
    name = row["model"].lower()
    experts = any(word in name for word in ("-a22b", "-a35b", "gpt-oss", "16e-"))
    return "experts" if experts else "mamba" if "nemotron" in name else "dense"


def served(folder, ridge, configs):
    """(group, kind, GPUs, error of joules, error of the time per token) of each published row that ridge answers."""
    def answer(group):
        config, quantise = config_of(group[0]["model"], configs)
        return ask(ridge, group, config, quantise, steady=True) if config else "no config"

    groups = [group for group in groups_of(read(folder / "serving_steady.csv")).values() if group[0]["task"] in TEXT and group[0]["dp"] == "1"]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(answer, groups))
    for group, found in zip(groups, answers):
        if isinstance(found, str):
            print(f"left out: {group[0]['model']}: {found}", file=sys.stderr)
            continue
        for row in group:
            point = found.get(int(row["max_batch"]))
            if not point or not point["joules_per_token"] or not row["joules_per_token"]:
                continue
            slow = host_of(row) == "b200 gpqa"
            yield (row["gpu"], "slow host" if slow else kind_of(row), row["gpus"],
                   float(point["joules_per_token"]) / float(row["joules_per_token"]) - 1.0,
                   float(point["tpot_us"]) / 1e3 / float(row["itl_ms"]) - 1.0)


def print_served(rows):
    def line(name, chosen):
        if chosen:
            print(f"| {name} | {summary([row[3] for row in chosen])} | {summary([row[4] for row in chosen])} |")

    print("| joules per token of servers | energy | time per token |\n|---|---|---|")
    for gpu in sorted({row[0] for row in rows}):
        mine = [row for row in rows if row[0] == gpu]
        line(f"{gpu}, all", mine)
        line(f"{gpu}, without the slow host", [row for row in mine if row[1] != "slow host"])
        for kind in ("dense", "mamba", "experts", "slow host"):
            for several in (False, True):
                line(f"{gpu}, {kind}, {'several GPUs' if several else 'one GPU'}",
                     [row for row in mine if row[1] == kind and (row[2] != "1") == several])


def print_kernels(path, ridge):
    rows = [row for row in read(path) if float(row["measured_us"]) >= LEAST_US]
    text = io.StringIO()
    names = [name for name in rows[0] if name not in ("kernel", "measured_us", "power_w", "power_limit_w")]
    writer = csv.DictWriter(text, names, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    words = [ridge, "predict", "--from", "-", "--format", "csv"]
    run = subprocess.run(words, input=text.getvalue(), capture_output=True, text=True, check=False)
    made = list(csv.DictReader(io.StringIO(run.stdout)))
    if len(made) != len(rows):
        print(f"left out: {path.name}: {run.stderr.strip()[:200]}", file=sys.stderr)
        return
    pairs = [(float(one["power_w"]) / float(row["power_w"]) - 1.0, float(row["power_w"]) < LIMIT * float(row["power_limit_w"]))
             for row, one in zip(rows, made) if one.get("power_w")]
    for name, chosen in (("all", [error for error, _ in pairs]), ("below 95 % of the limit", [error for error, below in pairs if below])):
        print(f"{path.stem}, {LEAST_US:g} us and more, {name}: {summary(chosen)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("ridge", nargs="?", default=str(ROOT / "build/release/ridge"))
    parser.add_argument("--configs", help="folder of further configs, NAME_config.json")
    options = parser.parse_args()
    print_served(list(served(options.folder, options.ridge, options.configs)))
    for name in ("matmul", "attention_encoder"):
        for path in sorted(options.folder.glob(f"power_{name}_*.csv")):
            print_kernels(path, options.ridge)


if __name__ == "__main__":
    main()
