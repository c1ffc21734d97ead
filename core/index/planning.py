"""Chooses the indexes for a query, and finds rows with them, sorted if requested."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial, reduce

import numpy as np
import pyarrow as pa

from lamella.core.arrow.arrays import combine_chunks, to_numpy
from lamella.core.arrow.sorted_ids import EMPTY, among, union, without
from lamella.core.filters.binding import BoundPredicate, bind_to
from lamella.core.filters.expr import And, Branch, Filter, Or, Predicate, columns_read, fold
from lamella.core.filters.to_arrow import mask
from lamella.core.index.open_indexes import (
    FileIndex,
    file_indexes,
    index_placement,
    indexed_column,
    indexes_of,
)
from lamella.core.index.runs import IndexCondition, NoIndexAnswer, Runs
from lamella.core.index.sorted_index import SortedIndex, Span, can_be_ordered, ranks
from lamella.core.scan.read import Piece, changed_cells, in_memory, live_positions, pieces_with, take_rows
from lamella.core.scan.snapshot import Column, MemorySegment, Snapshot, SortKey, project

FEW_ROWS = 256
SHARE = 8
"""An index is used if it leaves at most one row in this many; for more, reading all rows is cheaper than
sorting."""

SAMPLE_ROWS = 2_000
"""How many rows are looked at before an index is built, to say whether it would be used."""

FileIndexes = Callable[[Column], Sequence[FileIndex]]

FileRuns = tuple[int, SortedIndex, Runs]
"""The start of a data file's rows, its index, and the runs of matching values."""


@dataclass(frozen=True)
class Candidates:
    """Rows that may meet a condition. `rows` is how many must be examined; `positions` returns their
    positions, including deleted rows, ascending. They meet it if they also meet the
    `remaining_conditions`, if any."""

    rows: int
    positions: Callable[[], np.ndarray]
    indexes: tuple[str, ...]
    remaining_conditions: tuple[Filter, ...] = ()


@dataclass(frozen=True)
class OverlayCandidates:
    """Pending cells of a column: their `positions`, and those among them that may meet the condition
    (that do, if `exact`). `rows` is how many must be examined."""

    positions: np.ndarray
    find_matches: Callable[[], np.ndarray]
    rows: int
    exact: bool = True


