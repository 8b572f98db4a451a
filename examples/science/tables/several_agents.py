# SPDX-License-Identifier: Apache-2.0
"""Several models against one, on Multi30k from German to English: in one beam, in the order of one that writes from right to left, and with texts that
a model of the other direction made.

Models differ in their seed alone and share a vocabulary. Each learns as many steps; those of seed s are models 4 s to 4 s + 3. The control of equal cost
is one model that learned as long as four. The first half of the held-out captions chooses weights, the second half is scored; `p` is the paired bootstrap
against the first model alone. A pupil learns the translations of four as its targets (sequence-level distillation). Each of the last three rows begins
with 5,000 pairs; two of them have the other 24,000 English captions as well, with sources that a model of these pairs wrote, as they are or with noise.
"""
import reranking
from lines import text_lines

CLAIM = "Models that write together are better than one of them, and than one that learned as long as all of them."
FIGURE, BETTER, NEEDS = "bleu", "larger", ["multi30k/train.de", "multi30k/val.de"]
STEPS, BATCH_TOKENS, MOST, BEAMS, PAIRS = 1200, 1024, 4, 5, 5000
ALONE, LONG, BACKWARDS, RERANKED = "one", "one, four times as long", "one, right to left", "one, in the order of right to left"
PUPIL = "one, taught by four"
ONE_BEAM = ("--no-split-sentences", "--num-beams", 1, "--batch-size", 256)
FEW, MADE, NOISY = "one of 5,000 pairs", "one with made sources", "one with noisy made sources"


def cells():
    return [{"models": name} for name in (ALONE, LONG, BACKWARDS, RERANKED, "two, probabilities", "four, probabilities", "four, logarithms", PUPIL, FEW, MADE, NOISY)]


def vocabulary(world):
    texts = [world.data / "multi30k" / f"train.{side}" for side in ("de", "en")]
    return world.made(world.folder / "vocabulary", "tokenizer", "train", *texts, "--vocabulary-size", 4000)


