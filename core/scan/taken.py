"""Scattered rows of a file: decoded some columns at a time, so that the memory of the last ones is used
again, and kept. A row group that is asked for other rows too is kept whole."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from core.arrays import from_numpy, take
from core.scan.caches import ChunkKey, KeptRows, Leaf, cache, few_rows
from core.scan.chunks import decode, keep, leaf_of, typed
from core.scan.footers import Footer, unchanged
from core.scan.snapshot import Column, FileSegment

COLUMNS_AT_ONCE = max(8, 2 * (os.cpu_count() or 1))
ROWS_AT_ONCE = 1 << 17
MOST_KEPT_BYTES = 256 << 20
"""By one walk."""
FEW_SHARE = 4
"""Up to one row in so many is few."""
MOST_REMEMBERED = 1 << 17

_asked: set[ChunkKey] = set()


def taken(segment: FileSegment, places: np.ndarray, columns: Sequence[Column]) -> list[pa.ChunkedArray]:
    """The values in these ascending rows, as they are stored; null where the file lacks a column."""
    told = unchanged(segment)
    leaves = [leaf_of(segment, told, column) for column in columns]
    found = _found(told, places, [leaf for leaf in dict.fromkeys(leaves) if leaf is not None])
    return [
        typed(None if leaf is None else found[leaf], column, len(places), segment)
        for leaf, column in zip(leaves, columns, strict=True)
    ]


def take_each(columns: Sequence[pa.ChunkedArray], places: np.ndarray) -> list[pa.ChunkedArray]:
    """The values of all columns at these places."""
    if any(column.num_chunks != 1 or column.type in _VIEWS for column in columns):
        return [take(column, places) for column in columns]
    names = [str(i) for i in range(len(columns))]
    batch = pa.RecordBatch.from_arrays([column.chunk(0) for column in columns], names)
    return [pa.chunked_array([values]) for values in batch.take(from_numpy(places)).columns]


_VIEWS = (pa.string_view(), pa.binary_view())


def _found(told: Footer, places: np.ndarray, leaves: Sequence[Leaf]) -> dict[Leaf, pa.ChunkedArray]:
    key = (told, len(places), hash(places.tobytes()))
    kept = few_rows.get([key])[0]
    found = dict(kept.columns) if kept is not None and np.array_equal(kept.places, places) else {}
    missing = [leaf for leaf in leaves if leaf not in found]
    if missing:
        with _Taking(told, missing) as taking:
            for row_groups, rows in _runs(told, places):
                taking.take(row_groups, rows)
        found.update(taking.taken())
        if len(places) * FEW_SHARE <= told.metadata.num_rows:
            few_rows.put([(key, KeptRows(places, found))])
    return found


def _runs(told: Footer, places: np.ndarray) -> Iterator[tuple[list[int], list[np.ndarray]]]:
    """Row groups that are decoded together, and the rows wanted of each."""
    starts = told.row_group_starts
    groups: list[int] = []
    rows: list[np.ndarray] = []
    for group in np.flatnonzero(np.bincount(np.searchsorted(starts, places, side="right") - 1)).tolist():
        if (
            groups
            and starts[group + 1] - starts[group] + sum(told.row_group_sizes[g] for g in groups)
            > ROWS_AT_ONCE
        ):
            yield groups, rows
            groups, rows = [], []
        low, high = np.searchsorted(places, [starts[group], starts[group + 1]])
        groups.append(group)
        rows.append(places[low:high] - starts[group])
    if groups:
        yield groups, rows


class _Taking:
    """One walk over the row groups of a file."""

    def __init__(self, told: Footer, leaves: Sequence[Leaf]) -> None:
        self._told = told
        self._parts: dict[Leaf, list[pa.Array]] = {leaf: [] for leaf in leaves}
        self._file: pq.ParquetFile | None = None
        self._room = MOST_KEPT_BYTES

    def __enter__(self) -> _Taking:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def take(self, row_groups: list[int], rows: list[np.ndarray]) -> None:
        """Add the wanted rows of each of these row groups."""
        held = [cache.get((self._told, group, leaf) for leaf in self._parts) for group in row_groups]
        kept = [all(chunks[i] is not None for chunks in held) for i in range(len(self._parts))]
        whole = [leaf for leaf, there in zip(self._parts, kept, strict=True) if there]
        for chunks, wanted in zip(held, rows, strict=True) if whole else ():
            own = [chunk for chunk, there in zip(chunks, kept, strict=True) if there and chunk is not None]
            self._add(whole, take_each(own, wanted))
        missing = [leaf for leaf, there in zip(self._parts, kept, strict=True) if not there]
        starts = np.cumsum([0, *(self._told.row_group_sizes[group] for group in row_groups)])
        places = np.concatenate([wanted + start for wanted, start in zip(rows, starts[:-1], strict=True)])
        for first in range(0, len(missing), COLUMNS_AT_ONCE):
            self._decode(row_groups, places, missing[first : first + COLUMNS_AT_ONCE])

    def taken(self) -> dict[Leaf, pa.ChunkedArray]:
        return {leaf: pa.chunked_array(arrays) for leaf, arrays in self._parts.items()}

    def _decode(self, row_groups: list[int], places: np.ndarray, leaves: list[Leaf]) -> None:
        self._file = self._file or self._told.open()
        chunks = decode(self._told, row_groups, leaves, self._file)
        keep(self._told, row_groups, zip(leaves, chunks, strict=True), cache, self._is_kept)
        self._add(leaves, take_each(chunks, places))

    def _add(self, leaves: Iterable[Leaf], columns: Iterable[pa.ChunkedArray]) -> None:
        for leaf, column in zip(leaves, columns, strict=True):
            self._parts[leaf].extend(column.chunks)

    def _is_kept(self, key: ChunkKey, nbytes: int) -> bool:
        """What was decoded for other rows before is kept whole this time, as far as there is room: memory
        used for the first time costs more than the decoding."""
        if not _asked_before(key) or nbytes > self._room:
            return False
        self._room -= nbytes
        return True


def _asked_before(key: ChunkKey) -> bool:
    if key in _asked:
        return True
    if len(_asked) >= MOST_REMEMBERED:
        _asked.clear()
    _asked.add(key)
    return False
