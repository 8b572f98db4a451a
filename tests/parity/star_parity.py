#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`weft forward` of random star_transformers against STSeqCls and STSeqLabel of fastNLP 0.7.0, word vectors of other widths folded into the token table.
Skipped where WEFT_FASTNLP_MODELS does not name fastNLP's folder (tests/fixtures/make/star_model.py)."""
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

import torch
from safetensors.torch import load_file, save_file

ROOT = pathlib.Path(__file__).resolve().parents[2]
WEFT = os.environ.get("WEFT_BINARY", ROOT / "build/release/bin/weft")
sys.path.insert(0, str(ROOT / "tests/fixtures/make"))

import star_layer  # noqa: E402
import star_model  # noqa: E402

CASES = 12
SAME = 2e-5  # float32 against float64, of the largest score
ARCHITECTURES = {"classes": "StarTransformerForSequenceClassification", "tags": "StarTransformerForTokenClassification"}
HEADS = {"head.dense": "classifier.dense", "head.projection": "classifier.out_proj"}


def file_names(name):
    """The names in a directory of Weft's; keys and values are two tensors there."""
    for ours, theirs in HEADS.items():
        if name.startswith(ours):
            return [theirs + name[len(ours):]]
    name = name.replace("encoder.embeddings.positions", "embeddings.position_embeddings.weight").replace("encoder.star.layers.", "encoder.layer.")
    parts = [name.replace("key_value", part) for part in ("key", "value")] if "key_value" in name else [name.replace(".norm.", ".LayerNorm.")]
    return [f"star_transformer.{part}" for part in parts]


def write_directory(folder, model, kind, vocabulary, shape, classes):
    config = {"model_type": "star_transformer", "architectures": [ARCHITECTURES[kind]], "vocab_size": vocabulary, "hidden_size": shape["hidden_size"],
              "num_hidden_layers": shape["num_layers"], "num_attention_heads": shape["num_head"], "attention_head_size": shape["head_dim"],
              "intermediate_size": shape["cls_hidden_size"], "max_position_embeddings": shape["max_len"], "pad_token_id": None,
              "id2label": {str(i): f"label {i}" for i in range(classes)}}
    (folder / "config.json").write_text(json.dumps(config))
    tensors = {"star_transformer.embeddings.word_embeddings.weight": star_model.folded(model).detach()}
    for name, value in star_model.by_weft_name(model, lambda parameter: parameter.data).items():
        names = file_names(name)
        tensors |= dict(zip(names, value.chunk(len(names))))
    save_file({name: value.float().contiguous() for name, value in tensors.items()}, folder / "model.safetensors")


def check(models, source, kind):
    shape = dict(hidden_size=source.randint(1, 40), num_layers=source.randint(1, 5), num_head=source.randint(1, 6), head_dim=source.randint(1, 12),
                 max_len=source.randint(1, 70), cls_hidden_size=source.randint(1, 50))
    vocabulary, classes, batch = source.randint(3, 50), source.randint(2, 6), source.randint(1, 3)
    star_layer.LAYERS = shape["num_layers"]
    words = (vocabulary, source.randint(1, 30))
    model = star_model.make_model(models, kind, words, source.randrange(10**6), 1 / shape["hidden_size"]**0.5, classes, **shape)
    ids = torch.tensor([[source.randrange(vocabulary) for _ in range(source.randint(1, shape["max_len"]))]] * batch)
    ids = (ids + torch.arange(batch)[:, None]) % vocabulary
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write_directory(folder, model, kind, vocabulary, shape, classes)
        save_file({"input_ids": ids}, folder / "in.safetensors")
        subprocess.run([WEFT, "forward", folder, "--input", folder / "in.safetensors", "--output", folder / "out.safetensors"], check=True)
        found = load_file(folder / "out.safetensors")["logits"].double()
    expected = star_model.scores_of(model, kind, ids).detach()
    gap = ((found - expected).abs().max() / expected.abs().max()).item()
    print(f"{'ok' if gap <= SAME else 'DIFFERS':8} {kind} of {ids.shape[0]} x {ids.shape[1]} tokens, {shape}: {gap:.1e}")
    return gap <= SAME


def main():
    models = star_model.peer()
    if models is None:
        print("skipped  star_transformer: WEFT_FASTNLP_MODELS does not name fastNLP's folder")
        return 0
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else random.SystemRandom().randrange(10**6)
    print(f"seed {seed}")
    source = random.Random(seed)
    good = [check(models, source, kind) for kind in ARCHITECTURES for _ in range(CASES)]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
