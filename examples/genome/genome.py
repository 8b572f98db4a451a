#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two models of a genome, measured on stretches they never saw: a causal one, a base a token, and a masked one over pieces of about eight bases.

Every tenth stretch of 50,000 bases is held out. The causal model learns from the others as they are and as their reverse complement, which is the
other strand of the same molecule; it is asked for bits per base, with longer and longer contexts. The masked model follows BigBird's figure 7:
documents of sentences, a unigram vocabulary, 10% of the pieces masked. Its figure is the part of them that it restores; bits of a masked piece would
not compare with bits per base, since the piece tells its length. Both train by the clock: run it on a machine that does nothing else.

    examples/genome/genome.py --fasta ecoli.fa.gz --out ecoli [--minutes 10] [--masked-minutes 5]
"""
import argparse
import gzip
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))

import programs  # noqa: E402

STRETCH = 50_000
HELD_OUT_OF = 10
VOCABULARY_BYTES = 1_000_000  # of documents that pieces are learned from: a unigram model takes a minute for each
COMPLEMENT = str.maketrans("ACGT", "TGCA")


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weft", default=programs.ROOT / "build/release/bin/weft", help="the weft program")
    parser.add_argument("--fasta", type=pathlib.Path, required=True, help="plain or gzip")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="folder for the split, the run and the results")
    parser.add_argument("--minutes", type=float, default=10.0, help="of the causal model")
    parser.add_argument("--masked-minutes", type=float, default=5.0, help="of the masked model; 0 leaves it out")
    parser.add_argument("--context", type=int, default=1024)
    parser.add_argument("--contexts", type=int, nargs="+", default=[64, 128, 256, 512, 1024], help="contexts to evaluate with")
    parser.add_argument("--attention", default="heads(2 * window(left=32), 1 * window(left=256), 1 * window(left=1024))")
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def bases_of(path):
    opened = gzip.open(path, "rt") if path.suffix == ".gz" else open(path)
    with opened as lines:
        return "".join(line.strip().upper() for line in lines if not line.startswith(">"))


def parted(bases):
    """(stretches that are held out, those to learn from)"""
    stretches = [bases[begin:begin + STRETCH] for begin in range(0, len(bases), STRETCH)]
    return stretches[HELD_OUT_OF - 1::HELD_OUT_OF], [stretch for number, stretch in enumerate(stretches) if number % HELD_OUT_OF != HELD_OUT_OF - 1]


def split(bases, folder):
    """Writes train.txt and held_out/*.txt: plain bases, no line ends, so that a byte is a base; and the same as FASTA."""
    kept, train = parted(bases)
    held_out = folder / "held_out"
    held_out.mkdir(parents=True, exist_ok=True)
    (folder / "train.txt").write_text("".join(train) + "".join(train)[::-1].translate(COMPLEMENT))
    for number, stretch in enumerate(kept):
        (held_out / f"{number:03}.txt").write_text(stretch)
    for name, part in (("train.fa", train), ("held_out.fa", kept)):
        (folder / name).write_text("".join(f">stretch {number}\n{stretch}\n" for number, stretch in enumerate(part)))
    return held_out


def causal(chosen, held_out):
    """Trains on bases, and evaluates with every context."""
    run = chosen.out / "run"
    trained = programs.weft(chosen.weft, "train", "--train-text", chosen.out / "train.txt", "--attention", chosen.attention, "--context",
                            chosen.context, "--batch-size", 8, "--layers", chosen.layers, "--width", chosen.width, "--heads", 4,
                            "--learning-rate", 3e-3, "--minutes", chosen.minutes, "--seed", chosen.seed, "--out", run)
    print(json.dumps({"trained_tokens": trained["tokens"], "seconds": trained["seconds"]}), flush=True)
    results = [programs.weft(chosen.weft, "eval", run, "--text", held_out, "--context", context) for context in chosen.contexts]
    print("\n| context | bits per base | bases |\n|---|---|---|")
    for found in results:
        print(f"| {found['context']:,} | {found['bits_per_byte']:.4f} | {found['bytes']:,} |")
    return {"train": trained, "eval": results}


def masked(chosen):
    """Documents, a unigram vocabulary, and an encoder that restores 10% of its pieces."""
    documents = {}
    for part in ("train", "held_out"):
        documents[part] = chosen.out / f"{part}_documents.txt"
        programs.weft(chosen.weft, "data", "genome", chosen.out / f"{part}.fa", "--out", documents[part])
    tokenizer = chosen.out / "tokenizer"
    pieces = programs.weft(chosen.weft, "tokenizer", "train", documents["train"], "--dna", "--kind", "unigram", "--vocabulary-size", 4096,
                           "--max-bytes", VOCABULARY_BYTES, "--out", tokenizer)
    trained = programs.weft(chosen.weft, "train", "--task", "mlm", "--tokenizer", tokenizer, "--train-text", documents["train"], "--eval-text",
                            documents["held_out"], "--mask-probability", 0.1, "--attention", "block(64, window(3) | random(3) | global(first=2))",
                            "--context", chosen.context, "--layers", chosen.layers, "--width", chosen.width, "--heads", 4, "--learning-rate", 1e-3,
                            "--minutes", chosen.masked_minutes, "--seed", chosen.seed, "--out", chosen.out / "masked-run")
    print(json.dumps({"tokenizer": pieces, "masked": trained["evaluation"]}), flush=True)
    return {"tokenizer": pieces, "train": trained}


def main():
    chosen = options()
    held_out = split(bases_of(chosen.fasta), chosen.out)
    machine = programs.machine()
    print("machine:", machine, flush=True)
    results = {"machine": machine, "causal": causal(chosen, held_out)}
    if chosen.masked_minutes:
        results["masked"] = masked(chosen)
    (chosen.out / "results.json").write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
