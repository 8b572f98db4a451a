#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fits the curves of fits.py to the runs of `make science TABLE=scaling`, foretells the runs that were held out, and draws a picture.

    .venv/bin/python3 examples/scaling/scaling.py [--results examples/science/results/scaling.jsonl] [--plot scaling.svg]

It needs numpy, which the Python of .venv has.

Each fit is there twice. With `all work` the parameters of a model are its operations for a byte, divided by 6: weights of the layers and of the head,
and attention. With `layers` they are the weights of the layers alone, as Kaplan et al. 2020 count. Below a width of 64 the difference is large.
"""
import argparse
import collections
import json
import math
import pathlib
import statistics
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent), str(ROOT / "bench"), str(ROOT / "examples/science")]

import fits  # noqa: E402
import plot  # noqa: E402
from tables.scaling import HELD_OUT  # noqa: E402

Run = collections.namedtuple("Run", "compute shape layers work bytes loss")  # layers, work: parameters by either count; loss in nats
STARTS = fits.STARTS[::4]
COUNTS = {"all work": lambda run: run.work, "layers": lambda run: run.layers}


def read_runs(path):
    """Errors: no file, a line that is no run."""
    if not path.is_file():
        raise SystemExit(f"scaling: there is no {path}: make science TABLE=scaling computes it")
    runs = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        try:
            found = json.loads(line)
            cell, figures = found["cell"], found["figures"]
            layers = 12 * cell["layers"] * cell["width"] ** 2
            runs.append(Run(cell["compute"], (cell["layers"], cell["width"]), layers, figures["operations"] / 6 / figures["bytes"], figures["bytes"],
                            figures["bits_per_byte"] * math.log(2)))
        except (json.JSONDecodeError, KeyError, TypeError) as error:
            raise SystemExit(f"scaling: {path} line {number} is no run of the table scaling: {error!r}") from None
    return runs


def tried(fit, *arguments):
    """The exponent as text, or why there is none."""
    try:
        return f"{fit(*arguments):.3f}"
    except ValueError as error:
        return f"none: {error}"


def rows_of(runs, count):
    return [(count(run), run.bytes, run.loss) for run in runs]


def curves_of(runs, count):
    """{parameters: [(bytes, mean loss of the seeds)]} of sizes with two computes or more."""
    found = collections.defaultdict(lambda: collections.defaultdict(list))
    for run in runs:
        found[count(run)][run.bytes].append(run.loss)
    return {size: sorted((seen, statistics.fmean(losses)) for seen, losses in points.items()) for size, points in found.items() if len(points) > 1}


def by_compute(runs, count):
    found = collections.defaultdict(list)
    for run in runs:
        found[float(run.compute)].append((count(run), run.bytes, run.loss))
    return dict(found)


def report(runs):
    """Lines of Markdown."""
    learned, held_out = [run for run in runs if run.compute != HELD_OUT], [run for run in runs if run.compute == HELD_OUT]
    yield f"{len(learned)} runs of {len({run.shape for run in learned})} sizes and {len({run.compute for run in learned})} computes; a of N ~ C^a:"
    yield from ("", "| parameters | envelope | parabolas | parametric | 95% of it | E, bits per byte |", "| -- | -- | -- | -- | -- | -- |")
    best = {}
    for name, count in COUNTS.items():
        rows = rows_of(learned, count)
        best[name] = fits.parametric(rows, STARTS)
        low, high = fits.bootstrap(rows, starts=STARTS)
        yield (f"| {name} | {tried(fits.envelope, curves_of(learned, count))} | {tried(fits.parabolas, by_compute(learned, count))} | "
               f"{best[name].exponent:.3f} | {low:.3f} to {high:.3f} | {best[name].E / math.log(2):.3f} |")
    if held_out:
        nearest = max({run.compute for run in learned}, key=float)
        same = [run.loss for run in learned if run.compute == nearest]
        measured = [run.loss / math.log(2) for run in held_out]
        deviation = f" ± {statistics.stdev(measured):.4f}" if len(measured) > 1 else ""
        yield ""
        yield f"Held out, compute {HELD_OUT}: {statistics.fmean(measured):.4f}{deviation} bits per byte of {len(measured)} seeds were measured; foretold by"
        for name, count in COUNTS.items():
            yield f"- {name}: {best[name].loss(count(held_out[0]), held_out[0].bytes) / math.log(2):.4f}"
        yield f"- no gain over the best run of {nearest}: {min(same) / math.log(2):.4f}"


def picture(runs):
    found = collections.defaultdict(lambda: collections.defaultdict(list))
    for run in runs:
        found[f"{run.compute} operations"][run.work].append(run.loss / math.log(2))
    curves = {name: [(size, statistics.fmean(losses)) for size, losses in sizes.items()] for name, sizes in found.items()}
    return plot.lines(curves, "parameters, counted by all work", "bits per byte", even=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=pathlib.Path, default=ROOT / "examples/science/results/scaling.jsonl", help="the table's finished cells")
    parser.add_argument("--plot", type=pathlib.Path, help="SVG of the losses by size and compute")
    chosen = parser.parse_args()
    runs = read_runs(chosen.results)
    try:
        print("\n".join(report(runs)))
    except ValueError as error:
        raise SystemExit(f"scaling: {chosen.results}: {error}") from None
    if chosen.plot:
        chosen.plot.write_text(picture(runs), encoding="utf-8")


if __name__ == "__main__":
    main()
