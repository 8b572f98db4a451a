# SPDX-License-Identifier: Apache-2.0
"""GLUE with pruned attention, as in Rugina et al. (2020), in the small: an encoder of 3 x 128 learns masked words of books, then each task with
full attention and with 60% and 90% of its pairs of positions pruned: those of least attention by `weft profile`, random ones, and all but a window.

The encoder has full attention in the first phase, so that all rows of a seed begin with the same weights. A profile is of the training texts of the
task, by the encoder that learned the task with full attention and the same seed. `majority` answers what most of the training examples have, or
their mean: a task that no row lifts clearly above it ranks nothing. The data have no test labels: scores are of dev, which for SST-2 is a tenth of
GLUE's training sentences, and MRPC's of a tenth of its training pairs, whose sentences are in no other pair that is trained on."""
import collections
import json
import statistics

from lines import json_lines

CLAIM = "A GLUE task loses little when the profile says which 60% of attention to prune, and less than with a window or random pairs."
FIGURE, BETTER, GROUP = "score", "larger", "task"
NEEDS = ["glue", "sst2/train.tsv", "sst2/dev.tsv", "books/train"]

PRETRAINING_STEPS = 2500
LENGTH = 256
# Of each task: its figure as GLUE has it (the mean, where it has two), and epochs, fewer where there are many examples.
TASKS = {"mrpc": (("accuracy", "f1"), 4), "sts-b": (("pearson", "spearman"), 4), "rte": (("accuracy",), 4), "qnli": (("accuracy",), 4),
         "cola": (("matthews",), 3), "sst2": (("accuracy",), 1)}
# The label whose F1 counts.
POSITIVE = {"mrpc": "1"}


def cells():
    for task in TASKS:
        yield {"task": task, "pruned": 0, "by": "majority"}
        yield {"task": task, "pruned": 0, "by": "full attention"}
        for pruned in (60, 90):
            for by in ("profile", "window", "random"):
                yield {"task": task, "pruned": pruned, "by": by}


def fixed(cell):
    return cell["by"] == "majority"


def rows_of(path, header=True):
    """The columns of a file whose quotes are text."""
    lines = [line.split("\t") for line in path.read_text(encoding="utf-8-sig").replace("\r\n", "\n").split("\n") if line.strip()]
    if not header:
        return lines
    return [dict(zip(lines[0], line)) for line in lines[1:]]


def cola(folder):
    def read(name):
        return [{"text": row[3], "label": row[1]} for row in rows_of(folder / name, header=False)]
    return read("in_domain_train.tsv"), read("in_domain_dev.tsv") + read("out_of_domain_dev.tsv")


def named(folder, text, pair, label):
    def read(name):
        return [{"text": row[text], "pair": row[pair], "label": row[label]} for row in rows_of(folder / name)]
    return read("train.tsv"), read("dev.tsv")


def mrpc(folder):
    """No split comes with the file. Pairs that share a sentence go to the same side, and each pair counts once."""
    rows = {(row["#1 String"], row["#2 String"]): row["Quality"] for row in rows_of(folder / "msr_paraphrase_train.txt")}
    group = {}

    def find(sentence):
        group.setdefault(sentence, sentence)
        while group[sentence] != sentence:
            group[sentence] = sentence = group[group[sentence]]
        return sentence
    for first, second in rows:
        group[find(first)] = find(second)
    groups = collections.defaultdict(list)
    for (first, second), label in rows.items():
        groups[find(first)].append({"text": first, "pair": second, "label": label})
    train, held_out = [], []
    for number, name in enumerate(sorted(groups)):
        (held_out if number % 10 == 0 else train).extend(groups[name])
    return train, held_out


def examples(task, data):
    if task == "sst2":
        return tuple([{"text": row["sentence"], "label": row["label"]} for row in rows_of(data / "sst2" / f"{part}.tsv")] for part in ("train", "dev"))
    folder = data / "glue" / task
    readers = {"cola": cola, "mrpc": mrpc, "sts-b": lambda where: named(where, "sentence1", "sentence2", "score"),
               "qnli": lambda where: named(where, "question", "sentence", "label"), "rte": lambda where: named(where, "sentence1", "sentence2", "label")}
    return readers[task](folder)


def files(task, world):
    """Training and held-out examples as JSON lines, whose quotes mean nothing."""
    paths = [world.folder / "data" / f"{task}-{part}.jsonl" for part in ("train", "held-out")]
    with world.making(paths[1]) as is_missing:
        if is_missing:
            for path, rows in zip(paths, examples(task, world.data)):
                world.write(path, json_lines(rows))
    return paths


