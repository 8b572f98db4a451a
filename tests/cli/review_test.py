# SPDX-License-Identifier: Apache-2.0
"""What the page of a fine-tuned model shows of its held-out examples, whatever labels and texts hold."""

import json
import re
import unittest

from fine_tuning_test import FAST, FineTuningCase
from report_test import Page
from weft_program import weft, weft_json

SCRIPT = "<script>alert(1)</script>"


class ReviewTest(FineTuningCase):
    def reported(self, task, data, *more):
        process = weft("train", "--task", task, "--model", self.model(), "--train-data", data, "--eval-data", data, *FAST, *more,
                       "--out", self.run_directory)
        self.assertEqual(process.returncode, 0, process.stderr)
        weft_json("report", self.run_directory)
        written = (self.run_directory / "report.html").read_text()
        page = Page(written)
        self.assertEqual(page.open, [], "every tag is closed")
        self.assertNotIn("script", page.tags)
        self.assertTrue(all(source.startswith("data:") for source in page.sources))
        review = json.loads((self.run_directory / "evaluation.json").read_text())
        self.assertEqual(review["step"], json.loads((self.run_directory / "metrics.jsonl").read_text().splitlines()[-1])["step"])
        return page, review

    def test_a_classifier_has_a_confusion_matrix_and_errors(self):
        self.table.write_text(self.table.read_text().replace("\tloom", f"\t{SCRIPT}"))
        page, review = self.reported("classify", self.table, "--steps", "1")
        measured = weft_json("eval", self.run_directory, "--task", "classify", "--data", self.table, "--dtype", "float32")
        counts = review["confusion"]["counts"]
        self.assertEqual(review["confusion"]["labels"], sorted({SCRIPT, "none"}))
        self.assertEqual(sum(map(sum, counts)), 64)
        self.assertAlmostEqual((counts[0][0] + counts[1][1]) / 64, measured["accuracy"])
        self.assertEqual(review["labels"], measured["labels"])
        wrong = counts[0][1] + counts[1][0]
        self.assertGreater(wrong, 0, "a step is too few to learn it")
        self.assertEqual(len(review["errors"]), min(wrong, 20))
        for error in review["errors"]:
            self.assertNotEqual(error["truth"], error["predicted"])
            self.assertEqual(self.labels[self.texts.index(error["text"])], "loom" if error["truth"] == SCRIPT else "none")
        scores = [error["score"] for error in review["errors"]]
        self.assertEqual(scores, sorted(scores, reverse=True), "the surest errors first")
        for part in ("Confusion matrix", SCRIPT, review["errors"][0]["text"]):
            self.assertIn(part, page.text)
        # Only what the task reads is a setting of the run.
        names = [row[0] for row in page.rows]
        self.assertIn("train_data", names)
        for passed_over in ("train_text", "context", "mask_probability", "max_answer_length", "null_threshold", "stride", "label_groups"):
            self.assertNotIn(passed_over, names)

    def test_of_many_labels_the_most_frequent_confusions(self):
        rows = [f"{text}\tlabel {number % 40:02}" for number, text in enumerate(self.texts + self.texts)]
        self.table.write_text("\n".join(["text\tlabel", *rows]) + "\n")
        page, review = self.reported("classify", self.table, "--steps", "2")
        self.assertIn("pairs", review["confusion"])
        self.assertLessEqual(len(review["confusion"]["pairs"]), 30)
        self.assertIn("Most frequent confusions", page.text)

    def test_numbers_show_where_they_were_farthest_off(self):
        self.table.write_text("text\tlabel\n" + "".join(f"{text}\t{len(text)}\n" for text in self.texts))
        page, review = self.reported("classify", self.table, "--problem-type", "regression", "--steps", "2")
        off = [abs(error["truth"] - error["predicted"]) for error in review["errors"]]
        self.assertEqual(off, sorted(off, reverse=True))
        self.assertEqual(len(off), 20)
        self.assertIn("Examples of errors", page.text)

    def test_a_tagger_has_scores_of_each_entity(self):
        data = self.folder / "words.conll"
        tags = {"loom": "B-tool", "hello": "B-<b>word"}
        data.write_text("\n\n".join("\n".join(f"{word}\t{tags.get(word, 'O')}" for word in text.split()) for text in self.texts) + "\n")
        page, review = self.reported("tag", data, "--steps", "1")
        self.assertEqual({entry["type"] for entry in review["types"]}, {"tool", "<b>word"})
        self.assertIn("<b>word", page.text)
        self.assertNotIn("b", page.tags)
        self.assertTrue(any("loom B-tool" in error["truth"] for error in review["errors"]))

    def test_an_answerer_has_examples_of_errors(self):
        contexts = [f"{SCRIPT} {text} loom" for text in self.texts[:16]]
        paragraphs = [{"context": text, "qas": [{"id": str(number), "question": "what <i>is</i> it",
                                                  "answers": [{"text": "loom", "answer_start": text.rindex("loom")}]}]}
                      for number, text in enumerate(contexts)]
        data = self.folder / "answers.json"
        data.write_text(json.dumps({"data": [{"title": "t", "paragraphs": paragraphs}]}))
        page, review = self.reported("answer", data, "--steps", "1")
        self.assertTrue(review["errors"])
        for error in review["errors"]:
            self.assertEqual((error["question"], error["truth"]), ("what <i>is</i> it", "loom"))
            self.assertNotEqual(error["predicted"], "loom")
        self.assertIn("what <i>is</i> it", page.text)
        self.assertNotIn("i", page.tags)

    def test_choices_and_several_labels_have_examples_of_errors(self):
        rows = [{"text": text, "labels": [word for word in ("loom", "she") if word in text]} for text in self.texts]
        data = self.folder / "profiles.jsonl"
        data.write_text("\n".join(map(json.dumps, rows)) + "\n")
        _, review = self.reported("multilabel", data, "--steps", "1")
        self.assertEqual([entry["label"] for entry in review["labels"]], ["loom", "she"])
        for error in review["errors"]:
            self.assertNotEqual(error["truth"], error["predicted"])
        self.run_directory = self.folder / "choosing"
        rows = [{"prompt": "we see", "choices": ["the loom", "hello"], "label": number % 2} for number in range(12)]
        data.write_text("\n".join(map(json.dumps, rows)) + "\n")
        _, review = self.reported("choose", data, "--steps", "1")
        self.assertEqual(len(review["errors"]), 6, "equal choices cannot be told apart")

    def test_texts_are_bounded_and_another_form_is_named(self):
        self.table.write_text("text\tlabel\n" + "".join(f"{'loom ' * 40}\t{number % 2}\n" for number in range(8)))
        _, review = self.reported("classify", self.table, "--steps", "1")
        self.assertTrue(all(len(error["text"]) <= 403 for error in review["errors"]))
        file = self.run_directory / "evaluation.json"
        file.write_text('{"step": 1, "errors": [{"text": 5}]}')
        self.assert_fails(weft("report", self.run_directory), 1, "evaluation.json")

    def test_the_page_is_one_file_for_light_and_dark_and_narrow_windows(self):
        self.reported("classify", self.table, "--steps", "1")
        written = (self.run_directory / "report.html").read_text()
        self.assertIn("prefers-color-scheme:dark", written)
        self.assertIn('name="viewport"', written)
        self.assertIsNone(re.search(r"(?:src|href)=\"(?!data:)", written))


if __name__ == "__main__":
    unittest.main()
