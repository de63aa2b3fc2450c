#!/usr/bin/env python3
"""Checks that scripts/accuracy/engines.py leaves out the shapes that the fits leave out, and counts and classes as it says.
Usage: check_engines.py ROOT"""
import pathlib
import sys

ROOT = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(ROOT / "scripts/accuracy"))
import engines  # noqa: E402: needs the path above

for line in (ROOT / "tests/measure/left_out_shapes.txt").read_text(encoding="utf-8").splitlines():
    if line.startswith("#"):
        continue
    side, operation, *fields = line.split()
    row = {"op": operation, **dict(field.split("=") for field in fields)}
    assert engines.side_of(row) == int(side), line

attention = {"op": "attention", "causal": "0", "kv_write": "1", "seq_q": "1", "seq_kv": "64", "dtype": "bf16", "kv_dtype": "bf16"}
for change, expected in (({}, "decode"), ({"kv_dtype": "fp8"}, "decode, 8-bit cache"), ({"kv_write": "0"}, "encoder"),
                         ({"causal": "1", "seq_q": "64"}, "prefill")):
    assert engines.class_of({**attention, **change}) == expected, change
for section, expected in (("tiled_product.vllm.fp8_block_sm90", "products fp8_block"), ("tiled_product.vllm.fp8_sm90", "products fp8"),
                          ("attention_parts.trtllm.xqa_kv8", "decode, 8-bit cache"), ("attention_tiles.vllm.encoder_fa3", "encoder"),
                          ("attention_tiles.sglang.triton_prefill_kv8", "prefill"), ("expert_block.vllm.triton_fp8", "experts")):
    assert engines.class_of_section("model.engine." + section) == expected, section


def timed(time, low, high, measured="10"):
    return {"time_us": time, "time_low_us": low, "time_high_us": high, "measured_us": measured}


rows = [(timed("11", "10.5", "12"), 1, timed("12", "9", "13")), (timed("9", "8", "10"), 2, timed("10", "9", "11"))]
assert engines.figures(rows, True) == [2, "10.0 %", "10.0 %", "10.0 %", "+0.0 %", "50 %", "10.0 %", "10.0 %", "10.0 %"], engines.figures(rows, True)
assert engines.of_folds([(30, 0.05, 0.8), (10, 0.09, 0.6)]) == "6.0 %, 75 % in band"
