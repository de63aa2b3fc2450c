#!/usr/bin/env python3
"""Fits the host time of a serving engine, and its sampler's sort, to published steady servers. Needs numpy.

    scripts/fit/engine_host.py FOLDER [RIDGE] [--configs FOLDER] [--keep FILE] [--write]

FOLDER has serving_steady.csv (docs/reference-tables.md); RIDGE is build/release/ridge by default. For each row the kernels of
a decode step at its batch and context come from `ridge serve`, once with and once without the sort. The model (W14 of
docs/models.md) is wall = e + max(g + s x sort, h + p n); e, h, p and s are fitted by iterated least squares to the
logarithms of the median time between tokens, with errors above 10 % weighted less. Only texts are fitted. Then come the
errors on steady servers (p90 within a quarter of the median) with each model left out in turn, and of all.

The times of images (W25), v for a token and w for a step that begins some, are those with the least mean error of the mean
time between tokens of unsteady servers with images; a step begins images with the probability 1 - exp(-batch / answer).
Single-GPU servers of a B200 had slow hosts: --slow-hosts also fits one factor on the host's times for each task that they ran
(`--slower-host`). All is judged with each model left out in turn; a row is its simulated mean, with the difference that other
numbers make to its step and to its images.
--keep FILE writes what `ridge serve` said, or reads it if the file is there. --write puts the values into
calibration/engines.toml, for every engine that has no times of its own.
"""
import argparse
import concurrent.futures
import itertools
import json
import math
import pathlib
import re
import sys

import numpy

from served_rows import ROOT, TEXT, ask, config_of, family_of, groups_of, host_of, read, vision_tokens

ENGINES = ROOT / "calibration/engines.toml"
START = numpy.array([0.3, 3.0, 0.06, 1.0])  # ms, ms, ms, times the sort that is built in
STEP = numpy.array([0.01, 0.05, 0.001, 0.01])


def asked(ridge, group, configs):
    """The answers without and with the sort; none if the model is not known or cannot be served."""
    config, quantise = config_of(group[0]["model"], configs)
    if config is None:
        print("no config:", group[0]["model"], file=sys.stderr)
        return None
    both = [ask(ridge, group, config, quantise, sampling=word) for word in ("plain", "top")]
    if not any(isinstance(each, str) for each in both):
        return both
    print(group[0]["model"], both, file=sys.stderr)
    return None


def rows_of(folder, ridge, configs):
    rows = []
    groups = list(groups_of(read(pathlib.Path(folder) / "serving_steady.csv")).values())
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(lambda group: asked(ridge, group, configs), groups))
    for group, both in zip(groups, answers):
        if both is None:
            continue
        sorts = not group[0]["model"].startswith("openai/")
        for row in group:
            plain, top = (float(each[int(row["max_batch"])]["step_gpu_us"]) / 1e3 for each in both)
            mean = float(both[1 if sorts else 0][int(row["max_batch"])]["itl_mean_us"]) / 1e3
            itl, late, batch = float(row["itl_ms"]), float(row["itl_p90_ms"]), float(row["mean_batch"])
            steady = late < 1.25 * itl
            rows.append({"host": host_of(row), "family": family_of(row["model"]), "gpu": row["gpu"], "task": row["task"],
                         "steady": steady, "itl": itl if steady else 1e3 * batch / float(row["output_tokens_per_s"]), "median": itl,
                         "kernels": plain, "sort": top - plain if sorts else 0.0, "batch": batch, "mean": mean,
                         "vision": batch / float(row["answer_tokens"]) * vision_tokens(row["model"], row["task"]),
                         "begun": begun_images(row) * (2.0 if int(row["gpus"]) > 1 else 1.0)})
    return rows


def begun_images(row):
    """The share of steps that begin images."""
    if vision_tokens(row["model"], row["task"]) == 0.0:
        return 0.0
    return 1.0 - math.exp(-float(row["mean_batch"]) / float(row["answer_tokens"]))


