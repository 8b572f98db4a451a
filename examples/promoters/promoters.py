#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Promoters against other sequences of a genome, five-fold: F1, sensitivity and specificity on records that no model of the fold saw.

Sequences become overlapping k-mers, as in DNABERT (Ji et al. 2021): every k bases are one token. A small encoder with random weights learns on four
fifths of the records; figures are of its last step, so nothing is chosen by what is held out. CNNProm (Umarov and Solovyev 2017) publishes
sensitivity 0.95 and specificity 0.97 for the TATA promoters of Arabidopsis.

    examples/promoters/promoters.py --promoters tata.fa --others non_prom.fa --out promoters [--seed 0]
"""
import argparse
import itertools
import json
import pathlib
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))

import programs  # noqa: E402

FIGURES = ("f1", "sensitivity", "specificity", "accuracy", "matthews")


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weft", default=programs.ROOT / "build/release/bin/weft", help="the weft program")
    parser.add_argument("--promoters", type=pathlib.Path, required=True, help="FASTA")
    parser.add_argument("--others", type=pathlib.Path, required=True, help="FASTA")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="folder for tables, models, runs and results")
    parser.add_argument("--kmer", type=int, default=5, help="bases a token")
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def sequences(path):
    records = path.read_text().upper().split(">")[1:]
    return ["".join(record.splitlines()[1:]) for record in records]


def write_table(path, bases, label, kmer):
    rows = (" ".join(sequence[begin:begin + kmer] for begin in range(len(sequence) - kmer + 1)) + f"\t{label}\n" for sequence in bases)
    path.write_text("text\tlabel\n" + "".join(rows))
    return path


def write_tokenizer(folder, kmer):
    """A WordPiece vocabulary whose words are all k-mers; one with other letters than A, C, G and T is unknown."""
    folder.mkdir(exist_ok=True)
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    words = ["".join(letters) for letters in itertools.product("ACGT", repeat=kmer)]
    (folder / "vocab.txt").write_text("\n".join(special + words) + "\n")
    (folder / "tokenizer_config.json").write_text(json.dumps({"do_lower_case": False, "tokenizer_class": "BertTokenizer"}))
    return folder


def fold_figures(chosen, fold, model, tables):
    run = chosen.out / f"run-{chosen.seed}-{fold}"
    programs.trained(chosen.weft, run, "--task", "classify", "--model", model, "--train-data", *tables, "--folds", chosen.folds, "--fold", fold,
                     "--learning-rate", 1e-3, "--epochs", chosen.epochs, "--seed", chosen.seed)
    found = programs.weft(chosen.weft, "eval", run, "--task", "classify", "--data", *tables)
    recall = {label["label"]: label["recall"] for label in found["labels"]}
    return found | {"sensitivity": recall["1"], "specificity": recall["0"]}


def table(folds):
    lines = ["| fold | " + " | ".join(FIGURES) + " |", "|" + "---|" * (len(FIGURES) + 1)]
    lines += [f"| {fold} | " + " | ".join(f"{found[name]:.4f}" for name in FIGURES) + " |" for fold, found in enumerate(folds)]
    means = (statistics.mean(found[name] for found in folds) for name in FIGURES)
    return "\n".join([*lines, "| mean | " + " | ".join(f"{mean:.4f}" for mean in means) + " |"]) + "\n"


def main():
    chosen = options()
    chosen.out.mkdir(parents=True, exist_ok=True)
    classes = [(sequences(chosen.others), 0), (sequences(chosen.promoters), 1)]
    tables = [write_table(chosen.out / f"{label}.tsv", bases, label, chosen.kmer) for bases, label in classes]
    longest = 2 + max(len(sequence) for bases, _ in classes for sequence in bases)
    tokenizer = write_tokenizer(chosen.out / "tokenizer", chosen.kmer)
    model = programs.small_encoder(chosen, chosen.out / f"model-{chosen.seed}", "bert", tokenizer, longest)
    folds = []
    for fold in range(chosen.folds):
        folds.append(fold_figures(chosen, fold, model, tables))
        print(json.dumps({"fold": fold} | folds[-1]), flush=True)
    (chosen.out / "results.json").write_text(json.dumps({"machine": programs.machine(), "folds": folds}, indent=2) + "\n")
    (chosen.out / "table.md").write_text(table(folds))
    print(table(folds))


if __name__ == "__main__":
    main()
