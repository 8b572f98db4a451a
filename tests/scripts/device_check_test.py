#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/device-check on the emulation of the kernels, at tiny sizes: one run; and how it judges times, ends parts and tells what is wrong."""
import argparse
import contextlib
import io
import itertools
import json
import os
import pathlib
import runpy
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock

ROOT = pathlib.Path(os.environ.get("WEFT_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[2]))
LIBRARIES = pathlib.Path(os.environ.get("WEFT_BINARY", ROOT / "build/release/bin/weft")).parent.parent / "lib"
BUILT_PACKAGE = LIBRARIES.parent / "python"
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "tests/python")]
from device_checking import attempts, parent, tables, targets  # noqa: E402

READY = 'say({"ready": True}); sys.stdin.readline()\n'
try:
    import cpu_torch  # noqa: F401: the PyTorch of .venv needs its help
    from device_checking import calls, exact, library, models, parts, speed, steps, timing, trained
except ModuleNotFoundError as missing:
    if missing.name not in (None, "torch"):
        raise
    torch = None
else:
    import torch
needs_torch = unittest.skipIf(torch is None, "there is no PyTorch for this Python")


def time_of(who, pattern, forward, both, length=targets.LENGTH):
    return {"who": who, "pattern": pattern, "length": length, "forward": forward, "both": both}


class StandIn:
    """A part that says these lines after its turn came, and then ends so."""

    def __init__(self, folder, body):
        script = pathlib.Path(folder) / "part.py"
        script.write_text("import sys, json, time\nsay = lambda line: print(json.dumps(line), flush=True)\n" + body)
        self.script = script


