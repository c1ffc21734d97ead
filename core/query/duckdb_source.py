"""A snapshot as a DuckDB relation: the column `pos`, and one column `c<key>` for each requested column."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, partial, reduce
from itertools import count, groupby
from typing import Protocol

import numpy as np
import pyarrow as pa

from lamella.core.arrow.arrays import from_numpy
from lamella.core.arrow.nested_values import type_at
from lamella.core.arrow.sorted_ids import EMPTY, union, without
from lamella.core.arrow.types import holds
from lamella.core.filters.to_sql import field_in
from lamella.core.jobs import Job
from lamella.core.libraries import duckdb, exp
from lamella.core.query import engine
from lamella.core.query.duckdb_types import (
    aliases_of,
    is_adjusted_time,
    is_interval_or_variant,
    may_be_misread,
    misreads,
    same_in_memory,
    sql_type,
    to_duckdb,
)
from lamella.core.remote.duckdb_files import duckdb_name
from lamella.core.scan import chunks as whole
from lamella.core.scan.cache import row_numbers
from lamella.core.scan.parquet_file import Footer, check_whole, unchanged_footer
from lamella.core.scan.read import (
    changed_cells,
    in_memory,
    live_positions,
    read_all_rows,
    schema_of,
    take_rows,
)
from lamella.core.scan.snapshot import Column, FileSegment, MemorySegment, Segment, Snapshot

MOST_REQUESTED_COLUMNS = 1 << 14

_columns_read: set[tuple[Footer, str]] = set()
_lock = threading.Lock()


class Registry(Protocol):
    """A cursor or a stand-in for one, on which SQL can refer to rows by the name they are registered
    under."""

    def register(self, name: str, rows: pa.Table, /) -> object: ...


@dataclass(frozen=True, eq=False)
class DecodedRows:
    """Columns of consecutive files, registered under `name` for SQL, in which the columns have the names in
    `names`. If `position` is set, a column of that name has the rows' positions, starting at `first`."""

    name: str
    files: tuple[FileSegment, ...]
    columns: tuple[Column, ...]
    names: tuple[str, ...]
    position: str | None = None
    first: int = 0

    def hand_to(self, cursor: Registry) -> bool:
        """Register the rows if all of them are in memory, and return whether they are. Raises `FileProblem`
        for a file that changed."""
        parts = []
        for file in self.files:
            columns = whole.cached_chunks(unchanged_footer(file), self._names(file))
            if columns is None:
                return False
            parts.append(columns)
        cursor.register(self.name, self._table(parts))
        return True

    @cached_property
    def is_plain(self) -> bool:
        """Whether there are columns, and DuckDB treats them the same from memory as from files."""
        if not self.columns or any(c.path or c.key not in f.names for f in self.files for c in self.columns):
            return False
        forms = set()
        for file in self.files:
            footer, names = unchanged_footer(file), self._names(file)
            if not all(_is_plain(footer, name, c.type) for name, c in zip(names, self.columns, strict=True)):
                return False
            forms.add(tuple(whole.is_coded(footer, name) for name in names))
        return len(forms) == 1

    @cached_property
    def fits(self) -> bool:
        return whole.fit((unchanged_footer(file), self._names(file)) for file in self.files)

    def decode(self, job: Job) -> bool:
        """Decode what is not in memory yet. On the first request, do nothing and return False.

        Raises `Cancelled` between row groups.
        """
        footers = [(unchanged_footer(file), self._names(file)) for file in self.files]
        missing = [
            (footer, [n for n in names if whole.cached_chunks(footer, [n]) is None])
            for footer, names in footers
        ]
        if not _were_requested({(footer, name) for footer, names in missing for name in names}):
            return False
        for footer, names in missing:
            whole.decode_and_keep(footer, names, job)
        return True

    def _names(self, file: FileSegment) -> list[str]:
        return [file.names[column.key] for column in self.columns]

    def _table(self, parts: Sequence[Sequence[pa.ChunkedArray]]) -> pa.Table:
        columns = [
            pa.chunked_array([array for column in columns for array in column.chunks], columns[0].type)
            for columns in zip(*parts, strict=True)
        ]
        if self.position is None:
            return pa.Table.from_arrays(columns, list(self.names))
        numbers = _row_numbers(self.first, len(columns[0]))
        return pa.Table.from_arrays([numbers, *columns], [self.position, *self.names])


