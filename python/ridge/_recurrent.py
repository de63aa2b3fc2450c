"""Recurrent layers as cuDNN runs them: one operator for all layers, directions and steps, where a CPU has its own.

>>> with Recorder(model), AsOnGpu("h100-sxm"):    # `lstm`, `gru` and plain networks are called through `as_cudnn`
...     model(x)

The operators `_cudnn_rnn` and `_cudnn_rnn_backward` have no kernel on a CPU, nor does PyTorch 2.11 have a fake result for the second: the
recorder takes theirs from `results`. Fake tensors get the shapes; tensors with values get the network's output, and gradients of zeros.
Limits: the reserve between the two passes is taken to hold the gates and the state of each step, for cuDNN does not publish its size.
"""

from __future__ import annotations

from typing import Any

import torch

# The modes of cuDNN by the name of PyTorch's function, and how many gates each has.
_modes = {"rnn_relu": 0, "rnn_tanh": 1, "lstm": 2, "gru": 3}
_names = {mode: name for name, mode in _modes.items()}
_gates = (1, 1, 4, 3)


class _Layers(torch.autograd.Function):
    """All layers of one call; `options` are the arguments of `_cudnn_rnn` from the mode to the sizes of a packed batch."""

    @staticmethod
    def forward(ctx: Any, options: tuple[Any, ...], x: Any, hidden: Any, cell: Any, *weights: Any) -> Any:
        ctx.set_materialize_grads(False)
        each = len(weights) // (options[3] * (2 if options[7] else 1))
        out, last, last_cell, reserve, buffer = torch.ops.aten._cudnn_rnn.default(x, list(weights), each, None, hidden, cell, *options, None)
        ctx.options, ctx.each = options, each
        ctx.save_for_backward(x, hidden, cell, out, reserve, buffer, *weights)
        return out, last, last_cell

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        x, hidden, cell, out, reserve, buffer, *weights = ctx.saved_tensors
        of_x, of_hidden, of_cell, of_weights = torch.ops.aten._cudnn_rnn_backward.default(
            x, weights, ctx.each, buffer, hidden, cell, out, *gradients, *ctx.options, None, reserve, [True] * 4
        )
        return (None, of_x, of_hidden, None if cell is None else of_cell, *of_weights)


def as_cudnn(plain: Any, *args: Any, **kwargs: Any) -> Any:
    """What `plain` (`torch.lstm`, `gru`, `rnn_tanh` or `rnn_relu`) returns, by way of cuDNN's operator."""
    if kwargs or len(args) != 9:
        return plain(*args, **kwargs)
    sizes: list[int] = []
    if isinstance(args[3], (list, tuple)):  # a packed batch: its data, its sizes, the state
        x, packed, state, weights, _, layers, dropout, train, both = args
        sizes, batch_first = packed.tolist(), False
    else:
        x, state, weights, _, layers, dropout, train, both, batch_first = args
    mode = _modes[plain.__name__]
    hidden, cell = state if plain.__name__ == "lstm" else (state, None)
    width = (hidden if cell is None else cell).shape[-1]
    narrow = hidden.shape[-1]
    kind = _autocast_type()
    if kind is not None:
        x, hidden, cell, *weights = (None if each is None else each.to(kind) for each in (x, hidden, cell, *weights))
    options = (mode, width, 0 if narrow == width else narrow, layers, batch_first, dropout, train, both, sizes)
    out = _Layers.apply(options, x, hidden, cell, *weights)
    return out if plain.__name__ == "lstm" else out[:2]


def _autocast_type() -> Any:
    """The type that autocast computes in on this CPU; None without autocast."""
    try:
        return torch.get_autocast_dtype("cpu") if torch.is_autocast_enabled("cpu") else None
    except (AttributeError, TypeError):  # before PyTorch 2.4
        return torch.get_autocast_cpu_dtype() if torch.is_autocast_cpu_enabled() else None


def _output(x: Any, weights: Any, each: int, buffer: Any, hidden: Any, cell: Any, mode: int, width: int, narrow: int, layers: int,
            batch_first: bool, dropout: float, train: bool, both: bool, sizes: Any, drawn: Any) -> Any:
    """The results of `_cudnn_rnn`."""
    directions = 2 if both else 1
    rows = x.shape[0] if len(sizes) else x.shape[0] * x.shape[1]
    kept = rows * layers * directions * width * (_gates[mode] + 1) * x.element_size() if train else 0
    reserve, buffer = x.new_empty(kept, dtype=torch.uint8), x.new_empty(0)
    if _has_values(x):
        plain, state = getattr(torch._VF, _names[mode]), hidden if cell is None else (hidden, cell)
        place = (x, torch.tensor(sizes), state) if len(sizes) else (x, state)
        with torch.no_grad(), torch.autocast("cpu", enabled=False):
            out, last, *rest = plain(*place, weights, each >= 4, layers, 0.0, False, both, *(() if len(sizes) else (batch_first,)))
        return out, last, rest[0] if rest else x.new_empty(0), reserve, buffer
    out = x.new_empty((*x.shape[:-1], (narrow or width) * directions))
    last_cell = x.new_empty(0) if cell is None else torch.empty_like(cell)
    return out, torch.empty_like(hidden), last_cell, reserve, buffer


def _gradients(x: Any, weights: Any, each: int, buffer: Any, hidden: Any, cell: Any, *rest: Any) -> Any:
    """The results of `_cudnn_rnn_backward`: of the input, the states and the weights."""
    zeros = torch.zeros_like
    return zeros(x), zeros(hidden), x.new_empty(0) if cell is None else zeros(cell), [zeros(weight) for weight in weights]


def _has_values(tensor: Any) -> bool:
    from torch._subclasses.fake_tensor import FakeTensor

    return not isinstance(tensor, FakeTensor) and tensor.device.type != "meta"


results = {"aten::_cudnn_rnn": _output, "aten::_cudnn_rnn_backward": _gradients}
calls = {name: as_cudnn for name in _modes} if hasattr(torch, "compile") else {}  # before PyTorch 2.0 dispatch modes differ
