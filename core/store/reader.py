"""From catalog entries to a snapshot in `_id` order, kept in memory until the table moves on."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from core.arrays import from_numpy
from core.errors import StoreProblem
from core.scan.snapshot import Column, FileSegment, MemorySegment, Segment, Snapshot
from core.schema import type_from_bytes
from core.store.catalog import Catalog, TableRow
from core.store.cells import Cells, from_batch, latest, placed
from core.store.ids import ID_COLUMN, IdRanges

T = TypeVar("T")


@dataclass(frozen=True)
class Held:
    """A segment and the catalog entry it comes from."""

    kind: str
    entry: int
    first_id: int
    last_id: int
    segment: Segment


@dataclass(frozen=True, eq=False)
class State:
    """A table at a version: what its catalog entries say, and the snapshot they make.

    `columns` are without `_id`, which the snapshot's begin with.
    """

    row: TableRow
    version: int
    columns: tuple[Column, ...]
    column_entries: dict[int, int]
    held: tuple[Held, ...]
    cells: dict[int, Cells]
    deletions: dict[int, np.ndarray]
    ranges: IdRanges
    snapshot: Snapshot

    def locate(self, ids: np.ndarray) -> np.ndarray:
        """Positions of live rows; -1 for ids that are not, or no longer, in the table."""
        positions = self.ranges.locate(self.snapshot, ids)
        positions[np.isin(positions, self.snapshot.deleted)] = -1
        return positions


class Reader:
    """Makes the states of one table. Any thread; what small commits left is parsed once."""

    def __init__(self, catalog: Catalog, table_id: int, data: Path) -> None:
        self._catalog, self._table_id, self._data = catalog, table_id, data
        self._lock = threading.RLock()
        self._current: State | None = None
        self._parsed: dict[tuple[str, int], Any] = {}

    def current(self) -> State:
        row = self._row()
        with self._lock:
            held = self._current
            if held is None or (held.row.version, held.row.generation) != (row.version, row.generation):
                with self._catalog.unchanging():
                    row = self._row()
                    self._current = held = self._load(row.version, row)
                self._forget_all_but(held)
            elif held.row != row:
                self._current = held = _renamed(held, row)
            return held

    def at(self, version: int) -> State:
        """The table as it was at `version`."""
        with self._lock, self._catalog.unchanging():
            return self._load(version, self._row())

    def _load(self, version: int, row: TableRow) -> State:
        entries = self._column_entries(version)
        columns = tuple(Column(name, type_from_bytes(kind), key) for _, key, name, kind in entries)
        held = self._held(row, version)
        made = sorted(self._valid("pending_cells", version, ("made", "entry")))
        cells = {entry: self._cells(entry) for _, entry in made}
        deletions = {e: self._deleted(e) for (e,) in self._valid("deletions", version, ("entry",))}
        by_key = {key: entry for entry, key, _, _ in entries}
        return _state(row, version, columns, by_key, held, cells, deletions)

    def _forget_all_but(self, state: State) -> None:
        """Keep in memory only what the newest state is made of."""
        used = {("pending_rows", h.entry) for h in state.held} | {("pending_cells", e) for e in state.cells}
        used |= {("deletions", e) for e in state.deletions}
        self._parsed = {key: v for key, v in self._parsed.items() if key in used or key[0] == "columns"}

    def _row(self) -> TableRow:
        row = self._catalog.table(self._table_id)
        if row is None:
            raise StoreProblem("the table is gone", "it was dropped", "Close it, or open another one")
        return row

    def _valid(self, kind: str, version: int, columns: tuple[str, ...]) -> list[tuple[Any, ...]]:
        return self._catalog.valid(kind, self._table_id, version, columns)

    def _column_entries(self, version: int) -> list[tuple[int, int, str, bytes]]:
        found = self._valid("columns", version, ("entry", "column_id", "name", "type", "place"))
        return [entry[:4] for entry in sorted(found, key=lambda e: (e[4], e[0]))]

    def _held(self, row: TableRow, version: int) -> tuple[Held, ...]:
        files = self._valid("data_files", version, ("entry", "path", "rows", "first_id", "last_id", "names"))
        loose = self._valid("pending_rows", version, ("entry", "first_id", "rows"))
        held = [
            Held("data_files", entry, first, last, FileSegment(self._data / path, rows, _names(names)))
            for entry, path, rows, first, last, names in files
        ]
        held += [
            Held("pending_rows", entry, first, first + rows - 1, self._rows(entry, first, rows))
            for entry, first, rows in loose
        ]
        return tuple(sorted(held, key=lambda h: h.first_id))

    def _rows(self, entry: int, first: int, rows: int) -> MemorySegment:
        def parse() -> MemorySegment:
            columns, batch = self._catalog.entry("pending_rows", entry, ("columns", "batch"))
            values = from_batch(columns, batch, self._entry_types(columns))
            arrays = {"0": from_numpy(np.arange(first, first + rows, dtype=np.int64))}
            return MemorySegment(pa.table(arrays | {str(k): v for k, v in values.items()}))

        return self._once("pending_rows", entry, parse)

    def _cells(self, entry: int) -> Cells:
        def parse() -> Cells:
            wanted = ("ids", "columns", "batch", "made")
            ids, columns, batch, made = self._catalog.entry("pending_cells", entry, wanted)
            values = from_batch(columns, batch, self._entry_types(columns))
            return Cells(np.frombuffer(ids, "<i8"), values, made)

        return self._once("pending_cells", entry, parse)

    def _deleted(self, entry: int) -> np.ndarray:
        return self._once(
            "deletions",
            entry,
            lambda: np.frombuffer(self._catalog.entry("deletions", entry, ("ids",))[0], "<i8"),
        )

    def _entry_types(self, columns: str) -> dict[int, tuple[int, pa.DataType]]:
        return {e: self._once("columns", e, partial(self._entry_type, e)) for e in json.loads(columns)}

    def _entry_type(self, entry: int) -> tuple[int, pa.DataType]:
        key, kind = self._catalog.entry("columns", entry, ("column_id", "type"))
        return key, type_from_bytes(kind)

    def _once(self, kind: str, entry: int, parse: Callable[[], T]) -> T:
        """Entries never change, so each is read once."""
        if (kind, entry) not in self._parsed:
            self._parsed[kind, entry] = parse()
        found: T = self._parsed[kind, entry]
        return found


def _state(
    row: TableRow,
    version: int,
    columns: tuple[Column, ...],
    column_entries: dict[int, int],
    held: tuple[Held, ...],
    cells: dict[int, Cells],
    deletions: dict[int, np.ndarray],
) -> State:
    ranges = IdRanges(
        np.array([h.first_id for h in held], np.int64), np.array([h.last_id for h in held], np.int64)
    )
    token = (str(row.folder), version, row.generation)
    bare = Snapshot(row.name, (ID_COLUMN, *columns), tuple(h.segment for h in held), token)
    locate = partial(ranges.locate, bare)
    gone = np.unique(np.concatenate([np.empty(0, np.int64), *deletions.values()]))
    positions = locate(gone)
    snapshot = replace(
        bare, deleted=positions[positions >= 0], overlay=placed(latest(cells.values(), columns), locate)
    )
    return State(row, version, columns, column_entries, held, cells, deletions, ranges, snapshot)


def _renamed(state: State, row: TableRow) -> State:
    return replace(state, row=row, snapshot=replace(state.snapshot, name=row.name))


def _names(stored: str) -> dict[int, str]:
    return {int(key): name for key, name in json.loads(stored).items()}
