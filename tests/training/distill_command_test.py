# SPDX-License-Identifier: Apache-2.0
"""`weft train --distill DIR`: a teacher's predictions beside the labels, for Weft's own models, encoders of Hugging Face and heads."""

import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from encoder_program import make_model  # noqa: E402
from weft_program import Case, losses, weft, weft_json  # noqa: E402

FAST = ("--dtype", "float32", "--threads", "1", "--batch-size", "2", "--learning-rate", "0.003")


class DistillTest(Case):
    def own(self, out, *more):
        self.train(*more, out=self.folder / out)
        return self.folder / out

    def masked(self, student, teacher, *more):
        return weft("train", "--task", "mlm", "--model", student, "--distill", teacher, "--train-text", self.train_text, *FAST,
                    "--out", self.run_directory, *more)

    def test_a_windowed_decoder_learns_from_a_dense_one(self):
        teacher = self.own("teacher", "--attention", "causal", "--steps", "30")
        shared = ("--attention", "causal & window(left=8)", "--steps", "6", "--distill", teacher, "--distill-weight", "0.8",
                  "--distill-temperature", "3", "--distill-hidden", "0.1", "--checkpoint-every", "3")
        whole = self.own("whole", *shared)
        settings = json.loads((whole / "training.json").read_text())
        self.assertEqual((settings["distill"], settings["distill_weight"]), (str(teacher), 0.8))
        # The settings of a run are a config file, and its page says how to repeat it.
        again = self.own("again", "--config", whole / "training.json", "--attention", "causal & window(left=8)")
        self.assertEqual(losses(again), losses(whole))
        weft("report", whole)
        self.assertIn("--distill-temperature", (whole / "report.html").read_text())
        self.assertNotIn("--distill-digest", (whole / "report.html").read_text())
        # Interrupted after three steps.
        for name in ("step-6",):
            for file in (again / "checkpoints" / name).iterdir():
                file.unlink()
            (again / "checkpoints" / name).rmdir()
        self.assert_fails(weft("train", "--resume", "--out", again, "--distill", whole), 2, "not the teacher", "training.json")
        resumed = weft("train", "--resume", "--out", again)
        self.assertEqual(resumed.returncode, 0, resumed.stderr)
        self.assertEqual(losses(again), losses(whole))
        self.assertEqual((again / "model.safetensors").read_bytes(), (whole / "model.safetensors").read_bytes())

    def test_a_windowed_encoder_learns_from_a_dense_one(self):
        teacher = make_model(self.folder / "dense", "roberta", "masked-lm")
        student = self.folder / "long"
        converted = weft("convert", teacher, "--to", "longformer", "--length", "64", "--attention-window", "8", "--out", student)
        self.assertEqual(converted.returncode, 0, converted.stderr)
        found = self.masked(student, teacher, "--steps", "3", "--context", "32")
        self.assertEqual(found.returncode, 0, found.stderr)
        self.assertIn("dense", found.stderr)
        self.assertEqual(len(losses(self.run_directory)), 3)

    def test_a_head_learns_from_a_head(self):
        data = self.folder / "data.csv"
        data.write_text("text,label\n" + "".join(f"{word} {i},{'good' if word == 'hello' else 'bad'}\n"
                                                 for i in range(6) for word in ("hello", "world")))
        model = make_model(self.folder / "encoder", "bert", "none")
        shared = ("--task", "classify", "--model", model, "--train-data", data, "--steps", "3", "--dtype", "float32", "--threads", "1")
        self.assertEqual(weft("train", *shared, "--out", self.folder / "teacher").returncode, 0)
        found = weft_json("train", *shared, "--distill", self.folder / "teacher", "--out", self.run_directory)
        self.assertEqual(found["steps"], 3)

    def test_what_does_not_fit(self):
        out = self.run_directory
        dense = make_model(self.folder / "dense", "roberta", "masked-lm")
        foreign = make_model(self.folder / "foreign", "bert", "masked-lm")
        self.assert_fails(self.masked(dense, foreign, "--steps", "1"), 2, "foreign", "vocabulary of the student", "expected")
        self.assert_fails(self.masked(dense, self.folder / "nowhere", "--steps", "1"), 1, "nowhere")
        teacher = self.own("decoder", "--steps", "1")
        self.assert_fails(self.masked(dense, teacher, "--steps", "1"), 2, "decoder", "the next token", "masked tokens")
        self.assert_fails(weft("train", "--train-text", self.train_text, "--steps", "1", "--distill-weight", "0.3", "--out", out),
                          2, "--distill", "--distill-weight")
        self.assert_fails(weft("train", "--task", "translate", "--distill", dense, "--train-source", self.train_text,
                               "--train-target", self.train_text, "--steps", "1", "--out", out), 2, "--distill", "translate")
        self.assertFalse(out.exists())


if __name__ == "__main__":
    unittest.main()