def halves(world):
    """Held-out captions: tune.de, tune.en, score.de and score.en."""
    for side in ("de", "en"):
        lines = (world.data / "multi30k" / f"val.{side}").read_text(encoding="utf-8").splitlines(True)
        for part, chosen in (("tune", lines[:len(lines) // 2]), ("score", lines[len(lines) // 2:])):
            world.write(world.folder / f"{part}.{side}", "".join(chosen))


def learned(world, name, files, seed, steps, *flags):
    run, (sources, targets) = world.folder / name, files
    world.trained(run, "--task", "translate", "--train-source", *sources, "--train-target", *targets, "--tokenizer", vocabulary(world), "--steps", steps,
                  "--batch-tokens", BATCH_TOKENS, "--generated-examples", 0, "--seed", seed, *flags)
    return run


def translator(world, name, seed, times, *flags):
    data = world.data / "multi30k"
    return learned(world, name, ([data / "train.de"], [data / "train.en"]), seed, times * STEPS, *flags)


def with_made_sources(world, seed, noisy):
    """A model of few pairs and of English captions alone, whose sources the model of the other direction wrote."""
    files = {}
    for side in ("de", "en"):
        lines = (world.data / "multi30k" / f"train.{side}").read_text(encoding="utf-8").splitlines(True)
        for part, chosen in (("few", lines[:PAIRS]), ("alone", lines[PAIRS:])):
            files[part, side] = world.folder / f"{part}.{side}"
            world.write(files[part, side], "".join(chosen))
    few = [files["few", "de"]], [files["few", "en"]]
    if noisy is None:
        return learned(world, f"few-{seed}", few, seed, STEPS)
    back = learned(world, f"back-{seed}", (few[1], few[0]), seed, STEPS)
    made = world.written(world.folder / f"made-{seed}.txt", lambda: world.run("translate", back, "--file", files["alone", "en"], *ONE_BEAM))
    if noisy:
        made = world.made(world.folder / f"noisy-{seed}.txt", "data", "noise", made, "--seed", seed)
    # A caption for which the model wrote nothing teaches nothing.
    pairs = zip(made.read_text(encoding="utf-8").splitlines(), files["alone", "en"].read_text(encoding="utf-8").splitlines(), strict=True)
    kept = [(source, target) for source, target in pairs if source.strip()]
    sides = [world.folder / f"kept-{noisy}-{seed}.{side}" for side in ("de", "en")]
    for place, file in enumerate(sides):
        world.write(file, "".join(pair[place] + "\n" for pair in kept))
    name = f"{'noisy' if noisy else 'made'}-{seed}"
    return learned(world, name, ([*few[0], sides[0]], [*few[1], sides[1]]), seed, STEPS)


def taught(world, seed):
    """A model that learns what four write together for the sources of the training captions."""
    models = [translator(world, f"model-{number}", number, 1) for number in range(MOST * seed, MOST * seed + MOST)]
    source = world.data / "multi30k" / "train.de"
    targets = world.written(world.folder / f"taught-{seed}.en", lambda: world.run("translate", models[0], "--with", *models[1:], "--file", source, *ONE_BEAM))
    return learned(world, f"pupil-{seed}", ([source], [targets]), seed, STEPS, "--on-error", "skip")


def reranked(world, seed):
    """The best text of each list of the first model by both directions; weights of the other half."""
    models = [translator(world, f"model-{MOST * seed}", MOST * seed, 1), translator(world, f"backwards-{seed}", seed, 1, "--right-to-left")]
    found = {}
    for part in ("tune", "score"):
        source = world.folder / f"{part}.de"
        lists = reranking.n_best(world, models[0], source, 2 * BEAMS)
        found[part] = lists, [reranking.forced_scores(world, model, source, lists, f"{part}-{place}") for place, model in enumerate(models)]
    weights, penalty = reranking.tuned(world, *found["tune"], world.folder / "tune.en")
    return reranking.best_of(*found["score"], weights, penalty)


def written(world, models, *flags):
    together = ["--with", *models[1:]] if len(models) > 1 else []
    return world.run("translate", models[0], *together, "--file", world.folder / "score.de", "--no-split-sentences", "--num-beams", BEAMS, "--batch-size", 128,
                     *flags).splitlines()


def texts_of(cell, seed, world):
    name, first = cell["models"], MOST * seed
    if name == RERANKED:
        return reranked(world, seed)
    if name == PUPIL:
        return written(world, [taught(world, seed)])
    if name in (FEW, MADE, NOISY):
        return written(world, [with_made_sources(world, seed, {FEW: None, MADE: False, NOISY: True}[name])])
    if name == LONG:
        return written(world, [translator(world, f"long-{seed}", first, MOST)])
    if name == BACKWARDS:
        return written(world, [translator(world, f"backwards-{seed}", seed, 1, "--right-to-left")])
    count = {"one": 1, "two": 2, "four": 4}[name.split(",")[0]]
    models = [translator(world, f"model-{number}", number, 1) for number in range(first, first + count)]
    return written(world, models, *(["--mean", name.split(", ")[1]] if count > 1 else []))


def first_alone(world, seed):
    """What the first model of a seed writes by itself."""
    def texts():
        return text_lines(written(world, [translator(world, f"model-{MOST * seed}", MOST * seed, 1)]))
    return world.written(world.folder / f"alone-{seed}.txt", texts)


def run(cell, seed, world):
    halves(world)
    texts = texts_of(cell, seed, world)
    file = world.scratch / "scored.txt"
    world.write(file, text_lines(texts))
    compared = [] if cell["models"] == ALONE else ["--baseline", first_alone(world, seed)]
    score = world.weft("score", "bleu", file, world.folder / "score.en", *compared)
    return {"bleu": score["score"]} | ({"p": score["p_value"]} if compared else {})
