"""What one operation costs, as `core.bench.engine.measure` reckons it, by the standard library alone."""

from __future__ import annotations

import gc
import os
import sys
import time
from typing import Any, Callable, NamedTuple, Tuple


class Cost(NamedTuple):
    seconds: float
    cpu_seconds: float
    peak_rss_bytes: int

    def and_then(self, other: Cost) -> Cost:
        """Of two pieces of work done one after the other."""
        return Cost(
            self.seconds + other.seconds,
            self.cpu_seconds + other.cpu_seconds,
            max(self.peak_rss_bytes, other.peak_rss_bytes),
        )


def measured(work: Callable[[], Any]) -> Tuple[Any, Cost]:
    """Run `work` and say what it cost.

    The collector starts clean, and CPython's passes over what was there before.
    """
    gc.collect()
    if hasattr(gc, "freeze"):
        gc.freeze()
    _forget_peak()
    cpu_before, before = _cpu_seconds(), time.perf_counter()
    answer = work()
    seconds = time.perf_counter() - before
    cost = Cost(seconds, _cpu_seconds() - cpu_before, _peak_rss())
    if hasattr(gc, "unfreeze"):
        gc.unfreeze()
    return answer, cost


def _cpu_seconds() -> float:
    """Of this process and of children it waited for."""
    times = os.times()
    return time.process_time() + times.children_user + times.children_system


def _forget_peak() -> None:
    if sys.platform == "linux":
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")


def _peak_rss() -> int:
    """Of this operation on Linux, of the process so far elsewhere, and unknown, as 0, on Windows."""
    if sys.platform == "linux":
        with open("/proc/self/status") as file:
            return int(file.read().partition("VmHWM:")[2].split(maxsplit=1)[0]) * 1024
    if sys.platform == "win32":
        return 0
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # bytes on macOS
