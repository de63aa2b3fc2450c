#!/usr/bin/env python3
"""Runs the checks that need clang-tidy 19: unused includes, and decimal literals in model/ and programs/.

    scripts/lint/tidy.py build/dev FILE.cpp ...      # these files
    scripts/lint/tidy.py build/tidy --all            # every room, by the files of the unity build; skips unused includes
    scripts/lint/tidy.py build/tidy --all --count    # writes scripts/lint/decimal-literals.txt

A decimal literal is a number in the code that should be data or follow from something. decimal-literals.txt says how many a
file still has; more is an error, and a new file has none. Literals of definitions (1.0, 0.5, 1000.0 ...) do not count.
Without clang-tidy 19 it says so and checks nothing. Limits: what stands behind an #if that is off is not seen.
"""
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
LISTED = ROOT / "scripts/lint/decimal-literals.txt"
FOUND = re.compile(r"^(?P<file>/[^:\n]+):(?P<line>\d+):(?P<column>\d+): (?:warning|error): (?P<text>.*) \[(?P<check>[a-z-]+)[^\]]*\]$", re.M)
DECIMAL = re.compile(r"(?:^|\D)(?P<number>\d+\.\d*(?:[eE][-+]?\d+)?|\d+[eE][-+]?\d+)")


def tidy(program, build, source):
    return subprocess.run([program, "--quiet", "--extra-arg=-Wno-unknown-warning-option", f"--config-file={ROOT}/scripts/lint/tidy.yaml", "-p", build,
                           source], check=False, capture_output=True, text=True).stdout


def sources_of_rooms(build):
    commands = json.loads((pathlib.Path(build) / "compile_commands.json").read_text(encoding="utf-8"))
    files = sorted({each["file"] for each in commands})
    return [each for each in files if "/Unity/" in each and not re.search(r"/(tests|bench)/|ridge_(portable|manual)", each)]


def findings(output, rooms):
    """{(file, line, column, check): text} of what counts; the same header is seen by many sources."""
    found = {}
    for match in FOUND.finditer(output):
        file = os.path.relpath(match["file"], ROOT)
        check, text = match["check"], match["text"]
        if check == "misc-include-cleaner" and (rooms or "is not used directly" not in text):
            continue
        if check == "readability-magic-numbers" and not (file.startswith(("model/", "programs/")) and DECIMAL.search(text)):
            continue
        found[file, int(match["line"]), int(match["column"]), check] = text
    return found


def main():
    build, *words = sys.argv[1:]
    program = shutil.which("clang-tidy-19")
    if program is None:
        print("lint: there is no clang-tidy-19, so unused includes and decimal literals are not checked", file=sys.stderr)
        return 0
    rooms = "--all" in words
    sources = sources_of_rooms(build) if rooms else [each for each in words if each.endswith(".cpp")]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = findings("\n".join(pool.map(lambda source: tidy(program, build, source), sources)), rooms)
    literals = collections.Counter(file for file, _, _, check in found if check == "readability-magic-numbers")
    if "--count" in words:
        LISTED.write_text("".join(f"{count:4} {file}\n" for file, count in sorted(literals.items())), encoding="utf-8")
        return 0
    allowed = {file: int(count) for count, file in (line.split() for line in LISTED.read_text(encoding="utf-8").splitlines())}
    bad = 0
    for (file, line, column, check), text in sorted(found.items()):
        if check == "readability-magic-numbers" and literals[file] <= allowed.get(file, 0):
            continue
        print(f"{file}:{line}:{column}: {text} [{check}]")
        bad += 1
    for file, count in sorted(literals.items()):
        if count > allowed.get(file, 0):
            print(f"{file}: {count} decimal literals, {allowed.get(file, 0)} are listed in {LISTED.relative_to(ROOT)}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
