# SPDX-License-Identifier: Apache-2.0
"""`weft init`, `convert`, `forward`, `bench model` and `info` on encoder directories, and on those of encoder-decoders."""

import json
import pathlib
import shutil
import struct
import unittest

from encoder_program import FIXTURES, SMALL, TEXT, families_with, make_model, read_safetensors, results, spoil, write_safetensors
from weft_program import Case, weft, weft_json

OUTPUTS = {
    "none": {"last_hidden_state"},
    "masked-lm": {"logits"},
    "sequence-classification": {"logits"},
    "token-classification": {"logits"},
    "question-answering": {"start_logits", "end_logits"},
    "multiple-choice": {"logits"},
}

PAIR_SHAPE = ["--vocab-size", "40", "--d-model", "16", "--encoder-layers", "2", "--decoder-layers", "1", "--encoder-attention-heads", "2", "--decoder-attention-heads", "2",
         "--encoder-ffn-dim", "16", "--decoder-ffn-dim", "16", "--max-source-positions", "48", "--pad-token-id", "1", "--eos-token-id", "2",
         "--decoder-start-token-id", "2", "--init-std", "0.3"]
TOKENIZED_SHAPE = [*PAIR_SHAPE[2:-8], "--init-std", "0.3"]  # sizes and ids are the tokeniser's
PAIR_OWN = {"marian": [], "bart": [], "pegasus": [], "bigbird_pegasus": ["--block-size", "4", "--num-random-blocks", "1"], "led": ["--attention-window", "8"]}
PAIR_POSITIONS = {"led": ["--max-target-positions", "20"]}  # elsewhere the number of the source is for both sides
PAIR_SOURCE, PAIR_TARGET = [[4 + index % 30 for index in range(37)], [9] * 30 + [1] * 7], [[2, 5, 6], [2, 7, 8]]


def floats(entry):
    shape, data = entry
    return shape, struct.unpack(f"<{len(data) // 4}f", data)


