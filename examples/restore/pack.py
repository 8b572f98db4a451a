#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The model `restore` as it comes with Weft: weights in bfloat16, and a card with the figures of these weights.

    examples/restore/pack.py weights --run restore/run --model restore/restore --tuned restore/tune.json
    examples/restore/restore.py score --out restore --model restore/restore
    examples/restore/pack.py card --results restore/results.json --run restore/run --model restore/restore

`card` refuses a model that is not good enough, and leaves its directory without a card. With --short the card says first what the model lacks.
"""
import argparse
import array
import json
import math
import pathlib
import shutil
import struct
import sys

CARD = pathlib.Path(__file__).with_name("card.md")
BESIDE = ("tokenizer.json", "tokenizer_config.json")
# What a model needs on held-out books.
LEAST = {"sentence_end_f1": 0.75, "case_accuracy": 0.95}
ROWS = {"sentence_end_f1": "sentence ends, F1", "case_accuracy": "case of words, accuracy", "f1 ,": "comma, F1", "f1 .": "full stop, F1",
        "f1 ?": "question mark, F1", "f1 !": "exclamation mark, F1", "f1 ;": "semicolon, F1", "f1 :": "colon, F1"}


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    steps = parser.add_subparsers(dest="step", required=True)
    for name in ("weights", "card"):
        step = steps.add_parser(name)
        step.add_argument("--run", type=pathlib.Path, required=True, help="the run of restore.py train")
        step.add_argument("--model", type=pathlib.Path, required=True, help="model directory to make")
        if name == "weights":
            step.add_argument("--tuned", type=pathlib.Path, help="what restore.py tune wrote: its bias is added to labels that end a sentence")
        if name == "card":
            step.add_argument("--results", type=pathlib.Path, required=True, help="what restore.py score wrote for --model")
            step.add_argument("--before", type=pathlib.Path, help="a run whose weights --run began with: the card counts its steps, too")
            step.add_argument("--short", action="store_true", help="write a card, which says so, for a model that is not good enough yet")
    return parser.parse_args()


def bfloat16(data, name):
    """float32 bytes as bfloat16, rounded to the nearest, halves to even."""
    words = array.array("I", data)
    if sys.byteorder == "big":
        words.byteswap()
    if any(word & 0x7F800000 == 0x7F800000 for word in words):
        raise SystemExit(f"{name} has a weight that is infinite or no number")
    halves = array.array("H", [(word + 0x7FFF + (word >> 16 & 1)) >> 16 for word in words])
    if sys.byteorder == "big":
        halves.byteswap()
    return halves.tobytes()


def biased(data, labels, bias):
    """The scores' bias with `bias` more for each label that ends a sentence."""
    values = array.array("f", data)
    for index, label in labels.items():
        values[int(index)] += bias if label[-1] in ".?!" else 0.0
    return values.tobytes()


def write_weights(source, destination, labels=None, end_bias=0.0):
    """A safetensors file of float32 as one of bfloat16, its tensors in order of their names."""
    content = source.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    tensors = json.loads(content[8:8 + length])
    tensors.pop("__metadata__", None)
    header, body = {}, bytearray()
    for name, tensor in sorted(tensors.items()):
        if tensor["dtype"] != "F32":
            raise SystemExit(f"{source}: {name} must be F32, found {tensor['dtype']}")
        begin, end = (8 + length + offset for offset in tensor["data_offsets"])
        start = len(body)
        data = content[begin:end]
        body += bfloat16(biased(data, labels, end_bias) if name == "classifier.bias" and end_bias else data, name)
        header[name] = {"dtype": "BF16", "shape": tensor["shape"], "data_offsets": [start, len(body)]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    destination.write_bytes(struct.pack("<Q", len(text)) + text + body)


def pack_weights(run, model, end_bias):
    model.mkdir(parents=True, exist_ok=True)
    config = json.loads((run / "config.json").read_text()) | {"dtype": "bfloat16"}
    write_weights(run / "model.safetensors", model / "model.safetensors", config["id2label"], end_bias)
    (model / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    for name in BESIDE:
        shutil.copy(run / name, model / name)
    print(f"{model}: {sum(file.stat().st_size for file in model.iterdir()):,} bytes", file=sys.stderr)


def pack(chosen):
    pack_weights(chosen.run, chosen.model, json.loads(chosen.tuned.read_text())["end_bias"] if chosen.tuned else 0.0)


def table(results):
    """A row for each figure, a column for each kind of text and program."""
    columns = [(kind, name) for kind in results for name in results[kind]]
    lines = ["| | " + " | ".join(f"{kind}: {name}" for kind, name in columns) + " |", "|---" * (len(columns) + 1) + "|"]
    for key, title in ROWS.items():
        lines.append(f"| {title} | " + " | ".join(f"{results[kind][name][key]:.3f}" for kind, name in columns) + " |")
    lines.append("| words scored | " + " | ".join(f"{results[kind][name]['words']:,}" for kind, name in columns) + " |")
    return "\n".join(lines)


def write_card(chosen):
    results = json.loads(chosen.results.read_text())
    short = [f"{name} {results['novels']['restore'][name]} is below {least}" for name, least in LEAST.items()
             if results["novels"]["restore"][name] < least]
    if short and not chosen.short:
        raise SystemExit(f"{chosen.model} is not good enough on novels: {', '.join(short)}; train longer (restore.py train --steps N)")
    runs = [run for run in (chosen.before, chosen.run) if run]
    ends = [json.loads((run / "metrics.jsonl").read_text().splitlines()[-1]) for run in runs]
    last = {key: sum(end[key] for end in ends) for key in ("step", "tokens", "seconds")}
    config = json.loads((chosen.model / "config.json").read_text())
    weights = (chosen.model / "model.safetensors").stat().st_size
    values = {"TABLE": table(results), "STEPS": f"{last['step']:,}", "TOKENS": f"{last['tokens'] / 1e6:.1f}",
              "HOURS": f"{last['seconds'] / 3600:.1f}", "RUNS": ", in two runs one behind the other" if chosen.before else "", "SPEED": f"{last['tokens'] / last['seconds']:,.0f}",
              "SHORT": f"**It is not good enough yet**: on held-out novels {', '.join(short)}.\n\n" if short else "",
              "MILLIONS": f"{math.floor(weights / 2e4) / 100:.2f}", "VOCABULARY": f"{config['vocab_size']:,}"}
    card = CARD.read_text(encoding="utf-8")
    for name, value in values.items():
        card = card.replace(f"@{name}@", value)
    (chosen.model / "README.md").write_text(card, encoding="utf-8")
    print(f"{chosen.model / 'README.md'}: ready to be shipped")


def main():
    chosen = options()
    {"weights": pack, "card": write_card}[chosen.step](chosen)


if __name__ == "__main__":
    main()
