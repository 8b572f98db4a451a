# SPDX-License-Identifier: Apache-2.0
"""Pictures of the pages on theory as SVG: the rows of a tape with what one token reads, and the codes of all texts as strokes on a line."""
import machines
import plot
import turing
import universal

CELL, MARGIN = 26, 40
SYMBOLS = ["#ffffff", "#4477aa", "#ccbb44"]
PATHS = {turing.RIGHT: "#228833", turing.CELL: "#ee6677", turing.LEFT: "#aa3377"}


def svg(width, height, parts):
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" font-size="12">'
    return "\n".join([head, '<rect width="100%" height="100%" fill="white"/>', *parts, "</svg>"]) + "\n"


def corner(row, cell):
    return MARGIN + 20 + cell * CELL, MARGIN + row * CELL


def cells(rows, symbols):
    for row, contents in enumerate(rows):
        yield plot.text(MARGIN, MARGIN + row * CELL + 17, row, "end")
        for cell, content in enumerate(contents.tolist()):
            x, y = corner(row, cell)
            colour = SYMBOLS[content[:symbols].index(1)]
            yield f'<rect x="{x}" y="{y}" width="{CELL}" height="{CELL}" fill="{colour}" stroke="#bbb"/>'
            if 1 in content[symbols:]:
                yield f'<circle cx="{x + CELL / 2}" cy="{y + CELL / 2}" r="10" fill="white" stroke="black"/>'
                yield plot.text(x + CELL / 2, y + CELL / 2 + 4, content[symbols:].index(1))


def paths(row, cell):
    """From the token that writes a cell: the three tokens before it, and what each of them has read."""
    for back, source in enumerate((turing.RIGHT, turing.CELL, turing.LEFT)):
        (x, y), (over, above) = corner(row, cell - 1 - back), corner(row - 1, cell + 1 - back)
        yield (f'<line x1="{x + CELL / 2}" y1="{y + CELL / 2}" x2="{over + CELL / 2}" y2="{above + CELL / 2}" stroke="{PATHS[source]}" '
               f'stroke-width="3" stroke-linecap="round"/><circle cx="{x + CELL / 2}" cy="{y + CELL / 2}" r="4" fill="{PATHS[source]}"/>')
    x, y = corner(row, cell)
    yield f'<rect x="{x}" y="{y}" width="{CELL}" height="{CELL}" fill="none" stroke="black" stroke-width="3"/>'


def tape(word=(1, 2, 2, 1), shown=(10, 7)):
    """The run of the machine that rubs out palindromes on a word. One token is framed; lines show what it reads through the tokens before it."""
    machine = machines.PALINDROME
    steps = machines.run(machine.rules, list(word), 200)[1]
    rows, _ = turing.run(machine, [list(word)], steps, 16)
    rows = rows[0]
    x, y = corner(len(rows), 0)
    parts = [plot.text(x, MARGIN - 14, "a row is a step, a cell a token; the circle is the head, with its state", "start"),
             *cells(rows, machine.symbols), *paths(*shown)]
    return svg(2 * MARGIN + 40 + rows.shape[1] * CELL, y + MARGIN, parts)


def codes(count=3, parts=4):
    """A stroke for the code of each token of each text."""
    found, _ = universal.codes(universal.all_grids(count, parts), parts)
    width, left, most = 860, 70, found.max().item()
    drawn = [plot.text(left, 22, f"{found.numel()} codes of {len(found)} texts of {count} numbers, each a multiple of 1/{parts}: no two are equal", "start")]
    for token in range(count):
        y = 40 + 50 * token
        drawn.append(plot.text(left - 8, y + 20, f"token {token + 1}", "end"))
        for code in found[:, token].tolist():
            x = left + code / most * (width - left - 30)
            drawn.append(f'<line x1="{x:.2f}" y1="{y}" x2="{x:.2f}" y2="{y + 36}" stroke="{plot.COLOURS[token]}" stroke-width="0.8"/>')
    drawn += [plot.text(left, 40 + 50 * count + 12, "0"), plot.text(width - 30, 40 + 50 * count + 12, f"{most:,.0f}")]
    return svg(width, 40 + 50 * count + 30, drawn)
