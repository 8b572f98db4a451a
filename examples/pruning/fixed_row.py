#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What one fixed row of a mask does to cross-attention while a model writes: translations with each target's own row, and with one row for all.

Rugina et al. (2020) report that BLEU falls to 6.39 where 80% of cross-attention is pruned. The program released with the paper takes, while it
generates, row (length of the source + 1) of the mask for every target position. This takes a run of `pruning.py translate` whose cross-attention is
pruned, translates the held-out sentences as the run is, and again with copies of it in which all rows of the graphs are that row, one copy for each
length of source; BLEU of both.

    examples/pruning/fixed_row.py OUT/runs/cross-80-profile-0 --source val.de --reference val.en [--limit 1014]
"""
import argparse
import collections
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))

import programs  # noqa: E402


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=pathlib.Path, help="a run of pruning.py translate with pruned cross-attention")
    parser.add_argument("--weft", default=os.environ.get("WEFT_BINARY", programs.ROOT / "build/release/bin/weft"), help="the weft program")
    parser.add_argument("--source", required=True, type=pathlib.Path, help="held-out sentences, a line each")
    parser.add_argument("--reference", required=True, type=pathlib.Path, help="their translations")
    parser.add_argument("--limit", type=int, default=0, help="sentences to translate; 0 for all")
    return parser.parse_args()


def with_fixed_row(graph, row):
    """A Matrix Market graph in which every row has the keys of `row` (from 0), or of the last one above it that has any."""
    lines = graph.read_text().splitlines()
    begin = next(number for number, line in enumerate(lines) if not line.startswith("%"))
    queries, keys, _ = map(int, lines[begin].split())
    rows = collections.defaultdict(list)
    for line in lines[begin + 1:]:
        query, key = line.split()[:2]
        rows[int(query) - 1].append(int(key))
    kept = rows[max(known for known in rows if known <= row)]
    body = [f"{query} {key}" for query in range(1, queries + 1) for key in kept]
    graph.write_text("\n".join([*lines[:begin], f"{queries} {keys} {len(body)}", *body]) + "\n")


def fixed_copy(run, row, folder):
    """The model of `run` with `row` for all targets. A digest says which graph an expression meant, so that the copy's have none."""
    copy = folder / f"row-{row}"
    copy.mkdir()
    for path in run.iterdir():
        if path.is_dir() and path.name.startswith("checkpoint"):
            continue
        (shutil.copytree if path.is_dir() else shutil.copy)(path, copy / path.name)
    text = (copy / "config.json").read_text()
    config = json.loads(text)
    for name in {name for expression in config["cross_attention"] for name in re.findall(r'edges\("([^"]+)"', expression)}:
        with_fixed_row(copy / name, row)
    config["cross_attention"] = [re.sub(r", digest=\d+", "", expression) for expression in config["cross_attention"]]
    (copy / "config.json").write_text(json.dumps(config, indent=2))
    return copy


def translated(chosen, model, sentences):
    command = [str(chosen.weft), "translate", str(model), "--no-split-sentences"]
    found = subprocess.run(command, input="\n".join(sentences) + "\n", check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return found.stdout.splitlines()


def bleu(chosen, texts, references, folder):
    written, wanted = folder / "written.txt", folder / "wanted.txt"
    written.write_text("\n".join(texts) + "\n")
    wanted.write_text("\n".join(references) + "\n")
    return programs.weft(chosen.weft, "score", "bleu", written, wanted)["score"]


def main():
    chosen = options()
    count = chosen.limit or None
    sources, references = (path.read_text(encoding="utf-8").splitlines()[:count] for path in (chosen.source, chosen.reference))
    lengths = token_counts(chosen, sources)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        own = translated(chosen, chosen.run, sources)
        fixed = [""] * len(sources)
        for length in sorted(set(lengths)):
            places = [place for place, found in enumerate(lengths) if found == length]
            model = fixed_copy(chosen.run, length + 1, folder)
            for place, text in zip(places, translated(chosen, model, [sources[place] for place in places])):
                fixed[place] = text
            shutil.rmtree(model)
        print(json.dumps({"run": str(chosen.run), "sentences": len(sources), "bleu_each_target_its_own_row": bleu(chosen, own, references, folder),
                          "bleu_one_row_for_all": bleu(chosen, fixed, references, folder)}))


def token_counts(chosen, sources):
    """Tokens of each source, special ones included."""
    command = [str(chosen.weft), "tokenize", str(chosen.run), "--json"]
    found = subprocess.run(command, input="\n".join(sources) + "\n", check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return [len(json.loads(line)["result"][0]["input_ids"]) for line in found.stdout.splitlines()]


if __name__ == "__main__":
    main()
