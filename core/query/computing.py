"""The engine at work on a query, whose values may turn out not to fit."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import duckdb

from lamella.core.errors import BadQuery
from lamella.core.jobs import Job
from lamella.core.query.engine import cursor

_WHERE = re.compile(r" when casting from source column \S+| Use TRY\(.*")
"""Names of columns and functions that nobody has asked for."""


@contextmanager
def computing(place: str, job: Job) -> Iterator[duckdb.DuckDBPyConnection]:
    """A cursor as `core.query.engine.cursor` gives it; a value that does not fit leaves as `BadQuery`."""
    with cursor(job, place) as own, not_too_deep(place), fitting(place):
        yield own


@contextmanager
def fitting(place: str) -> Iterator[None]:
    """A value that does not fit leaves as `BadQuery`."""
    try:
        yield
    except (
        duckdb.OutOfRangeException,
        duckdb.ConversionException,
        duckdb.InvalidInputException,
    ) as error:
        why = _WHERE.sub("", str(error).partition("\n")[0].partition("Error: ")[2])
        raise BadQuery(
            f"{place}: a value cannot be computed",
            why or str(error),
            "Filter such rows out first, or compute with cast('float64') or cast('decimal(38, 0)')",
        ) from error


@contextmanager
def not_too_deep(place: str) -> Iterator[None]:
    """A query that nests deeper than Python's stack still has room for leaves as `BadQuery`."""
    try:
        yield
    except RecursionError as error:
        raise BadQuery(
            f"{place}: the query nests deeper than there is room for",
            "What asks it is deep in calls itself",
            "Ask it from less deep, or in two queries with a table between them",
        ) from error
