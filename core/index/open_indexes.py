"""The indexes of a table as its snapshots use them, and the open index files."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import pyarrow as pa

from lamella.core.errors import FileProblem, LamellaError
from lamella.core.index import sorted_index
from lamella.core.index.definition import Index, IndexFolder
from lamella.core.index.registry import kind_of
from lamella.core.index.runs import NoIndexAnswer
from lamella.core.index.sorted_index import SortedChanges, SortedIndex
from lamella.core.index.usage import IndexUsage
from lamella.core.jobs import Job
from lamella.core.processes import call_after_fork
from lamella.core.scan.snapshot import Column, FileSegment, MemorySegment, Snapshot

if TYPE_CHECKING:
    from lamella.core.index.fulltext.open_parts import OpenFulltext


@dataclass(frozen=True, eq=False)
class IndexFile:
    """A data file whose rows begin at position `start`, and the path of its index; None if the file lacks the
    column, which is then null in all of its rows."""

    start: int
    segment: FileSegment
    path: Path | None


class IndexPlacement:
    """The locations of a snapshot's index files. Any thread: concurrent results are equal.

    `loose` are the rows that no index covers yet, with their first positions.
    """

    def __init__(self, place: IndexFolder, snapshot: Snapshot) -> None:
        starts = snapshot.segment_starts.tolist()
        placed = list(zip(starts, snapshot.segments, strict=False))
        self._place = place
        self._files = [(start, s) for start, s in placed if isinstance(s, FileSegment)]
        self.loose = [(start, s) for start, s in placed if isinstance(s, MemorySegment)]
        self.loose_rows = sum(segment.num_rows for _, segment in self.loose)
        self._columns = {column.name: column for column in reversed(snapshot.columns)}
        self._by_column: dict[int, list[IndexFile]] = {}

    def column(self, name: str) -> Column | None:
        return self._columns.get(name)

    def files(self, column: Column) -> list[IndexFile]:
        """The data files with their indexes, in the order of their rows."""
        indexes = self._by_column.get(column.key)
        if indexes is None:
            indexes = self._by_column[column.key] = [self._placing(*file, column) for file in self._files]
        return indexes

    def _placing(self, start: int, segment: FileSegment, column: Column) -> IndexFile:
        is_present = column.key in segment.names
        return IndexFile(
            start, segment, sorted_index.sorted_path(self._place, segment, column) if is_present else None
        )


KEPT_OPEN = 4096
SORTED_KIND = "sorted"
FULLTEXT = "fulltext"

log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class _OpenFile:
    """An index file as it was read. `fingerprint` is its size and time (in ns), None if there was no file;
    `index` is None if it could not be read or built."""

    fingerprint: tuple[int, int] | None
    index: SortedIndex | None

    def holds(self, now: tuple[int, int] | None) -> bool:
        """Whether the entry is still valid. A failure is remembered until the file changes, so that not every
        query tries again; mapped memory outlives its file."""
        return now is None or now == self.fingerprint


class OpenIndexes:
    """The indexes of an open table, shared by the snapshots of all its versions. Any thread.

    `definitions` are the catalog's indexes when the table was last looked up. An index dropped since may
    still be used: its answers are correct.
    """

    def __init__(self, place: IndexFolder) -> None:
        self.place = place
        self.definitions: tuple[Index, ...] = ()
        self._sorted_keys: frozenset[int] = frozenset()
        self._complete: tuple[FileSegment, ...] | None = None
        self._open: OrderedDict[Path, _OpenFile] = OrderedDict()
        self._placements: WeakKeyDictionary[Snapshot, IndexPlacement] = WeakKeyDictionary()
        self.changes = SortedChanges()
        self.usage = IndexUsage(place)
        self._one_at_a_time = threading.Lock()
        call_after_fork(self)

    def reset_after_fork(self) -> None:
        """Replace the lock, whose holder does not exist in the child."""
        self._one_at_a_time = threading.Lock()

    def now(self, definitions: Iterable[Index]) -> None:
        """Record the catalog's current indexes."""
        definitions = tuple(definitions)
        if definitions != self.definitions:
            self.definitions, self._complete = definitions, None
        self._sorted_keys = frozenset(
            index.keys[0] for index in self.definitions if index.kind == SORTED_KIND
        )

    @cached_property
    def fulltext(self) -> OpenFulltext:
        """The full-text indexes."""
        from lamella.core.index.fulltext.open_parts import OpenFulltext

        return OpenFulltext(self.place)

    @property
    def has_sorted_index(self) -> bool:
        return bool(self._sorted_keys)

    def note_sorted(self, column: Column) -> None:
        """Record that the sorted index of a column found rows."""
        self.usage.note(f"{SORTED_KIND}-{column.key}")

    def is_sorted(self, column: Column) -> bool:
        """Whether the column itself has a sorted index."""
        return column.key in self._sorted_keys and not column.path

    def placement(self, snapshot: Snapshot) -> IndexPlacement:
        """The locations of a snapshot's index files."""
        placement = self._placements.get(snapshot)
        if placement is None:
            placement = self._placements[snapshot] = IndexPlacement(self.place, snapshot)
        return placement

    def sorted_index(self, placing: IndexFile, column: Column) -> SortedIndex | None:
        """The column's index of a data file, built if it is missing or damaged; None if that fails."""
        segment, path = placing.segment, placing.path
        if path is None:
            return SortedIndex.of_nulls(segment.num_rows, column.type)
        with self._one_at_a_time:
            now, entry = _fingerprint(path), self._open.get(path)
            if entry is None or not entry.holds(now):
                index = self._read(path, segment, column)
                entry = self._open[path] = _OpenFile(now if index is None else _fingerprint(path), index)
                if len(self._open) > KEPT_OPEN:
                    self._open.popitem(last=False)
            return entry.index

    def let_go(self) -> None:
        """Close all files; those in use are opened again."""
        with self._one_at_a_time:
            self._open.clear()
        self.changes.let_go()
        self.usage.save()
        if "fulltext" in vars(self):
            self.fulltext.let_go()

    def forget(self, index: Index) -> None:
        """Close the files of a dropped index."""
        with self._one_at_a_time:
            for path in [p for p in self._open if index.owns(p.name)]:
                del self._open[path]
        self.usage.forget(index.stem)
        if index.kind == FULLTEXT:
            self.fulltext.forget(index)

    def keep_up(self, snapshot: Snapshot, job: Job) -> None:
        """Build missing indexes for the data files of the newest version. Failures are logged, and retried
        when the index is needed."""
        files = snapshot.files
        if not self.definitions or not self.place.writable or files == self._complete:
            return
        for index in self.definitions:
            try:
                kind_of(index.kind).make(self.place, index, snapshot, job)
            except (LamellaError, OSError, pa.ArrowException) as error:
                log.warning("%s: index %s is not complete: %s", snapshot.name, index.stem, error)
        self._complete = files

    def _read(self, path: Path, segment: FileSegment, column: Column) -> SortedIndex | None:
        try:
            if path.exists():
                return sorted_index.read_file(path, segment, column)
            log.info("%s: the index of column '%s' is missing, and is rebuilt", path, column.name)
        except FileProblem as problem:
            log.warning("%s It is rebuilt", problem)
        return self._rebuild(path, segment, column)

    def _rebuild(self, path: Path, segment: FileSegment, column: Column) -> SortedIndex | None:
        if not self.place.writable:
            return None
        try:
            path.unlink(missing_ok=True)
            sorted_index.write_file(path, sorted_index.build_sorted(segment, column, Job()), segment, column)
            return sorted_index.read_file(path, segment, column)
        except (LamellaError, OSError, pa.ArrowException) as error:
            log.warning("%s: the index of column '%s' is not used: %s", path, column.name, error)
            return None


