#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The error of random features and of landmarks beside exact softmax, by their number: what bench_estimates prints as a table and a figure for each scale.

    bench/estimates/estimates.py [--program build/release/bin/bench_estimates] [--scales 0.25 0.5 1] [--tokens 1024] [--draws 3] [--plot FOLDER]
"""
import argparse
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import plot  # noqa: E402
import programs  # noqa: E402


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=programs.ROOT / "build/release/bin/bench_estimates", help="what `scripts/bench` builds")
    parser.add_argument("--scales", nargs="+", type=float, default=[0.25, 0.5, 1.0], help="of random queries and keys")
    for name, value in {"tokens": 1024, "width": 64, "draws": 3, "smooth": 1}.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--plot", type=pathlib.Path, help="a folder for figures")
    return parser.parse_args()


def errors(chosen, scale):
    """{name: {count: (error, deviation)}}, in the order of the program."""
    flags = [word for name in ("tokens", "width", "draws", "smooth") for word in (f"--{name}", getattr(chosen, name))]
    found = {}
    for line in programs.run([chosen.program, *flags, "--scale", scale, "--json"]).splitlines():
        entry = json.loads(line)
        count = entry.get("features", entry.get("landmarks"))
        found.setdefault(entry["attention"], {})[count] = (entry["error"], entry["deviation"])
    return found


def print_table(found, scale):
    counts = list(next(iter(found.values())))
    print(f"\n| scale {scale:g} | " + " | ".join(f"{count:,}" for count in counts) + " |")
    print("|---|" + "---|" * len(counts))
    for name, by_count in found.items():
        print(f"| {name} | " + " | ".join("{:.2g} ± {:.1g}".format(*by_count[count]) for count in counts) + " |", flush=True)


def main():
    chosen = options()
    programs.check_built(chosen.program)
    print("machine:", programs.machine(), flush=True)
    for scale in chosen.scales:
        found = errors(chosen, scale)
        print_table(found, scale)
        if chosen.plot:
            chosen.plot.mkdir(parents=True, exist_ok=True)
            # Powers of ten have no place for the error 0 of as many landmarks as tokens.
            curves = {name: [(count, error) for count, (error, _) in by_count.items() if error > 0] for name, by_count in found.items()}
            figure = plot.lines(curves, f"features or landmarks, scale {scale:g}", "square of the error over that of full attention")
            (chosen.plot / f"estimates-{scale:g}.svg").write_text(figure, encoding="utf-8")


if __name__ == "__main__":
    main()
