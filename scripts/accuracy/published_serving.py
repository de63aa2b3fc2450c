#!/usr/bin/env python3
"""Compares `ridge serve` with published servers and logs, as Markdown tables for docs/serving.md. Needs numpy.

    scripts/accuracy/published_serving.py FOLDER [RIDGE] [--configs FOLDER]

FOLDER has serving_steady.csv, serving_requests.csv and serving_mlperf.csv (docs/reference-tables.md). Steady servers (p90 of the time between tokens
within a quarter of its median) are judged by the median, the others by the mean, which is their batch over their tokens/s.
Prompt lengths are not published: each group is run with the assumed ones (fit/served_rows.py), with half and with twice as
long ones, and the spread is shown. Logs are replayed as they are. MLPerf's offline entries are predicted at the best of some
batches; they ran several engines.
"""
import argparse
import csv
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "fit"))
from served_rows import PROMPTS, ROOT, ask, config_of, groups_of, read  # noqa: E402


def scaled(text, factor):
    law, mean, spread = text.split(":")
    return f"{law}:{factor * float(mean):g}:{spread}"


def rows_of(folder, ridge, configs):
    rows = []
    for group in groups_of(read(pathlib.Path(folder) / "serving_steady.csv")).values():
        config, quantise = config_of(group[0]["model"], configs)
        if config is None:
            continue
        found = {}
        for factor in (1.0, 0.5, 2.0):
            answer = ask(ridge, group, config, quantise, scaled(PROMPTS[group[0]["task"]], factor))
            if isinstance(answer, str):
                print(group[0]["model"], answer, file=sys.stderr)
                break
            found[factor] = answer
        if 1.0 not in found:
            continue
        for row in group:
            itl, late = float(row["itl_ms"]), float(row["itl_p90_ms"])
            steady = late < 1.25 * itl
            measured = itl if steady else 1e3 * float(row["mean_batch"]) / float(row["output_tokens_per_s"])
            name = "itl_p50_us" if steady else "itl_mean_us"
            errors = {factor: float(each[int(row["max_batch"])][name]) / 1e3 / measured - 1.0 for factor, each in found.items()}
            late99 = float(found[1.0][int(row["max_batch"])]["itl_p99_us"]) / 1e3 / float(row["itl_p99_ms"]) - 1.0
            rows.append({**row, "steady": steady, "errors": errors, "late": late99})
    return rows


def line(name, rows):
    def text(factor):
        found = [row["errors"][factor] for row in rows if factor in row["errors"]]
        return f"{100 * numpy.mean(numpy.abs(found)):.1f} %; {100 * numpy.mean(found):+.1f} %" if found else ""
    late = [row["late"] for row in rows]
    print(f"| {name} | {len(rows)} | {text(1.0)} | {text(0.5)} | {text(2.0)} | {100 * numpy.mean(late):+.0f} % |")


def steady_tables(rows):
    for steady in (True, False):
        print("\n| " + ("steady: median" if steady else "unsteady: mean") + " time between tokens | rows | mean; bias | prompts half as long | twice | p99, bias |")
        print("|---|---|---|---|---|---|")
        chosen = [row for row in rows if row["steady"] == steady]
        for gpu in sorted({row["gpu"] for row in chosen}):
            for task in PROMPTS:
                part = [row for row in chosen if row["gpu"] == gpu and row["task"] == task]
                if part:
                    line(f"{gpu}, {task}", part)
        line("all", chosen)


def replay(ridge, rows, folder):
    """One log against its rerun."""
    first = rows[0]
    log = pathlib.Path(folder) / "log.csv"
    with log.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["arrival_s", "prompt_tokens", "answer_tokens"])
        writer.writerows((row["arrival_s"], row["prompt_tokens"], row["answer_tokens"]) for row in rows)
    config, quantise = config_of(first["model"], None)
    words = [ridge, "serve", config, "--gpu", first["gpu"], "--log", str(log), "--batch", first["max_batch"], "--chunk",
             first["max_batched_tokens"], "--tp", first["tp"], "--sampling", "plain", "--json"]
    if quantise:
        words += ["--quantise", quantise]
    return json.loads(subprocess.check_output(words))["loads"][0]


