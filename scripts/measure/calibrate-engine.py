#!/usr/bin/env python3
"""Fits ridge to the kernels of the engine that is installed here: finds its version, measures its kernels, fits them.

    python3 scripts/measure/calibrate-engine.py sglang --ridge build/dev/ridge --gpu h200-sxm --out FOLDER
    python3 scripts/measure/calibrate-engine.py sglang --ridge build/dev/ridge --gpu h200-sxm --out FOLDER --rows MEASURED

FOLDER gets the measured tables (engine-kernels.py: some four minutes, in which it compiles for half), GPU.calibrated.toml
for `ridge --gpu-file`, and for a version that ridge has no file of a software.toml that inherits from the newest one it
has, to be given with --gpu-file too. --rows takes tables that were measured before instead.

Limits: the kernels of engine-kernels.py, which Triton compiles on the spot; of SGLang.
"""

import argparse
import csv
import pathlib
import re
import subprocess
import sys

from engine_package import Package

ROOT = pathlib.Path(__file__).resolve().parents[2]


def version_of(arguments):
    """That of the rows, or of the package."""
    if arguments.rows is None:
        return f"{arguments.engine}-{Package(arguments.engine, arguments.package).version}"
    for table in sorted(arguments.rows.glob("*.csv")):
        with open(table, encoding="utf-8") as lines:
            for row in csv.DictReader(lines):
                if row["software"].startswith(arguments.engine + "-"):
                    return row["software"]
    raise SystemExit(f"{arguments.rows} has no rows of {arguments.engine}")


def measure(arguments):
    call = [sys.executable, str(ROOT / "scripts/measure/engine-kernels.py"), arguments.engine, "--gpu", arguments.gpu,
            "--seconds", str(arguments.seconds), "--out", str(arguments.out)]
    if arguments.package:
        call += ["--package", arguments.package]
    subprocess.run(call, check=True)


def numbers(name):
    return [int(part) for part in re.findall(r"\d+", name)]


def described(software, engine, out):
    """Options that make ridge know a version that it has no file of."""
    known = sorted((folder.name for folder in (ROOT / "software").glob(engine + "-*")), key=numbers)
    if software in known:
        return []
    path = out / "software.toml"
    path.write_text(f'schema = 1\nkind = "software"\nname = "{software}"\nprogram = "serving"\ninherits = "{known[-1]}"\n',
                    encoding="utf-8")
    return ["--gpu-file", str(path)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("engine", choices=["sglang"])
    parser.add_argument("--ridge", default="ridge")
    parser.add_argument("--gpu", required=True, help="ridge's name of the GPU")
    parser.add_argument("--out", required=True, type=pathlib.Path)
    parser.add_argument("--package", help="folder with the unpacked wheel; default: the installed package")
    parser.add_argument("--rows", type=pathlib.Path, help="tables that engine-kernels.py wrote before")
    parser.add_argument("--seconds", type=float, default=240)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    software = version_of(arguments)
    if arguments.rows is None:
        measure(arguments)
    subprocess.run([arguments.ridge, "calibrate", "--software", software, "--gpu", arguments.gpu,
                    *described(software, arguments.engine, arguments.out),
                    "--rows", str(arguments.rows or arguments.out),
                    "-o", str(arguments.out / f"{arguments.gpu}.calibrated.toml")], check=True)


if __name__ == "__main__":
    main()
