"""Verifies a store: its catalog and write-ahead log, and that every file is what the catalog says."""

from __future__ import annotations

import errno
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pyarrow as pa

from lamella.core.arrow.arrays import take, to_numpy
from lamella.core.arrow.types import ID, always_fits
from lamella.core.errors import DamagedStore, LamellaError
from lamella.core.jobs import Job
from lamella.core.phrases import quantity, size_text
from lamella.core.scan.checksums import checksum_of, checksum_of_bytes
from lamella.core.scan.chunks import column_chunks
from lamella.core.scan.parquet_file import footer_of
from lamella.core.scan.row_ids import ID_COLUMN
from lamella.core.scan.snapshot import Column, FileSegment, MemorySegment
from lamella.core.store.catalog.queries import Catalog, TableRow, foreign_objects
from lamella.core.store.catalog.schema import CHECKSUMMED_COLUMNS, names_by_key
from lamella.core.store.cells import CellChanges
from lamella.core.store.folder import Layout, Readers
from lamella.core.store.paths import StorePaths
from lamella.core.store.retention import problems as index_problems
from lamella.core.store.table_version import UNREADABLE, Reader, SegmentEntry, TableVersion


def problems(state: TableVersion, damaged: Collection[Path]) -> Iterator[str]:
    """Yield problems as sentences. Values in files that are `damaged` are not checked."""
    for (kind, entry), cells in state.cells.items():
        in_cells = (*_cell_problems(state, cells), *_number_problems(state, cells.ids))
        yield from (f"{kind} {entry} {each}" for each in in_cells)
    for entry, ids in state.deletions.items():
        yield from (f"deletions {entry} {problem}" for problem in _number_problems(state, ids))
    for segment_entry in state.segment_entries:
        yield from _misfits(state, segment_entry, damaged)


def _number_problems(state: TableVersion, ids: np.ndarray) -> Iterator[str]:
    """Yield problems of ids: rows that were deleted since may still be named, but impossible ids may not."""
    if bool(np.any(ids[1:] <= ids[:-1])):
        yield f"names {ID}s that do not ascend"
    if len(ids) and (ids.min() < 0 or ids.max() >= state.row.next_id):
        yield f"names a row that never existed: {ID} {ids.max() if ids.min() >= 0 else ids.min()}"


def _cell_problems(state: TableVersion, cells: CellChanges) -> Iterator[str]:
    types = {column.key: column for column in state.columns}
    for key, values in cells.values.items():
        if len(values) != len(cells.ids):
            yield f"has {quantity(len(values), 'value')} for {quantity(len(cells.ids), 'row')}"
        elif key in types and _may_differ(values.type, types[key]):
            yield from _misfit(take(values, np.flatnonzero(state.lie_over(cells))), types[key])


def _misfits(state: TableVersion, entry: SegmentEntry, damaged: Collection[Path]) -> Iterator[str]:
    """Yield problems of values in a segment that cannot be read as their columns' types."""
    segment = entry.segment
    for column in state.columns:
        if not isinstance(segment, FileSegment):
            yield from (
                f"{entry.kind} {entry.entry} {problem}" for problem in _memory_misfit(segment, column)
            )
        elif segment.path not in damaged:
            yield from (f"data file {segment.path} {problem}" for problem in _file_misfit(segment, column))


def _memory_misfit(segment: MemorySegment, column: Column) -> Iterator[str]:
    name = str(column.key)
    if name in segment.rows.column_names:
        yield from _misfit(segment.rows.column(name), column)


