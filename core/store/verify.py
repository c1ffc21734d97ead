"""Whether a store is whole: its catalog, and that every file still is what the catalog says of it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa

from lamella.core.arrow.arrays import take, to_numpy
from lamella.core.arrow.types import ID, always_fits
from lamella.core.errors import DamagedStore, LamellaError
from lamella.core.jobs import Job
from lamella.core.scan.checksums import checksum_of, checksum_of_bytes
from lamella.core.scan.chunks import column_chunks
from lamella.core.scan.parquet_file import footer_of
from lamella.core.scan.row_ids import ID_COLUMN
from lamella.core.scan.snapshot import Column, FileSegment, MemorySegment
from lamella.core.store.catalog.queries import Catalog, TableRow, foreign_objects
from lamella.core.store.catalog.schema import CHECKED, names_by_key
from lamella.core.store.cells import CellChanges
from lamella.core.store.folder import Layout, Readers
from lamella.core.store.log_check import log_damage
from lamella.core.store.paths import StorePaths
from lamella.core.store.retention import problems as index_problems
from lamella.core.store.table_version import UNREADABLE, Reader, SegmentEntry, TableVersion


def problems(state: TableVersion, damaged: Collection[Path]) -> Iterator[str]:
    """Sentences; none when all is well. Values in files that are `damaged` are not looked at."""
    for (kind, entry), cells in state.cells.items():
        told = (*_cell_problems(state, cells), *_ids_given(state, cells.ids))
        yield from (f"{kind} {entry} {each}" for each in told)
    for entry, ids in state.deletions.items():
        yield from (f"deletions {entry} {told}" for told in _ids_given(state, ids))
    for held in state.held:
        yield from _misfits(state, held, damaged)


def _ids_given(state: TableVersion, ids: np.ndarray) -> Iterator[str]:
    """Rows that were removed since may be named still, but never one that there cannot be."""
    if bool(np.any(ids[1:] <= ids[:-1])):
        yield f"names {ID}s that do not ascend"
    if len(ids) and (ids.min() < 0 or ids.max() >= state.row.next_id):
        yield f"names a row that was never there: {ID} {ids.max() if ids.min() >= 0 else ids.min()}"


def _cell_problems(state: TableVersion, cells: CellChanges) -> Iterator[str]:
    types = {column.key: column for column in state.columns}
    for key, values in cells.values.items():
        if len(values) != len(cells.ids):
            yield f"has {len(values):,} values for {len(cells.ids):,} rows"
        elif key in types and _may_differ(values.type, types[key]):
            yield from _misfit(take(values, np.flatnonzero(state.lie_over(cells))), types[key])


def _misfits(state: TableVersion, held: SegmentEntry, damaged: Collection[Path]) -> Iterator[str]:
    """Values of a segment that cannot be read as their columns' types."""
    segment = held.segment
    for column in state.columns:
        if not isinstance(segment, FileSegment):
            yield from (f"{held.kind} {held.entry} {told}" for told in _memory_misfit(segment, column))
        elif segment.path not in damaged:
            yield from (f"data file {segment.path} {told}" for told in _file_misfit(segment, column))


def _memory_misfit(segment: MemorySegment, column: Column) -> Iterator[str]:
    name = str(column.key)
    if name in segment.rows.column_names:
        yield from _misfit(segment.rows.column(name), column)


def _file_misfit(segment: FileSegment, column: Column) -> Iterator[str]:
    """A row group at a time; only a column of another type is read."""
    name, told = segment.names.get(column.key), footer_of(segment.path)
    kind = column.type if name is None else told.schema.field(name).type
    groups = range(told.metadata.num_row_groups if _may_differ(kind, column) else 0)
    for group in groups:
        found = [*_misfit(column_chunks(segment, group, [replace(column, type=kind)], into=None)[0], column)]
        if found:
            yield from found
            return


def _may_differ(kind: pa.DataType, column: Column) -> bool:
    return not (kind.equals(column.type) or always_fits(kind, column.type))


def _misfit(values: pa.Array | pa.ChunkedArray, column: Column) -> Iterator[str]:
    try:
        values.cast(column.type)
    except pa.ArrowException as error:
        yield f"has values of column '{column.name}' that do not fit its type {column.type}: {error}"


