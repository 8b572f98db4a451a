# SPDX-License-Identifier: Apache-2.0
"""`weft train --task lm|mlm --model DIR`: language models that go on from weights that are there; `--task translate|summarize`:
encoder-decoders over pairs of texts, from random weights and from directories. What an etc has of its own from `weft init` to
`weft convert`, its hidden sentences among it, and a star_transformer."""

import json
import pathlib
import random
import struct
import unittest

from encoder_program import TOKENIZERS, make_model, read_safetensors, results, write_safetensors
from sequence_tasks_test import make_marian
from weft_program import Case, losses, weft, weft_json

SENTENCES = "the loom weaves the thread. we see! hello world?"
MARKS = (".", "!", "?", "[SEP]")
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
        features = "performer(features=8)"  # its rows begin anew, as the head does
        process = weft(*self.arguments(self.run_directory, "--steps", "1", "--attention", features, model=self.model("bert", "none")))
        self.assertEqual(process.returncode, 0, process.stderr)
        for part in ("mlm", "bert", "random", "cls.predictions", "2 windows of 62 tokens", "layers.1.attention.mechanism.projection", "`performer` computes no"):
            self.assertIn(part, process.stderr)
        self.assertEqual(json.loads((self.run_directory / "config.json").read_text())["attention"], [features])

    def test_a_killed_run_goes_on_to_the_same_bits(self):
        model = self.model()
        more = ["--steps", "150", "--checkpoint-every", "3", "--masking", "words", "--bpe-dropout", "0.1"]
        self.assertEqual(weft(*self.arguments(self.folder / "whole", *more, model=model)).returncode, 0)
        self.kill_at(self.arguments(self.run_directory, *more, model=model), 6)
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


SMALL = ["--width", "16", "--layers", "1", "--heads", "2", "--encoder-ffn-dim", "24", "--decoder-ffn-dim", "24", "--vocabulary-size", "280",
         "--batch-tokens", "64", "--dtype", "float32", "--threads", "1"]


