"""Compiles the steps of a query for a Spark server: the compiler for DuckDB, over tables of the server."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any, Protocol, runtime_checkable

import pyarrow as pa
from pyarrow import types as is_

from lamella.core.errors import BadQuery, FileProblem, NoRoom
from lamella.core.filters.kinds import Kind, kind_of
from lamella.core.jobs import Job
from lamella.core.libraries import exp
from lamella.core.query.compile import Compiler
from lamella.core.query.duckdb_types import from_duckdb
from lamella.core.query.engine import memory_limit
from lamella.core.query.expressions import Call, ColumnReference, Constant, Expression, expression_of
from lamella.core.query.fields import (
    Field,
    Fields,
    alias,
    column,
    func,
    number,
    quote_identifier,
    refuse_twice,
)
from lamella.core.query.functions.aggregates import AGGREGATES
from lamella.core.query.plan import (
    GroupNode,
    Identifiers,
    LimitNode,
    Node,
    QueryContext,
    Rank,
    select_answer,
)
from lamella.core.query.source import Source
from lamella.core.query.spark.dialect import to_spark
from lamella.core.query.spark.writing import Context, NotInDialect
from lamella.core.query.steps import (
    Aggregates,
    Compute,
    Facets,
    Limit,
    Sample,
    Sql,
    Step,
)
from lamella.core.remote.spark_connect import ServerRefusal, SparkServer
from lamella.core.scan.snapshot import Snapshot, noted_field

_TABLE = "__lamella_s"
EXACT = frozenset(
    {Kind.INTEGER, Kind.DECIMAL, Kind.TEXT, Kind.DATE, Kind.TIMESTAMP, Kind.BOOLEAN, Kind.BINARY}
)
"""Kinds of values whose literals mean the same on every engine."""
_EXACT_FUNCTIONS = frozenset({"add", "subtract", "multiply", "divide", "negate", "abs"})
NO_CURSOR: Any = None
"""Stands for the cursor: no rows are uploaded to a server."""
AS_TEXT = "This type is not supported; shown as text"
NO_ORDER = "A table of a Spark server has no order"


@runtime_checkable
class SparkSource(Protocol):
    """A table of a Spark server. `relation` is its SQL, `stored_schema` its columns as the server describes
    them. `key` are the columns that identify and sort its rows, if the user has named them."""

    @property
    def name(self) -> str: ...

    @property
    def stored_schema(self) -> pa.Schema: ...

    @property
    def server(self) -> SparkServer: ...

    @property
    def relation(self) -> str: ...

    @property
    def key(self) -> tuple[str, ...]: ...


class SparkScan(Node):
    """The rows of a table, or of a SELECT, on the server; statements refer to it as `table`. Columns are read
    by name, so that they are not mixed up if the table is created again with another order of columns; names
    that differ only in case, which some servers do not distinguish, by position."""

    def __init__(
        self, table: str, place: str, stored: pa.Schema, key: Sequence[str] = (), depth: int = 1
    ) -> None:
        self.table, self._stored_schema, self.depth = table, stored, depth
        fields = [
            Field(field.name, field.type, f"{table}c{n}") for n, field in enumerate(shown_schema(stored))
        ]
        self.fields = Fields(place, tuple(fields), is_trusted=True)
        self.order = tuple(Rank(self.fields[name].identifier) for name in key)

    def query(self, identifiers: Identifiers, context: QueryContext) -> exp.Select:
        names, places = self._stored_schema.names, list[exp.Identifier]()
        if len({name.casefold() for name in names}) < len(names):
            names = [f"c{place}" for place in range(len(names))]
            places = [quote_identifier(name) for name in names]
        table = exp.Table(
            this=quote_identifier(self.table),
            alias=exp.TableAlias(this=quote_identifier(self.table), columns=places),
        )
        values = [
            alias(self._value(column(name, self.table), stored.type, field.type), field.identifier)
            for name, stored, field in zip(names, self._stored_schema, self.fields.columns, strict=True)
            if field.identifier in identifiers
        ]
        return exp.select(*(values or [alias(number(1), f"{self.table}none")])).from_(table)

    @staticmethod
    def _value(value: exp.Expr, stored: pa.DataType, kind_shown: pa.DataType) -> exp.Expr:
        """The value; as text if there is no equivalent type here."""
        return value if is_.is_string(stored) or not is_.is_string(kind_shown) else exp.cast(value, "text")


def shown_schema(stored: pa.Schema) -> pa.Schema:
    """The columns as they are shown here: types that only the server supports become text, with a note;
    repeated names get numbers."""
    fields, names = [], set[str]()
    for field in stored:
        name, again = field.name, 2
        while name in names:
            name, again = f"{field.name}#{again}", again + 1
        names.add(name)
        is_known = _is_known(field.type)
        fields.append(
            noted_field(
                name, plain_type(field.type) if is_known else pa.string(), "" if is_known else AS_TEXT
            )
        )
    return pa.schema(fields)


def _is_known(kind: pa.DataType) -> bool:
    if is_.is_nested(kind):
        return all(_is_known(kind.field(place).type) for place in range(kind.num_fields))
    return not (
        is_.is_interval(kind)
        or is_.is_duration(kind)
        or is_.is_null(kind)
        or isinstance(kind, pa.BaseExtensionType)
    )


def plain_type(kind: pa.DataType) -> pa.DataType:
    """The type without details in which servers differ: nullability, names of list items, wide offsets."""
    if is_.is_large_string(kind) or is_.is_string_view(kind):
        return pa.string()
    if is_.is_large_binary(kind) or is_.is_binary_view(kind):
        return pa.binary()
    if is_.is_list(kind) or is_.is_large_list(kind):
        return pa.list_(plain_type(kind.value_type))
    if is_.is_struct(kind):
        return pa.struct([pa.field(field.name, plain_type(field.type)) for field in kind])
    if is_.is_map(kind):
        return pa.map_(plain_type(kind.key_type), plain_type(kind.item_type))
    if is_.is_timestamp(kind):
        return pa.timestamp("us", None if kind.tz is None else "UTC")
    return kind


class SparkCompiler(Compiler):
    """Compiles a query for one server. `find` returns the table with a given name."""

    def __init__(self, server: SparkServer, find: Callable[[str], Source], job: Job) -> None:
        super().__init__(_no_snapshot, job, by_id=False)
        self.server, self._find_source = server, find
        self.tables: dict[str, str] = {}
        self.types: dict[str, pa.DataType] = {}
        self.stable: set[str] = set()
        """The identifiers of columns whose floats are reproducible to the last digit: those of tables, and
        results of plain arithmetic. A sum depends on the order of rows."""
        self._steps: list[tuple[Step, Node, Node]] = []
        self._sources: list[SparkSource] = []
        self.has_order = True
        """Whether all rows that are read have a key, so that orders are total."""

    @property
    def context(self) -> Context:
        return Context(self.types, self.tables)

    def scan(self, name: str) -> Node:
        source = self._find_source(name)
        if not isinstance(source, SparkSource) or source.server is not self.server:
            raise elsewhere(source.name, self.server)
        self._sources.append(source)
        self.has_order = self.has_order and bool(source.key)
        scan = SparkScan(self._table_of(source.relation), source.name, source.stored_schema, source.key)
        self.stable.update(field.identifier for field in scan.fields.columns)
        return self._note_types(scan)

    def _table_of(self, sql: str) -> str:
        name = f"{_TABLE}{len(self.tables)}"
        self.tables[name] = sql
        return name

    def after(self, step: Step, rows: Node) -> Node:
        own = _MEANINGS.get(type(step))
        try:
            node = self._note_types(super().after(step, rows) if own is None else own(self, step, rows))
        except NotInDialect as error:
            raise _refusal(step, rows, error) from error
        self._steps.append((step, rows, node))
        return node

    def is_stable(self, field: Field) -> bool:
        """Whether a column has the same values each time it is read."""
        return field.identifier in self.stable or kind_of(field.type) in EXACT

    def hidden_field(self, identifier: str) -> Field:
        """A sort column that is not in the answer. A column that no step names contains row numbers."""
        return Field(identifier, self.types.get(identifier, pa.int64()), identifier)

    def _field_at(self, path: str, rows: Node) -> tuple[Field, tuple[exp.Expr, Identifiers]]:
        field, (value, inputs) = super()._field_at(path, rows)
        self.types[field.identifier] = field.type
        if inputs <= self.stable:
            self.stable.add(field.identifier)
        return field, (value, inputs)

    def statement(self, node: Node, most: int | None = None) -> str:
        """The rows in their order, as SQL for Spark. Raises `BadQuery`, which names the step, for what cannot
        be translated."""
        query = select_answer(node, self.query_context)
        return self.translate(query if most is None else query.limit(most))

    def translate(self, query: exp.Query) -> str:
        """Translate a query of the rows after the last step. Raises like `statement`."""
        try:
            return to_spark(query.sql("duckdb"), self.context)
        except NotInDialect:
            for step, rows, node in self._steps:
                try:
                    to_spark(select_answer(node, self.query_context).sql("duckdb"), self.context)
                except NotInDialect as error:
                    raise _refusal(step, rows, error) from error
            raise

    @property
    def query_context(self) -> QueryContext:
        return QueryContext(NO_CURSOR, self.job)

    def read(self, node: Node, most: int | None = None) -> pa.Table:
        """Read at most `most` rows. Raises `NoRoom` once they take more memory than a query may use."""
        pieces, total_bytes = list[pa.Table](), 0
        for piece in self.pieces(node, most):
            pieces.append(piece)
            total_bytes += piece.nbytes
            if total_bytes > memory_limit():
                raise NoRoom(
                    f"the answer takes more than the {memory_limit() >> 20:,} MB that a query may use",
                    "It is returned as a whole",
                    "Ask for fewer rows or columns, or read it with batches()",
                )
        if not node.fields.columns:  # concatenating tables without columns loses their number of rows
            rows = sum(piece.num_rows for piece in pieces)
            return pa.table({"row": pa.nulls(rows)}).select([])
        return pa.concat_tables(pieces) if pieces else node.fields.schema.empty_table()

    def pieces(self, node: Node, most: int | None = None) -> Generator[pa.Table]:
        """Yield the rows as they arrive, with the types of the query."""
        statement = self.statement(node, most)
        with self.noticing_changes():
            for piece in self.server.stream(statement, self.job):
                yield from_duckdb(piece, node.fields.schema)

    def answer(self, sql: str) -> pa.Table:
        """Return the whole answer of a statement in Spark's dialect."""
        with self.noticing_changes():
            return self.server.read(sql, self.job)

    @contextmanager
    def noticing_changes(self) -> Iterator[None]:
        """Raise `FileProblem` instead of an error that is due to a table whose columns have changed since it
        was opened."""
        try:
            yield
        except (ServerRefusal, pa.ArrowInvalid):
            for source in self._sources:
                with suppress(ServerRefusal):
                    now = self.server.schema(f"SELECT * FROM {source.relation}", self.job)
                    if columns_of(now) != columns_of(source.stored_schema):
                        raise _other_columns(source, now) from None
            raise

    def group_node(self, rows: Node, keys: Sequence[Field], aggregates: Aggregates) -> GroupNode:
        for _, aggregate in aggregates:
            function = AGGREGATES.get(aggregate.function)
            if function is not None and function.is_ordered and not rows.order:
                raise BadQuery(
                    f"{rows.fields.place}: '{function.id}' of rows that are not sorted is undefined",
                    NO_ORDER,
                    "Sort the rows first, or name the key of the table",
                )
        node = super().group_node(rows, keys, aggregates)
        self._note_types(node)
        return node

    def _note_types(self, node: Node) -> Node:
        self.types.update({field.identifier: field.type for field in node.fields.columns})
        return node

    def _spark_compute(self, step: Compute, rows: Node) -> Node:
        node = self._compute(step, rows)
        stable = {field.name for field in rows.fields.columns if self.is_stable(field)}
        for name, value in step.values:
            if _is_arithmetic(expression_of(value), stable):
                stable.add(name)
                self.stable.add(node.fields[name].identifier)
            else:
                stable.discard(name)
        return node

    def _spark_limit(self, step: Limit, rows: Node) -> Node:
        if step.count is None and step.offset and rows.order:
            return SkipNode(rows, step.offset)
        return LimitNode(rows, step.count, step.offset)

    def _spark_sample(self, step: Sample, rows: Node) -> Node:
        """Sample by a hash of the key, or of the values if there is none: a random sample that stays the
        same."""
        ranks: list[exp.Expr] = [column(rank.identifier) for rank in rows.order]
        if not ranks:
            ranks = [
                column(field.identifier) for field in rows.fields.columns if not is_.is_nested(field.type)
            ]
        return SampleNode(rows, step.count, [func("hash", number(step.seed), *ranks)])

    def _spark_sql(self, step: Sql, rows: Node) -> Node:
        """SQL that a user typed in DuckDB's dialect; the server determines the columns of its answer."""
        from lamella.core.query.sql.step import tables_named

        tables_named(step.text, step.rows)
        parts = {step.rows: rows, **{name: self.scan(source) for name, source in step.tables}}
        types = {field.name: field.type for node in parts.values() for field in node.fields.columns}
        body = to_spark(step.text.strip().rstrip(";"), Context(types))
        tables = ", ".join(f"{_quote(name)} AS ({self._with_names(node)})" for name, node in parts.items())
        sql = f"WITH {tables} SELECT * FROM ({body})"
        stored = self.server.schema(sql, self.job)
        refuse_twice(stored.names, rows.fields.place)
        self.has_order = False
        return SparkScan(self._table_of(f"({sql})"), rows.fields.place, stored, depth=rows.depth + 1)

    def _with_names(self, node: Node) -> str:
        """The rows with the columns' own names."""
        identifiers = Identifiers(field.identifier for field in node.fields.columns)
        values = [alias(column(field.identifier), field.name) for field in node.fields.columns]
        query = exp.select(*values).from_(node.source(identifiers, self.query_context))
        return to_spark(query.sql("duckdb"), self.context)

    def _spark_facets(self, step: Facets, rows: Node) -> Node:
        raise NotInDialect(
            "several answers cannot be computed at once in Spark", "Run the queries one by one"
        )


