# SPDX-License-Identifier: Apache-2.0
"""Which sequences are near copies of one another: two are where they share a quarter of the runs of 16 letters of the one that has fewer of them.

A run counts once, however often a sequence has it, so that the order of the sequences does not matter. What repeats itself has few runs: one of a
single letter has one, and is a near copy of each that holds it.

Every pair that could be one is compared, and few pairs could: two share no run unless both hold one that is in several sequences, and of those
a sequence can leave out its most frequent ones, so many that no pair depends on them alone (Bayardo et al. 2007 order words like this, rare ones
first). Letters that end every sequence of a library, or a repeat that thousands of them hold, then cost no pairs.
"""
import collections
import math

LETTERS, SHARE = 16, 0.25
SLOTS = 8  # of a table of marks, for each run that could be in it


def runs_of(bases):
    return {bases[begin:begin + LETTERS] for begin in range(len(bases) - LETTERS + 1)}


def holders_of(sequences):
    """({run: numbers of the sequences that hold it}, how many runs each sequence has); runs that a single sequence holds are left out.

    A mark per hash says first which runs can be in two sequences, so that the many that are in one are never kept."""
    slots = 1 << max(10, (SLOTS * sum(map(len, sequences))).bit_length())
    seen, sizes, holders = bytearray(slots), [], collections.defaultdict(list)
    for bases in sequences:
        runs = runs_of(bases)
        sizes.append(len(runs))
        for run in runs:
            slot = hash(run) & slots - 1
            seen[slot] += seen[slot] < 2
    for number, bases in enumerate(sequences):
        for run in runs_of(bases):
            if seen[hash(run) & slots - 1] > 1:
                holders[run].append(number)
    return {run: numbers for run, numbers in holders.items() if len(numbers) > 1}, sizes


class Groups:
    """Sequences that are joined are in one group; its number is that of its first sequence."""

    def __init__(self, sequences):
        self.holders, self.sizes = holders_of(sequences)
        self.shared = [set() for _ in sequences]
        for run, numbers in self.holders.items():
            for number in numbers:
                self.shared[number].add(run)
        self.parent = list(range(len(sequences)))
        self.settled = set()  # runs whose holders are all of one group

    def root(self, number):
        parent = self.parent
        while parent[number] != number:
            parent[number] = parent[parent[number]]
            number = parent[number]
        return number

    def join(self, one, other):
        low, high = sorted((self.root(one), self.root(other)))
        self.parent[high] = low

    def telling(self, number):
        """The runs of which a near copy that has no fewer runs than this sequence must hold one: all but the most frequent of those it shares."""
        spare = max(0, math.ceil(SHARE * self.sizes[number]) - 1)
        runs = sorted(self.shared[number], key=lambda run: len(self.holders[run]))
        return runs[:len(runs) - spare] if len(runs) > spare else []

    def strangers(self, number):
        """Sequences of other groups that have no fewer runs than this one, and one that tells."""
        found, home, least = set(), self.root(number), self.sizes[number]
        for run in self.telling(number):
            if run not in self.settled:
                away = [other for other in self.holders[run] if self.root(other) != home]
                found.update(other for other in away if self.sizes[other] >= least)
                if not away:
                    self.settled.add(run)
        return found

    def are_copies(self, one, other):
        """Of two sequences that share a run."""
        return len(self.shared[one] & self.shared[other]) >= SHARE * min(self.sizes[one], self.sizes[other])

    def join_copies(self):
        for number in range(len(self.parent)):
            for other in sorted(self.strangers(number)):
                if self.root(other) != self.root(number) and self.are_copies(number, other):
                    self.join(number, other)


def near_copies(sequences):
    """A group's number for each sequence, that of its first one; sequences too short for a run are copies where they are the same."""
    groups, firsts = Groups(sequences), {}
    for number, bases in enumerate(sequences):
        groups.join(firsts.setdefault(bases, number), number)
    groups.join_copies()
    return [groups.root(number) for number in range(len(sequences))]
