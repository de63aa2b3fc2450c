"""Lines of files of records, plain or packed (docs/measuring.md), as dicts in full. Uses nothing else of the package.

The rules are those of measure/record/record_lines.cpp and statistics.cpp. scripts/records/ reads by these functions too.
"""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HEADER: dict[str, Any] = {"schema": 2, "records": "differences"}
OWN = ("timing", "failure")  # members that a record never takes over from the one before it


def files_in(folder: Path) -> list[Path]:
    """The files of records of a folder, sorted as ridge sorts them."""
    return sorted([*folder.glob("*.jsonl"), *folder.glob("*.jsonl.gz")], key=str)


def lines_of(path: Path) -> Iterator[tuple[int, Any]]:
    """(line, JSON value) of a file, packed or not."""
    with open(path, "rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
    with gzip.open(path, "rt", encoding="utf-8") if packed else open(path, encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                yield number, json.loads(line)


def records_of(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """(line, record) of a file, packed or not."""
    before: dict[str, Any] = {}
    differences = False
    for number, record in lines_of(path):
        if record == HEADER:
            differences = True
            continue
        if differences:
            kept = {name: value for name, value in before.items() if name not in OWN}
            before = {name: value for name, value in {**kept, **record}.items() if value is not None}
            record = {"schema": 1, **before}
        yield number, with_statistics(record)


def with_statistics(record: dict[str, Any]) -> dict[str, Any]:
    steady = steady_times(record)
    if not steady:
        return record
    timing = record["timing"]
    statistics = {**summary_of(steady), **timing.get("statistics", {})}
    return {**record, "timing": {**timing, "statistics": statistics}}


def steady_times(record: dict[str, Any]) -> list[float]:
    timing = record.get("timing") or {}
    throttled = set(timing.get("throttled", ()))
    return [time for at, time in enumerate(timing.get("times_s", ())) if at not in throttled]


def quantile(ordered: list[float], q: float) -> float:
    position = q * (len(ordered) - 1)
    below = int(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (position - below) * (ordered[above] - ordered[below])


def coverage(count: int, k: int) -> float:
    """The probability that the order statistics k from either end enclose the median."""
    log_half, total, log_choose = count * math.log(0.5), 0.0, 0.0
    for i in range(k + 1):
        total += math.exp(log_choose + log_half)
        log_choose += math.log((count - i) / (i + 1))
    return 1.0 - 2.0 * min(total, 1.0)


def median_interval(count: int, confidence: float = 0.95) -> tuple[int, int, float]:
    """As in measure/record/statistics.cpp."""
    if count == 1:
        return 0, 0, 0.0
    enough, narrow = 0, (count + 1) // 2
    while narrow - enough > 1:
        middle = (enough + narrow) // 2
        if coverage(count, middle) >= confidence:
            enough = middle
        else:
            narrow = middle
    return enough, count - 1 - enough, coverage(count, enough)


def drift_of(times: list[float]) -> float:
    if len(times) < 4:
        return 0.0
    half = len(times) // 2
    first, second = (quantile(sorted(part), 0.5) for part in (times[:half], times[-half:]))
    return second / first - 1.0


def summary_of(times: list[float]) -> dict[str, Any]:
    """The statistics of measure/record/statistics.h."""
    ordered = sorted(times)
    low, high, confidence = median_interval(len(ordered))
    return {"count": len(ordered), "median_s": quantile(ordered, 0.5), "p5_s": quantile(ordered, 0.05),
            "p95_s": quantile(ordered, 0.95), "low_s": ordered[low], "high_s": ordered[high],
            "confidence": confidence, "drift": drift_of(times)}
