"""The program's other commands as functions, with the same options and the same JSON."""

from __future__ import annotations

import csv
import io
import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from . import _core
from ._answer import Answer, Answers, InputError


_exceeded = 4  # the exit code of an answer whose bound is exceeded
_repeated = {"op", "records", "where", "gpu_file"}


def _words(options: dict[str, Any]) -> list[str]:
    """Options as words: a flag is True, a repeated option (--op, --records, --where, --gpu-file) a list, any other
    list is joined by commas."""
    words: list[str] = []
    for name, value in options.items():
        option = "--" + name.replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            words.append(option)
        elif isinstance(value, (list, tuple, range)) and name in _repeated:
            for item in value:
                words += [option, str(item)]
        elif isinstance(value, (list, tuple, range)):
            words += [option, ",".join(str(item) for item in value)]
        else:
            words += [option, str(value)]
    return words


def command(*words: str, _input: str = "", **options: Any) -> str:
    """Runs a command of the program `ridge` in this process and returns what it writes.

    `ridge.command("gpus", "show", "h100-sxm")`. Options are keyword arguments: `--head-dim 128` is
    `head_dim=128`, a flag is `True`, lists are lists: `gpu=["h100", "b200"]`.
    """
    code, out, err, field = _core.run([*words, *_words(options)], input=_input)
    if code != 0 and not (code == _exceeded and out):
        message = err.strip().removeprefix("ridge: ") if hasattr(str, "removeprefix") else err.strip()
        first = message.split("\ntry: ")[0]
        prefix = f"ridge {words[0]}: " if words else ""
        raise InputError(first[len(prefix) :] if prefix and first.startswith(prefix) else first or out.strip(), field or None)
    return out


def _json(*words: str, **options: Any) -> Any:
    return json.loads(command(*words, **options, format="json"))


def _answers(found: Any) -> Any:
    return Answers(found) if isinstance(found, list) else Answer(found)


def vram(operation: Any, **options: Any) -> Any:
    """Device memory of an operation or a model: `ridge.vram("attention", seq=131072, heads=32, head_dim=128)`.

    `operation` may also be "kv-cache", or a model as in `plan`; lists then give an answer each. Sizes are bytes; see
    docs/vram.md.
    """
    with _config_path(operation) as path:
        return _answers(_json("vram", path, **options))


def gpus(name: str | None = None) -> Any:
    """A list of all GPUs that ridge describes, or one GPU with every number and its source."""
    return _answers(_json("gpus") if name is None else _json("gpus", "show", name))


def model(config: Any, **options: Any) -> Any:
    """A whole model: time, memory and limiters (`ridge model --help`). `config` is as in `plan`; lists give an answer each."""
    with _config_path(config) as path:
        return _answers(_json("model", path, **options))


def _config_text(config: Any) -> str | None:
    """The JSON of a model given as a dict or as a config object of transformers; None for a name or path."""
    if isinstance(config, Mapping):
        return json.dumps(config)
    to_dict = getattr(config, "to_dict", None)
    return None if to_dict is None else json.dumps(to_dict())


@contextmanager
def _config_path(config: Any) -> Iterator[str]:
    """The name or path of a model; a dict becomes a temporary config.json."""
    text = _config_text(config)
    if text is None:
        yield os.fspath(config)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model", "config.json")
        os.mkdir(os.path.dirname(path))
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        yield path


def plan(model: Any, **options: Any) -> Answer:
    """Whether a model fits, how fast it is, on how many GPUs, and what to change (`ridge plan --help`).

    `ridge.plan("llama-3.1-70b", gpu="h100", gpus=[1, 2, 4, 8])`. `model` is a preset, a name of the hub, a path, a
    dict with the contents of config.json, or a config of transformers. Lists may be lists. Returns the members of
    docs/plan.schema.json: `verdict`, `rows`, `changes`, ...
    """
    with _config_path(model) as path:
        return Answer(_json("plan", path, **options))


