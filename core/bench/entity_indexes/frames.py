"""DataFrames: libraries that look at every row, of a Parquet file or in memory."""

from __future__ import annotations

from abc import abstractmethod
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from lamella.core.bench.entity_indexes.data import TYPES, items, owners
from lamella.core.bench.entity_indexes.lookups import needs_an_index
from lamella.core.bench.questions.backend import Question, QuestionBackend, Questions
from lamella.core.bench.workloads.entity_indexes import ENTITY_INDEXES, KEYS, ROWS, SCANS, scanned

NEED_AN_INDEX = needs_an_index([operation.id for operation in ENTITY_INDEXES.operations])


class FrameScans(QuestionBackend):
    @property
    def columns(self) -> int:
        return len(TYPES)

    def fill(self, rows: int) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"_id": range(rows), **items(rows)}), self.file)

    def close(self) -> None:
        """What was read is kept by nobody."""

    def questions(self) -> Questions:
        of = owners(pq.read_metadata(self.file).num_rows)
        return {
            scanned(name, what): Question(partial(self.find, name, what), of, told=self.told)
            for name in SCANS
            for what in (KEYS, ROWS)
        }

    @property
    def file(self) -> Path:
        return self.folder / "items.parquet"

    @abstractmethod
    def find(self, name: str, what: str, owner: int) -> Any: ...

    @abstractmethod
    def told(self, answer: Any, owner: int) -> Any:
        """The rows of an answer, for comparing."""
