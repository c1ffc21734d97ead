"""Pages that follow each other without gaps or repeats while rows change: each starts after a given row."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import types as is_

from lamella.core.errors import BadData, short_text
from lamella.core.filters.condition import Condition, condition_of
from lamella.core.filters.expr import Filter
from lamella.core.jobs import Job
from lamella.core.libraries import exp
from lamella.core.query.duckdb_source import OWN_NAMES
from lamella.core.query.duckdb_types import from_duckdb
from lamella.core.query.engine import query_cursor
from lamella.core.query.fields import alias, cast, column, conjunction, number, paren, quote_identifier
from lamella.core.query.find import Method, RowSearch, find_rows, whole_order
from lamella.core.query.plan import Identifiers, Node, Order, QueryContext
from lamella.core.query.scan_query import sort_keys
from lamella.core.scan.read import cells_at, live_positions, read_rows, take_rows
from lamella.core.scan.row_ids import ID_COLUMN, IdentifiedRows
from lamella.core.scan.snapshot import Column, Snapshot, SortKey, column_named, project
from lamella.core.validation import count_of, names_of

_SORT = b"sort"


@dataclass(frozen=True)
class Cursor:
    """A row's `_id`, and the values by which it was sorted at the time: it may have changed or been deleted
    since."""

    row_id: int
    values: tuple[pa.Scalar, ...] = ()


def write_cursor(snapshot: Snapshot, position: int, id_column: Column, keys: Sequence[SortKey]) -> str:
    """Write the cursor of the row at a live position."""
    columns = (id_column, *project(snapshot, (key.column for key in keys)))
    rows = take_rows(snapshot, np.array([position]), columns)
    rows = rows.rename_columns([str(i) for i in range(len(columns))])
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema.with_metadata({_SORT: _order_text(keys)})) as stream:
        stream.write_table(rows)
    return base64.urlsafe_b64encode(sink.getvalue()).decode()


def parse_cursor(snapshot: Snapshot, cursor: str, keys: Sequence[SortKey]) -> Cursor:
    """Raises `BadData` for text that is not a cursor, and for the cursor of pages in another order."""
    try:
        with pa.ipc.open_stream(pa.py_buffer(base64.urlsafe_b64decode(cursor))) as stream:
            rows = stream.read_all()
        order = json.loads(rows.schema.metadata[_SORT])
        row_id, *values = [column[0] for column in rows.columns]
        kinds = [column_named(snapshot, key.column).type for key in keys]
    except (binascii.Error, ValueError, TypeError, KeyError, IndexError, OSError, pa.ArrowException) as error:
        raise BadData(
            f"{snapshot.name}: {short_text(cursor)} is not a cursor",
            fix="Pass the `next` of the previous page",
        ) from error
    if order != json.loads(_order_text(keys)):
        raise BadData(
            f"{snapshot.name}: the cursor belongs to pages in another order",
            fix="Use the same sort for all pages, or start again without a cursor",
        )
    try:
        return Cursor(row_id.as_py(), tuple(v.cast(k) for v, k in zip(values, kinds, strict=True)))
    except (pa.ArrowException, ValueError) as error:
        raise BadData(
            f"{snapshot.name}: a sorted column has changed its type since the cursor was created",
            str(error),
            "Start again without a cursor",
        ) from error


def compare_rows(left: Sequence[pa.Scalar], right: Sequence[pa.Scalar], keys: Sequence[SortKey]) -> int:
    """Compare two rows in the order of `keys`: below 0 if the first row comes first, 0 if they are equal."""
    for a, b, key in zip(left, right, keys, strict=True):
        if a.is_valid != b.is_valid:
            return -1 if a.is_valid else 1
        if a.is_valid:
            x, y = _comparable(a), _comparable(b)
            if x != y:
                return -1 if (x < y) != key.descending else 1
    return 0


def refuse_unordered_keys(snapshot: Snapshot, keys: Sequence[SortKey]) -> None:
    for key in keys:
        kind = column_named(snapshot, key.column).type
        if is_.is_nested(kind):
            raise BadData(
                f"{snapshot.name}: pages cannot be sorted by column '{key.column}'",
                f"Its type is {kind}",
                "Sort by another column",
            )


def _comparable(scalar: pa.Scalar) -> tuple[bool, Any]:
    """A value to compare. NaN is the greatest number; times compare as the numbers that store them."""
    value = scalar.value if is_.is_temporal(scalar.type) else scalar.as_py()
    return (True, 0) if value != value else (False, value)


def _order_text(keys: Sequence[SortKey]) -> str:
    return json.dumps([[key.column, key.descending] for key in keys])


@dataclass(frozen=True)
class Page:
    """A page of rows. `next` is the cursor for the next page; None if no rows follow."""

    rows: pa.Table
    next: str | None


@dataclass(frozen=True)
class PageQuery:
    """What to page through. `behind` returns the first position whose `_id` is greater than the given one."""

    snapshot: Snapshot
    columns: tuple[Column, ...]
    where: Filter | None
    keys: tuple[SortKey, ...]
    id_column: Column
    behind: Callable[[int], int]

    def page(self, size: int, after: str | None, job: Job) -> Page:
        """Return the `size` rows after the cursor `after`, or the first ones without a cursor."""
        refuse_unordered_keys(self.snapshot, self.keys)
        cursor = None if after is None else parse_cursor(self.snapshot, after, self.keys)
        if self.where is None and not self.keys:
            return self._next_rows(size, cursor)
        positions = self._next_matching(size + 1, cursor, job)
        if positions is None:
            positions = self._next_positions(size + 1, cursor, job)
        rows = take_rows(self.snapshot, positions[:size], self.columns)
        return Page(rows, self._cursor(int(positions[size - 1])) if len(positions) > size else None)

    def _next_rows(self, size: int, cursor: Cursor | None) -> Page:
        position = 0 if cursor is None else self.behind(cursor.row_id)
        offset = position - int(np.searchsorted(self.snapshot.deleted_positions, position))
        rows = read_rows(self.snapshot, offset, size, self.columns)
        if offset + size >= self.snapshot.num_rows:
            return Page(rows, None)
        last = live_positions(self.snapshot, np.array([offset + size - 1]))
        return Page(rows, self._cursor(int(last[0])))

    def _next_matching(self, count: int, cursor: Cursor | None, job: Job) -> np.ndarray | None:
        """Find the next rows in their own order; None if finding and caching all of them is cheaper."""
        if self.keys or self.where is None:
            return None
        start = 0 if cursor is None else self.behind(cursor.row_id)
        search = RowSearch(self.snapshot, self.where, first=count, start=start)
        return None if search.strategy.method is Method.DUCKDB else search.run(job).positions

    def _cursor(self, position: int) -> str:
        return write_cursor(self.snapshot, position, self.id_column, self.keys)

    def _next_positions(self, count: int, cursor: Cursor | None, job: Job) -> np.ndarray:
        """Find the next positions. The first ones are found without sorting the others."""
        if cursor is None:
            return find_rows(self.snapshot, self.where, self.keys, job, first=count)[:count]
        order = whole_order(self.snapshot, self.where, self.keys, job)
        first = self._place(order, cursor)
        return order[first : first + count]

    def _place(self, order: np.ndarray, cursor: Cursor) -> int:
        """The number of rows in `order` up to and including the cursor's, by binary search."""
        columns = project(self.snapshot, (key.column for key in self.keys))
        behind = self.behind(cursor.row_id)
        low, high = 0, len(order)
        while low < high:
            middle = (low + high) // 2
            position = int(order[middle])
            compares = compare_rows(cells_at(self.snapshot, position, columns), cursor.values, self.keys)
            if compares < 0 or (compares == 0 and position < behind):
                low = middle + 1
            else:
                high = middle
        return low


