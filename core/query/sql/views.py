"""Tables as views that statements read by their names."""

from __future__ import annotations

from typing import Any

import duckdb
from sqlglot import exp

from lamella.core.errors import BadSql
from lamella.core.jobs import Job
from lamella.core.query.decoded import DecodedRows, Decodings
from lamella.core.query.float_statistics import without_statistics
from lamella.core.query.found import files_of
from lamella.core.query.masks import pays
from lamella.core.query.prepared import Prepared
from lamella.core.query.recent import Recent
from lamella.core.query.source import ONCE, relation
from lamella.core.query.sql.statement import Statement
from lamella.core.scan.footers import unchanged
from lamella.core.scan.snapshot import Column, Snapshot

MOST_STATEMENTS = 64

_statements = Recent[tuple[object, ...], tuple[str, Decodings | None]](MOST_STATEMENTS)


def make_view(
    prepared: Prepared[Any], view: str, snapshot: Snapshot, statement: Statement, job: Job
) -> Decodings | None:
    """A view of the live rows, on this cursor alone, with the columns at least that the statement names.

    Decimals of more than 38 digits, which DuckDB has not, are text there with every digit; durations are
    whole numbers, counted in the column's unit.

    Gives the rows that it is, where these are in memory and may be again.
    """
    _refuse_unspeakable(snapshot.name, [column.name for column in snapshot.columns])
    columns = _named(snapshot, statement)
    decodings = Decodings() if columns and _is_served_from_memory(snapshot, statement) else None
    if decodings is not None and _is_of_files_alone(snapshot):  # in memory, rows are what the view would be
        called = tuple(column.name for column in columns)
        if decodings.hand(DecodedRows(view, tuple(files_of(snapshot)), columns, called), prepared, job):
            return decodings
        decodings = None
    own = prepared.cursor
    own.execute(_statement(own, view, snapshot, columns or _any(snapshot, statement), decodings, job))
    return None


def _is_served_from_memory(snapshot: Snapshot, statement: Statement) -> bool:
    """Only files have statistics, by which the engine joins and sorts in less memory, and passes over much of
    a large file that is filtered."""
    return statement.groups and (not statement.filters or pays(snapshot))


def _is_of_files_alone(snapshot: Snapshot) -> bool:
    pending = snapshot.overlay is not None or len(files_of(snapshot)) < len(snapshot.segments)
    return not pending and not len(snapshot.deleted)


def _named(snapshot: Snapshot, statement: Statement) -> tuple[Column, ...]:
    """To bind a wide table takes longer than to answer many a question of a few columns."""
    named = statement.columns or ()
    return tuple(c for c in snapshot.columns if c.name.casefold() in named)


def _any(snapshot: Snapshot, statement: Statement) -> tuple[Column, ...]:
    return snapshot.columns if statement.columns is None else snapshot.columns[:1]


def _statement(
    own: duckdb.DuckDBPyConnection, view: str, snapshot: Snapshot, columns: tuple[Column, ...],
    decodings: Decodings | None, job: Job,
) -> str:  # fmt: skip
    """What makes the view; kept where others can read what it reads, since wide tables take longer to write
    down than many a question to answer."""
    names = tuple(column.name for column in columns)
    made = (view, snapshot.name, snapshot.token, names, decodings is None)
    text, used = _statements.get(made) or ("", None)
    for file in files_of(snapshot) if text else ():
        unchanged(file)
    if text and (used is None or used.hand_again(own)):
        return text
    text = _written(own, view, snapshot, columns, decodings, job)
    if ONCE not in text and not (decodings and decodings.growing):
        _statements.put(made, (text, decodings))
    return text


def _written(
    own: duckdb.DuckDBPyConnection, view: str, snapshot: Snapshot, columns: tuple[Column, ...],
    decodings: Decodings | None, job: Job,
) -> str:  # fmt: skip
    rows = relation(snapshot, columns, own, huge_as_text=True, job=job, decodings=decodings)
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
