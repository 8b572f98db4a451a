# SPDX-License-Identifier: Apache-2.0
"""`weft pattern stats`, `compare`, `cost` and `sweep`: figures against sums by hand, files read back, errors."""

import unittest
import xml.etree.ElementTree

from weft_program import Case, weft, weft_json


class StatsTest(Case):
    def test_figures(self):
        found = weft_json("pattern", "stats", "ring(2) | global(1)", "--length", "100", "--layers", "2")
        self.assertEqual(found["expression"], "ring(2) | global(1)")
        self.assertEqual(found["edges"], 3 * 100 + 2 * 97)
        self.assertEqual((found["largest_path"], found["contains_star"], found["isolated"], found["sampled"]), (2, True, 0, 0))
        self.assertEqual(found["reach"][1], 100)
        self.assertAlmostEqual(found["spectral_gap"], 1 - found["second_eigenvalue"])
        self.assertEqual(found["average_path_error"], 0)

    def test_samples_say_so(self):
        found = weft_json("pattern", "stats", "random(4)", "--length", "2000", "--exact", "100", "--samples", "50", "--layers", "0")
        self.assertEqual(found["sampled"], 50)
        self.assertGreater(found["average_path_error"], 0)
        self.assertEqual(found["reach"], [])
        text = weft("pattern", "stats", "random(4)", "--length", "2000", "--exact", "100").stdout
        self.assertIn("at least", text)
        self.assertIn("+-", text)

    def test_heads_and_input(self):
        both = weft_json("pattern", "stats", "heads(window(2), global(1))", "--length", "50", "--heads", "2")
        one = weft_json("pattern", "stats", "heads(window(2), global(1))", "--length", "50", "--heads", "2", "--head", "0")
        self.assertEqual((both["largest_path"], one["largest_path"]), (2, 49))
        found = weft_json("pattern", "stats", "longformer(4)", "--length", "64", "--input", "9")
        self.assertTrue(found["contains_star"])

    def test_strides_in_columns(self):
        columns = weft_json("pattern", "stats", "strided(64)", "--length", "4096", "--exact", "64", "--samples", "2")["columns"]
        self.assertEqual(columns["strides"], [64])
        self.assertLess(columns["blocks"] * 4, columns["blocks_in_text"])
        text = weft("pattern", "stats", "strided(64)", "--length", "4096", "--exact", "64", "--samples", "2").stdout
        self.assertIn("stride 64: over a whole text rows are sorted into columns", text)
        self.assertIsNone(weft_json("pattern", "stats", "strided(64)", "--length", "512")["columns"])

    def test_misuse(self):
        self.assert_fails(weft("pattern", "stats", "full"), 2, "--length")
        self.assert_fails(weft("pattern", "stats", "longformer(4)", "--length", "64"), 2, "--input")
        self.assert_fails(weft("pattern", "stats", "full", "--length", "8", "--head", "1"), 2, "--head must be from 0 to 0", "--heads 2 --head 1")

    def test_lengths_that_no_layout_can_hold(self):
        found = weft_json("pattern", "stats", "strided(128)", "--length", "1048576")
        self.assertEqual((found["measured"], found["average_path"], found["contains_star"]), (False, None, None))
        self.assertGreater(found["edges_error"], 0)
        self.assertAlmostEqual(found["edges"], 1048576 * (129 + 4096 - 1.5), delta=2 * found["edges_error"])
        exact = weft_json("pattern", "stats", "strided(1024)", "--length", "1048576")  # edges far apart are counted
        self.assertEqual((exact["measured"], exact["edges"], exact["edges_error"]), (False, 1609564672, 0))
        text = weft("pattern", "stats", "strided(128)", "--length", "1048576").stdout
        self.assertIn("about 4,4", text)
        self.assertIn("95% interval", text)
        self.assertIn("try --length", text)
        for expression in ("full", "causal & erdos_renyi(0.5)", "block(64, global(1) | window(3))", "!window(5)"):
            found = weft_json("pattern", "stats", expression, "--length", "2147483648")
            self.assertFalse(found["measured"], expression)
            self.assertGreater(found["edges"], 0, expression)
        refused = weft("pattern", "stats", "random(1048576)", "--length", "2147483648")
        self.assert_fails(refused, 1, "1048576 keys for each of 2147483648 queries", "fewer keys")


class CompareTest(Case):
    def test_sheet(self):
        png, svg = self.folder / "sheet.png", self.folder / "sheet.svg"
        process = weft("pattern", "compare", "full", "star", "bigbird(block=4)", "--length", "64", "--png", png, "--svg", svg)
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertEqual(png.read_bytes()[:8], b"\x89PNG\r\n\x1a\n")
        self.assertTrue(xml.etree.ElementTree.fromstring(svg.read_text()).tag.endswith("svg"))
        self.assertIn("bigbird(block=4)", process.stdout)

    def test_json(self):
        rows = weft_json("pattern", "compare", "full", "window(1)", "--length", "32")
        self.assertEqual([row["edges"] for row in rows], [1024, 32])
        self.assertEqual([row["unreachable_pairs"] for row in rows], [0, 1])
        said = weft("pattern", "compare", "full", "causal", "--length", "32").stdout
        self.assertEqual([line.strip() for line in said.splitlines() if "no path" in line], ["no path for 50% of pairs"])
        self.assert_fails(weft("pattern", "compare", "--length", "32"), 2, "EXPRESSIONS")
        self.assert_fails(weft("pattern", "compare", "full"), 2, "--length")


class CostTest(Case):
    def test_operations(self):
        found = weft_json("pattern", "cost", "full", "--length", "4096")
        self.assertAlmostEqual(found["dense"]["inference"]["attention"]["flops"], 12 * 4 * 4096**2 * 768)
        self.assertAlmostEqual(found["dense"]["training"]["attention"]["flops"], 12 * 14 * 4096**2 * 768)
        self.assertEqual(found["sparse"]["inference"]["attention"], found["dense"]["inference"]["attention"])
        self.assertIsNone(found["sparse"]["inference"]["total"]["seconds"])
        self.assertIsNone(found["crossover_length"])

    def test_misuse(self):
        self.assert_fails(weft("pattern", "cost", "full"), 2, "--length")
        self.assert_fails(weft("pattern", "cost", "longformer(4)", "--length", "64"), 2, "--input")
        self.assert_fails(weft("pattern", "cost", "full", "--length", "64", "--heads", "7"), 2, "--width 768", "--heads 7")
        text = weft("pattern", "cost", "full", "--length", "1048576").stdout
        self.assertIn(" PFLOP", text)
        self.assertIn("estimated from a sample", text)
        self.assert_fails(weft("pattern", "cost", "full", "--length", "64", "--rates", self.folder / "none"), 1, "none")


class SweepTest(Case):
    def test_curve_and_mixtures(self):
        png = self.folder / "sweep.png"
        found = weft_json("pattern", "sweep", "--length", "256", "--graphs", "1", "--png", png)
        paths = [point["path"] for point in found["points"]]
        self.assertLess(paths[-1], found["ring"]["path"] / 2)
        self.assertEqual([row["mixture"] for row in found["mixtures"]], ["R", "W", "R+W", "W+G", "R+W+G"])
        self.assertEqual(png.read_bytes()[:4], b"\x89PNG")
        self.assert_fails(weft("pattern", "sweep", "--length", "64", "--width", "64"), 2, "--width must be below --length 64, found 64")
        self.assert_fails(weft("pattern", "sweep", "--length", "16384", "--width", "8192"), 2, "minutes", "--length 4096")


if __name__ == "__main__":
    unittest.main()