def predicted(x, rows):
    kernels, sort, batch = (numpy.array([row[name] for row in rows]) for name in ("kernels", "sort", "batch"))
    return x[0] + numpy.maximum(kernels + x[3] * sort, x[1] + x[2] * batch)


def errors(x, rows):
    return predicted(x, rows) / numpy.array([row["median"] for row in rows]) - 1.0


def unsteady_errors(x, images, factors, built_in, rows):
    """Of the mean time between tokens; `built_in` is what the simulated means were made with: x and the times of images."""
    factor = numpy.array([factors.get(row["host"], 1.0) for row in rows])
    mean, itl, kernels, sort, batch = (numpy.array([row[name] for row in rows]) for name in ("mean", "itl", "kernels", "sort", "batch"))
    step = factor * x[0] + numpy.maximum(kernels + x[3] * sort, factor * (x[1] + x[2] * batch))
    vision = numpy.array([[row["vision"], row["begun"]] for row in rows])
    return (mean - predicted(built_in[0], rows) + step + factor * (vision @ images) - vision @ built_in[1]) / itl - 1.0


def fit_images(x, built_in, rows):
    """v and w, ms."""
    seen = [row for row in rows if row["vision"] > 0]
    found = unsteady_errors(x, numpy.zeros(2), {}, built_in, seen)
    vision = numpy.array([[row["vision"], row["begun"]] for row in seen]) / numpy.array([[row["itl"]] for row in seen])
    tried = [numpy.array(each) for each in itertools.product(numpy.arange(0.0, 0.15, 0.002), numpy.arange(0.0, 80.0, 1.0))]
    return min(tried, key=lambda each: numpy.mean(numpy.abs(found + vision @ each)))


def fit_hosts(x, images, built_in, rows):
    """The factor of each slow host."""
    factors = {}
    for host in sorted({row["host"] for row in rows} - {None}):
        part = [row for row in rows if row["host"] == host]
        factors[host] = min(numpy.arange(1.0, 15.01, 0.2),
                            key=lambda each: numpy.mean(numpy.abs(numpy.log1p(unsteady_errors(x, images, {host: each}, built_in, part)))))
    return factors


def fit(rows):
    x = START.copy()
    for _ in range(60):
        residual = numpy.log1p(errors(x, rows))
        jacobian = numpy.stack([(numpy.log1p(errors(x + step, rows)) - residual) / step.sum() for step in numpy.diag(STEP)], axis=1)
        weight = 1.0 / numpy.sqrt(1.0 + (residual / 0.1) ** 2)
        normal = (jacobian * weight[:, None]).T @ jacobian + 1e-9 * numpy.diag(1.0 / STEP**2)
        x = numpy.maximum(x - 0.5 * numpy.linalg.solve(normal, (jacobian * weight[:, None]).T @ residual), [0.0, 0.0, 1e-4, 0.05])
    return x


def line(name, found):
    within = numpy.mean(numpy.abs(found) < 0.15)
    print(f"{name:40s} n {len(found):3d}  mean {100 * numpy.mean(numpy.abs(found)):5.1f} %  bias {100 * numpy.mean(found):+5.1f} %  "
          f"within 15 % {100 * within:3.0f} %")


def built_in_values():
    """What calibration/engines.toml says of the first engine: e, h, p in ms, 1 for the sort; v and w of images."""
    text = ENGINES.read_text()

    def value(name):
        number, unit = re.search(rf'^{name} = "([0-9.]+) (us|ms)"', text, flags=re.M).groups()
        return float(number) / (1e3 if unit == "us" else 1.0)
    return (numpy.array([value("per_step"), value("prepared_step"), value("prepared"), 1.0]),
            numpy.array([value("vision_token"), value("vision_step")]))


