"""A commit: what a change stages, how it enters the catalog, and retries when another commit came first."""

from __future__ import annotations

import datetime as dt
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from lamella.core.arrow.sorted_ids import EMPTY, union
from lamella.core.arrow.types import type_to_bytes
from lamella.core.errors import DamagedStore, StoreProblem, VersionConflict
from lamella.core.processes import call_after_fork
from lamella.core.scan.checksums import checksum_of_bytes
from lamella.core.scan.snapshot import Column, stored_keys
from lamella.core.store.catalog.queries import Catalog
from lamella.core.store.catalog.transaction import CommitRow, Transaction
from lamella.core.store.cells import NO_IDS, CellChanges, to_batch
from lamella.core.store.data_files import WrittenFile
from lamella.core.store.table_version import Metadata, PendingRows, Reader, SegmentEntry, TableVersion
from lamella.core.validation import count_of, text_of


@dataclass(frozen=True)
class Commit:
    """One step from a version to the next. `seconds` is how long it took; `restores` is the version whose
    content it restores, for undo, redo and restore."""

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
        """The new rows' `_id`s, ascending, in the order in which the rows were given.

        Raises `StoreProblem` for a commit read from the history, which stores only how many rows were
        inserted.
        """
        if sum(map(len, self.given_ids)) != self.inserted:
            raise StoreProblem(
                f"{self.table}: the history does not record which rows version {self.version} added",
                "Only the call that inserts rows returns their ids",
                "Use diff() to find the rows that one version has and another lacks",
            )
        return np.concatenate([EMPTY, *(np.arange(r.start, r.stop, dtype=np.int64) for r in self.given_ids)])


@dataclass(frozen=True, eq=False)
class Change:
    """What turns a version into the next. `columns` are all columns of the table afterwards; `metadata` is
    that of the table (column id 0) and its columns, None if it does not change."""

    message: str
    columns: tuple[Column, ...]
    metadata: Metadata | None = None
    cells: CellChanges | None = None
    deleted_ids: np.ndarray = field(default_factory=lambda: NO_IDS)
    files: tuple[WrittenFile, ...] = ()
    rows: tuple[Mapping[int, pa.Array], int] | None = None
    inserted: int = 0
    unused_ids: range = range(0)

    @property
    def num_updated(self) -> int:
        return 0 if self.cells is None else len(self.cells.ids)

    def is_empty(self, columns: tuple[Column, ...], metadata: Metadata) -> bool:
        """Whether the change leaves a table with these columns and metadata as it is."""
        changed = bool(self.inserted or self.num_updated or len(self.deleted_ids))
        return not changed and self.columns == columns and self.metadata in (None, metadata)

    @property
    def touched_ids(self) -> np.ndarray:
        """Ids of existing rows that are changed or deleted."""
        return self.deleted_ids if self.cells is None else union(self.cells.ids, self.deleted_ids)


Entries = tuple[tuple[str, int], ...]


@dataclass(frozen=True, eq=False)
class Rewrite:
    """New files, the segments that they replace, and the pending entries that they contain completely."""

    old_segments: tuple[SegmentEntry, ...]
    files: tuple[WrittenFile, ...]
    contained_entries: Entries


@dataclass(frozen=True, eq=False)
class StagedFiles:
    """The files of a change, which are published together."""

    files: tuple[WrittenFile, ...] = ()
    change_files: tuple[WrittenFile, ...] = ()
    rewritten: Rewrite | None = None

    @property
    def all_files(self) -> tuple[WrittenFile, ...]:
        return (*self.files, *self.change_files, *(self.rewritten.files if self.rewritten else ()))


