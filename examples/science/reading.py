# SPDX-License-Identifier: Apache-2.0
"""What tables have that read what a search finds: the search, a control of equal cost, and a small model that learns to read."""
import sqlite3

from lines import text_lines


class Words:
    """The ranking of `weft search --by words`, through the same index of SQLite."""

    def __init__(self, passages):
        self.names = list(passages)
        self.database = sqlite3.connect(":memory:")
        self.database.execute("CREATE VIRTUAL TABLE t USING fts5(body, tokenize='porter unicode61 remove_diacritics 2')")
        self.database.executemany("INSERT INTO t(rowid, body) VALUES(?, ?)", enumerate(passages.values()))
        self.database.execute("CREATE VIRTUAL TABLE asked USING fts5(body, tokenize='unicode61 remove_diacritics 2')")
        self.database.execute("CREATE VIRTUAL TABLE asked_words USING fts5vocab(asked, instance)")

    def words(self, question):
        """The words of a question as the index has them, before their endings are cut: what is neither letter nor digit ends one."""
        self.database.execute("DELETE FROM asked")
        self.database.execute("INSERT INTO asked(body) VALUES(?)", (question,))
        return [word for (word,) in self.database.execute("SELECT term FROM asked_words ORDER BY offset")]

    def best(self, question, count):
        """The names of the passages with the highest sums over all words of the question; none where no passage has one."""
        words = " OR ".join(f'"{word}"' for word in self.words(question))
        if not words:
            return []
        return [self.names[row] for (row,) in self.database.execute("SELECT rowid FROM t WHERE t MATCH ? ORDER BY bm25(t), rowid LIMIT ?", (words, count))]


def beside_best(words, asked, count, generator):
    """The best passage and any others, each once."""
    return list(dict.fromkeys([*words.best(asked.question, 1), *generator.sample(words.names, count)]))[:count]


def small_reader(world, texts, context, seed, *shape):
    """A model with random weights whose tokeniser learned from texts. Its positions turn (rotary), so that it reads more at once than it learned from;
    a token sees those around it and the question, which sees all."""
    text = world.written(world.folder / "texts.txt", lambda: text_lines(texts))
    tokenizer = world.made(world.folder / "tokenizer", "tokenizer", "train", text, "--vocabulary-size", 4096)
    return world.made(world.folder / f"model-{seed}", "init", "--family", "modernbert", "--tokenizer", tokenizer, "--num-hidden-layers", 2,
                      "--hidden-size", 128, "--num-attention-heads", 4, "--intermediate-size", 256, "--max-position-embeddings", context, "--attention",
                      "window(32) | global(input)", *shape, "--seed", seed)
