"""What data frames share: one Parquet file, which every change reads and writes anew."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from lamella.core.bench.backends.base import TableBackend
from lamella.core.bench.backends.python_rows import names_of
from lamella.core.bench.data import Numbers


class FrameFile(TableBackend):
    @property
    def columns(self) -> int:
        return len(names_of(self.workload))

    @property
    def path(self) -> Path:
        return self.folder / "benchmark.parquet"

    def open(self, writing: bool) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)

    def close(self) -> None:
        """Every call opens the file and closes it."""

    def row_ids(self, numbers: Numbers) -> list[int]:
        found: list[int] = numbers.tolist()
        return found

    def _replaced(self, write: Callable[[Path], object]) -> None:
        """The file as `write` makes it; who reads meanwhile has the old one."""
        fresh = self.path.with_suffix(".new")
        write(fresh)
        fresh.replace(self.path)
