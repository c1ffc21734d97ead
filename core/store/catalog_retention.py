"""The catalog's SQL for versions that expire, and for files that no version names any more."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lamella.core.store.catalog_relations import RelationEntries
from lamella.core.store.catalog_schema import VERSIONED

FILES = ("data_files", "change_files")
_GONE = (
    "table_id = :table AND (from_version >= to_version OR (to_version <= :oldest AND NOT EXISTS ("
    "SELECT 1 FROM commits c WHERE c.table_id = :table AND c.name != ''"
    " AND c.version >= from_version AND c.version < to_version)))"
)
"""Entries that no kept version has. Those that a flush ended in the version that made them are of none."""
_USED_COLUMNS = " UNION ".join(
    f"SELECT value FROM {kind}, json_each({kind}.columns) WHERE {kind}.table_id = :table"
    for kind in ("pending_rows", "pending_cells")
)


@dataclass(frozen=True)
class RemovedFile:
    """A file that no version names any more; those from `first_version` to `last_version` may have."""

    number: int
    path: str
    bytes: int
    table_id: int
    first_version: int
    last_version: int


class Retention:
    """Inside a catalog transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def forget(self, table_id: int, oldest: int) -> None:
        """Take out every version before `oldest` that has no name, and queue the files only they named."""
        RelationEntries(self._connection).follow_casts(table_id)
        values = {"table": table_id, "oldest": oldest}
        self._connection.execute(
            "DELETE FROM transactions WHERE transaction_id IN (SELECT transaction_id FROM commits"
            " WHERE table_id = :table AND version < :oldest AND name = '')", values
        )  # fmt: skip
        self._connection.execute(
            "DELETE FROM commits WHERE table_id = :table AND version < :oldest AND name = ''", values
        )
        self._queue_from(table_id, _GONE, values)
        for kind in VERSIONED.keys() - {*FILES, "columns"}:
            self._connection.execute(f"DELETE FROM {kind} WHERE {_GONE}", values)
        self._connection.execute(
            f"DELETE FROM columns WHERE {_GONE} AND entry NOT IN ({_USED_COLUMNS})", values
        )
        self._connection.execute(
            "DELETE FROM indexes WHERE table_id = :table AND EXISTS (SELECT 1 FROM json_each(column_ids)"
            " WHERE value NOT IN (SELECT column_id FROM columns WHERE table_id = :table))", values
        )  # fmt: skip

    def drop_table(self, table_id: int) -> None:
        """Take out the table with all its versions, and queue its files."""
        self._queue_from(table_id, "table_id = :table", {"table": table_id})
        self._connection.execute(
            "DELETE FROM transactions WHERE transaction_id IN"
            " (SELECT transaction_id FROM commits WHERE table_id = ?)", (table_id,)
        )  # fmt: skip
        for kind in ("tables", "commits", "indexes", *VERSIONED):
            self._connection.execute(f"DELETE FROM {kind} WHERE table_id = ?", (table_id,))
        self._connection.execute("DELETE FROM relations WHERE ? IN (from_table_id, to_table_id)", (table_id,))

    def cross_off(self, numbers: Iterable[int]) -> None:
        """These files are gone from the disk."""
        self._connection.executemany("DELETE FROM removed_files WHERE number = ?", [(n,) for n in numbers])

    def _queue_from(self, table_id: int, condition: str, values: dict[str, int]) -> None:
        gone: list[tuple[str, int, int, int]] = []
        for kind in FILES:
            gone += self._connection.execute(
                f"DELETE FROM {kind} WHERE {condition} RETURNING path, bytes, from_version, to_version",
                values,
            ).fetchall()
        if gone:
            self._queue(table_id, gone)

    def _queue(self, table_id: int, gone: Sequence[tuple[str, int, int, int]]) -> None:
        """An undo names files again, so one may be named still, or have been named several times."""
        named = " UNION ".join(f"SELECT path FROM {kind} WHERE table_id = :table" for kind in FILES)
        kept = {path for (path,) in self._connection.execute(named, {"table": table_id})}
        self._connection.executemany(
            "INSERT INTO removed_files (path, bytes, table_id, first_version, last_version)"
            " VALUES (?, ?, ?, ?, ?) ON CONFLICT (path) DO UPDATE SET"
            " first_version = min(first_version, excluded.first_version),"
            " last_version = max(last_version, excluded.last_version)",
            [(path, size, table_id, first, last) for path, size, first, last in gone if path not in kept],
        )
