# SPDX-License-Identifier: Apache-2.0
"""What a file is follows from what stands in it, at the commands that read records; and records that fail beside records that do not."""

import csv
import json
import math
import pathlib
import struct
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from encoder_program import make_model, read_safetensors, results, spoil  # noqa: E402
from weft_program import Case, weft, weft_json  # noqa: E402

LONG = " ".join(["the loom said hello"] * 40)


class EncoderCase(Case):
    def model(self, head, *more):
        return make_model(self.folder / head, "bert", head, *more)


class FormsOfRecordsTest(EncoderCase):
    """A file is what stands in it, whatever its name says; what is neither is refused."""

    def test_the_commands_of_tasks_read_arrays_and_names_in_capitals(self):
        model = self.model("none")
        expected = [entry["result"] for entry in results("embed", model, "the loom", "we see")]
        array = json.dumps([{"id": 1, "text": "the loom"}, {"text": "we see"}], indent=1)
        for name, content in (("A.JSON", array.encode()), ("a.txt", array.encode("utf-16")), ("B.CSV", b"text,label\r\nthe loom,1\r\nwe see,0\r\n"),
                              ("c.dat", b"\xef\xbb\xbftext\tlabel\nthe loom\t1\nwe see\t0\n")):
            path = self.folder / name
            path.write_bytes(content)
            process = weft("embed", model, "--file", path, "--json")
            self.assertEqual([json.loads(line)["result"] for line in process.stdout.splitlines()], expected, process.stderr)
            self.assertEqual("so it is read as" in process.stderr, name in ("a.txt", "c.dat"), process.stderr)
        chooser = self.model("multiple-choice")
        question = {"id": 7, "prompt": "the loom", "choices": ["said hello", "we"]}
        (self.folder / "questions.json").write_text(json.dumps([question, question]))
        found = results("choose", chooser, "--file", self.folder / "questions.json")
        self.assertEqual(found[0]["result"], results("choose", chooser, "--prompt", "the loom", "--choice", "said hello", "--choice", "we")[0]["result"])
        self.assertEqual([entry["fields"] for entry in found], [{"id": 7}] * 2)
        (self.folder / "no.json").write_text("prose\n")
        self.assert_fails(weft("embed", model, "--json", "--file", self.folder / "no.json"), 1, "no.json'", "its name says JSON")
        (self.folder / "lines.txt").write_text("the loom\n")
        self.assert_fails(weft("embed", model, "--json", "--text-field", "body", "--file", self.folder / "lines.txt"), 1, "'body'", "lines of text")

    def test_scores_of_arrays(self):
        texts = ["the loom said hello", "we see it"]
        (self.folder / "hyp.json").write_text(json.dumps([{"text": text} for text in texts]))
        (self.folder / "ref.txt").write_text("".join(text + "\n" for text in texts))
        found = weft_json("score", "chrf", self.folder / "hyp.json", self.folder / "ref.txt")
        self.assertEqual(found["score"], 100.0, found)

    def test_checks_list_the_columns_and_what_training_needs(self):
        table = self.folder / "T.CSV"
        table.write_text("body,stars\nthe loom,1\nwe,0\n")
        process = weft("data", "check", table)
        self.assertIn("csv by name", process.stdout, process.stderr)
        for words in ("'body', 'stars'", "--text-field NAME", "--label-field NAME"):
            self.assertIn(words, process.stdout)
        found = weft_json("data", "check", table)
        self.assertEqual(found["columns"], [{"file": str(table), "columns": ["body", "stars"], "text": None, "label": None}])
        vocabulary = ("--vocabulary-size", 261, "--out")
        columns = [weft_json("tokenizer", "train", table, "--text-field", "body", *vocabulary, self.folder / "a"),
                   weft_json("tokenizer", "train", table, *vocabulary, self.folder / "b")]
        self.assertEqual([entry["bytes"] for entry in columns], [len("the loom\nwe\n"), len(table.read_text())])
        self.assertIn("--text-field", weft("tokenizer", "train", table, *vocabulary, self.folder / "c").stderr)


