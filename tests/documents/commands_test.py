# SPDX-License-Identifier: Apache-2.0
"""Every command of README.md and docs/**/*.md runs as it is printed, page by page in a folder of the page, in the short form of small.py, with the
files and models of world.py. What cannot run is in not_run.txt with its reason. Lines of syntax (`weft eval RUN [--json]`) and commands
inside of sentences are held to the flags that the program has."""

import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from commands import SOURCE, flags, flags_in_sentences, in_sentences, of_page, pages, programs_of_the_tree, unquoted  # noqa: E402
from weft_program import BINARY, environment, forked, weft  # noqa: E402
from world import NAMES, World  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
# Pages that make all that they need, whose commands run without small.py: they are short enough.
WHOLE = ("docs/tutorial.md", "docs/embeddings.md")
ADDED_BY_RECIPES = "weft count"  # docs/recipes/add-a-command.md
# The package index has a `weft` of another project; ours are weft-attention and weft-attention-runtime.
FOREIGN_PACKAGE = re.compile(r"\b(?:pip3?|pipx|uv|uv pip) +(?:install|add|download)\b(?:[^\n`),;]*?[\s'\"])?weft(?![\w/-]|\.\w)")
OUTPUT = re.compile(r"(?:^|\s)(?:--out|-o|--output)\s+(\S+)")