class PairsTest(Case):
    def setUp(self):
        super().setUp()
        draw = random.Random(2)
        lines = [" ".join(draw.choices(["tree", "house", "river", "cloud", "stone"], k=draw.randint(1, 8))) for _ in range(60)]
        (self.folder / "train.src").write_text("\n".join(lines) + "\n")
        (self.folder / "train.tgt").write_text("\n".join(" ".join(reversed(line.split())) for line in lines) + "\n")

    def arguments(self, out, *more):
        return ["train", "--task", "translate", "--train-source", self.folder / "train.src", "--train-target", self.folder / "train.tgt",
                "--eval-source", self.folder / "train.src", "--eval-target", self.folder / "train.tgt", *SMALL, "--out", out, *more]

    def test_what_is_said_and_what_is_left(self):
        process = weft(*self.arguments(self.run_directory, "--steps", "3"))
        self.assertEqual(process.returncode, 0, process.stderr)
        for part in ("translate", "transformer-small", "60 pairs", "steps an epoch", "280 tokens for sources and targets"):
            self.assertIn(part, process.stderr)
        self.assertIn("perplexity", process.stdout)
        self.assertIn("bleu", process.stdout)
        said = weft("info", self.run_directory).stdout
        for part in ("encoder-decoder", "1 layer, 2 heads, feed-forward 24", "train.src", "perplexity"):
            self.assertIn(part, said)
        self.assertEqual(weft_json("info", self.run_directory)["config"]["eos_token_id"], 2)
        self.assertEqual(weft("report", self.run_directory).returncode, 0)
        self.assert_fails(weft("generate", self.run_directory, "--prompt", "x"), 1, "encoder-decoder", "weft translate")

    def test_other_commands_open_what_was_trained(self):
        """200 sentences of words that are copied; what `weft translate` writes is worth what the last evaluation said, to the last bit."""
        draw = random.Random(3)
        lines = [" ".join(draw.choices(["tree", "house", "river", "cloud", "stone"], k=draw.randint(1, 4))) for _ in range(200)]
        source = self.folder / "train.src"
        for name in ("train.src", "train.tgt"):
            (self.folder / name).write_text("\n".join(lines) + "\n")
        for beams in ("1", "2"):
            run = self.folder / f"beams-{beams}"
            found = weft_json(*self.arguments(run, "--steps", "150", "--batch-tokens", "512", "--width", "32", "--generated-examples", "200",
                                              "--eval-beams", beams, "--learning-rate", "0.005", "--max-target-positions", "16"))
            written = weft("translate", run, "--file", source, "--num-beams", beams, "--threads", "1")
            self.assertEqual(written.returncode, 0, written.stderr)
            (self.folder / "written").write_text(written.stdout)
            score = weft_json("score", "bleu", self.folder / "written", source)
            self.assertGreater(score["score"], 10)
            self.assertEqual(score["score"], found["evaluation"]["bleu"])
        self.assertEqual(weft("summarize", run, "tree").returncode, 0)
        self.assertEqual(json.loads((run / "generation_config.json").read_text())["suppress_tokens"], [1, 0])
        self.assertEqual(json.loads((run / "generation_config.json").read_text())["max_new_tokens_per_source"], "2:16")

    def test_a_killed_run_goes_on_to_the_same_bits(self):
        more = ["--steps", "120", "--checkpoint-every", "3", "--bpe-dropout", "0.1"]
        self.assertEqual(weft(*self.arguments(self.folder / "whole", *more)).returncode, 0)
        self.kill_at(self.arguments(self.run_directory, *more), 6)
        resumed = weft("train", "--resume", "--out", self.run_directory)
        self.assertEqual(resumed.returncode, 0, resumed.stderr)
        self.assertEqual(losses(self.run_directory), losses(self.folder / "whole"))
        for name in ("tokenizer.json", "model.safetensors"):
            self.assertEqual((self.run_directory / name).read_bytes(), (self.folder / "whole" / name).read_bytes(), name)

    def test_the_mean_of_checkpoints(self):
        more = ["--steps", "6", "--checkpoint-every", "2", "--keep-checkpoints", "3"]
        self.assertEqual(weft(*self.arguments(self.run_directory, *more)).returncode, 0)
        mean = self.folder / "mean"
        found = weft_json("average", self.run_directory, "--last", "2", "--out", mean)
        self.assertEqual([name.rsplit("/", 1)[1] for name in found["models"]], ["step-6", "step-4"])
        self.assertEqual(weft("info", mean).returncode, 0)
        self.assertEqual(weft("tokenize", mean, "tree").returncode, 0)
        self.assertFalse((mean / "optimizer.safetensors").exists())
        self.assert_fails(weft("average", self.run_directory, "--last", "9", "--out", self.folder / "more"), 1, "3 checkpoints", "--last 9")
        self.assert_fails(weft("average", self.run_directory, "--out", mean), 1, "exists")

    def test_two_processes_have_the_losses_of_one(self):
        alone = self.folder / "alone"
        self.assertEqual(weft(*self.arguments(alone, "--steps", "4", "--gradient-accumulation", "2", "--json")).returncode, 0)
        found = json.loads(self.together(self.arguments(self.run_directory, "--steps", "4", "--json")))
        last = [json.loads(line) for line in (alone / "metrics.jsonl").read_text().splitlines()][-1]
        self.assertAlmostEqual(found["evaluation"]["bleu"], last["eval"]["bleu"], places=3)
        # A part's loss is a mean over its own targets, in one process as in two: only rounding differs.
        for (step, loss), (_, expected) in zip(losses(self.run_directory), losses(alone), strict=True):
            self.assertAlmostEqual(loss, expected, delta=1e-5, msg=f"step {step}")
        self.assertGreater(found["evaluation"]["perplexity"], 1)

    def test_summaries_of_json_lines_with_a_given_tokeniser(self):
        records = [json.dumps({"document": "a tree and a house " * 4, "summary": "a tree"}) for _ in range(8)]
        (self.folder / "data.jsonl").write_text("\n".join(records))
        self.assertEqual(weft("tokenizer", "train", self.train_text, "--vocabulary-size", "270", "--out", self.folder / "words").returncode, 0)
        found = weft_json("train", "--task", "summarize", "--train-data", self.folder / "data.jsonl", "--tokenizer", self.folder / "words",
                          *[word for word in SMALL if word not in ("--vocabulary-size", "280")], "--attention", "window(8)", "--epochs", "2",
                          "--batch-tokens", "128", "--out", self.run_directory)
        self.assertGreater(found["steps"], 1)
        self.assertIn("window(8)", weft("info", self.run_directory).stdout)

    def goes_on(self, model, task, *more):
        """A run of 4 steps that begins with `model`, as the command prints it."""
        process = weft("train", "--task", task, "--model", model, "--train-source", self.folder / "train.src", "--train-target", self.folder / "train.tgt",
                       "--eval-source", self.folder / "train.src", "--eval-target", self.folder / "train.tgt", "--steps", "4", "--checkpoint-every", "2",
                       "--generated-examples", "2", "--threads", "1", "--out", self.run_directory, *more)
        self.assertEqual(process.returncode, 0, process.stderr)
        return process

    def test_a_directory_of_a_family_goes_on(self):
        marian = make_marian(self.folder / "marian")
        source = self.folder / "train.src"
        source.write_text("".join(f">>de<< {line}\n" for line in source.read_text().splitlines()))
        links = self.folder / "links"
        links.write_text("1-0\n" * 60)  # word 0 is the code
        process = self.goes_on(marian, "translate", "--attention", "window(5)", "--alignments", links, "--alignment-head", "1")
        for part in ("begins with", "marian", str(marian), "60 pairs"):
            self.assertIn(part, process.stderr)
        self.assertNotIn("preset", process.stderr)
        self.assertEqual((self.run_directory / "generation_config.json").read_bytes(), (marian / "generation_config.json").read_bytes())
        self.assertEqual(weft_json("info", self.run_directory)["family"], "marian")
        config = json.loads((self.run_directory / "config.json").read_text())
        self.assertEqual((config["alignment_layer"], config["alignment_head"]), (0, 1))
        self.assertEqual(weft("translate", self.run_directory, "--target-lang", "fr", "a man").returncode, 0)
        self.assertEqual(weft("train", "--resume", "--out", self.run_directory).returncode, 0)
        self.assert_fails(weft("train", "--resume", "--model", self.folder, "--out", self.run_directory), 1, "model is", str(marian))
        self.assert_fails(weft(*self.arguments(self.folder / "other", "--steps", "1", "--model", marian)), 2, "random weights")
        self.assert_fails(weft("train", "--task", "translate", "--model", self.folder, "--train-source", source, "--train-target", source,
                               "--steps", "1", "--out", self.folder / "other"), 1, "config.json")

    def test_a_warm_start_goes_on(self):
        encoder, start = make_model(self.folder / "encoder", "big_bird", "none"), self.folder / "start"
        self.assertEqual(weft("init", "--encoder", encoder, "--decoder-layers", "1", "--max-target-positions", "16", "--out", start).returncode, 0)
        self.goes_on(start, "summarize", "--max-source-length", "30", "--truncate")
        self.assertEqual(weft("summarize", self.run_directory, "tree").returncode, 0)
        self.assertEqual(weft("train", "--resume", "--out", self.run_directory).returncode, 0)
        self.assert_fails(weft("train", "--task", "summarize", "--model", encoder, "--train-data", "x.tsv", "--steps", "1", "--out", self.folder / "x"), 1, "x.tsv")
        (self.folder / "x.tsv").write_text("a\tb\nc\td\n")
        self.assert_fails(weft("train", "--task", "summarize", "--model", encoder, "--train-data", self.folder / "x.tsv", "--steps", "1", "--out",
                               self.folder / "x"), 1, "encoder-decoder")

    def test_presets_for_long_documents(self):
        for preset, attention in (("bigbird-pegasus", "bigbird"), ("led", "window(512) | global(1)")):
            run = self.folder / preset
            found = weft(*self.arguments(run, "--steps", "1", "--preset", preset, "--max-source-positions", "128", "--gradient-accumulation", "1"))
            self.assertEqual(found.returncode, 0, found.stderr)
            self.assertIn(attention, weft("info", run).stdout)
            self.assertIn(preset, found.stderr)

    def test_flags_of_other_tasks_are_refused(self):
        self.assert_fails(weft(*self.arguments(self.run_directory, "--steps", "1", "--context", "8")), 2, "--context", "translate")
        self.assert_fails(weft(*self.train_arguments(self.run_directory, "--steps", "1", "--train-source", "x")), 2, "--train-source", "lm")
        self.assert_fails(weft(*self.arguments(self.run_directory)), 2, "epochs")
        (self.folder / "train.tgt").write_text("one line\n")
        self.assert_fails(weft(*self.arguments(self.run_directory, "--steps", "1")), 1, "ends before line 2")
        self.assertFalse(self.run_directory.exists())


