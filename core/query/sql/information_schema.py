"""What a statement can name, as tables of `information_schema`, and the statements that list it in various
databases."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from lamella.core.arrow.types import type_text
from lamella.core.errors import BadSql, LamellaError
from lamella.core.jobs import Job
from lamella.core.libraries import exp
from lamella.core.query.duckdb_types import sql_type
from lamella.core.query.source import Source
from lamella.core.query.sql.script import Lexeme, lexemes
from lamella.core.scan.snapshot import Snapshot, snapshot_of_rows

SCHEMA = "information_schema"
TABLES, COLUMNS = f"{SCHEMA}.tables", f"{SCHEMA}.columns"
_CATALOG, _MAIN = "lamella", "main"
_CATALOGS = frozenset(
    [
        "sqlite_master", "sqlite_schema", "pg_tables", "pg_class", "duckdb_tables", "duckdb_columns",
        "duckdb_views", "pragma_table_info", "pragma_show",
    ]
)  # fmt: skip
"""The tables and functions with which databases list their tables and columns."""
NOT_LISTED = (
    "SHOW TABLES lists the tables, DESCRIBE t the columns of one; information_schema.tables and "
    "information_schema.columns can be queried"
)


@dataclass(frozen=True)
class ListedTable:
    """A table as it is listed: `name` is how a statement names it, `schema` the store that contains it, if it
    has a name here. The name begins with that of the store if it has to."""

    name: str
    schema: str = ""

    @property
    def table(self) -> str:
        return self.name.removeprefix(f"{self.schema}.") if self.schema else self.name


def lists_tables(schema: str, table: str) -> bool:
    """Whether a name is one of the two tables of this module; raises `BadSql` for others in which databases
    list what they have."""
    schema, table = schema.casefold(), table.casefold()
    if f"{schema}.{table}" in (TABLES, COLUMNS):
        return True
    if schema in (SCHEMA, "pg_catalog"):
        raise BadSql(f"there is no {schema}.{table} here", fix=NOT_LISTED)
    return False


def is_catalog(name: str) -> bool:
    """Whether a database lists its tables or columns with a table or function of this name."""
    return name.casefold() in _CATALOGS


def information(
    name: str, tables: Sequence[ListedTable], find: Callable[[str], Source], job: Job
) -> Snapshot:
    """`information_schema.tables` or `information_schema.columns`. A table that cannot be read has no columns
    there; querying it gives the error."""
    if name.casefold() == TABLES:
        rows = [(_CATALOG, table.schema or _MAIN, table.table, "BASE TABLE", table.name) for table in tables]
        names = ("table_catalog", "table_schema", "table_name", "table_type", "name")
        return _snapshot(name, rows, pa.schema([(column, pa.string()) for column in names]))
    columns = [
        (_CATALOG, table.schema or _MAIN, table.table, *column, table.name)
        for table in tables
        for column in _columns_of(table.name, find, job)
    ]
    texts = ("table_catalog", "table_schema", "table_name", "column_name")
    fields = [(text, pa.string()) for text in texts]
    fields += [("ordinal_position", pa.int32()), ("is_nullable", pa.string()), ("data_type", pa.string())]
    return _snapshot(name, columns, pa.schema([*fields, ("name", pa.string())]))


def _snapshot(name: str, rows: Sequence[tuple[object, ...]], schema: pa.Schema) -> Snapshot:
    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    arrays = [pa.array(values, field.type) for values, field in zip(columns, schema, strict=True)]
    return snapshot_of_rows(pa.Table.from_arrays(arrays, schema=schema), name)


def _columns_of(name: str, find: Callable[[str], Source], job: Job) -> Iterator[tuple[str, int, str, str]]:
    job.check()
    try:
        schema = find(name).schema
    except LamellaError:
        return
    for place, field in enumerate(schema, 1):
        yield field.name, place, "YES", sql_type(field.type) or type_text(field.type)


def is_listing(text: str) -> bool:
    """Whether a text begins like statements that list something."""
    first = next((lexeme.text for lexeme in lexemes(text) if lexeme.kind != "comment"), "")
    return first.casefold() in _STARTS


def listing_query(text: str) -> str | None:
    """The query for a statement with which a database or its tool lists tables or columns, such as `SHOW
    TABLES`, `SHOW COLUMNS FROM t`, `DESC store.t`, `PRAGMA table_info(t)`, `.tables` or `\\d t`; None if it
    is none."""
    words = [lexeme for lexeme in lexemes(text) if lexeme.kind != "comment"]
    while words and words[-1].text == ";":
        words.pop()
    if not words or words[0].text.casefold() not in _STARTS:
        return None
    first = words[0].text.casefold()
    if first in (".", "\\"):
        return _of_command(words)
    if first == "pragma":
        return _of_pragma(words)
    return _of_show(words)


_STARTS = frozenset({"show", "describe", "desc", "pragma", ".", "\\"})


def _of_show(words: Sequence[Lexeme]) -> str | None:
    """For `SHOW [ALL | FULL] TABLES [FROM s] [LIKE 'a%']`, `SHOW [FULL] COLUMNS FROM t`, `DESCRIBE` alone or
    of a table in a schema."""
    first, rest = words[0].text.casefold(), list(words[1:])
    folded = [word.text.casefold() for word in rest]
    if not rest or (first == "show" and folded in (["all"], ["all", "tables"])):
        return _EXPANDED
    if first == "show" and folded[0] == "full" and len(rest) > 1:
        rest, folded = rest[1:], folded[1:]
    if first == "show" and folded[0] == "tables" and rest[0].kind == "word":
        return _tables_query(rest[1:])
    if first == "show" and folded[0] in ("columns", "fields") and folded[1:2] in (["from"], ["in"]):
        return _describe(rest[2:])
    if folded[0] == "table" and len(rest) > 1 and rest[0].kind == "word":
        rest = rest[1:]
    is_qualified = len(rest) > 1 and rest[1].text == "."
    return _describe(rest) if is_qualified else None


def _of_pragma(words: Sequence[Lexeme]) -> str | None:
    if len(words) < 2:
        return None
    name, rest = words[1].text.casefold(), words[2:]
    if name in ("show_tables", "table_list") and not rest:
        return _tables_query(())
    if name not in ("table_info", "table_xinfo") or len(rest) != 3 or rest[0].text + rest[2].text != "()":
        return None
    return _describe(rest[1:2])


def _of_command(words: Sequence[Lexeme]) -> str | None:
    """For `.tables`, `.schema t` of SQLite and DuckDB, and `\\dt`, `\\d t` of PostgreSQL."""
    if len(words) < 2 or words[0].stop != words[1].start:
        return None
    command, rest = words[1].text.casefold(), words[2:]
    if not rest and command in ("tables", "d", "dt"):
        return _tables_query(())
    return _describe(rest) if rest and command in ("schema", "columns", "d") else None


_EXPANDED = (
    "SELECT table_schema AS schema, name, list(column_name ORDER BY ordinal_position) AS column_names, "
    f"list(data_type ORDER BY ordinal_position) AS column_types FROM {COLUMNS} GROUP BY ALL ORDER BY ALL"
)


def _tables_query(rest: Sequence[Lexeme]) -> str | None:
    """The query of all names, or those in a schema or with a pattern."""
    conditions = []
    parts = list(rest)
    if len(parts) >= 2 and parts[0].text.casefold() in ("from", "in") and parts[1].kind in ("word", "name"):
        schema = exp.Literal.string(parts[1].identifier).sql("duckdb")
        conditions.append(f"table_schema = {schema}")
        parts = parts[2:]
    if len(parts) == 2 and parts[0].text.casefold() in ("like", "ilike") and parts[1].kind == "text":
        conditions.append(f"name ILIKE {parts[1].text}")
        parts = []
    if parts:
        return None
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    return f"SELECT name FROM {TABLES}{where} ORDER BY name"


def _describe(parts: Sequence[Lexeme]) -> str | None:
    """The query of the columns of a table: a word, a name or a text, also in a schema."""
    names, dots = parts[::2], parts[1::2]
    if len(dots) != len(names) - 1 or any(dot.text != "." for dot in dots):
        return None
    if any(name.kind not in ("word", "name", "text") for name in names):
        return None
    quoted = ".".join(exp.to_identifier(_unquoted(name), quoted=True).sql("duckdb") for name in names)
    return f"DESCRIBE SELECT * FROM {quoted}"


def _unquoted(name: Lexeme) -> str:
    return name.text[1:-1].replace("''", "'") if name.kind == "text" else name.identifier
