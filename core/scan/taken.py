"""Scattered rows of a row group: decoded some columns at a time, so that the memory of the last ones is
used again, and kept. A row group that is asked for other rows too is kept whole."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pyarrow as pa

from core.arrays import from_numpy, take
from core.scan.caches import ChunkKey, KeptRows, Leaf, cache, few_rows
from core.scan.chunks import decode, leaf_of, typed
from core.scan.footers import Footer, unchanged
from core.scan.snapshot import Column, FileSegment

COLUMNS_AT_ONCE = max(8, 2 * (os.cpu_count() or 1))
FEW_SHARE = 4
"""Up to one row in so many is few."""
MOST_REMEMBERED = 1 << 16

_asked: set[ChunkKey] = set()


def taken(
    segment: FileSegment, row_group: int, places: np.ndarray, columns: Sequence[Column]
) -> list[pa.ChunkedArray]:
    """The values at these ascending places, as they are stored; null where the file lacks a column."""
    told = unchanged(segment)
    leaves = [leaf_of(segment, told, column) for column in columns]
    there = list(dict.fromkeys(leaf for leaf in leaves if leaf is not None))
    found = _found(told, row_group, places, there)
    return [
        typed(None if leaf is None else found[leaf], column, len(places), segment.path)
        for leaf, column in zip(leaves, columns, strict=True)
    ]


def take_each(columns: Sequence[pa.ChunkedArray], places: np.ndarray) -> list[pa.ChunkedArray]:
    """The values of all columns at these places."""
    if any(column.num_chunks != 1 or _is_view(column.type) for column in columns):
        return [take(column, places) for column in columns]
    names = [str(i) for i in range(len(columns))]
    batch = pa.RecordBatch.from_arrays([column.chunk(0) for column in columns], names)
    return [pa.chunked_array([values]) for values in batch.take(from_numpy(places)).columns]


def _found(
    told: Footer, row_group: int, places: np.ndarray, leaves: Sequence[Leaf]
) -> dict[Leaf, pa.ChunkedArray]:
    held = zip(leaves, cache.get((told, row_group, leaf) for leaf in leaves), strict=True)
    whole = {leaf: chunk for leaf, chunk in held if chunk is not None}
    found = dict(zip(whole, take_each(list(whole.values()), places), strict=True)) if whole else {}
    if len(found) < len(leaves):
        found.update(_remembered(told, row_group, places, [leaf for leaf in leaves if leaf not in found]))
    missing = [leaf for leaf in leaves if leaf not in found]
    if missing:
        found.update(_decoded(told, row_group, places, missing))
        if len(places) * FEW_SHARE <= told.metadata.row_group(row_group).num_rows:
            few_rows.put([((told, row_group), KeptRows(places, found))])
    return found


def _remembered(
    told: Footer, row_group: int, places: np.ndarray, leaves: Iterable[Leaf]
) -> Mapping[Leaf, pa.ChunkedArray]:
    kept = few_rows.get([(told, row_group)])[0]
    wanted = [leaf for leaf in leaves if kept is not None and leaf in kept.columns]
    if kept is None or not wanted:
        return {}
    columns = [kept.columns[leaf] for leaf in wanted]
    if not np.array_equal(kept.places, places):
        at = np.minimum(np.searchsorted(kept.places, places), len(kept.places) - 1)
        if not np.array_equal(kept.places[at], places):
            return {}
        columns = take_each(columns, at)
    return dict(zip(wanted, columns, strict=True))


def _decoded(
    told: Footer, row_group: int, places: np.ndarray, leaves: Sequence[Leaf]
) -> dict[Leaf, pa.ChunkedArray]:
    """What was decoded for other rows before is kept whole this time."""
    found: dict[Leaf, pa.ChunkedArray] = {}
    for first in range(0, len(leaves), COLUMNS_AT_ONCE):
        some = leaves[first : first + COLUMNS_AT_ONCE]
        chunks = decode(told, [row_group], some)
        cache.put(
            ((told, row_group, leaf), chunk)
            for leaf, chunk in zip(some, chunks, strict=True)
            if _asked_before((told, row_group, leaf))
        )
        found.update(zip(some, take_each(chunks, places), strict=True))
    return found


def _asked_before(key: ChunkKey) -> bool:
    if key in _asked:
        return True
    if len(_asked) >= MOST_REMEMBERED:
        _asked.clear()
    _asked.add(key)
    return False


def _is_view(kind: pa.DataType) -> bool:
    return kind in (pa.string_view(), pa.binary_view())
