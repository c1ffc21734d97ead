"""Runs SQL that users type over named datasets: it reads only these, within its limits."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import duckdb
import pyarrow as pa
from pyarrow import types as is_

from lamella.core.arrow.types import holds
from lamella.core.errors import BadData, BadSql, UnknownTable, short_text
from lamella.core.jobs import Job
from lamella.core.libraries import exp, qualifying, scopes, sqlglot
from lamella.core.query.duckdb_source import Decodings
from lamella.core.query.duckdb_types import from_duckdb
from lamella.core.query.engine import (
    ROWS_A_BATCH,
    Confinement,
    collect_table,
    cursor,
    memory_limit,
    stream_batches,
    time_limit,
)
from lamella.core.query.execute import PreparedCursor, prepared_cursor
from lamella.core.query.functions.types import text_compared_as_number
from lamella.core.query.source import VersionOrTime
from lamella.core.query.sql.problems import missing_part, place_of, place_of_name
from lamella.core.query.sql.rows_read import PROFILING, RowsRead, rows_read_by
from lamella.core.query.sql.sources import OR_ALLOW_FILES, Sources, make_view, snapshots_of
from lamella.core.query.sql.statement import (
    Statement,
    cached_statement,
    first_word,
    parse_statement,
    quote_hint,
)
from lamella.core.remote.duckdb_files import duckdb_name
from lamella.core.scan.snapshot import Snapshot


def in_types(answer: pa.Table, kinds: Sequence[pa.DataType | None]) -> pa.Table:
    """Cast columns to the given types, if given."""
    columns = [_in_type(column, kind) for column, kind in zip(answer.columns, kinds, strict=True)]
    fields = [field.with_type(c.type) for field, c in zip(answer.schema, columns, strict=True)]
    return pa.Table.from_arrays(columns, schema=pa.schema(fields))


def _in_type(column: pa.ChunkedArray, kind: pa.DataType | None) -> pa.ChunkedArray:
    if kind is None or kind == column.type or not _is_alike(column.type, kind):
        return column
    if holds(kind, pa.types.is_decimal256):  # text here, but bytes in other queries
        return column.cast(kind)
    table = pa.Table.from_arrays([column], names=["x"])
    return from_duckdb(table, pa.schema([pa.field("x", kind)])).column(0)


def _is_alike(answer: pa.DataType, kind: pa.DataType) -> bool:
    """Whether types have the same fields. A variant does not: DuckDB assembles it from its fields."""
    if is_.is_struct(kind):
        same = is_.is_struct(answer) and [f.name for f in answer] == [f.name for f in kind]
        return same and all(_is_alike(a.type, b.type) for a, b in zip(answer, kind, strict=True))
    if is_.is_map(kind):
        return _is_alike(answer.key_type, kind.key_type) and _is_alike(answer.item_type, kind.item_type)
    if is_.is_nested(kind):
        return is_.is_nested(answer) and _is_alike(answer.value_type, kind.value_type)
    return True


_PASSING_CALLS = (
    exp.Min,
    exp.Max,
    exp.First,
    exp.Last,
    exp.AnyValue,
    exp.IgnoreNulls,
    exp.Paren,
    exp.Coalesce,
)
"""Expressions that return one of their arguments."""
_COUNTED_ROWS = re.compile(r"\bcount\s*\(\s*\*\s*\)")
_SELECT = re.compile(r"\bselect\b")
_COLUMNS_WITHOUT_NAMES = re.compile(
    r"[*#]|\b(?:columns|pivot|pivot_wider|unpivot|table|describe|summarize|show)\b|^(?!\s*[(]*\s*(?:select|with)\b)"
)
Types = Mapping[str, Mapping[str, pa.DataType]]


def changes_type(kind: pa.DataType) -> bool:
    """Whether the engine returns values of this type as another type."""
    if is_.is_timestamp(kind):
        return kind.tz not in (None, "UTC") or kind.unit not in ("us", "ns")
    return not (
        (is_.is_integer(kind) and not is_.is_temporal(kind))
        or is_.is_float32(kind)
        or is_.is_float64(kind)
        or is_.is_decimal128(kind)
        or kind in (pa.bool_(), pa.string(), pa.binary(), pa.date32())
    )


def column_types(
    statement: Statement, tables: Mapping[str, Snapshot], columns: Sequence[str]
) -> list[pa.DataType | None]:
    """For each column of the answer, the type of the table column that it passes through; None if it is
    computed or cannot be determined."""
    nothing: list[pa.DataType | None] = [None] * len(columns)
    used_columns = [
        c for snapshot in tables.values() for c in snapshot.columns if _is_named(c.name, statement)
    ]
    otherwise = [c.name.lower() for c in used_columns if changes_type(c.type)]
    if not _may_hand_on(statement.text, otherwise):
        return nothing
    types = {
        name.casefold(): {c.name.lower(): c.type for c in snapshot.columns}
        for name, snapshot in tables.items()
    }
    root = _scope(statement.text, types)
    if root is None:
        return nothing
    outputs = _outputs(root, types)
    return outputs if len(outputs) == len(columns) else nothing


def _is_named(column: str, statement: Statement) -> bool:
    return statement.columns is None or column.casefold() in statement.columns


def _may_hand_on(text: str, columns: Sequence[str]) -> bool:
    """Whether one of these columns can be in the answer, by name or as part of `*` and the like. This is a
    quick check: analysing a statement takes longer than many take to run."""
    message = _COUNTED_ROWS.sub("", text.lower())
    if not columns:
        return False
    lacks_select = message.count("from") > len(_SELECT.findall(message))
    unnamed = lacks_select or _COLUMNS_WITHOUT_NAMES.search(message) is not None
    return unnamed or any(name in message for name in columns)


def _scope(text: str, types: Types) -> scopes.Scope | None:
    """The scope of a statement; None if sqlglot cannot analyse it: the answer then has the engine's types."""
    schema: dict[str, object] = {table: dict.fromkeys(names, "text") for table, names in types.items()}
    try:
        tree = sqlglot.parse_one(text, dialect="duckdb")
        qualified = qualifying.qualify(tree, schema=schema, dialect="duckdb", validate_qualify_columns=False)
        return scopes.build_scope(qualified)
    except sqlglot.errors.SqlglotError:
        return None


