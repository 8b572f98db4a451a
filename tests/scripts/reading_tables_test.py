#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tables that read what a search finds: rows of a seed have one reader, are asked the same, and differ in what is read; cells side by side share no file
that they write anew."""
import json
import os
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(os.environ.get("WEFT_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[2]))
sys.path[:0] = [str(ROOT / "examples/science"), str(ROOT / "tests/support")]

import cloze  # noqa: E402
import reading  # noqa: E402
import science  # noqa: E402
import shared_words  # noqa: E402
from told_world import ToldWorld, value  # noqa: E402

# How weft cuts words, by its index: SQLite's unicode61 without the marks of letters. What is neither letter nor digit ends a word.
CUT = {
    "Non-combustion of COVID-19's plumes": ["non", "combustion", "of", "covid", "19", "s", "plumes"],
    "naïve_café 2×4 (α‑synuclein/β2)": ["naive", "cafe", "2", "4", "α", "synuclein", "β2"],
    "cafe\u0301s: \"AND\" OR* -NOT": ["cafes", "and", "or", "not"],
    " -- ?! ": [],
}
THINGS = ("loom", "thread", "shuttle", "carpet", "spindle", "needle", "ribbon", "button", "velvet", "cotton", "basket", "candle")


def rows_of(path):
    return [json.loads(line) for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines()]


def answers(words):
    """A reader that answers with the last word of the text, and the mark before it."""
    return "".join(json.dumps({"result": {"answer": "^ " + row["context"].split()[-1]}}) + "\n" for row in rows_of(value(words, "--file")))


def predictions(words):
    """Every claim is supported by the first sentence of the first abstract."""
    claims = json.loads(pathlib.Path(value(words, "--data")).read_text(encoding="utf-8"))
    lines = [json.dumps({"type": "yes", "sp": [[claim["context"][0][0], 0]]}) + "\n" for claim in claims]
    pathlib.Path(value(words, "--predictions")).write_text("".join(lines), encoding="utf-8")
    return {}


class WordsTest(unittest.TestCase):
    def test_a_question_is_cut_as_the_index_cuts_it(self):
        words = reading.Words({"a": "a text"})
        for question, expected in CUT.items():
            self.assertEqual(words.words(question), expected, question)

    def test_each_part_of_a_word_is_looked_for(self):
        words = reading.Words({"joined": "noncombustion", "apart": "combustion, and then non", "near": "a non-combusting stove", "none": "a café"})
        self.assertEqual(set(words.best("Is it non-combustion?", 4)), {"apart", "near"})
        self.assertEqual(words.best("which CAFE", 4), ["none"])
        self.assertEqual(words.best("...", 4), [])
        self.assertEqual(words.best("nowhere", 4), [])


class MarksTest(unittest.TestCase):
    def test_words_of_the_question_are_marked(self):
        marked = shared_words.Marked("Where was the ship's builder born?", "Builders of ships were born here. The end")
        self.assertEqual(marked.text, "^ Builders of ^ ships were ^ born here. The end")
        self.assertEqual(marked.answer(28, "here"), {"text": "here", "answer_start": 34})
        self.assertEqual(marked.answer(23, "born here"), {"text": "born here", "answer_start": 29})
        self.assertEqual(marked.answer(9, "of ships were born"), {"text": "of ^ ships were ^ born", "answer_start": 11})
        self.assertEqual(shared_words.unmarked(marked.text), "Builders of ships were born here. The end")
        self.assertEqual(shared_words.Marked("?", "").text, "")

    def test_signs_of_the_text_are_others(self):
        marked = shared_words.Marked("the power of two", "2^10 is a power, of two")
        self.assertEqual(marked.text, "2-10 is a ^ power, of ^ two")
        self.assertEqual(shared_words.unmarked("^ power, of ^"), "power, of")


class ClozeTest(unittest.TestCase):
    TEXTS = {"a": "The old loom of Mary Weaver stood in Leeds until 1840. Short one.", "b": "of and the in to of and the in. No.", "c": ""}

    def test_a_question_is_what_is_left_of_a_sentence(self):
        for one in cloze.clozes(self.TEXTS, 200, 3):
            self.assertEqual(one.passage, "a")
            text = self.TEXTS["a"]
            self.assertTrue(text.startswith(one.answer, one.begin))
            left = set(text[:text.index(".")].lower().split()) - set(one.answer.lower().split())
            said = one.question.rstrip("?").lower().split()
            self.assertLessEqual(len(set(said) - left), 2, one)  # the question word, of one word or two
            self.assertNotIn(one.answer, one.question)

    def test_a_seed_draws_the_same_questions(self):
        self.assertEqual(cloze.clozes(self.TEXTS, 20, 3), cloze.clozes(self.TEXTS, 20, 3))
        self.assertNotEqual(cloze.clozes(self.TEXTS, 20, 3), cloze.clozes(self.TEXTS, 20, 4))

    def test_passages_without_a_sentence_are_an_error(self):
        with self.assertRaisesRegex(ValueError, "none of 1 passages"):
            cloze.clozes({"c": self.TEXTS["b"]}, 1, 0)


class ReadAtOnceTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="weft-reading-")
        self.addCleanup(folder.cleanup)
        self.world = ToldWorld(pathlib.Path(folder.name), answer=answers, score={"f1": 12.0, "exact_match": 4.0}, eval=predictions)
        self.table = science.load_table("read_at_once")
        self.table.CLOZES = 50  # made questions: time alone

    def write_articles(self):
        for path in self.table.NEEDS:
            (self.world.data / path).parent.mkdir(parents=True, exist_ok=True)
            articles = []
            for thing in THINGS:
                text = f"The {thing} stands in the hall. " + "and on " * 30
                asked = {"id": f"{path} {thing}", "question": f"Where stands the {thing}", "answers": [{"text": "the hall", "answer_start": text.index("the hall")}]}
                articles.append({"paragraphs": [{"context": text, "qas": [asked, {"id": f"none {thing}", "question": "What is not there?", "answers": []}]}]})
            (self.world.data / path).write_text(json.dumps({"data": articles}), encoding="utf-8")

    def test_rows_of_a_seed_have_one_reader(self):
        self.write_articles()
        asked = {}
        for cell in self.table.cells():
            self.world.asked.clear()
            figures = self.table.run(cell, 1, self.world)
            self.assertEqual((figures["f1"], figures["questions"]), (12.0, 6))  # a quarter of 24 articles
            if cell["read"] == "gold":
                self.assertEqual(figures["found"], 100)
            if not self.table.fixed(cell):
                first, second = self.world.of("train")
                self.assertEqual(value(second, "--model"), first[1])
                asked[cell["read"], cell["passages"]] = [*first, *second]
                self.assertIn("The ^ button ^ stands in the hall", pathlib.Path(value(self.world.of("answer")[0], "--file")).read_text(encoding="utf-8"))
        self.assertEqual(len({tuple(train) for train in asked.values()}), 1)

    def test_what_is_learned_is_what_the_search_finds(self):
        self.write_articles()
        passages, learned, scored = self.table.collection(self.world)
        self.assertFalse({each.id for each in learned} & {each.id for each in scored})
        paragraphs = json.loads(self.table.training_data(passages, learned, 1))["data"][0]["paragraphs"]
        self.assertLessEqual(len(paragraphs), len(learned))  # of some the search does not find the passage
        self.assertGreater(len(paragraphs), len(learned) / 2)
        for paragraph in paragraphs:
            (row,) = paragraph["qas"]
            (answer,) = row["answers"]
            self.assertTrue(paragraph["context"].startswith(answer["text"], answer["answer_start"]))
            self.assertEqual(shared_words.unmarked(answer["text"]), "the hall")
            before = shared_words.unmarked(paragraph["context"][:answer["answer_start"]]).split()
            self.assertEqual(before[-4:], ["The", row["question"].split()[-1], "stands", "in"])  # of its own passage

    def test_passages_beside_the_best_are_each_there_once(self):
        self.write_articles()
        passages, _, scored = self.table.collection(self.world)
        words, generator = self.table.Words(passages), self.table.random.Random(1)
        for count in self.table.PASSAGES:
            read = self.table.beside_best(words, scored[0], count, generator)
            self.assertEqual((len(read), len(set(read)), read[0]), (count, count, words.best(scored[0].question, 1)[0]))


class SciFactTest(unittest.TestCase):
    def test_rows_of_a_seed_have_one_reader(self):
        table = science.load_table("scifact")
        table.CLOZES = 50
        with tempfile.TemporaryDirectory(prefix="weft-reading-") as folder:
            world = ToldWorld(pathlib.Path(folder), eval=predictions)
            (world.data / "retrieval/scifact").mkdir(parents=True)
            abstracts = [{"_id": str(number), "title": thing, "sentences": [f"The {thing} weaves all the long days.", "It stops."]} for number, thing in enumerate(THINGS * 2)]
            claims = [{"_id": str(number), "claim": f"the {thing} weaves", "cited_doc_ids": [str(number)],
                       "evidence": [{"doc_id": str(number), "label": "SUPPORT", "sentences": [0]}]} for number, thing in enumerate(THINGS)]
            for path, rows in zip(table.NEEDS, (abstracts, claims, claims)):
                (world.data / path).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
            for cell in table.cells():
                figures = table.run(cell, 1, world)
                self.assertEqual((figures["label"], figures["claims"]), (100, len(THINGS)), cell)
                if cell["read"] == "gold":
                    self.assertEqual((figures["sentence_f1"], figures["found"]), (100, 100))
            self.assertEqual(len({tuple(train) for train in world.of("train")}), 2)
            self.assertEqual(len(world.of("eval")), sum(not table.fixed(cell) for cell in table.cells()))


if __name__ == "__main__":
    unittest.main()
