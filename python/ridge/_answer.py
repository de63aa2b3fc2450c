"""Answers: the program's JSON, with members as attributes."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from . import _core


class InputError(ValueError):
    """Broken input. `field` names the wrong field, or is None; `str()` says what is wrong."""

    def __init__(self, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.field: str | None = field or _core.field_of(message) or None

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (str(self), self.field))


def checked(function: Any, *arguments: Any, **options: Any) -> Any:
    """Calls a function of the C++ module and raises its errors as this package's `InputError`."""
    try:
        return function(*arguments, **options)
    except _core.InputError as error:
        raise InputError(str(error)) from None


class Answer(Mapping[str, Any]):
    """A JSON object whose members are also attributes: `answer["time_us"]`, `answer.time_us`."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = dict(values)

    def __getitem__(self, name: str) -> Any:
        return _wrapped(self._values[name])

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return _wrapped(self._values[name])
        except KeyError:
            known = ", ".join(self._values)
            raise AttributeError(f"no '{name}' in this answer; it has {known}") from None

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._values]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self._values,))

    def to_dict(self) -> dict[str, Any]:
        """The answer as a plain dict of dicts, lists and values."""
        return dict(self._values)

    def to_json(self, indent: int | None = None) -> str:
        return json.dumps(self._values, indent=indent)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={_short(v)}' for k, v in self._values.items())})"

    def _rows(self) -> list[dict[str, Any]]:
        """The main list of the answer: its rows, operations, points, records; else itself."""
        for name in ("rows", "operations", "operators", "points", "loads", "records", "fields"):
            rows = self._values.get(name)
            if isinstance(rows, list) and rows and all(isinstance(row, dict) for row in rows):
                return rows
        return [self._values]

    def to_pandas(self) -> Any:
        """A pandas DataFrame: one row for each of the answer's rows or operations, else one row."""
        return _frame(self._rows())

    def _repr_html_(self) -> str:
        verdict = self._values.get("verdict")
        head = f"<p>{html.escape(verdict)}</p>" if isinstance(verdict, str) else ""
        return head + _html_table(self._rows())


def _wrapped(value: Any) -> Any:
    if isinstance(value, dict):
        return Answer(value)
    if isinstance(value, list):
        return [_wrapped(item) for item in value]
    return value


def _short(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, (dict, list)) and len(value) > 0:
        return f"<{len(value)} {'members' if isinstance(value, dict) else 'items'}>"
    return repr(value)


def _time(microseconds: float) -> str:
    for unit, scale in (("s", 1e6), ("ms", 1e3), ("us", 1.0)):
        if microseconds >= scale:
            return f"{microseconds / scale:.4g} {unit}"
    return f"{microseconds * 1e3:.4g} ns"


class Answers(list):  # type: ignore[type-arg]
    """A list of answers, shown as a table in notebooks."""

    def __init__(self, items: Iterable[Any]) -> None:
        super().__init__(_wrapped(item) for item in items)

    def to_pandas(self) -> Any:
        """A pandas DataFrame with one row for each answer."""
        return _frame([dict(item) for item in self])

    def _repr_html_(self) -> str:
        return _html_table([item.to_dict() for item in self if isinstance(item, Answer)])


def _flat(row: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Members of members as columns: memory.total_bytes."""
    flat: dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(value, Mapping):
            flat.update(_flat(value, f"{prefix}{name}."))
        elif not isinstance(value, (list, tuple)):
            flat[prefix + name] = value
    return flat


def _frame(rows: Iterable[Mapping[str, Any]]) -> Any:
    try:
        import pandas
    except ImportError:
        raise ImportError("to_pandas needs pandas: pip install pandas") from None
    return pandas.DataFrame([_flat(row) for row in rows])


def _html_table(rows: list[dict[str, Any]]) -> str:
    flat = [_flat(row) for row in rows]
    names = list(dict.fromkeys(name for row in flat for name in row))
    head = "".join(f"<th>{html.escape(name)}</th>" for name in names)
    cells = [
        "".join(f"<td>{html.escape(_short(row[name]) if row.get(name) is not None else '')}</td>" for name in names)
        for row in flat
    ]
    return f"<table><tr>{head}</tr>{''.join(f'<tr>{line}</tr>' for line in cells)}</table>"
