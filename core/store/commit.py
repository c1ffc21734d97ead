"""What a commit is, and what is staged for it."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from core.scan.snapshot import Column
from core.store.cells import Cells
from core.store.writer import WrittenFile

NO_IDS = np.empty(0, np.int64)


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


@dataclass(frozen=True, eq=False)
class Change:
    """What turns a state into the next. `columns` are all of the table's afterwards."""

    message: str
    columns: tuple[Column, ...]
    added: tuple[Column, ...] = ()
    widened: tuple[Column, ...] = ()
    cells: Cells | None = None
    deleted: np.ndarray = field(default_factory=lambda: NO_IDS)
    files: tuple[WrittenFile, ...] = ()
    rows: tuple[dict[int, pa.Array], int] | None = None
    inserted: int = 0

    @property
    def updated(self) -> int:
        return 0 if self.cells is None else len(self.cells.ids)

    @property
    def is_empty(self) -> bool:
        changed = self.inserted or self.updated or len(self.deleted)
        return not (changed or self.added or self.widened)

    @property
    def touched(self) -> np.ndarray:
        """Ids of rows that exist already and are changed or deleted."""
        return self.deleted if self.cells is None else np.union1d(self.cells.ids, self.deleted)
