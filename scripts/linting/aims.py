# SPDX-License-Identifier: Apache-2.0
"""The aims: reported, never enforced."""
import re
import statistics

COMMENT = re.compile(r"^\s*//")
PLAIN_COMMENT = re.compile(r"^\s*//(?!/)")


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(share * len(values)))] if values else 0


def summary(files, functions):
    """One line on the library's sources, and one on comments and tests."""
    library = [file for file in files if file.is_cpp and file.path.startswith("src/")]
    tests = [file for file in files if file.path.startswith("tests/") and (file.is_cpp or file.is_python)]
    lengths = [len(file.lines) for file in library]
    return (
        f"aims: files median {int(statistics.median(lengths or [0]))} lines (110), 90% under {percentile(lengths, 0.9)} (300); "
        f"{function_summary([function for function in functions if function.path.startswith('src/')])}\n"
        f"aims: one line in {share(library, COMMENT)} is a comment (7), one in {share(library, PLAIN_COMMENT)} a plain one; "
        f"tests {sum(len(file.lines) for file in tests) / max(1, sum(lengths)):.2f} lines a source line (0.6)"
    )


def share(files, kind):
    """n where one line in n is of this kind; code with a comment behind it does not count."""
    matching = sum(1 for file in files for line in file.lines if kind.match(line))
    return f"{sum(len(file.lines) for file in files) / max(1, matching):.1f}"


def function_summary(functions):
    lines, parameters, complexity = (
        percentile([getattr(function, name) for function in functions], 0.9) for name in ("lines", "parameters", "complexity")
    )
    return f"functions 90% under {lines} lines (25), {parameters} parameters (4), complexity {complexity} (6)"
