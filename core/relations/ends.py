"""The ends of a relation as people name them: "flights.carrier", or a list of such for several columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from lamella.core.errors import BadData, TypeConflict, UnknownColumn, UnknownTable, shown
from lamella.core.relations.comparing import meeting_type
from lamella.core.scan.snapshot import Column
from lamella.core.store.rows_by_id import RowsById


@dataclass(frozen=True)
class End:
    """Columns of one table, whose values are a key."""

    table: str
    columns: tuple[Column, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)


def end_of(given: Any, store: str, tables: Mapping[str, RowsById]) -> End:
    """Raises `BadData` for what names no columns of one table, `UnknownTable` and `UnknownColumn`."""
    parts = [given] if isinstance(given, str) else _texts(given)
    if not parts:
        raise BadData(
            f"store {store}: a relation has no end like {shown(given)}",
            fix="Name a table and its column: 'flights.carrier', or several in a list",
        )
    found = [_split(part, store, tables) for part in parts]
    names = {table for table, _ in found}
    if len(names) > 1:
        raise BadData(
            f"store {store}: one end of a relation is in one table, not in {' and '.join(sorted(names))}",
            fix="Give the columns of one table first, those of the other second",
        )
    columns = tuple(column for _, column in found)
    if len(set(columns)) < len(columns):
        raise BadData(f"store {store}: {shown(given)} names a column twice", fix="Name each column once")
    return End(found[0][0], columns)


def refuse_apart(store: str, one: End, other: End) -> None:
    """Raise `BadData` where the ends have not as many columns, or are the same; `TypeConflict` where no value
    of one column can ever be equal to one of the other."""
    if len(one.columns) != len(other.columns):
        raise BadData(
            f"store {store}: {_shown(one)} cannot point at {_shown(other)}",
            f"that is {len(one.columns)} columns at {len(other.columns)}",
            "Give as many columns at both ends, in the same order",
        )
    if one == other:
        raise BadData(f"store {store}: {_shown(one)} would point at itself", fix="Name two different columns")
    for a, b in zip(one.columns, other.columns, strict=True):
        told = apart(one.table, a, other.table, b)
        if told:
            raise TypeConflict(
                f"store {store}: {one.table}.{a.name} cannot point at {other.table}.{b.name}",
                told,
                _cast_or_not(a.type, b.type),
            )


def apart(table: str, column: Column, other_table: str, other: Column) -> str:
    """Why values of the two columns are never equal; empty where they may be."""
    for name, each in ((table, column), (other_table, other)):
        if pa.types.is_nested(each.type):
            return f"{name}.{each.name} holds {each.type}, and nested values are no keys"
    if meeting_type(column.type, other.type) is None:
        return f"{table}.{column.name} is {column.type}, {other_table}.{other.name} is {other.type}"
    return ""


def _cast_or_not(a: pa.DataType, b: pa.DataType) -> str:
    nested = pa.types.is_nested(a) or pa.types.is_nested(b)
    return "Name a column of single values" if nested else "Cast one of the columns first: table.cast_column"


def _texts(given: Any) -> list[str]:
    listed = list(given) if isinstance(given, Iterable) and not isinstance(given, (bytes, Mapping)) else []
    return listed if all(isinstance(part, str) for part in listed) else []


def _split(text: str, store: str, tables: Mapping[str, RowsById]) -> tuple[str, Column]:
    """Both names may hold dots: the table and the column that are there are meant."""
    named = [name for name in tables if text.startswith(f"{name}.")]
    if not named:
        table, dot, _ = text.partition(".")
        if not dot:
            raise BadData(
                f"store {store}: '{text}' names no table and column",
                fix=f"Write both with a dot between: '{_with_column(text, tables)}'",
            )
        raise UnknownTable(table, f"store {store}", list(tables))
    columns = {name: tables[name].snapshot().columns for name in named}
    found = [
        (name, column)
        for name in named
        for column in columns[name]
        if text == f"{name}.{column.name}"
    ]  # fmt: skip
    if not found:
        longest = max(named, key=len)
        known = [column.name for column in columns[longest]]
        raise UnknownColumn(text[len(longest) + 1 :], longest, known)
    if len(found) > 1:
        meant = " or ".join(f"column '{column.name}' of table '{name}'" for name, column in found)
        raise BadData(f"store {store}: '{text}' may mean {meant}", fix="Rename one of them")
    return found[0]


def _with_column(text: str, tables: Mapping[str, RowsById]) -> str:
    """What the user may have meant by a name alone."""
    if text in tables:
        names: Sequence[str] = tables[text].schema.names
        return f"{text}.{names[-1]}"
    holders = [name for name, table in tables.items() if text in table.schema.names]
    return f"{holders[0]}.{text}" if holders else "table.column"


def _shown(end: End) -> str:
    return ", ".join(f"{end.table}.{name}" for name in end.names)
