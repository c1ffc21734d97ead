"""What is asked for as one value of many rows, as plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lamella.core.query.expressions import Expression

if TYPE_CHECKING:
    from lamella.core.filters.expr import Filter


@dataclass(frozen=True)
class Aggregate:
    """`function` is an id of the table in `core.query.aggregates`; `where` asks of the rows before they are
    grouped which of them count."""

    function: str
    value: Expression | None = None
    where: Filter | None = None
    parameter: float | None = None
