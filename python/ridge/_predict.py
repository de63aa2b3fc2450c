"""Single predictions."""

from __future__ import annotations

import os
from typing import Any

from . import _core
from ._answer import InputError, Prediction, checked


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
    bound ("memory" or "compute" by the roofline), limiter, FLOP, bytes per memory level and terms.
    Raises `InputError`, which names the field, if the question is broken.
    """
    return Prediction(checked(_core.predict, operation, default_gpu(gpu), fields, datasheet, analytic))
