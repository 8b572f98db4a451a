# SPDX-License-Identifier: Apache-2.0
"""`weft score hotpotqa`, `triviaqa`, `nq`, `wikihop` and `sari` against the programs of their authors, to the last bit: 1,000 random predictions
each, hostile ones among them. With --write one file of each becomes a case of tests/fixtures/metrics/open_answers.json, which tests/metrics reads.

WEFT_OFFICIAL names a folder with hotpot_evaluate_v1.py, triviaqa (evaluation/ and utils/ of its repository), nq_eval.py with eval_utils.py, and
SARI.py; without it there is nothing to compare with, and the script says so. WikiHop has no program: its figure is defined here.
"""
import contextlib
import gzip
import io
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import types

ROOT = pathlib.Path(__file__).resolve().parents[2]
WEFT = os.environ.get("WEFT_BINARY", ROOT / "build/release/bin/weft")
WORDS = ("the", "a", "an", "The", "loom", "Loom", "weaver's", "yes", "no", "NOANSWER", "no answer", "3.5", "été", "ΑΣ'Α", "ΟΔΟΣ", "İ", "a-b", "_a_", "‘x’", "´", "`", "۳",
         "中文", "\u00a0", "\u2003", "\t", "don't", "U.S.A.", "the.", "", "²", "ⅷ", "!", "-", "an_the")


def stand_in_modules():
    """What the programs import and do not need for their figures."""
    flags = types.SimpleNamespace(FLAGS=types.SimpleNamespace(long_non_null_threshold=2, short_non_null_threshold=2), DEFINE_integer=lambda *_: None,
                                  DEFINE_string=lambda *_: None, DEFINE_bool=lambda *_: None)
    logging = types.SimpleNamespace(info=lambda *_: None)
    sys.modules.update({"absl": types.SimpleNamespace(flags=flags, logging=logging, app=None), "absl.flags": flags, "absl.logging": logging,
                        "six": types.SimpleNamespace(iteritems=lambda items: iter(items.items())), "ujson": json})


def phrase(generator, most=4):
    return " ".join(generator.choice(WORDS) for _ in range(generator.randint(0, most)))


def near(generator, text):
    """Often the truth, or nearly."""
    draw = generator.random()
    if draw < 0.3:
        return text
    return f"{text} {phrase(generator, 2)}" if draw < 0.5 else text.upper() if draw < 0.6 else phrase(generator)


def weft(metric, folder, *files, more=()):
    process = subprocess.run([WEFT, "score", metric, *(folder / name for name in files), *more, "--json"], capture_output=True, text=True, check=False)
    if process.returncode != 0:
        raise SystemExit(f"weft score {metric}: {process.stderr}")
    return json.loads(process.stdout)


def write(folder, **files):
    for name, content in files.items():
        (folder / f"{name}.json").write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")


def hotpot(generator, folder, count):
    import hotpot_evaluate_v1
    facts = [[title, sentence] for title in ("A", "B", "the", "é") for sentence in (-1, 0, 1, 7)]
    gold, answers, supports = [], {}, {}
    for number in range(count):
        gold.append({"_id": f"q{number}", "answer": phrase(generator), "supporting_facts": generator.choices(facts, k=generator.randint(0, 4))})
        if generator.random() < 0.9:
            answers[f"q{number}"] = near(generator, gold[-1]["answer"])
        if generator.random() < 0.9:
            supports[f"q{number}"] = gold[-1]["supporting_facts"] * 2 if generator.random() < 0.4 else generator.choices(facts, k=generator.randint(0, 5))
    answers["unasked"] = "x"
    write(folder, gold=gold, predictions={"answer": answers, "sp": supports})
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        hotpot_evaluate_v1.eval(folder / "predictions.json", folder / "gold.json")
    return eval(said.getvalue().splitlines()[-1]), weft("hotpotqa", folder, "predictions.json", "gold.json")  # a dict as Python prints it


def trivia(generator, folder, count):
    from evaluation import triviaqa_evaluation
    from utils import dataset_utils
    domain, verified = generator.choice(("Wikipedia", "Web")), generator.random() < 0.3
    data, predictions = [], {}
    for number in range(count):
        names = [phrase(generator) for _ in range(generator.randint(1, 3))]
        pages = [{"Filename": generator.choice("xyz") + ".txt", "DocPartOfVerifiedEval": page == 0 or generator.random() < 0.5} for page in range(generator.randint(1, 3))]
        answer = {"NormalizedAliases": names if generator.random() < 0.8 else [], "HumanAnswers": [phrase(generator), phrase(generator)], "Value": "x"}
        if answer["NormalizedAliases"] and generator.random() < 0.5:
            del answer["HumanAnswers"]
        data.append({"QuestionId": f"q{number}", "Question": "?", "Answer": answer, "EntityPages": pages[:1], "SearchResults": pages[1:],
                     "QuestionPartOfVerifiedEval": number == 0 or generator.random() < 0.7})
        for key in [f"q{number}"] + [f"q{number}--{page}.txt" for page in "xyz"]:
            if generator.random() < 0.9:
                predictions[key] = near(generator, generator.choice(names))
    write(folder, gold={"Data": data, "Domain": domain, "VerifiedEval": verified, "Version": 1.0}, predictions=predictions)
    truth = dataset_utils.get_key_to_ground_truth(dataset_utils.read_triviaqa_data(folder / "gold.json"))
    official = triviaqa_evaluation.evaluate_triviaqa(truth, predictions, mute=True)
    return {name: official[name] for name in ("exact_match", "f1", "common", "denominator")}, weft("triviaqa", folder, "predictions.json", "gold.json")


