#!/usr/bin/env python3
"""Repeats a trace of the PyTorch profiler as one long run, to measure how fast traces are read.

Usage: repeat-trace TRACE.json[.gz] MEGABYTES OUTPUT.json
Each repetition starts where the previous one ended and has its own ids.
"""
import gzip
import pathlib
import re
import sys


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    data = pathlib.Path(sys.argv[1]).read_bytes()
    text = (gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).decode()
    start = text.index("[", text.index('"traceEvents"')) + 1
    end = text.rindex("]")
    parts = re.split(r'("ts": ?[\d.]+|"External id": ?\d+|"correlation": ?\d+)', text[start:end].strip().rstrip(","))
    fields = []
    for part in parts[1::2]:
        key, value = part.split(":")
        whole, _, rest = value.strip().partition(".")
        fields.append((key, int(whole), "." + rest if rest else ""))
    times = [whole for key, whole, _ in fields if key == '"ts"']
    ids = [whole for key, whole, _ in fields if key != '"ts"']
    steps = {'"ts"': 2 * (max(times) - min(times)) + 1000}
    step_of_ids = max(ids, default=0) + 1
    count = max(1, int(float(sys.argv[2]) * 1e6 / (end - start)))
    with open(sys.argv[3], "w") as out:
        out.write(text[:start])
        for i in range(count):
            out.write(",\n" if i else "")
            out.write(parts[0])
            for (key, whole, rest), after in zip(fields, parts[2::2]):
                out.write(f"{key}: {whole + i * steps.get(key, step_of_ids)}{rest}{after}")
        out.write(text[end:])


if __name__ == "__main__":
    main()
