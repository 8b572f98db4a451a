# SPDX-License-Identifier: Apache-2.0
"""The page of `weft attention` in a real browser: it draws its heads, a reader finds rows and keys, and the console stays silent."""

import base64
import json
import pathlib
import re
import struct
import sys
import unittest
import zlib

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "cli"), str(ROOT / "support")]
from browser import Browser, needs_browser  # noqa: E402
from encoder_program import FIXTURES  # noqa: E402
from weft_program import Case, weft, weft_json  # noqa: E402

ARROW_DOWN = "\ue015"
# The share of a canvas that is not of its most frequent colour.
DRAWN = """const canvas = document.querySelector(arguments[0]);
const pixels = new Uint32Array(canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.buffer);
const counts = new Map();
pixels.forEach((pixel) => counts.set(pixel, (counts.get(pixel) ?? 0) + 1));
return 1 - Math.max(...counts.values()) / pixels.length;"""
PIXELS = "return document.querySelector(arguments[0]).toDataURL()"
# The colours of the columns of a canvas: one where all its pixels are alike.
COLUMNS = """const canvas = document.querySelector(arguments[0]).cloneNode();
const context = canvas.getContext('2d', { willReadFrequently: true }); // or the console warns
context.drawImage(document.querySelector(arguments[0]), 0, 0);
const pixels = new Uint32Array(context.getImageData(0, 0, canvas.width, canvas.height).data.buffer);
return Array.from({length: canvas.width}, (_, column) =>
  new Set(pixels.filter((_, index) => index % canvas.width === column)).size);"""
MEASURE = "const box = document.getElementById('measure'); box.value = arguments[0]; box.dispatchEvent(new Event('change'));"