def reasons():
    """{(page, beginning of the command): why it does not run}"""
    found = {}
    for line in (HERE / "not_run.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            what, reason = line.split("\t")
            page, _, beginning = what.partition(": ")
            found[page, beginning] = reason
    return found


class Page:
    """A folder, the programs on its path, and the server that its last `weft serve` began."""

    def __init__(self, path, world, folder):
        self.name, self.world = str(path.relative_to(SOURCE)), world
        self.commands = [command for command in of_page(path) if not command.usage]
        self.folder = folder / re.sub(r"\W", "-", self.name)
        (self.folder / ".bin").mkdir(parents=True)
        small = f'"{sys.executable}" "{HERE / "small.py"}"'
        programs = {"weft": f'{small} "{BINARY}"'} | {name: f'"{sys.executable}" "{HERE / "others.py"}" {name}' for name in ("curl", "torchrun", "mpirun")}
        for name, start in programs.items():
            (self.folder / ".bin" / name).write_text(f'#!/bin/sh\nexec {start} "$@"\n')
            (self.folder / ".bin" / name).chmod(0o755)
        self.environment = environment(WEFT_THREADS="1", HF_HUB_OFFLINE="1", HF_HOME="/nonexistent", PYTHONDONTWRITEBYTECODE="1", **forked.served(environment()))
        self.environment["PATH"] = f"{self.folder / '.bin'}{os.pathsep}{self.environment['PATH']}"
        if self.name in WHOLE:
            self.environment["WEFT_DOCUMENTS_WHOLE"] = "1"
        self.server = None

    def run(self, skipped):
        """[what went wrong]"""
        wrong = []
        for command in self.commands:
            if skipped(command):
                continue
            try:
                begun = time.monotonic()
                fault = self.run_one(command)
                if os.environ.get("WEFT_DOCUMENTS_TIMES"):
                    print(f"{time.monotonic() - begun:6.2f} s  {command.where}  {command.text[:100]}", file=sys.stderr)
            except (subprocess.TimeoutExpired, AssertionError) as error:
                fault = str(error)
            if fault:
                wrong.append(f"{command.where}: {command.text}\n{fault}")
        return wrong + self.stop_server()

    def prepare(self, command):
        """What the command names is there, and what it makes is not there yet."""
        made = OUTPUT.findall(unquoted(command.text))
        if "--resume" not in command.text:
            for name in made:
                shutil.rmtree(self.folder / name, ignore_errors=True)
                (self.folder / name).unlink(missing_ok=True)
        for name in NAMES if self.name not in WHOLE else ():
            if name not in made and re.search(rf"(?<![\w./-]){re.escape(name)}(?![\w./-])", command.text):
                self.world.link(name, self.folder)

    def run_one(self, command):
        self.prepare(command)
        if not command.text.startswith("curl "):
            wrong = self.stop_server()
            if wrong:
                return wrong[0]
        if command.text.startswith("weft serve ") or "--serve" in command.text:
            return self.serve(command)
        script = f"{command.setting}; {command.text}" if command.setting else command.text
        done = subprocess.run(["bash", "-e", "-o", "pipefail", "-c", script], cwd=self.folder, env=self.environment, capture_output=True, text=True,
                              errors="replace", timeout=120)
        fails = any(line.startswith("weft: error: ") for line in command.printed)
        if (done.returncode != 0) != fails:
            return f"exited with {done.returncode}: {done.stderr[-2000:]}"
        if command.printed and command.text.startswith("weft pattern "):
            printed = "\n".join(command.printed).strip()
            found = (done.stderr if fails else done.stdout).strip()
            if found != printed:
                return f"printed\n{found}\nand not\n{printed}"
        return None

    def serve(self, command):
        log = self.folder / "serve.log"
        with log.open("w") as errors:
            self.server = subprocess.Popen(["bash", "-c", f"exec {command.text}"], cwd=self.folder, env=self.environment, stdout=subprocess.PIPE,
                                           stderr=errors, text=True)
        said = self.server.stdout.readline()
        port = re.search(r"(?:listening on|\"listening\":\")\D*[\d.]+:(\d+)", said)
        if not port:
            self.server.kill()
            self.server = None
            return f"did not listen: {said}{log.read_text()}"
        self.environment["WEFT_DOCUMENTS_PORT"] = port.group(1)
        return None

    def stop_server(self):
        if self.server is None:
            return []
        server, self.server = self.server, None
        server.send_signal(signal.SIGTERM)
        server.communicate(timeout=60)
        return [] if server.returncode == 0 else [f"{self.name}: the server ended with {server.returncode}: {(self.folder / 'serve.log').read_text()}"]


class DocumentedCommandsTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="weft-documents-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def test_every_command_runs(self):
        listed, used = reasons(), set()

        def skipped(command):
            for page, beginning in listed:
                if command.page == page and command.text.startswith(beginning):
                    used.add((page, beginning))
                    return True
            return False

        only = os.environ.get("WEFT_DOCUMENTS_ONLY", "")  # a part of a page's name, to look at one page
        world = World(self.folder / "world")
        chosen = [Page(path, world, self.folder) for path in pages() if only in str(path)]
        chosen.sort(key=lambda page: -len(page.commands))
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            wrong = [fault for faults in pool.map(lambda page: page.run(skipped), chosen) for fault in faults]
        self.assertEqual(wrong, [], "\n\n".join(wrong))
        if only in "docs/tutorial.md":  # which says that the accuracy is about 0.97, and what the model answers
            made = self.folder / "docs-tutorial-md"
            figures = [json.loads(line) for line in (made / "model/metrics.jsonl").read_text().splitlines()]
            self.assertGreater([entry["eval"]["accuracy"] for entry in figures if "eval" in entry][-1], 0.94)
            self.assertRegex((made / "answered.csv").read_text(), r"sound\.,technical,[\d.]+\n2,.*refund\.,billing,")
        if not only:
            self.assertGreater(sum(len(page.commands) for page in chosen), 150)
            self.assertEqual(set(listed) - used, set(), "not_run.txt names commands that no page has")

    def test_lines_of_syntax_name_flags_that_there_are(self):
        self.assertEqual(weft("manual", self.folder).returncode, 0)
        manual = {page.name[:-2]: page.read_text(encoding="utf-8").replace("\\-", "-") for page in self.folder.rglob("weft*.1")}
        known = {name: set(re.findall(r"\\fB(--[a-z][a-z0-9-]*)\\fR", page)) for name, page in manual.items()}
        self.assertIn("--train-text", known["weft-train"])
        said = [entry for path in pages() for entry in in_sentences(path)]
        said += [(command.where, command.text) for path in pages() for command in of_page(path)]
        said += [(f"weft manual: {name}", line.strip()) for name, page in manual.items() for line in page.splitlines() if line.startswith("  weft ")]
        self.assertGreater(len(said), 400)
        wrong = [fault for where, text in said for fault in self.unknown(where, text, known)]
        every = set().union(*known.values())
        wrong += [f"{where}: no command has {flag}" for path in pages() for where, flag in flags_in_sentences(path) if flag not in every]
        self.assertEqual(wrong, [], "\n".join(wrong))

    def unknown(self, where, text, known):
        """What a line calls by names that the program does not have."""
        for part in re.split(r"\s*(?:&&|;|\|\s*weft)\s*", text):
            words = unquoted(part).split()
            if part.startswith(ADDED_BY_RECIPES) or len(words) < 2 or words[0] != "weft" or not re.fullmatch(r"[a-z][a-z-]+", words[1]):
                continue
            name = next((name for name in ("-".join(words[:3]), "-".join(words[:2])) if name in known), None)
            if name is None:
                yield f"{where}: no such command: {part}"
            else:
                yield from (f"{where}: {name} has no {flag}: {part}" for flag in flags(part) if flag not in known[name])

    def test_the_list_of_pages_is_whole(self):
        listed = re.findall(r"\]\(([^)#]+)\)", (SOURCE / "docs/README.md").read_text(encoding="utf-8"))
        there = {str(path.relative_to(SOURCE / "docs")) for path in (SOURCE / "docs").rglob("*.md")} - {"README.md"}
        self.assertEqual(there - set(listed), set(), "docs/README.md lists every page of docs/")

    def test_no_text_names_the_package_of_another_project(self):
        said = ("pip install weft", "pip3 install --upgrade 'weft==1.0'", "uv add weft[torch]", 'hint("pip install torch weft")', "uv pip install -q weft.")
        self.assertEqual([text for text in said if not FOREIGN_PACKAGE.search(text)], [])
        fine = ("pip install weft-attention", "pip install dist/weft_attention-*.whl", "pip install --target ~/weft/lib torch", "`pip install torch`, then weft train")
        self.assertEqual([text for text in fine if FOREIGN_PACKAGE.search(text)], [])
        places = [SOURCE / name for name in ("src", "python", "scripts", "docs", "examples", "bench", "share", "cmake")]
        files = [*SOURCE.glob("*.md"), SOURCE / "Dockerfile", SOURCE / "Makefile", *(path for place in places for path in place.rglob("*"))]
        wrong = []
        for path in files:
            if path.is_file() and path.suffix not in (".safetensors", ".png", ".pyc"):
                joined = re.sub(r'"\s*\n\s*f?"', "", path.read_text(encoding="utf-8", errors="replace"))  # a text of two lines of source
                wrong += [f"{path.relative_to(SOURCE)}: {found.group(0)}" for found in FOREIGN_PACKAGE.finditer(joined)]
        self.assertGreater(len(files), 1000)
        self.assertEqual(wrong, [])

    def test_programs_of_the_tree_exist_and_have_the_flags(self):
        said, wrong = [entry for path in pages() for entry in programs_of_the_tree(path)], []
        self.assertGreater(len(said), 20)
        for where, text in said:
            name = re.search(r"(bench|examples|scripts)/\S+", text).group(0)
            if not (SOURCE / name).is_file():
                wrong.append(f"{where}: no such file: {name}")
                continue
            around = [*(SOURCE / name).parent.glob("*.py"), *(SOURCE / "bench").glob("*.py"), SOURCE / name]
            read = "".join(file.read_text(encoding="utf-8") for file in around)
            # A flag stands there as "--turns" or, in a list of names, as "turns" or "eval_context".
            wrong += [f"{where}: {name} has no {flag}" for flag in flags(text)
                      if not any(f'"{form}"' in read for form in (flag, flag[2:], flag[2:].replace("-", "_")))]
        self.assertEqual(wrong, [], "\n".join(wrong))


if __name__ == "__main__":
    unittest.main()
