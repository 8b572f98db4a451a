#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""examples/scaling: fits find the exponents of curves that were made with known ones, and refuse runs that say nothing."""
import json
import math
import os
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(os.environ.get("WEFT_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(ROOT / "examples/scaling"))

import fits  # noqa: E402
import numpy  # noqa: E402
import scaling  # noqa: E402
from tables import scaling as table  # noqa: E402

TRUE = fits.Parametric(1.69, 406.4, 410.7, 0.34, 0.28)
SIZES = [2.0**power for power in range(22, 34)]


def grid(noise=0.0):
    draw = numpy.random.default_rng(1)
    return [(size, tokens, TRUE.loss(size, tokens) * numpy.exp(noise * draw.standard_normal()))
            for size in SIZES[::2] for tokens in (1e9, 4e9, 1.6e10, 6.4e10, 2.6e11)]


class ScalingTest(unittest.TestCase):
    def test_parametric(self):
        found = fits.parametric(grid(), fits.STARTS[5:7])
        for name in ("alpha", "beta", "E"):
            self.assertAlmostEqual(getattr(found, name), getattr(TRUE, name), delta=0.01, msg=name)
        self.assertAlmostEqual(found.loss(2.0**34, 1e12), TRUE.loss(2.0**34, 1e12), delta=1e-3)  # a run of four times the compute, held out

    def test_with_noise_the_interval_holds_the_exponent(self):
        low, high = fits.bootstrap(grid(0.002), times=8, starts=fits.STARTS[5:6])
        self.assertLess(low, TRUE.exponent)
        self.assertGreater(high, TRUE.exponent)
        self.assertLess(high - low, 0.1)

    def test_envelope_and_parabolas(self):
        """The first loses what lies between sizes; a parabola in log N is not the shape itself: 0.03."""
        curves = {size: [(tokens, TRUE.loss(size, tokens)) for tokens in numpy.geomspace(1e8, 1e12, 60)] for size in SIZES}
        self.assertAlmostEqual(fits.envelope(curves), TRUE.exponent, delta=0.03)
        budgets = {}
        for budget in (1e19, 1e20, 1e21):
            best = (TRUE.alpha * TRUE.A / TRUE.beta / TRUE.B) ** (1 / (TRUE.alpha + TRUE.beta)) * (budget / 6) ** TRUE.exponent
            budgets[budget] = [(best * more, budget / 6 / best / more, TRUE.loss(best * more, budget / 6 / best / more)) for more in (0.25, 0.5, 1, 2, 4)]
        self.assertAlmostEqual(fits.parabolas(budgets), TRUE.exponent, delta=0.03)

    def test_runs_that_say_nothing(self):
        with self.assertRaisesRegex(ValueError, "run 2: parameters, tokens and loss must be positive"):
            fits.parametric([(1, 1, 1), (1, 0, 1)])
        with self.assertRaisesRegex(ValueError, "found 3 runs"):
            fits.parametric([(1, 1, 1)] * 3)
        for loss in (lambda number: 2.5, lambda number: 2.5 * (1 + 1e-15 * number)):  # the same, and the same but for rounding
            same = [(size, tokens, loss(number)) for number, (size, tokens, _) in enumerate(grid())]
            with self.assertRaisesRegex(ValueError, "need losses that differ, found 2.5 in all 30 runs"):
                fits.parametric(same)
        with self.assertRaisesRegex(ValueError, "need losses that differ"):
            fits.bootstrap(same)
        with self.assertRaisesRegex(ValueError, "no lowest point"):
            fits.lowest([(1e6, 1e6, 3.0), (2e6, 5e5, 2.0), (4e6, 2e5, 1.5), (8e6, 1e5, 0.2)])
        for runs in ([(1e6, 8e6, 3.0), (2e6, 4e6, 2.0), (4e6, 2e6, 1.4), (8e6, 1e6, 1.1)], [(1e6, 1e6, 3.0), (1e6, 2e6, 2.0), (4e6, 1e6, 2.5)]):
            with self.assertRaisesRegex(ValueError, "no lowest point"):  # it would lie beyond the largest; two sizes
                fits.lowest(runs)
        with self.assertRaisesRegex(ValueError, "the curve of 2e\\+06 parameters: each point must have more tokens"):
            fits.envelope({1e6: [(1e8, 3.0), (1e9, 2.9)], 2e6: [(1e9, 2.8), (1e8, 3.1)]})
        with self.assertRaisesRegex(ValueError, "found none"):
            fits.envelope({})
        with self.assertRaisesRegex(ValueError, "found the shape"):
            fits.parametric([1.0, 2.0])
        with self.assertRaisesRegex(ValueError, "two budgets at least, found 1"):
            fits.parabolas({1e9: [(1, 1, 3.0), (2, 1, 2.0), (4, 1, 3.0)]})

    def test_report_of_the_table(self):
        """Lines of the table whose losses are those of a known curve: its exponent is found, and the run that was held out foretold."""
        with tempfile.TemporaryDirectory(prefix="weft-scaling-") as folder:
            path = pathlib.Path(folder) / "scaling.jsonl"
            with path.open("w", encoding="utf-8") as file:
                for cell in table.cells():
                    per_byte = table.operations(cell["layers"], cell["width"], 128.5)
                    seen = float(cell["compute"]) / per_byte
                    loss = 0.7 + 60 / (per_byte / 6) ** 0.42 + 300 / seen**0.42
                    figures = {"bits_per_byte": loss / math.log(2), "bytes": seen, "operations": seen * per_byte}
                    file.write(json.dumps({"cell": cell, "seed": 0, "figures": figures}) + "\n")
            runs = scaling.read_runs(path)
            lines = list(scaling.report(runs))
            row = next(line for line in lines if line.startswith("| all work")).split(" | ")
            self.assertAlmostEqual(float(row[3]), 0.5, delta=0.02)
            told = float(next(line for line in lines if line.startswith("- all work")).split(": ")[1])
            truth = [run.loss / math.log(2) for run in runs if run.compute == table.HELD_OUT]
            self.assertAlmostEqual(told, truth[0], delta=0.005)
            self.assertIn("<svg", scaling.picture(runs))
            path.write_text('{"cell": {"compute": "1e13"}}\n', encoding="utf-8")
            with self.assertRaisesRegex(SystemExit, "scaling.jsonl line 1 is no run of the table scaling: KeyError"):
                scaling.read_runs(path)
        with self.assertRaisesRegex(SystemExit, "make science TABLE=scaling computes it"):
            scaling.read_runs(path)


if __name__ == "__main__":
    unittest.main()
