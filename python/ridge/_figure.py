"""Rooflines as matplotlib figures."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _core
from ._answer import InputError, checked

#: Half filled where such kernels were measured on this GPU or a relative; filled marks are for measured times.
_fills = {"measured": "left", "related": "left", "distant": "none", "datasheet": "none"}


def roofline_figure(gpu: str, operations: list[str]) -> Any:
    """A figure with the roofs of the operations' types, and a point with its band for each operation."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise InputError("figure: matplotlib is not installed (pip install ridge[plot])") from None
    figure = Figure(figsize=(8.0, 5.0), layout="constrained")
    axes = figure.add_subplot()
    answers = [_predict_text(text, gpu) for text in operations]
    ridge_points = [a["peak_flop_per_s"] / a["bandwidth_bytes_per_s"] for a in answers] or [100.0]
    left = min([0.1, *(a["algorithmic_intensity_flop_per_byte"] / 4 for a in answers if a["flop"] > 0)])
    right = max([1e4, *(10 * point for point in ridge_points)])
    intensity = np.geomspace(left, right, 200)
    seen: set[tuple[str, float]] = set()
    for answer in answers:
        roof = (answer["dtype"], answer["peak_flop_per_s"])
        if roof in seen:
            continue
        seen.add(roof)
        attainable = np.minimum(answer["peak_flop_per_s"], intensity * answer["bandwidth_bytes_per_s"])
        axes.plot(intensity, attainable / 1e12, label=f"{answer['dtype']}, datasheet", linewidth=1.2)
    for text, answer in zip(operations, answers):
        if answer["flop"] <= 0:
            continue
        rate = answer["flop"] / answer["time_us"] / 1e6
        low = answer["flop"] / answer["time_high_us"] / 1e6
        high = answer["flop"] / answer["time_low_us"] / 1e6
        x = answer["algorithmic_intensity_flop_per_byte"]
        grade = answer["evidence"]["grade"]
        axes.errorbar([x], [rate], yerr=[[rate - low], [high - rate]], fmt="o", capsize=3, fillstyle=_fills[grade],
                      label=f"{text}, evidence: {grade}")
    axes.set(xscale="log", yscale="log", xlabel="Arithmetic intensity (FLOP/B)", ylabel="Performance (TFLOP/s)")
    axes.set_title(f"Roofline of {gpu}")
    axes.grid(True, which="major", alpha=0.3)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(fontsize="small")
    return figure


def _predict_text(text: str, gpu: str) -> dict[str, Any]:
    operation, *words = text.split()
    fields = dict(word.split("=", 1) for word in words)
    answer = checked(_core.predict, operation, gpu, fields, False)
    if "time_us" not in answer:
        raise InputError(f"op: {text} is not modelled on {gpu}")
    return dict(answer)
