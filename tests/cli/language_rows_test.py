# SPDX-License-Identifier: Apache-2.0
"""Every row of the tables in docs/pattern-language.md is verified by `weft bench attention` and drawn, at a short length and untimed.

bench/language/language.py reads the rows, and does the same at any length.
"""

import argparse
import pathlib
import sys
import unittest

from weft_program import BINARY, Case

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench/language"))

import language  # noqa: E402

PRIMITIVES_AND_MODELS = 22  # rows of the two tables


class LanguageRows(Case):
    def test_every_row_is_verified_and_drawn(self):
        options = argparse.Namespace(weft=BINARY, out=self.folder / "rows", length=150, head_dim=16, dtypes=["float32"], rounds=0)
        results = list(language.check(options))
        self.assertGreaterEqual(len(results), PRIMITIVES_AND_MODELS)
        for result in results:
            with self.subTest(result["pattern"]):
                self.assertFalse(result["error"])
                self.assertLess(result["max_abs_error"], 1e-5)
                self.assertLess(result["max_relative_gradient_error"], 1e-5)
                self.assertIsNone(result["forward_ms"], "nothing is timed")
                self.assertGreater(result["edges"], 0)


if __name__ == "__main__":
    unittest.main()
