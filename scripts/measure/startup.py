#!/usr/bin/env python3
"""Measures the wall time of the whole process for one prediction: the median of many runs, after a warm-up.

Usage: scripts/measure/startup.py [PROGRAM] [RUNS]     (default: build/release/ridge, 200)
"""
import statistics
import subprocess
import sys
import time

program = sys.argv[1] if len(sys.argv) > 1 else "build/release/ridge"
runs = int(sys.argv[2]) if len(sys.argv) > 2 else 200
command = [program, "predict", "matmul", "--m", "4096", "--n", "4096", "--k", "4096",
           "--dtype", "bf16", "--gpu", "h100-sxm"]


def wall_ms():
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return (time.perf_counter() - start) * 1e3


for _ in range(5):
    wall_ms()
times = sorted(wall_ms() for _ in range(runs))
print(f"startup: {statistics.median(times):.2f} ms median of {runs} runs "
      f"(10th to 90th percentile {times[runs // 10]:.2f} to {times[runs * 9 // 10]:.2f} ms)")
