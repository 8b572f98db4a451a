#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Load on `weft serve`: many requests of mixed lengths from many connections, each answer compared with the command line's.

The models are two small ones with random weights, an encoder with labels and an encoder-decoder, made here from --text, or those that
--encoder and --translator name. A request is answered rightly when its answer is that of the command for the text by itself: the same
translation, the same labels with scores equal to 4 places. Where one is wrong or lost nothing is measured: the program says which and
ends with exit code 1. Then the same short texts are asked for one after the other and from all connections at once. Memory is what
/metrics says of the process, read all along. Run it on a machine that does nothing else.

    bench/serve/serve.py --text BOOKS/val [--requests 10000] [--connections 200] [--encoder DIR] [--translator DIR] [--row]
"""
import argparse
import asyncio
import json
import math
import os
import pathlib
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import programs  # noqa: E402

SAME_SCORE = 1e-4  # of probabilities: padding changes the rounding of float32
LENGTHS = ((0.70, 4, 20), (0.25, 20, 120), (0.05, 200, 400))  # share of the requests, words of their texts from, to
TRANSLATED_WORDS = 40  # a translation costs its tokens one by one
SHORT_WORDS = 12


def options(description=__doc__, more=None):
    """The command line; `more` are other flags with their usual numbers."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weft", default=os.environ.get("WEFT_BINARY", programs.ROOT / "build/release/bin/weft"), help="the weft program")
    parser.add_argument("--text", nargs="+", required=True, help="files and folders whose words are sent")
    parser.add_argument("--encoder", type=pathlib.Path, help="a directory with a head for classes; without it a small one with random weights")
    parser.add_argument("--translator", type=pathlib.Path, help="an encoder-decoder of one pair of languages; without it a small one with random weights")
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--connections", type=int, default=200)
    parser.add_argument("--distinct", type=int, default=500, help="different texts among the requests: each is computed by the command once")
    parser.add_argument("--short", type=int, default=1000, help="short texts to ask for in both ways")
    parser.add_argument("--threads", type=int, default=2, help="of the server")
    parser.add_argument("--server-flags", nargs="*", default=[], help="more flags of `weft serve`, without their dashes: max-batch-texts=64")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--row", action="store_true", help="print the table for bench/RESULTS.md, too")
    for flag, usual in (more or {}).items():
        parser.add_argument(flag, type=type(usual), default=usual)
    chosen = parser.parse_args()
    if not pathlib.Path(chosen.weft).is_file():
        raise SystemExit(f"there is no program {chosen.weft}: run make build, or give --weft")
    return chosen


def made_models(chosen, text, folder):
    """The two directories, random weights where none were given; weights large enough to tell texts apart."""
    tokenizer = folder / "tokenizer"
    if not (chosen.encoder and chosen.translator):
        programs.weft(chosen.weft, "tokenizer", "train", text, "--vocabulary-size", 4000, "--out", tokenizer)
    encoder = chosen.encoder or folder / "labels"
    if not chosen.encoder:
        programs.weft(chosen.weft, "init", "--family", "roberta", "--head", "sequence-classification", "--tokenizer", tokenizer, "--num-hidden-layers", 4,
                      "--hidden-size", 128, "--num-attention-heads", 4, "--intermediate-size", 512, "--max-position-embeddings", 1026,
                      "--initializer-range", 0.1, "--seed", chosen.seed, "--out", encoder)
    translator = chosen.translator or folder / "translator"
    if not chosen.translator:
        programs.weft(chosen.weft, "init", "--family", "bart", "--tokenizer", tokenizer, "--encoder-layers", 2, "--decoder-layers", 2, "--d-model", 128,
                      "--encoder-attention-heads", 4, "--decoder-attention-heads", 4, "--encoder-ffn-dim", 256, "--decoder-ffn-dim", 256,
                      "--max-source-positions", 512, "--max-target-positions", 512, "--init-std", 0.2, "--seed", chosen.seed, "--out", translator)
        # Random weights repeat a token for ever; no token twice, and a text says what its source was.
        (translator / "generation_config.json").write_text(json.dumps({"num_beams": 1, "max_length": 12, "no_repeat_ngram_size": 1}))
    return {"classify": encoder, "translate": translator}


def drawn_texts(chosen, words, draw):
    """Different requests, [(task, text)]: one in ten is a translation."""
    requests = []
    for number in range(min(chosen.distinct, chosen.requests)):
        _, fewest, most = draw.choices(LENGTHS, [share for share, _, _ in LENGTHS])[0]
        task = "translate" if number % 10 == 0 else "classify"
        count = min(draw.randint(fewest, most), TRANSLATED_WORDS if task == "translate" else most)
        begin = draw.randrange(len(words) - count)
        requests.append((task, " ".join(words[begin:begin + count])))
    return requests