class SkipNode(Node):
    """All rows from a row on, by row number: for an offset without limit, Sail 0.7 loses the order if later
    steps compute with the rows."""

    def __init__(self, rows: Node, offset: int) -> None:
        self._rows, self._offset = rows, offset
        self.fields, self.order, self.depth = rows.fields, rows.order, rows.depth + 1

    def query(self, identifiers: Identifiers, context: QueryContext) -> exp.Select:
        context = replace(context, grouping=False)
        rows = self._rows.source(identifiers | self.order_columns, context)
        order = exp.Order(expressions=[rank.sql for rank in self.order])
        row_number = f"__lamella_row{self.depth}"
        numbers = alias(exp.Window(this=exp.RowNumber(), order=order), row_number)
        numbered = exp.select("*", numbers, copy=False).from_(rows, copy=False)
        following = exp.GT(this=column(row_number), expression=number(self._offset))
        return (
            exp.select("*", copy=False).from_(numbered.subquery("t", copy=False), copy=False).where(following)
        )


class SampleNode(LimitNode):
    """A limit that also reads the columns that are hashed."""

    def __init__(self, rows: Node, count: int, by: Sequence[exp.Expr]) -> None:
        super().__init__(rows, count, 0, [*by, *(rank.sql for rank in rows.order)])
        self._hashed_columns = Identifiers(leaf.name for value in by for leaf in value.find_all(exp.Column))

    def query(self, identifiers: Identifiers, context: QueryContext) -> exp.Select:
        return super().query(identifiers | self._hashed_columns, context)