def _outputs(scope: scopes.Scope, types: Types) -> list[pa.DataType | None]:
    tree = scope.expression
    if isinstance(tree, exp.SetOperation):
        if tree.args.get("by_name") or len(scope.set_operation_scopes) != 2:
            return []
        sides = [_outputs(side, types) for side in scope.set_operation_scopes]
        return [a if a == b else None for a, b in zip(*sides, strict=False)]
    if not isinstance(tree, exp.Select) or tree.args.get("pivots"):
        return []
    return [_origin(value, scope, types) for value in tree.selects]


def _origin(value: exp.Expr, scope: scopes.Scope, types: Types) -> pa.DataType | None:
    if isinstance(value, exp.Alias):
        return _origin(value.this, scope, types)
    if isinstance(value, _PASSING_CALLS):
        origins = [_origin(part, scope, types) for part in (value.this, *value.expressions)]
        return origins[0] if all(kind == origins[0] for kind in origins) else None
    if not isinstance(value, exp.Column):
        return None
    node, source = scope.selected_sources.get(value.table, (None, None))
    if isinstance(source, scopes.Scope):
        names, kinds = getattr(source.expression, "named_selects", []), _outputs(source, types)
    elif isinstance(source, exp.Table) and not source.args.get("pivots"):
        own = types.get(source.name.casefold(), {})
        names, kinds = list(own), list(own.values())
    else:
        return None
    called = _column_aliases(node, names)
    place = called.index(value.name.lower()) if value.name.lower() in called else len(kinds)
    return kinds[place] if place < len(kinds) else None


def _column_aliases(node: exp.Expr | None, names: Sequence[str]) -> list[str]:
    """The names of columns under the alias of a table, which may rename the first few: `t AS x(a, b)`."""
    anew = node.alias_column_names if isinstance(node, exp.Table) else []
    return [name.lower() for name in (*anew, *names[len(anew) :])]


