# SPDX-License-Identifier: Apache-2.0
"""What a run prints: a line a test, the output of those that failed, and the closing lines in CTest's form."""
import collections
import threading

from .results import SKIPPED

SLOWEST = 10


class Printer:
    """Gets results from all workers."""

    def __init__(self, names):
        self._numbers = {name: number for number, name in enumerate(names, 1)}
        self._lock = threading.Lock()
        self.results = []

    def add(self, result):
        with self._lock:
            self.results.append(result)
            self._numbers.setdefault(result.name, len(self._numbers) + 1)
            width = len(str(len(self._numbers)))
            print(f"{len(self.results):{width}}/{len(self._numbers)} {result.name} .. {'***' * result.failed}{result.outcome} "
                  f"{result.seconds:.2f} sec", flush=True)
            if result.failed:
                print(result.output, flush=True)

    def close(self, disabled, spared, seconds):
        """Prints the closing lines; gives the exit status. `spared` cases passed before and did not run."""
        failed = [result for result in self.results if result.failed]
        skipped = [result for result in self.results if result.outcome == SKIPPED]
        rooms = collections.defaultdict(list)
        for result in self.results:
            rooms[result.room].append(result.seconds)
        slowest = sorted(self.results, key=lambda result: -result.seconds)[:SLOWEST]
        total = len(self.results)
        print(f"\n{100 * (total - len(failed)) // total if total else 100}% tests passed, {len(failed)} tests failed out of {total}"
              + (f" ({spared} more passed before, and neither their programs nor the fixtures have changed)" if spared else ""))
        print("\nTime by label:")
        width = max(map(len, rooms), default=0)
        for room, times in sorted(rooms.items()):
            print(f"{room:{width}} = {sum(times):7.2f} sec ({len(times)} test{'s' * (len(times) != 1)})")
        print(f"\nThe {len(slowest)} slowest:")
        for result in slowest:
            print(f"{result.seconds:7.2f} sec  {result.name}")
        print(f"\nTotal Test time (real) = {seconds:.2f} sec")
        self._list("The following tests did not run:", [(result.name, result.outcome) for result in skipped] +
                   [(name, "Disabled") for name in disabled])
        self._list("The following tests FAILED:", [(result.name, result.outcome) for result in failed])
        return 1 if failed else 0

    def _list(self, title, tests):
        if tests:
            print(f"\n{title}")
        for name, outcome in sorted(tests):
            print(f"\t{self._numbers.get(name, '')} - {name} ({outcome})")
