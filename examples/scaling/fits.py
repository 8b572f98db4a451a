# SPDX-License-Identifier: Apache-2.0
"""The three fits of scaling curves by Hoffmann et al. 2022: which number of parameters N is best for a compute budget C = 6 N D, D tokens?

    envelope     of all training curves the lowest loss at each C; its N against C
    parabolas    of runs with one C each: the lowest point of a parabola in log N; that N against C
    parametric   L = E + A / N^alpha + B / D^beta by all runs; then N grows as C^(beta / (alpha + beta))

A run is (parameters, tokens, loss), loss in nats. The Huber losses of the parametric fit are summed: with their mean the search stops too early, which
is what Besiroglu et al. 2024 found in the published fit.
"""
from typing import NamedTuple

import numpy

DELTA = 1e-3  # of the Huber loss, in logarithms of losses
SMALL = 1e-9  # of the gradient at the end of a search
SAME = 1e-12  # losses that are as near as this, relatively, are one number rounded


class Parametric(NamedTuple):
    E: float
    A: float
    B: float
    alpha: float
    beta: float

    def loss(self, parameters, tokens):
        return self.E + self.A / parameters**self.alpha + self.B / tokens**self.beta

    @property
    def exponent(self):
        """a of N ~ C^a."""
        return self.beta / (self.alpha + self.beta)


def line(across, up):
    """(slope, height at 0) by least squares; ValueError for fewer than two places."""
    if len(set(across)) < 2:
        raise ValueError(f"a slope needs two budgets at least, found {len(set(across))}")
    slope, height = numpy.polyfit(across, up, 1)
    return float(slope), float(height)


def checked(runs):
    """[runs, 3] of positive numbers. ValueError names the run that is none."""
    rows = numpy.asarray(runs, dtype=float)
    if rows.ndim != 2 or rows.shape[1] != 3:
        raise ValueError(f"runs must be rows of parameters, tokens and loss, found the shape {rows.shape}")
    for number, row in enumerate(rows, 1):
        if not (numpy.isfinite(row).all() and (row > 0).all()):
            raise ValueError(f"run {number}: parameters, tokens and loss must be positive numbers, found {row.tolist()}")
    return rows


def path_of(size, curve):
    """(log C, log L) of a training curve. ValueError where its tokens do not grow: between such points nothing can be read off."""
    rows = checked([(size, tokens, loss) for tokens, loss in curve])
    if not (numpy.diff(rows[:, 1]) > 0).all():
        raise ValueError(f"the curve of {size:g} parameters: each point must have more tokens than the one before it")
    return numpy.log(6 * size * rows[:, 1]), numpy.log(rows[:, 2])


def envelope(curves, points=100):
    """a of N ~ C^a from {parameters: [(tokens, loss)]}: at each of `points` budgets that two sizes reached, the size with the lowest loss."""
    if not curves:
        raise ValueError("an envelope needs training curves, found none")
    paths = {size: path_of(size, curve) for size, curve in curves.items()}
    low, high = min(path[0][0] for path in paths.values()), max(path[0][-1] for path in paths.values())
    budgets, best = [], []
    for budget in numpy.linspace(low, high, points):
        reached = {size: numpy.interp(budget, *path) for size, path in paths.items() if path[0][0] <= budget <= path[0][-1]}
        if len(reached) > 1:
            size = min(reached, key=reached.get)
            if size not in (min(reached), max(reached)):  # at an end the best size may lie beyond
                budgets.append(budget)
                best.append(numpy.log(size))
    return line(budgets, best)[0]


def lowest(runs):
    """log N at the lowest point of a parabola through losses of one budget; ValueError where it is not between the sizes."""
    rows = checked(runs)
    sizes = numpy.log(rows[:, 0])
    square, slope, _ = numpy.polyfit(sizes, rows[:, 2], 2) if len(set(sizes)) > 2 and differ(rows[:, 2]) else (0.0, 0.0, 0.0)
    if square <= 0 or not sizes.min() <= -slope / (2 * square) <= sizes.max():
        raise ValueError(f"{len(rows)} runs of one budget have no lowest point between them: add smaller and larger models")
    return -slope / (2 * square)


def parabolas(budgets):
    """a of N ~ C^a from {C: runs of that budget}."""
    return line(numpy.log(list(budgets)), [lowest(runs) for runs in budgets.values()])[0]


