"""What every system under test can be asked. One instance, one database, one folder."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from lamella.core.bench.data import Numbers, Row, dicts
from lamella.core.bench.workloads import Columns, Values, Workload
from lamella.core.errors import LamellaError

__all__ = ["Backend", "NotReady", "Row", "Rows", "TableBackend"]

Rows = list[Row]


class NotReady(LamellaError):
    """A system that is installed and cannot be asked now: its server does not answer, say."""


class Backend(ABC):
    """Subclasses do each operation as their system's own documentation recommends.

    `cannot` maps the steps that a system has no means for to the reason.
    """

    id: ClassVar[str]
    cannot: ClassVar[Mapping[str, str]] = {}

    def __init__(self, folder: Path, workload: Workload) -> None:
        self.folder = folder
        self.workload = workload

    @classmethod
    @abstractmethod
    def version(cls) -> str:
        """Of the system measured, as its maker writes it. Quick: it is shown before anything runs."""

    @classmethod
    def answering_version(cls) -> str:
        """`version`, but of who really answers; may take seconds. Raises NotReady."""
        return cls.version()

    @classmethod
    @abstractmethod
    def describe(cls) -> str:
        """How it is configured, durability above all, in one sentence. Quick, too."""

    @property
    @abstractmethod
    def columns(self) -> int:
        """How many columns its table holds."""

    @abstractmethod
    def open(self, writing: bool) -> None:
        """The database in `folder`, made when missing; `writing` says that changes will follow."""

    @abstractmethod
    def close(self) -> None: ...

    def vacuum(self) -> bool:
        """Give back space that nothing needs any more; False when this system keeps none."""
        return False

    def disk_bytes(self) -> int:
        return sum(file.stat().st_size for file in self.folder.rglob("*") if file.is_file())


class TableBackend(Backend):
    """A table of numbers, one row after the other: of type `workload.dtype`, beside an integer key.

    `prepare…` methods do what a user must do to a list of dicts before the system takes it; they
    are timed apart. Answers are whatever the system gives; `blocks` turns them into columns.
    """

    def prepare(self, rows: Rows) -> Any:
        return rows

    @abstractmethod
    def create(self, prepared: Any) -> None: ...

    def fill(self, made: Iterable[Columns]) -> None:
        """Create the table from blocks of columns, in whatever form is quickest."""
        self.create(self.prepare([row for block in made for row in dicts(block)]))

    @abstractmethod
    def read(self) -> Any:
        """Every row and column."""

    @abstractmethod
    def query(self) -> Any:
        """Every column of the rows where col1 > 100 and col97 < 1000."""

    @abstractmethod
    def find(self) -> Any:
        """col0 of the rows where it is -1, and no other column."""

    @abstractmethod
    def row_ids(self, numbers: Numbers) -> Sequence[int]:
        """What the system itself calls the rows that were put in at these places, counted from 0."""

    @abstractmethod
    def get(self, row_id: int) -> Any:
        """One row, all columns."""

    @abstractmethod
    def as_row(self, answer: Any) -> Mapping[str, Any]:
        """What `get` gave, as names and values."""

    def index(self, column: str) -> bool:
        """Make what finding rows by this column needs; False when this system needs nothing."""
        return False

    def prepare_update(self, rows: Rows) -> Any:
        return rows

    def update(self, prepared: Any) -> None:
        """New values for rows found by the workload's key column."""
        raise NotImplementedError

    def prepare_update_by_row_id(self, row_ids: Sequence[int], rows: Rows) -> Any:
        """`rows` may hold some of the columns only; all hold the same."""
        raise NotImplementedError

    def update_by_row_id(self, prepared: Any) -> None:
        """One commit."""
        raise NotImplementedError

    def delete(self, row_ids: Sequence[int]) -> None:
        """One commit."""
        raise NotImplementedError

    @abstractmethod
    def blocks(self, answer: Any, names: Sequence[str]) -> Iterator[Sequence[Values]]:
        """The columns `names` of an answer, some thousands of rows at a time.

        Numbers of any width: who checks them makes `workload.dtype` of them where that is exact.
        """

    def contents(self, names: Sequence[str]) -> Iterator[Sequence[Values]]:
        """The columns `names` of everything, for a check that is not timed."""
        return self.blocks(self.read(), names)
