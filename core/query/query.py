"""What is asked of a dataset, as plain data."""

from __future__ import annotations

from dataclasses import dataclass

from lamella.core.filters.expr import Filter
from lamella.core.scan.snapshot import SortKey


@dataclass(frozen=True)
class Query:
    """`columns=None` means all; an empty `sort` means the dataset's own order."""

    columns: tuple[str, ...] | None = None
    where: Filter | None = None
    sort: tuple[SortKey, ...] = ()
    limit: int | None = None
    offset: int = 0