Parameters = Sequence[Any] | Mapping[str, Any]
TypedRelation = tuple[duckdb.DuckDBPyRelation, Sequence[pa.DataType | None]]
"""A relation, and the types that columns of its answer keep."""


@dataclass(frozen=True)
class SqlRequest:
    """The parameters of a run: values for `?` or `$name`, the versions to read (one for all tables, or by
    name), the limits in seconds and bytes, and whether the statement may read files that it names. With
    `only_columns`, nothing runs, and the answer is empty with its columns."""

    parameters: Parameters | None = None
    as_of: VersionOrTime | Mapping[str, VersionOrTime] | None = None
    seconds: float | None = None
    memory: int | None = None
    files: bool = False
    only_columns: bool = False


def run_sql(
    text: str, sources: Sources, request: SqlRequest = SqlRequest(), job: Job | None = None
) -> pa.Table:
    """Run one SELECT in DuckDB's dialect. Columns that are passed through keep their types.

    Raises `BadSql`, `UnknownTable`, `TookTooLong`, and `NoRoom` if the answer does not fit in memory.
    """
    with time_limit(job or Job(), request.seconds, sources.place) as own_job:
        statement, tables = _parse_request(text, sources, request, own_job)
        confined, key = _confinement_of(request, sources, tables), _key(statement, tables, request)
        with (
            prepared_cursor(key, own_job, sources.place, confined) as own,
            _as_bad_sql(text, statement, sources, request, own.cursor),
        ):
            return _answer(own, statement, tables, request, own_job)


@dataclass(frozen=True)
class TableRead:
    """A table that a statement reads: of its `num_columns`, `columns` may be used."""

    name: str
    columns: int
    num_columns: int
    num_rows: int


@dataclass(frozen=True)
class SqlStream:
    """The answer of a statement as a stream. Two columns may have the same name. `figures` are the indexes of
    columns with averages and the like. `rows_read` is available after the last batch."""

    schema: pa.Schema
    reads: tuple[TableRead, ...]
    batches: Iterator[pa.RecordBatch]
    figures: tuple[int, ...] = ()
    rows_read: Callable[[], RowsRead | None] = lambda: None


@contextmanager
def stream_sql(
    text: str, sources: Sources, request: SqlRequest = SqlRequest(), job: Job | None = None
) -> Iterator[SqlStream]:
    """Yield the answer of `run_sql` in batches, in bounded memory, for the duration of the block."""
    own_job = job or Job()
    statement, tables = _parse_request(text, sources, request, own_job)
    confined = _confinement_of(request, sources, tables)
    with (
        prepared_cursor(None, own_job, sources.place, confined) as own,
        _as_bad_sql(text, statement, sources, request, own.cursor),
    ):
        _refuse_text_as_number(statement, tables)
        own.cursor.execute(PROFILING)
        relation, kinds = _bind(own, statement, tables, request, own_job)
        reader = relation.to_arrow_reader(ROWS_A_BATCH)
        schema = in_types(reader.schema.empty_table(), kinds).schema
        reads, batches = tuple(_reads(statement, tables)), _in_types(reader, kinds, own_job)
        rows_read = partial(rows_read_by, own.cursor, tables)
        yield SqlStream(schema, reads, batches, statement.figures, rows_read)


def _in_types(
    reader: pa.RecordBatchReader, kinds: Sequence[pa.DataType | None], job: Job
) -> Iterator[pa.RecordBatch]:
    for batch in stream_batches(reader, job):
        yield from in_types(pa.Table.from_batches([batch]), kinds).to_batches()


def _reads(statement: Statement, tables: Mapping[str, Snapshot]) -> Iterator[TableRead]:
    """The tables under the names in the statement."""
    names = {table.view: table.name for table in statement.tables}
    for view, snapshot in tables.items():
        visible = [c for c in snapshot.columns if c is not snapshot.ids]
        columns = [c for c in visible if _is_named(c.name, statement)]
        yield TableRead(names[view], len(columns), len(visible), snapshot.num_rows)


