# SPDX-License-Identifier: Apache-2.0
"""Small models of transformers with random weights, their inputs, and a call computed twice: with sdpa, and with Weft."""
import os
import pathlib
import sys
import warnings

sys.path.insert(0, str(pathlib.Path(os.environ["WEFT_BINARY"]).parent.parent / "python"))

import torch  # noqa: E402
import transformers  # noqa: E402

warnings.simplefilter("ignore")
SIZES = {"vocab_size": 200, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4,
         "max_position_embeddings": 512, "pad_token_id": 0}  # fmt: skip
GROUPS = {**SIZES, "num_key_value_heads": 2, "head_dim": 16}
PAIRS = {"vocab_size": 200, "d_model": 64, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4, "decoder_attention_heads": 4,
         "encoder_ffn_dim": 96, "decoder_ffn_dim": 96, "pad_token_id": 0}  # fmt: skip
T5 = {"vocab_size": 200, "d_model": 64, "d_ff": 96, "d_kv": 16, "num_layers": 2, "num_decoder_layers": 2, "num_heads": 4, "dropout_rate": 0.0,
      "relative_attention_max_distance": 40, "relative_attention_num_buckets": 16, "decoder_start_token_id": 0, "pad_token_id": 0,
      "eos_token_id": 1}  # fmt: skip
T5_NAMES = ("t5", "mt5", "umt5")
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
    for name_of_kind, family in zip(T5_NAMES, ("T5", "MT5", "UMT5")):
        kinds[name_of_kind] = (f"{family}ForConditionalGeneration", f"{family}Config", T5)
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
    if name in T5_NAMES:
        return {"input_ids": IDS, "attention_mask": keep, "decoder_input_ids": IDS.flip(1)[:, :90]}
    return {"input_ids": IDS, "attention_mask": keep}


def both(model, call, other="sdpa"):
    """What `call` gives with sdpa, and with Weft."""
    found = []
    for implementation in (other, "weft"):
        model.set_attn_implementation(implementation)
        found.append(call(model))
    return found