class RecordsThatFailTest(EncoderCase):
    """--on-error skip: a record has its error, the others their results."""

    def skip(self, *arguments):
        process = weft(*arguments, "--on-error", "skip")
        self.assertEqual(process.returncode, 1, process.stderr)
        return process

    def test_the_others_have_their_results(self):
        model = self.model("sequence-classification")
        table = self.folder / "in.csv"
        table.write_text(f"id,text\n1,{LONG}\n2,the loom\n3,we\n4,{LONG}\n")
        good = results("classify", model, "the loom", "we")
        self.assert_fails(weft("classify", model, "--file", table), 1, "in.csv' line 2", "--truncate", "--on-error skip")
        process = self.skip("classify", model, "--file", table, "--json")
        found = [json.loads(line) for line in process.stdout.splitlines()]
        labels = [entry["result"][0]["label"] if "result" in entry else None for entry in found]
        self.assertEqual(labels, [None, good[0]["result"][0]["label"], good[1]["result"][0]["label"], None])
        for entry, expected in zip(found[1:3], good):  # another batch rounds otherwise
            self.assertAlmostEqual(entry["result"][0]["score"], expected["result"][0]["score"], places=5)
        self.assertEqual([entry["fields"] for entry in found], [{"id": str(n)} for n in range(1, 5)])
        self.assertIn("in.csv' line 2: ", found[0]["error"])
        self.assertIn("2 of 4 records have an error", process.stderr)
        out = self.folder / "out.csv"
        self.skip("classify", model, "--file", table, "--out", out)
        with out.open(newline="") as file:
            rows = list(csv.reader(file))
        self.assertEqual(rows[0], ["id", "text", "predicted", "predicted_score", "error"])
        self.assertEqual([(row[0], row[2] != "", row[4] != "") for row in rows[1:]],
                         [("1", False, True), ("2", True, False), ("3", True, False), ("4", False, True)])
        lines = self.folder / "in.jsonl"
        lines.write_text('{"text": "the loom"}\n{"text":\n{"body": "we"}\n{"text": "we"}\n')
        found = [json.loads(line) for line in self.skip("classify", model, "--file", lines, "--json").stdout.splitlines()]
        self.assertEqual(["error" in entry for entry in found], [False, True, True, False])
        self.assertEqual(self.skip("classify", model, "--file", lines).stdout.count("\n"), 4)
        spoil(model / "model.safetensors", "classifier.bias", float("nan"))
        self.assert_fails(weft("classify", model, "the loom", "--on-error", "skip", "--json"), 1, "is nan")

    def test_questions_that_do_not_fit(self):
        model = self.model("question-answering")
        lines = self.folder / "in.jsonl"
        records = [("who?", "the loom said hello"), (LONG, "the loom"), ("who?", ""), ("what?", "we see it")]
        lines.write_text("".join(json.dumps({"question": question, "context": context}) + "\n" for question, context in records))
        process = self.skip("answer", model, "--file", lines, "--question-field", "question", "--json")
        found = [json.loads(line) for line in process.stdout.splitlines()]
        self.assertEqual(["error" in entry for entry in found], [False, True, True, False], process.stdout)
        self.assertIn("2 of 4 records", process.stderr)

    def test_vectors_of_texts_that_have_none(self):
        model = self.model("none")
        lines = self.folder / "in.jsonl"
        lines.write_text('{"text":\n{"text": "the loom"}\n{}\n')
        self.skip("embed", model, "--file", lines, "--out", self.folder / "out.safetensors")
        (((rows, width), data),) = read_safetensors(self.folder / "out.safetensors")[0].values()
        values = struct.unpack(f"<{rows * width}f", data)
        self.assertEqual([all(map(math.isnan, values[row * width:(row + 1) * width])) for row in range(rows)], [True, False, True])

    def test_training_leaves_out_what_is_too_long(self):
        table = self.folder / "train.csv"
        table.write_text(f"text,label\nthe loom,a\n{LONG},b\nwe,b\n{LONG},a\n")
        train = ("train", "--task", "classify", "--model", self.model("none"), "--train-data", table, "--eval-data", table, "--epochs", "1", "--batch-size",
                 "2", "--dtype", "float32", "--threads", "1", "--out", self.folder / "run")
        self.assert_fails(weft(*train), 1, "train.csv' line 3", "--on-error skip")
        process = weft(*train, "--on-error", "skip")
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertIn("2 examples", process.stderr)
        self.assertIn("read as csv by content (1 file)", process.stderr)
        found = weft_json("eval", self.folder / "run", "--task", "classify", "--data", table)
        self.assertEqual((found["examples"], found["skipped"]), (2, 2))


if __name__ == "__main__":
    unittest.main()
