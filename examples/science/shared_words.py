# SPDX-License-Identifier: Apache-2.0
"""Marks in front of the words of a text that a question has, too: DrQA's exact match (Chen et al. 2017, 3.2) as a token that a model reads. A small model
with random weights does not learn from some thousand questions which words are the same, and reads nothing without it.
"""
import bisect
import re

SIGN, OTHER = "^", "-"  # the sign is punctuation to SQuAD's program, which so drops it; where a text has it, it becomes the other
MARK = SIGN + " "
STEM = 6  # letters by which two words are the same
COMMON = frozenset("""a about after all also an and any are as at be been before between both but by can could did do does during each for from had has have he
    her his how if in into is it its many may more most much no nor not of on or other our over shall she should so some such than that the their them then
    there these they this those to under until was we were what when where which while who whom whose why will with would you""".split())


def words_with_places(text):
    """[(begin, word)], with what a hyphen or an apostrophe joins as one."""
    return [(found.start(), found.group()) for found in re.finditer(r"\w[\w'’-]*", text)]


def stem(word):
    """What two words have in common that are the same but for their endings."""
    return re.split("['’]", word.lower())[0].removesuffix("s")[:STEM]


class Marked:
    """`text` with a mark before each word that `question` has, common words left out."""

    def __init__(self, question, text):
        text = text.replace(SIGN, OTHER)
        asked = {stem(word) for _, word in words_with_places(question) if word.lower() not in COMMON}
        self._begins = [begin for begin, word in words_with_places(text) if stem(word) in asked]
        cuts = [0, *self._begins, len(text)]
        self.text = MARK.join(text[begin:end] for begin, end in zip(cuts, cuts[1:]))

    def answer(self, begin, text):
        """An answer of the text as SQuAD has it, where it stands now: a mark in front of it is not its own."""
        end = begin + len(text)
        first = begin + len(MARK) * bisect.bisect_right(self._begins, begin)
        last = end + len(MARK) * bisect.bisect_left(self._begins, end)
        return {"text": self.text[first:last], "answer_start": first}


def unmarked(text):
    """What is left of a text, or of a part of one, without marks."""
    return text.replace(MARK, "").replace(SIGN, "").strip()