@dataclass
class Decodings:
    """What a statement reads from memory. `growing` is whether it would read more from memory next time."""

    entries: list[DecodedRows] = field(default_factory=list)
    growing: bool = False

    def hand(self, rows: DecodedRows, cursor: Registry, job: Job) -> bool:
        """Make the rows available by name to SQL on this cursor, from memory; return whether that worked.

        Rows that are not in memory are decoded on the second request.
        """
        if not rows.is_plain:
            return False
        handed = rows.hand_to(cursor)
        if not handed and rows.fits:
            handed = rows.decode(job) and rows.hand_to(cursor)
            self.growing |= not handed
        if handed:
            self.entries.append(rows)
        return handed

    def hand_again(self, cursor: Registry) -> bool:
        """Register everything that the statement read on another cursor; False if some of it is no longer in
        memory."""
        return all(rows.hand_to(cursor) for rows in self.entries)


@lru_cache(4096)
def _is_plain(footer: Footer, name: str, kind: pa.DataType) -> bool:
    """Whether a column is the same from memory as from the file. Never for a file without row groups, of
    which nothing can be cached."""
    return bool(
        footer.num_rows
        and whole.is_flat(footer, name)
        and footer.schema.field(name).type.equals(kind)
        and same_in_memory(kind)
    )


def _were_requested(columns: set[tuple[Footer, str]]) -> bool:
    """Whether the columns were requested before. After True they count as new again, so that columns that are
    soon evicted are not decoded each time."""
    with _lock:
        if _columns_read >= columns:
            _columns_read.difference_update(columns)
            return True
        if len(_columns_read) >= MOST_REQUESTED_COLUMNS:
            _columns_read.clear()
        _columns_read.update(columns)
        return False


def _row_numbers(first: int, count: int) -> pa.Array:
    """Row numbers, which are cached: creating them takes longer than registering them."""
    numbers = row_numbers.get([(first, count)])[0]
    if numbers is None:
        numbers = from_numpy(np.arange(first, first + count))
        row_numbers.put([((first, count), numbers)])
    return numbers


POSITION = "pos"
OWN_NAMES = "__lamella_"
"""The prefix of the names of registered rows, which keeps them apart from names in SQL that people type."""
TEMPORARY = f"{OWN_NAMES}once_"
"""The prefix of the names that only one statement can read."""
_DECODED_PREFIX = f"{OWN_NAMES}decoded_"
_numbers = count()
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
PlacedSegment = tuple[int, Segment]
Hand = Callable[[DecodedRows, "duckdb.DuckDBPyConnection"], bool]
"""Makes rows available on the cursor from memory, and returns whether that worked."""


def identifier(column: Column) -> str:
    """The SQL name of a column. For a field inside a column it includes the path, encoded so that names that
    differ only in case stay different."""
    path = "".join(f"_{name.encode().hex()}_" for name in column.path)
    return f"c{column.key}{path}"


def relation(
    snapshot: Snapshot,
    columns: Sequence[Column],
    cursor: duckdb.DuckDBPyConnection,
    huge_as_text: bool = False,
    job: Job | None = None,
    decodings: Decodings | None = None,
) -> exp.Subquery:
    """The live rows with pending changes applied; rows in memory are registered on `cursor`. With
    `decodings`, so are columns of files that are read repeatedly.

    Each column has the form that `core.query.duckdb_types` gives its type, even if a file stores it with
    another type.
    """
    decoded = [c for c in columns if not _read_exactly(snapshot, c, typed_sql=huge_as_text)]
    if not decoded:
        hand = None if decodings is None else partial(decodings.hand, job=job or Job())
        return _live(snapshot, columns, cursor, hand).subquery("rows", copy=False)
    rows = read_all_rows(snapshot, decoded, job or Job())
    positions = live_positions(snapshot, np.arange(snapshot.num_rows))
    exact = _register_rows(positions, rows, decoded, cursor, huge_as_text)
    plain = [c for c in columns if c not in decoded]
    if not plain:
        return exact.subquery("rows")
    values = [_field(POSITION), *(_field(identifier(c)) for c in columns)]
    query = _live(snapshot, plain, cursor).subquery("others")
    return exp.select(*values).from_(query).join(exact.subquery("exact"), using=[POSITION]).subquery("rows")


