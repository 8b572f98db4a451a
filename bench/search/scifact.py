#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""SciFact: nDCG@10 of `weft search` by words, vectors and both, beside a Python program with the same tokeniser, k1 and b.

    bench/search/scifact.py FOLDER [--model DIR [--truncate --peer]] [--weft PATH]

FOLDER has corpus.jsonl (abstracts by sentences), claims_dev.jsonl and qrels_dev.tsv. The Python program reads FTS5's tokens through the standard
library's sqlite3 and computes BM25 and nDCG by itself. With --peer it embeds by sentence-transformers, compares all vectors by their cosine, and
joins the first 200 of each ranking by reciprocal rank fusion; this needs a Python that has the library.
"""
import argparse
import collections
import json
import math
import pathlib
import sqlite3
import struct
import subprocess
import sys
import tempfile

TOKENIZERS = {"none": "unicode61 remove_diacritics 2", "english": "porter unicode61 remove_diacritics 2"}


def load(folder):
    corpus = [json.loads(line) for line in (folder / "corpus.jsonl").open()]
    texts = {row["_id"]: (row["title"], " ".join(row["sentences"])) for row in corpus}
    queries = {row["_id"]: row["claim"] for row in map(json.loads, (folder / "claims_dev.jsonl").open())}
    judged = collections.defaultdict(dict)
    for line in (folder / "qrels_dev.tsv").read_text().splitlines()[1:]:
        query, text, relevance = line.split("\t")
        judged[query][text] = int(relevance)
    return texts, queries, judged


def write_beir(folder, texts, queries):
    with (folder / "corpus.jsonl").open("w") as file:
        file.writelines(json.dumps({"_id": text, "title": title, "text": body}) + "\n" for text, (title, body) in texts.items())
    with (folder / "queries.jsonl").open("w") as file:
        file.writelines(json.dumps({"_id": query, "text": text}) + "\n" for query, text in queries.items())


def tokens_of(texts, tokenizer):
    """Each text's words by FTS5's tokenizer, in no order."""
    database = sqlite3.connect(":memory:")
    database.execute(f"CREATE VIRTUAL TABLE t USING fts5(body, tokenize='{tokenizer}')")
    database.execute("CREATE VIRTUAL TABLE v USING fts5vocab(t, instance)")
    names = list(texts)
    database.executemany("INSERT INTO t(rowid, body) VALUES(?, ?)", ((number, texts[name]) for number, name in enumerate(names, 1)))
    found = {name: collections.Counter() for name in names}
    for term, number in database.execute("SELECT term, doc FROM v"):
        found[names[number - 1]][term] += 1
    return found


def bm25(passages, question, k1=1.2, b=0.75):
    average = sum(sum(words.values()) for words in passages.values()) / len(passages)
    scores = collections.Counter()
    for word, times in question.items():
        having = [name for name, words in passages.items() if word in words]
        weight = math.log((len(passages) - len(having) + 0.5) / (len(having) + 0.5))
        weight = weight if weight > 0 else 1e-6
        for name in having:
            frequency, length = passages[name][word], sum(passages[name].values())
            scores[name] += times * weight * frequency * (k1 + 1) / (frequency + k1 * (1 - b + b * length / average))
    return scores


def cosines(model, texts, queries, judged):
    """For each judged query the cosine of each text, by sentence-transformers."""
    import numpy
    from sentence_transformers import SentenceTransformer
    embedder = SentenceTransformer(model, device="cpu")
    passages = embedder.encode([f"{title} {body}" if title else body for title, body in texts.values()], normalize_embeddings=True, batch_size=32)
    names = list(judged)
    questions = embedder.encode([queries[name] for name in names], normalize_embeddings=True)
    products = numpy.asarray(questions, dtype=numpy.float64) @ numpy.asarray(passages, dtype=numpy.float64).T
    return {name: dict(zip(texts, row.tolist(), strict=True)) for name, row in zip(names, products, strict=True)}


def best(scores, order, depth=200):
    """Names, the best first; of equal scores the one that came first."""
    return sorted(scores, key=lambda name: (-scores[name], order[name]))[:depth]


def fused(rankings, order, depth=200):
    scores = collections.Counter()
    for ranking in rankings:
        for rank, name in enumerate(ranking, 1):
            scores[name] += 1 / (60 + rank)
    return {name: scores[name] for name in best(scores, order, depth)}


def single(scores):
    """As float32, which trec_eval compares."""
    return {name: struct.unpack("f", struct.pack("f", score))[0] for name, score in scores.items()}


def ndcg(scores, judged, depth=10):
    ranked = sorted(scores, key=lambda name: (scores[name], name), reverse=True)[:depth]
    gain = sum(judged.get(name, 0) / math.log2(rank + 2) for rank, name in enumerate(ranked))
    best = sum(value / math.log2(rank + 2) for rank, value in enumerate(sorted(judged.values(), reverse=True)[:depth]))
    return gain / best


def peer(texts, queries, judged, tokenizer, model):
    """nDCG@10 of the Python program by words, and with a model by vectors and both."""
    passages = tokens_of({name: f"{title} {body}" for name, (title, body) in texts.items()}, tokenizer)
    questions = tokens_of(queries, tokenizer)
    words = {query: bm25(passages, questions[query]) for query in judged}
    found = {"words": words}
    if model:
        order = {name: number for number, name in enumerate(texts)}
        found["vectors"] = cosines(model, texts, queries, judged)
        found["both"] = {query: fused([best(words[query], order), best(found["vectors"][query], order)], order) for query in judged}
    return {by: sum(ndcg(single(scores[query]), judged[query]) for query in judged) / len(judged) for by, scores in found.items()}


def weft(program, *arguments):
    done = subprocess.run([program, *map(str, arguments), "--json"], stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--model", help="an embedder: vectors and both, too")
    parser.add_argument("--truncate", action="store_true", help="cut texts at the model's length, as sentence-transformers does")
    parser.add_argument("--peer", action="store_true", help="compare with sentence-transformers; needs --model and --truncate")
    parser.add_argument("--weft", default="build/release/bin/weft")
    options = parser.parse_args()
    texts, queries, judged = load(options.folder)
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        write_beir(work, texts, queries)
        for stem, tokenizer in TOKENIZERS.items():
            store = work / f"{stem}.weft"
            more = ["--model", options.model] if options.model and stem == "english" else []
            more += ["--truncate"] if options.truncate and more else []
            weft(options.weft, "index", store, work, "--stem", stem, *more)
            expected = peer(texts, queries, judged, tokenizer, options.model if options.peer and more else None)
            for by in ("words", "vectors", "both") if more else ("words",):
                figures = weft(options.weft, "search", store, "--by", by, "--eval", work / "queries.jsonl", options.folder / "qrels_dev.tsv")
                beside = f"; Python {expected[by]:.4f}" if by in expected else ""
                print(f"stem {stem}, {by}: nDCG@10 {figures['ndcg_at_10']:.4f}, MRR@10 {figures['mrr_at_10']:.4f}, "
                      f"recall@100 {figures['recall_at_100']:.4f}, {figures['queries']} queries{beside}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
