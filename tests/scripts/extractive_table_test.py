#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Table extractive asks the program for what it takes: each method, on data that are made here."""
import json
import os
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(os.environ.get("WEFT_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[2]))
sys.path[:0] = [str(ROOT / "examples/science"), str(ROOT / "tests/support")]

import science  # noqa: E402
from world import Program, World  # noqa: E402

LINES = ["The loom weaves a red thread.", "A thread is thin.", "Nobody weaves at night.", "The red loom sleeps."]
ROWS = {"plos": {"sections": [{"paragraphs": LINES}], "abstract": "A red loom weaves."},
        "qmsum": {"meeting_transcripts": [{"content": line} for line in LINES], "general_query_list": [{"answer": "The loom sleeps."}]},
        "scitldr": {"source": LINES, "target": ["A thin thread."]}}


class ExtractiveTest(unittest.TestCase):
    def test_every_method_has_figures(self):
        table = science.load_table("extractive")
        with tempfile.TemporaryDirectory(prefix="weft-extractive-") as name:
            folder = pathlib.Path(name)
            for data, files in table.DATA.items():
                (folder / data).mkdir()
                for file in files:
                    (folder / data / file).write_text(2 * (json.dumps(ROWS[data]) + "\n"), encoding="utf-8")
            world = World(Program(os.environ["WEFT_BINARY"], 1), folder, folder / "made")
            for number, cell in enumerate(table.cells()):
                figures = table.run(cell, 3, world.of_cell(number, f"cell-{number}", None, None))
                self.assertGreater(figures["words"], 0, cell)
                self.assertLessEqual(figures["rouge2"], figures["rouge1"], cell)


if __name__ == "__main__":
    unittest.main()
