#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""examples/restore/pack.py: weights rounded to bfloat16, and a card for models that are good enough."""
import array
import json
import os
import pathlib
import struct
import sys
import tempfile
import unittest

ROOT = pathlib.Path(os.environ.get("WEFT_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(ROOT / "examples/restore"))

import pack  # noqa: E402

FIGURES = {"words": 1000, "case_accuracy": 0.96, "sentence_end_f1": 0.8, **{f"f1 {mark}": 0.5 for mark in ",.?!;:"}}


def rounded(*bits):
    """float32 bits as bits of bfloat16."""
    return array.array("H", pack.bfloat16(struct.pack(f"<{len(bits)}I", *bits), "w")).tolist()


class PackTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="weft-pack-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        for name in ("run", "model"):
            (self.folder / name).mkdir()

    def test_weights_are_rounded_to_the_nearest_and_halves_to_even(self):
        self.assertEqual(rounded(0x3F800000, 0x3F808000, 0x3F818000, 0x3F808001, 0x3F807FFF), [0x3F80, 0x3F80, 0x3F82, 0x3F81, 0x3F80])
        self.assertEqual(rounded(0x80000000, 0xBF818000), [0x8000, 0xBF82])
        for wrong in (0x7F800000, 0x7FC00000, 0xFF800000):
            with self.assertRaisesRegex(SystemExit, "infinite or no number"):
                rounded(wrong)

    def test_a_file_of_weights_keeps_its_tensors(self):
        header = json.dumps({"b": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}, "a": {"dtype": "F32", "shape": [1, 1], "data_offsets": [8, 12]}}).encode()
        source, packed = self.folder / "run/model.safetensors", self.folder / "model/model.safetensors"
        source.write_bytes(struct.pack("<Q", len(header)) + header + struct.pack("<3f", 1.0, -2.0, 0.5))
        pack.write_weights(source, packed)
        content = packed.read_bytes()
        length = struct.unpack("<Q", content[:8])[0]
        self.assertEqual(length % 8, 0)
        self.assertEqual(json.loads(content[8:8 + length]), {"a": {"dtype": "BF16", "shape": [1, 1], "data_offsets": [0, 2]},
                                                             "b": {"dtype": "BF16", "shape": [2], "data_offsets": [2, 6]}})
        self.assertEqual(content[8 + length:], struct.pack("<3H", 0x3F00, 0x3F80, 0xC000))

    def test_a_bias_makes_sentence_ends_likelier(self):
        labels = {"0": "O", "1": "S-,", "2": "S-.", "3": "S-Title?", "4": "S-UPPER!", "5": "S-Title"}
        data = struct.pack("<6f", 0, 1, 2, 3, 4, 5)
        self.assertEqual(struct.unpack("<6f", pack.biased(data, labels, 0.5)), (0, 1, 2.5, 3.5, 4.5, 5))

    def write_card(self, *flags, **novels):
        results = self.folder / "results.json"
        results.write_text(json.dumps({"novels": {"restore": FIGURES | novels}, "modern": {"restore": FIGURES}}))
        (self.folder / "run/metrics.jsonl").write_text('{"step": 1200, "tokens": 7200000, "seconds": 1800}\n')
        (self.folder / "model/config.json").write_text('{"vocab_size": 8192}')
        (self.folder / "model/model.safetensors").write_bytes(b" " * 7000)
        command = sys.argv
        self.addCleanup(setattr, sys, "argv", command)
        sys.argv = ["pack.py", "card", "--run", str(self.folder / "run"), "--model", str(self.folder / "model"), "--results", str(results), *flags]
        pack.main()
        return (self.folder / "model/README.md").read_text()

    def test_a_card_has_the_figures(self):
        card = self.write_card()
        for part in ("| sentence ends, F1 | 0.800 | 0.800 |", "| words scored | 1,000 | 1,000 |", "1,200 steps", "7.2 million tokens", "0.5 hours", "4,000 tokens a second"):
            self.assertIn(part, card)
        self.assertNotRegex(card, "@[A-Z]+@|not good enough")

    def test_a_model_that_is_not_good_enough_gets_no_card(self):
        for name, value in (("sentence_end_f1", 0.7499), ("case_accuracy", 0.9499)):
            with self.assertRaisesRegex(SystemExit, f"{name} {value} is below"):
                self.write_card(**{name: value})
            self.assertFalse((self.folder / "model/README.md").exists())
        self.assertIn("**It is not good enough yet**: on held-out novels sentence_end_f1 0.7 is below 0.75.", self.write_card("--short", sentence_end_f1=0.7))


if __name__ == "__main__":
    unittest.main()
