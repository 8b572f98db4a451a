# SPDX-License-Identifier: Apache-2.0
"""`weft index` and `weft search`: texts in, passages out, by words and by vectors; what cannot be is one line."""

import contextlib
import json
import pathlib
import random
import shutil
import sqlite3
import subprocess
import time
import unittest

from encoder_program import make_model
from weft_program import Case, begin_weft, weft, weft_json


class Search(Case):
    def setUp(self):
        super().setUp()
        self.store = self.folder / "texts.weft"
        self.corpus = self.folder / "beir"
        self.corpus.mkdir()
        rows = [{"_id": "d1", "title": "Looms", "text": "The loom weaves a thread."}, {"_id": "d2", "title": "", "text": "Rates rose again."},
                {"_id": "d3", "title": "", "text": "A weaver by the window."}]
        (self.corpus / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    def ids(self, *arguments):
        return [passage["id"] for passage in weft_json("search", self.store, *arguments)["passages"]]

    def test_files_without_a_text_make_no_store(self):
        empty, store = self.folder / "empty", self.folder / "empty.weft"
        empty.mkdir()
        (self.folder / "none.jsonl").write_text("")
        self.assert_fails(weft("index", store, empty), 1, f"'{empty}' holds no text: expected files of text, JSON, tables or FASTA")
        self.assert_fails(weft("index", store, empty, "--sync"), 1, f"'{empty}' holds no text")
        self.assert_fails(weft("index", store, empty, self.folder / "none.jsonl"), 1, f"'{empty}' and 1 other path hold no text")
        self.assertEqual([found.name for found in self.folder.glob("empty.weft*")], [])

    def test_texts_and_folders_that_are_empty_are_said(self):
        empty = self.folder / "nothing"
        empty.mkdir()
        (self.folder / "blank.txt").write_text(" \n")
        process = weft("index", self.store, self.corpus, empty, self.folder / "blank.txt")
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertIn(f"'{empty}' holds no file", process.stderr)
        self.assertIn(f"1 text is empty and cannot be found: '{self.folder / 'blank.txt'}'", process.stderr)

    def test_files_that_are_not_read_are_said(self):
        (self.corpus / "queries.jsonl").write_text('{"_id": "q", "text": "loom"}\n')
        self.assertNotIn("left out", weft("index", self.store, self.corpus).stderr)
        (self.corpus / "notes.txt").write_text("A note.")
        process = weft("index", self.store, self.corpus)
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertIn("has corpus.jsonl, so it is a folder of BEIR and nothing else is read; left out: 'notes.txt'; name these files", process.stderr)
        folder, store = self.folder / "pictures", self.folder / "pictures.weft"
        folder.mkdir()
        (folder / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n")
        (folder / "b.txt").write_text("A loom.")
        self.assert_fails(weft("index", store, folder), 1, "a.png': is a PNG picture, expected text")
        made = weft_json("index", store, folder, "--on-error", "skip")
        self.assertEqual((made["texts"], made["skipped"]), (1, 1))

    def test_an_answer_is_read_from_what_was_found(self):
        weft_json("index", self.store, self.corpus)
        reader = make_model(self.folder / "reader", "bert", "question-answering")
        (self.folder / "questions.jsonl").write_text(json.dumps({"q": "a loom"}) + "\n" + json.dumps({"q": "zebra"}) + "\n")
        answer = ("answer", reader, "--retrieve", self.store)
        process = weft(*answer, "--file", self.folder / "questions.jsonl", "--question-field", "q", "--passages", "2", "--json")
        found, nothing = map(json.loads, process.stdout.splitlines())
        self.assertEqual({passage["id"] for passage in found["metadata"]["passages"]}, {"d1", "d3"})
        texts = {"d1": "The loom weaves a thread.", "d3": "A weaver by the window."}
        result = found["result"]
        if result["byte_start"] is not None:  # random weights may answer with the title
            self.assertEqual(result["answer"], texts[result["id"]][result["byte_start"]:result["byte_end"]])
        self.assertEqual((nothing["result"]["answer"], nothing["result"]["id"], nothing["metadata"]["passages"]), ("", None, []))
        self.assertIn("(d", weft(*answer, "--question", "a loom").stdout)
        self.assert_fails(weft(*answer, "--question", "a loom", "a document"), 2, "--retrieve")
        self.assert_fails(weft(*answer, "--question", " "), 1, "the question is empty")
        self.assert_fails(weft("answer", reader, "--passages", "2", "--question", "a", "text"), 2, "--passages", "--retrieve")
        self.assert_fails(weft(*answer, "--question", "a loom", "--depth", "3"), 2, "--depth", "by words", "--passages")
        for flag in (("--device", "cuda"), ("--tf32",), ("--weights", "int8")):
            self.assert_fails(weft("search", self.store, "a loom", "--by", "words", *flag), 2, flag[0], "none is used")
        self.assert_fails(weft("answer", reader, "--question", "a", "text", "--text-field", "x"), 2, "--text-field", "--question-field")

    def test_words_and_vectors(self):
        made = weft_json("index", self.store, self.corpus, "--stem", "english")
        self.assertEqual((made["added"], made["texts"], made["vectors"]), (3, 3, 0))
        self.assertEqual(self.ids("who weaves on a loom"), ["d1", "d3"])
        model = make_model(self.folder / "model", "bert", "none")
        another = make_model(self.folder / "another", "roberta", "none")
        made = weft_json("index", self.store, "--model", model)
        self.assertEqual((made["passages"], made["vectors"]), (3, 3))
        self.assertEqual(len(self.ids("weaving", "--by", "vectors")), 3)
        self.assertEqual(self.ids("loom thread", "--by", "both")[0], "d1")
        other = weft("index", self.store, "--model", another)
        self.assertEqual(other.returncode, 1)
        self.assertIn("the vectors are those of", other.stderr)
        self.assertEqual(weft_json("index", self.store, "--model", another, "--rebuild", "--max-length", "16")["vectors"], 3)
        self.assertEqual(len(self.ids("weaving", "--by", "vectors")), 3)
        self.assert_fails(weft("index", self.store, "--truncate"), 2, "were made with --max-length 16 and without --truncate", "--rebuild")
        another = another.rename(self.folder / "moved")
        self.assert_fails(weft("search", self.store, "weaving", "--by", "vectors"), 1, "cannot open the model", "weft search --model DIR")
        self.assertEqual(len(self.ids("weaving", "--by", "vectors", "--model", another)), 3)
        shutil.rmtree(another)  # nothing is left to compute
        self.assertEqual(weft_json("index", self.store, "--remove", "d3")["vectors"], 2)

    def test_flags_that_would_change_nothing_are_refused(self):
        weft_json("index", self.store, self.corpus)
        for flags, said in ((("--model", self.folder), "--model"), (("--rerank-depth", "3"), "--rerank"), (("--query-field", "q"), "--eval"),
                            (("--depth", "3"), "--top-k"), (("--dtype", "bfloat16"), "--dtype")):
            self.assert_fails(weft("search", self.store, "loom", *flags), 2, flags[0], said)
        for flags in (("--format", "lines"), ("--on-error", "skip"), ("--passage-length", "9"), ("--text-field", "body")):
            self.assert_fails(weft("index", self.store, *flags), 2, f"{flags[0]} says how files are read, and there are none")
        new = self.folder / "new.weft"
        for flags in (("--rebuild",), ("--max-length", "9"), ("--truncate",), ("--batch-size", "9"), ("--dtype", "bfloat16")):
            for store in (self.store, new):
                self.assert_fails(weft("index", store, self.corpus, *flags), 2, f"{flags[0]} is for the model that makes vectors", "--model")
        self.assertFalse(new.exists())

    def test_evaluation_and_errors(self):
        weft_json("index", self.store, self.corpus)
        queries, judged = self.folder / "queries.jsonl", self.folder / "qrels.tsv"
        queries.write_text('{"_id": "q", "text": "loom"}\n{"_id": "r", "text": "window rates"}\n')
        judged.write_text("query-id\tcorpus-id\tscore\nq\td1\t1\nr\td2\t1\n")
        figures = weft_json("search", self.store, "--eval", queries, judged, "--depth", "50")
        self.assertEqual(figures["queries"], 2)
        self.assertNotIn("recall_at_100", figures)  # nobody looked so far
        self.assertEqual(figures["recall_at_10"], 1.0)
        asked_twice = self.folder / "asked.jsonl"
        asked_twice.write_text('{"_id": "q", "text": "loom"}\n{"_id": "q", "text": "window"}\n')
        self.assert_fails(weft("search", self.store, "--eval", asked_twice, judged), 1, "asked.jsonl' line 2", "the query 'q' stands twice")
        self.assertEqual(weft("search", self.store).returncode, 2)
        twice = self.folder / "twice.jsonl"
        twice.write_text('{"_id": "x", "text": "a"}\n{"_id": "x", "text": "b"}\n')
        refused = weft("index", self.store, twice)
        self.assertEqual(refused.returncode, 1)
        self.assertIn("line 2: the id 'x' was there before", refused.stderr)
        self.assertEqual(weft_json("index", self.store, self.corpus)["unchanged"], 3)
        nothing = self.folder / "nothing"
        nothing.mkdir()
        self.assertIn("--sync would take out all its texts (3)", weft("index", self.store, nothing, "--sync").stderr)
        twice.write_text('{"_id": "d1", "text": "a"}\n{"_id": "d2", "te\n')
        self.assertIn("--sync takes out nothing, since 1 malformed record", weft("index", self.store, twice, "--sync", "--on-error", "skip").stderr)
        self.assertEqual(weft_json("index", self.store)["texts"], 3)
        self.assert_fails(weft("index", self.folder / "new.weft", self.folder / "none"), 1, "No such file")
        self.assertFalse((self.folder / "new.weft").exists())
        with sqlite3.connect(self.store) as database:
            database.execute("PRAGMA user_version = 9")
        database.close()
        self.assertIn("a later version of Weft wrote this store", weft("search", self.store, "loom").stderr)

    def test_killed_at_any_moment(self):
        """Ten times, at moments that a fixed seed draws; the store is whole each time, and one more run ends what they began."""
        texts = self.folder / "texts.jsonl"
        texts.write_text("".join(json.dumps({"id": number, "text": f"passage {number} of a loom and {number % 97} threads"}) + "\n" for number in range(20000)))
        draw = random.Random(7)
        for _ in range(10):
            process = begin_weft("index", self.store, texts, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            while process.poll() is None and not pathlib.Path(f"{self.store}-wal").exists():
                time.sleep(0.001)
            time.sleep(draw.random() * 0.2)
            process.kill()
            process.wait()
            with contextlib.closing(sqlite3.connect(self.store)) as database:
                self.assertEqual(database.execute("PRAGMA integrity_check").fetchall(), [("ok",)])
                if database.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0] > 0:
                    database.execute("INSERT INTO words(words, rank) VALUES('integrity-check', 1)")  # by its passages
                    (texts_there, passages) = database.execute("SELECT (SELECT count(*) FROM texts), (SELECT count(*) FROM passages)").fetchone()
                    self.assertEqual((texts_there % 1000, passages), (0, texts_there))  # a commit each 1,000
        made = weft_json("index", self.store, texts)
        self.assertEqual((made["texts"], made["passages"]), (20000, 20000))


if __name__ == "__main__":
    unittest.main()