def _file_misfit(segment: FileSegment, column: Column) -> Iterator[str]:
    """Check a column one row group at a time; it is read only if its type differs."""
    name, footer = segment.names.get(column.key), footer_of(segment.path)
    kind = column.type if name is None else footer.schema.field(name).type
    groups = range(footer.metadata.num_row_groups if _may_differ(kind, column) else 0)
    for group in groups:
        misfits = [
            *_misfit(column_chunks(segment, group, [replace(column, type=kind)], into=None)[0], column)
        ]
        if misfits:
            yield from misfits
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
    """The result of a verification. `problems` are sentences, none if all is well; the numbers say what was
    checked. Of the problems, a vacuum fixes the `strays`, the user removes the `foreign` files, and the next
    use of an index fixes the `indexes`; the others need a backup, or the readable rows of the
    `damaged_tables` are copied (`lamella.core.store.salvage`)."""

    problems: tuple[str, ...]
    tables: int
    files: int
    bytes: int
    checksums: bool
    not_checked: tuple[str, ...] = ()
    strays: int = 0
    foreign: int = 0
    indexes: int = 0
    damaged_tables: tuple[str, ...] = ()

    @property
    def damage(self) -> int:
        """The number of problems that need a backup."""
        return len(self.problems) - self.strays - self.foreign - self.indexes

    def __str__(self) -> str:
        parts = [_quantity_or_no(self.tables, "table")]
        if self.tables:
            parts.append(_quantity_or_no(self.files, "file"))
        if self.bytes:
            parts.append(f"{self.bytes:,} bytes {'with' if self.checksums else 'without'} checksums")
        looked = ", ".join(parts)
        counts = [
            f"{_quantity_or_no(len(self.problems), 'problem')} in {looked}"
            if self.problems
            else f"{looked}: all is well"
        ]
        return "\n".join([*counts, *self.problems, *self.not_checked])


@dataclass(frozen=True)
class NamedFile:
    """A file as described by the catalog."""

    kind: str
    path: str
    rows: int
    first_id: int
    last_id: int
    size: int
    names: dict[int, str]
    checksum: str


def verify(catalog: Catalog, tables: Sequence[int] | None, quick: bool, job: Job) -> Report:
    """Verify these tables, or the whole store for None. `quick` skips the checksums.

    Damage is a problem in the report, never an error. Raises `StoreProblem` if the store was moved.
    """
    catalog.refuse_replaced_catalog()
    layout = Layout(catalog.path.parent)
    verification = Verification(catalog, layout.paths, quick, job)
    not_checked: list[str] = []
    if tables is None:
        verification.problems += [problem for problem in [log_damage(catalog.path)] if problem]
        verification.problems += [f"{catalog.path}: {problem}" for problem in catalog.integrity()]
        verification.problems += _exhaustion_problems(catalog)
        verification.problems += [
            f"{catalog.path}: holds a {kind} '{name:.60}', which Lamella never creates"
            for kind, name in foreign_objects(catalog)
        ]
    rows = [row for row in _tables(verification) if tables is None or row.table_id in tables]
    verification.count(rows)
    for row in rows:
        verification.table(row)
    if tables is None:
        not_checked = verification.stray_files(layout)
    return Report(
        tuple(verification.problems),
        len(rows),
        len(verification.files),
        verification.bytes,
        not quick,
        tuple(not_checked),
        verification.strays,
        verification.foreign,
        verification.indexes,
        tuple(verification.damaged_tables),
    )


def _tables(verification: Verification) -> list[TableRow]:
    try:
        return verification.catalog.tables()
    except (LamellaError, *UNREADABLE) as error:
        verification.problems.append(f"{verification.catalog.path}: {_error_text(error)}")
        return []


def _exhaustion_problems(catalog: Catalog) -> list[str]:
    try:
        return [_error_text(damage) for damage in catalog.exhausted_tables()]
    except LamellaError as error:
        return [f"{catalog.path}: {_error_text(error)}"]


