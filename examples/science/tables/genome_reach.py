# SPDX-License-Identifier: Apache-2.0
"""How far a model reads in a genome: labels from motifs that are planted up to 2,000 bases apart in E. coli (examples/genome/planted.py).

Each label needs two motifs, one in the middle of a piece of 4,092 bases and one near it, 240 to 480, or 1,020 to 2,010 bases away. A model that is given
fewer bases sees the same pieces, cut around the middle. Figures are medians of ROC-AUC over the labels of a group, as for DeepSEA's profiles; 5/6 is
what one of two motifs tells, 1/2 nothing. A window alone is the control of equal cost: the first token, which the head reads, has no global one to see
by. Naive Bayes counts words of six bases and needs no reach. Motifs, places and pieces are drawn anew for each seed; pieces that are scored are from
the last fifth of the genome.

Each piece is seen once: of 4,000 pieces that they see ten times such models learn every piece by heart, and no motif.
"""
import collections
import functools
import math
import pathlib
import statistics
import sys
import types

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[2] / part) for part in ("genome", "promoters")]

import genome as genomes  # noqa: E402
import planted  # noqa: E402
import programs  # noqa: E402
import promoters  # noqa: E402

CLAIM = "Labels of motifs far apart are learned where a model is given all bases between them and has a way to read them."
FIGURE, BETTER = "far", "larger"
GENOME = "genomics/ecoli.fa.gz"
NEEDS = [GENOME]
ATTENTION = {"full": "full", "window, global": "block(32, window(3) | global(first=1))", "window": "block(32, window(3))"}
CUTS = {252: 42, 1020: 170, 4092: planted.WORDS}
LEARNED, SCORED = 40000, 1000
EPOCHS, BATCH, LAYERS, WIDTH = 1, 16, 2, 128
COUNTS = "counts of words"


def cells():
    yield {"bases": 4092, "attention": COUNTS}
    for bases in CUTS:
        yield {"bases": bases, "attention": "full"}
    for attention in ("window, global", "window"):
        yield {"bases": 4092, "attention": attention}


@functools.lru_cache(maxsize=1)
def split(path, seed):
    """(pieces to learn from, pieces that are scored)"""
    bases, found = genomes.bases_of(path), planted.motifs(seed)
    border = len(bases) * 4 // 5
    return (planted.pieces(bases[:border], LEARNED, found, f"learned {seed}"), planted.pieces(bases[border:], SCORED, found, f"scored {seed}"))


def medians(areas):
    """The median of each group; SystemExit where a label has no area."""
    missing = [name for name, area in areas.items() if area is None]
    if missing:
        raise SystemExit(f"genome_reach: {', '.join(missing)} of the scored pieces are all or none with the label: more pieces are needed")
    return {group: statistics.median(area for name, area in areas.items() if name.startswith(group + "_")) for group in planted.GROUPS}


def counted(learned, scored):
    """{label: area} of naive Bayes over words, one added to each count."""
    everywhere = collections.Counter(word for piece in learned for word in piece.words)
    areas = {}
    for name in planted.label_names():
        own = collections.Counter(word for piece in learned if name in piece.labels for word in piece.words)
        total, rest = sum(own.values()), sum(everywhere.values()) - sum(own.values())
        odds = {word: math.log((own[word] + 1) / (everywhere[word] - own[word] + 1) * rest / total) for word in everywhere}
        scores = [sum(odds.get(word, 0.0) for word in piece.words) for piece in scored]
        areas[name] = planted.area(scores, [int(name in piece.labels) for piece in scored])
    return areas


def learned_areas(cell, seed, world, parts):
    """{label: area} of a model."""
    folder, words = world.folder / f"{cell['bases']}-{seed}", CUTS[cell["bases"]]
    folder.mkdir(parents=True, exist_ok=True)
    tables = {name: folder / f"{name}.tsv" for name in ("learned", "scored")}
    for table, found in zip(tables.values(), parts):
        world.written(table, lambda found=found: planted.table(found, words))
    shape = types.SimpleNamespace(weft=world.weft_program, layers=LAYERS, width=WIDTH, seed=seed)
    with world.making(folder / "model"):
        model = programs.small_encoder(shape, folder / "model", "bert", promoters.write_tokenizer(folder / "tokenizer", planted.WORD), words + 2)
    run = folder / cell["attention"].replace(", ", "-")
    labels = ("--label-field", *planted.label_names())
    world.trained(run, "--task", "multilabel", "--model", model, "--train-data", tables["learned"], *labels, "--attention", ATTENTION[cell["attention"]],
                  "--learning-rate", 1e-3, "--batch-size", BATCH, "--epochs", EPOCHS, "--seed", seed)
    found = world.weft("eval", run, "--task", "multilabel", "--data", tables["scored"])
    return {label["label"]: label["roc_auc"] for label in found["labels"]}


def run(cell, seed, world):
    parts = split(world.data / GENOME, seed)
    return medians(counted(*parts) if cell["attention"] == COUNTS else learned_areas(cell, seed, world, parts))
