"""The explorer: the page in which everything that ridge answers can be asked."""

from __future__ import annotations

import html
import os
import webbrowser
from pathlib import Path

from ._answer import InputError


class Explorer:
    """The explorer's page. In a notebook it shows itself."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def _repr_html_(self) -> str:
        page = html.escape(self.path.read_text(encoding="utf-8"))
        return f'<iframe srcdoc="{page}" title="ridge explorer" style="width:100%;height:820px;border:0"></iframe>'

    def __repr__(self) -> str:
        return f"Explorer({str(self.path)!r})"


def explore(open: bool | None = None) -> Explorer:
    """The explorer, `explorer.html` of this package or of $RIDGE_EXPLORER. It works offline and sends nothing.

    `open`: whether to open it in a browser; by default only outside notebooks.
    """
    path = Path(os.environ.get("RIDGE_EXPLORER") or Path(__file__).with_name("explorer.html"))
    if not path.is_file():
        raise InputError(f"{path}: no such file; scripts/explorer builds the explorer before the wheel is built")
    if not _in_notebook() if open is None else open:
        webbrowser.open(path.resolve().as_uri())
    return Explorer(path)


def _in_notebook() -> bool:
    try:
        shell = get_ipython()  # type: ignore[name-defined]  # noqa: F821
    except NameError:
        return False
    return type(shell).__name__ == "ZMQInteractiveShell"
