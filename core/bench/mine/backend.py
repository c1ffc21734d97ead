"""What a system is asked about somebody's own table."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from lamella.core.bench.backends.base import Backend
from lamella.core.bench.mine.asking import CannotAsk
from lamella.core.bench.mine.copied import Copied
from lamella.core.bench.mine.types import cannot_hold
from lamella.core.bench.workloads import Workload


class MineBackend(Backend):
    """Answers are whatever the system gives; `as_table` makes Arrow of them, off the timers."""

    def __init__(self, folder: Path, workload: Workload) -> None:
        super().__init__(folder, workload)
        self.copied = Copied.of(workload.options)

    @property
    def columns(self) -> int:
        return len(self.copied.schema)

    @property
    def cannot(self) -> Mapping[str, str]:  # type: ignore[override]  # it depends on the table
        if reason := cannot_hold(self.id, self.copied.schema, self.copied.nan):
            return dict.fromkeys(self.workload.steps, "It could not be loaded") | {"load": reason}
        try:
            self.condition()
        except CannotAsk as error:
            return dict.fromkeys(("filter", "update"), error.what)
        return {}

    @abstractmethod
    def condition(self) -> Any:
        """The rows that match, as the system is asked for them. Raises CannotAsk where it has no means."""

    @abstractmethod
    def load(self, rows: int) -> None:
        """Put the first `rows` of the copy into the system, which keeps them in `folder`."""

    @abstractmethod
    def read(self) -> Any:
        """Every row and column."""

    @abstractmethod
    def filter(self) -> Any:
        """Every column of the rows that meet the condition."""

    @abstractmethod
    def update(self) -> None:
        """Make the change in the rows that meet the condition."""

    @abstractmethod
    def as_table(self, answer: Any) -> pa.Table:
        """The columns of an answer in the copy's order; their types need only to cast to the copy's."""


class MineFile(MineBackend):
    """A system that keeps its rows in one file and has nothing to open. A change writes the file anew, beside
    the old one, which it replaces in one step."""

    suffix: str

    @property
    def statistics(self) -> bool | list[str]:
        """Of which columns a Parquet file gets statistics: they leave NaN out, so filters that are pushed
        down to them would lose its rows."""
        sound = [name for name in self.copied.schema.names if name not in self.copied.nan]
        return sound if self.copied.nan else True

    @property
    def file(self) -> Path:
        return self.folder / f"mine{self.suffix}"

    @property
    def new_file(self) -> Path:
        return self.folder / f"new{self.suffix}"

    def open(self, writing: bool) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)

    def close(self) -> None:
        """Nothing is held open."""
