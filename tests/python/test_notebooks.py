"""The notebooks run and print what they printed when they were last executed; numbers may move with the parameters."""

import ast
import contextlib
import io
import json
import os
import pathlib
import re
import unittest

try:
    import numpy
except ImportError:
    numpy = None
try:
    import torch

    modern = hasattr(torch, "compile")  # the notebooks show its operators
except ImportError:
    modern = False

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "python" / "notebooks"


def run_cell(source, names):
    """Returns what the cell prints and its last value, which a notebook shows below it."""
    tree = ast.parse(source)
    last = ast.Expression(tree.body.pop().value) if isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    value = None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "cell", "exec"), names)
        if last is not None:
            value = eval(compile(last, "cell", "eval"), names)
    return printed.getvalue(), value


def shown(cell):
    """Returns the printed text and the text of the value, as the notebook keeps them."""
    printed = "".join("".join(output["text"]) for output in cell["outputs"] if output["output_type"] == "stream")
    values = ["".join(output["data"]["text/plain"]) for output in cell["outputs"] if output["output_type"] == "execute_result"]
    return printed, values[0] if values else None


def words(text):
    """Returns the words of a text, without numbers, signs and units, which a refit moves."""
    return re.findall(r"[A-Za-z_]{3,}", text)


def numbers(text):
    """Returns the numbers of a text, in order."""
    return [float(number) for number in re.findall(r"(?<![A-Za-z_0-9.-])\d+(?:\.\d+)?(?![A-Za-z_0-9.])", text)]


@unittest.skipIf(numpy is None, "NumPy is not installed")
class Notebooks(unittest.TestCase):
    def setUp(self):
        before = pathlib.Path.cwd()
        os.chdir(FOLDER)
        self.addCleanup(os.chdir, before)

    def agree(self, found, kept):
        """Checks that the words are the same and that numbers differ by a tenth at most, as after a refit."""
        self.assertEqual(words(found), words(kept), "execute the notebook again")
        self.assertEqual(len(numbers(found)), len(numbers(kept)), "execute the notebook again")
        for now, then in zip(numbers(found), numbers(kept)):
            self.assertLessEqual(abs(now - then), 0.1 * max(now, then) + 0.01, "execute the notebook again")

    def check(self, name):
        names = {}
        notebook = json.loads((FOLDER / name).read_text(encoding="utf-8"))
        cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
        self.assertGreater(len(cells), 2)
        for cell in cells:
            source = "".join(cell["source"])
            with self.subTest(cell=source.splitlines()[0]):
                if "ridge.torch" in source and not modern:
                    self.skipTest("PyTorch 2 is not installed, which this cell of the notebook needs")
                printed, value = run_cell(source, names)
                kept_print, kept_value = shown(cell)
                self.agree(printed, kept_print)
                self.assertEqual(value is None, kept_value is None)
                if value is not None:
                    self.agree(repr(value), kept_value)
                    self.assertTrue(value._repr_html_())

    def test_memory_bound(self):
        self.check("memory_bound.ipynb")

    def test_model_fits(self):
        self.check("model_fits.ipynb")

    def test_training_step(self):
        self.check("training_step.ipynb")


if __name__ == "__main__":
    unittest.main()
