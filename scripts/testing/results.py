# SPDX-License-Identifier: Apache-2.0
"""What came of one test."""
import dataclasses

PASSED, SKIPPED, FAILED, TIMEOUT = "Passed", "Skipped", "Failed", "Timeout"


@dataclasses.dataclass(frozen=True)
class Result:
    name: str  # room.Suite.Name, or room.script
    room: str
    outcome: str  # one of the four above, or how its process ended
    seconds: float
    output: str = ""

    @property
    def failed(self):
        return self.outcome not in (PASSED, SKIPPED)
