"""Finds the rows that a change concerns: by a filter, by `_id`, by values of keys, or duplicates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from lamella.core.arrow.arrays import to_numpy
from lamella.core.arrow.nested_values import python_value
from lamella.core.arrow.sorted_ids import without
from lamella.core.arrow.types import ID, exact_cast, is_nested
from lamella.core.errors import BadData, UnknownRow
from lamella.core.filters.condition import in_condition
from lamella.core.filters.expr import Filter, Predicate, all_of, any_of
from lamella.core.filters.kinds import COUNTED_KINDS, kind_of
from lamella.core.index.planning import find_by_index
from lamella.core.jobs import Job
from lamella.core.libraries import exp
from lamella.core.query.duckdb_source import POSITION, identifier, relation
from lamella.core.query.engine import cursor
from lamella.core.query.find import find_rows
from lamella.core.scan.read import finish, live_positions, pieces, take_rows
from lamella.core.scan.row_ids import ID_COLUMN, _is_id, _no_id, ids_at, known_ids
from lamella.core.scan.snapshot import Column, Snapshot, snapshot_of_rows
from lamella.core.scan.take import KeyCodes
from lamella.core.store.evolution import as_keys
from lamella.core.store.table_version import TableVersion
from lamella.core.validation import text_of

RowSelection = Filter | Sequence[int] | None
"""A filter, `_id`s, or None for all rows."""


def chosen_ids(state: TableVersion, where: RowSelection, ignore_missing: bool = False) -> np.ndarray:
    """The ids of the live rows that `where` selects, ascending. Raises like `known_ids`."""
    if where is None or isinstance(where, Filter):
        return ids_at(state, _positions(state, where))
    return known_ids(state, where, ignore_missing)


def refuse_duplicates(name: str, ids: np.ndarray) -> None:
    """Raise `BadData` for an id that occurs twice; `ids` are ascending."""
    twice = ids[1:][ids[1:] == ids[:-1]]
    if len(twice):
        raise BadData(
            f"{name}: two of the rows given are for the same row ({ID} {twice[0]})", fix="Give each row once"
        )


def row_ids_of(state: TableVersion, column: pa.ChunkedArray) -> np.ndarray:
    """Convert the `_id`s that rows came with; raise `BadData` if one is not a whole number."""
    integers = exact_cast(column, pa.int64()) if pa.types.is_integer(column.type) else None
    if integers is None or integers.null_count:
        raise _no_id(state, next((value for value in column.to_pylist() if not _is_id(value)), None))
    return to_numpy(integers)


def _positions(state: TableVersion, where: Filter | None) -> np.ndarray:
    if where is None:
        return live_positions(state.snapshot, np.arange(state.snapshot.num_rows))
    return find_rows(state.snapshot, where, (), Job())


ROWS_AT_ONCE = 1_000_000
ROWS_A_KEY = 1_000
"""If there is less than one key per this many rows, each is looked up in an existing index."""


@dataclass(frozen=True, eq=False)
class Matches:
    """The ascending `_id`s of rows that have one of the keys, and the number of each row's key; a key may
    match several rows. `unknown` are the numbers of keys that no row has."""

    ids: np.ndarray
    keys: np.ndarray
    unknown: np.ndarray


def known_matches(state: TableVersion, keys: pa.Table, ignore_missing: bool = False) -> Matches:
    """Like `matches`, but raise `UnknownRow` naming the first key that no row has, unless these are
    ignored."""
    columns = [state.snapshot.column(name) for name in keys.column_names]
    key_table = as_keys(state.snapshot.name, keys, columns)
    lookup = matches(state, key_table)
    if len(lookup.unknown) and not ignore_missing:
        raise UnknownRow(
            f"{state.snapshot.name} has no row with {_key_text(key_table, int(lookup.unknown[0]))}",
            fix="Insert it, or leave it out of the update",
        )
    return lookup


def matches(state: TableVersion, keys: pa.Table) -> Matches:
    """Find the rows that have these values in the columns of the same names; null matches null, and NaN
    matches NaN.

    `keys` have the columns' types, or types that hold all their values. Raises `BadData` for a key that is
    given twice or nested, `UnknownColumn`.
    """
    codes = _codes(state.snapshot.name, keys)
    ids, places = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    columns = state.snapshot.select(keys.column_names)
    indexed = _rows_by_index(state, columns, keys)
    for table in _live_rows(state, columns) if indexed is None else [indexed]:
        values = [c.cast(k) for c, k in zip(table.columns, keys.schema.types, strict=False)]
        rows, numbers = codes.match(values)
        ids.append(to_numpy(table.columns[-1])[rows])
        places.append(numbers)
    matched = np.concatenate(places)
    is_known = np.zeros(keys.num_rows, bool)
    is_known[matched] = True
    return Matches(np.concatenate(ids), matched, np.flatnonzero(~is_known))


def _rows_by_index(state: TableVersion, columns: Sequence[Column], keys: pa.Table) -> pa.Table | None:
    """The key columns and `_id` of candidate rows, which include all that have one of few keys; None if no
    index helps."""
    snapshot = state.snapshot
    if snapshot.indexes is None or not snapshot.indexes.has_sorted_index:
        return None
    if keys.num_rows * ROWS_A_KEY > snapshot.num_positions:
        return None
    served = [c for c in columns if snapshot.indexes.is_sorted(c) and kind_of(c.type) not in COUNTED_KINDS]
    result = (
        find_by_index(snapshot, all_of(_holds(c, keys.column(c.name)) for c in served)) if served else None
    )
    return None if result is None else take_rows(snapshot, result.positions, [*columns, ID_COLUMN])


def _holds(column: Column, values: pa.ChunkedArray) -> Filter:
    membership = in_condition(column.name, column.type, values.drop_null())
    return any_of([membership, Predicate(column.name, "is_null")]) if values.null_count else membership


def _live_rows(state: TableVersion, columns: Sequence[Column]) -> Iterator[pa.Table]:
    """Yield the key columns and `_id`, many row groups at a time, since the keys are hashed for each batch.
    Decoded chunks are cached for the next lookup."""
    snapshot, with_ids = state.snapshot, [*columns, ID_COLUMN]
    gathered: list[pa.Table] = []
    for piece in pieces(snapshot, 0, snapshot.num_positions):
        chunks = piece.stored_chunks(snapshot, with_ids)
        gathered.append(finish(snapshot, piece.first, piece.stop, with_ids, chunks))
        if sum(table.num_rows for table in gathered) >= ROWS_AT_ONCE:
            yield pa.concat_tables(gathered)
            gathered = []
    if gathered:
        yield pa.concat_tables(gathered)


def firsts_of_keys(table: str, keys: pa.Table) -> np.ndarray:
    """For each row, the number of the first one with the same key. Raises `BadData` for nested keys."""
    _refuse_nested_keys(table, keys)
    return KeyCodes(keys.columns).first


def _refuse_nested_keys(table: str, keys: pa.Table) -> None:
    for name in keys.column_names:
        if is_nested(keys.schema.field(name).type):
            raise BadData(f"{table}: column '{name}' holds nested values", "rows cannot be found by these")


def _codes(table: str, keys: pa.Table) -> KeyCodes:
    _refuse_nested_keys(table, keys)
    codes = KeyCodes(keys.columns)
    again = np.flatnonzero(codes.first != np.arange(keys.num_rows))
    if len(again):
        raise BadData(
            f"{table}: two of the rows given have {_key_text(keys, int(again[0]))}", fix="Give each row once"
        )
    return codes


def _key_text(keys: pa.Table, row: int) -> str:
    return ", ".join(f"{name} = {python_value(keys.column(name)[row])!r}" for name in keys.column_names)


_KEEP = {"first": "min", "last": "max"}
MOST_KEYS = 1_000
"""The most columns to group by directly: DuckDB 2 plans a grouping in time that grows with the square of its
keys, so more are grouped as structs, which are equal where their values are."""


def duplicate_ids(
    state: TableVersion, on: Sequence[str] | None, keep: str, job: Job, where: RowSelection = None
) -> np.ndarray:
    """The ascending ids of rows whose values in `on` (None: all columns) occur in an earlier row, or in a
    later one if the last is kept, among those that `where` selects. Null equals null, and NaN equals NaN."""
    snapshot = state.snapshot
    if text_of(keep, f"{snapshot.name}: keep") not in _KEEP:
        raise BadData(f"{snapshot.name}: keep is '{keep}'", fix="Say 'first' or 'last'")
    columns = _compare_columns(state, on)
    if where is None:
        live = live_positions(snapshot, np.arange(snapshot.num_rows))
        return ids_at(state, without(live, _unlike_positions(snapshot, columns, keep, job)))
    ids = chosen_ids(state, where)
    rows = take_rows(snapshot, state.locate(ids), columns)
    some = snapshot_of_rows(rows, snapshot.name)
    places = without(np.arange(len(ids)), _unlike_positions(some, some.columns, keep, job))
    gone: np.ndarray = ids[places]
    return gone


def _unlike_positions(snapshot: Snapshot, columns: tuple[Column, ...], keep: str, job: Job) -> np.ndarray:
    """The ascending positions of the rows to keep: the first or the last of each group of equal ones."""
    with cursor(job, snapshot.name) as own:
        rows = relation(snapshot, columns, own, job=job)
        position = exp.func(_KEEP[keep], exp.column(POSITION, quoted=True))
        keys: list[exp.Expr] = [exp.column(identifier(c), quoted=True) for c in columns]
        width = -(-len(keys) // MOST_KEYS)
        if width > 1:
            keys = [_as_struct(keys[i : i + width]) for i in range(0, len(keys), width)]
        query = exp.select(position).from_(rows, copy=False).group_by(*keys, copy=False)
        column = own.sql(query.sql("duckdb", copy=False)).to_arrow_table().column(0)
    positions: np.ndarray = np.sort(to_numpy(column))
    return positions


def _as_struct(keys: list[exp.Expr]) -> exp.Expr:
    """Combine keys into a struct, in a form through which DuckDB does not propagate statistics, which takes
    seconds for wide rows."""
    always = exp.GTE(this=exp.column(POSITION, quoted=True), expression=exp.Literal.number(0))
    return exp.Case(ifs=[exp.If(this=always, true=exp.Anonymous(this="row", expressions=keys))])


def _compare_columns(state: TableVersion, on: Sequence[str] | None) -> tuple[Column, ...]:
    columns = state.columns if on is None else state.snapshot.select(on)
    if not columns:
        raise BadData(f"{state.snapshot.name}: no column is given to compare rows by", fix="Name one")
    return columns
