# SPDX-License-Identifier: Apache-2.0
"""Every attention mechanism in every model that the command line makes: a decoder, an encoder, an encoder that was converted, an encoder-decoder. What a
mechanism says that it cannot do is refused with these words, and everything else trains, is measured and writes."""

import pathlib
import random
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from encoder_program import make_model  # noqa: E402
from weft_program import Case, losses, weft, weft_json  # noqa: E402

# A row for each name of the registry in its own settings, and two patterns.
MECHANISMS = [
    "linear(map=square)", "performer(features=8)", "rfa(features=8)", "rfa(features=8, gate=yes, denominator=small)", "nystrom(landmarks=4, conv=3)",
    "linformer(rank=4, share=layers)", "lsh(chunk=8)", "lsh(causal=rank, window=8)", "relative", "span(max=16)", "little_bird(block=4, latents=3)",
    "star", "window(8)",
]  # fmt: skip
# They say something about one text, and nothing about what tokens of two have to do with each other.
OF_ONE_TEXT = ("rfa(features=8, gate=yes", "nystrom", "lsh", "linformer", "relative", "span", "little_bird")
# Their scores know positions, so that a model has no others.
BRING_POSITIONS = ("relative", "little_bird")
SHAPE = ["--layers", "1", "--width", "16", "--heads", "2", "--dtype", "float32", "--threads", "1"]


def why_not(causal):
    """{mechanism: why it cannot be part of a decoder, or of an encoder}, as it says itself; nothing for those that can."""
    rows = weft_json("bench", "mechanisms", "--heads", "2", "--head-dim", "8", "--lengths", "4", "--no-backward", "--threads", "1", "--attention", *MECHANISMS,
                     *(["--causal"] if causal else []))["mechanisms"]
    return {name: row["refused"].split("because ")[-1] for name, row in zip(MECHANISMS, rows, strict=True) if row["refused"]}


def no_positions(mechanism):
    return mechanism.startswith(BRING_POSITIONS)


