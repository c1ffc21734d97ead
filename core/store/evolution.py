"""How arriving data meets a table's columns: which are added, and which become wider."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from lamella.core.arrow.arrays import in_one, to_numpy
from lamella.core.arrow.documents import folded
from lamella.core.arrow.ingest import RowBatch, as_block
from lamella.core.arrow.nested import python_value
from lamella.core.arrow.types import ID, exact_cast, inexact, stored_type, wider_type
from lamella.core.errors import BadData, TypeConflict
from lamella.core.scan.chunks import BatchValues
from lamella.core.scan.snapshot import Column

DEEPEST = 50
"""Levels of nesting; Arrow cannot read back more than 63."""
LONGEST_SHOWN = 60
MOST_PLANS = 8


@dataclass(frozen=True)
class ColumnPlan:
    """`columns` are the data's, in the data's order and in the types they will be stored in."""

    columns: tuple[Column, ...]
    added: tuple[Column, ...]
    widened: tuple[Column, ...]

    def applied(self, columns: tuple[Column, ...]) -> tuple[Column, ...]:
        """The table's columns once the plan is committed."""
        if not self.widened and not self.added:
            return columns
        wider = {c.key: c for c in self.widened}
        return (*(wider.get(c.key, c) for c in columns), *self.added)

    def by_key(self, values: pa.Table) -> Mapping[int, pa.Array]:
        """The columns of `values`, which are these."""
        batches = [] if self._hold_words else values.to_batches()
        if len(batches) == 1:
            return BatchValues(self.keys, batches[0].schema, batches[0])
        return {key: in_one(values.column(place)) for place, key in enumerate(self.keys)}

    @cached_property
    def keys(self) -> tuple[int, ...]:
        return tuple(c.key for c in self.columns)

    @cached_property
    def _hold_words(self) -> bool:
        """Whether any is a dictionary."""
        return any(pa.types.is_dictionary(c.type) for c in self.columns)


class KnownPlans:
    """The plans of data that came in the table's own columns and types, by the schemas met last."""

    def __init__(self) -> None:
        self._met: tuple[tuple[pa.Schema, ColumnPlan], ...] = ()

    def of(self, schema: pa.Schema) -> ColumnPlan | None:
        return next((plan for met, plan in self._met if met is schema or met.equals(schema)), None)

    def remember(self, schema: pa.Schema, plan: ColumnPlan) -> None:
        self._met = ((schema, plan), *self._met[: MOST_PLANS - 1])


def plan_columns(
    table: str, have: tuple[Column, ...], arriving: RowBatch, take_ids: Callable[[int], int]
) -> ColumnPlan:
    """Raises `TypeConflict` naming the first column whose types have nothing in common, and a value of it;
    `BadData` for one that is nested too deep.

    Whether the values a table holds already fit the wider types is not looked at.
    """
    for field in arriving.schema:
        _refuse_deep(table, field)
    known = {c.name: c for c in have}
    schema = arriving.schema
    fresh = [f for f in schema if f.name not in known and f.name != ID]
    first = take_ids(len(fresh)) if fresh else 0
    added = {f.name: Column(f.name, stored_type(f.type), first + i) for i, f in enumerate(fresh)}
    fitted = {f.name: _met(table, known[f.name], arriving) for f in schema if f.name in known}
    widened = tuple(c for c in fitted.values() if c != known[c.name])
    columns = tuple({**added, **fitted}[f.name] for f in schema if f.name != ID)
    return ColumnPlan(columns, tuple(added.values()), widened)


def wider_columns(before: Sequence[Column], after: Sequence[Column]) -> list[Column]:
    """Columns of `after` that have another type than they had."""
    types = {c.key: c.type for c in before}
    return [c for c in after if c.key in types and not types[c.key].equals(c.type)]


def narrowed(rows: pa.Table, have: tuple[Column, ...]) -> pa.Table:
    """`rows` with each column in the table's type where all its values fit: a small int64 widens nothing."""
    known = {c.name: c.type for c in have}
    columns = [_narrowed(rows.column(f.name), known.get(f.name, f.type)) for f in rows.schema]
    return pa.Table.from_arrays(columns, names=rows.column_names)


def _narrowed(values: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    alike = values.type.equals(kind) or wider_type(values.type, kind) is not None
    fits = exact_cast(values, kind) if alike or _both_times(values.type, kind) else None
    return values if fits is None else fits


def stored_as(rows: pa.Table, columns: Sequence[Column]) -> pa.Table:
    """`rows` with these columns, in their order and types; null where a column is not given.

    Raises `BadData` naming the column whose values do not all survive.
    """
    if [(f.name, f.type) for f in rows.schema] == [(c.name, c.type) for c in columns]:
        return rows
    by_name = dict(zip(rows.column_names, rows.columns, strict=True))
    arrays = [_column_values(by_name.get(c.name), c, rows.num_rows) for c in columns]
    return pa.Table.from_arrays(arrays, schema=pa.schema([pa.field(c.name, c.type) for c in columns]))


def _column_values(values: pa.ChunkedArray | None, column: Column, rows: int) -> pa.ChunkedArray:
    if values is None:
        return pa.chunked_array([pa.nulls(rows, column.type)])
    values = folded(values, column.type)
    exact = exact_cast(values, column.type)
    if exact is None:
        raise inexact(column.name, values.type, column.type)
    return exact


def as_keys(table: str, rows: pa.Table, columns: Sequence[Column]) -> pa.Table:
    """Key values in their columns' types; raises `TypeConflict` or `BadData` where one is of another kind."""
    for column in columns:
        _met(table, column, as_block(rows))
    return stored_as(rows, columns)


def _met(table: str, column: Column, arriving: RowBatch) -> Column:
    kind = arriving.schema.field(column.name).type
    wider = wider_type(column.type, kind)
    if wider is None:
        raise TypeConflict(
            f"{table}: column '{column.name}' is {column.type} and cannot take {kind} values"
            f"{_example(arriving.table().column(column.name))}",
            fix="Cast the values, or the column, first",
        )
    return column if wider.equals(column.type) else Column(column.name, stored_type(wider), column.key)


def _example(values: pa.ChunkedArray) -> str:
    """The first that is not null."""
    place = int(np.argmax(to_numpy(values.is_valid()))) if len(values) else 0
    if not len(values) or not values[place].is_valid:
        return ""
    shown = repr(python_value(values[place]))
    return f" such as {shown if len(shown) <= LONGEST_SHOWN else shown[:LONGEST_SHOWN] + '…'}"


def _refuse_deep(table: str, field: pa.Field) -> None:
    if pa.types.is_nested(field.type) and (depth := _depth(field.type)) > DEEPEST:
        raise BadData(
            f"{table}: column '{field.name}' holds values nested {depth} deep",
            f"no more than {DEEPEST} can be read back",
            "Keep them as JSON text",
        )


def _depth(kind: pa.DataType) -> int:
    inside = (kind.field(i).type for i in range(kind.num_fields))
    return 1 + max(map(_depth, inside), default=0) if pa.types.is_nested(kind) else 0


def _both_times(a: pa.DataType, b: pa.DataType) -> bool:
    return bool(pa.types.is_temporal(a) and pa.types.is_temporal(b))
