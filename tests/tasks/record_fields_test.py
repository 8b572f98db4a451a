# SPDX-License-Identifier: Apache-2.0
"""Which fields and columns a command reads: those of two texts, known ones in any capitals, and what is said where a file has none of them."""

import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from encoder_program import TOKENIZERS, make_model, results  # noqa: E402
from weft_program import Case, weft  # noqa: E402

BERT = TOKENIZERS / "bert"


class RecordFieldsCase(Case):
    def model(self, head, *more):
        return make_model(self.folder / head, "bert", head, *more)

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path


class TwoTextsTest(RecordFieldsCase):
    def tokens(self, *arguments):
        return [entry["result"][0]["tokens"] for entry in results("tokenize", BERT, *arguments)]

    def test_a_field_of_a_second_text_makes_pairs(self):
        expected = self.tokens("the loom\twe", "--pairs")
        named = ("--text-field", "sentence1", "--pair-field", "sentence2")
        lines = self.write("a.jsonl", '{"sentence1": "the loom", "sentence2": "we"}\n')
        table = self.write("a.tsv", "sentence1\tsentence2\nthe loom\twe\n")
        commas = self.write("a.csv", "id,sentence2,sentence1\n1,we,the loom\n")
        for file in (lines, table, commas):
            self.assertEqual(self.tokens("--file", file, *named), expected, file)
            self.assertEqual(self.tokens("--file", file, "--pairs", *named), expected, file)

    def test_a_header_is_no_pair(self):
        ask = ("--pairs needs the field of the second text", "--pair-field NAME", "--format lines")
        for name, text in (("b.tsv", "sentence1\tsentence2\nthe loom\twe\n"), ("c.tsv", "Premise\tHypothesis\nthe loom\twe\n"),
                           ("d.csv", "premise,hypothesis\nthe loom,we\n"), ("e.jsonl", '{"premise": "a", "hypothesis": "b"}\n')):
            self.assert_fails(weft("tokenize", BERT, "--file", self.write(name, text), "--pairs"), 1, name, *ask)
        table = self.folder / "b.tsv"
        self.assert_fails(weft("tokenize", BERT, "--file", table, "--pairs", "--text-field", "sentence1"), 1, *ask)
        self.assertEqual(len(self.tokens("--file", table, "--pairs", "--format", "lines")), 2)
        # Two columns without names are two texts a line, as ever.
        self.assertEqual(self.tokens("--file", self.write("f.tsv", "the loom\twe\n"), "--pairs"), self.tokens("the loom\twe", "--pairs"))
        self.assert_fails(weft("tokenize", BERT, "--file", self.write("g.csv", "the loom,we\n"), "--pairs"), 1, "g.csv' line 1", "one tab", "--pair-field")
        self.assert_fails(weft("tokenize", BERT, "--file", self.write("h.txt", "the loom\twe\n"), "--pair-field", "b"), 1, "h.txt'", "lines of text", "'b'")


class AnyCapitalsTest(RecordFieldsCase):
    def test_choices(self):
        model = self.model("multiple-choice")
        (expected,) = results("choose", model, "--prompt", "the loom", "--choice", "we", "--choice", "see it")
        self.assertEqual(expected["metadata"]["dtype"], "float32")
        record = {"Id": 7, "Prompt": "the loom", "Choices": ["we", "see it"], "LABEL": 1}
        (found,) = results("choose", model, "--file", self.write("a.jsonl", json.dumps(record) + "\n"))
        self.assertEqual(found, {**expected, "fields": {"Id": 7, "LABEL": 1}})
        process = weft("train", "--task", "choose", "--model", model, "--train-data", self.folder / "a.jsonl", "--steps", "1", "--batch-size", "1",
                       "--dtype", "float32", "--threads", "1", "--out", self.folder / "run")
        self.assertEqual(process.returncode, 0, process.stderr)

    def test_queries(self):
        model = self.model("sequence-classification", "--labels", "score")
        (expected,) = results("rerank", model, "we see", "the loom", "we")
        for texts in ("Texts", "DOCUMENTS"):
            queries = self.write("a.jsonl", json.dumps({"Qid": 7, "Query": "we see", texts: ["the loom", "we"]}) + "\n")
            self.assertEqual(results("rerank", model, "--queries", queries), [{**expected, "fields": {"Qid": 7}}])

    def test_contexts_of_questions(self):
        model = self.model("question-answering")
        (expected,) = results("answer", model, "--question", "who?", "the loom said hello")
        for name, text in (("a.jsonl", '{"Question": "who?", "Context": "the loom said hello"}\n'), ("a.csv", "Question,Context\nwho?,the loom said hello\n")):
            (found,) = results("answer", model, "--file", self.write(name, text), "--question-field", "Question")
            self.assertEqual(found, expected, name)


class OtherFormsTest(RecordFieldsCase):
    def test_a_table_is_no_file_of_objects(self):
        table = self.write("a.csv", 'prompt,choices\na,"b c"\n')
        self.assert_fails(weft("choose", self.model("multiple-choice"), "--file", table), 1, "a.csv': expected JSON objects", "found a table with commas")
        table = self.write("a.tsv", "query\ttexts\na\tb c\n")
        model = self.model("sequence-classification", "--labels", "score")
        self.assert_fails(weft("rerank", model, "--queries", table), 1, "a.tsv': expected JSON objects", "found a table with tabs")

    def test_records_that_are_read_as_one_document_are_said(self):
        ask = ("answer", self.model("question-answering"), "--question", "who?", "--file")
        for name, text, words in (("a.csv", "id,body\n1,the loom\n", "its name says csv"), ("a.json", '{"context": "the loom"}\n', "begins with a JSON object")):
            process = weft(*ask, self.write(name, text))
            self.assertEqual(process.returncode, 0, process.stderr)
            self.assertIn(f"{name}': {words}", process.stderr)
            self.assertIn("read whole, as one document; --question-field NAME", process.stderr)
        for name, text in (("a.txt", "the loom said hello, we see it\n"), ("prose.json", "the loom\n")):
            process = weft(*ask, self.write(name, text))
            self.assertEqual((process.returncode, process.stderr), (0, ""))

    def test_an_empty_question_is_named_by_its_record(self):
        store = self.folder / "s.weft"
        process = weft("index", store, self.write("notes.txt", "A loom weaves."))
        self.assertEqual(process.returncode, 0, process.stderr)
        answer = ("answer", self.model("question-answering"), "--retrieve", store)
        table = self.write("a.csv", 'question\n" "\n')
        self.assert_fails(weft(*answer, "--file", table, "--question-field", "question"), 1, "a.csv' line 2: the question is empty")
        self.assert_fails(weft(*answer, "--question", "a loom", "--question", " ", "--json", "--out", self.folder / "a.jsonl"), 1,
                          "question 2: the question is empty")

    def test_attention_reads_one_file(self):
        file = self.write("a.txt", "the loom\n")
        self.assert_fails(weft("attention", self.model("none"), "--file", file, "--file", file), 2, "--file", "received 2")


if __name__ == "__main__":
    unittest.main()
