"""The steps of the workload on taxi trips: import the files, then ask each query, first and again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from core.bench.cycle import Sample
from core.bench.measure import measured
from core.bench.questions.answers import digest
from core.bench.questions.cycle import QuestionCycle
from core.bench.taxi.backend import TaxiBackend
from core.bench.taxi.csv_files import make_files

IMPORT = "import"


class TaxiCycle(QuestionCycle):
    backend: TaxiBackend

    steps: ClassVar[tuple[str, ...]] = (IMPORT,)

    def step(self, name: str) -> Iterator[Sample]:
        yield from self.import_files() if name == IMPORT else self.ask(name)

    def import_files(self) -> Iterator[Sample]:
        """Making the files is not timed. The queries see whether all rows came."""
        make_files(self.backend.shared, self.rows)
        self.backend.folder.mkdir(parents=True, exist_ok=True)
        _, cost = measured(lambda: self.backend.fill(self.rows))
        yield Sample(IMPORT, cost, self.backend.disk_bytes(), digest(self.rows))
