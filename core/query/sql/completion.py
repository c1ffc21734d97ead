"""Proposes what can be inserted in a statement being typed: tables, columns, functions, keywords."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import islice
from typing import Literal

from lamella.core.phrases import quantity
from lamella.core.query.engine import cursor
from lamella.core.query.sql.script import Lexeme, lexemes, placeholders, statement_at, statements_of

Kind = Literal["column", "table", "store", "function", "keyword"]
MOST = 200
"""The maximum number of proposals: nobody reads more, and another letter narrows them down."""
LEAST_ANYWHERE = 2
"""The number of letters from which columns of other tables are proposed too."""
MOST_UNKNOWN = 100
"""The maximum number of tables whose columns are to be read for a statement that names no table."""

_PLAIN_NAME = re.compile(r"[^\W\d]\w*\Z")
_BEFORE_TABLE = frozenset({"from", "join", "into", "update", "table", "describe", "desc", "summarize"})
_CLAUSES = frozenset(
    [
        "where", "group", "order", "having", "limit", "on", "using", "set", "values", "select", "union",
        "intersect", "except", "qualify", "window", "returning", "offset", "tablesample", "at",
    ]
)  # fmt: skip
"""Words that end a list of tables."""
_NO_ALIAS = _CLAUSES | {
    "join", "inner", "left", "right", "full", "outer", "cross", "natural", "asof", "positional", "semi",
    "anti", "as", "lateral", "from",
}  # fmt: skip


@dataclass(frozen=True)
class TableColumns:
    """The columns of a table in order, with their types as text."""

    columns: tuple[tuple[str, str], ...]

    @cached_property
    def folded_names(self) -> tuple[str, ...]:
        return tuple(name.casefold() for name, _type in self.columns)


@dataclass(frozen=True)
class Words:
    """The words that the engine knows: functions with their arguments, keywords, and reserved keywords."""

    functions: Mapping[str, str] = field(default_factory=dict)
    keywords: tuple[str, ...] = ()
    reserved_words: frozenset[str] = frozenset()

    def quote(self, name: str) -> str:
        """An identifier, in quotes if needed."""
        if _PLAIN_NAME.match(name) and name.casefold() not in self.reserved_words:
            return name
        return '"' + name.replace('"', '""') + '"'


@dataclass(frozen=True)
class Names:
    """The tables that a statement may refer to, by name; None for one whose columns are not known yet.
    `stores` lists the tables that need the store's name: in `tables` they are `store.table`."""

    tables: Mapping[str, TableColumns | None] = field(default_factory=dict)
    stores: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @cached_property
    def by_folded_name(self) -> Mapping[str, str]:
        return {name.casefold(): name for name in reversed(list(self.tables))}

    @cached_property
    def alone(self) -> tuple[str, ...]:
        """The tables that are named without a store."""
        with_store = {f"{store}.{table}" for store, tables in self.stores.items() for table in tables}
        return tuple(name for name in self.tables if name not in with_store)


@dataclass(frozen=True)
class Proposal:
    """A proposal. `text` replaces what has been typed; `name` is shown, with `detail` to its right."""

    text: str
    name: str
    kind: Kind
    detail: str = ""


@dataclass(frozen=True)
class Proposals:
    """Proposals that replace the text from `start` to the cursor. `unknown` are tables whose columns would be
    needed."""

    start: int
    items: tuple[Proposal, ...] = ()
    unknown: tuple[str, ...] = ()


def propose(text: str, place: int, names: Names, words: Words) -> Proposals:
    """Return proposals, the best first: those that begin with the typed text, columns before functions and
    keywords."""
    part = statement_at(text, statements_of(text), place)
    start, stop = (part.start, part.end) if part is not None and part.start <= place else (place, place)
    code = list(lexemes(text[start:stop]))
    inside = next((lexeme for lexeme in code if lexeme.start < place - start < lexeme.stop), None)
    if inside is not None and inside.kind in ("comment", "text", "number"):
        return Proposals(place)
    if any(lexeme.stop == place - start and _takes_no_names(lexeme) for lexeme in code):
        return Proposals(place)
    if any(
        placeholder.start < place - start <= placeholder.stop
        for placeholder in placeholders(text[start:stop])
    ):
        return Proposals(place)
    code = [lexeme for lexeme in code if lexeme.kind != "comment"]
    typed = next(
        (lexeme for lexeme in code if lexeme.start < place - start <= lexeme.stop and _is_name(lexeme)), None
    )
    begin = place - start if typed is None else typed.start
    before = [lexeme for lexeme in code if lexeme.stop <= begin]
    after = [lexeme for lexeme in code if lexeme.start >= begin and lexeme is not typed]
    prefix = "" if typed is None else typed.text[: place - start - begin].lstrip('"').casefold()
    statement = _Statement(before, after, names)
    return _Search(statement, names, words, prefix).run(start + begin)