LABELS = {"data_files": "data file", "change_files": "change file"}


@dataclass(frozen=True)
class Report:
    """`problems` are sentences, none when all is well; the numbers say what was looked at."""

    problems: tuple[str, ...]
    tables: int
    files: int
    bytes: int
    checksums: bool
    not_checked: tuple[str, ...] = ()

    def __str__(self) -> str:
        parts = [_counted(self.tables, "table")]
        if self.tables:
            parts.append(_counted(self.files, "file"))
        if self.bytes:
            parts.append(f"{self.bytes:,} bytes {'with' if self.checksums else 'without'} checksums")
        looked = ", ".join(parts)
        found = [
            f"{_counted(len(self.problems), 'problem')} in {looked}"
            if self.problems
            else f"{looked}: all is well"
        ]
        return "\n".join([*found, *self.problems, *self.not_checked])


@dataclass(frozen=True)
class NamedFile:
    """A file as the catalog has it."""

    kind: str
    path: str
    rows: int
    first_id: int
    last_id: int
    size: int
    names: dict[int, str]
    checksum: str


def verify(catalog: Catalog, tables: Sequence[int] | None, quick: bool, job: Job) -> Report:
    """Look at these tables, or at the whole store for None. `quick` leaves the checksums out.

    Damage is a problem in the report, never an error. Raises `StoreProblem` where the store was moved.
    """
    catalog.refuse_replaced()
    layout = Layout(catalog.path.parent)
    found = Verification(catalog, layout.paths, quick, job)
    not_checked: list[str] = []
    if tables is None:
        found.problems += [told for told in [log_damage(catalog.path)] if told]
        found.problems += [f"{catalog.path}: {told}" for told in catalog.integrity()]
        found.problems += [
            f"{catalog.path}: holds a {kind} '{name:.60}', which Lamella never makes"
            for kind, name in foreign_objects(catalog)
        ]
        not_checked = found.stray_files(layout)
    rows = [row for row in _tables(found) if tables is None or row.table_id in tables]
    for row in rows:
        found.table(row)
    return Report(
        tuple(found.problems), len(rows), len(found.files), found.bytes, not quick, tuple(not_checked)
    )


def _tables(found: Verification) -> list[TableRow]:
    try:
        return found.catalog.tables()
    except (LamellaError, *UNREADABLE) as error:
        found.problems.append(f"{found.catalog.path}: {_told(error)}")
        return []


