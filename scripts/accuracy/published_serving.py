#!/usr/bin/env python3
"""Compares `ridge serve` with published servers and logs, as Markdown tables for docs/serving.md. Needs numpy.

    scripts/accuracy/published_serving.py FOLDER [RIDGE] [--configs FOLDER]

FOLDER has serving_steady.csv, serving_requests.csv and serving_mlperf.csv (docs/reference-tables.md). Steady servers (p90 of the time between tokens
within a quarter of its median) are judged by the median, the others by the mean, which is their batch over their tokens/s.
Prompt lengths are not published: each group is run with the assumed ones (fit/served_rows.py), with half and with twice as
long ones, and the spread is shown. Logs are replayed as they are. MLPerf's offline entries are predicted at the best of some
batches, those of Server at the largest rate that meets the scenario's limits; they ran several engines.
"""
import argparse
import concurrent.futures
import csv
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "fit"))
from served_rows import PROMPTS, ROOT, ask, config_of, groups_of, read  # noqa: E402

FACTORS = (1.0, 0.5, 2.0)  # on the assumed lengths of prompts


def answered(ridge, group, configs):
    """What `ridge serve` says of a group for each factor on the lengths of prompts; empty if it has no answer."""
    config, quantise = config_of(group[0]["model"], configs)
    found = {}
    for factor in FACTORS if config else ():
        answer = ask(ridge, group, config, quantise, factor)
        if isinstance(answer, str):
            print(group[0]["model"], answer, file=sys.stderr)
            break
        found[factor] = answer
    return found


def rows_of(folder, ridge, configs):
    groups = list(groups_of(read(pathlib.Path(folder) / "serving_steady.csv")).values())
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(lambda group: answered(ridge, group, configs), groups))
    rows = []
    for group, found in zip(groups, answers):
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
    print("\n| log | TTFT mean | TTFT p99 | TPOT mean | TPOT p99 | ITL p99 | tokens/s |\n|---|---|---|---|---|---|---|")
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
        itl = found["itl"]
        cells.append(f"{itl['p99_us'] / 1e3:.4g} ms, {itl['p99_low_us'] / 1e3:.4g} to {itl['p99_high_us'] / 1e3:.4g}; not recorded")
        rate = answer.sum() / end
        cells.append(f"{found['tokens_per_s']:.4g} of {rate:.4g} ({100 * (found['tokens_per_s'] / rate - 1):+.1f} %)")
        print(f"| {model.split('/')[1]}, {gpu} | " + " | ".join(cells) + " |")


# Of the benchmark's data sets, as assumed: mean tokens of a prompt, and of an answer where it is fixed; degrees of tensor
# parallelism that are tried; limits of the scenario Server on the p99 of the first token and of the time per token, s (rules of v5.1).
BENCHMARKS = {"meta-llama/Llama-3.1-8B-Instruct": ("llama-3.1-8b", 780, 128, (1,), 2.0, 0.1),
              "meta-llama/Llama-3.1-405B-Instruct": ("llama-3.1-405b", 9400, 684, (4, 8), 6.0, 0.175),
              "mistralai/Mixtral-8x7B-Instruct-v0.1": ("mixtral-8x7b", 620, 144, (1, 2), 2.0, 0.2)}


def benchmark_words(ridge, config, gpu, tp, batch, cache, quantise, prompt, answer):
    return [ridge, "serve", config, "--gpu", gpu, "--tp", str(tp), "--batch", str(batch), "--prompt", f"{prompt:.0f}", "--answer", str(answer),
            "--quantise", quantise, "--kv-dtype", cache, "--software", "trtllm", "--sampling", "plain", "--json"]


def asked(words):
    run = subprocess.run(words, capture_output=True, text=True, check=False)
    return json.loads(run.stdout)["loads"][0] if run.returncode == 0 else None


