# SPDX-License-Identifier: Apache-2.0
"""`weft score` against sacrebleu and rouge_score: 2,000 pairs each by itself and in corpora, hostile ones among them, to the
last printed digit and, where no float32 is in between, to the last bit.

Two faults of the references are stepped around: sacrebleu's interval of chrF fails where some resamples score 0 and others do
not (statistics.mean refuses to mix float and float32), and rouge_score's tables do not fit memory for two long texts.
"""
import json
import logging
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile

import sacrebleu
from rouge_score import rouge_scorer

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/fixtures/make"))
import text_pairs  # noqa: E402

exact_mean = statistics.mean
statistics.mean = lambda values: exact_mean([float(value) for value in values])

WEFT = os.environ.get("WEFT_BINARY", ROOT / "build/release/bin/weft")
KINDS = ("rouge1", "rouge2", "rougeL", "rougeLsum")
MEGABYTE = "the loom weaves, " * 62_000
BLEU = (({}, ()), ({"tokenize": "none"}, ("--words", "none")), ({"tokenize": "char"}, ("--words", "char")), ({"tokenize": "zh"}, ("--words", "zh")),
        ({"tokenize": "intl"}, ("--words", "intl")), ({"lowercase": True}, ("--lowercase",)), ({"smooth_method": "floor"}, ("--smoothing", "floor")),
        ({"smooth_method": "add-k", "smooth_value": 2}, ("--smoothing", "add-k", "--smoothing-value", "2")))
CHRF = (({}, ()), ({"word_order": 2}, ("--word-order", "2")), ({"lowercase": True, "word_order": 2}, ("--lowercase", "--word-order", "2")),
        ({"whitespace": True}, ("--whitespace",)), ({"eps_smoothing": True, "word_order": 2}, ("--epsilon-smoothing", "--word-order", "2")))


def write(folder, columns):
    """Files of JSON lines, in which a text may hold anything."""
    paths = []
    for index, column in enumerate(columns):
        paths.append(folder / f"{index}.jsonl")
        paths[-1].write_text("".join(json.dumps({"text": text}) + "\n" for text in column), encoding="utf-8")
    return paths


def weft(metric, paths, *flags):
    process = subprocess.run([WEFT, "score", metric, *paths, *flags], capture_output=True, text=True, check=False)
    if process.returncode != 0:
        raise SystemExit(f"weft score {metric} {flags}: {process.stderr}")
    return process.stdout


def lines(metric, paths, *flags):
    return [json.loads(line) for line in weft(metric, paths, *flags, "--json").splitlines()]


def columns_of(pairs):
    return [[one for one, _ in pairs], *map(list, zip(*(many for _, many in pairs)))]


def sentences(name, make, cases, pairs, folder):
    """How many pairs differ, each by itself."""
    paths = write(folder, columns_of(pairs))
    differ = 0
    for options, flags in cases:
        if name == "bleu":
            options = {**options, "effective_order": True}
        metric = make(**options)
        for found, (hypothesis, references) in zip(lines(name, paths, "--sentence-level", *flags), pairs, strict=True):
            score = metric.sentence_score(hypothesis.rstrip(), [reference.rstrip() for reference in references])
            same = found["score"] == score.score and found["signature"] == str(metric.get_signature())
            if name == "bleu":
                same = same and found["verbose_score"] == score._verbose
            if not same:
                differ += 1
                print(f"{name} {flags}: {found}, expected {score.score} {metric.get_signature()}: {hypothesis[:200]!r} {[one[:200] for one in references]!r}")
    return differ


def corpora(name, make, cases, generator, folder):
    differ = 0
    for options, flags in cases:
        for count, references, longest in ((1, 1, 9), (60, 1, 24), (40, 3, 24), (200, 2, 9)):
            pairs = [text_pairs.pair(generator, references, longest) for _ in range(count)]
            pairs = [(one.rstrip(), [many.rstrip() for many in all_of]) for one, all_of in pairs]
            paths = write(folder, columns_of(pairs))
            hypotheses, *references_of = columns_of(pairs)
            metric = make(**options)
            score = metric.corpus_score(hypotheses, references_of, n_bootstrap=300)
            expected = score.format(signature=str(metric.get_signature()))
            if (found := weft(name, paths, *flags, "--confidence", "--samples", "300").rstrip("\n")) != expected:
                differ += 1
                print(f"{name} {flags} {count}: {found}\n    expected {expected}")
    return differ


def summaries(generator, folder, count):
    differ = 0
    for stemmer in (True, False):
        scorer = rouge_scorer.RougeScorer(KINDS, use_stemmer=stemmer)
        for references in (1, 3):
            pairs = [text_pairs.summary_pair(generator, references) for _ in range(count)]
            pairs += [(MEGABYTE, ["the weaver weaves\nthe loom"] * references), ("", [""] * references), ("\n\n", ["the"] * references)]
            flags = () if stemmer else ("--no-stemmer",)
            for found, (summary, own) in zip(lines("rouge", write(folder, columns_of(pairs)), "--sentence-level", *flags), pairs, strict=True):
                score = scorer.score_multi(own, summary)
                if any(tuple(found[kind].values()) != tuple(map(float, score[kind])) for kind in KINDS):
                    differ += 1
                    print(f"rouge {flags}: {found}, expected {score}: {summary[:200]!r}")
    return differ


def main():
    logging.disable()
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else random.SystemRandom().randrange(2**32)
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 2000
    print(f"seed {seed}")
    generator = random.Random(seed)
    pairs = [text_pairs.pair(generator) for _ in range(count)]
    pairs += [(MEGABYTE, [MEGABYTE.replace("loom", "reed")]), ("", [""]), ("", ["a"]), ("a", [""]), ("é" * 10_000, ["é" * 9_999 + "e"])]
    several = [text_pairs.pair(generator, 3) for _ in range(count // 4)]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        failures = 0
        for metric, make, cases in (("bleu", lambda **options: sacrebleu.BLEU(force=True, **options), BLEU), ("chrf", sacrebleu.CHRF, CHRF)):
            for some, all_cases in ((pairs, cases), (several, cases[:2])):
                differ = sentences(metric, make, all_cases, some, folder)
                print(f"{metric}: {len(some)} pairs in {len(all_cases)} ways, {differ} differ")
                failures += differ
            differ = corpora(metric, make, cases, generator, folder)
            print(f"{metric}: {4 * len(cases)} corpora with intervals, {differ} differ")
            failures += differ
        differ = summaries(generator, folder, count // 4)
        print(f"rouge: {count + 12} pairs, {differ} differ")
        failures += differ
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
