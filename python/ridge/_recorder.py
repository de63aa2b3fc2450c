"""Records what a PyTorch program runs: every ATen operator with its shapes, and the life of each storage.

>>> recorder = Recorder(model)
>>> with recorder:
...     model(x)
>>> recorder.calls.values(), recorder.events
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

try:
    from torch.utils._pytree import tree_flatten, tree_map  # noqa: F401
except ImportError:  # pragma: no cover - every PyTorch from 1.13 on has it
    raise ImportError("ridge.torch needs PyTorch 1.13 or newer") from None

from ._recurrent import results

_no_kernel = {
    "aten::view", "aten::_unsafe_view", "aten::reshape", "aten::t", "aten::transpose", "aten::permute", "aten::expand",
    "aten::slice", "aten::select", "aten::unsqueeze", "aten::squeeze", "aten::split", "aten::split_with_sizes",
    "aten::chunk", "aten::unbind", "aten::alias", "aten::detach", "aten::detach_", "aten::as_strided", "aten::lift_fresh",
    "aten::empty", "aten::empty_like", "aten::empty_strided", "aten::new_empty", "aten::new_empty_strided",
    "aten::_reshape_alias", "aten::unfold", "aten::diagonal", "aten::narrow", "aten::is_same_size", "aten::sym_size",
    "prim::device", "aten::_local_scalar_dense", "aten::record_stream", "aten::resize_", "aten::set_",
}
# What fills a new tensor: on a GPU, kernels of `fill_`.
_fills = {f"aten::{new}{what}" for what in ("zeros", "ones", "full") for new in ("", "new_")} | {"aten::full_like"}

class Call:
    """One operator with its inputs, and how often it ran in one module."""

    def __init__(self, name: str, inputs: str, module: str, backward: bool) -> None:
        self.name, self.inputs, self.module, self.backward, self.count = name, inputs, module, backward, 0


class Recorder(TorchDispatchMode):
    """A mode that records operators and the life of storages."""

    def __init__(self, model: Any = None, device_map: dict[str, int | str] | None = None) -> None:
        super().__init__()
        self.device_map = device_map or {}
        self.device_of: dict[int, str] = {}  # of each storage, if there is a map
        self._weights: dict[str, int] = {}
        self.calls: dict[tuple[str, str, str, bool], Call] = {}
        self.events: list[tuple[int, int]] = []  # (storage, bytes): positive when allocated, negative when freed
        self.ran: list[tuple[int, Call]] = []  # each call, after as many events: its workspace lives there
        self.before: list[tuple[int, int]] = []  # storages from before, such as a cache in an argument's attributes
        self.backward = False
        self._storages: dict[int, int] = {}
        self._next = 0
        self._polled: list[tuple[Any, Callable[[], None]]] = []
        self._path: list[str] = []
        self._hooks: list[Any] = []
        if model is not None:
            self._follow(model)
            if self.device_map:
                self._place(model)

    def _follow(self, model: Any) -> None:
        for name, module in model.named_modules():
            title = f"{name or 'model'}: {type(module).__name__}"
            self._hooks.append(module.register_forward_pre_hook(lambda _m, _i, title=title: self._path.append(title)))
            self._hooks.append(module.register_forward_hook(lambda _m, _i, _o: self._path and self._path.pop() and None))

    def _place(self, model: Any) -> None:
        """Each parameter is on the device of its module."""
        for name, module in model.named_modules():
            for tensor in [*module.parameters(recurse=False), *module.buffers(recurse=False)]:
                device, known = self.device(name), len(self.device_of)
                self.watch(tensor, device=device)
                if len(self.device_of) > known:
                    self._weights[device] = self._weights.get(device, 0) + _nbytes(_storage(tensor))

    def device(self, module: str) -> str:
        """The device of a module: that of the longest name in the map that it lies in."""
        inside = [name for name in self.device_map if name in ("", module) or module.startswith(name + ".")]
        return str(self.device_map[max(inside, key=len)] if inside else next(iter(self.device_map.values()), ""))

    def devices(self) -> list[str]:
        return list(dict.fromkeys(map(str, self.device_map.values())))

    def weights_of(self, device: str) -> int:
        return self._weights.get(device, 0)

    def __exit__(self, *details: Any) -> Any:
        for hook in self._hooks:
            hook.remove()
        self._hooks.clear()
        return super().__exit__(*details)

    @contextlib.contextmanager
    def _again(self) -> Iterator[None]:
        """Records what an operator calls, too."""
        super().__enter__()
        try:
            yield
        finally:
            super().__exit__(None, None, None)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.poll()
        # In inference mode, operators that consist of others arrive whole.
        if torch.is_inference_mode_enabled() and not func._schema.name.startswith("prim::"):
            with self._again():
                parts = func.decompose(*args, **(kwargs or {}))
            if parts is not NotImplemented:
                return parts
        for tensor in _tensors([args, kwargs]):
            self.watch(tensor, self.before)
        name = func._schema.name
        out = results.get(name, func)(*args, **(kwargs or {}))
        call = None
        if name not in _no_kernel and not name.startswith("profiler::") and not _only_a_view(func, args, out):
            inputs = _inputs_text(func, args, kwargs or {}, out)
            name = "aten::fill_" if name in _fills else name
            module = self._path[-1] if self._path and not self.backward else ""
            key = (name, inputs, module, self.backward)
            call = self.calls.get(key)
            if call is None:
                call = self.calls[key] = Call(name, inputs, module, self.backward)
            call.count += 1
        for tensor in _tensors(out):
            self.watch(tensor)
        if call is not None:
            self.ran.append((len(self.events), call))
        return out

    def watch(self, tensor: Any, events: list[tuple[int, int]] | None = None, device: str | None = None) -> None:
        """Records a tensor's storage until nothing holds it; it begins in `events` (default: now)."""
        storage = _storage(tensor)
        key = storage._cdata
        if key in self._storages:
            return
        size = _nbytes(storage)
        if size == 0:
            return
        self._next += 1
        number = self._storages[key] = self._next
        if self.device_map:
            title = self._path[-1] if self._path else ""
            self.device_of[number] = self.device("" if title.startswith("model:") else title.split(":")[0]) if device is None else device
        (self.events if events is None else events).append((number, size))

        def gone(key: int = key, number: int = number, size: int = size) -> None:
            if self._storages.get(key) == number:
                del self._storages[key]
                self.events.append((number, -size))

        if _storages_last:
            with contextlib.suppress(TypeError):  # a storage without weak references counts to the end
                weakref.finalize(storage, gone)
        else:
            from torch.multiprocessing.reductions import StorageWeakRef

            self._polled.append((StorageWeakRef(storage), gone))

    def poll(self) -> None:
        """Looks for storages that were freed, because PyTorch before 2.1 does not report it."""
        still = []
        for reference, gone in self._polled:
            if reference.expired():
                gone()
            else:
                still.append((reference, gone))
        self._polled = still


