#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""examples/promoters: what counts say (naive Bayes, words at places, both together), and how they are joined with a model."""
import collections
import json
import math
import os
import pathlib
import random
import sys
import tempfile
import tracemalloc
import unittest
from unittest import mock

ROOT = pathlib.Path(os.environ.get("WEFT_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(ROOT / "examples/promoters"))

import counted  # noqa: E402
import joined  # noqa: E402
import naive_bayes  # noqa: E402
import placed_words  # noqa: E402
import sequences  # noqa: E402
import weighing  # noqa: E402


def any_bases(draw, length, letters="ACGT"):
    return "".join(draw.choices(letters, k=length))


class NaiveBayesTest(unittest.TestCase):
    def test_by_hand(self):
        """Runs of one letter: A 3 and C 1 in class 1, A 1 and C 3 in class 0; one is added to each of four letters."""
        bayes = naive_bayes.NaiveBayes(1, ["AAAC", "ACCC"], [1, 0])
        self.assertAlmostEqual(bayes.score("A"), math.log(4 / 2))
        self.assertAlmostEqual(bayes.score("AC"), 0.0)
        self.assertAlmostEqual(bayes.score("G"), 0.0)

    def test_even_letters_give_a_promoter_away(self):
        """The reason for the second kind of negatives: on the first, counting is enough."""
        draw = random.Random(5)
        promoters = [any_bases(draw, 300, "AAATTTCG") for _ in range(400)]
        f1 = {}
        for kind in sequences.KINDS:
            parts = sequences.folds(sequences.examples(promoters, None, kind, 0), 4, 0)
            learned = [each for part in parts[1:] for each in part]
            bayes = naive_bayes.NaiveBayes(2, [each.bases for each in learned], [each.label for each in learned])
            f1[kind] = naive_bayes.figures([bayes.predict(each.bases) for each in parts[0]], [each.label for each in parts[0]])["f1"]
        self.assertGreater(f1["uniform"], 0.95)
        self.assertLess(f1["dinucleotides"], 0.7)

    def test_one_class_is_refused(self):
        with self.assertRaisesRegex(ValueError, "both classes"):
            naive_bayes.NaiveBayes(2, ["ACGT"], [1])
        self.assertEqual(naive_bayes.figures([0, 0], [0, 0])["f1"], 0)


class PlacedWordsTest(unittest.TestCase):
    def test_features(self):
        """Those of two letters, of which 'ACGTA' has four: in stretches of two places, moved by one, and anywhere."""
        words = ["AC", "CG", "GT", "TA"]
        for width, moved, stretches in ((1, 0, [0, 1, 2, 3]), (2, 0, [0, 0, 1, 1]), (2, 1, [0, 1, 1, 2]), (0, 0, [0, 0, 0, 0])):
            form = placed_words.Form(2, width, moved, 100, 4)
            self.assertEqual(list(form.features(words)), [100 + 16 * stretch + code for stretch, code in zip(stretches, (1, 6, 11, 12))])
            self.assertEqual(form.known(["AC", "NG", "GT"]), [100 + 16 * stretches[0] + 1, 100 + 16 * stretches[2] + 11])
            self.assertEqual(form.end, 116 + 16 * max(stretches))

    def test_numbers_are_those_of_a_dictionary(self):
        """To the last bit, for texts of any lengths; the same descent over features with names."""
        draw = random.Random(7)
        texts = [any_bases(draw, draw.choice((5, 40, 61)), letters) for letters in ("AACGT", "ACGTT") * 30]
        labels, weights, order = [0, 1] * 30, collections.defaultdict(float), list(range(60))

        def named(text):
            for letters, width in placed_words.FORMS:
                for moved in (0, width // 2) if width > 1 else (0,):
                    yield from ((letters, width, moved, (begin + moved) // max(1, width) if width else 0, text[begin:begin + letters])
                                for begin in range(len(text) - letters + 1))

        bias, shuffled = 0.0, random.Random(3)
        with mock.patch.object(placed_words, "SEEN", 360):
            words = placed_words.PlacedWords(texts, labels, 3)
        for number in range(6):
            shuffled.shuffle(order)
            for place in order:
                row = list(named(texts[place]))
                odds = bias + sum(weights[name] for name in row)
                step = placed_words.RATE / (1 + number) * (weighing.probability(odds) - labels[place]) / len(row)
                bias -= step
                for name in row:
                    weights[name] -= step
        for text in (*texts, any_bases(draw, 90), "A", "ACGTACGNACGTACG"):
            self.assertEqual(words.score(text), bias + sum(weights.get(name, 0.0) for name in named(text)))

    def test_few_texts_are_passed_more_often(self):
        self.assertEqual([placed_words.passes_for(count) for count in (1, 120, 3000, 50000)], [4000, 33, 4, 4])

    @mock.patch.object(placed_words, "SEEN", 0)
    def test_memory_does_not_grow_with_records(self):
        draw, most = random.Random(8), []
        for count in (40, 160):
            texts = [any_bases(draw, 81) for _ in range(count)]
            tracemalloc.start()
            placed_words.PlacedWords(texts, [0, 1] * (count // 2))
            most.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
        self.assertLess(most[1], most[0] + 120 * 100)  # bytes a record

    @mock.patch.object(placed_words, "SEEN", 0)
    def test_a_box_that_moves_is_found(self):
        """Counts of runs do not see where it stands; others have it, too, elsewhere."""
        draw = random.Random(12)

        def with_box(begin):
            place = draw.randrange(begin, begin + 5)
            return any_bases(draw, place) + "TATAAT" + any_bases(draw, 75 - place)

        texts = [with_box(begin) for _ in range(200) for begin in (48, 15)]
        labels = [1, 0] * 200
        words = placed_words.PlacedWords(texts[:300], labels[:300])
        counts = naive_bayes.NaiveBayes(6, texts[:300], labels[:300])
        f1 = [naive_bayes.figures([each.predict(text) for text in texts[300:]], labels[300:])["f1"] for each in (words, counts)]
        self.assertGreater(f1[0], 0.9)
        self.assertLess(f1[1], 0.75)
        again = placed_words.PlacedWords(texts[:300], labels[:300])
        self.assertEqual(words.score(texts[300]), again.score(texts[300]))
        self.assertEqual(words.score("N"), words.bias)  # nothing that it learned of
        with self.assertRaisesRegex(ValueError, "both classes"):
            placed_words.PlacedWords(["ACGT"], [0])


class CountedTest(unittest.TestCase):
    def examples(self, count, seed):
        """Others are three of four; promoters have more A, wherever, and a box near its place."""
        draw, found = random.Random(seed), []
        for number in range(count):
            label = int(number % 4 == 0)
            box = any_bases(draw, draw.randrange(20, 24)) + ("TATAAT" if label and draw.random() < 0.7 else any_bases(draw, 6))
            found.append(sequences.Example((box + any_bases(draw, 60, "AACGT" if label else "ACGT"))[:80], label, number))
        return found

    @mock.patch.object(placed_words, "SEEN", 0)
    def test_few_records_are_told_as_surely_as_they_can_be(self):
        """Words alone are too little sure with few records, and miss promoters."""
        learned, scored = self.examples(100, 1), self.examples(300, 2)
        both = counted.Counted(learned)
        truth = [each.label for each in scored]

        def loss(score):
            return sum(weighing.softplus(-score(each.bases) if each.label else score(each.bases)) for each in scored) / len(scored)

        words, together = (naive_bayes.figures([int(score(each.bases) > 0) for each in scored], truth)["f1"] for score in (both.both.words.score, both.score))
        self.assertGreater(together, words)
        self.assertLess(loss(both.score), loss(both.both.words.score))

    def test_weights_are_of_records_that_none_learned_from(self):
        asked, learned = [], self.examples(40, 3)
        learned += [each._replace(bases=each.bases[1:]) for each in learned]  # near copies, in the same group

        class Told:
            def __init__(self, others, seed):
                self.groups = {each.group for each in others}

            def row(self, text):
                asked.extend(each.group in self.groups for each in learned if each.bases == text)
                return 0.0, 0.0, 1.0

        with mock.patch.object(counted, "Both", Told):
            rows, labels = counted.unseen(learned, 0)
            self.assertEqual((len(rows), sum(labels), asked), (80, 20, [False] * 80))
            with mock.patch.object(counted, "ENOUGH", 17):
                self.assertEqual(len(counted.unseen(learned, 0)[0]), 32)  # two parts of 16

    @mock.patch.object(placed_words, "SEEN", 0)
    def test_records_that_cannot_be_parted(self):
        learned = [sequences.Example(bases, label, 0) for bases, label in (("ACGTTT", 1), ("GGCCAA", 0))]
        self.assertEqual(counted.Counted(learned).weights, list(counted.USUAL))


class WeighingTest(unittest.TestCase):
    def test_by_hand(self):
        """Of three records with 1 two are so: the odds are 2. A pull that is strong keeps what is usual."""
        rows, labels = [[1.0]] * 3, [1, 1, 0]
        self.assertAlmostEqual(weighing.fitted(rows, labels, [0.0], 1e-9)[0], math.log(2), places=5)
        self.assertAlmostEqual(weighing.fitted(rows, labels, [0.5], 1e6)[0], 0.5, places=5)
        self.assertEqual(weighing.fitted([], [], [1.0, 2.0], 1.0), [1.0, 2.0])
        found = weighing.solved([[2.0, 1.0], [1.0, 3.0]], [4.0, 7.0])
        self.assertAlmostEqual(found[0], 1.0)
        self.assertAlmostEqual(found[1], 2.0)
        self.assertEqual(weighing.probability(-1000), 0.0)


class JoinedTest(unittest.TestCase):
    def records(self, count, seed=0):
        """Counts and model each see half of what there is to see; the model is ten times as sure as it should be, and too often says no."""
        draw, found = random.Random(seed), []
        for number in range(count):
            label = number % 2
            counts, model = (draw.gauss(1 if label else -1, 1) for _ in range(2))
            found.append(joined.Scored(2 * counts, 20 * model - 20, label, number, number))
        return found

    def test_two_see_more_than_each(self):
        records = self.records(1000)
        truth = [record.label for record in records]
        right = {"joined": joined.predicted(records, 0), "counts": [int(record.counted > 0) for record in records],
                 "model": [int(record.model > 0) for record in records]}
        right = {name: naive_bayes.figures(labels, truth)["accuracy"] for name, labels in right.items()}
        self.assertGreater(right["joined"], right["counts"] + 0.03)
        self.assertGreater(right["joined"], right["model"] + 0.03)
        self.assertEqual(joined.predicted(records, 0), joined.predicted(records, 0))
        counts, model, constant = joined.weights_of(self.records(4000))
        self.assertAlmostEqual(counts, 1, delta=0.15)  # by hand: odds of two normals of deviation 1, two apart, are twice the number
        self.assertAlmostEqual(model, 0.1, delta=0.015)
        self.assertAlmostEqual(constant, 2, delta=0.5)  # some of the pull is left

    def test_no_record_weighs_itself(self):
        """The label of a record, and of its near copies, changes nothing of what is said of it."""
        records = [record._replace(group=record.number // 2) for record in self.records(40, 3)]
        before = joined.predicted(records, 0)
        for number in (0, 6, 20):
            turned = [record._replace(label=1 - record.label) if record.group == number // 2 else record for record in records]
            self.assertEqual(joined.predicted(turned, 0)[number], before[number])

    def test_few_records_are_weighed_as_usual(self):
        self.assertEqual(joined.weights_of([]), list(joined.USUAL))
        self.assertEqual(joined.predicted([joined.Scored(3.0, -2.0, 1, 0, 0), joined.Scored(-3.0, 2.0, 0, 0, 1)], 0), [1, 0])

    def test_predictions_of_the_program(self):
        with tempfile.TemporaryDirectory(prefix="weft-promoters-") as folder:
            path = pathlib.Path(folder) / "predictions.jsonl"
            said = ({"label": label, "score": score, "truth": "1"} for label, score in (("1", 0.75), ("0", 0.75), ("1", 1.0)))
            path.write_text("".join(json.dumps(each) + "\n" for each in said))
            odds = joined.model_odds(path, 3)
            self.assertAlmostEqual(odds[0], math.log(3))
            self.assertAlmostEqual(odds[1], -math.log(3))
            self.assertAlmostEqual(odds[2], math.log((1 - joined.SURE) / joined.SURE))
            with self.assertRaisesRegex(SystemExit, "a prediction of each of 4 records, found 3"):
                joined.model_odds(path, 4)


if __name__ == "__main__":
    unittest.main()