class EtcTest(Case):
    """That its numbers are those of its equations is shown by tests/models/etc_model_test.cpp."""

    def model(self, head="masked-lm", family="etc"):
        directory = self.folder / f"{family}-{head}"
        return directory if directory.exists() else make_model(directory, family, head)

    def config(self, directory):
        return json.loads(pathlib.Path(directory, "config.json").read_text())

    def test_a_new_model_knows_where_sentences_end(self):
        model = self.model()
        config = self.config(model)
        self.assertEqual((config["model_type"], config["architectures"], config["hidden_act"]), ("etc", ["EtcForMaskedLM"], "gelu_new"))
        vocabulary = (TOKENIZERS / "bert" / "vocab.txt").read_text().splitlines()
        self.assertEqual(sorted(vocabulary[id] for id in config["sentence_end_ids"]), sorted(mark for mark in MARKS if mark in vocabulary))
        self.assertEqual(weft_json("info", model)["attention"], "global_local(radius=6, distance=12, hard=none)")
        self.assertEqual(results("fill-mask", model, "the [MASK] weaves. we see!")[0]["metadata"]["attention"],
                         "global_local(radius=6, distance=12, hard=none)")

    def test_tasks_and_other_attention(self):
        for command, head in (("embed", "none"), ("classify", "sequence-classification"), ("tag", "token-classification")):
            self.assertEqual(len(results(command, self.model(head), SENTENCES, "we see.")), 2, command)
        self.assert_fails(weft("embed", self.model("none"), SENTENCES, "--json", "--attention", "full"), 1, "`full`", "no global tokens")
        self.assert_fails(weft("embed", self.model("none", "bert"), SENTENCES, "--json", "--attention", "global_local"), 1, "global_local(", "global tokens beside the text", "--to etc")

    def test_given_structure(self):
        model = self.model("none")
        ids = [[5, 6, 7, 8, 9, 10, 11, 12]]
        write_safetensors(self.folder / "rule.safetensors", input_ids=ids)
        write_safetensors(self.folder / "given.safetensors", input_ids=ids, global_input_ids=[[3, 1, 1]],
                          sentence_ids=[[0, 0, 1, 1, 1, 2, 2, 2]], segment_ids=[[0, 0, 1, 1, 1, 1, 1, 1]], sees_all=[[1, 0, 0]])
        found = {}
        for name in ("rule", "given"):
            out = self.folder / f"{name}-out.safetensors"
            process = weft("forward", model, "--input", self.folder / f"{name}.safetensors", "--output", out)
            self.assertEqual(process.returncode, 0, process.stderr)
            found[name] = read_safetensors(out)[0]
        self.assertIn("global_hidden_state", found["given"])
        self.assertNotEqual(found["rule"]["last_hidden_state"], found["given"]["last_hidden_state"])
        write_safetensors(self.folder / "wrong.safetensors", input_ids=ids, global_input_ids=[[3, 1, 1]], sentence_ids=[[3] * 8])
        self.assert_fails(weft("forward", model, "--input", self.folder / "wrong.safetensors", "--output", self.folder / "x"), 1,
                          "wrong.safetensors", "sentence_ids", "3 global tokens")
        self.assert_fails(weft("forward", self.model("none", "bert"), "--input", self.folder / "given.safetensors", "--output",
                               self.folder / "x"), 1, "given.safetensors", "global_input_ids", "bert")

    def test_hidden_sentences_in_a_run_that_goes_on(self):
        text = self.folder / "sentences.txt"
        text.write_text("the loom said hello. we see the thread! is it the world? " * 60)
        arguments = ["train", "--task", "mlm", "--model", self.model(), "--train-text", text, "--dtype", "float32", "--threads", "1",
                     "--batch-size", "2", "--contrastive-weight", "0.2", "--hidden-sentences", "0.3", "--checkpoint-every", "2"]
        whole = weft(*arguments, "--steps", "60", "--out", self.folder / "whole")
        self.assertEqual(whole.returncode, 0, whole.stderr)
        lines = [json.loads(line) for line in (self.folder / "whole" / "metrics.jsonl").read_text().splitlines()]
        first = next(line for line in lines if line.get("step") == 1)
        self.assertAlmostEqual(first["loss"], 0.8 * first["masked_loss"] + 0.2 * first["contrastive_loss"], places=4)
        self.kill_at([*arguments, "--steps", "60", "--out", self.run_directory], 4)
        resumed = weft("train", "--resume", "--out", self.run_directory)
        self.assertEqual(resumed.returncode, 0, resumed.stderr)
        self.assertEqual(losses(self.run_directory), losses(self.folder / "whole"))
        self.assert_fails(weft(*arguments, "--steps", "1", "--distill", self.model(), "--out", self.folder / "x"), 2, "--contrastive-weight",
                          "distill")
        self.assert_fails(weft("train", "--train-text", text, "--contrastive-weight", "0.2", "--steps", "1", "--out", self.folder / "x"), 2,
                          "--contrastive-weight", "etc")

    def test_convert_keeps_the_weights(self):
        source, out = self.model("masked-lm", "bert"), self.folder / "converted"
        made = weft_json("convert", source, "--to", "etc", "--length", "256", "--out", out)
        self.assertEqual((made["family"], made["positions"], made["head"]), ("etc", 256, "masked-lm"))
        self.assertEqual(self.config(out)["sentence_end_ids"], self.config(self.model())["sentence_end_ids"])
        self.assertEqual(len(results("fill-mask", out, " ".join(["the [MASK] weaves. we see!"] * 20))), 1)


