"""Predicts time and memory of a PyTorch model on a GPU, on a machine without one.

>>> import ridge.torch
>>> report = ridge.torch.estimate(model, example, gpu="h100-sxm", mode="train")
>>> report.gpu_time_us, report.peak_bytes
>>> print(report)                      # by operator; report.modules has times by module

The model runs on fake tensors, which have shapes and types but no data, so neither memory nor a GPU is
needed. A dispatch mode records every ATen operator with shapes, types and strides, and the life of each
storage. ridge predicts each distinct call and replays PyTorch's caching allocator over the storages.

`profile` wraps `torch.profiler` around real work and reports on it as `ridge trace` does.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from . import _core
from ._answer import Answer, InputError, checked
from ._command import trace
from ._dispatch import AsOnGpu
from ._estimate import Estimate
from ._predict import default_gpu

try:
    from torch.utils._pytree import tree_flatten, tree_map
except ImportError:  # pragma: no cover - every PyTorch from 1.13 on has it
    raise ImportError("ridge.torch needs PyTorch 1.13 or newer") from None

_no_kernel = {
    "aten::view", "aten::_unsafe_view", "aten::reshape", "aten::t", "aten::transpose", "aten::permute", "aten::expand",
    "aten::slice", "aten::select", "aten::unsqueeze", "aten::squeeze", "aten::split", "aten::split_with_sizes",
    "aten::chunk", "aten::unbind", "aten::alias", "aten::detach", "aten::as_strided", "aten::lift_fresh",
    "aten::empty", "aten::empty_like", "aten::empty_strided", "aten::new_empty", "aten::new_empty_strided",
    "aten::_reshape_alias", "aten::unfold", "aten::diagonal", "aten::narrow", "aten::is_same_size", "aten::sym_size",
    "prim::device", "aten::_local_scalar_dense", "aten::record_stream", "aten::resize_", "aten::set_",
}

class Call:
    """One operator with its inputs, and how often it ran in one module."""

    def __init__(self, name: str, inputs: str, module: str, backward: bool) -> None:
        self.name, self.inputs, self.module, self.backward, self.count = name, inputs, module, backward, 0


class Recorder(TorchDispatchMode):
    """A mode that records operators and the life of storages."""

    def __init__(self, model: Any = None) -> None:
        super().__init__()
        self.calls: dict[tuple[str, str, str, bool], Call] = {}
        self.events: list[tuple[int, int]] = []  # (storage, bytes): positive when allocated, negative when freed
        self.before: list[tuple[int, int]] = []  # storages from before, such as a cache in an argument's attributes
        self.backward = False
        self._storages: dict[int, int] = {}
        self._next = 0
        self._polled: list[tuple[Any, Callable[[], None]]] = []
        self._path: list[str] = []
        self._hooks: list[Any] = []
        if model is not None:
            self._follow(model)

    def _follow(self, model: Any) -> None:
        for name, module in model.named_modules():
            title = f"{name or 'model'}: {type(module).__name__}"
            self._hooks.append(module.register_forward_pre_hook(lambda _m, _i, title=title: self._path.append(title)))
            self._hooks.append(module.register_forward_hook(lambda _m, _i, _o: self._path and self._path.pop() and None))

    def __exit__(self, *details: Any) -> Any:
        for hook in self._hooks:
            hook.remove()
        self._hooks.clear()
        return super().__exit__(*details)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.poll()
        for tensor in _tensors([args, kwargs]):
            self.watch(tensor, self.before)
        out = func(*args, **(kwargs or {}))
        name = func._schema.name
        if name not in _no_kernel and not name.startswith("profiler::") and not _only_a_view(func, args, out):
            inputs = _inputs_text(func, args, kwargs or {}, out)
            module = self._path[-1] if self._path and not self.backward else ""
            key = (name, inputs, module, self.backward)
            call = self.calls.get(key)
            if call is None:
                call = self.calls[key] = Call(name, inputs, module, self.backward)
            call.count += 1
        for tensor in _tensors(out):
            self.watch(tensor)
        return out

    def watch(self, tensor: Any, events: list[tuple[int, int]] | None = None) -> None:
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
    for value in given:
        kind, size, steps, text = _argument(value)
        types.append(kind)
        dims.append(size)
        strides.append(steps)
        values.append(text)
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


def _hint(call: Call) -> str:
    return call.name.replace("aten::_to_copy", "aten::copy_").replace("aten::clone", "aten::copy_").replace(
        "aten::contiguous", "aten::copy_"
    )


@contextlib.contextmanager
def _fake() -> Iterator[Any]:
    from torch._subclasses.fake_tensor import FakeTensorMode

    try:
        mode = FakeTensorMode(allow_non_fake_inputs=True)
    except TypeError:  # before PyTorch 2.0
        mode = FakeTensorMode()
    with mode:
        yield mode


def _faked(mode: Any, value: Any) -> Any:
    from torch._subclasses.fake_tensor import FakeTensor

    def convert(item: Any) -> Any:
        if isinstance(item, torch.Tensor) and not isinstance(item, FakeTensor):
            return mode.from_tensor(item)
        return item

    return tree_map(convert, value)


def _fake_parameters(mode: Any, model: Any) -> list[tuple[Any, str, Any]]:
    """Replaces parameters and buffers by fake tensors; returns the originals."""
    kept = []
    for module in model.modules():
        for store in (module._parameters, module._buffers):
            for name, tensor in list(store.items()):
                if tensor is None:
                    continue
                kept.append((store, name, tensor))
                fake = mode.from_tensor(tensor.detach() if store is module._buffers else tensor)
                if store is module._parameters and not isinstance(fake, torch.nn.Parameter):
                    fake = torch.nn.Parameter(fake, requires_grad=tensor.requires_grad)
                store[name] = fake
    return kept


def _loss_of(out: Any) -> Any:
    loss = getattr(out, "loss", None)
    if isinstance(loss, torch.Tensor):
        return loss
    for tensor in _tensors(list(out.values()) if isinstance(out, dict) else out):
        if tensor.is_floating_point() and tensor.requires_grad:
            return tensor.sum()
    raise InputError("mode: the model returns no tensor to start a gradient from")


def _step(optimizer: Any) -> None:
    # Before PyTorch 2.0 the step's profiler range does not work under dispatch modes; the bare step does.
    bare = None if hasattr(torch, "compile") else getattr(type(optimizer).step, "__wrapped__", None)
    optimizer.step() if bare is None else bare(optimizer)


def _fill_states(model: Any, optimizer: Any, recorder: Recorder) -> None:
    """Takes a step before the recorded one, so that the optimizer's states exist, as in all steps but the first."""
    for parameter in model.parameters():
        if parameter.requires_grad:
            parameter.grad = torch.zeros_like(parameter)
    _step(optimizer)
    for parameter in model.parameters():
        parameter.grad = None
    for tensor in _tensors([list(state.values()) for state in optimizer.state.values()]):
        recorder.watch(tensor)
    recorder.events_before = len(recorder.events)


