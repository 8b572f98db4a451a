#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What scripts/cuda/check-build reads and refuses, on outputs of ptxas and cuobjdump as they look, cut short: no compiler is needed."""
import os
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(os.environ.get("WEFT_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(ROOT / "scripts/cuda"))
from machine_code import judge, ptxas, sass  # noqa: E402

FORWARD = "_ZN4weft7kernels4cuda12_GLOBAL__N_18run_passINS1_11ForwardPassINS1_10HalfFormatILb1EEELi1ELb0EEEEEvNS1_10DeviceCallEb"
JOIN = "_ZN4weft7kernels4cuda12_GLOBAL__N_18run_passINS1_15JoinForwardPassINS1_10HalfFormatILb1EEEEEEEvNS1_10DeviceCallEb"
ELEMENTS = "_ZN4weft7kernels4cuda12_GLOBAL__N_112run_elementsINS1_10TurnPassEEEvNT_4CallE"
EXACT = "_ZN4weft7kernels4cuda12_GLOBAL__N_18run_passINS1_11ForwardPassINS1_13Float32FormatELi2ELb0EEEEEvNS1_10DeviceCallEb"


def log_of(name, spilled=0, stack=0, more=""):
    return f"""ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '{name}' for 'sm_90a'
ptxas info    : Function properties for {name}
    {stack} bytes stack frame, {spilled} bytes spill stores, {spilled} bytes spill loads
ptxas info    : Used 168 registers, used 1 barriers, 16 bytes smem
{more}ptxas info    : Compile time = 123.456 ms
"""


def code_of(name, *instructions):
    lines = [f"        /*{16 * at:04x}*/                   {text} ;    /* 0x000000000000 */" for at, text in enumerate(instructions)]
    return "\n".join(["Fatbin elf code:", "================", "arch = sm_90a", "code version = [1,8]", "\tcode for sm_90a", f"\t\tFunction : {name}",
                      "\t.headerflags\t@\"EF_CUDA_TEXMODE_UNIFIED\"", *lines, "\t\t.........."])


LOG = log_of(FORWARD) + log_of(JOIN) + log_of(EXACT)
CODE = "\n".join([code_of(FORWARD, "LDC R1, c[0x0][0x28]", "@!P0 HMMA.16816.F32.BF16 R4, R8, R12, R4", "EXIT"), code_of(JOIN, "FADD R1, R2, R3"),
                  code_of(EXACT, "FFMA R1, R2, R3, R1")])


def offences(log=LOG, code=CODE, architectures=("sm_90a",)):
    return judge.offences(*ptxas.read(log), sass.read(code), architectures)


class CheckCudaTest(unittest.TestCase):
    def test_what_is_well_is_accepted_and_counted(self):
        self.assertEqual(offences(), [])
        kernels, warnings = ptxas.read(LOG)
        self.assertEqual([(kernel.registers, kernel.spilled, kernel.shared) for kernel in kernels], [(168, 0, 16)] * 3)
        self.assertEqual(warnings, [])
        self.assertEqual(sass.read(CODE)[FORWARD, "sm_90a"]["HMMA"], 1)
        self.assertIn("| ForwardPass(bf16, 1, 0) | sm_90a | 168 | 3 | 3 | 1 | 0 | 0 | 0 | 0 |", list(judge.table(kernels, sass.read(CODE))))

    def test_no_output_is_an_offence(self):
        nothing = ["sm_90a: the log of ptxas names no kernel", "sm_90a: the library has no machine code for it"]
        self.assertEqual(offences("", ""), nothing)
        self.assertEqual(offences("ninja: no work to do.\n", "\n\n"), nothing)
        self.assertEqual(len(offences(architectures=("sm_90a", "sm_80"))), 2)
        self.assertIn("is in the log and not in the library", offences(code=code_of(FORWARD, "HMMA R1"))[0])
        self.assertEqual(offences(log_of(FORWARD), code_of(FORWARD)), ["sm_90a: ForwardPass(bf16, 1, 0) has no instruction"])
        self.assertIn("no line of ptxas", offences(LOG.replace("registers", "things"))[0])

    def test_spills_are_refused(self):
        self.assertEqual(offences(LOG.replace(log_of(FORWARD), log_of(FORWARD, 24, 16))),
                         ["sm_90a: ForwardPass(bf16, 1, 0) has 16 bytes of stack and spills 48 bytes with 168 registers"])
        local = CODE.replace("EXIT", "@P1 STL.64 [R1+0x8], R4")
        self.assertEqual(offences(code=local), ["sm_90a: ForwardPass(bf16, 1, 0) reads or writes local memory 1 times"])

    def test_traps_are_refused(self):
        self.assertEqual(offences(code=CODE.replace("FADD R1, R2, R3", "BPT.TRAP 0x1")),
                         ["sm_90a: JoinForwardPass(bf16) traps 1 times: it ends every call that comes there"])
        ordered = CODE.replace("EXIT", "@P0 BPT.TRAP 0x1").replace("HMMA.16816.F32.BF16 R4, R8, R12, R4", "HGMMA.64x64x16.F32.BF16 R4, R8")
        self.assertNotIn("traps", " ".join(offences(code=ordered)))

    def test_memory_before_the_wait_is_refused(self):
        def hasty(*instructions):
            return list(judge.hasty(sass.read(code_of(FORWARD, *instructions))))

        self.assertEqual(hasty("LDC R1, c[0x0][0x28]", "PREEXIT", "ACQBULK", "@!P0 LDG.E.64 R2, [R4.64]", "EXIT"), [])
        self.assertEqual(hasty("LDG.E R2, [R4.64]", "ACQBULK", "STG.E [R4.64], R2", "EXIT"),
                         ["sm_90a: ForwardPass(bf16, 1, 0) reaches the memory 1 times before it waits for the pass before it"])
        self.assertEqual(hasty("LDG.E R2, [R4.64]", "EXIT"), ["sm_90a: ForwardPass(bf16, 1, 0) does not wait for the pass before it (no ACQBULK)"])
        waits = code_of(FORWARD, "ACQBULK", "LDG.E R2, [R4.64]")
        elsewhere = [code_of(FORWARD, "LDG.E R2, [R4.64]").replace("sm_90a", "sm_80"), waits + "\n" + code_of(ELEMENTS, "LDG.E R2, [R4.64]"), ""]
        self.assertEqual([list(judge.hasty(sass.read(code))) for code in elsewhere], [[], [], []])

    def test_passes_of_another_name_are_not_overlooked(self):
        waits = code_of(FORWARD, "ACQBULK", "LDG.E R2, [R4.64]")
        renamed = code_of(FORWARD.replace("8run_pass", "9begin_pass"), "LDG.E R2, [R4.64]")
        unknown = ("sm_90a: ForwardPass(bf16, 1, 0) is neither a run_pass nor a run_elements: "
                   "whether it must wait for the pass before it is not known")
        self.assertEqual(list(judge.hasty(sass.read(waits + "\n" + renamed))), [unknown])
        self.assertEqual(list(judge.hasty(sass.read(renamed))),
                         ["sm_90a: no kernel is a run_pass: which passes wait for the one before is not known", unknown])
        self.assertEqual(list(judge.hasty(sass.read(code_of(ELEMENTS, "LDG.E R2, [R4.64]")))),
                         ["sm_90a: no kernel is a run_pass: which passes wait for the one before is not known"])

    def test_the_names_that_are_looked_for_are_those_of_the_kernels(self):
        sources = "\n".join(path.read_text() for path in sorted((ROOT / "src/weft/kernels/cuda").rglob("*")) if path.suffix in (".h", ".cu"))
        for kernel in ("run_pass", "run_elements"):
            self.assertRegex(sources, rf"__global__ void [^;{{]*\b{kernel}\(")
        for name in ("HotPass", "CarefulPass", "ForwardWalk", "QueryGradientWalk", "KeyGradientWalk", "HalfFormat", "Tf32Format"):
            self.assertRegex(sources, rf"(?:struct|class) {name}\b")

    def test_what_runs_again_for_nan_may_spill(self):
        careful = FORWARD.replace("11ForwardPassI", "11CarefulPassINS1_11ForwardWalkI").replace("ELb0EEEEE", "ELb0EEEEEEE")
        kernels, _ = ptxas.read(log_of(careful, 24, 16))
        self.assertEqual(judge.label(kernels[0].name), "CarefulPass ForwardWalk(bf16, 1, 0)")
        self.assertEqual(offences(log_of(careful, 24, 16), code_of(careful, "HMMA.16816.F32 R4, R8, R12, R4", "STL [R1], R4")), [])

    def test_products_without_tensor_cores_are_refused(self):
        self.assertEqual(offences(code=CODE.replace("HMMA.16816", "FMUL.16816")),
                         ["sm_90a: ForwardPass(bf16, 1, 0) has no HMMA among its 3 instructions"])
        single = FORWARD.replace("10HalfFormatILb1EE", "10Tf32Format")
        self.assertEqual(offences(log_of(single), code_of(single, "FFMA R1, R2, R3, R1")), ["sm_90a: ForwardPass(tf32, 1, 0) has no HMMA among its 1 instructions"])
        hopper = FORWARD.replace("11ForwardPassI", "7HotPassINS1_11ForwardWalkI").replace("ELb0EEEEE", "ELb0EEEEEEE")
        found = offences(LOG.replace(FORWARD, hopper), CODE.replace(FORWARD, hopper))
        self.assertEqual(found, ["sm_90a: HotPass ForwardWalk(bf16, 1, 0) has no HGMMA among its 3 instructions"])
        older = [text.replace(FORWARD, hopper).replace("sm_90a", "sm_80") for text in (LOG, CODE)]
        self.assertEqual(offences(*older, architectures=("sm_80",)), [])
        whole = FORWARD.replace("11ForwardPassI", "7HotPassINS1_11ForwardWalkI").replace("ELb0EEEEE", "ELb0ELb1EEEEEEE")
        empty = [text.replace("sm_90a", "sm_80") for text in (LOG + log_of(whole), CODE + "\n" + code_of(whole, "EXIT"))]
        self.assertEqual(offences(*empty, architectures=("sm_80",)), [])
        self.assertEqual(offences(LOG + log_of(whole), CODE + "\n" + code_of(whole, "EXIT")),
                         ["sm_90a: HotPass ForwardWalk(bf16, 1, 0, 1) has no HGMMA among its 1 instructions"])
        self.assertEqual(offences(log_of(EXACT), code_of(EXACT, "FFMA R1, R2, R3, R1")), ["sm_90a: no kernel multiplies on tensor cores"])

    def test_gradients_of_narrow_heads_are_of_hopper(self):
        for walk, arguments in (("17QueryGradientWalk", "ELb1ELb0ELb1EEEEEEE"), ("15KeyGradientWalk", "ELb0ELb1ELb1EEEEEEE")):
            narrow = re.sub(r"11ForwardPassI(.*?EE)ELi\d+ELb0EEEEE", rf"7HotPassINS1_{walk}I\1{arguments}", FORWARD)
            empty = [text.replace("sm_90a", "sm_80") for text in (LOG + log_of(narrow), CODE + "\n" + code_of(narrow, "EXIT"))]
            self.assertEqual(offences(*empty, architectures=("sm_80",)), [])
            found = offences(LOG + log_of(narrow), CODE + "\n" + code_of(narrow, "EXIT"))
            self.assertEqual(len(found), 1)
            self.assertIn("has no HGMMA among its 1 instructions", found[0])

    def test_the_build_has_the_architectures_that_are_asked_for(self):
        check = (ROOT / "scripts/cuda/check-build").read_text()
        listed = re.search(r"^ARCHITECTURES = \((.*)\)$", check, re.MULTILINE)[1]
        build = (ROOT / "cmake/WeftCuda.cmake").read_text()
        self.assertEqual(re.findall(r"\w+", listed), re.search(r"set\(WEFT_CUDA_ARCHITECTURES ([\w ]+) CACHE", build)[1].split())

    def test_machine_code_for_another_architecture_does_not_count(self):
        # What is assembled from one PTX has a name for each architecture in the log and in the library.
        both = [LOG + LOG.replace("sm_90a", "sm_100"), CODE + "\n" + CODE.replace("sm_90a", "sm_100")]
        self.assertEqual(offences(*both, architectures=("sm_90a", "sm_100")), [])
        self.assertEqual(offences(both[0], CODE, ("sm_90a", "sm_100"))[0], "sm_100: the library has no machine code for it")
        spilled = both[0].replace(log_of(FORWARD).replace("sm_90a", "sm_100"), log_of(FORWARD, 4, 8).replace("sm_90a", "sm_100"))
        self.assertEqual(offences(spilled, both[1], ("sm_90a", "sm_100")),
                         ["sm_100: ForwardPass(bf16, 1, 0) has 8 bytes of stack and spills 8 bytes with 168 registers"])
        hopper = FORWARD.replace("11ForwardPassI", "7HotPassINS1_11ForwardWalkI").replace("ELb0EEEEE", "ELb0EEEEEEE")
        blackwell = [text.replace(FORWARD, hopper).replace("sm_90a", "sm_120") for text in (LOG, CODE)]
        self.assertEqual(offences(*blackwell, architectures=("sm_120",)), [])

    def test_serialised_products_are_refused(self):
        warning = "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized due to ... in function 'x'\n"
        self.assertEqual(offences(LOG + warning), [f"ptxas serialises: {warning.strip()}"])


if __name__ == "__main__":
    unittest.main()
