# SPDX-License-Identifier: Apache-2.0
"""Patterns of a profile on an encoder-decoder that is trained already: convert, further training and evaluation, for Weft's own and for Marian's."""

import json
import pathlib
import random
import shutil
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
import safetensors_profile  # noqa: E402
from sequence_tasks_test import make_marian  # noqa: E402
from weft_program import Case, weft, weft_json  # noqa: E402

LISTS = ["encoder_attention", "decoder_attention", "cross_attention"]


class PairAttentionTest(Case):
    def setUp(self):
        super().setUp()
        draw = random.Random(3)
        words = ["the", "loom", "weaves", "a", "man", "walks", "bridge", "thread"]
        lines = [[draw.choice(words) for _ in range(draw.randint(3, 9))] for _ in range(40)]
        self.files = {}
        for name, order in (("source", 1), ("target", -1)):
            self.files[name] = self.folder / f"text.{name}"
            self.files[name].write_text("".join(" ".join(line[::order]) + "\n" for line in lines))

    def checked(self, *arguments):
        process = weft(*arguments)
        self.assertEqual(process.returncode, 0, process.stderr)
        return process

    def training(self, *arguments):
        return ["train", "--task", "translate", "--train-source", self.files["source"], "--train-target", self.files["target"], "--dtype", "float32",
                "--threads", 1, *arguments]

    def pairs(self):
        return ["--source", self.files["source"], "--target", self.files["target"]]

    def loss(self, model, *arguments):
        found = weft_json("eval", model, "--task", "translate", *self.pairs(), "--dtype", "float32", "--generated-examples", 3, *arguments)
        self.assertEqual(found["examples"], 40)
        self.assertIn("bleu", found)
        return found["loss"]

    def prune(self, model):
        self.checked("profile", model, *self.pairs(), "--out", self.folder / "profile", "--threads", 1)
        weft_json("prune", self.folder / "profile", "--density", 0.3, "--attend", "both", "-o", self.folder / "prune.json")
        return json.loads((self.folder / "prune.json").read_text())

    def assert_takes_patterns(self, model):
        patterns = self.prune(model)
        at = ["--attention", f"@{self.folder / 'prune.json'}"]
        own, pruned = self.loss(model), self.loss(model, *at)
        self.assertGreater(abs(own - pruned), 1e-5)
        self.checked("convert", model, *at, "--out", self.folder / "converted")
        # The same model by hand: its files with other lists in config.json.
        by_hand = self.folder / "by-hand"
        shutil.copytree(model, by_hand)
        config = json.loads((by_hand / "config.json").read_text())
        config |= {name: patterns[name] for name in LISTS}
        (by_hand / "config.json").write_text(json.dumps(config))
        shutil.copytree(self.folder / "prune", by_hand / "prune")
        self.checked(*self.training("--model", model, *at, "--steps", 2, "--learning-rate", 0.01, "--out", self.folder / "further"))
        shutil.rmtree(self.folder / "prune")  # each has copies of the graphs
        for directory in (self.folder / "converted", by_hand):
            self.assertAlmostEqual(self.loss(directory), pruned, places=6)
        for directory in (self.folder / "converted", self.folder / "further"):
            saved = json.loads((directory / "config.json").read_text())
            self.assertEqual([saved[name] for name in LISTS], [patterns[name] for name in LISTS])
            self.assertEqual(len(list((directory / "prune").iterdir())), 6)
        self.assertNotAlmostEqual(self.loss(self.folder / "further"), pruned, places=4)

    def test_a_model_of_weft_train(self):
        self.checked(*self.training("--layers", 1, "--width", 16, "--heads", 2, "--vocabulary-size", 280, "--steps", 6, "--out", self.folder / "run"))
        self.assert_takes_patterns(self.folder / "run")
        proposed = weft_json("propose", self.folder / "profile", "--mass", 0.8, "--attend", "both", "-o", self.folder / "proposed.json")
        sizes = {(part["queries"], part["keys"]) for part in proposed["parts"] if part["name"].endswith("cross")}
        profiled = weft_json("propose", self.folder / "profile", "--mass", 0.8, "--attend", "cross", "--length", 200)
        (cross,) = profiled["parts"]
        self.assertEqual(max(cross["queries"], cross["keys"]), 200)
        ((queries, keys),) = sizes
        self.assertAlmostEqual(cross["queries"] / cross["keys"], queries / keys, delta=0.05)
        self.loss(self.folder / "run", "--attention", f"@{self.folder / 'proposed.json'}")

    def test_a_directory_of_hugging_face(self):
        self.assert_takes_patterns(make_marian(self.folder / "marian"))

    def test_what_does_not_fit_is_said(self):
        model = make_marian(self.folder / "marian")
        safetensors_profile.write(self.folder / "other.safetensors", (1, 2, 16), lambda layer, head, query, key: 1.0)
        weft_json("prune", self.folder / "other.safetensors", "--density", 0.5, "-o", self.folder / "other.json")
        other = ["--attention", f"@{self.folder / 'other.json'}"]
        evaluate = ["eval", model, "--task", "translate", *self.pairs()]
        self.assert_fails(weft(*evaluate, *other), 1, "one stack")
        self.assert_fails(weft("convert", model, *other, "--out", self.folder / "new"), 1, "one stack")
        patterns = self.prune(model)
        patterns["cross_attention"] *= 2
        (self.folder / "prune.json").write_text(json.dumps(patterns))
        at = ["--attention", f"@{self.folder / 'prune.json'}"]
        does_not_fit = "is for 2 layers of 2 heads, and the model has 1 layer of 2 heads"
        for arguments in (evaluate + at, ["convert", model, *at, "--out", self.folder / "new"]):
            self.assert_fails(weft(*arguments), 1, "cross_attention", does_not_fit)
        self.assert_fails(weft(*self.training("--model", model, "--steps", 1, *at, "--out", self.folder / "new")), 2, "--cross-attention", does_not_fit)
        self.assert_fails(weft("eval", model, "--task", "translate"), 2, "--source FILE with --target FILE, or --data FILE")
        self.assert_fails(weft("eval", model, "--task", "translate", "--source", self.files["source"]), 2, "--target")
        for flags in (("--source-field", "de"), ("--target-field", "en"), ("--no-header",)):
            self.assert_fails(weft("eval", model, "--task", "translate", *self.pairs(), *flags), 2, f"{flags[0]} is for the tables and JSON of --data")
        self.assert_fails(weft("eval", model, "--source", self.files["source"], "--text", self.held_out), 2, "--task translate or --task summarize")
        self.assert_fails(weft(*evaluate, "--max-bytes", 5), 2, "--max-bytes")
        self.assert_fails(weft(*evaluate, "--stride", 5), 2, "--stride")


if __name__ == "__main__":
    unittest.main()
