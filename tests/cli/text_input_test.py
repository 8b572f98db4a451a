# SPDX-License-Identifier: Apache-2.0
"""Text from outside, at every command that reads it: gzip and other compressions, pipes and endless files, JSON lines and FASTA,
texts that the tokeniser does not know, and errors that name file and line."""

import bz2
import csv
import gzip
import json
import lzma
import os
import shutil
import struct
import threading
import unittest

from encoder_program import TEXT, TOKENIZERS, make_model, read_safetensors, results, spoil, write_safetensors
from weft_program import Case, losses, weft, weft_json

LONG = " ".join(["the loom said hello"] * 40)


class EncoderCase(Case):
    def model(self, head, *more):
        return make_model(self.folder / head, "bert", head, *more)


class CompressedTextTest(Case):
    def setUp(self):
        super().setUp()
        self.zipped = self.folder / "zipped.txt.gz"
        text = self.train_text.read_bytes()
        self.zipped.write_bytes(gzip.compress(text[:5000]) + gzip.compress(text[5000:]))

    def test_training_on_gzip_is_training_on_its_text(self):
        self.train("--steps", "4", "--checkpoint-every", "2", "--eval-text", self.held_out, out=self.folder / "plain")
        held_out = self.folder / "held-out.gz"
        held_out.write_bytes(gzip.compress(self.held_out.read_bytes()))
        arguments = self.train_arguments(self.folder / "zipped", "--steps", "4", "--eval-text", held_out)
        arguments[arguments.index(self.train_text)] = self.zipped
        process = weft(*arguments)
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertEqual(losses(self.folder / "zipped"), losses(self.folder / "plain"))
        self.assertIn(f"{len(self.train_text.read_bytes()):,} bytes in 1 file", process.stderr)
        found = [weft_json("eval", self.folder / "plain", "--text", path, *more)
                 for path in (self.held_out, held_out) for more in ((), ("--max-bytes", "999"))]
        for entry in found:
            entry.pop("seconds")
        self.assertEqual(found[:2], found[2:])
        prompt = self.folder / "prompt.gz"
        prompt.write_bytes(gzip.compress(b"graph token "))
        for more in (("--prompt-file", prompt), ("--prompt-file", "-")):
            text = weft("generate", self.folder / "plain", *more, "--max-new-tokens", "3", input="graph token ").stdout
            self.assertTrue(text.startswith("graph token "), text)

    def test_other_compressions_are_refused_with_what_to_type(self):
        text = self.train_text.read_bytes()
        model = self.folder / "model"
        self.train("--steps", "1", out=model)
        for name, content in (("xz", lzma.compress(text)), ("bzip2", bz2.compress(text)), ("zstd", b"\x28\xb5\x2f\xfd" + text),
                              ("zip", b"PK\x03\x04" + text)):
            path = self.folder / "corpus.txt"
            path.write_bytes(content)
            command = "unzip" if name == "zip" else f"{name} --decompress"
            for arguments in (("train", "--train-text", path, "--steps", "1", "--out", self.folder / "no"),
                              ("eval", model, "--text", path), ("generate", model, "--prompt-file", path),
                              ("tokenizer", "train", path, "--out", self.folder / "no"), ("data", "check", path)):
                self.assert_fails(weft(*arguments), 1, f"corpus.txt': is compressed with {name}", f"hint: decompress it first: {command}")

    def test_damaged_gzip_is_named(self):
        content = self.zipped.read_bytes()
        for name, damaged, words in (("cut.gz", content[:-20], "end in the middle"), ("more.gz", content + b"text", "something else")):
            path = self.folder / name
            path.write_bytes(damaged)
            self.assert_fails(weft("train", "--train-text", path, "--steps", "1", "--out", self.folder / "no"), 1, name, words)
            self.assert_fails(weft("data", "check", path), 1, name, words)
        empty = self.folder / "empty.gz"
        empty.write_bytes(gzip.compress(b""))
        self.assert_fails(weft("train", "--train-text", empty, "--steps", "1", "--out", self.folder / "no"), 1, "empty.gz", "no text")


