#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every row of the tables in docs/pattern-language.md through `weft bench attention`, which verifies it, and `weft pattern show`.

The rows are read from the document, so that an entry cannot be forgotten: one whose letters this script does not know is an error.

    bench/language/language.py --out FOLDER [--length 4096] [--dtypes float32 bfloat16] [--rounds 10]

FOLDER gets results.jsonl, table.md and a picture of each expression. --rounds 0 verifies and times nothing.
"""
import argparse
import json
import os
import pathlib
import random
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
REFERENCE = ROOT / "docs/pattern-language.md"
TABLES = {"Operators": "written", "Primitives": "name", "Names of published models": "name"}  # section -> head of its first column

# What the letters of the document stand for here.
LETTERS = {"P": "window(9)", "Q": "stride(5)", "a": 7, "b": 16, "beta": 0.2, "c": 2, "columns": 128, "d": 3, "g": 3, "i": 3,
           "j": 40, "k": 6, "l": 12, "m": 8, "n": 2, "p": 0.05, "r": 4, "rows": 64, "s": 3, "w": 9}
PLAN = 'block(16, global(first=1, last=1) | window(3) | random(3, plan="{}", seed=5))'
# Rows that leave something to the reader, and forms that only their text tells of.
SPELLED_OUT = {
    "window(..., dilation=d)": ["window(9, dilation=3)", "window(left=7, right=2, dilation=3)"],
    "random(r, plan=...)": [PLAN.format("released"), PLAN.format("hf-eval")],
    "strided(l)": ["strided(12)", "strided(12, split=true)"],
    "fixed(l, c)": ["fixed(12, 2)", "fixed(12, 2, split=true)"],
    "block(b, P)": ["block(16, window(3) | global(1))", "block(8, !stride(3))"],
    "global(first=a, last=b, at=[i, j], input)": ["global(first=7, last=16, at=[3, 40], input)", "global(2, side=keys)",
                                                  "global(2, side=queries)"],
    "random(r, seed=s)": ["random(4, seed=3)", "random(4, seed=3, share=heads)"],
    'bigbird(block=64, window=3, random=3, seed=layer, plan="released")': [
        "bigbird(block=64)", 'bigbird(block=16, plan="hf-eval")', 'bigbird(block=16, window=5, plan="uniform")'],
}


def written_forms(document):
    """The code of the first column of every row, section by section."""
    for title, head in TABLES.items():
        section = document.split(f"\n## {title}\n", 1)[1].split("\n## ", 1)[0]
        rows = [line for line in section.splitlines() if line.startswith("| `")]
        if f"| {head} |" not in section or not rows:
            raise SystemExit(f"{REFERENCE}: no table under '{title}'")
        for row in rows:
            first_cell = re.split(r"(?<!\\)\|", row)[1]
            yield from (form.replace("\\|", "|") for form in re.findall(r"`([^`]+)`", first_cell))


def expressions_of(form):
    """The form with numbers and patterns for its letters."""
    if form in SPELLED_OUT:
        return SPELLED_OUT[form]

    def spelled(match):
        word, key = match.group(0), match.string[match.end():match.end() + 1]
        is_letter = word in LETTERS and key not in ("=", "(")
        if not is_letter and (len(word) == 1 or "..." in form):
            raise SystemExit(f"{REFERENCE}: this script does not know what '{word}' stands for in `{form}`")
        return str(LETTERS[word]) if is_letter else word

    return [re.sub(r'(?<![\w".])[A-Za-z_]+(?![\w".])', spelled, form)]


def expressions():
    """Every expression, once, in the order of the document."""
    found = {}
    forms = list(written_forms(REFERENCE.read_text()))
    if not set(SPELLED_OUT) <= set(forms):
        raise SystemExit(f"{REFERENCE}: no row has {sorted(set(SPELLED_OUT) - set(forms))} any more")
    for form in forms:
        for expression in expressions_of(form):
            found.setdefault(expression)
    return list(found)


def write_graph(folder, positions):
    """The file that edges("file.mtx") names: a ring, and a random edge for each position."""
    draw = random.Random(1)
    edges = {(row, column) for row in range(positions) for column in (row, (row + 1) % positions, draw.randrange(positions))}
    lines = ["%%MatrixMarket matrix coordinate pattern general", f"{positions} {positions} {len(edges)}"]
    (folder / "file.mtx").write_text("\n".join(lines + [f"{row + 1} {column + 1}" for row, column in sorted(edges)]) + "\n")


def run(weft, folder, *arguments):
    done = subprocess.run([weft, *map(str, arguments)], cwd=folder, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else None, done.stderr.strip()


def verify(options, expression, dtype):
    """The JSON of the bench, or {"error"}: a result that is off is an error of the bench itself."""
    output, error = run(options.weft, options.out, "bench", "attention", "--pattern", expression, "--length", options.length, "--dtype",
                        dtype, "--heads", 12, "--head-dim", options.head_dim, "--input", "0,21", "--rounds", options.rounds, "--backward",
                        "--json")
    return {"pattern": expression, "dtype": dtype, "error": error} if output is None else json.loads(output)


def draw(options, expression, name):
    """None, or what went wrong with the picture."""
    output, error = run(options.weft, options.out, "pattern", "show", expression, "--length", 64, "--heads", 12, "--input", "0,21",
                        "--png", f"{name}.png", "--svg", f"{name}.svg")
    return error if output is None or not (options.out / f"{name}.png").stat().st_size else None


def check(options):
    """One entry for each expression and dtype."""
    options.out.mkdir(parents=True, exist_ok=True)
    write_graph(options.out, max(options.length, 64))
    for at, expression in enumerate(expressions()):
        wrong = draw(options, expression, f"{at:02}")
        for dtype in options.dtypes:
            result = verify(options, expression, dtype)
            yield result | {"error": result.get("error") or wrong}


def table(results):
    def cell(value):
        return f"{value:.3g}" if isinstance(value, float) else ("" if value is None else str(value).replace("|", "\\|"))

    columns = ["pattern", "dtype", "density", "forward_ms", "forward_backward_ms", "max_abs_error", "max_relative_gradient_error", "error"]
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    return "\n".join(lines + ["| " + " | ".join(cell(result.get(column)) for column in columns) + " |" for result in results]) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weft", type=pathlib.Path, default=os.environ.get("WEFT_BINARY", ROOT / "build/release/bin/weft"))
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--length", type=int, default=4096)
    parser.add_argument("--head-dim", type=int, default=64)
    parser.add_argument("--dtypes", nargs="+", default=["float32", "bfloat16"])
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    options.weft = pathlib.Path(options.weft).resolve()
    options.out = options.out.resolve()
    results = []
    for result in check(options):
        results.append(result)
        print(json.dumps(result), flush=True)
    (options.out / "results.jsonl").write_text("".join(json.dumps(result) + "\n" for result in results))
    (options.out / "table.md").write_text(table(results))
    failed = [result for result in results if result["error"]]
    sys.exit(f"{len(failed)} of {len(results)} failed" if failed else None)


if __name__ == "__main__":
    main()
