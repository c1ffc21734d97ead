"""What a commit is, and what is staged for it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from lamella.core.ascending import EMPTY, union
from lamella.core.errors import StoreProblem
from lamella.core.scan.snapshot import Column
from lamella.core.store.cells import Cells
from lamella.core.store.data_file import WrittenFile

Metadata = dict[tuple[int, bytes], bytes]
"""By column id (0 for the table itself) and key."""

NO_IDS = EMPTY


@dataclass(frozen=True)
class Commit:
    """One step from a version to the next. `seconds` is what it took; `restores` the version whose
    content this one has again, for undo, redo and restore."""

    table: str
    version: int
    inserted: int = 0
    updated: int = 0
    deleted: int = 0
    seconds: float = 0.0
    time: dt.datetime | None = None
    message: str = ""
    kind: str = "change"
    restores: int | None = None
    name: str = ""
    transaction_id: int | None = None
    given_ids: tuple[range, ...] = field(default=(), repr=False, compare=False)

    @property
    def inserted_ids(self) -> np.ndarray:
        """The new rows' `_id`s, ascending: in the order in which an insert or upsert was given them.

        Raises `StoreProblem` for a commit of the history, which keeps how many there were, not which.
        """
        if sum(map(len, self.given_ids)) != self.inserted:
            raise StoreProblem(
                f"{self.table}: nothing says which rows version {self.version} added",
                "only the call that inserts rows is told their ids",
                "diff() tells the rows that one version has and another lacks",
            )
        return np.concatenate([EMPTY, *(np.arange(r.start, r.stop, dtype=np.int64) for r in self.given_ids)])


@dataclass(frozen=True, eq=False)
class Change:
    """What turns a state into the next. `columns` are all of the table's afterwards, `metadata` that of
    the table (column id 0) and its columns, None for no change of it."""

    message: str
    columns: tuple[Column, ...]
    metadata: Metadata | None = None
    cells: Cells | None = None
    deleted: np.ndarray = field(default_factory=lambda: NO_IDS)
    files: tuple[WrittenFile, ...] = ()
    rows: tuple[Mapping[int, pa.Array], int] | None = None
    inserted: int = 0
    unused_ids: range = range(0)

    @property
    def updated(self) -> int:
        return 0 if self.cells is None else len(self.cells.ids)

    def is_empty(self, columns: tuple[Column, ...], metadata: Metadata) -> bool:
        """Whether a table of these columns and metadata stays as it is."""
        changed = bool(self.inserted or self.updated or len(self.deleted))
        return not changed and self.columns == columns and self.metadata in (None, metadata)

    @property
    def touched(self) -> np.ndarray:
        """Ids of rows that exist already and are changed or deleted."""
        return self.deleted if self.cells is None else union(self.cells.ids, self.deleted)
