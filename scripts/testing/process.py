# SPDX-License-Identifier: Apache-2.0
"""A command that is watched: its lines are read up to a moment in time, and it ends with all that it started.

Standard output and standard error are one stream. The command leads a process group, which is killed when the command has ended or is late:
a server that a test left behind holds neither the pipe nor a core.
"""
import collections
import os
import select
import signal
import subprocess
import threading
import time

KEPT_LINES = 2000
_running = set()
_lock = threading.Lock()
_stopped = threading.Event()


class Late(Exception):
    """The moment passed before the line, or the end, came."""


class Stopped(Exception):
    """The whole run was stopped: nothing is started any more."""


class Process:
    def __init__(self, command, environment, folder=None):
        with _lock:
            if _stopped.is_set():
                raise Stopped
            self._process = subprocess.Popen(command, env=environment, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                             stderr=subprocess.STDOUT, start_new_session=True)
            _running.add(self)
        self._pipe = self._process.stdout.fileno()
        self._pending = b""

    def next_line(self, moment):
        """The next line without its end, or None when there is none any more. Raises Late."""
        while b"\n" not in self._pending:
            if time.monotonic() >= moment:
                raise Late
            ended = self._process.poll() is not None
            if select.select([self._pipe], [], [], 0 if ended else 0.1)[0]:
                piece = os.read(self._pipe, 1 << 16)
                if piece:
                    self._pending += piece
                    continue
            elif not ended:
                continue
            # The pipe is closed, or the command ended and nothing is left in it, though something that it started may hold it open.
            rest, self._pending = self._pending, b""
            return rest.decode(errors="replace") if rest else None
        line, self._pending = self._pending.split(b"\n", 1)
        return line.decode(errors="replace")

    def end(self, moment):
        """The exit status, below zero for a signal, once it has ended. Raises Late."""
        try:
            return self._process.wait(max(0, moment - time.monotonic()))
        except subprocess.TimeoutExpired:
            raise Late from None

    def kill(self):
        """Kills what is left of it, and of all that it started."""
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def close(self):
        self.kill()
        self._process.wait()
        self._process.stdout.close()
        with _lock:
            _running.discard(self)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def stop_all():
    """Kills every command that runs, and lets no other start."""
    with _lock:
        _stopped.set()
        running = list(_running)
    for process in running:
        process.kill()


class Output:
    """The last lines of what a test printed."""

    def __init__(self):
        self._lines = collections.deque(maxlen=KEPT_LINES)
        self._count = 0

    def add(self, line):
        self._lines.append(line)
        self._count += 1

    def text(self):
        left_out = self._count - len(self._lines)
        return "\n".join([f"({left_out} lines before these)"] * (left_out > 0) + list(self._lines))


def how_it_ended(status):
    """In words: `killed by SIGSEGV`, `exit status 3`."""
    if status >= 0:
        return f"exit status {status}"
    try:
        return f"killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"killed by signal {-status}"
