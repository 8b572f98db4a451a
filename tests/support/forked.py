# SPDX-License-Identifier: Apache-2.0
"""Runs the program by a fork of a server that has loaded LibTorch: 0.05 s of processor for a short command in place of 0.35 s.

CMake names the server and its client in WEFT_FORK; where the variable is not set, the program runs as it is. What measures how the program
starts, or how much memory it needs, starts the program itself.
"""
import os
import threading

# Variables that libraries read when they are loaded: a run has those of the server, or is none of its forks.
READ_WHEN_LOADED = ("OMP_", "GOMP_", "KMP_", "MKL_", "ONEDNN_", "DNNL_", "ATEN_", "TORCH_", "PYTORCH_", "LD_", "THP_", "MALLOC_", "GLIBC_", "WEFT_ISA",
                    "WEFT_LIBTORCH")
# What else subprocess is asked for (limits, sessions, open files) is set up in the process that becomes the program.
KEYWORDS = {"env", "timeout", "errors", "cwd", "input", "capture_output", "text", "stdin", "stdout", "stderr"}

_sockets, _lock = {}, threading.Lock()


def loaded_with(environment):
    return "\n".join(sorted(f"{name}={value}" for name, value in environment.items() if name.startswith(READ_WHEN_LOADED)))


def _begin(environment):
    """The socket of a server with these variables, which ends with this process."""
    import atexit
    import shutil
    import subprocess
    import tempfile
    folder = tempfile.mkdtemp(prefix="weft-fork-")
    socket, program = os.path.join(folder, "socket"), f"{os.environ['WEFT_FORK']}_server"
    process = subprocess.Popen([program, socket], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)

    def end():
        process.stdin.close()
        process.wait()
        process.stdout.close()
        shutil.rmtree(folder, ignore_errors=True)

    atexit.register(end)
    if process.stdout.readline() != b"ready\n":
        raise AssertionError(f"{program} did not begin")
    return socket


def served(usual):
    """Variables that name a server, for program() here and in scripts between; `usual` is the environment of most runs."""
    if "WEFT_FORK" not in os.environ:
        return {}
    loaded = loaded_with(usual)
    with _lock:
        if loaded not in _sockets:
            _sockets[loaded] = _begin(usual)
    return {"WEFT_FORK": os.environ["WEFT_FORK"], "WEFT_FORK_SERVER": _sockets[loaded], "WEFT_FORK_LOADED": loaded}


def program(binary, environment):
    """What to execute in place of `binary` with variables of served(): the client of a server, if that has read the same variables."""
    by_fork = environment.get("WEFT_FORK_LOADED") == loaded_with(environment)
    return f"{environment['WEFT_FORK']}_client" if by_fork else binary


def begin(start, command, usual, **keywords):
    """`start`, subprocess.run or subprocess.Popen, of the program and its arguments, with the variables `env`."""
    if not set(keywords) <= KEYWORDS:
        return start(command, **keywords)
    variables = {**keywords["env"], **served(usual)}
    return start(command, executable=program(command[0], variables), **{**keywords, "env": variables})
