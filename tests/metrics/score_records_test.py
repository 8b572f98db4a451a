# SPDX-License-Identifier: Apache-2.0
"""`weft score` of records: which field is the text of a hypothesis and of a reference, and ids that do not belong together."""

import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from weft_program import Case, weft, weft_json  # noqa: E402

ARTICLES = ["The loom stood by the window all day.", "Rates rose again in the spring, and nobody knew why."]
SUMMARIES = ["A loom stood there.", "Rates rose."]
WRITTEN = ["The loom stood.", "Rates rose again."]


class ScoreRecordsCase(Case):
    def write(self, name, records):
        path = self.folder / name
        path.write_text("".join((record if isinstance(record, str) else json.dumps(record)) + "\n" for record in records))
        return path


class FieldsTest(ScoreRecordsCase):
    def setUp(self):
        super().setUp()
        papers = [{"text": text, "summary": summary} for text, summary in zip(ARTICLES, SUMMARIES)]
        self.papers = self.write("papers.jsonl", papers)
        self.plain = (self.write("written.txt", WRITTEN), self.write("summaries.txt", SUMMARIES))
        self.found = {field: self.write(f"{field}.jsonl", [{**paper, field: text} for paper, text in zip(papers, WRITTEN)])
                      for field in ("summary_text", "translation_text")}

    def test_what_weft_wrote_is_what_is_scored(self):
        for metric in ("bleu", "chrf", "rouge"):
            expected = weft_json("score", metric, *self.plain)
            for found in self.found.values():
                self.assertEqual(weft_json("score", metric, found, self.papers, "--reference-field", "summary"), expected)
                self.assertEqual(weft_json("score", metric, found, self.plain[1]), expected)
            # Without the flag of the references, one field is that of all files.
            self.assertNotEqual(weft_json("score", metric, self.found["summary_text"], self.papers, "--text-field", "summary"), expected)

    def test_the_field_of_hypotheses_alone(self):
        other = self.write("other.jsonl", [{"mine": text, "summary_text": "no"} for text in WRITTEN])
        found = weft_json("score", "rouge", other, self.papers, "--text-field", "mine", "--reference-field", "summary")
        self.assertEqual(found, weft_json("score", "rouge", *self.plain))

    def test_sources_and_baselines(self):
        found = self.found["summary_text"]
        articles = self.write("articles.txt", ARTICLES)
        self.assertEqual(weft_json("score", "sari", found, self.papers, "--source", self.papers, "--reference-field", "summary"),
                         weft_json("score", "sari", *self.plain, "--source", articles))
        self.assertEqual(weft_json("score", "bleu", found, self.papers, "--baseline", self.found["translation_text"], "--reference-field", "summary")["difference"], 0)

    def test_trees(self):
        tree = "(S (NP (DT the) (NN loom)))"
        found = self.write("found.jsonl", [{"text": "the loom", "translation_text": tree}])
        gold = self.write("gold.jsonl", [{"text": "the loom", "tree": tree}])
        self.assertEqual(weft_json("score", "parse", found, gold, "--reference-field", "tree")["f1"], 100)

    def test_fields_that_lines_have_not(self):
        for flag in ("--text-field", "--reference-field"):
            self.assert_fails(weft("score", "bleu", *self.plain, flag, "summary"), 2, f"{flag} is for JSON lines and tables")
        self.assert_fails(weft("score", "bleu", self.found["summary_text"], self.plain[1], "--reference-field", "summary"), 2, "--reference-field")


class IdsTest(ScoreRecordsCase):
    def score(self, hypotheses, references):
        return weft("score", "bleu", hypotheses, references)

    def test_records_of_other_ids_are_not_compared(self):
        hypotheses = self.write("h.jsonl", [{"id": 1, "text": "a b c d"}, {"id": 2, "text": "e f g h"}])
        turned = self.write("r.jsonl", [{"_id": 2, "text": "e f g h"}, {"_id": 1, "text": "a b c d"}])
        table = self.write("r.csv", ["ID,text", "1,a b c d", "3,e f g h"])
        self.assert_fails(self.score(hypotheses, turned), 1, "h.jsonl' line 1 has the id '1'", "r.jsonl' line 1 has the id '2'", "one order")
        self.assert_fails(self.score(hypotheses, table), 1, "h.jsonl' line 2 has the id '2'", "r.csv' line 3 has the id '3'")

    def test_equal_ids_and_none_are_compared(self):
        hypotheses = self.write("h.jsonl", [{"id": 1, "text": "a b c d"}, {"text": "e f g h"}])
        table = self.write("r.csv", ["ID,text", "1,a b c d", "2,e f g h"])
        lines = self.write("r.txt", ["a b c d", "e f g h"])
        for references in (table, lines):
            process = self.score(hypotheses, references)
            self.assertEqual(process.returncode, 0, process.stderr)
            self.assertIn("= 100.00", process.stdout)


if __name__ == "__main__":
    unittest.main()
