#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""weft::attention as the real PyTorch sees it: torch.library.opcheck, and scaled_dot_product_attention with the same mask."""
import os
import pathlib
import unittest

import torch

LIBRARY = pathlib.Path(os.environ["WEFT_BINARY"]).resolve().parent.parent / "lib" / "libweft.so"
TILE = 64
FULL = -1


def banded_layout(length, heads, reach):
    """Blocks at most `reach` from the diagonal, whole; and the dense mask of the same edges."""
    blocks = -(-length // TILE)
    row_begin, key_block = [0], []
    for query_block in range(blocks):
        key_block += [key for key in range(blocks) if abs(key - query_block) <= reach]
        row_begin.append(len(key_block))
    tensors = [torch.zeros(heads, dtype=torch.int32), torch.tensor(row_begin), torch.tensor(key_block, dtype=torch.int32),
               torch.full((len(key_block),), FULL, dtype=torch.int32), torch.empty(0, dtype=torch.int64), torch.empty(0)]
    position = torch.arange(length) // TILE
    mask = (position[:, None] - position[None, :]).abs() <= reach
    return tensors, [TILE, TILE, length, length, 0, heads, 1, 1], mask


class Operator(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        torch.ops.load_library(str(LIBRARY))

    def arguments(self, length=200, heads=2, dtype=torch.float32, requires_grad=True):
        torch.manual_seed(0)
        tensors = [torch.randn(2, heads, length, 16).to(dtype).requires_grad_(requires_grad) for _ in range(3)]
        layout, sizes, mask = banded_layout(length, heads, 1)
        return (*tensors, None, layout, sizes, 0.25), mask

    def check(self, arguments, **options):
        for dtype in (torch.float32, torch.bfloat16):
            cast = [each.detach().to(dtype).requires_grad_() for each in arguments[:3]]
            torch.library.opcheck(torch.ops.weft.attention.default, (*cast, *arguments[3:]), options)

    def test_opcheck(self):
        arguments, _ = self.arguments()
        self.check(arguments)
        self.check(arguments, distances=torch.randn(2, 1, 50).requires_grad_(), distance_zero=20)
        order = torch.randperm(200).to(torch.int32).view(1, 1, 200)
        self.check(arguments, query_positions=order, key_positions=order, first_positions=order - 20, causal=True, not_self=True)

    def test_opcheck_of_views_that_models_pass(self):
        """Heads split by a transposed view, values narrower than keys, one key head for both query heads."""
        _, _, _, _, layout, sizes, scale = self.arguments()[0]
        query = torch.randn(2, 200, 2, 16).transpose(1, 2)
        key = torch.randn(2, 200, 1, 16).transpose(1, 2)
        value = torch.randn(2, 200, 1, 24).transpose(1, 2)
        keep = torch.ones(2, 200, dtype=torch.bool)
        keep[1, 150:] = False
        self.check((query, key, value, keep, layout, sizes, scale))

    def test_opcheck_of_one_token(self):
        self.check(self.arguments(length=1)[0])

    def test_opcheck_of_rows_without_edges(self):
        (query, key, value, keep, layout, sizes, scale), _ = self.arguments()
        row_begin = layout[1].clone()
        row_begin[1:] -= row_begin[1].item()  # the first block of queries has no keys
        blocks = row_begin[-1].item()
        bare = [layout[0], row_begin, layout[2][-blocks:].clone(), layout[3][-blocks:].clone(), *layout[4:]]
        arguments = (query, key, value, keep, bare, sizes, scale)
        output, log_sum_exp = torch.ops.weft.attention(*arguments)
        self.assertTrue(bool((output[:, :, :TILE] == 0).all() and (log_sum_exp[:, :, :TILE] == -torch.inf).all()))
        self.check(arguments)

    def test_equals_masked_attention(self):
        arguments, mask = self.arguments()
        output, log_sum_exp = torch.ops.weft.attention(*arguments)
        query, key, value = arguments[:3]
        expected = torch.nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=mask, scale=0.25)
        torch.testing.assert_close(output, expected, rtol=1e-5, atol=2e-6)
        scores = (query @ key.transpose(2, 3) * 0.25).masked_fill(~mask, -torch.inf)
        torch.testing.assert_close(log_sum_exp, scores.logsumexp(-1), rtol=1e-5, atol=2e-6)
        direction = torch.randn_like(output)
        found = torch.autograd.grad(output, arguments[:3], direction)
        for gradient, reference in zip(found, torch.autograd.grad(expected, arguments[:3], direction)):
            torch.testing.assert_close(gradient, reference, rtol=1e-4, atol=1e-5)

    def test_a_distance_table_is_a_bias(self):
        arguments, mask = self.arguments()
        table = torch.randn(2, 1, 50, requires_grad=True)
        output, _ = torch.ops.weft.attention(*arguments, distances=table, distance_zero=20)
        position = torch.arange(mask.shape[0])
        entry = (position[:, None] - position[None, :] + 20).clamp(0, 49)
        bias = torch.where(mask, table[:, 0, entry], -torch.inf)
        expected = torch.nn.functional.scaled_dot_product_attention(*arguments[:3], attn_mask=bias, scale=0.25)
        torch.testing.assert_close(output, expected, rtol=1e-5, atol=2e-6)
        direction = torch.randn_like(output)
        found, reference = (torch.autograd.grad(each, table, direction)[0] for each in (output, expected))
        torch.testing.assert_close(found, reference, rtol=1e-4, atol=1e-5)

    def test_row_positions_are_a_mask(self):
        arguments, mask = self.arguments()
        order = torch.stack([torch.randperm(200) for _ in range(4)]).view(2, 2, 200)
        output, _ = torch.ops.weft.attention(*arguments, query_positions=order.to(torch.int32), key_positions=order.to(torch.int32),
                                             causal=True, not_self=True)
        query, key, value = arguments[:3]
        scores = query @ key.transpose(2, 3) * 0.25
        behind = order[..., None] >= order[..., None, :]
        own = order[..., None] == order[..., None, :]
        scores = torch.where(own, -1e5, scores).masked_fill(~(mask & behind), -torch.inf)
        expected = scores.softmax(-1) @ value
        torch.testing.assert_close(output, expected, rtol=1e-5, atol=2e-6)
        direction = torch.randn_like(output)
        found = torch.autograd.grad(output, arguments[:3], direction)
        for gradient, reference in zip(found, torch.autograd.grad(expected, arguments[:3], direction)):
            torch.testing.assert_close(gradient, reference, rtol=1e-4, atol=1e-5)

    def test_autocast_gives_its_dtype(self):
        arguments, _ = self.arguments(requires_grad=False)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            self.assertEqual(torch.ops.weft.attention(*arguments)[0].dtype, torch.bfloat16)

    def test_compiled_code_calls_it(self):
        arguments, _ = self.arguments()

        def doubled(query):
            return torch.ops.weft.attention(query, *arguments[1:])[0] * 2

        compiled = torch.compile(doubled, fullgraph=True, backend="aot_eager")
        torch.testing.assert_close(compiled(arguments[0]), doubled(arguments[0]))


if __name__ == "__main__":
    unittest.main()