def drawn_requests(chosen, folder, draw):
    """(--text as one file, different requests of mixed lengths, --short short ones)"""
    text = programs.joined(chosen.text, folder / "text.txt")
    words = re.findall(r"[^\W\d_]+[,.!?]?", text.read_text(errors="ignore"))
    distinct = drawn_texts(chosen, words, draw)
    short = [("classify", " ".join(words[at:at + SHORT_WORDS])) for at in (draw.randrange(len(words) - SHORT_WORDS) for _ in range(chosen.short))]
    return text, distinct, short


def body_of(task, text):
    return {"text": text} if task == "translate" else {"inputs": text, "parameters": {"truncation": True}}


def results_of_command(chosen, models, requests, folder):
    """The answer that the server must give to each request, by the command, a text at a time in a batch."""
    wanted = {}
    for task, model in models.items():
        texts = list(dict.fromkeys(text for kind, text in requests if kind == task))
        file = folder / f"{task}.jsonl"
        file.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
        flags = ["--top-k", 0, "--truncate"] if task == "classify" else []
        command = [chosen.weft, task, model, "--file", file, *flags, "--batch-size", 1, "--threads", chosen.threads, "--json"]
        lines = programs.run(command).splitlines()
        for text, line in zip(texts, lines, strict=True):
            result = json.loads(line)["result"]
            wanted[task, text] = {"source_lang": "", "target_lang": "", "translation": result[0]["translation_text"]} if task == "translate" else result
    return wanted


def same(found, wanted):
    if isinstance(wanted, float):
        return isinstance(found, (int, float)) and math.isclose(found, wanted, abs_tol=SAME_SCORE)
    if isinstance(wanted, dict):
        return isinstance(found, dict) and found.keys() == wanted.keys() and all(same(found[key], wanted[key]) for key in wanted)
    if isinstance(wanted, list):
        return isinstance(found, list) and len(found) == len(wanted) and all(map(same, found, wanted))
    return found == wanted


class Server:
    def __init__(self, chosen, models):
        command = [chosen.weft, "serve", *models.values(), "--port", 0, "--threads", chosen.threads, "--max-connections", 2 * chosen.connections + 16,
                   "--max-in-flight", 2 * chosen.connections + 16, *(f"--{flag}" for flag in chosen.server_flags), "--json"]
        print("$", " ".join(map(str, command)), file=sys.stderr, flush=True)
        self.process = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit("weft serve ended before it listened")
        self.started = json.loads(line)
        self.port = int(self.started["listening"].rsplit(":", 1)[1])

    def stop(self):
        self.process.terminate()
        code = self.process.wait(timeout=120)
        self.process.stdout.close()
        if code != 0:
            raise SystemExit(f"weft serve ended with exit code {code}")


class Client:
    """One connection that stays open: a request, its answer, and the next."""

    def __init__(self, port):
        self.port = port
        self.reader = self.writer = None

    async def ask(self, method, path, body=None):
        """(status, body)"""
        if self.writer is None:
            self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port, limit=1 << 24)
        content = b"" if body is None else json.dumps(body).encode()
        self.writer.write(f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(content)}\r\n\r\n".encode() + content)
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode()
        length = int(re.search(r"content-length: (\d+)", head, re.I).group(1))
        return int(head.split(" ", 2)[1]), (await self.reader.readexactly(length)).decode()

    async def end(self):
        if self.writer is not None:
            self.writer.close()
            try:
                await self.writer.wait_closed()
            except OSError:
                pass


class Load:
    """Requests in their order, each from the next connection that is free; answers are compared as they come."""

    def __init__(self, server, requests, wanted):
        self.server, self.wanted = server, wanted
        self.requests = iter(requests)
        self.seconds, self.lost, self.wrong = [], [], []

    async def client(self):
        client = Client(self.server.port)
        for task, text in self.requests:
            begin = time.perf_counter()
            try:
                status, answer = await client.ask("POST", f"/{task}", body_of(task, text))
            except (OSError, asyncio.IncompleteReadError) as error:
                self.lost.append((task, text, repr(error)))
                client = Client(self.server.port)
                continue
            self.seconds.append(time.perf_counter() - begin)
            if status != 200 or not same(json.loads(answer), self.wanted[task, text]):
                self.wrong.append((task, text, status, answer))
        await client.end()

    async def run(self, connections):
        """Seconds that all requests took."""
        begin = time.perf_counter()
        await asyncio.gather(*(self.client() for _ in range(connections)))
        return time.perf_counter() - begin

    def check(self, what):
        if self.lost or self.wrong:
            print(f"{what}: {len(self.lost)} requests lost, {len(self.wrong)} answered wrongly; nothing is reported", file=sys.stderr)
            for failure in (self.lost + self.wrong)[:3]:
                print(str(failure)[:600], file=sys.stderr)
            raise SystemExit(1)


