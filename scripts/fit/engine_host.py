#!/usr/bin/env python3
"""Fits the host time of a serving engine, and its sampler's sort, to published steady servers. Needs numpy.

    scripts/fit/engine_host.py FOLDER [RIDGE] [--configs FOLDER] [--write]

FOLDER has serving_steady.csv (docs/reference-tables.md); RIDGE is build/release/ridge by default. For each row the kernels of
a decode step at its batch and context come from `ridge serve`, once with and once without the sort. The model (W14 of
docs/models.md) is wall = e + max(g + s x sort, h + p n); e, h, p and s are fitted by iterated least squares to the
logarithms of the median time between tokens, with errors above 10 % weighted less. Only texts are fitted. Then come the
errors on steady servers (p90 within a quarter of the median) with each model left out in turn, and of all.
--write puts the values into calibration/engines.toml, for every engine that has no times of its own.
"""
import argparse
import pathlib
import re
import sys

import numpy

from served_rows import ROOT, TEXT, ask, config_of, family_of, groups_of, read

ENGINES = ROOT / "calibration/engines.toml"
START = numpy.array([0.3, 3.0, 0.06, 1.0])  # ms, ms, ms, times the sort that is built in
STEP = numpy.array([0.01, 0.05, 0.001, 0.01])


def rows_of(folder, ridge, configs):
    rows = []
    for group in groups_of(read(pathlib.Path(folder) / "serving_steady.csv")).values():
        if group[0]["task"] not in TEXT:
            continue
        config, quantise = config_of(group[0]["model"], configs)
        if config is None:
            print("no config:", group[0]["model"], file=sys.stderr)
            continue
        both = [ask(ridge, group, config, quantise, sampling=word) for word in ("plain", "top")]
        if any(isinstance(each, str) for each in both):
            print(group[0]["model"], both, file=sys.stderr)
            continue
        sorts = not group[0]["model"].startswith("openai/")
        for row in group:
            plain, top = (float(each[int(row["max_batch"])]["step_gpu_us"]) / 1e3 for each in both)
            itl, late = float(row["itl_ms"]), float(row["itl_p90_ms"])
            # The host of these servers was slow: 30 to 45 ms per token at any batch (serving_README.md).
            slow = row["task"] == "gpqa" and row["gpu"] == "b200" and row["gpus"] == "1"
            rows.append({"slow": slow, "family": family_of(row["model"]), "gpu": row["gpu"], "itl": itl, "steady": late < 1.25 * itl,
                         "kernels": plain, "sort": top - plain if sorts else 0.0, "batch": float(row["mean_batch"])})
    return rows


def predicted(x, rows):
    kernels, sort, batch = (numpy.array([row[name] for row in rows]) for name in ("kernels", "sort", "batch"))
    return x[0] + numpy.maximum(kernels + x[3] * sort, x[1] + x[2] * batch)


def errors(x, rows):
    return predicted(x, rows) / numpy.array([row["itl"] for row in rows]) - 1.0


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


def write(x):
    built_in = float(re.search(r"sort_clocks = ([0-9.]+)", ENGINES.read_text()).group(1))
    values = {"per_step": f'"{1e3 * x[0]:.0f} us"', "prepared_step": f'"{1e3 * x[1]:.0f} us"', "prepared": f'"{1e3 * x[2]:.1f} us"'}
    text = ENGINES.read_text()
    for name, value in values.items():
        text = re.sub(rf"^{name} = .*$", f"{name} = {value}", text, flags=re.M)
    text = re.sub(r"^sort_clocks = (?!0\.0).*$", f"sort_clocks = {built_in * x[3]:.1f}", text, flags=re.M)
    ENGINES.write_text(text)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("folder")
    options.add_argument("ridge", nargs="?", default=str(ROOT / "build/release/ridge"))
    options.add_argument("--configs", help="folder of NAME_config.json for models without a preset")
    options.add_argument("--write", action="store_true")
    asked = options.parse_args()
    rows = rows_of(asked.folder, asked.ridge, asked.configs)
    steady = [row for row in rows if row["steady"]]
    used = [row for row in rows if not row["slow"]]
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
    line("unsteady texts, median", errors(x, [row for row in used if not row["steady"]]))
    if asked.write:
        write(x)
        print("written to", ENGINES)


if __name__ == "__main__":
    main()