class ForwardTest(Case):
    def setUp(self):
        super().setUp()
        self.input = self.folder / "in.safetensors"
        self.output = self.folder / "out.safetensors"

    def forward(self, model, *more):
        process = weft("forward", model, "--input", self.input, "--output", self.output, *more)
        self.assertEqual(process.returncode, 0, process.stderr)
        return read_safetensors(self.output)

    def test_outputs_have_the_names_of_transformers(self):
        # Three separators of RoBERTa (2) a row, which Longformer's question answering looks for.
        rows = {"input_ids": [[0, 5, 2, 2, 6, 2], [0, 7, 2, 2, 2, 1]], "attention_mask": [[1] * 6, [1] * 5 + [0]]}
        for head, names in OUTPUTS.items():
            for family in families_with(head):
                choices = head == "multiple-choice"  # [batch, choices, length]
                write_safetensors(self.input, **{name: [values, values] if choices else values for name, values in rows.items()})
                model = make_model(self.folder / f"{family}-{head}", family, head)
                tensors, metadata = self.forward(model)
                self.assertLessEqual(names, set(tensors), f"{family} {head}")
                self.assertEqual(next(iter(tensors.values()))[0][0], 2)
                self.assertEqual(metadata["dtype"], "float32")
                self.assertIn("attention", metadata)

    def test_types_and_global_positions_are_read(self):
        ids = [[0] + list(range(5, 45)) + [2]]
        for family, name in (("bert", "token_type_ids"), ("longformer", "global_attention_mask")):
            model = make_model(self.folder / family, family, "none")
            found = []
            for rows in ({}, {name: [[0] * 42]}, {name: [[1] + [0] * 41]}):
                write_safetensors(self.input, input_ids=ids, **rows)
                found.append(self.forward(model)[0]["last_hidden_state"])
            self.assertEqual(found[0], found[1], name)
            self.assertNotEqual(found[0], found[2], name)

    def test_global_positions_of_a_model_without_any(self):
        write_safetensors(self.input, input_ids=[[2, 5, 6, 3]], global_attention_mask=[[1, 0, 0, 0]])
        model = make_model(self.folder / "model", "bert", "none")
        self.assert_fails(weft("forward", model, "--input", self.input, "--output", self.folder / "x.safetensors"), 1, "global_attention_mask",
                          "no attention of the model names")

    def test_settings_of_an_attention_that_is_not_there(self):
        bert = make_model(self.folder / "bert", "bert", "none")
        self.assert_fails(weft("embed", bert, "hello", "--random", "uniform"), 2, "--random is for big_bird, but the model is bert")
        blocks = make_model(self.folder / "blocks", "big_bird", "none")
        for flag in (("--block-size", "4"), ("--random-blocks", "0"), ("--random", "uniform"), ("--attention-type", "original_full")):
            self.assert_fails(weft("embed", blocks, "hello", "--attention", "window(2)", *flag), 2, flag[0], "'window(2)'")
        config = json.loads((blocks / "config.json").read_text())
        (blocks / "config.json").write_text(json.dumps(config | {"attention": ["window(2)"] * config["num_hidden_layers"]}))
        for flag in (("--block-size", "8"), ("--random", "uniform")):
            self.assert_fails(weft("embed", blocks, "hello", *flag), 2, flag[0], "'window(2)' of config.json replaces")

    def test_padding_and_threads_change_nothing(self):
        model = make_model(self.folder / "model", "big_bird", "none")
        write_safetensors(self.input, input_ids=[[2, 5, 6, 3]])
        shape, alone = floats(self.forward(model)[0]["last_hidden_state"])
        self.assertEqual(shape, [1, 4, 32])
        write_safetensors(self.input, input_ids=[[2, 5, 6, 3, 0, 0, 0]], attention_mask=[[1, 1, 1, 1, 0, 0, 0]])
        padded = floats(self.forward(model, "--threads", "1")[0]["last_hidden_state"])[1]
        for left, right in zip(alone, padded[:len(alone)]):
            self.assertAlmostEqual(left, right, places=5)

    def test_flags(self):
        model = make_model(self.folder / "model", "big_bird", "none")
        write_safetensors(self.input, input_ids=[list(range(7, 67))])
        for arguments, word in ((("--random", "hf-eval"), "hf-eval"), (("--attention-type", "original_full"), "full"),
                                (("--attention", "window(4)"), "window"), (("--block-size", "8", "--random-blocks", "0"), "block")):
            metadata = self.forward(model, *arguments)[1]
            self.assertIn(word, json.dumps(metadata), arguments)
        self.assertEqual(self.forward(model, "--dtype", "bfloat16")[1]["dtype"], "bfloat16")

    def test_mistakes(self):
        model = make_model(self.folder / "model", "bert", "none")
        arguments = ("forward", model, "--input", self.input, "--output", self.output)
        self.assert_fails(weft(*arguments), 1, "in.safetensors")
        write_safetensors(self.input, ids=[[1]])
        self.assert_fails(weft(*arguments), 1, "'ids'", "input_ids")
        write_safetensors(self.input, attention_mask=[[1]])
        self.assert_fails(weft(*arguments), 1, "no tensor 'input_ids'")
        write_safetensors(self.input, input_ids=[[10**6]])
        self.assert_fails(weft(*arguments), 1, "1000000")
        write_safetensors(self.input, input_ids=[[1] * 100])
        self.assert_fails(weft(*arguments), 1, "100", "62")
        self.assert_fails(weft(*arguments, "--random", "maybe"), 2, "hf-eval")
        self.assertFalse(self.output.exists())


