#!/usr/bin/env python3
"""Checks that scripts/accuracy/accuracy.py writes only between the marks of docs/accuracy.md. Usage: check_marked.py ROOT"""
import pathlib
import re
import sys
import tempfile

ROOT = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(ROOT / "scripts/accuracy"))
import accuracy  # noqa: E402: needs the path above
from marked import part_of, with_part  # noqa: E402

MARKED = re.compile(r"(<!-- (.+?): from here -->\n)(.*?)(<!-- \2: to here -->\n)", re.DOTALL)


def by_hand(page):
    """The page without the texts of its parts."""
    return MARKED.sub(r"\1\4", page)


def refused(page):
    try:
        with_part(page, "a", "text")
    except ValueError:
        return True
    return False


begin, end = "<!-- a: from here -->\n", "<!-- a: to here -->\n"
assert part_of(f"by hand\n{begin}old\n{end}by hand", "a") == "old\n"
assert part_of("by hand", "a") is None
assert with_part(f"by hand\n{begin}old\n{end}by hand", "a", "new") == f"by hand\n{begin}new\n{end}by hand"
for broken in ("by hand", begin, end + begin, begin + begin + end):
    assert refused(broken), broken

# The script with its figures replaced: all that it does to the page.
for name in ("judged_part", "public_part", "before_calibration", "training_line", "opening", "left_summary", "write_details"):
    setattr(accuracy, name, lambda *_, name=name, **__: f"{name} wrote this\n")
accuracy.left_out.part = accuracy.published.part = lambda *_: ""
accuracy.torch_accuracy.part = lambda *_: ("", "torch wrote this\n")
page = (ROOT / "docs/accuracy.md").read_text(encoding="utf-8")
with tempfile.TemporaryDirectory() as scratch:
    accuracy.PAGE = pathlib.Path(scratch) / "accuracy.md"
    accuracy.PAGE.write_text(page, encoding="utf-8")
    for options in ([], ["--reference", "tables", "--judge", "records", "--judge-h100", "records"]):
        sys.argv = ["accuracy.py", "ridge", *options]
        accuracy.main()
    written = accuracy.PAGE.read_text(encoding="utf-8")
assert by_hand(written) == by_hand(page)
parts = {name: text for _, name, text, _ in MARKED.findall(written)}
kept = {name: text for _, name, text, _ in MARKED.findall(page)}
for name in ("engines", "bands"):  # of other scripts
    assert parts.pop(name) == kept.pop(name), name
for name, text in parts.items():
    assert text.endswith(" wrote this\n") and text != kept[name], (name, text)
