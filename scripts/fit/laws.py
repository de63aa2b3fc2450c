#!/usr/bin/env python3
"""Fits the laws by which parameters carry over to GPUs that nobody measured (docs/model.md: L2, L3, L9, L13).

Each law relates a fitted or measured parameter of several GPUs to what they consist of. Prints each constant as it
stands in calibration/laws.toml, as the descriptions of the measured GPUs give it, and how far the law then is from
each of them. With --check it exits with 1 if a constant in the file is further than its standard error, or than
0.03, from the fitted one.

    scripts/fit/laws.py [--check] [RIDGE]            # default: build/release/ridge
"""
import json
import math
import subprocess
import sys

#: GPUs whose products were measured under their power limit, and whose stores were.
MEASURED = ("a100-sxm-80gb", "h100-sxm", "h200-sxm", "b200")
#: GPUs whose L2 was streamed.
STREAMED = ("v100-pcie", "a100-sxm-80gb")
#: The GPU whose products on mma.sync were fitted.
FED = "a100-sxm-80gb"
LEAST_TOLERANCE = 0.03


def fields_of(ridge, gpu):
    """All values of a description, in base units."""
    answer = subprocess.run([ridge, "gpus", "show", gpu, "--all", "--format", "json"], capture_output=True, text=True, check=True)
    return {path: field["value"] for path, field in json.loads(answer.stdout)["fields"].items()}


def line(points):
    """Least squares of y = a + b x: a, b, and the standard error of a."""
    n = len(points)
    mean_x, mean_y = (sum(point[i] for point in points) / n for i in (0, 1))
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    slope = sum((x - mean_x) * (y - mean_y) for x, y in points) / spread
    start = mean_y - slope * mean_x
    variance = sum((y - start - slope * x) ** 2 for x, y in points) / (n - 2)
    return start, slope, math.sqrt(variance * (1 / n + mean_x**2 / spread)), math.sqrt(variance / spread)


def mean(values):
    """Mean of ratios and its standard error; that of one value is not known."""
    middle = sum(values) / len(values)
    if len(values) == 1:
        return middle, 0.0
    return middle, math.sqrt(sum((value - middle) ** 2 for value in values) / (len(values) - 1) / len(values))


def watts_per_teraflop(gpu):
    return gpu["power.limit_w"] / (gpu["peak.tensor.fp16_flop_per_s"] / 1e12)


def share_of_dram(gpu):
    """Stores of one multiprocessor, over its part of the DRAM bandwidth."""
    clock = gpu.get("clock.tensor_hz", gpu["clock.boost_hz"])
    part = gpu["dram.bandwidth_bytes_per_s"] / (clock * gpu["sm.count"])
    return gpu["model.matmul.tensor.store_bytes_per_clock_bytes_per_clk"] / part


def share_of_l2(gpu):
    return gpu["model.memory.l2_read_bytes_per_clk"] * gpu["sm.count"] / gpu["l2.bytes_per_clock_bytes_per_clk"]


def share_of_feed(gpu):
    clock = gpu.get("clock.tensor_hz", gpu["clock.boost_hz"])
    multiply_adds = gpu["peak.tensor.fp16_flop_per_s"] / (clock * gpu["sm.count"]) / 2
    return gpu["model.matmul.tensor.feed_elements"] / (2 * 2 * multiply_adds / 128)


def main():
    arguments = [word for word in sys.argv[1:] if word != "--check"]
    ridge = arguments[0] if arguments else "build/release/ridge"
    gpus = {name: fields_of(ridge, name) for name in sorted({*MEASURED, *STREAMED, FED})}
    stated = gpus[FED]
    points = [(math.log(watts_per_teraflop(gpus[name])), gpus[name]["model.matmul.tensor.sustained_fraction"]) for name in MEASURED]
    start, slope, start_error, slope_error = line(points)
    rows = [("sustained", start, start_error), ("sustained_slope", slope, slope_error)]
    ratios = {
        "store": {name: share_of_dram(gpus[name]) for name in MEASURED},
        "l2": {name: share_of_l2(gpus[name]) for name in STREAMED},
        "feed": {FED: share_of_feed(gpus[FED])},
    }
    rows += [(law, *mean(list(of.values()))) for law, of in ratios.items()]
    print("law               stated   fitted   standard error")
    wrong = []
    for law, fitted, error in rows:
        value = stated[f"model.laws.{law}"]
        print(f"{law:16} {value:7.3f}  {fitted:7.3f}  {error:7.3f}")
        if abs(value - fitted) > max(error, LEAST_TOLERANCE):
            wrong.append(law)
    print("\nmeasured GPU     law      stated law gives   the GPU has")
    for name, (x, y) in zip(MEASURED, points):
        value = stated["model.laws.sustained"] + stated["model.laws.sustained_slope"] * x
        print(f"{name:16} sustained          {value:7.3f}       {y:7.3f}")
    for law, of in ratios.items():
        for name, ratio in of.items():
            print(f"{name:16} {law:9}          {stated[f'model.laws.{law}']:7.3f}       {ratio:7.3f}")
    if "--check" in sys.argv and wrong:
        print("not as fitted: " + ", ".join(wrong))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
