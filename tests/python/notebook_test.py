#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The notebook of examples/ runs from its first cell to its last, without those that need a package which is not there; its pictures are small."""
import importlib.util
import json
import os
import pathlib
import sys
import traceback
import unittest

SOURCE = pathlib.Path(os.environ.get("WEFT_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[2]))
sys.path[:0] = [str(pathlib.Path(__file__).parent), str(SOURCE / "examples/notebook")]
if "WEFT_BINARY" in os.environ:
    package = str(pathlib.Path(os.environ["WEFT_BINARY"]).parent.parent / "python")
    sys.path.insert(0, package)
    os.environ["PYTHONPATH"] = os.pathsep.join([package, os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)

import cpu_torch  # noqa: F401, E402, I001
import torch  # noqa: E402

import run  # noqa: E402

NOTEBOOK = SOURCE / "examples/notebook/attention.ipynb"
LARGEST_PICTURE = 40_000
LARGEST_FILE = 200_000


class NotebookTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        torch.set_num_threads(1)
        cls.text = NOTEBOOK.read_text(encoding="utf-8")
        cls.notebook = json.loads(cls.text)

    def test_every_cell_runs(self):
        with run.new_folder():
            shown = list(run.run(self.notebook, NOTEBOOK.name))
        left_out = {cell.missing for cell in shown if cell.missing}
        self.assertEqual([module for module in left_out if importlib.util.find_spec(module)], [])
        pictures = [len(cell.picture) for cell in shown if cell.picture]
        self.assertGreaterEqual(len(pictures), 3)
        self.assertLess(max(pictures), LARGEST_PICTURE)

    def test_the_file(self):
        """As the format asks: version 4.5, a different id for each cell, which outputs a cell has; and small."""
        self.assertEqual((self.notebook["nbformat"], self.notebook["nbformat_minor"]), (4, 5))
        ids = [cell["id"] for cell in self.notebook["cells"]]
        self.assertEqual(len(set(ids)), len(ids))
        for cell in self.notebook["cells"]:
            self.assertIn(cell["cell_type"], ("code", "markdown"))
            self.assertIsInstance(cell["source"], list)
            self.assertEqual("outputs" in cell, cell["cell_type"] == "code")
            for output in cell.get("outputs", []):
                self.assertLess(len(json.dumps(output)), LARGEST_PICTURE + 4000)
                self.assertNotEqual(output["output_type"], "error")
        self.assertLess(len(self.text), LARGEST_FILE)

    def test_a_cell_that_fails_is_named(self):
        cell = {"cell_type": "code", "metadata": {}, "source": ["x = 1\n", "x / 0"]}
        try:
            list(run.run({"cells": [cell]}, "small.ipynb"))
            self.fail("a cell that divides by zero went on")
        except ZeroDivisionError as error:
            last = traceback.extract_tb(error.__traceback__)[-1]
        self.assertEqual((last.filename, last.lineno), ("small.ipynb, cell 0", 2))

    def test_a_cell_without_its_module_is_left_out(self):
        cells = [{"cell_type": "code", "metadata": {"tags": ["needs-no_such_module"]}, "source": ["1 / 0"]},
                 {"cell_type": "code", "metadata": {}, "source": ["print('a')\n", "3"]}]
        shown = list(run.run({"cells": cells}, "small.ipynb"))
        self.assertEqual([(cell.missing, cell.printed, cell.value) for cell in shown], [("no_such_module", "", None), ("", "a\n", 3)])


if __name__ == "__main__":
    unittest.main()
