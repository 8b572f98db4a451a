#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What mechanisms of attention cost by length, as tables and figures for documents, from what `weft bench mechanisms --json` measured.

    weft bench mechanisms --seconds 30 --json > encoders.json
    bench/cost/mechanisms.py encoders.json [MORE.json...] [--plot docs/images/mechanism-costs]

Of a length that several files have the shortest call counts: what else a machine does only adds to it. --plot PREFIX writes PREFIX-time.svg and PREFIX-memory.svg.
"""
import argparse
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import plot  # noqa: E402
import programs  # noqa: E402

FIGURES = {"time": ("forward_backward_ms", 1.0, "ms"), "memory": ("forward_backward_bytes", 2.0**20, "MiB")}


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=pathlib.Path, help="what weft bench mechanisms --json printed")
    parser.add_argument("--plot", help="where figures go: a folder and the beginning of their names")
    return parser.parse_args()


def measured(files):
    """{mechanism: {length: numbers}} of all files, which must be of one setting."""
    found, settings = {}, None
    for file in files:
        report = json.loads(file.read_text(encoding="utf-8"))
        own = {name: report[name] for name in ("processor", "threads", "dtype", "causal", "batch", "heads", "head_dim")}
        if settings not in (None, own):
            raise SystemExit(f"{file} is of another setting: expected {settings}, found {own}")
        settings = own
        for one in report["mechanisms"]:
            by_length = found.setdefault(one["attention"], {})
            for numbers in one["lengths"]:
                before = by_length.get(numbers["length"], numbers)
                by_length[numbers["length"]] = min(before, numbers, key=lambda of: of.get(FIGURES["time"][0], float("inf")))
    return settings, found


def curves(found, name, unit):
    return {mechanism: [(length, numbers[name] / unit) for length, numbers in by_length.items() if name in numbers] for mechanism, by_length in found.items()}


def cell(number):
    """Three digits, and nothing where a mechanism was left out."""
    return "" if number is None else f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def table(points, unit):
    lengths = sorted({length for curve in points.values() for length, _ in curve})
    print(f"\n| {unit} | " + " | ".join(f"{length:,}" for length in lengths) + " |\n|---|" + "---|" * len(lengths))
    for mechanism, curve in points.items():
        print(f"| {programs.table_cell(mechanism)} | " + " | ".join(cell(dict(curve).get(length)) for length in lengths) + " |")


def main():
    chosen = options()
    settings, found = measured(chosen.files)
    print(settings)
    for name, (number, unit, word) in FIGURES.items():
        points = {mechanism: curve for mechanism, curve in curves(found, number, unit).items() if curve}
        table(points, word)
        if chosen.plot:
            target = pathlib.Path(f"{chosen.plot}-{name}.svg")
            # Long settings have no room beside the curves.
            short = {mechanism if len(mechanism) < 38 else mechanism.split("(")[0]: curve for mechanism, curve in points.items()}
            target.write_text(plot.lines(short, "tokens", f"{word}, forwards and backwards"), encoding="utf-8")


if __name__ == "__main__":
    main()
