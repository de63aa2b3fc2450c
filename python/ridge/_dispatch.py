"""Dispatches PyTorch calls on fake tensors as CUDA would, where dispatch depends on the device.

>>> with AsOnGpu("h100-sxm"):        # inside FakeTensorMode
...     model(ids)                   # attention becomes its backend's operator, dropout native_dropout

On the CPU, attention with dropout or a mask is split into operators that hold the matrix of scores, and
dropout draws a mask in the input's type. `AsOnGpu` intercepts `scaled_dot_product_attention`, `dropout` and recurrent
layers before they are dispatched, and calls the operators that CUDA's dispatch calls. It chooses the backend by
the rules of PyTorch 2.11 (aten/src/ATen/native/transformers/cuda/sdp_utils.cpp): cuDNN first on compute
capability 9.0 and 10.0, else flash, then the memory-efficient backend, then plain operators. PyTorch
before 2.0 has no such choice; there, only dropout is intercepted.
Under autocast a GPU computes more in single precision than a CPU (ATen/autocast_mode.h): norms, softmax, sums, losses;
their inputs are cast as there.
Limits: nested tensors, and backends that a program disables, are not handled.
"""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from . import _core
from ._answer import checked
from ._recurrent import calls as recurrent_calls

_half = (torch.float16, torch.bfloat16)


@functools.lru_cache(maxsize=None)
def compute_capability(gpu: str) -> tuple[int, int]:
    """The compute capability of a GPU by name: (9, 0)."""
    major, minor = divmod(checked(_core.dispatch_facts, gpu)["compute_capability"], 10)
    return major, minor


def _operator(name: str) -> Any:
    packet = getattr(torch.ops.aten, name, None)
    return None if packet is None else packet.default


def attention_backend(q: Any, k: Any, v: Any, mask: Any, causal: bool, capability: tuple[int, int]) -> str:
    """"cudnn", "flash", "efficient" or "math": the backend that CUDA runs for these tensors."""
    if q.dim() != 4 or k.dim() != 4 or v.dim() != 4 or 0 in (*q.shape, *k.shape):
        return "math"
    grouped = q.shape[1] != k.shape[1]
    if grouped and (k.shape[1] == 0 or q.shape[1] % k.shape[1] != 0):
        return "math"
    width, same = q.shape[-1], q.shape[-1] == v.shape[-1]
    low = q.dtype in _half and capability >= (8, 0)
    widest = 256 if capability == (9, 0) else 128
    if capability in ((9, 0), (10, 0)) and low and max(width, v.shape[-1]) <= widest and width % 8 == 0 and k.shape[2] > 1:
        return "cudnn"
    if low and mask is None and same and width <= 256 and not (causal and q.shape[2] != k.shape[2]):
        return "flash"
    aligned = 8 if q.dtype in _half else 4
    if q.dtype in (*_half, torch.float32) and not grouped and width % aligned == 0 and v.shape[-1] % aligned == 0:
        return "efficient"
    return "math"


def _additive(mask: Any, dtype: Any) -> Any:
    """A boolean mask as one that is added to the scores, made of two constants and a choice between them."""
    if mask is None or mask.dtype != torch.bool:
        return mask
    zero = torch.scalar_tensor(0.0, dtype=dtype, device=mask.device)
    hidden = torch.scalar_tensor(float("-inf"), dtype=dtype, device=mask.device)
    return torch.where(mask, zero, hidden)


def _attention(capability: tuple[int, int], query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0,
               is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False) -> Any:
    """The output of the backend's operator, or None if the plain call does the same."""
    options = {} if scale is None else {"scale": scale}
    saves = torch.is_grad_enabled() and any(tensor.requires_grad for tensor in (query, key, value))
    backend = attention_backend(query, key, value, attn_mask, is_causal, capability)
    operator = _operator(f"_scaled_dot_product_{backend}_attention")
    if backend == "math" or operator is None:
        return _plain_attention(query, key, value, attn_mask, dropout_p, is_causal, options, enable_gqa)
    if backend == "flash":
        width = query.shape[-1]
        padded = [torch.nn.functional.pad(tensor, (0, -width % 8)) if width % 8 else tensor for tensor in (query, key, value)]
        options.setdefault("scale", width**-0.5)
        return operator(*padded, dropout_p, is_causal, False, **options)[0][..., :width]
    mask = _additive(attn_mask, query.dtype)
    if mask is not None:
        mask = mask.expand(query.shape[0], query.shape[1], query.shape[2], key.shape[2])
    if backend == "cudnn":
        return operator(query, key, value, mask, saves, dropout_p, is_causal, False, **options)[0]
    return operator(query, key, value, mask, saves, dropout_p, is_causal, **options)[0]


