# SPDX-License-Identifier: Apache-2.0
"""Claims of SciFact over its 5,183 abstracts: which sentences speak to a claim, and what they say of it, by how many of the abstracts that words find
are read at once.

An abstract is a paragraph of HotpotQA's task, a sentence that was marked is a supporting fact, and the answer is "yes" (SUPPORT), "no" (CONTRADICT)
or none, so that one row holds all abstracts with their sentences' marks. A reader learns on 1 to 5 abstracts that the search finds, with the marked
one among them or not. The control has equal cost: the best abstract beside any others. The ceiling are the abstracts that people marked (for claims
without evidence those that they cite); the floor takes every sentence of the best abstract and the commonest label.
"""
import collections
import json
import random

from reading import Words, beside_best, small_reader

CLAIM = "Reading more of the abstracts that were found finds more of the sentences that speak to a claim, until what is wrong outweighs it."
FIGURE, BETTER = "sentence_f1", "larger"
NEEDS = ["retrieval/scifact/corpus.jsonl", "retrieval/scifact/claims_train.jsonl", "retrieval/scifact/claims_dev.jsonl"]
ABSTRACTS, MOST_LEARNED = (1, 5, 20), 5
CONTEXT, EPOCHS = 12288, 10  # 20 abstracts are about 7,000 tokens, the longest set fewer than 12,000
LABELS = {"SUPPORT": "yes", "CONTRADICT": "no"}

Claim = collections.namedtuple("Claim", "id question evidence cited label")  # evidence: {abstract: [sentence, ...]}
Passage = collections.namedtuple("Passage", "title sentences")


def cells():
    return [{"read": "every sentence", "abstracts": 1}, {"read": "gold", "abstracts": 1}, *({"read": "found", "abstracts": count} for count in ABSTRACTS),
            *({"read": "best and any", "abstracts": count} for count in ABSTRACTS[1:])]


def fixed(cell):
    return cell["read"] == "every sentence"


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
                     "context": [[abstracts[name].title, abstracts[name].sentences] for name in read]})
    return json.dumps(rows)


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


def reader(world, abstracts, words, learned, seed):
    """A small encoder that learned to find sentences, once for each seed."""
    model = small_reader(world, [*texts_of(abstracts).values(), *(claim.question for claim in learned)], CONTEXT, seed, "--attention-window", 256)
    data = world.written(world.folder / f"train-{seed}.json", lambda: training_data(abstracts, words, learned, seed))
    run = world.folder / f"run-{seed}"
    world.trained(run, "--task", "hotpotqa", "--model", model, "--train-data", data, "--batch-tokens", 16384, "--epochs", EPOCHS, "--learning-rate", 1e-3,
                  "--seed", seed)
    return run


def found(words, claim, count):
    """The best abstracts; any one where no word of the claim is in an abstract."""
    return words.best(claim.question, count) or words.names[:1]


def names_of(cell, claims, words, seed):
    generator, count = random.Random(seed), cell["abstracts"]
    if cell["read"] == "gold":
        return [list(claim.evidence) or claim.cited for claim in claims]
    if cell["read"] == "best and any":
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
        said = [(label, {(abstracts[name].title, number) for name in read for number in range(len(abstracts[name].sentences))}) for read in names]
    else:
        said = list(predictions(world, reader(world, abstracts, words, learned, seed), abstracts, scored, names))
    return figures(abstracts, scored, names, said)


def figures(abstracts, scored, names, said):
    """Over all claims: F1 of sentences in percent, how many labels are right, and which share of the marked abstracts was read."""
    right = predicted = marked = labels = seen = evidence = 0
    for claim, read, (label, facts) in zip(scored, names, said, strict=True):
        truth = {(abstracts[name].title, sentence) for name, sentences in claim.evidence.items() for sentence in sentences}
        right, predicted, marked = right + len(truth & facts), predicted + len(facts), marked + len(truth)
        labels += label == claim.label
        seen, evidence = seen + len(set(read) & set(claim.evidence)), evidence + len(claim.evidence)
    return {"sentence_f1": 200 * right / (predicted + marked), "label": 100 * labels / len(scored), "found": 100 * seen / evidence, "claims": len(scored)}
