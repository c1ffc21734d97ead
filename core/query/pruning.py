"""Pruning: row groups are skipped if their statistics rule out that any row meets a filter."""

from __future__ import annotations

import json
import math
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, NoReturn, cast

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import types as is_

from lamella.core.arrow.nested_values import type_at
from lamella.core.filters.binding import BoundPredicate
from lamella.core.filters.expr import And, Branch, Filter, Not, Predicate, columns_read, fold
from lamella.core.filters.operators import OPERATORS, Operand
from lamella.core.filters.predicate_values import ESCAPE
from lamella.core.filters.values import NarrowedTest, narrow, narrow_values, value_range
from lamella.core.scan.parquet_file import Footer, statistics_of, unchanged_footer
from lamella.core.scan.read import Piece, changed_cells
from lamella.core.scan.snapshot import Column, FileSegment, Snapshot, project

_UNITS = {"milliseconds": "ms", "microseconds": "us", "nanoseconds": "ns"}


@dataclass(frozen=True)
class Extent:
    """The least and the greatest value (None if unknown), and whether there may be nulls and non-null
    values."""

    low: Any = None
    high: Any = None
    nulls: bool = True
    values: bool = True


UNKNOWN, ALL_NULL = Extent(), Extent(values=False)


def extents_of(segment: FileSegment, column: Column) -> list[Extent]:
    """The extents of a column, or of a field inside structs, by row group."""
    footer = unchanged_footer(segment)
    name = segment.names.get(column.key)
    if name is None:
        constant = column.key in segment.constants
        return [UNKNOWN if constant else ALL_NULL] * footer.metadata.num_row_groups
    return _of_column(footer, name, column.path, column.type)


@lru_cache(4096)
def _of_column(footer: Footer, name: str, path: tuple[str, ...], type_: pa.DataType) -> list[Extent]:
    """The extents by row group; unknown if the file stores another type, or one whose extremes are not
    exact."""
    groups = [footer.metadata.row_group(group) for group in range(footer.metadata.num_row_groups)]
    stored = type_at(footer.schema.field(name).type, path)
    if stored is None:
        return [ALL_NULL for _ in groups]
    if not stored.equals(type_) or name in footer.renderings:
        return [UNKNOWN for _ in groups]
    if is_.is_struct(type_):
        leaves = [
            place for inner in _leaves(type_, (name, *path)) if (place := _place(footer, inner)) is not None
        ]
        return [Extent(nulls=not _some_has_no_null(footer, group, leaves)) for group in groups]
    place = _place(footer, (name, *path))
    leaf = None if place is None else footer.metadata.schema.column(place)
    if leaf is None or not _has_exact_extremes(type_, leaf):
        return [UNKNOWN for _ in groups]
    return [_extent(group.column(place), leaf) for group in groups]


def stated_extremes(snapshot: Snapshot, column: Column) -> tuple[int | float, int | float] | None:
    """The least and the greatest stored value of a column of numbers or moments without nulls, according to
    the footers: for floats these leave out NaN, and may be wrong. None if some rows are not in files, or
    footers lack the values."""
    if len(snapshot.deleted_positions) or changed_cells(snapshot, column) is not None:
        return None
    extents = list[Extent]()
    for segment in snapshot.segments:
        if not isinstance(segment, FileSegment):
            return None
        floats = is_.is_floating(column.type)
        extents += _float_extents(segment, column) if floats else extents_of(segment, column)
    low = min((extent.low for extent in extents if _is_stated(extent)), default=math.inf)
    high = max((extent.high for extent in extents if _is_stated(extent)), default=-math.inf)
    if not all(map(_is_stated, extents)) or not (math.isfinite(low) and math.isfinite(high)):
        return None
    return low, high


def _is_stated(extent: Extent) -> bool:
    return not extent.nulls and isinstance(extent.low, int | float)


def _float_extents(segment: FileSegment, column: Column) -> Iterator[Extent]:
    """The extents of a column of floats by row group, as stated."""
    footer, name = unchanged_footer(segment), segment.names.get(column.key)
    place = None if name is None else _place(footer, (name, *column.path))
    if place is None or not is_.is_floating(footer.schema.field(name).type):
        yield UNKNOWN
        return
    leaf = footer.metadata.schema.column(place)
    for group in range(footer.metadata.num_row_groups):
        statistics = statistics_of(footer.metadata.row_group(group).column(place), leaf)
        if statistics is None or not statistics.has_min_max:
            yield UNKNOWN
        else:
            has_nulls = not statistics.has_null_count or statistics.null_count > 0
            yield Extent(float(statistics.min), float(statistics.max), has_nulls)