@cache
def engine_words() -> Words:
    """The words of DuckDB. Blocks for some milliseconds on first use."""
    with cursor() as own:
        functions = own.execute(
            "SELECT function_name, any_value(parameters ORDER BY len(parameters)) FROM duckdb_functions()"
            " WHERE regexp_matches(function_name, '^[a-z][a-z0-9_]*$')"
            " AND NOT starts_with(function_name, 'pg_') AND NOT starts_with(function_name, 'icu_')"
            " GROUP BY ALL ORDER BY ALL"
        ).fetchall()
        keywords = own.execute("SELECT keyword_name, keyword_category FROM duckdb_keywords() ORDER BY ALL")
        kinds = keywords.fetchall()
    return Words(
        {name: f"({', '.join(map(str, arguments or ()))})" for name, arguments in functions},
        tuple(dict.fromkeys([*_OFTEN, *(name for name, _kind in kinds)])),
        frozenset(name for name, kind in kinds if kind == "reserved"),
    )


_OFTEN = (
    "select", "from", "where", "group by", "order by", "having", "join", "left join", "on", "using", "as",
    "and", "or", "not", "in", "between", "like", "is null", "is not null", "case", "when", "then", "else",
    "end", "distinct", "limit", "with", "union all", "desc", "asc", "over", "partition by", "insert into",
    "update", "set", "delete from", "values", "create table",
)  # fmt: skip
"""Keywords that are proposed first."""


def _takes_no_names(lexeme: Lexeme) -> bool:
    unclosed = lexeme.kind == "text" and not lexeme.is_closed
    return unclosed or lexeme.kind == "number" or (lexeme.kind == "comment" and lexeme.text.startswith("--"))


def _is_name(lexeme: Lexeme) -> bool:
    return lexeme.kind in ("word", "name")


def _fold(lexeme: Lexeme) -> str:
    return lexeme.identifier.casefold()


def _is_word(lexeme: Lexeme, among: frozenset[str]) -> bool:
    return lexeme.kind == "word" and lexeme.text.casefold() in among


@dataclass
class _Group:
    """The items between two parentheses, or at the top level; nested groups are one item."""

    items: list[Lexeme | _Group] = field(default_factory=list)
    outer: _Group | None = None

    def words(self) -> Iterator[str]:
        return (
            item.text.casefold() for item in self.items if isinstance(item, Lexeme) and item.kind == "word"
        )


_FROM = frozenset({"from", "update", "into", "join"})


@dataclass(frozen=True)
class _Source:
    """A table or query in FROM, with its alias."""

    alias: str
    table: str = ""
    query: _Group | None = None


class _Statement:
    """An incomplete statement, as far as it can be understood."""

    def __init__(self, before: Sequence[Lexeme], after: Sequence[Lexeme], names: Names) -> None:
        self.before, self._names = before, names
        self.top = _Group()
        self.here = _nest(self.top, before)
        _nest_after_cursor(self.here, after)
        self.ctes = dict(_ctes(self.top))

    @property
    def sources(self) -> list[_Source]:
        """The tables in scope: those of the query around the cursor, then those of outer queries."""
        sources: list[_Source] = []
        group: _Group | None = self.here
        while group is not None:
            sources += _sources(group)
            group = group.outer
        return sources

    def columns(self, source: _Source, unknown: dict[str, None], depth: int = 0) -> list[tuple[str, str]]:
        if depth > 8:
            return []
        if source.query is not None:
            return self._outputs(source.query, unknown, depth + 1)
        cte = self.ctes.get(source.table.casefold())
        if cte is not None:
            return self._outputs(cte, unknown, depth + 1)
        name = self._names.by_folded_name.get(source.table.casefold())
        if name is None:
            return []
        table = self._names.tables[name]
        if table is None:
            unknown[name] = None
            return []
        return list(table.columns)

    def _outputs(self, query: _Group, unknown: dict[str, None], depth: int) -> list[tuple[str, str]]:
        """The names of a query's columns."""
        outputs: list[tuple[str, str]] = []
        sources = _sources(query)
        for item in _select_list(query):
            last = item[-1] if item else None
            if not isinstance(last, Lexeme):
                continue
            if last.text == "*" and len(item) <= 3:
                alias = _fold(item[0]) if len(item) == 3 and isinstance(item[0], Lexeme) else ""
                for source in sources:
                    if not alias or source.alias.casefold() == alias:
                        outputs += self.columns(source, unknown, depth)
            elif _is_name(last):
                outputs.append((last.identifier, ""))
        return outputs


