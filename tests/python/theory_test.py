#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""examples/theory: what the pages of docs/theory say is so, their tables and pictures are what the programs give, and what cannot be is refused."""
import importlib
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

SOURCE = pathlib.Path(os.environ.get("WEFT_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[2]))
sys.path[:0] = [str(pathlib.Path(__file__).parent), str(SOURCE / "examples/theory"), str(SOURCE / "bench")]
if "WEFT_BINARY" in os.environ:
    sys.path.insert(0, str(pathlib.Path(os.environ["WEFT_BINARY"]).parent.parent / "python"))

import cpu_torch  # noqa: F401, E402, I001
import torch  # noqa: E402

import furthest  # noqa: E402
import hard  # noqa: E402
import machines  # noqa: E402
import pictures  # noqa: E402
import plot  # noqa: E402
import turing  # noqa: E402
import universal  # noqa: E402


def page(name):
    return (SOURCE / "docs/theory" / name).read_text(encoding="utf-8")


def picture(name):
    return (SOURCE / "docs/images" / name).read_text(encoding="utf-8")


class TheoryTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        torch.set_num_threads(1)

    def stands_in(self, table, text):
        for line in table.splitlines():
            self.assertIn(line, text)


class CommandsTest(unittest.TestCase):
    def test_what_the_pages_print_begins_to_run(self):
        """In a process that has loaded nothing yet: PyTorch and the package are found by the programs themselves."""
        place = {"PYTHONPATH": str(pathlib.Path(os.environ["WEFT_BINARY"]).parent.parent / "python")} if "WEFT_BINARY" in os.environ else {}
        for name in ("furthest-vector.md", "turing-machine.md", "universal-approximator.md"):
            found = re.findall(r"^\.venv/bin/python3 (examples/theory/\S+)", page(name), re.MULTILINE)
            self.assertEqual(len(found), 1, name)
            done = subprocess.run([sys.executable, SOURCE / found[0], "--help"], capture_output=True, text=True, env=os.environ | place)
            self.assertEqual((done.returncode, done.stdout[:6]), (0, "usage:"), done.stderr)


class FurthestVectorTest(TheoryTest):
    def test_the_page(self):
        self.stands_in(furthest.table(), page("furthest-vector.md"))
        self.assertEqual(plot.lines(furthest.curves(), "layers", furthest.UP, even=True), picture("theory-furthest.svg"))

    def test_right_exactly_where_the_furthest_was_met(self):
        """After each number of layers, and not only in all."""
        vectors, reach = furthest.unit_vectors(24, seed=3), 5
        best = torch.cdist(vectors, vectors).argmax(dim=1)
        behind = (torch.arange(24) - best) % 24
        for layers in range(furthest.layers_needed(24, reach) + 2):
            right = (furthest.ring(vectors, reach, layers) == furthest.answers(vectors)).all(dim=1)
            self.assertEqual(right.tolist(), (behind <= reach * layers).tolist(), layers)

    def test_no_layer_fewer_depends_on_all(self):
        """What stands n - 1 places behind changes nothing before the last layer, whatever it is: no weights can do better on this graph."""
        vectors, reach = furthest.unit_vectors(17), 4
        other = vectors.clone()
        other[1] = -vectors[0]
        layers = furthest.layers_needed(17, reach)
        self.assertTrue(torch.equal(furthest.ring(vectors, reach, layers - 1)[0], furthest.ring(other, reach, layers - 1)[0]))
        self.assertTrue(torch.equal(furthest.ring(other, reach, layers)[0], other[1]))

    def test_edges(self):
        for count, reach in ((8, 2), (32, 4)):
            self.assertEqual(hard.edges(furthest.ring_pattern(reach), 2 * count, heads=2), count * (reach + 2))


class TuringTest(TheoryTest):
    def test_the_page(self):
        text = page("turing-machine.md")
        self.stands_in(turing.table(), text)
        powers = {name: turing.last_power(dtype) for name, dtype in (("float32", torch.float32), ("float64", torch.float64))}
        self.assertEqual(powers, {"float32": 11, "float64": 26})
        for name, power in powers.items():
            self.assertIn(f"{name}, up to number 2^{power}", text)
        self.assertEqual(pictures.tape(), picture("theory-turing.svg"))

    def test_machines_by_chance(self):
        """Of six states and three symbols, over all words of up to three: every cell of every row."""
        for seed in range(20):
            self.assertTrue(turing.agrees(machines.any_machine(seed), machines.words(3), 12, 32), seed)

    def test_one_pass_foretells_every_token(self):
        """The whole run as one text: the token after each is the one that is there, and that rows were computed at a time, without all that is older, changed nothing."""
        machine, back = machines.PALINDROME, 16
        rows, _ = turing.run(machine, [[1, 2, 1]], 14, back)
        weights = turing.compiled(machine, back)
        begun, _ = turing.prompt(machine, weights, [[1, 2, 1]])
        contents = torch.cat([begun[:, :1], rows.flatten(1, 2)], dim=1)
        foretold = turing.forward(weights, contents, 0, 0, turing.pattern(contents.shape[1]))
        self.assertTrue(torch.equal(foretold[:, weights.row:-1], contents[:, weights.row + 1:]))
        self.assertLessEqual(set(torch.cat([weights.down.flatten(), weights.up.flatten()]).tolist()), {-1.0, 0.0, 1.0})

    def test_few_edges(self):
        self.assertEqual(hard.edges(turing.pattern(64), 64), sum(1 + place.bit_length() for place in range(64)))

    def test_the_interpreter(self):
        configuration, steps = machines.run(machines.BUSY_BEAVER.rules, [], 1000)
        self.assertEqual((steps, sum(configuration.tape.values())), (107, 13))
        left = {tuple(word): sum(machines.run(machines.PALINDROME.rules, word, 1000)[0].tape.values()) for word in machines.words(6)}
        self.assertTrue(all((rest == 0) == (word == word[::-1]) for word, rest in left.items()))
        increment = machines.run(machines.INCREMENT.rules, [2, 1, 2, 2], 1000)[0]
        self.assertEqual(machines.cells(increment, 0, 4), [2, 2, 1, 1])  # 1011 and one is 1100

    def test_a_tape_that_is_too_short_is_refused(self):
        runner = machines.machine("runs away", "0 0 -> 0 0 1")
        with self.assertRaisesRegex(ValueError, "end of the tape of 18 cells: run 'runs away' with a larger power"):
            turing.run(runner, [[]], 20, 16)


    def test_machines_that_are_none_are_refused(self):
        line = r'expected "state symbol -> state symbol move", whole numbers, found'
        for rules, said in (("0 1 -> -1 1 1", "rule 0 1 -> -1 1 1: the next state must be 0 to 0, found -1"),
                            ("-1 1 -> 0 1 1", "rule -1 1 -> 0 1 1: the state must be 0 to 0, found -1"),
                            ("0 -1 -> 0 1 1", "rule 0 -1 -> 0 1 1: the symbol must be 0 to 2, found -1"),
                            ("0 1 -> 0 1 2", "rule 0 1 -> 0 1 2: the move must be -1, 0 or 1, found 2"),
                            ("0 1 -> 0 1 1\n0 2 -> 0 1 1\n0 1 -> 1 1 1", "line 3: expected one rule for state 0 and symbol 1, found a second one"),
                            ("0 1 - 0 1 1", f"line 1: {line} '0 1 - 0 1 1'"), ("0 1 -> 0 1 1\n\n0 2 -> 0 2 1", f"line 2: {line} ''"),
                            ("0 a -> 0 1 1", f"line 1: {line} '0 a"), ("0 1 -> 0 1 R", f"line 1: {line}"), ("0 1 -> 0 -> 1 1", f"line 1: {line}"),
                            ("", "needs a rule, found none")):
            with self.assertRaisesRegex(ValueError, f"^machine 'm',? {said}"):
                machines.machine("m", rules)
        for rules, said in (({(0, 3): (0, 1, 1)}, "the symbol must be 0 to 2, found 3"), ({(0, 1): (0, 3, 1)}, "the symbol to write must be 0 to 2, found 3"),
                            ({(2, 1): (0, 1, 1)}, "the state must be 0 to 1, found 2"), ({(0, 1): (2, 1, 1)}, "the next state must be 0 to 1, found 2"),
                            ({(0, 1): (0, 1, 0.5)}, "the move must be -1, 0 or 1, found 0.5"), ({}, "needs a rule")):
            for call in (turing.run, turing.agrees):
                with self.assertRaisesRegex(ValueError, said):
                    call(machines.Machine("m", rules, 2, 3), [[1]], 2, 16)

    def test_words_and_rows_that_are_none_are_refused(self):
        for word, said in (([1, 3, 2], r"word \[1, 3, 2\], place 2: the symbol must be 0 to 2, found 3"),
                           ([-1], "place 1: the symbol must be 0 to 2, found -1"), (["1"], "the symbol must be 0 to 2, found '1'"),
                           ([1] * 14, "tape of 18 cells has at most 13 symbols, found 14: .* than 16")):
            with self.assertRaisesRegex(ValueError, f"^machine 'swaps neighbours'.*{said}"):
                turing.run(machines.REVERSE_PAIRS, [[1, 2], word], 3, 16)
        for back in (15, 4, 0, -16, 16.0):
            with self.assertRaisesRegex(ValueError, f"back must be a power of two, 8 or more, found {back}"):
                turing.run(machines.REVERSE_PAIRS, [[1]], 3, back)
        self.assertTrue(turing.agrees(machines.REVERSE_PAIRS, [[1, 2] * 6, [2, 1, 1]], 3, 16))
        self.assertTrue(turing.agrees(machines.REVERSE_PAIRS, [[1, 2, 1]], 5, 8))
        self.assertTrue(turing.agrees(machines.BUSY_BEAVER, [[1] * 13], 2, 16))  # a word to the last cell

    def test_the_command_says_what_is_wrong_in_a_line(self):
        with mock.patch.object(sys, "argv", ["turing.py"]), mock.patch.dict(turing.BACK, {machines.BUSY_BEAVER.name: 15}), \
                mock.patch.object(machines, "MACHINES", [machines.BUSY_BEAVER]), self.assertRaisesRegex(SystemExit, "^theory: machine 'the busy .*found 15$"):
            turing.main()
        with tempfile.TemporaryDirectory(prefix="weft-theory-") as folder:
            wrong = (SOURCE / "examples/theory/machines.py").read_text(encoding="utf-8").replace("0 2 -> 0 2 1", "0 2 -> 0 2 3", 1)
            pathlib.Path(folder, "machines.py").write_text(wrong, encoding="utf-8")
            with mock.patch.object(sys, "path", [folder, *sys.path]), mock.patch.dict(sys.modules), self.assertRaises(SystemExit) as refused:
                del sys.modules["machines"], sys.modules["turing"]
                importlib.import_module("turing")
        self.assertRegex(str(refused.exception), "^theory: machine 'adds one .*rule 0 2 -> 0 2 3: the move must be -1, 0 or 1, found 3$")


class UniversalTest(TheoryTest):
    def test_the_page(self):
        self.stands_in(universal.table(), page("universal-approximator.md"))
        self.assertEqual(pictures.codes(), picture("theory-codes.svg"))

    def test_no_two_tokens_of_all_texts_share_a_code(self):
        for count, parts in ((1, 4), (2, 4), (3, 4), (4, 4), (4, 3), (5, 3)):
            _, tokens, different, apart, _, layers = universal.count_codes(count, parts)
            self.assertEqual((different, layers), (count * parts**count, 2 * count + 1))
            self.assertEqual(tokens, different)
            self.assertGreaterEqual(apart, 1.0)

    def test_without_the_global_token_there_are_few(self):
        """The star is what does it: where tokens see themselves alone, a code says nothing of the other tokens."""
        star, universal.STAR = universal.STAR, "window(left=0)"
        try:
            self.assertEqual(universal.count_codes(3, 4)[2], 12)
        finally:
            universal.STAR = star

    def test_a_shift_moves_what_lies_between_its_bounds(self):
        numbers = hard.whole([[0, 5, 9, 14]])
        self.assertEqual(universal.selective_shift(numbers, 8.5, 9.5, 2.0).tolist(), [[0, 5, 27, 14]])
        self.assertEqual(universal.selective_shift(numbers, -0.5, 0.5, -1.0).tolist(), [[-14, 5, 9, 14]])
        self.assertEqual(universal.selective_shift(numbers, 20.5, 30.5, 7.0).tolist(), numbers.tolist())


if __name__ == "__main__":
    unittest.main()
