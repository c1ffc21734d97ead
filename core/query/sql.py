"""SQL that people type, over named datasets."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import duckdb
import pyarrow as pa
import sqlglot
from sqlglot import exp

from core.dataset import Dataset
from core.errors import LamellaError, UnknownTable
from core.jobs import Job
from core.query.engine import cursor
from core.query.source import identifier, relation
from core.query.text_decimals import taken_for_number
from core.scan.snapshot import Snapshot


class BadSql(LamellaError):
    """A statement that cannot be parsed, names what is not there, or would change something."""


def run_sql(
    text: str, place: str, names: list[str], find: Callable[[str], Dataset], job: Job | None = None
) -> pa.Table:
    """The answer of one SELECT in DuckDB's dialect; `find` gives the dataset of each of `names` it reads.

    Decimals of more than 38 digits, which DuckDB has not, are text there with every digit; durations are
    whole numbers, counted in the column's unit.

    Raises `BadSql`, or `UnknownTable` for a table that `place` does not have.
    """
    statement = _parsed(text, names)
    wanted = _tables(statement, place, names)
    job = job or Job()
    with cursor(job, place) as own:
        try:
            snapshots = {name: find(name).snapshot() for name in wanted}
            _refuse_text_as_number(statement, snapshots)
            for name, snapshot in snapshots.items():
                job.check()
                _make_view(own, name, snapshot, job)
            return own.sql(text).to_arrow_table()
        except duckdb.InterruptException:
            raise
        except duckdb.ParserException as error:
            raise BadSql("the statement cannot be read", str(error), _quote_hint(text, names)) from error
        except duckdb.Error as error:
            raise BadSql("the statement failed", str(error)) from error


def _parsed(text: str, names: list[str]) -> exp.Expr:
    try:
        statements = [s for s in sqlglot.parse(text, dialect="duckdb") if s is not None]
    except sqlglot.errors.SqlglotError as error:
        raise BadSql(
            "the statement cannot be read", str(error).splitlines()[0], _quote_hint(text, names)
        ) from error
    if len(statements) != 1:
        raise BadSql(f"there are {len(statements)} statements", fix="Give exactly one SELECT")
    if not isinstance(statements[0], exp.Query):
        kind = text.split(maxsplit=1)[0].upper()
        raise BadSql(
            f"{kind} is not a question", "SQL here only reads", "Change tables through insert, update, delete"
        )
    return statements[0]


def _quote_hint(text: str, names: list[str]) -> str:
    """What helps where the name of a table is a word of SQL."""
    words = set(re.findall(r'(?<!")\b\w+\b(?!")', text))
    with duckdb.connect() as connection:
        for name in words.intersection(names):
            try:
                connection.extract_statements(f"SELECT * FROM {name}")
            except duckdb.ParserException:
                return f'{name} is a word of SQL: write "{name}" where the table is meant'
    return ""


def _tables(statement: exp.Expr, place: str, names: list[str]) -> list[str]:
    own = {cte.alias_or_name.casefold() for cte in statement.find_all(exp.CTE)}
    known: Mapping[str, str] = {**{name.casefold(): name for name in names}, **{name: name for name in names}}
    found = dict.fromkeys(t.name for t in statement.find_all(exp.Table) if _is_plain(t))
    meant = {name: known.get(name, known.get(name.casefold())) for name in found}
    for name, table in meant.items():
        if table is None and name.casefold() not in own:
            raise UnknownTable(name, place, names)
    tables = list(dict.fromkeys(table for table in meant.values() if table is not None))
    _refuse_lookalikes(tables)
    return tables


def _refuse_lookalikes(tables: list[str]) -> None:
    """The engine would take one for the other."""
    first: dict[str, str] = {}
    for table in tables:
        other = first.setdefault(table.casefold(), table)
        if other != table:
            raise BadSql(
                f"tables '{other}' and '{table}' cannot be read in one statement",
                "SQL does not tell upper from lower case in names",
                "Rename one of them",
            )


def _is_plain(table: exp.Table) -> bool:
    """A name, and not a table function such as read_csv or a schema of DuckDB's own."""
    return isinstance(table.this, exp.Identifier) and not table.db


def _refuse_text_as_number(statement: exp.Expr, snapshots: Mapping[str, Snapshot]) -> None:
    found = taken_for_number(statement, snapshots)
    if found is not None:
        table, column = found
        raise BadSql(
            f"column '{column}' of table '{table}' cannot be ordered, or compared with a number, in SQL",
            "It holds decimals of more than 38 digits, which are text there",
            "Compare it with = and all its digits in quotes, or ask read(where=, sort=)",
        )


def _make_view(own: duckdb.DuckDBPyConnection, name: str, snapshot: Snapshot, job: Job) -> None:
    _refuse_unspeakable(name, [column.name for column in snapshot.columns])
    values = [
        exp.alias_(exp.column(identifier(c), quoted=True), c.name, quoted=True) for c in snapshot.columns
    ]
    query = exp.select(*values).from_(relation(snapshot, snapshot.columns, own, huge_as_text=True, job=job))
    view = exp.Create(
        this=exp.to_identifier(name, quoted=True), kind="VIEW", expression=query, replace=True,
        properties=exp.Properties(expressions=[exp.TemporaryProperty()]),
    )  # fmt: skip
    own.execute(view.sql("duckdb"))


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
