# SPDX-License-Identifier: Apache-2.0
"""Runs clang-tidy over batches of joined files, and remembers what passed."""
import hashlib
import itertools
import re
import subprocess

BATCH = 8
FINDING = re.compile(r"^(.*?):(\d+):\d+: (?:warning|error): .*\[([\w.,-]+)\]$")


def join(units):
    """Batches of units that are compiled alike and lie in one folder."""
    batches = []
    ordered = sorted(units, key=lambda unit: (unit.folder, unit.flags, unit.path))
    for _, group in itertools.groupby(ordered, key=lambda unit: (unit.folder, unit.flags)):
        group = list(group)
        batches += [group[first : first + BATCH] for first in range(0, len(group), BATCH)]
    return sorted(batches, key=len, reverse=True)


class Runner:
    def __init__(self, root, folder):
        self.root = root
        self.stamps = folder / "passed"
        self.joined = folder / "joined"
        self.program = root / ".venv/bin/clang-tidy"
        for path in (self.stamps, self.joined):
            path.mkdir(parents=True, exist_ok=True)
        self.settings = (root / ".clang-tidy").read_bytes() + (root / "scripts/requirements-tools.txt").read_bytes()

    def stamp(self, unit):
        digest = hashlib.sha256(self.settings + repr(unit.flags).encode())
        for path in sorted(unit.seen):
            digest.update(path.encode() + b"\0" + (self.root / path).read_bytes())
        return self.stamps / digest.hexdigest()

    def passed_before(self, unit):
        return self.stamp(unit).exists()

    def run(self, batch):
        """The findings in a batch: lines of text. Units without any are remembered."""
        report, broken = self.look(batch)
        if broken and len(batch) > 1:
            reports = [self.look([unit])[0] for unit in batch]
        else:
            reports = [report] * len(batch)
        for unit, found in zip(batch, reports):
            if not found:
                self.stamp(unit).touch()
        return set().union(*reports)

    def look(self, batch):
        """(findings, whether the compiler itself stumbled) of one run over the batch joined into one file."""
        sources = [str(self.root / unit.path) for unit in batch]
        source = sources[0]
        if len(batch) > 1:
            text = "".join(f'#include "{path}"\n' for path in sources)
            name = hashlib.sha256(text.encode()).hexdigest()[:16]
            source = self.joined / f"{name}.cpp"
            source.write_text(text)
        command = [self.program, "--quiet", "--extra-arg=-w", str(source), "--", *batch[0].flags]
        if len(batch) > 1:
            command.insert(1, f"--config-file={self.root / '.clang-tidy'}")
        result = subprocess.run(command, cwd=self.root, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        report = set()
        for line in result.stdout.splitlines():
            found = FINDING.match(line)
            if found:
                report.add(line.replace(f"{self.root}/", "").replace(",-warnings-as-errors", ""))
        broken = any("clang-diagnostic-error" in line for line in report)
        if result.returncode and not report:
            report.add(f"{batch[0].path}:1:1: error: clang-tidy failed: {result.stderr.strip()[-400:]}")
            broken = True
        return report, broken
