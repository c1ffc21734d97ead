"""Entities in a table of SQLite, and objects as BLOBs in another."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from lamella.core.bench.backends.sqlite import AsDeployed, AsPublished
from lamella.core.bench.backends.sqlite_entities import INSERT, SQLiteEntitiesFile, as_row
from lamella.core.bench.catalog.backend import CatalogBackend
from lamella.core.bench.entities.data import Entity

_OBJECTS = "CREATE TABLE objects (key TEXT PRIMARY KEY, body BLOB NOT NULL)"
_COLUMNS = (
    "SELECT t.name, c.name FROM sqlite_schema t JOIN pragma_table_info(t.name) c "
    "WHERE t.type = 'table' AND c.name <> 'id'"
)


class SQLiteCatalogFile(SQLiteEntitiesFile, CatalogBackend):
    cannot = {"commit_and_put": "one file has one writer at a time: what ran beside it would wait for it"}  # noqa: RUF012

    def fill(self, made: list[Entity]) -> None:
        self._connection.execute(_OBJECTS)
        super().fill(made)

    def tables(self) -> Mapping[str, Sequence[str]]:
        found = defaultdict[str, list[str]](list)
        for table, column in self._connection.execute(_COLUMNS):
            found[table].append(column)
        return found

    def create_one(self, entity: Entity) -> int:
        cursor = self._connection.execute(INSERT, as_row(entity))
        self._connection.commit()
        assert cursor.lastrowid is not None
        return cursor.lastrowid

    def names_rated(self, rating: float, limit: int) -> Sequence[str]:
        asked = "SELECT name FROM entities WHERE rating = ? ORDER BY id LIMIT ?"
        return [name for (name,) in self._connection.execute(asked, (rating, limit))]

    def put_object(self, key: str, body: bytes) -> None:
        self._connection.execute("INSERT OR REPLACE INTO objects VALUES (?, ?)", (key, body))
        self._connection.commit()

    def get_object(self, key: str) -> bytes:
        asked = "SELECT body FROM objects WHERE key = ?"
        body: bytes = self._connection.execute(asked, (key,)).fetchone()[0]
        return body

    def head_object(self, key: str) -> int:
        asked = "SELECT length(body) FROM objects WHERE key = ?"
        size: int = self._connection.execute(asked, (key,)).fetchone()[0]
        return size

    def list_objects(self, prefix: str) -> Sequence[str]:
        asked = "SELECT key FROM objects WHERE key > ? AND key < ? ORDER BY key"
        return [key for (key,) in self._connection.execute(asked, (f"{prefix}/", f"{prefix}0"))]


class SQLiteCatalog(AsPublished, SQLiteCatalogFile): ...


class SQLiteWalCatalog(AsDeployed, SQLiteCatalogFile): ...
