#!/usr/bin/env python3
"""Checks that packing loses nothing: packed records, unpacked and packed again, are the same text, and `ridge validate`
says the same about both. Usage: check_packed.py ROOT RIDGE"""
import gzip
import pathlib
import subprocess
import sys
import tempfile

ROOT, RIDGE = pathlib.Path(sys.argv[1]), sys.argv[2]
FILES = ("h200-sxm-torch/scan", "h200-sxm-counted/layernorm", "h100-sxm-effects/transpose")


def run(*words):
    return subprocess.run([str(word) for word in words], check=True, capture_output=True).stdout


def main():
    packer = [sys.executable, ROOT / "scripts/records/pack.py"]
    for name in FILES:
        with tempfile.TemporaryDirectory() as scratch:
            packed = ROOT / "records" / f"{name}.jsonl.gz"
            plain = pathlib.Path(scratch) / pathlib.Path(name).with_suffix(".jsonl").name
            plain.write_bytes(run(*packer, "--print", packed))
            run(*packer, plain)
            again = plain.with_name(plain.name + ".gz")
            assert gzip.decompress(again.read_bytes()) == gzip.decompress(packed.read_bytes()), name
            said = [run(RIDGE, "validate", file, "--format", "json") for file in (plain, packed)]
            assert said[0] == said[1] and len(said[0]) > 100, name
            assert len(plain.read_bytes()) > 4 * len(packed.read_bytes()), name


if __name__ == "__main__":
    main()
