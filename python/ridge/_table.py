"""Predictions for whole tables: columns in, columns out.

A table is a dict of sequences, a pandas or Polars DataFrame or a pyarrow Table. The result is of the
same kind, with the input's columns and the predictions.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from . import _core
from ._answer import InputError, checked

_vocabulary = _core.vocabulary()
_kinds: dict[str, str] = {**_vocabulary["fields"], "op": "word", "gpu": "word"}
_numbers: tuple[str, ...] = _core.result_numbers


def predict_table(table: Any, *, operation: str | None = None, gpu: str | None = None, datasheet: bool = False, analytic: bool = False) -> Any:
    """Predicts every row of a table.

    Columns have the names of operations' fields (m, n, k, dtype, ...). `op` and `gpu` are columns if rows
    differ in them; the arguments `operation` and `gpu` apply to rows without one. Empty cells (None, NaN)
    take the field's default, and columns with other names pass through.

    Adds time_us, time_low_us, time_high_us, lower_bound_us, bound, limiter, evidence, flop, the bytes per level,
    both intensities, power and energy of steady work (NaN where a GPU has no coefficients) and `error` (None if the row was predicted). A million rows take a second or two
    on one core. The GIL is released, and Ctrl-C ends the call.
    """
    kind = _kind_of(table)
    columns = _columns_of(table, kind)
    lengths = {len(values) for values in columns.values()}
    if len(lengths) > 1:
        raise InputError("table: the columns differ in length")
    rows = lengths.pop() if lengths else 0
    counts: list[tuple[str, Any]] = []
    texts: list[tuple[str, Any, list[str]]] = []
    for name, values in columns.items():
        what = _kinds.get(name)
        if what is None:
            continue
        numbers = _whole_numbers(name, values, kind) if what == "count" else None
        if numbers is not None:
            counts.append((name, numbers))
        else:
            texts.append((name, *_coded(values, kind)))
    if gpu is None and "gpu" not in columns:
        from ._predict import default_gpu

        gpu = default_gpu(None)
    found = checked(_core.predict_table, rows, counts, texts, operation, gpu, datasheet, analytic)
    return _with_results(table, columns, found, kind)


def sweep(operation: str, *, gpu: str | Sequence[str] | None = None, datasheet: bool = False, analytic: bool = False, **fields: Any) -> dict[str, Any]:
    """Predicts every combination of the given values: `sweep("matmul", gpu="h100-sxm", m=[1, 16, 256], n=4096, k=4096)`.

    A field is one value, a sequence, or a range as the program writes it ("64:4096:*2", "0:1000:+100").
    Returns a dict of NumPy arrays, one row per combination.
    """
    axes = {name: _axis(value) for name, value in {**fields, "gpu": gpu}.items() if value is not None}
    points = list(itertools.product(*axes.values()))
    table = {name: [point[i] for point in points] for i, name in enumerate(axes)}
    known = _vocabulary["operations"].get(operation)
    for name in fields:
        if known is not None and name not in known:
            raise InputError(f"{name}: not a field of {operation}")
    return predict_table(table, operation=operation, datasheet=datasheet, analytic=analytic)


_range = re.compile(r"^(\d+):(\d+)(?::([*+]?)(\d+))?$")


def _axis(value: Any) -> list[Any]:
    if isinstance(value, str):
        match = _range.match(value)
        if match is None:
            return [value]
        first, last, sign, step = int(match[1]), int(match[2]), match[3] or "+", int(match[4] or 1)
        if step < 1 or (sign == "*" and (step < 2 or first < 1)):
            raise InputError(f"'{value}': the range never ends")
        points = []
        while first <= last:
            points.append(first)
            first = first * step if sign == "*" else first + step
        return points
    if isinstance(value, Iterable):
        return list(value)
    return [value]


def _kind_of(table: Any) -> str:
    module = type(table).__module__.split(".")[0]
    if isinstance(table, Mapping):
        return "dict"
    if module in ("pandas", "polars", "pyarrow"):
        return module
    raise InputError("table: must be a dict of columns, a pandas or Polars DataFrame or a pyarrow Table")


def _columns_of(table: Any, kind: str) -> dict[str, Any]:
    if kind == "pyarrow":
        return {name: table.column(name) for name in table.column_names}
    if kind == "dict":
        return {name: values if hasattr(values, "dtype") else list(values) for name, values in table.items()}
    return {str(name): table[name] for name in table.columns}


def _whole_numbers(name: str, values: Any, kind: str) -> Any:
    """The column as contiguous int64 with NO_VALUE for empty cells; None if it holds texts."""
    if kind == "pyarrow":
        import pyarrow as pa

        if pa.types.is_integer(values.type):
            filled = values.fill_null(_core.NO_VALUE) if values.null_count else values
            return np.ascontiguousarray(filled.to_numpy(), dtype=np.int64)
        array = values.to_numpy()
    elif kind == "polars":
        if values.dtype.is_integer():
            filled = values.fill_null(_core.NO_VALUE) if values.null_count() else values
            return np.ascontiguousarray(filled.to_numpy(), dtype=np.int64)
        array = values.to_numpy()
    elif kind == "pandas":
        if values.dtype.kind in "iu" and values.hasnans:
            return np.ascontiguousarray(values.fillna(_core.NO_VALUE).to_numpy(dtype=np.int64))
        array = values.to_numpy()
    else:
        array = np.asarray(values)
        if array.dtype.kind == "O" and all(isinstance(item, (int, float, type(None))) for item in array):
            array = np.array([np.nan if item is None else item for item in array], dtype=np.float64)
    if array.dtype.kind in "iub":
        return np.ascontiguousarray(array, dtype=np.int64)
    if array.dtype.kind != "f":
        return None  # texts ("4Ki"): the field's own reader parses them
    empty = np.isnan(array)
    numbers = np.where(empty, 0, array)
    if np.any(numbers != np.floor(numbers)) or np.any(np.abs(numbers) > 2**53):
        raise InputError(f"{name}: must be whole numbers")
    whole = numbers.astype(np.int64)
    whole[empty] = _core.NO_VALUE
    return whole


def _coded(values: Any, kind: str) -> tuple[Any, list[str]]:
    """32-bit codes and the distinct texts they refer to; -1 is an empty cell."""
    if kind == "pandas":
        import pandas as pd

        codes, distinct = pd.factorize(values)
        return np.ascontiguousarray(codes, dtype=np.int32), [_text(item) for item in distinct]
    if kind == "polars":
        import polars as pl

        distinct = values.drop_nulls().unique(maintain_order=True)
        codes = values.replace_strict(distinct, pl.Series(range(len(distinct)), dtype=pl.Int32), default=-1)
        codes = codes.fill_null(-1).cast(pl.Int32)
        return np.ascontiguousarray(codes.to_numpy()), [_text(item) for item in distinct.to_list()]
    if kind == "pyarrow":
        import pyarrow as pa

        merged = values.combine_chunks()
        if isinstance(merged, pa.ChunkedArray):
            merged = merged.chunk(0) if merged.num_chunks else pa.array([], values.type)
        if not pa.types.is_dictionary(merged.type):
            merged = merged.dictionary_encode()
        codes = merged.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        return np.ascontiguousarray(codes, dtype=np.int32), [_text(item) for item in merged.dictionary.to_pylist()]
    places: dict[Any, int] = {None: -1}
    codes = np.fromiter(
        (places.setdefault(item, len(places) - 1) for item in _items(values)), dtype=np.int32, count=len(values)
    )
    del places[None]
    return codes, [_text(item) for item in places]


def _items(values: Any) -> Iterable[Any]:
    items = values.tolist() if hasattr(values, "tolist") else values
    return (None if isinstance(item, float) and item != item else item for item in items)


def _text(item: Any) -> str:
    if isinstance(item, (bool, np.bool_)):
        return "1" if item else "0"
    return str(item)


def _with_results(table: Any, columns: Mapping[str, Any], found: dict[str, Any], kind: str) -> Any:
    words, errors = found["words"], found["errors"]
    if kind == "pandas":
        import pandas as pd

        results: dict[str, Any] = {name: found[name] for name in _numbers}
        for name in ("bound", "limiter", "evidence"):
            results[name] = pd.Categorical.from_codes(found[name], categories=words)
        results["error"] = np.array([None, *errors[1:]], dtype=object)[found["error"]]
        kept = table.drop(columns=[name for name in results if name in table.columns])
        return pd.concat([kept, pd.DataFrame(results, index=table.index)], axis=1)
    if kind == "polars":
        import polars as pl

        new = [pl.Series(name, found[name]) for name in _numbers]
        for name in ("bound", "limiter", "evidence"):
            new.append(_gathered(pl, name, words, found[name]))
        new.append(_gathered(pl, "error", errors, np.where(found["error"] == 0, -1, found["error"])))
        return table.with_columns(new)
    if kind == "pyarrow":
        import pyarrow as pa

        out = table.drop_columns([name for name in (*_numbers, "bound", "limiter", "evidence", "error") if name in table.column_names])
        for name in _numbers:
            out = out.append_column(name, pa.array(found[name]))
        for name in ("bound", "limiter", "evidence", "error"):
            texts = errors if name == "error" else words
            empty = found[name] == 0 if name == "error" else found[name] < 0
            codes = pa.array(np.where(empty, 0, found[name]).astype(np.int32), mask=empty)
            out = out.append_column(name, pa.DictionaryArray.from_arrays(codes, pa.array(texts, pa.string())))
        return out
    result: dict[str, Any] = {**columns, **{name: found[name] for name in _numbers}}
    named = np.array([*words, None], dtype=object)
    for name in ("bound", "limiter", "evidence"):
        result[name] = named[found[name]]
    result["error"] = np.array([None, *errors[1:]], dtype=object)[found["error"]]
    return result


def _gathered(pl: Any, name: str, texts: list[str], codes: Any) -> Any:
    places = pl.Series(name, codes).cast(pl.Int64)
    places = pl.select(pl.when(places >= 0).then(places).otherwise(None)).to_series()
    return pl.Series(name, texts, dtype=pl.String).gather(places).alias(name)
