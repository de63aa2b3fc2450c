#!/usr/bin/env python3
"""Counts the numbers that a GPU's predictions rest on: fields of one software, and numbers of corrections.

A field counts for a software if one of its `parameters` (software/NAME-VERSION/software.toml), or one of the software
that it uses, names the field or its section. Beside the sum stand those that other software brings for calls of its own
(collectives, copies) and those of generated code, which only compiled calls read: what remains is one software in one mode
on one GPU. Energy is counted apart. A correction's numbers are the thresholds and widths of its splits, and the splits and
values of its trees; they are counted for all software together, and for each with what it uses. A value is 0 where no row
reached the leaf.

usage: scripts/accuracy/parameters.py RIDGE [GPU ...]
"""
import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CORRECTION = "model.residual."
ENERGY = "model.energy"
OTHER_CALLS = ("model.collective", "model.copy")
COMPILED = ("model.torch.generated", "model.torch.pointwise.generated_share", "model.torch.pointwise.generated_vector")


def list_of(text, key):
    found = re.search(rf"^{key} = \[(.*?)\]", text, re.MULTILINE | re.DOTALL)
    return re.findall(r'"([^"]+)"', found[1]) if found else []


def software():
    return {each.parent.name: each.read_text() for each in sorted(ROOT.glob("software/*/software.toml"))}


def parameters_of(name, files):
    """Those of a software and of all that it uses."""
    seen, waiting, sections = set(), [name], set()
    while waiting:
        each = waiting.pop()
        if each in seen or each not in files:
            continue
        seen.add(each)
        sections |= set(list_of(files[each], "parameters"))
        waiting += list_of(files[each], "uses")
    return sections


def lies_in(field, section):
    return field == section or field.startswith(section + ".")


def fields_of(ridge, gpu):
    shown = subprocess.run([ridge, "gpus", "show", gpu, "--all", "--json"], check=True, capture_output=True, text=True)
    return json.loads(shown.stdout)["fields"]


def correction_numbers(fields):
    """By class: all, and those that are not 0."""
    counts = {}
    for name, field in fields.items():
        if not name.startswith(CORRECTION) or name.rsplit(".", 1)[1] not in ("splits", "trees"):
            continue
        text = str(field["value"] if isinstance(field, dict) else field)
        kind = name[len(CORRECTION):].rsplit(".", 1)[0]
        numbers = re.findall(r"(?<![\w.])-?\d+\b", text)
        zeros = sum(tree.split()[4:].count("0") for tree in text.split(",")) if name.endswith(".trees") else 0
        before = counts.get(kind, (0, 0))
        counts[kind] = (before[0] + len(numbers), before[1] + len(numbers) - zeros)
    return counts


def count_in(fields, sections):
    return sum(any(lies_in(field, each) for each in sections) for field in fields)


def report(ridge, gpu, files):
    fields = fields_of(ridge, gpu)
    model = [name for name in fields if name.startswith("model.") and not name.startswith(CORRECTION)]
    energy = [name for name in model if lies_in(name, ENERGY)]
    corrections = correction_numbers(fields)
    print(f"{gpu}: {len(model)} fields of all software, {len(energy)} of them of energy; "
          f"{sum(every for every, _ in corrections.values())} numbers of corrections in {len(corrections)} classes, "
          f"{sum(some for _, some in corrections.values())} of them not 0")
    print(f"  {'software':24} {'fields':>6} {'collectives, copies':>20} {'compiled':>9} {'one mode':>9} {'corrections':>12} {'not 0':>7}")
    for name in files:
        sections = parameters_of(name, files)
        read = [field for field in model if field not in energy and count_in([field], sections)]
        foreign = count_in(read, [each for each in OTHER_CALLS if each not in list_of(files[name], "parameters")])
        compiled = count_in(read, COMPILED)
        mine = [count for kind, count in corrections.items() if CORRECTION + kind in sections]
        if read:
            print(f"  {name:24} {len(read):6} {foreign:20} {compiled:9} {len(read) - foreign - compiled:9} "
                  f"{sum(every for every, _ in mine):12} {sum(some for _, some in mine):7}")


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    for gpu in sys.argv[2:] or ["h200-sxm"]:
        report(sys.argv[1], gpu, software())


if __name__ == "__main__":
    main()