def record(
    model: Any, *args: Any, mode: str = "inference", optimizer: str | None = None, gpu: str | None = None, **kwargs: Any
) -> Recorder:
    """Runs one step of the model on fake tensors, dispatched as on the GPU, and returns what was recorded."""
    if mode not in ("inference", "train"):
        raise InputError(f"mode: '{mode}' is neither inference nor train")
    if optimizer not in (None, "adamw", "sgd"):
        raise InputError(f"optimizer: '{optimizer}' is neither adamw nor sgd")
    with _fake() as fake:
        kept = _fake_parameters(fake, model)
        try:
            inputs, options = _faked(fake, args), _faked(fake, kwargs)
            recorder = Recorder(model)
            for tensor in [*model.parameters(), *model.buffers(), *_tensors([inputs, options])]:
                recorder.watch(tensor)
            recorder.events_before = len(recorder.events)
            step = None
            if mode == "train" and optimizer is not None:
                maker = torch.optim.AdamW if optimizer == "adamw" else torch.optim.SGD
                step = maker([p for p in model.parameters() if p.requires_grad], lr=1e-3, foreach=True)
                _fill_states(model, step, recorder)
            with recorder, AsOnGpu(gpu):
                if mode == "inference":
                    with torch.no_grad():
                        out = model(*inputs, **options)
                else:
                    loss = _loss_of(model(*inputs, **options))
                    recorder.backward = True
                    loss.backward()
                    if step is not None:
                        _step(step)
            del inputs, options
        finally:
            for store, name, tensor in kept:
                store[name] = tensor
    return recorder


