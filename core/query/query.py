"""What is asked of a dataset, as plain data."""

from __future__ import annotations

from dataclasses import dataclass

from lamella.core.filters.expr import Filter


@dataclass(frozen=True)
class SortKey:
    """Nulls come last in both directions; NaN counts as greater than every number."""

    column: str
    descending: bool = False


@dataclass(frozen=True)
class Query:
    """`columns=None` means all; an empty `sort` means the dataset's own order."""

    columns: tuple[str, ...] | None = None
    where: Filter | None = None
    sort: tuple[SortKey, ...] = ()
    limit: int | None = None
    offset: int = 0
