#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two models of a genome, measured on stretches they never saw: a causal one, a base a token, and a masked one over pieces of about eight bases.

Every tenth stretch of 50,000 bases is held out; no stretch goes on from one record into the next. The causal model learns from the others as they are
and as their reverse complement, which is the other strand of the same molecule; it is asked for bits per base, with longer and longer contexts. The
masked model follows BigBird's figure 7: documents of sentences, a unigram vocabulary, 10% of the pieces masked. Its figure is the part of them that it
restores; bits of a masked piece would not compare with bits per base, since the piece tells its length. Both train by the clock: run it on a machine
that does nothing else.

    examples/genome/genome.py --fasta ecoli.fa.gz --out ecoli [--minutes 10] [--masked-minutes 5]
"""
import argparse
import json
import pathlib
import sys

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[2] / part) for part in ("bench", "examples/promoters")]

import programs  # noqa: E402
from sequences import COMPLEMENT, read  # noqa: E402

STRETCH = 50_000
HELD_OUT_OF = 10
VOCABULARY_BYTES = 1_000_000  # of documents that pieces are learned from: a unigram model takes a minute for each


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weft", default=programs.ROOT / "build/release/bin/weft", help="the weft program")
    parser.add_argument("--fasta", type=pathlib.Path, required=True, help="plain, gzip or bzip2; ten stretches at least")
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
    """The bases of a FASTA file, a line for each record. SystemExit where it cannot be read, or has another letter than IUPAC's."""
    return "\n".join(read(path, "genome", plain=False))


def parted(bases):
    """(stretches that are held out, those to learn from); each lies within one record."""
    stretches = [record[begin:begin + STRETCH] for record in bases.split("\n") for begin in range(0, len(record), STRETCH)]
    return stretches[HELD_OUT_OF - 1::HELD_OUT_OF], [stretch for number, stretch in enumerate(stretches) if number % HELD_OUT_OF != HELD_OUT_OF - 1]


def checked_parts(path, contexts):
    """The parts of a FASTA file. SystemExit where nothing is held out, or the rest is too short for the longest context."""
    kept, train = parted(bases_of(path))
    found = f"found {sum(map(len, [*kept, *train])):,} bases in {len(kept) + len(train)} stretches; give a longer genome"
    if not kept:
        raise SystemExit(f"genome: {path}: every {HELD_OUT_OF}th stretch of at most {STRETCH:,} bases of a record is held out, so that "
                         f"{HELD_OUT_OF} stretches are needed, {(HELD_OUT_OF - 1) * STRETCH + 1:,} bases where it is one record; {found}")
    for name, part in (("held out", kept), ("learned from", train)):
        if max(map(len, part)) <= max(contexts):
            raise SystemExit(f"genome: {path}: a stretch that is {name} must have more bases than the longest context, {max(contexts):,}, "
                             f"and the longest one has {max(map(len, part)):,}; {found}")
    return kept, train


def split(kept, train, folder):
    """Writes train.txt, a line for each stretch and strand, and held_out/*.txt, bases without a line end, so that a byte is a base; both as FASTA, too."""
    held_out = folder / "held_out"
    held_out.mkdir(parents=True, exist_ok=True)
    (folder / "train.txt").write_text("".join(f"{stretch}\n" for stretch in [*train, *(stretch[::-1].translate(COMPLEMENT) for stretch in train)]))
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


def pieces_of(chosen):
    """({part: documents}, tokeniser, what making it printed)"""
    documents = {}
    for part in ("train", "held_out"):
        documents[part] = chosen.out / f"{part}_documents.txt"
        programs.weft(chosen.weft, "data", "genome", chosen.out / f"{part}.fa", "--out", documents[part])
    tokenizer = chosen.out / "tokenizer"
    pieces = programs.weft(chosen.weft, "tokenizer", "train", documents["train"], "--dna", "--kind", "unigram", "--vocabulary-size", 4096,
                           "--max-bytes", VOCABULARY_BYTES, "--out", tokenizer)
    return documents, tokenizer, pieces


def masked(chosen, documents, tokenizer, pieces):
    """An encoder that restores 10% of the pieces."""
    trained = programs.weft(chosen.weft, "train", "--task", "mlm", "--tokenizer", tokenizer, "--train-text", documents["train"], "--eval-text",
                            documents["held_out"], "--mask-probability", 0.1, "--attention", "block(64, window(3) | random(3) | global(first=2))",
                            "--context", chosen.context, "--layers", chosen.layers, "--width", chosen.width, "--heads", 4, "--learning-rate", 1e-3,
                            "--minutes", chosen.masked_minutes, "--seed", chosen.seed, "--out", chosen.out / "masked-run")
    print(json.dumps({"tokenizer": pieces, "masked": trained["evaluation"]}), flush=True)
    return {"tokenizer": pieces, "train": trained}


def main():
    chosen = options()
    held_out = split(*checked_parts(chosen.fasta, [chosen.context, *chosen.contexts]), chosen.out)
    machine = programs.machine()
    print("machine:", machine, flush=True)
    made = pieces_of(chosen) if chosen.masked_minutes else None  # before a model trains, so that what fails here costs no minutes
    results = {"machine": machine, "causal": causal(chosen, held_out)}
    if made:
        results["masked"] = masked(chosen, *made)
    (chosen.out / "results.json").write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