@dataclass
class Verification:
    """The problems found so far, and counts of what was checked."""

    catalog: Catalog
    paths: StorePaths
    quick: bool
    job: Job
    problems: list[str] = field(default_factory=list)
    files: set[str] = field(default_factory=set)
    damaged_paths: set[Path] = field(default_factory=set)
    bytes: int = 0
    strays: int = 0
    foreign: int = 0
    indexes: int = 0
    damaged_tables: list[str] = field(default_factory=list)
    total: int = 0
    """The bytes of all files, as far as the catalog says; those of files that several versions name count as
    often."""
    done: int = 0

    def count(self, rows: Sequence[TableRow]) -> None:
        """Note how much there is to check, for the progress. Damaged entries are problems later."""
        for row in rows:
            for kind in LABELS:
                try:
                    sizes = self.catalog.all_entries(kind, row.table_id, ("bytes",))
                except (LamellaError, *UNREADABLE):
                    continue
                self.total += sum(max(0, size) for (size,) in sizes)

    def table(self, row: TableRow) -> None:
        """Check the files and pending entries of every version, and that the newest version is consistent."""
        before = len(self.problems) - self.indexes
        files: list[NamedFile] = []
        self._noting(row, partial(self._collect, row, files))
        for file in files:
            checked = f"{size_text(self.done)} of {size_text(self.total)} checked"
            self.job.report(self.done, self.total, f"{row.name}: {checked}")
            self.done += max(0, file.size)
            if file.path not in self.files:
                self.files.add(file.path)
                if self._noting(row, partial(self._file, file)):
                    self.damaged_paths.add(self.paths.data / file.path)
        for kind in () if self.quick else CHECKSUMMED_COLUMNS:
            self._noting(row, partial(self._pending, row, kind))
        self._noting(row, partial(self._newest, row))
        self._noting(row, partial(self._commits, row))
        if len(self.problems) - self.indexes > before:
            self.damaged_tables.append(row.name)

    def stray_files(self, layout: Layout) -> list[str]:
        """Note files that no table names; return sentences about what could not be checked."""
        try:
            strays = layout.strays(self.catalog.paths_on_disk)
        except DamagedStore as problem:
            self.problems.append(str(problem))
            return ["Stray files were not looked for, because the catalog's list of files is damaged."]
        except OSError as error:
            return [f"Stray files were not looked for: {error}"]
        if strays is None:
            return ["Stray files were not looked for, because somebody is writing to the store."]
        goes, stays = "no table names this file; vacuum removes it", "does not belong to the store, and stays"
        removable, foreign = list[Path](), list[Path]()
        for path in strays:
            (removable if self.paths.may_sweep(path) else foreign).append(path)
        self.problems += [f"{path}: {goes}" for path in removable] + [f"{path}: {stays}" for path in foreign]
        self.strays, self.foreign = len(removable), len(foreign)
        return []

    def _noting(self, row: TableRow, look: Callable[[], Iterator[str]]) -> bool:
        """Note the problems that `look` yields or raises; return whether there were any."""
        before = len(self.problems)
        try:
            for problem in look():
                self.problems.append(f"table {row.name}: {problem}")
        except (LamellaError, *UNREADABLE) as error:
            self.problems.append(f"table {row.name}: {_error_text(error)}")
        return len(self.problems) > before

    def _collect(self, row: TableRow, files: list[NamedFile]) -> Iterator[str]:
        files += self._named_files(row)
        return iter(())

    def _named_files(self, row: TableRow) -> Iterator[NamedFile]:
        columns = ("path", "rows", "first_id", "last_id", "bytes", "names", "checksum")
        for kind in LABELS:
            files = self.catalog.all_entries(kind, row.table_id, columns)
            for path, rows, first, last, size, names, checksum in files:
                by_key = names_by_key(self.catalog.path, kind, names)
                yield NamedFile(kind, path, rows, first, last, size, by_key, checksum)

    def _file(self, file: NamedFile) -> Iterator[str]:
        path, label = self.paths.file(file.path), LABELS[file.kind]
        if not path.is_file():
            if file.path in self.catalog.paths():  # it may have been removed meanwhile
                yield f"{label} {path} is missing"
            return
        size = path.stat().st_size
        self.bytes += size
        if size != file.size:
            yield f"{label} {path} has {size:,} bytes instead of {file.size:,}"
        elif not self.quick and file.checksum and checksum_of(path) != file.checksum:
            yield f"{label} {path} does not match what was written: its checksum differs"
        else:
            yield from (f"{label} {path} {problem}" for problem in _content(file, path))

    def _pending(self, row: TableRow, kind: str) -> Iterator[str]:
        for entry, checksum, *values in self.catalog.checked_entries(kind, row.table_id):
            self.job.check()
            if checksum and checksum_of_bytes(*values) != checksum:
                yield f"{kind} {entry} does not match what was written: its checksum differs"

    def _newest(self, row: TableRow) -> Iterator[str]:
        readers = Readers(self.catalog.path.parent)
        try:
            state = Reader(self.catalog, row.table_id, readers, checks=False).current()
            yield from problems(state, self.damaged_paths)
            for problem in index_problems(state, self.quick):
                self.indexes += 1
                yield problem
        finally:
            readers.close()

    def _commits(self, row: TableRow) -> Iterator[str]:
        versions = [commit[0] for commit in self.catalog.commits(row.table_id)]
        if not versions or versions[-1] != row.version:
            newest = versions[-1] if versions else "none"
            yield f"the table is at version {row.version}, but its newest commit is {newest}"


