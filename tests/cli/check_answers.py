#!/usr/bin/env python3
"""Validates the JSON of `ridge plan`, `ridge serve` and `ridge diagnose` against their schemas in docs/.

Usage: check_answers.py RIDGE DOCS. Exit code 77 (skipped) without the jsonschema package.
"""
import json
import pathlib
import subprocess
import sys

try:
    import jsonschema
except ImportError:
    print("skipped: the Python package jsonschema is not installed")
    sys.exit(77)

PLANS = [
    "llama-3.1-70b --gpu h100-sxm",
    "qwen3-30b-a3b --gpu h100-sxm,b200 --gpus 1,2 --price 2.5,5 --ttft 500ms --tpot 30ms",
    "llama-3.1-8b --train --gpu h100-sxm --gpus 1,8",
    "llama-3.1-8b --finetune qlora --gpu rtx-4090 --gpus 1",
    "qwen3-8b --finetune lora --batch 8 --gpu h100-sxm --gpus 1,2",
    "gpt2 --gpu k80 --gpus 1",
]
SERVES = [
    "llama-3.1-8b --gpu h100-sxm --concurrency 4,64 --count 50",
    "qwen3-30b-a3b --gpu h200-sxm --dp 2 --ep 2 --rate 2,8 --ttft 300ms --tpot 20ms --count 60 --prefix 0.5",
    "llama-3.2-1b --gpu l4 --replicas 3 --separate 1:2 --link 10GB/s --rate 3 --count 60",
    "llama-3.2-1b --gpu l4 --rate 30 --count 100 --draft mtp --prompt lognormal:300:1 --answer exponential:40",
    "qwen3-vl-8b-instruct --gpu h100-sxm --concurrency 8 --count 60 --vision 300-900 --images 4 --answer 40",
    "llama-3.1-70b --tp 4 --gpu h100-sxm --rate 2 --count 40 --draft-model llama-3.2-1b --draft-tree 3x2 --answer 50",
    "llama-3.2-1b --gpu l4 --rate 5 --count 80 --adapters 12 --adapter-slots 4 --rank 8 --offload 20GiB --prefix 0.8 --groups 30",
]
SEARCH = "llama-3.1-8b --serve --gpu h100-sxm,b200 --price 2.5,5 --ttft 500ms --tpot 30ms"
SEARCHES = [
    (SEARCH + " --draft ngram,mtp --draft-tokens 2,4 --draft-model llama-3.2-1b --acceptance 0.8", "draft"),
    (SEARCH + " --adapters 64 --rank 16 --seq 512 --adapter-slots 16,64", "adapter_slots"),
    ("llama-3.1-8b --serve --gpu h100-sxm --ttft 2s --seq 8000 --prefix 0.95 --groups 400 --offload 400GiB", "offload_bytes"),
]
TIMES = "name,op,m,n,k,count,us\nslow,matmul,4096,4096,4096,8,900\nfine,matmul,4096,4096,4096,1,185\nunit,matmul,4096,4096,4096,1,0.18\n"
FP8 = "name,op,m,n,k,dtype,us\nnone,matmul,64,64,64,fp8,9\nother,matmul,64,64,64,bf16,9\n"
DIAGNOSES = [("- --gpu h100-sxm", TIMES), ("- --gpu h100-sxm --on b200,k80", TIMES), ("- --gpu a100-sxm-80gb", FP8)]


def problems(ridge, schema, words, text=""):
    run = subprocess.run([ridge, *words, "--json"], input=text, capture_output=True, text=True, check=False)
    answer = json.loads(run.stdout)
    found = [f"{' '.join(words)}: {'/'.join(map(str, e.path))}: {e.message}" for e in jsonschema.Draft7Validator(schema).iter_errors(answer)]
    return answer, found


def main():
    ridge, docs = sys.argv[1], pathlib.Path(sys.argv[2])
    schemas = {name: json.loads((docs / f"{name}.schema.json").read_text(encoding="utf-8")) for name in ("plan", "serve", "diagnose")}
    failures = []
    for question in PLANS:
        answer, found = problems(ridge, schemas["plan"], ["plan", *question.split()])
        failures += found
        for row in [*answer["rows"], *(change["then"] for change in answer["changes"])]:
            parts = {**row["memory"]}
            if sum(parts.values()) != 2 * parts["total_bytes"]:
                failures.append(f"{question}: the parts of the memory do not add up")
            if row["fits"] != (0 < parts["total_bytes"] <= row["usable_bytes"]):
                failures.append(f"{question}: the verdict contradicts the memory")
    for question in SERVES:
        answer, found = problems(ridge, schemas["serve"], ["serve", *question.split()])
        failures += found
        for load in answer["loads"]:
            if not load["ttft"]["p50_us"] <= load["ttft"]["p99_us"] <= load["ttft"]["p99_high_us"]:
                failures.append(f"{question}: quantiles are not in order")
            if not load["itl"]["p99_low_us"] <= load["itl"]["p99_us"] <= load["itl"]["p99_high_us"]:
                failures.append(f"{question}: the interval of the time between tokens does not hold its p99")
    answer = problems(ridge, schemas["plan"], ["plan", *SEARCH.split()])[0]["deployments"]
    if answer["candidates"] < 1000 or not answer["best"]["meets_targets"] or len(answer["front"]) < 2:
        failures.append("the search over deployments found too little")
    for question, wanted in SEARCHES:
        found = problems(ridge, schemas["plan"], ["plan", *question.split()])
        failures += found[1]
        front = found[0]["deployments"]["front"]
        if not any(wanted in row for row in front):
            failures.append(f"{question}: no candidate of the front has {wanted}")
    for question, text in DIAGNOSES:
        failures += problems(ridge, schemas["diagnose"], ["diagnose", *question.split()], text)[1]
    for name, schema in schemas.items():
        if not list(jsonschema.Draft7Validator(schema).iter_errors({"schema": "ridge/other/1"})):
            failures.append(f"the schema of {name} accepts another answer")
    print("\n".join(failures) if failures else f"{len(PLANS)} plans, {len(SERVES)} served models and {len(DIAGNOSES)} diagnoses follow their schemas")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
