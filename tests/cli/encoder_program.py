# SPDX-License-Identifier: Apache-2.0
"""What the tests of encoder commands share: tiny directories by `weft init`, and safetensors read with the standard library."""

import json
import math
import os
import pathlib
import struct

from weft_program import weft

FIXTURES = pathlib.Path(os.environ.get("WEFT_TEST_DATA_DIR") or pathlib.Path(__file__).resolve().parents[1] / "fixtures")
TOKENIZERS = FIXTURES / "tokenizers"
SMALL = ["--num-hidden-layers", "2", "--hidden-size", "32", "--num-attention-heads", "2", "--intermediate-size", "64"]
# Positions for padding come on top in the families of RoBERTa: 62 tokens each.
FAMILIES = {
    "bert": ("bert", ["--max-position-embeddings", "62"]),
    "roberta": ("roberta", ["--max-position-embeddings", "64"]),
    "xlm-roberta": ("xlm_roberta", ["--max-position-embeddings", "64"]),
    "distilbert": ("bert", ["--max-position-embeddings", "62"]),
    "modernbert": ("modernbert", ["--max-position-embeddings", "62", "--local-attention", "8"]),
    "mpnet": ("mpnet", ["--max-position-embeddings", "64"]),
    "electra": ("bert", ["--max-position-embeddings", "62", "--embedding-size", "16"]),
    "nomic_bert": ("bert", ["--max-position-embeddings", "62"]),
    "eurobert": ("modernbert", ["--max-position-embeddings", "62", "--num-key-value-heads", "1"]),
    "esm": ("esm", ["--max-position-embeddings", "62"]),
    "deberta-v2": ("bert", ["--max-position-embeddings", "62", "--position-buckets", "8"]),
    "longformer": ("roberta", ["--max-position-embeddings", "64", "--attention-window", "8"]),
    "littlebird": ("bert", ["--max-position-embeddings", "62", "--block-size", "4", "--num-latents", "3"]),
    "etc": ("bert", ["--max-position-embeddings", "62", "--local-radius", "6"]),
    "star_transformer": ("bert", ["--max-position-embeddings", "62", "--attention-head-size", "6"]),
    "big_bird": ("big_bird", ["--max-position-embeddings", "62", "--block-size", "4", "--num-random-blocks", "1"]),
    "nystromformer": ("big_bird", ["--max-position-embeddings", "62", "--num-landmarks", "6", "--conv-kernel-size", "5"]),
}
# Heads that transformers has not got for a family.
WITHOUT = {family: {"question-answering", "multiple-choice"} for family in ("nomic_bert", "eurobert", "esm")}
TEXT = "the loom weaves the thread, and we'll see."


def families_with(head):
    return [family for family in FAMILIES if head not in WITHOUT.get(family, ())]


def make_model(directory, family, head, *more):
    """A directory with a tokeniser of the fixtures and random weights; numbers large enough to tell labels apart."""
    tokenizer, shape = FAMILIES[family]
    process = weft("init", "--family", family, "--head", head, "--tokenizer", TOKENIZERS / tokenizer, *SMALL, *shape,
                   "--initializer-range", "0.5", "--out", directory, *more)
    if process.returncode != 0:
        raise AssertionError(process.stderr)
    return directory


def results(*arguments, **keywords):
    """Every line of `weft ... --json`."""
    process = weft(*arguments, "--json", **keywords)
    if process.returncode != 0:
        raise AssertionError(f"weft {arguments} exited with {process.returncode}: {process.stderr}")
    return [json.loads(line) for line in process.stdout.splitlines()]


def write_safetensors(path, **tensors):
    """int64 tensors, as nested lists."""
    header, data = {}, b""
    for name, flat in tensors.items():
        shape = []
        while isinstance(flat[0], list):
            shape, flat = [*shape, len(flat) // math.prod(shape)], [value for row in flat for value in row]
        shape = [*shape, len(flat) // math.prod(shape)]
        header[name] = {"dtype": "I64", "shape": shape, "data_offsets": [len(data), len(data) + 8 * len(flat)]}
        data += struct.pack(f"<{len(flat)}q", *flat)
    text = json.dumps(header).encode()
    pathlib.Path(path).write_bytes(struct.pack("<Q", len(text)) + text + data)


def spoil(path, ending, value):
    """Writes `value` over the first number of the float32 tensor whose name has this ending."""
    content = bytearray(pathlib.Path(path).read_bytes())
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8:8 + length])
    (begin,) = [entry["data_offsets"][0] for name, entry in header.items() if name.endswith(ending)]
    content[8 + length + begin:12 + length + begin] = struct.pack("<f", value)
    pathlib.Path(path).write_bytes(content)


def read_safetensors(path):
    """({name: (shape, bytes)}, metadata)"""
    content = pathlib.Path(path).read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8:8 + length])
    metadata = header.pop("__metadata__", {})
    data = content[8 + length:]
    return {name: (entry["shape"], data[slice(*entry["data_offsets"])]) for name, entry in header.items()}, metadata