def relation_at(
    snapshot: Snapshot, positions: np.ndarray, columns: Sequence[Column], cursor: duckdb.DuckDBPyConnection
) -> exp.Subquery:
    """The same for the live rows at these positions only; the rows are held in memory."""
    return _register_rows(positions, take_rows(snapshot, positions, columns), columns, cursor).subquery(
        "rows"
    )


def _read_exactly(snapshot: Snapshot, column: Column, typed_sql: bool) -> bool:
    """Whether DuckDB can read the column from files itself. It rounds long decimals. Durations are counts in
    the file's unit, which DuckDB cannot convert inside nested values. Calendar intervals and variants become
    types of its own, which only SQL that people type can use."""
    if holds(column.type, pa.types.is_decimal256):
        return False
    if is_misread(snapshot, column):
        return False
    files = snapshot.files
    if holds(column.type, _is_list_of_single_fields) and any(_is_flattened(f, column) for f in files):
        return False
    inside = bool(column.path)  # DuckDB cannot read fields of a variant, and crashes when it tries
    if inside or (not typed_sql and holds(column.type, is_interval_or_variant)):
        whole = snapshot.whole(column).type if inside else column.type
        if holds(whole, is_interval_or_variant) and any(_is_otherwise(file, column) for file in files):
            return False
    if not pa.types.is_nested(column.type) or not holds(column.type, pa.types.is_duration):
        return True
    types = [_stored_type(file, column) for file in files]
    return all(kind is None or kind.equals(column.type) for kind in types)


def is_misread(snapshot: Snapshot, column: Column) -> bool:
    """Whether DuckDB reads values from a file that differ from those that are shown."""
    if pa.types.is_string(column.type):
        return any(file.names.get(column.key) in unchanged_footer(file).renderings for file in snapshot.files)
    if not may_be_misread(column.type):
        return False
    return any(
        misreads(unchanged_footer(file), file.names[column.key])
        for file in snapshot.files
        if column.key in file.names
    )


def _is_list_of_single_fields(kind: pa.DataType) -> bool:
    listed = pa.types.is_list(kind) or pa.types.is_large_list(kind)
    return bool(listed and pa.types.is_struct(kind.value_type) and kind.value_type.num_fields == 1)


def _is_flattened(file: FileSegment, column: Column) -> bool:
    name = file.names.get(column.key)
    return name is not None and _is_flat_in_duckdb(unchanged_footer(file), name)


@lru_cache(4096)
def _is_flat_in_duckdb(footer: Footer, name: str) -> bool:
    """Whether DuckDB reads the column as another type: it reads lists without annotation, whose items are
    structs with one field, as lists of that field."""
    place, own = footer.stored_names.index(name), sql_type(footer.coarse_schema.field(name).type)
    if own is None:
        return False
    path, hive = (
        exp.array(exp.Literal.string(duckdb_name(footer.path))),
        _option("hive_partitioning", exp.false()),
    )
    with engine.cursor(of=str(footer.path)) as cursor:
        stored = cursor.sql(exp.select("*").from_(exp.func("read_parquet", path, hive)).sql("duckdb")).types
        types = cursor.sql(f"SELECT NULL::{own}").types
    return str(stored[place]) != str(types[0])


def _is_otherwise(file: FileSegment, column: Column) -> bool:
    name = file.names.get(column.key)
    return name is not None and unchanged_footer(file).has_intervals_or_variants(name)


def _stored_type(file: FileSegment, column: Column) -> pa.DataType | None:
    """The type of the column, or of the field inside one, in this file; None if the file lacks it."""
    name = file.names.get(column.key)
    return None if name is None else type_at(unchanged_footer(file).schema.field(name).type, column.path)


def _live(
    snapshot: Snapshot,
    columns: Sequence[Column],
    cursor: duckdb.DuckDBPyConnection,
    hand: Hand | None = None,
) -> exp.Query:
    base = _stored_relation(snapshot, columns, cursor, hand)
    changed = _changed_positions(snapshot, columns)
    gone = union(snapshot.deleted_positions, changed)
    live = _without(base, gone, cursor) if len(gone) else base
    if len(changed):
        live = _union([live, _changed_rows(snapshot, columns, changed, cursor)])
    return live


