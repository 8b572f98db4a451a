# SPDX-License-Identifier: Apache-2.0
"""The site that `make docs` builds with Sphinx: every page of the tree as it is written, and the Python API from its docstrings. Nothing has to be
built before: modules that are compiled, PyTorch and transformers have stand-ins while docstrings are read.

docs/README.md, the list of pages, is its first page; its sections are the groups of the sidebar.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "python/runtime")]

project = "Weft"
version = release = re.search(r'kVersion = "(.*)"', (ROOT / "src/weft/core/version.h").read_text(encoding="utf-8"))[1]
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]

# The source is the root of the tree, so that links between pages are those of the tree; folders without pages are not walked.
root_doc = "docs/README"
include_patterns = ["*.md", "docs/**", "bench/RESULTS.md"]
exclude_patterns = [entry.name for entry in ROOT.iterdir() if entry.is_dir() and entry.name not in ("docs", "bench")]

myst_heading_anchors = 6
default_role = "code"  # `names` of docstrings
highlight_language = "text"

autodoc_mock_imports = ["torch", "transformers", "numpy", "nanobind_backend", "weft_attention._core", "weft_attention_runtime._runtime"]
autodoc_member_order = "bysource"
autodoc_typehints = "none"

html_title = f"Weft {release}"
html_theme = "alabaster"
html_theme_options = {"description": "Attention as a graph, for long texts", "fixed_sidebar": True, "page_width": "1100px", "sidebar_width": "260px"}
html_copy_source = False
html_show_sphinx = False

SECTION = re.compile(r"^## (.+)$", re.MULTILINE)
LINK = re.compile(r"\]\(([\w./-]+)\.(?:md|rst)\)")


def add_contents(app, page, text):
    """Writes below the list of pages what Sphinx takes for the order of the site: each page once, in the section that names it first."""
    if page != root_doc:
        return
    _, *sections = SECTION.split(text[0])
    groups, seen = [("Weft", ["/README", "/CHANGELOG"])], set()
    groups += [(title, LINK.findall(part)) for title, part in zip(sections[::2], sections[1::2])]
    for title, names in groups:
        new = [name for name in dict.fromkeys(names) if name not in seen]
        seen.update(new)
        text[0] += "\n".join(["\n```{toctree}", ":hidden:", f":caption: {title}", "", *new, "```", ""])


def write_first_page(app, failure):
    """The address of the site itself leads to its first page."""
    if failure is None:
        page = f'<!doctype html><meta charset="utf-8"><title>Weft</title><meta http-equiv="refresh" content="0; url={root_doc}.html">\n'
        (pathlib.Path(app.outdir) / "index.html").write_text(page, encoding="utf-8")


def setup(app):
    app.connect("source-read", add_contents)
    app.connect("build-finished", write_first_page)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