def _nest(top: _Group, items: Sequence[Lexeme]) -> _Group:
    group = top
    for item in items:
        if item.text == "(":
            inner = _Group(outer=group)
            group.items.append(inner)
            group = inner
        elif item.text == ")":
            group = group.outer or group
        else:
            group.items.append(item)
    return group


def _nest_after_cursor(outer: _Group, items: Sequence[Lexeme]) -> None:
    """Read the items after the cursor, which may close the groups around it."""
    group: _Group | None = outer
    for number, item in enumerate(items):
        if item.text == "(":
            inner = _Group(outer=group)
            assert group is not None
            group.items.append(inner)
            group = inner
        elif item.text == ")":
            assert group is not None
            group = group.outer
            if group is None:
                return
        else:
            assert group is not None, number
            group.items.append(item)


def _ctes(top: _Group) -> Iterator[tuple[str, _Group]]:
    """Common table expressions by name: groups after `name AS`."""
    items = top.items
    for at, item in enumerate(items):
        if isinstance(item, _Group):
            name = _cte_name(items, at)
            if name:
                yield name.casefold(), item
            yield from _ctes(item)


def _cte_name(items: Sequence[Lexeme | _Group], at: int) -> str:
    """The name of the group at an index, also for `name(a, b) AS MATERIALIZED (…)`."""
    back = at - 1
    while back >= 0 and _says(items[back], "materialized", "not"):
        back -= 1
    if back < 1 or not _says(items[back], "as"):
        return ""
    back -= 1
    if isinstance(items[back], _Group):
        back -= 1
    name = items[back] if back >= 0 else None
    led = back >= 1 and (_says(items[back - 1], "with", "recursive") or _is_sign(items[back - 1], ","))
    return name.identifier if led and isinstance(name, Lexeme) and _is_name(name) else ""


def _says(item: Lexeme | _Group, *words: str) -> bool:
    return isinstance(item, Lexeme) and item.kind == "word" and item.text.casefold() in words


def _is_sign(item: Lexeme | _Group, sign: str) -> bool:
    return isinstance(item, Lexeme) and item.kind == "sign" and item.text == sign


def _select_list(query: _Group) -> list[list[Lexeme | _Group]]:
    """The items between the first SELECT and its FROM."""
    items = iter(query.items)
    if not any(_says(part, "select") for part in items):
        return [[_star()]] if any(_says(part, "from") for part in query.items) else []
    columns: list[list[Lexeme | _Group]] = [[]]
    for item in items:
        if isinstance(item, Lexeme) and (_is_word(item, _CLAUSES) or _says(item, "from")):
            break
        if _says(item, "distinct", "all"):
            continue
        if _is_sign(item, ","):
            columns.append([])
        else:
            columns[-1].append(item)
    return columns


def _star() -> Lexeme:
    return Lexeme("sign", 0, 1, "*")


def _sources(group: _Group) -> list[_Source]:
    """The tables and queries in the FROM of one query, in order."""
    sources: list[_Source] = []
    items, at, expects, in_from = group.items, 0, False, False
    while at < len(items):
        item = items[at]
        if isinstance(item, Lexeme) and _is_word(item, _FROM):
            expects = in_from = True
        elif isinstance(item, Lexeme) and _is_word(item, _CLAUSES):
            expects = in_from = False
        elif _is_sign(item, ",") and in_from:
            expects = True
        elif expects and (isinstance(item, _Group) or _is_name(item)):
            if _says(item, "lateral"):
                at += 1
                continue
            source, at = _source(items, at)
            sources.append(source)
            expects = False
            continue
        at += 1
    return sources


def _ends_in_from(items: Sequence[Lexeme | _Group]) -> bool:
    for item in reversed(items):
        if isinstance(item, Lexeme) and _is_word(item, _FROM):
            return True
        if isinstance(item, Lexeme) and _is_word(item, _CLAUSES):
            return False
    return False


def _source(items: Sequence[Lexeme | _Group], at: int) -> tuple[_Source, int]:
    """Read a table or query with its alias; return it, and the index after it."""
    first, table, query = items[at], "", None
    at += 1
    if isinstance(first, _Group):
        query = first
    else:
        table = first.identifier
        while at + 1 < len(items) and _is_sign(items[at], "."):
            inner = items[at + 1]
            if not (isinstance(inner, Lexeme) and _is_name(inner)):
                break
            table, at = f"{table}.{inner.identifier}", at + 2
    alias = table.rpartition(".")[2] if "." in table else table
    if at < len(items) and _says(items[at], "as"):
        at += 1
    following = items[at] if at < len(items) else None
    if isinstance(following, Lexeme) and _is_name(following) and not _is_word(following, _NO_ALIAS):
        alias, at = following.identifier, at + 1
    return _Source(alias, table, query), at