class CatalogEntries:
    """Enters one change into the catalog at `version`, inside a transaction. `given_ids` are the ids of its
    new rows."""

    def __init__(self, transaction: Transaction, table_id: int, version: int) -> None:
        self._catalog, self._table_id, self._version = transaction, table_id, version
        self.given_ids: tuple[range, ...] = ()

    def columns(self, state: TableVersion | None, change: Change) -> dict[int, int]:
        """Enter columns that are new or changed, and end those that are gone; return the entry of every
        column id."""
        if state is not None and change.columns == state.columns:
            return state.column_entries
        entries = {} if state is None else dict(state.column_entries)
        before = {} if state is None else {c.key: (place, c) for place, c in enumerate(state.columns)}
        after = {c.key: (place, c) for place, c in enumerate(change.columns)}
        differing = [key for key in after if before.get(key) != after[key]]
        ended = [key for key in before if key in differing or key not in after]
        self._catalog.end_entries("columns", [entries.pop(key) for key in ended], self._version)
        for key in differing:
            place, column = after[key]
            values = (key, column.name, type_to_bytes(column.type), place)
            entries[key] = self._add("columns", values)
        return entries

    def metadata(self, state: TableVersion | None, change: Change) -> None:
        """Enter the metadata of the table and its columns, if `change` has any."""
        if change.metadata is None:
            return
        entries = {} if state is None else state.metadata_entries
        before = {} if state is None else state.metadata
        ended = [key for key, value in before.items() if change.metadata.get(key) != value]
        self._catalog.end_entries("metadata", [entries[key] for key in ended], self._version)
        for (column, name), value in change.metadata.items():
            if before.get((column, name)) != value:
                self._add("metadata", (column, name, value))

    def files(self, files: tuple[WrittenFile, ...], paths: list[str], version: int = 0) -> list[int]:
        """Enter data files; return their entries. `version` is the version whose pending cells they already
        contain."""
        entries = []
        for file, path in zip(files, paths, strict=True):
            values = (
                path,
                file.rows,
                file.first_id,
                file.last_id,
                file.size,
                file.names,
                file.checksum,
                version,
            )
            entries.append(self._add("data_files", values))
            self._refuse_span(entries[-1], file)
        return entries

    def _refuse_span(self, entry: int, file: WrittenFile) -> None:
        """Raise `Overtaken` if the file's ids overlap another segment: reading relies on disjoint
        segments."""
        ids = (file.first_id, file.last_id)
        if self._catalog.overlaps_segment(entry, self._table_id, self._version, *ids):
            raise Overtaken(f"{file.path.name} spans rows of others")

    def enter_files(self, staged: StagedFiles, paths: list[str]) -> None:
        """Enter the files of a change; `paths` are in the order of `StagedFiles.all_files`."""
        own, changed = len(staged.files), len(staged.change_files)
        self.files(staged.files, paths[:own])
        self.given_ids += tuple(range(file.first_id, file.last_id + 1) for file in staged.files)
        self.change_files(staged.change_files, paths[own : own + changed], self._version)
        if staged.rewritten is not None:
            self.replace_segments(staged.rewritten, paths[own + changed :])

    def change_files(self, files: tuple[WrittenFile, ...], paths: list[str], version: int) -> None:
        for file, path in zip(files, paths, strict=True):
            ids = (file.first_id, file.last_id)
            self._add("change_files", (path, version, file.rows, *ids, file.size, file.names, file.checksum))

    def rows(self, values: Mapping[int, pa.Array], count: int, entries: dict[int, int]) -> SegmentEntry:
        """Enter new rows, and give them ids."""
        first = self._catalog.take_ids(self._table_id, count)
        self.given_ids += (range(first, first + count),)
        entry = self.merged_rows(first, values, count, entries)
        pending = PendingRows.with_ids(first, count, lambda: values)
        return SegmentEntry("pending_rows", entry, first, first + count - 1, 0, pending)

    def merged_rows(
        self, first_id: int, values: Mapping[int, pa.Array], count: int, entries: dict[int, int]
    ) -> int:
        """Enter pending rows that already have ids, from `first_id` on; return the entry."""
        columns, batch = to_batch(values, entries)
        return self._add("pending_rows", (first_id, count, columns, batch, checksum_of_bytes(batch)))

    def cells(self, cells: CellChanges, entries: dict[int, int]) -> int:
        ids, (columns, batch) = _id_bytes(cells.ids), to_batch(cells.values, entries)
        return self._add("pending_cells", (cells.version, ids, columns, batch, checksum_of_bytes(ids, batch)))

    def deletions(self, ids: np.ndarray) -> int:
        gone = _id_bytes(np.sort(ids))
        return self._add("deletions", (gone, checksum_of_bytes(gone)))

    def replace_segments(self, rewritten: Rewrite, paths: list[str], version: int | None = None) -> list[int]:
        """Enter the files of a rewrite in place of the segments and pending entries that they contain; return
        the files' entries. They contain what was pending at version `version`, by default this one."""
        self.end((each.kind, each.entry) for each in rewritten.old_segments)
        self.end(rewritten.contained_entries)
        return self.files(rewritten.files, paths, version=self._version if version is None else version)

    def end(self, entries: Iterable[tuple[str, int]]) -> None:
        for kind, entry in entries:
            self._catalog.end_entries(kind, [entry], self._version)

    def _add(self, kind: str, values: tuple[object, ...]) -> int:
        return self._catalog.add(kind, self._table_id, self._version, values)