def objective(rows):
    """The sum of Huber losses of log L and its gradient, by (log E, log A, log B, alpha, beta)."""
    size, tokens, loss = numpy.log(rows).T

    def value(point):
        e, a, b, alpha, beta = point
        parts = numpy.stack([numpy.full_like(size, e), a - alpha * size, b - beta * tokens])
        top = parts.max(axis=0)
        shares = numpy.exp(parts - top)
        total = shares.sum(axis=0)
        difference = top + numpy.log(total) - loss
        far = numpy.abs(difference) > DELTA
        huber = numpy.where(far, DELTA * (numpy.abs(difference) - DELTA / 2), difference**2 / 2)
        pull = numpy.clip(difference, -DELTA, DELTA) * shares / total
        gradient = numpy.array([pull[0].sum(), pull[1].sum(), pull[2].sum(), -(pull[1] * size).sum(), -(pull[2] * tokens).sum()])
        return huber.sum(), gradient

    return value


def direction(gradient, steps, changes):
    """Of L-BFGS (Nocedal 1980): the two loops."""
    found, shares = gradient.copy(), []
    for step, change in zip(reversed(steps), reversed(changes)):
        shares.append(step @ found / (step @ change))
        found -= shares[-1] * change
    if steps:
        found *= steps[-1] @ changes[-1] / (changes[-1] @ changes[-1])
    for step, change, share in zip(steps, changes, reversed(shares)):
        found += (share - change @ found / (step @ change)) * step
    return -found


def minimum(value, point, most=2000, memory=10):
    """(point, value) where L-BFGS ends."""
    point = numpy.array(point, dtype=float)
    height, gradient = value(point)
    steps, changes, idle = [], [], 0
    for _ in range(most):
        if numpy.abs(gradient).max() < SMALL or idle > 5:
            break
        way = direction(gradient, steps, changes)
        if way @ gradient >= 0:
            way, steps, changes = -gradient, [], []
        length = 1.0 if steps else min(1.0, 0.1 / numpy.abs(way).max())
        while length > 1e-14 and not value(point + length * way)[0] <= height + 1e-4 * length * (way @ gradient):
            length /= 2
        if length <= 1e-14:
            break
        step = length * way
        following = value(point + step)
        idle = idle + 1 if height - following[0] <= 1e-12 * height else 0  # rounding is all that still moves
        change = following[1] - gradient
        if step @ change > 1e-20:
            steps, changes = [*steps, step][-memory:], [*changes, change][-memory:]
        point, (height, gradient) = point + step, following
    return point, height


def differ(losses):
    """Whether they do by more than rounding: equal losses fit every exponent."""
    return not numpy.allclose(losses, losses[0], rtol=SAME, atol=0)


STARTS = [(e, a, b, alpha, beta) for e in (-0.5, 0.5) for a in (4.0, 8.0) for b in (4.0, 8.0) for alpha in (0.3, 0.6) for beta in (0.3, 0.6)]


def parametric(runs, starts=None):
    """The best of the searches from a grid of starts. ValueError for fewer runs than the five numbers need, of one size or number of tokens, or of one loss."""
    rows = checked(runs)
    if len(rows) < 6 or len(set(rows[:, 0])) < 3 or len(set(rows[:, 1])) < 3:
        raise ValueError(f"five numbers need six runs of three sizes and three numbers of tokens, found {len(rows)} runs")
    if not differ(rows[:, 2]):
        raise ValueError(f"five numbers need losses that differ, found {rows[0, 2]:g} in all {len(rows)} runs")
    with numpy.errstate(over="ignore", invalid="ignore"):
        point, _ = min((minimum(objective(rows), start) for start in starts or STARTS), key=lambda found: found[1])
    return Parametric(*numpy.exp(point[:3]).tolist(), *point[3:].tolist())


def bootstrap(runs, times=50, seed=0, starts=None):
    """(2.5%, 97.5%) of the exponent over fits of runs drawn with repetition; each begins where the fit of all ends."""
    rows, draw, found = checked(runs), numpy.random.default_rng(seed), []
    best = parametric(rows, starts)
    start = [*numpy.log(best[:3]), best.alpha, best.beta]
    while len(found) < times:
        drawn = rows[draw.integers(len(rows), size=len(rows))]
        if len(set(drawn[:, 0])) >= 3 and len(set(drawn[:, 1])) >= 3 and differ(drawn[:, 2]):
            found.append(parametric(drawn, [start]).exponent)
    return tuple(numpy.quantile(found, [0.025, 0.975]).tolist())
