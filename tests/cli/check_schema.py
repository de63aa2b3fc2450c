#!/usr/bin/env python3
"""Validates the JSON of `ridge predict` against docs/prediction.schema.json, and that docs/json.md lists every schema.

Usage: check_schema.py RIDGE SCHEMA. Exit code 77 (skipped) without the jsonschema package.
"""
import json
import pathlib
import re
import subprocess
import sys

try:
    import jsonschema
except ImportError:
    print("skipped: the Python package jsonschema is not installed")
    sys.exit(77)

QUESTIONS = [
    "matmul --m 4096 --n 4096 --k 4096 --dtype bf16 --gpu h100-sxm",
    "matmul --m 1 --n 4096 --k 4096 --dtype fp8 --gpu h200-sxm --l2 cold --launch graph",
    "matmul --m 64 --n 64 --k 64 --dtype fp8 --gpu a100-sxm-80gb",
    "attention --heads 32 --kv-heads 8 --seq 4096 --head-dim 128 --causal --gpu a100-sxm-80gb",
    "attention --heads 32 --seq-q 1 --seq-kv 8192 --head-dim 128 --gpu h200-sxm",
    "attention --heads 8 --seq 1024 --head-dim 64 --impl standard --direction backward --gpu h100-sxm",
    "elementwise --expr gelu(x+bias) --elements 1048576 --gpu h100-sxm",
    "softmax --rows 4096 --cols 4096 --impl manual --gpu a100-pcie-40gb",
    "layernorm --rows 128 --cols 768 --dtype fp32 --gpu v100-sxm",
    "gather --rows 4096 --cols 1000 --table-rows 50257 --gpu l40s",
    "copy --elements 1000000 --gpu tpu-v5p",
    "all_reduce --gpus 8 --bytes 1048576 --gpu h100-sxm",
    "host_to_device --bytes 1048576 --gpu h100-sxm",
]


def without_repeats(pairs):
    """Rejects a repeated key: its last value would hide the earlier ones."""
    names = [name for name, _ in pairs]
    for name in names:
        if names.count(name) > 1:
            sys.exit(f"the key '{name}' stands twice")
    return dict(pairs)


def unlisted_kinds(root):
    """Schemas that the program's code writes and docs/json.md does not list."""
    page = (root / "docs/json.md").read_text(encoding="utf-8")
    for path in sorted((root / "cli").rglob("*.cpp")):
        for kind in re.findall(r'write_document\(context\.out,\s*"([^"]+)"', path.read_text(encoding="utf-8")):
            if f"| `ridge/{kind}/1` |" not in page and f"| `{kind}[]` |" not in page:
                yield f"{path.name} writes the schema ridge/{kind}/1, which docs/json.md does not list"


def main():
    ridge, schema_path = sys.argv[1:3]
    with open(schema_path, encoding="utf-8") as file:
        schema = json.load(file, object_pairs_hook=without_repeats)
    validator = jsonschema.Draft7Validator(schema)
    failures = 0
    for problem in unlisted_kinds(pathlib.Path(schema_path).resolve().parents[1]):
        print(problem)
        failures += 1
    for question in QUESTIONS:
        run = subprocess.run([ridge, "predict", *question.split(), "--format", "json"],
                             capture_output=True, text=True, check=False)
        for error in validator.iter_errors(json.loads(run.stdout)):
            print(f"{question}: {'/'.join(map(str, error.path))}: {error.message}")
            failures += 1
    steps = ["--op", "copy elements=4096 count=3 name=move", "--op", "softmax rows=64 cols=64",
             "--op", "matmul m=64 n=64 k=64 dtype=fp8"]
    run = subprocess.run([ridge, "predict", *steps, "--gpu", "a100-sxm-80gb", "--format", "json"],
                         capture_output=True, text=True, check=False)
    for error in validator.iter_errors(json.loads(run.stdout)):
        print(f"sequence: {'/'.join(map(str, error.path))}: {error.message}")
        failures += 1
    rows = "op,elements\ncopy,4096\ncopy,none\n\"copy,1\nmatmul,1\n"
    run = subprocess.run([ridge, "predict", "--from", "-", "--gpu", "h100-sxm", "--format", "json"],
                         input=rows, capture_output=True, text=True, check=False)
    for error in validator.iter_errors(json.loads(run.stdout)):
        print(f"rows: {'/'.join(map(str, error.path))}: {error.message}")
        failures += 1
    if not list(validator.iter_errors({"op": "matmul"})):
        print("the schema accepts an object without a result")
        failures += 1
    print(f"{len(QUESTIONS)} predictions, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
