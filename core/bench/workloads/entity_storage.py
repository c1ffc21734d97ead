"""Entities written and read as a whole: the sizes and codecs on ParqueDB's page."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from lamella.core.bench.engine.measure import Cycle, Sample, measure
from lamella.core.bench.systems.base import FIELDS, Entity, System
from lamella.core.bench.workloads.entities import SCHEMA, entities, fingerprint
from lamella.core.bench.workloads.model import Operation, Workload
from lamella.core.bench.workloads.questions import digest

ENTITY_STORAGE = Workload(
    id="entity-storage",
    title="Size of entities",
    about="The same entities as JSON, as Parquet with each codec, and in databases: written, read, and their"
    " size on disk. Formats and codecs are listed as systems.",
    steps=("write", "read"),
    operations=(
        Operation(
            "write",
            "Write",
            "writes {rows}",
            "Write all to a new file or table, from the form that the system takes: an Arrow table, dicts or "
            "tuples.",
            resizes=True,
        ),
        Operation(
            "write_from_dicts",
            "Write, with preparation",
            "writes {rows} from dicts",
            "The same from Python dicts, including their conversion.",
        ),
        Operation(
            "read",
            "Read",
            "reads {rows}",
            "Open it and read all into an Arrow table, dicts or tuples, with nothing in memory before.",
        ),
    ),
    default_rows=(1_000, 10_000, 100_000),
    default_repeats=5,
    opens_inside=True,
    family="entity-storage",
    published_rows=(1_000, 10_000, 100_000),
)


def right_answer(_workload: Workload, _operation: Operation, rows: int) -> str:
    return digest(fingerprint(pa.Table.from_pylist(entities(0, rows), SCHEMA)))


class EntityStorage(System):
    """A system that stores entities. Databases also store ids, which files do not have."""

    columns = len(FIELDS)

    def prepare(self, entities: list[Entity]) -> Any:
        """Convert entities to the form that `write` takes."""
        return pa.Table.from_pylist(entities, SCHEMA)

    @abstractmethod
    def write(self, prepared: Any) -> None: ...

    @abstractmethod
    def read(self) -> Any: ...

    def as_table(self, answer: Any) -> pa.Table:
        """Convert the answer of `read` to an Arrow table."""
        return answer


class StorageCycle(Cycle[EntityStorage]):
    steps = ENTITY_STORAGE.steps

    def write(self) -> Iterator[Sample]:
        rows = entities(0, self.rows)
        self.system.prepare(rows[:1])  # so that imports are not timed
        prepared, preparing = measure(lambda: self.system.prepare(rows))
        writing = self._changing(lambda: self.system.write(prepared))
        self._owe(("write", writing), ("write_from_dicts", preparing + writing))
        yield from ()

    def read(self) -> Iterator[Sample]:
        answer, cost = self._measure_opening(self.system.read, writing=False)
        checksum = digest(fingerprint(self.system.as_table(answer)))
        self.system.close()
        yield from self._checked_samples(checksum)
        yield Sample("read", cost, self.system.disk_bytes(), checksum)

    def _database_digest(self) -> str:
        return digest(fingerprint(self.system.as_table(self.system.read())))