_QUERY, _UUIDS = b"query", b"uuids"
_AFTER = f"{OWN_NAMES}after"


def page_by_id(
    rows: IdentifiedRows,
    size: int,
    after: str | None,
    columns: list[str] | None,
    where: Condition | None,
    sort: list[str] | None,
    job: Job | None,
    flatten: bool = False,
) -> Page:
    """Return the `size` rows after the row of the cursor `after`, whatever has changed since."""
    snapshot = rows.snapshot
    name = snapshot.name
    count = count_of(size, f"{name}: a page of", least=1)
    selection = None if columns is None else names_of(columns, f"{name}: columns")
    page_query = PageQuery(
        snapshot,
        project(snapshot, selection, flatten),
        condition_of(where, f"{name}: where", snapshot),
        sort_keys(snapshot, sort),
        ID_COLUMN,
        lambda row_id: rows.ranges.behind(snapshot, row_id),
    )
    return page_query.page(count, after, job or Job())


def page(node: Node, options: dict[str, Any], size: int, after: str | None, job: Job) -> Page:
    """Read a page. `options` is the query as JSON, so that a cursor of another query is refused."""
    fingerprint = hashlib.sha256(json.dumps(options, sort_keys=True).encode()).hexdigest()
    with query_cursor(node.fields.place, job) as connection:
        query = _answer_with_ranks(node, QueryContext(connection, job))
        if after is not None:
            last = _parse_cursor(after, fingerprint, node)
            connection.register(_AFTER, last)
            query = query.join(_cursor_values(last), join_type="cross").where(_behind(node.order))
        query = query.order_by(*(rank.sql for rank in node.order)).limit(number(size + 1))
        job.check()
        relation = connection.sql(query.sql("duckdb"))
        uuids = [kind == "UUID" for kind in relation.types[len(node.fields.columns) :]]
        table = relation.to_arrow_table()
    rows, ranks = table.slice(0, size), table.select(range(len(node.fields.columns), table.num_columns))
    values = from_duckdb(rows.select(range(len(node.fields.columns))), node.fields.schema)
    return Page(
        values, _cursor_text(ranks.slice(size - 1, 1), uuids, fingerprint) if table.num_rows > size else None
    )


