# SPDX-License-Identifier: Apache-2.0
"""What the page of a fine-tuned model shows of its held-out examples, whatever labels and texts hold; and files of a run that somebody has
edited: a field of another type is one line that names the file and the field."""

import json
import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from fine_tuning_test import FAST, FineTuningCase  # noqa: E402
from report_test import Page  # noqa: E402
from weft_program import Case, weft, weft_json  # noqa: E402

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


def put(file, *keys, value):
    """Sets a field of a JSON file; returns the text it had."""
    before = file.read_text()
    whole = json.loads(before)
    place = whole
    for key in keys[:-1]:
        place = place[key]
    place[keys[-1]] = value
    file.write_text(json.dumps(whole))
    return before


class DamagedCase(Case):
    def refused(self, file, *keys, value, by, found):
        """Each command of `by` refuses the run whose `file` has `value` at `keys`, and names both."""
        path = self.run_directory / file
        before = put(path, *keys, value=value)
        for command in by:
            self.assert_fails(weft(*command), 1, f"{file}'", f"{keys[-1]} must be", found)
        path.write_text(before)


class LanguageModelRun(DamagedCase):
    def test_a_field_of_another_type_is_named(self):
        self.train("--steps", "2", "--eval-text", self.held_out, "--best-metric", "bits_per_byte")
        info, report = ["info", self.run_directory], ["report", self.run_directory]
        resume = ["train", "--resume", "--out", self.run_directory]
        for value, found in ((3, "found 3"), (["a"], "found an array"), (None, "found null")):
            self.refused("training.json", "task", value=value, by=[info, report, resume], found=found)
        self.refused("training.json", "steps", value="2", by=[info, resume], found="the string '2'")
        self.refused("training.json", "context", value="32", by=[report, resume], found="the string '32'")
        self.refused("training.json", "train_text", value={}, by=[info, resume], found="found an object")
        self.refused("config.json", "is_decoder", value="yes", by=[report], found="the string 'yes'")
        self.refused("best/best.json", "metric", value=7, by=[["compare", self.run_directory, "--json"]], found="found 7")

    def test_a_checkpoint_of_another_form_is_named(self):
        self.train("--steps", "2")
        state = "checkpoints/step-2/state.json"
        resume = ["train", "--resume", "--steps", "3", "--out", self.run_directory]
        self.refused(state, "tokens", value="many", by=[["info", self.run_directory]], found="the string 'many'")
        before = put(self.run_directory / state, "digests", value=7)
        self.assert_fails(weft(*resume), 1, "state.json'", "digests must be an object, found 7")
        (self.run_directory / state).write_text(before)
        put(self.run_directory / state, "files", value=[])
        told = weft("info", self.run_directory)
        self.assertEqual(told.returncode, 0, "the checkpoint before it is whole")
        self.assertIn("files must be an object, found an array", told.stderr)

    def test_a_file_that_is_no_object_is_named(self):
        self.train("--steps", "2")
        (self.run_directory / "training.json").write_text("[1]")
        for command in (["info", self.run_directory], ["report", self.run_directory], ["train", "--resume", "--out", self.run_directory]):
            self.assert_fails(weft(*command), 1, "training.json'", "must be a JSON object, found an array")


class FineTunedRun(DamagedCase, FineTuningCase):
    def test_stored_settings_are_the_files_and_no_flags(self):
        table = self.table
        process = weft(*self.arguments(self.run_directory, "--steps", "1"))
        self.assertEqual(process.returncode, 0, process.stderr)
        measure = ["eval", self.run_directory, "--task", "classify", "--data", table, "--dtype", "float32"]
        resume = ["train", "--resume", "--steps", "2", "--out", self.run_directory]
        self.refused("training.json", "text_field", value=[], by=[measure, resume], found="a string, found an array")
        put(self.run_directory / "training.json", "text_field", value="words")
        self.assert_fails(weft(*measure), 1, "texts.tsv", "text_field 'words' is not a column", "text_field is from", "training.json",
                          "--text-field replaces it")
        given = weft(*measure, "--text-field", "text")
        self.assertEqual(given.returncode, 0, given.stderr)
        self.assert_fails(weft(*measure, "--text-field", "word"), 2, "--text-field 'word' is not a column")
        put(self.run_directory / "training.json", "text_field", value="")
        put(self.run_directory / "training.json", "folds", value=1)
        self.assert_fails(weft(*measure), 1, "training.json': folds must be 0, or 2 and more")

    def test_a_review_of_another_form_is_named(self):
        process = weft(*self.arguments(self.run_directory, "--steps", "1"))
        self.assertEqual(process.returncode, 0, process.stderr)
        report = ["report", self.run_directory]
        self.refused("evaluation.json", "step", value="1", by=[report], found="the string '1'")
        self.refused("evaluation.json", "labels", value=3, by=[report], found="a list, found 3")
        self.refused("evaluation.json", "errors", value={}, by=[report], found="a list, found an object")
        put(self.run_directory / "evaluation.json", "confusion", "counts", value=[[1]])
        self.assert_fails(weft(*report), 1, "evaluation.json': confusion: counts must have a row for each of 2 labels, found 1")

    def test_data_without_two_labels_are_named(self):
        self.table.write_text("text\tlabel\nthe loom\tgood\n")
        process = weft("train", "--task", "classify", "--model", self.model(), "--train-data", self.table, *FAST, "--steps", "1", "--out",
                       self.run_directory)
        self.assert_fails(process, 1, "texts.tsv", "at least two labels, found 1")


if __name__ == "__main__":
    unittest.main()
