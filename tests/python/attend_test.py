#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""weft_attention.attend against dense float64: 500 random calls with their gradients; float64 itself, by the package weft_attention_runtime;
what PyTorch asks of an operator; and what is refused."""
import os
import pathlib
import pickle
import random
import sys
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).parent))
if "WEFT_BINARY" in os.environ:
    sys.path.insert(0, str(pathlib.Path(os.environ["WEFT_BINARY"]).parent.parent / "python"))

import weft_attention as weft  # noqa: E402, I001

import cpu_torch  # noqa: F401, E402
import torch  # noqa: E402

from weft_attention._attend import attend_text  # noqa: E402
from weft_attention._kept_layouts import BlockReader  # noqa: E402

CALLS = 500
PATTERNS = ("full", "causal", "window(7)", "causal & window(left=9)", "window(4) | global(2)", "random(3, seed=5)", "causal & stride(5)",
            "heads(causal, window(8))", "block(8, window(3) | random(1))", "segment(16)", "!(window(2))", "erdos_renyi(0.1)")  # fmt: skip
# Of the largest number, forwards and backwards: rounding to the dtype, and sums in float32.
TOLERANCES = {torch.float32: (2e-6, 5e-6), torch.bfloat16: (1e-2, 2e-2), torch.float16: (2e-3, 4e-3)}


def dense(query, key, value, pattern, *, keep, offset, scale):
    heads, group = query.shape[1], query.shape[1] // key.shape[1]
    edges = torch.tensor(weft.Pattern(pattern).to_dense(query.shape[2], key.shape[2], heads=heads, offset=offset).tolist())
    key, value = key.repeat_interleave(group, 1), value.repeat_interleave(group, 1)
    allowed = edges > 0
    if keep is not None:
        allowed = allowed & keep[:, None, None]
    scores = query @ key.transpose(2, 3) * scale + edges.clamp(min=1).double().log()
    return (torch.softmax(scores.masked_fill(~allowed, -1e30), 3) * allowed) @ value


def view(generator, draw, dtype, batch_heads, rows, width):
    """[B, H, N, D] as a view of memory in another order, or cut out of something wider."""
    batch, heads = batch_heads
    kind = draw.randrange(3)
    if kind == 0:
        return torch.randn(batch, heads, rows, width, generator=generator).to(dtype)
    if kind == 1:
        return torch.randn(batch, rows, heads, width, generator=generator).to(dtype).transpose(1, 2)
    return torch.randn(batch, heads, rows + 1, 2 * width, generator=generator).to(dtype)[:, :, 1:, width:]


def random_call(number):
    draw, generator = random.Random(number), torch.Generator().manual_seed(number)
    dtype = draw.choices(list(TOLERANCES), (6, 1, 1))[0]
    batch, group, key_heads = draw.randint(1, 2), draw.choice((1, 2)), draw.choice((2, 4))
    keys = draw.choice((1, 2, 17, 63, 64, 65, 100, 130))
    queries = draw.choice((1, keys, keys, max(1, keys // 2)))
    width, value_width = draw.choice((8, 16, 20)), draw.choice((8, 12))
    query = view(generator, draw, dtype, (batch, group * key_heads), queries, width)
    key = view(generator, draw, dtype, (batch, key_heads), keys, width)
    value = view(generator, draw, dtype, (batch, key_heads), keys, value_width)
    keep = torch.rand(batch, keys, generator=generator) > draw.choice((0.0, 0.3, 1.0)) if draw.random() < 0.5 else None
    return (query, key, value), draw.choice(PATTERNS), keep, keys - queries, draw.choice((None, 0.3))


def inputs(length=80, heads=4):
    torch.manual_seed(0)
    return [torch.randn(2, count, length, 16, requires_grad=True) for count in (heads, 2, 2)]


class AttendTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        torch.set_num_threads(1)

    def check(self, found, expected, most, what):
        size = max(1.0, expected.abs().max().item())
        self.assertLessEqual((found.double() - expected).abs().max().item(), most * size, what)

    def test_500_random_calls(self):
        for number in range(CALLS):
            given, pattern, keep, offset, scale = random_call(number)
            what = f"call {number}: {pattern}, {[list(part.shape) for part in given]}, {given[0].dtype}"
            forward, backward = TOLERANCES[given[0].dtype]
            exact = [part.double().requires_grad_() for part in given]
            given = [part.detach().requires_grad_() for part in given]
            out = weft.attend(*given, pattern, key_keep=keep, scale=scale, query_offset=offset)
            wanted = dense(*exact, pattern, keep=keep, offset=offset, scale=scale or given[0].shape[3] ** -0.5)
            self.check(out.detach(), wanted.detach(), forward, what)
            gradient = torch.randn(out.shape, generator=torch.Generator().manual_seed(number)).to(out.dtype)
            found = torch.autograd.grad(out, given, gradient)
            for part, expected in zip(found, torch.autograd.grad(wanted, exact, gradient.double())):
                self.check(part, expected, backward, what)

    def test_pytorch_finds_the_operator_whole(self):
        query, key, value = inputs()
        keep = torch.rand(2, 80) > 0.2
        settings = ("window(20)", 0, 0, 0, 0.25, 0.0)
        weft.attend(query, key, value, "full")
        torch.library.opcheck(torch.ops.weft.attend.default, (query, key, value, keep, None, None, *settings))
        plain = [part.detach() for part in (query, key, value)]
        out, lse = torch.ops.weft.attend(*plain, keep, None, None, *settings)
        torch.library.opcheck(torch.ops.weft.attend_backward.default, (torch.randn_like(out), *plain, out, lse, keep, None, None, *settings))

    def test_what_it_would_compute_wrongly_is_refused(self):
        query, key, value = inputs()
        (gradient,) = torch.autograd.grad(weft.attend(query, key, value, "causal").sum(), query, create_graph=True)
        with self.assertRaisesRegex(weft.UnsupportedError, "second derivatives"):
            gradient.sum().backward()
        plain = [part.detach() for part in (key, value)]
        with self.assertRaisesRegex(weft.UnsupportedError, "forward-mode"):
            torch.func.jvp(lambda part: weft.attend(part, *plain, "causal"), (query.detach(),), (torch.ones_like(query),))

    def test_errors_say_what_does_not_fit(self):
        query, key, value = inputs()
        for error, text, call in (
            (weft.PatternError, "did you mean 'window'", lambda: weft.attend(query, key, value, "windw(3)")),
            (weft.PatternError, "for 5 heads", lambda: weft.attend(query, key, value, "heads(3 * full, 2 * causal)")),
            (weft.PatternError, "names input", lambda: weft.attend(query, key, value, "global(input)")),
            (ValueError, "differ in heads or length", lambda: weft.attend(query, key[:, :, :5], value, "full", query_offset=0)),
            (ValueError, "need query_offset", lambda: weft.attend(query[:, :, :3], key, value, "causal")),
            (ValueError, "key_keep must be bool", lambda: weft.attend(query, key, value, "full", key_keep=torch.ones(2, 80))),
            (ValueError, "heads, length", lambda: weft.attend(query[0], key, value, "full")),
            (NotImplementedError, "float32, bfloat16 or float16", lambda: weft.attend(query.int(), key.int(), value.int(), "full")),
        ):
            with self.subTest(text), self.assertRaisesRegex(error, text):
                call()

    def test_float64(self):
        generator = torch.Generator().manual_seed(1)
        for pattern, queries, keys, offset in (("causal & window(7) | global(0)", 70, 70, 0), ("heads(full, window(3))", 5, 70, 65), ("causal", 1, 9, 8)):
            with self.subTest(pattern):
                given = [torch.randn(2, heads, length, 6, dtype=torch.float64, generator=generator, requires_grad=True)
                         for heads, length in ((4 if "heads" not in pattern else 2, queries), (2, keys), (2, keys))]  # fmt: skip
                keep = torch.rand(2, keys, generator=generator) > 0.2
                out, lse = weft.attend(*given, pattern, key_keep=keep, query_offset=offset, return_lse=True)
                self.assertEqual((out.dtype, lse.dtype), (torch.float64, torch.float64))
                self.check(out.detach(), dense(*given, pattern, keep=keep, offset=offset, scale=6**-0.5).detach(), 1e-14, pattern)
        small = [part.detach()[:1, :, :7].requires_grad_() for part in given]
        slopes = torch.tensor([0.5, 0.25, 0.125, 0.1], dtype=torch.float64)
        query = torch.randn(1, 4, 7, 6, dtype=torch.float64, requires_grad=True)
        self.assertTrue(torch.autograd.gradcheck(
            lambda *parts: weft.attend(*parts, "causal & window(3) | global(0)", key_keep=keep[:1, :7], slopes=slopes), (query, *small[1:])))
        with torch.autocast("cpu", dtype=torch.bfloat16):
            self.assertEqual(weft.attend(query, *small[1:], "causal").dtype, torch.float64)

    def test_pytorch_finds_the_operator_of_float64_whole(self):
        query, key, value = (part.detach().double() for part in inputs(length=20))
        weft.attend(query, key, value, "full")
        settings = ("window(20)", 0, 0, 0, 0.25, 0.0)
        given = [part.requires_grad_() for part in (query.clone(), key.clone(), value.clone())]
        torch.library.opcheck(torch.ops.weft.attend_general.default, (*given, None, None, None, *settings))
        out, lse = torch.ops.weft.attend_general(query, key, value, None, None, None, *settings)
        torch.library.opcheck(
            torch.ops.weft.attend_general_backward.default, (torch.randn_like(out), query, key, value, out, lse, None, None, None, *settings))
        compiled = torch.compile(weft.Attend("causal & window(4)"), fullgraph=True, backend="aot_eager")
        self.assertTrue(torch.equal(compiled(query, key, value), weft.attend(query, key, value, "causal & window(4)")))

    def test_libweft_has_the_same_bits(self):
        weft.attend(*(part.double() for part in inputs()), "full")
        for dtype in TOLERANCES:
            query, key, value = (part.detach().to(dtype) for part in inputs())
            settings = (torch.rand(2, 80) > 0.2, None, None, "causal & window(16) | global(0)", 0, 0, 0, 0.25, 0.0)
            results = []
            for name in ("attend", "attend_general"):
                out, lse = getattr(torch.ops.weft, name)(query, key, value, *settings)
                backward = getattr(torch.ops.weft, f"{name}_backward")
                results.append([out, lse, *backward(torch.ones_like(out), query, key, value, out, lse, *settings)])
            for left, right in zip(*results, strict=True):
                self.assertTrue(torch.equal(left, right), dtype)

    def test_a_mask_that_is_no_expression_in_float64(self):
        query, key, value = (part.detach() for part in inputs(length=64))
        weft.attend(query, key, value, "full")
        bits = torch.tensor([(1 << min(row, 62)) | 1 for row in range(64)])  # each query sees the first key and its own
        bits[63] = -(1 << 63) | 1
        torch.ops.weft.keep_layout(torch.tensor([0, 1]), torch.zeros(1, dtype=torch.int32), torch.zeros(1, dtype=torch.int32), bits, "diagonal", 64, 64, 1 << 20)
        settings = (None, None, None, "kept:diagonal", 0, 0, 0, 0.25, 0.0)
        out, _ = torch.ops.weft.attend(query, key, value, *settings)
        weft.attend(query.double(), key.double(), value.double(), "full")
        exact, _ = torch.ops.weft.attend_general(query.double(), key.double(), value.double(), *settings)
        self.check(out, exact, 2e-6, "kept")
        with self.assertRaisesRegex(RuntimeError, "no layout is kept as"):
            torch.ops.weft.attend_general(query.double(), key.double(), value.double(), None, None, None, "kept:other", *settings[4:])
        with self.assertRaisesRegex(RuntimeError, "dropout needs a seed"):
            torch.ops.weft.attend_general(query.double(), key.double(), value.double(), None, None, None, "full", *settings[4:-1], 0.5)

    def test_a_child_of_a_process_with_threads_does_not_hang_in_float64(self):
        given = [part.detach().double() for part in inputs(length=600)]
        torch.set_num_threads(2)
        self.addCleanup(torch.set_num_threads, 1)
        expected = weft.attend(*given, "window(64)")[0, 0, 3]
        child = os.fork()
        if child == 0:
            os._exit(0 if torch.allclose(weft.attend(*given, "window(64)")[0, 0, 3], expected) and torch.get_num_threads() == 1 else 1)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
        self.assertEqual(torch.get_num_threads(), 2)

    def test_float64_without_its_package(self):
        from weft_attention import _operators

        _operators.attend_operator.cache_clear()
        query, key, value = (part.double() for part in inputs())
        with mock.patch.dict(sys.modules, {"weft_attention_runtime": None}):
            with self.assertRaisesRegex(weft.UnsupportedError, "^attend in float64 needs the package weft-attention-runtime"):
                weft.attend(query, key, value, "full")

    def test_vmap_autocast_and_checkpoint(self):
        query, key, value = (part.detach() for part in inputs())
        queries = torch.stack([query, query * 2])
        found = torch.vmap(lambda part: weft.attend(part, key, value, "causal"))(queries)
        self.assertTrue(torch.equal(found, torch.stack([weft.attend(part, key, value, "causal") for part in queries])))
        with torch.autocast("cpu", dtype=torch.bfloat16):
            self.assertEqual(weft.attend(query, key, value, "causal").dtype, torch.bfloat16)
        gradients = []
        for again in (False, True):
            torch.manual_seed(3)
            part = query.clone().requires_grad_()
            call = lambda part: weft.attend(part, key, value, "causal", dropout_p=0.5)  # noqa: E731
            out = torch.utils.checkpoint.checkpoint(call, part, use_reentrant=False) if again else call(part)
            gradients.append(torch.autograd.grad(out.sum(), part)[0])
        self.assertTrue(torch.equal(*gradients))

    def test_dropout_follows_the_generator(self):
        query, key, value = (part.detach() for part in inputs(length=256))
        found = []
        for seed in (1, 1, 2):
            torch.manual_seed(seed)
            found.append(weft.attend(query, key, torch.ones_like(value), "full", dropout_p=0.25))
        self.assertTrue(torch.equal(found[0], found[1]) and not torch.equal(found[0], found[2]))
        self.assertAlmostEqual(found[0].mean().item(), 1.0, delta=0.01)

    def test_what_is_no_tensor_is_named(self):
        given = torch.randn(1, 2, 8, 4)
        with self.assertRaisesRegex(TypeError, "attend: key is a ndarray; expected a torch.Tensor"):
            weft.attend(given, given.numpy(), given, "full")
        tensor = weft.attend(given, given, given, "causal", slopes=torch.tensor([0.5, 0.25]))
        self.assertTrue(torch.equal(weft.attend(given, given, given, "causal", slopes=[0.5, 0.25]), tensor))

    def test_slopes_are_a_linear_bias(self):
        query, key, value = inputs()
        slopes = torch.tensor([0.5, 0.25, 0.1, 0.2])
        away = (torch.arange(80)[:, None] - torch.arange(80)).abs()
        bias = (-slopes[:, None, None] * away).masked_fill(torch.ones(80, 80, dtype=torch.bool).triu(1), -torch.inf)[None]
        keys, values = key.repeat_interleave(2, 1), value.repeat_interleave(2, 1)
        wanted = torch.nn.functional.scaled_dot_product_attention(query, keys, values, attn_mask=bias)
        self.check(weft.attend(query, key, value, "full", causal=True, slopes=slopes).detach(), wanted.detach().double(), 2e-6, "ALiBi")

    def kept(self, seed, queries=100, keys=130):
        """A mask that is no expression, and its blocks."""
        mask = torch.rand(queries, keys, generator=torch.Generator().manual_seed(seed)) < 0.4
        mask[:64, 64:128] = True
        reader = BlockReader(queries, keys)
        reader.add(mask[:64])
        reader.add(mask[64:])
        return mask, reader.kept()

    def attend_kept(self, given, layout):
        settings = {"key_keep": None, "scale": None, "dropout_p": 0.0, "layer": 0, "query_offset": 0}
        return attend_text(*given, layout.text, **settings)[0]

    def test_blocks_that_were_dropped_are_made_again(self):
        given = [torch.randn(1, heads, length, 16, requires_grad=True) for heads, length in ((4, 100), (4, 130), (4, 130))]
        mask, layout = self.kept(1)
        self.assertIs(self.kept(1)[1], layout)
        wanted = torch.nn.functional.scaled_dot_product_attention(*given, attn_mask=mask)
        wanted_gradients = torch.autograd.grad(wanted.sin().sum(), given)
        _, other = self.kept(2)
        with mock.patch("weft_attention._kept_layouts.MOST_BYTES", 1):
            found = self.attend_kept(given, layout)
            self.check(found.detach(), wanted.detach().double(), 2e-6, "output")
            self.attend_kept(given, other)
            for part, expected in zip(torch.autograd.grad(found.sin().sum(), given), wanted_gradients):
                self.check(part, expected.double(), 5e-6, "gradient")
            with mock.patch("weft_attention._operators.living_layout", lambda text: None):
                found = self.attend_kept(given, layout)
            self.attend_kept(given, other)
            with self.assertRaisesRegex(RuntimeError, "it was dropped for others"):
                found.sum().backward()

    def test_a_block_mask_is_the_pattern(self):
        for pattern, queries, keys, heads, offset in (("causal & window(100)", 300, 300, 1, 0), ("heads(causal, window(40) | global(3))", 256, 256, 2, 0),
                                                      ("causal & stride(5)", 3, 200, 1, 197), ("full", 130, 256, 1, 0), ("random(3, seed=5)", 200, 130, 1, 0)):  # fmt: skip
            with self.subTest(pattern):
                found = weft.block_mask(pattern, queries, keys, heads=heads, offset=offset)
                dense = weft.Pattern(pattern).to_dense(queries, keys, heads=heads, offset=offset)
                wanted = torch.tensor(dense.tolist()).bool()
                query, key = torch.arange(queries)[:, None], torch.arange(keys)
                pairs = torch.stack([found.mask_mod(0, torch.tensor(head), query, key) for head in range(heads)])
                self.assertTrue(torch.equal(pairs, wanted))
                padded = torch.nn.functional.pad(wanted, (0, -keys % 128, 0, -queries % 128)).view(heads, -(-queries // 128), 128, -(-keys // 128), 128)
                self.assertTrue(torch.equal(found.to_dense()[0].bool().expand(heads, -1, -1), padded.any(4).any(2)))
                listed = torch.zeros_like(padded[:, :, 0, :, 0])
                for head, row in ((head, row) for head in range(found.full_kv_num_blocks.shape[1]) for row in range(listed.shape[1])):
                    listed[head, row, found.full_kv_indices[0, head, row, : found.full_kv_num_blocks[0, head, row]].long()] = True
                self.assertTrue(torch.equal(listed, padded.all(4).all(2)))
        with self.assertRaisesRegex(weft.UnsupportedError, "more than once"):
            weft.block_mask('block(8, global(first=1, last=1) | window(3) | random(3, plan="hf-eval"))', 200)

    def test_a_module_is_compiled_exported_and_pickled(self):
        query, key, value = (part.detach() for part in inputs())
        layer = pickle.loads(pickle.dumps(weft.Attend("causal & window(16)")))
        compiled = torch.compile(layer, fullgraph=True, backend="aot_eager")
        wanted = layer(query, key, value)
        self.assertTrue(torch.equal(compiled(query, key, value), wanted))
        exported = torch.export.export(layer, (query, key, value))
        self.assertTrue(torch.equal(exported.module()(query, key, value), wanted))


if __name__ == "__main__":
    unittest.main()
