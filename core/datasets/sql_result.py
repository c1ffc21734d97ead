"""The answer of a statement as a dataset: its rows are in memory or, if there are many, in temporary
files."""

from __future__ import annotations

import shutil
import tempfile
import threading
import weakref
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path

import pyarrow as pa

from lamella.core.datasets.base import Dataset
from lamella.core.datasets.cache import part_names, part_of, write_part
from lamella.core.datasets.locate import fingerprint_of
from lamella.core.errors import BadSql, Cancelled
from lamella.core.jobs import Job
from lamella.core.phrases import quantity
from lamella.core.query.source import Source, VersionOrTime
from lamella.core.query.sql.rows_read import RowsRead
from lamella.core.query.sql.run import SqlRequest, TableRead, stream_sql
from lamella.core.query.sql.sources import Sources
from lamella.core.scan.snapshot import Column, MemorySegment, Segment, Snapshot

IN_MEMORY = 128 << 20
"""An answer of up to this many bytes stays in memory; a larger one is written to files entirely."""
PART_BYTES = 64 << 20
MOST_RENAMES = 3
"""The number of renamed columns that are named; the others are counted."""
_WAIT_SECONDS = 0.05
_numbers = count()


class SqlResult(Dataset):
    """The answer of a statement, which grows while its first rows are shown: `snapshot().complete` is False
    until all rows have arrived. Its files are removed with the last snapshot that uses them."""

    def __init__(
        self, name: str, schema: pa.Schema, reads: tuple[TableRead, ...] = (), figures: Sequence[int] = ()
    ) -> None:
        """`figures` are the indexes of the columns that the statement computes, for instance as an average.
        `rows_read` is set when the result is complete, and `source_files` are the files opened in place that
        the statement reads."""
        self.name, self.reads = name, reads
        self.rows_read: RowsRead | None = None
        self.source_files: tuple[Path, ...] = ()
        names = _unique_names(schema.names)
        self.figures = frozenset(names[place] for place in figures)
        self._columns = tuple(
            Column(name, field.type, key) for key, (name, field) in enumerate(zip(names, schema, strict=True))
        )
        self._renames = [(a, b) for a, b in zip(schema.names, names, strict=True) if a != b]
        self._number = next(_numbers)
        self._lock = threading.Condition()
        self._segments: list[Segment] = []
        self._waiting: list[pa.RecordBatch] = []
        self._waiting_bytes = 0
        self._folder: _Folder | None = None
        self._complete, self._ended_early = False, ""
        self._is_closed = False

    @property
    def remarks(self) -> tuple[str, ...]:
        renamed = []
        if len(self._renames) == 1:
            ((name, other),) = self._renames
            renamed = [f"Another column is already called '{name}': this one is shown as '{other}'"]
        elif self._renames:
            others = [f"'{other}'" for _name, other in self._renames]
            more = len(others) - MOST_RENAMES
            listed = [*others[:MOST_RENAMES], f"{more:,} more"] if more > 0 else others
            listing = f"{', '.join(listed[:-1])} and {listed[-1]}"
            renamed = [f"Columns whose names are already taken are shown as {listing}"]
        return (*renamed, *([self._ended_early] if self._ended_early else []))

    @property
    def is_cut(self) -> bool:
        """Whether the result ended before all rows arrived."""
        return bool(self._ended_early)

    def snapshot(self) -> Snapshot:
        with self._lock:
            segments = (*self._segments, *([MemorySegment.of(self._rows())] if self._waiting else []))
            rows = sum(segment.num_rows for segment in segments)
            token = ("sql result", self._number, rows, self._complete)
            return Snapshot(
                self.name, self._columns, segments, token, complete=self._complete, keeps=self._folder
            )

    def fill(self, job: Job) -> None:
        """Wait until all rows have arrived from the thread that runs the statement."""
        with self._lock:
            while not self._complete:
                self._lock.wait(_WAIT_SECONDS)
                job.report(self._num_rows, None, quantity(self._num_rows, "row"))

    def close(self) -> None:
        """Accept no more rows, as the result is no longer shown."""
        with self._lock:
            self._is_closed = True

    def add(self, batch: pa.RecordBatch) -> None:
        """Append rows. Raises `Cancelled` if the result is closed, and `FileProblem` if the disk is full."""
        with self._lock:
            if self._is_closed:
                raise Cancelled
            self._waiting.append(batch)
            self._waiting_bytes += batch.nbytes
            limit = IN_MEMORY if self._folder is None else PART_BYTES
            rows = self._rows() if self._waiting_bytes > limit else None
        if rows is not None:
            self._store(rows)

    def finish(self, ended_early: str = "") -> None:
        """Mark the result as complete; `ended_early` says why rows are missing, if any are."""
        with self._lock:
            self._complete, self._ended_early = True, ended_early
            self._lock.notify_all()

    @property
    def _num_rows(self) -> int:
        waiting: int = sum(batch.num_rows for batch in self._waiting)
        return waiting + sum(segment.num_rows for segment in self._segments)

    def _rows(self) -> pa.Table:
        schema = pa.schema([pa.field(str(column.key), column.type) for column in self._columns])
        return pa.Table.from_batches(
            [pa.RecordBatch.from_arrays(b.columns, schema=schema) for b in self._waiting]
        )

    def _store(self, rows: pa.Table) -> None:
        folder = self._folder or _Folder()
        path = folder.path / f"part-{len(self._segments):06d}.parquet"
        batch = rows.rename_columns([column.name for column in self._columns])
        try:
            checksum = write_part(path, batch)
        except pa.ArrowNotImplementedError as error:
            raise BadSql(
                "an answer of this size cannot be shown",
                f"It has to be written to temporary files, which do not support one of its types: {error}",
                "Cast that column, for instance to text, or ask for fewer rows",
            ) from error
        part = part_of(path, rows.num_rows, part_names(batch.schema), fingerprint_of(path), checksum)
        with self._lock:
            self._folder = folder
            self._segments.append(part)
            self._waiting, self._waiting_bytes = [], 0
            self._lock.notify_all()


