#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Short requests to `weft serve` beside hostile ones: small requests that ask for as much as is admitted, one task after the other.

For each task the same short texts are classified with nothing else to do, and then beside --attackers connections that send its hostile request
again and again; the median must stay within three times that of the idle server just before. Then SIGTERM comes while all hostile requests are there, and the
time to the end is measured. At last --requests mixed requests go over --connections connections beside hostile ones, each answer compared with
the command's. Exit code 1 where one of the three does not hold. Models are made as by serve.py. Run it on a machine that does nothing else.

    bench/serve/hostile.py --text BOOKS/val [--requests 20000] [--connections 16] [--short 60] [--attackers 2] [--encoder DIR]
"""
import asyncio
import json
import multiprocessing
import pathlib
import random
import re
import statistics
import sys
import tempfile
import time

import serve  # beside this file

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import programs  # noqa: E402

DRAIN = 2.0
MOST_TIMES = 3.0
WORDS = "the weaver sees a thread . "


def options():
    chosen = serve.options(__doc__, {"--attackers": 2})
    chosen.server_flags = [f"drain-seconds={DRAIN}", *chosen.server_flags]
    return chosen


def hostile_requests(mask):
    """By path, what is admitted by the usual limits and costs most for its size."""
    return {
        "/classify": {"inputs": ["a"] * 4096},
        "/v1/models/labels/embed": {"inputs": [WORDS * 8] * 512},
        "/fill-mask": {"inputs": f"{mask} " * 10, "parameters": {"top_k": 1 << 20}},
        "/translate": {"text": WORDS * 2000},
        "/summarize": {"inputs": ["a thread"] * 1000},
        "/align": {"inputs": [{"text": WORDS, "text_pair": WORDS}] * 1000},
        "/generate": {"inputs": "a", "parameters": {"max_new_tokens": 10_000_000, "num_beams": 4, "num_return_sequences": 4}},
        "/v1/models/labels/attention": {"inputs": WORDS * 80},
        "/v1/models/run/attention": {"inputs": "a thread " * 2000},
        "/v1/pattern": {"expression": "random(4) | window(128)", "length": 4096, "heads": 16, "layers": 24, "cells": 256},
    }


class Attack:
    """Connections that send a request again and again, and throw the answers away: in processes of their own, so that what they read keeps no client
    of the measurement waiting."""

    def __init__(self, server, path, body, count):
        self.over = multiprocessing.Event()
        self.seen = multiprocessing.SimpleQueue()
        self.statuses = set()
        self.processes = [multiprocessing.Process(target=attack, args=(server.port, path, body, self.over, self.seen), daemon=True) for _ in range(count)]
        for process in self.processes:
            process.start()

    def end(self):
        self.over.set()
        for process in self.processes:
            process.join()
        while not self.seen.empty():
            self.statuses |= self.seen.get()


def attack(port, path, body, over, seen):
    seen.put(asyncio.run(statuses_of(port, path, body, over)))


async def statuses_of(port, path, body, over):
    """Asks until `over`, and leaves the answer that it waits for then."""
    statuses, client = set(), serve.Client(port)
    while not over.is_set():
        try:
            asked = asyncio.ensure_future(client.ask("POST", path, body))
            while not over.is_set():
                done, _ = await asyncio.wait([asked], timeout=0.1)
                if done:
                    statuses.add(asked.result()[0])
                    break
            else:
                asked.cancel()
        except (OSError, asyncio.IncompleteReadError, AttributeError):
            client = serve.Client(port)
    await client.end()
    return statuses


def until_idle(server):
    async def busy():
        client = serve.Client(server.port)
        _, figures = await client.ask("GET", "/metrics")
        await client.end()
        return sum(int(count) for count in re.findall(r"^weft_requests_(?:waiting|running) (\d+)$", figures, re.M))

    while asyncio.run(busy()):
        time.sleep(0.05)


def median_of_short(server, short, wanted):
    load = serve.Load(server, short, wanted)
    asyncio.run(load.run(1))
    load.check("short texts")
    return statistics.median(load.seconds)


def seconds_to_the_end(server, hostile):
    """From SIGTERM to the end of the process while all hostile requests are there."""
    attacks = [Attack(server, path, body, 1) for path, body in hostile.items()]
    time.sleep(2)
    begin = time.perf_counter()
    server.process.terminate()
    server.process.wait(timeout=600)
    seconds = time.perf_counter() - begin
    for attack in attacks:
        attack.end()
    return seconds


def models_of(chosen, text, folder):
    """Those of serve.py, one for masked text, and a decoder of bytes."""
    models = serve.made_models(chosen, text, folder)
    tokenizer = folder / "tokenizer"
    programs.weft(chosen.weft, "init", "--family", "roberta", "--head", "masked-lm", "--tokenizer", tokenizer, "--num-hidden-layers", 4, "--hidden-size", 128,
                  "--num-attention-heads", 4, "--intermediate-size", 512, "--max-position-embeddings", 514, "--out", folder / "masks")
    programs.weft(chosen.weft, "train", "--train-text", text, "--attention", "causal & window(left=256)", "--context", 512, "--layers", 4, "--width", 128, "--heads", 4,
                  "--steps", 1, "--out", folder / "run")
    return models, {"classify": f"labels={models['classify']}", "translate": f"translator={models['translate']}", "fill-mask": folder / "masks", "generate": f"run={folder / 'run'}"}


def main():
    chosen = options()
    print("machine:", programs.machine(), flush=True)
    draw = random.Random(chosen.seed)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        text, distinct, short = serve.drawn_requests(chosen, folder, draw)
        models, served = models_of(chosen, text, folder)
        wanted = serve.results_of_command(chosen, models, distinct + short, folder)
        server = serve.Server(chosen, served)
        mask = json.loads(asyncio.run(serve.Client(server.port).ask("GET", "/v1/models/masks"))[1]).get("mask_token", "<mask>")
        hostile = hostile_requests(mask)
        median_of_short(server, short, wanted)  # the first texts make what is kept
        times = {}
        for path, body in hostile.items():
            idle = median_of_short(server, short, wanted)
            attack = Attack(server, path, body, chosen.attackers)
            time.sleep(0.5)
            beside = median_of_short(server, short, wanted)
            attack.end()
            until_idle(server)
            times[path] = round(beside / idle, 2)
            print(f"{path}: {1000 * beside:.1f} ms, idle {1000 * idle:.1f} ms, {times[path]} times; statuses {sorted(attack.statuses)}", flush=True)
        attacks = [Attack(server, path, body, 1) for path, body in hostile.items()]
        load = serve.Load(server, draw.choices(distinct, k=chosen.requests), wanted)
        seconds, memory = asyncio.run(serve.watched(server, load, chosen.connections))
        for attack in attacks:
            attack.end()
        load.check("the load beside hostile requests")
        tenth = max(1, len(memory) // 10)
        first, last = statistics.mean(memory[tenth:2 * tenth]), statistics.mean(memory[-tenth:])
        end = seconds_to_the_end(server, hostile)
        server.process.stdout.close()
    result = {"times": times, "requests": len(load.seconds), "connections": chosen.connections, "seconds": round(seconds, 1),
              "lost": 0, "wrong": 0, "resident_mib": [round(first / (1 << 20), 1), round(last / (1 << 20), 1)], "drain_seconds": DRAIN, "end_seconds": round(end, 2)}
    print(json.dumps(result))
    if max(times.values()) > MOST_TIMES or end > DRAIN + 2:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