def logs_table(folder, ridge):
    print("\n| log | TTFT mean | TTFT p99 | TPOT mean | TPOT p99 | tokens/s |\n|---|---|---|---|---|---|")
    groups = {}
    for row in read(pathlib.Path(folder) / "serving_requests.csv"):
        groups.setdefault((row["model"], row["gpu"], row["tp"]), []).append(row)
    for (model, gpu, _), rows in groups.items():
        with tempfile.TemporaryDirectory() as place:
            found = replay(ridge, rows, place)
        ttft, tpot, answer, arrival = (numpy.array([float(row[name]) for row in rows])
                                       for name in ("ttft_ms", "tpot_ms", "answer_tokens", "arrival_s"))
        end = (arrival + ttft / 1e3 + tpot / 1e3 * (answer - 1)).max()
        cells = []
        for name, measured in (("ttft", ttft), ("tpot", tpot)):
            for part, value in (("mean", measured.mean()), ("p99", numpy.quantile(measured, 0.99))):
                predicted = found[name][f"{part}_us"] / 1e3
                text = f"{predicted:.4g} ms of {value:.4g} ({100 * (predicted / value - 1):+.1f} %)"
                if part == "p99":
                    text += f", {found[name]['p99_low_us'] / 1e3:.4g} to {found[name]['p99_high_us'] / 1e3:.4g}"
                cells.append(text)
        rate = answer.sum() / end
        cells.append(f"{found['tokens_per_s']:.4g} of {rate:.4g} ({100 * (found['tokens_per_s'] / rate - 1):+.1f} %)")
        print(f"| {model.split('/')[1]}, {gpu} | " + " | ".join(cells) + " |")


# Of the benchmark's data sets, as assumed: mean tokens of a prompt, and of an answer where it is fixed.
BENCHMARKS = {"meta-llama/Llama-3.1-8B-Instruct": ("llama-3.1-8b", 780, 128, (1,)),
              "meta-llama/Llama-3.1-405B-Instruct": ("llama-3.1-405b", 9400, 684, (4, 8)),
              "mistralai/Mixtral-8x7B-Instruct-v0.1": ("mixtral-8x7b", 620, 144, (1, 2))}


def offline(ridge, config, gpu, gpus, quantise, prompt, answer, degrees):
    """The most tokens/s of all GPUs, over degrees of tensor parallelism and requests at a time."""
    most = None
    for tp in (each for each in degrees if each <= gpus):
        for batch in (64, 128, 256, 512, 1024):
            run = subprocess.run(
                [ridge, "serve", config, "--gpu", gpu, "--tp", str(tp), "--concurrency", str(batch), "--batch", str(batch),
                 "--count", "20", "--prompt", str(prompt), "--answer", str(answer), "--quantise", quantise, "--kv-dtype", "fp8",
                 "--software", "trtllm", "--sampling", "plain", "--json"], capture_output=True, text=True, check=False)
            if run.returncode == 0:
                rate = json.loads(run.stdout)["loads"][0]["steady_tokens_per_s"] * (gpus // tp)
                most = max(most or rate, rate)
    return most


def benchmark_table(folder, ridge):
    print("\n| MLPerf Inference v5.1, closed, offline | GPUs | tokens/s, best entry | predicted |\n|---|---|---|---|")
    groups = {}
    for row in read(pathlib.Path(folder) / "serving_mlperf.csv"):
        if row["category"] == "closed" and row["scenario"] == "Offline" and int(row["gpus"]) <= 8 and row["dtype"] in ("fp8", "fp4"):
            groups.setdefault((row["model"], row["gpu"], int(row["gpus"]), row["dtype"]), []).append(float(row["output_tokens_per_s"]))
    for (model, gpu, gpus, dtype), rates in groups.items():
        config, prompt, answer, degrees = BENCHMARKS[model]
        found = offline(ridge, config, gpu, gpus, "nvfp4" if dtype == "fp4" else "fp8", prompt, answer, degrees)
        if found:
            print(f"| {model.split('/')[1]}, {dtype} | {gpus} x {gpu} | {max(rates):.0f} | {found:.0f} ({100 * (found / max(rates) - 1):+.0f} %) |")


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("folder")
    options.add_argument("ridge", nargs="?", default=str(ROOT / "build/release/ridge"))
    options.add_argument("--configs", help="folder of NAME_config.json for models without a preset")
    asked = options.parse_args()
    steady_tables(rows_of(asked.folder, asked.ridge, asked.configs))
    logs_table(asked.folder, asked.ridge)
    benchmark_table(asked.folder, asked.ridge)


if __name__ == "__main__":
    main()