def _content(file: NamedFile, path: Path) -> Iterator[str]:
    footer = footer_of(path)
    if footer.metadata.num_rows != file.rows:
        yield f"holds {footer.metadata.num_rows:,} rows instead of {file.rows:,}"
        return
    missing = [name for name in file.names.values() if name not in footer.schema.names]
    if missing:
        yield f"has no column '{missing[0]}'"
        return
    yield from _id_problems(FileSegment(path, file.rows, file.names), file)


def _id_problems(segment: FileSegment, file: NamedFile) -> Iterator[str]:
    """Check the ids of a file, one row group at a time."""
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


def _error_text(error: Exception) -> str:
    return str(error) if isinstance(error, LamellaError) else f"cannot be read: {error}"


def _quantity_or_no(number: int, what: str) -> str:
    return quantity(number, what) if number else f"no {what}s"


# Detecting lost commits in a write-ahead log: SQLite silently stops at the first invalid frame, and takes it
# for the end of the log. A crash also leaves such a frame, at the end of what was being written; after it
# comes at most the one commit that was never confirmed. Two consecutive commits after an invalid frame prove
# damage. With fewer, damage cannot be told from a crash, so the loss of the very last commit goes undetected.
# The format is SQLite's (sqlite.org/fileformat2.html, "The Write-Ahead Log"). A frame's checksum continues
# that of the frame before, so two consecutive frames can be checked without those before them.
HEADER_BYTES, FRAME_HEADER_BYTES = 32, 24
MAGIC = 0x377F0682
"""The last bit is set if the summed words are big-endian."""
BLOCK_FRAMES, GUESSED_FRAMES = 1024, 16
PROOF = 2
"""This many commits after an invalid frame cannot come from a crash."""
TRIES = 5
_NOWHERE = (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG)
_PAGE_SIZES = [1 << power for power in range(9, 17)]
Words = np.ndarray
"""Arrays of 32-bit words, whose sums and products wrap around."""


def log_damage(catalog: Path) -> str | None:
    """Describe damage in the log beside a catalog; None if there is none. Writes nothing.

    Others may write to the log meanwhile, so an invalid frame is checked again.
    """
    log, before = Path(f"{catalog}-wal"), None
    for _ in range(TRIES):
        try:
            damage = _damage(log, catalog)
        except OSError as error:
            if error.errno in _NOWHERE:
                return None
            return f"{log}: the log cannot be read: {error.strerror}"
        if damage is None or damage == before:
            return damage
        before = damage
    return None


@dataclass(frozen=True)
class LogHeader:
    """The header of a log. `order` is the byte order of the summed words; the first frame continues
    `checksum`."""

    page_size: int
    order: str
    salts: tuple[int, int]
    checksum: tuple[int, int]


def _damage(log: Path, catalog: Path) -> str | None:
    with log.open("rb") as file:
        content = file.read(HEADER_BYTES)
        header = _header(content) if len(content) == HEADER_BYTES else None
        if header is not None:
            bad, lost = _lost_commits(file, header)
            what = f"frame {bad + 1} is damaged, so SQLite ends the log there"
        else:
            frames = file.read()
            guesses = _guesses(frames, catalog)
            lost = max((_lost_commits(BytesIO(frames), guess)[1] for guess in guesses), default=0)
            what = "its header is damaged, so SQLite ignores all of it"
    return None if lost < PROOF else f"{log}: {what}; at least {lost} commits after it are lost"


def _header(content: bytes) -> LogHeader | None:
    """Parse a header; None if it is damaged."""
    words = np.frombuffer(content, ">u4")
    page_size = int(words[2])
    if int(words[0]) & ~1 != MAGIC or page_size not in _PAGE_SIZES:
        return None
    order = ">" if int(words[0]) & 1 else "<"
    summed = np.frombuffer(content[:24], f"{order}u4").reshape(1, -1).astype(np.uint32)
    salts = (int(words[6]), int(words[7]))
    if tuple(_sums(summed)[0].tolist()) != salts:
        return None
    return LogHeader(page_size, order, (int(words[4]), int(words[5])), salts)


