#!/usr/bin/env python3
"""Predicts what scripts/measure/several-gpus measures, before it is measured, and says afterwards how far off it was.

    scripts/accuracy/several_gpus.py build/dev/ridge --gpus 8 > records/predicted/h200-x8.csv
    scripts/accuracy/several_gpus.py build/dev/ridge --judge OUT --predicted records/predicted/h200-x8.csv

Collectives of NCCL without additions in the switch (`nvls=off`) of 2, 4, ... GPUs by sizes, as kernels from a common
start, in a graph and as calls of PyTorch; steps of the models of torch-parallel.py and torch-layouts.py: wall,
host, communication, memory of a GPU. With --judge, OUT is the folder of scripts/measure/several-gpus: the mean errors
of collectives (small, to 64 KiB; middle, to 8 MiB; large) and of steps.
Limits: memory of pipelines is a rank's, separated by semicolons.
"""
import argparse
import ast
import csv
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts" / "fit"))
from wrappers import words_of  # noqa: E402  pylint: disable=wrong-import-position

OPERATIONS = ["all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "send"]
SIZES = [1 << power for power in range(12, 31, 3)]
FIELDS = ["what", "model", "how", "gpus", "phase", "batch", "seq", "micro", "bytes", "launch", "time_us", "host_us",
          "communication_us", "memory_bytes"]


def listed(script, name):
    """A list of steps in a script that this machine may not be able to import."""
    text = (ROOT / "scripts" / "measure" / script).read_text(encoding="utf-8")
    return ast.literal_eval(re.search(rf"^{name} = (\[.*?^\])", text, re.MULTILINE | re.DOTALL).group(1))


def steps(gpus):
    for name in ("STEPS", "OTHERS", "JUDGES"):
        for model, how, phase, batch, seq in listed("torch-parallel.py", name):
            yield {"model": model, "how": how, "gpus": gpus, "phase": phase, "batch": batch, "seq": seq, "micro": 1}
    for name in ("STEPS", "JUDGES"):
        for model, how, batch, seq, micro in listed("torch-layouts.py", name):
            yield {"model": model, "how": how, "gpus": gpus, "phase": "train", "batch": batch, "seq": seq,
                   "micro": micro}


def predicted_step(ridge, row):
    words = words_of({key: str(value) for key, value in row.items()})
    run = subprocess.run([ridge, "model", *words, "--gpu", "h200-sxm", "--json"], capture_output=True, text=True,
                         check=False)
    if run.returncode != 0:  # more stages than layers, heads that the GPUs do not divide
        return None
    answer = json.loads(run.stdout)
    memory = answer.get("memory_bytes") or [answer["resident_bytes"] + answer["peak_extra_bytes"]]
    communication = answer.get("communication_us")
    if communication is None:
        communication = sum(o["time_us"] for o in answer["operations"] if o["module"] == "communication")
    return dict(row, what="step", time_us=f"{answer['wall_us']:.0f}", host_us=f"{answer['host_us']:.0f}",
                communication_us=f"{communication:.0f}", memory_bytes=";".join(map(str, memory)))


def predicted_collectives(ridge, gpus):
    rows = [{"what": "collective", "how": op, "gpus": among, "bytes": size, "launch": launch}
            for among in [n for n in (2, 4, 8) if n <= gpus] for op in OPERATIONS for size in SIZES
            for launch in ("kernel", "graph", "stream") if op != "send" or among == 2]
    table = "op,gpus,bytes,dtype,launch,nvls\n" + "".join(
        f"{r['how']},{r['gpus']},{r['bytes']},bf16,{r['launch']},off\n" for r in rows)
    run = subprocess.run([ridge, "predict", "--from", "-", "--gpu", "h200-sxm", "--format", "csv"], input=table,
                         check=True, capture_output=True, text=True)
    for row, answer in zip(rows, csv.DictReader(run.stdout.splitlines())):
        row["time_us"] = f"{float(answer['time_us']):.3f}"
    return rows


def measured_rows(folder):
    for path in sorted(folder.glob("*.csv")):
        with open(path, encoding="utf-8") as file:
            for row in csv.DictReader(line for line in file if not line.startswith("#")):
                if row.get("wall_us"):
                    yield dict(row, phase=row.get("phase") or "train", micro=row.get("micro") or "1")


def judge(ridge, folder, path):
    with open(path, encoding="utf-8") as file:
        made = list(csv.DictReader(line for line in file if not line.startswith("#")))
    key = ("model", "how", "gpus", "phase", "batch", "seq", "micro")
    walls = {tuple(row[k] for k in key): float(row["time_us"]) for row in made if row["what"] == "step"}
    errors = {}
    for row in measured_rows(folder):
        wall = walls.get(tuple(row[k] for k in key))
        if wall is not None:
            errors.setdefault(row["how"].split("-")[0], []).append(wall / float(row["wall_us"]) - 1)
    for how, found in sorted(errors.items()):
        print(f"{how}: {len(found)} steps, mean error of the wall "
              f"{100 * sum(map(abs, found)) / len(found):.1f} %, worst {100 * max(found, key=abs):+.1f} %")
    for records in ("collectives", "collectives-random"):
        if (folder / records).is_dir():
            print(subprocess.run([ridge, "validate", str(folder / records)], capture_output=True, text=True,
                                 check=False).stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("ridge")
    parser.add_argument("--gpus", type=int, default=8)
    parser.add_argument("--judge", type=pathlib.Path, help="folder of scripts/measure/several-gpus")
    parser.add_argument("--predicted", type=pathlib.Path)
    args = parser.parse_args()
    if args.judge:
        return judge(args.ridge, args.judge, args.predicted)
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True,
                            check=False).stdout.strip()
    print(f"# predictions for {args.gpus} x h200-sxm by ridge at {commit}, nvls off, torch 2.11, NCCL 2.28.9")
    out = csv.DictWriter(sys.stdout, FIELDS, lineterminator="\n")
    out.writeheader()
    out.writerows(predicted_collectives(args.ridge, args.gpus))
    for row in steps(args.gpus):
        found = predicted_step(args.ridge, row)
        if found:
            out.writerow(found)
    return None


if __name__ == "__main__":
    main()
