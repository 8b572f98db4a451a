# SPDX-License-Identifier: Apache-2.0
"""Questions that nobody wrote: what is left of a sentence without one of its names, numbers or phrases, which is the answer (cloze questions, as Lewis et al.
2019 learn from). Some words are left out, some change places, and a question word is added, so that no text has the question as it is.
"""
import collections
import random
import re

from shared_words import COMMON, words_with_places

SHORTEST, NEAR, MOST_WORDS = 6, 14, 4  # words of a sentence; words of it on each side of the answer; words of an answer
KEPT, MOVED = (0.4, 0.8), 3  # the share of words that stay; how many places a word moves

Cloze = collections.namedtuple("Cloze", "passage question begin answer")


def answer_in(words, draw):
    """(first, last) of the words that are asked for: mostly a name or a number, else some words."""
    named = [place for place, (_, word) in enumerate(words) if place and (word[0].isupper() or word[0].isdigit())]
    if named and draw.random() < 0.7:
        first = last = draw.choice(named)
        while last + 1 in named and words[first][1][0].isupper() and last - first + 1 < MOST_WORDS:
            last += 1
        return first, last
    content = [place for place, (_, word) in enumerate(words) if word.lower() not in COMMON]
    if not content:
        return None
    first = draw.choice(content)
    last = min(first + draw.randint(1, MOST_WORDS), len(words)) - 1
    while words[last][1].lower() in COMMON:
        last -= 1
    return first, last


def question_word(answer, draw):
    if answer[0].isdigit():
        return "when" if len(answer) == 4 else draw.choice(["how many", "what", "how much"])
    return draw.choice(["who", "what", "where", "which"] if answer[0].isupper() else ["what", "how", "why", "which"])


def question_of(words, first, last, draw):
    share = draw.uniform(*KEPT)
    near = [(place, word) for place, (_, word) in enumerate(words) if not first <= place <= last and first - NEAR < place < last + NEAR]
    kept = [word for _, word in sorted((place + draw.uniform(0, MOVED), word) for place, word in near if draw.random() < share)]
    kept.insert(draw.randint(0, len(kept)) if draw.random() < 0.3 else 0, question_word(words[first][1], draw))
    text = " ".join(kept)
    return text[0].upper() + text[1:] + "?"


def cloze_of(name, text, draw):
    """A question about a sentence of the passage `name`, or None where the sentence that is drawn has too few words."""
    sentences = [found.span() for found in re.finditer(r"[^.!?\n]+", text)]
    if not sentences:
        return None
    begin, end = draw.choice(sentences)
    words = [(begin + place, word) for place, word in words_with_places(text[begin:end])]
    places = answer_in(words, draw) if len(words) >= SHORTEST else None
    if places is None:
        return None
    first, last = places
    answer = text[words[first][0]:words[last][0] + len(words[last][1])]
    return Cloze(name, question_of(words, first, last, draw), words[first][0], answer)


def clozes(passages, count, seed):
    """So many questions about `passages`, {name: text}. Errors: ValueError where no sentence is long enough."""
    draw, names, made, tries = random.Random(seed), list(passages), [], 0
    while len(made) < count:
        tries += 1
        if tries > 1000 and not made:
            raise ValueError(f"none of {len(names)} passages has a sentence of {SHORTEST} words with one to ask for")
        name = draw.choice(names)
        one = cloze_of(name, passages[name], draw)
        if one:
            made.append(one)
    return made
