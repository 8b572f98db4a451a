#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""weft_attention.Pattern as a value, its figures and its pictures; nothing of it needs PyTorch."""
import os
import pathlib
import pickle
import sys
import unittest

if "WEFT_BINARY" in os.environ:
    sys.path.insert(0, str(pathlib.Path(os.environ["WEFT_BINARY"]).parent.parent / "python"))

import weft_attention as weft  # noqa: E402
from weft_attention import Pattern  # noqa: E402


class PatternTest(unittest.TestCase):
    def test_it_is_its_canonical_text(self):
        pattern = Pattern(" causal&window( 512 ) ")
        self.assertEqual(str(pattern), "causal & window(512)")
        self.assertEqual(repr(pattern), "Pattern('causal & window(512)')")
        self.assertEqual({pattern: 1}[Pattern("causal & window(512)")], 1)
        self.assertEqual(pickle.loads(pickle.dumps(pattern)), pattern)
        with self.assertRaisesRegex(AttributeError, "cannot be changed"):
            pattern.expression = "full"

    def test_operators_join_expressions(self):
        window, first = Pattern("window(4)"), Pattern("global(1)")
        self.assertEqual(str(window | first), "window(4) | global(1)")
        self.assertEqual(str(window & "causal"), "window(4) & causal")
        self.assertEqual((~window).to_dense(4).tolist()[0][0], [0, 0, 0, 1])
        with self.assertRaises(TypeError):
            window | 3

    def test_dense_is_the_meaning(self):
        self.assertEqual(Pattern("causal & window(2)").to_dense(3).tolist(), [[[1, 0, 0], [1, 1, 0], [0, 1, 1]]])
        self.assertEqual(Pattern("causal").to_dense(1, 3, offset=1).tolist(), [[[1, 1, 0]]])
        self.assertEqual(Pattern("heads(full, causal)").to_dense(2, heads=2).tolist(), [[[1, 1], [1, 1]], [[1, 0], [1, 1]]])
        self.assertEqual(Pattern("global(input, side=keys)").to_dense(1, 3, input=[2]).tolist(), [[[0, 0, 1]]])

    def test_errors_have_a_place(self):
        with self.assertRaises(weft.PatternError) as caught:
            Pattern("full |\n windw(3)")
        self.assertIsInstance(caught.exception, ValueError)
        self.assertEqual((caught.exception.line, caught.exception.column), (2, 2))
        self.assertIn("did you mean 'window'", str(caught.exception))
        self.assertEqual(pickle.loads(pickle.dumps(caught.exception)).line, 2)
        with self.assertRaisesRegex(weft.PatternError, "names patterns for 5 heads"):
            Pattern("heads(3 * full, 2 * causal)").check(8, heads=4)
        with self.assertRaises(TypeError):
            Pattern(3)
        with self.assertRaisesRegex(weft.PatternError, "'linear' is a mechanism and no pattern"):
            Pattern("full | linear")

    def test_numbers_and_texts_that_are_none(self):
        window = Pattern("window(4)")
        for call, words in ((lambda: window.statistics(8.0), "length: expected a whole number, found 8.0, a float"),
                            (lambda: window.statistics(10**30), "length: expected a number of at most 63 bits"),
                            (lambda: window.check(8, input=["a"]), "input: expected a whole number, found 'a'"),
                            (lambda: window.text(8, width="a"), "width: expected a whole number"),
                            (lambda: window.cost(8, width=float("nan")), "width: expected a finite number, found nan"),
                            (lambda: Pattern("full\ud800"), "the expression has half of a surrogate pair at character 4")):
            with self.subTest(words), self.assertRaisesRegex(weft.ArgumentError, words):
                call()

    def test_figures(self):
        pattern = Pattern("bigbird(block=8)")
        edges = sum(number > 0 for row in pattern.to_dense(64).tolist()[0] for number in row)
        self.assertEqual(pattern.statistics(64)["edges"], edges)
        self.assertEqual(pattern.cost(4096, layers=2, width=64, heads=2)["shape"]["layers"], 2)
        self.assertIn("window(3)", str(pattern.expanded()))
        self.assertTrue(Pattern("random(2, seed=layer)").depends_on_layer and Pattern("longformer(8)").needs_input)

    def test_a_notebook_gets_a_small_picture(self):
        for expression in ("full", "erdos_renyi(0.5)", "heads(window(3), random(5))", "longformer(16)"):
            drawn = Pattern(expression)._repr_svg_()
            self.assertTrue(drawn.startswith("<svg"), drawn[:40])
            self.assertLess(len(drawn), 40_000, expression)
        self.assertIn("8 queries", Pattern("window(2)").text(8, style="ascii"))

    def test_what_is_public_says_what_it_is(self):
        public = {name: getattr(weft, name) for name in weft.__all__ if name not in ("Attend", "__version__")}  # Attend waits for PyTorch
        public |= {f"Pattern.{name}": value for name, value in vars(Pattern).items() if not name.startswith("_")}
        self.assertEqual([name for name, value in public.items() if not (value.__doc__ or "").strip()], [])

    def test_it_needs_no_pytorch(self):
        self.assertNotIn("torch", sys.modules)


if __name__ == "__main__":
    unittest.main()
