#!/usr/bin/env python3
"""Which lines of the libraries the tests run, by folder: a table in Markdown.

    scripts/check coverage                              # builds with clang, runs the tests, then calls this:
    scripts/mutants/coverage.py build/coverage          # the table of profiles already written
    scripts/mutants/coverage.py build/coverage --files  # each file, least covered first, with its lines that nothing runs

The tests wrote build/coverage/profiles/*.profraw. Needs llvm-profdata and llvm-cov of clang's version (LLVM_PROFDATA, LLVM_COV).
What needs a GPU (measure/cuda/) is not counted.
"""
import argparse
import collections
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIBRARIES = ("hardware", "model", "measure", "kernel", "programs", "plot", "effects", "answers")


def merged(build):
    out = build / "profiles.data"
    parts = sorted(str(each) for each in (build / "profiles").glob("*.profraw"))
    if not parts:
        raise SystemExit(f"coverage: no profiles in {build / 'profiles'}")
    subprocess.run([os.environ.get("LLVM_PROFDATA", "llvm-profdata"), "merge", "-sparse", *parts, "-o", out], check=True)
    return out


def programs_of(build):
    found = [each for each in [*build.glob("tests/**/*"), build / "ridge"] if each.is_file() and os.access(each, os.X_OK) and each.read_bytes()[:4] == b"\x7fELF"]
    if not found:
        raise SystemExit(f"coverage: no programs in {build}")
    return found


def files_of(build, summary):
    """(name within the repository, what llvm-cov says of it)"""
    first, *others = programs_of(build)
    command = [os.environ.get("LLVM_COV", "llvm-cov"), "export", f"-instr-profile={merged(build)}", *(["-summary-only"] if summary else []), str(first),
               *[argument for each in others for argument in ("-object", str(each))], *[str(ROOT / library) for library in LIBRARIES]]
    exported = subprocess.run(command, check=True, capture_output=True).stdout
    for file in json.loads(exported)["data"][0]["files"]:
        name = os.path.relpath(file["filename"], ROOT)
        if name.split("/")[0] in LIBRARIES and not name.startswith("measure/cuda/"):
            yield name, file


def lines_without(segments):
    """Lines at whose beginning nothing ran: (line, column, count, has count, ...) holds until the next."""
    missed = set()
    for (line, _, count, counted, *_), (until, *_) in zip(segments, segments[1:]):
        if counted and count == 0:
            missed.update(range(line, until + 1))
    return missed


def ranges(lines):
    text, begin = [], None
    for line in sorted(lines):
        if line - 1 not in lines:
            begin = line
        if line + 1 not in lines:
            text.append(f"{begin}-{line}" if line > begin else str(line))
    return " ".join(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--files", action="store_true")
    parser.add_argument("--least", type=float, default=0.0, help="fail if fewer percent of all lines are covered")
    options = parser.parse_args()
    folders = collections.defaultdict(lambda: [0, 0])
    listed = []
    for name, file in files_of(options.build.resolve(), not options.files):
        lines = file["summary"]["lines"]
        for key in (name.split("/")[0], "all"):
            folders[key][0] += lines["count"]
            folders[key][1] += lines["covered"]
        if options.files:
            listed.append((lines["count"] - lines["covered"], name, lines, ranges(lines_without(file["segments"]))))
    for missing, name, lines, where in sorted(listed, reverse=True):
        print(f"{name}: {missing} of {lines['count']} lines: {where}")
    print("| library | lines | covered |\n|---|---:|---:|")
    for key in [*LIBRARIES, "all"]:
        count, covered = folders[key]
        print(f"| {key} | {count:,} | {100 * covered / max(count, 1):.1f} % |")
    count, covered = folders["all"]
    if 100 * covered < options.least * count:
        raise SystemExit(f"coverage: fewer than {options.least} % of the lines")


if __name__ == "__main__":
    sys.exit(main())