def write(x, images):
    built_in = float(re.search(r"sort_clocks = ([0-9.]+)", ENGINES.read_text()).group(1))
    values = {"per_step": f'"{1e3 * x[0]:.0f} us"', "prepared_step": f'"{1e3 * x[1]:.0f} us"', "prepared": f'"{1e3 * x[2]:.1f} us"',
              "vision_token": f'"{1e3 * images[0]:.1f} us"', "vision_step": f'"{images[1]:.1f} ms"'}
    text = ENGINES.read_text()
    for name, value in values.items():
        text = re.sub(rf"^{name} = .*$", f"{name} = {value}", text, flags=re.M)
    text = re.sub(r"^sort_clocks = (?!0\.0).*$", f"sort_clocks = {built_in * x[3]:.1f}", text, flags=re.M)
    ENGINES.write_text(text)


def judge_unsteady(built_in, unsteady, used, slow_hosts):
    parts = {}
    print("unsteady servers, mean, each model left out:")
    for family in sorted({row["family"] for row in unsteady}):
        out = [row for row in unsteady if row["family"] == family]
        rest = [row for row in unsteady if row["family"] != family]
        x = fit([row for row in used if row["family"] != family])
        images = fit_images(x, built_in, rest)
        found = unsteady_errors(x, images, {}, built_in, out)
        parts.setdefault("without images' time", []).append(unsteady_errors(x, numpy.zeros(2), {}, built_in, out))
        if slow_hosts:
            factors = fit_hosts(x, images, built_in, rest)
            parts.setdefault("with factors of slow hosts", []).append(unsteady_errors(x, images, factors, built_in, out))
        for row, error in zip(out, found):
            for name in (family, f"{row['gpu']}, {row['task']}", "slow hosts" if row["host"] else "other hosts", "all, each left out"):
                parts.setdefault(name, []).append(numpy.array([error]))
    for name, found in sorted(parts.items()):
        line(name, numpy.concatenate(found))


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("folder")
    options.add_argument("ridge", nargs="?", default=str(ROOT / "build/release/ridge"))
    options.add_argument("--configs", help="folder of NAME_config.json for models without a preset")
    options.add_argument("--keep", metavar="FILE")
    options.add_argument("--slow-hosts", action="store_true")
    options.add_argument("--write", action="store_true")
    asked = options.parse_args()
    kept = pathlib.Path(asked.keep) if asked.keep else None
    if kept and kept.exists():
        rows = json.loads(kept.read_text())
    else:
        rows = rows_of(asked.folder, asked.ridge, asked.configs)
        if kept:
            kept.write_text(json.dumps(rows))
    texts = [row for row in rows if row["task"] in TEXT]
    steady = [row for row in texts if row["steady"]]
    unsteady = [row for row in rows if not row["steady"]]
    # The host of a B200 that answered gpqa was slow: 30 to 45 ms per token at any batch (serving_README.md).
    used = [row for row in texts if row["host"] != "b200 gpqa"]
    x = fit(used)
    print(f"e {1e3 * x[0]:.0f} us, h {1e3 * x[1]:.0f} us, p {1e3 * x[2]:.1f} us, sort x {x[3]:.3f}")
    print("left out:")
    every = []
    for family in sorted({row["family"] for row in steady}):
        out = [row for row in steady if row["family"] == family]
        found = errors(fit([row for row in used if row["family"] != family]), out)
        every.append(found)
        line(family, found)
    line("all, each left out", numpy.concatenate(every))
    for gpu in sorted({row["gpu"] for row in steady}):
        line(f"fitted, {gpu}", errors(x, [row for row in steady if row["gpu"] == gpu]))
    line("fitted, all", errors(x, steady))
    built_in = built_in_values()
    images = fit_images(x, built_in, unsteady)
    print(f"images: {1e3 * images[0]:.1f} us for a token, {images[1]:.1f} ms for a step")
    judge_unsteady(built_in, unsteady, used, asked.slow_hosts)
    if asked.write:
        write(x, images)
        print("written to", ENGINES)


if __name__ == "__main__":
    main()
