#!/usr/bin/env python3
"""How well a table of board power agrees with itself: each row of at least 200 us beside its nearest neighbour.

    scripts/accuracy/power_scatter.py shared/reference/power_matmul_h200-sxm.csv

The nearest row has the same type, a time within 10 % and a rate within 5 % (their sum at most one such step): two kernels
that no model of power tells apart. Prints the mean and median difference in W of all rows and of those below 95 % of the
limit. No prediction of single rows can be much better than this.
"""
import csv
import math
import statistics
import sys

LEAST_US, TIME_STEP, RATE_STEP, LIMIT = 200.0, 0.10, 0.05, 0.95


def distance(a, b):
    return abs(math.log(a["us"] / b["us"])) / TIME_STEP + abs(math.log(a["rate"] / b["rate"])) / RATE_STEP


def main():
    with open(sys.argv[1], newline="", encoding="utf-8") as file:
        rows = [{"dtype": row["dtype"], "us": float(row["measured_us"]), "power": float(row["power_w"]),
                 "limit": float(row["power_limit_w"]),
                 "rate": float(row["m"]) * float(row["n"]) * float(row["k"]) / float(row["measured_us"])}
                for row in csv.DictReader(file) if float(row["measured_us"]) >= LEAST_US]
    for name, below in (("all", False), ("below 95 % of the limit", True)):
        found = []
        for row in rows:
            if below and row["power"] >= LIMIT * row["limit"]:
                continue
            near = min((other for other in rows if other is not row and other["dtype"] == row["dtype"]),
                       key=lambda other, row=row: distance(row, other))
            if distance(row, near) <= 1.0:
                found.append(abs(near["power"] / row["power"] - 1.0))
        print(f"{name}: {len(found)} rows, mean {100 * statistics.mean(found):.0f} %, median {100 * statistics.median(found):.0f} %")


main()