def _fingerprint(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns


class FileIndex:
    """The index of the data file whose rows begin at position `start`, opened only on first use."""

    def __init__(self, indexes: OpenIndexes, placing: IndexFile, column: Column) -> None:
        self.start = placing.start
        self._indexes, self._placing, self._column = indexes, placing, column
        self._index: SortedIndex | None = None

    def file(self) -> SortedIndex:
        """Raises `NoIndexAnswer` if the index is not available."""
        if self._index is None:
            self._index = self._indexes.sorted_index(self._placing, self._column)
            if self._index is None:
                raise NoIndexAnswer("no index file")
        return self._index


def indexes_of(snapshot: Snapshot) -> OpenIndexes:
    """The indexes of a snapshot that has some."""
    assert isinstance(snapshot.indexes, OpenIndexes)
    return snapshot.indexes


def index_placement(snapshot: Snapshot) -> IndexPlacement:
    """The locations of the index files of a snapshot that has indexes."""
    return indexes_of(snapshot).placement(snapshot)


def indexed_column(snapshot: Snapshot, name: str) -> Column | None:
    """The column with this name, if it has a sorted index."""
    if snapshot.indexes is None:
        return None
    column = index_placement(snapshot).column(name)
    return column if column is not None and snapshot.indexes.is_sorted(column) else None


def file_indexes(snapshot: Snapshot, column: Column) -> list[FileIndex]:
    """The indexes of an indexed column, one for each data file."""
    return [
        FileIndex(indexes_of(snapshot), placing, column)
        for placing in index_placement(snapshot).files(column)
    ]
