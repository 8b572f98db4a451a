# SPDX-License-Identifier: Apache-2.0
"""The part of the demo with a model that is useful at once: a long text loses its capitals and marks, and `weft restore` writes them back.

The same weights with full attention in place of 128 tokens to each side take turns with it.
"""
import itertools
import json
import re
import shutil
import textwrap

from . import programs
from .documents import Problem

NAMES = ("the window", "full attention")
ROUNDS = 2
SHOWN = 60  # words of the excerpt
MARKS = ".,?!;:"


def prose(paths):
    """Paragraphs of Markdown files that are sentences: no tables, lists, headings or code."""
    for path in paths:
        text = re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        for paragraph in re.split(r"\n\s*\n", text):
            plain = re.sub(r"\[([^]]*)\]\([^)]*\)|[`*]", r"\1", " ".join(paragraph.split()))
            if plain[:1].isalpha() and plain.endswith((".", ":", "?")) and len(plain.split()) > 12:
                yield plain


def long_words(text, count):
    """So many words of a text, the text again where it is shorter."""
    words = text.split()
    if not words:
        raise Problem("the text of the demo has no word")
    return list(itertools.islice(itertools.cycle(words), count))


def bare(words):
    """Words without case and without marks at their ends; dashes and the like are no words."""
    return [word.strip(MARKS + "()\"").lower() for word in words if any(map(str.isalnum, word))]


def excerpt(title, words):
    return f"{title}\n" + textwrap.fill(" ".join(words[:SHOWN]), 100, initial_indent="    ", subsequent_indent="    ")


def with_full_attention(model, out):
    """The same weights, with attention that no window limits."""
    shutil.copytree(model, out)
    config = json.loads((out / "config.json").read_text())
    (out / "config.json").write_text(json.dumps({**config, "attention": ["relative"]}))
    return out


def restore(weft, model, words, out):
    file = out / "bare.txt"
    file.write_text(" ".join(words), encoding="utf-8")
    return weft.json("restore", "--model", model, "--file", file)


def show(weft, model, text, out, compared, longest):
    """Restores a text of `longest` words in one pass, and one of `compared` words in turns with full attention. The lines of the summary."""
    words = bare(long_words(text, longest))
    whole = restore(weft, model, words, out)
    restored = whole.figures["result"]["text"].split()
    print(excerpt("Bare words:", words) + "\n" + excerpt("Restored:", restored), flush=True)
    (out / "restored.txt").write_text(" ".join(restored) + "\n", encoding="utf-8")
    full, peaks = with_full_attention(model, out / "restore-as-full"), {}

    def seconds(directory, name):
        finished = restore(weft, directory, words[:compared], out)
        peaks[name] = finished.peak_gb
        return finished.seconds

    turns = programs.take_turns(lambda: seconds(model, NAMES[0]), lambda: seconds(full, NAMES[1]), ROUNDS, NAMES)
    print("\n".join([f"{min(compared, len(words)):,} words", *turns.each()]), flush=True)
    sentences = len(whole.figures["result"]["sentences"])
    return summary(turns, peaks, f"{len(words):,} words, {sentences:,} sentences, in one pass: {whole.seconds:.2f} s, {whole.peak_gb:.2f} GB", min(compared, len(words)))


def summary(turns, peaks, whole, compared):
    """What the end of the demo says about it."""
    lines = [f"Writing case, punctuation and sentence ends into {compared:,} bare words in one pass, the same weights:"]
    lines += [f"    {name:16} {min(seconds):10.2f} s   {peaks[name]:.2f} GB" for name, seconds in turns.sides]
    lines += [f"    {turns.ratio:.1f} times as fast with the window; {turns.spread()}", f"    {NAMES[0]:16} {whole}"]
    return lines + [programs.DISAGREEMENT] * turns.disagree
