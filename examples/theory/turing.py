#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A Turing machine compiled to the weights of a transformer with two layers whose token i sees i, i - 1, i - 2, i - 4, i - 8 and so on, and no other.

The transformer writes the tape, row after row: one token a cell, one row a step. A token's content is its cell's symbol, and the state where the head is
there, as ones and noughts; its position enters as (1, i, i^2). Rows have 2^k + 2 cells, so that the token which writes cell c finds c + 1 of the row
before 2^k places back:

    layer 1   every token reads the content 2^k places back.
    layer 2   it reads what the two tokens before it, and itself, have read: cells c - 1, c and c + 1 of the row before.
    ReLU      one unit for each rule and each of the three cells says whether the rule is used there; all weights are -1, 0 or 1.

    .venv/bin/python3 examples/theory/turing.py [--picture turing.svg]
"""
import argparse
import pathlib
from typing import NamedTuple

import hard
import torch

try:
    import machines
except ValueError as error:
    raise SystemExit(f"theory: {error}") from None


class Weights(NamedTuple):
    """next = cell + up @ relu(down @ (right, cell, left) - 1); down [units, 3 * content], up [content, units]. back is 2^k."""

    down: torch.Tensor
    up: torch.Tensor
    symbols: int
    back: int

    @property
    def row(self):
        return self.back + 2


LEAST_BACK = 8  # so that the input does not begin at the end of a row
RIGHT, CELL, LEFT = range(3)  # what heads 0, 1 and 2 of layer 2 read, and from where a head that moves by -1, 0 or 1 comes


def compiled(machine, back):
    """The weights of a machine, for rows of back + 2 cells. ValueError: a rule that is none, or back is no power of two from LEAST_BACK on."""
    machines.checked(machine)
    if not isinstance(back, int) or back < LEAST_BACK or back & back - 1:
        raise ValueError(f"machine {machine.name!r}: back must be a power of two, {LEAST_BACK} or more, found {back!r}")
    content = machine.symbols + machine.states
    down, up = [], []
    for (state, symbol), (following, written, move) in machine.rules.items():
        for source in (RIGHT, CELL, LEFT):
            used, change = torch.zeros(3, content), torch.zeros(content)
            used[source, symbol] = used[source, machine.symbols + state] = 1
            if source == CELL:  # the symbol is replaced, and the head leaves
                change[symbol] -= 1
                change[written] += 1
                change[machine.symbols + state] -= 1
            if source == CELL + move:  # the head comes
                change[machine.symbols + following] += 1
            down.append(used.flatten())
            up.append(change)
    return Weights(hard.whole(torch.stack(down)), hard.whole(torch.stack(up).T), machine.symbols, back)


def pattern(length):
    """i - 2^k for all k, i itself too: at most log2(length) + 2 edges a token."""
    terms, power = ["window(left=2)"], 4
    while power < length:
        terms.append(f"window(left={power}) & !window(left={power - 1})")
        power *= 2
    return " | ".join(terms)


def look_back(values, start, first, distances, edges):
    """What tokens read at some distances, a head for each: values [B, N, C] of the tokens from number `start` on to [B, distances, N - first, C].

    Query (2 (i - distance), -1) and key (j, j^2): 2 (i - distance) j - j^2 is largest for the key j that stands `distance` before the query i.
    """
    batch, length, _ = values.shape
    place = start + torch.arange(length, dtype=torch.float64)
    key = torch.stack([place, place * place], dim=1)
    query = torch.stack([torch.stack([2 * (place[first:] - distance), -torch.ones_like(place[first:])], dim=1) for distance in distances])
    heads = len(distances)
    return hard.attend(query.expand(batch, heads, -1, 2), key.expand(batch, heads, length, 2), values[:, None].expand(-1, heads, -1, -1), edges,
                       gap=1.0, offset=first)


def forward(weights, contents, start, first, edges):
    """The content of the token after each of contents [B, N, content] from index `first` on; they are the tokens from number `start` on."""
    before = max(first - 2, 0)
    read = torch.zeros_like(contents)
    read[:, before:] = look_back(contents, start, before, [weights.back], edges)[:, 0]
    three = look_back(read, start, first, [0, 1, 2], edges)
    hidden = torch.relu(three.transpose(1, 2).flatten(2) @ weights.down.T - 1)
    return three[:, CELL] + hidden @ weights.up.T


def prompt(machine, weights, words):
    """A blank token, and row 0: the input in the middle, the head on its first symbol. Returns contents [B, 1 + row, content] and the first cell.

    ValueError: a word has a symbol that the machine has not, or more symbols than there are cells behind the first.
    """
    first = weights.row // 2 - 4
    contents = torch.zeros(len(words), 1 + weights.row, machine.symbols + machine.states, dtype=torch.float64)
    contents[:, :, machines.BLANK] = 1
    for number, word in enumerate(words):
        machines.check_word(machine, word)
        if len(word) > weights.row - first:
            raise ValueError(f"machine {machine.name!r}: a word of the tape of {weights.row} cells has at most {weights.row - first} symbols, found "
                             f"{len(word)}: run it with a larger power of two than {weights.back}")
        for cell, symbol in enumerate(word):
            contents[number, 1 + first + cell] = 0
            contents[number, 1 + first + cell, symbol] = 1
    contents[:, 1 + first, machine.symbols] = 1
    return contents, first


def run(machine, words, steps, back):
    """The rows that the transformer writes for each word: contents [B, steps + 1, row, content], and the place of cell 0 in a row.

    Tokens of a row are computed together, and tokens before the last two rows are forgotten; neither changes anything, for nothing is read there. (The last
    token of a row reads in its own row, where the cell beyond the end of the tape would be.)

    ValueError: the machine, a word or back is none (compiled, prompt), or the head came to an end of the row, so that the tape needs more cells.
    """
    weights = compiled(machine, back)
    begun, first = prompt(machine, weights, words)
    length = 1 + (steps + 1) * weights.row
    contents, edges = torch.zeros(len(words), length, begun.shape[2], dtype=torch.float64), pattern(length)
    contents[:, :begun.shape[1]] = begun
    for step in range(1, steps + 1):
        begin = 1 + step * weights.row
        start = max(0, begin - 2 * weights.row)
        contents[:, begin:begin + weights.row] = forward(weights, contents[:, start:begin + weights.row - 1], start, begin - 1 - start, edges)
    rows = contents[:, 1:].unflatten(1, (steps + 1, weights.row))
    if rows[:, :, [0, -1], machine.symbols:].any():
        raise ValueError(f"the head came to an end of the tape of {weights.row} cells: run {machine.name!r} with a larger power of two than {back}")
    return rows, first


def expected(machine, words, steps, row, first):
    """The same rows by the interpreter."""
    symbols, heads = [], []
    for word in words:
        configuration = machines.begin(word)
        for _ in range(steps + 1):
            symbols.append(machines.cells(configuration, -first, row))
            heads.append((first + configuration.head, configuration.state))
            configuration = machines.step(machine.rules, configuration)
    rows = torch.zeros(len(symbols), row, machine.symbols + machine.states, dtype=torch.float64)
    rows[:, :, :machine.symbols] = torch.nn.functional.one_hot(torch.tensor(symbols), machine.symbols)
    places, states = torch.tensor(heads).unbind(1)
    rows[torch.arange(len(rows)), places, machine.symbols + states] = 1
    return rows.unflatten(0, (len(words), steps + 1))


def agrees(machine, words, steps, back):
    """Whether every cell of every row is the interpreter's, for all words, to the last bit."""
    rows, first = run(machine, words, steps, back)
    return torch.equal(rows, expected(machine, words, steps, rows.shape[2], first))


