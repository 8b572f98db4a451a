# SPDX-License-Identifier: Apache-2.0
"""Questions of SQuAD 2.0 and COVID-QA that have an answer, each with a stretch of its article that is as long as a reader is to read at once. Words of a
stretch that the question has, too, have a mark (shared_words.py), which SQuAD's program drops from what is compared.

Every fourth article is scored and never learned from. Where in a stretch the answer stands is drawn, so that no place is likelier than another.
"""
import collections
import json
import random
import re
import statistics
import string

from cloze import clozes
from lines import text_lines
from shared_words import Marked

NEEDS = ["squad2/dev-v2.0.json", "covidqa/covidqa_fixed.json"]
HELD_OUT = 4
SCORED = 300  # held-out questions, the same for every row and seed
LETTERS = 3.4  # of a token: rather too few, so that a stretch and its question fit
QUESTION = 32  # tokens that are left for a question
SHORTEST = 400  # letters of a stretch where lengths differ

Asked = collections.namedtuple("Asked", "id question article answers")  # answers: [(place in the article, text)]


def articles(path):
    """[(text, [(id, question, answers)])]: SQuAD's paragraphs are put together again, COVID-QA has one an article."""
    for article in json.loads(path.read_text(encoding="utf-8"))["data"]:
        text, rows = "", []
        for paragraph in article["paragraphs"]:
            text += "\n\n" if text else ""
            begin = len(text)
            text += paragraph["context"]
            for row in paragraph["qas"]:
                places = dict.fromkeys((begin + answer["answer_start"], answer["text"]) for answer in row["answers"])
                rows.append((str(row["id"]), row["question"], [(place, answer) for place, answer in places if answer and text.startswith(answer, place)]))
        yield text, rows


def collection(data):
    """(learned, scored): what has an answer that stands where it is said to stand."""
    learned, scored = [], []
    for number, (text, rows) in enumerate(article for path in NEEDS for article in articles(data / path)):
        side = scored if number % HELD_OUT == 0 else learned
        side.extend(Asked(name, question, text, answers) for name, question, answers in rows if answers)
    return learned, random.Random("scored").sample(scored, min(SCORED, len(scored)))


def stretch(asked, letters, draw):
    """(begin, text): at most so many letters of the article, or as many as the first answer has, of whole words."""
    text, (place, answer) = asked.article, asked.answers[0]
    last = place + len(answer)
    if len(answer) >= letters:
        return place, answer
    begin = draw.randint(max(0, last - letters), max(0, min(place, len(text) - letters)))
    if begin:
        blank = text.find(" ", begin - 1, place)
        begin = place if blank < 0 else blank + 1
    end = begin + letters
    return begin, text[begin:] if end >= len(text) else text[begin:max(text.rfind(" ", last, end + 1), last)]


def letters_of(tokens):
    return int(LETTERS * (tokens - QUESTION))


def documents(asked, letters, draw):
    """[(asked, its stretch, the answers in it as SQuAD has them)]. `letters()`: how long the next stretch may be."""
    for each in asked:
        begin, text = stretch(each, letters(), draw)
        end = begin + len(text)
        inside = [{"text": answer, "answer_start": place - begin} for place, answer in each.answers if begin <= place and place + len(answer) <= end]
        yield each, text, inside


def squad_json(rows):
    """[(name, question, text, answers as SQuAD has them)]"""
    paragraphs = []
    for name, question, text, answers in rows:
        marked = Marked(question, text)
        moved = [marked.answer(answer["answer_start"], answer["text"]) for answer in answers]
        paragraphs.append({"context": marked.text, "qas": [{"id": name, "question": question, "answers": moved}]})
    return json.dumps({"version": "1.1", "data": [{"title": "stretches", "paragraphs": paragraphs}]}, ensure_ascii=False)


def clozes_json(passages, count, seed):
    """So many questions that are made of sentences of the passages, {name: text}, each over its passage."""
    return squad_json((str(number), one.question, passages[one.passage], [{"text": one.answer, "answer_start": one.begin}])
                      for number, one in enumerate(clozes(passages, count, seed)))


