"""Local copies of a server's answers, for paging. A cluster has no cheap access to the thousandth row, so its
answer is fetched once, up to a limit."""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
import weakref
from collections.abc import Iterable
from contextlib import suppress
from itertools import count
from pathlib import Path

import psutil
import pyarrow as pa
import pyarrow.parquet as pq

from lamella.core.errors import NoRoom
from lamella.core.jobs import Job
from lamella.core.phrases import quantity
from lamella.core.scan.snapshot import Column, FileSegment, Snapshot, snapshot_of_rows

FOLDER = "lamella-spark-"
"""The prefix of a process's folder in the temporary folder; the process id and a random text follow, so that
no other user can have made it."""
IN_MEMORY_BYTES = 32 << 20
"""Smaller answers are not written to disk."""
GROUP_ROWS = 1 << 17
"""The number of rows in a row group of the file, if they take less than `IN_MEMORY_BYTES`."""
DEFAULT_ROWS = 1_000_000

_numbers = count()
_lock = threading.Lock()
_most_rows = DEFAULT_ROWS
_folders: dict[tuple[str, int], Path] = {}
"""The folders of processes, by the temporary folder and the process id."""


def limit_rows(rows: int) -> None:
    """Set the maximum number of rows that are fetched of an answer, from the next one on."""
    global _most_rows  # noqa: PLW0603 -- a setting of the process
    _most_rows = rows


def most_rows() -> int:
    return _most_rows


def spill(
    pieces: Iterable[pa.Table], schema: pa.Schema, name: str, most: int, job: Job
) -> tuple[Snapshot, bool]:
    """Store the first `most` rows of an answer; return them, and whether there are more. No further piece is
    requested. Raises `NoRoom` if the disk is full."""
    tables, size, rows, more = list[pa.Table](), 0, 0, False
    file: _File | None = None
    try:
        for piece in pieces:
            more = rows + piece.num_rows > most
            part = piece.slice(0, most - rows)
            rows += part.num_rows
            job.report(rows, None, f"Received {quantity(rows, 'row')}")
            if file is None:
                tables.append(part)
                size += part.nbytes
                if size > IN_MEMORY_BYTES:
                    file = _File(schema)
                    file.write(pa.concat_tables(tables))
                    tables.clear()
            else:
                file.write(part)
            if more:
                break
        if file is not None:
            return file.snapshot(name, rows), more
    except BaseException:
        if file is not None:
            file.discard()
        raise
    table = pa.concat_tables(tables) if tables else schema.empty_table()
    return snapshot_of_rows(table, name), more


class _File:
    """A Parquet file that is deleted with its last reader."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema
        stored = pa.schema([field.with_name(str(key)) for key, field in enumerate(schema)])
        self._stored_schema = stored
        self._group: list[pa.Table] = []
        try:
            self.path = _folder() / f"{next(_numbers)}.parquet"
            self._writer = pq.ParquetWriter(self.path, stored, compression="lz4")
        except OSError as error:
            raise _no_room(error) from error

    def write(self, rows: pa.Table) -> None:
        """Write rows. Servers send thousands of rows at a time, of which a row group combines many."""
        self._group.append(rows)
        is_large = sum(table.nbytes for table in self._group) >= IN_MEMORY_BYTES
        if is_large or sum(table.num_rows for table in self._group) >= GROUP_ROWS:
            self._write_group()

    def _write_group(self) -> None:
        rows = pa.concat_tables(self._group).rename_columns(self._stored_schema.names)
        self._group.clear()
        try:
            self._writer.write_table(rows)
        except OSError as error:
            raise _no_room(error) from error

    def discard(self) -> None:
        with suppress(OSError):  # on a full disk there is no space for the footer either
            self._writer.close()
        self.path.unlink(missing_ok=True)

    def snapshot(self, name: str, rows: int) -> Snapshot:
        if self._group:
            self._write_group()
        try:
            self._writer.close()
        except OSError as error:
            raise _no_room(error) from error
        columns = tuple(Column(field.name, field.type, key) for key, field in enumerate(self._schema))
        stat = self.path.stat()
        segment = FileSegment(
            self.path,
            rows,
            {column.key: str(column.key) for column in columns},
            (stat.st_size, stat.st_mtime_ns),
        )
        keeps = _Keeps()
        weakref.finalize(keeps, self.path.unlink, missing_ok=True)
        return Snapshot(name, columns, (segment,), ("spill", str(self.path), stat.st_mtime_ns), keeps=keeps)


class _Keeps:
    """Lives as long as the snapshots of a file."""


def _no_room(error: OSError) -> NoRoom:
    return NoRoom(
        "there is no disk space for the rows of a Spark server",
        error.strerror or str(error),
        f"Free space in {tempfile.gettempdir()}, or fetch fewer rows: the setting spark_rows",
    )


def _folder() -> Path:
    """The folder of this process. Folders of processes that have ended are removed."""
    place = tempfile.gettempdir(), os.getpid()
    with _lock:
        folder = _folders.get(place)
        if folder is None or not folder.is_dir():
            remove_leftovers()
            folder = _folders[place] = Path(tempfile.mkdtemp(prefix=f"{FOLDER}{os.getpid()}-"))
            weakref.finalize(_Keeps, shutil.rmtree, folder, ignore_errors=True)
    return folder


def remove_leftovers() -> None:
    """Remove the files of processes that ended without removing them."""
    for folder in Path(tempfile.gettempdir()).glob(f"{FOLDER}*"):
        number = folder.name.removeprefix(FOLDER).partition("-")[0]
        if number.isdecimal() and int(number) != os.getpid() and not psutil.pid_exists(int(number)):
            shutil.rmtree(folder, ignore_errors=True)
