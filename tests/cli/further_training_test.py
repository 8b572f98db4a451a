# SPDX-License-Identifier: Apache-2.0
"""`weft train --task lm|mlm --model DIR`: language models that go on from weights that are there."""

import json
import unittest

from encoder_program import TOKENIZERS, make_model
from weft_program import Case, losses, weft, weft_json

FAST = ["--dtype", "float32", "--threads", "1", "--batch-size", "2", "--learning-rate", "0.003"]


class EncoderTest(Case):
    def model(self, family="roberta", head="masked-lm"):
        directory = self.folder / f"{family}-{head}"
        return directory if directory.exists() else make_model(directory, family, head)

    def arguments(self, out, *more, model=None, task="mlm"):
        return ["train", "--task", task, "--model", model or self.model(), "--train-text", self.train_text, *FAST, "--out", out, *more]

    def test_from_a_directory_to_a_better_one(self):
        model = self.model()
        before = weft_json("eval", model, "--text", self.held_out, "--dtype", "float32", "--seed", "0")
        found = weft_json(*self.arguments(self.run_directory, "--eval-text", self.held_out, "--max-eval-bytes", "0", "--steps", "20", model=model))
        self.assertLess(found["evaluation"]["loss"], before["loss"])
        after = weft_json("eval", self.run_directory, "--task", "mlm", "--text", self.held_out, "--dtype", "float32")
        self.assertAlmostEqual(after["loss"], found["evaluation"]["loss"], places=5)
        self.assertEqual(after["masked_tokens"], before["masked_tokens"])
        filled = json.loads(weft("fill-mask", self.run_directory, "the <mask> weaves", "--json").stdout)
        self.assertEqual(len(filled["result"]), 5)
        said = weft("info", self.run_directory).stdout
        self.assertIn("train.txt", said)
        weft("report", self.run_directory)
        page = (self.run_directory / "report.html").read_text()
        self.assertIn("--task mlm --model", page)

    def test_what_the_run_says_first(self):
        process = weft(*self.arguments(self.run_directory, "--steps", "1", model=self.model("bert", "none")))
        self.assertEqual(process.returncode, 0, process.stderr)
        for part in ("mlm", "bert", "random", "cls.predictions", "2 windows of 62 tokens"):
            self.assertIn(part, process.stderr)

    def test_a_killed_run_goes_on_to_the_same_bits(self):
        model = self.model()
        more = ["--steps", "150", "--checkpoint-every", "3", "--masking", "words", "--bpe-dropout", "0.1"]
        self.assertEqual(weft(*self.arguments(self.folder / "whole", *more, model=model)).returncode, 0)
        self.kill_at(self.arguments(self.run_directory, *more, model=model), "step-6")
        resumed = weft("train", "--resume", "--out", self.run_directory)
        self.assertEqual(resumed.returncode, 0, resumed.stderr)
        self.assertEqual(losses(self.run_directory), losses(self.folder / "whole"))

    def test_two_processes_have_the_losses_of_one(self):
        model, alone = self.model(), self.folder / "alone"
        self.assertEqual(weft(*self.arguments(alone, "--steps", "4", "--gradient-accumulation", "2", model=model)).returncode, 0)
        self.together(self.arguments(self.run_directory, "--steps", "4", model=model))
        for (step, loss), (_, expected) in zip(losses(self.run_directory), losses(alone), strict=True):
            self.assertAlmostEqual(loss, expected, delta=1e-5, msg=f"step {step}")

    def test_seeds(self):
        arguments = self.arguments(self.run_directory, "--steps", "2")
        self.assertEqual(len(weft_json(*arguments, "--seeds", "2")["runs"]), 2)
        self.assertEqual(len(weft_json(*arguments, "--seeds", "3", "--resume")["runs"]), 3)

    def test_what_does_not_fit(self):
        out = self.run_directory
        self.assert_fails(weft(*self.arguments(out, "--steps", "1", "--layers", "2")), 2, "--num-hidden-layers", "--model")
        self.assert_fails(weft(*self.arguments(out, "--steps", "1", "--tokenizer", TOKENIZERS / "bert")), 2, "--tokenizer", "--model")
        self.assert_fails(weft(*self.arguments(out, "--steps", "1", task="lm")), 2, "--task", "mlm")
        self.assert_fails(weft(*self.arguments(out, "--steps", "1", "--context", "1000")), 2, "--context", "1000")
        self.assert_fails(weft("eval", self.model(head="sequence-classification"), "--text", self.held_out), 1, "masked-lm")
        self.assertFalse(out.exists())


class OwnModelTest(Case):
    def further(self, model, out, *more):
        return weft("train", "--model", model, "--train-text", self.train_text, *FAST, "--out", out, *more)

    def test_a_language_model_goes_on(self):
        self.train("--steps", "4")
        still = self.folder / "still"
        process = self.further(self.run_directory, still, "--steps", "2", "--learning-rate", "0")
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertEqual((still / "model.safetensors").read_bytes(), (self.run_directory / "model.safetensors").read_bytes())
        settings = json.loads((still / "training.json").read_text())
        self.assertEqual((settings["task"], settings["context"], settings["schedule"]), ("lm", 64, "linear"))
        self.assertEqual(settings["model"], str(self.run_directory))
        more = self.folder / "more"
        self.assertEqual(self.further(self.run_directory, more, "--steps", "60").returncode, 0)
        before, after = (weft_json("eval", run, "--text", self.held_out)["bits_per_byte"] for run in (still, more))
        self.assertLess(after, before)
        weft("report", more)
        self.assertIn(f"--task lm --model {self.run_directory}", (more / "report.html").read_text())
        resumed = weft("train", "--resume", "--out", more)
        self.assertEqual(resumed.returncode, 0, resumed.stderr)
        self.assertIn("steps", weft("info", more).stdout)

    def test_an_encoder_of_ones_own_goes_on(self):
        self.train("--task", "mlm", "--attention", "window(8)", "--steps", "2")
        self.assert_fails(self.further(self.run_directory, self.folder / "other", "--steps", "1"), 2, "--task", "mlm")
        process = self.further(self.run_directory, self.folder / "other", "--steps", "1", "--task", "mlm")
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assert_fails(self.further(self.run_directory, self.folder / "next", "--steps", "1", "--task", "mlm", "--attention", "full"), 2,
                          "--attention")
        self.assertEqual(weft("train", "--resume", "--model", self.run_directory, "--out", self.folder / "other").returncode, 0)
        self.assert_fails(weft("train", "--resume", "--model", self.folder, "--out", self.folder / "other"), 1, "model is", str(self.folder))


if __name__ == "__main__":
    unittest.main()