class DirectoryTest(Case):
    def test_init_and_info(self):
        made = weft_json("init", "--family", "longformer", *SMALL, "--attention-window", "8", "--head", "token-classification",
                         "--labels", "O", "B-X", "--vocab-size", "99", "--out", self.folder / "fresh")
        self.assertEqual((made["family"], made["head"], made["positions"]), ("longformer", "token-classification", 4096))
        info = weft_json("info", self.folder / "fresh", "--tensors")
        self.assertEqual(info["labels"], ["O", "B-X"])
        self.assertEqual(info["parameters"], made["parameters"])
        self.assertFalse(info["tokenizer"])
        self.assertGreater(len(info["tensors"]), 20)
        self.assertIn("token-classification", weft("info", self.folder / "fresh").stdout)

    def test_weights_that_are_no_numbers_are_reported(self):
        model = make_model(self.folder / "model", "bert", "none")
        self.assertEqual(weft_json("info", model, "--check-tensors")["not_finite"], [])
        self.assertIn("every weight is finite", weft("info", model, "--check-tensors").stdout)
        spoil(model / "model.safetensors", "layer.1.output.LayerNorm.bias", float("nan"))
        (found,) = weft_json("info", model, "--check-tensors")["not_finite"]
        self.assertEqual((found["name"].split(".")[-4:], found["not_finite"]), (["1", "output", "LayerNorm", "bias"], 1))
        self.assertIn("layer.1.output.LayerNorm.bias", weft("info", model, "--check-tensors").stdout)
        self.assertNotIn("not_finite", weft_json("info", model))

    def test_init_is_a_function_of_its_seed(self):
        for name, seed in (("a", "1"), ("b", "1"), ("c", "2")):
            make_model(self.folder / name, "bert", "none", "--seed", seed)
        weights = [(self.folder / name / "model.safetensors").read_bytes() for name in "abc"]
        self.assertEqual(weights[0], weights[1])
        self.assertNotEqual(weights[0], weights[2])

    def test_init_takes_a_config(self):
        model = make_model(self.folder / "first", "big_bird", "masked-lm")
        made = weft_json("init", "--config", model / "config.json", "--head", "none", "--num-hidden-layers", "1", "--out", self.folder / "second")
        self.assertEqual((made["family"], made["positions"]), ("big_bird", 62))
        self.assertEqual(weft_json("info", self.folder / "second")["layers"], 1)

    def test_nothing_is_overwritten(self):
        model = make_model(self.folder / "model", "bert", "none")
        before = (model / "model.safetensors").read_bytes()
        self.assert_fails(weft("init", "--family", "bert", "--out", model), 1, "already holds a model")
        self.assert_fails(weft("convert", model, "--to", "big_bird", "--out", model), 1, "already holds a model")
        self.assertEqual((model / "model.safetensors").read_bytes(), before)
        self.assert_fails(weft("init", "--family", "gpt", "--out", self.folder / "x"), 2, "gpt", "bert")
        self.assert_fails(weft("init", "--hidden-size", "30", "--num-attention-heads", "4", "--out", self.folder / "x"), 2, "--hidden-size 30", "--num-attention-heads 4")
        self.assertFalse((self.folder / "x").exists())

    def test_convert_to_another_mechanism(self):
        short = make_model(self.folder / "roberta", "roberta", "masked-lm")
        for expression in ("linear", "window(8)"):
            out = self.folder / expression
            weft_json("convert", short, "--attention", expression, "--length", "128", "--out", out)
            self.assertEqual(weft_json("info", out)["attention"], expression)
            (found,) = results("embed", out, TEXT)
            (asked,) = results("embed", short, TEXT, "--attention", expression)
            for one, other in zip(found["result"], asked["result"]):
                self.assertAlmostEqual(one, other, places=5)
        for expression in ("performer(features=8)", "nystrom(landmarks=4, iterations=6, conv=3)"):  # these bring numbers of their own
            out = self.folder / "own"
            weft_json("convert", short, "--attention", expression, "--length", "128", "--out", out)
            self.assertEqual(weft_json("info", out)["attention"], expression)
            (found,) = results("embed", out, TEXT)
            self.assertEqual(results("embed", out, TEXT), [found])
            shutil.rmtree(out)

    def test_a_model_of_rotary_positions_stays_what_it_is(self):
        short, out = make_model(self.folder / "modernbert", "modernbert", "none", "--num-hidden-layers", "4"), self.folder / "long"
        weft_json("convert", short, "--to", "modernbert", "--length", "128", "--attention", "full => window(6)", "--out", out)
        config = json.loads((out / "config.json").read_text())
        self.assertEqual(config["attention"], ["window(6)", "window(8)", "window(8)", "window(6)"])
        self.assertEqual((config["max_position_embeddings"], config["local_attention"]), (128, 8))

    def test_a_new_family_brings_its_own_attention(self):
        short, out = make_model(self.folder / "bert", "bert", "none", "--attention", "linear"), self.folder / "littlebird"
        process = weft("convert", short, "--to", "littlebird", "--length", "64", "--latents", "3", "--out", out)
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertIn("no longer by the attention 'linear'", process.stderr)
        config = json.loads((out / "config.json").read_text())
        self.assertEqual((config.get("attention"), config["num_latents"]), (None, 3))
        process = weft("convert", short, "--to", "littlebird", "--length", "64", "--attention", "linear", "--out", self.folder / "linear")
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertIn("'linear' knows no positions by itself", process.stderr)
        self.assertNotIn("no longer", process.stderr)

    def test_flags_that_a_family_or_an_attention_leaves_without_effect(self):
        short, out = make_model(self.folder / "bert", "bert", "none"), self.folder / "x"
        for code, arguments, words in (
                (2, ("convert", short, "--to", "littlebird", "--attention-window", "5"), ("--attention-window", "family littlebird")),
                (2, ("convert", short, "--attention", "linear", "--attention-window", "8"), ("--attention-window", "'linear' replaces")),
                (1, ("convert", short, "--attention", "little_bird", "--length", "64"), ("knows positions by itself", "hint: ", "--to littlebird")),
                (2, ("init", "--family", "bert", "--local-radius", "4"), ("--local-radius", "family bert")),
                (2, ("init", "--family", "littlebird", "--attention", "little_bird", "--num-latents", "9"), ("--num-latents", "'little_bird' replaces")),
                (2, ("init", "--family", "etc", "--attention", "global_local(radius=3)", "--local-radius", "7"), ("--local-radius", "replaces")),
                (2, ("init", "--family", "bert", "--attention", "little_bird"), ("--position-embedding-type none", "--family littlebird")),
                (2, ("init", "--family", "nystromformer", "--conv-kernel-size", "0"), ("--conv-kernel-size", "or -1"))):
            self.assert_fails(weft(*arguments, "--out", out), code, *words)
            self.assertFalse(out.exists(), arguments)

    def test_convert_serves_long_texts(self):
        for source, to, more in (("roberta", "longformer", ("--attention-window", "8")), ("bert", "littlebird", ("--block-size", "4", "--latents", "8")),
                                 ("bert", "etc", ()),
                                 ("bert", "big_bird", ("--block-size", "4", "--random-blocks", "1"))):
            short = make_model(self.folder / f"{source}-for-{to}", source, "token-classification")
            out = self.folder / f"{source}-{to}"
            made = weft_json("convert", short, "--to", to, "--length", "256", *more, "--out", out)
            self.assertEqual((made["family"], made["positions"], made["head"]), (to, 256, "token-classification"))
            text = " ".join([TEXT] * 9)
            (cut,) = results("embed", short, text)
            self.assertGreater(cut["metadata"]["windows"], 1)
            (found,) = results("embed", out, text)
            self.assertGreater(found["metadata"]["tokens"], 62)
            self.assertEqual(found["metadata"]["windows"], 1)
            settings = json.loads(pathlib.Path(out, "tokenizer_config.json").read_text())
            self.assertEqual(settings["model_max_length"], 256)
        self.assert_fails(weft("convert", out, "--to", "longformer", "--out", self.folder / "y"), 1, "big_bird")