def _refusal(step: Step, rows: Node, error: NotInDialect) -> BadQuery:
    return BadQuery(
        f"{rows.fields.place}: the step '{type(step).__name__.lower()}' cannot run on Spark Connect",
        error.subject,
        error.fix or "Run it here: open a file with the same rows",
    )


def columns_of(stored: pa.Schema) -> tuple[tuple[str, str], ...]:
    """Return names and types, without details such as nullability."""
    return tuple((field.name, str(field.type)) for field in stored)


def _other_columns(source: SparkSource, now: pa.Schema) -> FileProblem:
    gone = [field.name for field in source.stored_schema if field.name not in now.names]
    changes = [
        f"'{field.name}' was {field.type}, and is {now.field(field.name).type}"
        for field in source.stored_schema
        if now.names.count(field.name) == 1 and not now.field(field.name).type.equals(field.type)
    ]
    lost = f"It has no column {' or '.join(map(repr, gone[:3]))} any more" if gone else ""
    return FileProblem(
        source.name,
        "has other columns than when it was opened",
        lost or "; ".join(changes[:3]),
        "Reload it to see its new content",
    )


def elsewhere(name: str, server: SparkServer) -> BadQuery:
    """The error for local rows, or rows of another server, in a query that runs on this one."""
    return BadQuery(
        f"'{name}' cannot be joined with a table of {server.place}",
        "The server cannot see it, and nothing is uploaded",
        "Write it where the server reads it, and open it from there; or export the table and join it here",
    )


def _quote(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _no_snapshot(name: str) -> Snapshot:
    raise AssertionError(f"{name} is on a server")


def _is_arithmetic(value: Expression, stable: Collection[str]) -> bool:
    """Whether a value is computed from stable columns by operations that every machine computes to the same
    last digit."""
    if isinstance(value, ColumnReference):
        return value.name in stable or value.name.partition(".")[0] in stable
    if isinstance(value, Call):
        return value.function in _EXACT_FUNCTIONS and all(
            _is_arithmetic(argument, stable) for argument in value.arguments
        )
    return isinstance(value, Constant)


_MEANINGS: dict[type[Step], Callable[..., Node]] = {
    Compute: SparkCompiler._spark_compute,
    Limit: SparkCompiler._spark_limit,
    Sample: SparkCompiler._spark_sample,
    Sql: SparkCompiler._spark_sql,
    Facets: SparkCompiler._spark_facets,
}
