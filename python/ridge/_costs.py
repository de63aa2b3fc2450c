"""Times of operators on a GPU for PyTorch's own planners, which ask for a function of one operator.

>>> costs = ridge.torch.Costs("h100-sxm")
>>> costs.estimate(torch.ops.aten.mm.default, (a, b), {})     # (result, milliseconds), as RuntimeEstimator
>>> torch._functorch.config.activation_memory_budget_runtime_estimator = costs.of_nodes()
>>> with costs.runtime_estimator() as estimator: loss = model(x); loss.backward()     # FSDP2, activation checkpointing

A planner needs a number for every operator. One that ridge does not model counts as nothing, and `missing` says
which these were and how often they were asked for.
"""

from __future__ import annotations

from typing import Any

from . import _core
from ._answer import checked
from ._predict import default_gpu
from ._recorder import _inputs_text, _no_kernel, _only_a_view, tree_map


def hint_of(name: str) -> str:
    """The name under which a recorded operator is predicted: copies in all their forms are copies."""
    return name.replace("aten::_to_copy", "aten::copy_").replace("aten::clone", "aten::copy_").replace("aten::contiguous", "aten::copy_")


class Costs:
    """What operators take on a GPU; each distinct call is predicted once."""

    def __init__(self, gpu: str | None = None) -> None:
        self.gpu = default_gpu(gpu)
        self.missing: dict[str, int] = {}
        self._known: dict[tuple[str, str], float | None] = {}

    def time_us(self, func: Any, args: Any, kwargs: Any, out: Any) -> float | None:
        """Microseconds of a call whose result is known; None: it is not modelled."""
        name = func._schema.name
        if name in _no_kernel or name.startswith("profiler::") or _only_a_view(func, args, out):
            return 0.0
        key = (hint_of(name), _inputs_text(func, args, kwargs or {}, out))
        if key not in self._known:
            self._known[key] = checked(_core.predict_call, *key, self.gpu, False, False).get("time_us")
        if self._known[key] is None:
            self.missing[name] = self.missing.get(name, 0) + 1
        return self._known[key]

    def estimate(self, func: Any, args: Any, kwargs: Any) -> tuple[Any, float]:
        """The result and the milliseconds of a call, as the estimates of PyTorch's `RuntimeEstimator` return them."""
        out = func(*args, **(kwargs or {}))
        return out, (self.time_us(func, args, kwargs, out) or 0.0) / 1000.0

    def time_of_node(self, node: Any, override_size: int | None = None) -> float | None:
        """Milliseconds of a node of `torch.fx`; None for what is no operator or not modelled, and for other sizes than its own."""
        if override_size is not None or node.op != "call_function" or not hasattr(node.target, "_schema"):
            return None

        def value(item: Any) -> Any:
            return item.meta.get("val") if hasattr(item, "meta") and hasattr(item, "op") else item

        time = self.time_us(node.target, tree_map(value, node.args), tree_map(value, dict(node.kwargs)), node.meta.get("val"))
        return None if time is None else time / 1000.0

    def of_nodes(self) -> Any:
        """For `torch._functorch.config.activation_memory_budget_runtime_estimator`."""
        from torch._inductor.custom_graph_pass import CustomRuntimeEstimator

        costs = self

        class Estimator(CustomRuntimeEstimator):
            def __call__(self, node: Any) -> float:
                return costs.time_of_node(node) or 0.0

            def uuid(self) -> Any:
                return "ridge", costs.gpu

        return Estimator()

    def runtime_estimator(self) -> Any:
        """PyTorch's `RuntimeEstimator` (torch.distributed._tools) with these times; it runs under fake tensors."""
        from torch.distributed._tools.runtime_estimator import RuntimeEstimator

        estimator = RuntimeEstimator()
        estimator._estimate_mode_type = "ridge"
        estimator._estimate = self.estimate
        return estimator