class Int8Test(Case):
    def test_a_saved_model_gives_the_bits_of_the_flag(self):
        for family, head, task in (("bert", "masked-lm", ("fill-mask", "the [MASK] weaves")), ("modernbert", "none", ("embed", TEXT)),
                                   ("roberta", "sequence-classification", ("classify", TEXT))):
            plain = make_model(self.folder / family, family, head)
            saved = self.folder / f"{family}-int8"
            made = weft_json("convert", plain, "--weights", "int8", "--out", saved)
            self.assertEqual((made["weights"], made["head"]), ("int8", head))
            self.assertEqual(made["parameters"], weft_json("convert", plain, "--weights", "int8", "--out", self.folder / f"{family}-again")["parameters"])
            (flag,), (file,), (exact,) = (results(task[0], model, task[1], *more) for model, more in ((plain, ("--weights", "int8")), (saved, ()), (plain, ())))
            self.assertEqual(flag["result"], file["result"])
            self.assertNotEqual(flag["result"], exact["result"])
            self.assertEqual((flag["metadata"]["weights"], file["metadata"]["weights"]), ("int8", "int8"))
            self.assertNotIn("weights", exact["metadata"])
            # What is not int8 is computed in what the processor is fast at, unless the user says another type.
            (fast,) = results(task[0], plain, task[1], "--dtype", "auto")
            self.assertEqual([found["metadata"]["dtype"] for found in (flag, file, exact)], [fast["metadata"]["dtype"]] * 2 + ["float32"])
            named = [results(task[0], model, task[1], "--dtype", "float32", *more)[0] for model, more in ((plain, ("--weights", "int8")), (saved, ()))]
            self.assertEqual([found["metadata"]["dtype"] for found in named], ["float32"] * 2)
            self.assertEqual(named[0]["result"], named[1]["result"])
            sizes = [(folder / "model.safetensors").stat().st_size for folder in (saved, plain)]
            self.assertLess(sizes[0], 0.5 * sizes[1])  # of a model this small norms, positions and names are a large part

    def test_forward_and_bench_take_the_flag(self):
        model = make_model(self.folder / "model", "bert", "masked-lm")
        ids = self.folder / "ids.safetensors"
        write_safetensors(ids, input_ids=[[2, 5, 6, 3]])
        found = {}
        for weights in ("stored", "int8"):
            out = self.folder / f"{weights}.safetensors"
            said = weft_json("forward", model, "--input", ids, "--output", out, "--weights", weights)
            self.assertEqual(said.get("weights"), "int8" if weights == "int8" else None)
            found[weights], metadata = read_safetensors(out)
            self.assertEqual(metadata.get("weights"), said.get("weights"))
        self.assertNotEqual(found["stored"], found["int8"])
        said = weft_json("bench", "model", model, "--length", "20", "--repeats", "1", "--weights", "int8")
        self.assertEqual(said["weights"], "int8")
        self.assert_fails(weft("bench", "model", model, "--train", "--weights", "int8"), 2, "no gradients")

    def test_check_says_what_it_costs(self):
        text = self.folder / "held-out.txt"
        text.write_text("".join(f"{TEXT} {number}\n" for number in range(20)))
        masked = make_model(self.folder / "masked", "bert", "masked-lm")
        cost = weft_json("convert", masked, "--weights", "int8", "--check", text, "--out", self.folder / "masked-int8")["check"]
        self.assertEqual((cost["measure"], cost["pieces"]), ("nats a masked token", 1))
        fast = "bfloat16" if weft_json("version")["fast_bfloat16"] else "float32"
        self.assertEqual(cost["dtype"], {"stored": "float32", "int8": fast}, "as the commands compute")
        self.assertAlmostEqual(cost["int8"] - cost["stored"], cost["mean_change"], places=9)
        self.assertLess(abs(cost["mean_change"]), 0.5 * cost["stored"])
        bare = make_model(self.folder / "bare", "bert", "none")
        cost = weft_json("convert", bare, "--weights", "int8", "--check", text, "--out", self.folder / "bare-int8")["check"]
        self.assertEqual((cost["measure"], cost["texts"]), ("1 - cosine", 20))
        self.assertTrue(0 <= cost["mean_change"] <= cost["worst_change"] < 0.1, cost)
        # No command but weft eval opens a model that only predicts masked tokens.
        masked = self.folder / "predictor"
        self.train("--steps", "2", "--encoder", out=masked)
        (masked / "training.json").unlink()  # which says what products are computed in
        made = self.folder / "predictor-int8"
        cost = weft_json("convert", masked, "--weights", "int8", "--check", text, "--out", made)["check"]
        self.assertEqual(cost["dtype"], {"stored": fast, "int8": fast})
        for model, figure in ((masked, "stored"), (made, "int8")):
            self.assertAlmostEqual(weft_json("eval", model, "--text", text)["loss"], cost[figure], places=12)
        process = weft("convert", bare, "--weights", "int8", "--check", text, "--out", self.folder / "table")
        self.assertIn("cost of int8", process.stdout)
        self.assertRegex(process.stdout, f"dtype int8 +{fast}")

    def test_what_does_not_fit_is_said_before_anything_is_made(self):
        model, out = make_model(self.folder / "model", "bert", "none"), self.folder / "out"
        text = self.folder / "held-out.txt"
        text.write_text(TEXT)
        for code, more, words in (
                (2, ("--check", text), ("--check", "--weights int8")),
                (2, ("--weights", "int8", "--check-target", text), ("--check",)),
                (1, ("--weights", "int8", "--check", text, "--check-target", text), ("--check-target", "encoder-decoders")),
                (1, ("--weights", "int8", "--check", self.folder / "nothing"), ("--check", "nothing", "is no file")),
                (1, ("--weights", "int8", "--length", "99"), ("--weights", "no other option"))):
            self.assert_fails(weft("convert", model, *more, "--out", out), code, *words)
            self.assertFalse(out.exists(), more)
        self.assertEqual(weft("convert", model, "--weights", "int8", "--out", out).returncode, 0)
        self.assert_fails(weft("convert", out, "--weights", "int8", "--out", self.folder / "x"), 1, "int8", "floating-point")
        self.assert_fails(weft("average", out, out, "--out", self.folder / "x"), 1, "int8", "a mean")
        self.assert_fails(weft("bench", "model", out, "--train"), 1, "int8", "--train needs floating-point")
        data = self.folder / "data.tsv"
        data.write_text("text\tlabel\n" + f"{TEXT}\ta\n{TEXT} no\tb\n" * 4)
        self.assert_fails(weft("train", "--task", "classify", "--model", out, "--train-data", data, "--epochs", "1", "--out", self.folder / "run"), 1, "int8", "training")


