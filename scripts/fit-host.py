#!/usr/bin/env python3
"""Fits how long a host takes to dispatch eager PyTorch, from measured wall times of models' steps.

    scripts/fit-host.py [RIDGE]            # default: build/release/ridge

Reads measure/records/torch-models (rows marked `judge` fit nothing) and asks RIDGE how many kernels
the passes of each step have. Host and GPU are two clocks (W5 of docs/models.md): a kernel starts when it has been
dispatched and the one before it has ended, plus a gap. Pass times are ridge's, scaled to the measured
sum of the kernels' times, so that errors of those do not enter. Parameters: host time for a kernel
without and with gradients, gap, cuDNN's plan for a new length (`new_length_wall_us`), and how much slower
the H100's host is than the H200's; found by least squares of the logarithms (Levenberg-Marquardt),
printed with standard errors, and errors of the judged rows beside those of the fitted.
"""
import csv
import json
import math
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
START = {"kernel": 20.0, "training kernel": 25.0, "gap": 2.0, "h100 host": 1.3, "new length": 35000.0}
PASSES = ("forward", "backward", "update")


def config_of(row, folder):
    """The preset, or a copy of it with what the row changes."""
    if not row["layers"] and not row["window"]:
        return row["model"]
    fields = json.loads((ROOT / "programs/presets" / (row["model"] + ".json")).read_text())
    if row["layers"]:
        fields["num_hidden_layers"] = int(row["layers"])
    if row["window"] == "0":
        fields["sliding_window"] = None
    path = pathlib.Path(folder) / (row["model"] + ".json")
    path.write_text(json.dumps(fields))
    return str(path)


def steps_of(ridge, folder):
    """(what was asked, kernels and time of each pass, measured wall time)."""
    steps = []
    for gpu in ("h200", "h100"):
        lines = (ROOT / f"measure/records/torch-models/{gpu}.csv").read_text().splitlines()
        for row in csv.DictReader(line for line in lines if not line.startswith("#")):
            out = subprocess.check_output(
                [ridge, "model", config_of(row, folder), "--phase", row["phase"], "--batch", row["batch"],
                 "--seq", row["seq"], "--gpu", gpu + "-sxm", "--format", "json"])
            answer = json.loads(out)
            scale = float(row["time_us"]) / answer["time_us"]
            kernels = {name: 0 for name in PASSES}
            times = {name: 0.0 for name in PASSES}
            for each in answer["operations"]:
                kernels[each["pass"]] += each["kernels"]
                times[each["pass"]] += each.get("time_us", 0.0) * scale
            for column in ("wall_us", "new_length_wall_us"):
                if row[column]:
                    steps.append({"gpu": gpu, "name": f"{row['model']} {row['phase']} {row['batch']}x{row['seq']}",
                                  "train": row["phase"] == "train", "judge": row["judge"] == "1",
                                  "new": column != "wall_us", "kernels": kernels, "times": times,
                                  "gpu_us": float(row["time_us"]), "wall": float(row[column])})
    return steps


def wall_of(step, p):
    factor = p["h100 host"] if step["gpu"] == "h100" else 1.0
    host = factor * p["new length"] if step["new"] else 0.0
    gpu = 0.0
    for name in PASSES:
        start = host
        host += factor * step["kernels"][name] * p["training kernel" if step["train"] else "kernel"]
        gpu = max(max(gpu, start) + step["times"][name] + step["kernels"][name] * p["gap"], host)
    return gpu


def errors(steps, p):
    return [math.log(wall_of(step, p) / step["wall"]) for step in steps]


def solve(matrix, right):
    """Gauss with pivots; `right` holds columns."""
    n = len(matrix)
    rows = [list(matrix[i]) + list(right[i]) for i in range(n)]
    for i in range(n):
        best = max(range(i, n), key=lambda r: abs(rows[r][i]))
        rows[i], rows[best] = rows[best], rows[i]
        rows[i] = [x / rows[i][i] for x in rows[i]]
        for r in range(n):
            if r != i:
                rows[r] = [a - rows[r][i] * b for a, b in zip(rows[r], rows[i])]
    return [row[n:] for row in rows]


def fit(steps):
    names, p, damping = list(START), dict(START), 1e-3
    now = errors(steps, p)
    for _ in range(200):
        slopes = [[(b - a) / 1e-3 for a, b in zip(now, errors(steps, dict(p, **{name: p[name] * 1.001})))]
                  for name in names]
        normal = [[sum(x * y for x, y in zip(a, b)) for b in slopes] for a in slopes]
        right = [[-sum(x * y for x, y in zip(a, now))] for a in slopes]
        damped = [[value * (1 + damping) if i == j else value for j, value in enumerate(row)]
                  for i, row in enumerate(normal)]
        move = solve(damped, right)
        tried = {name: p[name] * math.exp(max(-0.5, min(0.5, step[0]))) for name, step in zip(names, move)}
        then = errors(steps, tried)
        gain = sum(e * e for e in now) - sum(e * e for e in then)
        if gain > 0:
            p, now, damping = tried, then, damping * 0.3
        else:
            damping *= 4
        if damping > 1e9 or 0 < gain < 1e-10:
            break
    variance = sum(e * e for e in now) / (len(now) - len(names))
    identity = [[float(i == j) for j in range(len(names))] for i in range(len(names))]
    inverse = solve(normal, identity)
    return p, {name: math.sqrt(variance * inverse[i][i]) for i, name in enumerate(names)}


def main():
    ridge = sys.argv[1] if len(sys.argv) > 1 else str(ROOT / "build/release/ridge")
    with tempfile.TemporaryDirectory() as folder:
        steps = steps_of(ridge, folder)
    fitted = [step for step in steps if not step["judge"]]
    p, relative = fit(fitted)
    print(f"{len(fitted)} wall times fitted")
    for name in START:
        print(f"  {name:<16} {p[name]:10.4g} {'' if 'host' in name else 'us':<3} standard error {100 * relative[name]:.0f} %")
    print("steps that wait for their host (wall over 1.2 times the kernels), mean absolute error")
    for gpu in ("h200", "h100"):
        for judge in (False, True):
            part = [step for step in steps if step["gpu"] == gpu and step["judge"] == judge and not step["new"] and
                    step["wall"] > 1.2 * step["gpu_us"]]
            found = [(wall_of(step, p) / step["wall"] - 1, step["name"]) for step in part]
            if not found:
                continue
            worst = max(found, key=lambda each: abs(each[0]))
            print(f"  {gpu} {'judged' if judge else 'fitted'}: {len(found)}, "
                  f"{100 * sum(abs(e) for e, _ in found) / len(found):.1f} %, "
                  f"worst {100 * worst[0]:+.0f} % ({worst[1]})")


if __name__ == "__main__":
    main()