def tables_of(text: str, sources: Sources, request: SqlRequest, job: Job) -> dict[str, Snapshot]:
    """The snapshots of the tables that a statement names, by view."""
    return _parse_request(text, sources, request, job)[1]


def _parse_request(
    text: str, sources: Sources, request: SqlRequest, job: Job
) -> tuple[Statement, dict[str, Snapshot]]:
    """Parse the statement; return it with the snapshots of its tables, by view."""
    statement = None
    try:
        statement = cached_statement(text) or _parse(text, sources, job)
        return statement, snapshots_of(statement.tables, sources, request.as_of, request.files, job)
    except (BadSql, UnknownTable) as error:
        refused = (t.name for t in statement.tables if f"'{t.name}'" in error.what) if statement else ()
        name = error.name if isinstance(error, UnknownTable) else next(iter(refused), "")
        error.span = error.span or place_of(str(error), text) or place_of_name(name, text)
        raise


@contextmanager
def _as_bad_sql(
    text: str, statement: Statement, sources: Sources, request: SqlRequest, own: duckdb.DuckDBPyConnection
) -> Iterator[None]:
    """Raise DuckDB's errors in the block as `BadSql`, with the position in the statement."""
    try:
        yield
    except _RAISED_BY_CURSOR:
        raise
    except duckdb.PermissionException as error:
        raise _file_error(error, text) from error
    except duckdb.Error as error:
        if isinstance(error, duckdb.ParserException):
            hint = quote_hint(text, sources.names, own) or missing_part(text, error)
            problem = BadSql("the statement cannot be read", str(error), hint)
        else:
            problem = BadSql("the statement failed", _REFUSED_WAYS.sub("", str(error)))
        message = _with_place(error, statement, request, own)
        problem.span = (
            place_of(str(error), text) if message is None else place_of(message, text, lines_before=1)
        )
        raise problem from error


def _with_place(
    error: duckdb.Error, statement: Statement, request: SqlRequest, own: duckdb.DuckDBPyConnection
) -> str | None:
    """The message when only the plan is requested: for a relation, DuckDB 2.0 does not say where in the
    statement it failed."""
    if first_word(statement.text) == "explain" or not isinstance(
        error, duckdb.BinderException | duckdb.CatalogException
    ):
        return None
    try:
        own.execute(f"EXPLAIN\n{statement.text}", _values(request.parameters))
    except duckdb.Error as same:
        return str(same)
    return None


def _parse(text: str, sources: Sources, job: Job) -> Statement:
    with cursor(job, sources.place) as reader:
        return parse_statement(text, sources.names, reader)


def _key(statement: Statement, tables: Mapping[str, Snapshot], request: SqlRequest) -> Hashable:
    """A key that is equal for statements that may share a prepared relation; None if nothing can be shared.

    Copies of a store have equal tokens, but the confinement to files distinguishes them.
    """
    if request.parameters is not None or request.files or not statement.groups:
        return None
    return statement.text, *((view, snapshot.name, snapshot.token) for view, snapshot in tables.items())


def _answer(
    own: PreparedCursor[TypedRelation],
    statement: Statement,
    tables: Mapping[str, Snapshot],
    request: SqlRequest,
    job: Job,
) -> pa.Table:
    _refuse_text_as_number(statement, tables)
    relation, kinds = own.again() or _bind(own, statement, tables, request, job)
    if request.only_columns:  # limit() adds numbers to repeated names
        empty = collect_table(relation.limit(0), memory_limit(), job)
        return in_types(empty.rename_columns(relation.columns), kinds)
    return in_types(collect_table(relation, request.memory or memory_limit(), job, _ADVICE), kinds)


