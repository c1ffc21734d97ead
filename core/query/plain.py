"""Queries that only filter, sort, cut and choose columns: their rows are found by position, by an index where
there is one, and fetched as they are stored."""

from __future__ import annotations

from collections.abc import Sequence

from lamella.core.filters.expr import Filter, all_of
from lamella.core.query.query import Query, SortKey
from lamella.core.query.steps import Limit, Select, Sort, Step, Where


def plain(steps: Sequence[Step]) -> Query | None:
    """The steps as one query of a dataset's rows; None where they are more than that."""
    where: list[Filter] = []
    keys: tuple[SortKey, ...] = ()
    rest = list(steps)
    while rest and isinstance(step := rest[0], Where | Sort):
        rest.pop(0)
        if isinstance(step, Where):
            where.append(step.condition)
        else:
            keys = _by_last(step.keys, keys)
    columns, limit = _end(rest)
    if rest:
        return None
    return Query(columns, _met(where), keys, limit.count, limit.offset)


def _end(rest: list[Step]) -> tuple[tuple[str, ...] | None, Limit]:
    """The columns and the limit, which may come in either order, taken off the steps."""
    columns, limit = None, None
    while rest:
        step = rest[0]
        if isinstance(step, Select) and columns is None and len(set(step.columns)) == len(step.columns):
            columns = step.columns
        elif isinstance(step, Limit) and limit is None:
            limit = step
        else:
            break
        rest.pop(0)
    return columns, limit or Limit(None)


def _by_last(keys: tuple[SortKey, ...], before: tuple[SortKey, ...]) -> tuple[SortKey, ...]:
    """Sorted again, rows keep their earlier order where they are equal."""
    named = {key.column for key in keys}
    return (*keys, *(key for key in before if key.column not in named))


def _met(where: Sequence[Filter]) -> Filter | None:
    return (where[0] if len(where) == 1 else all_of(where)) if where else None
