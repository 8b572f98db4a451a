#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tables of genomes: motifs lie where they are said to, labels are what was planted, cuts keep the middle, areas are those of all pairs, and windows of
all lengths are asked for the same pieces. examples/genome/genome.py keeps records apart and refuses what it cannot read or hold out.
"""
import contextlib
import gzip
import io
import os
import pathlib
import random
import sys
import tempfile
import unittest
from unittest import mock

ROOT = pathlib.Path(os.environ.get("WEFT_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[2]))
sys.path[:0] = [str(ROOT / "examples/genome"), str(ROOT / "examples/science"), str(ROOT / "tests/support")]

import genome as genomes  # noqa: E402
import planted  # noqa: E402
import science  # noqa: E402
from told_world import ToldWorld  # noqa: E402


def any_bases(seed, length):
    return "".join(random.Random(seed).choices("ACGT", k=length))


def places_of(words, motif):
    return [place for place in range(len(words) - 1) if words[place:place + 2] == motif]


class PlantedTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.genome = any_bases(1, 30000)
        cls.motifs = planted.motifs(3)
        cls.pieces = planted.pieces(cls.genome, 100, cls.motifs, "test")

    def test_a_label_needs_both_motifs(self):
        counts = {True: 0, False: 0}
        for piece in self.pieces:
            self.assertEqual(len(piece.words), planted.WORDS)
            for name, (first, second) in self.motifs.items():
                both = bool(places_of(piece.words, first)) and bool(places_of(piece.words, second))
                self.assertEqual(both, name in piece.labels, name)
                counts[both] += 1
        self.assertAlmostEqual(counts[True] / sum(counts.values()), 0.25, delta=0.04)

    def test_distances(self):
        half = planted.WORDS // 2
        for piece in self.pieces:
            for name, (first, second) in self.motifs.items():
                nearest, farthest = planted.GROUPS[name.partition("_")[0]]
                self.assertTrue(all(abs(place - half) <= planted.NEAR[1] for place in places_of(piece.words, first)))
                self.assertTrue(all(nearest <= abs(place - half) <= farthest for place in places_of(piece.words, second)), name)

    def test_a_cut_sees_the_groups_that_it_is_said_to(self):
        """42 words hold the first motifs and the near ones, 170 those in the middle, all the far ones."""
        for count, groups in ((42, ("near",)), (170, ("near", "middle")), (planted.WORDS, ("near", "middle", "far"))):
            for piece in self.pieces[:20]:
                words = planted.middle(piece.words, count)
                self.assertEqual(len(words), count)
                for name, (first, second) in self.motifs.items():
                    self.assertEqual(len(places_of(words, first)), len(places_of(piece.words, first)))
                    seen = places_of(piece.words, second) if name.partition("_")[0] in groups else []
                    self.assertEqual(len(places_of(words, second)), len(seen), (count, name))

    def test_the_same_seed_makes_the_same_pieces(self):
        self.assertEqual(planted.pieces(self.genome, 5, self.motifs, "test"), self.pieces[:5])
        self.assertNotEqual(planted.pieces(self.genome, 5, self.motifs, "other"), self.pieces[:5])
        self.assertNotEqual(planted.motifs(4), self.motifs)

    def test_tables(self):
        lines = planted.table(self.pieces[:3], 42).splitlines()
        self.assertEqual(lines[0].split("\t"), ["text", *planted.label_names()])
        text, *flags = lines[1].split("\t")
        self.assertEqual(text.split(" "), planted.middle(self.pieces[0].words, 42))
        self.assertEqual({name for name, flag in zip(planted.label_names(), flags) if flag == "1"}, self.pieces[0].labels)

    def test_genomes_that_are_none(self):
        with self.assertRaisesRegex(SystemExit, "4092 bases or more is needed, found 12"):
            planted.pieces("ACGTACGTACGT", 1, self.motifs, 0)
        with self.assertRaisesRegex(SystemExit, "found 0 of 1 pieces"):
            planted.pieces("N" * 5000, 1, self.motifs, 0)

    def test_areas_are_those_of_all_pairs(self):
        draw = random.Random(4)
        for _ in range(20):
            labels = [draw.randrange(2) for _ in range(30)] + [0, 1]
            scores = [draw.randrange(8) + label for label in labels]
            pairs = [(a > b) + (a == b) / 2 for a, one in zip(scores, labels) for b, other in zip(scores, labels) if one and not other]
            self.assertAlmostEqual(planted.area(scores, labels), sum(pairs) / len(pairs), places=12)
        self.assertIsNone(planted.area([1, 2], [1, 1]))
        self.assertIsNone(planted.area([], []))

    def test_one_of_two_motifs_tells_five_sixths(self):
        """What the tables call the figure of who sees the middle alone."""
        has = [(first, second) for first in (0, 1) for second in (0, 1)] * 25
        self.assertAlmostEqual(planted.area([first for first, _ in has], [first & second for first, second in has]), 5 / 6)


class GenomeFilesTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="weft-genomes-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def fasta(self, *records):
        path = self.folder / "genome.fa"
        path.write_text("".join(f">record {number}\n{bases}\n" for number, bases in enumerate(records)))
        return path

    def test_files(self):
        """gzip is known by what the file holds; each error is a line that names the file."""
        packed = self.folder / "packed.fa"
        packed.write_bytes(gzip.compress(b">one\nACGRu\nacg\n>two\nTT\n"))
        self.assertEqual(genomes.bases_of(packed), "ACGRTACG\nTT")
        for text, said in ((">one\nACG-T\n", "record 1 must be letters of DNA, found '-'"), ("ACGT\n", "line 1 is a sequence before the first line with '>'"),
                           ("", "holds no sequence"), (">one\n>two\nAC\n", "record 1 must be letters of DNA, found none")):
            path = self.folder / "wrong.fa"
            path.write_text(text)
            with self.assertRaisesRegex(SystemExit, f"^genome: {path} {said}$"):
                genomes.bases_of(path)
        with self.assertRaisesRegex(SystemExit, "^genome: there is no file .*none.fa$"):
            genomes.bases_of(self.folder / "none.fa")

    def test_what_is_too_short_is_refused_before_a_model_trains(self):
        path = self.fasta(any_bases(1, 100_112))
        words = ["genome.py", "--fasta", str(path), "--out", str(self.folder / "out"), "--weft", "/nowhere/weft"]
        with mock.patch.object(sys, "argv", words), self.assertRaises(SystemExit) as refused:
            genomes.main()
        self.assertEqual(str(refused.exception), f"genome: {path}: every 10th stretch of at most 50,000 bases of a record is held out, so that 10 stretches "
                                                 "are needed, 450,001 bases where it is one record; found 100,112 bases in 3 stretches; give a longer genome")
        self.assertFalse((self.folder / "out").exists())
        records = [any_bases(number, 1500) for number in range(9)]
        for last, context, part, found in ((1024, "1,024", "held out", "14,524"), (1600, "1,500", "learned from", "15,100")):
            said = f"{part} must have more bases than the longest context, {context}, and the longest one has {context}; found {found} bases"
            with self.assertRaisesRegex(SystemExit, said):
                genomes.checked_parts(self.fasta(*records, any_bases(9, last)), [64, int(context.replace(",", ""))])
        self.assertEqual([len(part) for part in genomes.checked_parts(self.fasta(*records, any_bases(9, 1025)), [64, 1024])], [1, 9])

    def test_pieces_are_made_before_a_model_trains(self):
        path, asked = self.fasta(any_bases(1, 450_010), any_bases(2, 2000)), []

        def told(program, *words):
            asked.append(words[:2])
            return {"tokens": 1, "seconds": 1, "context": 64, "bits_per_byte": 2.0, "bytes": 1, "evaluation": {}}

        words = ["genome.py", "--fasta", str(path), "--out", str(self.folder / "out"), "--context", "1", "--contexts", "1"]
        with mock.patch.object(sys, "argv", words), mock.patch.object(genomes.programs, "weft", told), contextlib.redirect_stdout(io.StringIO()):
            genomes.main()
        self.assertEqual([each[0] for each in asked], ["data", "data", "tokenizer", "train", "eval", "train"])

    def test_records_are_not_joined(self):
        """No stretch, and no line to learn from, holds bases of two records; the other strand has the letters for several bases, too."""
        records = [any_bases(7, 120_000), "ACGTNRYSWKMBDHV" * 20, *(any_bases(number, 300) for number in range(10))]
        kept, others = genomes.parted(genomes.bases_of(self.fasta(*records)))
        self.assertEqual((kept, len(others)), ([records[7]], 13))
        self.assertTrue(all(any(stretch in record for record in records) for stretch in others))
        held_out = genomes.split(kept, others, self.folder / "out")
        self.assertEqual([file.read_text() for file in held_out.iterdir()], kept)
        lines = (self.folder / "out/train.txt").read_text().splitlines()
        self.assertEqual((len(lines), lines[:13]), (26, others))
        self.assertEqual(lines[16], "BDHVKMWSRYNACGT" * 20)
        with self.assertRaisesRegex(SystemExit, "found 0 of 1 pieces"):  # none that begins in one record and ends in the next
            planted.pieces(genomes.bases_of(self.fasta(*(any_bases(number, 3000) for number in range(3)))), 1, planted.motifs(1), 0)


class TablesTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="weft-genomes-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "genomics").mkdir()
        with gzip.open(self.folder / "genomics/ecoli.fa.gz", "wt") as file:
            file.write(">one\n" + any_bases(2, 40000) + "\n")

    def test_rows_of_figure_8(self):
        table = science.load_table("genome_context")
        pieces = '{"result": [{"tokens": ["AC", "AC", "G"]}]}\n{"result": [{"tokens": ["AC"]}]}\n'
        world = ToldWorld(self.folder, eval={"masked_accuracy": 0.2, "loss": 5.0, "masked_tokens": 9}, tokenize=pieces)
        for cell in table.cells():
            figures = table.run(cell, 1, world)
            # Three AC and one G: AC for the mask and for what the text never has, else what stands there.
            alone = 0.8 * 0.75 + 0.1 + 0.1 / table.VOCABULARY * (1 + (table.VOCABULARY - 2) * 0.75)
            self.assertAlmostEqual(figures["accuracy"], alone if table.fixed(cell) else 0.2)
        trained = {words[1]: words for words in world.asked if words[0] == "train"}
        self.assertEqual(sorted(pathlib.Path(run).name for run in trained), ["1024-1", "2048-1", "256-1", "4096-1", "512-1"])
        for words in trained.values():  # all see as many pieces a step
            self.assertEqual(int(words[words.index("--context") + 1]) * int(words[words.index("--batch-size") + 1]), table.PIECES_A_STEP)
        evaluated = [words for words in world.asked if words[0] == "eval"]
        self.assertEqual(len(evaluated), 2 * len(table.CONTEXTS) - 1)
        self.assertEqual({words[words.index("--mask-window") + 1] for words in evaluated}, {"4096"})
        self.assertEqual(sum(words[1].endswith("4096-1") for words in evaluated), len(table.CONTEXTS))

    def test_a_genome_is_learned_from_and_held_out_apart(self):
        bases = any_bases(5, 1_020_000)
        kept, others = genomes.parted(bases)
        self.assertEqual((len(kept), len(others)), (2, 19))
        self.assertEqual(kept[0], bases[450_000:500_000])
        self.assertEqual(sum(map(len, [*kept, *others])), len(bases))

    def test_rows_of_reach(self):
        table = science.load_table("genome_reach")
        self.addCleanup(setattr, table, "LEARNED", table.LEARNED)
        self.addCleanup(setattr, table, "SCORED", table.SCORED)
        table.LEARNED, table.SCORED = 20, 40
        table.split.cache_clear()
        areas = [{"label": name, "roc_auc": number / 10} for number, name in enumerate(planted.label_names())]
        world = ToldWorld(self.folder, eval={"labels": areas})
        self.addCleanup(setattr, table.programs, "small_encoder", table.programs.small_encoder)
        shapes = []
        table.programs.small_encoder = lambda chosen, folder, family, tokenizer, positions: shapes.append(positions) or folder
        for cell in table.cells():
            figures = table.run(cell, 0, world)
            self.assertEqual(set(figures), {"near", "middle", "far"})
            if cell["attention"] != table.COUNTS:
                self.assertEqual(figures, {"near": 0.1, "middle": 0.4, "far": 0.7})
        self.assertEqual(sorted(set(shapes)), [44, 172, 684])
        words = (self.folder / "252-0/learned.tsv").read_text().splitlines()[1].split("\t")[0].split(" ")
        self.assertEqual(len(words), 42)
        self.assertEqual(len((self.folder / "4092-0/tokenizer/vocab.txt").read_text().split()), 4 ** planted.WORD + 5)

    def test_labels_of_one_class_are_named(self):
        table = science.load_table("genome_reach")
        with self.assertRaisesRegex(SystemExit, "far_1 of the scored pieces"):
            table.medians({name: None if name == "far_1" else 0.5 for name in planted.label_names()})


if __name__ == "__main__":
    unittest.main()
