"""A database file of DuckDB's, as its backends of every workload open it."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import duckdb

from lamella.core.bench.backends.base import Backend


class DuckDBFile(Backend):
    id = "duckdb"
    file_name: ClassVar[str] = "benchmark.duckdb"

    @classmethod
    def version(cls) -> str:
        return duckdb.__version__

    @property
    def path(self) -> Path:
        return self.folder / self.file_name

    def open(self, writing: bool) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self._connection = duckdb.connect(self.path)

    def close(self) -> None:
        self._connection.close()
