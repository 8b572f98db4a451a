#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/lint must refuse what it forbids: every rule has a sample that fails, and a clean tree passes."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

LINT = pathlib.Path(os.environ.get("WEFT_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[2])) / "scripts/lint"
OPENING = "// SPDX-License-Identifier: Apache-2.0\n// A sample.\n"
HEADER = OPENING + "#pragma once\n"
# Spelled in two parts, so that this file does not trip over its own samples.
LEFT_OVER = "// TO" + "DO: more\n"


def lint(files):
    """(exit status, output) of scripts/lint over a tree made of `files`."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = pathlib.Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        result = subprocess.run([sys.executable, LINT, "--root", folder], capture_output=True, text=True)
    return result.returncode, result.stdout + result.stderr


def function(body_lines=1, parameters=0, branches=0):
    names = ", ".join(f"int p{number}" for number in range(parameters))
    body = "".join(f"  if (total > {number}) total += {number};\n" for number in range(branches))
    body += "  total += 1;\n" * (body_lines - 3 - branches)
    return f"int sample({names}) {{\n  int total = 0;\n{body}  return total;\n}}\n"


class LintTest(unittest.TestCase):
    def assert_refused(self, rule, path, files):
        status, output = lint(files)
        self.assertEqual(status, 1, output)
        self.assertIn(f": {rule}: ", output)
        self.assertTrue(any(line.startswith(f"{path}:") and f": {rule}: " in line for line in output.splitlines()), output)

    def assert_text_refused(self, rule, text, path="src/weft/core/sample.cpp"):
        self.assert_refused(rule, path, {path: text})

    def assert_clean(self, files):
        status, output = lint(files)
        self.assertEqual(status, 0, output)

    def test_clean_tree(self):
        self.assert_clean({
            "src/weft/core/sample.h": HEADER,
            "src/weft/pattern/sample.cpp": OPENING + '#include "weft/core/sample.h"\n' + function(10, 3, 2),
            "tests/core/sample_test.py": "# SPDX-License-Identifier: Apache-2.0\nprint(1)\n",
        })

    def test_paths_in_documents(self):
        page = "Read `src/weft/core/sample.h`, `core/sample.h`, `src/weft/core/*.h` and [the page](docs/page.md#part).\n"
        page += "Write `src/weft/core/<name>.{h,cpp}` and `<name>.h`; `torch/nn/module.h` is not ours.\n"
        page += "A folder `src/weft/text/<name>/` has `<name>/<name>_part.h`.\n"
        tree = {
            "src/weft/core/sample.h": HEADER, "src/weft/core/sample.cpp": OPENING, "src/weft/text/one/one_part.h": HEADER,
            "docs/page.md": "[back](../README.md)\n",
        }
        self.assert_clean({**tree, "README.md": page})
        for broken in (
            "src/weft/core/other.h", "`other.h`", "`core/other.h`", "tests/core/sample_test.py.", "`src/weft/text/one/one_part.{h,cpp}`",
            "`src/weft/text/<name>.h`", "`src/weft/text/<name>/part_<name>.h`", "`src/weft/<room>/<room>.h`", "`docs/*.txt`", "[a page](docs/other.md)",
        ):
            self.assert_refused("document-path", "README.md", {**tree, "README.md": broken + "\n"})
        self.assert_refused("document-path", "docs/recipes/a.md", {**tree, "docs/recipes/a.md": "[a page](page.md)\n"})

    def test_readers_of_directories_say_what_they_open(self):
        room = "src/weft/checkpoint/"
        good = [
            'auto json = formats::read_json(ModelFile(directory, "config.json"));', "auto text = read_file(named_by_user(path));",
            'const ModelFile file(directory, "vocab.txt");\nauto text = read_file(file, 10);', "Text read_file(const FilePlace& file);",
            "void look(const ModelFile& place) { const MappedFile mapped(place); }", 'write_file_atomically(directory / "a", text);',
            'read_json_lines(file);  // read_file(directory / "a")',
        ]
        bad = [
            'auto json = formats::read_json(directory / "config.json");', "const path file = other;\nauto text = read_file(file);",
            'const MappedFile mapped(directory / "model.safetensors");', "std::ifstream stream(path);", "auto opened = Descriptor::open_regular(path);",
            "auto json = weft::formats::read_json_object(path_of(run));", "const SafetensorsFile weights{path};",
        ]
        others = {"src/weft/readers/sample.cpp": OPENING + "auto text = read_file(path);\n"}
        self.assert_clean({**others, **{f"{room}good_{i}.cpp": OPENING + text + "\n" for i, text in enumerate(good)}})
        status, output = lint({f"{room}bad_{i}.cpp": OPENING + text + "\n" for i, text in enumerate(bad)})
        self.assertEqual(status, 1, output)
        for i in range(len(bad)):
            self.assertRegex(output, rf"(?m)^{room}bad_{i}\.cpp:\d+: door: ")

    def test_a_device_is_asked_for_in_backends_only(self):
        bad = ("if (x.is_cpu()) {}", "bool b = device != at::kCPU;", "switch (d) { case c10::DeviceType::CUDA: break; }")
        rooms = ("attention", "kernels", "checkpoint")
        status, output = lint({f"src/weft/{room}/bad_{i}.cpp": OPENING + text + "\n" for room in rooms for i, text in enumerate(bad)})
        self.assertEqual((status, len(re.findall(r"(?m)^src/weft/\w+/bad_\d\.cpp:\d+: device: ", output))), (1, 9), output)
        good = "auto y = x.to(at::kCPU);  // x.is_cpu()\nlibrary.impl(cast<c10::DispatchKey::AutocastCPU, at::kCPU>);\n"
        self.assert_clean({
            "src/weft/layers/sample.cpp": OPENING + good, "src/weft/attention/backends/sample.cpp": OPENING + "bool b = x.is_cpu();\n",
        })

    def test_file_lines(self):
        self.assert_clean({"src/weft/core/sample.cpp": OPENING + "int x;\n" * 498})
        self.assert_text_refused("file-lines", OPENING + "int x;\n" * 499)

    def test_function_lines(self):
        self.assert_clean({"src/weft/core/sample.cpp": OPENING + function(body_lines=58)})
        self.assert_text_refused("function-lines", OPENING + function(body_lines=62))

    def test_parameters(self):
        self.assert_clean({"src/weft/core/sample.cpp": OPENING + function(4, parameters=6)})
        self.assert_text_refused("parameters", OPENING + function(4, parameters=7))
        opening = "# SPDX-License-Identifier: Apache-2.0\n"
        self.assert_clean({"scripts/sample.py": opening + "def sample(a, b, *, c, d, e, f, g=1):\n    return a\n"})
        self.assert_refused("parameters", "scripts/sample.py", {"scripts/sample.py": opening + "def sample(a, b, c, d, e, f, g):\n    return a\n"})

    def test_complexity(self):
        self.assert_clean({"src/weft/core/sample.cpp": OPENING + function(30, branches=14)})
        self.assert_text_refused("complexity", OPENING + function(30, branches=15))

    def test_exception_is_used_once_it_is_needed(self):
        exception = "parameters src/weft/core/sample.cpp sample: a schema\n"
        self.assert_clean({"src/weft/core/sample.cpp": OPENING + function(4, 7), "scripts/lint-exceptions.txt": exception})
        self.assert_refused("exception", "scripts/lint-exceptions.txt", {"scripts/lint-exceptions.txt": exception})

    def test_folder_files(self):
        files = {f"docs/page{number}.md": "text\n" for number in range(30)}
        self.assert_clean(files)
        self.assert_refused("folder-files", "docs", {**files, "docs/last.md": "text\n"})

    def test_opening(self):
        self.assert_text_refused("licence", "// A sample.\n")
        self.assert_text_refused("opening", "// SPDX-License-Identifier: Apache-2.0\nint x;\n")
        self.assert_text_refused("opening", OPENING + "// More.\n" * 6)
        self.assert_text_refused("pragma-once", OPENING, "src/weft/core/sample.h")
        self.assert_text_refused("licence", "#!/bin/sh\necho\n", "scripts/sample")

    def test_loaders_that_run_what_they_read(self):
        for call in ("torch::jit::load(path)", "torch::load(tensor, path)", "torch::pickle_load(bytes)"):
            self.assert_text_refused("trusted-input", OPENING + f"void f() {{ {call}; }}\n")

    def test_leftovers(self):
        self.assert_text_refused("leftover", OPENING + LEFT_OVER)
        self.assert_text_refused("leftover", LEFT_OVER, "docs/page.md")

    def test_dead_code(self):
        for code in ("// return x;", "// if (x > 1) {", "// total = count(x);", "// }", "// #include <vector>", "// run(x);"):
            self.assert_text_refused("dead-code", OPENING + code + "\n")
        self.assert_text_refused("dead-code", "# SPDX-License-Identifier: Apache-2.0\n# x = run(1)\n", "scripts/sample.py")
        prose = OPENING + "// [batch, heads]; rows without edges are zero\n// output = probabilities V\n/// f(x) = 1;\n"
        self.assert_clean({"src/weft/core/sample.cpp": prose})
        self.assert_clean({"src/weft/core/sample.cpp": OPENING + "//     run(x);\n"})

    def test_preprocessor(self):
        self.assert_text_refused("conditional", OPENING + "#ifdef DEBUG\n#endif\n")
        self.assert_text_refused("macro", OPENING + "#define SQUARE(x) ((x) * (x))\n")
        self.assert_clean({"src/weft/core/sample.cpp": OPENING + "#if defined(__AVX2__) && defined(__F16C__)\n#endif\n"})

    def test_room_order(self):
        files = {"src/weft/pattern/sample.h": HEADER, "src/weft/core/sample.cpp": OPENING + '#include "weft/pattern/sample.h"\n'}
        self.assert_refused("room-order", "src/weft/core/sample.cpp", files)

    def test_torch_free(self):
        for header in ("torch/types.h", "ATen/core/Tensor.h", "c10/util/Half.h"):
            self.assert_text_refused("torch-free", OPENING + f"#include <{header}>\n", "src/weft/pattern/sample.cpp")
        self.assert_clean({"src/weft/attention/sample.cpp": OPENING + "#include <torch/types.h>\n"})

    def test_the_front_of_the_command_line_is_torch_free(self):
        front, inner = "src/weft/cli/front/sample.cpp", {"src/weft/cli/front/sample.h": HEADER, "src/weft/cli/tasks/sample.h": HEADER, "src/weft/core/one.h": HEADER}
        good = ['"weft/cli/front/sample.h"', '"weft/core/one.h"', "<CLI/App.hpp>"]
        self.assert_clean({**inner, front: OPENING + "".join(f"#include {name}\n" for name in good)})
        for name in ("<ATen/Parallel.h>", '"weft/cli/tasks/sample.h"'):
            self.assert_refused("torch-free", front, {**inner, front: OPENING + f"#include {name}\n"})

    def test_wide_include(self):
        self.assert_text_refused("wide-include", OPENING + "#include <torch/torch.h>\n", "src/weft/layers/sample.cpp")

    def test_include_spelling(self):
        self.assert_text_refused("include", OPENING + '#include "weft/core/missing.h"\n')
        self.assert_text_refused("include", OPENING + '#include "../sample.h"\n')

    def test_kernel_containers(self):
        self.assert_text_refused("kernel-container", HEADER + "#include <vector>\n", "src/weft/kernels/sample.h")
        through = {
            "src/weft/core/sample.h": HEADER + "#include <string>\n",
            "src/weft/kernels/sample_avx2.cpp": OPENING + '#include "weft/core/sample.h"\n',
        }
        self.assert_refused("kernel-container", "src/weft/kernels/sample_avx2.cpp", through)
        self.assert_clean({"src/weft/kernels/sample.cpp": OPENING + "#include <vector>\n"})

    def test_aims(self):
        walk = "### Walk: `weft sample`, at most 3 files\n\n1. `core/one.cpp` begins.\n2. `core/two.cpp` goes on.\n3. `core/one.cpp` ends.\n"
        recipe = "# Add a task\n\n**Files:** `src/weft/core/<name>.{h,cpp}`, `src/weft/core/one.cpp`, and tests.\n"
        _, output = lint({
            "src/weft/core/one.cpp": OPENING + function(50), "src/weft/core/two.cpp": OPENING + function(4),
            "docs/architecture.md": walk, "docs/recipes/add-a-task.md": recipe,
        })
        rows = {line[:line.rindex("  ")].rsplit("  ", 1)[0].strip(): line.split()[-2:] for line in output.splitlines() if "  " in line}
        self.assertEqual(rows["files from main to the kernel: weft sample"], ["2", "3"])
        self.assertEqual(rows["files to add a task, besides tests and documents"], ["2", "3"])
        self.assertRegex(output, r"source files under 40 lines +50\.0%")
        self.assertRegex(output, r"functions over 25 lines +50\.0%")

    def test_families_stay_in_their_folders(self):
        families = {
            "src/weft/models/families/list.inc": OPENING + "WEFT_FAMILY(big_bird)\nWEFT_FAMILY(led)\nWEFT_FAMILY(weft)\n",
            "src/weft/models/families/led/family.cpp": OPENING + 'const char* led = "led";\nbool b = model_type == "led";\n',
        }
        good = [
            "int sampled = handled;  // as led does", 'auto text = "called led_by";', 'auto text = "bigbird(hf-eval) and led(2)";',
            'auto help = "weft init --family led makes one";', "namespace weft::models {}", "auto type = config.model_type;",
            'bool b = kind == "led-like";',
        ]
        bad = [
            'if (config.model_type == "x") {}', "bool b = name != other.model_type;", "LedConfig config;", "int for_big_bird = 1;", 'auto text = "led";',
            'fail("only an led or a big_bird has it");', '#include "weft/models/families/led/family.h"', "auto x = BigBirdPegasus();",
        ]
        room = "src/weft/checkpoint/"
        include = {"src/weft/models/families/led/family.h": HEADER}
        self.assert_clean({**families, **{f"{room}good_{i}.cpp": OPENING + text + "\n" for i, text in enumerate(good)}})
        trees = {f"{room}bad_{i}.cpp": OPENING + text + "\n" for i, text in enumerate(bad)}
        status, output = lint({**families, **include, **trees})
        self.assertEqual(status, 1, output)
        for i in range(len(bad)):
            self.assertRegex(output, rf"(?m)^{room}bad_{i}\.cpp:\d+: family: ")
        self.assertRegex(output, r"places outside of families' folders that know one +9 ")
        exception = "family src/weft/checkpoint/bad_0.cpp *: until it asks the family\n"
        self.assert_clean({**families, f"{room}bad_0.cpp": trees[f"{room}bad_0.cpp"], "scripts/lint-exceptions.txt": exception})
        self.assert_refused("exception", "scripts/lint-exceptions.txt", {**families, "scripts/lint-exceptions.txt": exception})

    def test_libraries_name_no_flags(self):
        text = OPENING + 'const char* hint = "{}";\n'
        self.assert_text_refused("flag", text.format("cut it with --truncate"), "src/weft/tasks/sample.cpp")
        self.assert_clean({"src/weft/tasks/sample.cpp": text.format("weft eval --task x measures it; a -- b"), "src/weft/cli/sample.cpp": text.format("--truncate")})

    def test_messages_are_made_late(self):
        good = [
            'void f() { require(a == quote(b), "found ", Quoted(b), " of ", [&] { return joined(c, ", "); }); }',
            'void f() { require(a, "found (a, b) ", g(a, b), ") and quote(b)"); fail(kind, quote(b)); }',
        ]
        bad = ['void f() { require(a, "found ", quote(b)); }', 'void f() {\n  require(a(), b,\n          a ? "" : concat(b, c));\n}']
        for text in good:
            self.assert_clean({"src/weft/data/sample.cpp": OPENING + text + "\n"})
        for text in bad:
            self.assert_text_refused("message", OPENING + text + "\n")

    def test_what_an_addition_touched(self):
        with tempfile.TemporaryDirectory() as folder:
            def git(*words):
                who = ["-c", "user.name=a", "-c", "user.email=a@b"]
                subprocess.run(["git", "-C", folder, *who, *words], check=True, capture_output=True)

            def commit(files):
                for name, text in files.items():
                    path = pathlib.Path(folder) / name
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_text(OPENING + text)
                git("add", "-A")
                git("commit", "-qm", "a")

            git("init", "-q")
            listed, home = "src/weft/models/families/list.inc", "src/weft/models/families/"
            commit({listed: "", "src/weft/models/stack.cpp": "int x;\n", "src/weft/models/stack.h": "#pragma once\n"})
            commit({
                listed: "WEFT_FAMILY(led)\n", f"{home}led.cpp": "int led_family = 1;\nint other = 2;\n", f"{home}led/sample.h": "#pragma once\n",
                "src/weft/models/stack.cpp": "int y;\n", "src/weft/models/stack.h": "#pragma once\nint y();\n", "tests/models/led_test.cpp": "int z;\n",
            })
            git("mv", f"{home}led.cpp", f"{home}led/family.cpp")
            commit({"src/weft/models/other.cpp": "int z;\n"})
            result = subprocess.run([sys.executable, LINT, "--root", folder], capture_output=True, text=True)
        self.assertRegex(result.stdout, r"files outside its folder that led touched \([0-9a-f]{8}\) +2 +3")

    def test_private_names(self):
        private = OPENING + "namespace {\nint sample(int x) {\n  return x;\n}\n}  // namespace\n"
        files = {"src/weft/layers/one.cpp": private, "src/weft/layers/two.cpp": private}
        self.assert_refused("private-name", "src/weft/layers/two.cpp", files)
        self.assert_clean({"src/weft/layers/one.cpp": private, "src/weft/models/two.cpp": private})
        self.assert_refused("private-name", "src/weft/core/two.cpp", {"src/weft/core/one.cpp": private, "src/weft/core/two.cpp": private})

    def test_unknown_room(self):
        self.assert_text_refused("room", OPENING, "src/weft/cellar/sample.cpp")

    def test_machine_path(self):
        self.assert_text_refused("machine-path", "See /ho" + "me/someone/notes.\n", "docs/page.md")


if __name__ == "__main__":
    unittest.main()
