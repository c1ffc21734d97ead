"""Tables as views that statements read by their names."""

from __future__ import annotations

import threading
from collections import OrderedDict

import duckdb
from sqlglot import exp

from core.errors import BadSql
from core.jobs import Job
from core.query.float_statistics import without_statistics
from core.query.found import files_of
from core.query.source import OWN_NAMES, relation
from core.scan.footers import unchanged
from core.scan.snapshot import Column, Snapshot

MOST_STATEMENTS = 64
_statements: OrderedDict[tuple[object, ...], str] = OrderedDict()
_lock = threading.Lock()


Named = frozenset[str] | None
"""Case-folded names of columns; None for all columns."""


def make_view(
    own: duckdb.DuckDBPyConnection, view: str, snapshot: Snapshot, named: Named, job: Job
) -> None:
    """A view of the live rows, on this cursor alone, with the columns that are named at least.

    Decimals of more than 38 digits, which DuckDB has not, are text there with every digit; durations are
    whole numbers, counted in the column's unit.
    """
    own.execute(_statement(own, view, snapshot, _kept(snapshot, named), job))


def _kept(snapshot: Snapshot, named: Named) -> tuple[Column, ...]:
    """To bind a wide table takes longer than to answer many a question of a few columns."""
    _refuse_unspeakable(snapshot.name, [column.name for column in snapshot.columns])
    if named is None:
        return tuple(snapshot.columns)
    return tuple(c for c in snapshot.columns if c.name.casefold() in named) or tuple(snapshot.columns[:1])


def _statement(
    own: duckdb.DuckDBPyConnection, view: str, snapshot: Snapshot, columns: tuple[Column, ...], job: Job
) -> str:
    """What makes the view; kept where it reads files alone, since wide tables take longer to write down than
    many a question to answer."""
    made = (view, snapshot.name, snapshot.token, tuple(column.name for column in columns))
    with _lock:
        kept = _statements.get(made)
    if kept is not None:
        for file in files_of(snapshot):
            unchanged(file)
        return kept
    text = _written(own, view, snapshot, columns, job)
    if OWN_NAMES not in text:
        with _lock:
            _statements[made] = text
            if len(_statements) > MOST_STATEMENTS:
                _statements.popitem(last=False)
    return text


def _written(
    own: duckdb.DuckDBPyConnection, view: str, snapshot: Snapshot, columns: tuple[Column, ...], job: Job
) -> str:
    rows = relation(snapshot, columns, own, huge_as_text=True, job=job)
    values = [exp.alias_(without_statistics(snapshot, c), c.name, quoted=True) for c in columns]
    made = exp.Create(
        this=exp.to_identifier(view, quoted=True), kind="VIEW", expression=exp.select(*values).from_(rows),
        replace=True, properties=exp.Properties(expressions=[exp.TemporaryProperty()]),
    )  # fmt: skip
    return made.sql("duckdb")


def _refuse_unspeakable(table: str, columns: list[str]) -> None:
    """Columns that the engine has no name for, or would take for each other: it does not tell the upper and
    lower case of English letters apart."""
    first: dict[bytes, str] = {}
    for column in columns:
        if not column or "\0" in column:
            raise BadSql(
                f"table '{table}' cannot be read in SQL, which has no name for its column {column!r}",
                "Names are never empty there and hold no zero character",
                "Rename the column",
            )
        other = first.setdefault(column.encode().lower(), column)
        if other != column:
            raise BadSql(
                f"table '{table}' cannot be read in SQL with both columns '{other}' and '{column}'",
                "SQL does not tell upper from lower case in names",
                "Rename one of them",
            )
