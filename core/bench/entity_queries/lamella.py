"""Questions to entities in Lamella's own store."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from lamella.core.agg import count, mean
from lamella.core.bench.backends.lamella import NAME, LamellaStore
from lamella.core.bench.entities.data import entities
from lamella.core.bench.entity_queries.backend import COLUMNS, EntityQueries
from lamella.core.bench.workloads.entity_queries import PAGE, PAGE_ORDER
from lamella.core.filters import col
from lamella.core.filters.expr import Filter
from lamella.core.store import Table

CONDITIONS: dict[str, Filter] = {
    "equality": col("status") == "draft",
    "range": (col("views") > 1_000) & (col("views") < 5_000),
    "in": col("status").is_in(["draft", "review"]),
    "and": (col("status") == "draft") & (col("views") > 90_000),
    "or": (col("views") < 1_000) | (col("rating") == 5.0),
    "nested": (col("profile.city") == "Lagos") & ((col("profile.age") < 30) | (col("rating") > 4.0)),
    "regex": col("name").matches("^amber .*7$"),
}


class LamellaEntityQueries(LamellaStore, EntityQueries):
    @classmethod
    def describe(cls) -> str:
        return (
            f"{super().describe()}; answers in Arrow; what it decoded, and an order asked for twice, "
            "stay in memory until it is closed"
        )

    def fill(self, rows: int) -> None:
        self.open(writing=True)
        self._store.create_table(NAME, entities(0, rows))
        self.close()

    def open(self, writing: bool) -> None:
        super().open(writing)
        self._table: Table | None = None

    @property
    def table(self) -> Table:
        if self._table is None:
            self._table = self._store[NAME]
        return self._table

    def count(self) -> int:
        return self.table.count()

    def find_all(self) -> pa.Table:
        return self.table.read()

    def matching(self, name: str) -> pa.Table:
        return self.table.read(where=CONDITIONS[name])

    def named(self, name: str) -> pa.Table:
        return self.table.read(where=col("name") == name)

    def page(self, keys: Sequence[str], start: int = 0) -> pa.Table:
        return self.table.read(sort=list(keys), limit=PAGE, offset=start)

    def place_before(self, start: int) -> str | None:
        return self.table.page(start, columns=["_id"], sort=list(PAGE_ORDER)).next

    def page_after(self, place: str | None) -> pa.Table:
        return self.table.page(PAGE, place, sort=list(PAGE_ORDER)).rows

    def groups(self) -> pa.Table:
        return self.table.group_by("status").agg(n=count(), views=mean("views")).read()

    def project(self, names: Sequence[str]) -> pa.Table:
        return self.table.read(None if names == COLUMNS else list(names))

    def index_views(self) -> None:
        if not self.table.indexes:
            self.table.create_index("views")

    def as_table(self, answer: pa.Table, names: Sequence[str]) -> pa.Table:
        return answer
