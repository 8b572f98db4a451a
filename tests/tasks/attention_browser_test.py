# SPDX-License-Identifier: Apache-2.0
"""The page of `weft attention` in a real browser: it draws its heads, a reader finds rows and keys, and the console stays silent."""

import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "cli"), str(ROOT / "support")]
from browser import Browser, needs_browser  # noqa: E402
from weft_program import Case, weft_json  # noqa: E402

ARROW_DOWN = "\ue015"
# The share of a canvas that is not of its most frequent colour.
DRAWN = """const canvas = document.querySelector(arguments[0]);
const pixels = new Uint32Array(canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.buffer);
const counts = new Map();
pixels.forEach((pixel) => counts.set(pixel, (counts.get(pixel) ?? 0) + 1));
return 1 - Math.max(...counts.values()) / pixels.length;"""


@needs_browser
class AttentionBrowserTest(Case):
    def test_a_reader_finds_a_row(self):
        self.train("--steps", "2")
        page = self.folder / "page.html"
        weft_json("attention", self.run_directory, self.held_out.read_text()[:60], "--out", page)
        with Browser() as browser:
            browser.open(page.as_uri())
            self.assertEqual(browser.wait_for("return document.querySelectorAll('#grid button').length"), 5)  # 2 x 2 heads and rollout
            browser.wait_for("return document.getElementById('about').textContent.includes('layers.0.self, head 0')")
            self.assertGreater(browser.run(DRAWN, "#large"), 0.05)
            browser.wait_for("return document.querySelector('#grid canvas').width > 1")
            browser.click("#grid .line:nth-child(2) button:nth-of-type(2)")
            browser.wait_for("return document.getElementById('about').textContent.includes('layers.1.self, head 1')")
            self.assertEqual(browser.run("return document.querySelectorAll('#grid [aria-pressed=true]').length"), 1)
            browser.keys("#large", ARROW_DOWN * 5)
            browser.wait_for("return document.querySelector('#row h2')?.textContent.startsWith('Row 5:')")
            weights = browser.wait_for("const found = [...document.querySelectorAll('#row meter')].map((meter) => meter.value); return found.length && found")
            self.assertEqual(weights, sorted(weights, reverse=True))
            self.assertLessEqual(len(weights), 6)
            browser.run("const box = document.getElementById('measure'); box.value = 'largest'; box.dispatchEvent(new Event('change'));")
            browser.click("#sinks")
            browser.click("#grid .line:nth-child(3) button")
            browser.wait_for("return document.getElementById('about').textContent.startsWith('rollout')")
            self.assertTrue(browser.screenshot().startswith(b"\x89PNG"))
            self.assertEqual(browser.errors(), [])


if __name__ == "__main__":
    unittest.main()
