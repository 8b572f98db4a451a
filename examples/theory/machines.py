# SPDX-License-Identifier: Apache-2.0
"""Turing machines, and an interpreter that runs them as their definition says: what examples/theory/turing.py is compared with.

A machine is a dict {(state, symbol): (next state, symbol to write, move)}, where a move is -1, 0 or 1; it begins in state 0 on the first symbol of its
input, and halts where there is no rule. Symbols are whole numbers; 0 is blank.
"""
import itertools
import random
from typing import NamedTuple

BLANK = 0


class Machine(NamedTuple):
    """Rules over states 0 to states - 1 and symbols 0 to symbols - 1."""

    name: str
    rules: dict
    states: int
    symbols: int


class Configuration(NamedTuple):
    """The tape (cells that were never written are blank), the cell of the head, and the state."""

    tape: dict
    head: int
    state: int


def machine(name, rules):
    """Rules as text, one a line: "state symbol -> state symbol move"."""
    parsed = {}
    for line in rules.strip().splitlines():
        left, right = line.split("->")
        state, symbol = map(int, left.split())
        following, written, move = map(int, right.split())
        parsed[state, symbol] = (following, written, move)
    states = 1 + max(max(state, rule[0]) for (state, _), rule in parsed.items())
    symbols = 1 + max(max(symbol, rule[1]) for (_, symbol), rule in parsed.items())
    return Machine(name, parsed, states, max(symbols, 3))


# Inputs are words over the symbols 1 and 2.
INCREMENT = machine("adds one to a binary number, 1 for nought and 2 for one", """
    0 1 -> 0 1 1
    0 2 -> 0 2 1
    0 0 -> 1 0 -1
    1 2 -> 1 1 -1
    1 1 -> 2 2 0
    1 0 -> 2 2 0
""")
REVERSE_PAIRS = machine("swaps neighbours", """
    0 1 -> 1 1 1
    0 2 -> 2 2 1
    1 1 -> 0 1 1
    1 2 -> 3 1 -1
    2 2 -> 0 2 1
    2 1 -> 4 2 -1
    3 1 -> 5 2 1
    4 2 -> 5 1 1
    5 1 -> 0 1 1
    5 2 -> 0 2 1
""")
PALINDROME = machine("rubs out a palindrome from both ends; what is left says that it was none", """
    0 1 -> 1 0 1
    0 2 -> 2 0 1
    1 1 -> 1 1 1
    1 2 -> 1 2 1
    1 0 -> 3 0 -1
    2 1 -> 2 1 1
    2 2 -> 2 2 1
    2 0 -> 4 0 -1
    3 1 -> 5 0 -1
    4 2 -> 5 0 -1
    5 1 -> 5 1 -1
    5 2 -> 5 2 -1
    5 0 -> 0 0 1
""")
BUSY_BEAVER = machine("the busy beaver of four states: of all such machines on a blank tape it writes most ones, 13 in 107 steps", """
    0 0 -> 1 1 1
    0 1 -> 1 1 -1
    1 0 -> 0 1 -1
    1 1 -> 2 0 -1
    2 0 -> 4 1 1
    2 1 -> 3 1 -1
    3 0 -> 3 1 1
    3 1 -> 0 0 1
""")
MACHINES = (INCREMENT, REVERSE_PAIRS, PALINDROME, BUSY_BEAVER)


def any_machine(seed, states=6, symbols=3, halts=0.1):
    """Rules by chance, a tenth of them missing."""
    draw = random.Random(seed)
    rules = {(state, symbol): (draw.randrange(states), draw.randrange(symbols), draw.choice((-1, 0, 1)))
             for state, symbol in itertools.product(range(states), range(symbols)) if draw.random() >= halts}
    return Machine(f"drawn with seed {seed}", rules, states, symbols)


def words(longest):
    """Every word over 1 and 2 of at most `longest` symbols, the empty one too."""
    return [list(word) for length in range(longest + 1) for word in itertools.product((1, 2), repeat=length)]


def begin(word):
    return Configuration(dict(enumerate(word)), 0, 0)


def step(rules, configuration):
    """The next configuration; the same where the machine has halted."""
    tape, head, state = configuration
    rule = rules.get((state, tape.get(head, BLANK)))
    if rule is None:
        return configuration
    following, written, move = rule
    return Configuration(tape | {head: written}, head + move, following)


def run(rules, word, steps):
    """The configuration after at most so many steps, and how many were taken."""
    configuration = begin(word)
    for taken in range(steps):
        following = step(rules, configuration)
        if following is configuration:
            return configuration, taken
        configuration = following
    return configuration, steps


def cells(configuration, first, count):
    """The symbols of `count` cells from number `first` on."""
    return [configuration.tape.get(cell, BLANK) for cell in range(first, first + count)]
