#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""examples/promoters: negatives that keep what they say they keep, folds that share no near copy, naive Bayes, and files that are none."""
import collections
import contextlib
import gzip
import io
import json
import os
import pathlib
import random
import sys
import tempfile
import types
import unittest
from concurrent import futures
from unittest import mock

ROOT = pathlib.Path(os.environ.get("WEFT_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[2]))
sys.path[:0] = [str(ROOT / "examples/promoters"), str(ROOT / "examples/science")]

import altered  # noqa: E402
import chosen  # noqa: E402
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
        for count, said in ((1, "--folds must be 2 or more, found 1"), (3, "fold 2 of 3 has not got both promoters and others: found 2 promoters and 2 others in 2 groups")):
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
            path.with_name(promoters.FIRST).mkdir()
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
            settings = promoters.RECIPE | {"epochs": 2}
            chosen = types.SimpleNamespace(weft="weft", out=folder / "fold", seed=0, made=None, pretrain=folder / "genome.fa",
                                           pretraining=folder / "pretraining", **settings)
            (folder / "pretraining/model").mkdir(parents=True)
            figures = promoters.trained_figures(chosen, found, found, Told("weft"))
            self.assertTrue((folder / "pretraining/genome.txt").exists())
            long = sequences.examples(["ACGT" * 130], None, "uniform", 0)
            with self.assertRaisesRegex(SystemExit, "at most 514 bases, found one of 520"):
                promoters.trained_figures(chosen, long, long, Told("weft"))
        self.assertEqual((figures["sensitivity"], figures["specificity"]), (0.5, 1.0))
        self.assertEqual([flags[:2] for _, flags in asked], [["--task", "mlm"], ["--task", "classify"], ["--task", "classify"]])
        self.assertIn("spans", asked[0][1])
        self.assertEqual(asked[1][1][3], str(folder / "pretraining/run"))


class ShownTest(unittest.TestCase):
    def test_each_epoch_has_other_copies(self):
        draw = random.Random(8)
        learned = sequences.examples([any_bases(draw, 300) for _ in range(3)], None, "dinucleotides", 0)
        for made in ("dinucleotides", None):
            chosen = types.SimpleNamespace(made=made, epochs=4, seed=1)
            seen = promoters.shown(chosen, learned)
            self.assertEqual((len(seen), len({each.bases for each in seen})), (24, 24))
            self.assertEqual({len(each.bases) for each in seen}, {300})
            self.assertEqual(sum(each.label for each in seen), 12)
            self.assertEqual(promoters.shown(chosen, learned), seen)

    def test_a_copy_is_near_its_record(self):
        draw, bases = random.Random(5), any_bases(random.Random(4), 2000)
        same = sum(old == new for old, new in zip(bases, altered.with_other_letters(bases, draw))) / len(bases)
        self.assertAlmostEqual(same, 1 - altered.REDRAWN * 3 / 4, delta=0.03)  # a quarter is drawn as it was; three deviations of 2,000 letters
        lengths = [len(altered.moved(bases, draw)) - len(bases) for _ in range(300)]
        self.assertAlmostEqual(sum(lengths) / len(lengths), 0, delta=0.25)  # of a deviation of one
        self.assertGreater(max(lengths), 0)
        self.assertLess(min(lengths), 0)

    def test_copies_of_any_length(self):
        draw = random.Random(7)
        for bases in ("A", "AC", "N" * 30, any_bases(draw, 81)):
            for _ in range(200):
                self.assertEqual(len(altered.copy_of(bases, draw)), len(bases))


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
        self.assertEqual([promoters.epochs_for(count) for count in (100, 2000, 3500, 40000)], [24, 18, 10, 3])


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
        self.assertEqual(sequences.read(self.file("\ufeff> \u03b2 one\r\nacgn\r\nAC\r\n")), ["ACGNAC"])  # a byte order mark, a name of any letters
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
        of_rna = regions.chromosomes(self.file(">track1\nACGU\n", "rna.fa"))
        self.assertEqual(of_rna, {"track1": "ACGT"})
        self.assertEqual(regions.read_bed(self.file("browser hide all\ntrack1\t0\t2\n"), of_rna), [("track1", 0, 2)])
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
