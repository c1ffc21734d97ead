"""Rows made up on the spot, at the seam where the grid expects a view."""

from __future__ import annotations

import threading
import time

import pyarrow as pa


class FakeRows:
    """`columns` columns c0, c1, …; cell (r, c) of a number column is r · 10 + c. Text and nulls as told."""

    def __init__(self, num_rows: int, columns: int = 5, seconds: float = 0.0) -> None:
        self.num_rows = num_rows
        self.schema = pa.schema([pa.field(f"c{c}", _type(c)) for c in range(columns)])
        self.seconds = seconds
        self.asked: list[tuple[int, int, tuple[str, ...]]] = []
        self.threads: set[int] = set()
        self.gate: threading.Event | None = None

    def page(self, offset: int, count: int, columns: list[str] | None = None) -> pa.Table:
        names = self.schema.names if columns is None else columns
        self.asked.append((offset, count, tuple(names)))
        self.threads.add(threading.get_ident())
        if self.gate is not None:
            self.gate.wait(60)
        time.sleep(self.seconds)
        rows = range(offset, min(offset + count, self.num_rows))
        return pa.table({name: _values(int(name[1:]), rows) for name in names})


def _type(column: int) -> pa.DataType:
    return pa.string() if column % 5 == 1 else pa.int64()


def _values(column: int, rows: range) -> pa.Array:
    if column % 5 == 1:
        return pa.array([(None, "", f"text {r}")[r % 3] for r in rows], pa.string())
    return pa.array([r * 10 + column for r in rows], pa.int64())


class TableRows:
    """The rows of a table in memory."""

    def __init__(self, table: pa.Table) -> None:
        self.table, self.num_rows, self.schema = table, table.num_rows, table.schema

    def page(self, offset: int, count: int, columns: list[str] | None = None) -> pa.Table:
        rows = self.table.slice(offset, count)
        return rows if columns is None else rows.select(columns)
