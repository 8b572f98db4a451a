# SPDX-License-Identifier: Apache-2.0
"""`weft attention --serve`: the page from a server, whose heads and tiles are those of the page in a file."""

import base64
import http.client
import json
import pathlib
import re
import signal
import struct
import subprocess
import sys
import unittest
import zlib

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "cli"), str(ROOT / "support")]
from browser import Browser, needs_browser  # noqa: E402
from encoder_program import make_model  # noqa: E402
from weft_program import BINARY, Case, environment, weft, weft_json  # noqa: E402

DRAWN = """const canvas = document.querySelector(arguments[0]);
const pixels = new Uint32Array(canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.buffer);
return new Set(pixels).size;"""
# The words about a picture are changed after its pixels.
FIRST_KEY = "return Number(/keys from ([0-9]+)/.exec(document.getElementById('about').textContent)[1])"
PIXELS = "return document.querySelector(arguments[0]).toDataURL()"


def unpacked(text, form=None):
    """The numbers of a packed list."""
    data = zlib.decompress(base64.b64decode(text))
    return list(data) if form is None else list(struct.unpack(f"<{len(data) // struct.calcsize(form)}{form}", data))


class Viewer:
    """A running `weft attention --serve`."""

    def __init__(self, *arguments):
        self.process = subprocess.Popen([BINARY, "attention", *map(str, arguments), "--serve=127.0.0.1:0", "--threads", "1", "--json"],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment())
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError(f"the server ended: {self.process.stderr.read()}")
        self.started = json.loads(line)
        self.where = self.started["listening"]
        self.port = int(self.where.rsplit(":", 1)[1])

    def ask(self, method, path, body=None, headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, None if body is None else json.dumps(body), headers or {})
            answer = connection.getresponse()
            content = answer.read().decode()
            return answer.status, json.loads(content) if answer.headers["Content-Type"] == "application/json" else content, answer.headers
        finally:
            connection.close()

    def stop(self, number):
        self.process.send_signal(number)
        code = self.process.wait(timeout=60)
        return code, self.process.stderr.read()

    def end(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.process.stderr.close()


class AttentionServeTest(Case):
    def view(self, *arguments):
        viewer = Viewer(*arguments)
        self.addCleanup(viewer.end)
        return viewer

    def data_of_file(self, *arguments):
        page = self.folder / "page.html"
        weft_json("attention", *arguments, "--out", page)
        found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page.read_text(), re.DOTALL)
        return json.loads(found[1])

    def test_heads_are_those_of_the_page_in_a_file(self):
        self.train("--steps", "2")
        text = self.held_out.read_text()[:60]
        drawn = self.data_of_file(self.run_directory, text, "--cells", "16", "--top", "4")
        viewer = self.view(self.run_directory, text, "--cells", "16", "--top", "4")
        self.assertEqual(viewer.started["source_tokens"], 60)
        self.assertGreater(viewer.started["kept_bytes"], 0)
        status, view, _ = viewer.ask("GET", "/v1/view")
        self.assertEqual(status, 200)
        self.assertEqual((view["texts"], view["scales"], view["cells"]), (drawn["texts"], drawn["scales"], 16))
        self.assertEqual([part["name"] for part in view["parts"]], ["layers.0.self", "layers.1.self", "rollout"])
        # Rollout draws the heads that it needs, whoever asks first.
        for name, form in (("mean", None), ("key", "f")):
            found = viewer.ask("POST", "/v1/head", {"part": 2, "head": 0})[1]
            self.assertEqual(unpacked(found[name], form), unpacked(drawn["parts"][2]["heads"][0][name], form))
        for number, part in enumerate(view["parts"]):
            whole = drawn["parts"][number]
            self.assertEqual({**part, "heads": None}, {**whole, "heads": None})
            for head in range(len(part["heads"])):
                status, found, _ = viewer.ask("POST", "/v1/head", {"part": number, "head": head})
                self.assertEqual(status, 200, found)
                for name, form in (("mean", None), ("largest", None), ("key", "f"), ("top_key", "i"), ("top_weight", "f")):
                    self.assertEqual(unpacked(found[name], form), unpacked(whole["heads"][head][name], form), (number, head, name))

    def test_a_tile_is_a_part_of_a_finer_picture(self):
        self.train("--steps", "2")
        text = self.held_out.read_text()[:60]
        whole = self.data_of_file(self.run_directory, text, "--cells", "64")["parts"][1]  # a cell is a token
        viewer = self.view(self.run_directory, text, "--cells", "16")
        self.assertEqual(viewer.ask("GET", "/v1/view")[1]["parts"][1]["cell"], 4)
        for row, column in ((0, 0), (32, 16), (48, 56)):
            status, tile, _ = viewer.ask("POST", "/v1/tile", {"part": 1, "head": 1, "row": row, "column": column, "cell": 1})
            self.assertEqual(status, 200, tile)
            self.assertEqual((tile["rows"], tile["columns"]), (min(16, 60 - row), min(16, 60 - column)))
            for name in ("mean", "largest"):
                codes = unpacked(whole["heads"][1][name])
                part = [codes[(row + i) * 60 + column + j] for i in range(tile["rows"]) for j in range(tile["columns"])]
                self.assertEqual(unpacked(tile[name]), part, (row, column, name))

    def test_a_tile_of_a_drawn_head_and_cells_that_do_not_divide_the_text(self):
        self.train("--steps", "2")
        text = self.held_out.read_text()[:61]
        drawn = self.data_of_file(self.run_directory, text, "--cells", "64", "--top", "3")["parts"][0]
        viewer = self.view(self.run_directory, text, "--cells", "16", "--top", "3")
        self.assertEqual(viewer.ask("POST", "/v1/head", {"part": 0, "head": 1, "rows": False})[0], 200)
        codes = unpacked(drawn["heads"][1]["mean"])
        for row, column in ((16, 32), (56, 48)):
            status, tile, _ = viewer.ask("POST", "/v1/tile", {"part": 0, "head": 1, "row": row, "column": column, "cell": 1})
            self.assertEqual(status, 200, tile)
            part = [codes[(row + i) * 61 + column + j] for i in range(tile["rows"]) for j in range(tile["columns"])]
            # A product of fewer keys may round otherwise, and a code then be the next one.
            self.assertLessEqual(max(abs(found - wanted) for found, wanted in zip(unpacked(tile["mean"]), part, strict=True)), 1)
        keys, weights = (unpacked(drawn["heads"][1][name], form) for name, form in (("top_key", "i"), ("top_weight", "f")))
        for row in (0, 1, 5, 60):
            status, found, _ = viewer.ask("POST", "/v1/row", {"part": 0, "head": 1, "row": row})
            self.assertEqual(status, 200, found)
            listed = [(key, weight) for key, weight in zip(keys[3 * row:3 * row + 3], weights[3 * row:3 * row + 3]) if key >= 0]
            self.assertEqual(found["keys"], [key for key, _ in listed])
            for one, (_, weight) in zip(found["weights"], listed, strict=True):
                self.assertAlmostEqual(one, weight, places=6)

    def test_rollout_of_single_tokens_has_rows_and_nothing_finer(self):
        self.train("--steps", "2")
        text = self.held_out.read_text()[:40]
        drawn = self.data_of_file(self.run_directory, text, "--top", "4")["parts"][2]
        viewer = self.view(self.run_directory, text, "--top", "4")
        for row in (0, 7, 39):
            found = viewer.ask("POST", "/v1/row", {"part": 2, "head": 0, "row": row})[1]
            listed = unpacked(drawn["heads"][0]["top_key"], "i")[4 * row:4 * row + 4]
            self.assertEqual(found["keys"], [key for key in listed if key >= 0])
        status, answer, _ = viewer.ask("POST", "/v1/tile", {"part": 2, "head": 0, "cell": 1})
        self.assertEqual((status, "rollout" in answer["error"]), (400, True))
        some = self.view(self.run_directory, text, "--layers", "0").ask("GET", "/v1/view")[1]
        self.assertEqual([part["name"] for part in some["parts"]], ["layers.0.self"])

    def test_an_answer_is_given_again_and_patience_changes_nothing(self):
        self.train("--steps", "1")
        viewer = self.view(self.run_directory, self.held_out.read_text()[:40], "--cells", "16")
        question = {"part": 1, "head": 0, "rows": False}
        first = viewer.ask("POST", "/v1/head", {**question, "patient": True})[1]
        self.assertEqual(sorted(first), ["key", "largest", "mean"])
        self.assertEqual(viewer.ask("POST", "/v1/head", question)[1], first)
        with_rows = viewer.ask("POST", "/v1/head", {"part": 1, "head": 0})[1]
        self.assertEqual({name: with_rows[name] for name in first}, first)

    def test_two_sides_of_a_pair_model_and_an_encoder(self):
        viewer = self.view(make_model(self.folder / "encoder", "bert", "masked-lm"), "hello world she said hello", "--layers", "1")
        view = viewer.ask("GET", "/v1/view")[1]
        self.assertEqual([part["name"] for part in view["parts"]], ["layers.1.self"])
        self.assertEqual(viewer.ask("POST", "/v1/head", {"part": 0, "head": 0})[0], 200)

    def test_requests_are_held_to_the_rules(self):
        self.train("--steps", "1")
        viewer = self.view(self.run_directory, self.held_out.read_text()[:60], "--cells", "16")
        for body, part in (({"part": 3, "head": 0}, "'part'"), ({"part": 0, "head": 9}, "'head'"), ({"part": -1}, "part"),
                           ({"part": "x"}, "part"), ({"layer": 0}, "layer")):
            status, answer, _ = viewer.ask("POST", "/v1/head", body)
            self.assertEqual(status, 400, answer)
            self.assertIn(part, answer["error"])
        for change, part in (({"cell": 3}, "'cell'"), ({"cell": 8}, "'cell'"), ({"row": 2, "cell": 4}, "'row'"), ({"row": 64}, "'row'"),
                             ({"column": 60}, "'column'")):
            status, answer, _ = viewer.ask("POST", "/v1/tile", {"part": 0, "head": 0, "row": 0, "column": 0, "cell": 1, **change})
            self.assertEqual(status, 400, answer)
            self.assertIn(part, answer["error"])
        self.assertIn("'row'", viewer.ask("POST", "/v1/row", {"part": 0, "head": 0, "row": 60})[1]["error"])
        for headers in ({"Host": "evil.example"}, {"Origin": "http://evil.example"}):
            self.assertIn(viewer.ask("GET", "/v1/view", headers=headers)[0], (400, 403))
        status, page, headers = viewer.ask("GET", "/")
        self.assertEqual(status, 200)
        self.assertNotIn("<style>", page)
        self.assertIn("script-src 'self'", headers["Content-Security-Policy"])
        for path in ("/viewer.js", "/viewer.css"):
            self.assertEqual(viewer.ask("GET", path)[0], 200)
        self.assertEqual(viewer.ask("GET", "/../etc/passwd")[0], 404)

    def test_it_ends_as_weft_serve_does(self):
        self.train("--steps", "1")
        for number in (signal.SIGINT, signal.SIGTERM):
            viewer = self.view(self.run_directory, "the loom weaves")
            code, errors = viewer.stop(number)
            self.assertEqual(code, 0, errors)

    def test_what_does_not_fit(self):
        self.train("--steps", "1")
        run = self.run_directory
        self.assert_fails(weft("attention", run, "text", "--serve=nowhere"), 2, "--serve", "HOST:PORT", "nowhere")
        self.assert_fails(weft("attention", run, "text", "--serve=127.0.0.1:70000"), 2, "--serve", "70000")
        self.assert_fails(weft("attention", run, "text", "--serve", "--out", self.folder / "a.html"), 2, "--out", "--serve")

    @needs_browser
    def test_a_reader_looks_closer(self):
        self.train("--steps", "2")
        viewer = self.view(self.run_directory, self.held_out.read_text()[:60], "--cells", "16")
        with Browser() as browser:
            browser.open(viewer.where + "/")
            browser.wait_for("return document.querySelectorAll('#grid button').length === 5")
            browser.wait_for("return document.getElementById('about').textContent.includes('layers.0.self, head 0')")
            browser.wait_for("return [...document.querySelectorAll('#grid canvas')].every((canvas) => canvas.width === 15)")
            self.assertGreater(browser.run(DRAWN, "#large"), 2)
            browser.keys("#large", "+")
            browser.wait_for("return document.getElementById('about').textContent.includes('A cell is 1 × 1 tokens')")
            self.assertEqual(browser.run("return document.getElementById('large').width"), 16)
            first_key = browser.run(FIRST_KEY)
            browser.keys("#large", "\ue014")  # right
            browser.wait_for(f"{FIRST_KEY} > {first_key}")
            close = browser.run(PIXELS, "#large")
            browser.keys("#large", "+")  # there is nothing finer: a part is shown larger, with its words
            browser.wait_for("return document.querySelectorAll('#query-words span').length === 8")
            self.assertEqual(browser.run("return document.getElementById('large').width"), 8)
            browser.keys("#large", "-")
            browser.wait_for("return document.getElementById('large').width === 16")
            self.assertEqual(browser.run(PIXELS, "#large"), close)
            browser.keys("#large", "-")
            browser.wait_for("return document.getElementById('about').textContent.includes('A cell is 4 × 4 tokens')")
            browser.keys("#large", "\ue015" * 3)  # down
            browser.wait_for("return document.querySelector('#row h2')?.textContent.startsWith('Row 3:')")
            self.assertTrue(browser.screenshot().startswith(b"\x89PNG"))
            self.assertEqual(browser.errors(), [])


if __name__ == "__main__":
    unittest.main()