def stored_relation(
    snapshot: Snapshot, columns: Sequence[Column], cursor: duckdb.DuckDBPyConnection
) -> exp.Subquery:
    """All rows as the segments store them, including deleted ones, without pending changes."""
    return _stored_relation(snapshot, columns, cursor).subquery("rows")


def _stored_relation(
    snapshot: Snapshot,
    columns: Sequence[Column],
    cursor: duckdb.DuckDBPyConnection,
    hand: Hand | None = None,
) -> exp.Query:
    placed = list(zip(snapshot.segment_starts.tolist(), snapshot.segments, strict=False))
    return _union(_base_queries(placed, columns, cursor, hand))


def _base_queries(
    placed: list[PlacedSegment],
    columns: Sequence[Column],
    cursor: duckdb.DuckDBPyConnection,
    hand: Hand | None,
) -> list[exp.Query]:
    queries = []
    for kind, group in groupby(placed, key=lambda p: _shape(p[1], columns)):
        members = list(group)
        if kind is None:
            queries.append(_memory_query(members, columns, cursor))
        else:
            decoded = hand and _decoded_query(members, columns, cursor, hand)
            queries.append(decoded or _files_query(members, columns, cursor))
    return queries or [_empty(columns, cursor)]


def _shape(segment: Segment, columns: Sequence[Column]) -> tuple[object, ...] | None:
    """A key that is equal for files that one `read_parquet` can read; None for segments in memory.

    `read_parquet` finds the columns of all files but the first by name, ignoring case. Raises `FileProblem`
    for a file that changed.
    """
    if isinstance(segment, MemorySegment):
        return None
    footer = unchanged_footer(segment)
    names = [segment.names.get(c.key) for c in columns]
    types = tuple((n, str(footer.coarse_schema.field(n).type)) if n is not None else None for n in names)
    constant = tuple(c.key in segment.constants for c in columns)
    return (footer.ambiguous_layout, constant, *types)


def _files_query(
    members: list[PlacedSegment], columns: Sequence[Column], cursor: duckdb.DuckDBPyConnection
) -> exp.Query:
    files = [segment for _, segment in members if isinstance(segment, FileSegment)]
    check_whole(files)
    footers = [unchanged_footer(file) for file in files]
    aliases = aliases_of(footers[0].stored_names)
    called = dict(zip(footers[0].stored_names, aliases, strict=True))
    table = exp.Table(
        this=exp.func("read_parquet", _paths(files), _option("hive_partitioning", exp.false())),
        alias=exp.TableAlias(this=_name("f"), columns=list(map(_name, aliases))),
    )
    position = _file_position([start for start, _ in members])
    names = {c: files[0].names[c.key] for c in columns if _stored_type(files[0], c) is not None}
    nowhere = _empty([c for c in columns if c not in names], cursor) if len(names) < len(columns) else None
    values = [
        _stored_value(c, names[c], called[names[c]], footers) if c in names else _missing(c, files, nowhere)
        for c in columns
    ]
    aliased = [_as(value, identifier(c)) for value, c in zip(values, columns, strict=True)]
    return exp.select(_as(position, POSITION), *aliased).from_(table, copy=False)


def _decoded_query(
    members: list[PlacedSegment],
    columns: Sequence[Column],
    cursor: duckdb.DuckDBPyConnection,
    hand: Hand,
) -> exp.Query | None:
    """The same rows from memory; None if they are not in memory."""
    files = tuple(segment for _, segment in members if isinstance(segment, FileSegment))
    called = tuple(map(identifier, columns))
    name = f"{_DECODED_PREFIX}{next(_numbers)}"
    rows = DecodedRows(name, files, tuple(columns), called, POSITION, members[0][0])
    if not hand(rows, cursor):
        return None
    return exp.select(*map(_field, (POSITION, *called))).from_(_name(name))