class _Search:
    def __init__(self, statement: _Statement, names: Names, words: Words, prefix: str) -> None:
        self._statement, self._names, self._words, self._prefix = statement, names, words, prefix
        self._unknown: dict[str, None] = {}

    def run(self, start: int) -> Proposals:
        proposals = self._rank(self._proposals())
        return Proposals(start, tuple(islice(proposals, MOST)), tuple(self._unknown))

    def _proposals(self) -> Iterator[Proposal]:
        before = self._statement.before
        if before and before[-1].text == ".":
            yield from self._behind_dot()
        elif self._expects_table():
            yield from self._tables()
        else:
            yield from self._in_expression()

    def _rank(self, proposals: Iterator[Proposal]) -> Iterator[Proposal]:
        """Sort proposals: those that begin with the typed text, then those that contain it."""
        keys: set[tuple[str, Kind]] = set()
        inside: list[Proposal] = []
        for proposal in proposals:
            if (proposal.text, proposal.kind) in keys:
                continue
            keys.add((proposal.text, proposal.kind))
            folded = proposal.name.casefold()
            if folded.startswith(self._prefix):
                yield proposal
            elif (
                len(self._prefix) >= LEAST_ANYWHERE and self._prefix in folded and proposal.kind != "keyword"
            ):
                inside.append(proposal)
        yield from inside

    def _behind_dot(self) -> Iterator[Proposal]:
        before = self._statement.before
        owner = before[-2] if len(before) > 1 and _is_name(before[-2]) else None
        if owner is None:
            return
        name = _fold(owner)
        for source in self._statement.sources:
            is_known = source.query or source.table.casefold() in {
                *self._names.by_folded_name,
                *self._statement.ctes,
            }
            if is_known and name == source.alias.casefold():
                yield from self._columns_of(source, "")
                return
        for store, tables in self._names.stores.items():
            if store.casefold() == name:
                yield from (Proposal(self._words.quote(table), table, "table", store) for table in tables)

    def _expects_table(self) -> bool:
        before = self._statement.before
        if not before:
            return False
        last = before[-1]
        if _is_word(last, _BEFORE_TABLE):
            return True
        if last.text != ",":
            return False
        items, starts = self._statement.here.items, {lexeme.start for lexeme in before}
        return _ends_in_from([item for item in items if isinstance(item, _Group) or item.start in starts])

    def _tables(self) -> Iterator[Proposal]:
        for cte in self._statement.ctes:
            yield Proposal(self._words.quote(cte), cte, "table", "WITH")
        for name in self._names.alone:
            table = self._names.tables[name]
            count = "" if table is None else quantity(len(table.columns), "column")
            yield Proposal(self._words.quote(name), name, "table", count)
        for store, tables in self._names.stores.items():
            yield Proposal(f"{self._words.quote(store)}.", store, "store", quantity(len(tables), "table"))

    def _in_expression(self) -> Iterator[Proposal]:
        sources = self._statement.sources
        several = len(sources) > 1
        for source in sources:
            yield from self._columns_of(source, source.alias if several else "")
        for source in sources:
            if several and source.alias:
                yield Proposal(f"{self._words.quote(source.alias)}.", source.alias, "table", source.table)
        if self._prefix or not sources:
            for name in self._words.keywords:
                if name.startswith(self._prefix):
                    yield Proposal(self._match_case(name), name, "keyword")
        if self._prefix:
            for name, arguments in self._words.functions.items():
                yield Proposal(f"{name}(", name, "function", arguments)
        if not sources and len(self._prefix) >= LEAST_ANYWHERE:
            yield from self._columns_anywhere()

    def _match_case(self, keyword: str) -> str:
        """The keyword in the case that the statement uses."""
        first = next((lexeme.text for lexeme in self._statement.before if lexeme.kind == "word"), "")
        return keyword.upper() if first.isupper() else keyword

    def _columns_of(self, source: _Source, detail: str) -> Iterator[Proposal]:
        for name, kind in self._statement.columns(source, self._unknown):
            if self._prefix in name.casefold():
                detail_text = ", ".join(part for part in (kind, detail) if part)
                yield Proposal(self._words.quote(name), name, "column", detail_text)

    def _columns_anywhere(self) -> Iterator[Proposal]:
        """Columns of all tables, for a statement that names none yet."""
        for table in self._names.alone:
            columns = self._names.tables[table]
            if columns is None and len(self._unknown) < MOST_UNKNOWN:
                self._unknown[table] = None
            for (name, _kind), folded in zip(
                columns.columns if columns else (), columns.folded_names if columns else (), strict=True
            ):
                if self._prefix in folded:
                    yield Proposal(self._words.quote(name), name, "column", table)
