#!/usr/bin/env python3
"""How often `ridge check` calls unchanged runs slower, and which planted slow-downs it finds (docs/check.md).

    scripts/accuracy/gate.py --ridge build/dev/ridge runs/guided_unet*.json.gz

The files are recorded runs of one program. Quiet pairs: `--pairs` drawn splits of the runs into two sides of `--side`. Planted: each
operator of 1 % or more of the time, its kernels made 5 % longer on one side.
"""
import argparse
import gzip
import json
import pathlib
import random
import subprocess
import tempfile

SLOWER = 0.05


def check(ridge, before, now):
    run = subprocess.run([ridge, "check", ",".join(map(str, before)), ",".join(map(str, now)), "--format", "json"], capture_output=True, check=False)
    return run.returncode, json.loads(run.stdout) if run.stdout.strip() else {}


def operators_of(ridge, path):
    report = json.loads(subprocess.run([ridge, "trace", str(path), "--format", "json"], check=True, capture_output=True).stdout)
    return [row for row in report["operators"] if row["measured_us"] >= 0.01 * report["kernel_time_us"] and row["name"].startswith("aten::")]


def planted(path, operator, out):
    """A copy of a trace in which all kernels of the operators of this name take longer."""
    trace = json.loads(gzip.decompress(path.read_bytes()))
    ids = {event["args"].get("External id") for event in trace["traceEvents"] if event.get("cat") == "cpu_op" and event["name"] == operator}
    ids.discard(None)  # operators that started no kernel
    for event in trace["traceEvents"]:
        if event.get("cat") == "kernel" and event["args"].get("External id") in ids:
            event["dur"] = round(event["dur"] * (1 + SLOWER), 3)
    out.write_bytes(gzip.compress(json.dumps(trace).encode(), 1))
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", type=pathlib.Path)
    parser.add_argument("--ridge", default="build/dev/ridge")
    parser.add_argument("--pairs", type=int, default=25)
    parser.add_argument("--side", type=int, default=2, help="runs of a side")
    options = parser.parse_args()
    drawn = random.Random(38)
    alarms = 0
    for _ in range(options.pairs):
        runs = drawn.sample(options.runs, 2 * options.side)
        code, answer = check(options.ridge, runs[:options.side], runs[options.side:])
        if code == 4:
            alarms += 1
            print("slower:", [each["name"][:60] for each in answer["changes"] if each["change"] == "slower"])
    print(f"{alarms} of {options.pairs} quiet pairs are called slower")
    found, names = 0, sorted({row["name"] for row in operators_of(options.ridge, options.runs[0])})
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            runs = drawn.sample(options.runs, 2 * options.side)
            now = [planted(run, name, pathlib.Path(folder) / f"{place}.json.gz") for place, run in enumerate(runs[options.side:])]
            code, answer = check(options.ridge, runs[:options.side], now)
            hit = code == 4 and any(each["change"] == "slower" and name in each["name"] for each in answer["changes"])
            found += hit
            if not hit:
                print(f"not found: {name} (exit {code})")
    print(f"{found} of {len(names)} planted slow-downs are found")


if __name__ == "__main__":
    main()
