"""DataFrames: everything is in memory, a Parquet file keeps it."""

from __future__ import annotations

from abc import abstractmethod
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from lamella.core.bench.entity_memory.backend import EntityMemory


class FrameMemory(EntityMemory):
    def open(self, writing: bool) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self._frame: Any = None

    def close(self) -> None:
        self._frame = None

    def fill(self, table: str, made: pa.RecordBatchReader) -> None:
        with pq.ParquetWriter(self.file(table), made.schema) as writer:
            for batch in made:
                writer.write_batch(batch)

    def ready(self, table: str) -> None:
        self._frame = self.hold(table)

    @abstractmethod
    def hold(self, table: str) -> Any: ...

    def file(self, table: str) -> Path:
        return self.folder / f"{table}.parquet"
