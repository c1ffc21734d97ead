"""The steps of somebody's own race: load the data, then ask each operation, first and again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from lamella.core.bench.cycle import Sample
from lamella.core.bench.measure import measured
from lamella.core.bench.own.backend import OwnBackend
from lamella.core.bench.own.file import LOAD
from lamella.core.bench.questions.answers import digest
from lamella.core.bench.questions.cycle import QuestionCycle


class OwnCycle(QuestionCycle):
    steps: ClassVar[tuple[str, ...]] = (LOAD,)
    backend: OwnBackend

    def step(self, name: str) -> Iterator[Sample]:
        self.backend.rows = self.rows
        yield from self.load() if name == LOAD else self.ask(name)

    def load(self) -> Iterator[Sample]:
        """Making the data is not timed."""
        self.backend.folder.mkdir(parents=True, exist_ok=True)
        self.backend.make_data(self.rows)
        _, cost = measured(lambda: self.backend.fill(self.rows))
        yield Sample(LOAD, cost, self.backend.disk_bytes(), digest(self.rows))
        self.backend.close()
