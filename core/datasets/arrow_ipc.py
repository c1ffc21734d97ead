"""Arrow files and streams: uncompressed files are mapped into memory, all others are read through the
cache."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from lamella.core.datasets.base import Dataset, OpenOptions
from lamella.core.datasets.blocks import ArrowColumns, ArrowFile
from lamella.core.datasets.cached_dataset import open_blocks
from lamella.core.datasets.locate import Location, Stamp, cannot_read, refuse_changed_files, stamp_of
from lamella.core.errors import FileProblem
from lamella.core.jobs import Job
from lamella.core.scan.snapshot import Column, MemorySegment, Segment, Snapshot

ROWS_A_SEGMENT = 1 << 16
"""Shorter batches are joined into one segment: each segment slows down finding rows."""


def open_arrow_file(location: Location, options: OpenOptions) -> Dataset:
    """Open an Arrow file; map it into memory if its batches are not compressed. Raises `FileProblem`."""
    path = location.files[0]
    stamp = stamp_of(path)
    with _as_file_problem(path):
        source = pa.memory_map(os.fspath(path))
        reader = pa.ipc.open_file(source)
        columns = ArrowColumns(reader.schema)
        _refuse_without_columns(path, columns)
        if _is_mapped(reader, source):
            return MappedDataset(location.name, path, stamp, columns, reader)

    def batches(job: Job) -> Generator[tuple[pa.RecordBatch, int], None, None]:
        refuse_changed_files([stamp])
        with _as_file_problem(path), pa.OSFile(os.fspath(path)) as file:
            opened = pa.ipc.open_file(file)
            for number in range(opened.num_record_batches):
                yield opened.get_batch(number), file.tell()

    file = ArrowFile(path, "Arrow, compressed", stamp[1], (stamp,), (), columns, batches)
    return open_blocks(location.name, file, options)


def open_arrow_stream(location: Location, options: OpenOptions) -> Dataset:
    """Open an Arrow stream through the cache. Raises `FileProblem`."""
    path = location.files[0]
    stamp = stamp_of(path)
    with _as_file_problem(path), pa.OSFile(os.fspath(path)) as file:
        columns = ArrowColumns(pa.ipc.open_stream(file).schema)
    _refuse_without_columns(path, columns)

    def batches(job: Job) -> Generator[tuple[pa.RecordBatch, int], None, None]:
        refuse_changed_files([stamp])
        with _as_file_problem(path), pa.OSFile(os.fspath(path)) as file:
            for batch in pa.ipc.open_stream(file):
                yield batch, file.tell()

    file = ArrowFile(path, "Arrow stream", stamp[1], (stamp,), (), columns, batches)
    return open_blocks(location.name, file, options)


def _is_mapped(reader: pa.RecordBatchFileReader, source: pa.MemoryMappedFile) -> bool:
    """Whether decoded batches point into the mapped file, as uncompressed ones do; the first with rows
    tells."""
    source.seek(0)
    begin = source.read_buffer(1).address
    inside = range(begin, begin + source.size())
    for number in range(reader.num_record_batches):
        buffers = [b for column in reader.get_batch(number).columns for b in column.buffers() if b]
        inside_flags = [buffer.address in inside for buffer in buffers if buffer.size]
        if inside_flags:
            return all(inside_flags)
    return True


def _refuse_without_columns(path: Path, columns: ArrowColumns) -> None:
    if not len(columns.schema):
        why = ". ".join(columns.remarks) or "It has none"
        raise FileProblem(path, "holds no columns that can be shown", why, "Choose another file")


@contextmanager
def _as_file_problem(path: Path) -> Iterator[None]:
    try:
        yield
    except pa.ArrowInvalid as error:
        why, fix = str(error).partition("\n")[0], "Copy or download it again, or wait until it is written"
        raise FileProblem(path, "is an Arrow file that is damaged or was cut off", why, fix) from error
    except OSError as error:
        if error.errno is not None:
            raise cannot_read(path, error) from error
        why, fix = str(error).partition("\n")[0], "Copy or download it again, or wait until it is written"
        raise FileProblem(path, "is an Arrow file that is damaged or was cut off", why, fix) from error


@dataclass(frozen=True, eq=False)
class MappedRows(MemorySegment):
    """Rows mapped from a file. After a file is truncated, its old mapping must not be touched: the operating
    system would kill the program."""

    stamp: Stamp

    @property
    def rows(self) -> pa.Table:
        refuse_changed_files([self.stamp])
        rows: pa.Table | None = vars(self).get("_rows")
        if rows is None:
            rows = vars(self)["_rows"] = self.decode()
        return rows


class MappedDataset(Dataset):
    """The batches of a mapped Arrow file; only those in use are in memory."""

    format = "Arrow"

    def __init__(
        self, name: str, path: Path, stamp: Stamp, columns: ArrowColumns, reader: pa.RecordBatchFileReader
    ) -> None:
        self.name, self.paths = name, (path,)
        self._path, self._stamp, self._columns, self._reader = path, stamp, columns, reader
        visible = tuple(Column(field.name, field.type, key) for key, field in enumerate(columns.schema))
        self._snapshot = Snapshot(name, visible, tuple(self._segments()), ("arrow", *stamp))

    @property
    def remarks(self) -> tuple[str, ...]:
        return self._columns.remarks

    def snapshot(self) -> Snapshot:
        return self._snapshot

    def _segments(self) -> Iterator[Segment]:
        numbers: list[int] = []
        rows = 0
        for number in range(self._reader.num_record_batches):
            rows += self._reader.get_batch(number).num_rows
            numbers.append(number)
            if rows >= ROWS_A_SEGMENT:
                yield self._segment(rows, numbers)
                rows, numbers = 0, []
        if rows:
            yield self._segment(rows, numbers)

    def _segment(self, rows: int, numbers: Sequence[int]) -> Segment:
        def decode() -> pa.Table:
            with _as_file_problem(self._path):
                batches = [self._reader.get_batch(number) for number in numbers]
            table = self._columns.convert(pa.Table.from_batches(batches), self._path)
            return table.rename_columns([str(key) for key in range(table.num_columns)])

        return MappedRows(rows, decode, self._stamp)
