"""Rows in order: those that are few, and the first ones of all that an index names."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lamella.core.arrays import in_one
from lamella.core.ascending import EMPTY, union, without
from lamella.core.filters.binding import Bound
from lamella.core.index.candidates import asked, meeting, most_served
from lamella.core.index.file_index import file_indexes, indexed_column, placed
from lamella.core.index.ordering import can_be_ordered, ranks
from lamella.core.index.runs import NotServed, Sought
from lamella.core.index.sorted import Sorted, Span
from lamella.core.query.query import SortKey
from lamella.core.scan.pieces import changed_cells
from lamella.core.scan.rows import take_rows
from lamella.core.scan.snapshot import Column, Snapshot


def key_columns(snapshot: Snapshot, keys: Sequence[SortKey]) -> list[Column] | None:
    """The columns that are sorted by; None where the values of one cannot be put in order here."""
    if not keys:
        return []
    named = {column.name: column for column in snapshot.columns}
    columns = [named[key.column] for key in keys if key.column in named]
    if len(columns) < len(keys) or not all(can_be_ordered(column.type) for column in columns):
        return None
    return columns


def in_sort_order(
    snapshot: Snapshot, positions: np.ndarray, keys: Sequence[SortKey], columns: Sequence[Column]
) -> np.ndarray:
    """Ascending positions in the order of the keys; equal rows stay as they are."""
    if not keys or len(positions) < 2:
        return positions
    values = take_rows(snapshot, positions, columns).columns
    ranked = [ranks(in_one(held), key.descending) for held, key in zip(values, keys, strict=True)]
    ordered: np.ndarray = positions[np.lexsort(ranked[::-1])]
    return ordered


def first_rows(
    snapshot: Snapshot, keys: Sequence[SortKey], count: int, condition: Bound | None = None
) -> np.ndarray | None:
    """Positions of the first `count` live rows in the order of the keys, of those that meet a condition on
    the first key; None where no index of it helps."""
    column, columns = indexed_column(snapshot, keys[0].column), key_columns(snapshot, keys)
    if column is None or columns is None or count > most_served(snapshot):
        return None
    spans = _spans(snapshot, column, condition)
    changed = changed_cells(snapshot, column)
    moved = union(snapshot.deleted, EMPTY if changed is None else changed[0])
    loose = [np.arange(start, start + s.num_rows) for start, s in placed(snapshot).loose]
    if spans is None or len(moved) + sum(map(len, loose)) > most_served(snapshot):
        return None
    found = []
    for start, index, span in spans:
        gone = np.searchsorted(moved, [start, start + len(index.rows)])
        wanted = count + int(gone[1] - gone[0])
        found.append(_first(index, span, wanted, keys[0].descending, whole=len(keys) > 1) + start)
        if sum(map(len, found)) > most_served(snapshot):
            return None
    candidates = union(np.sort(np.concatenate([EMPTY, *found])), moved, *loose)
    positions = without(candidates, snapshot.deleted)
    if condition is not None and len(positions):
        positions = positions[meeting(snapshot, positions, condition)]
    return in_sort_order(snapshot, positions, keys, columns)[:count]


def _spans(
    snapshot: Snapshot, column: Column, condition: Bound | None
) -> list[tuple[int, Sorted, Span]] | None:
    """The index of each file, where its rows begin, and the values that meet the condition; None where they
    are not one range."""
    files = file_indexes(snapshot, column)
    try:
        if condition is None:
            held = [(file.start, file.opened()) for file in files]
            return [(start, index, (0, index.num_values + 1)) for start, index in held]
        named = asked(Sought(condition), column, files)
    except NotServed:
        return None
    if any(len(found.spans) > 1 or not found.exact for _, _, found in named):
        return None
    return [(start, index, span) for start, index, found in named for span in found.spans]


def _first(index: Sorted, span: Span, count: int, descending: bool, whole: bool) -> np.ndarray:
    """The first `count` rows of a span in the index's order, or backwards, null last; with all that are equal
    to the last one of them if `whole`."""
    first, values, after = (int(index.starts[n]) for n in (span[0], min(span[1], index.num_values), span[1]))
    if descending and 0 < count < values - first:
        return _last(index, values, count, whole)
    stop = min(first + count, after)
    if whole:
        stop = int(index.starts[np.searchsorted(index.starts, stop)])
    return index.rows[first:stop].astype(np.int64)


def _last(index: Sorted, values: int, count: int, whole: bool) -> np.ndarray:
    """Of the rows that are not null, the greatest ones; of equal ones the first ones."""
    at = int(np.searchsorted(index.starts, values - count, side="right")) - 1
    first, after = int(index.starts[at]), int(index.starts[at + 1])
    equal = after if whole else first + count - (values - after)
    return np.concatenate([index.rows[first:equal], index.rows[after:values]]).astype(np.int64)
