#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The page of `weft attention --serve` in a real Chromium: seconds to the first picture, of each zoom, of a row and of another head.

The model has the shape of BERT-base and random weights, the text made-up words, 16,384 tokens and 144 heads unless flags say otherwise.
The server reads the text first, which takes minutes. Each step is done while the server still draws the small pictures of the grid, and
again when they are done (--grid; 144 heads of full attention take some minutes). A step begins with the key or the click inside the page
and ends when the picture is painted. Last it says how much memory the server held at most, and how busy the machine was. An error or a
warning of the console ends the program with exit code 1. Screenshots go to --out, as do the text, its tokeniser and the model, which a
second run uses again.

    bench/viewer/viewer.py --out FOLDER [--tokens 16384] [--layers 12] [--heads 12] [--threads 2] [--cores 0,1] [--grid] [--row]
"""
import argparse
import json
import os
import pathlib
import random
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "tests/support")]

import programs  # noqa: E402
from browser import BROWSER, DRIVER, Browser  # noqa: E402

FIRST_PICTURE, ZOOM = 2.0, 0.5  # seconds that a reader waits at most
HEAD_WIDTH = 64
KEYS = {"right": "ArrowRight", "down": "End", "closer": "+", "back": "-"}
# Seconds from a key or a click to the first moment at which `ready` says that the page shows what was asked for; the driver ends a
# script after 30.
STEP = """const [what, name, wanted] = arguments;
const begin = performance.now();
const about = document.getElementById('about'), large = document.getElementById('large'), row = document.getElementById('row');
const before = what === 'row' ? row.innerHTML : about.textContent;
if (what === 'key' || what === 'row') large.dispatchEvent(new KeyboardEvent('keydown', { key: name, bubbles: true, cancelable: true }));
else document.querySelector(name).click();
const ready = () => what === 'row' ? row.innerHTML !== before && row.querySelector('meter') !== null
  : about.textContent !== before && about.textContent.includes(wanted) && !large.hasAttribute('aria-busy');
