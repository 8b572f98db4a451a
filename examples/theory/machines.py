# SPDX-License-Identifier: Apache-2.0
"""Turing machines, and an interpreter that runs them as their definition says: what examples/theory/turing.py is compared with.

A machine is a dict {(state, symbol): (next state, symbol to write, move)}, where a move is -1, 0 or 1; it begins in state 0 on the first symbol of its
input, and halts where there is no rule. Symbols are whole numbers; 0 is blank.
"""
import itertools
import random
import re
from typing import NamedTuple

BLANK = 0
MOVES = (-1, 0, 1)
WHOLE = re.compile("-?[0-9]+")


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


def check(what, name, number, count):
    """ValueError where a number is none of 0 to count - 1."""
    if not isinstance(number, int) or not 0 <= number < count:
        raise ValueError(f"{what}: the {name} must be 0 to {count - 1}, found {number!r}")


def checked(machine):
    """The machine. ValueError names the rule that is none of a machine with so many states and symbols."""
    if not machine.rules:
        raise ValueError(f"machine {machine.name!r} needs a rule, found none")
    for (state, symbol), (following, written, move) in machine.rules.items():
        what = f"machine {machine.name!r}, rule {state} {symbol} -> {following} {written} {move}"
        for name, number in (("state", state), ("next state", following)):
            check(what, name, number, machine.states)
        for name, number in (("symbol", symbol), ("symbol to write", written)):
            check(what, name, number, machine.symbols)
        if move not in MOVES:
            raise ValueError(f"{what}: the move must be -1, 0 or 1, found {move!r}")
    return machine


def check_word(machine, word):
    """ValueError where a symbol of a word is none of the machine's."""
    for place, symbol in enumerate(word, 1):
        check(f"machine {machine.name!r}, word {word}, place {place}", "symbol", symbol, machine.symbols)


def rule_of(line, what):
    """(state, symbol), (next state, symbol to write, move)"""
    left, _, right = (part.split() for part in line.partition("->"))
    if (len(left), len(right)) != (2, 3) or not all(WHOLE.fullmatch(word) for word in left + right):
        raise ValueError(f'{what}: expected "state symbol -> state symbol move", whole numbers, found {line.strip()!r}')
    return tuple(map(int, left)), tuple(map(int, right))


def machine(name, rules):
    """Rules as text, one a line: "state symbol -> state symbol move". ValueError names the line that is none, or the second one of a state and symbol."""
    parsed = {}
    for number, line in enumerate(rules.strip().splitlines(), 1):
        place, rule = rule_of(line, f"machine {name!r}, line {number}")
        if place in parsed:
            raise ValueError(f"machine {name!r}, line {number}: expected one rule for state {place[0]} and symbol {place[1]}, found a second one")
        parsed[place] = rule
    states = 1 + max((max(state, rule[0]) for (state, _), rule in parsed.items()), default=0)
    symbols = 1 + max((max(symbol, rule[1]) for (_, symbol), rule in parsed.items()), default=0)
    return checked(Machine(name, parsed, states, max(symbols, 3)))


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
    rules = {(state, symbol): (draw.randrange(states), draw.randrange(symbols), draw.choice(MOVES))
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
