"""Rewrites SQL: formats it, or translates it from another database's dialect to DuckDB's."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from lamella.core.errors import BadSql, LamellaError
from lamella.core.jobs import Job
from lamella.core.libraries import duckdb, exp, sqlglot
from lamella.core.query.sql.run import SqlRequest, run_sql
from lamella.core.query.sql.script import (
    lexemes,
    placeholders,
    statement_at,
    statements_of,
    with_semicolons,
)
from lamella.core.query.sql.sources import Sources

LONGEST = 200_000
"""The maximum length in characters: sqlglot takes about a second for this many."""
DIALECTS = {
    "postgres": "PostgreSQL", "sqlite": "SQLite", "spark": "Spark", "mysql": "MySQL", "tsql": "SQL Server",
    "bigquery": "BigQuery", "snowflake": "Snowflake", "oracle": "Oracle", "clickhouse": "ClickHouse",
    "duckdb": "DuckDB 1",
}  # fmt: skip
"""The dialects, in the order in which they are tried."""
_PERCENT = "'%"
"""The start of date formats in MySQL; Spark has functions of the same names with other formats."""
_ARROW = re.compile(r"[\w)]\s*->(?!>)\s*(?!['\s])")
"""The arrow of lambda functions before DuckDB 2, as in `x -> upper(x)`; in `js -> 'a'` it extracts JSON."""
OWNERS = {
    "iif": ("sqlite", "tsql", "snowflake"),
    "nvl": ("oracle", "spark", "snowflake"),
    "nvl2": ("oracle", "spark", "snowflake"),
    "decode": ("oracle", "spark", "snowflake"),
    "add_months": ("oracle", "spark", "snowflake"),
    "months_between": ("oracle", "spark", "snowflake"),
    "charindex": ("tsql", "spark", "snowflake"),
    "stuff": ("tsql",),
    "locate": ("mysql", "spark"),
    "date_sub": ("mysql", "spark", "bigquery"),
    "array_size": ("snowflake", "spark"),
    "explode": ("spark",),
    "str_to_date": ("mysql",),
    "listagg": ("oracle", "snowflake"),
    "struct": ("bigquery", "spark"),
    **dict.fromkeys(
        (
            "approx_quantiles", "datetime_trunc", "date_diff", "format_date", "generate_array", "safe_divide",
            "timestamp_diff", "timestamp_trunc",
        ),
        ("bigquery",),
    ),
}  # fmt: skip
"""The dialects of functions that sqlglot translates from any dialect, the likeliest first."""
_OF_CLAUSES = {
    ("limit", "", ","): ("mysql", "sqlite", "clickhouse"),
    ("limit", "", "by"): ("clickhouse",),
    ("offset", "", "by"): ("clickhouse",),
    ("limit", "", ",", "", "by"): ("clickhouse",),
    ("prewhere",): ("clickhouse",),
    ("regexp",): ("mysql", "sqlite", "spark"),
    ("div",): ("mysql", "spark"),
    ("separator",): ("mysql",),
    ("connect", "by"): ("oracle", "snowflake"),
    ("select", "top"): ("tsql", "snowflake"),
    ("nolock",): ("tsql",),
    ("from", "dual"): ("oracle", "mysql"),
    ("rownum",): ("oracle",),
    ("dbo", "."): ("tsql",),
}
"""The dialects of clauses; an empty word stands for any."""
_USUAL_SCHEMAS = frozenset({"dbo", "public", "main"})
"""The schemas in which SQL Server, PostgreSQL and SQLite put tables for which no schema is named."""
_SAFE = "safe_"
"""The prefix of some functions in BigQuery, which other dialects parse as unknown functions."""


def format_sql(text: str) -> str:
    """Format the statements over several lines, with keywords in capitals. Raises `BadSql` for text that is
    not SQL or is too long. Comments stay between the same words."""
    if len(text) > LONGEST:
        raise BadSql(
            f"a text of more than {LONGEST:,} characters cannot be formatted", fix="Select a part of it"
        )
    text = with_semicolons(text)
    parts = statements_of(text)
    edges = [0, *(part.end for part in parts[:-1]), len(text)]
    formatted = [
        _format_statement(text[start:stop], part.line)
        for start, stop, part in zip(edges, edges[1:], parts, strict=False)
    ]
    ends = any(lexeme.text == ";" for lexeme in lexemes(text[parts[-1].stop :])) if parts else False
    return ";\n\n".join(formatted) + (";" if ends else "")


def place_in_format(text: str, place: int, formatted: str) -> int:
    """The place in the formatted text of the word at a place in the text before; the start of the statement
    if that word has changed."""
    parts, new_parts = statements_of(text), statements_of(formatted)
    part = statement_at(text, parts, place)
    if part is None or len(new_parts) != len(parts):
        return 0
    new = new_parts[parts.index(part)]
    before = [
        lexeme for lexeme in lexemes(text[part.start : part.stop]) if part.start + lexeme.start <= place
    ]
    if not before:
        return new.start
    word = before[-1]
    number = sum(lexeme.text.casefold() == word.text.casefold() for lexeme in before)
    same = (
        lexeme
        for lexeme in lexemes(formatted[new.start : new.stop])
        if lexeme.text.casefold() == word.text.casefold()
    )
    match = next(itertools.islice(same, number - 1, None), None)
    if match is None:
        return new.start
    return new.start + min(match.start + place - part.start - word.start, match.stop)


def _format_statement(text: str, line: int) -> str:
    try:
        statements = sqlglot.transpile(text, read="duckdb", write="duckdb", pretty=True)
    except sqlglot.errors.SqlglotError as error:
        reason = str(error).partition("\n")[0]
        raise BadSql(f"the statement in line {line} cannot be formatted", reason) from error
    return ";\n".join(filter(None, statements))


@dataclass(frozen=True)
class Translation:
    """A translated statement. `dialect` is the name of the dialect it was written in."""

    dialect: str
    text: str

    @property
    def remark(self) -> str:
        return f"It looks like {self.dialect}'s SQL"


def translate(text: str, sources: Sources, job: Job) -> Translation | None:
    """Translate a statement of another database to DuckDB's dialect, from the first dialect in which it
    parses and refers to existing names. None if there is none, and if DuckDB accepts the statement as it is:
    then its values are at fault. Nothing runs. Blocks for some 100 ms."""
    if len(text) > LONGEST:
        return None
    text = with_semicolons(text)
    parameters = {placeholder.name: None for placeholder in placeholders(text)}
    request = SqlRequest(parameters or None, only_columns=True)
    if _is_accepted(text, sources, request, job):
        return None
    return next(
        (candidate for candidate in _candidates(text) if _is_accepted(candidate.text, sources, request, job)),
        None,
    )


def _is_accepted(text: str, sources: Sources, request: SqlRequest, job: Job) -> bool:
    job.check()
    try:
        run_sql(text, sources, request, job)
    except LamellaError:
        return False
    return True


def _rank(dialect: str, text: str, owners: Sequence[str]) -> int:
    """Put the dialect that the text surely has first, and one that it surely does not have last."""
    if dialect in owners:
        return owners.index(dialect) - len(owners)
    if dialect == "duckdb":
        return -2 if _ARROW.search(text) else 2
    if dialect == "bigquery" and _SAFE in text.casefold():
        return -1
    return 1 if dialect == "spark" and _PERCENT in text else 0


def _owners(text: str) -> list[str]:
    """The dialects that have all functions of `OWNERS` and clauses of `_OF_CLAUSES` in the text; empty
    without such."""
    words = [lexeme.text.casefold() for lexeme in lexemes(text) if lexeme.kind != "comment"]
    called = {word for word, after in itertools.pairwise(words) if after == "("}
    owners = [dialects for name, dialects in OWNERS.items() if name in called]
    owners += [dialects for clause, dialects in _OF_CLAUSES.items() if _has_clause(words, clause)]
    return (
        [dialect for dialect in owners[0] if all(dialect in dialects for dialects in owners)]
        if owners
        else []
    )


def _has_clause(words: Sequence[str], clause: tuple[str, ...]) -> bool:
    return any(
        all(word in ("", other) for word, other in zip(clause, words[place:], strict=False))
        for place in range(len(words) - len(clause) + 1)
    )


def _candidates(text: str) -> Iterator[Translation]:
    texts, owners = {" ".join(text.split()).casefold()}, _owners(text)
    for dialect in sorted(DIALECTS, key=lambda dialect_: _rank(dialect_, text, owners)):
        name = DIALECTS[owners[0] if owners and dialect not in owners else dialect]
        try:
            read = _clickhouse() if dialect == "clickhouse" else dialect
            trees = [_rewrite_foreign_clauses(tree) for tree in sqlglot.parse(text, read=read)]
            translated = [tree.sql("duckdb", pretty="\n" in text) for tree in trees if tree is not None]
        except Exception:  # noqa: BLE001 -- sqlglot raises many kinds, AttributeError among them
            continue
        if len(translated) != 1 or " ".join(translated[0].split()).casefold() in texts:
            continue
        texts.add(" ".join(translated[0].split()).casefold())
        try:
            duckdb.extract_statements(translated[0])
        except duckdb.Error:
            continue
        yield Translation(name, translated[0])


@cache
def _clickhouse() -> type[sqlglot.Dialect]:
    """ClickHouse's dialect, in which another LIMIT may follow LIMIT … BY. sqlglot refuses a second one, so
    the second carries the first: `meta["by"]`."""
    from sqlglot.dialects.clickhouse import ClickHouse
    from sqlglot.parsers.clickhouse import ClickHouseParser

    class LimitParser(ClickHouseParser):
        def _parse_limit(
            self, this: exp.Expr | None = None, top: bool = False, skip_limit_token: bool = False
        ) -> exp.Expr | None:
            limit = super()._parse_limit(this, top, skip_limit_token)
            place = self._index
            skipped = None if limit is None or limit.expressions else self._parse_offset()
            is_by = any(part is not None and part.expressions for part in (limit, skipped))
            if is_by and self._match(sqlglot.TokenType.LIMIT, advance=False):
                last = super()._parse_limit()
                assert last is not None
                last.meta["by"] = (limit, skipped)
                return last
            self._retreat(place)
            return limit

    class TwoLimits(ClickHouse):
        Parser = LimitParser

    return TwoLimits


def _rewrite_foreign_clauses(tree: exp.Expr | None) -> exp.Expr | None:
    """Rewrite clauses that sqlglot would drop or leave as they are: those of ClickHouse, FROM dual of Oracle
    and MySQL, ROWNUM of Oracle, and usual schemas."""
    for name in list(tree.find_all(exp.Table, exp.Column)) if tree is not None else ():
        if name.text("db").casefold() in _USUAL_SCHEMAS and not name.text("catalog"):
            name.set("db", None)
    for query in list(tree.find_all(exp.Select)) if tree is not None else ():
        source = query.args.get("from_")
        if source is not None and source.this.name.casefold() == "dual" and not query.args.get("joins"):
            query.set("from_", None)
        first, limit = query.args.get("prewhere"), query.args.get("limit")
        if first is not None:
            query.set("prewhere", None)
            query.where(first.this, copy=False)
        if isinstance(limit, exp.Limit):
            _rewrite_limit_by(query, limit)
        _rewrite_rownum(query)
    return tree


def _rewrite_rownum(query: exp.Select) -> None:
    """Rewrite the greatest ROWNUM of a WHERE as LIMIT, if nothing follows that changes the number of rows or
    their order."""
    where, later = query.args.get("where"), ("group", "having", "order", "distinct", "limit", "qualify")
    is_one = any(each.find(exp.AggFunc) for each in query.expressions)
    if where is None or is_one or any(query.args.get(clause) for clause in later):
        return
    for part in where.this.flatten() if isinstance(where.this, exp.And) else [where.this]:
        limit = part.expression.this if isinstance(part, exp.LT | exp.LTE | exp.EQ) else ""
        if part.this.name.casefold() != "rownum" or not str(limit).isdigit():
            continue
        count = int(limit) - isinstance(part, exp.LT)
        if count < 1 or (isinstance(part, exp.EQ) and count != 1):
            return
        others = [each for each in where.this.flatten() if each is not part] if part is not where.this else []
        query.set("where", exp.Where(this=exp.and_(*others, copy=False)) if others else None)
        query.limit(count, copy=False)
        return


def _rewrite_limit_by(query: exp.Select, limit: exp.Limit) -> None:
    """Rewrite LIMIT … BY of ClickHouse, which applies to the rows with equal values."""
    offset, order = query.args.get("offset"), query.args.get("order")
    has_two = "by" in limit.meta
    limit, offset = limit.meta.pop("by", (limit, offset))
    by_offset = offset if offset is not None and offset.expressions else None
    values = limit.expressions or (by_offset.expressions if by_offset is not None else [])
    if not values:
        return
    if query.args.get("qualify"):
        raise BadSql("LIMIT … BY after QUALIFY has no other form")
    number: exp.Expr = exp.Window(
        this=exp.RowNumber(), partition_by=values, order=None if order is None else order.copy()
    )
    if not has_two:
        query.set("limit", None)
        query.set("offset", None if by_offset is not None else offset)
    skipped = limit.args.get("offset") if by_offset is None else by_offset.expression
    if skipped is not None:
        number = exp.Sub(this=number, expression=exp.paren(skipped))
    condition: exp.Expr = exp.LTE(this=number, expression=limit.expression)
    if skipped is not None:
        condition = exp.and_(exp.GT(this=number.copy(), expression=exp.Literal.number(0)), condition)
    query.set("qualify", exp.Qualify(this=condition))
