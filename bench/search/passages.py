#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""100,000 passages: the memory that `weft index` takes, and how long a question takes at /search of a warm `weft serve`.

    bench/search/passages.py FOLDER TOKENIZER [--passages N] [--questions N] [--threads N] [--drawn] [--weft PATH]

Passages have 60 words, drawn as often as they come in FOLDER's corpus.jsonl (SciFact). The embedder has random weights, one layer and MiniLM's width,
384, and reads 16 tokens of each passage: what is measured is the search, and what a question's vector takes is next to nothing. With --drawn the
vectors of passages are drawn and written by this script (which needs NumPy then) in place of computed ones. Questions have eight words. It prints the peak of memory of building, and the median and the slowest of the questions by words, by vectors and by both. Run it on a machine
that does nothing else.
"""
import argparse
import contextlib
import http.client
import json
import os
import pathlib
import random
import resource
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

WORDS_OF_PASSAGE, WORDS_OF_QUESTION = 60, 8
SHAPE = ["--num-hidden-layers", "1", "--hidden-size", "384", "--num-attention-heads", "12", "--intermediate-size", "64", "--max-position-embeddings", "64"]
MOST_BYTES, MOST_SECONDS = 1.5e9, 0.050


def words_of(folder):
    """The words of the corpus as often as they come."""
    rows = map(json.loads, (folder / "corpus.jsonl").open())
    return [word for row in rows for sentence in row["sentences"] for word in sentence.split()]


def run(program, *arguments):
    subprocess.run([program, *map(str, arguments)], check=True, stdout=subprocess.DEVNULL)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024


def write_drawn_vectors(program, work, model):
    """Writes a drawn vector of length 1 for each passage as weft index does, for the model's space."""
    import numpy
    (work / "one.jsonl").write_text('{"id": 1, "text": "a loom"}\n')
    run(program, "index", work / "one.weft", work / "one.jsonl", *model)
    with contextlib.closing(sqlite3.connect(work / "one.weft")) as one:
        settings = one.execute("SELECT name, value FROM settings").fetchall()
    draw = numpy.random.default_rng(1)
    with contextlib.closing(sqlite3.connect(work / "store.weft")) as database:
        database.executemany("INSERT OR REPLACE INTO settings VALUES(?, ?)", settings)
        for (number,) in database.execute("SELECT number FROM passages").fetchall():
            vector = draw.standard_normal(384).astype(numpy.float32)
            vector /= numpy.linalg.norm(vector)
            scale = float(numpy.abs(vector).max()) / 127
            codes = numpy.rint(vector / scale)
            error = float(numpy.linalg.norm(vector.astype(numpy.float64) - codes * scale))
            database.execute("INSERT INTO codes VALUES(?, ?, ?, ?)", (number, scale, error, codes.astype(numpy.int8).tobytes()))
            database.execute("INSERT INTO vectors VALUES(?, ?)", (number, vector.tobytes()))
        database.commit()


class Server:
    def __init__(self, program, store, threads):
        self.process = subprocess.Popen([program, "serve", "--index", store, "--port", "0", "--threads", str(threads), "--json"], stdout=subprocess.PIPE, text=True)
        port = json.loads(self.process.stdout.readline())["listening"].rsplit(":", 1)[1]
        self.client = http.client.HTTPConnection("127.0.0.1", int(port), timeout=60)

    def seconds(self, body):
        begin = time.perf_counter()
        self.client.request("POST", "/search", json.dumps(body))
        answer = self.client.getresponse()
        found = json.loads(answer.read())
        if answer.status != 200 or len(found["passages"]) != 10:
            raise SystemExit(f"passages: {found}")
        return time.perf_counter() - begin

    def processor(self):
        """Seconds of processor so far."""
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def end(self):
        self.client.close()
        self.process.terminate()
        self.process.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("tokenizer", type=pathlib.Path, help="directory of a tokeniser of BERT's")
    parser.add_argument("--passages", type=int, default=100_000)
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--drawn", action="store_true", help="draw the vectors of passages")
    parser.add_argument("--weft", default="build/release/bin/weft")
    options = parser.parse_args()
    draw, words = random.Random(1), words_of(options.folder)
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        with (work / "texts.jsonl").open("w") as file:
            for number in range(options.passages):
                file.write(json.dumps({"id": number, "text": " ".join(draw.choices(words, k=WORDS_OF_PASSAGE))}) + "\n")
        run(options.weft, "init", "--family", "bert", "--head", "none", "--tokenizer", options.tokenizer, *SHAPE, "--out", work / "model")
        begin = time.perf_counter()
        model = ["--model", work / "model", "--max-length", "16", "--truncate", "--threads", options.threads]
        peak = run(options.weft, "index", work / "store.weft", work / "texts.jsonl", "--stem", "english", *(() if options.drawn else model))
        if options.drawn:
            write_drawn_vectors(options.weft, work, model)
        size = (work / "store.weft").stat().st_size
        print(f"{options.passages} passages: built in {time.perf_counter() - begin:.0f} s with {peak / 1e6:.0f} MB of memory at most; {size / 1e6:.0f} MB of file", flush=True)
        server = Server(options.weft, work / "store.weft", options.threads)
        questions = [" ".join(draw.choices(words, k=WORDS_OF_QUESTION)) for _ in range(options.questions)]
        slow = False
        for by in ("words", "vectors", "both"):
            for warm in (False, True):  # the first time a question's words are read from the store
                before = server.processor()
                times = [server.seconds({"query": question, "by": by}) for question in questions]
                print(f"{by}, {'again' if warm else 'first'}: median {1e3 * statistics.median(times):.1f} ms, slowest {1e3 * max(times):.1f} ms, "
                      f"{1e3 * (server.processor() - before) / len(times):.1f} ms of processor each", flush=True)
            slow = slow or statistics.median(times) > MOST_SECONDS
        server.end()
        return 1 if slow or peak > MOST_BYTES else 0


if __name__ == "__main__":
    sys.exit(main())
