#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The operators weft::attend and weft::attend_backward against dense float64, at the edges of what they take."""
import math
import os
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
if "WEFT_BINARY" in os.environ:
    sys.path.insert(0, str(pathlib.Path(os.environ["WEFT_BINARY"]).parent.parent / "python"))

import cpu_torch  # noqa: F401, E402, I001
import torch  # noqa: E402

from weft_attention import _core  # noqa: E402
from weft_attention._native import load_operators  # noqa: E402

# Of the largest number: rounding to the dtype, and sums in float32.
TOLERANCES = {torch.float32: 5e-6, torch.bfloat16: 2e-2, torch.float16: 2e-3}


def tensors(*, heads=4, key_heads=2, queries=100, keys=100, width=32, value_width=16, dtype=torch.float32, seed=0):
    generator = torch.Generator().manual_seed(seed)
    shapes = [(2, heads, queries, width), (2, key_heads, keys, width), (2, key_heads, keys, value_width)]
    return [torch.randn(shape, generator=generator).to(dtype) for shape in shapes]


def attend(query, key, value, pattern, *, key_keep=None, seed=None, distances=None, offset=0, zero=0, dropout=0.0):
    scale = 1 / math.sqrt(query.shape[3])
    return torch.ops.weft.attend(query, key, value, key_keep, seed, distances, pattern, offset, 0, zero, scale, dropout)


