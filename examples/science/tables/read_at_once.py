# SPDX-License-Identifier: Apache-2.0
"""Questions of SQuAD 2.0 and COVID-QA over one collection of their passages: F1 by how many of the passages that words find are read at once.

A reader sees marks in front of the words that the question has, too (shared_words.py). It learns first on questions that are made of sentences (cloze.py),
then on the questions of other articles over what the search finds for them, from one passage to MOST_LEARNED in any order, of which one has the answer. It
reads by windows of attention, so that 20 passages fit, and its probabilities are over all of them together. The question is global since; it was not when
the committed lines were computed. The control has equal cost: the best passage beside as many others of the collection, whichever. The ceiling is the gold
passage alone. The floor is the sentence of as many found passages that shares most words with the question, the first of several. `found` is the share of
questions whose gold passage was among those that were read.
"""
import collections
import json
import random

from lines import json_lines
from long_answers import clozes_json, nearest_sentence, squad_json
from reading import Words, beside_best, small_reader
from shared_words import Marked, unmarked

CLAIM = "Reading more of the passages that were found answers more questions, until a reader loses more in what is wrong than it finds."
FIGURE, BETTER, NEEDS = "f1", "larger", ["squad2/dev-v2.0.json", "covidqa/covidqa_fixed.json"]
PASSAGES = (1, 2, 5, 10, 20)
CONTEXT, PASSAGE_LENGTH, HELD_OUT = 8192, 1000, 4  # a quarter of the articles is scored
CLOZES, CLOZE_BATCH, CLOZE_RATE = 48000, 32, 2e-3
MOST_LEARNED, EPOCHS, BATCH, RATE = 6, 2, 8, 1e-3
BETWEEN = "\n\n"  # passages
SENTENCE, GOLD, FOUND, CONTROL = "sentence of most words", "gold", "found", "best and any"


def cells():
    return [*({"read": SENTENCE, "passages": count} for count in PASSAGES), {"read": GOLD, "passages": 1},
            *({"read": FOUND, "passages": count} for count in PASSAGES), *({"read": CONTROL, "passages": count} for count in PASSAGES[1:])]


def fixed(cell):
    return cell["read"] == SENTENCE


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


def text_of(passages, names):
    return BETWEEN.join(passages[name] for name in names)


def cloze_data(passages, learned, seed):
    """Questions that are made of the passages of articles that are learned from."""
    own = {name: passages[name] for name in dict.fromkeys(asked.passage[0] for asked in learned)}
    return clozes_json(own, CLOZES, seed)


def training_data(passages, learned, seed):
    """What the search finds, in any order; a question whose gold passage is not there is left out, because none of its answers would be right."""
    generator, words, rows = random.Random(seed), Words(passages), []
    for asked in learned:
        found, (gold, place) = words.best(asked.question, generator.randint(1, MOST_LEARNED)), asked.passage
        generator.shuffle(found)
        if gold in found and passages[gold].startswith(asked.answers[0], place):
            begin = sum(len(passages[name]) + len(BETWEEN) for name in found[:found.index(gold)])
            answer = {"text": asked.answers[0], "answer_start": begin + place}
            rows.append((str(len(rows)), asked.question, text_of(passages, found), [answer]))
    return squad_json(rows)


def texts_of(passages, learned):
    """What the tokeniser learns from: the passages, and those with the answers once more with the marks of their questions."""
    yield from passages.values()
    for asked in learned:
        yield from (asked.question, Marked(asked.question, passages[asked.passage[0]]).text)


def reader(world, passages, learned, seed):
    """A small encoder that learned to answer, once for each seed."""
    model = small_reader(world, texts_of(passages, learned), CONTEXT, seed)
    first, run = world.folder / f"clozes-{seed}", world.folder / f"run-{seed}"
    made = world.written(world.folder / f"clozes-{seed}.json", lambda: cloze_data(passages, learned, seed))
    world.trained(first, "--task", "answer", "--model", model, "--train-data", made, "--format", "squad", "--max-length", 512, "--batch-size", CLOZE_BATCH,
                  "--epochs", 1, "--learning-rate", CLOZE_RATE, "--seed", seed)
    data = world.written(world.folder / f"train-{seed}.json", lambda: training_data(passages, learned, seed))
    world.trained(run, "--task", "answer", "--model", first, "--train-data", data, "--format", "squad", "--max-length", 2048, "--batch-size", BATCH,
                  "--epochs", EPOCHS, "--learning-rate", RATE, "--seed", seed)
    return run


def answers_of(world, run, passages, scored, names):
    """What the reader answers each question over the passages that are read."""
    records = world.scratch / "records.jsonl"
    texts = (Marked(asked.question, text_of(passages, read)).text for asked, read in zip(scored, names, strict=True))
    world.write(records, json_lines({"question": asked.question, "context": text} for asked, text in zip(scored, texts, strict=True)))
    lines = world.run("answer", run, "--file", records, "--question-field", "question", "--text-field", "context", "--json").splitlines()
    return [unmarked(json.loads(line)["result"]["answer"]) for line in lines]


def names_of(cell, words, scored, generator):
    """The passages that each question is read with."""
    if cell["read"] == GOLD:
        return [[asked.passage[0]] for asked in scored]
    if cell["read"] == CONTROL:
        return [beside_best(words, asked, cell["passages"], generator) for asked in scored]
    return [words.best(asked.question, cell["passages"]) or words.names[:1] for asked in scored]


def run(cell, seed, world):
    passages, learned, scored = collection(world)
    names = names_of(cell, Words(passages), scored, random.Random(seed))
    if fixed(cell):
        answers = [nearest_sentence(asked.question, text_of(passages, read)) for asked, read in zip(scored, names, strict=True)]
    else:
        answers = answers_of(world, reader(world, passages, learned, seed), passages, scored, names)
    found = sum(asked.passage[0] in read for asked, read in zip(scored, names, strict=True))
    return figures(world, scored, answers) | {"found": 100 * found / len(scored), "questions": len(scored)}


def figures(world, scored, answers):
    """F1 and exact match over all the answers that people gave, by TriviaQA's program."""
    gold, predictions = world.scratch / "gold.json", world.scratch / "predictions.json"
    data = [{"QuestionId": asked.id, "Answer": {"NormalizedAliases": asked.answers}} for asked in scored]
    world.write(gold, json.dumps({"Data": data, "Domain": "Wikipedia", "VerifiedEval": False}))
    world.write(predictions, json.dumps({asked.id: answer for asked, answer in zip(scored, answers, strict=True)}))
    score = world.weft("score", "triviaqa", predictions, gold)
    return {"f1": score["f1"], "exact": score["exact_match"]}
