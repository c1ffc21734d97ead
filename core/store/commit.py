"""A commit: what a change stages, how it enters the catalog, and a retry where another came first."""

from __future__ import annotations

import datetime as dt
import threading
import time
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
    cells: CellChanges | None = None
    deleted: np.ndarray = field(default_factory=lambda: NO_IDS)
    files: tuple[WrittenFile, ...] = ()
    rows: tuple[Mapping[int, pa.Array], int] | None = None
    inserted: int = 0
    unused_ids: range = range(0)

    @property
    def num_updated(self) -> int:
        return 0 if self.cells is None else len(self.cells.ids)

    def is_empty(self, columns: tuple[Column, ...], metadata: Metadata) -> bool:
        """Whether a table of these columns and metadata stays as it is."""
        changed = bool(self.inserted or self.num_updated or len(self.deleted))
        return not changed and self.columns == columns and self.metadata in (None, metadata)

    @property
    def touched(self) -> np.ndarray:
        """Ids of rows that exist already and are changed or deleted."""
        return self.deleted if self.cells is None else union(self.cells.ids, self.deleted)


Entries = tuple[tuple[str, int], ...]


@dataclass(frozen=True, eq=False)
class Rewrite:
    """Files for the segments they replace, and the pending entries that are in them altogether."""

    old_segments: tuple[SegmentEntry, ...]
    files: tuple[WrittenFile, ...]
    contained: Entries


@dataclass(frozen=True, eq=False)
class Staged:
    """The files of a change, to be published together."""

    files: tuple[WrittenFile, ...] = ()
    change_files: tuple[WrittenFile, ...] = ()
    rewritten: Rewrite | None = None

    @property
    def all_files(self) -> tuple[WrittenFile, ...]:
        return (*self.files, *self.change_files, *(self.rewritten.files if self.rewritten else ()))


class CatalogEntries:
    """One change being entered into the catalog at `version`, inside a transaction. `given_ids` are those of
    its new rows."""

    def __init__(self, transaction: Transaction, table_id: int, version: int) -> None:
        self._catalog, self._table_id, self._version = transaction, table_id, version
        self.given_ids: tuple[range, ...] = ()

    def columns(self, state: TableVersion | None, change: Change) -> dict[int, int]:
        """Enter columns that are new or differ, end what is gone; answers the entry of every column id."""
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
        """Enter what `change` says of the table and its columns, where it says something."""
        if change.metadata is None:
            return
        entries = {} if state is None else state.metadata_entries
        before = {} if state is None else state.metadata
        ended = [key for key, value in before.items() if change.metadata.get(key) != value]
        self._catalog.end_entries("metadata", [entries[key] for key in ended], self._version)
        for (column, name), value in change.metadata.items():
            if before.get((column, name)) != value:
                self._add("metadata", (column, name, value))

    def files(self, files: tuple[WrittenFile, ...], paths: list[str], made: int = 0) -> list[int]:
        """Enter data files; `made` is the version whose pending cells they already hold. Their entries."""
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
                made,
            )
            entries.append(self._add("data_files", values))
            self._refuse_span(entries[-1], file)
        return entries

    def _refuse_span(self, entry: int, file: WrittenFile) -> None:
        """Segments are disjoint: reading relies on it, so whatever would break it is staged again."""
        ids = (file.first_id, file.last_id)
        if self._catalog.spans_others(entry, self._table_id, self._version, *ids):
            raise Overtaken(f"{file.path.name} spans rows of others")

    def enter_staged(self, staged: Staged, paths: list[str]) -> None:
        """Enter the files of a change; `paths` are in the order of `Staged.all_files`."""
        own, changed = len(staged.files), len(staged.change_files)
        self.files(staged.files, paths[:own])
        self.given_ids += tuple(range(file.first_id, file.last_id + 1) for file in staged.files)
        self.change_files(staged.change_files, paths[own : own + changed], self._version)
        if staged.rewritten is not None:
            self.replace_segments(staged.rewritten, paths[own + changed :])

    def change_files(self, files: tuple[WrittenFile, ...], paths: list[str], made: int) -> None:
        for file, path in zip(files, paths, strict=True):
            ids = (file.first_id, file.last_id)
            self._add("change_files", (path, made, file.rows, *ids, file.size, file.names, file.checksum))

    def rows(self, values: Mapping[int, pa.Array], count: int, entries: dict[int, int]) -> SegmentEntry:
        """New rows, with ids of their own."""
        first = self._catalog.take_ids(self._table_id, count)
        self.given_ids += (range(first, first + count),)
        entry = self.merged_rows(first, values, count, entries)
        pending = PendingRows.numbered(first, count, lambda: values)
        return SegmentEntry("pending_rows", entry, first, first + count - 1, 0, pending)

    def merged_rows(
        self, first_id: int, values: Mapping[int, pa.Array], count: int, entries: dict[int, int]
    ) -> int:
        """Pending rows whose ids, from `first_id` on, were given before."""
        columns, batch = to_batch(values, entries)
        return self._add("pending_rows", (first_id, count, columns, batch, checksum_of_bytes(batch)))

    def cells(self, cells: CellChanges, entries: dict[int, int]) -> int:
        ids, (columns, batch) = _id_bytes(cells.ids), to_batch(cells.values, entries)
        return self._add("pending_cells", (cells.made, ids, columns, batch, checksum_of_bytes(ids, batch)))

    def deletions(self, ids: np.ndarray) -> int:
        gone = _id_bytes(np.sort(ids))
        return self._add("deletions", (gone, checksum_of_bytes(gone)))

    def replace_segments(self, rewritten: Rewrite, paths: list[str], made: int | None = None) -> list[int]:
        """Enter the files of a rewrite in place of the segments and pending entries they hold, which is what
        was pending at version `made`, or at this one. The files' entries."""
        self.end((each.kind, each.entry) for each in rewritten.old_segments)
        self.end(rewritten.contained)
        return self.files(rewritten.files, paths, made=self._version if made is None else made)

    def end(self, entries: Iterable[tuple[str, int]]) -> None:
        for kind, entry in entries:
            self._catalog.end_entries(kind, [entry], self._version)

    def _add(self, kind: str, values: tuple[object, ...]) -> int:
        return self._catalog.add(kind, self._table_id, self._version, values)


