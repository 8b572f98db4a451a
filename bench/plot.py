# SPDX-License-Identifier: Apache-2.0
"""A plot of curves on two logarithmic axes as SVG, for tables of results: no library that a bare machine lacks."""
import html
import math

WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 860, 480, 70, 60, 20, 330
COLOURS = ["#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#bbbbbb", "#222255", "#997700", "#004488"]


def decades(values, base):
    """Exponents of `base` that enclose the values."""
    low = math.floor(math.log(min(values), base) + 1e-9)
    return low, max(low + 1, math.ceil(math.log(max(values), base) - 1e-9))


class Axes:
    """Maps numbers to the page; lengths by powers of two, times by powers of ten."""

    def __init__(self, curves):
        points = [point for curve in curves.values() for point in curve]
        self.x = decades([x for x, _ in points], 2)
        self.y = decades([y for _, y in points], 10)

    def place(self, x, y):
        across = (math.log2(x) - self.x[0]) / (self.x[1] - self.x[0])
        up = (math.log10(y) - self.y[0]) / (self.y[1] - self.y[0])
        return LEFT + across * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - up * (HEIGHT - BOTTOM - TOP)


def text(x, y, words, anchor="middle", turn=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{turn}>{html.escape(str(words))}</text>'


def grid(axes):
    for power in range(axes.x[0], axes.x[1] + 1):
        x, _ = axes.place(2**power, 10 ** axes.y[0])
        yield f'<line x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{HEIGHT - BOTTOM}" stroke="#ddd"/>'
        yield text(x, HEIGHT - BOTTOM + 18, f"{2**power:,}")
    for power in range(axes.y[0], axes.y[1] + 1):
        _, y = axes.place(2 ** axes.x[0], 10**power)
        yield f'<line x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}" stroke="#ddd"/>'
        yield text(LEFT - 8, y + 4, f"{10**power:g}", "end")


def drawn(axes, number, name, curve):
    colour = COLOURS[number % len(COLOURS)]
    dash = ' stroke-dasharray="6 4"' if name.startswith("dense") else ""
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in (axes.place(*point) for point in sorted(curve)))
    y = TOP + 12 + 22 * number
    yield f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>'
    yield f'<line x1="{WIDTH - RIGHT + 14}" y1="{y - 4}" x2="{WIDTH - RIGHT + 40}" y2="{y - 4}" stroke="{colour}" stroke-width="2"{dash}/>'
    yield text(WIDTH - RIGHT + 46, y, name, "start")


def log_log(curves, across, up):
    """SVG of {name: [(x, y)]}; curves whose name begins with "dense" are dashed."""
    axes = Axes(curves)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" font-family="sans-serif" font-size="12">',
             '<rect width="100%" height="100%" fill="white"/>', *grid(axes)]
    for number, (name, curve) in enumerate(curves.items()):
        parts += drawn(axes, number, name, curve)
    middle = (HEIGHT - BOTTOM + TOP) / 2
    parts.append(text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 16, across))
    parts.append(text(18, middle, up, turn=f' transform="rotate(-90 18 {middle:.0f})"'))
    return "\n".join([*parts, "</svg>"]) + "\n"