def estimate(
    model: Any,
    *args: Any,
    gpu: str | None = None,
    mode: str = "inference",
    optimizer: str | None = None,
    datasheet: bool = False,
    analytic: bool = False,
    **kwargs: Any,
) -> Estimate:
    """Predicts one step of a PyTorch model from its shapes, without a GPU.

    `args` and `kwargs` are the arguments of the model: real or fake tensors of the right shape. `mode` is
    "inference" (no gradients) or "train" (forward and backward pass of the output's `loss` or, without one,
    of the sum of its first floating-point tensor; `optimizer` "adamw" or "sgd" adds its step).

    Returns an `Estimate`: gpu_time_us with its band (None if a call is not modelled: `at_least_us`,
    `not_modelled_reasons`), host_us, wall_us, kernels, weights_bytes, peak_bytes
    (allocated by the caching allocator) and reserved_bytes, `operators`, `modules`, `memory` (bytes in use
    after each allocation and release). Raises `InputError` for a wrong mode or an unknown GPU.
    """
    chosen = default_gpu(gpu)
    recorder = record(model, *args, mode=mode, optimizer=optimizer, gpu=chosen, **kwargs)
    return summary(recorder, model, chosen, mode, datasheet, analytic)


def summary(recorder: Recorder, model: Any, gpu: str, mode: str, datasheet: bool = False, analytic: bool = False) -> Estimate:
    """Predicts the time and memory of a recording on a GPU."""
    operators: dict[tuple[str, str], dict[str, Any]] = {}
    modules: dict[str, float] = {}
    reasons: dict[str, int] = {}
    partial: set[str] = set()
    totals = {"time": 0.0, "below": 0.0, "above": 0.0, "shift_below": 0.0, "shift_above": 0.0, "kernels": 0, "backward_kernels": 0, "missing": 0}
    answers: dict[tuple[str, str], dict[str, Any]] = {}
    for call in recorder.calls.values():
        key = (_hint(call), call.inputs)
        if key not in answers:
            answers[key] = checked(_core.predict_call, key[0], key[1], gpu, datasheet, analytic)
        answer = answers[key]
        time = answer.get("time_us")
        row = operators.setdefault(
            (call.name, call.inputs),
            {"name": call.name, "shape": answer.get("shape", ""), "count": 0, "time_us": None, "time_low_us": None,
             "time_high_us": None, "bound": answer.get("bound"), "limiter": answer.get("limiter"),
             "family": answer.get("family"), "basis": answer.get("basis"), "evidence": answer.get("evidence"), "kernels": 0},
        )
        row["count"] += call.count
        title = "backward" if call.backward else call.module or "outside modules"
        modules.setdefault(title, 0.0)
        if time is None:
            totals["missing"] += call.count
            reason = answer.get("not_modelled") or "it has no prediction"
            reasons[reason] = reasons.get(reason, 0) + call.count
            partial.add(title)
            continue
        row["time_us"] = (row["time_us"] or 0.0) + time * call.count
        row["time_low_us"] = (row["time_low_us"] or 0.0) + answer["time_low_us"] * call.count
        row["time_high_us"] = (row["time_high_us"] or 0.0) + answer["time_high_us"] * call.count
        row["kernels"] += answer["kernels"] * call.count
        totals["backward_kernels"] += answer["kernels"] * call.count if call.backward else 0
        modules[title] += time * call.count
    for row in operators.values():
        if row["time_us"] is None:
            continue
        totals["time"] += row["time_us"]
        # Errors of different operators are independent only if they were measured on this GPU (docs/model.md, R6).
        own = row["evidence"] == "measured"
        totals["below" if own else "shift_below"] += (row["time_us"] - row["time_low_us"]) ** (2 if own else 1)
        totals["above" if own else "shift_above"] += (row["time_high_us"] - row["time_us"]) ** (2 if own else 1)
        totals["kernels"] += row["kernels"]
    facts = checked(_core.dispatch_facts, gpu)
    # cuBLAS keeps a workspace for each thread that multiplies: the forward thread and the backward thread.
    multiplies = any(row["family"] == "product" for row in operators.values())
    threads = (2 if mode == "train" else 1) if multiplies else 0
    workspaces = [(-1 - thread, facts["cublas_workspace_bytes"]) for thread in range(threads)]
    memory = checked(_core.replay, workspaces + recorder.before + recorder.events)
    parameters = sum(_nbytes(_storage(p)) for p in {id(p): p for p in [*model.parameters(), *model.buffers()]}.values())
    # The host that was measured with this GPU, as `ridge model` uses it (docs/models.md, W5).
    backward = totals["backward_kernels"]
    host = (totals["kernels"] - backward) * facts["us_per_kernel"] + backward * facts["us_per_gradient_kernel"]
    by_time = sorted(operators.values(), key=lambda row: -(row["time_us"] or 0.0))
    return Estimate(
        {
            "model": type(model).__name__,
            "gpu": gpu,
            "mode": mode,
            "parameters": sum(p.numel() for p in model.parameters()),
            "weights_bytes": parameters,
            "workspace_bytes": threads * facts["cublas_workspace_bytes"],
            # A sum that lacks calls is not a number.
            "gpu_time_us": None if reasons else totals["time"],
            "gpu_time_low_us": None if reasons else totals["time"] - totals["shift_below"] - totals["below"] ** 0.5,
            "gpu_time_high_us": None if reasons else totals["time"] + totals["shift_above"] + totals["above"] ** 0.5,
            "at_least_us": totals["time"],
            "host_us": host,
            "wall_us": None if reasons else max(host, totals["time"]),
            "kernels": totals["kernels"],
            "not_modelled": totals["missing"],
            "not_modelled_reasons": [
                {"reason": reason, "calls": calls} for reason, calls in sorted(reasons.items(), key=lambda item: -item[1])
            ],
            "peak_bytes": memory["peak_allocated_bytes"],
            "reserved_bytes": memory["peak_reserved_bytes"],
            "memory": memory["allocated_bytes"],
            "operators": by_time,
            "modules": [
                {"name": name, "time_us": None if name in partial else time, "at_least_us": time}
                for name, time in sorted(modules.items(), key=lambda item: -item[1])
            ],
        }
    )


