"""What a row of a table is related to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from core.arguments import Condition, condition_of, ids_listed
from core.filters.expr import Filter, all_of
from core.jobs import Job
from core.query.pages import Page
from core.store.handle import TableHandle

if TYPE_CHECKING:
    from core.relations import Direction


class TableRelations(TableHandle):
    """Relations are followed both ways: `flights.related(5, "airlines")`, `airlines.related(2, "flights")`.

    Where several lead to the other table, `through` names one; where one leads from a table to itself,
    `direction` says whether the rows are meant that a row points at ("out"), or that point at it ("in").
    Each method raises `UnknownTable`, `UnknownRow`, and `StoreProblem` where no relation leads there, or none
    that can be followed.
    """

    def related(  # noqa: PLR0913 -- all that can be asked of a table, by keyword
        self,
        row_id: int,
        to: str,
        columns: list[str] | None = None,
        where: Condition | None = None,
        sort: list[str] | None = None,
        limit: int | None = None,
        offset: int = 0,
        job: Job | None = None,
        *,
        through: str | None = None,
        direction: Direction | None = None,
    ) -> pa.Table:
        """The rows of the table `to` that are related to the row with this `_id`; all else as for `read`."""
        condition = self._related(row_id, to, through, direction, where, job)
        return self.store[to].read(columns, condition, sort, limit, offset, job)

    def related_page(  # noqa: PLR0913 -- as above
        self,
        row_id: int,
        to: str,
        size: int,
        after: str | None = None,
        columns: list[str] | None = None,
        where: Condition | None = None,
        sort: list[str] | None = None,
        job: Job | None = None,
        *,
        through: str | None = None,
        direction: Direction | None = None,
    ) -> Page:
        """`size` of them behind the cursor `after`, and the cursor of the next page; see `page`."""
        condition = self._related(row_id, to, through, direction, where, job)
        return self.store[to].page(size, after, columns, condition, sort, job)

    def related_counts(
        self,
        row_ids: Sequence[int],
        to: str,
        where: Condition | None = None,
        job: Job | None = None,
        *,
        through: str | None = None,
        direction: Direction | None = None,
    ) -> pa.Table:
        """`_id` and `count`: how many rows of `to`, of those that meet `where`, each row is related to.

        Rows come in the order given. All of them are counted at once.
        """
        from core.relations.following import counts

        ids = ids_listed(row_ids, f"{self.name}: ids")
        link = self.store.relation_between(self.name, to, through, direction)
        other = self.store[to].snapshot()
        met = condition_of(where, f"{other.name}: where", other)
        return counts(link, self._reader.current(), ids, other, met, job or Job())

    def _related(
        self,
        row_id: int,
        to: str,
        through: str | None,
        direction: Direction | None,
        where: Condition | None,
        job: Job | None,
    ) -> Filter:
        from core.relations.following import condition

        link = self.store.relation_between(self.name, to, through, direction)
        other = self.store[to].state()
        met = condition_of(where, f"{other.row.name}: where", other.snapshot)
        pointed = condition(link, self._reader.current(), row_id, other, job or Job())
        return pointed if met is None else all_of((pointed, met))
