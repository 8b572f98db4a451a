# SPDX-License-Identifier: Apache-2.0
"""Masked pieces of E. coli by how much is read around them, as BigBird's figure 8 (Zaheer et al. 2020) asks it: the share of masked pieces that a model
restores when it reads 256 to 4,096 pieces at once.

Every row is asked for the same pieces: 10% of each stretch of 4,096 are masked together, and the stretch is cut afterwards. `own` learned with windows
of the length that it reads, `cut` is the model of 4,096 given less. All models see as many pieces. `alone` sees no other piece and knows
how often each is there, so that it restores those of the scored ones that are shown as they are, a tenth. Every tenth stretch of 50,000 bases is held
out; models learn from both strands of the others. Pieces are short, 1.6 bases on average: of 4,096 kinds, 5.5 bases each, such models learned in as many
steps how often each is there, and nothing more.
"""
import collections
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "genome"))

import alone  # noqa: E402
import genome as genomes  # noqa: E402

CLAIM = "The more of a genome a model reads at once, the more masked pieces it restores, and a model cut short loses what it learned from far away."
FIGURE, BETTER = "accuracy", "larger"
GENOME = "genomics/ecoli.fa.gz"
NEEDS = [GENOME]
CONTEXTS = (256, 512, 1024, 2048, 4096)
LONGEST = CONTEXTS[-1]
VOCABULARY, MASKED = 270, 0.1  # 261 are bytes and special tokens: pieces have one to three bases
ATTENTION = "block(32, window(3) | random(3) | global(first=2))"
PIECES_A_STEP, STEPS, LAYERS, WIDTH = 4096, 1500, 4, 128
CONSTANT = "alone"


def cells():
    yield {"model": CONSTANT, "pieces": 1}
    for context in CONTEXTS:
        yield {"model": "own", "pieces": context}
    for context in CONTEXTS[:-1]:
        yield {"model": "cut", "pieces": context}


def fixed(cell):
    return cell["model"] == CONSTANT


def fasta(stretches):
    return "".join(f">stretch {number}\n{stretch}\n" for number, stretch in enumerate(stretches))


def texts(world):
    """(documents to learn from, held-out ones): lines of 500 to 1,000 bases."""
    paths = {}
    for part in ("learned", "held_out"):
        paths[part] = world.folder / f"{part}.txt"
        with world.making(paths[part]) as is_missing:
            if is_missing:
                kept, others = genomes.parted(genomes.bases_of(world.data / GENOME))
                sequences = kept if part == "held_out" else [*others, *(stretch[::-1].translate(genomes.COMPLEMENT) for stretch in others)]
                world.write(world.folder / f"{part}.fa", fasta(sequences))
                world.weft("data", "genome", world.folder / f"{part}.fa", "--copies", 1, "--out", paths[part])
    return paths["learned"], paths["held_out"]


def tokenizer(world, text):
    return world.made(world.folder / "tokenizer", "tokenizer", "train", text, "--dna", "--vocabulary-size", VOCABULARY)


def counts(world, held_out, pieces):
    """How often each piece of a text is there."""
    found = collections.Counter()
    for line in world.run("tokenize", pieces, "--file", held_out, "--no-special-tokens", "--json").splitlines():
        for window in json.loads(line)["result"]:
            found.update(window["tokens"])
    return found


def run(cell, seed, world):
    learned_from, held_out = texts(world)
    pieces = tokenizer(world, learned_from)
    if cell["model"] == CONSTANT:
        return {"accuracy": alone.restored(counts(world, held_out, pieces), VOCABULARY)}
    context = LONGEST if cell["model"] == "cut" else cell["pieces"]
    trained = world.folder / f"{context}-{seed}"
    world.trained(trained, "--task", "mlm", "--tokenizer", pieces, "--train-text", learned_from, "--mask-probability", MASKED, "--attention", ATTENTION,
                  "--context", context, "--batch-size", PIECES_A_STEP // context, "--layers", LAYERS, "--width", WIDTH, "--heads", 4,
                  "--learning-rate", 2e-3, "--steps", STEPS, "--seed", seed)
    found = world.weft("eval", trained, "--text", held_out, "--context", cell["pieces"], "--mask-window", LONGEST, "--mask-probability", MASKED)
    return {"accuracy": found["masked_accuracy"], "nats": found["loss"], "masked": found["masked_tokens"]}
