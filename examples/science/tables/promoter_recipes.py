# SPDX-License-Identifier: Apache-2.0
"""Which recipe tells promoters of organisms that had no part in choosing it: bases a token and learning rate, on four organisms.
Family, width and the base from one token to the next are those of table `promoters`.

Choose for each organism the recipe that is best on the mean of the other three, and look at what it has on this one: `chosen elsewhere` of
`examples/promoters/chosen.py RESULTS`. Of the five parts of table `promoters` with the same seed the first is not touched here: a recipe is scored on
the second and learns from the rest. Negatives of human and mouse are redrawn by the promoter's own dinucleotides; those of Arabidopsis and E. coli are
of the genome.
"""
import functools
import types

from tables import promoters as organisms

CLAIM = "One recipe is good for promoters of all organisms, also those that it was not chosen by."
FIGURE, BETTER, GROUP = "f1", "larger", "organism"
NEEDS = organisms.NEEDS
TASKS = {"Arabidopsis": "Arabidopsis, genome", "E. coli": "E. coli, genome", "human": "human, dinucleotides", "mouse": "mouse, dinucleotides"}
KMERS, RATES = (3, 4, 5, 6), (3e-4, 1e-3)


def cells():
    return [{"organism": organism, "kmer": kmer, "rate": rate} for organism in TASKS for kmer in KMERS for rate in RATES]


@functools.lru_cache(maxsize=1)
def split(task, seed, data):
    """(examples to learn from, those that are scored); none is of the part that table `promoters` scores."""
    parts = organisms.parts_of(task, seed, data)
    return [example for part in parts[2:] for example in part], parts[1]


def run(cell, seed, world):
    learned, scored = split(TASKS[cell["organism"]], seed, world.data)
    name = f"{cell['organism'].replace(' ', '-')}-{cell['kmer']}-{cell['rate']:g}-{seed}"
    settings = organisms.recipe.RECIPE | {"kmer": cell["kmer"], "rate": cell["rate"], "epochs": organisms.recipe.epochs_for(len(learned))}
    kind = organisms.MADE.get(TASKS[cell["organism"]], ("", "", None))[2]
    chosen = types.SimpleNamespace(weft=world.weft_program, out=world.folder / name, made=kind, seed=seed, **settings)
    return organisms.recipe.trained_figures(chosen, learned, scored, world) | {"scored": len(scored)}