class MechanismsTest(Case):
    @classmethod
    def setUpClass(cls):
        cls.never_causal, cls.always_causal = why_not(True), why_not(False)

    def arguments(self, mechanism, out, *more):
        positions = ["--position-embedding", "none"] if no_positions(mechanism) else []
        return ["train", "--train-text", self.train_text, "--eval-text", self.held_out, "--max-eval-bytes", "200", "--context", "32", "--batch-size", "2",
                "--steps", "3", *SHAPE, *positions, "--attention", mechanism, "--out", out, *more]

    def check_learned(self, run, process):
        self.assertEqual(process.returncode, 0, process.stderr)
        found = [loss for _, loss in losses(run)]
        self.assertGreater(len(found), 0)
        self.assertTrue(all(0 < loss < 20 for loss in found), found)

    def test_what_mechanisms_say_of_themselves(self):
        self.assertEqual({name.split("(")[0] for name in self.never_causal}, {"nystrom", "linformer", "little_bird", "lsh"})
        self.assertNotIn("lsh(causal=rank, window=8)", self.never_causal)
        self.assertEqual([name for name in self.always_causal if "gate=yes" not in name], [])

    def test_decoders(self):
        for mechanism in MECHANISMS:
            with self.subTest(mechanism):
                run = self.folder / mechanism
                process = weft(*self.arguments(mechanism, run))
                if mechanism in self.never_causal:
                    self.assert_fails(process, 2, self.never_causal[mechanism])
                    self.assertFalse(run.exists())
                    continue
                self.check_learned(run, process)
                self.assertEqual(weft_json("generate", run, "--prompt", "graph", "--max-new-tokens", "20", "--seed", "3")["new_tokens"], 20)

    def test_encoders(self):
        for mechanism in MECHANISMS:
            with self.subTest(mechanism):
                run = self.folder / mechanism
                process = weft(*self.arguments(mechanism, run, "--encoder"))
                if mechanism in self.always_causal:
                    self.assert_fails(process, 2, self.always_causal[mechanism])
                    continue
                self.check_learned(run, process)

    def test_encoders_that_are_converted(self):
        short = make_model(self.folder / "bert", "bert", "masked-lm")
        for mechanism in MECHANISMS:
            with self.subTest(mechanism):
                out, run = self.folder / mechanism, self.folder / f"{mechanism}-run"
                process = weft("convert", short, "--attention", mechanism, "--length", "62", "--out", out)
                if mechanism in self.always_causal:
                    self.assert_fails(process, 2, self.always_causal[mechanism])
                elif no_positions(mechanism):
                    self.assert_fails(process, 1, "knows positions by itself")
                elif mechanism.startswith("lsh"):
                    self.assert_fails(process, 1, "one projection of queries and keys")
                else:
                    self.assertEqual(process.returncode, 0, process.stderr)
                    self.check_learned(run, weft("train", "--task", "mlm", "--model", out, "--train-text", self.train_text, "--context", "16", "--batch-size",
                                                 "2", "--steps", "2", "--dtype", "float32", "--threads", "1", "--out", run))

    def test_a_littlebird_learns_from_the_bert_that_it_was_made_of(self):
        teacher, student, run = make_model(self.folder / "bert", "bert", "masked-lm"), self.folder / "littlebird", self.folder / "run"
        made = weft_json("convert", teacher, "--to", "littlebird", "--length", "128", "--block-size", "4", "--latents", "3", "--out", student)
        self.assertEqual((made["family"], made["positions"]), ("littlebird", 128))
        # The teacher's predictions alone, so that the loss is how far the student is from them.
        asked = ["train", "--task", "mlm", "--train-text", self.train_text, "--batch-size", "4", "--dtype", "float32", "--threads", "1", "--model"]
        process = weft(*asked, student, "--distill", teacher, "--distill-weight", "1", "--context", "32", "--steps", "60", "--learning-rate", "0.003", "--out", run)
        self.check_learned(run, process)
        found = [loss for _, loss in losses(run)]
        self.assertLess(sum(found[-10:]), 0.7 * sum(found[:10]), found)
        self.assertEqual(weft_json("info", run)["family"], "littlebird")
        longer = weft(*asked, run, "--context", "100", "--steps", "1", "--out", self.folder / "longer")  # than the teacher can read
        self.check_learned(self.folder / "longer", longer)

    def check_described(self, run, mechanism, announced):
        told, said = weft("info", run).stdout, weft_json("info", run)
        for half in ("encoder", "decoder", "cross"):
            (layers,) = said[f"{half}_attention"]
            self.assertIn(mechanism[:-1], layers["effective"])
            self.assertIn("dropout of 0.1 on them does nothing", layers["note"])
            for text in (told, announced):
                self.assertRegex(text, rf"(?m)^{half}[ -]note  .*dropout of 0.1 on them does nothing$")

    def test_encoder_decoders(self):
        draw = random.Random(2)
        lines = [" ".join(draw.choices(["tree", "house", "river"], k=draw.randint(1, 6))) for _ in range(20)]
        for name in ("src", "tgt"):
            (self.folder / name).write_text("\n".join(lines) + "\n")
        for mechanism in MECHANISMS:
            with self.subTest(mechanism):
                run = self.folder / mechanism
                asked = ["train", "--task", "translate", "--train-source", self.folder / "src", "--train-target", self.folder / "tgt", "--eval-source",
                         self.folder / "src", "--eval-target", self.folder / "tgt", "--generated-examples", "2", "--vocabulary-size", "280", "--steps", "2",
                         "--batch-tokens", "64", "--encoder-ffn-dim", "16", "--decoder-ffn-dim", "16", *SHAPE, "--out", run]
                if no_positions(mechanism):  # the halves of every encoder-decoder have positions of their own
                    self.assert_fails(weft(*asked, "--encoder-attention", mechanism), 2, "knows positions by itself")
                    continue
                halves = [] if mechanism in self.always_causal else ["--encoder-attention", mechanism]
                halves += [] if mechanism in self.never_causal else ["--decoder-attention", mechanism]
                halves += [] if mechanism.startswith(OF_ONE_TEXT) else ["--cross-attention", mechanism]
                has_idle_dropout = mechanism.startswith("performer")
                process = weft(*asked, *halves, *(["--attention-dropout", "0.1"] if has_idle_dropout else []))
                self.check_learned(run, process)
                if has_idle_dropout:
                    self.check_described(run, mechanism, process.stderr)
                for half, why in (("--decoder-attention", self.never_causal.get(mechanism)), ("--encoder-attention", self.always_causal.get(mechanism)),
                                  ("--cross-attention", "cannot attend to another sequence, because")):
                    if why and half not in halves:
                        self.assert_fails(weft(*asked[:-1], self.folder / "refused", half, mechanism), 2, why)
                        self.assertFalse((self.folder / "refused").exists())


if __name__ == "__main__":
    unittest.main()
