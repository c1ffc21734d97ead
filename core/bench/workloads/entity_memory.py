"""The memory of entities with small and large payloads: the table about memory on ParqueDB's page."""

from __future__ import annotations

import ctypes
import gc
import sys
from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, ClassVar

import psutil
import pyarrow as pa

from lamella.core.bench.engine.measure import Cycle, Sample, measure
from lamella.core.bench.systems.base import System
from lamella.core.bench.workloads.model import Operation, Workload
from lamella.core.bench.workloads.questions import digest
from lamella.core.bench.workloads.table_rows import SEED

PAYLOADS = {"100": "100 B", "1k": "1 KB", "10k": "10 KB"}
"""Bytes of text in each entity: the ending of the operation's name, and the text to show."""

BYTES = {"100": 100, "1k": 1_000, "10k": 10_000}
_MEMORY = "Its memory is the peak that it adds to the process, without code that is loaded only once."


def _of_payload(end: str) -> tuple[Operation, Operation]:
    payload = PAYLOADS[end]
    return (
        Operation(
            f"result_{end}",
            f"Result, {payload}",
            f"finds half of {{rows}} with {payload} each",
            f"The rows of group 1, which are half of all, from an open table. {_MEMORY}",
            holds=True,
        ),
        Operation(
            f"hold_{end}",
            f"All held, {payload}",
            f"takes all of {{rows}} with {payload} each into memory",
            f"All rows, in the form in which the system returns them. {_MEMORY}",
            holds=True,
        ),
    )


_OPERATIONS = tuple(operation for end in PAYLOADS for operation in _of_payload(end))

ENTITY_MEMORY = Workload(
    id="entity-memory",
    title="Memory of entities",
    about="Entities with 100 B, 1 KB and 10 KB of text: half of them found, all of them held. Peak memory is"
    " what each operation adds to the process, not the memory of the whole process.",
    steps=("fill", *(operation.id for operation in _OPERATIONS)),
    operations=_OPERATIONS,
    default_rows=(1_000, 10_000),
    default_repeats=3,
    family="entity-memory",
    published_rows=(1_000, 10_000),
)

PAYLOAD_SCHEMA = pa.schema(
    {"number": pa.int64(), "grp": pa.int64(), "name": pa.string(), "payload": pa.string()}
)

AT_ONCE = 1_000


def payloads(rows: int, size: int) -> pa.RecordBatchReader:
    return pa.RecordBatchReader.from_batches(PAYLOAD_SCHEMA, _batches(rows, size))


def _batches(rows: int, size: int) -> Iterator[pa.RecordBatch]:
    for start in range(0, rows, AT_ONCE):
        numbers = range(start, min(start + AT_ONCE, rows))
        batch = [
            {"number": n, "grp": n % 2, "name": f"entity {n}", "payload": payload(n, size)} for n in numbers
        ]
        yield pa.RecordBatch.from_pylist(batch, PAYLOAD_SCHEMA)


def payload(number: int, size: int) -> str:
    return Random(SEED * 1_000_003 + number).randbytes(-(-size // 2)).hex()[:size]


def right_answer(_workload: Workload, operation: Operation, rows: int) -> str:
    first, step = (1, 2) if operation.id.startswith("result") else (0, 1)
    return digest([[number] for number in range(first, rows, step)])


class EntityMemory(System):
    """A table for each size of payload, in one database."""

    columns = len(PAYLOAD_SCHEMA)

    @abstractmethod
    def fill(self, table: str, batches: pa.RecordBatchReader) -> None: ...

    def ready(self, table: str) -> None:
        """Prepare the open database for a question about this table; this is not part of the memory."""

    @abstractmethod
    def result(self, table: str) -> Any:
        """Return all columns of the rows of group 1."""

    @abstractmethod
    def hold(self, table: str) -> Any:
        """Return all rows and columns."""

    def numbers(self, answer: Any) -> list[int]:
        """Return the numbers of an answer's rows; by default, the answer is an Arrow table."""
        numbers: list[int] = answer["number"].to_pylist()
        return numbers


class FrameMemory(EntityMemory):
    def open(self, writing: bool) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self._frame: Any = None

    def close(self) -> None:
        self._frame = None

    def fill(self, table: str, batches: pa.RecordBatchReader) -> None:
        import pyarrow.parquet as pq

        with pq.ParquetWriter(self.file(table), batches.schema) as writer:
            for batch in batches:
                writer.write_batch(batch)

    def ready(self, table: str) -> None:
        self._frame = self.hold(table)

    @abstractmethod
    def hold(self, table: str) -> Any: ...

    def file(self, table: str) -> Path:
        return self.folder / f"{table}.parquet"


WARM_UP, WARM_UP_ROWS = "warm_up", 5_000


class MemoryCycle(Cycle[EntityMemory]):
    steps: ClassVar[tuple[str, ...]] = ("fill",)

    def step(self, name: str) -> Iterator[Sample]:
        yield from self._fill() if name == "fill" else self._ask(name)

    def _fill(self) -> Iterator[Sample]:
        self.system.open(writing=True)
        self.system.fill(WARM_UP, payloads(WARM_UP_ROWS, BYTES["100"]))
        for end, size in BYTES.items():
            self.system.fill(f"payload_{end}", payloads(self.rows, size))
        self.system.close()
        yield from ()

    def _ask(self, name: str) -> Iterator[Sample]:
        what, _, end = name.partition("_")
        self.system.open(writing=False)
        ask: Callable[[str], Any] = getattr(self.system, what)
        self.system.ready(WARM_UP)
        ask(WARM_UP)
        self.system.ready(f"payload_{end}")
        _give_back()
        before = psutil.Process().memory_info().rss
        answer, cost = measure(partial(ask, f"payload_{end}"))
        fingerprint = digest([[number] for number in self.system.numbers(answer)])
        self.system.close()
        added = replace(cost, peak_rss_bytes=max(0, cost.peak_rss_bytes - before))
        yield Sample(name, added, self.system.disk_bytes(), fingerprint)

    def _database_digest(self) -> str:
        raise AssertionError("No step changes anything")


def _give_back() -> None:
    """Return freed memory to the operating system."""
    gc.collect()
    pa.default_memory_pool().release_unused()
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # exists in glibc, but not in musl
        if trim is not None:
            trim(0)
