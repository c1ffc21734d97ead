"""Turns hits into a filter that keeps their rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lamella.core.arrow.arrays import combine_chunks, from_numpy
from lamella.core.arrow.nested_values import python_values
from lamella.core.errors import BadQuery, visible
from lamella.core.filters.expr import Filter, Predicate, any_of
from lamella.core.filters.kinds import COMPARABLE, Kind, kind_of
from lamella.core.jobs import Job
from lamella.core.query.cell_search.hits import Hits
from lamella.core.query.cell_search.pattern import TextPattern, period_condition
from lamella.core.query.cell_search.search import Rows

MOST_VALUES = 1_000
"""The maximum number of values of a column in the filter."""
ROWS_AT_ONCE = 100_000
FIX = "Search for a longer text, or only in columns of text"


def condition_of_hits(rows: Rows, hits: Hits, pattern: TextPattern, job: Job | None = None) -> Filter:
    """The filter that rows with a hit meet. Columns of text use the pattern itself, dates that start alike
    their range, and other columns the list of matching values. Blocks.

    Raises `BadQuery` if a column has too many of these, or values that filters cannot compare.
    """
    work = job or Job()
    parts = [
        _condition(rows, name, hits.rows_of(name), pattern, work)
        for name in rows.schema.names
        if name in hits.columns
    ]
    return parts[0] if len(parts) == 1 else any_of(parts)


def _condition(rows: Rows, name: str, numbers: np.ndarray, pattern: TextPattern, job: Job) -> Filter:
    type_ = rows.schema.field(name).type
    kind = kind_of(type_)
    if kind is Kind.TEXT:
        return pattern.predicate(name)
    if kind not in COMPARABLE:
        raise BadQuery(
            f"Hits in column '{visible(name)}' cannot be turned into a filter",
            f"Its type is {kind.value}, which filters do not compare with a text",
            FIX,
        )
    period = period_condition(pattern, name, type_)
    if period is not None:
        return period
    values = _values(rows, name, numbers, job)
    return Predicate(name, "eq", (values[0],)) if len(values) == 1 else Predicate(name, "in", tuple(values))


def _values(rows: Rows, name: str, numbers: np.ndarray, job: Job) -> list[Any]:
    """The values in these rows, each once, ascending."""
    distinct_values: pa.Array | None = None
    for offset in range(0, rows.num_rows, ROWS_AT_ONCE):
        first, stop = np.searchsorted(numbers, [offset, offset + ROWS_AT_ONCE])
        page_numbers = numbers[first:stop]
        job.report(offset, rows.num_rows)
        if not len(page_numbers):
            continue
        low, high = int(page_numbers[0]), int(page_numbers[-1])
        page = combine_chunks(rows.page(low, high - low + 1, [name]).column(0)).take(
            from_numpy(page_numbers - low)
        )
        page = page.cast(page.type.value_type) if pa.types.is_dictionary(page.type) else page
        distinct_values = pc.unique(
            page if distinct_values is None else pa.concat_arrays([distinct_values, page])
        )
        if len(distinct_values) > MOST_VALUES:
            raise BadQuery(
                f"Hits in column '{visible(name)}' cannot be turned into a filter",
                f"They have more than {MOST_VALUES:,} different values",
                FIX,
            )
    assert distinct_values is not None
    values = [value for value in python_values(distinct_values) if value is not None]
    return sorted(values) if kind_of(distinct_values.type) is not Kind.BINARY else values
