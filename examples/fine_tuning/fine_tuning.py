#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Three tasks from random weights to scored predictions: sentences with a feeling, named entities, questions with and without an answer.

A small encoder learns each task; `weft eval` writes its figures and its predictions, and the programs of the field score the same predictions:
scikit-learn, seqeval, and SQuAD's evaluation as transformers 4 has it. Figures that differ are an error. Weights that begin at random make poor
models of the last two: what is shown is the way, and that the figures are right.

    python3 -m venv scorers && scorers/bin/pip install seqeval==1.2.2 scikit-learn==1.9.1 transformers==4.57.1
    scorers/bin/python examples/fine_tuning/fine_tuning.py --sst2 sst2 --wnut17 wnut17 --squad2 dev-v2.0.json --out tasks [--seed 0]

SST2 and WNUT17 are folders with train and dev; of SQuAD's file the last quarter of the articles is held out.
"""
import argparse
import itertools
import json
import pathlib
import sys
import types

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))

import programs  # noqa: E402

ROUNDING = 1e-9  # of figures up to 100, summed in another order


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weft", default=programs.ROOT / "build/release/bin/weft", help="the weft program")
    parser.add_argument("--sst2", type=pathlib.Path, help="folder with train.tsv and dev.tsv")
    parser.add_argument("--wnut17", type=pathlib.Path, help="folder with train.conll and dev.conll")
    parser.add_argument("--squad2", type=pathlib.Path, help="a file of SQuAD 2.0")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="folder for tokenisers, models, runs and results")
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def small_model(chosen, name, text):
    """Random weights, and a vocabulary of the training text."""
    tokenizer = chosen.out / f"{name}-tokenizer"
    if not tokenizer.exists():
        programs.weft(chosen.weft, "tokenizer", "train", text, "--vocabulary-size", 8192, "--out", tokenizer)
    return programs.small_encoder(chosen, chosen.out / f"{name}-model", "bert", tokenizer, 512)


def trained(chosen, name, task, data, *flags):
    """The run of one task. `data` is (text for a vocabulary, training data)."""
    text, train = data
    run = chosen.out / f"{name}-run"
    programs.trained(chosen.weft, run, "--task", task, "--model", small_model(chosen, name, text), "--train-data", train, "--learning-rate", 1e-3,
                     "--seed", chosen.seed, *flags)
    return run


def evaluated(chosen, run, task, held_out, *flags):
    """Weft's figures, and the predictions they are of."""
    predictions = chosen.out / f"{run.name}-predictions.jsonl"
    found = programs.weft(chosen.weft, "eval", run, "--task", task, "--data", held_out, "--predictions", predictions, *flags)
    return found, [json.loads(line) for line in predictions.read_text(encoding="utf-8").splitlines()]


def sst2(chosen):
    import sklearn.metrics as reference

    train = chosen.sst2 / "train.tsv"
    run = trained(chosen, "sst2", "classify", (train, train), "--epochs", 2, "--batch-size", 64)
    found, rows = evaluated(chosen, run, "classify", chosen.sst2 / "dev.tsv")
    truth, predicted = [row["truth"] for row in rows], [row["label"] for row in rows]
    yield "sst2", found, {"accuracy": reference.accuracy_score(truth, predicted), "f1_macro": reference.f1_score(truth, predicted, average="macro"),
                           "f1": reference.f1_score(truth, predicted, pos_label="1"), "matthews": reference.matthews_corrcoef(truth, predicted)}


def wnut17(chosen):
    import seqeval.metrics as reference

    train = chosen.wnut17 / "train.conll"
    run = trained(chosen, "wnut17", "tag", (train, train), "--epochs", 30, "--batch-size", 32)
    found, rows = evaluated(chosen, run, "tag", chosen.wnut17 / "dev.conll")
    truth, predicted = [row["truth"] for row in rows], [row["tags"] for row in rows]
    yield "wnut17", found, {"precision": reference.precision_score(truth, predicted), "recall": reference.recall_score(truth, predicted),
                            "f1": reference.f1_score(truth, predicted), "accuracy": reference.accuracy_score(truth, predicted)}


def split_articles(file, folder):
    """Training articles, held-out articles and the training text, as files."""
    data = json.loads(file.read_text(encoding="utf-8"))
    kept = len(data["data"]) * 3 // 4
    parts = {"train": data["data"][:kept], "held_out": data["data"][kept:]}
    for name, articles in parts.items():
        (folder / f"squad2-{name}.json").write_text(json.dumps({"version": data["version"], "data": articles}))
    text = folder / "squad2-train.txt"
    text.write_text("\n".join(paragraph["context"] for article in parts["train"] for paragraph in article["paragraphs"]), encoding="utf-8")
    return folder / "squad2-train.json", folder / "squad2-held_out.json", text


def score_answers(found, rows):
    """Weft's figures and SQuAD's of the same answers."""
    from transformers.data.metrics.squad_metrics import squad_evaluate

    asked = [types.SimpleNamespace(qas_id=row["id"], answers=[{"text": text} for text in row["truth"]]) for row in rows]
    said = squad_evaluate(asked, {row["id"]: row["answer"] for row in rows})
    best = squad_evaluate(asked, {row["id"]: row["best"] for row in rows}, {row["id"]: row["no_answer"] for row in rows})
    return found, {"exact_match": said["exact"], "f1": said["f1"], "has_answer_f1": said["HasAns_f1"], "no_answer_f1": said["NoAns_f1"],
                   "best_exact_match": best["best_exact"], "best_f1": best["best_f1"]}


def squad2(chosen):
    """As the model answers, and made to answer every question."""
    train, held_out, text = split_articles(chosen.squad2, chosen.out)
    run = trained(chosen, "squad2", "answer", (text, train), "--epochs", 3, "--batch-size", 32, "--max-length", 384, "--stride", 128)
    yield "squad2", *score_answers(*evaluated(chosen, run, "answer", held_out))
    yield "squad2_spans", *score_answers(*evaluated(chosen, run, "answer", held_out, "--null-threshold", 1e9))


def compared(found, reference):
    """Rows of (figure, Weft's, the reference's); an error where they differ."""
    for name, value in reference.items():
        if abs(found[name] - value) > ROUNDING:
            raise SystemExit(f"{name}: weft says {found[name]!r}, the reference {float(value)!r}")
    return [(name, found[name], float(value)) for name, value in reference.items()]


def main():
    chosen = options()
    chosen.out.mkdir(parents=True, exist_ok=True)
    results = {}
    chosen_tasks = [task for task in (sst2, wnut17, squad2) if getattr(chosen, task.__name__)]
    for name, found, reference in itertools.chain.from_iterable(task(chosen) for task in chosen_tasks):
        results[name] = compared(found, reference)
        print("\n".join(f"{name:12} {figure:18} weft {ours:.10g}  reference {theirs:.10g}" for figure, ours, theirs in results[name]), flush=True)
    (chosen.out / "results.json").write_text(json.dumps({"machine": programs.machine(), "results": results}, indent=2) + "\n")


if __name__ == "__main__":
    main()
