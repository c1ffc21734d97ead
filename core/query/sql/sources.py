"""Resolves the names in a statement to datasets, and provides views of the columns that it may use."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from lamella.core.errors import Advice, BadSql, UnknownTable
from lamella.core.jobs import Job
from lamella.core.libraries import exp
from lamella.core.query.duckdb_source import TEMPORARY, DecodedRows, Decodings, relation, without_statistics
from lamella.core.query.engine import CountedCache
from lamella.core.query.execute import PreparedCursor
from lamella.core.query.find import is_cacheable
from lamella.core.query.source import Source, VersionOrTime, whole_snapshot
from lamella.core.query.sql.information_schema import (
    COLUMNS,
    NOT_LISTED,
    TABLES,
    ListedTable,
    information,
    is_catalog,
)
from lamella.core.query.sql.statement import Statement, TableName
from lamella.core.scan.parquet_file import unchanged_footer
from lamella.core.scan.snapshot import Column, Snapshot
from lamella.core.validation import text_of

OR_ALLOW_FILES = Advice(
    "Open it and give it a name, or allow it: files=True",
    "Open it and give it a name",
    "Query the file itself, or allow it: --files",
)


@dataclass(frozen=True)
class Sources:
    """The datasets that a statement in `place` may name. `find` returns one by name, at a version if given.
    Files in `folders` may be read; `open_file` opens a file that a statement names. `listing` has the
    tables that SHOW TABLES lists, each once; by default all names."""

    place: str
    names: Sequence[str]
    find: Callable[[str, VersionOrTime | None], Source]
    folders: tuple[str, ...] = ()
    open_file: Callable[[str], Source] | None = None
    listing: Sequence[ListedTable] | None = None

    def tables(self) -> Sequence[ListedTable]:
        return [ListedTable(name) for name in self.names] if self.listing is None else self.listing


def snapshots_of(
    tables: Sequence[TableName],
    sources: Sources,
    as_of: VersionOrTime | Mapping[str, VersionOrTime] | None,
    files: bool,
    job: Job,
) -> dict[str, Snapshot]:
    """Snapshots of the tables, by view. With `files`, an unknown name may be that of a file.

    Raises `UnknownTable`, `BadSql` for a file that may not be read, and the errors of datasets.
    """
    names = {**{name.casefold(): name for name in sources.names}, **{name: name for name in sources.names}}
    snapshots: dict[str, Snapshot] = {}
    if isinstance(as_of, Mapping):
        as_of = {_source_name(name, names, sources): when for name, when in as_of.items()}
    _refuse_lookalikes([names[t.name] for t in tables if t.name in names])
    for table in tables:
        job.check()
        if table.is_qualified and table.name in (TABLES, COLUMNS):
            snapshots[table.view] = information(
                table.name, sources.tables(), lambda name: sources.find(name, None), job
            )
            continue
        name = names.get(table.name, names.get(table.name.casefold()))
        if name is None:
            dataset = _file(table, sources, files)
        else:
            dataset = sources.find(name, _version(table, name, as_of))
        snapshots[table.view] = whole_snapshot(dataset, job)
    return snapshots


def _source_name(name: str, names: Mapping[str, str], sources: Sources) -> str:
    text_of(name, f"{sources.place}: the table name")
    source = names.get(name, names.get(name.casefold()))
    if source is None:
        raise UnknownTable(name, sources.place, sources.names)
    return source


def _file(table: TableName, sources: Sources, allowed: bool) -> Source:
    if is_catalog(table.name):
        raise BadSql(f"{sources.place} has no table '{table.name}'", fix=NOT_LISTED)
    if table.is_qualified or not _is_path(table.name):
        raise UnknownTable(table.name, sources.place, sources.names)
    if not allowed or sources.open_file is None:
        raise BadSql(
            f"the file '{table.name}' may not be read by a statement",
            "Statements can read only what was opened",
            OR_ALLOW_FILES,
        )
    if table.view != table.name:
        raise BadSql(f"the file '{table.name}' has no versions", fix="Leave AT (…) out")
    return sources.open_file(table.name)


def _is_path(name: str) -> bool:
    return bool(Path(name).suffix) or "/" in name or "\\" in name


def _version(
    table: TableName, name: str, as_of: VersionOrTime | Mapping[str, VersionOrTime] | None
) -> VersionOrTime | None:
    """The version of a table: the one in the statement takes precedence over `as_of`."""
    if table.time is not None:
        try:
            return dt.datetime.fromisoformat(table.time)
        except ValueError as error:
            raise BadSql(
                f"table '{name}': '{table.time}' is not a time", str(error), "Write it as 2024-05-01 12:00"
            ) from error
    if table.version is not None:
        return table.version
    return as_of.get(name) if isinstance(as_of, Mapping) else as_of


def _refuse_lookalikes(tables: Sequence[str]) -> None:
    """Refuse names that differ only in case, which the engine would confuse."""
    first: dict[str, str] = {}
    for table in tables:
        namesake = first.setdefault(table.casefold(), table)
        if namesake != table:
            raise BadSql(
                f"tables '{namesake}' and '{table}' cannot be read in one statement",
                "SQL does not distinguish upper and lower case in names",
                "Rename one of them",
            )


MOST_STATEMENTS = 64

_statements = CountedCache[tuple[object, ...], tuple[str, Decodings | None]](MOST_STATEMENTS)


def make_view(
    prepared: PreparedCursor[Any], view: str, snapshot: Snapshot, statement: Statement, job: Job
) -> Decodings | None:
    """Create a view of the live rows on this cursor, with at least the columns that the statement names.

    Decimals of more than 38 digits, which DuckDB lacks, become text with all digits; durations become whole
    numbers in the column's unit.

    Returns the rows that it reads from memory, if it can do so again.
    """
    _refuse_unspeakable(snapshot.name, [column.name for column in snapshot.columns])
    columns = _named_columns(snapshot, statement)
    decodings = Decodings() if columns and _is_served_from_memory(snapshot, statement) else None
    if decodings is not None and _is_of_files_alone(snapshot):  # rows in memory replace the view
        called = tuple(column.name for column in columns)
        if decodings.hand(DecodedRows(view, snapshot.files, columns, called), prepared, job):
            return decodings
        decodings = None
    own = prepared.cursor
    own.execute(
        _statement(own, view, snapshot, columns or _least_columns(snapshot, statement), decodings, job)
    )
    return None


def _is_served_from_memory(snapshot: Snapshot, statement: Statement) -> bool:
    """Whether to read decoded columns from memory. Only files have statistics, with which the engine joins
    and sorts in less memory, and skips much of a large filtered file."""
    return statement.groups and (not statement.filters or is_cacheable(snapshot))


def _is_of_files_alone(snapshot: Snapshot) -> bool:
    pending = snapshot.overlay is not None or len(snapshot.files) < len(snapshot.segments)
    return not pending and not len(snapshot.deleted_positions)


def _named_columns(snapshot: Snapshot, statement: Statement) -> tuple[Column, ...]:
    """The columns that the statement names: binding a wide table takes longer than many queries of a few
    columns."""
    columns = statement.columns or ()
    return tuple(c for c in snapshot.columns if c.name.casefold() in columns)


def _least_columns(snapshot: Snapshot, statement: Statement) -> tuple[Column, ...]:
    return snapshot.columns if statement.columns is None else snapshot.columns[:1]


def _statement(
    own: duckdb.DuckDBPyConnection, view: str, snapshot: Snapshot, columns: tuple[Column, ...],
    decodings: Decodings | None, job: Job,
) -> str:  # fmt: skip
    """The statement that creates the view. It is cached if it can be reused: for wide tables, writing it
    takes longer than many queries."""
    names = tuple(column.name for column in columns)
    key = (view, snapshot.name, snapshot.token, names, decodings is None)
    text, used = _statements.get(key) or ("", None)
    for file in snapshot.files if text else ():
        unchanged_footer(file)
    if text and (used is None or used.hand_again(own)):
        return text
    text = _create_view(own, view, snapshot, columns, decodings, job)
    if TEMPORARY not in text and not (decodings and decodings.growing):
        _statements.put(key, (text, decodings))
    return text


def _create_view(
    own: duckdb.DuckDBPyConnection, view: str, snapshot: Snapshot, columns: tuple[Column, ...],
    decodings: Decodings | None, job: Job,
) -> str:  # fmt: skip
    rows = relation(snapshot, columns, own, huge_as_text=True, job=job, decodings=decodings)
    values = [exp.alias_(without_statistics(snapshot, c), c.name, quoted=True, copy=False) for c in columns]
    query = exp.select(*values, copy=False).from_(rows, copy=False)
    create = exp.Create(
        this=exp.to_identifier(view, quoted=True), kind="VIEW", expression=query,
        replace=True, properties=exp.Properties(expressions=[exp.TemporaryProperty()]),
    )  # fmt: skip
    return create.sql("duckdb")


def _refuse_unspeakable(table: str, columns: list[str]) -> None:
    """Refuse column names that SQL cannot have or would confuse: it does not distinguish upper and lower case
    of English letters."""
    first: dict[bytes, str] = {}
    for column in columns:
        if not column or "\0" in column:
            raise BadSql(
                f"table '{table}' cannot be read in SQL, which has no name for its column {column!r}",
                "Names in SQL are never empty and contain no zero character",
                "Rename the column",
            )
        namesake = first.setdefault(column.encode().lower(), column)
        if namesake != column:
            raise BadSql(
                f"table '{table}' cannot be read in SQL with both columns '{namesake}' and '{column}'",
                "SQL does not distinguish upper and lower case in names",
                "Rename one of them",
            )
