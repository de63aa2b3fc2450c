#!/usr/bin/env python3
"""Holds the order of the layers: hardware <- model <- measure <- plot <- cli.

Each layer may include its own headers and those of the layers below it; plot stands on hardware
alone, CUDA and CUPTI headers belong to measure/cuda/. Usage: include-order.py [ROOT]
"""
import pathlib
import re
import sys

ALLOWED = {
    "hardware": {"hardware"},
    "model": {"hardware", "model"},
    "measure": {"hardware", "model", "measure"},
    "plot": {"hardware", "plot"},
    "cli": {"hardware", "model", "measure", "plot", "cli"},
}
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]')
CUDA = re.compile(r"^(cuda|cupti|cublas|nvrtc|nvml|nvperf|mma\.h|cooperative_groups)")


def problems_of(path, layer, inside_cuda):
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        header = match.group(1)
        target = header.split("/")[0]
        if target in ALLOWED and target not in ALLOWED[layer]:
            yield f"{path}:{number}: {layer}/ must not include {header}"
        if CUDA.match(header) and not inside_cuda:
            yield f"{path}:{number}: only measure/cuda/ may include {header}"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    found = []
    for layer in ALLOWED:
        for path in sorted((root / layer).rglob("*")):
            if path.suffix in {".h", ".cpp", ".cu", ".cuh"}:
                found += problems_of(path, layer, "cuda" in path.relative_to(root).parts)
    print("\n".join(found) if found else "includes follow the layers")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
