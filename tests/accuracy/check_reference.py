#!/usr/bin/env python3
"""Checks scripts/reference on made-up tables: what it converts, the halves, and what it says of tables that it cannot read.
Usage: check_reference.py ROOT RIDGE"""
import csv
import hashlib
import pathlib
import subprocess
import sys
import tempfile

ROOT, RIDGE = pathlib.Path(sys.argv[1]), sys.argv[2]
SYSTEMS = "aiconfigurator/src/aiconfigurator/systems/data"
GEMM = "framework,version,device,op_name,kernel_source,gemm_dtype,m,n,k,latency\n"
DECODE = ("framework,version,device,op_name,kernel_source,batch_size,isl,num_heads,num_key_value_heads,head_dim,beam_width,"
          "attn_dtype,kv_cache_dtype,step,latency\n")


def convert(folder, *words):
    return subprocess.run([sys.executable, ROOT / "scripts/reference", folder, *words], check=False, capture_output=True, text=True)


def put(folder, path, text):
    file = folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def rows_of(path):
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def on_this_side(row):
    return hashlib.sha1(f"matmul|{row['m']}|{row['n']}|{row['k']}".encode()).digest()[0] % 2 == 0


def check_halves(folder):
    gemm = [f"x,1,x,gemm,x,bfloat16,{m},64,4096,{0.001 * m}\n" for m in range(1, 41)]
    put(folder, f"{SYSTEMS}/h200_sxm/trtllm/1.9.0/gemm_perf.txt", GEMM + "x,1,x,gemm,x,bfloat16,7,7,7,0.1\n")
    put(folder, f"{SYSTEMS}/h200_sxm/trtllm/1.10.0/gemm_perf.txt", GEMM + "".join(gemm))
    assert convert(folder).returncode == 0
    ours = rows_of(folder / "rows/matmul_h200-sxm.csv")
    assert 8 < len(ours) < 32 and all(map(on_this_side, ours)), ours
    first = min(ours, key=lambda row: int(row["m"]))
    assert (first["dtype"], first["batch"], first["launch"]) == ("bf16", "1", "graph"), first
    assert float(first["measured_us"]) == int(first["m"]), first
    assert first["source"] == "aiconfigurator h200_sxm trtllm 1.10.0", first
    assert convert(folder, "--half", "judge", "--out", folder / "judge").returncode == 0
    theirs = rows_of(folder / "judge/matmul_h200-sxm.csv")
    assert not any(map(on_this_side, theirs)) and len(ours) + len(theirs) == 40
    assert convert(folder, "--rows", "5", "--out", folder / "few").returncode == 0
    few = rows_of(folder / "few/matmul_h200-sxm.csv")
    assert len(few) == 5 and all(row in ours for row in few)
    said = subprocess.run([RIDGE, "validate", folder / "rows/matmul_h200-sxm.csv", "--format", "json"], check=True,
                          capture_output=True, text=True).stdout
    assert f'"n": {len(ours)}' in said or f'"n":{len(ours)}' in said, said[:400]


def check_columns(folder):
    put(folder, f"{SYSTEMS}/l40s/vllm/0.24.0/generation_attention_perf.txt", DECODE
        + "x,1,x,x,x,2,1,8,4,128,1,bfloat16,bfloat16,63,0.01\n" + "x,1,x,x,x,2,1,8,4,128,1,bfloat16,fp8,63,0.02\n")
    put(folder, "NeuSight/data/dataset/test/softmax.csv", "device,kernel_name,B,H,latency\nTesla T4,f,8,64,0.5\nother,f,8,64,0.5\n")
    assert convert(folder, "--half", "all", "--out", folder / "all").returncode == 0
    decode, = rows_of(folder / "all/attention_decode_l40s.csv")
    assert (decode["seq_q"], decode["seq_kv"], decode["impl"], decode["measured_us"]) == ("1", "64", "flash2", "10.000"), decode
    softmax, = rows_of(folder / "all/softmax_neusight.csv")
    assert (softmax["gpu"], softmax["rows"], softmax["measured_us"]) == ("t4", "8", "500.000"), softmax


def check_complaints(folder):
    path = f"{SYSTEMS}/h200_sxm/trtllm/1.10.0/gemm_perf.txt"
    for text, words in ((GEMM.replace("latency", "time") + "x,1,x,gemm,x,bfloat16,1,2,3,4\n", "no column 'latency'; there are framework"),
                        (GEMM + "x,1,x,gemm,x,bfloat16,1.5,2,3,4\n", "gemm_perf.txt:2: m is '1.5', not a whole number"),
                        ("version https://git-lfs.github.com/spec/v1\n", "git lfs pull")):
        put(folder, path, text)
        result = convert(folder)
        assert result.returncode != 0 and words in result.stderr, (words, result.stderr)


def main():
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        assert "no table found" in convert(folder).stderr
        check_halves(folder)
        check_columns(folder)
        check_complaints(folder)


if __name__ == "__main__":
    main()