def _id_bytes(ids: np.ndarray) -> bytes:
    return ids.astype("<i8").tobytes()


class Overtaken(Exception):
    """Another commit came first, so the change has to be staged again."""


def still_at(transaction: Transaction, state: TableVersion) -> int:
    """Return the table's version; raise `Overtaken` unless it is the one that the change was staged from."""
    if transaction.version(state.row.table_id) != (state.version, state.row.generation):
        raise Overtaken(state.row.name)
    return state.version


def version_holding(
    catalog: Catalog, state: TableVersion, replaced: Sequence[SegmentEntry], transaction: Transaction
) -> int:
    """Return the table's version if a rewrite staged at `state` still fits it; raise `Overtaken` otherwise.

    It fits if everything that was pending for the `replaced` segments still is, anything pending since was
    made later, and no column that had been dropped is back.
    """
    now = transaction.version(state.row.table_id)
    if now == (state.version, state.row.generation):
        return state.version
    if now is None or now[1] != state.row.generation:
        raise Overtaken(state.row.name)

    def current_entries(kind: str, column: str = "entry") -> dict[tuple[str, int], int]:
        rows = catalog.valid(kind, state.row.table_id, now[0], ("entry", column))
        return {(kind, entry): value for entry, value in rows}

    cells = current_entries("pending_cells", "made") | current_entries("change_files", "made")
    entries_since = (
        current_entries("data_files") | current_entries("pending_rows") | current_entries("deletions")
    )
    used = {(h.kind, h.entry) for h in replaced} | {("deletions", e) for e in state.deletions}
    earlier = {key for key, version in cells.items() if version <= state.version}
    columns = {key for (key,) in catalog.valid("columns", state.row.table_id, now[0], ("column_id",))}
    left_out = {key for h in replaced for key in stored_keys(h.segment)} - state.column_entries.keys()
    if not used <= entries_since.keys() or earlier != set(state.cells) or columns & left_out:
        raise Overtaken(state.row.name)
    return now[0]


def commit_row(version: int, kind: str, restores: int | None, counts: tuple[int, int, int],
               started: float, message: str) -> CommitRow:  # fmt: skip
    message = text_of(message, "the message")
    at = time.time_ns() // 1_000 / 1_000_000  # in whole microseconds, like a datetime
    return CommitRow(version, at, kind, restores, *counts, time.perf_counter() - started, message)


ATTEMPTS = 5
T = TypeVar("T")


