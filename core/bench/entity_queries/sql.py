"""The questions in SQL, as far as systems of SQL share them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from lamella.core.bench.entity_queries.backend import EntityQueries
from lamella.core.bench.workloads.entity_queries import PAGE, PAGE_ORDER

ROWS = "SELECT * FROM entities"
SHARED_CONDITIONS = {
    "equality": "status = 'draft'",
    "range": "views > 1000 AND views < 5000",
    "in": "status IN ('draft', 'review')",
    "and": "status = 'draft' AND views > 90000",
    "or": "views < 1000 OR rating = 5.0",
}


class SQLEntityQueries(EntityQueries):
    conditions: ClassVar[Mapping[str, str]]

    @abstractmethod
    def ask(self, sql: str, *values: Any) -> Any:
        """All rows of the answer, in the system's own form."""

    def ask_few(self, sql: str, *values: Any) -> Any:
        """The same where the rows are few."""
        return self.ask(sql, *values)

    @abstractmethod
    def one(self, sql: str) -> tuple[Any, ...]:
        """The one row of an answer."""

    def count(self) -> int:
        return int(self.one("SELECT count(*) FROM entities")[0])

    def find_all(self) -> Any:
        return self.ask(ROWS)

    def matching(self, name: str) -> Any:
        return self.ask(f"{ROWS} WHERE {self.conditions[name]}")

    def named(self, name: str) -> Any:
        return self.ask_few(f"{ROWS} WHERE name = ?", name)

    def page(self, keys: Sequence[str], start: int = 0) -> Any:
        return self.ask_few(f"{ROWS} {order_by(keys)} LIMIT {PAGE} OFFSET {start}")

    def place_before(self, start: int) -> tuple[Any, ...]:
        return self.one(f"SELECT rating, _id FROM entities {order_by(PAGE_ORDER)} LIMIT 1 OFFSET {start - 1}")

    def page_after(self, place: tuple[Any, ...] | None) -> Any:
        if place is None:
            return self.page(PAGE_ORDER)
        behind = "rating < ? OR (rating = ? AND _id > ?)"
        rating, row_id = place
        page = f"{ROWS} WHERE {behind} {order_by(PAGE_ORDER)} LIMIT {PAGE}"
        return self.ask_few(page, rating, rating, row_id)

    def groups(self) -> Any:
        return self.ask_few("SELECT status, count(*), avg(views) FROM entities GROUP BY status")

    def project(self, names: Sequence[str]) -> Any:
        return self.ask(f"SELECT {', '.join(names)} FROM entities")


def order_by(keys: Sequence[str]) -> str:
    told = (f"{key[1:]} DESC" if key.startswith("-") else key for key in keys)
    return f"ORDER BY {', '.join([*told, '_id'])}"
