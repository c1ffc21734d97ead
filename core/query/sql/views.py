"""Tables as views that statements read by their names."""

from __future__ import annotations

import duckdb
import pyarrow as pa
from sqlglot import exp

from core.errors import BadSql
from core.jobs import Job
from core.query.duckdb_types import holds
from core.query.found import files_of
from core.query.source import POSITION, identifier, relation
from core.scan.footers import unchanged
from core.scan.snapshot import Column, Snapshot


def make_view(own: duckdb.DuckDBPyConnection, view: str, snapshot: Snapshot, job: Job) -> None:
    """A view of the live rows, on this cursor alone.

    Decimals of more than 38 digits, which DuckDB has not, are text there with every digit; durations are
    whole numbers, counted in the column's unit.
    """
    _refuse_unspeakable(snapshot.name, [column.name for column in snapshot.columns])
    rows = relation(snapshot, snapshot.columns, own, huge_as_text=True, job=job)
    values = [exp.alias_(_value(snapshot, c), c.name, quoted=True) for c in snapshot.columns]
    made = exp.Create(
        this=exp.to_identifier(view, quoted=True), kind="VIEW", expression=exp.select(*values).from_(rows),
        replace=True, properties=exp.Properties(expressions=[exp.TemporaryProperty()]),
    )  # fmt: skip
    own.execute(made.sql("duckdb"))


def _value(snapshot: Snapshot, column: Column) -> exp.Expr:
    """Statistics of floats leave NaN out, and DuckDB would believe them: it must not see whose they are."""
    value = exp.column(identifier(column), quoted=True)
    if not holds(column.type, pa.types.is_floating) or not _has_statistics(snapshot, column):
        return value
    always = exp.GTE(this=exp.column(POSITION, quoted=True), expression=exp.Literal.number(0))
    return exp.Case(ifs=[exp.If(this=always, true=value)])


def _has_statistics(snapshot: Snapshot, column: Column) -> bool:
    files = (file for file in files_of(snapshot) if column.key in file.names)
    return any(unchanged(file).has_statistics(file.names[column.key]) for file in files)


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