def stretches_json(rows):
    return squad_json((each.id, each.question, text, answers) for each, text, answers in rows)


def scored_rows(data, tokens):
    """The questions that every row of so many tokens is asked."""
    return documents(collection(data)[1], lambda: letters_of(tokens), random.Random(f"scored {tokens}"))


def scored_file(world, tokens):
    return world.written(world.folder / "data" / f"scored-{tokens}.json", lambda: stretches_json(scored_rows(world.data, tokens)))


def learned_file(world, tokens, seed, mixed=False, questions=None):
    """`mixed`: stretches of all lengths up to so many tokens, from which a reader learns in fewer seconds. `questions`: how many are drawn."""
    def drawn():
        draw, most = random.Random(f"{tokens} {seed}"), letters_of(tokens)
        letters = (lambda: draw.randint(SHORTEST, most)) if mixed else (lambda: most)
        learned = collection(world.data)[0]
        return stretches_json(documents(draw.sample(learned, min(questions or len(learned), len(learned))), letters, draw))
    return world.written(world.folder / "data" / f"{'mixed' if mixed else 'learned'}-{tokens}-{seed}.json", drawn)


def cloze_file(world, tokens, count, seed):
    """Questions that are made of sentences, each over a stretch of up to so many tokens of an article that is learned from."""
    def drawn():
        draw, most = random.Random(f"clozes {tokens} {seed}"), letters_of(tokens)
        sources, stretches = list(dict.fromkeys(each.article for each in collection(world.data)[0])), {}
        for number in range(count):
            text, letters = draw.choice(sources), draw.randint(SHORTEST, most)
            begin = draw.randint(0, max(0, len(text) - letters))
            stretches[number] = text[begin:begin + letters]
        return clozes_json(stretches, count, seed)
    return world.written(world.folder / "data" / f"clozes-{tokens}-{seed}.json", drawn)


def learned_text(world):
    """The articles and questions that are learned from, a line each."""
    def texts():
        learned = collection(world.data)[0]
        return [*dict.fromkeys(each.article for each in learned), *(each.question for each in learned)]
    return world.written(world.folder / "data" / "articles.txt", lambda: text_lines(texts()))


def vocabulary(world):
    """A tokeniser of the articles that are learned from."""
    return world.made(world.folder / "tokenizer", "tokenizer", "train", learned_text(world), "--vocabulary-size", 8192)


def words_of(text):
    return re.findall(r"\w+", text.lower())


def nearest_sentence(question, text):
    """The sentence that shares most words with the question, the first of several."""
    asked = set(words_of(question))
    return max(re.split(r"(?<=[.!?])\s+|\n+", text), key=lambda sentence: len(asked & set(words_of(sentence))))


def normalised(text):
    """The words that SQuAD's program compares."""
    kept = "".join(letter for letter in text.lower() if letter not in string.punctuation)
    return re.sub(r"\b(a|an|the)\b", " ", kept).split()


def compared(answer, truth):
    """(exact, F1) of two texts, as SQuAD's program has them."""
    found, wanted = normalised(answer), normalised(truth)
    common = sum((collections.Counter(found) & collections.Counter(wanted)).values())
    if not found or not wanted or not common:
        return float(found == wanted), float(found == wanted)
    precision, recall = common / len(found), common / len(wanted)
    return float(found == wanted), 2 * precision * recall / (precision + recall)


def figures_of_sentences(data, tokens):
    """What the sentence with most words of the question scores."""
    best = []
    for each, text, answers in scored_rows(data, tokens):
        found = [compared(nearest_sentence(each.question, text), answer["text"]) for answer in answers]
        best.append((max(exact for exact, _ in found), max(f1 for _, f1 in found)))
    exact, f1 = (100 * statistics.fmean(values) for values in zip(*best, strict=True))
    return {"f1": f1, "exact": exact}
