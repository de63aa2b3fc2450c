"""The explorer's page: where it is found, what a notebook shows, and what an installation without it says."""

import os
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import ridge

INSTALLED = Path(ridge.__file__).with_name("explorer.html")


class Explore(unittest.TestCase):
    def test_a_chosen_page_is_shown_in_a_notebook(self):
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder) / "page.html"
            page.write_text('<p title="a">knobs</p>', encoding="utf-8")
            with mock.patch.dict(os.environ, {"RIDGE_EXPLORER": str(page)}):
                found = ridge.explore(open=False)
            self.assertEqual(found.path, page)
            shown = found._repr_html_()
            self.assertIn("<iframe srcdoc=", shown)
            self.assertIn("&lt;p title=&quot;a&quot;&gt;knobs", shown)

    def test_a_missing_page_is_named(self):
        with mock.patch.dict(os.environ, {"RIDGE_EXPLORER": "/nonexistent/page.html"}):
            with self.assertRaisesRegex(ridge.InputError, "/nonexistent/page.html"):
                ridge.explore(open=False)

    @unittest.skipUnless(INSTALLED.is_file(), "this package was built without the explorer")
    def test_the_package_holds_the_page(self):
        with mock.patch.dict(os.environ):
            os.environ.pop("RIDGE_EXPLORER", None)
            page = ridge.explore(open=False).path
        text = page.read_text(encoding="utf-8")
        self.assertLess(len(text), 4 * 1024 * 1024)
        self.assertIn("ridge explorer", text)
