# SPDX-License-Identifier: Apache-2.0
"""Milliseconds of a call on the device by CUDA's events, the better of called and replayed from a graph where it can be one. Kernels have the median
of their turns, in one process with their rivals. Whole models have the fastest of as many turns as their rivals, as `weft bench model` says it."""
import statistics
import time

import torch


def milliseconds(work, device, turns=15, replays=True):
    if device.type != "cuda":
        return statistics.median(_by_clock(work, 2))
    for _ in range(3):
        work()
    called = statistics.median(_by_events(work, turns))
    again = replayed(work, device, turns) if replays else None
    return min(called, again) if again else called


def fastest(work, device, turns):
    """Of so many turns, after one that does not count, each by the clock of the host until the device is through, as `weft bench model --repeats` does."""

    def whole():
        work()
        if device.type == "cuda":
            torch.cuda.synchronize()

    whole()
    return min(_by_clock(whole, turns))


def _by_clock(work, turns):
    times = []
    for _ in range(turns):
        begin = time.perf_counter()
        work()
        times.append((time.perf_counter() - begin) * 1e3)
    return times


def _by_events(work, turns):
    pairs = [(torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)) for _ in range(turns)]
    for begin, end in pairs:
        begin.record()
        work()
        end.record()
    torch.cuda.synchronize()
    return [begin.elapsed_time(end) for begin, end in pairs]


def replayed(work, device, turns, rule=statistics.median):
    """Replayed from a graph, by `rule` of the turns; None where the work cannot be captured, as what synchronises, and on a CPU."""
    if device.type != "cuda":
        return None
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        work()  # what is made once on a stream is made before the capture
    torch.cuda.current_stream().wait_stream(side)
    try:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            work()
    except RuntimeError:
        torch.cuda.synchronize()
        return None
    graph.replay()
    return rule(_by_events(graph.replay, turns))


def peak(work, device):
    """Bytes that the work takes above what is there before."""
    if device.type != "cuda":
        return 0
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    work()
    torch.cuda.synchronize()
    return torch.cuda.max_memory_allocated() - before
