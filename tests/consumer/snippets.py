# SPDX-License-Identifier: Apache-2.0
"""snippets.py SOURCE OUT: the C++ of README.md and docs/*.md as programs, so that every printed line compiles.

A block ```cpp is statements behind its includes; each becomes the body of a function. Blocks that see no LibTorch go to OUT/core.cpp with a
main() that runs them; the others to OUT/torch.cpp. Those that open a model directory are compiled and not run. Lines of a block ```text right
behind a block ```cpp are what it prints: OUT/core.txt and OUT/torch.txt. Recipes show pieces of Weft's own files and are left out.
"""

import pathlib
import re
import sys

BLOCK = re.compile(r"^```(cpp|text)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
# What a snippet that only compiles is about: files that nobody has here.
NEEDS_FILES = re.compile(r"load_\w+\(|HuggingFaceTokenizer \w+\(")


def documents(source):
    return [source / "README.md", *sorted((source / "docs").glob("*.md"))]


def snippets(path):
    """(name, code, printed) of every block of C++."""
    text = path.read_text(encoding="utf-8")
    blocks = list(BLOCK.finditer(text))
    for number, block in enumerate(blocks):
        if block.group(1) == "cpp":
            after = blocks[number + 1] if number + 1 < len(blocks) else None
            # A line of text may lead from the code to what it prints.
            near = after and after.group(1) == "text" and text.count("\n\n", block.end(), after.start()) <= 2
            yield f"{path.stem}_{number}".replace("-", "_"), block.group(2), after.group(2) if near else ""


def write(out, name, found):
    """A program of the snippets in `found`, and what it prints."""
    includes = sorted({line for _, code, _ in found for line in code.splitlines() if line.startswith("#include")})
    parts = [*includes, ""]
    for snippet, code, _ in found:
        body = "\n".join(line for line in code.splitlines() if not line.startswith("#include"))
        parts.append(f"static void {snippet}() {{\n{body}\n}}\n")
    run = [snippet for snippet, code, _ in found if not NEEDS_FILES.search(code)]
    kept = [snippet for snippet, code, _ in found if NEEDS_FILES.search(code)]
    parts.append(f"void run_{name}_snippets() {{")
    parts.extend(f"  {snippet}();" for snippet in run)
    parts.extend(f"  static_cast<void>(&{snippet});" for snippet in kept)
    parts.append("}")
    if name == "core":
        parts.append("int main() { run_core_snippets(); }")
    (out / f"{name}.cpp").write_text("\n".join(parts) + "\n", encoding="utf-8")
    (out / f"{name}.txt").write_text("".join(printed for _, _, printed in found), encoding="utf-8")


def main():
    source, out = map(pathlib.Path, sys.argv[1:])
    out.mkdir(parents=True, exist_ok=True)
    found = [snippet for path in documents(source) for snippet in snippets(path)]
    if len(found) < 4:
        raise SystemExit(f"snippets: found {len(found)} in README.md and docs/*.md, expected 4 or more")
    for snippet, code, _ in found:
        if "std::cout" in code and "#include <iostream>" not in code:
            raise SystemExit(f"snippets: {snippet} prints with std::cout and does not include <iostream>")
    core = [each for each in found if not re.search(r"#include [<\"](torch|weft/(attention|models|checkpoint|tasks|training))/", each[1])]
    write(out, "core", core)
    write(out, "torch", [each for each in found if each not in core])


if __name__ == "__main__":
    main()
