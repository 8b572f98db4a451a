#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Attention pruning as in Rugina et al. (2020), in the small: train, profile, prune, train again from the start, score; controls beside it.

A model learns with full attention. `weft profile` sums where its attention goes on the training text, `weft prune` keeps the edges that carry most
of it, by the mean over positions, and models with the pruned patterns learn from random weights, once for each density and seed. Two controls show
what the profile is worth: as many random edges, and a window of as many edges.

    examples/pruning/pruning.py language --train books/train --held-out books/val --out pruning [--steps 600] [--seeds 3]
    examples/pruning/pruning.py classify --train sst2/train.tsv --held-out sst2/dev.tsv --out pruning-sst2
    examples/pruning/pruning.py translate --train multi30k/train --held-out multi30k/val --source de --target en --out pruning-de-en
    examples/pruning/pruning.py answer --train train-v2.0.json --held-out dev-v2.0.json --out pruning-squad [--model DIR]

Leaves OUT/table.md and OUT/results.json; what is there already is not made again. translate prunes self-attention and cross-attention apart.
answer prunes blocks of 32 x 32 positions, which attention computes faster, and begins with random weights unless --model names an encoder.
"""
import argparse
import json
import pathlib
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))

import programs  # noqa: E402

EDGES = ["--unit", "edge", "--rank", "mean"]
CONTROLS = {"profile": [], "random": ["--control", "random"], "window": ["--control", "window"]}


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    tasks = parser.add_subparsers(dest="task", required=True)
    for name in ("language", "classify", "translate", "answer"):
        task = tasks.add_parser(name)
        task.add_argument("--weft", default=programs.ROOT / "build/release/bin/weft", help="the weft program")
        task.add_argument("--train", nargs="+", required=True, help="what to train on; translate: the name without .de, .en")
        task.add_argument("--held-out", nargs="+", required=True, help="what to score")
        task.add_argument("--out", type=pathlib.Path, required=True, help="folder for runs and results")
        task.add_argument("--pruned", type=int, nargs="+", default=[0, 20, 40, 60, 80, 90], help="percentages of edges to prune")
        task.add_argument("--controls", nargs="+", default=list(CONTROLS), choices=list(CONTROLS))
        task.add_argument("--attend", nargs="+", default=["self", "cross"], choices=["self", "cross"], help="translate: which attention to prune")
        task.add_argument("--seeds", type=int, default=3)
        task.add_argument("--steps", type=int, default=600)
        task.add_argument("--layers", type=int, default=2)
        task.add_argument("--width", type=int, default=128)
        task.add_argument("--heads", type=int, default=4)
        task.add_argument("--learning-rate", type=float, default=2e-3)
        task.add_argument("--model", type=pathlib.Path, help="answer: the encoder that learns to answer (default: a small one of random weights)")
        task.add_argument("--source", default="de")
        task.add_argument("--target", default="en")
    return parser.parse_args()


class Language:
    """A decoder of bytes; bits a byte of held-out text."""

    figure, attends, units = "bits per byte", ["self"], EDGES

    def __init__(self, chosen):
        self.chosen = chosen

    def train(self, run, attention, seed):
        chosen = self.chosen
        result = programs.trained(chosen.weft, run, "--train-text", *chosen.train, "--eval-text", *chosen.held_out, "--attention", attention,
                                  "--context", 256, "--batch-size", 16, "--layers", chosen.layers, "--width", chosen.width, "--heads", chosen.heads,
                                  "--learning-rate", chosen.learning_rate, "--steps", chosen.steps, "--seed", seed, "--max-eval-bytes", 400_000)
        return result["evaluation"]["bits_per_byte"]

    def profile(self, run):
        return [run, "--text", *self.chosen.train, "--max-bytes", 2_000_000]


class Classify:
    """A small encoder from random weights; accuracy of held-out examples."""

    figure, attends, units = "accuracy", ["self"], EDGES

    def __init__(self, chosen):
        self.chosen = chosen
        chosen.seed = 0
        tokenizer = chosen.out / "tokenizer"
        if not tokenizer.exists():
            programs.weft(chosen.weft, "tokenizer", "train", *chosen.train, "--vocabulary-size", 8192, "--out", tokenizer)
        self.model = programs.small_encoder(chosen, chosen.out / "model", "bert", tokenizer, 128)

    def train(self, run, attention, seed):
        chosen = self.chosen
        model = with_attention(chosen, self.model, attention)
        result = programs.trained(chosen.weft, run, "--task", "classify", "--model", model, "--train-data", *chosen.train, "--eval-data",
                                  *chosen.held_out, "--learning-rate", chosen.learning_rate, "--steps", chosen.steps, "--seed", seed)
        return result["evaluation"]["accuracy"]

    def profile(self, run):
        return [run, "--data", self.chosen.train[0]]


class Answer:
    """An encoder that marks the answers to questions in documents, SQuAD's files; F1 of held-out questions."""

    figure, attends, units = "F1", ["self"], ["--unit", "block", "--block", 32]

    def __init__(self, chosen):
        self.chosen = chosen
        chosen.seed = 0
        self.model = chosen.model or self.small_model()

    def small_model(self):
        chosen, tokenizer = self.chosen, self.chosen.out / "tokenizer"
        if not tokenizer.exists():
            text = chosen.out / "documents.txt"
            text.write_text("\n".join(documents(chosen.train)) + "\n")
            programs.weft(chosen.weft, "tokenizer", "train", text, "--vocabulary-size", 8192, "--out", tokenizer)
        return programs.small_encoder(chosen, chosen.out / "model", "bert", tokenizer, 384)

    def train(self, run, attention, seed):
        chosen = self.chosen
        result = programs.trained(chosen.weft, run, "--task", "answer", "--model", with_attention(chosen, self.model, attention), "--train-data",
                                  *chosen.train, "--eval-data", *chosen.held_out, "--format", "squad", "--learning-rate",
                                  chosen.learning_rate, "--steps", chosen.steps, "--seed", seed)
        return result["evaluation"]["f1"]

    def profile(self, run):
        return [run, "--data", self.chosen.train[0], "--format", "squad", "--examples", 1000]


