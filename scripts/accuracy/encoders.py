#!/usr/bin/env python3
"""Compares `ridge model` with measured encoders of images and sound (scripts/measure/torch-encoders.py).

    scripts/accuracy/encoders.py [--ridge build/dev/ridge] [--gpu h200-sxm] [records/torch-models/h200-encoders.csv]

Prints each row's kernels and time beside the prediction of its module `encoder` without the tokens' copy, and the mean error.
Limit: a row with several images is a prompt that holds them all.
"""
import argparse
import csv
import json
import pathlib
import subprocess
import sys

from errors import mean_size

ROOT = pathlib.Path(__file__).resolve().parents[2]
BESIDE = ("image tokens", "audio tokens", "scaled embedding")


def predicted(ridge, gpu, row):
    """(kernels, microseconds) of the encoder of a row."""
    words = ["--audio", row["audio"], "--batch", row["batch"], "--seq", "4096"] if row["audio"] else ["--image", f"{row['width']}x{row['height']}", "--images", row["images"], "--seq", "65536"]
    answer = json.loads(subprocess.run([ridge, "model", row["model"], "--phase", "prefill", "--gpu", gpu, *words, "--json"], check=True, capture_output=True, text=True).stdout)
    parts = [each for each in answer["operations"] if each["module"] == "encoder" and each["name"] not in BESIDE]
    return sum(each["kernels"] for each in parts), sum(each["time_us"] for each in parts)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", default=ROOT / "records/torch-models/h200-encoders.csv", type=pathlib.Path)
    parser.add_argument("--ridge", default=ROOT / "build/dev/ridge")
    parser.add_argument("--gpu", default="h200-sxm")
    options = parser.parse_args()
    lines = [line for line in options.file.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    errors = []
    print(f"{'model':36} {'input':>14} {'kernels':>8} {'predicted':>9} {'time_us':>10} {'predicted':>10} {'error':>7}")
    for row in csv.DictReader(lines):
        if row["problem"]:
            continue
        kernels, time = predicted(options.ridge, options.gpu, row)
        error = time / float(row["time_us"]) - 1.0
        errors.append(error)
        what = f"{row['batch']} x {row['audio']} s" if row["audio"] else f"{row['images']} x {row['width']}x{row['height']}"
        print(f"{row['model']:36} {what:>14} {row['kernels']:>8} {kernels:9} {row['time_us']:>10} {time:10.0f} {100 * error:6.1f} %")
    print(f"mean error {100 * mean_size(errors):.1f} % over {len(errors)} rows")
    return 0


if __name__ == "__main__":
    sys.exit(main())
