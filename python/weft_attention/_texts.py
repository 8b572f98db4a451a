# SPDX-License-Identifier: Apache-2.0
"""What people give as texts: a str, or whatever has several, such as a list, a generator or a column of pandas."""
from collections.abc import Iterable, Mapping

from ._errors import ArgumentError


def text_of(task, what, text):
    """A str that is Unicode; `what` names it in errors."""
    if not isinstance(text, str):
        decode = ": decode them" if isinstance(text, bytes) else ""
        raise TypeError(f"{task}: {what} is a {type(text).__name__}; expected a str{decode}")
    try:
        text.isascii() or text.encode()
    except UnicodeEncodeError as error:
        raise ArgumentError(
            f"{task}: {what} has half of a surrogate pair at character {error.start}, which is no text",
            "read the file with errors='replace'",
        ) from None
    return text


def list_of(task, texts):
    """The list of what was given for several texts. A dict would be its keys, and bytes are numbers: both are mistakes."""
    if not isinstance(texts, Iterable) or isinstance(texts, (Mapping, bytes, bytearray)):
        raise TypeError(f"{task}: expected a str or a list of str, found {type(texts).__name__}")
    return list(texts)


def texts_of(task, texts):
    """A list of str that are Unicode."""
    texts = [texts] if isinstance(texts, str) else list_of(task, texts)
    return [text_of(task, f"text {number}", text) for number, text in enumerate(texts, start=1)]


def pairs_of(task, pairs):
    """(first texts, second texts, whether it was one pair)"""
    single = isinstance(pairs, tuple) and len(pairs) == 2 and isinstance(pairs[0], str)
    pairs = [pairs] if single else list_of(task, pairs)
    for number, pair in enumerate(pairs, start=1):
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise ArgumentError(f"{task}: pair {number} is {pair!r:.80}; expected a tuple of two str")
    return texts_of(task, [pair[0] for pair in pairs]), texts_of(task, [pair[1] for pair in pairs]), single
