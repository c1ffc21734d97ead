"""The SQL of what changes in a catalog, one method for each thing that can happen to a table."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

from lamella.core.store.catalog_relations import RelationEntries
from lamella.core.store.catalog_retention import Retention
from lamella.core.store.catalog_schema import FOREVER, VERSIONED
from lamella.core.store.together import Together


class Transaction:
    """What may be done inside `Catalog.transaction()`."""

    def __init__(self, connection: sqlite3.Connection, together: Together | None = None) -> None:
        self._connection, self._together = connection, together

    @property
    def retention(self) -> Retention:
        return Retention(self._connection)

    @property
    def relations(self) -> RelationEntries:
        return RelationEntries(self._connection)

    def script(self, statements: str) -> None:
        for statement in filter(str.strip, statements.split(";")):
            self._connection.execute(statement)

    def add_table(self, name: str, folder: str) -> int:
        made = self._connection.execute(
            "INSERT INTO tables (name, folder, version, generation, next_id, next_column)"
            " VALUES (?, ?, 0, 0, 0, 1) RETURNING table_id",
            (name, folder),
        )
        return int(made.fetchone()[0])

    def rename_table(self, table_id: int, name: str) -> None:
        self._connection.execute("UPDATE tables SET name = ? WHERE table_id = ?", (name, table_id))

    def table_names(self) -> list[str]:
        return [row[0] for row in self._connection.execute("SELECT name FROM tables ORDER BY name")]

    def version(self, table_id: int) -> tuple[int, int] | None:
        """(version, generation), or None when the table is gone."""
        found: tuple[int, int] | None = self._connection.execute(
            "SELECT version, generation FROM tables WHERE table_id = ?", (table_id,)
        ).fetchone()
        return found

    def take_ids(self, table_id: int, count: int) -> int:
        """The first of `count` ids that nobody else gets."""
        return int(self._take(table_id, "next_id", count))

    def take_ids_for_later(self, table_id: int, count: int, staging: str) -> int:
        """The same for rows that are still being staged: no file may span the ids until they arrived."""
        first = self.take_ids(table_id, count)
        row = (staging, table_id, first, first + count - 1)
        self._connection.execute("INSERT INTO ids_under_way VALUES (?, ?, ?, ?)", row)
        return first

    def ids_arrived(self, table_id: int, staging: str, unused: range) -> None:
        """What was staged is entered in this transaction, or given up; the last `unused` ids are given to
        others, unless ids behind them were given already."""
        self._connection.execute("DELETE FROM ids_under_way WHERE staging = ?", (staging,))
        self._connection.execute(
            "UPDATE tables SET next_id = ? WHERE table_id = ? AND next_id = ?",
            (unused.start, table_id, unused.stop),
        )

    def forget_ids_under_way(self) -> None:
        self._connection.execute("DELETE FROM ids_under_way")

    def spans_others(self, entry: int, table_id: int, version: int, first_id: int, last_id: int) -> bool:
        """Whether ids from the first to the last belong to another segment, or to rows on their way."""
        valid = "table_id = :table AND to_version > :version AND from_version <= :version"
        found = self._connection.execute(
            f"SELECT 1 FROM data_files WHERE {valid} AND entry <> :entry"
            " AND first_id <= :last AND last_id >= :first UNION ALL"
            f" SELECT 1 FROM pending_rows WHERE {valid}"
            " AND first_id <= :last AND first_id + rows > :first UNION ALL"
            " SELECT 1 FROM ids_under_way WHERE table_id = :table"
            " AND first_id <= :last AND last_id >= :first LIMIT 1",
            {"table": table_id, "version": version, "entry": entry, "first": first_id, "last": last_id},
        )
        return found.fetchone() is not None

    def take_column_ids(self, table_id: int, count: int) -> int:
        return int(self._take(table_id, "next_column", count))

    def move_on(self, table_id: int, commit: tuple[Any, ...]) -> tuple[Any, ...]:
        """Make `commit` (version, at, kind, restores, counts…, seconds, message, name, transaction) the
        table's newest; answers it as it was entered: later than the last, whatever the clock says."""
        version, at, *rest = commit
        commit = (version, max(at, self._earliest(table_id)), *rest)
        if self._together is not None:
            commit = self._together.stamped(table_id, commit)
        marks = ", ".join("?" * (1 + len(commit)))
        self._connection.execute(f"INSERT INTO commits VALUES ({marks})", (table_id, *commit))
        self._connection.execute("UPDATE tables SET version = ? WHERE table_id = ?", (commit[0], table_id))
        return commit

    def name_commit(self, table_id: int, version: int, name: str) -> None:
        self._connection.execute(
            "UPDATE commits SET name = ? WHERE table_id = ? AND version = ?", (name, table_id, version)
        )

    def add_index(self, table_id: int, index: tuple[str, str, str]) -> bool:
        """Enter an index (kind, column ids, options); False when the table has one like it."""
        made = self._connection.execute(
            "INSERT INTO indexes (table_id, kind, column_ids, options) VALUES (?, ?, ?, ?)"
            " ON CONFLICT DO NOTHING", (table_id, *index)
        )  # fmt: skip
        return made.rowcount == 1

    def drop_index(self, table_id: int, kind: str, column_ids: str) -> None:
        self._connection.execute(
            "DELETE FROM indexes WHERE table_id = ? AND kind = ? AND column_ids = ?",
            (table_id, kind, column_ids),
        )

    def next_generation(self, table_id: int) -> None:
        self._connection.execute(
            "UPDATE tables SET generation = generation + 1 WHERE table_id = ?", (table_id,)
        )

    def add(self, kind: str, table_id: int, version: int, values: Sequence[Any]) -> int:
        """A new entry of a versioned table, valid from `version` on; answers its number."""
        made = self._connection.execute(_INSERTIONS[kind], (table_id, *values, version, FOREVER))
        return int(made.lastrowid or 0)

    def close(self, kind: str, entries: Sequence[int], version: int) -> None:
        """End these entries' validity before `version`."""
        self._connection.executemany(
            f"UPDATE {kind} SET to_version = ? WHERE entry = ?", [(version, e) for e in entries]
        )

    def restore(self, kind: str, table_id: int, target: int, current: int) -> None:
        """Make what was valid at `target` valid again from `current + 1` on, and nothing else."""
        columns = ", ".join(("table_id", *VERSIONED[kind]))
        held = "table_id = ? AND from_version <= ? AND to_version > ?"
        self._connection.execute(
            f"INSERT INTO {kind} ({columns}, from_version, to_version) SELECT {columns}, ?, ? FROM {kind}"
            f" WHERE {held} AND NOT (from_version <= ? AND to_version > ?) ORDER BY entry",
            (current + 1, FOREVER, table_id, target, target, current, current),
        )
        self._connection.execute(
            f"UPDATE {kind} SET to_version = ? WHERE {held} AND NOT (from_version <= ? AND to_version > ?)",
            (current + 1, table_id, current, current, target, target),
        )

    def _earliest(self, table_id: int) -> float:
        """A microsecond after the last commit."""
        found = self._connection.execute(
            "SELECT at FROM commits WHERE table_id = ? ORDER BY version DESC LIMIT 1", (table_id,)
        ).fetchone()
        return (round(found[0] * 1_000_000) + 1) / 1_000_000 if found else 0.0

    def _take(self, table_id: int, counter: str, count: int) -> int:
        return int(
            self._connection.execute(
                f"UPDATE tables SET {counter} = {counter} + ? WHERE table_id = ? RETURNING {counter} - ?",
                (count, table_id, count),
            ).fetchone()[0]
        )


def _insertion(kind: str) -> str:
    columns = ("table_id", *VERSIONED[kind], "from_version", "to_version")
    return f"INSERT INTO {kind} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"


_INSERTIONS = {kind: _insertion(kind) for kind in VERSIONED}