def serve(model: Any, **options: Any) -> Answer:
    """What a deployment of a model does to its users under a load (`ridge serve --help`).

    `ridge.serve("llama-3.1-8b", gpu="h100", rate=[1, 2, 4], ttft="500ms")`. `model` is as in `plan`; `log` may be a path.
    Returns the members of docs/serve.schema.json: `verdict`, `loads`, ... `loads[i].ttft.p99_us` is a latency.
    """
    with _config_path(model) as path:
        return Answer(_json("serve", path, **options))


def diagnose(times: Any, **options: Any) -> Answer:
    """Which measured times are slow, why, and what to do (`ridge diagnose --help`).

    `ridge.diagnose(times, gpu="h100", on=["b200"])`. `times` is a path (CSV, TSV, records, a profiler's trace) or a
    table: a dict of columns, a list of dicts, or a pandas or Polars DataFrame, with the columns of the program. Returns
    the members of docs/diagnose.schema.json: `verdict`, `rows`, ...
    """
    if isinstance(times, (str, os.PathLike)):
        return Answer(_json("diagnose", os.fspath(times), **options))
    return Answer(_json("diagnose", "-", _input=_csv_of(times), **options))


def _csv_of(table: Any) -> str:
    """A table as CSV; None and NaN are empty cells."""
    if isinstance(table, list):
        names = list(dict.fromkeys(name for row in table for name in row))
        rows = [[row.get(name) for name in names] for row in table]
    else:
        names = [str(name) for name in (table.keys() if isinstance(table, Mapping) else table.columns)]
        columns = [list(table[name]) for name in names]
        if len({len(column) for column in columns}) > 1:
            raise InputError("table: the columns differ in length")
        rows = [list(row) for row in zip(*columns)]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([["" if cell is None or cell != cell else cell for cell in row] for row in rows])
    return text.getvalue()


def compare(operation: str, **options: Any) -> Answers:
    """One operation for every combination of GPUs, types, implementations and sizes (`ridge compare --help`).

    `ridge.compare("matmul", m=4096, n=4096, k=4096, dtype=["bf16", "fp8"], gpu=["h100", "b200"])`; with
    `compare("model", config="llama-3.1-8b", ...)` steps of a model.
    """
    config = options.pop("config", None)
    words = ["compare", operation] if config is None else ["compare", operation, os.fspath(config)]
    return Answers(_json(*words, **options))


def kernel(file: str | os.PathLike[str], **options: Any) -> Any:
    """What a kernel's machine code costs, and its time for a grid (`ridge kernel --help`).

    `ridge.kernel("matmul.cubin", grid=1024, block=128, trips=[64], dram_bytes="101MB", gpu="h100")`.
    """
    return _answers(_json("kernel", os.fspath(file), **options))


def occupancy(**options: Any) -> Answer:
    """How many blocks of a kernel an SM holds, and what limits it: `ridge.occupancy(threads=256, registers=64, gpu="h100")`."""
    return Answer(_json("occupancy", **options))


def ops(name: str | None = None) -> Any:
    """The operations with their fields, defaults and implementations."""
    return _answers(_json("ops") if name is None else _json("ops", name))


def validate(*records: str | os.PathLike[str], **options: Any) -> Answer:
    """How far predictions are from measured records or tables (`ridge validate --help`)."""
    return Answer(_json("validate", *[os.fspath(path) for path in records], **options))


def calibrate(**options: Any) -> Any:
    """Fits the model to the GPU at hand (`ridge calibrate --help`); needs a GPU, and a build with CUDA."""
    return _answers(_json("calibrate", **options))


def effect(name: str | None = None, **options: Any) -> Any:
    """A lesson of GPU performance, predicted, measured and explained; without a name the list of lessons."""
    return _answers(_json("effect", **options) if name is None else _json("effect", name, **options))


def check(baseline: str | os.PathLike[str], now: str | os.PathLike[str], **options: Any) -> Answer:
    """Whether anything became slower between two measurements (`ridge check --help`): traces, records or tables."""
    return Answer(_json("check", os.fspath(baseline), os.fspath(now), **options))


def trace(*files: str | os.PathLike[str], **options: Any) -> Answer:
    """What a recorded program spent its time on, and how much it could save (`ridge trace --help`)."""
    return Answer(_json("trace", *[os.fspath(file) for file in files], **options))
