# SPDX-License-Identifier: Apache-2.0
"""Questions of SQuAD 2.0 and COVID-QA over one collection of their passages: F1 by how many of the passages that words find are read at once.

A reader learns on what the search finds for questions of other articles, with the gold passage among them or not, because one that has seen gold
passages alone trusts every passage. It reads by windows of attention with the question global, so that 20 passages fit. The control has equal cost:
the best passage beside as many others of the collection, whichever. The ceiling is the gold passage alone, the floor a sentence of the best one.
`found` is the share of questions whose gold passage was among those that were read.
"""
import collections
import json
import random

from reading import Words, beside_best, small_reader
from lines import json_lines

CLAIM = "Reading more of the passages that were found answers more questions, until a reader loses more in what is wrong than it finds."
FIGURE, BETTER, NEEDS = "f1", "larger", ["squad2/dev-v2.0.json", "covidqa/covidqa_fixed.json"]
PASSAGES = (1, 2, 5, 10, 20)
CONTEXT, STEPS, PASSAGE_LENGTH, HELD_OUT = 4096, 1000, 1000, 4  # a quarter of the articles is scored


def cells():
    return [{"read": "first sentence", "passages": 1}, {"read": "gold", "passages": 1}, *({"read": "found", "passages": count} for count in PASSAGES),
            *({"read": "best and any", "passages": count} for count in PASSAGES[1:])]


def fixed(cell):
    return cell["read"] == "first sentence"


Asked = collections.namedtuple("Asked", "id question answers passage")


def pieces(context):
    """[(begin, text)] of at most PASSAGE_LENGTH letters, cut at blanks."""
    begin = 0
    while begin < len(context):
        end = min(begin + PASSAGE_LENGTH, len(context))
        end = max(context.rfind(" ", begin, end), begin + 1) if end < len(context) else end
        yield begin, context[begin:end]
        begin = end


def collection(world):
    """All passages by name, and the questions of the articles that are learned from and of those that are scored."""
    passages, learned, scored, number = {}, [], [], 0
    for path in NEEDS:
        for article in json.loads((world.data / path).read_text(encoding="utf-8"))["data"]:
            number += 1
            for paragraph in article["paragraphs"]:
                places = []
                for begin, text in pieces(paragraph["context"]):
                    places.append((begin, f"p{len(passages)}"))
                    passages[places[-1][1]] = text
                for each in paragraph["qas"]:
                    if each["answers"]:
                        start = each["answers"][0]["answer_start"]
                        begin, name = max(place for place in places if place[0] <= start)
                        answers = [answer["text"] for answer in each["answers"]]
                        (scored if number % HELD_OUT == 0 else learned).append(Asked(str(each["id"]), each["question"], answers, (name, start - begin)))
    return passages, learned, scored


def training_data(passages, learned, seed):
    """What the search finds, 1 to 8 passages in any order, as SQuAD's JSON."""
    generator, words, paragraphs = random.Random(seed), Words(passages), []
    for asked in learned:
        found = words.best(asked.question, generator.randint(1, 8)) or [asked.passage[0]]
        generator.shuffle(found)
        context, answers = "", []
        for name in found:
            context += "\n\n" if context else ""
            text, place = passages[name], asked.passage[1]
            if name == asked.passage[0] and text[place:place + len(asked.answers[0])] == asked.answers[0]:
                answers = [{"text": asked.answers[0], "answer_start": len(context) + place}]
            context += text
        paragraphs.append({"context": context, "qas": [{"id": asked.id, "question": asked.question, "answers": answers, "is_impossible": not answers}]})
    return json.dumps({"version": "2.0", "data": [{"title": "found", "paragraphs": paragraphs}]})


def reader(world, passages, learned, seed):
    """A small encoder that learned to answer, once for each seed."""
    model = small_reader(world, [*(text.replace("\n", " ") for text in passages.values()), *(asked.question for asked in learned)], CONTEXT, seed)
    data = world.written(world.folder / f"train-{seed}.json", lambda: training_data(passages, learned, seed))
    run = world.folder / f"run-{seed}"
    world.trained(run, "--task", "answer", "--model", model, "--train-data", data, "--format", "squad", "--max-length", 1024, "--batch-size", 8, "--steps",
                  STEPS, "--learning-rate", 1e-3, "--seed", seed)
    return run


def from_store(world, run, passages, scored, count):
    """(answer, names of what was read) of each question, by weft answer --retrieve."""
    store, corpus, questions = world.folder / "passages.weft", world.folder / "corpus.jsonl", world.scratch / "questions.jsonl"
    world.written(corpus, lambda: json_lines({"_id": name, "text": text} for name, text in passages.items()))
    with world.making(store) as is_missing:
        if is_missing:
            world.weft("index", store, corpus, "--stem", "english", "--passage-length", PASSAGE_LENGTH + 1)
    world.write(questions, json_lines({"question": asked.question} for asked in scored))
    lines = world.run("answer", run, "--retrieve", store, "--passages", count, "--by", "words", "--file", questions, "--question-field", "question", "--json")
    for line in map(json.loads, lines.splitlines()):
        yield line["result"]["answer"], {passage["id"] for passage in line["metadata"]["passages"]}


def from_documents(world, run, passages, scored, names):
    """The same for passages that are given by name."""
    records = world.scratch / "records.jsonl"
    rows = ({"question": asked.question, "context": "\n\n".join(passages[name] for name in read)} for asked, read in zip(scored, names, strict=True))
    world.write(records, json_lines(rows))
    lines = world.run("answer", run, "--file", records, "--question-field", "question", "--text-field", "context", "--json").splitlines()
    return [(json.loads(line)["result"]["answer"], set(read)) for line, read in zip(lines, names, strict=True)]


def run(cell, seed, world):
    passages, learned, scored = collection(world)
    words, generator = Words(passages), random.Random(seed)
    if cell["read"] == "first sentence":
        read = [set(words.best(asked.question, 1)) for asked in scored]
        results = [(" ".join(passages[name].split(". ")[0] for name in names), names) for names in read]
    else:
        trained = reader(world, passages, learned, seed)
        if cell["read"] == "found":
            results = list(from_store(world, trained, passages, scored, cell["passages"]))
        else:
            names = [[asked.passage[0]] if cell["read"] == "gold" else beside_best(words, asked, cell["passages"], generator) for asked in scored]
            results = from_documents(world, trained, passages, scored, names)
    found = sum(asked.passage[0] in names for asked, (_, names) in zip(scored, results, strict=True))
    return figures(world, scored, [answer for answer, _ in results]) | {"found": 100 * found / len(scored), "questions": len(scored)}


def figures(world, scored, answers):
    """F1 and exact match over all the answers that people gave, by TriviaQA's program."""
    gold, predictions = world.scratch / "gold.json", world.scratch / "predictions.json"
    data = [{"QuestionId": asked.id, "Answer": {"NormalizedAliases": asked.answers}} for asked in scored]
    world.write(gold, json.dumps({"Data": data, "Domain": "Wikipedia", "VerifiedEval": False}))
    world.write(predictions, json.dumps({asked.id: answer for asked, answer in zip(scored, answers, strict=True)}))
    score = world.weft("score", "triviaqa", predictions, gold)
    return {"f1": score["f1"], "exact": score["exact_match"]}
