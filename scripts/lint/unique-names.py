#!/usr/bin/env python3
"""Checks that names in anonymous namespaces are unique in a room.

A unity build (presets asan and tidy) compiles the files of a room as one, so two of them cannot each have a constant
`warp` or their own function `percent(double)`. What is the same is written once, in a header of the room; what
differs gets a name that tells the difference. Functions may share a name if their parameters differ in type.

Usage: scripts/lint/unique-names.py [ROOT]        Exit code 1, with a line for each name that occurs twice.
"""

import collections
import pathlib
import re
import sys

LAYERS = ["hardware", "model", "measure", "programs", "plot", "effects", "cli"]
# The same as cmake/RidgeTargets.cmake: these are compiled one by one.
APART = re.compile(r"model/machine/\w+_parameters\.cpp|measure/cuda/|cli/(manual_)?main\.cpp")

TYPE = re.compile(r"^(?:struct|class|union|enum(?: class| struct)?) (\w+)\b(?!.*;$)")
ALIAS = re.compile(r"^using (\w+) = ([^;]+)")
FUNCTION = re.compile(r"^(?!return\b|using\b|namespace\b|static_assert\b)[\w:<>,&* \[\]]*?\b(\w+)\(([^;]*)$")
CONSTANT = re.compile(r"^(?:constexpr|const|inline|static|thread_local)\b[^=({]*?\b(\w+)\s*(?:=|\{|\()")


def types_of(parameters):
    """The parameters without their names and defaults, up to the closing bracket if it is on the line."""
    parameters = re.sub(r"\)[^)]*$", "", parameters)
    kept = []
    for each in re.split(r",(?![^<]*>)", parameters):
        words = re.sub(r"=.*", "", each).strip()
        kept.append(re.sub(r"\s*\b\w+$", "", words))
    return ", ".join(kept)


def declarations(text):
    """Name, signature and line of each declaration in a file's anonymous namespaces."""
    inside = False
    lines = text.splitlines()
    for number, line in enumerate(lines, 1):
        if line == "namespace {":
            inside = True
        elif line.startswith("}  // namespace"):
            inside = False
        elif inside and line and not line[0].isspace() and line[0] not in "/#})":
            if found := TYPE.match(line):
                yield found[1], "", number
            elif found := ALIAS.match(line):
                yield found[1], "= " + found[2], number
            elif found := CONSTANT.match(line):
                # `constexpr double half(double x)` is a function.
                rest = line[found.end() - 1:]
                if rest.startswith("("):
                    yield found[1], "(" + types_of(rest[1:]) + ")", number
                else:
                    yield found[1], "", number
            elif found := FUNCTION.match(line):
                whole, at = found[2], number
                while whole.count("(") + 1 > whole.count(")") and at < len(lines):
                    whole += " " + lines[at].strip()
                    at += 1
                yield found[1], "(" + types_of(whole) + ")", number


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    rooms = collections.defaultdict(lambda: collections.defaultdict(list))
    for layer in LAYERS:
        for path in sorted((root / layer).rglob("*.cpp")):
            name = path.relative_to(root).as_posix()
            if APART.match(name):
                continue
            for word, signature, line in declarations(path.read_text(encoding="utf-8")):
                rooms[path.parent][word].append((signature, f"{name}:{line}"))
    wrong = 0
    for names in rooms.values():
        for word, places in names.items():
            files = collections.defaultdict(set)
            for signature, place in places:
                files[signature].add(place)
            apart = {place.split(":")[0] for _, place in places}
            functions = all(signature.startswith("(") for signature in files)
            same = len(files) == 1 and next(iter(files)).startswith("=")  # the same alias twice is allowed
            twice = any(len({place.split(":")[0] for place in found}) > 1 for found in files.values())
            if len(apart) > 1 and not same and (twice or not functions):
                print(f"{word}: " + ", ".join(place for _, place in places))
                wrong = 1
    return wrong


if __name__ == "__main__":
    sys.exit(main())