def _guesses(frames: bytes, catalog: Path) -> Iterator[LogHeader]:
    """Guess what a damaged header may have said, from the catalog and the first frames."""
    try:
        with catalog.open("rb") as file:
            page_size = int.from_bytes(file.read(18)[16:18], "big")
    except FileNotFoundError:
        return
    page_size = 65_536 if page_size == 1 else page_size
    if page_size not in _PAGE_SIZES:
        return
    firsts = [frames[at + 8 : at + 16] for at in range(0, len(frames), FRAME_HEADER_BYTES + page_size)]
    for salts in dict.fromkeys(salts for salts in firsts[:GUESSED_FRAMES] if len(salts) == 8 and any(salts)):
        first, second = np.frombuffer(salts, ">u4").tolist()
        for order in "<>":
            yield LogHeader(page_size, order, (first, second), (0, 0))


def _lost_commits(log: BinaryIO, header: LogHeader) -> tuple[int, int]:
    """The number of the first invalid frame from the current position, and the largest number of consecutive
    commits after it; (-1, 0) if all are valid."""
    frame_bytes = FRAME_HEADER_BYTES + header.page_size
    before, number, bad, run, most = header.checksum, 0, -1, 0, 0
    while len(block := log.read(BLOCK_FRAMES * frame_bytes)) >= frame_bytes:
        count = len(block) // frame_bytes
        frames = np.frombuffer(block[: count * frame_bytes], np.uint8).reshape(count, frame_bytes)
        follows, commits, before = _frames(frames, header, before)
        for follows_on, commit in zip(follows.tolist(), commits.tolist(), strict=True):
            if bad >= 0:
                run = run + commit if follows_on else 0
                most = max(most, run)
            elif not follows_on:
                bad = number
            number += 1
    return bad, most


def _frames(
    frames: np.ndarray, header: LogHeader, before: tuple[int, int]
) -> tuple[np.ndarray, np.ndarray, tuple[int, int]]:
    """For each frame, whether it follows from the one before, and whether it ends a commit; and the last
    checksum."""
    headers = np.ascontiguousarray(frames[:, :FRAME_HEADER_BYTES]).view(">u4").astype(np.uint32)
    summed = np.concatenate([frames[:, :8], frames[:, FRAME_HEADER_BYTES:]], axis=1)
    words = summed.view(f"{header.order}u4").astype(np.uint32)
    checksums = headers[:, 4:6]
    earlier = np.concatenate([np.array([before], np.uint32), checksums[:-1]])
    own = (headers[:, 2] == header.salts[0]) & (headers[:, 3] == header.salts[1]) & (headers[:, 0] != 0)
    follows = own & (_sums(words, earlier) == checksums).all(axis=1)
    last = checksums[-1].tolist()
    return follows, headers[:, 1] != 0, (last[0], last[1])


def _sums(words: Words, earlier: Words | None = None) -> Words:
    """SQLite's checksum of each row, continuing `earlier`: both sums, computed from the weight of every
    word."""
    first, second, start = _weights(words.shape[1] // 2)
    sums = words @ np.stack([first, second], axis=1)
    if earlier is not None:
        sums = sums + earlier @ start.T
    sum_words: Words = sums.astype(np.uint32)
    return sum_words


@lru_cache(4)
def _weights(pairs: int) -> tuple[Words, Words, Words]:
    """The weights of each word in the first and second sum, and those of the previous sums.

    For a pair of words x, y the sums s, t become s + t + x and s + 2t + x + y.
    """
    step = np.array([[1, 1], [1, 2]], np.uint32)
    weight = np.array([[1, 0], [1, 1]], np.uint32)
    weights = np.empty((pairs, 2, 2), np.uint32)
    power = np.eye(2, dtype=np.uint32)
    for at in range(pairs - 1, -1, -1):
        weights[at] = power @ weight
        power = power @ step
    return weights[:, 0, :].reshape(-1), weights[:, 1, :].reshape(-1), power
