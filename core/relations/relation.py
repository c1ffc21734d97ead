"""The relations of a store and their endpoints, with the checks made when one is declared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from pyarrow import types as is_

from lamella.core.arrow.arrays import combine_chunks, from_numpy, to_numpy
from lamella.core.arrow.types import common_type
from lamella.core.errors import (
    BadData,
    StoreProblem,
    TypeConflict,
    UnknownColumn,
    UnknownTable,
    short_text,
)
from lamella.core.query.source import Source
from lamella.core.scan.snapshot import Column

Direction = Literal["out", "in"]
"""To the rows that a row points at ("out"), or to the rows that point at it ("in")."""
DIRECTIONS: tuple[Direction, ...] = ("out", "in")


@dataclass(frozen=True)
class Relation:
    """A link from rows of one table to rows of another, or of the same, that have equal values.

    Null points at nothing. The names of tables and columns are the current ones. `problem` says why the
    relation cannot be followed, and is empty if it can.
    """

    name: str
    from_table: str
    from_columns: tuple[str, ...]
    to_table: str
    to_columns: tuple[str, ...]
    problem: str = ""

    def __str__(self) -> str:
        text = f"{_end(self.from_table, self.from_columns)} → {_end(self.to_table, self.to_columns)}"
        return f"{self.name}: {text}" + (f" ({self.problem})" if self.problem else "")

    def link(self, direction: Direction) -> Link:
        """Return the link from the table that points ("out"), or from the one that is pointed at ("in")."""
        if direction == "out":
            return Link(
                self, direction, self.from_table, self.from_columns, self.to_table, self.to_columns
            )  # fmt: skip
        return Link(self, direction, self.to_table, self.to_columns, self.from_table, self.from_columns)

    def usable(self) -> Relation:
        """Return this relation; raises `StoreProblem` if it cannot be followed."""
        if self.problem:
            raise StoreProblem(
                f"the relation '{self.name}' cannot be followed",
                self.problem,
                f"Undo that, or drop the relation: store.relations.drop({self.name!r})",
            )
        return self


@dataclass(frozen=True)
class Link:
    """A relation seen from `table`: its `columns` are equal to `other_columns` of the table `other`."""

    relation: Relation
    direction: Direction
    table: str
    columns: tuple[str, ...]
    other: str
    other_columns: tuple[str, ...]


def _end(table: str, columns: tuple[str, ...]) -> str:
    return f"{table}.{columns[0]}" if len(columns) == 1 else f"{table}.({', '.join(columns)})"


_UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


@lru_cache(4096)
def meeting_type(a: pa.DataType, b: pa.DataType) -> pa.DataType | None:
    """Return the type in which keys of the two types are compared; None if they are not comparable."""
    a, b = _value_type(a), _value_type(b)
    if is_.is_nested(a) or is_.is_nested(b):
        return None
    if is_.is_null(a) or is_.is_null(b) or a.equals(b):
        return b if is_.is_null(a) else a
    if is_.is_timestamp(a) and is_.is_timestamp(b):
        return _coarser(a, b) if (a.tz is None) == (b.tz is None) else None
    if is_.is_duration(a) and is_.is_duration(b):
        return _coarser(a, b)
    if is_.is_date(a) or is_.is_date(b):
        return pa.date32() if is_.is_date(a) and is_.is_date(b) else None
    return _numbers(a, b) if is_.is_integer(a) or is_.is_integer(b) else common_type(a, b)


def cast_keys(values: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """Convert keys to the type that `meeting_type` returned. A value that the type cannot hold becomes null:
    a fraction among whole numbers, a millisecond among seconds."""
    values = _storage(values)
    if values.type.equals(kind) or is_.is_null(kind):
        return values
    if is_.is_null(values.type):
        return values.cast(kind)
    if is_.is_floating(values.type) and is_.is_integer(kind):
        return pa.chunked_array([_whole(combine_chunks(values), kind)])
    if is_.is_timestamp(kind) or is_.is_duration(kind):
        return pa.chunked_array([_in_units(combine_chunks(values), kind)])
    return values.cast(kind)


def _value_type(kind: pa.DataType) -> pa.DataType:
    """Return the type of the values in a dictionary or an extension type."""
    if isinstance(kind, pa.BaseExtensionType):
        return kind.storage_type
    return kind.value_type if is_.is_dictionary(kind) else kind


def _storage(values: pa.ChunkedArray) -> pa.ChunkedArray:
    if isinstance(values.type, pa.BaseExtensionType):
        return pa.chunked_array([chunk.storage for chunk in values.chunks], values.type.storage_type)
    return values.cast(values.type.value_type) if is_.is_dictionary(values.type) else values


def _numbers(a: pa.DataType, b: pa.DataType) -> pa.DataType | None:
    """Return the type for whole numbers compared with other numbers. Floats are compared as whole numbers,
    because a double is not exact enough."""
    if is_.is_floating(a) or is_.is_floating(b):
        return b if is_.is_floating(a) else a
    if is_.is_boolean(a) or is_.is_boolean(b):
        return None
    both = is_.is_integer(a) and is_.is_integer(b)
    return common_type(a, b) or (pa.decimal128(20, 0) if both else None)


def _coarser(a: pa.DataType, b: pa.DataType) -> pa.DataType:
    return min(a, b, key=lambda kind: _UNITS[kind.unit])


def _whole(values: pa.Array, kind: pa.DataType) -> pa.Array:
    numbers = to_numpy(values).astype(np.float64)
    low, high = np.iinfo(kind.to_pandas_dtype()).min, np.iinfo(kind.to_pandas_dtype()).max
    with np.errstate(invalid="ignore"):
        fits = (numbers == np.floor(numbers)) & (numbers >= float(low)) & (numbers < float(high) + 1)
    valid = to_numpy(values.is_valid()) & fits
    exact = np.where(valid, numbers, 0.0).astype(kind.to_pandas_dtype())
    return _array(exact, kind, valid)


def _in_units(values: pa.Array, kind: pa.DataType) -> pa.Array:
    counts, valid = to_numpy(values.view(pa.int64())), to_numpy(values.is_valid())
    whole, remainder = np.divmod(counts, _UNITS[values.type.unit] // _UNITS[kind.unit])
    return _array(whole, kind, valid & (remainder == 0))


def _array(values: np.ndarray, kind: pa.DataType, valid: np.ndarray) -> pa.Array:
    return from_numpy(values, kind, None if valid.all() else valid)


@dataclass(frozen=True)
class End:
    """Columns of one table whose values form a key."""

    table: str
    columns: tuple[Column, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)


def end_of(value: Any, store: str, tables: Mapping[str, Source]) -> End:
    """Read an end as people name it.

    Raises `BadData` for a value that does not name columns of one table, `UnknownTable` and `UnknownColumn`.
    """
    parts = [value] if isinstance(value, str) else _texts(value)
    if not parts:
        raise BadData(
            f"store {store}: {short_text(value)} cannot be an end of a relation",
            fix="Name a table and its column: 'flights.carrier', or several in a list",
        )
    sides = [_split(part, store, tables) for part in parts]
    names = {table for table, _ in sides}
    if len(names) > 1:
        raise BadData(
            f"store {store}: one end of a relation must lie in one table, not in "
            f"{' and '.join(sorted(names))}",
            fix="Give the columns of one table first, those of the other second",
        )
    columns = tuple(column for _, column in sides)
    if len(set(columns)) < len(columns):
        raise BadData(f"store {store}: {short_text(value)} names a column twice", fix="Name each column once")
    return End(sides[0][0], columns)


def _columns_text(end: End) -> str:
    return "1 column" if len(end.columns) == 1 else f"{len(end.columns)} columns"


def refuse_apart(store: str, source: End, target: End) -> None:
    """Raise `BadData` if the ends differ in their number of columns or are the same; `TypeConflict` if no
    values of two paired columns can ever be equal."""
    if len(source.columns) != len(target.columns):
        raise BadData(
            f"store {store}: {_column_list(source)} cannot point at {_column_list(target)}",
            f"one end has {_columns_text(source)}, the other {_columns_text(target)}",
            "Give as many columns at both ends, in the same order",
        )
    if source == target:
        raise BadData(
            f"store {store}: {_column_list(source)} would point at itself", fix="Name two different columns"
        )
    for a, b in zip(source.columns, target.columns, strict=True):
        reason = apart(source.table, a, target.table, b)
        if reason:
            raise TypeConflict(
                f"store {store}: {source.table}.{a.name} cannot point at {target.table}.{b.name}",
                reason,
                _cast_note(a.type, b.type),
            )


def apart(table: str, column: Column, other_table: str, target: Column) -> str:
    """Return why values of the two columns are never equal; empty if they may be."""
    for name, each in ((table, column), (other_table, target)):
        if pa.types.is_nested(each.type):
            return f"{name}.{each.name} holds {each.type}, and nested values cannot be keys"
    if meeting_type(column.type, target.type) is None:
        return f"{table}.{column.name} is {column.type}, {other_table}.{target.name} is {target.type}"
    return ""


def _cast_note(a: pa.DataType, b: pa.DataType) -> str:
    nested = pa.types.is_nested(a) or pa.types.is_nested(b)
    return "Name a column of single values" if nested else "Cast one of the columns first: table.columns.cast"


def _texts(value: Any) -> list[str]:
    names = list(value) if isinstance(value, Iterable) and not isinstance(value, (bytes, Mapping)) else []
    return names if all(isinstance(part, str) for part in names) else []


def _split(text: str, store: str, tables: Mapping[str, Source]) -> tuple[str, Column]:
    """Split `table.column` where both exist in the store; both names may hold dots."""
    matching = [name for name in tables if text.startswith(f"{name}.")]
    if not matching:
        table, dot, _ = text.partition(".")
        if not dot:
            raise BadData(
                f"store {store}: '{text}' names no table and column",
                fix=f"Write both with a dot between: '{_with_column(text, tables)}'",
            )
        raise UnknownTable(table, f"store {store}", list(tables))
    columns = {name: tables[name].snapshot().columns for name in matching}
    matches = [
        (name, column)
        for name in matching
        for column in columns[name]
        if text == f"{name}.{column.name}"
    ]  # fmt: skip
    if not matches:
        longest = max(matching, key=len)
        names = [column.name for column in columns[longest]]
        raise UnknownColumn(text[len(longest) + 1 :], longest, names)
    if len(matches) > 1:
        meant = " or ".join(f"column '{column.name}' of table '{name}'" for name, column in matches)
        raise BadData(f"store {store}: '{text}' may mean {meant}", fix="Rename one of them")
    return matches[0]


def _with_column(text: str, tables: Mapping[str, Source]) -> str:
    """Return what the user may have meant by a name without a dot."""
    if text in tables:
        names: Sequence[str] = tables[text].schema.names
        return f"{text}.{names[-1]}"
    holders = [name for name, table in tables.items() if text in table.schema.names]
    return f"{holders[0]}.{text}" if holders else "table.column"


def _column_list(end: End) -> str:
    return ", ".join(f"{end.table}.{name}" for name in end.names)
