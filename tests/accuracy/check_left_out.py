#!/usr/bin/env python3
"""Checks that scripts/accuracy/left_out.py describes a GPU without anything that rests on it. Usage: check_left_out.py ROOT RIDGE"""
import pathlib
import subprocess
import sys
import tempfile

ROOT, RIDGE = pathlib.Path(sys.argv[1]), sys.argv[2]
sys.path.insert(0, str(ROOT / "scripts/accuracy"))
import left_out  # noqa: E402: needs the path above


def answer(file, name, *words):
    return subprocess.run([RIDGE, "predict", *words, "--gpu", name, "--gpu-file", str(file), "--launch", "graph"],
                          capture_output=True, text=True, check=True).stdout


def main():
    product = ("matmul", "--m", "1024", "--n", "1024", "--k", "1024")
    with tempfile.TemporaryDirectory() as scratch:
        for name, (donor, _) in left_out.DONORS.items():
            text = left_out.described(RIDGE, None, name)
            donors = [line for line in text.splitlines() if 'source = "DONOR"' in line]
            assert donors and "[model.attention.flashinfer]" not in text, name
            own = left_out.Description(left_out.GPUS / f"{name}.toml")
            peak = own.sections["peak.fma"]["fp32"][0]
            assert f"fp32 = {{ value = {peak}" in text, name
            file = pathlib.Path(scratch) / f"{name}.toml"
            file.write_text(text, encoding="utf-8")
            subprocess.run([RIDGE, "gpus", "check", str(file)], check=True, stdout=subprocess.DEVNULL)
            dtype = "fp32" if "pcie" in name else "bf16"
            here, there = answer(file, name, *product, "--dtype", dtype), answer(file, donor, *product, "--dtype", dtype)
            assert "not from measurements of this GPU" in " ".join(here.split()), here
            assert here != there, name
        decode = ("attention", "--heads", "32", "--seq-q", "1", "--seq-kv", "4096", "--head-dim", "128")
        file = pathlib.Path(scratch) / "b200.toml"
        said = answer(file, "b200", *decode)
        assert "the efficiency of this kernel is an estimate" in said, "Hopper has no kernels of Blackwell"
    with tempfile.TemporaryDirectory() as tables:
        folder = pathlib.Path(tables)
        (folder / "matmul_made_up.csv").write_text("gpu,op,dtype,batch,m,n,k,l2,launch,measured_us\n"
                                                   "h100-sxm,matmul,bf16,1,64,64,64,warm,graph,1\n", encoding="utf-8")
        (folder / "collectives_made_up.csv").write_text("gpu,op,dtype,gpus,bytes,measured_us\n"
                                                        "h100-sxm,all_gather,half,8,1024,1\n"
                                                        "h200-sxm,all_gather,half,8,1024,1\n", encoding="utf-8")
        left_out.DONORS = {"h100-sxm": ("h200-sxm", ())}
        lines = left_out.part(RIDGE, tables).splitlines()[2:]
        assert [line.split(" | ")[:4] for line in lines] == [["| collectives", "h100-sxm", "h200-sxm", "1"],
                                                            ["| matmul bf16", "h100-sxm", "h200-sxm", "1"]], lines
    print("every measured GPU can be left out")


main()
