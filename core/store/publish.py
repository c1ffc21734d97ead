"""Making a staged change the table's next version, in one catalog transaction."""

from __future__ import annotations

import time

import numpy as np

from core.errors import VersionConflict
from core.schema import type_to_bytes
from core.store.catalog import Transaction
from core.store.cells import Cells, to_batch
from core.store.commit import Change
from core.store.reader import State
from core.store.rewrite import Rewrite
from core.store.writer import WrittenFile


class Publication:
    """One change being entered into the catalog at `version`, inside a transaction."""

    def __init__(self, transaction: Transaction, table_id: int, version: int) -> None:
        self._catalog, self._table_id, self._version = transaction, table_id, version

    def columns(self, state: State | None, change: Change) -> dict[int, int]:
        """Enter new and wider columns; answers the catalog entry of every column id."""
        entries = {} if state is None else dict(state.column_entries)
        places = {c.key: place for place, c in enumerate(change.columns)}
        self._catalog.close("columns", [entries[c.key] for c in change.widened], self._version)
        for column in (*change.added, *change.widened):
            values = (column.key, column.name, type_to_bytes(column.type), places[column.key])
            entries[column.key] = self._add("columns", values)
        return entries

    def files(self, files: tuple[WrittenFile, ...], paths: list[str]) -> None:
        for file, path in zip(files, paths, strict=True):
            self._add("data_files", (path, file.rows, file.first_id, file.last_id, file.size, file.names))

    def rows(self, batch: bytes, count: int, columns: str) -> None:
        first = self._catalog.take_ids(self._table_id, count)
        self._add("pending_rows", (first, count, columns, batch))

    def cells(self, cells: Cells, entries: dict[int, int]) -> None:
        columns, batch = to_batch(cells.values, entries)
        self._add(
            "pending_cells", (cells.made or self._version, cells.ids.astype("<i8").tobytes(), columns, batch)
        )

    def deletions(self, ids: np.ndarray) -> None:
        self._add("deletions", (np.sort(ids).astype("<i8").tobytes(),))

    def replaced(self, rewritten: Rewrite, entries: dict[int, int], paths: list[str]) -> None:
        """Enter what a rewrite leaves: files for segments, and shorter pending entries for longer ones."""
        for held in rewritten.replaced:
            self._catalog.close(held.kind, [held.entry], self._version)
        self.files(rewritten.files, paths)
        self._catalog.close("pending_cells", list(rewritten.cells), self._version)
        for cells in rewritten.cells.values():
            if len(cells.ids) and cells.values:
                self.cells(cells, entries)
        self._catalog.close("deletions", list(rewritten.deletions), self._version)
        for ids in rewritten.deletions.values():
            if len(ids):
                self.deletions(ids)

    def _add(self, kind: str, values: tuple[object, ...]) -> int:
        return self._catalog.add(kind, self._table_id, self._version, values)


def still_at(transaction: Transaction, state: State) -> None:
    """Raise `VersionConflict` unless the table is where the change was staged from."""
    found = transaction.version(state.row.table_id)
    if found != (state.version, state.row.generation):
        raise VersionConflict(
            f"{state.row.name}: the table changed meanwhile",
            f"the change was made from version {state.version}, now it is at {found and found[0]}",
            "Read it again and repeat the change",
        )


def commit_row(version: int, kind: str, restores: int | None, counts: tuple[int, int, int],
               started: float, message: str) -> tuple[object, ...]:  # fmt: skip
    return (version, time.time(), kind, restores, *counts, time.perf_counter() - started, message)
