# SPDX-License-Identifier: Apache-2.0
"""Claims of SciFact over its 5,183 abstracts: which sentences speak to a claim, and what they say of it, by how many of the abstracts that words find
are read at once.

An abstract is a paragraph of HotpotQA's task, a sentence that was marked is a supporting fact, and the answer is "yes" (SUPPORT), "no" (CONTRADICT)
or none, so that one row holds all abstracts with the sentences that people marked. A reader sees a sign in front of the words that the claim has, too
(shared_words.py). It learns first on claims that are the rest of a sentence (cloze.py), which is the fact, and then on 1 to 5 abstracts that the search
finds, with a marked one among them or not. The control has equal cost: the best abstract beside any others. The ceiling are the abstracts that people
marked (for claims without evidence those that they cite). Floors take every sentence of the best abstract, or the sentence of as many found abstracts
that shares most words with the claim, the first of several, and the commonest label.
"""
import collections
import json
import random

from cloze import clozes
from long_answers import words_of
from reading import Words, beside_best, small_reader
from shared_words import Marked

CLAIM = "Reading more of the abstracts that were found finds more of the sentences that speak to a claim, until what is wrong outweighs it."
FIGURE, BETTER = "sentence_f1", "larger"
NEEDS = ["retrieval/scifact/corpus.jsonl", "retrieval/scifact/claims_train.jsonl", "retrieval/scifact/claims_dev.jsonl"]
ABSTRACTS, MOST_LEARNED = (1, 5, 20), 5
CONTEXT, EPOCHS = 16384, 6  # 20 abstracts are about 8,000 tokens with signs
CLOZES, MOST_OTHERS = 12000, 2  # claims that are made, and how many abstracts stand beside the one that each is of
EVERY, SENTENCE, GOLD, FOUND, CONTROL = "every sentence", "sentence of most words", "gold", "found", "best and any"
LABELS = {"SUPPORT": "yes", "CONTRADICT": "no"}

Claim = collections.namedtuple("Claim", "id question evidence cited label")  # evidence: {abstract: [sentence, ...]}
Passage = collections.namedtuple("Passage", "title sentences")


def cells():
    return [{"read": EVERY, "abstracts": 1}, *({"read": SENTENCE, "abstracts": count} for count in ABSTRACTS), {"read": GOLD, "abstracts": 1},
            *({"read": FOUND, "abstracts": count} for count in ABSTRACTS), *({"read": CONTROL, "abstracts": count} for count in ABSTRACTS[1:])]


def fixed(cell):
    return cell["read"] in {EVERY, SENTENCE}


def records(world, path):
    return [json.loads(line) for line in (world.data / path).read_text(encoding="utf-8").splitlines() if line]


def collection(world):
    """All abstracts by id, each under a title of its own, and the claims that are learned and those that are scored."""
    abstracts, titles = {}, set()
    for one in records(world, NEEDS[0]):
        title = one["title"] if one["title"] not in titles else f"{one['title']} {one['_id']}"
        titles.add(title)
        abstracts[one["_id"]] = Passage(title, one["sentences"])
    return abstracts, *([claim_of(one) for one in records(world, path)] for path in NEEDS[1:])


def claim_of(one):
    evidence, labels = {}, [part["label"] for part in one["evidence"]]
    for part in one["evidence"]:
        evidence[part["doc_id"]] = sorted({*evidence.get(part["doc_id"], []), *part["sentences"]})
    return Claim(one["_id"], one["claim"], evidence, one["cited_doc_ids"], LABELS[max(labels, key=labels.count)] if labels else "noanswer")


def questions_of(abstracts, claims, names):
    """HotpotQA's JSON; what was not read supports nothing, and a claim without evidence has no answer."""
    rows = []
    for claim, read in zip(claims, names, strict=True):
        facts = [[abstracts[name].title, sentence] for name in read for sentence in claim.evidence.get(name, [])]
        rows.append({"_id": claim.id, "question": claim.question, "answer": claim.label if facts else "noanswer", "supporting_facts": facts,
                     "context": [[abstracts[name].title, signed(claim.question, abstracts[name].sentences)] for name in read]})
    return json.dumps(rows)


def signed(claim, sentences):
    return [Marked(claim, sentence).text for sentence in sentences]


def texts_of(abstracts):
    return {name: f"{one.title} {' '.join(one.sentences)}" for name, one in abstracts.items()}


def training_data(abstracts, words, learned, seed):
    """What the search finds for each claim, 1 to MOST_LEARNED abstracts in any order."""
    generator, names = random.Random(seed), []
    for claim in learned:
        read = found(words, claim, generator.randint(1, MOST_LEARNED))
        generator.shuffle(read)
        names.append(read)
    return questions_of(abstracts, learned, names)


