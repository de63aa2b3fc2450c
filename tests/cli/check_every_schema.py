#!/usr/bin/env python3
"""Every command's JSON follows its schema in docs/answers.schema.json, which lists every member.

Usage: check_every_schema.py RIDGE ROOT RIDGE_ON_FAKE. With RIDGE_UPDATE_GOLDEN=1 the file is written from the answers below; review the
difference, and raise the number of a schema whose member went or changed its meaning (docs/json.md). Exit code 77 (skipped)
without the jsonschema package.
"""
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

try:
    import jsonschema
except ImportError:
    print("skipped: the Python package jsonschema is not installed")
    sys.exit(77)

GPU = "--gpu h100-sxm"
MATMUL = "matmul --m 512 --n 512 --k 512"
# The kind of an answer, and questions with such answers. {root} is the source tree.
QUESTIONS = {
    "power-sweep": [f"sweep {MATMUL} --power 300,500 --gpu h200-sxm", f"sweep {MATMUL} --clock 1200,1600 --gpu h200-sxm"],
    "model-memory": ["vram llama-3.2-1b " + GPU, "vram gpt2 --phase train", "vram qwen3-8b --quantise fp8 --tp 2 --batch 4 " + GPU],
    "step": ["model llama-3.2-1b " + GPU, "model gpt2 --phase train", "model qwen3-30b-a3b --phase decode --software serving " + GPU,
             "model qwen3-vl-8b-instruct --image 640x480 " + GPU, "model voxtral-mini-3b-2507 --audio 30 " + GPU,
             "model llama-3.2-1b --phase decode --quantise fp8 --gpu k80"],
    "serving": ["model llama-3.2-1b --serve " + GPU, "model llama-3.2-1b --serve --tpot 5ms --price 2 --tp 1,2 --price-kwh 0.3 --grid-intensity 350 " + GPU],
    "fleet": ["validate {root}/records/h200-sxm-collectives {root}/records/h200-sxm-collectives-again {root}/records/links --by gpu",
              "validate {root}/records/h200-sxm/matmul.jsonl.gz {root}/records/h200-sxm/copy.jsonl.gz {root}/records/h200-sxm-effects/matmul.jsonl.gz {root}/records/h200-sxm-effects/copy.jsonl.gz --by gpu"],
    "training": ["model llama-3.2-1b --phase train --pp 2 --micro-batches 4 --gpu h200-sxm"],
    "stages": ["model llama-3.2-1b --phase decode --pp 3 " + GPU, "model llama-3.2-1b --pp 2"],
    "scaling": ["model llama-3.2-1b --phase train --gpus 1,2 --gpu h200-sxm"],
    "trace": ["trace {root}/tests/programs/traces/trace_llama_prefill.json.gz", "trace {root}/tests/programs/traces/trace_gpt2_train.json.gz --gpu h200-sxm",
              "trace {root}/tests/programs/traces/kernels_h200.ridge", "trace {root}/tests/programs/data/ncu_torch.csv"],
    "validation": ["validate {root}/records/h200-sxm/copy.jsonl.gz", "validate {root}/records/h100-sxm-calls/matmul.jsonl.gz " + GPU],
    "check": ["check {root}/docs/examples/times.csv {root}/docs/examples/times.csv", "check {root}/records/h200-sxm/copy.jsonl.gz {root}/records/h200-sxm/copy.jsonl.gz"],
    "memory": ["vram matmul --m 64 --n 64 --k 64", "vram softmax --rows 64 --cols 64 --pass training " + GPU],
    "attention-memory": ["vram attention --heads 8 --seq 1024 --head-dim 64", "vram attention --heads 8 --seq 1024 --head-dim 64 --pass training --impl torch-flash " + GPU],
    "kv-cache": ["vram kv-cache --kind gqa --layers 32 --kv-heads 8 --head-dim 128", "vram kv-cache --kind gqa --layers 32 --kv-heads 8 --head-dim 128 --seq 8192 --block 16 " + GPU],
    "kernel": ["kernel {root}/tests/kernel/data/row_sums.sass " + GPU, "kernel {root}/tests/kernel/data/matmul_128x128x32.sass --trips 128 --grid 1024 --block 128 --shared 65536 --dram-bytes 101MB " + GPU],
    "occupancy": ["occupancy --threads 256 --registers 64 " + GPU, "occupancy --threads 1024 --shared 48KiB --gpu a100"],
    "gpu": ["gpus show h100-sxm", "gpus show mi300x", "gpus show tpu-v5p", "gpus show k80"],
    "operation": ["ops matmul", "ops elementwise", "ops access", "ops kernel"],
    "ranks": ["trace --ranks {ranks:none} --gpu h200-sxm", "trace --ranks {ranks:slow-gpu}"],
    "links": ["fake links", "file {root}/records/links/h200-x2.json", "file {root}/records/links/h200-x4.json"],
}
# Answers that are lists: their items carry no schema of their own.
LISTS = {
    "gpus": ["gpus"],
    "timeline": ["gpus timeline"],
    "operations": ["ops"],
    "effects": ["effect list"],
    "effect": ["effect roofline " + GPU, "effect attention-vram --gpu a100", "effect scaling --gpu h200-sxm", "effect mlp " + GPU],
    "predictions": [f"predict {MATMUL.replace('512', '1,512', 1)} " + GPU, "sweep copy --elements 1:1000:*10 " + GPU,
                    "compare softmax --rows 64 --cols 64 --gpu h100,k80,tpu-v4", "predict matmul --m 64 --n 64 --k 64 --dtype bf16,fp64,nvfp4 --gpu v100-sxm"],
    "roofline": [f"roofline {MATMUL} " + GPU, "roofline --op 'copy elements=1e6' --op 'softmax rows=64 cols=64' --gpu mi300x"],
    "steps": ["model gpt2 --tp 1,2 " + GPU, "compare model gpt2 --gpu h100,k80,a100", "model gpt2 --phase train --batch 1,2 " + GPU],
    "advice": ["model llama-3.2-1b --phase decode --advise " + GPU],
    "model-memories": ["vram gpt2 --batch 1,2", "vram llama-3.2-1b --seq 1Ki,4Ki " + GPU],
    "lengths": ["vram attention --heads 8 --seq 1024:8192:*2 --head-dim 64", "vram attention --heads 8 --seq 1024,2048 --head-dim 64 --impl standard,flash2 " + GPU],
    "scatter": ["plot scatter {root}/records/h200-sxm/copy.jsonl.gz"],
    "doctor": ["doctor", "fake doctor"],
    "measurements": ["fake measure copy --elements 4096", f"fake measure {MATMUL} --no-counters", "fake measure all_reduce --bytes 1000000 --gpus 2"],
    "ceilings": ["fake calibrate"],
}
# Members whose names are data: fields of an operation, names of numbers.
NAMED_BY_DATA = {"parameters", "memory", "kv_cache", "peak_parts_bytes", "values"}


