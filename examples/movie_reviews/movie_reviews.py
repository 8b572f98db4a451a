#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Is a whole review worth more than its beginning? Accuracy of one small model on whole reviews and on their first 128 words, from random weights.

Reviews are files below a folder for each class; the third character of a file's name is its fold (cv0..., to cv9...). The model is a Longformer
whose first token sees the whole review. It is compared with a tuned TF-IDF and logistic regression on the same folds, where Python has scikit-learn.
--masked-steps N first trains the model for so many steps to find masked words in the fold's training reviews.

    examples/movie_reviews/movie_reviews.py --reviews movie_reviews --out reviews [--folds 0 1 2] [--seed 0]
"""
import argparse
import json
import pathlib
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))

import programs  # noqa: E402

CUT = 128  # words
NAMES = {0: "whole reviews", CUT: f"first {CUT} words"}


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weft", default=programs.ROOT / "build/release/bin/weft", help="the weft program")
    parser.add_argument("--reviews", type=pathlib.Path, required=True, help="folder with a folder of text files for each class")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="folder for splits, models, runs and results")
    parser.add_argument("--folds", type=int, nargs="+", default=list(range(10)))
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--vocabulary", type=int, default=8192)
    parser.add_argument("--masked-steps", type=int, default=0, help="steps of masked words before the labels (default 0: none)")
    parser.add_argument("--attention", default="window(64) | global(input, side=keys)")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def reviews_of(folder):
    """(class, file name, text) of every review."""
    return [(path.parent.name, path.name, path.read_text(errors="replace")) for path in sorted(folder.glob("*/*.txt"))]


def write_split(reviews, fold, words, folder):
    """Folders `train` and `held_out` of reviews with at most `words` words (0: all), a folder for each class in them."""
    for label, name, text in reviews:
        part = folder / ("held_out" if int(name[2]) == fold else "train") / label
        part.mkdir(parents=True, exist_ok=True)
        (part / name).write_text(" ".join(text.split()[:words]) if words else text)
    return folder


def small_model(chosen, fold, train):
    """Random weights, or what masked words teach them, and a tokeniser that knows this fold's training reviews only."""
    tokenizer = chosen.out / f"tokenizer-{fold}"
    if not tokenizer.exists():
        programs.weft(chosen.weft, "tokenizer", "train", train, "--vocabulary-size", chosen.vocabulary, "--out", tokenizer)
    model = programs.small_encoder(chosen, chosen.out / f"model-{fold}", "longformer", tokenizer, 4098)
    if chosen.masked_steps == 0:
        return model
    # 30% and not 15%: a small model that sees its text many times learns more from more targets.
    masked = chosen.out / f"masked-{chosen.seed}-{fold}"
    programs.trained(chosen.weft, masked, "--task", "mlm", "--model", model, "--train-text", train, "--attention", "window(64)", "--context", 512,
                     "--batch-size", 32, "--steps", chosen.masked_steps, "--learning-rate", 2e-3, "--warmup-ratio", 0.05, "--mask-probability", 0.3,
                     "--seed", chosen.seed)
    return masked


def accuracy(chosen, reviews, fold, words):
    split = write_split(reviews, fold, words, chosen.out / f"split-{fold}-{words}")
    model = small_model(chosen, fold, chosen.out / f"split-{fold}-0" / "train")
    run = chosen.out / f"run-{chosen.seed}-{fold}-{words}"
    found = programs.trained(chosen.weft, run, "--task", "classify", "--model", model, "--train-data", split / "train", "--eval-data",
                             split / "held_out", "--attention", chosen.attention, "--learning-rate", 5e-4, "--batch-size", 16, "--epochs",
                             chosen.epochs, "--truncate", "--seed", chosen.seed)
    return {"accuracy": found["evaluation"]["accuracy"], "seconds": found["seconds"]}


def baseline(reviews, fold, words):
    """TF-IDF of single words and logistic regression, tuned as its users tune it: the logarithm of counts, words of two reviews and more, and the
    weight of regularisation that is best in five parts of the training reviews. None without scikit-learn."""
    try:
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.linear_model import LogisticRegression
        from sklearn.model_selection import GridSearchCV
        from sklearn.pipeline import make_pipeline
    except ImportError:
        return None
    cut = [(label, name, " ".join(text.split()[:words]) if words else text) for label, name, text in reviews]
    train, held_out = ([row for row in cut if (int(row[1][2]) == fold) == held] for held in (False, True))
    model = make_pipeline(TfidfVectorizer(sublinear_tf=True, min_df=2), LogisticRegression(max_iter=2000))
    search = GridSearchCV(model, {"logisticregression__C": [1, 3, 10, 30, 100]}, cv=5)
    search.fit([text for *_, text in train], [label for label, *_ in train])
    return float(search.score([text for *_, text in held_out], [label for label, *_ in held_out]))


def table(results):
    lines = ["| read | Weft | tuned TF-IDF + logistic regression |", "|---|---|---|"]
    for words, name in NAMES.items():
        ours = [100 * found[words]["weft"]["accuracy"] for found in results.values()]
        theirs = [found[words]["tfidf"] for found in results.values()]
        beside = "scikit-learn is not there" if None in theirs else f"{100 * statistics.mean(theirs):.1f}%"
        spread = statistics.stdev(ours) if len(ours) > 1 else 0.0
        lines.append(f"| {name} | {statistics.mean(ours):.1f}% (deviation of folds {spread:.1f}) | {beside} |")
    return "\n".join(lines) + "\n"


def main():
    chosen = options()
    chosen.out.mkdir(parents=True, exist_ok=True)
    reviews = reviews_of(chosen.reviews)
    results = {}
    for fold in chosen.folds:
        results[fold] = {words: {"weft": accuracy(chosen, reviews, fold, words), "tfidf": baseline(reviews, fold, words)} for words in NAMES}
        print(json.dumps({"fold": fold} | {NAMES[words]: found for words, found in results[fold].items()}), flush=True)
    (chosen.out / "results.json").write_text(json.dumps({"machine": programs.machine(), "results": results}, indent=2) + "\n")
    (chosen.out / "table.md").write_text(table(results))
    print(table(results))


if __name__ == "__main__":
    main()
