"""Data files, written by a thread of their own while the next rows are still being made."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from types import TracebackType

import pyarrow as pa

from lamella.core.errors import BadData
from lamella.core.scan.snapshot import Column
from lamella.core.schema import ID
from lamella.core.store.data_file import DataFile, WrittenFile, id_at, may_hold_null
from lamella.core.store.evolution import stored_as
from lamella.core.store.layout import Staging

ROWS_A_GROUP = 100_000
CELLS_A_GROUP = 2_000_000
ROWS_A_FILE = 1_000_000
CELLS_AHEAD = 4_000_000
TRIES_WITHOUT_NULLS = 3

Columns = tuple[Column, ...]


@dataclass(frozen=True)
class FileShape:
    """How large row groups and files become. Columns whose keys are `nullable` are written so from the start,
    and the others may turn out to be as well."""

    rows_a_group: int
    rows_a_file: int
    nullable: frozenset[int] = frozenset()


def write_files(
    tables: Iterable[pa.Table],
    columns: Sequence[Column],
    staging: Staging,
    end_at_gaps: bool = False,
    suffix: str = ".parquet",
    shape: FileShape | None = None,
) -> list[WrittenFile]:
    """Write rows in `_id` order as data files; `columns` names the tables' columns and gives their ids.

    `end_at_gaps` where others may have been given the ids in between: no file then spans them.
    Raises `StoreProblem` when the disk takes no more; nothing is published then.
    """
    with Encoder(FileSeries(staging, end_at_gaps, suffix, shape)) as encoder:
        for table in tables:
            encoder.add(tuple(columns), table.num_rows, partial(_as_made, table))
        return encoder.finish()


def _as_made(table: pa.Table) -> pa.Table:
    return table


def rows_a_group(columns: int) -> int:
    """Wide rows make short row groups: each is decoded whole for one row, and held in memory."""
    return max(1_000, min(ROWS_A_GROUP, CELLS_A_GROUP // max(1, columns)))


class Encoder:
    """Hands rows to a thread that encodes them. Use as a context manager; `finish` once all are added."""

    def __init__(self, files: FileSeries) -> None:
        self._files = files
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="encode")
        self._running: deque[tuple[Future[None], int]] = deque()

    def __enter__(self) -> Encoder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._thread.shutdown(wait=True, cancel_futures=True)
        self._files.abandon()

    def add(self, columns: Columns, rows: int, make: Callable[[], pa.Table]) -> None:
        """Encode the rows that `make` answers, columns named and typed as `columns`; the thread calls it.

        Waits while too much is on its way. Raises what went wrong with rows added before.
        """
        while sum(cells for _, cells in self._running) > CELLS_AHEAD:
            self._running.popleft()[0].result()
        self._running.append((self._thread.submit(self._take, columns, make), rows * len(columns)))

    def finish(self) -> list[WrittenFile]:
        while self._running:
            self._running.popleft()[0].result()
        return self._files.finish()

    def _take(self, columns: Columns, make: Callable[[], pa.Table]) -> None:
        self._files.add(columns, make())


class FileSeries:
    """One data file after the other. A file ends when it is full, at a gap between ids, where columns
    change, and at the first null of a column that had none."""

    def __init__(
        self,
        staging: Staging,
        end_at_gaps: bool = False,
        suffix: str = ".parquet",
        shape: FileShape | None = None,
    ) -> None:
        self._staging, self._end_at_gaps, self._suffix = staging, end_at_gaps, suffix
        self._shape = shape
        self._held: list[pa.Table] = []
        self._columns: Columns = ()
        self._file: DataFile | None = None
        self._written: list[WrittenFile] = []
        self._surprises = 0

    def add(self, columns: Columns, rows: pa.Table) -> None:
        if not rows.num_rows:
            return
        if columns != self._columns:
            self._change_columns(columns)
        if self._held and not self._follows(rows, self._held[-1]):
            self._write_held()
        self._held.append(rows)
        size = self._shape.rows_a_group if self._shape else rows_a_group(len(columns))
        while sum(map(len, self._held)) >= size:
            whole = pa.concat_tables(self._held)
            self._write(whole.slice(0, size))
            self._held = [rest] if len(rest := whole.slice(size)) else []

    def finish(self) -> list[WrittenFile]:
        """What was written; the series is over then."""
        self._write_held()
        self._end_file()
        return self._written

    def abandon(self) -> None:
        if self._file is not None:
            self._file.abandon()

    def _change_columns(self, columns: Columns) -> None:
        """Rows that wait for their row group go along where they can, so that rare columns make few files."""
        try:
            self._held = [stored_as(rows, columns) for rows in self._held]
        except BadData:
            self._write_held()
        self._columns = columns

    def _write_held(self) -> None:
        if self._held:
            whole, self._held = pa.concat_tables(self._held), []
            self._write(whole)

    def _write(self, group: pa.Table) -> None:
        if self._file is not None and not self._goes_on(self._file, group):
            self._end_file()
        if self._file is None:
            path = self._staging.new_file(self._suffix)
            self._file = DataFile(path, self._columns, self._without_nulls(group), group)
        self._file.add(group)

    def _goes_on(self, file: DataFile, group: pa.Table) -> bool:
        most = self._shape.rows_a_file if self._shape else ROWS_A_FILE
        if file.columns != self._columns or file.rows + group.num_rows > most:
            return False
        if self._end_at_gaps and id_at(group, 0) != file.last_id + 1:
            return False
        surprised = not file.takes(group)
        self._surprises += surprised
        return not surprised

    def _without_nulls(self, group: pa.Table) -> list[Column]:
        """Columns written as required. Where nulls turned up late too often, no more bets are made."""
        nullable = self._shape.nullable if self._shape else frozenset()
        if self._surprises >= TRIES_WITHOUT_NULLS:
            nullable = frozenset(c.key for c in self._columns if c.name != ID)
        columns = zip(self._columns, group.columns, strict=True)
        return [c for c, values in columns if c.key not in nullable and not may_hold_null(values)]

    def _end_file(self) -> None:
        if self._file is not None:
            file, self._file = self._file, None
            self._written.append(file.close())

    def _follows(self, rows: pa.Table, before: pa.Table) -> bool:
        return not self._end_at_gaps or id_at(rows, 0) == id_at(before, before.num_rows - 1) + 1
