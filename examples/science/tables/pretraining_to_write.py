# SPDX-License-Identifier: Apache-2.0
"""Pre-training on plain text before summaries are learned: SciTLDR (abstract to a sentence), and PLOS (the body's beginning to the abstract).

Each objective learns 15 minutes on books and the bodies of PLOS' training articles; then each data set is learned for as many epochs. `none` begins with
random weights. The baseline is the first sentences of the text, as many words as a summary has.
"""
import json
import statistics

from rouge import rouge, without_model
from lines import json_lines

CLAIM = "An encoder-decoder that repaired plain texts first writes better summaries than one that begins with random weights."
FIGURE, BETTER, GROUP = "rouge1", "larger", "data"
NEEDS = ["books/train", "plos/train.jsonl", "plos/dev.jsonl", "scitldr/train.jsonl", "scitldr/dev.jsonl"]
NOISES = {"none": None, "lead": ["gap-sentences", "--gap-choice", "lead"], "ind-orig": ["gap-sentences"], "infill": ["permute-infill"], "spans": ["spans"]}
MINUTES, LENGTH, TARGET, EPOCHS = 15, 512, 256, {"scitldr": 10, "plos": 40}
SHAPE = ("--encoder-layers", 3, "--decoder-layers", 3, "--width", 192, "--heads", 4, "--max-source-positions", LENGTH, "--max-target-positions", LENGTH)


def cells():
    return [{"data": data, "noise": noise} for data in EPOCHS for noise in ("lead sentences", *NOISES)]


def fixed(cell):
    return cell["noise"] == "lead sentences"


def example(data, row):
    if data == "plos":
        return " ".join(paragraph for section in row["sections"] for paragraph in section["paragraphs"]), row["abstract"]
    return " ".join(row["source"]), row["target"][0]


def pairs_of(data, part, world):
    def rows():
        for line in (world.data / data / f"{part}.jsonl").read_text(encoding="utf-8").splitlines():
            text, summary = example(data, json.loads(line))
            if text.strip() and summary.strip():
                yield {"source": " ".join(text.split()), "target": " ".join(summary.split())}
    return world.written(world.folder / f"{data}-{part}.jsonl", lambda: json_lines(rows()))


def plain_text(world):
    """Books, and the bodies of the articles that are learned from."""
    def bodies():
        return "\n".join(json.loads(line)["source"] for line in pairs_of("plos", "train", world).open(encoding="utf-8"))
    return [world.data / "books" / "train", world.written(world.folder / "text" / "plos.txt", bodies).parent]


def tokenizer(world):
    """That of a run of one step, because spans need its sentinels."""
    run = world.folder / "vocabulary"
    world.trained(run, "--task", "denoise", "--noise", "spans", "--train-text", *plain_text(world), "--vocabulary-size", 8000, *SHAPE, "--steps", 1)
    return run


def begun(noise, seed, world):
    """The pre-trained model, or none."""
    if NOISES[noise] is None:
        return None
    run = world.folder / f"{noise}-{seed}"
    world.trained(run, "--task", "denoise", "--noise", *NOISES[noise], "--train-text", *plain_text(world), "--tokenizer", tokenizer(world), *SHAPE,
                  "--minutes", MINUTES, "--seed", seed)
    return run


def run(cell, seed, world):
    data = cell["data"]
    train, dev = pairs_of(data, "train", world), pairs_of(data, "dev", world)
    if fixed(cell):
        words = round(statistics.fmean(len(json.loads(line)["target"].split()) for line in train.open(encoding="utf-8")))
        summaries = without_model(world, "lead", dev, "--text-field", "source", "--words", words, "--sentences", 50)
        return rouge(world, summaries, [json.loads(line)["target"] for line in dev.open(encoding="utf-8")])
    start = begun(cell["noise"], seed, world)
    begin = ["--tokenizer", tokenizer(world), *SHAPE] if start is None else ["--model", start]
    result = world.trained(world.folder / f"{data}-{cell['noise']}-{seed}", "--task", "summarize", *begin, "--train-data", train, "--eval-data", dev,
                           "--source-field", "source", "--target-field", "target", "--truncate", "--max-target-length", TARGET, "--batch-tokens", 4096,
                           "--learning-rate", 1e-3, "--epochs", EPOCHS[data], "--eval-beams", 4, "--generated-examples", 1000, "--seed", seed)
    found = result["evaluation"]
    return {"rouge1": 100 * found["rouge1"], "rouge2": 100 * found["rouge2"], "rougeLsum": 100 * found["rougeLsum"], "loss": found["loss"]}
