"""A table at a version: read from catalog entries into a snapshot, and cached until the table changes."""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from lamella.core.arrow.arrays import from_numpy
from lamella.core.arrow.sorted_ids import among, union
from lamella.core.arrow.types import ID
from lamella.core.errors import DamagedStore, StoreProblem
from lamella.core.index.definition import IndexFolder
from lamella.core.index.open_indexes import OpenIndexes
from lamella.core.index.registry import index_of
from lamella.core.processes import call_after_fork
from lamella.core.scan.checksums import checksum_of_bytes
from lamella.core.scan.chunks import named_by_key
from lamella.core.scan.overlay import Overlay, Part
from lamella.core.scan.row_ids import ID_COLUMN, IdRanges
from lamella.core.scan.snapshot import NOTE, Column, FileSegment, MemorySegment, Segment, Snapshot
from lamella.core.store.catalog.queries import Catalog, TableRow
from lamella.core.store.catalog.schema import CHECKSUMMED_COLUMNS, column_type, names_by_key, row_ids
from lamella.core.store.cells import BatchColumns, CellChanges, from_batch, read_cells
from lamella.core.store.column_rules import TableRules, rules_in
from lamella.core.store.evolution import KnownPlans
from lamella.core.store.folder import Claim, Readers, Reading
from lamella.core.store.paths import StorePaths


@dataclass(frozen=True)
class SegmentEntry:
    """A segment and its catalog entry. `version` is the version up to which the segment contains the changes
    of its rows; pending cells made later apply on top."""

    kind: str
    entry: int
    first_id: int
    last_id: int
    version: int
    segment: Segment


@dataclass(frozen=True, eq=False)
class TableVersion:
    """A table at a version: its catalog entries, and the snapshot that they make.

    `columns` exclude `_id`, with which the snapshot's columns begin. `cells` are keyed by (kind, entry), in
    the order in which they were made.
    """

    row: TableRow
    version: int
    columns: tuple[Column, ...]
    column_entries: dict[int, int]
    metadata: Metadata
    metadata_entries: dict[tuple[int, bytes], int]
    segment_entries: tuple[SegmentEntry, ...]
    cells: Mapping[tuple[str, int], CellChanges]
    deletions: Mapping[int, np.ndarray]
    snapshot: Snapshot

    @cached_property
    def ranges(self) -> IdRanges:
        return _ranges(self.segment_entries)

    @cached_property
    def has_files(self) -> bool:
        """Whether any rows or cells are stored in files of the table's folder."""
        return any(h.kind == "data_files" for h in self.segment_entries) or any(
            kind == "change_files" for kind, _ in self.cells
        )

    @cached_property
    def plans(self) -> KnownPlans:
        return KnownPlans()

    @cached_property
    def rules(self) -> TableRules:
        """Defaults and checks of the columns."""
        return rules_in(self.row.name, self.metadata)

    def locate(self, ids: np.ndarray) -> np.ndarray:
        """The positions of live rows; -1 for ids that are not, or no longer, in the table."""
        positions = self.ranges.locate(self.snapshot, ids)
        if len(self.snapshot.deleted_positions):
            positions[among(positions, self.snapshot.deleted_positions)] = -1
        return positions

    def live(self, changes: Sequence[CellChanges]) -> list[CellChanges]:
        """The changed cells that still apply: without those of deleted rows, and those that the segment's
        file already contains."""
        positions = _over(self.segment_entries, self.ranges, self.snapshot, changes)
        return [
            c if p.min(initial=0) >= 0 else c.only(p >= 0) for c, p in zip(changes, positions, strict=True)
        ]

    def lie_over(self, cells: CellChanges) -> np.ndarray:
        """Which rows of the cells are live and do not contain them yet."""
        (positions,) = _over(self.segment_entries, self.ranges, self.snapshot, [cells])
        is_live: np.ndarray = positions >= 0
        return is_live

    def with_cells(self, version: int, entry: int, cells: CellChanges) -> TableVersion:
        """The next version if the only change is one new entry of pending cells."""
        positions = self.ranges.locate(self.snapshot, cells.ids)
        snapshot = self._snapshot(version, overlay=self._overlaid(cells, positions))
        return self._next(snapshot, cells={**self.cells, ("pending_cells", entry): cells})

    def with_deletion(self, version: int, entry: int, ids: np.ndarray) -> TableVersion:
        """The next version if the only change is the deletion of these rows."""
        positions = self.ranges.locate(self.snapshot, ids)
        deleted = _merge_ids(self.snapshot.deleted_positions, np.sort(positions))
        snapshot = self._snapshot(version, deleted_positions=deleted)
        return self._next(snapshot, deletions={**self.deletions, entry: ids})

    def with_rows(self, version: int, added: SegmentEntry) -> TableVersion | None:
        """The next version if the only change is the addition of these rows; None unless they come last."""
        if self.segment_entries and self.segment_entries[-1].last_id >= added.first_id:
            return None
        segments = (*self.snapshot.segments, added.segment)
        snapshot = self._snapshot(version, segments=segments)
        return self._next(snapshot, segment_entries=(*self.segment_entries, added))

    def _overlaid(self, cells: CellChanges, positions: np.ndarray) -> Overlay | None:
        overlay, changes = self.snapshot.overlay, [(cells, positions)]
        if overlay is None:
            return overlaid(None, self.columns, changes)
        return overlay.with_later_changes(overlay.types, _parts(changes))

    def _snapshot(self, version: int, **changed: Any) -> Snapshot:
        return replace(self.snapshot, token=_token(self.row, version), **changed)

    def of_row(self, row: TableRow) -> TableVersion:
        """The same content with another row of the catalog: after a rename, or at the start or end of a
        transaction."""
        snapshot = replace(self.snapshot, name=row.name, token=_token(row, self.version))
        return self._following(snapshot, row)

    def _next(self, snapshot: Snapshot, **changed: Any) -> TableVersion:
        version = int(snapshot.token[1])  # type: ignore[call-overload]
        return self._following(snapshot, replace(self.row, version=version), version=version, **changed)

    def _following(self, snapshot: Snapshot, row: TableRow, **changed: Any) -> TableVersion:
        following = replace(self, row=row, snapshot=snapshot, **changed)
        if (
            following.segment_entries is self.segment_entries
        ):  # the segments are the same, so what was derived from them stays valid
            following.__dict__["ranges"] = self.ranges
            following.snapshot.__dict__["segment_starts"] = self.snapshot.segment_starts
        following.__dict__["plans"], following.__dict__["has_files"] = self.plans, self.has_files
        following.__dict__["rules"] = self.rules
        return following