def most_candidates(snapshot: Snapshot) -> int:
    return max(FEW_ROWS, snapshot.num_positions // SHARE)


def finds_few_rows(snapshot: Snapshot, column: Column) -> bool:
    """Whether a sorted index of this column would be used for a filter by one value, for any of those in
    a sample of the rows."""
    if snapshot.num_rows <= SAMPLE_ROWS:
        return True
    live = np.unique(np.random.default_rng(0).integers(0, snapshot.num_rows, SAMPLE_ROWS))
    values = take_rows(snapshot, live_positions(snapshot, live), [column]).column(0)
    _, counts = np.unique(ranks(combine_chunks(values)), return_counts=True)
    return bool(counts.min() * SHARE <= len(live))


def index_name(column: Column) -> str:
    return f"sorted index on {column.name}"


def are_met(snapshot: Snapshot, positions: np.ndarray, condition: Filter) -> np.ndarray:
    """Whether the rows at these positions meet a condition, checked one by one."""
    columns = project(snapshot, columns_read(condition))
    return to_numpy(mask(condition, take_rows(snapshot, positions, columns)))


def candidates(
    snapshot: Snapshot, condition: BoundPredicate, indexes_of_column: FileIndexes
) -> Candidates | None:
    """Find candidates with the index of the condition's column; None if there is none, or it does not
    help."""
    column, sought = indexed_column(snapshot, condition.column), IndexCondition(condition)
    if column is None:
        return None
    try:
        runs_by_file = file_runs(sought, column, indexes_of_column(column))
        laid_over = _overlay_candidates(snapshot, condition, column, sought)
    except NoIndexAnswer:
        return None
    rows = (
        sum(index.count(runs.spans) for _, index, runs in runs_by_file) + index_placement(snapshot).loose_rows
    )
    exact = all(runs.exact for _, _, runs in runs_by_file) and (laid_over is None or laid_over.exact)
    return Candidates(
        rows + (0 if laid_over is None else laid_over.rows),
        partial(_positions, snapshot, condition, column, runs_by_file, laid_over),
        (index_name(column),),
        () if exact else (condition,),
    )


def file_runs(sought: IndexCondition, column: Column, files: Sequence[FileIndex]) -> list[FileRuns]:
    """The matching runs of each index; raises `NoIndexAnswer`, if possible before files are opened."""
    if not files:
        sought.runs(partial(SortedIndex.of_nulls, 0, column.type))
    by_file = [(file, sought.runs(file.file)) for file in files]
    return [(file.start, file.file(), runs) for file, runs in by_file]


def _overlay_candidates(
    snapshot: Snapshot, condition: BoundPredicate, column: Column, sought: IndexCondition
) -> OverlayCandidates | None:  # fmt: skip
    changed = changed_cells(snapshot, column)
    if changed is None:
        return None
    positions, values = changed
    index = indexes_of(snapshot).changes.of(column, values) if snapshot.indexes else None
    if index is None:
        return OverlayCandidates(
            positions, lambda: to_numpy(mask(condition, _table(column, values))), len(positions)
        )  # fmt: skip
    runs = sought.runs(lambda: index)
    return OverlayCandidates(
        positions, partial(_in_file, 0, index, runs), index.count(runs.spans), runs.exact
    )


def _positions(
    snapshot: Snapshot,
    condition: BoundPredicate,
    column: Column,
    runs_by_file: Sequence[FileRuns],
    laid_over: OverlayCandidates | None,
) -> np.ndarray:
    parts = [_in_file(*item) for item in runs_by_file]
    loose = index_placement(snapshot).loose
    if loose:
        parts.append(_in_memory(loose, condition, column))
    filled = [part for part in parts if len(part)]
    positions = filled[0] if len(filled) == 1 else np.concatenate([EMPTY, *filled])
    if loose:
        positions.sort()
    if laid_over is None:
        return positions
    return union(without(positions, laid_over.positions), laid_over.positions[laid_over.find_matches()])


def _in_file(start: int, index: SortedIndex, runs: Runs) -> np.ndarray:
    rows = index.having(runs.spans)
    if len(runs.spans) > 1 or any(stop - first > 1 for first, stop in runs.spans):
        rows = np.sort(rows)
    positions: np.ndarray = rows.astype(np.int64)
    positions += start
    return positions


def _in_memory(
    loose: list[tuple[int, MemorySegment]], condition: BoundPredicate, column: Column
) -> np.ndarray:
    """Examine all in-memory segments at once, since there may be many small ones."""
    values = [chunk for _, segment in loose for chunk in _values(segment, column).chunks]
    places = np.concatenate([np.arange(start, start + segment.num_rows) for start, segment in loose])
    together = combine_chunks(pa.chunked_array(values, column.type))
    positions: np.ndarray = places[to_numpy(mask(condition, _table(column, together)))]
    return positions


def _values(segment: MemorySegment, column: Column) -> pa.ChunkedArray:
    """A segment's values; most segments have the column as it is, and need no conversion."""
    place = segment.rows.schema.get_field_index(str(column.key))
    if place >= 0 and segment.rows.column(place).type.equals(column.type):
        return segment.rows.column(place)
    return in_memory(segment, [column]).column(0)


def _table(column: Column, values: pa.Array) -> pa.Table:
    return pa.Table.from_arrays([values], [column.name])


def key_columns(snapshot: Snapshot, keys: Sequence[SortKey]) -> list[Column] | None:
    """The columns of the sort keys; None if the values of one cannot be sorted here."""
    if not keys:
        return []
    by_name = {column.name: column for column in snapshot.columns}
    columns = [by_name[key.column] for key in keys if key.column in by_name]
    if len(columns) < len(keys) or not all(can_be_ordered(column.type) for column in columns):
        return None
    return columns


def in_sort_order(
    snapshot: Snapshot, positions: np.ndarray, keys: Sequence[SortKey], columns: Sequence[Column]
) -> np.ndarray:
    """Sort ascending positions by the keys; equal rows keep their order."""
    if not keys or len(positions) < 2:
        return positions
    values = take_rows(snapshot, positions, columns).columns
    ranks_of_keys = [
        ranks(combine_chunks(column), key.descending) for column, key in zip(values, keys, strict=True)
    ]
    ordered: np.ndarray = positions[np.lexsort(ranks_of_keys[::-1])]
    return ordered


def first_rows(
    snapshot: Snapshot, keys: Sequence[SortKey], count: int, condition: BoundPredicate | None = None
) -> np.ndarray | None:
    """Positions of the first `count` live rows in the order of the keys, among those that meet a condition on
    the first key; None if no index helps."""
    column, columns = indexed_column(snapshot, keys[0].column), key_columns(snapshot, keys)
    if column is None or columns is None or count > most_candidates(snapshot):
        return None
    spans = _spans(snapshot, column, condition)
    changed = changed_cells(snapshot, column)
    moved = union(snapshot.deleted_positions, EMPTY if changed is None else changed[0])
    loose = [np.arange(start, start + s.num_rows) for start, s in index_placement(snapshot).loose]
    if spans is None or len(moved) + sum(map(len, loose)) > most_candidates(snapshot):
        return None
    rows = []
    for start, index, span in spans:
        gone = np.searchsorted(moved, [start, start + len(index.rows)])
        size = count + int(gone[1] - gone[0])
        rows.append(_first(index, span, size, keys[0].descending, whole=len(keys) > 1) + start)
        if sum(map(len, rows)) > most_candidates(snapshot):
            return None
    candidates = union(np.sort(np.concatenate([EMPTY, *rows])), moved, *loose)
    positions = without(candidates, snapshot.deleted_positions)
    if condition is not None and len(positions):
        positions = positions[are_met(snapshot, positions, condition)]
    return in_sort_order(snapshot, positions, keys, columns)[:count]


def _spans(
    snapshot: Snapshot, column: Column, condition: BoundPredicate | None
) -> list[tuple[int, SortedIndex, Span]] | None:
    """The start and index of each file, and the values that meet the condition; None if they are not a single
    range."""
    files = file_indexes(snapshot, column)
    try:
        if condition is None:
            sorted_files = [(file.start, file.file()) for file in files]
            return [(start, index, (0, index.num_values + 1)) for start, index in sorted_files]
        runs_by_file = file_runs(IndexCondition(condition), column, files)
    except NoIndexAnswer:
        return None
    if any(len(runs.spans) > 1 or not runs.exact for _, _, runs in runs_by_file):
        return None
    return [(start, index, span) for start, index, runs in runs_by_file for span in runs.spans]


def _first(index: SortedIndex, span: Span, count: int, descending: bool, whole: bool) -> np.ndarray:
    """The first `count` rows of a span in the index's order or backwards, nulls last. If `whole`, all rows
    equal to the last of them are included."""
    first, values, after = (int(index.starts[n]) for n in (span[0], min(span[1], index.num_values), span[1]))
    if descending and 0 < count < values - first:
        return _last(index, values, count, whole)
    stop = min(first + count, after)
    if whole:
        stop = int(index.starts[np.searchsorted(index.starts, stop)])
    return index.rows[first:stop].astype(np.int64)


def _last(index: SortedIndex, values: int, count: int, whole: bool) -> np.ndarray:
    """The rows with the greatest values, without nulls; among equal rows, the first ones."""
    at = int(np.searchsorted(index.starts, values - count, side="right")) - 1
    first, after = int(index.starts[at]), int(index.starts[at + 1])
    equal = after if whole else first + count - (values - after)
    return np.concatenate([index.rows[first:equal], index.rows[after:values]]).astype(np.int64)


ROWS_RATIO = 16
"""An And does not use an index whose rows are this many times those of another: the rows found are checked
instead."""


@dataclass(frozen=True, eq=False)
class IndexedRows:
    """Live positions, in the requested order. The values at `compared_positions` had to be compared."""

    positions: np.ndarray
    index: str
    compared_positions: np.ndarray


def find_by_index(
    snapshot: Snapshot,
    where: Filter | None,
    keys: Sequence[SortKey] = (),
    first: int | None = None,
    may_meet: Callable[[Snapshot, Filter], Callable[[Piece], bool]] | None = None,
) -> IndexedRows | None:
    """Find the rows that meet `where`, ascending or in the order of the keys; None if no index helps.

    If `first` is given, at least that many rows are needed. `may_meet` makes a test of whether rows of a
    piece may meet a condition without an index; other pieces are not read.
    """
    if snapshot.indexes is None or not snapshot.indexes.has_sorted_index:
        return None
    early = _first_in_order(snapshot, where, keys, first)
    if early is not None or where is None:
        return early
    columns = key_columns(snapshot, keys)
    candidates = None if columns is None else _candidates(snapshot, where)
    if columns is None or candidates is None or candidates.rows > most_candidates(snapshot):
        return None
    positions = without(candidates.positions(), snapshot.deleted_positions)
    compared_positions = EMPTY
    if candidates.remaining_conditions:
        rest = And(candidates.remaining_conditions)
        compared_positions = (
            positions if may_meet is None else _within(snapshot, positions, may_meet(snapshot, rest))
        )
        positions = (
            compared_positions[are_met(snapshot, compared_positions, rest)]
            if len(compared_positions)
            else EMPTY
        )
    names = ", ".join(dict.fromkeys(candidates.indexes))
    for name in columns_read(where):
        column = indexed_column(snapshot, name)
        if column is not None and index_name(column) in candidates.indexes:
            indexes_of(snapshot).note_sorted(column)
    return IndexedRows(in_sort_order(snapshot, positions, keys, columns), names, compared_positions)


def _within(snapshot: Snapshot, positions: np.ndarray, is_wanted: Callable[[Piece], bool]) -> np.ndarray:
    """The positions in pieces that are wanted."""
    parts, passed = [EMPTY], 0
    for piece in pieces_with(snapshot, positions):
        stop = int(np.searchsorted(positions, piece.stop))
        if is_wanted(piece):
            parts.append(positions[passed:stop])
        passed = stop
    return np.concatenate(parts)


def _first_in_order(
    snapshot: Snapshot, where: Filter | None, keys: Sequence[SortKey], first: int | None
) -> IndexedRows | None:
    """The first rows of all, or of a range of the first sort column; no other rows are read."""
    column = indexed_column(snapshot, keys[0].column) if keys else None
    if column is None or first is None:
        return None
    bound = None if where is None else bind_to(where, snapshot.types, snapshot.name)
    if bound is not None and not (isinstance(bound, BoundPredicate) and bound.column == column.name):
        return None
    rows = first_rows(snapshot, keys, first, bound)
    if rows is None:
        return None
    indexes_of(snapshot).note_sorted(column)
    return IndexedRows(rows, index_name(column), rows)


def _candidates(snapshot: Snapshot, where: Filter) -> Candidates | None:
    bound, by_file = bind_to(where, snapshot.types, snapshot.name), dict[int, list[FileIndex]]()

    def indexes_of_column(column: Column) -> list[FileIndex]:
        """The indexes of the column's files; each file is looked up once."""
        if column.key not in by_file:
            by_file[column.key] = file_indexes(snapshot, column)
        return by_file[column.key]

    def leaf(condition: Predicate) -> Candidates | None:
        return (
            candidates(snapshot, condition, indexes_of_column)
            if isinstance(condition, BoundPredicate)
            else None
        )

    def branch(node: Branch, parts: list[Candidates | None]) -> Candidates | None:
        if isinstance(node, And):
            return _intersect(node, parts)
        return _unite(node, parts) if isinstance(node, Or) else None

    return fold(bound, leaf, branch)


def _intersect(node: Branch, parts: Sequence[Candidates | None]) -> Candidates | None:
    """Use the part with the fewest rows, and those with not many more."""
    served = [part for part in parts if part is not None]
    if not served:
        return None
    fewest = min(part.rows for part in served)
    rare = [part for part in served if part.rows <= ROWS_RATIO * fewest]
    other_filters = [
        condition
        for condition, part in zip(node.children, parts, strict=True)
        if part is None or part.rows > ROWS_RATIO * fewest
    ]
    return Candidates(
        fewest,
        partial(_intersection, rare),
        tuple(name for part in rare for name in part.indexes),
        (*(condition for part in rare for condition in part.remaining_conditions), *other_filters),
    )


def _unite(node: Branch, parts: Sequence[Candidates | None]) -> Candidates | None:
    served = [part for part in parts if part is not None]
    if len(served) < len(parts):
        return None
    return Candidates(
        sum(part.rows for part in served),
        partial(_union, served),
        tuple(name for part in served for name in part.indexes),
        (node,) if any(part.remaining_conditions for part in served) else (),
    )


def _intersection(parts: Sequence[Candidates]) -> np.ndarray:
    ascending = sorted((part.positions() for part in parts), key=len)
    return reduce(lambda ids, more: ids[among(ids, more)], ascending)


def _union(parts: Sequence[Candidates]) -> np.ndarray:
    return union(*(part.positions() for part in parts))
