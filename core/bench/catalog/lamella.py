"""Entities in Lamella's own store, and objects as files in its folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lamella.core.bench.backends.lamella import NAME
from lamella.core.bench.backends.lamella_entities import LamellaEntities
from lamella.core.bench.catalog.backend import CatalogBackend
from lamella.core.bench.catalog.files import Files
from lamella.core.bench.entities.data import Entity
from lamella.core.filters import col
from lamella.core.schema import ID


class LamellaCatalog(LamellaEntities, CatalogBackend):
    @classmethod
    def describe(cls) -> str:
        return f"{super().describe()}; objects are files in its folder, each synced and renamed into place"

    def open(self, writing: bool) -> None:
        super().open(writing)
        self._files = Files(self.folder / "objects")

    def tables(self) -> Mapping[str, Sequence[str]]:
        columns = {name: self._store[name].schema.names for name in self._store.tables}
        return {table: [name for name in names if name != ID] for table, names in columns.items()}

    def create_one(self, entity: Entity) -> int:
        """A commit does not say the ids it gave: they ascend, so the last row has it."""
        table = self._store[NAME]
        table.insert([entity])
        found: int = table.read(columns=[ID], limit=1, offset=table.num_rows - 1)[ID][0].as_py()
        return found

    def names_rated(self, rating: float, limit: int) -> Sequence[str]:
        rated = self._store[NAME].read(columns=["name"], where=col("rating") == rating, limit=limit)
        names: list[str] = rated["name"].to_pylist()
        return names

    def put_object(self, key: str, body: bytes) -> None:
        self._files.put(key, body)

    def get_object(self, key: str) -> bytes:
        return self._files.get(key)

    def head_object(self, key: str) -> int:
        return self._files.size(key)

    def list_objects(self, prefix: str) -> Sequence[str]:
        return self._files.keys(prefix)