def _plain_attention(query: Any, key: Any, value: Any, mask: Any, dropout: float, causal: bool, options: dict[str, Any], grouped: bool) -> Any:
    plain = _operator("_scaled_dot_product_attention_math")
    if plain is None:
        return None
    if grouped:
        options = {**options, "enable_gqa": True}
    return plain(query, key, value, _additive(mask, query.dtype), dropout, causal, None, **options)[0]


# What autocast computes in single precision on a GPU.
_in_single = frozenset(
    """__pow__ __rpow__ __rdiv__ acos asin binary_cross_entropy_with_logits cdist cosh cosine_embedding_loss cosine_similarity cross_entropy cumprod
    cumsum dist erfinv exp expm1 frobenius_norm group_norm hinge_embedding_loss huber_loss kl_div l1_loss layer_norm log log10 log1p log2 log_softmax
    logsumexp margin_ranking_loss mse_loss multi_margin_loss multilabel_margin_loss nll_loss norm nuclear_norm pdist poisson_nll_loss pow prod
    reciprocal renorm rsqrt sinh smooth_l1_loss soft_margin_loss softmax softplus sum tan triplet_margin_loss""".split()
)


def _autocasts() -> bool:
    try:
        return bool(torch.is_autocast_enabled("cpu"))
    except TypeError:  # before PyTorch 2.4
        return bool(torch.is_autocast_cpu_enabled())


def _single(value: Any) -> Any:
    return value.float() if isinstance(value, torch.Tensor) and value.dtype in _half else value


class AsOnGpu(TorchFunctionMode):
    """A mode in which attention and dropout become the operators that a GPU runs."""

    def __init__(self, gpu: str | None, values: bool = False) -> None:
        super().__init__()
        self.capability = (8, 0) if gpu is None else compute_capability(gpu)
        self.calls = {"scaled_dot_product_attention": self._attention, "dropout": _dropout, **recurrent_calls}
        if values:  # the backends' operators have no values on the CPU
            del self.calls["scaled_dot_product_attention"]

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        if name in _in_single and _autocasts():
            args, kwargs = tuple(map(_single, args)), {key: _single(value) for key, value in kwargs.items()}
        if name in self.calls:
            return self.calls[name](func, *args, **kwargs)
        if name != "multi_head_attention_forward":
            return func(*args, **kwargs)
        # Inside this function the mode is off, so patch the functions that it looks up in its module.
        module = torch.nn.functional
        kept = {name: getattr(module, name) for name in self.calls if hasattr(module, name)}
        try:
            for name, plain in kept.items():
                setattr(module, name, functools.partial(self.calls[name], plain))
            return func(*args, **kwargs)
        finally:
            for name, plain in kept.items():
                setattr(module, name, plain)

    def _attention(self, plain: Any, *args: Any, **kwargs: Any) -> Any:
        out = _attention(self.capability, *args, **kwargs)
        return plain(*args, **kwargs) if out is None else out


def _dropout(plain: Any, input: Any, p: float = 0.5, *args: Any, **kwargs: Any) -> Any:
    """CUDA's fused dropout, whose mask is boolean; the plain call if it is in place or drops nothing."""
    active = args[0] if args else kwargs.get("training", kwargs.get("train", True))
    inplace = args[1] if len(args) > 1 else kwargs.get("inplace", False)
    if inplace or not active or not 0.0 < p < 1.0 or input.numel() == 0:
        return plain(input, p, *args, **kwargs)
    return torch.native_dropout(input, p, True)[0]
