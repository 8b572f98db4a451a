#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What scripts/run-tests makes of cases that fail, crash, hang or end their process, and of entries that do: a small program plays GoogleTest's part."""
import contextlib
import dataclasses
import io
import os
import pathlib
import sys
import tempfile
import threading
import time
import unittest

ROOT = pathlib.Path(os.environ.get("WEFT_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(ROOT / "scripts"))

from testing import cases, closing, entries, passed, pool  # noqa: E402
from testing.results import Result  # noqa: E402

LISTING = """\
Running main() from a program that is no GoogleTest
Plain.
  Passes
  Breaks
  IsSkipped
  DISABLED_Never
Types/Typed/0.  # TypeParam = float
  Passes
Group/Many.
  Holds/0  # GetParam() = "small"
  Holds/1  # GetParam() = 4-byte object <01-00 00-00>
"""
# What a case does is in its name. It prints as GoogleTest does, into a pipe.
PROGRAM = f"""#!{sys.executable}
import os, signal, subprocess, sys, time
flag = sys.argv[1]
if flag == '--gtest_list_tests':
    print({LISTING!r}, end='')
    sys.exit(0)
names = open(flag.split('=', 1)[1]).read().split('--gtest_filter=')[1].strip().split(':')
status = 0
if os.environ.get('NEVER_BEGINS'):
    os.abort()
for name in names:
    print('[ RUN      ]', name, flush=True)
    print('line of', name)
    if 'Aborts' in name:
        sys.stdout.flush()
        os.abort()
    if 'Hangs' in name:
        sys.stdout.flush()
        time.sleep(60)
    if 'Leaves' in name:
        sys.exit(0)
    if 'Child' in name:
        print(subprocess.Popen(['sleep', '60']).pid)
    if 'Breaks' in name:
        status = 1
        print('here.cpp:1: Failure', end='')
    outcome = '[  FAILED  ]' if 'Breaks' in name else '[  SKIPPED ]' if 'IsSkipped' in name else '[       OK ]'
    print(outcome, name + (', where GetParam() = 3' if 'Breaks' in name else '') + ' (12 ms)', flush=True)
    if 'EndsBehind' in name:
        os.kill(os.getpid(), signal.SIGSEGV)
if any('Leaks' in name for name in names):
    print('3 bytes leaked')
    status = 23
sys.exit(status)
"""


class RunTestsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        path = self.folder / "test_room"
        path.write_text(PROGRAM)
        path.chmod(0o755)
        self.program = cases.Program(str(path), "room", dict(os.environ), str(self.folder))

    def results(self, *names, limit=20, program=None):
        found = []
        cases.run(program or self.program, [cases.Case(name, f"room.{name}", False) for name in names], limit, found.append)
        return found

    def outcomes(self, *names, **options):
        return [(result.name, result.outcome) for result in self.results(*names, **options)]

    def test_cases_have_the_names_of_their_parameters(self):
        found = cases.cases_of(self.program)
        self.assertEqual([case.name for case in found], [
            "room.Plain.Passes", "room.Plain.Breaks", "room.Plain.IsSkipped", "room.Plain.DISABLED_Never", "room.Types/Typed/float.Passes",
            'room.Group/Many.Holds/"small"', "room.Group/Many.Holds/4-byte object <01-00 00-00>"])
        self.assertEqual([case.filter for case in found][-2:], ["Group/Many.Holds/0", "Group/Many.Holds/1"])
        self.assertEqual([case.disabled for case in found], [False] * 3 + [True] + [False] * 3)

    def test_a_program_that_is_not_there_is_named(self):
        absent = cases.Program(str(self.folder / "absent"), "room", dict(os.environ), ".")
        with self.assertRaisesRegex(cases.Unlisted, "absent cannot be started: No such file or directory; build it first"):
            cases.cases_of(absent)

    def test_each_case_has_its_time_and_its_output(self):
        passed, broken, skipped = self.results("A.Passes", "A.Breaks", "A.IsSkipped")
        self.assertEqual((passed.outcome, passed.seconds, passed.output, passed.failed), ("Passed", 0.012, "line of A.Passes", False))
        self.assertEqual((broken.outcome, broken.output, broken.failed), ("Failed", "line of A.Breaks\nhere.cpp:1: Failure", True))
        self.assertEqual((skipped.outcome, skipped.failed), ("Skipped", False))

    def test_behind_a_crash_the_rest_goes_on(self):
        found = self.results("A.Passes", "A.Aborts", "A.IsLater", "A.AbortsToo", "A.IsLast")
        self.assertEqual([(result.name, result.outcome) for result in found], [
            ("room.A.Passes", "Passed"), ("room.A.Aborts", "killed by SIGABRT"), ("room.A.IsLater", "Passed"),
            ("room.A.AbortsToo", "killed by SIGABRT"), ("room.A.IsLast", "Passed")])
        self.assertEqual(found[1].output, "line of A.Aborts\nthe process ended: killed by SIGABRT")

    def test_a_hanging_case_is_killed_and_named(self):
        begun = time.monotonic()
        found = self.results("A.Passes", "A.Hangs", "A.IsLater", limit=0.5)
        self.assertLess(time.monotonic() - begun, 20)
        self.assertEqual([(result.name, result.outcome) for result in found],
                         [("room.A.Passes", "Passed"), ("room.A.Hangs", "Timeout"), ("room.A.IsLater", "Passed")])
        self.assertIn("killed: no end after 0.5 s", found[1].output)

    def test_a_case_that_ends_its_process_has_failed(self):
        self.assertEqual(self.outcomes("A.Leaves", "A.IsLater"), [("room.A.Leaves", "Failed"), ("room.A.IsLater", "Passed")])

    def test_an_end_between_cases_is_told(self):
        self.assertEqual(self.outcomes("A.EndsBehind", "A.IsLater"), [
            ("room.A.EndsBehind", "Passed"), ("room.A.EndsBehind (around it)", "killed by SIGSEGV"), ("room.A.IsLater", "Passed")])
        leaking = self.results("A.Breaks", "A.Leaks")
        self.assertEqual([(result.name, result.outcome) for result in leaking][1:],
                         [("room.A.Leaks", "Passed"), ("room.A.Leaks (around it)", "Failed")])
        self.assertEqual(leaking[-1].output, "3 bytes leaked\nthe process ended: exit status 23")

    def test_a_program_that_does_not_begin_fails_every_case(self):
        program = cases.Program(self.program.path, "room", os.environ | {"NEVER_BEGINS": "1"}, ".")
        self.assertEqual(self.outcomes("A.One", "A.Two", program=program), [
            ("room.test_room (around it)", "killed by SIGABRT"), ("room.A.One", "Failed"), ("room.A.Two", "Failed")])

    def test_what_a_case_started_ends_with_it(self):
        begun = time.monotonic()
        output = self.results("A.Child")[0].output
        self.assertLess(time.monotonic() - begun, 20)
        state = pathlib.Path(f"/proc/{output.splitlines()[1]}/stat")

        def lives():
            try:
                return state.read_text().rpartition(")")[2].split()[0] not in "ZX"
            except (FileNotFoundError, ProcessLookupError):
                return False

        while lives() and time.monotonic() < begun + 20:
            time.sleep(0.01)
        self.assertFalse(lives())

    def test_what_passed_runs_again_where_something_changed(self):
        fixtures = self.folder / "fixtures"
        fixtures.mkdir()
        listing = [cases.Case(name, f"room.{name}", False) for name in ("A.Passes", "A.Breaks", "A.IsSkipped")]

        def left(program=self.program):
            found, spared = passed.Passed(self.folder, [fixtures]).left([(program, listing)])
            return [case.filter for _, rest in found for case in rest], spared

        everything = ([case.filter for case in listing], 0)
        self.assertEqual(left(), everything)
        found = []
        cases.run(self.program, listing, 20, found.append)
        passed.Passed(self.folder, [fixtures]).save([(self.program, listing)], found)
        self.assertEqual(left(), (["A.Breaks", "A.IsSkipped"], 1))
        held = cases.Program(self.program.path, "room", self.program.environment | {"WEFT_ISA": "generic"}, ".")
        self.assertEqual(left(held), everything)
        (fixtures / "new.txt").write_text("new")
        self.assertEqual(left(), everything)
        (fixtures / "new.txt").unlink()
        self.assertEqual(left()[1], 1)
        with open(self.program.path, "a") as program:
            program.write("# another build\n")
        self.assertEqual(left(), everything)
        script, fuzzer = self.entry(""), dataclasses.replace(self.entry(""), name="fuzz.json", command=(self.program.path, "--seconds=3"))
        self.assertEqual([(program.path, case.name) for program, (case,) in passed.Passed(self.folder, [fixtures]).of_entries([script, fuzzer])],
                         [(self.program.path, "fuzz.json")])
        # A case that fails now has not passed, whatever it did before.
        passed.Passed(self.folder, [fixtures]).save([(self.program, listing[:1])], [Result("room.A.Passes", "room", "Failed", 0)])
        self.assertEqual(left(), everything)

    def entry(self, code, **properties):
        named = [{"name": name, "value": value} for name, value in ({"LABELS": ["room"]} | properties).items()]
        return entries.entry({"name": "room.script", "command": [sys.executable, "-c", code], "properties": named}, dict(os.environ))

    def test_entries(self):
        for code, outcome, output in [("print('well')", "Passed", "well"), ("print('ill'); exit(3)", "Failed", "ill"),
                                      ("import os; os.kill(os.getpid(), 9)", "killed by SIGKILL", ""),
                                      ("import time; time.sleep(60)", "Timeout", "killed: no end after 1 s")]:
            with self.subTest(outcome=outcome):
                found = []
                self.entry(code, TIMEOUT=1 if outcome == "Timeout" else 20).run(found.append)
                self.assertEqual([(result.name, result.room, result.outcome, result.output) for result in found],
                                 [("room.script", "room", outcome, output)])

    def test_properties_that_it_does_not_know_are_refused(self):
        with self.assertRaisesRegex(entries.Problem, "room.script has the property WILL_FAIL, which scripts/run-tests does not know"):
            self.entry("", WILL_FAIL=True)

    def test_presets_inherit_their_environment(self):
        presets = [{"name": "base", "environment": {"A": "1", "B": "1"}}, {"name": "tsan", "inherits": "base", "environment": {"B": "2"}}]
        self.assertEqual(entries.preset_environment(presets, "tsan"), {"A": "1", "B": "2"})
        with self.assertRaisesRegex(entries.Problem, "no test preset asna; it has base, tsan"):
            entries.preset_environment(presets, "asna")

    def test_a_job_for_all_cores_runs_alone_and_long_ones_first(self):
        order, running, together = [], set(), []
        lock = threading.Lock()

        def job(name):
            def run():
                with lock:
                    order.append(name)
                    running.add(name)
                    together.append(set(running))
                time.sleep(0.05)
                with lock:
                    running.discard(name)
            return run

        jobs = [pool.Job(job("short"), 1), pool.Job(job("long"), 9), pool.Job(job("all"), 0, cores=8)]
        pool.run(jobs, 2)
        self.assertEqual([names for names in together if "all" in names], [{"all"}])
        order.clear()
        pool.run(jobs, 1)  # one by one: which of two threads writes its name first is chance
        self.assertEqual(order, ["all", "long", "short"])

    def test_a_job_that_waits_holds_no_core(self):
        both = threading.Barrier(3, timeout=20)
        pool.run([pool.Job(both.wait, 1), pool.Job(both.wait, 9, cores=0), pool.Job(both.wait, 9, cores=0)], 1)
        self.assertEqual((self.entry("", LABELS=["room", "waits"]).cores, self.entry("", LABELS=["room"]).cores), (0, 1))

    def test_closing_lines(self):
        printer, text = closing.Printer(["room.A", "room.B", "room.C"]), io.StringIO()
        with contextlib.redirect_stdout(text):
            printer.add(Result("room.B", "room", "killed by SIGSEGV", 2.5, "what it printed"))
            printer.add(Result("room.A", "room", "Passed", 0.5))
            printer.add(Result("room.C", "room", "Skipped", 0))
            status = printer.close(["room.DISABLED_D"], 0, 3)
        self.assertEqual(status, 1)
        for line in ["1/3 room.B .. ***killed by SIGSEGV 2.50 sec\nwhat it printed", "66% tests passed, 1 tests failed out of 3",
                     "room =    3.00 sec (3 tests)", "\t3 - room.C (Skipped)",
                     "The following tests FAILED:\n\t2 - room.B (killed by SIGSEGV)"]:
            self.assertIn(line, text.getvalue())

    def test_only_what_passed_is_all(self):
        printer, text = closing.Printer([f"room.{number}" for number in range(300)]), io.StringIO()
        with contextlib.redirect_stdout(text):
            for number in range(300):
                printer.add(Result(f"room.{number}", "room", "Failed" if number == 7 else "Passed", 0))
            printer.close([], 0, 1)
        self.assertIn("99% tests passed, 1 tests failed out of 300", text.getvalue())


if __name__ == "__main__":
    unittest.main()