class BenchModelTest(Case):
    FIELDS = {"seconds", "peak_gb", "gemm_bound_seconds", "share_of_bound", "attention_seconds", "gemm_gflops", "tokens_per_second"}

    def test_forward_and_fill_mask(self):
        model = make_model(self.folder / "model", "big_bird", "masked-lm")
        for task in ("forward", "fill-mask"):
            found = weft_json("bench", "model", model, "--length", "60", "--batch", "2", "--task", task, "--repeats", "1", "--profile")
            self.assertLessEqual(self.FIELDS, set(found))
            self.assertTrue(all(found[name] > 0 for name in self.FIELDS - {"attention_seconds"}))
            self.assertGreater(len(found["profile"]), 3)
        self.assertNotIn("profile", weft_json("bench", "model", model, "--length", "8", "--repeats", "1"))

    def test_training_step(self):
        model = make_model(self.folder / "model", "bert", "masked-lm")
        for dtype in ("float32", "bfloat16"):
            found = weft_json("bench", "model", model, "--length", "16", "--train", "--dtype", dtype, "--repeats", "1")
            self.assertIs(found["train"], True)
        bare = make_model(self.folder / "bare", "bert", "none")
        self.assert_fails(weft("bench", "model", bare, "--length", "8", "--train"), 1, "masked-lm", "none")
        self.assert_fails(weft("bench", "model", model, "--length", "8", "--train", "--task", "fill-mask"), 2, "--train")
        self.assert_fails(weft("bench", "model", model, "--length", "80"), 1, "80", "62")


