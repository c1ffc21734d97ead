"""The catalog's SQL for relations between tables, and what became of the columns they name."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from lamella.core.store.catalog_schema import FOREVER, checked_rows, whole_numbers
from lamella.core.store.ids import ID_COLUMN

Rows = Callable[..., list[tuple[Any, ...]]]
ColumnIds = tuple[int, ...]
_COLUMNS = "name, from_table_id, from_column_ids, to_table_id, to_column_ids"


@dataclass(frozen=True)
class RelationRow:
    """A relation as the catalog has it: columns by their ids at the time it was declared."""

    name: str
    from_table: int
    from_columns: ColumnIds
    to_table: int
    to_columns: ColumnIds


@dataclass(frozen=True)
class ColumnEntry:
    """What a column was called in versions [first, stop)."""

    column_id: int
    name: str
    first: int
    stop: int


class CatalogRelations:
    """Reads them."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def all(self) -> list[RelationRow]:
        """The first declared first."""
        found = self._rows(f"SELECT {_COLUMNS} FROM relations ORDER BY relation_id")
        return list(map(_row, checked_rows("relations", _COLUMNS.split(", "), found)))

    def columns(self, table_id: int) -> list[ColumnEntry]:
        """Of all versions that are kept."""
        wanted = ("column_id", "name", "from_version", "to_version")
        found = self._rows(f"SELECT {', '.join(wanted)} FROM columns WHERE table_id = ?", table_id)
        return [ColumnEntry(*entry) for entry in checked_rows("columns", wanted, found)]


class RelationEntries:
    """Changes them, inside a catalog transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def all(self) -> list[RelationRow]:
        return CatalogRelations(self._fetched).all()

    def add(self, row: RelationRow) -> None:
        self._connection.execute(
            f"INSERT INTO relations ({_COLUMNS}, options) VALUES (?, ?, ?, ?, ?, '{{}}')",
            (
                row.name,
                row.from_table,
                json.dumps(row.from_columns),
                row.to_table,
                json.dumps(row.to_columns),
            ),
        )

    def drop(self, name: str) -> None:
        self._connection.execute("DELETE FROM relations WHERE name = ?", (name,))

    def follow_casts(self, table_id: int) -> None:
        """Name columns by what they are now: versions that tell what became of them are about to go."""
        entries = CatalogRelations(self._fetched).columns(table_id)
        for table, columns in (("from_table_id", "from_column_ids"), ("to_table_id", "to_column_ids")):
            found = self._fetched(f"SELECT relation_id, {columns} FROM relations WHERE {table} = ?", table_id)
            for relation_id, ids in found:
                before = whole_numbers("relations", columns, ids)
                now = [column_now(entries, column_id) for column_id in before]
                kept = [old if new is None else new for old, new in zip(before, now, strict=True)]
                self._connection.execute(
                    f"UPDATE relations SET {columns} = ? WHERE relation_id = ?",
                    (json.dumps(kept), relation_id),
                )

    def _fetched(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        return self._connection.execute(sql, values).fetchall()


def column_now(entries: Sequence[ColumnEntry], column_id: int) -> int | None:
    """The column that stands where this one did: itself, or what a cast made of it; None once it is dropped.

    A cast ends a column, and another of its name begins, in one version; so does the undo of a cast.
    """
    seen: set[tuple[int, int]] = set()
    while column_id != ID_COLUMN.key:
        last = max((e for e in entries if e.column_id == column_id), key=_stop, default=None)
        if last is None or (column_id, last.stop) in seen:
            return None
        if last.stop == FOREVER:
            return column_id
        seen.add((column_id, last.stop))
        following = _begun(entries, last, {e.column_id for e in entries if e.first < last.stop <= e.stop})
        if following is None:
            return None
        column_id = following
    return column_id


def last_name(entries: Sequence[ColumnEntry], column_id: int) -> str | None:
    """What a column was called last; None where no version is kept that had it."""
    last = max((e for e in entries if e.column_id == column_id), key=_stop, default=None)
    return None if last is None else last.name


def _begun(entries: Sequence[ColumnEntry], ended: ColumnEntry, before: Collection[int]) -> int | None:
    begun = (e for e in entries if e.first == ended.stop and e.name == ended.name)
    return next((e.column_id for e in begun if e.column_id not in before), None)


def _stop(entry: ColumnEntry) -> int:
    return entry.stop


def _row(found: tuple[Any, ...]) -> RelationRow:
    name, from_table, from_columns, to_table, to_columns = found
    froms = whole_numbers("relations", "from_column_ids", from_columns)
    return RelationRow(
        name, from_table, froms, to_table, whole_numbers("relations", "to_column_ids", to_columns)
    )
