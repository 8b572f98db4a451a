#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""examples/science: a table goes on where it was stopped, and says which rows its seeds cannot tell apart."""
import json
import os
import pathlib
import sys
import tempfile
import threading
import types
import unittest

ROOT = pathlib.Path(os.environ.get("WEFT_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(ROOT / "examples/science"))

import finished  # noqa: E402
import science  # noqa: E402
import summary  # noqa: E402
import world  # noqa: E402

MADE_BY = {"commit": "0123", "machine": "a machine"}
# In place of weft: prints its arguments as JSON; `sleep` does not end.
PROGRAM = """#!/bin/sh
echo "$@" >> "$0.log"
case "$1" in sleep) exec sleep 600;; fail) exit 3;; esac
printf '{"dtype": "bfloat16", "words": "%s"}\\n' "$*"
"""


def small_table(values):
    """Rows by name with the figures of their seeds; one that has a single value is fixed."""
    asked = []

    def run(cell, seed, world):
        asked.append((cell["row"], seed))
        return {"f1": values[cell["row"]][seed]}

    return types.SimpleNamespace(__name__="tables.small", CLAIM="Larger rows are better.", FIGURE="f1", BETTER="larger", NEEDS=[], asked=asked, run=run,
                                 cells=lambda: [{"row": name} for name in values], fixed=lambda cell: len(values[cell["row"]]) == 1)


class SciFactTest(unittest.TestCase):
    def test_sentences_labels_and_abstracts_are_counted(self):
        table = science.load_table("scifact")
        abstracts = {"1": table.Passage("loom", ["a", "b"]), "2": table.Passage("thread", ["c"])}
        marked = table.claim_of({"_id": "7", "claim": "it weaves", "cited_doc_ids": ["1"],
                                 "evidence": [{"doc_id": "1", "label": "CONTRADICT", "sentences": [1]}]})
        bare = table.claim_of({"_id": "8", "claim": "it sings", "cited_doc_ids": ["2"], "evidence": []})
        self.assertEqual((marked.label, marked.evidence, bare.label), ("no", {"1": [1]}, "noanswer"))
        rows = json.loads(table.questions_of(abstracts, [marked, bare], [["2"], ["2", "1"]]))
        self.assertEqual((rows[0]["answer"], rows[0]["supporting_facts"]), ("noanswer", []))  # its evidence was not read
        self.assertEqual(rows[1]["context"], [["thread", ["c"]], ["loom", ["a", "b"]]])
        figures = table.figures(abstracts, [marked, bare], [["1"], ["2"]], [("no", {("loom", 1), ("loom", 0)}), ("yes", {("thread", 0)})])
        self.assertEqual(figures, {"sentence_f1": 50.0, "label": 50.0, "found": 100.0, "claims": 2})


class SideBySideTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="weft-science-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.program = self.folder / "weft"
        self.program.write_text(PROGRAM, encoding="utf-8")
        self.program.chmod(0o755)

    def calls(self):
        return (self.folder / "weft.log").read_text(encoding="utf-8").splitlines()

    def world(self, device="cpu", jobs=2):
        return world.World(world.Program(self.program, 1, device), None, self.folder / "runs", world.Shared(world.Slots(jobs)))

    def computed(self, run, names, **options):
        """Whether all are done, and the lines of the results."""
        table = types.SimpleNamespace(__name__="tables.small", FIGURE="f1", SEEDS=1, cells=lambda: [{"row": name} for name in names], run=run)
        path = self.folder / "small.jsonl"
        chosen = types.SimpleNamespace(**{"seconds": None, "cell_seconds": None, "jobs": 2} | options)
        whole = science.compute_together(science.cells_of("small", table, path), {"small": self.world()}, chosen, MADE_BY)
        return whole, finished.read(path)

    def test_what_cells_share_is_made_once(self):
        folders = []

        def run(cell, seed, mine):
            found = mine.trained(mine.folder / "shared", "--seed", seed)
            folders.append(mine.scratch.name)
            return {"f1": len(found["words"])}

        whole, lines = self.computed(run, ["a", "b", "c", "d"])
        self.assertTrue(whole)
        self.assertEqual(sorted(folders), ["a-0", "b-0", "c-0", "d-0"])
        self.assertEqual(self.calls(), [f"train --seed 0 --out {self.folder}/runs/shared --json"])
        self.assertEqual({(line["device"], line["dtype"], line["commit"]) for line in lines}, {("cpu", "bfloat16", "0123")})

    def test_a_cell_that_fails_or_takes_too_long_stops_no_other(self):
        whole, lines = self.computed(lambda cell, seed, mine: {"f1": len(mine.weft(cell["row"]))}, ["sleep", "fail", "score"], cell_seconds=0.5)
        self.assertFalse(whole)
        self.assertEqual([line["cell"]["row"] for line in lines], ["score"])
        whole, lines = self.computed(lambda cell, seed, mine: {"f1": len(mine.run(cell["row"]))}, ["sleep", "score", "fail"], seconds=0.5)
        self.assertFalse(whole)
        self.assertEqual([line["cell"]["row"] for line in lines], ["score"])

    def test_device_is_named_to_commands_that_compute(self):
        mine = self.world("cuda:3")
        mine.run("score", "bleu")
        self.assertEqual(mine.where(), {"device": "cpu"})
        mine.run("train", "--steps", 1)
        mine.run("answer", "run")
        self.assertEqual(self.calls(), ["score bleu", "train --steps 1 --device cuda:3", "answer run --device cuda:3"])
        self.assertTrue(mine.where()["device"].startswith("cuda:3"))

    def test_who_comes_first_in_the_list_computes_first(self):
        slots, order, begun = world.Slots(1), [], []

        def wait(rank):
            begun.append(rank)
            with slots.taken(rank):
                order.append(rank)

        with slots.taken(0):
            threads = [threading.Thread(target=wait, args=[rank]) for rank in (3, 1, 2)]
            for thread in threads:
                thread.start()
            while len(slots._waiting) < 3:
                pass
        for thread in threads:
            thread.join()
        self.assertEqual(order, [1, 2, 3])
        with slots.taken(0), self.assertRaises(world.OutOfTime):
            with slots.taken(1, until=0.0):
                self.fail("there was no slot")
        with slots.taken(0):
            pass  # who gave up holds none

    def test_flags_that_do_not_fit(self):
        with self.assertRaisesRegex(SystemExit, "parsing:7: the seed of parsing must be a number below 3, found '7'"):
            science.asked_tables(["parsing:7"])
        with self.assertRaisesRegex(SystemExit, "parsing:²: the seed of parsing must be a number below 3, found '²'"):
            science.asked_tables(["parsing:²"])
        self.assertEqual(science.asked_tables(["parsing:0", "scaling"]), [("parsing", 0), ("scaling", None)])


class ScalingTableTest(unittest.TestCase):
    def test_compute_is_what_the_steps_cost(self):
        scaling, equal = science.load_table("scaling"), science.load_table("equal_compute")
        self.assertEqual(scaling.parameters(2, 64), 12 * 2 * 64 * 64 + 256 * 64)
        for cell in scaling.cells():
            per_byte = scaling.operations(cell["layers"], cell["width"], 128.5)
            tokens = scaling.BATCH * 256
            self.assertAlmostEqual(scaling.steps_of(float(cell["compute"]), per_byte, tokens) * per_byte * tokens / float(cell["compute"]), 1, delta=0.01)
            self.assertEqual(cell["width"] % scaling.HEAD, 0)
        self.assertEqual(equal.mean_keys(2048), 1024.5)
        self.assertAlmostEqual(equal.mean_keys(64), 65 - 64 * 65 / 2 / 2048)


class ScienceTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="weft-science-")
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / "small.jsonl"

    def compute(self, table, minutes=None):
        finished.mend(self.path)
        return science.compute(science.cells_of("small", table, self.path), {"small": None}, minutes, MADE_BY)

    def test_goes_on_where_it_was_stopped(self):
        table = small_table({"lead": [30.0], "a": [60.0, 61.0, 62.0], "b": [70.0, 71.0, 72.0]})
        self.assertTrue(self.compute(table))
        self.assertEqual(table.asked, [("lead", 0), ("a", 0), ("b", 0), ("a", 1), ("b", 1), ("a", 2), ("b", 2)])
        whole = self.path.read_bytes()
        lines = whole.splitlines(keepends=True)
        self.path.write_bytes(b"".join(lines[:4]) + lines[4][:20])  # killed while it wrote
        table.asked.clear()
        self.assertFalse(self.compute(table, -1.0))
        self.assertTrue(self.compute(table))
        self.assertEqual(table.asked, [("b", 1), ("a", 2), ("b", 2)])
        found = [json.loads(line) for line in self.path.read_text().splitlines()]
        self.assertEqual([(line["cell"], line["seed"], line["figures"]) for line in found],
                         [(line["cell"], line["seed"], line["figures"]) for line in map(json.loads, whole.splitlines())])
        self.assertEqual(set(found[0]), {"cell", "seed", "figures", "seconds", "commit", "machine", "date"})

    def test_a_table_that_is_not_there_is_named(self):
        with self.assertRaisesRegex(SystemExit, "there is no table 'nothing'"):
            science.load_table("nothing")

    def test_says_what_the_seeds_cannot_tell(self):
        table = small_table({"lead": [30.0], "noise": [60.0, 72.0, 66.0], "good": [69.0, 70.0, 71.0], "bad": [60.0, 61.0, 62.0], "late": [1.0, 2.0, 3.0]})
        lines = [{"cell": cell, "seed": seed, "figures": {"f1": value}} for cell in table.cells()
                 for seed, value in enumerate({"lead": [30.0], "noise": [60.0, 72.0, 66.0], "good": [69.0, 70.0, 71.0], "bad": [60.0, 61.0, 62.0], "late": []}[cell["row"]])]
        rows = {line.split(" | ")[0]: line.split(" | ")[1:] for line in summary.markdown(table, lines).splitlines() if line.startswith("| ")}
        self.assertEqual(rows["| good"], ["70.00 ± 1.00", "best |"])
        self.assertEqual(rows["| noise"], ["66.00 ± 6.00", "not told from the best |"])
        self.assertEqual(rows["| bad"], ["61.00 ± 1.00", " |"])
        self.assertEqual(rows["| lead"], ["30.00", " |"])
        self.assertEqual(rows["| late"], ["", "missing |"])
        self.assertIn("No cell is finished", summary.markdown(table, []))

    def test_rows_are_compared_within_a_group(self):
        table = small_table({"a": [1.0], "b": [2.0], "c": [9.0], "d": [8.0], "e": [5.0]})
        groups = {"a": "low", "b": "low", "c": "high", "d": "high", "e": "empty"}
        cells = [{"row": name, "kind": kind} for name, kind in groups.items()]
        table.cells, table.GROUP = lambda: cells, "kind"
        lines = [{"cell": cell, "seed": 0, "figures": {"f1": value}} for cell, value in zip(cells, (1.0, 2.0, 9.0, 8.0))]
        found = summary.markdown(table, lines)
        self.assertEqual([line.split(" | ")[-1] for line in found.splitlines() if line.startswith("| ")][2:], [" |", "best |", "best |", " |", "missing |"])
        self.assertIn("at 95%, within each kind.", found)

    def test_one_seed_tells_nothing(self):
        self.assertFalse(summary.told_apart([1.0], [9.0]))
        self.assertTrue(summary.told_apart([1.0], [9.0], True, True))
        self.assertTrue(summary.told_apart([5.0, 5.0], [5.1, 5.1]))
        self.assertFalse(summary.told_apart([5.0, 6.0], [5.5, 6.5]))


if __name__ == "__main__":
    unittest.main()