def offline(ridge, config, gpu, gpus, quantise, prompt, answer, tried):
    """The most tokens/s of all GPUs, over degrees of tensor parallelism and requests at a time, and which these are. The cache is in
    fp8 where such attention is modelled, else in bf16."""
    most = None
    for tp, batch, *known in tried:
        for cache in known or ("fp8", "bf16"):
            load = asked(benchmark_words(ridge, config, gpu, tp, batch, cache, quantise, prompt, answer) +
                         ["--concurrency", str(batch), "--count", "20"])
            if load is None:
                continue
            if most is None or load["steady_tokens_per_s"] * (gpus // tp) > most[0]:
                most = (load["steady_tokens_per_s"] * (gpus // tp), tp, batch, cache)
            break
    return most


def server(ridge, config, gpu, gpus, quantise, prompt, answer, best, limits):
    """Tokens/s of the largest rate at which 99 of 100 requests meet both limits, within 2 %, at the deployment that is best offline."""
    tokens, tp, batch, cache = best
    low, high = 0.0, 1.1 * tokens / answer / (gpus // tp)
    found = 0.0
    while high - low > 0.02 * high:
        rate = 0.5 * (low + high)
        load = asked(benchmark_words(ridge, config, gpu, tp, batch, cache, quantise, prompt, answer) +
                     ["--rate", f"{rate:.6g}", "--count", str(max(400, int(40 * rate)))])
        meets = load and load["ttft"]["p99_us"] <= 1e6 * limits[0] and load["tpot"]["p99_us"] <= 1e6 * limits[1]
        if meets:
            low, found = rate, rate * answer * (gpus // tp)
        else:
            high = rate
    return found


def benchmark_table(folder, ridge):
    print("\n| MLPerf Inference v5.1, closed | GPUs | offline: tokens/s, best entry | predicted | prompts half as long, twice | server, best entry | predicted |")
    print("|---|---|---|---|---|---|---|")
    groups = {}
    for row in read(pathlib.Path(folder) / "serving_mlperf.csv"):
        if row["category"] == "closed" and int(row["gpus"]) <= 8 and row["dtype"] in ("fp8", "fp4"):
            group = groups.setdefault((row["model"], row["gpu"], int(row["gpus"]), row["dtype"]), {})
            group.setdefault(row["scenario"], []).append(float(row["output_tokens_per_s"]))
    for (model, gpu, gpus, dtype), rates in groups.items():
        config, prompt, answer, degrees, *limits = BENCHMARKS[model]
        words = (ridge, config, gpu, gpus, "nvfp4" if dtype == "fp4" else "fp8")
        tried = [(tp, batch) for tp in degrees if tp <= gpus for batch in (64, 128, 256, 512, 1024)]
        best = offline(*words, prompt, answer, tried)
        if best is None:
            print(f"| {model.split('/')[1]}, {dtype} | {gpus} x {gpu} | {max(rates['Offline']):.0f} | no answer | | | |")
            continue

        def cell(value, scenario):
            return f"{value:.0f} ({100 * (value / max(rates[scenario]) - 1):+.0f} %)"
        others = [offline(*words, factor * prompt, answer, [best[1:]]) for factor in (0.5, 2.0)]
        spread = ", ".join(f"{100 * (each[0] / max(rates['Offline']) - 1):+.0f} %" if each else "-" for each in others)
        served = server(*words, prompt, answer, best, limits)
        print(f"| {model.split('/')[1]}, {dtype} | {gpus} x {gpu} | {max(rates['Offline']):.0f} | {cell(best[0], 'Offline')} | {spread} | "
              f"{max(rates['Server']):.0f} | {cell(served, 'Server')} |", flush=True)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("folder")
    options.add_argument("ridge", nargs="?", default=str(ROOT / "build/release/ridge"))
    options.add_argument("--configs", help="folder of NAME_config.json for models without a preset")
    options.add_argument("--only", choices=("steady", "logs", "mlperf"), help="one of the tables")
    given = options.parse_args()
    if given.only in (None, "steady"):
        steady_tables(rows_of(given.folder, given.ridge, given.configs))
    if given.only in (None, "logs"):
        logs_table(given.folder, given.ridge)
    if given.only in (None, "mlperf"):
        benchmark_table(given.folder, given.ridge)


if __name__ == "__main__":
    main()
