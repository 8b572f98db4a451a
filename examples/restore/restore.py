#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The model `restore`: case, punctuation and sentence ends for bare lower-case words, learned from texts that have them.

Each word of a text becomes a token with a label: one of three cases, and the mark behind the word, one of seven. `data` writes them as CoNLL and
learns the vocabulary; `train` begins or goes on (a small encoder whose attention reaches 128 tokens to each side, so that a whole document is one
pass); `tune` finds how much likelier a sentence end must be than it seems, on books of the training set; `score` reports words of held-out texts, old
novels and modern texts apart, beside two baselines: the most frequent label, and the same model that sees 128 tokens at a time.

    examples/restore/restore.py data  --books books --qmsum qmsum --scitldr scitldr --covidqa covidqa_fixed.json --out restore
    examples/restore/restore.py train --out restore --steps 20000 [--threads 2]
    examples/restore/restore.py tune  --out restore
    examples/restore/restore.py score --out restore

Only data that may be shipped is read: public-domain books, QMSum (MIT), SciTLDR and Covid-QA (Apache-2.0).
"""
import argparse
import collections
import json
import os
import pathlib
import random
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))

import pack  # noqa: E402
import programs  # noqa: E402

CASES = ("", "Title", "UPPER")
MARKS = ("", ",", ".", "?", "!", ";", ":")
ENDS = (".", "?", "!")
# A full stop behind these is theirs, and ends nothing.
ABBREVIATIONS = set("mr mrs ms dr st messrs mme mlle prof rev hon col capt gen lieut sgt jr sr esq vs etc fig al vol no ed".split())
WORD = re.compile(r"[^\W_]+(?:['\u2019\u2018.&-]?[^\W_]+)*")
LONGEST = 240  # words of an example to train on
# Added to the scores of labels that end a sentence. An end's probability is spread over several labels, and the best F1 asks for more ends than the
# likeliest label gives: https://arxiv.org/abs/1402.1892 (Lipton et al. 2014), the best threshold is half of the best F1.
END_BIASES = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    steps = parser.add_subparsers(dest="step", required=True)
    for name in ("data", "train", "tune", "score"):
        step = steps.add_parser(name)
        step.add_argument("--weft", default=os.environ.get("WEFT_BINARY", programs.ROOT / "build/release/bin/weft"), help="the weft program")
        step.add_argument("--out", type=pathlib.Path, required=True, help="folder for data, model, run and results")
        if name == "data":
            step.add_argument("--books", type=pathlib.Path, required=True, help="folder with train and val")
            step.add_argument("--qmsum", type=pathlib.Path, required=True, help="folder with train.jsonl and val.jsonl")
            step.add_argument("--scitldr", type=pathlib.Path, required=True, help="folder with train.jsonl and dev.jsonl")
            step.add_argument("--covidqa", type=pathlib.Path, required=True, help="a file of Covid-QA; its last ten papers are held out")
            step.add_argument("--held-out-words", type=int, default=30_000, help="of each kind of text")
        else:
            step.add_argument("--threads", type=int, default=2)
        if name == "score":
            step.add_argument("--model", type=pathlib.Path, help="model directory to score (default: the run)")
        if name == "train":
            step.add_argument("--steps", type=int, default=20_000)
            step.add_argument("--minutes", type=float, help="train for so long instead of for steps")
            step.add_argument("--batch-tokens", type=int, default=1280, help="small batches learn more from the same text")
            step.add_argument("--learning-rate", type=float, default=1.2e-3)
            step.add_argument("--layers", type=int, default=4)
            step.add_argument("--width", type=int, default=192)
            step.add_argument("--reach", type=int, default=128)
    return parser.parse_args()


def label(case, mark):
    """The CoNLL tag of a case and a mark; O is a lower-case word without a mark."""
    return f"S-{case}{mark}" if case or mark else "O"


def case_of(word):
    letters = [letter for letter in word if letter.isalpha()]
    if not letters or not letters[0].isupper():
        return ""
    return "UPPER" if len(letters) > 1 and all(letter.isupper() for letter in letters) else "Title"


def words_of(text):
    """(bare word, label) of each word of a text."""
    found = list(WORD.finditer(text))
    for here, after in zip(found, found[1:] + [None]):
        between = text[here.end():after.start() if after else len(text)]
        mark = next((sign for sign in between.replace("...", ".").replace("\u2026", ".") if sign in MARKS), "")
        yield here.group().lower().replace("\u2019", "'").replace("\u2018", "'"), label(case_of(here.group()), mark)


def book(path):
    """The text of a book without headings and without the marks of emphasis."""
    lines = (line for line in path.read_text(encoding="utf-8", errors="replace").splitlines() if not line.startswith(("#", "---")))
    return re.sub(r"[_*]", "", "\n".join(lines))


# Transcripts of QMSum have blanks inside of words and before marks.
DETACHED = re.compile(r" (?='(?:s|re|ve|ll|d|m)\b|n't\b|[.,?!;:])", re.IGNORECASE)


def meetings(path):
    """Transcripts of meetings, whole, and what was asked and answered about them."""
    for line in path.read_text(encoding="utf-8").splitlines():
        meeting = json.loads(line)
        turns = meeting.get("meeting_transcripts") or []
        yield "\n".join(DETACHED.sub("", re.sub(r" *\{[^}]*\}|<[^>]*>", "", turn["content"])) for turn in turns)
        yield "\n".join(f"{query['query']} {query['answer']}" for query in meeting.get("specific_query_list", []))


def abstracts(path):
    for line in path.read_text(encoding="utf-8").splitlines():
        paper = json.loads(line)
        yield " ".join(paper["source"])


def papers(path):
    for article in json.loads(path.read_text(encoding="utf-8"))["data"]:
        for paragraph in article["paragraphs"]:
            body = paragraph["context"].partition("Abstract:")[2] or paragraph["context"]
            yield re.sub(r"https?://\S+|\[[0-9, ]+\]", "", body)


def write_examples(path, texts, longest, limit=None, cut=lambda words: words):
    """Texts in examples of at most `longest` words, which `cut` may shorten; every text when there is no limit of words. Returns words written."""
    written = 0
    with path.open("w", encoding="utf-8") as file:
        for text in texts:
            words = list(words_of(text))
            begin = 0
            while begin < len(words):
                part = cut(words[begin:begin + longest])
                begin += len(part)
                if limit is not None and written >= limit:
                    return written
                written += len(part)
                file.write("".join(f"{word} {tag}\n" for word, tag in part) + "\n")
    return written


def whole_sentences(words):
    """The words up to the last sentence end, if that is in their second half: a text begins with a capital, and a model learns it from such examples."""
    last = max((index for index, (word, tag) in enumerate(words) if is_end(word, tag)), default=-1)
    return words[:last + 1] if 2 * last >= len(words) else words


def make_data(chosen):
    chosen.out.mkdir(parents=True, exist_ok=True)
    papers_all = list(papers(chosen.covidqa))
    old_train = [book(path) for path in sorted((chosen.books / "train").iterdir())]
    modern = [*meetings(chosen.qmsum / "train.jsonl"), *abstracts(chosen.scitldr / "train.jsonl"), *papers_all[:-10]]
    # Modern texts are fewer: they come twice, and then everything in one order for all.
    texts = [text[begin:begin + 200_000] for text in old_train + modern + modern for begin in range(0, len(text), 200_000)]
    random.Random(0).shuffle(texts)
    counts = {"train": write_examples(chosen.out / "train.conll", texts, LONGEST, cut=whole_sentences)}
    old = [book(path) for path in sorted((chosen.books / "val").iterdir())]
    modern = [*list(meetings(chosen.qmsum / "val.jsonl"))[:8], *list(abstracts(chosen.scitldr / "dev.jsonl"))[:80], *papers_all[-10:]]
    share = chosen.held_out_words // len(old)
    counts["novels"] = write_examples(chosen.out / "novels.conll", [first_words(text, share) for text in old], 4000)
    share = chosen.held_out_words // len(old_train)
    counts["tune"] = write_examples(chosen.out / "tune.conll", [first_words(text, share) for text in old_train], 4000)
    share = chosen.held_out_words // len(modern)
    counts["modern"] = write_examples(chosen.out / "modern.conll", [first_words(text, 3 * share) for text in modern], 4000, chosen.held_out_words)
    sample = chosen.out / "vocabulary.txt"
    sample.write_text("\n".join(" ".join(word for word, _ in words_of(text)) for text in texts[::4]), encoding="utf-8")
    programs.weft(chosen.weft, "tokenizer", "train", sample, "--vocabulary-size", 8192, "--out", chosen.out / "tokenizer")
    (chosen.out / "data.json").write_text(json.dumps(counts) + "\n")
    print(json.dumps(counts))


def first_words(text, count):
    """The middle of a text from a paragraph on: its first pages are titles and tables."""
    begin = text.find("\n\n", len(text) // 3)
    found = list(WORD.finditer(text, max(0, begin)))
    return text[found[0].start():found[min(count, len(found)) - 1].end() + 1] if found else ""


def train(chosen):
    model = chosen.out / "model"
    if not model.exists():
        labels = [label(case, mark) for case in CASES for mark in MARKS]
        programs.weft(chosen.weft, "init", "--family", "bert", "--head", "token-classification", "--tokenizer", chosen.out / "tokenizer",
                      "--labels", *labels, "--num-hidden-layers", chosen.layers, "--hidden-size", chosen.width, "--num-attention-heads",
                      chosen.width // 64, "--intermediate-size", 4 * chosen.width, "--type-vocab-size", 1, "--max-position-embeddings", 1 << 20,
                      "--position-embedding-type", "none", "--attention", f"relative(reach={chosen.reach})", "--hidden-dropout-prob", 0,
                      "--attention-probs-dropout-prob", 0, "--out", model)
    run = chosen.out / "run"
    flags = ["--resume"] if run.exists() else ["--task", "tag", "--model", model, "--train-data", chosen.out / "train.conll", "--batch-tokens",
                                               chosen.batch_tokens, "--learning-rate", chosen.learning_rate, "--schedule", "linear",
                                               "--warmup-ratio", 0.02, "--beta2", 0.99, "--seed", 0]
    length = ["--minutes", chosen.minutes] if chosen.minutes else ["--steps", chosen.steps]
    programs.weft(chosen.weft, "train", *flags, *length, "--threads", chosen.threads, "--out", run)


def gold(path):
    """[(word, tag)] of each example."""
    for block in path.read_text(encoding="utf-8").strip().split("\n\n"):
        yield [tuple(line.rsplit(" ", 1)) for line in block.splitlines()]


def parts(tag):
    """(case, mark) of a tag."""
    text = tag.removeprefix("S-") if tag != "O" else ""
    case = next((name for name in CASES[1:] if text.startswith(name)), "")
    return case, text[len(case):]


def is_end(word, tag):
    return parts(tag)[1] in ENDS and not (parts(tag)[1] == "." and (word in ABBREVIATIONS or (len(word) == 1 and word != "i")))


def f1(right, found, wanted):
    return 2 * right / (found + wanted) if found + wanted else 0.0


def figures(words, expected, predicted):
    """Shares: of cases that are right, of sentence ends and of each mark as F1."""
    count = collections.Counter()
    for word, want, have in zip(words, expected, predicted, strict=True):
        (case, mark), (found_case, found_mark) = parts(want), parts(have)
        count["words"] += 1
        count["case"] += case == found_case
        ends = is_end(word, want), is_end(word, have)
        count.update({"end right": all(ends), "end found": ends[1], "end wanted": ends[0]})
        count.update({f"{mark} wanted": 1, f"{found_mark} found": 1, f"{mark} right": mark == found_mark})
    result = {"words": count["words"], "case_accuracy": count["case"] / count["words"],
              "sentence_end_f1": f1(count["end right"], count["end found"], count["end wanted"])}
    for mark in MARKS[1:]:
        result[f"f1 {mark}"] = f1(count[f"{mark} right"], count[f"{mark} found"], count[f"{mark} wanted"])
    return {name: round(value, 4) for name, value in result.items()}


def predicted_tags(chosen, model, texts, *flags):
    """The tag of each word, read from what `weft restore` writes."""
    file = chosen.out / "text.txt"
    for words in texts:
        file.write_text(" ".join(words), encoding="utf-8")
        written = programs.weft(chosen.weft, "restore", "--file", file, "--model", model, "--threads", chosen.threads, *flags)["result"]["text"]
        found = list(words_of(written))
        if len(found) != len(words):
            raise SystemExit(f"{model}: {len(words)} words were restored to {len(found)}")
        yield [tag for _, tag in found]


def flat(examples):
    return [item for example in examples for item in example]


def tune(chosen):
    """Packs the run with each bias for sentence ends, scores it on books of the training set, and keeps the best F1's."""
    examples = list(gold(chosen.out / "tune.conll"))
    words, expected = zip(*flat(examples))
    found = {}
    for bias in END_BIASES:
        pack.pack_weights(chosen.out / "run", chosen.out / "tuned", bias)
        tags = predicted_tags(chosen, chosen.out / "tuned", [[word for word, _ in example] for example in examples])
        found[bias] = figures(words, expected, flat(tags))["sentence_end_f1"]
    best = max(found, key=found.get)
    (chosen.out / "tune.json").write_text(json.dumps({"end_bias": best, "sentence_end_f1": found}) + "\n")
    print(json.dumps({"end_bias": best, "sentence_end_f1": found}))


def score(chosen):
    results = {}
    model = chosen.model or chosen.out / "run"
    for kind in ("novels", "modern"):
        examples = list(gold(chosen.out / f"{kind}.conll"))
        texts = [[word for word, _ in example] for example in examples]
        words = [word for text in texts for word in text]
        expected = [tag for example in examples for _, tag in example]
        most = collections.Counter(expected).most_common(1)[0][0]
        results[kind] = {
            "restore": figures(words, expected, [tag for tags in predicted_tags(chosen, model, texts) for tag in tags]),
            "128 tokens at a time": figures(words, expected, [tag for tags in predicted_tags(chosen, model, texts, "--max-length", 128, "--stride", 0) for tag in tags]),
            "most frequent label": figures(words, expected, [most] * len(words)),
        }
    (chosen.out / "results.json").write_text(json.dumps(results, indent=1) + "\n")
    print(json.dumps(results, indent=1))


def main():
    chosen = options()
    {"data": make_data, "train": train, "tune": tune, "score": score}[chosen.step](chosen)


if __name__ == "__main__":
    main()
