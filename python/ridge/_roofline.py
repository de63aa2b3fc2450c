"""Rooflines as inline pictures in notebooks, as files and as matplotlib figures."""

from __future__ import annotations

import base64
import os
import tempfile
from pathlib import Path
from typing import Any

from ._answer import Answer
from ._command import command


class Roofline:
    """A roofline chart. A notebook shows it; `save` writes SVG, HTML, PNG or PDF by suffix."""

    def __init__(self, gpu: str, operations: list[str], options: dict[str, Any]) -> None:
        self._gpu = gpu
        self._operations = operations
        self._options = options
        self._svg: str | None = None

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Writes the chart; the suffix selects the format."""
        target = Path(path)
        command("roofline", gpu=self._gpu, op=self._operations, output=target, **self._options)
        return target

    @property
    def svg(self) -> str:
        if self._svg is None:
            with tempfile.TemporaryDirectory() as folder:
                self._svg = self.save(Path(folder) / "roofline.svg").read_text(encoding="utf-8")
        return self._svg

    def _repr_html_(self) -> str:
        # As an image, so that a page with several charts does not mix their styles.
        data = base64.b64encode(self.svg.encode()).decode()
        return f"<img alt='Roofline of {self._gpu}' style='max-width:760px' src='data:image/svg+xml;base64,{data}'>"

    def figure(self) -> Any:
        """The same points and roofs as a matplotlib figure, to change and combine."""
        from ._figure import roofline_figure

        return roofline_figure(self._gpu, self._operations, **self._options)

    def __repr__(self) -> str:
        return f"Roofline(gpu={self._gpu!r}, operations={len(self._operations)})"


def roofline(gpu: str, *operations: str | Answer, **options: Any) -> Roofline:
    """The roofline of a GPU, with operations.

    An operation is its text ("matmul m=4096 n=4096 k=4096") or a `Prediction`. Options are those of
    `ridge roofline`.
    """
    texts = [text if isinstance(text, str) else operation_text(text) for text in operations]
    return Roofline(gpu, texts, options)


def operation_text(prediction: Answer) -> str:
    """The operation of a prediction as text that `--op` reads."""
    values = prediction.to_dict()
    words = {"dtype": values.get("dtype"), "impl": values.get("impl"), **values.get("parameters", {})}
    return " ".join([values["op"], *(f"{name}={_word(value)}" for name, value in words.items() if value is not None)])


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "1" if value else "0"
    return str(value).replace(" ", "")  # spaces separate words; expressions do not need them
