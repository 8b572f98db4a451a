# SPDX-License-Identifier: Apache-2.0
"""What a build tree has to run: the entries that CTest knows, with the environment of the preset; programs of cases have the label `cases`, and
what mostly waits, for a limit of time say, the label `waits`."""
import dataclasses
import json
import os
import subprocess
import time

from . import process
from .results import FAILED, PASSED, TIMEOUT, Result

CASES = "cases"
WAITS = "waits"
# Any other property would change what a test means, so that it is refused.
KNOWN = {"LABELS", "TIMEOUT", "COST", "ENVIRONMENT", "PROCESSORS", "WORKING_DIRECTORY"}
DEFAULT_TIMEOUT = 1500  # as CTest's


class Problem(Exception):
    """What is wrong, in one line."""


@dataclasses.dataclass(frozen=True)
class Entry:
    name: str
    labels: tuple
    command: tuple
    environment: dict  # the whole
    folder: str
    timeout: float
    cost: float
    cores: int

    @property
    def room(self):
        return next((label for label in self.labels if label not in (CASES, WAITS)), "")

    @property
    def is_program(self):
        return CASES in self.labels

    def run(self, report):
        """Runs it as one test."""
        output, begun = process.Output(), time.monotonic()
        moment = begun + self.timeout
        try:
            with process.Process(self.command, self.environment, self.folder) as running:
                while (line := running.next_line(moment)) is not None:
                    output.add(line)
                status = running.end(moment)
            outcome = PASSED if status == 0 else process.how_it_ended(status) if status < 0 else FAILED
        except process.Late:
            output.add(f"killed: no end after {self.timeout:g} s")
            outcome = TIMEOUT
        except OSError as error:
            output.add(f"{self.command[0]} cannot be started: {error.strerror}; build it first")
            outcome = FAILED
        report(Result(self.name, self.room, outcome, time.monotonic() - begun, output.text()))


def preset_environment(presets, name):
    """The variables that a test preset sets, with those that it inherits."""
    preset = next((preset for preset in presets if preset["name"] == name), None)
    if preset is None:
        raise Problem(f"CMakePresets.json has no test preset {name}; it has {', '.join(preset['name'] for preset in presets)}")
    parents = preset.get("inherits", [])
    merged = {}
    for parent in reversed([parents] if isinstance(parents, str) else parents):
        merged |= preset_environment(presets, parent)
    return merged | preset.get("environment", {})


def read(root, preset):
    """The entries of a preset. Raises Problem."""
    presets = json.loads((root / "CMakePresets.json").read_text())["testPresets"]
    environment = os.environ | preset_environment(presets, preset)
    shown = subprocess.run(["ctest", "--preset", preset, "--show-only=json-v1"], cwd=root, capture_output=True, text=True)
    if shown.returncode != 0:
        raise Problem(f"ctest --preset {preset}: {shown.stderr.strip() or 'no such tree'}; scripts/build {preset} makes it")
    return [entry(test, environment) for test in json.loads(shown.stdout)["tests"]]


def entry(test, environment):
    properties = {item["name"]: item["value"] for item in test["properties"]}
    unknown = sorted(set(properties) - KNOWN)
    if unknown:
        raise Problem(f"the test {test['name']} has the property {unknown[0]}, which scripts/run-tests does not know")
    if "command" not in test:
        raise Problem(f"the test {test['name']} has no program; build it first")
    own = dict(variable.split("=", 1) for variable in properties.get("ENVIRONMENT", []))
    labels = tuple(properties.get("LABELS", []))
    cores = 0 if WAITS in labels else int(properties.get("PROCESSORS", 1))
    return Entry(test["name"], labels, tuple(test["command"]), environment | own,
                 properties.get("WORKING_DIRECTORY", "."), float(properties.get("TIMEOUT", DEFAULT_TIMEOUT)),
                 float(properties.get("COST", 0)), cores)
