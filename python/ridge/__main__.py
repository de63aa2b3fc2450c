"""The command `ridge`: `python -m ridge plan llama-3.1-8b --gpu h100`."""

from __future__ import annotations

import shutil
import sys

from . import _core


def main() -> int:
    arguments = sys.argv[1:]
    # Only "-" reads the standard input.
    text = sys.stdin.read() if "-" in arguments and not sys.stdin.isatty() else ""
    code, out, err, _ = _core.run(arguments, width=shutil.get_terminal_size().columns, input=text, piped=not sys.stdout.isatty())
    sys.stdout.write(out)
    sys.stderr.write(err)
    return code


if __name__ == "__main__":
    sys.exit(main())
