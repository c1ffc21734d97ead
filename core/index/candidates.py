"""The rows that an index names for one condition, as positions in a snapshot."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa

from lamella.core.arrays import in_one, to_numpy
from lamella.core.ascending import EMPTY, union, without
from lamella.core.filters.binding import Bound
from lamella.core.filters.expr import Filter
from lamella.core.filters.to_arrow import mask
from lamella.core.filters.walk import columns_read
from lamella.core.index.file_index import FileIndex, indexed_column, placed
from lamella.core.index.runs import NotServed, Runs, Sought
from lamella.core.index.sorted import Sorted
from lamella.core.scan.paths import chosen
from lamella.core.scan.pieces import changed_cells, in_memory
from lamella.core.scan.rows import take_rows
from lamella.core.scan.snapshot import Column, MemorySegment, Snapshot

FEW_ROWS = 256
SHARE = 8
"""One row in so many is worth an index; to look at all of them costs less than to put more in order."""

FileIndexes = Callable[[Column], Sequence[FileIndex]]

Named = tuple[int, Sorted, Runs]
"""Where a data file's rows begin, its index, and the values that are named."""


@dataclass(frozen=True)
class Candidates:
    """`rows` is how many have to be looked at; `positions` gives those that may meet the condition, deleted
    ones among them, ascending. They do where they meet `rest` too, and there are `rest` conditions at all."""

    rows: int
    positions: Callable[[], np.ndarray]
    indexes: tuple[str, ...]
    rest: tuple[Filter, ...] = ()


@dataclass(frozen=True)
class LaidOver:
    """Pending cells of a column: the positions `changed`, and which of these may meet the condition; they do
    if `exact`. `rows` is how many have to be looked at for that."""

    changed: np.ndarray
    met: Callable[[], np.ndarray]
    rows: int
    exact: bool = True


def most_served(snapshot: Snapshot) -> int:
    return max(FEW_ROWS, snapshot.num_positions // SHARE)


def index_name(column: Column) -> str:
    return f"sorted index on {column.name}"


def meeting(snapshot: Snapshot, positions: np.ndarray, condition: Filter) -> np.ndarray:
    """Whether the rows at these positions meet a condition, looked at one by one."""
    columns = chosen(snapshot, columns_read(condition))
    return to_numpy(mask(condition, take_rows(snapshot, positions, columns)))


def candidates(snapshot: Snapshot, condition: Bound, held_by: FileIndexes) -> Candidates | None:
    """What the index of the condition's column names; None where there is none, or it does not help."""
    column, sought = indexed_column(snapshot, condition.column), Sought(condition)
    if column is None:
        return None
    try:
        named = asked(sought, column, held_by(column))
        laid_over = _laid_over(snapshot, condition, column, sought)
    except NotServed:
        return None
    rows = sum(index.count(found.spans) for _, index, found in named) + placed(snapshot).loose_rows
    exact = all(found.exact for _, _, found in named) and (laid_over is None or laid_over.exact)
    return Candidates(
        rows + (0 if laid_over is None else laid_over.rows),
        partial(_positions, snapshot, condition, column, named, laid_over),
        (index_name(column),),
        () if exact else (condition,),
    )


def asked(sought: Sought, column: Column, files: Sequence[FileIndex]) -> list[Named]:
    """What each index names; raises `NotServed`, where that can be told before files are opened."""
    if not files:
        sought.runs(partial(Sorted.of_nulls, 0, column.type))
    found = [(file, sought.runs(file.opened)) for file in files]
    return [(file.start, file.opened(), runs) for file, runs in found]


def _laid_over(
    snapshot: Snapshot, condition: Bound, column: Column, sought: Sought
) -> LaidOver | None:  # fmt: skip
    changed = changed_cells(snapshot, column)
    if changed is None:
        return None
    positions, values = changed
    index = snapshot.indexes.changes.of(column, values) if snapshot.indexes else None
    if index is None:
        return LaidOver(
            positions, lambda: to_numpy(mask(condition, _table(column, values))), len(positions)
        )  # fmt: skip
    runs = sought.runs(lambda: index)
    return LaidOver(positions, partial(_in_file, 0, index, runs), index.count(runs.spans), runs.exact)


def _positions(
    snapshot: Snapshot,
    condition: Bound,
    column: Column,
    named: Sequence[Named],
    laid_over: LaidOver | None,
) -> np.ndarray:
    parts = [_in_file(*one) for one in named]
    loose = placed(snapshot).loose
    if loose:
        parts.append(_in_memory(loose, condition, column))
    filled = [part for part in parts if len(part)]
    found = filled[0] if len(filled) == 1 else np.concatenate([EMPTY, *filled])
    if loose:
        found.sort()
    if laid_over is None:
        return found
    return union(without(found, laid_over.changed), laid_over.changed[laid_over.met()])


def _in_file(start: int, index: Sorted, found: Runs) -> np.ndarray:
    rows = index.having(found.spans)
    if len(found.spans) > 1 or any(stop - first > 1 for first, stop in found.spans):
        rows = np.sort(rows)
    positions: np.ndarray = rows.astype(np.int64)
    positions += start
    return positions


def _in_memory(loose: list[tuple[int, MemorySegment]], condition: Bound, column: Column) -> np.ndarray:
    """All segments are looked at as one: there may be many small ones."""
    values = [chunk for _, segment in loose for chunk in _values(segment, column).chunks]
    places = np.concatenate([np.arange(start, start + segment.num_rows) for start, segment in loose])
    together = in_one(pa.chunked_array(values, column.type))
    found: np.ndarray = places[to_numpy(mask(condition, _table(column, together)))]
    return found


def _values(segment: MemorySegment, column: Column) -> pa.ChunkedArray:
    """A segment that has the column as it is, as most do, needs no table made of it."""
    place = segment.rows.schema.get_field_index(str(column.key))
    if place >= 0 and segment.rows.column(place).type.equals(column.type):
        return segment.rows.column(place)
    return in_memory(segment, [column]).column(0)


def _table(column: Column, values: pa.Array) -> pa.Table:
    return pa.Table.from_arrays([values], [column.name])
