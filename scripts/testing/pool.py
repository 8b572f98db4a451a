# SPDX-License-Identifier: Apache-2.0
"""Jobs on as many workers as there are cores: those that need several cores first, then the longest, so that no core waits for the last one.
Those that need none, because they wait, run beside them from the beginning."""
import concurrent.futures
import dataclasses
import typing

from . import process


@dataclasses.dataclass(frozen=True)
class Job:
    run: typing.Callable[[], None]
    seconds: float  # expected
    cores: int = 1


def run(jobs, cores):
    """Runs every job. What a job raises ends the run, and everything that runs is killed."""
    waiting = sorted(jobs, key=lambda job: (-job.cores, -job.seconds))
    running, free = {}, cores
    with concurrent.futures.ThreadPoolExecutor(cores + sum(job.cores == 0 for job in waiting)) as workers:
        try:
            while waiting or running:
                for job in list(waiting):
                    needed = min(job.cores, cores)
                    if needed <= free:
                        waiting.remove(job)
                        free -= needed
                        running[workers.submit(job.run)] = needed
                ended, _ = concurrent.futures.wait(running, return_when=concurrent.futures.FIRST_COMPLETED)
                for future in ended:
                    free += running.pop(future)
                    future.result()
        except BaseException:
            process.stop_all()
            raise