def packed(data):
    return base64.b64encode(zlib.compress(data)).decode()


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
            self.assertEqual(browser.run("const meters = [...document.querySelectorAll('#row meter')]; return [meters[0].value === meters[0].max, new Set(meters.map((one) => one.max)).size]"), [True, 1])
            self.assertIn("The longest bar is the strongest key", browser.run("return document.getElementById('row').textContent"))
            weights = browser.wait_for("const found = [...document.querySelectorAll('#row meter')].map((meter) => meter.value); return found.length && found")
            self.assertEqual(weights, sorted(weights, reverse=True))
            self.assertLessEqual(len(weights), 6)
            browser.run("const box = document.getElementById('measure'); box.value = 'largest'; box.dispatchEvent(new Event('change'));")
            browser.click("#sinks")
            browser.click("#grid .line:nth-child(3) button")
            browser.wait_for("return document.getElementById('about').textContent.startsWith('rollout')")
            self.assertTrue(browser.screenshot().startswith(b"\x89PNG"))
            self.assertEqual(browser.errors(), [])

    def test_sinks_are_hidden_and_the_largest_weight_is_another_picture(self):
        self.train("--steps", "2")
        page = self.folder / "page.html"
        weft_json("attention", self.run_directory, self.held_out.read_text()[:64], "--cells", "16", "--out", page)
        # A head whose key 5 is a sink: cell 1 of each row is the strongest.
        marked = re.search(r'<script type="application/json" id="data">(.*?)</script>', page.read_text(), re.DOTALL)
        data = json.loads(marked[1])
        data["parts"] = data["parts"][:1]
        (head, *_) = data["parts"][0]["heads"]
        head["mean"] = packed(bytes(250 if index % 16 == 1 else 60 + (index * 7) % 60 for index in range(256)))
        head["largest"] = packed(bytes(200 if index % 16 == 1 else 50 + (index * 11) % 80 for index in range(256)))
        head["key"] = packed(struct.pack("<64f", *(40.0 if key == 5 else 0.4 for key in range(64))))
        page.write_text(page.read_text().replace(marked[1], json.dumps(data)))
        with Browser() as browser:
            browser.open(page.as_uri())
            browser.wait_for("return document.getElementById('about').textContent.includes('Sinks: 5')")
            seen = browser.run(PIXELS, "#large")
            strong = browser.run(COLUMNS, "#large")
            self.assertEqual(strong[1], 1)
            self.assertEqual(strong[2], 1, "beside a sink all else is faint")
            browser.click("#sinks")
            browser.wait_for(f"return document.querySelector('#large').toDataURL() !== {json.dumps(seen)}")
            hidden = browser.run(COLUMNS, "#large")
            self.assertEqual(hidden[1], 1)
            self.assertGreater(hidden[2], 4, "without it the colours show the rest")
            mean = browser.run(PIXELS, "#large")
            browser.run(MEASURE, "largest")
            browser.wait_for(f"return document.querySelector('#large').toDataURL() !== {json.dumps(mean)}")
            browser.run(MEASURE, "mean")
            browser.wait_for(f"return document.querySelector('#large').toDataURL() === {json.dumps(mean)}")
            browser.click("#sinks")
            browser.wait_for(f"return document.querySelector('#large').toDataURL() === {json.dumps(seen)}")
            self.assertEqual(browser.errors(), [])

    def test_small_pictures_are_seen(self):
        """Each is drawn on the scale of its own largest cell, and a line of single cells is not lost when a picture shrinks."""
        self.train("--steps", "2")
        page = self.folder / "page.html"
        weft_json("attention", self.run_directory, self.held_out.read_text()[:120], "--out", page)
        marked = re.search(r'<script type="application/json" id="data">(.*?)</script>', page.read_text(), re.DOTALL)
        data = json.loads(marked[1])
        side = 200
        (part, *_) = data["parts"] = data["parts"][:1]
        part.update(queries=side, keys=side, rows=side, columns=side, top=0)
        data["texts"]["source"]["tokens"] = ["w"] * side
        # One head is weak all over, the other has a diagonal line.
        for head, code in zip(part["heads"], (lambda row, key: 70 + 8 * (key % 3), lambda row, key: 160 if key == row else 90)):
            head["mean"] = packed(bytes(code(row, key) for row in range(side) for key in range(side)))
            head["largest"] = head["mean"]
            head["key"] = packed(struct.pack(f"<{side}f", *[1.0] * side))
        page.write_text(page.read_text().replace(marked[1], json.dumps(data)))
        darkest = """const canvas = document.querySelectorAll('#grid canvas')[arguments[0]];
            const pixels = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
            const strong = [26, 60, 120]; // the colour of the strongest cell
            const lines = new Set();
            for (let at = 0; at < pixels.length; at += 4) if (strong.every((channel, index) => pixels[at + index] === channel)) lines.add(Math.floor(at / 4 / canvas.width));
            return [lines.size, canvas.width, canvas.height];"""
        with Browser() as browser:
            browser.open(page.as_uri())
            browser.wait_for("return document.querySelectorAll('#grid canvas')[1]?.width > 1")
            for head in (0, 1):
                lines, width, height = browser.run(darkest, head)
                self.assertEqual((lines, width), (height, height), "each row of the picture has its strongest cell")
                self.assertLessEqual(width, 64)
            self.assertEqual(browser.run("return getComputedStyle(document.querySelector('#measure')).borderRadius"), "8px")  # the style of the served page
            self.assertEqual(browser.errors(), [])

    def test_a_part_is_shown_larger_until_its_words_fit_beside_it(self):
        self.train("--steps", "2")
        page = self.folder / "page.html"
        text = self.held_out.read_text()[:100]
        weft_json("attention", self.run_directory, text, "--out", page)
        words = "return [...document.querySelectorAll(arguments[0])].map((word) => word.textContent)"
        with Browser() as browser:
            browser.open(page.as_uri())
            browser.wait_for("return document.getElementById('about').textContent.includes('layers.0.self, head 0')")
            self.assertEqual(browser.run(words, "#query-words span"), [])
            whole = browser.run(PIXELS, "#large")
            browser.keys("#large", "+")
            browser.wait_for("return document.getElementById('about').textContent.includes('Queries from 38, keys from 38')")
            self.assertEqual(browser.run("const canvas = document.getElementById('large'); return [canvas.width, canvas.height]"), [25, 25])
            self.assertEqual(browser.run(words, "#query-words span"), list(text[38:63]))
            browser.keys("#large", "\ue012" + "\ue011")  # left and home: to the earlier keys and queries
            browser.wait_for("return document.getElementById('about').textContent.includes('Queries from 32, keys from 32')")
            self.assertEqual(browser.run(words, "#key-words span"), list(text[32:57]))
            browser.run("""const canvas = document.getElementById('large'), box = canvas.getBoundingClientRect();
                canvas.dispatchEvent(new MouseEvent('click', { clientX: box.left + box.width / 2, clientY: box.top + box.height / 2 }));""")
            browser.wait_for("return document.querySelector('#row h2')?.textContent.startsWith('Row 44:')")
            browser.keys("#large", "-")
            browser.wait_for(f"return document.getElementById('large').toDataURL() === {json.dumps(whole)}")
            self.assertEqual(browser.errors(), [])

    def test_cross_attention_is_an_alignment_of_words(self):
        directory = self.folder / "bart"
        process = weft("init", "--family", "bart", "--tokenizer", FIXTURES / "tokenizers/roberta", "--d-model", "16", "--encoder-layers", "1",
                       "--decoder-layers", "1", "--encoder-attention-heads", "2", "--decoder-attention-heads", "2", "--encoder-ffn-dim", "24",
                       "--decoder-ffn-dim", "24", "--init-std", "0.5", "--max-source-positions", "48", "--out", directory)
        self.assertEqual(process.returncode, 0, process.stderr)
        page = self.folder / "page.html"
        weft_json("attention", directory, "the loom weaves", "we see.", "--out", page)
        data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page.read_text(), re.DOTALL)[1])
        names = [part["name"] for part in data["parts"]]
        words = "return [...document.querySelectorAll(arguments[0])].map((word) => word.textContent)"
        with Browser() as browser:
            browser.open(page.as_uri())
            browser.click(f"#grid .line:nth-child({names.index('decoder.layers.0.cross') + 1}) button")
            browser.wait_for("return document.getElementById('about').textContent.startsWith('decoder.layers.0.cross')")
            self.assertEqual(browser.run(words, "#query-words span"), data["texts"]["target"]["tokens"])
            self.assertEqual(browser.run(words, "#key-words span"), data["texts"]["source"]["tokens"])
            self.assertEqual(browser.errors(), [])


if __name__ == "__main__":
    unittest.main()