class DeviceCheckTest(unittest.TestCase):
    def test_targets(self):
        lines = [time_of("weft", "window", 0.1, 0.4), time_of("flex128", "window", 0.16, 0.5), time_of("weft", "bigbird", 0.1, 0.4),
                 time_of("flex64", "bigbird", 0.26, None), time_of("cudnn", "dense", 1.8, 6.4), time_of("weft", "dense", 2.25, 8)]
        found = {line["target"]: line["verdict"] for line in targets.judged(lines)}
        self.assertEqual(found["window forward over FlexAttention"], "held, and the aim")
        self.assertEqual(found["window both ways over FlexAttention"], "short by 4%")
        self.assertEqual(found["BigBird forward over FlexAttention with blocks of 64"], "held")
        self.assertEqual(found["BigBird both ways over FlexAttention with blocks of 128"], "not run: no time of flex128")
        self.assertEqual(found["dense blocks forward over cuDNN"], "short by 6%")
        self.assertEqual(found["Longformer forward over FlexAttention"], "not run: no time of weft")
        self.assertEqual({line["verdict"] for line in targets.judged([time_of("weft", "window", 1, 1, 4096)])} - {"not run: no time of weft"}, set())

    def test_tables(self):
        lines = [{"part": "facts", "device": "a GPU", "torch": "2"}, time_of("weft", "window", 0.1, 0.4), time_of("flex128", "window", 0.16, None),
                 time_of("cudnn", "dense", 1.8, 6.4), {"part": "speed", "problem": "RuntimeError: no memory"},
                 {"part": "decode", "who": "weft", "pattern": "full", "texts": 8, "keys": 4096, "forward": 0.0123},
                 {"part": "decode", "texts": 8, "keys": 16384, "problem": "RuntimeError: no memory"},
                 {"part": "models", "model": "big_bird", "forward": 3.7, "transformers_forward": 33.2, "ratio": 8.97, "bytes": 4e8, "transformers_bytes": 1e9,
                  "transformers_replayed": 20.0},
                 {"part": "models", "model": "longformer", "verdict": "not run: no memory"},
                 {"part": "exact", "call": "full bfloat16 B1", "errors": [1e-3, 2e-3, 3e-3, 1e-3], "rival": [2e-3, 1e-3, 1e-3, 1e-3], "wrong": None},
                 {"part": "targets", "target": "speed", "least": 2.5, "ratio": None, "verdict": "not run: no time of weft"}]  # fmt: skip
        found = list(tables.page(lines))
        self.assertEqual(found[0], "a GPU, PyTorch 2")
        for row in ("| window, 16,384 | 0.1 / 0.4 | 0.16 / - (128) | 1.8 / 6.4 | - |", "| 8 texts, 4,096 keys | 12.3 | - | - |",
                    "| big_bird, forward, ms | 3.7 | 33.2 (20 from a graph) | 8.97 | 0.4 | 1 |", "| bfloat16 | 1.0e-03 | 3.0e-03 | 2.0e-03 | 1.0e-03 |",
                    "| speed | - | 2.5 | not run: no time of weft |"):  # fmt: skip
            self.assertIn(row, found)
        self.assertEqual(len([line for line in found if line.startswith("| --")]), 5)
        self.assertEqual(list(tables.page([])), ["no device, PyTorch ?"])

    @needs_torch
    def test_targets_of_training_steps(self):
        found = steps.judged({"step": 100.0, "bytes": 9 << 30, "weights": "float32"}, {"step": 20.0, "bytes": 4 << 30}, 4096)
        self.assertEqual((found["ratio"], found["verdict"]), (5.0, "held"))
        self.assertEqual((found["memory_ratio"], found["memory_verdict"]), (2.25, "short by 25%"))

    def run_with(self, check, not_finite=None, after=0):
        """(what exact.run returns, what it says) with these in place of its checks."""
        said = []
        with unittest.mock.patch.multiple(exact, check=check, not_finite=not_finite or (lambda *_: {"call": exact.NAN_CHECK, "wrong": None})):
            return exact.run(argparse.Namespace(library=None), None, said.append, time.monotonic() + 60, True, after), said

    @needs_torch
    def test_checks_go_on_behind_a_call_whose_kernels_failed(self):
        listed = list(itertools.islice(calls.named_calls(True), 4))
        # PyTorch's, and what our library says of the first call behind a failure.
        for kind in (RuntimeError, torch.AcceleratorError, library.Problem):

            def failing(_library, call, _device, number, _counts, kind=kind):
                if number == 2:
                    raise kind("CUDA error: unspecified launch failure\nsee the manual")
                return {"call": str(call), "errors": [0.0], "wrong": None}

            failed, said = self.run_with(failing, after=1)
            self.assertEqual((failed, [line.get("call") for line in said]), (2, [str(listed[0]), str(listed[1]), None]))
            self.assertEqual(said[1]["wrong"], f"{kind.__name__}: CUDA error: unspecified launch failure")
            self.assertEqual((said[2]["checked"], said[2]["wrong_calls"]), (2, 1))
            failed, said = self.run_with(failing, after=failed + 1)
            self.assertEqual((failed, said[0]["call"]), (None, str(listed[2])))

    @needs_torch
    def test_a_launch_that_is_refused_is_a_failed_call(self):
        """As the library does it behind an error of CUDA that stays: weft_cuda_forward returns what is wrong."""
        opened = library.Library(LIBRARIES / "libweft_cuda_emulated.so", LIBRARIES / "libweft_device_case.so")
        opened.kernels = unittest.mock.Mock(weft_cuda_forward=lambda *_: b"a kernel was not launched: unspecified launch failure")
        found, has_failed = exact.attempted("a call", lambda: exact.check(opened, calls.Call("window(8)", length=16), torch.device("cpu"), 1))
        self.assertEqual((found["wrong"], has_failed), ("Problem: a kernel was not launched: unspecified launch failure", True))

    @needs_torch
    def test_checks_go_on_behind_a_check_of_nan_whose_kernels_failed(self):
        def failing(_library, _device):
            raise library.Problem("an illegal memory access was encountered")

        def right(_library, call, *_):
            return {"call": str(call), "errors": [0.0], "wrong": None}

        failed, said = self.run_with(right, failing)
        self.assertEqual((failed, len(said), said[0]["call"]), (0, 1, exact.NAN_CHECK))
        self.assertIn("illegal memory access", said[0]["wrong"])
        failed, said = self.run_with(right, failing, after=failed + 1)
        self.assertEqual((failed, said[0]["call"], said[-1]["checked"]), (None, str(next(calls.named_calls(True))), exact.MOST_SMALL))

    @needs_torch
    def test_a_call_is_held_against_flash_where_flash_computes_the_same(self):
        errors, theirs = [2.20e-3, 2.5e-3, 2.5e-3, 2.5e-3], [2.19e-3, 3e-3, 3e-3, 3e-3]
        self.assertIn("output is off by 2.2000e-03, flash by 2.1900e-03", exact.verdict(calls.Call("full", length=1000), errors, theirs))
        self.assertIsNone(exact.verdict(calls.Call("full", length=1000), theirs, theirs))
        for other in (calls.Call("full", length=130), calls.Call("full", "float16", length=1000), calls.Call("full", length=1000, key_heads=1),
                      calls.Call("window(9)", length=1000), calls.Call("full", length=1000, has_padding=True)):  # fmt: skip
            self.assertFalse(other.is_against_flash(), str(other))
        self.assertIsNone(exact.verdict(calls.Call("window(9)", length=1000), errors, theirs))
        self.assertIn("PyTorch by", exact.verdict(calls.Call("window(9)", length=1000), [2.5e-3] * 4, theirs))
        self.assertTrue(any(call.is_against_flash() for call in itertools.islice(calls.named_calls(False), 12)))

    @needs_torch
    def test_calls_of_wide_heads_and_joined_rows_are_among_the_first(self):
        first = list(itertools.islice(calls.named_calls(False), 12))
        self.assertLessEqual({64, 128, 160, 256}, {call.head_dim for call in first})
        self.assertLessEqual({("full", 4096), ("full", 2048), ("window(128) | global(40)", 2500)}, {(call.expression, call.length) for call in first})
        numbers = [number for number, _ in itertools.islice(calls.numbered(False, 7), 3)]
        self.assertEqual(numbers, [7, 8, 9])

    @needs_torch
    def test_edges_are_asked_for_before_the_turn(self):
        asked = []
        counts = calls.Counts(argparse.Namespace(multiplicity=lambda *sites: asked.append(sites) or f"edges of {sites}"), False)
        counts.wait()
        named = {call.sites() for call in calls.named_calls(False)}
        self.assertLessEqual(named, set(asked))
        counts.threads.shutdown()
        asked.clear()
        every = list(itertools.islice(calls.numbered(False), len(list(calls.named_calls(False))) + calls.AHEAD + 1))
        self.assertEqual([counts.of(call) for _, call in every], [f"edges of {call.sites()}" for _, call in every])
        self.assertEqual(asked, [every[-1][1].sites()])

    @needs_torch
    def test_calls_of_whole_slices_go_to_the_sanitizer_first(self):
        whole = [call for call in calls.SANITIZED[:2] if call.length % 64 == 0 and call.head_dim == 64 and call.dtype == "bfloat16" and not call.has_padding]
        self.assertEqual([call.dropout > 0 for call in whole], [False, True])
        with unittest.mock.patch.multiple(parts, load=lambda _: (self.opened(), torch.device("cpu")), turn=lambda: None, say=(said := []).append):
            parts.races(None)
        self.assertEqual(said, [{"part": "races", "call": str(calls.RACED), "wrong": None}])

    def opened(self):
        return library.Library(LIBRARIES / "libweft_cuda_emulated.so", LIBRARIES / "libweft_device_case.so")

    @needs_torch
    def test_times_of_rivals_come_before_kernels_of_ours(self):
        def failing(*_):
            raise library.Problem("a kernel was not launched")

        said, chosen = [], argparse.Namespace(emulated=False)
        setting = speed.Setting(None, torch.device("cpu"), 12, 16384)
        with unittest.mock.patch.multiple(parts, setting_of=lambda _: setting, turn=lambda: time.monotonic() + 60, say=said.append), \
             unittest.mock.patch.multiple(speed, ours=failing, decoding=failing, decoding_by_flash=lambda *_: {"forward": 1.0},
                                          dense=unittest.mock.Mock(side_effect=[{"who": "cudnn"}, RuntimeError("no engine"), *[{"who": "x"}] * 2])):
            parts.speed(chosen)
        first_of_ours = next(number for number, line in enumerate(said) if "problem" in line)
        self.assertFalse(any("problem" in line for line in said[:first_of_ours]))
        self.assertTrue(all(line["problem"] == "Problem: a kernel was not launched" for line in said[first_of_ours:]))
        self.assertEqual(said[:2], [{"part": "speed", "who": "cudnn"}, {"part": "speed", "rival": "flash", "length": 16384,
                                                                         "verdict": "not run: RuntimeError: no engine"}])
        self.assertEqual(sum(line.get("who") == "flash" for line in said), 6)

    @needs_torch
    def test_whole_models_have_the_fastest_turn_and_kernels_the_median(self):
        clock = timing.time.perf_counter
        cpu = torch.device("cpu")
        try:
            seconds = iter((0.0, 3.0, 3.0, 4.0, 4.0, 9.0))
            timing.time = argparse.Namespace(perf_counter=lambda: next(seconds))
            calls = []
            self.assertEqual(timing.fastest(lambda: calls.append(1), cpu, 3), 1000.0)
            self.assertEqual(len(calls), 4)  # the first does not count
            seconds = iter((0.0, 3.0, 3.0, 4.0))
            self.assertEqual(timing.milliseconds(lambda: None, cpu), 2000.0)
        finally:
            timing.time = time
        self.assertIs(timing.time.perf_counter, clock)

    def test_the_pack_leaves_models_out_or_says_that_there_are_none(self):
        pack = runpy.run_path(str(ROOT / "scripts/cuda/device-pack"))
        with tempfile.TemporaryDirectory() as folder:
            models = pathlib.Path(folder) / "models"
            models.mkdir()
            (models / "scanned.bin").write_text("weights")
            said = io.StringIO()
            with contextlib.redirect_stderr(said):
                pack["leave_out"](models)
                self.assertFalse(models.exists())
                self.assertEqual(said.getvalue(), "")
                pack["leave_out"](models)
        self.assertEqual(said.getvalue().count("\n"), 1)
        self.assertIn("no models of scanned pages", said.getvalue())

    def test_kernels_older_than_their_sources_are_not_packed(self):
        pack = runpy.run_path(str(ROOT / "scripts/cuda/device-pack"))
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name in pack["LIBRARIES"]:
                (root / "build/cuda/lib").mkdir(parents=True, exist_ok=True)
                (root / "build/cuda/lib" / name).touch()
            source = root / "src/weft/kernels/cuda/passes/walk.h"
            source.parent.mkdir(parents=True)
            source.touch()
            pack["check_kernels"].__globals__["ROOT"] = root
            os.utime(source, (1, 1))
            pack["check_kernels"]()
            os.utime(source, (time.time() + 60,) * 2)
            with self.assertRaises(SystemExit) as ended:
                pack["check_kernels"]()
        self.assertEqual(str(ended.exception), "device-pack: src/weft/kernels/cuda/passes/walk.h is newer than build/cuda/lib/libweft_cuda.so: "
                                               "scripts/cuda/check-build makes it anew")  # fmt: skip

    def given_turns(self, bodies, seconds=20.0, loaded=10, turn=0.5, may_be_left_out=False):
        """What a check wrote that gave a turn to each of these."""
        with tempfile.TemporaryDirectory() as folder:
            options = argparse.Namespace(out=folder, seconds=seconds, emulated=True, kernels="k", cases="c", libraries=pathlib.Path(folder))
            check, before = parent.Check(options), parent.SCRIPT
            try:
                for number, body in enumerate(bodies):
                    parent.SCRIPT = StandIn(folder, body).script
                    part = parent.Part(f"part{number}", [], options, pathlib.Path(folder))
                    part.may_be_left_out = may_be_left_out
                    if body.startswith("# ends before its turn"):
                        part.take(time.monotonic() + 10)
                        part.process.wait()
                    check.give_turn(part, turn, loaded)
                    part.end()
            finally:
                parent.SCRIPT = before
            status = check.close()
            written = [json.loads(line) for line in (pathlib.Path(folder) / "device-check.jsonl").read_text().splitlines()]
        return status, written

    def test_parts_that_fail_are_named_and_the_others_run(self):
        ready = 'say({"ready": True}); sys.stdin.readline()\n'
        status, written = self.given_turns([
            'sys.exit("RuntimeError: there is no device\\nsee the manual")',
            READY + 'print("a word of a library"); say({"part": "exact", "checked": 3}); raise ValueError("lost")',
            READY + 'say({"part": "speed", "who": "weft"})\n',
        ])  # fmt: skip
        self.assertEqual(status, 1)
        self.assertEqual(written[0]["problem"], "did not begin: RuntimeError: there is no device")
        self.assertEqual((written[1]["checked"], written[2]["problem"]), (3, "ended with 1: ValueError: lost"))
        self.assertEqual((written[3]["who"], written[4]["wrong"], written[4]["calls_checked"]), ("weft", 2, 3))

    def test_a_part_that_ends_before_its_turn_is_named_and_the_others_run(self):
        status, written = self.given_turns(['# ends before its turn\nsay({"ready": True}); sys.exit("RuntimeError: out of memory")',
                                            READY + 'say({"part": "exact", "checked": 3})'])  # fmt: skip
        self.assertEqual(status, 1)
        self.assertEqual(written[0]["problem"], "ended with 1 before its turn: RuntimeError: out of memory")
        self.assertEqual((written[1]["checked"], written[2]["part"]), (3, "end"))

    def test_what_a_part_started_ends_with_it(self):
        begun = 'import subprocess\nchild = subprocess.Popen(["sleep", "600"])\n'
        with unittest.mock.patch.object(parent, "GRACE", 3.5):
            status, written = self.given_turns([begun + READY + 'say({"part": "exact", "checked": child.pid}); time.sleep(600)'])
        self.assertEqual((status, written[1]["problem"]), (1, "cut: it was not through after 4 s"))
        state = pathlib.Path(f"/proc/{written[0]['checked']}/stat")
        until = time.monotonic() + 20
        while (is_there := state.exists() and state.read_text().rsplit(")")[-1].split()[0] != "Z") and time.monotonic() < until:
            time.sleep(0.05)
        self.assertFalse(is_there)

    def test_what_a_sanitizer_slows_down_too_much_is_not_run(self):
        for body, settings, why in (("time.sleep(600)", {"loaded": 0.5}, "not run: did not begin: it was not loaded after 0.5 s"),
                                    (READY, {"seconds": 400.0, "turn": 1000}, "not run: [0-9]+ s are left, and it takes 1000")):  # fmt: skip
            written = self.given_turns([body], may_be_left_out=True, **settings)[1]
            self.assertRegex(written[0]["verdict"], why)
            self.assertEqual(written[1]["wrong"], 0)
        written = self.given_turns([READY + 'sys.exit("========= Invalid read")'], may_be_left_out=True)[1]
        self.assertIn("ended with 1: ========= Invalid read", written[0]["problem"])

    def test_what_fails_of_ours_is_a_problem_and_what_is_absent_or_a_rivals_is_not(self):
        said = []

        def failing():
            raise RuntimeError("CUDA error: out of memory\nsee the manual")

        attempts.attempt(said.append, {"part": "models"}, failing)
        self.assertEqual(said, [{"part": "models", "problem": "RuntimeError: CUDA error: out of memory"}])
        self.assertEqual(attempts.of_rival(failing), (None, "not run: RuntimeError: CUDA error: out of memory"))
        self.assertEqual(attempts.of_rival(lambda: 3), (3, None))
        self.assertEqual(attempts.absent("weft_that_is_not_there"), "not run: No module named 'weft_that_is_not_there'")
        self.assertIsNone(attempts.absent("json"))
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "weft_broken.py").write_text("raise ImportError('undefined symbol: weft_cuda_forward')")
            with unittest.mock.patch.object(sys, "path", [folder, *sys.path]), self.assertRaises(ImportError):
                attempts.absent("weft_broken")

    @needs_torch
    def test_models_of_ours_run_and_are_judged_where_transformers_fails(self):
        def failing(*_):
            raise RuntimeError("CUDA error: out of memory")

        cpu, found = torch.device("cpu"), {"length": 8, "forward": 2.0, "wrong": None}
        # (what fails of theirs, what fails of ours, what is said)
        for theirs, ours, wanted in ((failing, lambda *_: found, {**found, "verdict": "not run: RuntimeError: CUDA error: out of memory"}),
                                     (lambda *_: (9.0, None, 1), failing, {"problem": "RuntimeError: CUDA error: out of memory"})):  # fmt: skip
            said = []
            with unittest.mock.patch.object(attempts, "absent", lambda *_: None), \
                 unittest.mock.patch.multiple(models, saved=lambda *_: (None, "roberta"), theirs=theirs, of_ours=ours):
                models.run(cpu, said.append, True)
            self.assertEqual(said, [{"part": "models", "model": name, **wanted} for name in models.MODELS])
        for theirs, ours, wanted in ((failing, lambda *_: (2.0, 1), {"length": 8, "step": 2.0, "bytes": 1,
                                                                     "verdict": "not run: RuntimeError: CUDA error: out of memory"}),
                                     (lambda *_: {"step": 1.0}, failing, {"problem": "RuntimeError: CUDA error: out of memory"})):  # fmt: skip
            said = []
            with unittest.mock.patch.object(attempts, "absent", lambda *_: None), unittest.mock.patch.object(models, "ours", ours), \
                 unittest.mock.patch.multiple(steps, saved=lambda *_: None, their_step=theirs):
                steps.attempt(said.append, "big_bird", lambda: steps.step(None, cpu, 8, True))
            self.assertEqual(said, [{"part": "steps", "model": "big_bird", **wanted}])

    @needs_torch
    def test_what_the_program_complains_of_is_said(self):
        for wrote, wanted in (("model  weft decoder\nweft: error: CUDA error: out of memory\nhint: less", "weft: error: CUDA error: out of memory"),
                              ("model  weft decoder\nSegmentation fault", "Segmentation fault"), ("", "it wrote nothing")):
            done = argparse.Namespace(returncode=1, stdout="", stderr=wrote)
            with unittest.mock.patch.object(models.subprocess, "run", lambda *_, done=done, **_more: done), self.assertRaises(RuntimeError) as raised:
                models.program(["bench", "model"])
            self.assertEqual(str(raised.exception), f"weft bench model ended with 1: {wanted}")

    @needs_torch
    @unittest.skipUnless(BUILT_PACKAGE.is_dir(), "the Python package is not built")
    def test_a_step_of_training_is_compared(self):
        surroundings = {"PYTHONPATH": os.pathsep.join([str(BUILT_PACKAGE), str(ROOT / "tests/python")])}
        with unittest.mock.patch.dict(os.environ, surroundings):
            right = trained.step("cpu")
        said, cpu = [], torch.device("cpu")
        loss, gradients = right
        self.assertGreater(len(gradients), 20)
        off = {**gradients, "embeddings.tokens": gradients["embeddings.tokens"] * 1.001}
        for found in ((loss, gradients), (loss, off), (loss + 0.01, gradients)):
            with unittest.mock.patch.object(trained, "step", lambda *_, found=found: found):
                trained.run(cpu, said.append, True, right)
        trained.run(cpu, said.append, True, RuntimeError("weft train: CUDA error"))
        trained.run(cpu, said.append, True, "not run: No module named 'weft_attention'")
        self.assertIsNone(said[0]["wrong"])
        self.assertIn("the gradient of embeddings.tokens is off by 1.00e-03", said[1]["wrong"])
        self.assertIn("the loss is", said[2]["wrong"])
        self.assertEqual((said[3]["problem"], said[4]["verdict"]), ("RuntimeError: weft train: CUDA error", "not run: No module named 'weft_attention'"))

    def test_nothing_checked_is_a_failure(self):
        self.assertEqual(self.given_turns([])[0], 1)
        status, written = self.given_turns(['say({"ready": True})'], seconds=0.0)
        self.assertIn("cut: the 0.0 s are over", written[0]["problem"])

    def test_the_whole_on_the_emulation(self):
        kernels, cases = LIBRARIES / "libweft_cuda_emulated.so", LIBRARIES / "libweft_device_case.so"
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([sys.executable, ROOT / "scripts/device-check", "--emulated", "--kernels", kernels, "--cases", cases, "--out", folder,
                                   "--seconds", "500"], capture_output=True, text=True)  # fmt: skip
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            lines = [json.loads(line) for line in (pathlib.Path(folder) / "device-check.jsonl").read_text().splitlines()]
        self.check_calls(lines)
        self.check_lines(lines)

    def check_calls(self, lines):
        checked = [line for line in lines if line.get("errors")]
        self.assertGreater(len(checked), 8)
        calls = " ".join(line["call"] for line in checked)
        self.assertIn("dropout 0.25", calls)
        self.assertIn("as TF32", calls)
        self.assertIn("one query", calls)
        self.assertIn("distances", calls)
        self.assertIn("positions", calls)

    def check_lines(self, lines):
        self.assertEqual([line["wrong"] for line in lines if line.get("wrong") and line["part"] != "end"], [])
        self.assertEqual({line["part"] for line in lines}, {"facts", "exact", "several GPUs", "speed", "decode", "flex", "models", "steps", "targets",
                                                               "end"})
        self.assertTrue(all(line["emulated"] for line in lines))
        # Without transformers, or without the package, they say so.
        self.assertTrue(all(line["verdict"] for line in lines if line["part"] in ("models", "steps") and "ratio" not in line))
        self.assertEqual({line["pattern"] for line in lines if line["part"] == "speed"}, {"window", "bigbird", "longformer", "dense"})
        decoded = {(line["who"], line["pattern"], line["keys"]) for line in lines if line["part"] == "decode"}
        self.assertEqual(decoded, {("weft", "full", 256), ("weft", "window", 256), ("flash", "full", 256)})


if __name__ == "__main__":
    unittest.main()
