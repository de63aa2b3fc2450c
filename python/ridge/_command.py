"""The program's other commands as functions, with the same options and the same JSON."""

from __future__ import annotations

import json
import os
from typing import Any

from . import _core
from ._answer import Answer, InputError


def _words(options: dict[str, Any]) -> list[str]:
    words: list[str] = []
    for name, value in options.items():
        option = "--" + name.replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            words.append(option)
        elif isinstance(value, (list, tuple)):
            for item in value:
                words += [option, str(item)]
        else:
            words += [option, str(value)]
    return words


def command(*words: str, **options: Any) -> str:
    """Runs a command of the program `ridge` in this process and returns what it writes.

    `ridge.command("gpus", "show", "h100-sxm")`. Options are keyword arguments: `--head-dim 128` is
    `head_dim=128`, a flag is `True`, a repeated option is a list.
    """
    code, out, err = _core.run([*words, *_words(options)])
    if code != 0:
        message = err.strip().removeprefix("ridge: ") if hasattr(str, "removeprefix") else err.strip()
        first = message.split("\ntry: ")[0]
        prefix = f"ridge {words[0]}: " if words else ""
        raise InputError(first[len(prefix) :] if prefix and first.startswith(prefix) else first or out.strip())
    return out


def _json(*words: str, **options: Any) -> Any:
    return json.loads(command(*words, **options, format="json"))


def vram(operation: str, **options: Any) -> Answer:
    """Device memory of an operation: `ridge.vram("attention", seq=131072, heads=32, head_dim=128)`.

    `operation` may also be "kv-cache". Sizes are bytes; see docs/vram.md.
    """
    return Answer(_json("vram", operation, **options))


def gpus(name: str | None = None) -> Any:
    """A list of all GPUs that ridge describes, or one GPU with every number and its source."""
    found = _json("gpus") if name is None else _json("gpus", "show", name)
    return [Answer(item) for item in found] if isinstance(found, list) else Answer(found)


def model(config: str | os.PathLike[str], **options: Any) -> Answer:
    """A whole model from its config.json: time, memory and limiters (`ridge model --help`)."""
    return Answer(_json("model", os.fspath(config), **options))


def trace(*files: str | os.PathLike[str], **options: Any) -> Answer:
    """What a recorded program spent its time on, and how much it could save (`ridge trace --help`)."""
    return Answer(_json("trace", *[os.fspath(file) for file in files], **options))
