"""Which rows a query answers with, and in what order: as positions in the snapshot."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial

import duckdb
import numpy as np
from sqlglot import exp

from lamella.core.arrays import to_numpy
from lamella.core.filters.binding import bind
from lamella.core.filters.expr import Filter
from lamella.core.filters.to_sql import to_sql
from lamella.core.filters.walk import columns_read
from lamella.core.jobs import Job
from lamella.core.query.engine import cursor
from lamella.core.query.found import Found, Reads, files_of, row_groups_of
from lamella.core.query.indexed import find_by_index
from lamella.core.query.mapped import room_for
from lamella.core.query.number_sort import is_sorted_here, number_order
from lamella.core.query.query import SortKey
from lamella.core.query.source import POSITION, identifier, relation
from lamella.core.query.streamed import streamed
from lamella.core.scan.paths import chosen
from lamella.core.scan.snapshot import Column, Snapshot

ROWS_A_BATCH = 1 << 20


def count(snapshot: Snapshot, where: Filter | None = None, job: Job | None = None) -> int:
    """How many live rows meet `where`."""
    if where is None:
        return snapshot.num_rows
    job = job or Job()
    with cursor(job, snapshot.name) as own:
        found = _select(snapshot, own, [exp.Count(this=exp.Star())], where, (), job)
        job.check()
        return int(own.sql(found.sql("duckdb")).fetchall()[0][0])


def find(
    snapshot: Snapshot,
    where: Filter | None = None,
    sort: Sequence[SortKey] = (),
    job: Job | None = None,
    limit: int | None = None,
) -> Found:
    """The rows that meet `where`: ascending, or in the order of `sort` (ties ascending).

    `limit` asks for the first ones of a sort alone.
    """
    job = job or Job()
    served = find_by_index(snapshot, where, sort, limit)
    if served is not None:
        return served
    with cursor(job, snapshot.name) as own:
        own.execute("SET enable_profiling = 'no_output'")
        if is_sorted_here(snapshot, sort, limit):
            positions = _sorted_here(snapshot, own, where, sort[0], job)
        else:
            query = _select(snapshot, own, [exp.column(POSITION, quoted=True)], where, sort, job)
            if sort and limit is not None:
                query = query.limit(min(limit, snapshot.num_rows))
            positions = _collect(own.sql(query.sql("duckdb")), snapshot.num_rows, job)
        profile = json.loads(own.get_profiling_information(format="json"))["query"]
    if not sort and len(positions) > 1 and not bool(np.all(positions[1:] > positions[:-1])):
        positions.sort()
    return Found(positions, partial(_reads, snapshot, int(profile["total_row_groups_scanned"])))


def _reads(snapshot: Snapshot, row_groups: int) -> Reads:
    return Reads(row_groups, row_groups_of(snapshot), None if row_groups else 0, len(files_of(snapshot)))


def _sorted_here(
    snapshot: Snapshot, own: duckdb.DuckDBPyConnection, where: Filter | None, key: SortKey, job: Job
) -> np.ndarray:
    (column,) = chosen(snapshot, [key.column])
    values = [exp.column(POSITION, quoted=True), exp.column(identifier(column), quoted=True)]
    query = _select(snapshot, own, values, where, (), job, also=[key.column])
    reader = own.sql(query.sql("duckdb")).to_arrow_reader(ROWS_A_BATCH)
    return number_order(streamed(reader, job), snapshot.num_rows, key.descending, job)


def _select(
    snapshot: Snapshot,
    own: duckdb.DuckDBPyConnection,
    values: Sequence[exp.Expr],
    where: Filter | None,
    sort: Sequence[SortKey],
    job: Job,
    also: Sequence[str] = (),
) -> exp.Select:
    """`also` names columns of which the `values` are made."""
    bound = bind(where, snapshot.schema, snapshot.name) if where is not None else None
    filtered = columns_read(bound) if bound is not None else []
    used = dict.fromkeys([*filtered, *(key.column for key in sort), *also])
    columns = chosen(snapshot, used)
    query = exp.select(*values).from_(relation(snapshot, columns, own, job=job))
    if bound is not None:
        query = query.where(to_sql(bound, {c.name: identifier(c) for c in columns}))
    return query.order_by(*_order(sort, columns)) if sort else query


def _order(sort: Sequence[SortKey], columns: Sequence[Column]) -> list[exp.Expr]:
    named = {c.name: c for c in columns}
    keys: list[exp.Expr] = [
        exp.Ordered(
            this=exp.column(identifier(named[key.column]), quoted=True),
            desc=key.descending,
            nulls_first=False,
        )
        for key in sort
    ]
    return [*keys, exp.column(POSITION, quoted=True)]


def _collect(found: duckdb.DuckDBPyRelation, at_most: int, job: Job) -> np.ndarray:
    answer, filled = np.empty(0, np.int64), 0
    job.check()
    for batch in streamed(found.to_arrow_reader(ROWS_A_BATCH), job):
        if filled + batch.num_rows > len(answer):
            answer = _grown(answer, filled, filled + batch.num_rows, at_most)
        answer[filled : filled + batch.num_rows] = to_numpy(batch.column(0))
        filled += batch.num_rows
        job.check()
    return answer[:filled]


def _grown(answer: np.ndarray, filled: int, needed: int, at_most: int) -> np.ndarray:
    size = min(max(needed, 4 * len(answer)), max(at_most, needed))
    larger = room_for(size)
    larger[:filled] = answer[:filled]
    return larger
