# SPDX-License-Identifier: Apache-2.0
"""`weft eval`, `weft generate` and `weft info` on one tiny trained run."""

import json
import math
import pathlib
import shutil
import signal
import struct
import subprocess
import tempfile
import time
import unittest

from encoder_program import read_safetensors, results, write_safetensors
from weft_program import BINARY, Case, environment, weft, weft_json

SHARED = {}


def tearDownModule():
    if SHARED:
        shutil.rmtree(SHARED["folder"], ignore_errors=True)


class ModelCase(Case):
    """A case whose `model` is a run trained once for the whole file."""

    def setUp(self):
        super().setUp()
        if not SHARED:
            SHARED["folder"] = tempfile.mkdtemp(prefix="weft-model-")
            self.train("--steps", "30", "--eval-text", self.held_out, out=pathlib.Path(SHARED["folder"]) / "run")
        self.model = pathlib.Path(SHARED["folder"]) / "run"


class EvalTest(ModelCase):
    def test_every_byte_but_the_first_is_scored_once(self):
        size = self.held_out.stat().st_size
        found = weft_json("eval", self.model, "--text", self.held_out)
        self.assertEqual(set(found), {"bits_per_byte", "bits_per_character", "perplexity", "bytes", "characters", "tokens", "context", "dtype", "seconds"})
        self.assertEqual((found["bytes"], found["context"]), (size - 1, 64))
        self.assertAlmostEqual(math.log2(found["perplexity"]), found["bits_per_byte"], places=9)  # bytes are the tokens
        for context in (1, 7, 64, 100000):
            found = weft_json("eval", self.model, "--text", self.held_out, "--context", context)
            self.assertEqual((found["bytes"], found["context"]), (size - 1, context))

    def test_bits_are_of_characters_and_bases_too(self):
        letters = self.folder / "letters.txt"
        letters.write_text("xäöü graph\n")
        found = weft_json("eval", self.model, "--text", letters)
        self.assertEqual((found["bytes"], found["characters"], found["tokens"]), (13, 10, 13))
        self.assertAlmostEqual(found["bits_per_character"] * 10, found["bits_per_byte"] * 13, places=9)
        letters.write_text("GATTACA\nacgtn\n")
        found = weft_json("eval", self.model, "--text", letters)
        self.assertAlmostEqual(found["bits_per_base"] * 11, found["bits_per_byte"] * 13, places=9)
        self.assertIn("bits per base", weft("eval", self.model, "--text", letters).stdout)

    def test_int8_weights(self):
        saved = self.folder / "int8"
        cost = weft_json("convert", self.model, "--weights", "int8", "--check", self.held_out, "--out", saved)["check"]
        self.assertEqual(cost["measure"], "nats a token")
        self.assertLess(abs(cost["mean_change"]), 0.05 * cost["stored"])
        exact = weft_json("eval", self.model, "--text", self.held_out)
        self.assertEqual(cost["dtype"], {"stored": exact["dtype"], "int8": "float32"}, "a run computes as it learned, and a decoder beside int8 in float32")
        flag = weft_json("eval", self.model, "--text", self.held_out, "--weights", "int8")
        file = weft_json("eval", saved, "--text", self.held_out, "--dtype", flag["dtype"])
        self.assertEqual((flag["weights"], file["weights"], exact.get("weights")), ("int8", "int8", None))
        self.assertEqual(flag["bits_per_byte"], file["bits_per_byte"])
        self.assertNotEqual(flag["bits_per_byte"], exact["bits_per_byte"])
        self.assertLess(abs(flag["bits_per_byte"] - exact["bits_per_byte"]), 0.05 * exact["bits_per_byte"])
        texts = [results("generate", model, "--prompt", "the ", "--max-new-tokens", "8", "--temperature", "0", "--dtype", "float32", *more)[0]
                 for model, more in ((self.model, ("--weights", "int8")), (saved, ()))]
        self.assertEqual(texts[0]["generated_text"], texts[1]["generated_text"])
        self.assertEqual([text["weights"] for text in texts], ["int8", "int8"])

    def test_bfloat16_weights(self):
        """A run that learned in float32, asked for weights of bfloat16, in every way to search; and beside int8 ones."""
        given = ("generate", self.model, "--prompt", "graph token", "--max-new-tokens", "12", "--dtype", "bfloat16")
        for search in (("--temperature", "0"), ("--seed", "3"), ("--num-beams", "3", "--num-return-sequences", "2"), ("--temperature", "0", "--weights", "int8")):
            first, again = results(*given, *search), results(*given, *search)
            self.assertEqual([(text["generated_text"], text["dtype"]) for text in first], [(text["generated_text"], "bfloat16") for text in again])
            self.assertEqual({text.get("weights") for text in first}, {"int8" if "int8" in search else None})
        exact = results("generate", self.model, "--prompt", "graph token", "--num-beams", "3", "--max-new-tokens", "12", "--dtype", "float32")[0]
        half = results(*given, "--num-beams", "3")[0]
        self.assertNotEqual(half["score"], exact["score"], "the weights were not rounded")
        self.assertAlmostEqual(half["score"], exact["score"], delta=0.1)

    def test_max_bytes_cuts_the_text(self):
        found = weft_json("eval", self.model, "--text", self.held_out, "--max-bytes", "200")
        start = self.folder / "start.txt"
        start.write_bytes(self.held_out.read_bytes()[:200])
        same = weft_json("eval", self.model, "--text", start)
        self.assertEqual(found["bytes"], 199)
        self.assertEqual(found["bits_per_byte"], same["bits_per_byte"])

    def test_folders_and_files_are_joined(self):
        both = weft_json("eval", self.model, "--text", self.held_out, self.held_out)
        self.assertEqual(both["bytes"], 2 * self.held_out.stat().st_size - 1)

    def test_evaluation_after_training_says_the_same(self):
        trained = weft_json("info", self.model)["training"]["evaluation"]
        found = weft_json("eval", self.model, "--text", self.held_out, "--threads", "1", "--dtype", "float32")
        self.assertTrue(math.isclose(trained["bits_per_byte"], found["bits_per_byte"], rel_tol=1e-6))

    def test_scores_of_single_tokens(self):
        lines = self.folder / "tokens.jsonl"
        found = weft_json("eval", self.model, "--text", self.held_out, "--context", "16", "--token-scores", lines)
        scores = [json.loads(line) for line in lines.read_text().splitlines()]
        self.assertEqual([(score["begin"], score["end"]) for score in scores], [(i, i + 1) for i in range(1, found["bytes"] + 1)])
        self.assertAlmostEqual(sum(score["bits"] for score in scores) / found["bytes"], found["bits_per_byte"], places=6)
        self.assertTrue(0 < sum(score["hit"] for score in scores) < len(scores))
        self.assertTrue(all(score["bits"] < 8 for score in scores if score["hit"]), "a hit beats 255 other bytes")

    def test_scores_of_tokens_that_are_longer_than_a_byte(self):
        text = "graph \u00e4\u00f6 token window " * 40
        self.train_text.write_text(text)
        self.assertEqual(weft("tokenizer", "train", self.train_text, "--vocabulary-size", "290", "--out", self.folder / "vocabulary").returncode, 0)
        self.train("--tokenizer", self.folder / "vocabulary", "--steps", "2")
        lines = self.folder / "tokens.jsonl"
        found = weft_json("eval", self.run_directory, "--text", self.train_text, "--token-scores", lines)
        scores = [json.loads(line) for line in lines.read_text().splitlines()]
        self.assertEqual(len(scores), found["tokens"])
        self.assertEqual(scores[-1]["end"], len(text.encode()))
        self.assertTrue(all(before["end"] <= after["end"] for before, after in zip(scores, scores[1:])))
        self.assertAlmostEqual(sum(score["bits"] for score in scores) / found["bytes"], found["bits_per_byte"], places=6)

    def test_table_for_people(self):
        text = weft("eval", self.model, "--text", self.held_out).stdout
        self.assertIn("bits per byte", text)

    def test_refusals(self):
        self.assert_fails(weft("eval", self.model), 2, "--text")
        self.assert_fails(weft("eval", self.folder / "none", "--text", self.held_out), 1, "none")
        self.assert_fails(weft("eval", self.model, "--text", self.folder / "none.txt"), 1, "none.txt")
        (self.folder / "one.txt").write_text("a")
        self.assert_fails(weft("eval", self.model, "--text", self.folder / "one.txt"), 1, "two tokens")


