#!/usr/bin/env python3
"""Checks scripts/measure/calibrate-engine.py with tables that were measured before, as those of a version that ridge does not
know: it writes a software.toml that inherits from the newest version and an overlay, and with both the experts' times are
predicted far better than without. Usage: check_calibrate_engine.py ROOT RIDGE"""
import csv
import io
import math
import pathlib
import subprocess
import sys
import tempfile
import tomllib

ROOT, RIDGE = pathlib.Path(sys.argv[1]), sys.argv[2]
ENGINE, VERSION, GPU = "sglang", "sglang-99.1.0", "h200-sxm"


def run(*words):
    return subprocess.run([str(word) for word in words], check=True, capture_output=True, text=True).stdout


def error_of(table, *options):
    """Mean of |ln(predicted / measured)|."""
    with open(table, encoding="utf-8") as lines:
        measured = [float(row["measured_us"]) for row in csv.DictReader(lines)]
    answer = run(RIDGE, "predict", "--from", table, "--format", "csv", *options)
    predicted = [float(row["time_us"]) for row in csv.DictReader(io.StringIO(answer))]
    assert len(predicted) == len(measured) > 20, (len(predicted), len(measured))
    return sum(abs(math.log(p / m)) for p, m in zip(predicted, measured)) / len(measured)


def main():
    with tempfile.TemporaryDirectory() as scratch:
        rows, out = pathlib.Path(scratch, "rows"), pathlib.Path(scratch, "out")
        rows.mkdir()
        for table in (ROOT / "records/h200-sxm-engines").glob("*.csv"):
            text = table.read_text(encoding="utf-8")
            assert ENGINE + "-" in text, table
            newest = {row["software"] for row in csv.DictReader(io.StringIO(text))}
            assert len(newest) == 1, newest
            (rows / table.name).write_text(text.replace(newest.pop(), VERSION), encoding="utf-8")
        run(sys.executable, ROOT / "scripts/measure/calibrate-engine.py", ENGINE, "--ridge", RIDGE, "--gpu", GPU, "--out", out, "--rows", rows)
        software = tomllib.loads((out / "software.toml").read_text(encoding="utf-8"))
        assert software["name"] == VERSION and software["inherits"].startswith(ENGINE + "-"), software
        overlays = [path for path in out.glob("*.calibrated.toml") if "engine" in path.read_text(encoding="utf-8")]
        assert overlays, list(out.iterdir())
        experts = rows / "engine_moe_h200-sxm.csv"
        known = ("--gpu-file", out / "software.toml")
        before = error_of(experts, *known)  # the rows name their GPU
        after = error_of(experts, *known, *(word for path in overlays for word in ("--gpu-file", path)))
        assert after < before / 2 and after < 0.12, (before, after)
        print(f"experts: {100 * before:.1f} % before, {100 * after:.1f} % after")


if __name__ == "__main__":
    main()