class _Folder:
    """A temporary folder that is removed with the last reference to it."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="lamella-result-"))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


def _unique_names(names: Sequence[str]) -> list[str]:
    """The names, with numbers added to repeated ones and a replacement for empty ones."""
    used, unique, times = set(names), list[str](), Counter[str]()
    for place, name in enumerate(names):
        new = name or f"column_{place + 1}"
        number = times[new] + 1
        while number > 1 and (new if number == 1 else f"{new}_{number}") in used:
            number += 1
        times[new] = number
        new = new if number == 1 else f"{new}_{number}"
        used.add(new)
        unique.append(new)
    return unique


def run_to_result(
    text: str,
    sources: Sources,
    request: SqlRequest | None = None,
    job: Job | None = None,
    *,
    name: str = "result",
    started: Callable[[SqlResult], None] = lambda _: None,
) -> SqlResult:
    """Return the answer of one SELECT. `started` is called with it, on this thread, when its first rows
    arrive.

    If the job is cancelled after that, the result ends with the rows that have arrived; before that,
    `Cancelled` is raised. Any other error of `run_sql` is raised, too; a result that `started` has received
    keeps its rows.
    """
    own_job = job or Job()
    result: SqlResult | None = None
    files: list[Path] = []

    def find(table: str, when: VersionOrTime | None) -> Source:
        source = sources.find(table, when)
        files.extend(getattr(source, "paths", ()))
        return source

    try:
        with stream_sql(text, replace(sources, find=find), request or SqlRequest(), own_job) as stream:
            sql_result = SqlResult(name, stream.schema, stream.reads, stream.figures)
            sql_result.source_files = tuple(files)
            for batch in stream.batches:
                sql_result.add(batch)
                if result is None:
                    result = sql_result
                    started(sql_result)
                own_job.report(sql_result.num_rows, None, quantity(sql_result.num_rows, "row"))
            sql_result.rows_read = stream.rows_read()
            sql_result.finish()
            return sql_result
    except Cancelled:
        if result is None:
            raise
        result.finish(f"Stopped after {quantity(result.num_rows, 'row')}: there may be more")
        return result
    except Exception:
        if result is not None:
            result.finish(f"The statement failed after {quantity(result.num_rows, 'row')}: there may be more")
        raise