def span(generator, none=0.3):
    bytes_of, tokens = generator.choice(((10, 20), (10, 30), (-1, -1), (40, 50))), generator.choice(((1, 2), (1, 3), (-1, -1), (4, 5)))
    if generator.random() < none:
        bytes_of = tokens = (-1, -1)
    return {"start_byte": bytes_of[0], "end_byte": bytes_of[1], "start_token": tokens[0], "end_token": tokens[1]}


def natural_questions(generator, folder, count):
    import eval_utils
    import nq_eval
    gold, predictions = [], []
    for number in range(count):
        annotations = [{"long_answer": span(generator), "short_answers": [span(generator, 0.1) for _ in range(generator.randint(0, 2))],
                        "yes_no_answer": generator.choice(("NONE", "NONE", "YES", "NO"))} for _ in range(5)]
        gold.append({"example_id": number - 3, "annotations": annotations})
        copied = generator.choice(annotations)
        yes_no = generator.choice(("NONE", "none", "YES", "no"))
        shorts = copied["short_answers"][::-1] * generator.randint(1, 2) if generator.random() < 0.6 else [span(generator)]
        predictions.append({"example_id": number - 3, "long_answer": generator.choice((copied["long_answer"], span(generator))),
                            "long_answer_score": generator.choice((0, 1, -1.5, 2.25, generator.gauss(0, 3))), "yes_no_answer": yes_no,
                            "short_answers": shorts if yes_no.lower() == "none" else [], "short_answers_score": generator.choice((0, 7, generator.gauss(0, 3)))})
        for name in ("long_answer", "short_answers", "yes_no_answer"):
            if generator.random() < 0.05:
                del predictions[-1][name]
    generator.shuffle(predictions)
    (folder / "gold.jsonl.gz").write_bytes(gzip.compress("".join(json.dumps(one) + "\n" for one in gold).encode()))
    write(folder, predictions={"predictions": predictions})
    stats = nq_eval.score_answers(eval_utils.read_annotation_from_one_split(str(folder / "gold.jsonl.gz")), eval_utils.read_prediction_json(folder / "predictions.json"))
    expected = dict(nq_eval.get_metrics_with_answer_stats(*stats))
    for name, value in nq_eval.compute_final_f1(*stats).items():
        kind, figure = name.split("-answer-")
        expected |= {} if figure == "n" else {f"{kind}-all-{figure}": value}
    return expected, weft("nq", folder, "predictions.json", "gold.jsonl.gz")


def wikihop(generator, folder, count):
    gold, predictions = [], {}
    for number in range(count):
        candidates = [phrase(generator) for _ in range(generator.randint(1, 5))]
        gold.append({"id": f"q{number}", "answer": generator.choice(candidates), "candidates": candidates})
        if generator.random() < 0.9:
            predictions[f"q{number}"] = generator.choice([*candidates, phrase(generator)])
    write(folder, gold=gold, predictions=predictions)
    right = sum(predictions.get(one["id"]) == one["answer"] for one in gold)
    return {"accuracy": right / count}, weft("wikihop", folder, "predictions.json", "gold.json")


def sari(generator, folder, count):
    import SARI
    references = generator.randint(1, 8)
    rows = []
    for _ in range(count):
        source = phrase(generator, 12)
        rows.append([near(generator, source) for _ in range(references + 1)] + [source])
    columns = [[" ".join(text.splitlines()).strip() for text in column] for column in zip(*rows, strict=True)]
    for number, column in enumerate(columns):
        (folder / f"{number}.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in column), encoding="utf-8")
    scores = [SARI.SARIsent(row[-1], row[0], list(row[1:-1])) for row in zip(*columns, strict=True)]
    found = weft("sari", folder, *(f"{number}.jsonl" for number in range(references + 1)), more=("--source", folder / f"{references + 1}.jsonl"))
    return {"score": 100 * (sum(scores) / len(scores))}, found


def write_cases(generator):
    """Small files and what the programs say of them."""
    cases = {}
    for compare in (hotpot, trivia, natural_questions, sari):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            expected, _ = compare(generator, folder, 8)
            texts = {path.name: (gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()).decode() for path in sorted(folder.iterdir())}
            cases[compare.__name__] = {"files": texts, "expected": expected}
    path = ROOT / "tests/fixtures/metrics/open_answers.json"
    path.write_text(json.dumps(cases, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def main():
    official = os.environ.get("WEFT_OFFICIAL")
    if not official:
        print("open answers: WEFT_OFFICIAL names no folder with the official programs; nothing is compared")
        return 0
    sys.path[:0] = [official]
    stand_in_modules()
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else random.SystemRandom().randrange(2**32)
    files, questions = 100, 10
    print(f"seed {seed}")
    generator = random.Random(seed)
    if "--write" in sys.argv:
        return write_cases(generator)
    failures = 0
    for compare in (hotpot, trivia, natural_questions, wikihop, sari):
        differ = 0
        for _ in range(files):
            with tempfile.TemporaryDirectory() as name:
                expected, found = compare(generator, pathlib.Path(name), questions)
            wrong = {key: (value, found.get(key)) for key, value in expected.items() if found.get(key) != value}
            if wrong:
                differ += 1
                print(f"{compare.__name__}: (expected, found) {wrong}")
        print(f"{compare.__name__}: {files * questions} predictions in {files} files, {differ} differ")
        failures += differ
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