def _bind(
    own: PreparedCursor[TypedRelation],
    statement: Statement,
    tables: Mapping[str, Snapshot],
    request: SqlRequest,
    job: Job,
) -> TypedRelation:
    """Prepare the relation, over views of the named columns; if that fails, over all, for a better
    message."""
    reads: Decodings | None = None
    for view, snapshot in tables.items():
        job.check()
        reads = make_view(own, view, snapshot, statement, job)
    try:
        relation = own.cursor.sql(statement.text, params=_values(request.parameters))
        bound = relation, column_types(statement, tables, relation.columns)
        return own.keep(bound, reads) if reads is not None else bound
    except RecursionError as error:
        raise BadSql("A parameter value is nested too deeply", fix="Pass flatter values") from error
    except duckdb.BinderException:
        if statement.columns is None:
            raise
        return _bind(own, replace(statement, columns=None), tables, request, job)


def _values(parameters: Parameters | None) -> Any:
    if parameters is None or isinstance(parameters, Mapping):
        return parameters
    if isinstance(parameters, (str, bytes)) or not isinstance(parameters, Sequence):
        raise BadData(
            f"parameters={short_text(parameters)} are not values for a statement",
            fix="Give a list for ?, or a dict for $name",
        )
    return list(parameters)


def _confinement_of(request: SqlRequest, sources: Sources, tables: Mapping[str, Snapshot]) -> Confinement:
    """The confinement. Files in the sources' folders are not listed, so that it can be reused next time."""
    problem = "" if request.memory is None else _memory_problem(request.memory)
    if problem:
        raise BadData(
            f"{sources.place}: memory={short_text(request.memory)} is {problem}",
            fix=f"Give at least {_LEAST_MEMORY:,} bytes",
        )
    if request.files:
        return Confinement(None, (), request.memory)
    paths = {duckdb_name(file.path) for snapshot in tables.values() for file in snapshot.files}
    outside = sorted(path for path in paths if not path.startswith(sources.folders))
    return Confinement(sources.folders, tuple(outside), request.memory)


def _memory_problem(memory: object) -> str:
    if not isinstance(memory, int):
        return "not a whole number of bytes"
    if memory > _MOST_MEMORY:
        return "more than any machine has"
    return "too little for any statement" if memory < _LEAST_MEMORY else ""


def _file_error(error: Exception, text: str) -> BadSql:
    """The error for a file, with the position of its name in the statement."""
    match = re.search(r'"([^"]+)"', str(error))
    place = text.find(match[1]) if match is not None else -1
    reason = str(error).partition("\n")[0].removeprefix("Permission Error: ").partition(" - ")[0]
    problem = BadSql(
        "the statement may not read that file",
        f"{reason}. Statements can read only what was opened",
        OR_ALLOW_FILES,
    )
    if match is not None and place >= 0:
        problem.span = place, place + len(match[1])
    return problem


def _refuse_text_as_number(statement: Statement, tables: Mapping[str, Snapshot]) -> None:
    if not any(pa.types.is_decimal256(c.type) for snapshot in tables.values() for c in snapshot.columns):
        return
    try:
        tree = sqlglot.parse_one(statement.text, dialect="duckdb")
    except sqlglot.errors.SqlglotError as error:
        raise BadSql("the statement cannot be analysed", str(error).splitlines()[0]) from error
    comparison = text_compared_as_number(tree, tables)
    if comparison is not None:
        table, column = comparison
        raise BadSql(
            f"column '{column}' of table '{table}' cannot be sorted, or compared with a number, in SQL",
            "Its decimals have more than 38 digits, and are text in SQL",
            "Compare it with = and all its digits in quotes, or use read(where=, sort=)",
        )


_ADVICE = "Ask for fewer rows or columns (LIMIT, WHERE), or raise the limit: memory="
_REFUSED_WAYS = re.compile(
    r",? or SET [a-z_]+=.*?(?=\.$|\.\s)|\s*(?:Please try installing and loading|Use SET ).*", re.DOTALL
)
"""Advice in the engine's messages that statements cannot follow."""
_LEAST_MEMORY = 8 << 20
_MOST_MEMORY = 2**62
_RAISED_BY_CURSOR = (
    duckdb.InterruptException, duckdb.OutOfMemoryException, duckdb.InternalException, duckdb.FatalException,
)  # fmt: skip