class GenerateTest(ModelCase):
    def generate(self, *more):
        process = weft("generate", self.model, "--prompt", "graph token", *more)
        self.assertEqual(process.returncode, 0, process.stderr)
        return process.stdout

    def test_the_prompt_and_what_follows(self):
        text = self.generate("--max-new-tokens", "20")
        self.assertTrue(text.startswith("graph token"))
        self.assertTrue(text.endswith("\n"))

    def test_equal_seeds_give_equal_text(self):
        one, two = self.generate("--seed", "3"), self.generate("--seed", "3")
        self.assertEqual(one, two)
        self.assertNotEqual(one, self.generate("--seed", "4"))

    def test_greedy_ignores_the_seed(self):
        arguments = ("--temperature", "0", "--max-new-tokens", "40")
        self.assertEqual(self.generate(*arguments, "--seed", "1"), self.generate(*arguments, "--seed", "2"))
        self.assertEqual(self.generate("--top-k", "1", "--max-new-tokens", "40"), self.generate(*arguments))

    def test_json(self):
        found = weft_json("generate", self.model, "--prompt", "key ", "--max-new-tokens", "9", "--top-p", "0.5")
        self.assertEqual(list(found), ["prompt", "generated_text", "new_tokens", "finish_reason", "dtype", "seconds"])
        self.assertEqual((found["prompt"], found["new_tokens"], found["finish_reason"]), ("key ", 9, "length"))

    def test_prompt_from_a_file(self):
        (self.folder / "prompt.txt").write_text("value ")
        text = weft("generate", self.model, "--prompt-file", self.folder / "prompt.txt", "--max-new-tokens", "5").stdout
        self.assertTrue(text.startswith("value "))

    def test_beams_are_the_same_from_texts_and_tensors(self):
        beams = ("--num-beams", "3", "--num-return-sequences", "2", "--max-new-tokens", "6", "--no-repeat-ngram-size", "2")
        found = results("generate", self.model, "--prompt", "graph", *beams)
        self.assertEqual([text["new_tokens"] for text in found], [6, 6])
        self.assertGreaterEqual(found[0]["score"], found[1]["score"])
        self.assertTrue(self.generate(*beams).startswith("graph token"))
        given, made = self.folder / "in.safetensors", self.folder / "out.safetensors"
        write_safetensors(given, input_ids=[[0, *b"graph"], list(b"tokens")], attention_mask=[[0, 1, 1, 1, 1, 1], [1] * 6])
        self.assert_fails(weft("generate", self.model, "--input", given, "--output", made, "--block-size", "4"), 2, "--block-size is for an encoder-decoder")
        process = weft("generate", self.model, "--input", given, "--output", made, *beams, "--pad-token-id", "0")
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertEqual(weft_json("generate", self.model, "--input", given, "--output", made, *beams, "--pad-token-id", "0"), {"output": str(made), "rows": 4, "dtype": "float32"})
        tensors, _ = read_safetensors(made)
        (shape, ids), (_, scores) = tensors["sequences"], tensors["sequences_scores"]
        self.assertEqual(shape, [4, 12])
        first = bytes(struct.unpack("<48q", ids)[1:12])  # behind the padding of the first of four rows
        self.assertEqual(first.decode(errors="replace"), "graph" + found[0]["generated_text"])
        self.assertAlmostEqual(struct.unpack("<4f", scores)[0], found[0]["score"], places=5)

    def test_settings_of_the_directory_and_flags_over_them(self):
        directory = self.folder / "with-settings"
        shutil.copytree(self.model, directory)
        (directory / "generation_config.json").write_text('{"num_beams": 4, "max_length": 9, "eos_token_id": 10}')
        found = weft_json("generate", directory, "--print-settings", "--num-beams", "2")
        self.assertEqual((found["num_beams"], found["max_length"], found["eos_token_id"], found["do_sample"]), (2, 9, [10], False))
        self.assertLessEqual(weft_json("generate", directory, "--prompt", "graph")["new_tokens"], 4)
        (directory / "generation_config.json").write_text('{"guidance_scale": 1.5}')
        self.assert_fails(weft("generate", directory, "--prompt", "a"), 1, "generation_config.json", "guidance_scale")

    def test_a_text_ends_at_a_stop_string(self):
        greedy = ("generate", self.model, "--prompt", "graph", "--max-new-tokens", "20", "--temperature", "0")
        whole = weft_json(*greedy)["generated_text"]
        found = weft_json(*greedy, "--stop-strings", whole[7:9], "never there")
        self.assertEqual(found["finish_reason"], "stop_string")
        self.assertTrue(found["generated_text"].endswith(whole[7:9]) and whole.startswith(found["generated_text"]))

    def test_an_interrupt_ends_it_with_130(self):
        process = subprocess.Popen([BINARY, "generate", str(self.model), "--prompt", "graph", "--max-new-tokens", "1000000"],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment())
        self.assertTrue(process.stdout.read(20))
        time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=600)
        self.assertEqual(process.returncode, 130, stderr)

    def test_refusals(self):
        self.assert_fails(weft("generate", self.model), 2, "prompt")
        self.assert_fails(weft("generate", self.model, "--prompt", ""), 2, "prompt")
        self.assert_fails(weft("generate", self.model, "--prompt", "a", "--top-p", "2"), 2, "--top-p", "at most 1")
        self.assert_fails(weft("generate", self.folder, "--prompt", "a"), 1, "config.json")
        self.assert_fails(weft("generate", self.model, "--input", "in.safetensors"), 2, "--output")
        self.assert_fails(weft("generate", self.model, "--prompt", "a", "--num-beams", "2", "--num-return-sequences", "3"), 2, "num-return-sequences")
        write_safetensors(self.folder / "right.safetensors", input_ids=[[1, 2]], attention_mask=[[1, 0]])
        tensors = ("--input", self.folder / "right.safetensors", "--output", self.folder / "x")
        self.assert_fails(weft("generate", self.model, *tensors), 1, "row 0", "attention_mask")
        self.assert_fails(weft("generate", self.model, *tensors, "--stop-strings", "a"), 2, "stop_strings", "no tokeniser")
        self.assert_fails(weft("generate", self.model, *tensors, "--prompt-file", "a"), 2, "--prompt-file")

    def test_many_texts_and_flags_without_effect(self):
        given, made = self.folder / "many.safetensors", self.folder / "out.safetensors"
        write_safetensors(given, input_ids=[[65 + i % 20, 66] for i in range(35)])
        process = weft("generate", self.model, "--input", given, "--output", made, "--temperature", "0", "--max-new-tokens", "2", "--seed", "3", "--length-penalty", "2")
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertEqual([line.split(" has ")[0].split()[-1] for line in process.stderr.splitlines()], ["--seed", "--length-penalty"])
        (shape, ids) = read_safetensors(made)[0]["sequences"]
        rows = [struct.unpack("<140q", ids)[4 * i : 4 * i + 4] for i in range(35)]
        self.assertEqual((shape, rows[20:]), ([35, 4], rows[:15]))


