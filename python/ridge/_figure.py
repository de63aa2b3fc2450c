"""Rooflines as matplotlib figures."""

from __future__ import annotations

import csv
import io
from typing import Any

from ._answer import InputError
from ._command import command

#: Half filled where such kernels were measured on this GPU or a relative; filled marks are for measured times.
_fills = {"measured": "left", "related": "left", "distant": "none", "datasheet": "none"}


def roofline_rows(gpu: str, operations: list[str], **options: Any) -> list[dict[str, str]]:
    """Roofs and points as `ridge roofline --format csv` lists them, from which the pictures are drawn too."""
    text = command("roofline", gpu=gpu, op=operations, format="csv", **options)
    return list(csv.DictReader(io.StringIO(text)))


def roofline_figure(gpu: str, operations: list[str], **options: Any) -> Any:
    """The roofs of the chart, and a point with its band for each operation, where the chart has them."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise InputError("figure: matplotlib is not installed (pip install ridge[plot])") from None
    rows = roofline_rows(gpu, operations, **options)
    points = [row for row in rows if row["kind"] == "point"]
    slopes = [row for row in rows if row["kind"] == "roof" and row["bytes_per_s"]]
    tops = [row for row in rows if row["kind"] == "roof" and row["flop_per_s"]]
    dram = [float(row["bytes_per_s"]) for row in slopes if row["level"] == "DRAM"]
    places = [float(row["intensity_flop_per_byte"]) for row in points]
    knees = [float(row["flop_per_s"]) / dram[0] for row in tops] if dram else []
    left = min([0.1, *(place / 4 for place in places)])
    right = max([1e4, *(10 * place for place in [*places, *knees])])
    figure = Figure(figsize=(8.0, 5.0), layout="constrained")
    axes = figure.add_subplot()
    highest = max(float(row["flop_per_s"]) for row in tops)
    for row in slopes:
        slope = float(row["bytes_per_s"])
        end = min(right, highest / slope)
        if end > left:
            axes.plot([left, end], [left * slope / 1e12, end * slope / 1e12], linewidth=1.2, label=f"{row['name']}, {row['source']}")
    for row in tops:
        top = float(row["flop_per_s"])
        start = max([left, *(top / slope for slope in dram[:1])])
        axes.plot([start, right], [top / 1e12, top / 1e12], linewidth=1.2, label=f"{row['name']}, {row['source']}")
    for row in points:
        rate = float(row["flop_per_s"]) / 1e12
        low, high = (float(row[name] or row["flop_per_s"]) / 1e12 for name in ("flop_per_s_low", "flop_per_s_high"))
        axes.errorbar(
            [float(row["intensity_flop_per_byte"])],
            [rate],
            yerr=[[rate - low], [high - rate]],
            fmt="o",
            capsize=3,
            fillstyle=_fills.get(row["evidence"], "full"),
            label=f"{row['name']}, evidence: {row['evidence']}",
        )
    axes.set(xscale="log", yscale="log", xlabel="Arithmetic intensity (FLOP/B)", ylabel="Performance (TFLOP/s)")
    axes.set_title(f"Roofline of {gpu}")
    axes.grid(True, which="major", alpha=0.3)
    axes.legend(fontsize="small")
    return figure
