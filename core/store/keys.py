"""Rows found by the values of key columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from core.arrays import from_numpy, to_numpy
from core.errors import BadData, UnknownRow
from core.filters.arrow_values import scalar_of
from core.scan.pieces import pieces
from core.scan.python_value import python_value
from core.scan.rows import finish
from core.scan.snapshot import Column
from core.store.evolution import as_keys
from core.store.ids import ID_COLUMN
from core.store.state import State

ROWS_AT_ONCE = 1_000_000


@dataclass(frozen=True, eq=False)
class Matches:
    """Ascending `_id`s of rows that have one of the keys, and the number of the key each has: a key may match
    several rows. `unknown` are the numbers of keys that no row has."""

    ids: np.ndarray
    keys: np.ndarray
    unknown: np.ndarray


def known_matches(state: State, keys: pa.Table) -> Matches:
    """Like `matches`; raises `UnknownRow` naming the first key that no row has."""
    columns = [state.snapshot.column(name) for name in keys.column_names]
    given = as_keys(state.snapshot.name, keys, columns)
    found = matches(state, given)
    if len(found.unknown):
        raise UnknownRow(
            f"{state.snapshot.name} has no row with {_told(given, int(found.unknown[0]))}",
            fix="Insert it, or leave it out of the update",
        )
    return found


def matches(state: State, keys: pa.Table) -> Matches:
    """The rows that have these values in the columns of the same names; null matches null, and NaN NaN.

    `keys` are of the columns' types, or of types that hold all their values. Raises `BadData` for a key that
    is given twice or nested, `UnknownColumn`.
    """
    codes = _Codes(state.snapshot.name, keys)
    ids, found = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for table in _live_rows(state, state.snapshot.select(keys.column_names)):
        values = [c.cast(k) for c, k in zip(table.columns, keys.schema.types, strict=False)]
        rows, numbers = codes.found(values)
        ids.append(to_numpy(table.columns[-1])[rows])
        found.append(numbers)
    matched = np.concatenate(found)
    known = np.zeros(keys.num_rows, bool)
    known[matched] = True
    return Matches(np.concatenate(ids), matched, np.flatnonzero(~known))


def _live_rows(state: State, columns: Sequence[Column]) -> Iterator[pa.Table]:
    """The key columns and `_id`, many row groups at a time: the keys are hashed for each. What was decoded is
    kept for the next look."""
    snapshot, wanted = state.snapshot, [*columns, ID_COLUMN]
    gathered: list[pa.Table] = []
    for piece in pieces(snapshot, 0, snapshot.num_positions):
        chunks = piece.stored(snapshot, wanted)
        gathered.append(finish(snapshot, piece.first, piece.stop, wanted, chunks))
        if sum(table.num_rows for table in gathered) >= ROWS_AT_ONCE:
            yield pa.concat_tables(gathered)
            gathered = []
    if gathered:
        yield pa.concat_tables(gathered)


class _Codes:
    """Rows of key values as numbers below the count of the keys: column after column, each pair of what was
    counted so far and the next value is counted again."""

    def __init__(self, table: str, keys: pa.Table) -> None:
        for name in keys.column_names:
            if _is_nested(keys.schema.field(name).type):
                raise BadData(f"{table}: column '{name}' holds nested values", "no row is found by these")
        self._values = [pc.unique(_comparable(column)) for column in keys.columns[1:]]
        self._counted: list[pa.Array] = []
        code = _comparable(keys.column(0))
        for values, column in zip(self._values, keys.columns[1:], strict=True):
            self._counted.append(pc.unique(code))
            code = _paired(code, self._counted[-1], column, values)
        self._keys = code
        self._refuse_twice(table, keys)

    def found(self, columns: Sequence[pa.ChunkedArray]) -> tuple[np.ndarray, np.ndarray]:
        """The rows that have a key, and the number of the key each has."""
        code = _comparable(columns[0])
        for counted, values, column in zip(self._counted, self._values, columns[1:], strict=True):
            code = _paired(code, counted, column, values)
        places = pc.index_in(code, value_set=self._keys)
        rows = np.flatnonzero(to_numpy(places.is_valid()))
        return rows, to_numpy(places)[rows].astype(np.int64)

    def _refuse_twice(self, table: str, keys: pa.Table) -> None:
        first = to_numpy(pc.index_in(self._keys, value_set=self._keys))
        again = np.flatnonzero(first != np.arange(len(first)))
        if len(again):
            raise BadData(
                f"{table}: two of the rows given have {_told(keys, int(again[0]))}", fix="Give each row once"
            )


def _is_nested(kind: pa.DataType) -> bool:
    return bool(pa.types.is_nested(kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind))


def _paired(code: pa.Array, counted: pa.Array, column: pa.ChunkedArray, values: pa.Array) -> pa.Array:
    """One number for what `code` and `column` hold in a row, null where either is not among the keys'."""
    before, own = pc.index_in(code, value_set=counted), pc.index_in(_comparable(column), value_set=values)
    valid = to_numpy(before.is_valid()) & to_numpy(own.is_valid())
    return from_numpy(to_numpy(before).astype(np.int64) * len(values) + to_numpy(own), valid=valid)


def _comparable(column: pa.ChunkedArray) -> pa.Array:
    """Values that are equal where their bytes are."""
    values, kind = column.combine_chunks(), column.type
    if isinstance(kind, pa.BaseExtensionType):
        values, kind = values.storage, kind.storage_type
    if pa.types.is_dictionary(kind):
        return values.cast(kind.value_type)
    if pa.types.is_floating(kind):
        return pc.add(values.cast(pa.float64()), scalar_of(0.0, pa.float64()))
    if pa.types.is_decimal32(kind) or pa.types.is_decimal64(kind):
        return values.cast(pa.decimal128(kind.precision, kind.scale))
    views = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}
    return values.cast(views[kind]) if kind in views else values


def _told(keys: pa.Table, row: int) -> str:
    return ", ".join(f"{name} = {python_value(keys.column(name)[row])!r}" for name in keys.column_names)