def _stored_value(column: Column, name: str, alias: str, files: Sequence[Footer]) -> exp.Expr:
    """A column of files with one shape, converted to the column's own type.

    DuckDB 2.0 trusts extremes in any order. If the texts of a row group are nulls and one value, it also
    treats every row as null, or none. Wrapping the column in an expression that cannot be answered from
    statistics avoids both.
    """
    whole = files[0].coarse_schema.field(name)  # as DuckDB reads it
    stored = type_at(whole.type, column.path)
    assert stored is not None
    value = field_in(_field(alias, "f"), whole.type, column.path)
    path = ".".join((whole.name, *column.path))
    if any(file.has_doubtful_extremes(path) for file in files):
        value = exp.Anonymous(this="try", expressions=[value])  # raises nothing, and hides the statistics
    elif any(file.of_one_text(path) for file in files):
        always = exp.GTE(this=_field("file_row_number", "f"), expression=exp.Literal.number(0))
        value = exp.Case(ifs=[exp.If(this=always, true=value)])
    if pa.types.is_duration(stored) and pa.types.is_duration(column.type):
        factor = _PER_SECOND[column.type.unit] // _PER_SECOND[stored.unit]
        return value if factor == 1 else value * exp.Literal.number(factor)
    kind, own = sql_type(stored), sql_type(column.type)
    is_same = kind == own and not (_have_offsets(files, path, column.type) or _may_hold_geometries(stored))
    if own is None or kind is None or is_same:
        return value
    return exp.cast(value, exp.DataType(this=exp.DataType.Type.USERDEFINED, kind=own))


def _may_hold_geometries(kind: pa.DataType) -> bool:
    """Whether a value contains bytes, which DuckDB converts to a type of its own if the file declares them as
    geometries. Casting bytes to bytes costs nothing. Variants, which contain bytes too, are left alone."""
    return holds(kind, _is_bytes) and not holds(kind, is_interval_or_variant)


def _is_bytes(kind: pa.DataType) -> bool:
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


def _have_offsets(files: Sequence[Footer], path: str, kind: pa.DataType) -> bool:
    return holds(kind, pa.types.is_time) and any(is_adjusted_time(file, path) for file in files)


def _missing(column: Column, files: Sequence[FileSegment], nowhere: exp.Query | None) -> exp.Expr:
    """A column that the files lack: the constant value of each file, or null of the column's type, taken from
    a relation without rows."""
    if column.key in files[0].constants:
        return _by_file([_literal(file.constants[column.key]) for file in files])
    assert nowhere is not None
    return exp.select(_field(identifier(column))).from_(nowhere.subquery("nowhere")).subquery()


def _file_position(starts: list[int]) -> exp.Expr:
    row = _field("file_row_number", "f")
    if len(starts) == 1:
        return row + exp.Literal.number(starts[0])
    return row + _by_file([exp.cast(exp.Literal.number(s), "bigint") for s in starts])


def _by_file(values: Sequence[exp.Expr]) -> exp.Expr:
    """A value that is the same for all rows of a file."""
    place = exp.cast(_field("file_index", "f"), "bigint") + exp.Literal.number(1)
    return exp.func("list_extract", exp.array(*values), place)


def _literal(constant: pa.Array) -> exp.Expr:
    """The single value of an array, of a type that occurs in folder names and logs."""
    name = sql_type(constant.type) or "VARCHAR"
    kind = exp.DataType(this=exp.DataType.Type.USERDEFINED, kind=name)
    if not constant[0].is_valid:
        return exp.cast(exp.null(), kind)
    if name == "BLOB":
        text = "".join(f"\\x{byte:02X}" for byte in constant[0].as_py())
    else:
        text = constant.cast(pa.string())[0].as_py()
    return exp.cast(exp.Literal.string(text), kind)


def _memory_query(
    members: list[PlacedSegment], columns: Sequence[Column], cursor: duckdb.DuckDBPyConnection
) -> exp.Query:
    positions = [np.arange(start, start + segment.num_rows) for start, segment in members]
    parts = [in_memory(s, columns) for _, s in members if isinstance(s, MemorySegment)]
    return _register_rows(np.concatenate(positions), pa.concat_tables(parts), columns, cursor)


def _changed_positions(snapshot: Snapshot, columns: Sequence[Column]) -> np.ndarray:
    if snapshot.overlay is None:
        return EMPTY
    pending = [snapshot.overlay.changes_of(c.key) for c in columns]
    touched = [changed[0] for changed in pending if changed is not None]
    return without(union(*touched), snapshot.deleted_positions)