def _storage_objects_last() -> bool:
    """Whether a storage's Python object lives as long as the storage, so that its end can be observed."""
    tensor = torch.empty(1)
    reference = weakref.ref(_storage(tensor))
    return reference() is not None


def _storage(tensor: Any) -> Any:
    return tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor.storage()._storage


_storages_last = _storage_objects_last()


def _nbytes(storage: Any) -> int:
    try:
        return int(storage.nbytes())
    except (RuntimeError, TypeError, ValueError):
        return 0


def _tensors(value: Any) -> Iterator[Any]:
    for item in tree_flatten(value)[0]:
        if isinstance(item, torch.Tensor):
            yield item


def _only_a_view(func: Any, args: Any, out: Any) -> bool:
    """Whether the result shares its input's storage: a view, or a conversion without effect."""
    if func._schema.name.endswith("_") or not isinstance(out, torch.Tensor) or not args:
        return False
    first = args[0]
    if not isinstance(first, torch.Tensor) or func._schema.is_mutable:
        return False
    return _storage(out)._cdata == _storage(first)._cdata


def _inputs_text(func: Any, args: Any, kwargs: dict[str, Any], out: Any) -> str:
    types, dims, strides, values = [], [], [], []
    given = list(args)
    for argument in func._schema.arguments[len(args) :]:
        given.append(kwargs.get(argument.name, argument.default_value if argument.has_default_value() else None))
    if func._schema.name in ("aten::_to_copy", "aten::clone", "aten::contiguous"):
        given = [out, args[0]]  # as a copy from the input into the result
    if func._schema.name in _fills:
        given = [out]
    for value in given:
        kind, size, steps, text = _argument(value)
        types.append(kind)
        dims.append(size)
        strides.append(steps)
        values.append(text)
    if func._schema.name == "aten::index" and dims[0]:  # the dimension that is indexed goes first, as a list of indices tells by its gaps
        place = next((number for number, index in enumerate(args[1]) if index is not None), 0)
        order = [place, *(number for number in range(len(dims[0])) if number != place)]
        dims[0], strides[0] = [dims[0][number] for number in order], [strides[0][number] for number in order]
    return "|".join(_json(part) for part in (types, dims, strides, values))


def _argument(value: Any) -> tuple[str, Any, Any, str]:
    if isinstance(value, torch.Tensor):
        return str(value.dtype), _ints(value.shape), _ints(value.stride()), ""
    if isinstance(value, (list, tuple)):
        if value and all(isinstance(item, torch.Tensor) for item in value):
            return f"TensorList {value[0].dtype}", [_ints(item.shape) for item in value], [_ints(item.stride()) for item in value], ""
        if value and any(isinstance(item, torch.Tensor) for item in value):
            return _argument(next(item for item in value if isinstance(item, torch.Tensor)))
        return "ScalarList", [], [], "[" + ", ".join(str(item) for item in value) + "]"
    if value is None:
        return "", [], [], ""
    return "Scalar", [], [], str(value)


def _ints(values: Any) -> list[int]:
    return [int(value) for value in values]


def _json(value: Any) -> str:
    import json

    return json.dumps(value, separators=(",", ":"))
