"""SQL written anew: laid out in lines, or from the dialect of another database in DuckDB's."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from lamella.core.errors import BadSql, LamellaError
from lamella.core.jobs import Job
from lamella.core.libraries import duckdb, sqlglot
from lamella.core.query.sql.run import SqlRequest, run_sql
from lamella.core.query.sql.script import lexemes, placeholders, statements_of
from lamella.core.query.sql.sources import Sources

LONGEST = 200_000
"""Characters of a text that is written anew: sqlglot takes a second for about as many."""
DIALECTS = {
    "postgres": "PostgreSQL", "sqlite": "SQLite", "spark": "Spark", "mysql": "MySQL", "tsql": "SQL Server",
    "bigquery": "BigQuery", "snowflake": "Snowflake", "oracle": "Oracle",
}  # fmt: skip
"""In the order in which they are tried."""
_PERCENT = "'%"
"""What formats of dates begin with in MySQL, and not in Spark, which has functions of the same names."""
_SAFE = "safe_"
"""What functions begin with in BigQuery that others read as functions without a meaning."""


def laid_out(text: str) -> str:
    """The statements over several lines, with keywords in capitals. Raises `BadSql` for what is no SQL, and
    for a text that is too long. Comments stay, between the same words."""
    if len(text) > LONGEST:
        raise BadSql(f"a text of more than {LONGEST:,} characters is not laid out", fix="Select a part of it")
    parts = statements_of(text)
    edges = [0, *(part.end for part in parts[:-1]), len(text)]
    formatted = [
        _laid_out(text[start:stop], part.line)
        for start, stop, part in zip(edges, edges[1:], parts, strict=False)
    ]
    ends = any(one.text == ";" for one in lexemes(text[parts[-1].stop :])) if parts else False
    return ";\n\n".join(formatted) + (";" if ends else "")


def _laid_out(text: str, line: int) -> str:
    try:
        statements = sqlglot.transpile(text, read="duckdb", write="duckdb", pretty=True)
    except sqlglot.errors.SqlglotError as error:
        reason = str(error).partition("\n")[0]
        raise BadSql(f"the statement in line {line} is not laid out", reason) from error
    return ";\n".join(statements)


@dataclass(frozen=True)
class Translation:
    """`dialect` is what the text was written in, as people call it."""

    dialect: str
    text: str


def translated(text: str, sources: Sources, job: Job) -> Translation | None:
    """One statement of another database as DuckDB takes it, the first dialect in which it can be read and
    then names what there is; None where there is none. Nothing runs. Blocks for some 100 ms."""
    if len(text) > LONGEST:
        return None
    parameters = {one.name: None for one in placeholders(text)}
    request = SqlRequest(parameters or None, described=True)
    for candidate in _candidates(text):
        job.check()
        try:
            run_sql(candidate.text, sources, request, job)
        except LamellaError:
            continue
        return candidate
    return None


def _rank(dialect: str, text: str) -> int:
    """What a text is surely of goes before the others, and what it is surely not of behind them."""
    if dialect == "bigquery" and _SAFE in text.casefold():
        return -1
    return 1 if dialect == "spark" and _PERCENT in text else 0


def _candidates(text: str) -> Iterator[Translation]:
    seen = {" ".join(text.split()).casefold()}
    for dialect in sorted(DIALECTS, key=lambda one: _rank(one, text)):
        name = DIALECTS[dialect]
        try:
            translated = sqlglot.transpile(text, read=dialect, write="duckdb", pretty="\n" in text)
        except (sqlglot.errors.SqlglotError, ValueError):
            continue
        if len(translated) != 1 or " ".join(translated[0].split()).casefold() in seen:
            continue
        seen.add(" ".join(translated[0].split()).casefold())
        try:
            duckdb.extract_statements(translated[0])
        except duckdb.Error:
            continue
        yield Translation(name, translated[0])
