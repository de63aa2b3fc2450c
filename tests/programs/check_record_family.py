#!/usr/bin/env python3
"""Recordings of transformers' code agree with the family files, and a draft of a family from one is read.

Usage: check_record_family.py RECORD_FAMILY RIDGE RECORDINGS
No PyTorch is needed: recordings/ holds what scripts/families/record-family.py wrote.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

script, ridge, folder = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
NOT_SHIPPED = {"starcoder2-prefill.json"}


def run(*arguments):
    return subprocess.run([sys.executable, script, *arguments, "--ridge", ridge], capture_output=True, text=True)


failures = []
recordings = sorted(path for path in folder.glob("*.json") if path.name not in NOT_SHIPPED)
for path in recordings:
    answer = run("compare", str(path))
    if answer.returncode != 0:
        failures.append(f"{path.name}:\n{answer.stdout}{answer.stderr}")
if len(recordings) < 5:
    failures.append("recordings are missing")

with tempfile.TemporaryDirectory() as temporary:
    # A kernel less, a shape changed and a tensor that lives on are each seen.
    whole = json.loads(recordings[0].read_text())
    products = [i for i, kernel in enumerate(whole["kernels"]) if kernel["call"] == "aten.mm"]
    for what in ("kernel", "shape", "tensor"):
        changed = json.loads(json.dumps(whole))
        if what == "kernel":
            del changed["kernels"][0]
        elif what == "shape":
            changed["kernels"][products[0]]["out"][0][0][-1] += 8
        else:
            largest = max(tensor[0] for tensor in changed["tensors"])
            changed["tensors"] = [[t[0], t[1], -1 if t[0] == largest else t[2]] for t in changed["tensors"]]
            changed["tensors"] += [[10 * largest, 0, -1]]
        path = pathlib.Path(temporary) / "changed.json"
        path.write_text(json.dumps(changed))
        if run("compare", str(path)).returncode != 1:
            failures.append(f"a changed {what} was not seen")
    # A family that ridge does not ship: drafted, read, and the same kernels as recorded.
    for name in NOT_SHIPPED:
        draft = pathlib.Path(temporary) / "draft.toml"
        answer = run("draft", str(folder / name), "-o", str(draft))
        again = run("compare", str(folder / name), "--family", str(draft))
        if answer.returncode != 0 or again.returncode != 0:
            failures.append(f"{name}:\n{answer.stdout}{answer.stderr}{again.stdout}{again.stderr}")

for failure in failures:
    print(failure)
print(f"{len(recordings)} recordings, {len(failures)} failures")
sys.exit(1 if failures else 0)
