# SPDX-License-Identifier: Apache-2.0
"""A run as a page, runs side by side, one run from several seeds, and the best model of a run."""

import html.parser
import json
import shlex
import unittest

from weft_program import Case, losses, weft, weft_json


class Page(html.parser.HTMLParser):
    """What a page is made of, and whether it asks for anything beside itself."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.sources, self.text, self.open = [], [], "", []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        if tag not in ("meta", "img", "line", "path"):
            self.open.append(tag)
        self.sources += [value for name, value in attributes if name in ("src", "href")]

    def handle_endtag(self, tag):
        if tag in self.open:
            self.open.remove(tag)

    def handle_data(self, data):
        self.text += data


class ReportTest(Case):
    def test_a_page_needs_nothing_beside_itself(self):
        self.train("--steps", "12", "--eval-text", self.held_out, "--eval-every", "4", "--best-metric", "bits_per_byte")
        printed = weft("report", self.run_directory)
        self.assertEqual(printed.stdout.strip(), str(self.run_directory / "report.html"))
        page = Page((self.run_directory / "report.html").read_text())
        self.assertEqual(page.open, [], "every tag is closed")
        self.assertTrue(all(source.startswith("data:") for source in page.sources))
        self.assertGreaterEqual(page.tags.count("svg"), 4)
        self.assertEqual(page.tags.count("img"), 1, "the pattern of both layers")
        for words in ("bits_per_byte", "best", "weft train", "learning_rate", "num_hidden_layers", "window(left=8)"):
            self.assertIn(words, page.text)

    def test_the_command_makes_the_run_again(self):
        self.train("--steps", "5", "--learning-rate", "0.002", "--seed", "4")
        found = weft_json("report", self.run_directory, "--out", self.folder / "page.html")
        self.assertTrue((self.folder / "page.html").exists())
        words = shlex.split(found["command"])
        self.assertEqual(words[:2], ["weft", "train"])
        again = weft(*words[1:])
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertEqual(losses(f"{self.run_directory}-again"), losses(self.run_directory))

    def test_what_is_no_run_is_refused(self):
        self.assert_fails(weft("report", self.folder), 1, "training.json")
        self.assert_fails(weft("compare", self.folder), 1, "training.json")

    def test_runs_are_compared(self):
        for seed in ("1", "2"):
            self.train("--steps", "5", "--seed", seed, "--eval-text", self.held_out, out=self.folder / seed)
        rows = weft_json("compare", self.folder / "1", self.folder / "2")
        self.assertEqual([row["steps"] for row in rows], [5, 5])
        self.assertEqual([row["settings"] for row in rows], [{"seed": 1}, {"seed": 2}])
        self.assertNotEqual(rows[0]["eval bits_per_byte"], rows[1]["eval bits_per_byte"])
        table = weft("compare", self.folder / "1", self.folder / "2").stdout.splitlines()
        self.assertEqual(len(table), 3)
        self.assertIn("seed", table[0])

    def test_seeds_repeat_a_run(self):
        arguments = self.train_arguments(self.run_directory, "--steps", "5", "--seed", "7", "--seeds", "3", "--eval-text",
                                         self.held_out)
        report = weft_json(*arguments)
        self.assertEqual(report, json.loads((self.run_directory / "seeds.json").read_text()))
        values = report["figures"]["bits_per_byte"]["values"]
        mean = sum(values) / 3
        self.assertAlmostEqual(report["figures"]["bits_per_byte"]["mean"], mean, 12)
        deviation = (sum((value - mean) ** 2 for value in values) / 2) ** 0.5
        self.assertAlmostEqual(report["figures"]["bits_per_byte"]["deviation"], deviation, 12)
        self.assertEqual(len(set(values)), 3)
        again = weft_json("train", "--resume", "--out", self.run_directory, "--seed", "7", "--seeds", "3")
        self.assertEqual(again["figures"]["bits_per_byte"], report["figures"]["bits_per_byte"])

    def test_the_best_model_can_be_used(self):
        self.train("--steps", "12", "--eval-text", self.held_out, "--eval-every", "4", "--best-metric", "bits_per_byte")
        best = json.loads((self.run_directory / "best/best.json").read_text())
        found = weft_json("eval", self.run_directory / "best", "--text", self.held_out, "--dtype", "float32")
        self.assertAlmostEqual(found["bits_per_byte"], best["value"], 4)
        wrong = weft(*self.train_arguments(self.folder / "wrong", "--steps", "4", "--eval-text", self.held_out,
                                           "--best-metric", "f1"))
        self.assert_fails(wrong, 1, "best_metric", "bits_per_byte")


if __name__ == "__main__":
    unittest.main()
