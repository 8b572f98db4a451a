# SPDX-License-Identifier: Apache-2.0
"""A Reformer on the command line: trained on masked tokens, written as transformers has it, taught tasks, and asked."""

import json
import pathlib
import shutil
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "cli"), str(ROOT / "service")]
from encoder_program import TEXT, TOKENIZERS, read_safetensors, results, write_safetensors  # noqa: E402
from serve_test import Server  # noqa: E402
from weft_program import Case, weft, weft_json  # noqa: E402

SHAPE = ["--layers", "2", "--width", "16", "--heads", "2", "--max-position-embeddings", "64", "--attention", "block(4, circle(left=1, multiple=2))",
         "lsh(buckets=4, rounds=2, chunk=8, multiple=8, seed=3)", "--residual", "reversible", "--position-embedding", "axial", "--no-tie-word-embeddings",
         "--no-attention-bias", "--lm-head-bias", "--initializer-range", "0.3"]
FAST = ["--dtype", "float32", "--threads", "1", "--steps", "2"]


class ReformerTest(Case):
    def setUp(self):
        super().setUp()
        self.reformer = self.folder / "reformer"
        run = self.folder / "masked"
        process = weft("train", "--encoder", "--train-text", self.train_text, "--tokenizer", TOKENIZERS / "bert", *SHAPE, *FAST, "--context", "32",
                       "--batch-size", "2", "--out", run)
        self.assertEqual(process.returncode, 0, process.stderr)
        process = weft("convert", run, "--to", "reformer", "--out", self.reformer)
        self.assertEqual(process.returncode, 0, process.stderr)

    def taught(self, task, data, *more):
        out = self.folder / task
        process = weft("train", "--task", task, "--model", self.reformer, "--train-data", data, *FAST, "--batch-size", "4", "--out", out, *more)
        self.assertEqual(process.returncode, 0, process.stderr)
        return out, process.stderr

    def test_served(self):
        """One for masked text as transformers has it fills masks; the run that it comes from has no task of the server."""
        server = Server(self.reformer)
        self.addCleanup(server.end)
        (listed,) = server.ask("GET", "/v1/models")[1]["data"]
        self.assertEqual((listed["kind"], listed["tasks"]), ("encoder", ["embed", "fill-mask"]))
        masked = "the [MASK] weaves"
        (wanted,) = results("fill-mask", self.reformer, masked)
        status, found, _ = server.ask("POST", "/fill-mask", {"inputs": masked})
        self.assertEqual((status, [one["token_str"] for one in found]), (200, [one["token_str"] for one in wanted["result"]]))
        self.assertEqual(server.stop()[0], 0)
        run = self.folder / "masked"
        self.assert_fails(weft("serve", run), 1, str(run), "trained on masked text", "weft eval")

    def test_classes(self):
        table = self.folder / "texts.tsv"
        table.write_text("text\tlabel\n" + "the loom\tgood\nhello world\tbad\n" * 4)
        out, said = self.taught("classify", table)
        self.assertIn("classifier.out_proj.weight", said)
        config = json.loads((out / "config.json").read_text())
        self.assertEqual((config["model_type"], config["architectures"], config["is_decoder"]), ("reformer", ["ReformerForSequenceClassification"], False))
        self.assertEqual(config["attn_layers"], ["local", "lsh"])
        summary = weft_json("info", out)
        self.assertEqual((summary["family"], summary["head"], sorted(summary["labels"])), ("reformer", "sequence-classification", ["bad", "good"]))
        alone = [results("classify", out, text)[0]["result"] for text in (TEXT, "hello")]
        together = [entry["result"] for entry in results("classify", out, TEXT, "hello")]
        for one, other in zip(alone, together, strict=True):
            self.assertAlmostEqual(one[0]["score"], other[0]["score"], places=5)
        self.assertGreater(weft_json("eval", out, "--task", "classify", "--data", table)["accuracy"], 0.0)
        self.assert_fails(weft("generate", out, "--prompt", "a"), 1, "model_type", "reformer")
        self.assert_fails(weft("answer", out, "--question", "what", TEXT), 1, "question-answering", "sequence-classification")

    def test_answers(self):
        data = self.folder / "answers.json"
        questions = [{"id": str(number), "question": "what", "answers": [{"text": "loom", "answer_start": TEXT.index("loom")}], "is_impossible": False}
                     for number in range(4)]
        data.write_text(json.dumps({"version": "v2.0", "data": [{"title": "t", "paragraphs": [{"context": TEXT, "qas": questions}]}]}))
        out, said = self.taught("answer", data)
        self.assertIn("qa_outputs.weight", said)
        self.assertEqual(json.loads((out / "config.json").read_text())["architectures"], ["ReformerForQuestionAnswering"])
        self.assertIn(results("answer", out, "--question", "what", TEXT)[0]["result"]["answer"], TEXT)

    def test_without_a_head_and_with_that_for_masked_tokens(self):
        self.assertEqual(weft("fill-mask", self.reformer, "the [MASK] weaves").returncode, 0)
        bare = self.folder / "bare"
        shutil.copytree(self.reformer, bare)
        config = json.loads((bare / "config.json").read_text())
        (bare / "config.json").write_text(json.dumps(config | {"architectures": ["ReformerModel"]}))
        source, target = self.folder / "in.safetensors", self.folder / "out.safetensors"
        write_safetensors(source, input_ids=[[3, 5, 4, 7, 9]])
        process = weft("forward", bare, "--input", source, "--output", target)
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertEqual(read_safetensors(target)[0]["last_hidden_state"][0], [1, 5, 32])
        self.assertEqual(len(results("embed", bare, TEXT)[0]["result"]), 32)


if __name__ == "__main__":
    unittest.main()