return new Promise((resolve, reject) => {
  const look = () => {
    if (ready()) requestAnimationFrame(() => resolve((performance.now() - begin) / 1000));
    else if (performance.now() - begin > 25000) reject(new Error(`never shown: ${name} ${wanted}; ${about.textContent}`));
    else setTimeout(look, 4);
  };
  look();
});"""
GRID_DRAWN = "return [...document.querySelectorAll('#grid canvas')].filter((canvas) => canvas.width !== 300).length"


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weft", default=os.environ.get("WEFT_BINARY", programs.ROOT / "build/release/bin/weft"), help="the weft program")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="folder for the model, the text and the screenshots")
    parser.add_argument("--tokens", type=int, default=16384)
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--heads", type=int, default=12, help="of each layer, 64 wide")
    parser.add_argument("--threads", type=int, default=2, help="of the server")
    parser.add_argument("--cores", help="processors that the server and the browser share, as taskset -c takes them")
    parser.add_argument("--grid", action="store_true", help="wait for all small pictures, and time the steps again")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--row", action="store_true", help="print the table for bench/RESULTS.md, too")
    chosen = parser.parse_args()
    if not pathlib.Path(chosen.weft).is_file():
        raise SystemExit(f"there is no program {chosen.weft}: run make build, or give --weft")
    if not (BROWSER and DRIVER):
        raise SystemExit("chromium and chromedriver are not there: install Debian's chromium and chromium-driver")
    return chosen


def made_text(chosen, folder):
    """A text of one token a word, and the tokeniser that says so."""
    draw = random.Random(chosen.seed)
    words = ["".join(draw.choice("bdfgklmnprstvz") + draw.choice("aeiou") for _ in range(draw.randint(1, 4))) for _ in range(2000)]
    text, tokenizer = folder / "words.txt", folder / "tokenizer"
    text.write_text(" ".join(draw.choice(words) for _ in range(4 * chosen.tokens)))
    if not tokenizer.exists():
        programs.weft(chosen.weft, "tokenizer", "train", text, "--vocabulary-size", 4000, "--out", tokenizer)
    return text.read_text().split(), tokenizer


def made_model(chosen, tokenizer, folder):
    directory = folder / f"model-{chosen.layers}-{chosen.heads}-{chosen.tokens}"
    if not directory.exists():
        width = chosen.heads * HEAD_WIDTH
        programs.weft(chosen.weft, "init", "--family", "bert", "--tokenizer", tokenizer, "--head", "none", "--num-hidden-layers", chosen.layers,
                      "--hidden-size", width, "--num-attention-heads", chosen.heads, "--intermediate-size", 4 * width, "--initializer-range", 0.08,
                      "--max-position-embeddings", chosen.tokens, "--seed", chosen.seed, "--out", directory)
    return directory


def fitting_text(chosen, model, words):
    """A file with the most words whose tokens, special ones included, are no more than was asked for."""
    path = chosen.out / "text.txt"
    low, high = 0, len(words)
    while low < high:
        middle = (low + high + 1) // 2
        path.write_text(" ".join(words[:middle]))
        tokens = len(json.loads(programs.run([chosen.weft, "tokenize", model, "--file", path, "--json"]).splitlines()[0])["result"][0]["input_ids"])
        low, high = (middle, high) if tokens <= chosen.tokens else (low, middle - 1)
    path.write_text(" ".join(words[:low]))
    return path


class Server:
    """`weft attention --serve` over the text, until the block ends."""

    def __init__(self, chosen, model, text):
        command = [chosen.weft, "attention", model, "--file", text, "--serve=127.0.0.1:0", "--threads", chosen.threads, "--json"]
        self.began = time.perf_counter()
        self.process = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, text=True)

    def __enter__(self):
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit("the server ended before it listened")
        self.started = json.loads(line)
        self.seconds = time.perf_counter() - self.began
        return self

    def most_bytes(self):
        """The most memory that the server has held so far."""
        lines = pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        self.process.stdout.close()


def keep_picture(browser, chosen, name):
    path = chosen.out / f"{name}.png"
    path.write_bytes(browser.screenshot())
    print(f"{path}", file=sys.stderr)


def timed_steps(browser, chosen, cell, when):
    """Seconds of each step, from the whole head down to single tokens and back, then a row and another head."""
    seconds = {}
    level = cell
    while level > 1:
        level = max(1, level // 4)
        seconds[f"closer, cells of {level}"] = browser.run(STEP, "key", KEYS["closer"], f"A cell is {level} ×")
        keep_picture(browser, chosen, f"{when}-{level}")
        for move in ("right", "down"):
            seconds[f"{move}, cells of {level}"] = browser.run(STEP, "key", KEYS[move], f"A cell is {level} ×")
    while level < cell:
        level = min(cell, 4 * level)
        seconds[f"back, cells of {level}"] = browser.run(STEP, "key", KEYS["back"], f"A cell is {level} ×")
    seconds["a row"] = browser.run(STEP, "row", "ArrowDown", "")
    keep_picture(browser, chosen, f"{when}-row")
    return seconds


def visit(browser, chosen, server):
    """Everything that a reader does, in seconds."""
    browser.open(server.started["listening"] + "/")
    first = browser.wait_for("return performance.getEntriesByName('picture')[0]?.startTime", 120) / 1000
    keep_picture(browser, chosen, "first")
    cell = server.started["parts"][0]["cell"]
    result = {"first_picture": first, "while_drawing": timed_steps(browser, chosen, cell, "drawing")}
    last = f"#grid .line:nth-child({chosen.layers}) button:last-of-type"
    result["while_drawing"]["another head"] = browser.run(STEP, "click", last, f"layers.{chosen.layers - 1}.self, head {chosen.heads - 1}")
    if chosen.grid:
        # The grid takes minutes: what is known before is said before.
        print(json.dumps(result | {"server_bytes": server.most_bytes(), "load": os.getloadavg()}), file=sys.stderr, flush=True)
        begin = time.perf_counter()
        browser.run("document.querySelectorAll('#grid .line').forEach((line) => line.scrollIntoView())")
        heads = chosen.layers * chosen.heads
        while (drawn := browser.run(GRID_DRAWN)) < heads:
            print(f"{drawn} of {heads} small pictures", file=sys.stderr)
            browser.run("document.querySelectorAll('#grid .line')[Math.floor(arguments[0])].scrollIntoView()", drawn // chosen.heads)
            time.sleep(2)
        result["grid"] = time.perf_counter() - begin
        browser.run("window.scrollTo(0, 0)")
        keep_picture(browser, chosen, "grid")
        result["afterwards"] = timed_steps(browser, chosen, cell, "afterwards")
        result["afterwards"]["another head"] = browser.run(STEP, "click", "#grid .line:nth-child(2) button", "layers.1.self, head 0")
    result |= {"server_bytes": server.most_bytes(), "load": os.getloadavg(), "console": browser.errors()}
    return result


def slowest(steps):
    return max(value for name, value in steps.items() if name not in ("a row", "another head"))


def table(result):
    lines = ["| step | seconds |", "|---|---|", f"| first picture | {result['first_picture']:.2f} |"]
    for when in ("while_drawing", "afterwards"):
        lines += [f"| {step}{', while the grid is drawn' if when == 'while_drawing' else ''} | {seconds:.2f} |"
                  for step, seconds in result.get(when, {}).items()]
    return "\n".join(lines)


def main():
    chosen = options()
    if chosen.cores:
        os.sched_setaffinity(0, {int(core) for core in chosen.cores.split(",")})
    chosen.out.mkdir(parents=True, exist_ok=True)
    print("machine:", programs.machine(), flush=True)
    words, tokenizer = made_text(chosen, chosen.out)
    model = made_model(chosen, tokenizer, chosen.out)
    text = fitting_text(chosen, model, words)
    with Server(chosen, model, text) as server, Browser(1600, 1400) as browser:
        result = {"tokens": server.started["source_tokens"], "heads": chosen.layers * chosen.heads,
                  "kept_bytes": server.started["kept_bytes"], "read_seconds": server.seconds, **visit(browser, chosen, server)}
    print(json.dumps(result))
    if chosen.row:
        print(table(result))
    for when in ("while_drawing", "afterwards"):
        if when in result:
            print(f"{when}: slowest zoom {slowest(result[when]):.2f} s of {ZOOM} s", file=sys.stderr)
    print(f"first picture {result['first_picture']:.2f} s of {FIRST_PICTURE} s", file=sys.stderr)
    if result["console"]:
        print("the console: " + "\n".join(result["console"]), file=sys.stderr)
        raise SystemExit(1)


if __name__ == "__main__":
    main()