def finds_its_place(place, dtype):
    """Whether a token of this number still tells the tokens before it apart, in numbers of this type."""
    around = torch.tensor([place - back for back in (4, 2, 1, 0)], dtype=dtype)
    key = torch.stack([around, around * around], dim=1)[None, None]
    for distance, index in ((0, 3), (1, 2), (2, 1)):
        query = torch.tensor([2.0 * (place - distance), -1.0], dtype=dtype)[None, None, None]
        if hard.attend(query, key, torch.eye(4, dtype=dtype)[None, None], "full", gap=1.0)[0, 0, 0, index] != 1:
            return False
    return True


def last_power(dtype):
    """The largest p so that 64 tokens from number 2^p on all find their place, and so do those of all smaller powers."""
    power = 3
    while all(finds_its_place(2 ** (power + 1) + more, dtype) for more in range(64)):
        power += 1
    return power


def needed_steps(machine, words, most=200):
    return max(machines.run(machine.rules, word, most)[1] for word in words)


BACK = {machines.BUSY_BEAVER.name: 32}


def table(longest=8):
    lines = ["| machine | states | rules | inputs | steps | tokens | edges a token | units | equal to the interpreter |", "|" + " -- |" * 9]
    words = machines.words(longest)
    for machine in machines.MACHINES:
        back, steps = BACK.get(machine.name, 16), needed_steps(machine, words)
        weights, length = compiled(machine, back), 1 + (steps + 1) * (back + 2)
        equal = "in every cell of every row" if agrees(machine, words, steps, back) else "NO"
        lines.append(f"| {machine.name} | {machine.states} | {len(machine.rules)} | {len(words)} | {steps} | {length:,} | {pattern(length).count('left') // 2 + 3} | "
                     f"{len(weights.down)} | {equal} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--picture", type=pathlib.Path, help="also draw the rows of a palindrome")
    chosen = parser.parse_args()
    try:
        print(table())
    except ValueError as error:
        raise SystemExit(f"theory: {error}") from None
    for name, dtype in (("float32", torch.float32), ("float64", torch.float64)):
        print(f"{name}: tokens find their place up to number 2^{last_power(dtype)}")
    if chosen.picture:
        import pictures
        chosen.picture.write_text(pictures.tape(), encoding="utf-8")


if __name__ == "__main__":
    main()
