"""Reads scattered rows of files on several threads, and finds rows by the values of their keys."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lamella.core.arrow.arrays import from_numpy, take, to_numpy
from lamella.core.filters.to_arrow import scalar_of
from lamella.core.scan.cache import CachedRows, ChunkKey, Leaf, cache, few_rows
from lamella.core.scan.chunks import decode, keep, leaf_of, to_column_type
from lamella.core.scan.open_file import OpenFile
from lamella.core.scan.parallel import cells_at_once, rows_at_once, run_tasks
from lamella.core.scan.parquet_file import Footer, unchanged_footer
from lamella.core.scan.snapshot import Column, FileSegment

MOST_CELLS = 1 << 19
"""The cells that one thread decodes at once, few enough to stay in the processor's cache while rows are
taken."""
MOST_KEPT_BYTES = 256 << 20
"""The most bytes that one walk caches."""
FEW_SHARE = 4
"""Up to 1/FEW_SHARE of the rows count as few."""
MOST_REQUESTS = 1 << 17

_requests: set[ChunkKey] = set()
_requests_lock = threading.Lock()


def stored_values(
    segment: FileSegment, places: np.ndarray, columns: Sequence[Column]
) -> list[pa.ChunkedArray]:
    """The values in these ascending rows, as stored; null where the file lacks a column."""
    footer = unchanged_footer(segment)
    leaves = [leaf_of(segment, footer, column) for column in columns]
    values = _leaf_values(footer, places, [leaf for leaf in dict.fromkeys(leaves) if leaf is not None])
    return [
        to_column_type(None if leaf is None else values[leaf], column, len(places), segment)
        for leaf, column in zip(leaves, columns, strict=True)
    ]


def take_columns(columns: Sequence[pa.ChunkedArray], places: np.ndarray) -> list[pa.ChunkedArray]:
    """The values of all columns at these indices."""
    if any(column.num_chunks != 1 or column.type in _VIEWS for column in columns):
        return [take(column, places) for column in columns]
    names = [str(i) for i in range(len(columns))]
    batch = pa.RecordBatch.from_arrays([column.chunk(0) for column in columns], names)
    return [pa.chunked_array([values]) for values in batch.take(from_numpy(places)).columns]


_VIEWS = (pa.string_view(), pa.binary_view())


@dataclass(frozen=True, eq=False)
class _Run:
    """Row groups that are decoded together, and the rows needed of each."""

    row_groups: list[int]
    rows: list[np.ndarray]

    def places(self, footer: Footer) -> np.ndarray:
        """The row numbers, counted from the first row of the first row group."""
        starts = np.cumsum([0, *(footer.row_group_sizes[group] for group in self.row_groups[:-1])])
        return np.concatenate([rows + start for rows, start in zip(self.rows, starts, strict=True)])


@dataclass(frozen=True, eq=False)
class _Slab:
    """A few columns of run `number`, to be decoded; `again` are chunks that were decoded before."""

    number: int
    row_groups: list[int]
    places: np.ndarray
    leaves: list[Leaf]
    again: set[ChunkKey]


def _leaf_values(footer: Footer, places: np.ndarray, leaves: Sequence[Leaf]) -> dict[Leaf, pa.ChunkedArray]:
    key = (footer, len(places), hash(places.tobytes()))
    cached = few_rows.get([key])[0]
    values = dict(cached.columns) if cached is not None and np.array_equal(cached.places, places) else {}
    missing = [leaf for leaf in leaves if leaf not in values]
    if missing:
        values.update(_Taking(footer, missing).take(places))
        if len(places) * FEW_SHARE <= footer.num_rows:
            few_rows.put([(key, CachedRows(places, values))])
    return values


def _runs(footer: Footer, places: np.ndarray, groups: Iterable[int], most_rows: int) -> Iterator[_Run]:
    starts = footer.row_group_starts
    run, run_rows = _Run([], []), 0
    for group in groups:
        rows = footer.row_group_sizes[group]
        if run.row_groups and run_rows + rows > most_rows:
            yield run
            run, run_rows = _Run([], []), 0
        low, high = np.searchsorted(places, [starts[group], starts[group + 1]])
        run.row_groups.append(group)
        run.rows.append(places[low:high] - starts[group])
        run_rows += rows
    if run.row_groups:
        yield run


class _Taking:
    """One walk over the row groups of a file."""

    def __init__(self, footer: Footer, leaves: Sequence[Leaf]) -> None:
        self._footer, self._leaves = footer, leaves
        self._lock, self._room = threading.Lock(), MOST_KEPT_BYTES

    def take(self, places: np.ndarray) -> dict[Leaf, pa.ChunkedArray]:
        """Read the values of these ascending rows."""
        sizes, columns = self._footer.row_group_sizes, len(self._leaves)
        held_by = self._footer.row_group_starts.searchsorted(places, side="right") - 1
        groups: list[int] = np.flatnonzero(np.bincount(held_by)).tolist()
        cells = cells_at_once(sum(sizes[group] for group in groups) * columns, MOST_CELLS)
        runs = list(_runs(self._footer, places, groups, rows_at_once(cells, columns)))
        parts: list[dict[Leaf, list[pa.Array]]] = [self._cached_columns(run) for run in runs]
        slabs = [
            slab
            for number, (run, cached) in enumerate(zip(runs, parts, strict=True))
            for slab in self._slabs(number, run, [leaf for leaf in self._leaves if leaf not in cached], cells)
        ]
        for slab, values in zip(slabs, run_tasks(self._decode_slab, slabs), strict=True):
            chunks = (column.chunks for column in values)
            parts[slab.number].update(zip(slab.leaves, chunks, strict=True))
        return {leaf: pa.chunked_array([a for part in parts for a in part[leaf]]) for leaf in self._leaves}

    def _cached_columns(self, run: _Run) -> dict[Leaf, list[pa.Array]]:
        """The rows of the columns that the cache has for all of the row groups."""
        cached = [cache.get((self._footer, group, leaf) for leaf in self._leaves) for group in run.row_groups]
        whole = [i for i in range(len(self._leaves)) if all(chunks[i] is not None for chunks in cached)]
        by_leaf: dict[Leaf, list[pa.Array]] = {self._leaves[i]: [] for i in whole}
        for chunks, rows in zip(cached, run.rows, strict=True) if whole else ():
            own = [chunk for chunk in (chunks[i] for i in whole) if chunk is not None]
            for arrays, column in zip(by_leaf.values(), take_columns(own, rows), strict=True):
                arrays.extend(column.chunks)
        return by_leaf

    def _slabs(self, number: int, run: _Run, missing: list[Leaf], cells: int) -> Iterator[_Slab]:
        width = max(1, cells // sum(self._footer.row_group_sizes[group] for group in run.row_groups))
        places = run.places(self._footer)
        for first in range(0, len(missing), width):
            leaves = missing[first : first + width]
            keys = {(self._footer, group, leaf) for group in run.row_groups for leaf in leaves}
            yield _Slab(number, run.row_groups, places, leaves, _repeated_keys(keys))

    def _decode_slab(self, slab: _Slab, file: OpenFile) -> list[pa.ChunkedArray]:
        chunks = decode(self._footer, slab.row_groups, slab.leaves, file)
        if slab.again:
            columns = zip(slab.leaves, chunks, strict=True)
            keep(self._footer, slab.row_groups, columns, cache, partial(self._is_kept, slab.again))
        return take_columns(chunks, slab.places)

    def _is_kept(self, again: set[ChunkKey], key: ChunkKey, nbytes: int) -> bool:
        """Whether to cache a chunk: one that was decoded before is now cached whole, as far as there is
        space, because memory used for the first time costs more than decoding."""
        with self._lock:
            if key not in again or nbytes > self._room:
                return False
            self._room -= nbytes
            return True


def _repeated_keys(keys: set[ChunkKey]) -> set[ChunkKey]:
    """Return the keys that were requested before; note all of them as requested."""
    with _requests_lock:
        again = keys & _requests
        if len(_requests) + len(keys) > MOST_REQUESTS:
            _requests.clear()
        _requests.update(keys)
        return again


class KeyCodes:
    """Encodes keys as small numbers: column by column, the code so far and the next value are encoded
    together as a new code. Null equals null, NaN equals NaN, and 0.0 equals -0.0."""

    def __init__(self, keys: Sequence[pa.ChunkedArray]) -> None:
        self._values = [pc.unique(_comparable(column)) for column in keys[1:]]
        self._pair_values: list[pa.Array] = []
        code = _comparable(keys[0])
        for values, column in zip(self._values, keys[1:], strict=True):
            self._pair_values.append(pc.unique(code))
            code = _pair_codes(code, self._pair_values[-1], column, values)
        self._keys = code

    @cached_property
    def first(self) -> np.ndarray:
        """For each key, the number of the first equal one."""
        return to_numpy(pc.index_in(self._keys, value_set=self._keys)).astype(np.int64)

    def match(self, columns: Sequence[pa.ChunkedArray]) -> tuple[np.ndarray, np.ndarray]:
        """The rows that have a key, and the number of the first key that each matches. The columns must have
        the keys' types."""
        code = _comparable(columns[0])
        for counted, values, column in zip(self._pair_values, self._values, columns[1:], strict=True):
            code = _pair_codes(code, counted, column, values)
        places = pc.index_in(code, value_set=self._keys)
        rows = np.flatnonzero(to_numpy(places.is_valid()))
        return rows, to_numpy(places)[rows].astype(np.int64)


def _pair_codes(code: pa.Array, counted: pa.Array, column: pa.ChunkedArray, values: pa.Array) -> pa.Array:
    """Combine `code` and `column` into one number per row, null if either value does not occur in the
    keys."""
    before, own = pc.index_in(code, value_set=counted), pc.index_in(_comparable(column), value_set=values)
    valid = to_numpy(before.is_valid()) & to_numpy(own.is_valid())
    return from_numpy(to_numpy(before).astype(np.int64) * len(values) + to_numpy(own), valid=valid)


def _comparable(column: pa.ChunkedArray) -> pa.Array:
    """Convert values so that equal ones have equal bytes."""
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
