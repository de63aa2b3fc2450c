#!/usr/bin/env python3
"""Writes the public table of attention over mixed steps (docs/reference-tables.md) with ridge's columns, for
`ridge calibrate --built-in --data OUT`.

    scripts/fit/mixed_attention.py FOLDER OUT      # OUT/engine_mixed_GPU.csv

The table names models; their heads are below. Rows without new tokens are plain decoding, another kernel, and are
left out, like those without decoding sequences, which `attention` covers. Caches are counted without the new token
in the table and with it here.
"""
import csv
import sys
from pathlib import Path

#: Heads, heads of the cache and elements of a head of a model.
HEADS = {"meta-llama/Llama-3.1-8B": (32, 8, 128)}
COLUMNS = ["gpu", "op", "dtype", "heads", "kv_heads", "head_dim", "seq_q", "seq_kv", "decodes", "decode_kv",
           "launch", "software", "kernel", "measured_us"]
#: Whose kernels the values are written for: those of the table's version are the same.
SOFTWARE, KERNEL = "vllm-0.24.0", "vllm_flash_attn_fa2_mixed"


def rows_of(path):
    """The mixed rows of the table, in its order."""
    with open(path, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            new, decodes = int(row["prefill_tokens"]), int(row["decode_batch"])
            if new == 0 or decodes == 0:
                continue
            heads, kv_heads, width = HEADS[row["model"]]
            tp = int(row["tp"])
            yield {"gpu": row["gpu"], "op": "mixed_attention", "dtype": row["dtype"], "heads": heads // tp,
                   "kv_heads": kv_heads // tp, "head_dim": width, "seq_q": new,
                   "seq_kv": new + int(row["prefill_cached"]), "decodes": decodes,
                   "decode_kv": int(row["decode_cached"]) + 1, "launch": "kernel", "software": SOFTWARE,
                   "kernel": KERNEL, "measured_us": row["measured_us"]}


def main(folder, out):
    of_gpu = {}
    for row in rows_of(Path(folder) / "serving_attention_mixed.csv"):
        of_gpu.setdefault(row["gpu"], []).append(row)
    for gpu, rows in of_gpu.items():
        with open(Path(out) / f"engine_mixed_{gpu}.csv", "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
