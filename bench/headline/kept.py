# SPDX-License-Identifier: Apache-2.0
"""Figures of one kind of processor, run by run, in bench/figures/PROCESSOR.json."""
import datetime
import json
import os
import pathlib
import re
import subprocess

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "figures"
FELL = 0.05
FLAGS = ("amx_bf16", "avx512_bf16", "avx512f", "avx2")


def cpu_line(name):
    return next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo") if line.startswith(name)), "")


def processor():
    """The processor as a file is named: its model, family and stepping, its best instructions and the number of cores."""
    flags = cpu_line("flags").split()
    best = next((flag for flag in FLAGS if flag in flags), "plain")
    text = f"{cpu_line('model name') or 'processor'} {cpu_line('cpu family')}.{cpu_line('model')} {best} {os.cpu_count()} cores"
    return re.sub(r"[^a-z0-9.]+", "-", text.lower()).strip("-")


def commit():
    done = subprocess.run(["git", "rev-parse", "--short=10", "HEAD"], capture_output=True, text=True, cwd=FOLDER.parent)
    return done.stdout.strip()


class Store:
    def __init__(self, name, folder=FOLDER):
        self.path = folder / f"{name}.json"
        self.runs = json.loads(self.path.read_text())["runs"] if self.path.exists() else []

    def best(self, figure):
        """(value, run) of the best run before, or None."""
        known = [(run["figures"][figure.name], run) for run in self.runs if figure.name in run["figures"]]
        return (max if figure.more_is_better else min)(known, key=lambda pair: pair[0]) if known else None

    def last(self, figure):
        return next(((run["figures"][figure.name], run) for run in reversed(self.runs) if figure.name in run["figures"]), None)

    def value(self, name, found):
        """A figure of this run by its name, or why it failed or was wrong; what the last run has of it that tried, where this one did not or had no time;
        None where none did."""
        if name in found and not found[name].no_time:
            return found[name].why or found[name].value
        tried = ({**run.get("failed", {}), **run["figures"]} for run in reversed(self.runs))
        return next((known[name] for known in tried if name in known), None)

    def table(self, found):
        """Markdown: this run, the last one and the best one of the same processor."""
        lines = ["| figure | now | last | best before |", "| -- | -- | -- | -- |"]
        for measured in found.values():
            cells = [f"{pair[0]:.4g} ({pair[1]['day']})" if pair else "" for pair in (self.last(measured.figure), self.best(measured.figure))]
            lines.append(f"| {measured.figure.name} | {measured.text()} | {cells[0]} | {cells[1]} |")
        names = {name for run in self.runs for name in run["figures"] if name not in found}
        for name in sorted(names):
            run = next(run for run in reversed(self.runs) if name in run["figures"])
            lines.append(f"| {name} | kept | {run['figures'][name]:.4g} ({run['day']}) | |")
        return "\n".join(lines)

    def fallen(self, found):
        """A line for each figure that is more than 5% worse than the best before. Figures of peers say nothing of Weft."""
        lines = []
        for measured in found.values():
            before = self.best(measured.figure)
            if measured.value is None or before is None or measured.figure.is_peer:
                continue
            ratio = measured.value / before[0] if measured.figure.more_is_better else before[0] / measured.value
            if ratio < 1 - FELL:
                lines.append(f"{measured.figure.name}: {measured.text()}, {before[0]:.4g} on {before[1]['day']} at {before[1]['commit']}")
        return lines

    def add(self, found, note):
        self.runs.append({"day": str(datetime.date.today()), "commit": commit(), "note": note,
                          "figures": {name: measured.value for name, measured in found.items() if measured.value is not None},
                          "failed": {name: measured.why for name, measured in found.items() if measured.why and not measured.no_time}})  # fmt: skip
        self.path.parent.mkdir(exist_ok=True)
        whole = self.path.with_suffix(".json.part")
        whole.write_text(json.dumps({"runs": self.runs}, indent=1) + "\n")
        whole.replace(self.path)
