"""Compares the answers of two engines to the same query: whether they are equal, and where they differ."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice
from typing import Any

import pyarrow as pa

from lamella.core.arrow.nested_values import python_values
from lamella.core.jobs import Job
from lamella.core.query.source import Engine

MOST_DIFFERENCES = 200
DIGITS = 9
"""Significant digits of floats that are compared: each engine adds in another order, which changes the last
digits."""


@dataclass(frozen=True)
class Difference:
    """A differing cell. Rows are numbered from 1. If one answer lacks the row, `column` is empty and the
    values are whole rows."""

    row: int
    column: str
    here: Any
    there: Any


@dataclass(frozen=True)
class Comparison:
    """`problem` is why the answers cannot be compared row by row; `has_more` means that there are further
    differences."""

    rows_here: int
    rows_there: int
    differences: tuple[Difference, ...]
    problem: str = ""
    has_more: bool = False

    @property
    def is_same(self) -> bool:
        return not self.problem and not self.differences and self.rows_here == self.rows_there


def compare_answers(own: pa.Table, engine: pa.Table, in_order: bool) -> Comparison:
    """Compare two answers. Unless `in_order`, the order of rows does not matter. Nulls equal each other, as
    do NaNs, and floats that differ only in their last digits."""
    counts = (own.num_rows, engine.num_rows)
    if own.schema.names != engine.schema.names:
        columns = sorted(set(own.schema.names) ^ set(engine.schema.names))
        return Comparison(*counts, (), f"The columns differ: {', '.join(columns) or 'in their order'}")
    rows = [list(zip(*map(python_values, table.columns), strict=True)) for table in (own, engine)]
    if not in_order:
        rows = _pair_rows(*rows)
    differences = list(islice(_differences(rows[0], rows[1], own.schema.names), MOST_DIFFERENCES + 1))
    return Comparison(
        *counts, tuple(differences[:MOST_DIFFERENCES]), has_more=len(differences) > MOST_DIFFERENCES
    )


Row = tuple[Any, ...]


def _pair_rows(own: Sequence[Row], engine: Sequence[Row]) -> list[list[Row]]:
    """The rows that are not in both answers, each side sorted, so that rows that nearly agree are paired."""
    ours, theirs = Counter(map(_plain, own)), Counter(map(_plain, engine))
    unpaired = []
    for rows, counts in ((own, theirs.copy()), (engine, ours.copy())):
        rest = []
        for row in rows:
            key = _plain(row)
            if counts[key] > 0:
                counts[key] -= 1
            else:
                rest.append(row)
        unpaired.append(sorted(rest, key=_plain))
    return unpaired


def _plain(row: Row) -> str:
    return repr(tuple(_round(value) for value in row))


def _round(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}") + 0.0 if math.isfinite(value) else str(value)
    if isinstance(value, list):
        return [_round(inner) for inner in value]
    if isinstance(value, dict):
        return {name: _round(inner) for name, inner in value.items()}
    return value.normalize() if isinstance(value, Decimal) and value.is_finite() else value


def _differences(own: Sequence[Row], engine: Sequence[Row], names: Sequence[str]) -> Iterator[Difference]:
    for number in range(max(len(own), len(engine))):
        ours = own[number] if number < len(own) else None
        theirs = engine[number] if number < len(engine) else None
        if ours is None or theirs is None:
            whole = [None if row is None else dict(zip(names, row, strict=True)) for row in (ours, theirs)]
            yield Difference(number + 1, "", *whole)
            continue
        for name, own_value, engine_value in zip(names, ours, theirs, strict=True):
            if _round(own_value) != _round(engine_value):
                yield Difference(number + 1, name, own_value, engine_value)


def compare_line(line_here: Any, line_there: Any, engine: Engine, in_order: bool, job: Job) -> Comparison:
    """Compare the answers of two queries: one on local rows, one on rows that the engine holds. Blocks."""
    job.report(0, 2, f"Asking {engine.title}")
    engine_answer = engine.read(line_there, job)
    job.report(1, 2, "Asking DuckDB")
    return compare_answers(line_here.read(job), engine_answer, in_order)