def _changed_rows(
    snapshot: Snapshot, columns: Sequence[Column], changed: np.ndarray, cursor: duckdb.DuckDBPyConnection
) -> exp.Query:
    return _register_rows(changed, _rows_at(snapshot, changed, columns), columns, cursor)


def _rows_at(snapshot: Snapshot, changed: np.ndarray, columns: Sequence[Column]) -> pa.Table:
    """The rows with pending changes; nothing is decoded if the changes cover all requested columns."""
    pending = [changed_cells(snapshot, c) for c in columns]
    if all(p is not None and np.array_equal(p[0], changed) for p in pending):
        return pa.Table.from_arrays([p[1] for p in pending if p is not None], schema=schema_of(columns))
    return take_rows(snapshot, changed, columns)


def _register_rows(
    positions: np.ndarray,
    rows: pa.Table,
    columns: Sequence[Column],
    cursor: duckdb.DuckDBPyConnection,
    huge_as_text: bool = False,
) -> exp.Query:
    """Rows in memory as a relation of the same shape, under a name that is used only once."""
    name = f"{TEMPORARY}rows_{next(_numbers)}"
    arrays = [from_numpy(positions), *(to_duckdb(column, huge_as_text) for column in rows.columns)]
    cursor.register(name, pa.Table.from_arrays(arrays, [POSITION, *(identifier(c) for c in columns)]))
    values = (_field(POSITION), *(_field(identifier(c)) for c in columns))
    return exp.select(*values).from_(_name(name), copy=False)


def _without(base: exp.Query, gone: np.ndarray, cursor: duckdb.DuckDBPyConnection) -> exp.Query:
    listed = f"{TEMPORARY}gone_{next(_numbers)}"
    cursor.register(listed, pa.table({POSITION: from_numpy(gone)}))
    rows_listed = exp.Table(this=_name(listed))
    rows = exp.select("*").from_(base.subquery("base", copy=False), copy=False)
    return rows.join(rows_listed, using=[POSITION], join_type="anti", copy=False)


def _empty(columns: Sequence[Column], cursor: duckdb.DuckDBPyConnection) -> exp.Query:
    rows = pa.Table.from_batches([], schema_of(columns))
    return _register_rows(np.empty(0, np.int64), rows, columns, cursor)


def _union(queries: Sequence[exp.Query]) -> exp.Query:
    return reduce(lambda a, b: exp.union(a, b, distinct=False, copy=False), queries)


def _paths(files: Iterable[FileSegment]) -> exp.Expr:
    return exp.array(*(exp.Literal.string(duckdb_name(f.path)) for f in files))


def _option(name: str, value: exp.Expr) -> exp.Expr:
    return exp.EQ(this=exp.column(name), expression=value)


def _field(name: str, table: str | None = None) -> exp.Column:
    return exp.column(_name(name), table=_name(table) if table else None, copy=False)


def _as(value: exp.Expr, name: str) -> exp.Expr:
    return exp.alias_(value, name, quoted=True, copy=False)


def _name(name: str) -> exp.Identifier:
    return exp.to_identifier(name, quoted=True)


def without_statistics(snapshot: Snapshot, column: Column) -> exp.Expr:
    """A column of the snapshot's relation in a form that hides float statistics, which leave out NaN. DuckDB
    moves nothing out of TRY, which is free for a column. Multiplied by one, the column would still be
    compared with the statistics; a condition on the row takes half as long again."""
    value = exp.column(identifier(column), quoted=True)
    if not holds(column.type, pa.types.is_floating) or not _has_statistics(snapshot, column):
        return value
    if pa.types.is_floating(column.type):
        return exp.func("try", value)
    always = exp.GTE(this=exp.column(POSITION, quoted=True), expression=exp.Literal.number(0))
    return exp.Case(ifs=[exp.If(this=always, true=value)])


def _has_statistics(snapshot: Snapshot, column: Column) -> bool:
    files = (file for file in snapshot.files if column.key in file.names)
    return any(unchanged_footer(file).has_statistics(file.names[column.key]) for file in files)