def dense(query, key, value, pattern, *, key_keep=None, distances=None, offset=0, zero=0):
    """The same in float64, by the multiplicity of every pair."""
    query, key, value = (tensor.double() for tensor in (query, key, value))
    heads, queries, keys = query.shape[1], query.shape[2], key.shape[2]
    site = _core.Site(queries, keys, heads=heads, query_offset=offset)
    edges = torch.frombuffer(bytearray(_core.to_dense(pattern, site)), dtype=torch.int32).reshape(heads, queries, keys)
    scores = query @ key.repeat_interleave(heads // key.shape[1], 1).transpose(2, 3) / math.sqrt(query.shape[3])
    scores = scores + edges.double().log()
    if distances is not None:
        steps = zero + offset + torch.arange(queries)[:, None] - torch.arange(keys)
        scores = scores + distances[:, 0].double()[:, steps.clamp(0, distances.shape[2] - 1)]
    if key_keep is not None:
        scores = scores.masked_fill(~key_keep[:, None, None], -math.inf)
    probabilities = torch.nan_to_num(scores.softmax(3), 0.0)
    return probabilities @ value.repeat_interleave(heads // value.shape[1], 1)


class OperatorsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        load_operators()
        torch.set_num_threads(2)

    def check(self, found, expected, dtype=torch.float32):
        self.assertEqual(found.dtype, dtype)
        most = max(1.0, expected.abs().max().item()) if expected.numel() else 1.0
        difference = (found.double() - expected).abs().max().item() if expected.numel() else 0.0
        self.assertLessEqual(difference, TOLERANCES[dtype] * most)

    def test_dtypes_groups_and_widths(self):
        for dtype in TOLERANCES:
            with self.subTest(dtype):
                given = tensors(dtype=dtype)
                self.check(attend(*given, "causal & window(32) | global(0)")[0], dense(*given, "causal & window(32) | global(0)"), dtype)

    def test_padding_and_rows_without_edges(self):
        given = tensors()
        keep = torch.ones(2, 100, dtype=torch.bool)
        keep[0, 40:] = False
        keep[1] = False
        out, lse = attend(*given, "window(16)", key_keep=keep)
        self.check(out, dense(*given, "window(16)", key_keep=keep))
        self.assertTrue((out[1] == 0).all() and (lse[1] == -math.inf).all())

    def test_lengths_that_differ(self):
        for queries, keys, offset in ((1, 300, 299), (5, 300, 295), (130, 70, 0), (70, 130, 60)):
            with self.subTest(queries=queries, keys=keys):
                given = tensors(queries=queries, keys=keys)
                self.check(attend(*given, "causal & window(64)", offset=offset)[0], dense(*given, "causal & window(64)", offset=offset))

    def test_nothing_to_attend_to(self):
        for queries, keys in ((0, 10), (10, 0)):
            out, lse = attend(*tensors(queries=queries, keys=keys), "full")
            self.assertEqual((tuple(out.shape), tuple(lse.shape)), ((2, 4, queries, 16), (2, 4, queries)))
            self.assertTrue((out == 0).all() and (lse == -math.inf).all())

    def test_views_are_taken_as_they_are(self):
        given = [tensor.transpose(1, 2).contiguous().transpose(1, 2) for tensor in tensors()]
        out, _ = attend(*given, "window(16)")
        self.assertTrue(torch.equal(out, attend(*tensors(), "window(16)")[0]))
        self.assertTrue(out.transpose(1, 2).is_contiguous())
        columns = [tensor.transpose(2, 3).contiguous().transpose(2, 3) for tensor in tensors()]
        self.assertTrue(torch.equal(attend(*columns, "window(16)")[0], out))

    def test_gradients(self):
        given = [tensor.requires_grad_() for tensor in tensors()]
        table = torch.randn(4, 1, 21).requires_grad_()
        expected = dense(*given, "window(16) | global(0)", distances=table, zero=10)
        grown = torch.randn_like(expected)
        wanted = torch.autograd.grad(expected, [*given, table], grown)
        with torch.no_grad():
            out, lse = attend(*given, "window(16) | global(0)", distances=table, zero=10)
            found = torch.ops.weft.attend_backward(
                grown.float(), *given, out, lse, None, None, table, "window(16) | global(0)", 0, 0, 10, 1 / math.sqrt(32), 0.0)
        for name, left, right in zip(("query", "key", "value", "distances"), found, wanted, strict=True):
            with self.subTest(name):
                self.check(left, right.double())

    def test_dropout_follows_its_seed(self):
        given = tensors()
        outputs = [attend(*given, "full", seed=torch.tensor([seed]), dropout=0.5)[0] for seed in (3, 3, 4)]
        self.assertTrue(torch.equal(outputs[0], outputs[1]))
        self.assertFalse(torch.equal(outputs[0], outputs[2]))

    def test_a_mistake_is_named(self):
        query, key, value = tensors()
        for expected, call in (
            ("unknown name 'windw'.*line 1, column 10", lambda: attend(query, key, value, "causal & windw(3)")),
            ("must be float32, bfloat16 or float16, found Double", lambda: attend(query.double(), key.double(), value.double(), "full")),
            (r"one dtype, found Float, BFloat16", lambda: attend(query, key.bfloat16(), value, "full")),
            (r"query \[2, 4, 100, 32\], key \[2, 3, .*multiple", lambda: attend(query, key[:, :1].expand(2, 3, 100, 32), value[:, :1].expand(2, 3, 100, 16), "full")),
            ("names input", lambda: attend(query, key, value, "global(input)")),
            ("dropout needs a seed", lambda: attend(query, key, value, "full", dropout=0.1)),
            (r"key_keep must be bool \[batch, key length\] = \[2, 100\], found Bool \[2, 9\]", lambda: attend(query, key, value, "full", key_keep=torch.ones(2, 9, dtype=torch.bool))),
        ):
            with self.subTest(expected), self.assertRaisesRegex(RuntimeError, f"(?s){expected}"):
                call()

    def test_a_child_of_a_process_with_threads_does_not_hang(self):
        given = tensors(queries=600, keys=600)
        expected = attend(*given, "window(64)")[0]
        child = os.fork()
        if child == 0:
            # Few numbers are compared: PyTorch's own loops over many would wait for its threads.
            row = (0, 3, 599)
            os._exit(0 if torch.allclose(attend(*given, "window(64)")[0][row], expected[row], atol=1e-5) else 1)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)


if __name__ == "__main__":
    unittest.main()
