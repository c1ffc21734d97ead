"""Write, then read: each opens the file or database and closes it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from lamella.core.bench.cycle import Cycle, Sample
from lamella.core.bench.entities.data import entities
from lamella.core.bench.entities.fingerprint import fingerprint
from lamella.core.bench.entity_storage.backend import EntityStorage
from lamella.core.bench.measure import measured
from lamella.core.bench.questions.answers import digest


class StorageCycle(Cycle[EntityStorage]):
    steps: ClassVar[tuple[str, ...]] = ("write", "read")

    def write(self) -> Iterator[Sample]:
        made = entities(0, self.rows)
        self.backend.prepare(made[:1])  # what it imports first is no part of a time
        prepared, preparing = measured(lambda: self.backend.prepare(made))
        writing = self._changing(lambda: self.backend.write(prepared))
        self._owe(("write", writing), ("write_from_dicts", preparing + writing))
        yield from ()

    def read(self) -> Iterator[Sample]:
        answer, cost = self._opened(self.backend.read, writing=False)
        found = digest(fingerprint(self.backend.as_table(answer)))
        self.backend.close()
        yield from self._checked(found)
        yield Sample("read", cost, self.backend.disk_bytes(), found)

    def _digest_of_all(self) -> str:
        return digest(fingerprint(self.backend.as_table(self.backend.read())))
