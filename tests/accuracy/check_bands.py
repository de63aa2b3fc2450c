#!/usr/bin/env python3
"""Checks how scripts/accuracy/bands.py judges bands. Usage: check_bands.py ROOT"""
import math
import pathlib
import sys

ROOT = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(ROOT / "scripts/accuracy"))
import bands  # noqa: E402: needs the path above
from errors import Judged  # noqa: E402


def close(a, b):
    return abs(a - b) < 1e-12


width = math.log(14.0 / 11.0)
below, inside, above = Judged(12.0, 10.0, 11.0, 14.0), Judged(12.0, 12.5, 11.0, 14.0), Judged(12.0, 15.0, 11.0, 14.0)
assert [one.inside for one in (below, inside, above)] == [False, True, False]
assert close(inside.score(), width) and close(below.score(), width + 10.0 * math.log(1.1)) and close(above.score(), width + 10.0 * math.log(15.0 / 14.0))
assert close(inside.plain_score(), 2.0 * math.log(2.0)) and close(Judged(1.0, 4.0, 1.0, 1.0).plain_score(), 12.0 * math.log(2.0))
assert Judged.of({"time_us": "2", "measured_us": "2.5", "time_low_us": "1", "time_high_us": "3"}).inside
assert Judged.of({"time_us": "", "measured_us": "2.5"}) is None

# The true quantiles have the least mean score: of times spread evenly, 10 and 90 %.
logs = [0.01 * i for i in range(-50, 51)]
times = [Judged(1.0, math.exp(each), 0.5, 2.0) for each in logs]
scores = {edge: sum(one.score(-0.01 * edge, 0.01 * edge) for one in times) for edge in range(20, 60)}
assert min(scores, key=scores.get) == 40, scores

row = {"operation": "matmul", "implementation": "torch", "op": "matmul dtype=bf16 m=8 n=64 k=9000 l2=warm"}
assert bands.class_of(row) == "matmul bf16 warm"
fields = bands.fields_of(row)
assert [name for name, (holds, operations) in bands.REGIONS.items() if "matmul" in operations and holds(fields)] == ["long k (over 8192)", "thin (at most 16 rows)"]
assert bands.class_of({"operation": "softmax", "implementation": "torch", "op": "softmax dtype=fp32 direction=backward"}) == "softmax backward torch"
line = bands.line("what", {"few": [below] * 3, "all in": [inside] * 40, "good": [inside] * 32 + [below] * 8})
assert line.startswith("| what | 83 | 87 % | 2 | all in 100 % | "), line
