#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`weft generate --input --output` with encoder-decoders against generate() of transformers: tiny random directories of each family, settings drawn
at random, sources with padding; ids equal, scores of beams within 1e-4.

What is not compared is said in generation_parity.py. transformers counts padding as part of the source in encoder_repetition_penalty and
encoder_no_repeat_ngram_size, and Weft does not: with these settings sources have no padding here.
"""
import argparse
import collections
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import warnings

os.environ["TRANSFORMERS_VERBOSITY"] = "error"
warnings.filterwarnings("ignore")
import torch  # noqa: E402
import transformers as hf  # noqa: E402
from safetensors.torch import load_file, save_file  # noqa: E402

from cases import generation_cases as cases  # noqa: E402
import generation_parity as single  # noqa: E402

WEFT, VOCABULARY, START, PAD = single.WEFT, 30, 2, 1
SMALL = {"vocab_size": VOCABULARY, "d_model": 16, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 2,
         "decoder_attention_heads": 2, "encoder_ffn_dim": 24, "decoder_ffn_dim": 24, "max_position_embeddings": 40, "pad_token_id": PAD,
         "decoder_start_token_id": START, "forced_eos_token_id": None, "bos_token_id": 0, "eos_token_id": 3}
SMALL_T5 = {"vocab_size": VOCABULARY, "d_model": 16, "d_kv": 6, "d_ff": 24, "num_layers": 2, "num_decoder_layers": 2, "num_heads": 2,
            "relative_attention_num_buckets": 8, "relative_attention_max_distance": 12, "pad_token_id": PAD, "decoder_start_token_id": START, "eos_token_id": 3}
# Each with its class of transformers and what its config has beside the sizes.
FAMILIES = {"Bart": ("BartForConditionalGeneration", SMALL), "Marian": ("MarianMTModel", SMALL | {"scale_embedding": True}),
            "Pegasus": ("PegasusForConditionalGeneration", SMALL | {"scale_embedding": True}), "MBart": ("MBartForConditionalGeneration", SMALL),
            "M2M100": ("M2M100ForConditionalGeneration", SMALL), "T5": ("T5ForConditionalGeneration", SMALL_T5),
            "MT5": ("MT5ForConditionalGeneration", SMALL_T5 | {"feed_forward_proj": "gated-gelu"}),
            "UMT5": ("UMT5ForConditionalGeneration", SMALL_T5 | {"feed_forward_proj": "gated-gelu"}),
            "LongT5": ("LongT5ForConditionalGeneration", SMALL_T5 | {"local_radius": 2}),
            "LongT5-global": ("LongT5ForConditionalGeneration",
                              SMALL_T5 | {"local_radius": 2, "encoder_attention_type": "transient-global", "global_block_size": 4})}


def make_model(family, directory, seed):
    torch.manual_seed(seed)
    name, config = FAMILIES[family]
    model = getattr(hf, name)(getattr(hf, f"{family.removesuffix('-global')}Config")(**config)).eval()
    for name, parameter in model.named_parameters():
        if parameter.dim() > 1 and parameter.requires_grad:
            parameter.data = torch.randn(parameter.shape) * 0.4
    model.save_pretrained(directory)
    (directory / "generation_config.json").write_text("{}")
    model.generation_config = hf.GenerationConfig()
    return model


def random_case(seed):
    source = random.Random(seed)
    settings = cases.random_settings(source, VOCABULARY, 1)
    rows = source.randint(1, 3)
    lengths = [source.randint(1, 9) for _ in range(rows)]
    if any(name.startswith("encoder_") for name in settings):
        lengths = lengths[:1] * rows
    ids = [[source.randrange(4, VOCABULARY) for _ in range(length)] for length in lengths]
    table = torch.tensor([row + [PAD] * (max(lengths) - len(row)) for row in ids])
    mask = torch.tensor([[1] * len(row) + [0] * (max(lengths) - len(row)) for row in ids])
    return settings, table, mask, source.randrange(1 << 30)


def cut(rows, ends):
    """New tokens up to the first end; what follows fills the table."""
    texts = []
    for row in rows:
        stop = next((i for i, token in enumerate(row) if token in ends), len(row) - 1)
        texts.append(row[: stop + 1])
    return texts


def theirs(model, settings, table, mask, seed):
    draws, usual = cases.Draws(seed), torch.multinomial
    torch.multinomial = lambda probabilities, num_samples: draws(probabilities, num_samples)
    try:
        with torch.no_grad():
            out = model.generate(table, attention_mask=mask, pad_token_id=PAD, decoder_start_token_id=START, output_scores=True,
                                 return_dict_in_generate=True, **settings)
    finally:
        torch.multinomial = usual
    texts = cut([row[1:] for row in out.sequences.tolist()], settings["eos_token_id"])
    scores = out.sequences_scores.tolist() if "num_beams" in settings else [0.0] * len(texts)
    return [text if score > cases.LOWEST_REAL else None for text, score in zip(texts, scores)], scores, draws.nearest


def ours(directory, settings, table, mask, seed, folder):
    save_file({"input_ids": table, "attention_mask": mask}, folder / "in.safetensors")
    given = single.flags({"top_k": 0} | settings if settings.get("do_sample") else settings)
    process = subprocess.run([WEFT, "generate", directory, "--input", folder / "in.safetensors", "--output", folder / "out.safetensors", "--pad-token-id",
                              str(PAD), "--decoder-start-token-id", str(START), "--seed", str(seed), "--threads", "1", *given],
                             capture_output=True, text=True)
    if process.returncode != 0:
        return None, process.stderr
    out = load_file(folder / "out.safetensors")
    return cut([row[1:] for row in out["sequences"].tolist()], settings["eos_token_id"]), out["sequences_scores"].tolist()


def check(seed, directory, model, folder):
    settings, table, mask, draw_seed = random_case(seed)
    try:
        expected = theirs(model, settings, table, mask, draw_seed)
    except Exception as error:
        print(f"{seed}: transformers: {str(error)[:160]}")
        return "refused by transformers"
    mine, scores = ours(directory, settings, table, mask, draw_seed, folder)
    found = f"weft: {scores}" if mine is None else single.compare(mine, scores, *expected, "num_beams" in settings)
    known = found in ("equal", "not found", "tie")
    if not known:
        print(f"{seed}: {directory.name} {settings} {table.tolist()}: {found}", file=sys.stderr)
    return found if known else "different"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=240)
    parser.add_argument("--seed", type=int, default=5000)
    arguments = parser.parse_args()
    counts = collections.Counter()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        models = [(folder / family, make_model(family, folder / family, number)) for number, family in enumerate(FAMILIES)]
        for seed in range(arguments.seed, arguments.seed + arguments.count):
            counts[check(seed, *models[seed % len(models)], folder)] += 1
    print("combinations of settings: " + ", ".join(f"{count} {what}" for what, count in sorted(counts.items())))
    return 1 if counts["different"] or counts["equal"] < 0.85 * arguments.count else 0


if __name__ == "__main__":
    sys.exit(main())
