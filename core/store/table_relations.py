"""What a row of a table is related to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa

from lamella.core.filters.condition import Condition, condition_of, ids_listed
from lamella.core.filters.expr import Filter, all_of
from lamella.core.jobs import Job
from lamella.core.query.pages import Page
from lamella.core.query.scan_query import read_scan, scan_query_of
from lamella.core.store.table_rows import TableHandle

if TYPE_CHECKING:
    from lamella.core.relations import Direction, Link
    from lamella.core.relations.following import AsOf
    from lamella.core.store.table import Table
    from lamella.core.store.table_version import State


class TableRelations(TableHandle):
    """Relations are followed both ways: `flights.related(5, "airlines")`, `airlines.related(2, "flights")`.

    Where several lead to the other table, `through` names one; where one leads from a table to itself,
    `direction` says whether the rows are meant that a row points at ("out"), or that point at it ("in").
    `as_of` is a time, a name that a version of both tables has, or versions by the tables' names: both are
    seen as they were; the relation, which has no versions, is followed by the columns that it has now.
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
        as_of: AsOf | None = None,
    ) -> pa.Table:
        """The rows of the table `to` that are related to the row with this `_id`; all else as for `read`."""
        from lamella.core.relations.following import related

        _, link, state, other = self._ends(to, through, direction, as_of)
        query = scan_query_of(other.snapshot, columns, where, sort, limit, offset)
        chosen = related(link, state, row_id, other, job or Job()).and_meeting(query.where)
        return read_scan(other.snapshot, replace(query, where=chosen.where), job, within=chosen.within)

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
        as_of: AsOf | None = None,
    ) -> Page:
        """`size` of them behind the cursor `after`, and the cursor of the next page; see `page`."""
        table, link, state, other = self._ends(to, through, direction, as_of)
        condition = _related(link, state, row_id, other, where, job)
        version = None if as_of is None else other.version
        return table.page(size, after, columns, condition, sort, job, as_of=version)

    def related_counts(
        self,
        row_ids: Sequence[int],
        to: str,
        where: Condition | None = None,
        job: Job | None = None,
        *,
        through: str | None = None,
        direction: Direction | None = None,
        as_of: AsOf | None = None,
    ) -> pa.Table:
        """`_id` and `count`: how many rows of `to`, of those that meet `where`, each row is related to.

        Rows come in the order given. All of them are counted at once.
        """
        from lamella.core.relations.following import counts

        ids = ids_listed(row_ids, f"{self.name}: ids")
        _, link, state, other = self._ends(to, through, direction, as_of)
        met = condition_of(where, f"{other.row.name}: where", other.snapshot)
        return counts(link, state, ids, other.snapshot, met, job or Job())

    def _ends(
        self, to: str, through: str | None, direction: Direction | None, as_of: AsOf | None
    ) -> tuple[Table, Link, State, State]:
        """The other table, how this one leads to it, and both as they are or were."""
        link, other = self.store.relation_between(self.name, to, through, direction), self.store[to]
        if as_of is None:
            return other, link, self.state(), other.state()
        from lamella.core.relations.following import link_at, versions

        when, other_when = versions(link, as_of)
        here, there = self.state(when), other.state(other_when)
        own = (self.snapshot(), here.snapshot)
        return other, link_at(link, own, (other.snapshot(), there.snapshot)), here, there


def _related(
    link: Link, state: State, row_id: int, other: State, where: Condition | None, job: Job | None
) -> Filter:
    from lamella.core.relations.following import condition

    met = condition_of(where, f"{other.row.name}: where", other.snapshot)
    pointed = condition(link, state, row_id, other, job or Job())
    return pointed if met is None else all_of((pointed, met))
