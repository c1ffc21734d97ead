"""What every system under test can be asked. One instance, one database, one folder."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

from core.bench.checksum import Integers
from core.bench.workloads import Workload

Rows = list[dict[str, int]]


class Backend(ABC):
    """Subclasses do each operation as their system's own documentation recommends.

    `prepare…` methods do what a user must do to a list of dicts before the system takes it; they
    are timed apart. Answers are whatever the system gives; `blocks` turns them into columns.
    """

    id: ClassVar[str]

    def __init__(self, folder: Path, workload: Workload) -> None:
        self.folder = folder
        self.workload = workload

    @classmethod
    @abstractmethod
    def version(cls) -> str:
        """Of the system measured, as its maker writes it."""

    @classmethod
    @abstractmethod
    def describe(cls) -> str:
        """How it is configured, durability above all, in one sentence."""

    @property
    @abstractmethod
    def columns(self) -> int:
        """How many columns its table holds."""

    @abstractmethod
    def open(self, writing: bool) -> None:
        """The database in `folder`, made when missing; `writing` says that changes will follow."""

    @abstractmethod
    def close(self) -> None: ...

    def prepare(self, rows: Rows) -> Any:
        return rows

    @abstractmethod
    def create(self, prepared: Any) -> None: ...

    @abstractmethod
    def read(self) -> Any:
        """Every row and column."""

    @abstractmethod
    def query(self) -> Any:
        """Every column of the rows where col1 > 100 and col97 < 1000."""

    def index(self) -> bool:
        """Make what updates by key need; False when this system needs nothing."""
        return False

    def prepare_update(self, rows: Rows) -> Any:
        return rows

    @abstractmethod
    def update(self, prepared: Any) -> None:
        """New values for every row, found by the workload's key column."""

    @abstractmethod
    def prepare_update_by_row_id(self, rows: Rows) -> Any: ...

    @abstractmethod
    def update_by_row_id(self, prepared: Any) -> None: ...

    @abstractmethod
    def blocks(self, answer: Any, names: Sequence[str]) -> Iterator[Sequence[Integers]]:
        """The columns `names` of an answer, some thousands of rows at a time."""

    def disk_bytes(self) -> int:
        return sum(file.stat().st_size for file in self.folder.rglob("*") if file.is_file())
