"""Measurements: records of `ridge measure`, and those of the project."""

from __future__ import annotations

import os
import zlib
from pathlib import Path

from ._answer import Answer, InputError
from ._record_lines import files_in, records_of


def read_records(path: str | os.PathLike[str]) -> list[Answer]:
    """The records of a file, or of the .jsonl and .jsonl.gz files of a folder, in order.

    `ridge.read_records("records/h200-sxm")[0].timing.statistics.median_s`. docs/measuring.md lists the members. Unlike
    `ridge validate`, which goes on after damaged lines, this raises `InputError` and names the line.
    """
    place = Path(path)
    found = []
    for file in files_in(place) if place.is_dir() else [place]:
        line = 0
        try:
            for line, record in records_of(file):
                found.append(Answer(record))
        except (OSError, EOFError, ValueError, zlib.error) as error:
            raise InputError(f"{file}, after line {line}: {error}") from None
    return found
