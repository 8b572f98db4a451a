# SPDX-License-Identifier: Apache-2.0
"""Children of this process by fork. PyTorch's threads are not in a child, and its first parallel loop would wait for them
without end; so a child of a process that had threads computes with one, as the workers of a DataLoader do."""
import os


def watch_forks(torch):
    threads = _Threads()

    def in_child():
        if threads.were_there:
            torch.set_num_threads(1)

    os.register_at_fork(before=threads.look, after_in_child=in_child)


class _Threads:
    """Whether the process had more than one thread when it forked. A child's children do not know: they keep the answer."""

    were_there = False

    def look(self):
        try:
            self.were_there = self.were_there or len(os.listdir("/proc/self/task")) > 1
        except OSError:
            self.were_there = True
