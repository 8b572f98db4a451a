# SPDX-License-Identifier: Apache-2.0
"""Which functions of Weft a program enters, in the order of their first entry. A breakpoint lies on every function's first byte and is
taken away when it is hit, so that the program runs at its speed otherwise. What the compiler put into its caller is not seen.

For x86-64 Linux, with nm of the compiler's tools; elsewhere, and where the kernel lets no process watch another, `Unwatchable` says why."""

import ctypes
import os
import platform
import shutil
import signal
import subprocess

TRACEME, CONT, GETREGS, SETREGS, SETOPTIONS = 0, 7, 12, 13, 0x4200
TRACECLONE, EXITKILL = 0x8, 0x100000
ALL_THREADS = 0x40000000  # __WALL
BREAKPOINT = b"\xcc"
REGISTERS, RIP = 27, 16  # of user_regs_struct


class Unwatchable(Exception):
    """This machine does not let a program be watched."""


class Functions:
    """The functions of a program and its libraries, by address."""

    def __init__(self, files):
        if platform.machine() != "x86_64" or not shutil.which("nm"):
            raise Unwatchable("entries of functions are watched on x86-64, with nm")
        self.of_file = {os.path.realpath(file): list(self.read(file)) for file in files}

    @staticmethod
    def read(file):
        """(address in the file, name with namespaces) of each function of Weft, and of main."""
        lines = subprocess.run(["nm", "-C", "--defined-only", file], capture_output=True, text=True, check=True).stdout
        for line in lines.splitlines():
            address, kind, name = line.split(" ", 2)
            if kind in "tTwW" and (name == "main" or name.startswith("weft::")) and ".cold" not in name:
                yield int(address, 16), name

    def loaded(self, process):
        """{address in the process: name}, of the files that it has mapped so far."""
        found = {}
        with open(f"/proc/{process}/maps", encoding="utf-8") as maps:
            for line in maps:
                fields = line.split()
                if len(fields) > 5 and int(fields[2], 16) == 0 and fields[5] in self.of_file:
                    base = int(fields[0].split("-")[0], 16)
                    found.update({base + address: name for address, name in self.of_file[fields[5]]})
        return found


class Watched:
    """A child that stops where it enters a function for the first time."""

    def __init__(self, command, environment, folder):
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
        self.process = os.fork()
        if self.process == 0:
            self.become(command, environment, folder)
        _, status = os.waitpid(self.process, 0)
        if os.WIFEXITED(status):
            raise Unwatchable("the kernel lets no process watch another, or the program does not start")
        self.ptrace(SETOPTIONS, self.process, TRACECLONE | EXITKILL)
        self.memory = os.open(f"/proc/{self.process}/mem", os.O_RDWR)
        self.first_bytes = {}  # by address, of all breakpoints that were ever there
        self.set = set()  # those that are there

    def become(self, command, environment, folder):
        try:
            os.chdir(folder)
            quiet = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(quiet, stream)
            if self.libc.ptrace(TRACEME, 0, None, None) == 0:
                os.execve(command[0], command, environment)
        finally:
            os._exit(127)

    def ptrace(self, request, thread, data=None):
        if self.libc.ptrace(request, thread, None, data) < 0:
            error = ctypes.get_errno()
            raise OSError(error, os.strerror(error))

    def put(self, addresses):
        for address in addresses:
            if address not in self.first_bytes:
                self.first_bytes[address] = os.pread(self.memory, 1, address)
                os.pwrite(self.memory, BREAKPOINT, address)
                self.set.add(address)

    def entered(self, thread):
        """The function whose breakpoint a thread hit, or None where the trap is another one; the thread stands before it again."""
        registers = (ctypes.c_ulonglong * REGISTERS)()
        self.ptrace(GETREGS, thread, ctypes.cast(registers, ctypes.c_void_p))
        address = registers[RIP] - 1
        if address not in self.first_bytes:
            return None
        if address in self.set:
            os.pwrite(self.memory, self.first_bytes[address], address)
            self.set.remove(address)
        registers[RIP] = address
        self.ptrace(SETREGS, thread, ctypes.cast(registers, ctypes.c_void_p))
        return address

    def stops(self):
        """Goes on from stop to stop, and gives (thread, address) of each entry; ends with the process."""
        self.ptrace(CONT, self.process)
        while True:
            thread, status = os.waitpid(-1, ALL_THREADS)
            if os.WIFSTOPPED(status):
                signal_number = os.WSTOPSIG(status)
                if signal_number == signal.SIGTRAP:
                    address = None if status >> 16 else self.entered(thread)  # an event, such as a new thread, is none
                    if address is not None:
                        yield thread, address
                    signal_number = 0
                elif signal_number == signal.SIGSTOP:  # of a thread that begins
                    signal_number = 0
                self.ptrace(CONT, thread, signal_number)
            elif thread == self.process:
                os.close(self.memory)
                self.status = os.waitstatus_to_exitcode(status)
                return


def entries(command, libraries, environment, folder):
    """The names of the functions that `command` enters, first entry first, and its exit status. `libraries` are loaded before main begins."""
    functions = Functions([command[0], *libraries])
    child = Watched(command, {**environment, "LD_PRELOAD": ":".join(libraries)}, folder)
    names = functions.loaded(child.process)
    child.put(address for address, name in names.items() if name == "main")
    order = []
    for _, address in child.stops():
        if names[address] == "main":  # now all libraries are there
            names = functions.loaded(child.process)
            child.put(names)
        order.append(names[address])
    return order, child.status
