"""Single predictions."""

from __future__ import annotations

import html
import os
from collections.abc import Mapping
from typing import Any

from . import _core
from ._answer import Answer, InputError, _time, checked


class Prediction(Answer):
    """One operation on one GPU: the members of docs/prediction.schema.json are its attributes."""

    def __repr__(self) -> str:
        values = self._values
        text = f"{_title(values)} on {values.get('gpu')}: "
        if "time_us" not in values:
            return text + f"not modelled ({values.get('error') or values.get('not_modelled')})"
        band = f"{_time(values['time_low_us'])} to {_time(values['time_high_us'])}"
        return text + f"{_time(values['time_us'])} ({band}), {values['bound']}-bound, limited by {values['limiter']}"

    def _repr_html_(self) -> str:
        values = self._values
        rows = [("time", _time(values["time_us"]))] if "time_us" in values else []
        for name in ("bound", "limiter"):
            if name in values:
                rows.append((name, str(values[name])))
        table = "".join(
            f"<tr><th style='text-align:left'>{html.escape(name)}</th><td>{html.escape(text)}</td></tr>"
            for name, text in rows
        )
        head = html.escape(repr(self))
        return f"<p>{head}</p><table>{table}</table>{self.roofline()._repr_html_()}" if rows else f"<p>{head}</p>"

    def roofline(self) -> Any:
        """The operation on its GPU's roofline."""
        from ._roofline import roofline

        return roofline(self._values["gpu"], self)


def _title(values: Mapping[str, Any]) -> str:
    parameters = values.get("parameters", {})
    words = [f"{name}={value}" for name, value in parameters.items()]
    kind = "" if "dtype" in parameters else str(values.get("dtype", ""))
    return " ".join([str(values.get("op")), *words, kind]).strip()


def default_gpu(gpu: str | None) -> str:
    """The given GPU, else the GPU that the environment variable RIDGE_GPU names."""
    chosen = gpu or os.environ.get("RIDGE_GPU")
    if not chosen:
        raise InputError("gpu: not given, and RIDGE_GPU is not set; ridge.gpus() lists the GPUs")
    return chosen


def predict(operation: str, *, gpu: str | None = None, datasheet: bool = False, analytic: bool = False, **fields: Any) -> Prediction:
    """Predicts one operation.

    `operation` is an operation of `ridge ops` ("matmul", "attention", "elementwise", "softmax", ...), `fields`
    are its fields: shapes in elements (m, n, k; heads, seq, head_dim; rows, cols), `dtype`, and how it runs
    (`impl`, `l2`, `launch`). `datasheet` uses datasheet rates only; `analytic` leaves out the correction from
    the residuals of measured shapes.

    Returns a `Prediction`: time_us with the 80 % band time_low_us to time_high_us, lower_bound_us,
    bound ("memory" or "compute" by the roofline), limiter, FLOP, bytes per memory level, power_w, energy_j and
    flop_per_j of steady work, and terms.
    Raises `InputError`, which names the field, if the question is broken.
    """
    return Prediction(checked(_core.predict, operation, default_gpu(gpu), fields, datasheet, analytic))