class Retries:
    """Repeats commits of one table when another commit came first. Any thread may use it; the threads of a
    process take turns."""

    def __init__(self, catalog: Catalog, reader: Reader) -> None:
        self._catalog, self._reader = catalog, reader
        self._one_at_a_time = threading.RLock()
        self._building: set[int] = set()
        call_after_fork(self)

    def reset_after_fork(self) -> None:
        """Replace the lock in a forked child, where the thread that held it does not exist; the catalog
        refuses to be used there."""
        self._one_at_a_time = threading.RLock()
        self._building = set()

    @contextmanager
    def building(self) -> Iterator[None]:
        """Mark this thread as computing a change. The code that computes it must not change the table itself,
        or its own commit would be overtaken again and again."""
        thread = threading.get_ident()
        self._building.add(thread)
        try:
            yield
        finally:
            self._building.discard(thread)

    def run(self, attempt: Callable[[TableVersion], T], expected_version: int | None = None) -> T:
        """Call `attempt` alongside other writers at first; after five overtaken attempts, call it under the
        write lock."""
        self.refuse_inside()
        with self.in_turn(), _release_frames():
            for _ in range(ATTEMPTS):
                try:
                    return attempt(check_version(self._reader.current(), expected_version))
                except Overtaken:
                    continue
            try:
                with self._catalog.transaction():
                    return attempt(check_version(self._reader.current(), expected_version))
            except Overtaken as overtaken:
                self._reader.forget()
                raise self._refused_by_catalog(overtaken) from overtaken
            except BaseException:
                self._reader.forget()  # it may hold a version that was rolled back
                raise

    def _refused_by_catalog(self, overtaken: Overtaken) -> DamagedStore:
        """The error for an attempt overtaken under the write lock. No other commit can come first there, so
        the catalog itself is damaged."""
        return DamagedStore(
            f"{self._reader.last_name}: the change does not fit the table's entries in {self._catalog.path}",
            str(overtaken),
            "Verify the store to see what is damaged, and restore a backup",
        )

    @contextmanager
    def in_turn(self) -> Iterator[None]:
        """Let threads take turns, so that none has to start over. A thread that has the catalog's lock does
        not wait for threads that wait for that lock."""
        if self._catalog.open_group is not None:
            yield
        else:
            with self._one_at_a_time:
                yield

    def beside(self, work: Callable[[TableVersion], T]) -> T:
        """Call `work` without waiting for a turn, while others commit. After five overtaken attempts, it
        takes a turn."""
        with _release_frames():
            for _ in range(ATTEMPTS):
                try:
                    return work(self._reader.current())
                except Overtaken:
                    continue
        return self.run(work)

    def refuse_inside(self) -> None:
        """Raise `StoreProblem` if this thread is computing a change of the table."""
        if threading.get_ident() in self._building:
            raise StoreProblem(
                f"{self._reader.last_name}: the table is being changed",
                "The function that computes its new values changes the table itself",
                "Let the function only return values, and make other changes before or after",
            )


@contextmanager
def _release_frames() -> Iterator[None]:
    """Drop the variables of the calls that failed in the block: as long as an error lives, they would keep
    the version claimed that was read there, and a vacuum would leave its files."""
    try:
        yield
    except BaseException as error:
        failed: BaseException | None = error
        while failed is not None:
            traceback.clear_frames(failed.__traceback__)
            failed = failed.__cause__ or failed.__context__
        raise


def check_version(state: TableVersion, version: int | None) -> TableVersion:
    """Return `state`; raise `VersionConflict` if a version is given and the table is not at it."""
    if version is not None and state.version != count_of(version, f"{state.row.name}: expected_version"):
        raise VersionConflict(
            f"{state.row.name}: the table is at version {state.version}, not at {version}",
            "Somebody changed it in between",
            "Read it again, and decide on the change again",
        )
    return state


def commit_from_row(table: str, row: Sequence[Any], given_ids: tuple[range, ...] = ()) -> Commit:
    """Make a commit from a row with the fields of `CommitRow`."""
    row_ = CommitRow(*row)
    return Commit(
        table, row_.version, row_.inserted, row_.updated, row_.deleted, row_.seconds,
        dt.datetime.fromtimestamp(row_.at, dt.UTC), row_.message, row_.kind, row_.restores, row_.name,
        row_.transaction_id, given_ids,
    )  # fmt: skip
