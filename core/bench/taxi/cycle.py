"""The steps of the workload on taxi trips: import the files, then ask each query, first and again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from lamella.core.bench.cycle import Sample
from lamella.core.bench.measure import measured
from lamella.core.bench.questions.answers import digest
from lamella.core.bench.questions.cycle import QuestionCycle
from lamella.core.bench.taxi.answers import sampled
from lamella.core.bench.taxi.backend import TaxiBackend
from lamella.core.bench.taxi.csv_files import make_files

IMPORT = "import"


class TaxiCycle(QuestionCycle):
    backend: TaxiBackend

    steps: ClassVar[tuple[str, ...]] = (IMPORT,)

    def step(self, name: str) -> Iterator[Sample]:
        yield from self.import_files() if name == IMPORT else self.ask(name)

    def import_files(self) -> Iterator[Sample]:
        """Making the files is not timed, nor is reading some trips. The queries see whether all came."""
        make_files(self.backend.shared, self.rows)
        self.backend.folder.mkdir(parents=True, exist_ok=True)
        _, cost = measured(lambda: self.backend.fill(self.rows))
        self.backend.open(writing=False)
        told = digest(self.backend.whole_trips(sampled(self.rows)))
        self.backend.close()
        yield Sample(IMPORT, cost, self.backend.disk_bytes(), told)
