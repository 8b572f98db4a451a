# SPDX-License-Identifier: Apache-2.0
"""The aims: printed as a table of what the tree has today and what it should have, never enforced."""
import collections
import re
import statistics

from . import additions, family_rules

COMMENT = re.compile(r"^\s*//")
TRAILING = re.compile(r"\s*[^\s/].*//")
WALK = re.compile(r"^### Walk: `([^`]+)`.*at most (\d+) files")
STEP = re.compile(r"^\d+\. `([^`]+\.(?:h|cpp|inc))`")
RECIPES = {"mechanism": "add-a-mechanism", "model family": "add-a-model", "task": "add-a-task", "command": "add-a-command"}


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(share * len(values)))] if values else 0


def percent(part, whole):
    return f"{100 * part / max(1, whole):.1f}%"


def table(files, functions, root):
    """Rows (what, today, aim) over the library, its functions, the tests, the documents and the history."""
    library = [file for file in files if file.is_cpp and file.path.startswith("src/")]
    tests = [file for file in files if file.path.startswith("tests/") and (file.is_cpp or file.is_python)]
    documents = {file.path: file for file in files if file.path.startswith("docs/")}
    yield from file_rows(library)
    yield from function_rows([function for function in functions if function.path.startswith("src/")])
    ratio = sum(len(file.lines) for file in tests) / max(1, sum(len(file.lines) for file in library))
    yield "test lines to a source line", f"{ratio:.2f}", "0.6"
    yield from family_rows(files, root)
    yield from path_rows(documents)
    yield "minutes of the last run of .ci/run here", ci_minutes(root), "35 on two cores"


def ci_minutes(root):
    """What .ci/run left when it passed."""
    path = root / "build/ci-seconds"
    return f"{int(path.read_text()) / 60:.0f}" if path.exists() else "none"


def file_rows(library):
    lengths = [len(file.lines) for file in library]
    pieces = collections.Counter()
    for file in library:
        pieces[file.path.rsplit(".", 1)[0]] += len(file.lines)
    lines = [line for file in library for line in file.lines]
    comments = sum(1 for line in lines if COMMENT.match(line))
    trailing = sum(1 for line in lines if TRAILING.match(line))
    cli = sum(len(file.lines) for file in library if file.room == "cli")
    yield "lines of a source and its header together, median", int(statistics.median(pieces.values() or [0])), "120 to 160"
    yield "lines of a source and its header together, 90% under", percentile(list(pieces.values()), 0.9), "300"
    yield "lines of a source and its header together, at most", max(pieces.values(), default=0), "500"
    yield "sources under 40 lines, each with its header", percent(sum(length < 40 for length in pieces.values()), len(pieces)), "under 10%"
    yield "lines of a source file, median", int(statistics.median(lengths or [0])), "90 to 120"
    yield "source files under 40 lines", percent(sum(length < 40 for length in lengths), len(lengths)), "under 12%"
    yield "lines of comment", percent(comments, sum(lengths)), "10 to 15%"
    yield "lines of comment and lines with one at their end", percent(comments + trailing, sum(lengths)), "10 to 15%"
    yield "lines of cli among all", percent(cli, sum(lengths)), "under 11%"


def function_rows(functions):
    yield "functions over 25 lines", percent(sum(function.lines > 25 for function in functions), len(functions)), "under 5%"
    yield "functions over 60 lines", sum(function.lines > 60 for function in functions), "0"
    yield "functions over 40 lines", sum(function.lines > 40 for function in functions), "under 30"
    for name, aim in (("parameters", "4"), ("complexity", "6")):
        yield f"{name} of a function, 90% under", percentile([getattr(function, name) for function in functions], 0.9), aim


def family_rows(files, root):
    """What names families outside of their folders, and what the last ones to come touched there."""
    yield "places outside of families' folders that know one", sum(1 for _ in family_rules.offences(files)), "0"
    known_by = {"_".join(words): places for words, places in family_rules.places(files).items()}
    if known_by:
        most = max(sorted(known_by), key=lambda name: len(known_by[name]))
        yield f"generic files that name a family, at most ({most})", len(known_by[most]), "3"
    if not additions.is_whole(root):
        yield "files outside its folder that the last family touched", "no whole history here", "3"
        return
    for addition in additions.of_families(root, files)[-3:]:
        yield f"files outside its folder that {', '.join(addition.names)} touched ({addition.commit[:8]})", len(addition.lines), "3"


def path_rows(documents):
    """How far an addition and a reader have to go, by what the documents say."""
    for thing, recipe in RECIPES.items():
        page = documents.get(f"docs/recipes/{recipe}.md")
        if page:
            yield f"files to add a {thing}, besides tests and documents", touched(page) or "not counted", "3"
    for command, most, count in walks(documents.get("docs/architecture.md")):
        yield f"files from main to the kernel: {command}", count, most


def touched(recipe):
    """How many files the paragraph "**Files:** `a`, `b`" of a recipe names, {h,cpp} as one."""
    paragraph = re.search(r"^\*\*Files:\*\*.*?(?:\n\n|\Z)", "\n".join(recipe.lines), re.MULTILINE | re.DOTALL)
    return len(re.findall(r"`([^`]+)`", paragraph.group())) if paragraph else 0


def walks(architecture):
    """(command, aim, files) of each walk in docs/architecture.md: a heading "### Walk: `weft ...`, at most N files" and numbered files."""
    found = []
    for line in architecture.lines if architecture else []:
        heading, step = WALK.match(line), STEP.match(line)
        if heading:
            found.append((heading.group(1), heading.group(2), []))
        elif line.startswith("#") and found:
            found.append(("", "", []))
        elif step and found:
            found[-1][2].append(step.group(1))
    return [(command, most, len(set(steps))) for command, most, steps in found if command]


def summary(files, functions, root):
    rows = [("aims", "today", "aim"), *((str(cell) for cell in row) for row in table(files, functions, root))]
    rows = [tuple(row) for row in rows]
    widths = [max(len(row[column]) for row in rows) for column in range(2)]
    return "\n".join(f"{what:{widths[0]}}  {today:>{widths[1]}}  {aim}" for what, today, aim in rows)