@dataclass
class Verification:
    """Problems found so far, and what was looked at."""

    catalog: Catalog
    paths: StorePaths
    quick: bool
    job: Job
    problems: list[str] = field(default_factory=list)
    files: set[str] = field(default_factory=set)
    damaged: set[Path] = field(default_factory=set)
    bytes: int = 0

    def table(self, row: TableRow) -> None:
        """The files and pending entries of every version, and whether the newest fits together."""
        named: list[NamedFile] = []
        self._noting(row, partial(self._collect, row, named))
        for done, file in enumerate(named):
            self.job.report(
                done, len(named), f"{row.name}: {_counted(done, 'file')} of {len(named):,} checked"
            )
            if file.path not in self.files:
                self.files.add(file.path)
                if self._noting(row, partial(self._file, file)):
                    self.damaged.add(self.paths.data / file.path)
        for kind in () if self.quick else CHECKED:
            self._noting(row, partial(self._pending, row, kind))
        self._noting(row, partial(self._newest, row))
        self._noting(row, partial(self._commits, row))

    def stray_files(self, layout: Layout) -> list[str]:
        """Note files that no table names; answers what could not be looked at."""
        try:
            found = layout.strays(self.catalog.paths_on_disk)
        except DamagedStore as problem:
            self.problems.append(str(problem))
            return ["Stray files were not looked for, because the catalog does not say which files it has."]
        except OSError as error:
            return [f"Stray files were not looked for: {error}"]
        if found is None:
            return ["Stray files were not looked for, because somebody is writing to the store."]
        goes, stays = "no table names this file; vacuum removes it", "is none of the store's files, and stays"
        self.problems += [f"{path}: {goes if self.paths.may_sweep(path) else stays}" for path in found]
        return []

    def _noting(self, row: TableRow, look: Callable[[], Iterator[str]]) -> bool:
        """Whether there was something to note."""
        before = len(self.problems)
        try:
            for told in look():
                self.problems.append(f"table {row.name}: {told}")
        except (LamellaError, *UNREADABLE) as error:
            self.problems.append(f"table {row.name}: {_told(error)}")
        return len(self.problems) > before

    def _collect(self, row: TableRow, named: list[NamedFile]) -> Iterator[str]:
        named += self._named(row)
        return iter(())

    def _named(self, row: TableRow) -> Iterator[NamedFile]:
        wanted = ("path", "rows", "first_id", "last_id", "bytes", "names", "checksum")
        for kind in LABELS:
            for path, rows, first, last, size, names, checksum in self.catalog.every(
                kind, row.table_id, wanted
            ):
                yield NamedFile(kind, path, rows, first, last, size, names_by_key(kind, names), checksum)

    def _file(self, file: NamedFile) -> Iterator[str]:
        path, label = self.paths.file(file.path), LABELS[file.kind]
        if not path.is_file():
            if file.path in self.catalog.paths():  # it may have been let go of meanwhile
                yield f"{label} {path} is missing"
            return
        size = path.stat().st_size
        self.bytes += size
        if size != file.size:
            yield f"{label} {path} has {size:,} bytes instead of {file.size:,}"
        elif not self.quick and file.checksum and checksum_of(path) != file.checksum:
            yield f"{label} {path} holds other bytes than were written: its checksum differs"
        else:
            yield from (f"{label} {path} {told}" for told in _content(file, path))

    def _pending(self, row: TableRow, kind: str) -> Iterator[str]:
        for entry, checksum, *held in self.catalog.checked(kind, row.table_id):
            self.job.check()
            if checksum and checksum_of_bytes(*held) != checksum:
                yield f"{kind} {entry} holds other bytes than were written: its checksum differs"

    def _newest(self, row: TableRow) -> Iterator[str]:
        readers = Readers(self.catalog.path.parent)
        try:
            state = Reader(self.catalog, row.table_id, readers, checks=False).current()
            yield from problems(state, self.damaged)
            yield from index_problems(state, self.quick)
        finally:
            readers.close()

    def _commits(self, row: TableRow) -> Iterator[str]:
        versions = [commit[0] for commit in self.catalog.commits(row.table_id)]
        if not versions or versions[-1] != row.version:
            newest = versions[-1] if versions else "none"
            yield f"the table is at version {row.version}, but its newest commit is {newest}"


def _content(file: NamedFile, path: Path) -> Iterator[str]:
    told = footer_of(path)
    if told.metadata.num_rows != file.rows:
        yield f"holds {told.metadata.num_rows:,} rows instead of {file.rows:,}"
        return
    missing = [name for name in file.names.values() if name not in told.schema.names]
    if missing:
        yield f"has no column '{missing[0]}'"
        return
    yield from _id_problems(FileSegment(path, file.rows, file.names), file)


def _id_problems(segment: FileSegment, file: NamedFile) -> Iterator[str]:
    """A row group at a time."""
    before, first = None, None
    for group in range(footer_of(segment.path).metadata.num_row_groups):
        ids = to_numpy(column_chunks(segment, group, [ID_COLUMN], into=None)[0])
        if not len(ids):
            continue
        first = int(ids[0]) if first is None else first
        if bool(np.any(ids[1:] <= ids[:-1])) or (before is not None and ids[0] <= before):
            yield f"has {ID}s that do not ascend"
            return
        before = int(ids[-1])
    if (first, before) != (file.first_id, file.last_id):
        yield f"has {ID}s from {first} to {before} instead of {file.first_id} to {file.last_id}"


def _told(error: Exception) -> str:
    return str(error) if isinstance(error, LamellaError) else f"cannot be read: {error}"


def _counted(number: int, what: str) -> str:
    return f"{f'{number:,}' if number else 'no'} {what}{'' if number == 1 else 's'}"
