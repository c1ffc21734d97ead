"""From catalog entries to a snapshot in `_id` order, kept in memory until the table moves on."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from lamella.core.checksums import checksum_of_bytes
from lamella.core.errors import DamagedStore, StoreProblem
from lamella.core.forks import let_go_in_children
from lamella.core.index.opened import OpenIndexes
from lamella.core.index.registry import Place, index_of
from lamella.core.scan.snapshot import Column, FileSegment, MemorySegment
from lamella.core.store.catalog import Catalog, TableRow
from lamella.core.store.catalog_schema import CHECKED, column_type, names_by_key, row_ids
from lamella.core.store.cells import BatchColumns, Cells, from_batch
from lamella.core.store.change_files import read_cells
from lamella.core.store.paths import StorePaths
from lamella.core.store.readers import Claim, Readers, Reading
from lamella.core.store.state import Held, PendingRows, State, state_of

T = TypeVar("T")

UNREADABLE = (EOFError, pa.ArrowException, OSError, ValueError, LookupError, TypeError)
"""What damage may make of reading a catalog's entry, where it is not noticed as such."""

KEPT_OLD = 4
REMEDY = "Verify the store to see all that is damaged, and restore a backup of it"
NO_TABLE = 0


class Reader:
    """Makes the states of one table. Any thread; what small commits left is parsed once.

    Of old versions, the few last asked for are kept, so that paging through one is quick. `checks`: pending
    entries are compared with their checksums when they are read.
    """

    def __init__(self, catalog: Catalog, table_id: int, readers: Readers, checks: bool = True) -> None:
        self._catalog, self._table_id, self._readers, self._checks = catalog, table_id, readers, checks
        self._paths = StorePaths(catalog.path.parent)
        row = catalog.table(table_id)
        self._name = row.name if row else f"table {table_id}"
        folder = self._paths.index_folder(row.folder) if row else self._paths.index
        self.indexes = OpenIndexes(Place(folder, not catalog.read_only))
        self._lock = threading.RLock()
        self._current: State | None = None
        self._draft: State | None = None
        self._old: OrderedDict[int, State] = OrderedDict()
        self._parsed: dict[tuple[str, int], Any] = {}
        self._columns_of: dict[str, BatchColumns] = {}
        let_go_in_children(self)

    @property
    def last_name(self) -> str:
        """What the table was called when it was read last; also of one that is closed or gone."""
        return self._name

    def forked(self) -> None:
        """Whoever held the lock is not in the child; there the catalog says that it cannot be used."""
        self._lock = threading.RLock()

    def current(self) -> State:
        row = self._row()
        with self._lock:
            held = self._held_for(row)
            if held is None:
                held = self._loaded(None)
                self._forget_all_but(held)
            elif (held.row.name, held.row.draft) != (row.name, row.draft):
                held = held.of_row(row)
            self._keep(held)
            return held

    def held(self, version: int | None) -> State | None:
        """What is in memory, if it is the table at `version`: no look at the catalog tells whether there is a
        newer one."""
        held = self._current
        return held if held is not None and held.version == version else None

    def _held_for(self, row: TableRow) -> State | None:
        """The state in memory that is where the table is. A transaction begins with the committed one."""
        drafts = [self._draft] if row.draft and self._draft and self._draft.row.draft == row.draft else []
        for held in (*drafts, self._current):
            if held and (held.row.version, held.row.generation) == (row.version, row.generation):
                return held
        return None

    def settle(self, draft: int) -> None:
        """The transaction with this number happened: what was read in it last is the table now."""
        with self._lock:
            if self._draft is not None and self._draft.row.draft == draft:
                self._current = self._draft.of_row(replace(self._draft.row, draft=0))
            self._draft = None

    def at(self, version: int) -> State:
        """The table as it was at `version`, which has to be one that is kept."""
        with self._lock:
            newest = self.current()
            if version == newest.version:
                return newest
            if version not in self._old:
                state = self._loaded(version)
                if newest.row.draft:
                    return state
                self._old[version] = state
                if len(self._old) > KEPT_OLD:
                    self._old.popitem(last=False)
            self._old.move_to_end(version)
            return self._old[version]

    def advance(self, before: State, after: State) -> None:
        """Take `after`, which a commit of this process made of `before`, unless the table moved on since."""
        with self._lock:
            if before is self._current or before is self._draft:
                self._keep(after)

    def forget(self) -> None:
        """Let go of everything held: it may have been taken back, or its files are to be removed."""
        with self._lock:
            self._current = self._draft = None
            self._old.clear()
            self._parsed.clear()
            self._columns_of.clear()
            self.indexes.let_go()

    def forget_old(self) -> None:
        with self._lock:
            self._old.clear()

    def abandon(self) -> None:
        """The table was never there: whoever holds it is told so, also when another one gets its number."""
        self._table_id = NO_TABLE
        self.forget()

    def _keep(self, state: State) -> None:
        if state.row.draft:
            self._draft = state
        else:
            self._current = state

    def _loaded(self, version: int | None) -> State:
        """The state at a version, None for the newest. It is claimed before it is looked up, and looked up
        again if files were removed in between."""
        self._catalog.refuse_replaced()
        while True:
            row, removals = self._row(), self._catalog.removals()
            wanted = row.version if version is None else version
            claim = self._readers.claim(Reading(self._table_id, wanted, removals))
            with self._catalog.unchanging():
                if (self._row(), self._catalog.removals()) == (row, removals):
                    return _held_by(self._understood(wanted, row), claim, self.indexes)

    def _understood(self, version: int, row: TableRow) -> State:
        try:
            return self._load(version, row)
        except UNREADABLE as error:
            raise StoreProblem(
                f"{self._name}: what the catalog says of it cannot be read",
                f"{type(error).__name__}: {error}",
                REMEDY,
            ) from error

    def _load(self, version: int, row: TableRow) -> State:
        self.indexes.now(index_of(*told) for told in self._catalog.indexes(self._table_id))
        entries = self._column_entries(version)
        types = {entry: (key, column_type(kind)) for entry, key, _, kind in entries}
        self._parsed |= {("columns", entry): known for entry, known in types.items()}
        columns = tuple(Column(name, types[entry][1], key) for entry, key, name, _ in entries)
        _refuse_doubles(row.name, columns)
        by_key = {key: entry for entry, key, _, _ in entries}
        deletions = {e: self._deleted(e) for (e,) in self._valid("deletions", version, ("entry",))}
        held, cells = self._held(row, version), self._all_cells(version)
        return state_of(row, version, columns, by_key, self._metadata(version), held, cells, deletions)

    def _metadata(self, version: int) -> dict[tuple[int, bytes], tuple[int, bytes]]:
        found = self._valid("metadata", version, ("entry", "column_id", "key", "value"))
        return {(column, key): (entry, value) for entry, column, key, value in found}

    def _all_cells(self, version: int) -> dict[tuple[str, int], Cells]:
        """In the order they were made."""
        loose = self._valid("pending_cells", version, ("made", "entry"))
        files = self._valid("change_files", version, ("made", "entry", "path", "rows", "names", "checksum"))
        found = [(made, "pending_cells", entry, self._cells(entry)) for made, entry in loose]
        for made, entry, path, rows, names, checksum in files:
            segment = self._segment("change_files", path, rows, names, checksum)
            cells = self._once("change_files", entry, partial(read_cells, segment, made))
            found.append((made, "change_files", entry, cells))
        found.sort(key=lambda f: f[:3])
        return {(kind, entry): cells for _, kind, entry, cells in found}

    def _forget_all_but(self, state: State) -> None:
        """Keep in memory only what the newest state is made of."""
        used = {("pending_rows", h.entry) for h in state.held} | state.cells.keys()
        used |= {("deletions", e) for e in state.deletions}
        self._parsed = {key: v for key, v in self._parsed.items() if key in used or key[0] == "columns"}
        self._columns_of.clear()

    def _row(self) -> TableRow:
        row = self._catalog.table(self._table_id)
        if row is None:
            raise StoreProblem(f"{self._name}: the table is gone", "it was dropped", "Ask for another table")
        self._name = row.name
        return row

    def _valid(self, kind: str, version: int, columns: tuple[str, ...]) -> list[tuple[Any, ...]]:
        return self._catalog.valid(kind, self._table_id, version, columns)

    def _column_entries(self, version: int) -> list[tuple[int, int, str, bytes]]:
        found = self._valid("columns", version, ("entry", "column_id", "name", "type", "place"))
        return [entry[:4] for entry in sorted(found, key=lambda e: (e[4], e[0]))]

    def _held(self, row: TableRow, version: int) -> tuple[Held, ...]:
        wanted = ("entry", "path", "rows", "first_id", "last_id", "names", "checksum", "made")
        files = self._valid("data_files", version, wanted)
        loose = self._valid("pending_rows", version, ("entry", "first_id", "rows"))
        held = [
            Held(
                "data_files",
                entry,
                first,
                last,
                made,
                self._segment("data_files", path, rows, names, checksum),
            )
            for entry, path, rows, first, last, names, checksum, made in files
        ]
        held += [
            Held("pending_rows", entry, first, first + rows - 1, 0, self._rows(entry, first, rows))
            for entry, first, rows in loose
        ]
        return tuple(sorted(held, key=lambda h: h.first_id))

    def _segment(self, kind: str, path: str, rows: int, names: str, checksum: str) -> FileSegment:
        names_by = names_by_key(kind, names)
        return FileSegment(self._paths.file(path), rows, names_by, checksum=checksum, remedy=REMEDY)

    def _rows(self, entry: int, first: int, rows: int) -> MemorySegment:
        def parse() -> MemorySegment:
            columns, batch = self._pending("pending_rows", entry, ("columns", "batch"))
            known, about = self._batch_columns(columns), f"{self._name}: pending_rows {entry}"
            return PendingRows.numbered(first, rows, lambda: from_batch(known, batch, about))

        return self._once("pending_rows", entry, parse)

    def _cells(self, entry: int) -> Cells:
        def parse() -> Cells:
            wanted = ("ids", "columns", "batch", "made")
            ids, columns, batch, made = self._pending("pending_cells", entry, wanted)
            values = from_batch(self._batch_columns(columns), batch, f"{self._name}: pending_cells {entry}")
            return Cells(row_ids("pending_cells", ids), values, made)

        return self._once("pending_cells", entry, parse)

    def _deleted(self, entry: int) -> np.ndarray:
        return self._once(
            "deletions",
            entry,
            lambda: row_ids("deletions", self._pending("deletions", entry, ("ids",))[0]),
        )

    def _pending(self, kind: str, entry: int, columns: tuple[str, ...]) -> tuple[Any, ...]:
        """Raises `StoreProblem` where the entry is not the one that was written."""
        checked = CHECKED[kind]
        *found, checksum = self._catalog.entry(kind, entry, (*columns, "checksum"))
        is_checked = self._checks and checksum
        if is_checked and checksum_of_bytes(*(found[columns.index(name)] for name in checked)) != checksum:
            raise StoreProblem(
                f"{self._name}: {kind} {entry} in the catalog is damaged",
                "It holds other bytes than were written: its checksum differs",
                REMEDY,
            )
        return tuple(found)

    def _batch_columns(self, columns: str) -> BatchColumns:
        """Of the entries listed, which most batches of a table have alike."""
        if columns not in self._columns_of:
            self._columns_of[columns] = BatchColumns.of(columns, self._entry_type)
        return self._columns_of[columns]

    def _entry_type(self, entry: int) -> tuple[int, pa.DataType]:
        def read() -> tuple[int, pa.DataType]:
            key, kind = self._catalog.entry("columns", entry, ("column_id", "type"))
            return key, column_type(kind)

        return self._once("columns", entry, read)

    def _once(self, kind: str, entry: int, parse: Callable[[], T]) -> T:
        """Entries never change, so each is read once."""
        if (kind, entry) not in self._parsed:
            self._parsed[kind, entry] = parse()
        found: T = self._parsed[kind, entry]
        return found


def _refuse_doubles(table: str, columns: Sequence[Column]) -> None:
    """Raises `DamagedStore` where two columns are called alike: a file of both could not be read again."""
    known: set[str] = set()
    for column in columns:
        if column.name in known:
            raise DamagedStore(
                f"{table}: two columns are called '{column.name:.60}'",
                "The catalog was changed by another program",
                "Restore a backup",
            )
        known.add(column.name)


def _held_by(state: State, claim: Claim | None, indexes: OpenIndexes) -> State:
    return replace(state, snapshot=replace(state.snapshot, keeps=claim, indexes=indexes))
