"""The notebooks run, and say what they said when they were last executed (numbers may move with the parameters)."""

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

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "python" / "notebooks"


def run_cell(source, names):
    """What the cell prints, and its last value: what a notebook shows beneath it."""
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
    """Text printed and the value's text, as the notebook keeps them."""
    printed = "".join("".join(output["text"]) for output in cell["outputs"] if output["output_type"] == "stream")
    values = ["".join(output["data"]["text/plain"]) for output in cell["outputs"] if output["output_type"] == "execute_result"]
    return printed, values[0] if values else None


def words(text):
    """The words of a text, without the numbers that a refit moves, their signs and units."""
    return re.findall(r"[A-Za-z_]{3,}", text)


@unittest.skipIf(numpy is None, "NumPy is not installed")
class Notebooks(unittest.TestCase):
    def setUp(self):
        before = pathlib.Path.cwd()
        os.chdir(FOLDER)
        self.addCleanup(os.chdir, before)

    def check(self, name):
        names = {}
        notebook = json.loads((FOLDER / name).read_text(encoding="utf-8"))
        cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
        self.assertGreater(len(cells), 2)
        for cell in cells:
            source = "".join(cell["source"])
            with self.subTest(cell=source.splitlines()[0]):
                printed, value = run_cell(source, names)
                kept_print, kept_value = shown(cell)
                self.assertEqual(words(printed), words(kept_print), "execute the notebook again")
                self.assertEqual(value is None, kept_value is None)
                if value is not None:
                    self.assertEqual(words(repr(value)), words(kept_value), "execute the notebook again")
                    self.assertTrue(value._repr_html_())

    def test_memory_bound(self):
        self.check("memory_bound.ipynb")

    def test_model_fits(self):
        self.check("model_fits.ipynb")

    def test_training_step(self):
        self.check("training_step.ipynb")


if __name__ == "__main__":
    unittest.main()
