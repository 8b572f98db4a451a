#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""weft_attention.transformers beside sdpa: models with random weights, their gradients, what they generate, and patterns in them."""
import tempfile
import unittest

from small_models import IDS, LENGTH, T5, T5_NAMES, both, given, model_of, padded  # before weft_attention: it says where that is

import torch
import transformers
from torch.nn.attention.flex_attention import flex_attention

import weft_attention as weft
from weft_attention.transformers import paths, register, use


class Models(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        register()
        torch.set_num_threads(1)

    def near(self, pair, most=1e-5):
        """Of the largest number, where that is above 1."""
        size = max(1.0, pair[0].abs().max().item())
        self.assertLessEqual((pair[0] - pair[1]).abs().max().item(), most * size)

    def test_outputs_and_gradients(self):
        for name in ("modernbert", "roberta", "bert", "mistral", "qwen3", "gemma3", "bart", "whisper", *T5_NAMES):
            model = use(model_of(name))
            for keep in (None, padded("right"), padded("left")):
                with self.subTest(f"{name}, {'no' if keep is None else 'a'} mask"):
                    texts = torch.ones(2, LENGTH, dtype=torch.bool) if keep is None else keep.bool()
                    gradients = []

                    def call(model):
                        model.zero_grad()
                        out = model(**given(name, keep))  # noqa: B023
                        rows = out[0][texts[:, : out[0].shape[1]]]  # noqa: B023
                        (rows * torch.sin(torch.arange(rows.numel())).view_as(rows)).sum().backward()
                        gradients.append({key: part.grad for key, part in model.named_parameters() if part.grad is not None})  # noqa: B023
                        return rows.detach()

                    self.near(both(model, call))
                    for key, wanted in gradients[0].items():
                        if not key.endswith(("key.bias", "k_proj.bias")):  # zero, but for rounding
                            difference = (gradients[1][key] - wanted).norm()
                            self.assertLessEqual(difference.item(), 1e-4 * wanted.norm().item() + 1e-6, key)

    def test_generated_tokens_are_equal(self):
        for name in ("mistral", "qwen3", "gemma3", "bart", "t5", "umt5"):
            model = use(model_of(name))
            for cache in ({}, {"cache_implementation": "static", "disable_compile": True}):
                with self.subTest(f"{name}, {cache}"):
                    keep = padded("left", 80)
                    call = lambda model: model.generate(IDS[:, :80], attention_mask=keep, max_new_tokens=30, do_sample=False,  # noqa: E731
                                                        eos_token_id=None, **cache)  # fmt: skip # noqa: B023
                    self.assertTrue(torch.equal(*both(model, call)))

    def test_a_bias_of_positions_is_a_table(self):
        for name in T5_NAMES:
            with self.subTest(name):
                model = use(model_of(name), "window(left=20, right=30) | global(2)")
                self.assertEqual(set(paths(model)), set())
                found = model(**given(name, padded("right"))).logits
                self.assertIn("window(left=20, right=30) | global(2)", str(set(paths(model).values())))
                model = use(model_of(name)).bfloat16()
                low = both(model, lambda model: model(**given(name, padded("right"))).logits.float())  # noqa: B023
                self.near(low, 0.05)
        longt5 = transformers.LongT5Model(transformers.LongT5Config(**T5, local_radius=8))
        with self.assertRaisesRegex(weft.UnsupportedError, "LongT5LocalAttention .* adds a bias of positions"):
            use(longt5)

    def test_a_block_mask_in_flex_attention(self):
        for pattern, heads in (("causal & window(100)", 4), ("heads(causal, window(40) | global(3))", 2)):
            query, key, value = (torch.randn(1, heads, 300, 16) for _ in range(3))
            found = flex_attention(query, key, value, block_mask=weft.block_mask(pattern, 300, heads=heads))
            self.near((found, weft.attend(query, key, value, pattern)), 2e-6)

    def test_masks_that_are_tensors(self):
        model = model_of("mistral")
        mask = torch.zeros(2, 1, LENGTH, LENGTH).masked_fill(torch.ones(LENGTH, LENGTH, dtype=torch.bool).triu(1), torch.finfo().min)
        self.near(both(model, lambda model: model(input_ids=IDS, attention_mask=mask).logits))
        self.assertEqual(set(paths(model).values()), {"causal"})
        with self.assertRaisesRegex(weft.UnsupportedError, "adds numbers to its scores"):
            model(input_ids=IDS, attention_mask=mask + 0.5)

    def test_a_pattern_removes_edges(self):
        model = use(model_of("roberta"), "window(16) | global(1)")
        found = model(IDS)[0]
        self.assertEqual(paths(model)["encoder.layer.0.attention.self"], "window(16) | global(1)")
        with tempfile.TemporaryDirectory() as folder:
            model.save_pretrained(folder)
            loaded = transformers.RobertaModel.from_pretrained(folder, attn_implementation="weft").eval()
            self.assertRaisesRegex(weft.UnsupportedError, "have not been given", loaded, IDS)
            self.assertTrue(torch.equal(use(loaded)(IDS)[0], found))
        mask = torch.tensor(weft.Pattern("window(16) | global(1)").to_dense(LENGTH).tolist()).bool()[None].expand(2, 1, -1, -1)
        model.set_attn_implementation("sdpa")
        self.near((found, model(IDS, attention_mask=mask)[0]))

    def test_a_pattern_holds_while_tokens_are_generated(self):
        model = use(model_of("qwen3"), "window(24) | global(2, side=keys)")
        settings = {"attention_mask": torch.ones(2, 60, dtype=torch.long), "max_new_tokens": 20, "do_sample": False, "eos_token_id": None}
        found = model.generate(IDS[:, :60], **settings)
        self.assertTrue(torch.equal(model(found).logits.argmax(-1)[:, 59:-1], found[:, 60:]))
        static = model.generate(IDS[:, :60], cache_implementation="static", disable_compile=True, **settings)
        self.assertTrue(torch.equal(found, static))


if __name__ == "__main__":
    unittest.main()