class InfoTest(ModelCase):
    def test_json(self):
        found = weft_json("info", self.model, "--tensors")
        self.assertEqual((found["family"], found["kind"]), ("weft", "decoder"))
        self.assertEqual((found["layers"], found["width"], found["heads"], found["positions"]), (2, 32, 2, 64))
        count = sum(math.prod(tensor["shape"]) for tensor in found["tensors"])
        self.assertEqual(count, found["parameters"])
        attention = found["attention"][0]
        self.assertEqual(attention["layers"], [0, 1])
        self.assertEqual(attention["effective"], "causal & (window(left=8) | stride(8))")
        self.assertTrue(0 < attention["density"] < 0.5)
        self.assertEqual(found["training"]["step"], 30)
        self.assertEqual(found["training"]["config"]["steps"], 30)

    def test_table_for_people(self):
        text = weft("info", self.model, "--tensors").stdout
        for part in ("decoder", "parameters", "2 layers", "window(left=8)", "30 steps of 30", "bits per byte", "32"):
            self.assertIn(part, text)

    def test_a_run_before_its_first_checkpoint(self):
        run = self.folder / "started"
        shutil.copytree(self.model, run)
        shutil.rmtree(run / "checkpoints" / "step-30")
        text = weft("info", run).stdout
        self.assertIn("no checkpoint yet", text)
        self.assertNotIn("0 steps", text)
        self.assertNotIn("0.0000", text)
        found = weft_json("info", run)["training"]
        self.assertEqual((found["step"], found["loss"]), (0, None))

    def test_a_model_without_a_run(self):
        for name in ("config.json", "model.safetensors"):
            shutil.copy(self.model / name, self.folder / name)
        self.assertNotIn("training", weft_json("info", self.folder))

    def test_broken_directories(self):
        self.assert_fails(weft("info", self.folder / "none"), 1, "none")
        broken = self.folder / "broken"
        broken.mkdir()
        shutil.copy(self.model / "config.json", broken)
        self.assert_fails(weft("info", broken), 1, "model.safetensors")
        (broken / "model.safetensors").write_bytes(b"\xff" * 64)
        self.assert_fails(weft("info", broken), 1, "model.safetensors")


if __name__ == "__main__":
    unittest.main()
