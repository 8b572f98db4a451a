#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each guard of weft_attention.transformers removed in turn: with it a call is right or refused, without it the numbers differ, or
Weft is not used. A guard that could go without notice fails here."""
import unittest
from unittest import mock

from small_models import GROUPS, IDS, LENGTH, SIZES, T5, both, model_of, padded  # before weft_attention: it says where that is

import torch
import transformers
from transformers.generation.continuous_batching.cache import PagedAttentionCache
from transformers.integrations.sdpa_attention import sdpa_attention_forward

import weft_attention as weft
from weft_attention.transformers import _function, _models, _reading, _refusals, paths, register, use


def without(table, name):
    """The table with an entry removed, for a while."""
    patch = mock.patch.dict(table)
    patch.start()
    del table[name]
    return patch


class Guards(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        register()
        torch.set_num_threads(1)

    def tearDown(self):
        mock.patch.stopall()
        _reading._remembered.clear()

    def remove(self, *places, by):
        for place, name in places:
            mock.patch.object(place, name, by).start()
        _reading._remembered.clear()

    def assert_equal_numbers(self, pair):
        self.assertLessEqual((pair[0] - pair[1]).abs().max().item(), 1e-5)

    def assert_other_numbers(self, pair):
        self.assertGreater((pair[0] - pair[1]).abs().max().item(), 1e-3)

    def test_masks_are_asked_for(self):
        model, keep = model_of("bert"), padded("right")
        call = lambda model: model(IDS, attention_mask=keep)[0][keep.bool()]  # noqa: E731
        self.assert_equal_numbers(both(model, call))
        without(transformers.AttentionMaskInterface._global_mapping, "weft")
        self.assert_other_numbers(both(model, call))

    def test_a_layer_without_a_mask_says_whether_it_is_causal(self):
        settings = {key: SIZES[key] for key in ("hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads")}
        model = transformers.ViTModel(transformers.ViTConfig(**settings, image_size=64, patch_size=8)).eval()
        picture = torch.randn(1, 3, 64, 64, generator=torch.Generator().manual_seed(3))
        call = lambda model: model(picture)[0]  # noqa: E731
        self.assert_equal_numbers(both(model, call))
        for module in model.modules():
            module.__dict__.pop("is_causal", None)
        model.set_attn_implementation("weft")
        causal = call(model)
        model = transformers.ViTModel(model.config).eval()
        self.assert_other_numbers((causal, call(model)))

    def test_the_bias_of_t5(self):
        model = model_of("t5")
        call = lambda model: model(input_ids=IDS, decoder_input_ids=IDS).logits  # noqa: E731
        with self.assertRaisesRegex(weft.UnsupportedError, "bias of positions"):
            both(model, call)
        self.assert_equal_numbers(both(use(model), call))
        self.remove((_function, "distances_of"), by=lambda *_: None)
        self.assert_other_numbers(both(model, call))

    def test_a_bias_that_is_no_function_of_the_distance(self):
        model = transformers.T5EncoderModel(transformers.T5Config(**T5)).eval()
        attention = type(model.encoder.block[0].layer[0].SelfAttention)
        buckets = staticmethod(lambda places, **_: places.abs() % 16)  # goes on changing
        with mock.patch.object(attention, "_relative_position_bucket", buckets):
            self.assertRaisesRegex(weft.UnsupportedError, "no function of the distance", use, model)

    def test_sinks(self):
        model = transformers.GptOssForCausalLM(transformers.GptOssConfig(**GROUPS, num_local_experts=2, num_experts_per_tok=1)).eval()
        call = lambda model: model(IDS).logits  # noqa: E731
        self.assertRaisesRegex(weft.UnsupportedError, "sinks", use, model)
        self.assertRaisesRegex(weft.UnsupportedError, "sinks", both, model, call, "eager")
        without(_refusals.ARGUMENTS, "s_aux")
        self.assert_other_numbers(both(model, call, "eager"))
        without(_refusals.MODELS, "sinks")
        use(model)

    def test_capped_scores(self):
        model = transformers.Gemma2ForCausalLM(transformers.Gemma2Config(**GROUPS, attn_logit_softcapping=0.05)).eval()
        with torch.no_grad():
            for name, weight in model.named_parameters():
                weight.mul_(8.0 if "q_proj" in name or "k_proj" in name else 1.0)
        call = lambda model: model(IDS).logits  # noqa: E731
        self.assertRaisesRegex(weft.UnsupportedError, "caps its scores", use, model)
        self.assertRaisesRegex(weft.UnsupportedError, "caps its scores", both, model, call, "eager")
        without(_refusals.ARGUMENTS, "softcap")
        self.assert_other_numbers(both(model, call, "eager"))
        without(_refusals.MODELS, "caps scores")
        use(model)

    def test_chunks_are_no_windows(self):
        settings = {**GROUPS, "num_hidden_layers": 4, "attention_chunk_size": 40, "num_local_experts": 2, "intermediate_size_mlp": 96,
                    "no_rope_layers": [1, 1, 1, 0]}  # fmt: skip
        model, keep = transformers.Llama4ForCausalLM(transformers.Llama4TextConfig(**settings)).eval(), padded("left")
        call = lambda model: model(input_ids=IDS, attention_mask=keep).logits[keep.bool()]  # noqa: E731
        self.assert_equal_numbers(both(model, call))
        self.remove((_reading, "holds"), by=lambda *_: True)
        self.assert_other_numbers(both(model, call))

    def test_packed_texts_do_not_see_each_other(self):
        model = model_of("mistral")
        places = torch.stack([torch.cat([torch.arange(70), torch.arange(80)]), torch.cat([torch.arange(30), torch.arange(120)])])
        call = lambda model: model(input_ids=IDS, position_ids=places, use_cache=False).logits  # noqa: E731
        self.assert_equal_numbers(both(model, call))
        first = paths(model)["model.layers.0.self_attn"]
        self.assertTrue(len(first) == 2 and first[0].startswith("kept:"))
        self.remove((_reading, "holds"), by=lambda *_: True)
        self.assert_other_numbers(both(model, call))

    def test_models_that_never_ask(self):
        for kind, settings in (("LongformerModel", {**SIZES, "attention_window": 16}), ("BigBirdModel", SIZES), ("DebertaV2Model", SIZES)):
            with self.subTest(kind):
                maker = getattr(transformers, kind)
                model = maker(maker.config_class(**settings)).eval()
                with self.assertRaises(weft.UnsupportedError) as caught:
                    use(model)
                self.assertIn("weft_attention.open", caught.exception.hint)
                with mock.patch.dict(_refusals.MODELS, {"never asks": lambda part: None}):
                    self.assertRaisesRegex(weft.UnsupportedError, "keeps attn_implementation", use, model)
                    with mock.patch.object(_models, "check_implementation", lambda *_: None):
                        use(model)(IDS)
                self.assertEqual(paths(model), {})  # Weft computed nothing

    def test_probabilities(self):
        model = use(model_of("bert"))
        with self.assertRaisesRegex(weft.UnsupportedError, "output_attentions"):
            model(IDS, output_attentions=True)
        without(_refusals.ARGUMENTS, "output_attentions")
        self.remove((_refusals, "attentions_are_collected"), by=lambda: False)
        self.assertFalse(any(part is not None for part in model(IDS, output_attentions=True).attentions))

    def test_a_mask_that_is_handed_back(self):
        model, keep = model_of("mistral"), padded("left", 80)
        call = lambda model: model.generate(IDS[:, :80], attention_mask=keep, max_new_tokens=5, do_sample=False, eos_token_id=None,  # noqa: E731
                                            cache_implementation="static", disable_compile=True)  # fmt: skip
        self.assertTrue(torch.equal(*both(model, call)))
        self.remove((_function, "was_made_before"), by=lambda _: False)
        with self.assertRaises(Exception):  # noqa: B017
            call(model)

    def test_more_keys_than_the_mask_has(self):
        model, keep = model_of("qwen3"), padded("left")
        call = lambda model: self.in_static_cache(model, keep)  # noqa: E731
        self.assert_equal_numbers(both(model, call))
        self.remove((_function, "prepare_padding_mask"), by=lambda mask, *_: mask)
        with self.assertRaises(Exception):  # noqa: B017
            call(model)

    def in_static_cache(self, model, keep, second=0):
        """Logits of the texts; with `second`, of that many tokens behind the others that a cache has."""
        cache = transformers.StaticCache(config=model.config, max_cache_len=LENGTH + 11)
        if not second:
            return model(IDS, attention_mask=keep, past_key_values=cache).logits[keep.bool()]
        first = LENGTH - second
        model(IDS[:, :first], attention_mask=keep[:, :first], past_key_values=cache)
        return model(IDS[:, first:], attention_mask=keep, past_key_values=cache).logits

    def test_a_position_that_is_a_tensor(self):
        model, keep = model_of("qwen3"), padded("left")
        call = lambda model: self.in_static_cache(model, keep, second=7)  # noqa: E731
        self.assert_equal_numbers(both(model, call))
        self.remove((_function, "number_of"), by=lambda offset: 0 if isinstance(offset, torch.Tensor) else offset)
        self.assert_other_numbers(both(model, call))

    def test_a_cache_that_slides(self):
        model = model_of("mistral")

        def call(model):
            cache = transformers.DynamicCache(config=model.config)
            model(IDS[:, :100], past_key_values=cache)
            return model(IDS[:, 100:120], past_key_values=cache).logits

        self.assert_equal_numbers(both(model, call))
        self.remove((_function, "first_query"), by=lambda asked: asked.offset)
        self.assert_other_numbers(both(model, call))

    def test_pages(self):
        draw = torch.Generator().manual_seed(4)
        query, key, value, *before = (torch.randn(1, 4, 20, 16, generator=draw) for _ in range(5))

        class Pages(PagedAttentionCache):
            def __init__(self):
                pass

            def update(self, key_states, value_states, **_):
                return torch.cat([before[0], key_states], 2), torch.cat([before[1], value_states], 2)

        module = torch.nn.Module()
        module.layer_idx = 0
        wanted = sdpa_attention_forward(module, query, key, value, None, cache=Pages(), is_causal=False)[0]
        call = lambda: _function.weft_attention_forward(module, query, key, value, None, cache=Pages(), is_causal=False)[0]  # noqa: E731
        self.assertRaisesRegex(weft.UnsupportedError, "paged cache", call)
        without(_refusals.ARGUMENTS, "cache")
        self.assert_other_numbers((call(), wanted))

    def test_a_token_has_no_expression_of_its_own(self):
        model, keep = model_of("qwen3"), padded("left")
        call = lambda model: self.in_static_cache(model, keep, second=1)  # noqa: E731
        self.assert_equal_numbers(both(model, call))
        self.assertEqual(set(paths(model).values()), {"full"})
        self.remove((_function, "one_query"), by=_function._read_mask)  # its expression needs the position
        self.assert_other_numbers(both(model, call))

    def test_a_graph_stays_whole_with_padding(self):
        for name, more in (("modernbert", {}), ("mistral", {"use_cache": False}), ("t5", {"decoder_input_ids": IDS, "use_cache": False})):
            torch._dynamo.reset()
            model, keep = use(model_of(name)), padded("right")
            call = lambda model: model(input_ids=IDS, attention_mask=keep, **more)[0]  # noqa: E731 # noqa: B023
            self.assertTrue(torch.equal(call(torch.compile(model, fullgraph=True, backend="aot_eager")), call(model)), name)
        torch._dynamo.reset()
        self.remove((_function, "is_plain"), by=lambda *_: False)
        with self.assertRaises(Exception):  # noqa: B017
            call(torch.compile(model, fullgraph=True, backend="aot_eager"))

    def test_blocks_that_were_dropped_are_made_again(self):
        model = model_of("mistral")
        places = torch.cat([torch.arange(70), torch.arange(80)])[None].expand(2, -1)
        others = torch.cat([torch.arange(33), torch.arange(117)])[None].expand(2, -1)
        call = lambda model, places: model(input_ids=IDS, position_ids=places, use_cache=False).logits  # noqa: E731

        def gradient(model):
            model.zero_grad()
            out = call(model, places)
            call(model, others)
            out.sum().backward()
            return model.model.layers[0].self_attn.q_proj.weight.grad.clone()

        mock.patch("weft_attention._kept_layouts.MOST_BYTES", 1).start()
        self.assert_equal_numbers(both(model, gradient))
        mock.patch("weft_attention._operators.living_layout", lambda text: None).start()
        with self.assertRaisesRegex(RuntimeError, "no layout is kept"):
            gradient(model)


if __name__ == "__main__":
    unittest.main()
