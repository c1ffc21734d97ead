"""Fill a table for each payload; then find and hold, small payloads first.

Memory that is freed stays with the process to some degree, and what is taken of it again does not count: so
it is given back before each step, as far as it can be, and the steps grow.
"""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import psutil
import pyarrow as pa

from lamella.core.bench.cycle import Cycle, Sample
from lamella.core.bench.entity_memory.backend import EntityMemory
from lamella.core.bench.entity_memory.data import payloads
from lamella.core.bench.measure import measured
from lamella.core.bench.questions.answers import digest
from lamella.core.bench.workloads.entity_memory import BYTES

WARM_UP, WARM_UP_ROWS = "warm_up", 5_000


class MemoryCycle(Cycle[EntityMemory]):
    steps: ClassVar[tuple[str, ...]] = ("fill",)

    def step(self, name: str) -> Iterator[Sample]:
        yield from self._fill() if name == "fill" else self._ask(name)

    def _fill(self) -> Iterator[Sample]:
        self.backend.open(writing=True)
        self.backend.fill(WARM_UP, payloads(WARM_UP_ROWS, BYTES["100"]))
        for end, size in BYTES.items():
            self.backend.fill(f"payload_{end}", payloads(self.rows, size))
        self.backend.close()
        yield from ()

    def _ask(self, name: str) -> Iterator[Sample]:
        what, _, end = name.partition("_")
        self.backend.open(writing=False)
        ask: Callable[[str], Any] = getattr(self.backend, what)
        self.backend.ready(WARM_UP)
        ask(WARM_UP)
        self.backend.ready(f"payload_{end}")
        _give_back()
        before = psutil.Process().memory_info().rss
        answer, cost = measured(partial(ask, f"payload_{end}"))
        found = digest([[number] for number in self.backend.numbers(answer)])
        self.backend.close()
        added = replace(cost, peak_rss_bytes=max(0, cost.peak_rss_bytes - before))
        yield Sample(name, added, self.backend.disk_bytes(), found)

    def _digest_of_all(self) -> str:
        raise AssertionError("No step leaves a change behind")


def _give_back() -> None:
    """What was freed, to the operating system."""
    gc.collect()
    pa.default_memory_pool().release_unused()
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc has it, musl has not
        if trim is not None:
            trim(0)
