# SPDX-License-Identifier: Apache-2.0
"""`weft attention`: a page for each kind of model, whose numbers are those of the model, and which runs nothing from the text."""

import base64
import json
import pathlib
import re
import struct
import sys
import unittest
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from encoder_program import FIXTURES, TEXT, make_model  # noqa: E402
from weft_program import Case, weft, weft_json  # noqa: E402

DATA = re.compile(r'<script type="application/json" id="data">(.*?)</script>', re.DOTALL)


def numbers(packed, kind):
    content = zlib.decompress(base64.b64decode(packed))
    return struct.unpack(f"<{len(content) // struct.calcsize(kind)}{kind}", content)


class AttentionPageTest(Case):
    def page(self, *arguments):
        out = self.folder / "page.html"
        summary = weft_json("attention", *arguments, "--out", out)
        self.assertEqual(summary["out"], str(out))
        written = out.read_text()
        self.assertNotRegex(written, r"(src|href)=", "nothing beside the page is asked for")
        (found,) = DATA.findall(written)
        return summary, json.loads(found)

    def check_rows(self, part, head):
        """Every row sums to 1 where all its keys are listed."""
        weights, keys = numbers(head["top_weight"], "f"), numbers(head["top_key"], "i")
        top = part["top"]
        for row in range(part["queries"]):
            listed = [(key, weight) for key, weight in zip(keys[row * top:][:top], weights[row * top:][:top]) if key >= 0]
            self.assertAlmostEqual(sum(weight for _, weight in listed), 1.0, places=5)
            self.assertEqual(len({key for key, _ in listed}), len(listed))
            yield row, listed

    def check_rollout(self, parts, length):
        """The last part is the product of (A + I) / 2 over the layers, with A the mean over the heads."""
        flow = [[float(row == column) for column in range(length)] for row in range(length)]
        for part in parts[:-1]:
            step = [[float(row == column) / 2 for column in range(length)] for row in range(length)]
            for head in part["heads"]:
                for row, listed in self.check_rows(part, head):
                    for key, weight in listed:
                        step[row][key] += weight / len(part["heads"]) / 2
            flow = [[sum(a * flow[middle][column] for middle, a in enumerate(row)) for column in range(length)] for row in step]
        (shown,) = parts[-1]["heads"]
        for row, listed in self.check_rows(parts[-1], shown):
            for key, weight in listed:
                self.assertAlmostEqual(weight, flow[row][key], places=5)

    def test_a_decoder_looks_at_the_past(self):
        self.train("--steps", "2")
        text = "a row </script><script>alert(1)</script> of words"
        summary, data = self.page(self.run_directory, text, "--top", "64")
        self.assertEqual(summary["source_tokens"], len(text))
        self.assertEqual("".join(data["texts"]["source"]["tokens"]), text)
        self.assertEqual([part["name"] for part in data["parts"]], ["layers.0.self", "layers.1.self", "rollout"])
        self.check_rollout(data["parts"], len(text))
        for part in data["parts"]:
            self.assertEqual((part["cell"], part["rows"], part["columns"]), (1, len(text), len(text)))
            for head in part["heads"]:
                means = numbers(head["mean"], "B")
                for row, listed in self.check_rows(part, head):
                    self.assertTrue(all(key <= row for key, _ in listed))
                    allowed = {key for key in range(len(text)) if means[row * len(text) + key] > 0}
                    self.assertEqual(allowed, {key for key, _ in listed}, "an edge is listed, and nothing else")

    def test_long_texts_have_cells_of_several_tokens(self):
        self.train("--steps", "2")
        text = self.held_out.read_text()[:64]
        _, data = self.page(self.run_directory, text, "--cells", "16", "--layers", "1", "--heads", "0")
        (part,) = data["parts"]
        self.assertEqual((part["name"], part["cell"], part["rows"], len(part["heads"])), ("layers.1.self", 4, 16, 1))
        self.page(self.run_directory, text, "--cells", "16", "--svg", self.folder / "heads.svg", "--png", self.folder / "heads.png")
        self.assertIn("<svg", (self.folder / "heads.svg").read_text())
        self.assertTrue((self.folder / "heads.png").read_bytes().startswith(b"\x89PNG"))

    def test_an_encoder_and_a_pair_of_texts(self):
        for family in ("bert", "longformer", "big_bird"):
            directory = make_model(self.folder / family, family, "none")
            summary, data = self.page(directory, TEXT, TEXT, "--top", "64")
            self.assertEqual(len(data["texts"]["source"]["tokens"]), summary["source_tokens"])
            for part in data["parts"]:
                self.assertEqual(part["queries"], summary["source_tokens"])
                for head in part["heads"]:
                    self.assertEqual(len(list(self.check_rows(part, head))), part["queries"])

    def test_an_encoder_decoder_has_three_kinds_of_attention(self):
        directory = self.folder / "bart"
        process = weft("init", "--family", "bart", "--tokenizer", FIXTURES / "tokenizers/roberta", "--d-model", "16", "--encoder-layers", "1",
                       "--decoder-layers", "1", "--encoder-attention-heads", "2", "--decoder-attention-heads", "2", "--encoder-ffn-dim", "24",
                       "--decoder-ffn-dim", "24", "--init-std", "0.5", "--max-source-positions", "48", "--out", directory)
        self.assertEqual(process.returncode, 0, process.stderr)
        _, data = self.page(directory, TEXT, "we see.", "--top", "64")
        sides = {part["name"]: (part["query_text"], part["key_text"]) for part in data["parts"]}
        self.assertEqual(sides, {"encoder.layers.0.self": ("source", "source"), "rollout": ("source", "source"), "decoder.layers.0.self": ("target", "target"),
                                 "decoder.layers.0.cross": ("target", "source")})
        words = data["texts"]["source"]["tokens"]
        self.assertEqual((words[0], words[-1]), ("<s>", "</s>"), "the encoder reads what it learned from")
        for part in data["parts"]:
            self.assertEqual(part["keys"], len(data["texts"][part["key_text"]]["tokens"]))
            for head in part["heads"]:
                self.assertEqual(len(list(self.check_rows(part, head))), part["queries"])
        self.assert_fails(weft("attention", directory, TEXT), 2, "needs both")

    def test_what_cannot_be_shown_is_said(self):
        self.train("--steps", "2", "--attention", "linear")
        self.assert_fails(weft("attention", self.run_directory, "text", "--out", self.folder / "no.html"), 1, "no layer has weights to show", "linear")
        self.assertFalse((self.folder / "no.html").exists())
        profile = self.folder / "no.safetensors"
        self.assert_fails(weft("profile", self.run_directory, "--text", self.train_text, "--out", profile), 1, "no layer has weights to profile", "linear")
        self.assertFalse(profile.exists())
        self.assert_fails(weft("attention", self.run_directory), 2, "needs one text")
        self.assert_fails(weft("attention", self.run_directory, "text", "--layers", "7"), 2, "--layers", "layers 0 to 1", "found 7")
        self.assert_fails(weft("attention", self.run_directory, ""), 1, "no token")


if __name__ == "__main__":
    unittest.main()
