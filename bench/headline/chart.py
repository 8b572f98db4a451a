# SPDX-License-Identifier: Apache-2.0
"""Long texts as one picture: bars of time and memory for each program, and its largest difference from the reference."""
import math

import plot
from headline import long_texts

WIDTH, ROW, TOP, NAMES, VALUE, DIFFERENCE = 860, 24, 58, 205, 72, 110
PANEL = (WIDTH - NAMES - 2 * VALUE - DIFFERENCE) / 2
MEMORY, LAST = NAMES + PANEL + VALUE, NAMES + 2 * (PANEL + VALUE)
OURS, OTHERS = plot.COLOURS[0], plot.COLOURS[6]
LIBRARY_NAMES = {"Weft int8": "Weft int8 weights"}


def number(value):
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 1 else f"{value:.2f}"


def plain(value):
    """One digit that counts, rounded, without an exponent."""
    return f"{value:.{-math.floor(math.log10(value))}f}" if 1e-7 <= value < 0.1 else f"{value:.1f}"


def is_number(value):
    return value is not None and not isinstance(value, str)


def bar(x, y, value, largest, unit, colour):
    if not is_number(value):
        return plot.text(x + 4, y + 12, "no room in memory" if value and long_texts.NO_ROOM in value else "not run", "start")
    width = max(1.0, PANEL * value / largest)
    return (f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="16" fill="{colour}"/>' +
            plot.text(x + width + 5, y + 12, f"{number(value)} {unit}", "start"))


def rows(length, figure, y):
    """One length: a heading, and a row for each program."""
    values = {program: {field: figure(long_texts.figure_name(program, length, field)) for field in long_texts.FIELDS} for program in long_texts.PROGRAMS}
    largest = {field: max([row[field] for row in values.values() if is_number(row[field])], default=1.0) for field in ("seconds", "peak_gb")}
    yield plot.text(10, y + 12, f"{length:,} tokens", "start")
    for program, row in values.items():
        y += ROW
        colour = OURS if program.startswith("Weft ") else OTHERS
        yield plot.text(NAMES - 8, y + 12, LIBRARY_NAMES.get(program, program), "end")
        yield bar(NAMES, y, row["seconds"], largest["seconds"], "s", colour)
        yield bar(MEMORY, y, row["peak_gb"], largest["peak_gb"], "GB", colour)
        if program != long_texts.REFERENCE and is_number(row["difference"]):
            yield plot.text(LAST, y + 12, plain(row["difference"]), "start")
        elif program == long_texts.REFERENCE:
            yield plot.text(LAST, y + 12, "the reference", "start")


def svg(figure):
    """The picture of `figure(name)`: a number, a text that says why there is none, or None."""
    height = TOP + len(long_texts.LENGTHS) * (len(long_texts.PROGRAMS) + 1.5) * ROW
    parts = [plot.text(NAMES, 24, "time", "start"), plot.text(MEMORY, 24, "most memory held", "start"), plot.text(LAST, 24, "largest difference", "start")]
    for place, length in enumerate(long_texts.LENGTHS):
        parts += rows(length, figure, TOP - ROW / 2 + place * (len(long_texts.PROGRAMS) + 1.5) * ROW)
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height:.0f}" font-family="sans-serif" font-size="12">'
    return "\n".join([head, '<rect width="100%" height="100%" fill="white"/>', *parts, "</svg>"]) + "\n"
