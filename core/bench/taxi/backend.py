"""What a system that takes part in the race on taxi trips does: import the files, and answer four queries."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from lamella.core.bench.questions.backend import Question, QuestionBackend
from lamella.core.bench.taxi.answers import comparable
from lamella.core.bench.taxi.columns import SCHEMA
from lamella.core.bench.taxi.csv_files import files_of
from lamella.core.bench.taxi.queries import QUERIES


class TaxiBackend(QuestionBackend):
    """`fill` imports the gzipped CSV files that were made before, once for all systems of a race."""

    @property
    def columns(self) -> int:
        return len(SCHEMA)

    @property
    def shared(self) -> Path:
        """The folder of the race: in it, each system has one with a database for each repeat."""
        return self.folder.parents[1]

    def files(self, rows: int) -> Sequence[Path]:
        return files_of(self.shared, rows)

    def questions(self) -> Mapping[str, Question]:
        return {name: Question(partial(self.ask, name), told=partial(self._told, name)) for name in QUERIES}

    @abstractmethod
    def ask(self, query: str) -> Any:
        """The answer as the system gives it."""

    @abstractmethod
    def whole_trips(self, ids: Sequence[int]) -> pa.Table | list[Sequence[Any]]:
        """All that is held of these trips, not timed: the columns of SCHEMA in its order, what is absent as
        None, times as datetimes."""

    def rows_of(self, answer: Any) -> Iterable[Sequence[Any]]:
        """An answer as rows, columns in the order of the published query; here that of an Arrow table."""
        return zip(*(column.to_pylist() for column in answer.columns), strict=True)

    def _told(self, query: str, answer: Any) -> list[list[Any]]:
        return comparable(query, self.rows_of(answer))
