#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a recipe has on an organism that had no part in choosing it: for each organism, the recipe of table `promoter_recipes` that is best on the mean
of the others, its F1 on this one, and the F1 of the recipe that this one would choose for itself.

    examples/promoters/chosen.py [examples/science/results/promoter_recipes.jsonl]
"""
import argparse
import json
import pathlib
import statistics

RESULTS = pathlib.Path(__file__).resolve().parents[1] / "science/results/promoter_recipes.jsonl"


def means_of(lines):
    """{organism: {recipe: mean F1 over its seeds}}; a recipe is its settings as text. SystemExit where an organism lacks a recipe or a seed of it."""
    found = {}
    for line in lines:
        settings = {name: value for name, value in line["cell"].items() if name != "organism"}
        recipe = ", ".join(f"{name} {value:g}" for name, value in settings.items())
        found.setdefault(line["cell"]["organism"], {}).setdefault(recipe, {})[line["seed"]] = line["figures"]["f1"]
    counts = {organism: sorted((recipe, sorted(seeds)) for recipe, seeds in recipes.items()) for organism, recipes in found.items()}
    if len(found) < 2 or any(count != next(iter(counts.values())) for count in counts.values()):
        raise SystemExit("chosen: each of two or more organisms needs the same recipes with the same seeds: compute what the table lacks first")
    return {organism: {recipe: statistics.fmean(seeds.values()) for recipe, seeds in recipes.items()} for organism, recipes in found.items()}


def chosen_elsewhere(means):
    """[(organism, recipe that the others choose, its F1 here, best recipe here, its F1)]"""
    rows = []
    for organism, own in means.items():
        others = [recipes for name, recipes in means.items() if name != organism]
        best = max(own, key=lambda recipe: statistics.fmean(recipes[recipe] for recipes in others))
        here = max(own, key=own.get)
        rows.append((organism, best, own[best], here, own[here]))
    return rows


def table(rows):
    lines = ["| organism | recipe chosen elsewhere | F1 | recipe chosen here | F1 |", "| -- | -- | -- | -- | -- |"]
    return "\n".join([*lines, *(f"| {organism} | {best} | {f1:.4f} | {here} | {own:.4f} |" for organism, best, f1, here, own in rows)])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", nargs="?", type=pathlib.Path, default=RESULTS, help="the finished cells (default: those of the project)")
    path = parser.parse_args().results
    if not path.is_file():
        raise SystemExit(f"chosen: there is no file {path}: make science TABLE=promoter_recipes computes it")
    print(table(chosen_elsewhere(means_of(map(json.loads, path.read_text(encoding="utf-8").splitlines())))))


if __name__ == "__main__":
    main()