def made_data(abstracts, seed):
    """Claims that are what is left of a sentence, which is the fact, in any of a few abstracts."""
    generator, names = random.Random(seed), list(abstracts)
    texts = {f"{name} {number}": sentence for name, one in abstracts.items() for number, sentence in enumerate(one.sentences)}
    claims, read = [], []
    for place, made in enumerate(clozes(texts, CLOZES, seed)):
        name, _, number = made.passage.rpartition(" ")
        claims.append(Claim(f"made-{place}", made.question, {name: [int(number)]}, [name], "yes"))
        read.append(list(dict.fromkeys([name, *generator.sample(names, generator.randint(0, MOST_OTHERS))])))
        generator.shuffle(read[-1])
    return questions_of(abstracts, claims, read)


def reader(world, abstracts, words, learned, seed):
    """A small encoder that learned to find sentences, once for each seed."""
    texts = [*texts_of(abstracts).values(), *(claim.question for claim in learned)]
    signs = [sentence for claim in learned for name in claim.cited for sentence in signed(claim.question, abstracts[name].sentences)]
    model = small_reader(world, [*texts, *signs], CONTEXT, seed)
    flags = ("--task", "hotpotqa", "--batch-tokens", 16384, "--learning-rate", 1e-3, "--seed", seed)
    made = world.written(world.folder / f"made-{seed}.json", lambda: made_data(abstracts, seed))
    first, run = world.folder / f"made-{seed}", world.folder / f"run-{seed}"
    world.trained(first, "--model", model, "--train-data", made, "--epochs", 1, *flags)
    data = world.written(world.folder / f"train-{seed}.json", lambda: training_data(abstracts, words, learned, seed))
    world.trained(run, "--model", first, "--train-data", data, "--epochs", EPOCHS, *flags)
    return run


def found(words, claim, count):
    """The best abstracts; any one where no word of the claim is in an abstract."""
    return words.best(claim.question, count) or words.names[:1]


def names_of(cell, claims, words, seed):
    generator, count = random.Random(seed), cell["abstracts"]
    if cell["read"] == GOLD:
        return [list(claim.evidence) or claim.cited for claim in claims]
    if cell["read"] == CONTROL:
        return [beside_best(words, claim, count, generator) for claim in claims]
    return [found(words, claim, count) for claim in claims]


def predictions(world, run, abstracts, claims, names):
    """(label, {(title, sentence)}) of each claim."""
    data, lines = world.scratch / "read.json", world.scratch / "predictions.jsonl"
    world.write(data, questions_of(abstracts, claims, names))
    world.weft("eval", run, "--data", data, "--predictions", lines)
    for line in map(json.loads, lines.read_text(encoding="utf-8").splitlines()):
        yield line["type"] if line["type"] in LABELS.values() else "noanswer", {tuple(fact) for fact in line["sp"]}


def run(cell, seed, world):
    abstracts, learned, scored = collection(world)
    words = Words(texts_of(abstracts))
    names = names_of(cell, scored, words, seed)
    if fixed(cell):
        label = collections.Counter(claim.label for claim in learned).most_common(1)[0][0]
        said = [(label, facts_of_floor(cell["read"], claim, [abstracts[name] for name in read])) for claim, read in zip(scored, names, strict=True)]
    else:
        said = list(predictions(world, reader(world, abstracts, words, learned, seed), abstracts, scored, names))
    return figures(abstracts, scored, names, said)


def facts_of_floor(which, claim, read):
    facts = [(one.title, number, sentence) for one in read for number, sentence in enumerate(one.sentences)]
    if which == SENTENCE:
        asked = set(words_of(claim.question))
        facts = [max(facts, key=lambda fact: len(asked & set(words_of(fact[2]))))]
    return {(title, number) for title, number, _ in facts}


def figures(abstracts, scored, names, said):
    """Over all claims: F1 of sentences in percent, how many labels are right, and which share of the marked abstracts was read."""
    right = predicted = marked = labels = seen = evidence = 0
    for claim, read, (label, facts) in zip(scored, names, said, strict=True):
        truth = {(abstracts[name].title, sentence) for name, sentences in claim.evidence.items() for sentence in sentences}
        right, predicted, marked = right + len(truth & facts), predicted + len(facts), marked + len(truth)
        labels += label == claim.label
        seen, evidence = seen + len(set(read) & set(claim.evidence)), evidence + len(claim.evidence)
    return {"sentence_f1": 200 * right / (predicted + marked), "label": 100 * labels / len(scored), "found": 100 * seen / evidence, "claims": len(scored)}