def _answer_with_ranks(node: Node, context: QueryContext) -> exp.Select:
    """Select the columns of the answer, and those that it is sorted by."""
    answer = [field.identifier for field in node.fields.columns]
    ranks = [alias(column(rank.identifier), f"rank{n}") for n, rank in enumerate(node.order)]
    rows = node.source(Identifiers(answer) | node.order_columns, context)
    return exp.select(*map(column, answer), *ranks).from_(rows)


def _behind(order: Order) -> exp.Expr:
    """The condition that a row comes after the cursor's. Nulls are last, so nothing comes after null."""
    later: list[exp.Expr] = []
    for place, rank in enumerate(order):
        equal = [
            exp.NullSafeEQ(this=column(field.identifier), expression=column(f"rank{n}", _AFTER))
            for n, field in enumerate(order[:place])
        ]
        value, last = column(rank.identifier), column(f"rank{place}", _AFTER)
        compare = exp.LT if rank.descending else exp.GT
        further = exp.Or(
            this=compare(this=value, expression=last), expression=exp.Is(this=value, expression=exp.Null())
        )
        valid = exp.Not(this=exp.Is(this=last, expression=exp.Null()))
        later.append(conjunction([*equal, valid, further]))
    return paren(exp.or_(*later)) if later else exp.false()


def _cursor_values(row: pa.Table) -> exp.Subquery:
    """The cursor's sort values. UUIDs are cast back: DuckDB returns them as text."""
    uuids = json.loads(row.schema.metadata[_UUIDS])
    values = [
        alias(cast(column(name), "UUID") if is_uuid else column(name), name)
        for name, is_uuid in zip(row.schema.names, uuids, strict=True)
    ]
    return exp.select(*values).from_(exp.Table(this=quote_identifier(_AFTER))).subquery(_AFTER)


def _cursor_text(row: pa.Table, uuids: list[bool], fingerprint: str) -> str:
    sink = pa.BufferOutputStream()
    noted = {_QUERY: fingerprint, _UUIDS: json.dumps(uuids)}
    with pa.ipc.new_stream(sink, row.schema.with_metadata(noted)) as stream:
        stream.write_table(row)
    return base64.urlsafe_b64encode(sink.getvalue()).decode()


def _parse_cursor(after: str, fingerprint: str, node: Node) -> pa.Table:
    try:
        with pa.ipc.open_stream(pa.py_buffer(base64.urlsafe_b64decode(after))) as stream:
            row = stream.read_all()
        of = row.schema.metadata[_QUERY].decode()
        json.loads(row.schema.metadata[_UUIDS])
    except (binascii.Error, ValueError, TypeError, KeyError, OSError, pa.ArrowException) as error:
        raise BadData(
            f"{node.fields.place}: {short_text(after)} is not a cursor",
            fix="Pass the `next` of the previous page",
        ) from error
    if of != fingerprint:
        raise BadData(
            f"{node.fields.place}: the cursor belongs to another query", fix="Start again without a cursor"
        )
    return row
