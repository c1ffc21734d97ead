"""What the edits of a tab go to: a table, which commits them, or a file, into which all of them are saved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
import pyarrow as pa

from lamella.core.arrow.arrays import from_numpy, to_numpy
from lamella.core.arrow.types import ID
from lamella.core.datasets.base import Dataset
from lamella.core.query.view import View
from lamella.core.scan.read import take_rows
from lamella.core.scan.snapshot import Snapshot
from lamella.core.store.table import Table


def ids_of(view: View, first: int, count: int) -> np.ndarray:
    """What tells rows of a view apart: the `_id` of a table's, the number of a file's. Blocks."""
    if view.snapshot.ids is None:
        return view.positions(first, count)
    return to_numpy(view.page(first, count, [ID]).column(0))


class EditTarget(Protocol):
    """`is_file`: edits are collected until they are saved, all at once. Rows of a table are told apart by
    their `_id`, those of a file by their number in it."""

    is_file: bool

    @property
    def schema(self) -> pa.Schema: ...

    def values(self, snapshot: Snapshot, names: Sequence[str], ids: np.ndarray) -> pa.Table:
        """`_id`, in any order, and these columns, as they are in the snapshot that was seen. Blocks."""


@dataclass(frozen=True)
class TableTarget:
    table: Table
    is_file = False

    @property
    def schema(self) -> pa.Schema:
        return self.table.schema

    def values(self, snapshot: Snapshot, names: Sequence[str], ids: np.ndarray) -> pa.Table:
        version = int(snapshot.token[1])  # type: ignore[call-overload]
        return self.table.read([ID, *names], ids=ids.tolist(), as_of=version)


@dataclass(frozen=True)
class FileTarget:
    dataset: Dataset
    is_file = True

    @property
    def path(self) -> Path:
        return Path(self.dataset.paths[0])

    @property
    def schema(self) -> pa.Schema:
        return self.dataset.schema

    def values(self, snapshot: Snapshot, names: Sequence[str], ids: np.ndarray) -> pa.Table:
        rows = take_rows(snapshot, ids, [snapshot.column(name) for name in names])
        return pa.Table.from_arrays([from_numpy(ids), *rows.columns], names=[ID, *names])
