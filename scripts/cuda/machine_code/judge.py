# SPDX-License-Identifier: Apache-2.0
"""What scripts/cuda/check-build accepts: every kernel for every architecture, nothing spilled, products on tensor cores, and a table of it all."""
import re

from machine_code import sass

# Passes of formats with tensor cores that multiply nothing on them: they sum rows, join parts, have one query, draw or turn elements.
PLAIN = re.compile(r"\d(?:Join|Delta|Keep|Sum|Decode)|Elements")
TENSOR_CORES = re.compile(r"HalfFormat|Tf32Format")
# Those of 16-bit numbers that take another way on sm_90a, by wgmma: the hot forward pass without terms, and gradients of narrow heads.
GRADIENTS = r"(?:17QueryGradientWalkINS1_10HalfFormatILb[01]EEELb[01]ELb0E|15KeyGradientWalkINS1_10HalfFormatILb[01]EEELb[01]E)Lb1E"
WGMMA = re.compile(r"7HotPassINS1_(?:11ForwardWalkINS1_10HalfFormatILb[01]EEELi\d+ELb0E|" + GRADIENTS + ")")
# Of calls whose slices are whole, or with dropout, and these gradients: only sm_90a launches them, elsewhere they are empty.
ONLY_HERE = re.compile(r"7HotPassINS1_(?:11ForwardWalkINS1_10HalfFormatILb[01]EEELi\d+ELb0E(?:Lb1E|Lb0ELb1E)|" + GRADIENTS + ")")
# They run again what has a number that is not finite, and nothing else: they may spill.
CAREFUL = re.compile(r"\dCarefulPass")
# Passes of a call, which device_launcher.h lets begin before the one before is through, and kernels that are launched without that.
OF_A_CALL = re.compile(r"\drun_passI")
ALONE = re.compile(r"\drun_elementsI")
# A pass, and what it walks over, are named so in the mangled name of its kernel: a length, the name.
PASS = re.compile(r"\d([A-Z][A-Za-z]*?(?:Pass|Walk))(?=I|E|$)")
ARGUMENTS = re.compile(r"HalfFormatILb([01])|(Float32|Tf32)Format|L([ib])(\d+)E")
SINGLE = {"Float32": "f32", "Tf32": "tf32"}


def offences(kernels, warnings, code, architectures):
    """Lines that say what is wrong; none where all is well. `kernels`, `warnings` of ptxas.read, `code` of sass.read; `architectures` are those
    that must be there, as "sm_80". Nothing to look at is an offence, too."""
    found = [f"ptxas serialises: {line}" for line in warnings]
    for architecture in architectures:
        compiled = {kernel.name: kernel for kernel in kernels if kernel.architecture == architecture}
        disassembled = {name: counts for (name, of), counts in code.items() if of == architecture}
        if not compiled:
            found.append(f"{architecture}: the log of ptxas names no kernel")
        if not disassembled:
            found.append(f"{architecture}: the library has no machine code for it")
        found.extend(f"{architecture}: {label(name)} is in the log and not in the library" for name in sorted(compiled.keys() - disassembled.keys()))
        if disassembled and not any(is_product(name) for name in disassembled):
            found.append(f"{architecture}: no kernel multiplies on tensor cores")
        for name in sorted(disassembled):
            found.extend(f"{architecture}: {label(name)} {what}" for what in faults(name, architecture, compiled.get(name), disassembled[name]))
    return found


def hasty(code):
    """Lines that name the kernels of sm_90a that do not wait for the pass before, or reach the memory before they do: results would be wrong now and then.
    Code in which no kernel has the name of a pass, and a kernel that has no name known here, are named too: nothing would be looked at."""
    here = sorted((name, counts) for (name, architecture), counts in code.items() if architecture == "sm_90a")
    if here and not any(OF_A_CALL.search(name) for name, _ in here):
        yield "sm_90a: no kernel is a run_pass: which passes wait for the one before is not known"
    for name, counts in here:
        if not OF_A_CALL.search(name):
            if not ALONE.search(name):
                yield f"sm_90a: {label(name)} is neither a run_pass nor a run_elements: whether it must wait for the pass before it is not known"
        elif not sass.of_kind(counts, "wait"):
            yield f"sm_90a: {label(name)} does not wait for the pass before it (no ACQBULK)"
        elif counts["early"]:
            yield f"sm_90a: {label(name)} reaches the memory {counts['early']} times before it waits for the pass before it"


def faults(name, architecture, compiled, counts):
    if compiled is None or compiled.spilled is None or compiled.registers is None:
        yield "has no line of ptxas -v on its registers and spills"
    elif (compiled.spilled or compiled.stack) and not CAREFUL.search(name):
        yield f"has {compiled.stack} bytes of stack and spills {compiled.spilled} bytes with {compiled.registers} registers"
    if not counts["all"]:
        yield "has no instruction"
    elif sass.of_kind(counts, "local") and not CAREFUL.search(name):
        yield f"reads or writes local memory {sass.of_kind(counts, 'local')} times"
    yield from products(name, architecture, counts)
    yield from traps(counts)


def products(name, architecture, counts):
    wanted = "HGMMA" if architecture == "sm_90a" and WGMMA.search(name) else "HMMA"
    is_empty = architecture != "sm_90a" and ONLY_HERE.search(name)
    if counts["all"] and is_product(name) and not is_empty and not sass.of_kind(counts, wanted):
        yield f"has no {wanted} among its {counts['all']} instructions"


def traps(counts):
    """Only the order of wgmma's waits (DeviceLanes::order) has a trap by intent. The compiler puts one where it found that code cannot run, such as
    behind a read of an array that lies on the host."""
    if sass.of_kind(counts, "trap") and not sass.of_kind(counts, "HGMMA"):
        yield f"traps {sass.of_kind(counts, 'trap')} times: it ends every call that comes there"


def is_product(name):
    return bool(TENSOR_CORES.search(name)) and not PLAIN.search(name)


def label(name):
    """A short name that a person knows: ForwardPass(bf16, 1, 0) of a mangled one."""
    of = " ".join(PASS.findall(name))
    if not of:
        return name
    arguments = []
    for is_bfloat, single, _, number in ARGUMENTS.findall(name):
        arguments.append(SINGLE[single] if single else number if number else "bf16" if is_bfloat == "1" else "f16")
    return f"{of}({', '.join(arguments)})" if arguments else of


def table(kernels, code, threads=128):
    """Lines of Markdown: each kernel and architecture with what the compiler says of it. `blocks`: how many blocks of `threads` threads a
    multiprocessor's 65,536 registers allow."""
    yield "| kernel | architecture | registers | blocks by registers | instructions | HMMA | HGMMA | MUFU | FFMA | local |"
    yield "| -- | -- | --: | --: | --: | --: | --: | --: | --: | --: |"
    for kernel in sorted(kernels, key=lambda one: (label(one.name), int(re.sub(r"\D", "", one.architecture)))):
        counts = code.get((kernel.name, kernel.architecture))
        if counts is None:
            continue
        blocks = 65536 // (-(-kernel.registers // 8) * 8 * threads) if kernel.registers else "-"
        kinds = [sass.of_kind(counts, kind) for kind in ("HMMA", "HGMMA", "MUFU", "FFMA", "local")]
        yield f"| {' | '.join(map(str, [label(kernel.name), kernel.architecture, kernel.registers, blocks, counts['all'], *kinds]))} |"