def read_lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def majority(task, world):
    """The figures of one answer for all. Of a constant there is no correlation: GLUE counts it as 0."""
    train, held_out = (read_lines(path) for path in files(task, world))
    if task in ("cola", "sts-b"):
        return {"score": 0.0}
    label = collections.Counter(row["label"] for row in train).most_common(1)[0][0]
    right = statistics.fmean(row["label"] == label for row in held_out)
    if task not in POSITIVE:
        return {"score": 100 * right, "accuracy": 100 * right}
    f1 = 2 * right / (1 + right) if label == POSITIVE[task] else 0.0
    return {"score": 50 * (right + f1), "accuracy": 100 * right, "f1": 100 * f1}


def encoder(seed, world):
    """The encoder that every row of a seed begins with."""
    books = world.data / "books" / "train"
    tokenizer = world.made(world.folder / "tokenizer", "tokenizer", "train", books, "--vocabulary-size", 8192)
    model = world.made(world.folder / f"model-{seed}", "init", "--family", "bert", "--tokenizer", tokenizer, "--num-hidden-layers", 3, "--hidden-size", 128,
                       "--num-attention-heads", 4, "--intermediate-size", 512, "--max-position-embeddings", LENGTH, "--seed", seed)
    run = world.folder / f"pretrained-{seed}"
    world.trained(run, "--task", "mlm", "--model", model, "--train-text", books, "--context", LENGTH, "--batch-size", 16, "--steps",
                  PRETRAINING_STEPS, "--learning-rate", 1e-3, "--seed", seed)
    return run


def fine_tuned(task, model, run, seed, world):
    train, held_out = files(task, world)
    kind = ["--problem-type", "regression"] if task == "sts-b" else []
    pair = [] if task in ("cola", "sst2") else ["--pair-field", "pair"]
    result = world.trained(run, "--task", "classify", "--model", model, "--train-data", train, "--eval-data", held_out, "--text-field", "text", *pair,
                           "--label-field", "label", *kind, "--epochs", TASKS[task][1], "--batch-size", 32, "--learning-rate", 3e-4, "--max-length",
                           LENGTH, "--truncate", "--seed", seed)
    return result["evaluation"]


def pruned_model(cell, seed, world, begin):
    """The encoder of the first phase with the pattern of the row: for each seed its own profile and its own random pairs."""
    name = f"{cell['task']}-{cell['pruned']}-{cell['by']}-{seed}"
    model = world.folder / "models" / name
    full = world.folder / "runs" / f"{cell['task']}-full-{seed}"
    fine_tuned(cell["task"], begin, full, seed, world)
    profile = world.folder / "profiles" / f"{cell['task']}-{seed}.safetensors"
    with world.making(profile) as is_missing:
        if is_missing:
            profile.parent.mkdir(exist_ok=True)
            pair = [] if cell["task"] in ("cola", "sst2") else ["--pair-field", "pair"]
            world.run("profile", full, "--data", files(cell["task"], world)[0], "--text-field", "text", *pair, "--truncate", "--examples", 2000, "--out",
                      profile)
    with world.making(model) as is_missing:
        if is_missing:
            patterns = world.scratch / f"{name}.json"
            control = [] if cell["by"] == "profile" else ["--control", cell["by"]]
            chance = ["--seed", seed] if cell["by"] == "random" else []
            world.weft("prune", profile, "--density", round(1 - cell["pruned"] / 100, 6), "--unit", "edge", "--rank", "mean", *control, *chance, "-o",
                       patterns)
            model.parent.mkdir(exist_ok=True)
            world.weft("convert", begin, "--attention", f"@{patterns}", "--out", model)
    return model


def run(cell, seed, world):
    task = cell["task"]
    if fixed(cell):
        return majority(task, world)
    (world.folder / "runs").mkdir(exist_ok=True)
    begin = encoder(seed, world)
    if cell["pruned"] == 0:
        found = fine_tuned(task, begin, world.folder / "runs" / f"{task}-full-{seed}", seed, world)
    else:
        name = f"{task}-{cell['pruned']}-{cell['by']}-{seed}"
        found = fine_tuned(task, pruned_model(cell, seed, world, begin), world.folder / "runs" / name, seed, world)
    figures = {name: 100 * found[name] for name in TASKS[task][0]}
    return {"score": statistics.fmean(figures.values()), **figures}
