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
from collections.abc import Callable, Iterator
from typing import Any

import torch

from . import _core
from ._answer import Answer, InputError, checked
from ._command import trace
from ._costs import Costs as Costs
from ._costs import hint_of
from ._dispatch import AsOnGpu
from ._estimate import Estimate
from ._predict import default_gpu
from ._recorder import Call, Recorder, _nbytes, _storage, _tensors, tree_map

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


def _needs_values() -> tuple[type[BaseException], ...]:
    """What fake tensors raise when a program asks for values."""
    from torch._subclasses import fake_tensor

    names = ("DataDependentOutputException", "DynamicOutputShapeException")
    return tuple(getattr(fake_tensor, name) for name in names if hasattr(fake_tensor, name))


def _asked_for_values(error: BaseException) -> InputError:
    """Names the operator that needs values, and the line of the program that called it."""
    import traceback

    own = os.path.dirname(__file__), os.path.dirname(torch.__file__)
    frames = [each for each in traceback.extract_tb(error.__traceback__) if not each.filename.startswith(own)]
    where = f" ({os.path.basename(frames[-1].filename)}:{frames[-1].lineno})" if frames else ""
    operator = getattr(error, "func", "an operator")
    return InputError(f"model: shapes follow from the values of {operator}{where}; give real arguments and values=True")


def record(
    model: Any, *args: Any, mode: str = "inference", optimizer: str | None = None, gpu: str | None = None, values: bool = False,
    device_map: dict[str, int | str] | None = None, **kwargs: Any
) -> Recorder:
    """Runs one step of the model, dispatched as on the GPU, and returns what was recorded.

    It runs on fake tensors; with `values` on the CPU, with the values that the model and its arguments have."""
    if mode not in ("inference", "train"):
        raise InputError(f"mode: '{mode}' is neither inference nor train")
    if optimizer not in (None, "adamw", "sgd"):
        raise InputError(f"optimizer: '{optimizer}' is neither adamw nor sgd")
    with contextlib.nullcontext() if values else _fake() as fake:
        kept = [] if values else _fake_parameters(fake, model)
        try:
            inputs, options = (args, kwargs) if values else (_faked(fake, args), _faked(fake, kwargs))
            recorder = Recorder(model, device_map)
            for tensor in [*model.parameters(), *model.buffers(), *_tensors([inputs, options])]:
                recorder.watch(tensor)
            recorder.events_before = len(recorder.events)
            step = None
            if mode == "train" and optimizer is not None:
                maker = torch.optim.AdamW if optimizer == "adamw" else torch.optim.SGD
                step = maker([p for p in model.parameters() if p.requires_grad], lr=1e-3, foreach=True)
                _fill_states(model, step, recorder)
            with recorder, AsOnGpu(gpu, values):
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
        except _needs_values() as error:
            raise _asked_for_values(error) from error
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
    values: bool = False,
    device_map: dict[str, int | str] | None = None,
    **kwargs: Any,
) -> Estimate:
    """Predicts one step of a PyTorch model from its shapes, without a GPU.

    `args` and `kwargs` are the arguments of the model: real or fake tensors of the right shape. `mode` is
    "inference" (no gradients) or "train" (forward and backward pass of the output's `loss` or, without one,
    of the sum of its first floating-point tensor; `optimizer` "adamw" or "sgd" adds its step).

    A model whose shapes follow from values (detections, graphs, packed sequences) is refused, with the operator
    and line that ask for them; with `values` it runs on this CPU with its real arguments, and its parameters
    and gradients change as in a step. Attention is then the CPU's, with its matrix of scores.

    `device_map` gives modules (by name, "" the model) to devices, as in transformers and accelerate, for inference: the
    estimate then has `devices`, each with its time, weights and peak. The copies between them are not counted.

    Returns an `Estimate`: gpu_time_us with its band (None if a call is not modelled: `at_least_us`,
    `not_modelled_reasons`), host_us, wall_us, kernels, weights_bytes, peak_bytes
    (allocated by the caching allocator) and reserved_bytes, `operators`, `modules`, `memory` (bytes in use
    after each allocation and release). Raises `InputError` for a wrong mode or an unknown GPU.
    """
    chosen = default_gpu(gpu)
    if device_map is not None and mode != "inference":
        raise InputError("device_map: only for inference")
    recorder = record(model, *args, mode=mode, optimizer=optimizer, gpu=chosen, values=values, device_map=device_map, **kwargs)
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
        key = (hint_of(call.name), call.inputs)
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
    memory = checked(_core.replay, workspaces + recorder.before + _with_workspaces(recorder, answers))
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
            "devices": _devices(recorder, answers, workspaces),
            "modules": [
                {"name": name, "time_us": None if name in partial else time, "at_least_us": time}
                for name, time in sorted(modules.items(), key=lambda item: -item[1])
            ],
        }
    )


def _devices(recorder: Recorder, answers: dict[tuple[str, str], dict[str, Any]], workspaces: list[tuple[int, int]]) -> list[dict[str, Any]]:
    """Time, weights and peak of each device of a map; none without a map."""
    found = []
    for device in recorder.devices():
        own = [(number, size) for number, size in recorder.before + recorder.events if recorder.device_of[number] == device]
        memory = checked(_core.replay, workspaces + own)
        calls = [call for call in recorder.calls.values() if recorder.device(call.module.split(":")[0]) == device]
        times = [answers[hint_of(call.name), call.inputs].get("time_us") for call in calls]
        found.append({
            "device": device,
            "gpu_time_us": None if None in times else sum(time * call.count for time, call in zip(times, calls)),
            "weights_bytes": recorder.weights_of(device),
            "peak_bytes": memory["peak_allocated_bytes"],
        })
    return found


def _with_workspaces(recorder: Recorder, answers: dict[tuple[str, str], dict[str, Any]]) -> list[tuple[int, int]]:
    """The recorded events with what libraries allocate for a call beside its results, and free after it."""
    events, begin, number = [], 0, 1 << 40  # numbers that no storage has
    for place, call in recorder.ran:
        size = answers[hint_of(call.name), call.inputs].get("workspace_bytes", 0)
        if size:
            events += [*recorder.events[begin:place], (number, size), (number, -size)]
            begin, number = place, number + 1
    return events + recorder.events[begin:]


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