def with_attention(chosen, model, attention):
    """`model`, or a copy of it with the patterns of an @FILE."""
    if not attention.startswith("@"):
        return model
    copy = chosen.out / "models" / pathlib.Path(attention).stem
    if not copy.exists():
        copy.parent.mkdir(exist_ok=True)
        programs.weft(chosen.weft, "convert", model, "--attention", attention, "--out", copy)
    return copy


def documents(files):
    """The documents and the questions of SQuAD's files, a line each."""
    for file in files:
        for article in json.loads(pathlib.Path(file).read_text(encoding="utf-8"))["data"]:
            for paragraph in article["paragraphs"]:
                yield from (text.replace("\n", " ") for text in [paragraph["context"], *(each["question"] for each in paragraph["qas"])])


class Translate:
    """An encoder-decoder from random weights; BLEU of held-out sentences."""

    figure, attends, units = "BLEU", ["self", "cross"], EDGES

    def __init__(self, chosen):
        self.chosen = chosen

    def files(self, names, side):
        return [f"{name}.{side}" for name in names]

    def train(self, run, attention, seed):
        chosen = self.chosen
        given = ["--attention", attention] if attention.startswith("@") else []
        flags = ["--task", "translate", "--train-source", *self.files(chosen.train, chosen.source), "--train-target",
                 *self.files(chosen.train, chosen.target), "--eval-source", *self.files(chosen.held_out, chosen.source), "--eval-target",
                 *self.files(chosen.held_out, chosen.target), *given, "--layers", chosen.layers, "--width", chosen.width, "--heads", chosen.heads,
                 "--max-position-embeddings", 128, "--truncate", "--vocabulary-size", 8000, "--learning-rate", chosen.learning_rate, "--steps",
                 chosen.steps, "--seed", seed]
        return programs.trained(chosen.weft, run, *flags)["evaluation"]["bleu"]

    def profile(self, run):
        return [run, "--source", *self.files(self.chosen.train[:1], self.chosen.source), "--target", *self.files(self.chosen.train[:1], self.chosen.target),
                "--truncate"]


def pruned_patterns(chosen, task, profile, attend, percentage, control):
    """The file of weft prune; the same graphs for all seeds."""
    path = chosen.out / "patterns" / f"{attend}-{percentage}-{control}.json"
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        programs.weft(chosen.weft, "prune", profile, "--density", round(1 - percentage / 100, 6), *task.units, "--attend", attend,
                      *CONTROLS[control], "-o", path)
    return path


def experiments(chosen, task, profile):
    """(attend, percentage, control, pattern) of every row of the table."""
    yield "none", 0, "full", "causal" if chosen.task == "language" else "full"
    for attend in (attend for attend in task.attends if attend in chosen.attend):
        for percentage in (p for p in chosen.pruned if p > 0):
            for control in chosen.controls:
                yield attend, percentage, control, f"@{pruned_patterns(chosen, task, profile, attend, percentage, control)}"


def table(task, rows):
    lines = [f"| attention | pruned | edges by | mass kept | predicted time | {task.figure} | deviation | against full |", "|---|---|---|---|---|---|---|---|"]
    full = statistics.mean(rows[0]["scores"])
    for row in rows:
        mean = statistics.mean(row["scores"])
        spread = statistics.stdev(row["scores"]) if len(row["scores"]) > 1 else 0.0
        lines.append(f"| {row['attend']} | {row['pruned']}% | {row['control']} | {100 * row['kept_mass']:.1f}% | {100 * row['cost_share']:.0f}% | {mean:.4f} | "
                     f"{spread:.4f} | {f'{100 * (mean / full - 1):+.1f}%' if full else ''} |")
    return "\n".join(lines) + "\n"


def main():
    chosen = options()
    chosen.out.mkdir(parents=True, exist_ok=True)
    task = {"language": Language, "classify": Classify, "translate": Translate, "answer": Answer}[chosen.task](chosen)
    (chosen.out / "runs").mkdir(exist_ok=True)
    first = chosen.out / "runs" / "full-0"
    profile = chosen.out / "profile.safetensors"
    task.train(first, "causal" if chosen.task == "language" else "full", 0)
    if not profile.exists():
        programs.run([chosen.weft, "profile", *task.profile(first), "--out", profile])
    rows = []
    for attend, percentage, control, attention in experiments(chosen, task, profile):
        name = "full" if control == "full" else f"{attend}-{percentage}-{control}"
        kept = json.loads(pathlib.Path(attention[1:]).read_text()) if attention.startswith("@") else {"kept_mass": 1, "cost_share": 1}
        scores = [task.train(chosen.out / "runs" / f"{name}-{seed}", attention, seed) for seed in range(chosen.seeds)]
        rows.append({"attend": attend, "pruned": percentage, "control": control, "kept_mass": kept["kept_mass"], "cost_share": kept["cost_share"],
                     "scores": scores})
        print(json.dumps(rows[-1]), flush=True)
        (chosen.out / "results.json").write_text(json.dumps({"machine": programs.machine(), "figure": task.figure, "rows": rows}, indent=2) + "\n")
        (chosen.out / "table.md").write_text(table(task, rows))
    print(table(task, rows))


if __name__ == "__main__":
    main()
