#!/usr/bin/env python3
"""Which lines of the libraries the tests run, by folder: a table in Markdown.

    scripts/check coverage                              # builds with clang, runs the tests, then calls this:
    scripts/mutants/coverage.py build/coverage          # the table of profiles already written
    scripts/mutants/coverage.py build/coverage --files  # each file, least covered first, with its lines that nothing runs

The tests wrote build/coverage/profiles/*.profraw. Needs llvm-profdata and llvm-cov of clang's version (LLVM_PROFDATA, LLVM_COV).
A build by GCC with --coverage serves, too: its tests leave .gcda files beside the objects, and gcov of GCC's version (GCOV) reads
them. What needs a GPU (measure/cuda/) is not counted.
"""
import argparse
import collections
import concurrent.futures
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


def named(path, sources):
    """The name within the repository of a file of a library, or nothing."""
    name = os.path.relpath(path, sources)
    return name if name.split("/")[0] in LIBRARIES and not name.startswith("measure/cuda/") else None


def gcov_of(at):
    """What gcov says of an object: each file with its lines and their counts."""
    run = subprocess.run([os.environ.get("GCOV", "gcov"), "--json-format", "--stdout", at], check=True, capture_output=True)
    found = [json.loads(text) for text in run.stdout.splitlines()]
    return [(os.path.join(unit["current_working_directory"], each["file"]), [(line["line_number"], line["count"]) for line in each["lines"]]) for unit in found for each in unit["files"]]


def files_by_gcov(objects, sources):
    """(name, lines, lines that nothing runs); a header's lines count if any object runs them."""
    counts = collections.defaultdict(collections.Counter)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for found in pool.map(gcov_of, objects):
            for path, lines in found:
                for line, count in lines if named(path, sources) else ():
                    counts[named(path, sources)][line] += count
    for name, lines in sorted(counts.items()):
        yield name, len(lines), {line for line, count in lines.items() if count == 0}


def files_by_llvm(build, summary):
    """The same by llvm-cov; without the lines themselves if only their number is wanted."""
    first, *others = programs_of(build)
    command = [os.environ.get("LLVM_COV", "llvm-cov"), "export", f"-instr-profile={merged(build)}", *(["-summary-only"] if summary else []), str(first),
               *[argument for each in others for argument in ("-object", str(each))], *[str(ROOT / library) for library in LIBRARIES]]
    exported = subprocess.run(command, check=True, capture_output=True).stdout
    for file in json.loads(exported)["data"][0]["files"]:
        if named(file["filename"], ROOT):
            lines = file["summary"]["lines"]
            missed = range(lines["count"] - lines["covered"]) if summary else lines_without(file["segments"])
            yield named(file["filename"], ROOT), lines["count"], missed


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
    parser.add_argument("--sources", type=pathlib.Path, default=ROOT, help="of a build by GCC")
    parser.add_argument("--least", type=float, default=0.0, help="fail if fewer percent of all lines are covered")
    options = parser.parse_args()
    folders = collections.defaultdict(lambda: [0, 0])
    listed = []
    objects = list(options.build.resolve().rglob("*.gcda"))
    files = files_by_gcov(objects, options.sources.resolve()) if objects else files_by_llvm(options.build.resolve(), not options.files)
    for name, lines, missed in files:
        for key in (name.split("/")[0], "all"):
            folders[key][0] += lines
            folders[key][1] += lines - len(missed)
        if options.files:
            listed.append((len(missed), name, lines, ranges(set(missed))))
    for missing, name, lines, where in sorted(listed, reverse=True):
        print(f"{name}: {missing} of {lines} lines: {where}")
    print("| library | lines | covered |\n|---|---:|---:|")
    for key in [*LIBRARIES, "all"]:
        count, covered = folders[key]
        print(f"| {key} | {count:,} | {100 * covered / max(count, 1):.1f} % |")
    count, covered = folders["all"]
    if 100 * covered < options.least * count:
        raise SystemExit(f"coverage: fewer than {options.least} % of the lines")


if __name__ == "__main__":
    sys.exit(main())
