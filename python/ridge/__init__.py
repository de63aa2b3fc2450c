"""ridge predicts the time and memory of GPU operations, without a GPU.

>>> import ridge
>>> p = ridge.predict("matmul", m=4096, n=4096, k=4096, gpu="h100-sxm")
>>> p.time_us, p.bound
>>> ridge.plan("llama-3.1-70b", gpu="h100").verdict             # does it fit, how fast
>>> ridge.serve("llama-3.1-8b", gpu="h100", rate=[1, 4]).verdict    # what users see of a load
>>> ridge.diagnose("times.csv", gpu="h100").rows                 # what is slow, and why
>>> ridge.predict_table(frame, operation="matmul", gpu="h100-sxm")   # about a million rows per second

Names are those of the JSON that the program `ridge` writes. Times are in microseconds, sizes in bytes, and
FLOP counts a fused multiply-add as two. Broken input raises `ridge.InputError`, whose `field` names the
wrong field.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ._answer import Answer, Answers, InputError
from ._command import (
    calibrate,
    check,
    command,
    compare,
    diagnose,
    effect,
    gpus,
    kernel,
    model,
    occupancy,
    ops,
    plan,
    serve,
    trace,
    validate,
    vram,
)
from ._core import __version__
from ._predict import Prediction, predict

if TYPE_CHECKING:
    from ._records import read_records
    from ._roofline import Roofline, roofline
    from ._table import predict_table, sweep

__all__ = [
    "Answer",
    "Answers",
    "InputError",
    "Prediction",
    "Roofline",
    "__version__",
    "calibrate",
    "check",
    "command",
    "compare",
    "diagnose",
    "effect",
    "explore",
    "gpus",
    "kernel",
    "model",
    "occupancy",
    "ops",
    "plan",
    "predict",
    "predict_table",
    "read_records",
    "roofline",
    "serve",
    "sweep",
    "trace",
    "validate",
    "vram",
]

# NumPy takes longer to load than everything else, so modules that need it are loaded on first use.
_later = {
    "predict_table": "_table",
    "sweep": "_table",
    "roofline": "_roofline",
    "Roofline": "_roofline",
    "explore": "_explore",
    "read_records": "_records",
    "torch": "torch",
}


def __getattr__(name: str) -> Any:
    if name not in _later:
        raise AttributeError(f"module 'ridge' has no attribute '{name}'")
    module = import_module(f".{_later[name]}", __name__)
    found = module if name == "torch" else getattr(module, name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_later})