def _id_bytes(ids: np.ndarray) -> bytes:
    return ids.astype("<i8").tobytes()


class Overtaken(Exception):
    """Another commit came first: what was staged has to be staged again."""


def still_at(transaction: Transaction, state: TableVersion) -> int:
    """The table's version; raises `Overtaken` unless it is where the change was staged from."""
    if transaction.version(state.row.table_id) != (state.version, state.row.generation):
        raise Overtaken(state.row.name)
    return state.version


def version_holding(
    catalog: Catalog, state: TableVersion, replaced: Sequence[SegmentEntry], transaction: Transaction
) -> int:
    """The table's version, if all that was pending at `state` for the `replaced` segments is pending still,
    what came to be pending since was made since, and no column of theirs that was gone is back; raises
    `Overtaken` otherwise."""
    now = transaction.version(state.row.table_id)
    if now == (state.version, state.row.generation):
        return state.version
    if now is None or now[1] != state.row.generation:
        raise Overtaken(state.row.name)

    def made_now(kind: str, column: str = "entry") -> dict[tuple[str, int], int]:
        rows = catalog.valid(kind, state.row.table_id, now[0], ("entry", column))
        return {(kind, entry): value for entry, value in rows}

    cells = made_now("pending_cells", "made") | made_now("change_files", "made")
    others = made_now("data_files") | made_now("pending_rows") | made_now("deletions")
    used = {(h.kind, h.entry) for h in replaced} | {("deletions", e) for e in state.deletions}
    earlier = {key for key, made in cells.items() if made <= state.version}
    columns = {key for (key,) in catalog.valid("columns", state.row.table_id, now[0], ("column_id",))}
    left_out = {key for h in replaced for key in stored_keys(h.segment)} - state.column_entries.keys()
    if not used <= others.keys() or earlier != set(state.cells) or columns & left_out:
        raise Overtaken(state.row.name)
    return now[0]


