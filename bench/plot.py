# SPDX-License-Identifier: Apache-2.0
"""Plots as SVG, for tables of results: curves over a logarithmic axis, and bars. No library that a bare machine lacks."""
import html
import math

WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 860, 480, 84, 60, 20, 330
COLOURS = ["#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#bbbbbb", "#222255", "#997700", "#004488"]


def decades(values, base):
    """Exponents of `base` that enclose the values."""
    low = math.floor(math.log(min(values), base) + 1e-9)
    return low, max(low + 1, math.ceil(math.log(max(values), base) - 1e-9))


def ticks(values):
    """About five round numbers that enclose the values."""
    low, high = min(values), max(values)
    raw = max(high - low, 1e-6 * max(abs(high), 1.0)) / 4
    unit = 10.0 ** math.floor(math.log10(raw))
    step = next(factor * unit for factor in (1, 2, 5, 10) if factor * unit >= raw)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [number * step for number in range(first, max(last, first + 1) + 1)]


class Axes:
    """Maps numbers to the page; lengths by powers of two, the other axis by powers of ten or evenly."""

    def __init__(self, curves, even=False):
        points = [point for curve in curves.values() for point in curve]
        self.even = even
        self.x = decades([x for x, _ in points], 2)
        powers = decades([y for _, y in points], 10) if not even else None
        self.marks = ticks([y for _, y in points]) if even else [10.0**power for power in range(powers[0], powers[1] + 1)]

    def height(self, y):
        return y if self.even else math.log10(y)

    def place(self, x, y):
        low, high = self.height(self.marks[0]), self.height(self.marks[-1])
        across = (math.log2(x) - self.x[0]) / (self.x[1] - self.x[0])
        up = (self.height(y) - low) / (high - low)
        return LEFT + across * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - up * (HEIGHT - BOTTOM - TOP)


def text(x, y, words, anchor="middle", turn=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{turn}>{html.escape(str(words))}</text>'


def grid(axes):
    for power in range(axes.x[0], axes.x[1] + 1):
        x, _ = axes.place(2**power, axes.marks[0])
        yield f'<line x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{HEIGHT - BOTTOM}" stroke="#ddd"/>'
        yield text(x, HEIGHT - BOTTOM + 18, f"{2**power:,}")
    for mark in axes.marks:
        _, y = axes.place(2 ** axes.x[0], mark)
        yield f'<line x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}" stroke="#ddd"/>'
        yield text(LEFT - 8, y + 4, f"{mark:g}", "end")


def drawn(axes, number, name, curve):
    colour = COLOURS[number % len(COLOURS)]
    dash = ' stroke-dasharray="6 4"' if name.startswith("dense") else ""
    places = [axes.place(*point) for point in sorted(curve)]
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    y = TOP + 12 + 22 * number
    if len(places) == 1:  # a line of one point is not seen
        yield f'<circle cx="{places[0][0]:.1f}" cy="{places[0][1]:.1f}" r="4" fill="{colour}"/>'
    yield f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>'
    yield f'<line x1="{WIDTH - RIGHT + 14}" y1="{y - 4}" x2="{WIDTH - RIGHT + 40}" y2="{y - 4}" stroke="{colour}" stroke-width="2"{dash}/>'
    yield text(WIDTH - RIGHT + 46, y, name, "start")


def page(parts, up):
    """The parts on white, with the name of the upright axis."""
    middle = (HEIGHT - BOTTOM + TOP) / 2
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" font-family="sans-serif" font-size="12">'
    name = text(18, middle, up, turn=f' transform="rotate(-90 18 {middle:.0f})"')
    return "\n".join([head, '<rect width="100%" height="100%" fill="white"/>', *parts, name, "</svg>"]) + "\n"


def lines(curves, across, up, even=False):
    """SVG of {name: [(x, y)]}; x by powers of two, y by powers of ten or `even`. Curves whose name begins with "dense" are dashed."""
    axes = Axes(curves, even)
    parts = list(grid(axes))
    for number, (name, curve) in enumerate(curves.items()):
        parts += drawn(axes, number, name, curve)
    parts.append(text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 16, across))
    return page(parts, up)


def bars(groups, up):
    """SVG of {name: [values]}: a bar from 0 to their mean, a dot for each."""
    marks = ticks([0.0, *(value for values in groups.values() for value in values)])
    width = (WIDTH - LEFT - 40) / len(groups)

    def height(value):
        return HEIGHT - BOTTOM - (value - marks[0]) / (marks[-1] - marks[0]) * (HEIGHT - BOTTOM - TOP)

    parts = []
    for mark in marks:
        parts.append(f'<line x1="{LEFT}" y1="{height(mark):.1f}" x2="{WIDTH - 40}" y2="{height(mark):.1f}" stroke="#ddd"/>')
        parts.append(text(LEFT - 8, height(mark) + 4, f"{mark:g}", "end"))
    for number, (name, values) in enumerate(groups.items()):
        mean, middle = sum(values) / len(values), LEFT + (number + 0.5) * width
        parts.append(f'<rect x="{middle - width / 3:.1f}" y="{height(mean):.1f}" width="{2 * width / 3:.1f}" '
                     f'height="{HEIGHT - BOTTOM - height(mean):.1f}" fill="{COLOURS[number % len(COLOURS)]}" fill-opacity="0.75"/>')
        parts += [f'<circle cx="{middle:.1f}" cy="{height(value):.1f}" r="3.5"/>' for value in values]
        parts.append(text(middle, HEIGHT - BOTTOM + 18, name))
    return page(parts, up)
