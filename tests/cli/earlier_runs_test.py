# SPDX-License-Identifier: Apache-2.0
"""Directories that an earlier program saved still open, evaluate and go on, to the figures that it gave for them
(tests/fixtures/make/earlier_runs.py and earlier_directories.py wrote both)."""

import json
import shutil
import unittest

from encoder_program import FIXTURES, results
from weft_program import Case, losses, weft, weft_json

EARLIER = FIXTURES / "earlier"
FIGURES = json.loads((EARLIER / "figures.json").read_text())
LATER = FIXTURES / "written_by_94cfefa"
# Equal to the last bit on a processor like that of the fixtures; held to AVX2 or less, which sums in another order, a loss differs by 2e-7 at most.
TOLERANCE = 2e-6
# What results say since then.
TYPE = {"dtype": "float32"}


class EarlierRunsTest(Case):
    def setUp(self):
        super().setUp()
        self.earlier = self.folder / "earlier"
        shutil.copytree(EARLIER, self.earlier)

    def assert_same(self, found, expected, where="figures"):
        """Equal but for times and, in numbers, rounding."""
        if isinstance(expected, dict):
            self.assertEqual(found.keys(), expected.keys(), where)
            for name in expected.keys() - {"seconds"}:
                self.assert_same(found[name], expected[name], f"{where}.{name}")
        elif isinstance(expected, list):
            self.assertEqual(len(found), len(expected), where)
            for index, (one, other) in enumerate(zip(found, expected, strict=True)):
                self.assert_same(one, other, f"{where}[{index}]")
        elif isinstance(expected, float):
            self.assertLessEqual(abs(found - expected), TOLERANCE * max(1, abs(expected)), f"{where}: {found}, was {expected}")
        else:
            self.assertEqual(found, expected, where)

    def test_a_stopped_decoder_is_evaluated_and_continues_a_text(self):
        run = self.earlier / "decoder"
        found = weft_json("eval", run, "--text", self.earlier / "held-out.txt", "--context", "32", "--dtype", "float32")
        self.assert_same(found, FIGURES["eval"] | TYPE)
        for flags, said in ((("--seed", "3"), "--seed is for encoders"), (("--masking", "words"), "--masking is for encoders"),
                            (("--audio-channel", "first"), "weft eval: --audio-channel has no effect without --audio")):
            self.assertIn(said, weft("eval", run, "--text", self.earlier / "held-out.txt", *flags).stderr)
        found = weft_json("generate", run, "--prompt", "the loom", "--max-new-tokens", "12", "--temperature", "0")
        self.assert_same(found, FIGURES["generate"] | TYPE)

    def test_a_stopped_classifier_is_evaluated_and_classifies(self):
        run = self.earlier / "classifier"
        self.assert_same(results("classify", run, "the loom said", "hello world"), FIGURES["classify"])
        found = weft_json("eval", run, "--task", "classify", "--data", self.earlier / "held-out.csv", "--dtype", "float32")
        # It was stopped early.
        self.assertIn("for each of the 8 held-out texts, of which 5 have another label", found.pop("warning"))
        self.assert_same(found, FIGURES["eval-classify"] | TYPE | {"task": "classify", "read_as": found["read_as"]})

    def test_a_saved_model_fills_masks_and_is_evaluated(self):
        model = self.earlier / "masked"
        expected = FIGURES["fill-mask"]
        self.assert_same(results("fill-mask", model, expected["text"], "--top-k", "3", "--dtype", "float32"), expected["results"])
        found = weft_json("eval", model, "--task", "mlm", "--text", self.earlier / "held-out.txt", "--context", "32", "--dtype", "float32")
        self.assert_same(found, FIGURES["eval-mlm"] | TYPE)

    def check_resumption(self, name, *data):
        self.check_goes_on(self.earlier / name, FIGURES["resumed"][name], *data)

    def check_goes_on(self, run, expected, *data):
        """The runs name their data where they lay; they may have moved."""
        report = weft_json("train", "--resume", "--out", run, *data)
        self.assertEqual(report["steps"], len(expected["losses"]))
        self.assert_same([list(pair) for pair in losses(run)], expected["losses"])
        self.assert_same(report["evaluation"], expected["evaluation"])
        self.assertEqual(json.loads((run / "training.json").read_text())["learning_rate"], 0.01)

    def test_a_stopped_decoder_goes_on(self):
        self.check_resumption("decoder", "--train-text", self.earlier / "train.txt", "--eval-text", self.earlier / "held-out.txt")

    def test_a_stopped_classifier_goes_on(self):
        self.check_resumption("classifier", "--train-data", self.earlier / "train.csv", "--eval-data", self.earlier / "held-out.csv")

    def test_runs_of_every_kind_go_on_from_their_checkpoints(self):
        runs = self.folder / "runs"
        shutil.copytree(LATER / "runs", runs)
        text = ["--train-text", runs / "train.txt", "--eval-text", runs / "held-out.txt"]
        pairs = [f"--{part}-{side}={runs / side}.txt" for part in ("train", "eval") for side in ("source", "target")]
        for name, expected in json.loads((LATER / "figures.json").read_text()).items():
            with self.subTest(run=name):
                config = (next((runs / name / "checkpoints").iterdir()) / "config.json").read_text()
                self.check_goes_on(runs / name, expected, *(pairs if name == "translate" else text))
                self.assertEqual((runs / name / "config.json").read_text(), config)


if __name__ == "__main__":
    unittest.main()
