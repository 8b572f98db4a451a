#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""examples/promoters: negatives that keep what they say they keep, folds that share no near copy, naive Bayes, and files that are none."""
import collections
import contextlib
import gzip
import io
import json
import math
import os
import pathlib
import random
import sys
import tempfile
import tracemalloc
import types
import unittest
from concurrent import futures
from unittest import mock

ROOT = pathlib.Path(os.environ.get("WEFT_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[2]))
sys.path[:0] = [str(ROOT / "examples/promoters"), str(ROOT / "examples/science")]

import chosen  # noqa: E402
import joined  # noqa: E402
import naive_bayes  # noqa: E402
import placed_words  # noqa: E402
import promoters  # noqa: E402
import regions  # noqa: E402
import science  # noqa: E402
import sequences  # noqa: E402
import world  # noqa: E402


def any_bases(draw, length, letters="ACGT"):
    return "".join(draw.choices(letters, k=length))


class NegativesTest(unittest.TestCase):
    def test_twelve_of_twenty_parts_are_new(self):
        draw = random.Random(1)
        for length in (300, 251, 81):
            bases = any_bases(draw, length)
            self.assertEqual("".join(sequences.cut(bases)), bases)
            for kind in sequences.KINDS:
                negative = sequences.redrawn(bases, kind, draw)
                self.assertEqual(len(negative), length)
                same = sum(old == new for old, new in zip(sequences.cut(bases), sequences.cut(negative)))
                self.assertGreaterEqual(same, sequences.KEPT)
                self.assertLess(same, sequences.KEPT + 5)

    def test_dinucleotides_are_those_of_the_promoter(self):
        """No pair of letters that it does not have; even letters have all."""
        bases, draw = "AT" * 100, random.Random(2)
        pairs = collections.Counter()
        for _ in range(20):
            negative = sequences.redrawn(bases, "dinucleotides", draw)
            self.assertLessEqual(set(negative), {"A", "T"})
            pairs.update(first + second for first, second in zip(negative, negative[1:]))
        self.assertGreater((pairs["AT"] + pairs["TA"]) / sum(pairs.values()), 0.9)  # only where a part that stays begins is another pair
        self.assertGreater(len(set(sequences.redrawn(bases, "uniform", draw))), 2)


class FoldsTest(unittest.TestCase):
    def test_no_group_is_in_two_folds(self):
        draw = random.Random(3)
        first = [any_bases(draw, 200) for _ in range(40)]
        copies = [bases[50:] + any_bases(draw, 50) for bases in first[:10]]
        promoters = first + copies
        groups = sequences.near_copies(promoters)
        self.assertEqual(groups[:10], groups[40:])
        self.assertEqual(len(set(groups)), 40)
        joined = sequences.near_copies([first[0], first[1], first[2][:100] + first[3][:100], first[3][:100] + first[0][:100] + first[1][:100]])
        self.assertEqual(joined, [0, 0, 0, 0])  # the last one joins all others; a group is its first sequence
        found = sequences.examples(promoters, None, "uniform", 0)
        parts = sequences.folds(found, 5, 0)
        self.assertEqual(sorted(map(len, parts)), [20] * 5)
        for number, part in enumerate(parts):
            others = {each.group for place, other in enumerate(parts) if place != number for each in other}
            self.assertFalse(others & {each.group for each in part})
            self.assertEqual(sum(each.label for each in part), len(part) / 2)  # each with its negative


class SettingsTest(unittest.TestCase):
    def test_folds_without_a_class(self):
        found = sequences.examples(["ACGT" * 20, "GGCA" * 20], None, "uniform", 0)
        for count, said in ((1, "--folds must be 2 or more, found 1"), (3, "fold 2 of 3 has not got both")):
            with self.assertRaisesRegex(SystemExit, said):
                promoters.checked_folds(types.SimpleNamespace(folds=count, seed=0), found)
        self.assertEqual(len(promoters.checked_folds(types.SimpleNamespace(folds=2, seed=0), found)), 2)

    def test_settings_below_one(self):
        for flag in ("--epochs", "--kmer", "--stride"):
            words = ["promoters.py", "--promoters", "p.fa", "--made", "uniform", "--out", "out", flag, "0"]
            with mock.patch.object(sys, "argv", words), contextlib.redirect_stderr(io.StringIO()) as said, self.assertRaises(SystemExit):
                promoters.options()
            self.assertIn(f"{flag} must be 1 or more, found 0", said.getvalue())

    def test_runs_of_other_settings_do_not_go_on(self):
        with tempfile.TemporaryDirectory(prefix="weft-promoters-") as folder:
            out = pathlib.Path(folder) / "out"
            for seed in (0, 1):
                promoters.keep_settings(types.SimpleNamespace(out=out, weft="weft", made="uniform", seed=seed))
            with self.assertRaisesRegex(SystemExit, "other settings"):
                promoters.keep_settings(types.SimpleNamespace(out=out, weft="weft", made="dinucleotides", seed=0))

    def test_a_run_of_other_records_does_not_go_on(self):
        with tempfile.TemporaryDirectory(prefix="weft-promoters-") as folder:
            path, chosen_words = pathlib.Path(folder) / "scored.tsv", types.SimpleNamespace(kmer=4, stride=2)
            first, second = (sequences.examples([bases * 5], None, "uniform", 0) for bases in ("ACGTT", "GGATC"))
            promoters.write_table(path, first, chosen_words)
            promoters.write_table(path, second, chosen_words)  # nothing has learned from it
            path.with_name("run").mkdir()
            promoters.write_table(path, second, chosen_words)
            with self.assertRaisesRegex(SystemExit, "is of other records"):
                promoters.write_table(path, first, chosen_words)


class PretrainingTest(unittest.TestCase):
    def test_lines_cover_the_genome_once(self):
        bases = any_bases(random.Random(9), 1003)
        lines = list(promoters.genome_lines({"one": bases}, 5, 1, 250))
        self.assertEqual(len(lines), 4)
        tokens = [line.split() for line in lines]
        self.assertEqual(sum(map(len, tokens)), 1003 - 4)
        self.assertEqual(tokens[0], [bases[begin:begin + 5] for begin in range(250)])
        other = [token[::-1].translate(promoters.COMPLEMENT) for token in reversed(tokens[1])]
        self.assertEqual(other, [bases[begin:begin + 5] for begin in range(250, 500)])
        tokens = [token for line in list(promoters.genome_lines({"one": bases}, 4, 2, 250))[::2] for token in line.split()]
        self.assertEqual(tokens, [bases[begin:begin + 4] for begin in range(0, 500, 2)])  # the rest is one line of the other strand
        self.assertEqual(list(promoters.genome_lines({"short": "ACG"}, 5, 1, 250)), [])

    def test_promoters_begin_with_what_was_learned(self):
        """The genome is read once for all folds of a seed."""
        asked = []

        class Told(promoters.Programs):
            def weft(self, *arguments):
                return {"f1": 1.0, "accuracy": 1.0, "matthews": 1.0, "labels": [{"label": "0", "recall": 1.0}, {"label": "1", "recall": 0.5}]}

            def trained(self, run, *flags):
                asked.append((run.name, list(map(str, flags))))

        with tempfile.TemporaryDirectory(prefix="weft-promoters-") as folder:
            folder = pathlib.Path(folder)
            (folder / "genome.fa").write_text(">one\n" + any_bases(random.Random(9), 600) + "\n")
            found = sequences.examples(["ACGT" * 20, "GGCA" * 20], None, "uniform", 0)
            settings = promoters.RECIPE | {"kmer": 5, "stride": 1}
            chosen = types.SimpleNamespace(weft="weft", out=folder / "fold", seed=0, made=None, pretrain=folder / "genome.fa",
                                           pretraining=folder / "pretraining", **settings)
            (folder / "pretraining/model").mkdir(parents=True)
            figures = promoters.trained_figures(chosen, found, found, Told("weft"))
            self.assertTrue((folder / "pretraining/genome.txt").exists())
            long = sequences.examples(["ACGT" * 130], None, "uniform", 0)
            with self.assertRaisesRegex(SystemExit, "at most 514 bases, found one of 520"):
                promoters.trained_figures(chosen, long, long, Told("weft"))
        self.assertEqual((figures["sensitivity"], figures["specificity"]), (0.5, 1.0))
        self.assertEqual([flags[:2] for _, flags in asked], [["--task", "mlm"], ["--task", "classify"]])
        self.assertIn("spans", asked[0][1])
        self.assertEqual(asked[1][1][3], str(folder / "pretraining/run"))


class ShownTest(unittest.TestCase):
    def test_made_negatives_are_others_in_each_epoch(self):
        draw = random.Random(8)
        learned = sequences.examples([any_bases(draw, 300) for _ in range(3)], None, "dinucleotides", 0)
        chosen = types.SimpleNamespace(made="dinucleotides", epochs=4, seed=1)
        seen, epochs = promoters.shown(chosen, learned)
        self.assertEqual((len(seen), epochs, seen[:6]), (24, 1, learned))
        self.assertEqual(len({each.bases for each in seen if each.label}), 3)
        self.assertEqual(len({each.bases for each in seen if not each.label}), 12)
        self.assertEqual(promoters.shown(chosen, learned)[0], seen)
        chosen.made = None
        self.assertEqual(promoters.shown(chosen, learned), (learned, 4))


class RecipesTest(unittest.TestCase):
    def lines(self, values):
        return [{"cell": {"organism": organism, "kmer": kmer}, "seed": seed, "figures": {"f1": f1 + seed / 100}}
                for organism, recipes in values.items() for kmer, f1 in recipes.items() for seed in (0, 1)]

    def test_an_organism_has_no_part_in_its_choice(self):
        lines = self.lines({"a": {3: 0.9, 5: 0.5}, "b": {3: 0.6, 5: 0.7}, "c": {3: 0.6, 5: 0.8}})
        rows = {row[0]: row[1:] for row in chosen.chosen_elsewhere(chosen.means_of(lines))}
        self.assertEqual((rows["a"][0], rows["a"][2]), ("kmer 5", "kmer 3"))
        self.assertAlmostEqual(rows["a"][1], 0.505)
        self.assertEqual((rows["b"][0], rows["c"][0]), ("kmer 3", "kmer 3"))
        self.assertIn("| a | kmer 5 | 0.5050 | kmer 3 | 0.9050 |", chosen.table(chosen.chosen_elsewhere(chosen.means_of(lines))))

    def test_a_table_that_lacks_a_cell(self):
        lines = self.lines({"a": {3: 0.9, 5: 0.5}, "b": {3: 0.6, 5: 0.7}})
        for part in (lines[:-1], lines[:4], []):
            with self.assertRaisesRegex(SystemExit, "compute what the table lacks"):
                chosen.means_of(part)

    def test_the_part_that_is_scored_later_is_not_touched(self):
        recipes, organisms = science.load_table("promoter_recipes"), science.load_table("promoters")
        with tempfile.TemporaryDirectory(prefix="weft-promoters-") as folder:
            data, draw = pathlib.Path(folder), random.Random(6)
            for path in organisms.GENOMIC["E. coli, genome"]:
                (data / path).parent.mkdir(exist_ok=True)
                (data / path).write_text("".join(f">{number}\n{any_bases(draw, 81)}\n" for number in range(40)))
            learned, scored = recipes.split("E. coli, genome", 0, data)
            all_learned, later = organisms.split("E. coli, genome", 0, data)
        self.assertEqual(len(learned) + len(scored), len(all_learned))
        self.assertFalse({each.bases for each in (*learned, *scored)} & {each.bases for each in later})


class SideBySideTest(unittest.TestCase):
    def test_rows_of_one_model_take_turns(self):
        """They write and read the same tables and predictions."""
        organisms = science.load_table("promoters")
        free = []

        class Told(world.World):
            def weft(self, *arguments, folder=None):
                if arguments[0] != "eval":
                    return {}
                predictions = arguments[arguments.index("--predictions") + 1]
                with futures.ThreadPoolExecutor(1) as another:
                    free.append(another.submit(self.shared.lock(predictions).acquire, blocking=False).result())
                rows = (predictions.parent / "scored.tsv").read_text().splitlines()[1:]
                predictions.write_text("".join(json.dumps({"label": row[-1], "score": 0.9}) + "\n" for row in rows))
                return {"f1": 1.0, "accuracy": 1.0, "matthews": 1.0, "labels": [{"label": label, "recall": 1.0} for label in "01"]}

            def trained(self, run, *flags):
                return {}

        with tempfile.TemporaryDirectory(prefix="weft-promoters-") as folder:
            data, draw = pathlib.Path(folder), random.Random(6)
            for path in organisms.GENOMIC["E. coli, genome"]:
                (data / path).parent.mkdir(exist_ok=True)
                (data / path).write_text("".join(f">{number}\n{any_bases(draw, 81)}\n" for number in range(40)))
            told = Told(world.Program("weft"), data, data / "out")
            (told.folder / "E.-coli-genome-0/model").mkdir(parents=True)
            found = {method: organisms.run({"task": "E. coli, genome", "method": method}, 0, told) for method in ("model", organisms.JOINED)}
        self.assertEqual(free, [False, False])
        self.assertEqual({figures["scored"] for figures in found.values()}, {16})


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

        words, bias, shuffled = placed_words.PlacedWords(texts, labels, 3), 0.0, random.Random(3)
        for number in range(placed_words.PASSES):
            shuffled.shuffle(order)
            for place in order:
                row = list(named(texts[place]))
                odds = bias + sum(weights[name] for name in row)
                step = placed_words.RATE / (1 + number) * (placed_words.probability(odds) - labels[place]) / len(row)
                bias -= step
                for name in row:
                    weights[name] -= step
        for text in (*texts, any_bases(draw, 90), "A", "ACGTACGNACGTACG"):
            self.assertEqual(words.score(text), bias + sum(weights.get(name, 0.0) for name in named(text)))

    def test_memory_does_not_grow_with_records(self):
        draw, most = random.Random(8), []
        for count in (40, 160):
            texts = [any_bases(draw, 81) for _ in range(count)]
            tracemalloc.start()
            placed_words.PlacedWords(texts, [0, 1] * (count // 2))
            most.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
        self.assertLess(most[1], most[0] + 120 * 100)  # bytes a record

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


class JoinedTest(unittest.TestCase):
    def records(self, count, seed=0):
        """Words and model each see half of what there is to see; the model is ten times as sure as it should be, and too often says no."""
        draw, found = random.Random(seed), []
        for number in range(count):
            label = number % 2
            words, model = (draw.gauss(1 if label else -1, 1) for _ in range(2))
            found.append(joined.Scored(2 * words, 20 * model - 20, label, number, number))
        return found

    def test_two_see_more_than_each(self):
        records = self.records(1000)
        truth = [record.label for record in records]
        right = {"joined": joined.predicted(records, 0), "words": [int(record.words > 0) for record in records],
                 "model": [int(record.model > 0) for record in records]}
        right = {name: naive_bayes.figures(labels, truth)["accuracy"] for name, labels in right.items()}
        self.assertGreater(right["joined"], right["words"] + 0.03)
        self.assertGreater(right["joined"], right["model"] + 0.03)
        self.assertEqual(joined.predicted(records, 0), joined.predicted(records, 0))
        words, model, constant = joined.weights_of(self.records(4000))
        self.assertAlmostEqual(words, 1, delta=0.15)  # by hand: odds of two normals of deviation 1, two apart, are twice the number
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


class SequencesTest(unittest.TestCase):
    def checked(self, promoters_found, others, **settings):
        """What is said on standard error."""
        with contextlib.redirect_stderr(io.StringIO()) as said:
            promoters.check_sequences(types.SimpleNamespace(promoters="p.fa", others="o.fa", kmer=4, **settings), promoters_found, others)
        return said.getvalue()

    def test_notes(self):
        self.assertEqual(self.checked(["ACGTAC", "ACGTTT"], ["ACGTAA"]), "")
        self.assertEqual(self.checked(["ACGTAC", "ACGTT"], None), "")
        self.assertIn("promoters have 5 to 6 letters, others 4: length may tell them apart", self.checked(["ACGTAC", "ACGTT"], ["ACGT"]))
        self.assertIn("1 sequences are among promoters and among others", self.checked(["ACGTA", "ACGTT"], ["ACGTT"]))

    def test_too_short(self):
        with self.assertRaisesRegex(SystemExit, "o.fa record 2 must have at least --kmer 4 letters, found 3"):
            self.checked(["ACGT"], ["ACGT", "ACG"])

    def test_epochs_by_records(self):
        self.assertEqual([promoters.epochs_for(count) for count in (100, 2000, 3500, 40000)], [8, 6, 3, 2])


class FilesTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="weft-promoters-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def file(self, text, name="file"):
        path = self.folder / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def test_forms(self):
        self.assertEqual(sequences.read(self.file(">a\nAC\ngt\n\n>b\nTT\n")), ["ACGT", "TT"])
        self.assertEqual(sequences.read(self.file("acgu\nTT\n")), ["ACGT", "TT"])
        self.assertEqual(sequences.read(self.file(gzip.compress(b">a\nACGN\n"))), ["ACGN"])

    def test_files_that_are_none(self):
        damaged = gzip.compress(b">a\nACGN\n" * 50)[:10] + b"\xff" * 20
        for text, said in (("ACGT\nAC-T\n", "record 2 must be letters of DNA, found '-'"), (">a\n>b\nAC\n", "record 1 must be letters of DNA, found none"),
                           ("AC\n>a\nAC\n", "line 1 is a sequence before"), ("", "holds no sequence"), (b"\x1f\x8bAC", "cannot be read as text"),
                           (b"AC\xff", "cannot be read as text"), (damaged, "cannot be read as text")):
            with self.assertRaisesRegex(SystemExit, said):
                sequences.read(self.file(text))
        with self.assertRaisesRegex(SystemExit, "there is no file"):
            sequences.read(self.folder / "nothing")

    def test_regions(self):
        genome = regions.chromosomes(self.file(">chr1 one\n" + "ACGT" * 50 + "\n>chr2\n" + "N" * 90 + "\n", "genome.fa"))
        found = regions.read_bed(self.file("track x\nchr1\t20\t120\tname\n"), genome)
        self.assertEqual(found, [("chr1", 20, 120)])
        self.assertEqual({piece in genome["chr1"][120:] + "|" + genome["chr1"][:20] for piece in regions.outside(genome, found, 30, 20, 0)}, {True})
        with self.assertRaisesRegex(SystemExit, "0 of 3 pieces of 150"):
            regions.outside(genome, found, 150, 3, 0)

    def test_regions_that_are_none(self):
        genome = {"chr1": "ACGT" * 50}
        for line, said in (("chr1\t0\t201", "expected begin < end <= 200, the length of chr1, found 0 and 201"), ("chr1\t9\t9", "found 9 and 9"),
                           ("chr7\t0\t9", "no chromosome 'chr7'"), ("chr1\t-1\t9", "the begin must be a whole number, found '-1'"), ("chr1\t1", "found 2 fields"),
                           ("chr1\t1\tx", "the end must be a whole number, found 'x'"), ("chr1 1 9", "found 1 fields")):
            with self.assertRaisesRegex(SystemExit, f"line 2: .*{said}"):
                regions.read_bed(self.file("chr1\t0\t9\n" + line + "\n"), genome)
        with self.assertRaisesRegex(SystemExit, "holds no region"):
            regions.read_bed(self.file("# none\n"), genome)
        with self.assertRaisesRegex(SystemExit, "line 3: a record needs a name of its own, found 'a'"):
            regions.chromosomes(self.file(">a\nAC\n>a\nAC\n"))


if __name__ == "__main__":
    unittest.main()