def _place(footer: Footer, path: tuple[str, ...]) -> int | None:
    """The index of the leaf column with this path. None if another leaf has the same path (names may contain
    dots), or if its statistics are about items of lists rather than rows."""
    schema, called = footer.metadata.schema, ".".join(path)
    places = [i for i in range(footer.metadata.num_columns) if schema.column(i).path == called]
    if len(places) != 1 or schema.column(places[0]).max_repetition_level:
        return None
    return places[0]


def _leaves(kind: pa.DataType, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The paths of the non-nested fields inside a struct."""
    for field in kind:
        if is_.is_struct(field.type):
            yield from _leaves(field.type, (*path, field.name))
        elif not is_.is_nested(field.type):
            yield (*path, field.name)


def _some_has_no_null(footer: Footer, group: pq.RowGroupMetaData, leaves: Sequence[int]) -> bool:
    """Whether some leaf has no nulls, and hence the struct has none: where a struct is null, each of its
    fields counts as null."""
    schema = footer.metadata.schema
    statistics = (statistics_of(group.column(leaf), schema.column(leaf)) for leaf in leaves)
    return any(
        extent is not None and extent.has_null_count and extent.null_count == 0 for extent in statistics
    )


def _has_exact_extremes(type_: pa.DataType, leaf: pq.ColumnSchema) -> bool:
    if is_.is_timestamp(type_):
        unit = json.loads(leaf.logical_type.to_json()).get("timeUnit", "")
        return bool(leaf.physical_type == "INT64" and _UNITS.get(unit) == type_.unit)
    texts = is_.is_string(type_) or is_.is_large_string(type_) or is_.is_binary(type_)
    return bool(texts or is_.is_signed_integer(type_) or is_.is_date32(type_))


def _extent(chunk: pq.ColumnChunkMetaData, leaf: pq.ColumnSchema) -> Extent:
    statistics = statistics_of(chunk, leaf)
    if statistics is None:
        return UNKNOWN
    nulls = not statistics.has_null_count or statistics.null_count > 0
    if statistics.has_null_count and statistics.null_count == chunk.num_values:
        return ALL_NULL
    return (
        Extent(statistics.min_raw, statistics.max_raw, nulls)
        if statistics.has_min_max
        else Extent(nulls=nulls)
    )


_NUMBERS = (int, float, Fraction)


class NotInStatistics(Exception):
    """Raised if statistics cannot answer a test."""


@dataclass(frozen=True)
class Might:
    """Whether a row group may contain rows that meet a condition, and rows that do not."""

    meet: bool = True
    fail: bool = True


def may_meet(snapshot: Snapshot, bound: Filter) -> Callable[[Piece], bool]:
    """Return a test of whether rows of a piece may meet the filter; always true for pieces with pending
    changes in its columns."""
    columns = {column.name: column for column in project(snapshot, columns_read(bound))}

    @lru_cache(1)  # the pieces of a file are consecutive
    def extents(segment: FileSegment) -> dict[str, list[Extent]]:
        return {name: extents_of(segment, column) for name, column in columns.items()}

    def may_meet_filter(piece: Piece) -> bool:
        if not isinstance(piece.segment, FileSegment) or _is_changed(snapshot, piece, columns.values()):
            return True
        by_column = extents(piece.segment)
        return any(
            _might(bound, {n: e[group] for n, e in by_column.items()}).meet for group in piece.row_groups
        )

    return may_meet_filter


def _is_changed(snapshot: Snapshot, piece: Piece, columns: Any) -> bool:
    for column in columns:
        changed = changed_cells(snapshot, column)
        if changed is not None:
            low, high = changed[0].searchsorted([piece.first, piece.stop])
            if low < high:
                return True
    return False


def _might(bound: Filter, extents: dict[str, Extent]) -> Might:
    def leaf(condition: Predicate) -> Might:
        if not isinstance(condition, BoundPredicate) or condition.ignore_case:
            return Might()
        extent = extents.get(condition.place.name, UNKNOWN)
        operand = StatisticsOperand(extent, condition.place.type, condition.memo)
        try:
            test: Might = OPERATORS[condition.operator].test(cast(Operand[Might], operand), condition.exact)
        except NotInStatistics:
            return Might()
        return test

    return fold(bound, leaf, _branch)


def _branch(node: Branch, parts: list[Might]) -> Might:
    if isinstance(node, Not):
        return Might(parts[0].fail, parts[0].meet)
    if isinstance(node, And):
        return Might(all(p.meet for p in parts), any(p.fail for p in parts))
    return Might(any(p.meet for p in parts), all(p.fail for p in parts))


class StatisticsOperand:
    """A column of a row group, by its statistics. Raises `NotInStatistics` for anything they do not cover."""

    def __init__(self, extent: Extent, type_: pa.DataType, cache: dict[Any, Any]) -> None:
        self._extent, self._type, self._cache = extent, type_, cache

    def __getattr__(self, name: str) -> NoReturn:
        raise NotInStatistics(name)

    def compare(self, how: str, value: Any) -> Might:
        if isinstance(value, str | bytes):
            return self._compare(how, value.encode() if isinstance(value, str) else value)
        if not self._extent.values or self._extent.low is None or isinstance(self._extent.low, bytes):
            return self._compare(how, None)
        narrowed = self._narrow(how, value)
        return self.always(narrowed) if isinstance(narrowed, bool) else self._compare(*narrowed)

    def _narrow(self, how: str, value: Any) -> NarrowedTest:
        if not _is_number(value):
            raise NotInStatistics(how)
        key = (StatisticsOperand, how, value)
        if key not in self._cache:
            self._cache[key] = narrow(how, value, *value_range(self._type))
        range_: NarrowedTest = self._cache[key]
        return range_

    def one_of(self, values: Sequence[Any]) -> Might:
        """Only values within the extent matter; they are sorted once."""
        extent = self._extent
        if not extent.values or extent.low is None or not values:
            return Might(extent.values and bool(values))
        candidates = self._cache.get(StatisticsOperand)
        if candidates is None:
            candidates = self._cache[StatisticsOperand] = sorted(self._comparable_values(values))
        if candidates and not isinstance(extent.low, type(candidates[0])):
            return Might()
        first = bisect_left(candidates, extent.low)
        meets = first < len(candidates) and candidates[first] <= extent.high
        return Might(meets, extent.nulls or not (meets and extent.low == extent.high))

    def _comparable_values(self, values: Sequence[Any]) -> Sequence[Any]:
        """The values in the form that statistics have."""
        kinds = set(map(type, values))
        if all(issubclass(kind, str) for kind in kinds):
            return [value.encode() for value in values]
        if all(issubclass(kind, bytes) for kind in kinds):
            return values
        if not all(issubclass(kind, _NUMBERS) and kind is not bool for kind in kinds):
            raise NotInStatistics("eq")
        return narrow_values(values, *value_range(self._type))

    def starts_with(self, text: str) -> Might:
        start, (low, high) = text.encode(), (self._extent.low, self._extent.high)
        if not self._extent.values or not isinstance(low, bytes):
            return Might(self._extent.values)
        return Might(low[: len(start)] <= start <= high)

    def like(self, pattern: str) -> Might:
        """Test the fixed text at the start of the pattern."""
        place = next((i for i, char in enumerate(pattern) if char in ("%", "_", ESCAPE)), len(pattern))
        return self.starts_with(pattern[:place])

    def always(self, answer: bool) -> Might:
        extent = self._extent
        return Might(answer and extent.values, extent.nulls or (extent.values and not answer))

    def is_null(self) -> Might:
        return Might(self._extent.nulls, self._extent.values)

    def opposite(self, condition: Might) -> Might:
        return Might(condition.fail, condition.meet)

    def both(self, left: Might, right: Might) -> Might:
        return Might(left.meet and right.meet, left.fail or right.fail)

    def either(self, left: Might, right: Might) -> Might:
        return Might(left.meet or right.meet, left.fail and right.fail)

    def _compare(self, how: str, value: Any) -> Might:
        extent = self._extent
        if not extent.values:
            return Might(False)
        if extent.low is None or not isinstance(extent.low, type(value)):
            return Might()
        some, all_meet = _COMPARISONS[how](extent.low, extent.high, value)
        return Might(some, extent.nulls or not all_meet)


_COMPARISONS: dict[str, Callable[[Any, Any, Any], tuple[bool, bool]]] = {
    "eq": lambda low, high, v: (low <= v <= high, low == v == high),
    "lt": lambda low, high, v: (low < v, high < v),
    "lte": lambda low, high, v: (low <= v, high <= v),
    "gt": lambda low, high, v: (high > v, low > v),
    "gte": lambda low, high, v: (high >= v, low >= v),
}
"""Whether some value may meet the comparison, and whether all must."""


def _is_number(value: Any) -> bool:
    return not isinstance(value, bool) and isinstance(value, _NUMBERS)


def row_groups_of(snapshot: Snapshot) -> int:
    """The number of row groups of the snapshot's files; parses footers that were not read before."""
    return sum(unchanged_footer(file).metadata.num_row_groups for file in snapshot.files)