class TextsOfTasksTest(EncoderCase):
    def test_gzip_pipes_and_standard_input(self):
        model = self.model("none")
        expected = results("embed", model, "the loom", "we see")
        path = self.folder / "texts.gz"
        path.write_bytes(gzip.compress(b"the loom\nwe see\n"))
        self.assertEqual(results("embed", model, "--file", path), expected)
        with path.open("rb") as stream:
            self.assertEqual(results("embed", model, stdin=stream), expected)
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        writer = threading.Thread(target=lambda: pipe.write_bytes(path.read_bytes()))
        writer.start()
        self.assertEqual(results("embed", model, "--file", pipe), expected)
        writer.join()

    def test_endless_input_folders_and_mistakes_are_named(self):
        model, answering = self.model("none"), self.model("question-answering")
        embed = ("embed", model, "--json", "--file")
        self.assert_fails(weft(*embed, "/dev/zero"), 1, "'/dev/zero' line 1", "268435456 bytes")
        self.assert_fails(weft("answer", answering, "--question", "who?", "--file", "/dev/zero"), 1, "'/dev/zero'", "268435456 bytes")
        self.assert_fails(weft(*embed, self.folder), 1, "it is a directory")
        self.assert_fails(weft(*embed, self.folder / "absent.txt"), 1, "absent.txt", "No such file")
        self.assert_fails(weft(*embed, "/dev/null"), 1, "'/dev/null' is empty")
        header = self.folder / "header.tsv"
        header.write_text("text\tlabel\n")
        self.assert_fails(weft(*embed, header), 1, "no text was given", "header.tsv' has no text")
        self.assert_fails(weft("train", "--train-text", "/dev/zero", "--steps", "1", "--out", self.folder / "no"), 1, "/dev/zero", "regular file")

    def test_json_lines_and_fasta_are_records(self):
        model = self.model("none")
        expected = [entry["result"] for entry in results("embed", model, "the loom", "we see")]
        lines = '{"id": 1, "text": "the loom"}\n\n{"text": "we see", "label": "x"}\n'
        named = self.folder / "texts.jsonl"
        named.write_text(lines)
        self.assertEqual([entry["result"] for entry in results("embed", model, "--file", named)], expected)
        self.assertEqual([entry["result"] for entry in results("embed", model, input=lines)], expected)
        self.assertEqual([entry["result"] for entry in results("embed", model, "-", input=lines)], expected)
        self.assert_fails(weft("embed", model, "-", "--file", "x", "--json"), 2, "cannot both be given")
        self.assertIn("read as JSON lines", weft("embed", model, "--json", input=lines).stderr)
        self.assertNotEqual(results("embed", model, "--file", named, "--format", "lines")[0]["result"], expected[0])
        named.write_text('{"body": "the loom"}\n{"body": "we see"}\n')
        self.assertEqual([entry["result"] for entry in results("embed", model, "--file", named, "--text-field", "body")], expected)
        self.assert_fails(weft("embed", model, "--json", "--file", named), 1, "texts.jsonl' line 1", "--text-field")
        (self.folder / "none.jsonl").write_text("")
        self.assert_fails(weft("answer", self.model("question-answering"), "--file", self.folder / "none.jsonl", "--question-field", "q"), 1,
                          "none.jsonl': has no record with a question")
        named.write_text('{"Text": "the loom"}\n{"Text": "we see"}\n')
        self.assertEqual([entry["result"] for entry in results("embed", model, "--file", named)], expected)
        table = self.folder / "table.csv"
        table.write_text("Sentence,Label\nthe loom,a\nwe see,b\n")
        self.assertEqual([entry["result"] for entry in results("embed", model, "--file", table)], expected)
        genome = self.folder / "genome.fa"
        genome.write_text(">chr1 of weft\nthe\n>chr2\nsaid\n")
        sequences = [entry["result"] for entry in results("embed", model, "--file", genome)]
        self.assertEqual(sequences, [entry["result"] for entry in results("embed", model, "the", "said")])
        pairs = self.folder / "pairs.jsonl"
        pairs.write_text('{"a": "the loom", "b": "we see"}\n')
        classifier = self.model("sequence-classification")
        self.assertEqual(results("classify", classifier, "--pairs", "--file", pairs, "--text-field", "a", "--pair-field", "b"),
                         results("classify", classifier, "--pairs", "the loom\twe see"))

    def test_errors_name_the_file_and_the_line(self):
        model = self.model("sequence-classification")
        texts = self.folder / "texts.txt"
        texts.write_text(f"the\n{LONG}\n")
        self.assert_fails(weft("classify", model, "--file", texts, "--json"), 1, "texts.txt' line 2", "at most 62", "--truncate")
        spoil(model / "model.safetensors", "classifier.bias", float("nan"))
        self.assert_fails(weft("classify", model, "--file", texts, "--truncate", "--json"), 1, "texts.txt' line ", "sequence-classification'",
                          "is nan", "--check-tensors")
        answering = self.model("question-answering")
        spoil(answering / "model.safetensors", "qa_outputs.bias", float("nan"))
        texts.write_text(TEXT)
        self.assert_fails(weft("answer", answering, "--question", "who?", "--file", texts, "--json"), 1, "texts.txt'", "question-answering'", "nan")
        ids = self.folder / "ids.safetensors"
        write_safetensors(ids, input_ids=[[2, 99999, 3]])
        self.assert_fails(weft("forward", model, "--input", ids, "--output", self.folder / "out.safetensors"), 1, "ids.safetensors", "99999")

    def test_ids_that_the_model_has_no_row_for(self):
        model = self.model("none")
        with (model / "vocab.txt").open("a") as vocabulary:
            vocabulary.write("weaverbird\n")
        self.assert_fails(weft("embed", model, "--json", "the", "a weaverbird"), 1, "text 2", "'weaverbird'", "rows")

    def test_flags_of_files_are_refused_beside_texts(self):
        model = self.model("sequence-classification")
        for flags in (("--text-field", "x"), ("--format", "csv"), ("--no-header",), ("--pair-field", "x")):
            self.assert_fails(weft("classify", model, "a cat", *flags), 2, flags[0], "texts as arguments")
        (self.folder / "a.csv").write_text("text\na cat\n")
        lines = weft("classify", model, "--file", self.folder / "a.csv", "--format", "lines", "--text-field", "text")
        self.assert_fails(lines, 1, "a.csv': is read as lines of text, which have no column or field 'text'")
        (self.folder / "b.csv").write_text("a cat,1\na dog,2\n")  # no column has a known name: lines
        for name, text, what in (("a.txt", "a cat\n", "lines of text"), ("b.csv", None, "lines of text"), ("a.jsonl", '{"text": "a cat"}\n', "JSON lines")):
            if text is not None:
                (self.folder / name).write_text(text)
            self.assert_fails(weft("classify", model, "--file", self.folder / name, "--no-header"), 1, f"{name}': --no-header is for tables", what)
        (self.folder / "a.fa").write_text(">cat\nACGT\n")
        fields = weft("classify", model, "--file", self.folder / "a.fa", "--text-field", "name")
        self.assert_fails(fields, 1, "a.fa': is read as sequences of FASTA, which have no column or field 'name'")


