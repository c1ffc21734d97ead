"""Rows on their way in: few go into the catalog, more are written as data files while they come."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain

import numpy as np
import pyarrow as pa

from core.arrays import from_numpy
from core.errors import BadData
from core.jobs import Job
from core.scan.snapshot import Column
from core.schema import ID
from core.store.commit import Change
from core.store.evolution import ColumnPlan, stored_as
from core.store.ids import ID_COLUMN
from core.store.layout import Staging
from core.store.writer import ROWS_A_GROUP, write_files

FEW_ROWS = 1_000
TakeIds = Callable[[int], int]
Columns = tuple[Column, ...]


def few_or_many(schema: pa.Schema, tables: Iterator[pa.Table]) -> tuple[pa.Table | None, Iterator[pa.Table]]:
    """All the rows as one table if they are few, else None; and an iterator over all of them."""
    head: list[pa.Table] = []
    while sum(t.num_rows for t in head) <= FEW_ROWS and (table := next(tables, None)) is not None:
        head.append(table)
    if sum(t.num_rows for t in head) > FEW_ROWS:
        return None, chain(head, tables)
    return pa.concat_tables([pa.Table.from_batches([], schema), *head]), iter(head)


def few_change(plan: ColumnPlan, columns: Columns, rows: pa.Table, message: str) -> Change:
    """A change that keeps the rows in the catalog; `columns` are the table's afterwards."""
    stored = stored_as(rows, plan.columns)
    values = {c.key: stored.column(i).combine_chunks() for i, c in enumerate(plan.columns)}
    count = rows.num_rows
    return Change(message, columns, rows=(values, count), inserted=count)


def many_change(
    plan: ColumnPlan,
    columns: Columns,
    tables: Iterable[pa.Table],
    take_ids: TakeIds,
    staging: Staging,
    message: str,
    job: Job,
) -> Change:
    """A change whose rows are staged as data files, encoded while the next ones come in."""
    rows = _with_ids(tables, plan, take_ids, job)
    files = tuple(write_files(rows, (ID_COLUMN, *plan.columns), staging, end_at_gaps=True))
    count = sum(f.rows for f in files)
    return Change(message, columns, files=files, inserted=count)


def refuse_ids(table: str, schema: pa.Schema) -> None:
    if ID in schema.names:
        raise BadData(
            f"{table}: the rows bring their own {ID}", "ids are given by the table", "Rename that column"
        )


def _with_ids(
    tables: Iterable[pa.Table], plan: ColumnPlan, take_ids: TakeIds, job: Job
) -> Iterator[pa.Table]:
    """Ids are taken in blocks, so that an insert of a million rows asks the catalog ten times."""
    done, left, first = 0, 0, 0
    for table in tables:
        job.report(done, text=f"{done:,} rows written")
        stored, start = stored_as(table, plan.columns), 0
        while start < stored.num_rows:
            if not left:
                first, left = take_ids(ROWS_A_GROUP), ROWS_A_GROUP
            count = min(left, stored.num_rows - start)
            ids = from_numpy(np.arange(first, first + count, dtype=np.int64))
            yield stored.slice(start, count).add_column(0, pa.field(ID, pa.int64()), ids)
            first, left, start, done = first + count, left - count, start + count, done + count
