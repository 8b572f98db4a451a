# SPDX-License-Identifier: Apache-2.0
"""Promoters of four organisms with one recipe, beside naive Bayes over runs of 2, 4 and 6 letters, and over single letters at their places, and beside a
logistic regression over words at their places. Models are Star-Transformers over tokens of five bases, one base apart, that learn from altered copies
of the records and then from these (examples/promoters/altered.py). How copies are altered was chosen on one other part of Arabidopsis and of E. coli
with seed 0, which human and mouse had no part in. `joined` is the model of the row above with words at their places and 4-mers (counted.py): two weights
and a constant, fitted for each fifth of what is scored on the other four, and pulled to weights that are usual for these organisms (joined.py); of
`mouse to human` it sees human labels, as no other row does.

Human and mouse come as promoters alone. Their negatives are made: parts redrawn from even letters, as DeePromoter does, and by the promoter's own
dinucleotides. The first are told by counting letters; the second are what a claim about a model needs. `mouse to human` learns on one and is scored on
the other. Arabidopsis and E. coli have sequences of the genome that are no promoters. A model `after E. coli` restored masked runs of its whole genome
first, promoters and others alike. A seed splits the records anew into five parts, of which one is scored; near copies, and a promoter with what was
made of it, are in one part.
"""
import functools
import pathlib
import sys
import types

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "promoters"))

import naive_bayes  # noqa: E402
import placed_words  # noqa: E402
import promoters as recipe  # noqa: E402
import sequences  # noqa: E402

CLAIM = "A model tells promoters from sequences with their own dinucleotides better than counts of short runs do, with one recipe for all organisms."
FIGURE, BETTER, GROUP = "f1", "larger", "task"
GENOME = "genomics/ecoli.fa.gz"
HUMAN, MOUSE = "human_dna/human_tata.txt", "human_dna/mouse_tata.txt"
GENOMIC = {"Arabidopsis, genome": ("genomics/Arabidopsis_tata.fa", "genomics/Arabidopsis_non_prom.fa"),
           "E. coli, genome": ("genomics/Ecoli_prom.fa", "genomics/Ecoli_non_prom.fa")}
MADE = {f"{name}, {kind}": (learned, scored, kind) for kind in sequences.KINDS
        for name, learned, scored in (("human", HUMAN, HUMAN), ("mouse", MOUSE, MOUSE), ("mouse to human", MOUSE, HUMAN))}
NEEDS = [GENOME, HUMAN, MOUSE, *(path for pair in GENOMIC.values() for path in pair)]
PRETRAINED = "model after E. coli"
PLACED, WORDS, JOINED = "letters by place", "words by place", "joined"
METHODS = ("2-mers", "4-mers", "6-mers", PLACED, WORDS, "model", JOINED, PRETRAINED)
FOLDS = 5
RECIPE = recipe.RECIPE


def cells():
    return [{"task": task, "method": method} for task in (*MADE, *GENOMIC) for method in METHODS]


def parts_of(task, seed, data):
    """The examples of one organism in FOLDS parts."""
    if task in GENOMIC:
        promoters, others = (sequences.read(data / path) for path in GENOMIC[task])
        return sequences.folds(sequences.examples(promoters, others, None, seed), FOLDS, seed)
    path, _, kind = MADE[task]
    return sequences.folds(sequences.examples(sequences.read(data / path), None, kind, seed), FOLDS, seed)


@functools.lru_cache(maxsize=1)
def split(task, seed, data):
    """(examples to learn from, examples that are scored)"""
    learned, scored, kind = MADE.get(task, ("", "", None))
    if learned == scored:
        parts = parts_of(task, seed, data)
        return [example for part in parts[1:] for example in part], parts[0]
    learned, scored = sequences.read(data / learned), sequences.read(data / scored)
    groups = sequences.near_copies([*learned, *scored])
    seen = set(groups[:len(learned)])  # a human promoter that is nearly one of the mouse's is not scored
    apart = [bases for bases, group in zip(scored, groups[len(learned):]) if group not in seen]
    return sequences.examples(learned, None, kind, seed), sequences.examples(apart, None, kind, seed + 1000)


def counted(method, learned, seed):
    """The counts of a row, which learned from examples; None where the row is of a model."""
    texts, labels = [each.bases for each in learned], [each.label for each in learned]
    if method == WORDS:
        return placed_words.PlacedWords(texts, labels, seed)
    if method == PLACED:
        return naive_bayes.PlacedBayes(1, texts, labels)
    return naive_bayes.NaiveBayes(int(method[0]), texts, labels) if method.endswith("-mers") else None


def run(cell, seed, world):
    learned, scored = split(cell["task"], seed, world.data)
    counts = counted(cell["method"], learned, seed)
    if counts:
        return naive_bayes.figures([counts.predict(each.bases) for each in scored], [each.label for each in scored]) | {"scored": len(scored)}
    name = (cell["task"] + (", " + PRETRAINED if cell["method"] == PRETRAINED else "")).replace(", ", "-").replace(" ", "-")
    chosen = types.SimpleNamespace(weft=world.weft_program, out=world.folder / f"{name}-{seed}", made=MADE.get(cell["task"], ("", "", None))[2],
                                   **RECIPE, epochs=recipe.epochs_for(len(learned)), seed=seed)
    if cell["method"] == PRETRAINED:
        chosen.pretrain, chosen.pretraining = world.data / GENOME, world.folder / f"pretraining-{seed}"
    with world.making(chosen.out / recipe.PREDICTIONS):  # rows `model` and `joined` write and read the same files, maybe side by side
        found = recipe.trained_figures(chosen, learned, scored, world)
        return (recipe.joined_figures(chosen, learned, scored) if cell["method"] == JOINED else found) | {"scored": len(scored)}