class RecordsTest(EncoderCase):
    """Tables and JSON lines in, the same records with results behind them out."""

    def write(self, name, content):
        path = self.folder / name
        path.write_text(content, newline="")
        return path

    def rows(self, path):
        with open(path, newline="", encoding="utf-8") as file:
            return list(csv.reader(file))

    def test_a_table_goes_through_with_its_columns(self):
        model = self.model("sequence-classification")
        table = self.write("in.csv", 'id,body,note\n7,the loom,"a, ""b"""\n8,"we\nsee",\n')
        out = self.folder / "out.csv"
        process = weft("classify", model, "--file", table, "--text-field", "body", "--out", out)
        self.assertEqual((process.returncode, process.stdout), (0, ""), process.stderr)
        expected = [entry["result"][0] for entry in results("classify", model, "the loom", "we\nsee")]
        rows = self.rows(out)
        self.assertEqual(rows[0], ["id", "body", "note", "predicted", "predicted_score"])
        self.assertEqual([row[:3] for row in rows[1:]], [["7", "the loom", 'a, "b"'], ["8", "we\nsee", ""]])
        self.assertEqual([(row[3], float(row[4])) for row in rows[1:]], [(entry["label"], entry["score"]) for entry in expected])
        again = self.folder / "again.jsonl"
        found = weft_json("classify", model, "--file", table, "--text-field", "body", "--top-k", "0", "--out", again)
        self.assertEqual(found, {"rows": 2, "out": str(again)})
        records = [json.loads(line) for line in again.read_text().splitlines()]
        self.assertEqual(list(records[0]), ["id", "body", "note", "predicted", "predicted_score", "predicted_scores"])
        self.assert_fails(weft("classify", model, "--file", out, "--text-field", "body", "--out", self.folder / "twice.csv"), 1, "out.csv' line 2", "'predicted'")
        self.assert_fails(weft("classify", model, "--file", table, "--text-field", "body", "--out", self.folder / "out.tsv"), 1, "in.csv' line 3", "line end")
        self.assertFalse((self.folder / "out.tsv").exists())
        self.assert_fails(weft("classify", model, "a", "--out", self.folder / "out.xlsx"), 2, ".jsonl, .csv or .tsv")

    def test_a_table_may_have_no_header(self):
        table = self.folder / "cola.tsv"
        table.write_text("gj04\t1\t\tThe loom weaves.\nbc01\t0\t*\tLoom the weaves.\n")
        check = weft("data", "check", table)
        self.assertIn("--no-header: it is a record", check.stdout)
        found = weft_json("data", "check", table, "--no-header")
        self.assertEqual((found["records"], found["columns"][0]["columns"]), (2, ["1", "2", "3", "4"]))
        model = self.model("sequence-classification")
        texts = results("classify", model, "--file", table, "--no-header", "--text-field", "4")
        alone = results("classify", model, "The loom weaves.", "Loom the weaves.")
        self.assertEqual([one["result"] for one in texts], [one["result"] for one in alone])
        reader = self.model("question-answering")
        asked = results("answer", reader, "--file", table, "--no-header", "--question-field", "1", "--text-field", "4")
        alone = [results("answer", reader, "--question", question, text) for question, text in (("gj04", "The loom weaves."), ("bc01", "Loom the weaves."))]
        self.assertEqual([one["result"] for one in asked], [one["result"] for (one,) in alone])

    def test_json_lines_say_where_a_result_comes_from(self):
        lines = self.write("in.jsonl", '{"id": {"n": 1}, "text": "the [MASK]"}\n{"text": "we [MASK]", "é": null}\n')
        model = self.model("masked-lm")
        found = results("fill-mask", model, "--file", lines)
        self.assertEqual([entry["fields"] for entry in found], [{"id": {"n": 1}}, {"é": None}])
        self.assertNotIn("fields", results("fill-mask", model, "the [MASK]")[0])
        out = self.folder / "out.jsonl"
        self.assertEqual(weft("fill-mask", model, "--file", lines, "--out", out).returncode, 0)
        records = [json.loads(line) for line in out.read_text().splitlines()]
        self.assertEqual([list(record) for record in records], [["id", "text", "predicted", "predicted_score"], ["text", "é", "predicted", "predicted_score"]])
        self.assertEqual([record["predicted"] for record in records], [entry["result"][0]["token_str"] for entry in found])
        self.assert_fails(weft("fill-mask", model, "--file", lines, "--out", self.folder / "out.csv"), 1, "in.jsonl' line 2", "FILE.jsonl")

    def test_lines_become_records(self):
        model = self.model("token-classification", "--labels", "O", "B-PER")
        out = self.folder / "tags.jsonl"
        self.assertEqual(weft("tag", model, "the loom", "we", "--out", out).returncode, 0)
        self.assertEqual([list(json.loads(line)) for line in out.read_text().splitlines()], [["text", "predicted_entities"]] * 2)

    def test_questions_of_a_table(self):
        model = self.model("question-answering")
        table = self.write("in.csv", "id,question,context\na,who?,the loom said hello\nb,what?,we see it\n")
        out = self.folder / "answers.csv"
        self.assertEqual(weft("answer", model, "--file", table, "--question-field", "question", "--out", out).returncode, 0)
        rows = self.rows(out)
        self.assertEqual(rows[0], ["id", "question", "context", "predicted_answer", "predicted_score"])
        expected = results("answer", model, "--question", "who?", "the loom said hello")[0]["result"]
        self.assertEqual((rows[1][3], float(rows[1][4])), (expected["answer"], expected["score"]))
        found = results("answer", model, "--file", table, "--question-field", "question")
        self.assertEqual([entry["fields"] for entry in found], [{"id": "a"}, {"id": "b"}])
        self.assert_fails(weft("answer", model, "--file", table), 2, "--question")
        self.assert_fails(weft("answer", model, "--file", table, "--question-field", "query"), 1, "'query'", "'context'")
        self.assert_fails(weft("answer", model, "a", "--question-field", "question"), 2, "--question-field")