class StarTransformerTest(Case):
    """That its numbers are those of its equations and of fastNLP is shown by tests/models/star_model_test.cpp."""

    def model(self, head="masked-lm"):
        directory = self.folder / f"star-{head}"
        return directory if directory.exists() else make_model(directory, "star_transformer", head, "--initializer-range", "0.1")

    def arguments(self, out, *more):
        text = self.folder / "text.txt"
        text.write_text("the loom said hello. we see the thread! is it the world? " * 60)
        return ["train", "--task", "mlm", "--model", self.model(), "--train-text", text, "--eval-text", text, *FAST, "--out", out, *more]

    def train(self, out, *more):
        process = weft(*self.arguments(out, *more))
        self.assertEqual(process.returncode, 0, process.stderr)
        return out

    def test_a_new_model_has_the_published_shape(self):
        base = self.folder / "base"
        made = weft_json("init", "--family", "star_transformer", "--vocab-size", "99", "--head", "sequence-classification", "--out", base)
        self.assertEqual((made["family"], made["positions"]), ("star_transformer", 512))
        info = weft_json("info", base, "--tensors")
        self.assertEqual((info["width"], info["layers"], info["heads"], info["feed_forward"]), (300, 4, 8, 600))
        self.assertEqual(info["attention"], "ring and relay")
        # Tables of tokens and positions; a norm and two attentions a layer, each of four matrices with biases; two layers of a classifier.
        layer = 2 * 300 + 2 * (3 * (300 + 1) * 256 + (256 + 1) * 300)
        self.assertEqual(info["parameters"], (99 + 512) * 300 + 4 * layer + 301 * 600 + 601 * 2)
        config = json.loads((base / "config.json").read_text())
        self.assertEqual((config["architectures"], config["attention_head_size"]), (["StarTransformerForSequenceClassification"], 32))
        self.assertIn("star_transformer.encoder.layer.3.relay.key.weight", {tensor["name"] for tensor in info["tensors"]})

    def test_it_learns_goes_on_and_takes_a_head(self):
        run = self.train(self.folder / "run", "--steps", "40", "--gradient-checkpointing")
        self.assertLess(losses(run)[-1][1], losses(run)[0][1])
        plain = self.train(self.folder / "plain", "--steps", "40")
        self.assertEqual(losses(plain), losses(run))
        self.assertEqual(len(results("fill-mask", run, "the [MASK] said hello.")), 1)
        table, classes = self.folder / "texts.tsv", self.folder / "classes"
        rows = [f"{'the loom said' if i % 2 else 'we see'} hello\t{'loom' if i % 2 else 'none'}\n" for i in range(24)]
        table.write_text("text\tlabel\n" + "".join(rows))
        process = weft("train", "--task", "classify", "--model", run, "--train-data", table, "--eval-data", table, *FAST, "--epochs", "8",
                       "--out", classes)
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertIn("classifier.out_proj.weight", process.stderr)
        self.assertEqual(weft_json("eval", classes, "--task", "classify", "--data", table, "--dtype", "float32")["accuracy"], 1.0)

    def test_stopped_runs_and_two_processes_learn_the_same(self):
        often = ["--steps", "200", "--checkpoint-every", "2"]
        whole = self.train(self.folder / "whole", *often)
        self.kill_at(self.arguments(self.run_directory, *often), 4)
        resumed = weft("train", "--resume", "--out", self.run_directory)
        self.assertEqual(resumed.returncode, 0, resumed.stderr)
        self.assertEqual(losses(self.run_directory), losses(whole))
        # The last relay has no gradient in pre-training: nobody's weights of it decay.
        one, two = self.folder / "one", self.folder / "two"
        self.train(one, "--steps", "20", "--weight-decay", "0.1", "--gradient-accumulation", "2")
        self.together(self.arguments(two, "--steps", "20", "--weight-decay", "0.1"))
        for (_, left), (_, right) in zip(losses(one), losses(two), strict=True):
            self.assertLess(abs(left - right), 1e-5)
        relays = [read_safetensors(run / "model.safetensors")[0]["star_transformer.encoder.layer.1.relay.output.weight"]
                  for run in (one, two, self.model())]
        self.assertEqual(relays, [relays[2]] * 3)

    def test_the_bare_encoder_gives_its_relay(self):
        write_safetensors(self.folder / "in.safetensors", input_ids=[[5, 6, 7, 8], [5, 6, 0, 0]], attention_mask=[[1] * 4, [1, 1, 0, 0]])
        write_safetensors(self.folder / "alone.safetensors", input_ids=[[5, 6]])
        found = {}
        for name in ("in", "alone"):
            out = self.folder / f"{name}-out.safetensors"
            process = weft("forward", self.model("none"), "--input", self.folder / f"{name}.safetensors", "--output", out)
            self.assertEqual(process.returncode, 0, process.stderr)
            shape, data = read_safetensors(out)[0]["global_hidden_state"]
            found[name] = struct.unpack(f"<{len(data) // 4}f", data)
        self.assertEqual(shape, [1, 1, 32])
        for one, other in zip(found["in"][32:], found["alone"], strict=True):
            self.assertAlmostEqual(one, other, places=5)

    def test_what_it_has_not_is_refused(self):
        bare, text, out = self.model("none"), self.folder / "texts.txt", self.folder / "x"
        text.write_text("we see.\n")
        for arguments, words in (
                (("embed", bare, "we see.", "--json", "--attention", "star"), ("ring and relay", "'star'", "transformer blocks")),
                (("convert", bare, "--attention", "linear", "--out", out), ("bert or roberta", "star_transformer")),
                (("attention", bare, "we see.", "--out", out), ("no layer of this model can be watched", "ring and a relay")),
                (("profile", bare, "--text", text, "--out", out), ("no layer has weights to profile", "no attention over a pattern")),
                (("convert", bare, "--to", "longformer", "--out", out), ("bert or roberta", "star_transformer")),
                (("init", "--encoder", bare, "--decoder-layers", "1", "--out", out), ("no transformer blocks", "bert"))):
            self.assert_fails(weft(*arguments), 1, *words)
            self.assertFalse(out.exists(), arguments)
        # A flag that is wrong by itself ends with 2.
        self.assert_fails(weft("init", "--family", "bert", "--attention-head-size", "8", "--out", out), 2, "--attention-head-size", "bert")
        self.assert_fails(weft("init", "--family", "star_transformer", "--attention", "full", "--out", out), 2, "ring and relay", "'full'")
        self.assert_fails(weft("init", "--family", "star_transformer", "--attention-probs-dropout-prob", "0.1", "--out", out), 2, "drops nothing", "0.1")


if __name__ == "__main__":
    unittest.main()