class Profile:
    """The result of `profile`; `report` is set when the block has ended."""

    def __init__(self) -> None:
        self.report: Answer | None = None
        self.text = ""

    def __str__(self) -> str:
        return self.text


@contextlib.contextmanager
def profile(gpu: str | None = None, path: str | os.PathLike[str] | None = None, show: Callable[[str], Any] | None = print) -> Iterator[Profile]:
    """Profiles the block with `torch.profiler` and reports on it as `ridge trace` does.

    `gpu` predicts for a GPU other than the one at hand; `path` keeps the trace; `show` gets the report as text.
    """
    from torch.profiler import ProfilerActivity

    from ._command import command

    activities = [ProfilerActivity.CPU]
    if torch.cuda.is_available():
        activities.append(ProfilerActivity.CUDA)
    result = Profile()
    with torch.profiler.profile(activities=activities, record_shapes=True) as recorded:
        yield result
        if torch.cuda.is_available():
            torch.cuda.synchronize()
    with tempfile.TemporaryDirectory() as folder:
        file = os.fspath(path) if path is not None else os.path.join(folder, "trace.json")
        recorded.export_chrome_trace(file)
        options = {"gpu": gpu} if gpu else {}
        result.report = trace(file, **options)
        result.text = command("trace", file, **options)
    if show is not None:
        show(result.text)