class UnknownTokensTest(EncoderCase):
    """A tokeniser of seven tokens beside a model of many."""

    def strange_model(self, head, *more):
        model = self.model(head, *more)
        (model / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nthe\nloom\n")
        return model

    def warnings(self, process, words):
        self.assertEqual(process.returncode, 0, process.stderr)
        return [line for line in process.stderr.splitlines() if words in line]

    def test_inference_says_the_share_once(self):
        model = self.strange_model("sequence-classification")
        process = weft("classify", model, *["hello world we see the"] * 70)
        (share,) = self.warnings(process, "[UNK]")
        self.assertIn("80% of the tokens", share)
        self.assertIn("sequence-classification", share)
        (small,) = self.warnings(process, "rows of embeddings")
        self.assertIn("7 tokens", small)
        self.assertEqual(self.warnings(weft("classify", model, "the loom the loom"), "[UNK]"), [])

    def test_training_says_the_share_once(self):
        table = self.folder / "train.tsv"
        table.write_text("text\tlabel\n" + "hello world\ta\nwe see\tb\n" * 8)
        small = ("--steps", "2", "--batch-size", "2", "--dtype", "float32", "--threads", "1")
        process = weft("train", "--task", "classify", "--model", self.strange_model("sequence-classification"), "--train-data", table,
                       "--eval-data", table, *small, "--out", self.folder / "classifier")
        self.assertEqual(len(self.warnings(process, "100% of the tokens of the training data")), 1, process.stderr)
        self.assertEqual(len(self.warnings(process, "[UNK]")), 1, process.stderr)
        self.assertEqual(len(self.warnings(process, "7 tokens")), 1, process.stderr)
        process = weft("train", "--task", "mlm", "--model", self.strange_model("masked-lm"), "--train-text", self.train_text, "--context", "16",
                       *small, "--out", self.folder / "masked")
        self.assertEqual(len(self.warnings(process, "100% of the tokens of the training text")), 1, process.stderr)


class LongTextsTest(EncoderCase):
    def test_a_mask_behind_the_cut_is_said(self):
        model = self.model("masked-lm")
        process = weft("fill-mask", model, LONG + " [MASK]", "--truncate")
        self.assert_fails(process, 1, "text 1", "its mask was cut off", "62 of 163 tokens", "without --truncate")
        process = weft("fill-mask", model, "[MASK] " + LONG + " [MASK]", "--truncate", "--json")
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertIn("1 of 2 masks were cut off", process.stderr)

    def test_masks_of_a_long_text_are_answered_in_windows(self):
        model = self.model("masked-lm")
        (found,) = results("fill-mask", model, f"[MASK] {LONG} [MASK] {LONG} [MASK]")
        self.assertGreater(found["metadata"]["windows"], 5)
        self.assertEqual([len(mask) for mask in found["result"]], [5, 5, 5])
        self.assertIn("windows", weft("fill-mask", model, f"{LONG} [MASK]").stderr)
        # 10 tokens of text a window, 2 of them shared: the mask is the 12th token, and the second window has it.
        words = LONG.split()[:11] + ["[MASK]"] + LONG.split()[:4]
        (window,) = results("fill-mask", model, " ".join(words), "--max-length", "12", "--stride", "2")
        (alone,) = results("fill-mask", model, " ".join(words[8:18]))
        self.assertEqual(window["metadata"]["windows"], 2)
        self.assertEqual([choice["token"] for choice in window["result"]], [choice["token"] for choice in alone["result"]])
        self.assertEqual(window["result"][0]["sequence"], alone["result"][0]["sequence"])
        # The first window shares the mask, and has less around it.
        words = ["[MASK]" if place == 8 else word for place, word in enumerate(LONG.split()[:18])]
        (shared,) = results("fill-mask", model, " ".join(words), "--max-length", "12", "--stride", "8")
        (middle,) = results("fill-mask", model, " ".join(words[4:14]))
        self.assertEqual(shared["result"][0]["sequence"], middle["result"][0]["sequence"])

    def test_a_long_text_has_one_vector(self):
        model = self.model("none")
        words = LONG.split()[:26]  # windows of 10, 10 and 10 words that share 2
        arguments = ("--max-length", "12", "--stride", "2")
        parts = [" ".join(words[begin:begin + 10]) for begin in (0, 8, 16)]
        (found,) = results("embed", model, " ".join(words), *arguments, "--pooling", "cls")
        self.assertEqual(found["metadata"]["windows"], 3)
        alone = [entry["result"] for entry in results("embed", model, *parts, "--pooling", "cls")]
        for value, *values in zip(found["result"], *alone):
            self.assertAlmostEqual(value, sum(values) / 3, places=4)
        # The mean counts each token once, and the special tokens at the text's two ends.
        (found,) = results("embed", model, " ".join(words), *arguments)
        rows = []
        for number, part in enumerate(parts):
            ids = results("tokenize", model, part)[0]["result"][0]["input_ids"]
            path, out = self.folder / "ids.safetensors", self.folder / "out.safetensors"
            write_safetensors(path, input_ids=[ids])
            self.assertEqual(weft("forward", model, "--input", path, "--output", out).returncode, 0)
            shape, content = read_safetensors(out)[0]["last_hidden_state"]
            values = struct.unpack(f"<{12 * 32}f", content)
            self.assertEqual(shape, [1, 12, 32])
            hidden = [values[32 * row:32 * row + 32] for row in range(12)]
            rows += hidden[0 if number == 0 else 2:12 if number == 2 else 10]
        self.assertEqual(len(rows), 28)
        for column, value in enumerate(found["result"]):
            self.assertAlmostEqual(value, sum(row[column] for row in rows) / 28, places=4)
        self.assertEqual(found, results("embed", model, " ".join(words), *arguments, "--batch-size", "1")[0])

    def test_windows_are_in_order_where_the_beginning_gives_way(self):
        model = self.model("token-classification")
        settings = json.loads((model / "tokenizer_config.json").read_text()) if (model / "tokenizer_config.json").exists() else {}
        (model / "tokenizer_config.json").write_text(json.dumps({**settings, "truncation_side": "left"}))
        (found,) = results("tag", model, LONG, "--ignore-labels", "none")
        places = [entity["start"] for entity in found["result"]]
        self.assertEqual(places, sorted(set(places)), "each token once, in order")
        self.assertEqual(len(places), found["metadata"]["tokens"] - 2)

    def test_small_probabilities_have_digits(self):
        process = weft("fill-mask", self.model("masked-lm"), "the [MASK]", "--top-k", "1000")
        scores = [part.split()[-1] for part in process.stdout.strip().split("  ")]
        self.assertTrue(any("e-" in score or score.startswith("0.000") for score in scores), scores)
        self.assertTrue(all(float(score) > 0 for score in scores), scores)


class ModelsThatAreNoneTest(EncoderCase):
    def test_a_decoder_is_no_encoder(self):
        self.train("--steps", "1")
        for command in ("fill-mask", "embed", "classify", "tag"):
            self.assert_fails(weft(command, self.run_directory, "the", "--json"), 1, "is a decoder that weft train made", "weft generate")

    def test_a_name_is_no_directory(self):
        name = "nobody-has-this-model"
        self.assert_fails(weft("classify", name + "/", "a", cwd=self.folder), 1, f"weft download {name}")
        for arguments in (("classify", name, "a"), ("embed", name, "a", "--json"), ("tokenize", name, "a"), ("info", name), ("eval", name, "--text", self.train_text),
                          ("generate", name, "--prompt", "a"), ("convert", name, "--to", "longformer", "--out", "x"),
                          ("init", "--config", name, "--out", "x"), ("bench", "model", name, "--length", "8"),
                          ("train", "--task", "classify", "--model", name, "--train-data", self.train_text, "--steps", "1", "--out", self.folder / "x"),
                          ("train", "--task", "mlm", "--model", name, "--train-text", self.train_text, "--steps", "1", "--out", self.folder / "x")):
            self.assert_fails(weft(*arguments, cwd=self.folder), 1, f"{name}': there is no such directory", f"weft download {name}")
        self.assert_fails(weft("classify", self.train_text, "a"), 1, "is a file, expected a directory")
        self.assert_fails(weft("classify", self.folder, "a"), 1, "it has no config.json")

    def test_the_tokeniser_of_another_model_is_named(self):
        self.train("--steps", "1")
        shutil.copy(TOKENIZERS / "bert" / "vocab.txt", self.run_directory)
        self.assert_fails(weft("generate", self.run_directory, "--prompt", "a"), 1, "run'", "tokenizer_class")
        self.assert_fails(weft("eval", self.run_directory, "--text", self.held_out), 1, "run'", "tokenizer_class")

    def test_models_of_other_types_are_named(self):
        other = self.folder / "opt"
        other.mkdir()
        (other / "config.json").write_text(json.dumps({"model_type": "opt", "architectures": ["OPTForCausalLM"]}))
        for arguments in (("generate", other, "--prompt", "a"), ("classify", other, "a"), ("eval", other, "--text", self.train_text), ("info", other)):
            self.assert_fails(weft(*arguments), 1, "'opt'", "Weft opens what weft train made", "star_transformer, xlm-roberta, camembert, distilbert")
        encoder = self.model("none")
        self.assert_fails(weft("generate", encoder, "--prompt", "a"), 1, "found 'bert'", "fill-mask")


class DataCheckTest(Case):
    def check(self, name, content, *more):
        path = self.folder / name
        path.write_text(content)
        return weft("data", "check", path, *more)

    def test_the_name_or_the_first_line_says_the_format(self):
        lines = '{"text": "a"}\n{"text":\n{"text": "b"}\n[]\n'
        for name in ("bad.jsonl", "bad"):
            self.assert_fails(self.check(name, lines), 1, "2 of 4 records are malformed", f"{name}' line 2")
        self.assertEqual(json.loads(self.check("bad.jsonl", lines, "--json").stdout)["skipped"], 2)
        self.assertEqual(self.check("bad.jsonl", lines, "--on-error", "skip").returncode, 0)
        self.assert_fails(self.check("bad.csv", "text,label\na,1\nb\n"), 1, "1 of 2 records", "bad.csv' line 3")
        self.assert_fails(self.check("bad.fa", ">a\nAC1\n"), 1, "1 of 1 records", "bad.fa' line 2")
        good = self.check("dev.json", json.dumps({"data": [{"paragraphs": []}]}), "--json")
        self.assertEqual(json.loads(good.stdout)["formats"], {"squad": 1}, good.stderr)
        self.assertIn("fasta", self.check("genome", ">a\nACGT\n").stdout)

    def test_files_and_folders_with_nothing_in_them_are_named(self):
        folder = self.folder / "folder"
        folder.mkdir()
        for name, content in (("head.csv", "text,label\n"), ("nothing.txt", ""), ("blank.jsonl", "\n")):
            self.assert_fails(self.check(name, content), 1, f"{name}' holds no record")
        self.assert_fails(weft("data", "check", folder), 1, "folder' holds no record")
        self.assert_fails(weft("data", "check", folder, self.folder / "head.csv"), 1, "folder' and the 1 named behind it hold no record")
        nothing = self.folder / "nothing.txt"
        for command, path, what in (("trees", nothing, "tree"), ("genome", folder, "sequence"), ("noise", nothing, "text")):
            self.assert_fails(weft("data", command, path, "--out", self.folder / "out"), 1, f"{path}' holds no {what}")
        self.assertEqual(list(self.folder.glob("out*")), [])

    def test_files_that_hold_no_text_are_named_or_counted(self):
        folder = self.folder / "folder"
        folder.mkdir()
        (folder / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n")
        (folder / "b.txt").write_text("a loom\n" * 9)
        (folder / "c.txt.xz").write_bytes(lzma.compress(b"text"))
        train = ("tokenizer", "train", folder, "--out", self.folder / "tokenizer")
        for command in (("data", "check", folder), ("data", "check", folder, "--format", "lines"), train):
            self.assert_fails(weft(*command), 1, "a.png': is a PNG picture, expected text", "hint: ")
        found = weft_json("data", "check", folder, "--on-error", "skip")
        self.assertEqual((found["records"], found["skipped"], found["formats"]), (1, 2, {"text": 1}))
        self.assertEqual(weft_json(*train, "--on-error", "skip")["skipped"], 2)

    def test_noise_is_for_plain_text(self):
        for name, content, found in (("a.jsonl", '{"text": "a b"}\n', "jsonl"), ("a.csv", "text,label\na b,1\n", "csv"), ("a", '{"text": "a b"}\n', "jsonl")):
            (self.folder / name).write_text(content)
            process = weft("data", "noise", self.folder / name, "--out", self.folder / "out")
            self.assert_fails(process, 1, f"{name}': is {found}", "expected plain text, a text a line", "write the texts alone")
        (self.folder / "plain.de").write_text("a b\nc\n")
        self.assertEqual(weft_json("data", "noise", self.folder / "plain.de", "--out", self.folder / "out")["lines"], 2)

    def test_numbers_beyond_the_format_are_said_in_plain_words(self):
        found = self.check("huge.jsonl", '{"text": "a", "label": 1e400}\n')
        self.assert_fails(found, 1, "huge.jsonl' line 1: not valid JSON: number overflow parsing '1e400'")
        self.assertNotIn("json.exception", found.stderr)

    def test_what_a_file_of_questions_says_of_itself_is_checked(self):
        asked = {"QuestionId": "q", "Question": "who", "Answer": {"Value": "x", "NormalizedAliases": ["x"]}, "EntityPages": [{"Filename": "a.txt"}]}
        whole = {"Data": [asked], "Domain": "Web", "VerifiedEval": False}
        self.assertEqual(self.check("trivia.json", json.dumps(whole), "--format", "triviaqa").returncode, 0)
        for name in ("Domain", "VerifiedEval"):
            lacking = {key: value for key, value in whole.items() if key != name}
            self.assert_fails(self.check("lacking.json", json.dumps(lacking), "--format", "triviaqa"), 1, "lacking.json", f"'{name}', found none")
        asked["EntityPages"][0]["Filename"] = "../../secret"
        self.assert_fails(self.check("leaves.json", json.dumps(whole), "--format", "triviaqa"), 1, "question 'q'", "'Filename', found '../../secret'")


class ExamplesThatAreNotThereTest(EncoderCase):
    def test_the_files_are_named(self):
        empty = self.folder / "empty.tsv"
        empty.write_text("text\tlabel\n")
        full = self.folder / "full.tsv"
        full.write_text("text\tlabel\nthe\ta\nwe\tb\n")
        model = self.model("none")
        train = ("train", "--task", "classify", "--model", model, "--steps", "1", "--out", self.folder / "out")
        self.assert_fails(weft(*train, "--train-data", full, "--eval-data", empty), 1, "empty.tsv", "no example")


if __name__ == "__main__":
    unittest.main()