class EncoderDecoderDirectoriesTest(Case):
    def made(self, family):
        out = self.folder / family
        both = PAIR_POSITIONS.get(family, [])
        process = weft("init", "--family", family, "--out", out, *PAIR_SHAPE, *both, *PAIR_OWN[family])
        self.assertEqual(process.returncode, 0, process.stderr)
        return out

    def forward(self, model, *more, **tensors):
        given, made = self.folder / "in.safetensors", self.folder / "out.safetensors"
        write_safetensors(given, **{"input_ids": PAIR_SOURCE, "decoder_input_ids": PAIR_TARGET, "attention_mask": [[1] * 37, [1] * 30 + [0] * 7]} | tensors)
        process = weft("forward", model, "--input", given, "--output", made, *more)
        self.assertEqual(process.returncode, 0, process.stderr)
        return read_safetensors(made)

    def refused(self, arguments, *words):
        process = weft(*arguments)
        self.assertEqual(process.returncode, 1, process.stdout)
        self.assertEqual(process.stdout, "")
        for word in words:
            self.assertIn(word, process.stderr)

    def test_every_family_is_made_described_computed_and_written_again(self):
        for family in PAIR_OWN:
            model = self.made(family)
            said = weft_json("info", model)
            self.assertEqual((said["family"], said["kind"], said["vocabulary"]), (family, "encoder-decoder", {"source": 40, "target": 40}))
            self.assertIn(f"{family} encoder-decoder", weft("info", model).stdout)
            tensors, metadata = self.forward(model)
            self.assertEqual({name: shape for name, (shape, _) in tensors.items()}, {"logits": [2, 3, 40], "encoder_last_hidden_state": [2, 37, 16]})
            self.assertEqual(metadata.get("global"), "the first token of each source" if family == "led" else None)
            again = self.folder / f"{family}-again"
            self.assertEqual(weft("convert", model, "--out", again).returncode, 0)
            self.assertEqual(self.forward(again)[0], tensors)
            self.assertEqual(json.loads((again / "config.json").read_text()), json.loads((model / "config.json").read_text()))

    def test_a_tokeniser_decides_sizes_and_special_ids(self):
        for name in ("marian-codes", "marian-separate"):
            files, out = FIXTURES / "pairs" / name, self.folder / name
            process = weft("init", "--family", "marian", "--tokenizer", files, "--out", out, *TOKENIZED_SHAPE)
            self.assertEqual(process.returncode, 0, process.stderr)
            pieces = json.loads((files / "vocab.json").read_text())
            config = json.loads((out / "config.json").read_text())
            self.assertEqual((config["pad_token_id"], config["eos_token_id"], config["decoder_start_token_id"]), (pieces["<pad>"], pieces["</s>"], pieces["<pad>"]))
            self.assertEqual(config["share_encoder_decoder_embeddings"], name == "marian-codes")
            longer = self.folder / f"{name}-longer"
            self.assertEqual(weft("convert", out, "--length", "99", "--out", longer).returncode, 0)
            self.assertEqual(json.loads((longer / "tokenizer_config.json").read_text())["model_max_length"], 99)

    def test_another_pattern_for_the_encoder(self):
        model, local = self.made("bart"), self.folder / "local"
        _, metadata = self.forward(model, "--attention", "window(3)")
        self.assertEqual(metadata["attention"], "window(3)")
        self.assertEqual(weft("convert", model, "--attention", "window(3)", "--length", "100", "--out", local).returncode, 0)
        self.assertEqual(self.forward(local)[1]["attention"], "window(3)")
        self.assertEqual(weft_json("info", local)["encoder"]["positions"], 100)
        led = self.folder / "led"
        self.assertEqual(weft("convert", model, "--to", "led", "--length", "100", "--attention-window", "8", "--out", led).returncode, 0)
        self.assertEqual(weft_json("info", led)["family"], "led")

    def test_an_encoder_starts_both_sides(self):
        encoder, out = make_model(self.folder / "encoder", "big_bird", "none"), self.folder / "started"
        process = weft("init", "--encoder", encoder, "--decoder-layers", "1", "--max-target-positions", "16", "--out", out)
        self.assertEqual(process.returncode, 0, process.stderr)
        said = weft_json("info", out)
        self.assertEqual((said["family"], said["decoder"]["layers"], said["config"]["max_target_positions"]), ("weft", 1, 16))
        self.assertTrue((out / "tokenizer.json").exists() or (out / "spiece.model").exists())
        self.forward(out, input_ids=PAIR_SOURCE, attention_mask=[[1] * 37] * 2)

    def test_what_is_wrong_is_said(self):
        model = self.made("marian")
        write_safetensors(self.folder / "in", input_ids=PAIR_SOURCE)
        self.refused(["forward", model, "--input", self.folder / "in", "--output", self.folder / "out"], "decoder_input_ids")
        self.refused(["forward", model, "--attention-type", "block_sparse", "--input", self.folder / "in", "--output", self.folder / "out"], "decoder_input_ids")
        self.refused(["init", "--family", "marian", "--head", "masked-lm", "--out", self.folder / "x"], "--head", "encoders")
        self.refused(["init", "--family", "bart", "--attention-window", "8", "--out", self.folder / "x"], "--attention-window", "bart")
        self.refused(["convert", model, "--block-size", "8", "--out", self.folder / "x"], "--block-size", "encoder-decoder")
        self.refused(["convert", model, "--to", "led", "--out", self.folder / "x"], "bart")
        process = weft("convert", model, "--attention-window", "8", "--out", self.folder / "x")
        self.assertEqual(process.returncode, 2, process.stdout)
        self.assertIn("marian", process.stderr)
        self.assert_fails(weft("init", "--family", "mariam", "--out", self.folder / "x"), 2, "longformer", "marian", "'mariam'")
        self.refused(["init", "--family", "bart", "--config", model, "--out", self.folder / "x"], "--family bart", "another")
        self.refused(["fill-mask", model, "text"], "encoder-decoder")
        config = json.loads((model / "config.json").read_text())
        (self.folder / "number.json").write_text(json.dumps(config | {"model_type": 3}))
        self.refused(["init", "--config", self.folder / "number.json", "--out", self.folder / "x"], "number.json", "model_type")
        self.refused(["convert", model, "--out", self.folder / "number.json"], "number.json", "no directory")
        (model / "config.json").write_text(json.dumps(config | {"decoder_vocab_size": 39}))
        self.refused(["info", model], "config.json", "40", "39")


if __name__ == "__main__":
    unittest.main()
