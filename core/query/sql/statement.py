"""Parses one statement with DuckDB's own parser: its kind, and the tables and columns that it names."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb

from lamella.core.errors import Advice, BadSql
from lamella.core.libraries import exp, sqlglot
from lamella.core.query.duckdb_source import OWN_NAMES
from lamella.core.query.engine import CountedCache
from lamella.core.query.sql.information_schema import (
    NOT_LISTED,
    TABLES,
    is_catalog,
    is_listing,
    listing_query,
    lists_tables,
)
from lamella.core.query.sql.problems import missing_part
from lamella.core.query.sql.script import with_semicolons

_WHOLE_ROWS = frozenset({"STAR", "POSITIONAL_REFERENCE", "PIVOT", "SHOW_REF"})
"""Classes and types of nodes that refer to columns without naming them."""


def named_columns(root: Mapping[str, Any]) -> frozenset[str] | None:
    """Case-folded names in a statement, including names of other things; None if it may refer to columns
    without naming them, for example by the name of a table, which is a whole row."""
    columns, alone, tables = set[str](), set[str](), set[str]()
    for node in _nodes(root):
        if _depends_on_other_columns(node):
            return None
        tables.update(node[key].casefold() for key in ("alias", "table_name") if _names_rows(node, key))
        names = [name.casefold() for key in ("column_names", "using_columns") for name in node.get(key, ())]
        columns.update(names)
        alone.update(names if len(names) == 1 else ())
    return None if alone & tables else frozenset(columns)


def groups_one_table(root: Mapping[str, Any]) -> bool:
    """Whether it groups the rows of one table, and reads nothing else."""
    sources = [node for node in _nodes(root) if node.get("type") in ("BASE_TABLE", "TABLE_FUNCTION", "JOIN")]
    return root.get("from_table") in sources and len(sources) == 1 and bool(root.get("group_expressions"))


def filters(root: Mapping[str, Any]) -> bool:
    return any(node.get("where_clause") for node in _nodes(root))


_NUMBER_AGGREGATES = frozenset(
    [
        "sum", "avg", "mean", "median", "quantile", "quantile_cont", "approx_quantile", "stddev",
        "stddev_samp", "stddev_pop", "variance", "var_samp", "var_pop", "corr", "/",
    ]
)  # fmt: skip
"""Functions whose results have insignificant last digits."""


def figure_places(root: Mapping[str, Any]) -> tuple[int, ...]:
    """The indexes of columns of the answer computed by such functions; empty if `*` hides the indexes."""
    columns = root.get("select_list", ())
    if any(column.get("class") == "STAR" for column in columns):
        return ()
    return tuple(n for n, column in enumerate(columns) if column.get("function_name") in _NUMBER_AGGREGATES)


def _depends_on_other_columns(node: Mapping[str, Any]) -> bool:
    kind = node.get("type")  # of a constant, such as the size of a sample, it is a dict
    kinds = (node.get("class"), kind if isinstance(kind, str) else "", node.get("show_type") and "SHOW_REF")
    natural = node.get("type") == "JOIN" and node.get("ref_type") == "NATURAL"
    return natural or bool(node.get("column_name_alias")) or not _WHOLE_ROWS.isdisjoint(kinds)


def _names_rows(node: Mapping[str, Any], key: str) -> bool:
    return isinstance(node.get(key), str) and bool(node[key]) and ("table_name" in node or "subquery" in node)


def _nodes(root: Any) -> Iterator[Mapping[str, Any]]:
    stack = [root]
    while stack:
        node = stack.pop()
        if isinstance(node, dict):
            yield node
            parts = (_of_order(node, part) if key == "modifiers" else part for key, part in node.items())
        else:
            parts = iter(node)
        stack.extend(reversed([part for part in parts if isinstance(part, dict | list)]))


def _of_order(select: Mapping[str, Any], modifiers: Any) -> list[Any]:
    """The names in ORDER BY and the like, except aliases of the query itself."""
    aliases = {item["alias"].casefold() for item in select.get("select_list", ())}
    orders = [order["expression"] for modifier in modifiers for order in modifier.get("orders", ())]
    modifiers_kept = [modifier for modifier in modifiers if "orders" not in modifier]
    return modifiers_kept + [order for order in orders if not _is_one_of(aliases, order)]


def _is_one_of(names: set[str], node: Mapping[str, Any]) -> bool:
    written = node.get("column_names", ())
    return len(written) == 1 and written[0].casefold() in names


_EXPLAIN = re.compile(r"\s*explain\b\s*(?:analyze\b\s*|\(\s*(?:analyze|format)\b[^()]*\)\s*)?", re.IGNORECASE)
QUERY_WORDS = frozenset(
    [
        "select", "from", "values", "with", "pivot", "pivot_wider", "unpivot", "describe", "desc",
        "summarize", "show", "table", "(",
    ]
)  # fmt: skip
"""The first words of queries."""
_CHANGES = frozenset({"insert", "update", "delete", "merge"})
"""Statements that may follow WITH and are not queries."""
_ALTERNATIVES = {
    "pragma": "SHOW TABLES lists the tables, DESCRIBE t the columns of one",
    "attach": "Open the file, and refer to its tables by name",
    "copy": "Export the result of a SELECT",
    "set": "Leave it out: the program chooses the settings",
    "install": "Leave it out: extensions are not loaded",
    "load": "Leave it out: extensions are not loaded",
}
"""What to do instead of a statement that is neither a query nor a change, by its first word."""
_OR_WRITE = Advice(
    "Change tables with insert, update or delete, or pass write=True",
    "Change tables in the SQL console",
    "Change tables of a store with lamella change, or add --write",
)
LONGEST = 16_384
"""The maximum number of characters of a statement that is cached."""


@dataclass(frozen=True)
class TableName:
    """A table as the statement names it, as `store.table` if `is_qualified`. `version` is the value in `AT
    (VERSION => …)`, `time` that in `AT (TIMESTAMP => …)`; `view` is its name for the engine."""

    name: str
    view: str
    version: int | str | None = None
    time: str | None = None
    is_qualified: bool = False


@dataclass(frozen=True)
class Statement:
    """A parsed statement. `text` is the text for the engine; `tables` are the external tables that it reads.
    `columns` are the case-folded names that it may refer to; None if it may refer to any. `groups` means that
    it groups the rows of one table and reads nothing else, `filters` that rows may be filtered. `figures` are
    indexes of columns."""

    text: str
    tables: tuple[TableName, ...]
    columns: frozenset[str] | None = None
    groups: bool = False
    filters: bool = True
    functions: frozenset[str] | None = None
    figures: tuple[int, ...] = ()


_statement_cache = CountedCache[str, Statement](64)


def cached_statement(text: str) -> Statement | None:
    """The cached result of parsing the same text, which takes longer than many queries."""
    return _statement_cache.get(text)


def parse_statement(text: str, names: Sequence[str], own: duckdb.DuckDBPyConnection) -> Statement:
    """Parse the only SELECT in `text`, or its equivalent: VALUES, FROM …, DESCRIBE, SUMMARIZE, PIVOT. EXPLAIN
    may precede it.

    Raises `BadSql` for anything else.
    """
    statement = _parse(text, names, own)
    if len(text) <= LONGEST:
        _statement_cache.put(text, statement)
    return statement


def _parse(text: str, names: Sequence[str], own: duckdb.DuckDBPyConnection) -> Statement:
    kind, text = _kind(listing_query(text) or text, names, own)
    explain = _EXPLAIN.match(text)
    if explain is not None:
        statement = _parse(text[explain.end() :], names, own)
        return Statement(f"{explain.group().rstrip()} {statement.text}", statement.tables, statement.columns)
    if kind == duckdb.StatementType.MULTI and _only_asks(text):
        return Statement(text, tuple(TableName(n, n) for n in _named_by_words(text)))
    if kind != duckdb.StatementType.SELECT:
        word = first_word(text)
        fix = _ALTERNATIVES.get(word, _OR_WRITE)
        raise BadSql(f"{word.upper()} is not a query", "SQL here only reads", fix)
    tree = json.loads(own.execute("SELECT json_serialize_sql($1)", [text]).fetchall()[0][0])
    if tree["error"]:
        raise BadSql("the statement cannot be read", tree["error_message"])
    return _statement(text, tree["statements"][0]["node"])


def _kind(
    text: str, names: Sequence[str], own: duckdb.DuckDBPyConnection
) -> tuple[duckdb.StatementType, str]:
    """The type of the statement, and its text without leading comments."""
    text = with_semicolons(text)
    try:
        statements = own.extract_statements(text)
    except duckdb.Error as error:
        fix = quote_hint(text, names, own) or missing_part(text, error)
        if not fix and is_listing(text):
            fix = NOT_LISTED
        raise BadSql("the statement cannot be read", _message(error), fix) from error
    if len(statements) != 1:
        raise BadSql(f"there are {len(statements) or 'no'} statements", fix="Give exactly one SELECT")
    return statements[0].type, statements[0].query


def _only_asks(text: str) -> bool:
    """Whether a text only queries. DuckDB splits PIVOT into several statements, without saying of which
    type."""
    return first_word(text) in QUERY_WORDS and not _CHANGES.intersection(
        word for word, _start in _words(text)
    )


def first_word(text: str) -> str:
    """The first word in lower case, without leading comments; empty if there is none."""
    return next((word for word, _start in _words(text)), "")


def _words(text: str) -> Iterator[tuple[str, int]]:
    """The words, operators and names in lower case, each with the index of its first byte."""
    written = text.encode()
    tokens = [*duckdb.tokenize(text), (len(written), duckdb.token_type.comment)]
    for (start, kind), (stop, _next) in itertools.pairwise(tokens):
        if kind == duckdb.token_type.comment:
            continue
        word = written[start:stop].split(maxsplit=1)[0].decode().lower()
        yield ("(" if word.startswith("(") else word), start


def _message(error: Exception) -> str:
    return str(error).removeprefix("Parser Error: ")


def quote_hint(text: str, names: Sequence[str], own: duckdb.DuckDBPyConnection) -> str:
    """A hint for a table whose name is a keyword of SQL."""
    words = set(re.findall(r'(?<!")\b\w+\b(?!")', text))
    for name in words.intersection(names):
        try:
            own.extract_statements(f"SELECT * FROM {name}")
        except duckdb.ParserException:
            return f'{name} is a keyword of SQL: write "{name}" to refer to the table'
    return ""


def _named_by_words(text: str) -> list[str]:
    """The tables of a PIVOT without values, for which DuckDB has no tree: it splits it into several
    statements."""
    try:
        tree = sqlglot.parse_one(text, dialect="duckdb")
    except sqlglot.errors.SqlglotError as error:
        raise BadSql(
            "the statement cannot be read",
            str(error).splitlines()[0],
            "Name the values: PIVOT … ON x IN (1, 2)",
        ) from error
    own = {cte.alias_or_name.casefold() for cte in tree.find_all(exp.CTE)}
    names = (table.name for table in tree.find_all(exp.Table) if isinstance(table.this, exp.Identifier))
    return [name for name in dict.fromkeys(names) if name.casefold() not in own]


def _statement(text: str, root: Mapping[str, Any]) -> Statement:
    """Each version of a table gets its own view, which replaces it in the text."""
    written, tables = text.encode(), dict[TableName, None]()
    placed = sorted(_tables(root, frozenset()), key=lambda node: -int(node["query_location"]))
    for node in placed:
        table = _table_name(node, len(tables))
        tables[table] = None
        if table.view != table.name:
            written = _replace_table(written, node, table.view)
    return Statement(
        written.decode(), tuple(reversed(tables)), named_columns(root), groups_one_table(root), filters(root),
        frozenset(node["function"]["function_name"] for node in _nodes(root) if _gives_rows(node)),
        figure_places(root),
    )  # fmt: skip


def _gives_rows(node: Mapping[str, Any]) -> bool:
    return node.get("type") == "TABLE_FUNCTION" and isinstance(node.get("function"), dict)


def _tables(node: Any, hidden: frozenset[str]) -> Iterator[Mapping[str, Any]]:
    """Tables named anywhere below `node`, except common table expressions, which hide tables of the same
    name."""
    if isinstance(node, list):
        for part in node:
            yield from _tables(part, hidden)
    if not isinstance(node, dict):
        return
    _refuse_other_lists(node)
    if node.get("show_type") == "SHOW" or (node.get("type") == "BASE_TABLE" and "table_name" in node):
        if node.get("schema_name") or node["table_name"].casefold() not in hidden:
            yield node
        return
    for entry in node.get("cte_map", {}).get("map", []):
        recursive = hidden | {entry["key"].casefold()}
        yield from _tables(entry["value"], recursive if _is_recursive(entry) else hidden)
        hidden = recursive
    yield from _tables([part for key, part in node.items() if key != "cte_map"], hidden)


def _refuse_other_lists(node: Mapping[str, Any]) -> None:
    """Refuse what lists databases, settings and the like: the engine knows only the tables that a statement
    names."""
    if node.get("show_type") in ("SHOW_SPECIAL", "SHOW_FROM"):
        kind = str(node["table_name"]).strip('"').upper()
        if kind in ("DATABASES", "SCHEMAS", "VARIABLES"):
            raise BadSql(f"SHOW {kind} is not supported here", fix=NOT_LISTED)
        raise BadSql("SHOW TABLES cannot be a part of a query", fix=f"Query {TABLES} instead")
    function = node.get("function")
    if isinstance(function, dict) and is_catalog(function.get("function_name", "")):
        raise BadSql(f"{function['function_name']}() is not supported here", fix=NOT_LISTED)


def _is_recursive(entry: Mapping[str, Any]) -> bool:
    return bool(entry["value"]["query_node"]["type"] == "RECURSIVE_CTE_NODE")


_NOWHERE = 2**64 - 1


def _table_name(node: Mapping[str, Any], number: int) -> TableName:
    name, at = node["table_name"], node.get("at_clause")
    stores = [node[key] for key in ("catalog_name", "schema_name") if node.get(key)]
    view, qualified = f"{OWN_NAMES}at_{number}", bool(stores)
    name = ".".join([*stores, name])
    if qualified and int(node["query_location"]) == _NOWHERE:
        raise BadSql(f"DESCRIBE {name} is not supported here", fix=f"Write DESCRIBE SELECT * FROM {name}")
    if len(stores) == 1 and lists_tables(stores[0], node["table_name"]):
        if at is not None:
            raise BadSql(f"{name} has no versions", fix="Leave AT (…) out")
        return TableName(name.casefold(), view, is_qualified=True)
    if at is None:
        return TableName(name, view if qualified else name, is_qualified=qualified)
    value = at["expr"]
    while value.get("type") == "OPERATOR_CAST":
        value = value["child"]
    literal = value.get("literal")
    if literal is None or literal["kind"] not in ("INTEGER", "STRING"):
        raise BadSql(
            f"the version of table '{name}' must be a literal",
            "It is looked up before the statement runs",
            "Write AT (VERSION => 3), AT (VERSION => 'a name') or AT (TIMESTAMP => '2024-05-01 12:00')",
        )
    if at["unit"].upper() == "TIMESTAMP":
        return TableName(name, view, time=literal["text"], is_qualified=qualified)
    version = int(literal["text"]) if literal["kind"] == "INTEGER" else literal["text"]
    return TableName(name, view, version, is_qualified=qualified)


def _replace_table(written: bytes, node: Mapping[str, Any], view: str) -> bytes:
    """Replace `flights f AT (VERSION => 3)` by the view, under the alias or name that the statement uses."""
    first = int(node["query_location"])
    stop = first + int(node["query_location_length"])
    quoted = exp.to_identifier(node["alias"] or node["table_name"], quoted=True).sql("duckdb")
    names = ", ".join(exp.to_identifier(n, quoted=True).sql("duckdb") for n in node["column_name_alias"])
    alias = f"{quoted}({names})" if names else quoted
    return written[:first] + f'"{view}" AS {alias} '.encode() + _sample(written[first:stop]) + written[stop:]


def _sample(reference: bytes) -> bytes:
    """The TABLESAMPLE clause, which is part of the table's name."""
    places = [start for word, start in _words(reference.decode()) if word == "tablesample"]
    return reference[places[-1] :] if places else b""