def kind_of(value):
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, (int, float)):
        return "number"
    return {str: "string", list: "array", dict: "object"}[type(value)]


def merged(values, name=""):
    """The schema that all values of one place follow."""
    kinds = sorted({kind_of(value) for value in values})
    schema = {"type": kinds[0] if len(kinds) == 1 else kinds} if kinds else {}
    items = [item for value in values if isinstance(value, list) for item in value]
    if items:
        schema["items"] = merged(items)
    objects = [value for value in values if isinstance(value, dict)]
    if not objects:
        return schema
    names = sorted({member for each in objects for member in each})
    if name in NAMED_BY_DATA or not names:
        schema["additionalProperties"] = merged([member for each in objects for member in each.values()]) if names else {}
        return schema
    schema["properties"] = {member: merged([each[member] for each in objects if member in each], member) for member in names}
    schema["required"] = [member for member in names if all(member in each for each in objects)]
    return schema


def strict(schema):
    """The same, refusing members that it does not list: programs ignore them, but the file should name them."""
    if isinstance(schema, list):
        return [strict(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {name: strict(each) for name, each in schema.items()}
    if isinstance(schema.get("properties"), dict) and "type" in schema:
        closed["additionalProperties"] = False
    return closed


def answer_of(programs, root, words):
    """The answer to a question; `file` reads one that was recorded on a machine with several GPUs, `fake` asks the program on a fake device."""
    ridge, fake = programs
    for case in ("none", "slow-gpu"):
        files = sorted((root / "tests" / "programs" / "traces" / "ranks" / case).iterdir())
        words = words.replace(f"{{ranks:{case}}}", " ".join(map(str, files)))
    words = shlex.split(words.replace("{root}", str(root)))
    if words[0] == "fake":
        ridge, words = fake, words[1:]
    if words[0] == "file":
        return json.loads(pathlib.Path(words[1]).read_text(encoding="utf-8"))
    run = subprocess.run([ridge, *words, "--json"], capture_output=True, text=True, check=False)
    # A list may hold refusals, a doctor's findings may be bad: the answer is whole all the same.
    if not run.stdout:
        sys.exit(f"ridge {' '.join(words)}: {run.stderr}")
    return json.loads(run.stdout)


def list_of(answers):
    """The schema of lists: what all items of all answers follow."""
    return {"type": "array", "items": merged([item for answer in answers for item in answer])}


def main():
    programs, root = (sys.argv[1], sys.argv[3]), pathlib.Path(sys.argv[2])
    page = root / "docs" / "answers.schema.json"
    failures = []
    answers = {kind: [answer_of(programs, root, words) for words in questions] for kind, questions in QUESTIONS.items()}
    lists = {kind: [answer_of(programs, root, words) for words in questions] for kind, questions in LISTS.items()}
    if os.environ.get("RIDGE_UPDATE_GOLDEN") == "1":
        schema = {"$schema": "http://json-schema.org/draft-07/schema#", "title": "The answers of ridge that have no schema of their own, by their member `schema`; lists by their name with [] (docs/json.md)",
                  "definitions": {kind: merged(found) for kind, found in answers.items()}}
        for kind, each in schema["definitions"].items():
            each["properties"]["schema"] = {"const": f"ridge/{kind}/1"}
        schema["definitions"].update({f"{kind}[]": list_of(found) for kind, found in lists.items()})
        page.write_text(json.dumps(schema, indent=1) + "\n", encoding="utf-8")
    definitions = json.loads(page.read_text(encoding="utf-8"))["definitions"]
    named = [(kind, QUESTIONS[kind], found) for kind, found in answers.items()] + [(f"{kind}[]", LISTS[kind], found) for kind, found in lists.items()]
    for kind, questions, found in named:
        for words, answer in zip(questions, found):
            failures += [f"{words}: {'/'.join(map(str, each.path))}: {each.message[:300]}" for each in jsonschema.Draft7Validator(strict(definitions[kind])).iter_errors(answer)]
        if not list(jsonschema.Draft7Validator(definitions[kind]).iter_errors({"schema": "ridge/other/1"})):
            failures.append(f"the schema of {kind} accepts another answer")
    # Every kind that docs/json.md lists has a schema, here or in a file of its own.
    apart = {"prediction", "sequence", "plan", "serve", "diagnosis"}
    listed = set(re.findall(r"^\| `(?:ridge/)?([\w-]+(?:\[\])?)(?:/1)?` \|", (root / "docs" / "json.md").read_text(encoding="utf-8"), re.MULTILINE))
    missing = listed - apart - set(definitions)
    failures += [f"{kind} has no schema" for kind in sorted(missing)]
    count = sum(map(len, answers.values())) + sum(map(len, lists.values()))
    print("\n".join(failures) if failures else f"{count} answers of {len(answers)} kinds and {len(lists)} kinds of lists follow their schemas")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