def commit_row(version: int, kind: str, restores: int | None, counts: tuple[int, int, int],
               started: float, message: str) -> CommitRow:  # fmt: skip
    message = text_of(message, "the message")
    at = time.time_ns() // 1_000 / 1_000_000  # what a datetime can say, so that it can name the version
    return CommitRow(version, at, kind, restores, *counts, time.perf_counter() - started, message)


ATTEMPTS = 5
T = TypeVar("T")


class Retries:
    """Attempts at commits of one table, repeated where another commit came first. May be used by any thread;
    the threads of a process take turns."""

    def __init__(self, catalog: Catalog, reader: Reader) -> None:
        self._catalog, self._reader = catalog, reader
        self._one_at_a_time = threading.RLock()
        self._building: set[int] = set()
        call_after_fork(self)

    def forked(self) -> None:
        """The thread that had the lock does not exist in the child; the catalog refuses to be used there."""
        self._one_at_a_time = threading.RLock()
        self._building = set()

    @contextmanager
    def building(self) -> Iterator[None]:
        """While a change is made of the table's state. Whatever makes it cannot change the table itself: that
        would be overtaken by its own doing, again and again."""
        thread = threading.get_ident()
        self._building.add(thread)
        try:
            yield
        finally:
            self._building.discard(thread)

    def retried(self, attempt: Callable[[TableVersion], T], expected_version: int | None = None) -> T:
        """Call `attempt` beside other writers first, and under the write lock after five that came too
        late."""
        self.refuse_inside()
        with self.in_turn():
            for _ in range(ATTEMPTS):
                try:
                    return attempt(expected(self._reader.current(), expected_version))
                except Overtaken:
                    continue
            try:
                with self._catalog.transaction():
                    return attempt(expected(self._reader.current(), expected_version))
            except Overtaken as overtaken:
                self._reader.forget()
                raise self._refused_by_catalog(overtaken) from overtaken
            except BaseException:
                self._reader.forget()  # it may know a version that did not come to be
                raise

    def _refused_by_catalog(self, overtaken: Overtaken) -> DamagedStore:
        """Under the write lock no other commit can come first, so the catalog itself is wrong."""
        return DamagedStore(
            f"{self._reader.last_name}: the change does not fit what {self._catalog.path} says of the table",
            str(overtaken),
            "Verify the store, which tells what is damaged, and restore a backup",
        )

    @contextmanager
    def in_turn(self) -> Iterator[None]:
        """Threads take turns, so that they need not start over. A thread that has the catalog's lock does not
        wait for threads that wait for that lock."""
        if self._catalog.open_group is not None:
            yield
        else:
            with self._one_at_a_time:
                yield

    def beside(self, work: Callable[[TableVersion], T]) -> T:
        """Call `work` without waiting for a turn: others commit meanwhile. After five attempts that were
        overtaken, it takes its turn."""
        for _ in range(ATTEMPTS):
            try:
                return work(self._reader.current())
            except Overtaken:
                continue
        return self.retried(work)

    def refuse_inside(self) -> None:
        """Raises `StoreProblem` where this thread is making a change of the table's state."""
        if threading.get_ident() in self._building:
            raise StoreProblem(
                f"{self._reader.last_name}: the table is being changed",
                "The function that makes its new values changes the table itself",
                "Let it answer the values alone, and make other changes before or after",
            )


def expected(state: TableVersion, version: int | None) -> TableVersion:
    """Raises `VersionConflict` where a version is given and the table is not at it."""
    if version is not None and state.version != count_of(version, f"{state.row.name}: expected_version"):
        raise VersionConflict(
            f"{state.row.name}: the table is at version {state.version}, not at {version}",
            "Somebody changed it in between",
            "Read it again and decide anew",
        )
    return state


def commit_from_row(table: str, row: Sequence[Any], given_ids: tuple[range, ...] = ()) -> Commit:
    """`row` has the fields of `CommitRow`."""
    one = CommitRow(*row)
    return Commit(
        table, one.version, one.inserted, one.updated, one.deleted, one.seconds,
        dt.datetime.fromtimestamp(one.at, dt.UTC), one.message, one.kind, one.restores, one.name,
        one.transaction_id, given_ids,
    )  # fmt: skip
