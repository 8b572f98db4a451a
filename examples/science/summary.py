# SPDX-License-Identifier: Apache-2.0
"""Means, deviations, and which rows the seeds can tell from the best: the table that science.py prints."""
import math
import statistics

# Student's t: 97.5% lie below, by degrees of freedom from 1.
QUANTILES = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086)
NORMAL = 1.960


def quantile(degrees):
    return QUANTILES[max(1, math.floor(degrees)) - 1] if degrees < len(QUANTILES) + 1 else NORMAL


def told_apart(first, second, first_fixed=False, second_fixed=False):
    """Whether two means differ at 95% by Welch's test; a fixed row has no deviation. One seed of a row that is not fixed tells nothing."""
    parts = []
    for values, fixed in ((first, first_fixed), (second, second_fixed)):
        if not fixed and len(values) < 2:
            return False
        if not fixed:
            parts.append((statistics.variance(values) / len(values), len(values) - 1))
    error = sum(share for share, _ in parts)
    difference = abs(statistics.fmean(first) - statistics.fmean(second))
    if error == 0:
        return difference > 0
    degrees = error ** 2 / sum(share ** 2 / freedom for share, freedom in parts)
    return difference > quantile(degrees) * math.sqrt(error)


def figure(values, fixed):
    mean = statistics.fmean(values)
    if abs(mean) >= 1e6:  # counts, which no seed changes
        return f"{mean:.3g}"
    digits = 4 if abs(mean) < 10 else 2
    if fixed:
        return f"{mean:.{digits}f}"
    deviation = f"± {statistics.stdev(values):.{digits}f}" if len(values) > 1 else "one seed"
    return f"{mean:.{digits}f} {deviation}"


def grouped(table, lines):
    """[(cell, {figure: values by seed})] in the table's order; lines of cells that the table no longer has are left out."""
    rows = []
    for cell in table.cells():
        found = sorted((line for line in lines if line["cell"] == cell), key=lambda line: line["seed"])
        names = list(dict.fromkeys(name for line in found for name in line["figures"]))
        rows.append((cell, {name: [line["figures"][name] for line in found if name in line["figures"]] for name in names}))
    return rows


def best_rows(rows, figure, sign, group):
    """Of each value of the setting `group`, of all rows where it is None, the row with the best mean."""
    best = {}
    for cell, figures in rows:
        name = cell.get(group)
        if name not in best or sign * statistics.fmean(figures[figure]) > sign * statistics.fmean(best[name][1][figure]):
            best[name] = (cell, figures)
    return best


def remark_of(row, best_row, table):
    """What the last column says of a row."""
    fixed = getattr(table, "fixed", lambda cell: False)
    (cell, figures), (best_cell, best) = row, best_row
    if not figures.get(table.FIGURE):
        return "missing"
    if cell == best_cell:
        return "best"
    return "" if told_apart(figures[table.FIGURE], best[table.FIGURE], fixed(cell), fixed(best_cell)) else "not told from the best"


def where_computed(table, lines):
    """The devices and number formats that the lines of the table's cells name."""
    cells = list(table.cells())
    lines = [line for line in lines if line["cell"] in cells and "device" in line]
    found = {f"{line['machine']}, {line['device']}" + (f" in {line['dtype']}" if "dtype" in line else "") for line in lines}
    return f" Computed on: {'; '.join(sorted(found))}." if found else ""


def how_compared(seeds, group):
    within = f", within each {group}" if group else ""
    return f"Mean and deviation of {seeds} seeds; rows are told apart by Welch's test at 95%{within}."


def markdown(table, lines):
    """A Markdown table. Its last column says of each row whether it is the best, or cannot be told from the best, of all rows or of its GROUP."""
    rows = grouped(table, lines)
    fixed = getattr(table, "fixed", lambda cell: False)
    with_figure = [row for row in rows if row[1].get(table.FIGURE)]
    if not with_figure:
        return f"{table.CLAIM}\n\nNo cell is finished."
    group = getattr(table, "GROUP", None)
    best = best_rows(with_figure, table.FIGURE, 1 if table.BETTER == "larger" else -1, group)
    settings = list(dict.fromkeys(name for cell, _ in rows for name in cell))
    names = [table.FIGURE, *dict.fromkeys(name for _, figures in rows for name in figures if name != table.FIGURE)]
    text = [table.CLAIM, "", "| " + " | ".join([*settings, *names, ""]) + " |", "|" + " -- |" * (len(settings) + len(names) + 1)]
    for cell, figures in rows:
        values = [figure(figures[name], fixed(cell)) if figures.get(name) else "" for name in names]
        remark = remark_of((cell, figures), best.get(cell.get(group), (None, None)), table)
        text.append("| " + " | ".join([*(str(cell.get(name, "")) for name in settings), *values, remark]) + " |")
    seeds = max(len(figures[table.FIGURE]) for _, figures in with_figure)
    return "\n".join([*text, "", f"{how_compared(seeds, group)}{where_computed(table, lines)}"])
