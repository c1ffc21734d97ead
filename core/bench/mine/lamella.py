"""Somebody's own table in a store of Lamella's."""

from __future__ import annotations

import pyarrow as pa

from lamella.core.bench.backends.lamella import NAME, LamellaStore
from lamella.core.bench.mine.backend import MineBackend
from lamella.core.filters import Filter, Predicate, all_of


class Lamella(LamellaStore, MineBackend):
    def load(self, rows: int) -> None:
        self._store.create_table(NAME, self.copied.reader(rows))

    def read(self) -> pa.Table:
        return self._store[NAME].read()

    def condition(self) -> Filter | None:
        return self.copied.where

    def filter(self) -> pa.Table:
        return self._store[NAME].read(where=self.copied.where)

    def update(self) -> None:
        change = self.copied.change
        assert change is not None
        if change.add:
            self._store[NAME].update_where(self._held(change.column), {"$inc": {change.column: change.add}})
        else:
            self._store[NAME].update_where(self.copied.where, {"$set": {change.column: change.text}})

    def as_table(self, answer: pa.Table) -> pa.Table:
        return answer.select(self.copied.schema.names)

    def _held(self, column: str) -> Filter:
        """Null stays null, as in SQL; `$inc` would make a number of it, as MongoDB does of a missing
        field."""
        known = Predicate(column, "not_null")
        return known if self.copied.where is None else all_of((self.copied.where, known))
