#!/usr/bin/env python3
"""Fits what PyTorch's wrappers cost the host (calibration/wrappers.toml, W21 of docs/models.md) to measured steps.

    scripts/fit/wrappers.py build/dev/ridge

Reads records/torch-models/h200-x2.csv, -x2-again and -x4 (steps), -x4-pipeline and -x4-context (those of Llama 3.2 1B
alone). Each cost is the one of a grid whose predicted walls have the least mean error; for pipelines and shared
sequences, the least sum of squared logarithms, because their few steps differ by a third. Prints the costs, and the mean
errors of all files, with those of other models, which judge.

Method. The host's time is linear in a cost: F x launch for each collective (block, exchange, or weight), where F is the
slowest of the ranks (W23). A step whose wall exceeds its host by less than 15 % waits for its host, and its wall moves
with it. Limits: the values printed hold for the costs that `ridge` was built with to that order; run it again after
a build.
"""
import csv
import json
import math
import pathlib
import subprocess
import sys
import tomllib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "accuracy"))
from errors import mean_size  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
RECORDS = ROOT / "records" / "torch-models"
STEPS, PARTS = ["h200-x2", "h200-x2-again", "h200-x4"], ["h200-x4-pipeline", "h200-x4-context"]
JUDGES = ["h200-x4-others"]
FITTED = "llama-3.2-1b"  # of PARTS
TENSORS = {"llama-3.2-1b": 146, "qwen2.5-1.5b": 338, "gpt2-large": 436}  # weights of a model, each updated
SCHEDULES = {"pp-1f1b": "1f1b", "pp-gpipe": "gpipe", "pp-interleaved": "interleaved", "pp-zb": "zero-bubble"}
GRIDS = {"ddp": 2.5, "zero1": 2.5, "dtensor": 2.5, "fsdp2": 5, "pipeline": 10, "zero-bubble": 10, "context": 4}


def rows_of(name):
    with open(RECORDS / f"{name}.csv", encoding="utf-8") as file:
        return [row for row in csv.DictReader(line for line in file if not line.startswith("#")) if row["wall_us"]]


def wrapper_of(how):
    if how.startswith("pp"):
        return "zero-bubble" if how == "pp-zb" else "pipeline"
    if how.startswith("cp"):
        return "context"
    return {"ddp": "ddp", "zero1": "zero1", "zero2": "fsdp2", "zero3": "fsdp2", "tp": "dtensor"}.get(how)


def words_of(row):
    how, gpus, batch = row["how"], row["gpus"], int(row["batch"])
    layout = {"tp": ["--tp", gpus], "ddp": ["--gpus", gpus]}.get(how, [])
    if how.startswith("zero"):
        layout = ["--gpus", gpus, "--zero", how[-1]]
    if how.startswith("cp"):
        layout = ["--cp", gpus]
    if how.startswith("pp"):
        batch //= int(row["micro"])
        layout = ["--pp", gpus, "--micro-batches", row["micro"], "--schedule", SCHEDULES[how]]
    return [row["model"], "--phase", row.get("phase", "train"), "--batch", str(batch), "--seq", row["seq"], *layout]


def counts_of(row, answer):
    """How often a step pays the cost of its wrapper, and that of a weight."""
    how = row["how"]
    if how.startswith("pp"):
        return 2 * int(row["micro"]) * (2 if how in ("pp-interleaved", "pp-zb") else 1), 0
    if how.startswith("cp"):
        return 3 * answer["layers"], 0
    collectives = sum(o["count"] for o in answer["operations"] if o["module"] == "communication")
    return collectives, TENSORS.get(row["model"], 0) if how in ("zero2", "zero3") else 0


class Step:
    def __init__(self, ridge, row):
        run = subprocess.run([ridge, "model", *words_of(row), "--gpu", "h200-sxm", "--json"], check=True,
                             capture_output=True, text=True)
        answer = json.loads(run.stdout)
        preset = json.loads((ROOT / "programs" / "presets" / f"{row['model']}.json").read_text(encoding="utf-8"))
        answer["layers"] = preset.get("num_hidden_layers", preset.get("n_layer"))
        self.row, self.wrapper, self.gpus = row, wrapper_of(row["how"]), int(row["gpus"])
        self.host, self.wall, self.measured = answer["host_us"], answer["wall_us"], float(row["wall_us"])
        self.times, self.weights = (0, 0) if self.wrapper is None else counts_of(row, answer)

    def error(self, host, more, more_per_weight=0.0):
        """Of the wall with these more launches for each collective and weight."""
        one = 1 + (host["slow"] - 1) * host["slow_share"]
        slowest = (1 + (host["slow"] - 1) * (1 - (1 - host["slow_share"]) ** self.gpus)) / one
        moved = self.host + (more * self.times + more_per_weight * self.weights) * slowest * host["us"]
        waits = self.wall < 1.15 * self.host
        return (moved + self.wall - self.host if waits else max(self.wall, moved)) / self.measured - 1


def squares(errors):
    return sum(math.log(1 + each) ** 2 for each in errors)


def main():
    ridge = sys.argv[1] if len(sys.argv) > 1 else sys.exit(__doc__)
    host = tomllib.loads((ROOT / "hardware/hosts/hosts.toml").read_text(encoding="utf-8"))["host"][0]
    host["us"] = float(host["launch"].removesuffix(" us"))
    now = {w["name"]: w for w in
           tomllib.loads((ROOT / "calibration/wrappers.toml").read_text(encoding="utf-8"))["wrapper"]}
    steps = {name: [Step(ridge, row) for row in rows_of(name)] for name in STEPS + JUDGES + PARTS}
    fitted = [s for name in STEPS for s in steps[name]]
    fitted += [s for name in PARTS for s in steps[name] if s.row["model"] == FITTED]
    for wrapper, grid in GRIDS.items():
        own = [step for step in fitted if step.wrapper == wrapper]
        cost, weight = now[wrapper]["per_collective"], now[wrapper]["per_parameter"]
        score = mean if own[0].row["how"] in ("ddp", "zero1", "zero2", "zero3", "tp") else squares
        weights = [20.0, 25.0, 30.0, 37.0, 45.0] if wrapper == "fsdp2" else [weight]
        best = min((score([s.error(host, grid * i - cost, each - weight) for s in own]), grid * i, each)
                   for i in range(int(1000 / grid)) for each in weights)
        print(f"{wrapper}: per_collective {best[1]:g}, per_parameter {best[2]:g} (built with {cost:g}, {weight:g})")
    for name, of_file in steps.items():
        parts = {"": of_file} if name not in PARTS else {
            f", {FITTED}": [s for s in of_file if s.row["model"] == FITTED],
            ", others": [s for s in of_file if s.row["model"] != FITTED]}
        for which, own in parts.items():
            print(f"{name}{which}: mean error of the wall {100 * mean_size([s.error(host, 0) for s in own]):.1f} %")


if __name__ == "__main__":
    main()