async def resident_bytes(client):
    _, figures = await client.ask("GET", "/metrics")
    return int(re.search(r"^process_resident_memory_bytes (\d+)$", figures, re.M).group(1))


def peak_bytes(process):
    """The most memory that the server has had since it began, the program itself included."""
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    return int(re.search(r"^VmHWM:\s+(\d+) kB$", status, re.M).group(1)) * 1024


async def accounted_bytes(client):
    _, models = await client.ask("GET", "/v1/models")
    return sum(model["memory"]["total"] for model in json.loads(models)["data"])


async def watched(server, load, connections):
    """Seconds of the load, and the memory of the server at each of many moments of it."""
    memory, client = [], Client(server.port)
    work = asyncio.ensure_future(load.run(connections))
    while not work.done():
        memory.append(await resident_bytes(client))
        await asyncio.wait([work], timeout=0.2)
    memory.append(await resident_bytes(client))
    await client.end()
    return work.result(), memory


def at_share(values, share):
    return sorted(values)[min(len(values) - 1, math.ceil(share * len(values)) - 1)]


async def measured(chosen, server, requests, wanted, short):
    warm = Load(server, requests[:chosen.connections], wanted)
    await warm.run(chosen.connections)
    warm.check("the first requests")
    load = Load(server, requests, wanted)
    seconds, memory = await watched(server, load, chosen.connections)
    load.check("the load")
    tenth = max(1, len(memory) // 10)
    first, last = statistics.mean(memory[:tenth]), statistics.mean(memory[-tenth:])
    rates = {}
    for name, connections in (("one at a time", 1), ("batched", chosen.connections)):
        one = Load(server, short, wanted)
        rates[name] = len(short) / await one.run(connections)
        one.check(f"short texts, {name}")
    client = Client(server.port)
    accounted = await accounted_bytes(client)
    await client.end()
    return {"requests": len(load.seconds), "connections": chosen.connections, "lost": 0, "wrong": 0, "requests_per_second": round(len(load.seconds) / seconds, 1),
            "p50_ms": round(1000 * at_share(load.seconds, 0.5), 1), "p99_ms": round(1000 * at_share(load.seconds, 0.99), 1),
            "resident_mib_first_tenth": round(first / (1 << 20), 1), "resident_mib_last_tenth": round(last / (1 << 20), 1), "growth": round(last / first - 1, 4),
            "resident_mib_by_tenths": [round(value / (1 << 20)) for value in memory[::tenth]], "peak_mib": round(peak_bytes(server.process) / (1 << 20), 1),
            "accounts_mib": round(accounted / (1 << 20), 1),
            "short_one_at_a_time_per_second": round(rates["one at a time"], 1), "short_batched_per_second": round(rates["batched"], 1),
            "short_ratio": round(rates["batched"] / rates["one at a time"], 2)}


def table(result):
    return "\n".join(["| | |", "|---|---|",
                      f"| requests, connections | {result['requests']:,}, {result['connections']} |",
                      f"| lost, wrong | {result['lost']}, {result['wrong']} |",
                      f"| requests a second | {result['requests_per_second']} |",
                      f"| p50, p99 | {result['p50_ms']} ms, {result['p99_ms']} ms |",
                      f"| resident memory, first and last tenth | {result['resident_mib_first_tenth']} MiB, {result['resident_mib_last_tenth']} MiB ({result['growth']:+.1%}) |",
                      f"| peak with the program itself, and what the accounts of the models allow them | {result['peak_mib']} MiB, {result['accounts_mib']} MiB |",
                      f"| short texts a second, one at a time and batched | {result['short_one_at_a_time_per_second']}, {result['short_batched_per_second']}"
                      f" ({result['short_ratio']} times) |"])


def main():
    chosen = options()
    print("machine:", programs.machine(), flush=True)
    draw = random.Random(chosen.seed)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        text, distinct, short = drawn_requests(chosen, folder, draw)
        models = made_models(chosen, text, folder)
        wanted = results_of_command(chosen, models, distinct + short, folder)
        server = Server(chosen, models)
        try:
            result = asyncio.run(measured(chosen, server, draw.choices(distinct, k=chosen.requests), wanted, short))
        finally:
            server.stop()
    print(json.dumps(result))
    if chosen.row:
        print(table(result))


if __name__ == "__main__":
    main()