def state_of(
    row: TableRow,
    version: int,
    columns: tuple[Column, ...],
    column_entries: dict[int, int],
    metadata: dict[tuple[int, bytes], tuple[int, bytes]],
    segment_entries: tuple[SegmentEntry, ...],
    cells: Mapping[tuple[str, int], CellChanges],
    deletions: Mapping[int, np.ndarray],
) -> TableVersion:
    """Build a table's state. `metadata` maps to (entry, value); `segment_entries` are in `_id` order, `cells`
    in the order in which they were made."""
    ranges = _ranges(segment_entries)
    segments, token = tuple(h.segment for h in segment_entries), _token(row, version)
    values = {key: value for key, (_, value) in metadata.items()}
    notes = {key: value.decode(errors="replace") for (key, name), value in values.items() if name == NOTE}
    noted = (replace(c, note=notes[c.key]) if c.key in notes else c for c in columns)
    bare = Snapshot(row.name, (ID_COLUMN, *noted), segments, token, ids=ID_COLUMN)
    gone = ranges.locate(bare, union(*deletions.values()))
    changes = tuple(cells.values())
    places = zip(changes, _over(segment_entries, ranges, bare, changes), strict=True)
    snapshot = replace(bare, deleted_positions=gone[gone >= 0], overlay=overlaid(None, columns, places))
    entries = {key: entry for key, (entry, _) in metadata.items()}
    return TableVersion(
        row, version, columns, column_entries, values, entries, segment_entries, cells, deletions, snapshot
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class PendingRows(MemorySegment):
    """Rows with consecutive ids; `values` returns the arrays of all columns but `_id`, by column id."""

    values: Callable[[], Mapping[int, pa.Array]]

    @classmethod
    def with_ids(cls, first_id: int, count: int, values: Callable[[], Mapping[int, pa.Array]]) -> PendingRows:
        return cls(count, lambda: _with_ids(first_id, count, values()), values)


def _with_ids(first_id: int, count: int, values: Mapping[int, pa.Array]) -> pa.Table:
    ids = from_numpy(np.arange(first_id, first_id + count, dtype=np.int64))
    numbered = pa.RecordBatch.from_arrays([ids], [str(ID_COLUMN.key)])
    if values:
        numbered = named_by_key(values).add_column(0, numbered.schema.field(0), ids)
    return pa.Table.from_batches([numbered])


def overlaid(
    overlay: Overlay | None, columns: Sequence[Column], changes: Iterable[tuple[CellChanges, np.ndarray]]
) -> Overlay | None:
    """Put later changes on top of `overlay`: cells, and the position of each row, -1 for none."""
    lying = _parts(changes)
    if overlay is None:
        return Overlay({c.key: c.type for c in columns}, lying) if lying else None
    types = {c.key: c.type for c in columns}
    return overlay.with_later_changes(overlay.types if overlay.types == types else types, lying)


def _parts(changes: Iterable[tuple[CellChanges, np.ndarray]]) -> list[Part]:
    parts = [_part(cells, positions) for cells, positions in changes if len(positions)]
    return [part for part in parts if len(part.positions)]


def _part(cells: CellChanges, positions: np.ndarray) -> Part:
    if int(positions.min()) >= 0:
        return Part(positions, cells.values)
    live = np.flatnonzero(positions >= 0)
    return Part(positions[live], cells.values, live)


def _over(
    entries: tuple[SegmentEntry, ...], ranges: IdRanges, snapshot: Snapshot, changes: Sequence[CellChanges]
) -> list[np.ndarray]:
    """For each change, the positions of its rows, -1 where the row is gone or its segment contains the
    change. All are looked up together, because many are of a single row."""
    if not changes:
        return []
    sizes = [len(cells.ids) for cells in changes]
    positions = ranges.locate(snapshot, np.concatenate([cells.ids for cells in changes]))
    generations = np.array([h.version for h in entries], np.int64)
    if len(generations) and int(generations.max()) >= min(cells.version for cells in changes):
        segments = np.searchsorted(snapshot.segment_starts, positions, side="right") - 1
        positions[generations[segments] >= np.repeat([cells.version for cells in changes], sizes)] = -1
    return np.split(positions, np.cumsum(sizes[:-1]))


def _ranges(entries: tuple[SegmentEntry, ...]) -> IdRanges:
    return IdRanges(
        np.array([h.first_id for h in entries], np.int64), np.array([h.last_id for h in entries], np.int64)
    )


def _token(row: TableRow, version: int) -> tuple[object, ...]:
    return (row.folder, version, row.generation, row.draft, row.opening)


def _merge_ids(ids: np.ndarray, more: np.ndarray) -> np.ndarray:
    merged: np.ndarray = np.insert(ids, np.searchsorted(ids, more), more)
    return merged


T = TypeVar("T")

UNREADABLE = (EOFError, pa.ArrowException, OSError, ValueError, LookupError, TypeError)
"""The errors that reading a damaged entry of the catalog may raise if the damage is not detected earlier."""

KEPT_OLD = 4
REMEDY = "Verify the store to see all that is damaged, and restore a backup of it"
NO_TABLE = 0


class Reader:
    """Reads the versions of one table. Any thread may use it; entries of small commits are parsed once.

    The last few old versions are kept, so that paging through one is fast. `checks`: pending entries are
    compared with their checksums when they are read.
    """

    def __init__(self, catalog: Catalog, table_id: int, readers: Readers, checks: bool = True) -> None:
        self._catalog, self._table_id, self._readers, self._checks = catalog, table_id, readers, checks
        self._paths = StorePaths(catalog.path.parent)
        row = catalog.table(table_id)
        self._name = row.name if row else f"table {table_id}"
        folder = self._paths.index_folder(row.folder) if row else self._paths.index
        self.indexes = OpenIndexes(IndexFolder(folder, not catalog.read_only))
        self._lock = threading.RLock()
        self._current: TableVersion | None = None
        self._draft: TableVersion | None = None
        self._old: OrderedDict[int, TableVersion] = OrderedDict()
        self._parsed_entries: dict[tuple[str, int], Any] = {}
        self._columns_of: dict[str, BatchColumns] = {}
        call_after_fork(self)

    @property
    def table_id(self) -> int:
        """The id of the table in the catalog; 0 if its creation was rolled back."""
        return self._table_id

    @property
    def last_name(self) -> str:
        """The table's name when it was last read, even if the store is closed or the table is gone."""
        return self._name

    def reset_after_fork(self) -> None:
        """Replace the lock in a forked child, where the thread that held it does not exist; the catalog
        refuses to be used there."""
        self._lock = threading.RLock()

    def current(self) -> TableVersion:
        row = self._row()
        with self._lock:
            state = self._cached_version(row)
            if state is None:
                state = self._claim_and_load(None)
                self._forget_all_but(state)
            elif (state.row.name, state.row.draft) != (row.name, row.draft):
                state = state.of_row(row)
            self._keep(state)
            return state

    def version_at(self, version: int | None) -> TableVersion | None:
        """The version in memory if it is `version`; does not check the catalog for a newer one."""
        state = self._current
        return state if state is not None and state.version == version else None

    def _cached_version(self, row: TableRow) -> TableVersion | None:
        """The version in memory that matches the table's row. A transaction starts from the committed one."""
        drafts = [self._draft] if row.draft and self._draft and self._draft.row.draft == row.draft else []
        for state in (*drafts, self._current):
            if state and (state.row.version, state.row.generation) == (row.version, row.generation):
                return state
        return None

    def settle(self, draft: int) -> None:
        """Make what was read last in the transaction of this number the current version: it has been
        committed."""
        with self._lock:
            if self._draft is not None and self._draft.row.draft == draft:
                self._current = self._draft.of_row(replace(self._draft.row, draft=0))
            self._draft = None

    def at(self, version: int) -> TableVersion:
        """The table at `version`, which must be one that is kept."""
        with self._lock:
            newest = self.current()
            if version == newest.version:
                return newest
            if version not in self._old:
                state = self._claim_and_load(version)
                if newest.row.draft:
                    return state
                self._old[version] = state
                if len(self._old) > KEPT_OLD:
                    self._old.popitem(last=False)
            self._old.move_to_end(version)
            return self._old[version]

    def advance(self, before: TableVersion, after: TableVersion) -> None:
        """Make `after` the current version: a commit of this process made it from `before`. Does nothing if
        the table has changed since."""
        with self._lock:
            if before is self._current or before is self._draft:
                self._keep(after)

    def forget(self) -> None:
        """Forget everything in memory, because it was rolled back or its files are to be removed."""
        with self._lock:
            self._current = self._draft = None
            self._old.clear()
            self._parsed_entries.clear()
            self._columns_of.clear()
            self.indexes.let_go()

    def forget_old(self) -> None:
        with self._lock:
            self._old.clear()

    def abandon(self) -> None:
        """Make every later use raise, because the table's creation was rolled back, even if another table
        gets its id."""
        self._table_id = NO_TABLE
        self.forget()

    def _keep(self, state: TableVersion) -> None:
        if state.row.draft:
            self._draft = state
        else:
            self._current = state

    def _claim_and_load(self, version: int | None) -> TableVersion:
        """Read a version, None for the newest. It is claimed first, and read again if files were removed in
        between."""
        self._catalog.refuse_replaced_catalog()
        while True:
            row, removals = self._row(), self._catalog.removals()
            number = row.version if version is None else version
            claim = self._readers.claim(Reading(self._table_id, number, removals))
            with self._catalog.unchanging():
                if (self._row(), self._catalog.removals()) == (row, removals):
                    return _with_claim(self._load_readable(number, row), claim, self.indexes)

    def _load_readable(self, version: int, row: TableRow) -> TableVersion:
        try:
            return self._load(version, row)
        except UNREADABLE as error:
            raise StoreProblem(
                f"{self._name}: its entries in the catalog cannot be read",
                f"{type(error).__name__}: {error}",
                REMEDY,
            ) from error

    def _load(self, version: int, row: TableRow) -> TableVersion:
        path = self._catalog.path
        self.indexes.now(index_of(path, *fields) for fields in self._catalog.indexes(self._table_id))
        entries = self._column_entries(version)
        types = {entry: (key, column_type(path, kind)) for entry, key, _, kind in entries}
        self._parsed_entries |= {("columns", entry): pair for entry, pair in types.items()}
        columns = tuple(Column(name, types[entry][1], key) for entry, key, name, _ in entries)
        _refuse_doubles(row.name, columns)
        by_key = {key: entry for entry, key, _, _ in entries}
        deletions = {e: self._read_deletions(e) for (e,) in self._valid("deletions", version, ("entry",))}
        segment_entries, cells = self._segments(row, version), self._all_cells(version)
        return state_of(
            row, version, columns, by_key, self._metadata(version), segment_entries, cells, deletions
        )

    def _metadata(self, version: int) -> dict[tuple[int, bytes], tuple[int, bytes]]:
        rows = self._valid("metadata", version, ("entry", "column_id", "key", "value"))
        return {(column, key): (entry, value) for entry, column, key, value in rows}

    def _all_cells(self, version: int) -> dict[tuple[str, int], CellChanges]:
        """All changed cells, in the order in which they were made."""
        loose = self._valid("pending_cells", version, ("made", "entry"))
        files = self._valid("change_files", version, ("made", "entry", "path", "rows", "names", "checksum"))
        entries = [(since, "pending_cells", entry, self._cells(entry)) for since, entry in loose]
        for since, entry, path, rows, names, checksum in files:
            segment = self._segment("change_files", path, rows, names, checksum)
            cells = self._parse_once("change_files", entry, partial(read_cells, segment, since))
            entries.append((since, "change_files", entry, cells))
        entries.sort(key=lambda f: f[:3])
        return {(kind, entry): cells for _, kind, entry, cells in entries}

    def _forget_all_but(self, state: TableVersion) -> None:
        """Keep only the entries that the newest version uses."""
        used = {("pending_rows", h.entry) for h in state.segment_entries} | state.cells.keys()
        used |= {("deletions", e) for e in state.deletions}
        self._parsed_entries = {
            key: v for key, v in self._parsed_entries.items() if key in used or key[0] == "columns"
        }
        self._columns_of.clear()

    def _row(self) -> TableRow:
        row = self._catalog.table(self._table_id)
        if row is None:
            raise StoreProblem(f"{self._name}: the table is gone", "it was dropped", "Use another table")
        self._name = row.name
        return row

    def _valid(self, kind: str, version: int, columns: tuple[str, ...]) -> list[tuple[Any, ...]]:
        return self._catalog.valid(kind, self._table_id, version, columns)

    def _column_entries(self, version: int) -> list[tuple[int, int, str, bytes]]:
        rows = self._valid("columns", version, ("entry", "column_id", "name", "type", "place"))
        return [entry[:4] for entry in sorted(rows, key=lambda e: (e[4], e[0]))]

    def _segments(self, row: TableRow, version: int) -> tuple[SegmentEntry, ...]:
        columns = ("entry", "path", "rows", "first_id", "last_id", "names", "checksum", "made")
        files = self._valid("data_files", version, columns)
        loose = self._valid("pending_rows", version, ("entry", "first_id", "rows"))
        self._refuse_duplicate_files(row, [path for _, path, *_ in files])
        entries = [
            SegmentEntry(
                "data_files",
                entry,
                first,
                last,
                since,
                self._segment("data_files", path, rows, names, checksum),
            )
            for entry, path, rows, first, last, names, checksum, since in files
        ]
        entries += [
            SegmentEntry("pending_rows", entry, first, first + rows - 1, 0, self._rows(entry, first, rows))
            for entry, first, rows in loose
        ]
        entries.sort(key=lambda h: h.first_id)
        self._refuse_impossible(row, entries)
        return tuple(entries)

    def _refuse_duplicate_files(self, row: TableRow, paths: Sequence[str]) -> None:
        """Raise `DamagedStore` for a file that is entered twice, whose rows would appear twice."""
        if len(set(paths)) < len(paths):
            ((path, times),) = Counter(paths).most_common(1)
            what = f"{row.name}: the data file {path} is part of it {times} times"
            raise DamagedStore(what, f"{self._catalog.path} says so", REMEDY)

    def _refuse_impossible(self, row: TableRow, entries: Sequence[SegmentEntry]) -> None:
        """Raise `DamagedStore` where segments cannot have the rows that the catalog claims: arrays of rows
        and ids are sized by these numbers, and overlapping segments would show rows twice."""
        behind = 0
        for each in entries:
            rows, what = each.segment.num_rows, ""
            if each.first_id < behind:
                what = f"two parts of it hold the {ID}s from {each.first_id} to {behind - 1}"
            elif not 0 < rows <= each.last_id - each.first_id + 1:
                ids = f"{each.first_id} to {each.last_id}"
                what = f"{each.kind} {each.entry} has {rows} rows of the {ID}s {ids}"
            elif each.last_id >= row.next_id:
                what = f"rows up to {ID} {each.last_id} exist, but the next id is {row.next_id}"
            if what:
                raise DamagedStore(f"{row.name}: {what}", f"{self._catalog.path} says so", REMEDY)
            behind = each.last_id + 1

    def _segment(self, kind: str, path: str, rows: int, names: str, checksum: str) -> FileSegment:
        names_by = names_by_key(self._catalog.path, kind, names)
        return FileSegment(self._paths.file(path), rows, names_by, checksum=checksum, remedy=REMEDY)

    def _rows(self, entry: int, first: int, rows: int) -> MemorySegment:
        def parse() -> MemorySegment:
            columns, batch = self._pending("pending_rows", entry, ("columns", "batch"))
            types, about = self._batch_columns(columns), f"{self._name}: pending_rows {entry}"
            return PendingRows.with_ids(first, rows, lambda: from_batch(types, batch, about))

        return self._parse_once("pending_rows", entry, parse)

    def _cells(self, entry: int) -> CellChanges:
        def parse() -> CellChanges:
            catalog_columns = ("ids", "columns", "batch", "made")
            ids, columns, batch, entries = self._pending("pending_cells", entry, catalog_columns)
            values = from_batch(self._batch_columns(columns), batch, f"{self._name}: pending_cells {entry}")
            return CellChanges(row_ids(self._catalog.path, "pending_cells", ids), values, entries)

        return self._parse_once("pending_cells", entry, parse)

    def _read_deletions(self, entry: int) -> np.ndarray:
        return self._parse_once(
            "deletions",
            entry,
            lambda: row_ids(self._catalog.path, "deletions", self._pending("deletions", entry, ("ids",))[0]),
        )

    def _pending(self, kind: str, entry: int, columns: tuple[str, ...]) -> tuple[Any, ...]:
        """Read a pending entry; raise `StoreProblem` if its checksum differs."""
        checked = CHECKSUMMED_COLUMNS[kind]
        *values, checksum = self._catalog.entry(kind, entry, (*columns, "checksum"))
        is_checked = self._checks and checksum
        if is_checked and checksum_of_bytes(*(values[columns.index(name)] for name in checked)) != checksum:
            raise StoreProblem(
                f"{self._name}: {kind} {entry} in the catalog is damaged",
                "It does not match what was written: its checksum differs",
                REMEDY,
            )
        return tuple(values)

    def _batch_columns(self, columns: str) -> BatchColumns:
        """The columns of the entries listed, which are the same for most batches of a table."""
        if columns not in self._columns_of:
            self._columns_of[columns] = BatchColumns.of(self._catalog.path, columns, self._entry_type)
        return self._columns_of[columns]

    def _entry_type(self, entry: int) -> tuple[int, pa.DataType]:
        def read() -> tuple[int, pa.DataType]:
            key, kind = self._catalog.entry("columns", entry, ("column_id", "type"))
            return key, column_type(self._catalog.path, kind)

        return self._parse_once("columns", entry, read)

    def _parse_once(self, kind: str, entry: int, parse: Callable[[], T]) -> T:
        """Parse an entry once: entries never change."""
        if (kind, entry) not in self._parsed_entries:
            self._parsed_entries[kind, entry] = parse()
        value: T = self._parsed_entries[kind, entry]
        return value


def _refuse_doubles(table: str, columns: Sequence[Column]) -> None:
    """Raise `DamagedStore` where two columns have the same name or id: a file with both could not be read
    back."""
    names: set[str] = set()
    keys = {ID_COLUMN.key}
    for column in columns:
        what = f"two columns have the name '{column.name:.60}'" if column.name in names else ""
        if column.key in keys:
            what = f"column '{column.name:.60}' has the same id {column.key} as another"
        if what:
            raise DamagedStore(
                f"{table}: {what}", "The catalog was changed by another program", "Restore a backup"
            )
        names.add(column.name)
        keys.add(column.key)


def _with_claim(state: TableVersion, claim: Claim | None, indexes: OpenIndexes) -> TableVersion:
    return replace(state, snapshot=replace(state.snapshot, keeps=claim, indexes=indexes))


Metadata = dict[tuple[int, bytes], bytes]
"""By column id (0 for the table itself) and key."""
