"""The estimate of a step of a PyTorch model, as `torch.estimate` returns it."""

from __future__ import annotations

from collections.abc import Iterator

from ._answer import Answer, _time


class Estimate(Answer):
    """Times in microseconds, sizes in bytes; `operators` and `modules` are sorted by time."""

    def _headline(self) -> str:
        values = self._values
        if values["gpu_time_us"] is None:
            reasons = "; ".join(reason["reason"] for reason in values["not_modelled_reasons"][:2])
            kernels = f"at least {_time(values['at_least_us'])} of kernels, {values['not_modelled']} calls not modelled ({reasons})"
        else:
            kernels = (
                f"{_time(values['gpu_time_us'])} of kernels "
                f"({_time(values['gpu_time_low_us'])} to {_time(values['gpu_time_high_us'])})"
            )
        return (
            f"{values['model']} on {values['gpu']}, {values['mode']}: {kernels}, "
            f"{values['kernels']} kernels, {_time(values['host_us'])} of dispatch, "
            f"peak {values['peak_bytes'] / 2**20:.1f} MiB ({values['weights_bytes'] / 2**20:.1f} MiB of weights)"
        )

    def _largest(self) -> Iterator[tuple[str, int, str, str]]:
        for row in self._values["operators"][:15]:
            taken = _time(row["time_us"]) if row["time_us"] is not None else "-"
            yield taken, row["count"], row["name"], row["bound"] or "not modelled"

    def __repr__(self) -> str:
        lines = [f"  {taken:>10}  {count:>5} x {name}  {bound}" for taken, count, name, bound in self._largest()]
        return "\n".join([self._headline(), *lines])

    def _repr_html_(self) -> str:
        from html import escape

        rows = "".join(f"<tr><td>{taken}</td><td>{count}</td><td style='text-align:left'><code>{escape(name)}</code></td><td>{bound}</td></tr>"
                       for taken, count, name, bound in self._largest())
        head = "<tr><th>time</th><th>calls</th><th style='text-align:left'>operator</th><th>bound</th></tr>"
        return f"<p>{escape(self._headline())}</p><table>{head}{rows}</table>"
