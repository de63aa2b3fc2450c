#!/usr/bin/env python3
"""Fits how long a host takes to dispatch eager PyTorch, from measured steps of models. Needs numpy.

    scripts/fit/host.py [RIDGE]            # default: build/release/ridge

Reads the files of records/torch-models whose rows have `probe_us`, the host's time for one small kernel,
measured beside the step (rows marked `judge` are not fitted), and asks RIDGE how many kernels the passes of each
step have. The model (W5 of docs/models.md) counts a step in multiples of that launch: for each kernel without
gradients, for each layer, for the whole model, for each kernel of the backward pass, for each kernel of the optimizer,
and for a training step. The multiples are fitted by least squares to the logarithms of `dispatch_us` (Gauss-Newton,
errors above 10 % weighted less) and printed with standard errors, with the remaining factor between the hosts and
with the power of the launch. Then come the errors: of models left out one by one, of the fitted and of the judged steps.
"""
import csv
import json
import math
import pathlib
import statistics
import subprocess
import sys

import numpy

ROOT = pathlib.Path(__file__).resolve().parents[2]
RECORDS = ROOT / "records/torch-models"
# File, GPU, and the folder of its models (None: presets).
FILES = [("h200-short", "h200", None), ("h200-fit", "h200", "fit"), ("h100-fit", "h100", "fit"),
         ("h200-drawn", "h200", "drawn"), ("h200-shallow", "h200", "shallow")]
NAMES = ("kernel", "layer", "step", "gradient kernel", "update kernel", "training step")
START = {"kernel": 2.0, "layer": 20.0, "step": 60.0, "gradient kernel": 3.0, "update kernel": 1.0, "training step": 150.0}


def steps_of(ridge):
    """The launches of each step that waited for its host, and the time of their dispatch."""
    steps = []
    for name, gpu, folder in FILES:
        path = RECORDS / f"{name}.csv"
        for row in csv.DictReader(line for line in path.read_text().splitlines() if not line.startswith("#")):
            if not row["dispatch_us"] or float(row["wall_us"]) < 1.4 * float(row["time_us"]):
                continue
            config = (RECORDS / folder if folder else ROOT / "programs/presets") / (row["model"] + ".json")
            answer = json.loads(subprocess.check_output(
                [ridge, "model", str(config), "--phase", row["phase"], "--batch", row["batch"], "--seq", row["seq"],
                 "--gpu", gpu + "-sxm", "--format", "json"]))
            fields = json.loads(config.read_text())
            train = row["phase"] == "train"
            kernels = {"forward": 0, "backward": 0, "update": 0}
            for each in answer["operations"]:
                kernels[each["pass"]] += each["kernels"]
            steps.append({"name": f"{gpu} {row['model']} {row['phase']} {row['batch']}x{row['seq']}", "gpu": gpu, "model": row["model"],
                          "judge": row["judge"] == "1", "train": train, "file": name,
                          "counts": [kernels["forward"], fields.get("num_hidden_layers") or fields["n_layer"], 1,
                                     kernels["backward"], kernels["update"], int(train)],
                          "probe": float(row["probe_us"]), "dispatch": float(row["dispatch_us"])})
    return steps


def columns(steps):
    """Counts, logarithms of the launch, whether the host is the H100's, and logarithms of the measured times."""
    return (numpy.array([s["counts"] for s in steps], float), numpy.log([s["probe"] for s in steps]),
            numpy.array([s["gpu"] == "h100" for s in steps], float), numpy.log([s["dispatch"] for s in steps]))


def fit(steps, free):
    """The multiples, with `free` also the power of the launch and the H100's factor, and the relative errors."""
    counts, probe, other, measured = columns(steps)
    cost = numpy.array([START[name] for name in NAMES])
    power, factor = 1.0, 0.0
    for _ in range(200):
        mean = counts @ cost
        error = numpy.log(mean) + power * (probe - probe.mean()) + probe.mean() + factor * other - measured
        slopes = counts * cost / mean[:, None]
        if free:
            slopes = numpy.column_stack([slopes, probe - probe.mean(), other])
        weight = 1.0 / numpy.sqrt(numpy.maximum(abs(error), 0.1))
        move = numpy.linalg.lstsq(slopes * weight[:, None], -error * weight, rcond=None)[0]
        cost = cost * numpy.exp(numpy.clip(0.5 * move[:len(NAMES)], -0.3, 0.3))
        if free:
            power, factor = power + 0.5 * move[-2], factor + 0.5 * move[-1]
    spread = numpy.sqrt(numpy.diag(numpy.linalg.inv(slopes.T @ slopes)) * error.var())
    return cost, power, factor, spread


def report_left_out(steps):
    """Prints the errors of each model's steps with constants fitted without that model."""
    errors = []
    for model in dict.fromkeys(step["model"] for step in steps):
        cost, *_ = fit([step for step in steps if step["model"] != model], False)
        counts, probe, _, measured = columns([step for step in steps if step["model"] == model])
        errors.extend(numpy.exp(numpy.log(counts @ cost) + probe - measured) - 1.0)
    errors = numpy.array(errors)
    print(f"models left out of the fit one by one: mean {100 * abs(errors).mean():.1f} %, "
          f"{100 * (abs(errors) <= 0.25).mean():.0f} % within 25 %, worst {100 * errors[numpy.argmax(abs(errors))]:+.0f} %")


def report(steps, cost):
    """Prints errors with the launch measured beside each step, and with the host's usual launch."""
    counts, probe, _, measured = columns(steps)
    error = numpy.exp(numpy.log(counts @ cost) + probe - measured) - 1.0
    worst = int(numpy.argmax(abs(error)))
    print(f"{len(steps):4} steps, mean {100 * abs(error).mean():.1f} %, {100 * (abs(error) <= 0.25).mean():.0f} % within "
          f"25 %, worst {100 * error[worst]:+.0f} % ({steps[worst]['name']})")


def main():
    steps = steps_of(sys.argv[1] if len(sys.argv) > 1 else str(ROOT / "build/release/ridge"))
    fitted = [step for step in steps if not step["judge"]]
    cost, _, _, spread = fit(fitted, False)
    print(f"{len(fitted)} steps fitted; in launches of a small kernel:")
    for name, value, error in zip(NAMES, cost, spread):
        print(f"  {name:<16} {value:8.4g}  standard error {100 * error:.0f} %")
    _, power, factor, spread = fit(fitted, True)
    print(f"left free: power of the launch {power:.2f} +- {spread[-2]:.2f}, the H100's host x {math.exp(factor):.2f} "
          f"+- {spread[-1]:.2f}")
    for gpu in ("h200", "h100"):
        print(f"usual launch of the {gpu}'s host: "
              f"{statistics.median(s['probe'] for s in fitted if s['gpu'] == gpu):.1f} us")
    report_left_out(fitted)
    for file in dict.fromkeys(step["file"] for step in steps):
        for train in (False, True):
            part = [step for step in steps if step["file"] == file and step["train"] == train]
            if part:
                print(f"{file + (', training' if train else ''):<24}", end="")
                report(part, cost)


if __name__ == "__main__":
    main()
