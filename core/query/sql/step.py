"""SELECT as a step of a query: it reads the rows before it and the datasets that it names, but no files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import count

import pyarrow as pa

from lamella.core.errors import BadQuery, BadSql, UnknownTable
from lamella.core.jobs import Job
from lamella.core.libraries import exp
from lamella.core.query import execute as answers
from lamella.core.query.engine import Confinement, cursor
from lamella.core.query.fields import refuse_twice
from lamella.core.query.plan import Identifiers, Node, QueryContext, ScanNode
from lamella.core.query.source import Source, VersionOrTime
from lamella.core.query.sql.run import SqlRequest, run_sql
from lamella.core.query.sql.sources import Sources
from lamella.core.query.sql.statement import first_word, parse_statement
from lamella.core.query.steps import Sql
from lamella.core.scan.snapshot import Column, MemorySegment, Snapshot

LONGEST = 100_000
"""The maximum number of characters of a statement."""
_BEGINS = frozenset({"select", "with", "from", "("})
_GIVE_ROWS = frozenset({"unnest", "range", "generate_series"})
"""DuckDB's functions that return rows without reading anything."""
_numbers = count()


def sql_step(text: str, rows: str, find: Callable[[str], Source | None]) -> tuple[Sql, dict[str, Source]]:
    """Make `text` a step, in which the rows before it are called `rows`; return it with the other datasets
    that it names. Nothing runs. Raises `BadSql` for anything but one SELECT, and `UnknownTable`."""
    tables = tables_named(text, rows)
    sources: dict[str, Source] = {}
    for name in tables:
        if name.casefold() != rows.casefold():
            source = find(name)
            if source is None:
                raise UnknownTable(name, f"the query of {rows}", [rows])
            sources[name] = source
    return Sql(text, rows, tuple((name, name) for name in sources)), sources


def tables_named(text: str, *rows: str) -> list[str]:
    """The tables that one SELECT names. Raises `BadSql` for anything else, and for functions that read
    files."""
    if not isinstance(text, str) or len(text) > LONGEST:
        raise BadSql(f"a statement must be text of at most {LONGEST:,} characters")
    with cursor(Job(), "the statement", Confinement()) as own:
        statement = parse_statement(text, rows, own)
    if first_word(text) not in _BEGINS or statement.functions is None:
        raise BadSql(
            f"{first_word(text).upper()} cannot be a step", "A step is one SELECT", "Write it as a SELECT"
        )
    odd = sorted(statement.functions - _GIVE_ROWS)
    if odd:
        raise BadSql(
            f"the statement may not use {odd[0]}()",
            "A step can read the rows before it, but no files",
            "Open the file, or import it, and name it",
        )
    if any(table.is_qualified for table in statement.tables):
        raise BadSql("a step cannot name stores", fix="Leave the store's name out, or import its table")
    if any(table.view != table.name for table in statement.tables):
        raise BadSql("a step cannot read earlier versions", fix="Leave AT (…) out")
    return [table.name for table in statement.tables]


@dataclass(frozen=True)
class _FrozenSource:
    """A snapshot as a source for a statement."""

    name: str
    frozen_snapshot: Snapshot

    @property
    def schema(self) -> pa.Schema:
        return self.frozen_snapshot.schema

    def snapshot(self) -> Snapshot:
        return self.frozen_snapshot


def sql_node(step: Sql, rows: Node, tables: Mapping[str, Snapshot], number: int, job: Job) -> Node:
    """Compile a step. Its columns are determined on empty datasets: nothing is read or computed."""
    tables_named(step.text, step.rows)
    empty = {name: _in_memory(name, table.schema.empty_table()) for name, table in tables.items()}
    empty[step.rows] = _in_memory(step.rows, rows.fields.schema.empty_table())
    answer = _answer(step, empty, rows.fields.place, job, described=True)
    return SqlNode(step, rows, tables, _in_memory(rows.fields.place, answer), number)


def _in_memory(name: str, rows: pa.Table) -> Snapshot:
    columns = tuple(Column(field.name, field.type, key) for key, field in enumerate(rows.schema))
    renamed = rows.rename_columns([str(key) for key in range(len(columns))])
    return Snapshot(name, columns, (MemorySegment.of(renamed),), ("statement", next(_numbers)))


def _answer(
    step: Sql, datasets: Mapping[str, Snapshot], place: str, job: Job, described: bool = False
) -> pa.Table:
    def find(name: str, _when: VersionOrTime | None) -> Source:
        return _FrozenSource(name, datasets[name])

    request = SqlRequest(only_columns=described)
    answer = run_sql(step.text, Sources(place, list(datasets), find), request, job)
    refuse_twice(answer.column_names, place)
    return answer


class SqlNode(Node):
    """The answer of a statement on the rows before it, which runs when it is read."""

    def __init__(
        self, step: Sql, rows: Node, tables: Mapping[str, Snapshot], empty: Snapshot, number: int
    ) -> None:
        self._step, self._rows, self._tables, self._number = step, rows, tables, number
        self._schema = empty.schema
        scan = ScanNode(empty, number)
        self.fields, self.order, self.in_order = scan.fields, scan.order, True
        self.depth = rows.depth + 1

    def query(self, identifiers: Identifiers, context: QueryContext) -> exp.Select:
        place = self.fields.place
        datasets = {**self._tables, self._step.rows: self._before(context)}
        answer = _answer(self._step, datasets, place, context.job)
        if not answer.schema.equals(self._schema):
            raise BadQuery(
                f"{place}: the columns of the statement's answer depend on the rows that it reads",
                fix="Name its columns, and the values of a PIVOT",
            )
        return ScanNode(_in_memory(place, answer), self._number).query(identifiers, context)

    def _before(self, context: QueryContext) -> Snapshot:
        if isinstance(self._rows, ScanNode) and not self._rows.where:
            return self._rows.snapshot
        return _in_memory(self._step.rows, answers.read(self._rows, context.job))
