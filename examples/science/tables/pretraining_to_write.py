# SPDX-License-Identifier: Apache-2.0
"""Pre-training on plain text before summaries are learned: SciTLDR (abstract to a sentence), and PLOS (the body's beginning to the abstract).

Each objective learns 15 minutes on books and the bodies of PLOS' training articles; then each data set is learned for as many epochs. `none` begins with
random weights. The baseline is the first sentences of the text, as many words as a summary has.
"""
import json
import statistics

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
    file = world.folder / f"{data}-{part}.jsonl"
    if not file.exists():
        rows = [example(data, json.loads(line)) for line in (world.data / data / f"{part}.jsonl").read_text(encoding="utf-8").splitlines()]
        rows = [{"source": " ".join(text.split()), "target": " ".join(summary.split())} for text, summary in rows if text.strip() and summary.strip()]
        file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return file


def plain_text(world):
    """Books, and the bodies of the articles that are learned from."""
    folder = world.folder / "text"
    folder.mkdir(exist_ok=True)
    file = folder / "plos.txt"
    if not file.exists():
        file.write_text("\n".join(json.loads(line)["source"] for line in pairs_of("plos", "train", world).open(encoding="utf-8")), encoding="utf-8")
    return [world.data / "books" / "train", folder]


def tokenizer(world):
    folder = world.folder / "vocabulary"
    if not folder.exists():
        # A run of one step learns a vocabulary with the sentinels that spans need.
        start = world.folder / "vocabulary-run"
        world.trained(start, "--task", "denoise", "--noise", "spans", "--train-text", *plain_text(world), "--vocabulary-size", 8000, *SHAPE, "--steps", 1)
        folder.symlink_to(start.name, target_is_directory=True)  # beside it: a link to a relative --out would lead nowhere
    return folder


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
        written = world.folder / f"{data}-lead.jsonl"
        world.run("summarize", "--method", "lead", "--words", words, "--sentences", 50, "--file", dev, "--text-field", "source", "--out", written)
        return scored(world, [json.loads(line)["summary_text"] for line in written.open(encoding="utf-8")], dev)
    start = begun(cell["noise"], seed, world)
    begin = ["--tokenizer", tokenizer(world), *SHAPE] if start is None else ["--model", start]
    result = world.trained(world.folder / f"{data}-{cell['noise']}-{seed}", "--task", "summarize", *begin, "--train-data", train, "--eval-data", dev,
                           "--source-field", "source", "--target-field", "target", "--truncate", "--max-target-length", TARGET, "--batch-tokens", 4096,
                           "--learning-rate", 1e-3, "--epochs", EPOCHS[data], "--eval-beams", 4, "--generated-examples", 1000, "--seed", seed)
    found = result["evaluation"]
    return {"rouge1": 100 * found["rouge1"], "rouge2": 100 * found["rouge2"], "rougeLsum": 100 * found["rougeLsum"], "loss": found["loss"]}


def scored(world, texts, dev):
    summaries, references = world.folder / "summaries.jsonl", world.folder / "references.jsonl"
    truth = [json.loads(line)["target"] for line in dev.open(encoding="utf-8")]
    for path, rows in ((summaries, texts), (references, truth)):
        path.write_text("".join(json.dumps({"text": text}) + "\n" for text in rows), encoding="utf-8")
    score = world.weft("score", "rouge", summaries, references)
    return {name: 100 * score[name]["fmeasure"] for name in ("rouge1", "rouge2", "rougeLsum")}
