# SPDX-License-Identifier: Apache-2.0
"""`weft pattern show`: its figures against sums by hand, its files read back, its errors."""

import struct
import unittest
import xml.etree.ElementTree
import zlib

from weft_program import Case, environment, weft, weft_json


def png_size(data):
    """Width and height of a PNG whose every chunk has the checksum it states."""
    if data[:8] != b"\x89PNG\r\n\x1a\n":
        raise AssertionError("no PNG signature")
    size, kinds, at = None, [], 8
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + length]
        checksum = struct.unpack(">I", data[at + 8 + length:at + 12 + length])[0]
        if zlib.crc32(kind + body) != checksum:
            raise AssertionError(f"bad checksum of {kind}")
        if kind == b"IHDR":
            size = struct.unpack(">II", body[:8])
        kinds.append(kind)
        at += 12 + length
    if kinds[0] != b"IHDR" or kinds[-1] != b"IEND":
        raise AssertionError(f"chunks {kinds}")
    return size


class ShowTest(Case):
    def test_json_figures(self):
        found = weft_json("pattern", "show", "causal & window(left=3)", "--length", "100")
        self.assertEqual(found["expression"], "causal & window(left=3)")
        self.assertEqual(found["edges"], 1 + 2 + 3 + 97 * 4)
        self.assertAlmostEqual(found["density"], found["edges"] / 100**2)
        self.assertEqual(found["blocks"], {"size": 64, "full": 0, "partial": 3, "possible": 4})
        self.assertAlmostEqual(found["edges_per_slot"], found["edges"] / (3 * 64 * 64))
        self.assertEqual(found["kinds"], ["window"])

    def test_key_length_offset_and_input(self):
        found = weft_json("pattern", "show", "causal", "--length", "1", "--offset", "9")
        self.assertEqual((found["query_length"], found["key_length"], found["edges"]), (1, 10, 10))
        found = weft_json("pattern", "show", "full", "--length", "3", "--key-length", "7")
        self.assertEqual(found["edges"], 21)
        found = weft_json("pattern", "show", "global(input, side=keys)", "--length", "10", "--input", "7,2")
        self.assertEqual(found["edges"], 20)

    def test_heads(self):
        found = weft_json("pattern", "show", "heads(1 * full, 3 * causal)", "--length", "8", "--heads", "4")
        self.assertEqual(found["equal_heads"], [[0], [1, 2, 3]])
        self.assertEqual(found["edges"], 64 + 3 * 36)
        found = weft_json("pattern", "show", "heads(1 * full, 3 * causal)", "--length", "8", "--heads", "4", "--head", "2")
        self.assertEqual(found["edges"], 36)

    def test_ascii_picture(self):
        text = weft("pattern", "show", "causal & window(left=1)", "--length", "3", "--style", "ascii").stdout
        self.assertIn("  W . .\n  W W .\n  . W W\n", text)
        self.assertIn("5 edges", text)

    def test_style_follows_the_environment(self):
        arguments = ["pattern", "show", "window(2)", "--length", "8"]
        self.assertIn("\u2588", weft(*arguments, env=environment()).stdout)
        ascii_text = weft(*arguments, env=environment(LC_ALL="C")).stdout
        self.assertTrue(ascii_text.isascii())
        self.assertIn("\x1b[", weft(*arguments, "--style", "colour").stdout)

    def test_width_scales_the_picture_down(self):
        text = weft("pattern", "show", "causal", "--length", "1000", "--style", "ascii", "--width", "40").stdout
        self.assertLessEqual(max(map(len, text.splitlines()[5:-3])), 40)
        self.assertIn("a cell is 64 x 64 pairs", text)

    def test_png_and_svg(self):
        png, svg = self.folder / "figure.png", self.folder / "figure.svg"
        process = weft("pattern", "show", "strided(8)", "--length", "64", "--png", png, "--svg", svg)
        self.assertEqual(process.returncode, 0, process.stderr)
        width, height = png_size(png.read_bytes())
        self.assertGreater(min(width, height), 600)
        root = xml.etree.ElementTree.fromstring(svg.read_text())
        self.assertTrue(root.tag.endswith("svg"))
        self.assertIn(str(png), process.stdout)

    def test_long_sequences_are_quick(self):
        found = weft_json("pattern", "show", "causal & window(left=128)", "--length", "100000")
        self.assertEqual(found["edges"], 129 * 100000 - 128 * 129 // 2)


class ErrorTest(Case):
    def test_names_that_are_not_there(self):
        process = weft("pattern", "show", "nope", "--length", "8")
        self.assertEqual(process.returncode, 1)
        self.assertIn("unknown name 'nope'; the names are full, causal", process.stderr)
        process = weft("pattern", "cost", "linformer", "--length", "8")
        self.assertEqual(process.returncode, 1)
        self.assertIn("'linformer' is a mechanism and no pattern, so that it has no graph; weft bench mechanisms measures it\n", process.stderr)
        process = weft("pattern", "show", "窓(3)", "--length", "8")
        self.assertEqual(process.returncode, 1)
        self.assertIn("'窓'\n  窓(3)\n  ^~\n", process.stderr)

    def test_expression_errors_point_at_the_place(self):
        process = weft("pattern", "show", "causal & windw(3)", "--length", "8")
        self.assertEqual(process.returncode, 1)
        lines = process.stderr.splitlines()
        self.assertTrue(lines[0].startswith("weft: error: "), process.stderr)
        self.assertIn("windw", lines[0])
        caret = next(line for line in lines if line.strip().startswith("^"))
        place = next(line for line in lines if "causal & windw(3)" in line and line is not lines[0])
        self.assertEqual(caret.index("^") - place.index("causal"), 9, process.stderr)
        self.assertIn("window", process.stderr)

    def test_misuse(self):
        show = ["pattern", "show"]
        self.assert_fails(weft(*show, "full"), 2, "--length")
        self.assert_fails(weft(*show, "full", "--length", "0"), 2, "--length")
        self.assert_fails(weft(*show, "full", "--length", "8", "--zoom", "5"), 2, "--zoom")
        self.assert_fails(weft(*show, "full", "--length", "8", "--zoom", "5:2"), 2, "--zoom")
        self.assert_fails(weft(*show, "full", "--length", "8", "--input", "a"), 2, "--input")
        self.assert_fails(weft(*show, "global(input)", "--length", "8"), 2, "--input")
        self.assertIn("--input has no effect", weft(*show, "full", "--length", "8", "--input", "3").stderr)
        picture = self.folder / "picture"
        self.assert_fails(weft(*show, "full", "--length", "8", "--png", picture, "--svg", picture), 2, "--svg and --png")

    def test_what_the_site_does_not_have(self):
        show = ["pattern", "show"]
        self.assert_fails(weft(*show, "full", "--length", "8", "--head", "3"), 2, "--head must be from 0 to 0", "found 3")
        self.assert_fails(weft(*show, "full", "--length", "8", "--zoom", "8:9"), 2, "--zoom", "8 positions")
        self.assert_fails(weft(*show, "full", "--length", "8", "--png", self.folder / "none" / "a.png"), 1, "none")


if __name__ == "__main__":
    unittest.main()
