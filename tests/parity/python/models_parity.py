#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""weft_attention.transformers beside sdpa: models with random weights, their gradients, what they generate; each mask that would be
computed wrongly without its guard; and what is refused."""
import os
import pathlib
import sys
import tempfile
import unittest
import warnings

sys.path.insert(0, str(pathlib.Path(os.environ["WEFT_BINARY"]).parent.parent / "python"))

import torch  # noqa: E402
import transformers  # noqa: E402

import weft_attention as weft  # noqa: E402
from weft_attention.transformers import paths, register, use  # noqa: E402

warnings.simplefilter("ignore")
SIZES = {"vocab_size": 200, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4,
         "max_position_embeddings": 512, "pad_token_id": 0}  # fmt: skip
GROUPS = {**SIZES, "num_key_value_heads": 2, "head_dim": 16}
PAIRS = {"vocab_size": 200, "d_model": 64, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4, "decoder_attention_heads": 4,
         "encoder_ffn_dim": 96, "decoder_ffn_dim": 96, "pad_token_id": 0}  # fmt: skip
LENGTH = 150


def model_of(name, **more):
    torch.manual_seed(0)
    kinds = {
        "modernbert": ("ModernBertModel", "ModernBertConfig", {**SIZES, "num_hidden_layers": 3, "local_attention": 32, "cls_token_id": 1,
                       "sep_token_id": 2, "bos_token_id": 1, "eos_token_id": 2}),
        "roberta": ("RobertaModel", "RobertaConfig", SIZES),
        "bert": ("BertModel", "BertConfig", SIZES),
        "mistral": ("MistralForCausalLM", "MistralConfig", {**GROUPS, "sliding_window": 40}),
        "qwen3": ("Qwen3ForCausalLM", "Qwen3Config", GROUPS),
        "gemma3": ("Gemma3ForCausalLM", "Gemma3TextConfig", {**GROUPS, "sliding_window": 40, "layer_types": ["sliding_attention", "full_attention"]}),
        "bart": ("BartForConditionalGeneration", "BartConfig", {**PAIRS, "max_position_embeddings": 512}),
        "whisper": ("WhisperForConditionalGeneration", "WhisperConfig", {**PAIRS, "num_mel_bins": 8, "max_source_positions": 60,
                    "max_target_positions": 512, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1}),
    }  # fmt: skip
    kind, config, settings = kinds[name]
    return getattr(transformers, kind)(getattr(transformers, config)(**settings, **more)).eval()


IDS = torch.randint(5, 200, (2, LENGTH), generator=torch.Generator().manual_seed(1))


def padded(side, length=LENGTH):
    keep = torch.ones(2, length, dtype=torch.long)
    keep[1, length - 50 :] = side != "right"
    keep[1, :50] = side != "left"
    return keep


def given(name, keep):
    if name == "whisper":
        sound = torch.randn(2, 8, 120, generator=torch.Generator().manual_seed(2))
        return {"input_features": sound, "decoder_input_ids": IDS, "decoder_attention_mask": keep}
    return {"input_ids": IDS, "attention_mask": keep}


def both(model, call):
    """What `call` gives with sdpa, and with Weft."""
    found = []
    for implementation in ("sdpa", "weft"):
        model.set_attn_implementation(implementation)
        found.append(call(model))
    return found


class Models(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        register()
        torch.set_num_threads(1)

    def near(self, pair, most=1e-5):
        self.assertLessEqual((pair[0] - pair[1]).abs().max().item(), most)

    def test_outputs_and_gradients(self):
        for name in ("modernbert", "roberta", "bert", "mistral", "qwen3", "gemma3", "bart", "whisper"):
            model = model_of(name)
            for keep in (None, padded("right"), padded("left")):
                with self.subTest(f"{name}, {'no' if keep is None else 'a'} mask"):
                    texts = torch.ones(2, LENGTH, dtype=torch.bool) if keep is None else keep.bool()
                    gradients = []

                    def call(model):
                        model.zero_grad()
                        out = model(**given(name, keep))  # noqa: B023
                        rows = out[0][texts]  # noqa: B023
                        (rows * torch.sin(torch.arange(rows.numel())).view_as(rows)).sum().backward()
                        gradients.append({key: part.grad for key, part in model.named_parameters() if part.grad is not None})  # noqa: B023
                        return rows.detach()

                    self.near(both(model, call))
                    for key, wanted in gradients[0].items():
                        if not key.endswith(("key.bias", "k_proj.bias")):  # zero, but for rounding
                            difference = (gradients[1][key] - wanted).norm()
                            self.assertLessEqual(difference.item(), 1e-4 * wanted.norm().item() + 1e-6, key)

    def test_generated_tokens_are_equal(self):
        for name in ("mistral", "qwen3", "gemma3", "bart"):
            model = model_of(name)
            for cache in ({}, {"cache_implementation": "static", "disable_compile": True}):
                with self.subTest(f"{name}, {cache}"):
                    keep = padded("left", 80)
                    call = lambda model: model.generate(IDS[:, :80], attention_mask=keep, max_new_tokens=30, do_sample=False,  # noqa: E731
                                                        eos_token_id=None, **cache)  # fmt: skip # noqa: B023
                    self.assertTrue(torch.equal(*both(model, call)))

    def test_packed_texts_do_not_see_each_other(self):
        model = model_of("mistral")
        places = torch.stack([torch.cat([torch.arange(70), torch.arange(80)]), torch.cat([torch.arange(30), torch.arange(120)])])
        self.near(both(model, lambda model: model(input_ids=IDS, position_ids=places, use_cache=False).logits))
        first = paths(model)["model.layers.0.self_attn"]
        self.assertTrue(len(first) == 2 and first[0].startswith("kept:"))

    def test_chunks_are_no_windows(self):
        settings = {**GROUPS, "num_hidden_layers": 4, "attention_chunk_size": 40, "num_local_experts": 2, "intermediate_size_mlp": 96,
                    "no_rope_layers": [1, 1, 1, 0]}  # fmt: skip
        model = transformers.Llama4ForCausalLM(transformers.Llama4TextConfig(**settings)).eval()
        keep = padded("left")
        self.near(both(model, lambda model: model(input_ids=IDS, attention_mask=keep).logits[keep.bool()]))

    def test_masks_that_are_tensors(self):
        model = model_of("mistral")
        mask = torch.zeros(2, 1, LENGTH, LENGTH).masked_fill(torch.ones(LENGTH, LENGTH, dtype=torch.bool).triu(1), torch.finfo().min)
        self.near(both(model, lambda model: model(input_ids=IDS, attention_mask=mask).logits))
        self.assertEqual(set(paths(model).values()), {"causal"})
        with self.assertRaisesRegex(weft.UnsupportedError, "adds numbers to its scores"):
            model(input_ids=IDS, attention_mask=mask + 0.5)

    def test_what_would_be_wrong_or_unused_is_refused(self):
        makers = {
            "never asks": ("LongformerModel", {**SIZES, "attention_window": 16}), "asking the interface": ("BigBirdModel", SIZES),
            "without asking": ("DebertaV2Model", SIZES), "bias of positions": ("T5Model", {"d_model": 64, "d_ff": 96, "num_layers": 2, "num_heads": 4}),
            "caps its scores": ("Gemma2ForCausalLM", GROUPS), "sinks": ("GptOssForCausalLM", {**GROUPS, "num_local_experts": 2}),
        }  # fmt: skip
        for kind, settings in makers.values():
            with self.subTest(kind):
                maker = getattr(transformers, kind)
                model = maker(maker.config_class(**settings)).eval()
                self.assertRaises(weft.UnsupportedError, use, model)
                if kind in ("T5Model", "Gemma2ForCausalLM", "GptOssForCausalLM"):  # by the name alone, without use()
                    model.set_attn_implementation("weft")
                    more = {"decoder_input_ids": IDS} if kind == "T5Model" else {}
                    self.assertRaises(weft.UnsupportedError, model, input_ids=IDS, **more)
        with self.assertRaisesRegex(weft.UnsupportedError, "output_attentions"):
            use(model_of("bert"))(IDS, output_attentions=True)

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

    def test_a_graph_stays_whole_with_padding(self):
        for name, more in (("modernbert", {}), ("mistral", {"use_cache": False})):
            model, keep = use(model_of(name)), padded("right")
            compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
            wanted = model(input_ids=IDS, attention_mask=keep, **more)[0]
            self.assertTrue(torch.equal(compiled(input_ids=IDS, attention_mask=keep, **more)[0], wanted), name)


if __name__ == "__main__":
    unittest.main()
