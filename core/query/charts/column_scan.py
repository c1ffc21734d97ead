"""Figures of charts that need only one or two columns of numbers or moments: they are computed while the
columns are decoded, which takes half as long as statements of DuckDB."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Protocol, TypeVar

import numpy as np
import pyarrow as pa
from pyarrow import types as is_

from lamella.core.arrow.arrays import combine_chunks, from_numpy, to_numpy
from lamella.core.filters.binding import bind
from lamella.core.filters.expr import Filter, columns_read
from lamella.core.filters.to_arrow import mask
from lamella.core.jobs import Job
from lamella.core.query.axis import Scale
from lamella.core.query.charts.dimensions import UNIT_SECONDS, Dimension, Extent, Moments, Ranges
from lamella.core.query.find import Method, RowSearch
from lamella.core.query.pruning import may_meet
from lamella.core.scan.cache import cache
from lamella.core.scan.chunks import run_chunks
from lamella.core.scan.open_file import OpenFile
from lamella.core.scan.parallel import run_tasks
from lamella.core.scan.read import ROWS_AT_ONCE, Piece, gaps_of, live, runs, schema_of
from lamella.core.scan.snapshot import Column, FileSegment, Snapshot, project

FEWEST_ROWS = 1_000_000
"""For fewer rows, statements of DuckDB are fast enough."""
MOST_PLACES = 1 << 17
MOST_KEPT = 1 << 25
"""The most values (256 MB of them) that are kept after their extremes were computed, to be counted next."""
_BLOCK = 1 << 17
"""Values that are computed at once: about those of a row group, as smaller blocks cost more calls."""
STRIDE = 128
"""How many ascending values are skipped where both ends are in the same place."""
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6}

Values = Mapping[str, np.ndarray]
"""Values of the same rows by role."""
Answer = TypeVar("Answer")


class OutsidePlaces(Exception):
    """A value lies outside of all places, or is NaN or infinite."""


class Places(Protocol):
    """How values become numbers of places, from 0 up to, but not including, `size`."""

    @property
    def size(self) -> int: ...

    def number(self, values: np.ndarray, into: np.ndarray) -> None:
        """Write the number of each value's place, as a float; NaN and infinities for values that are."""
        ...

    @property
    def keys(self) -> np.ndarray:
        """The key of each place, in ascending order; adjacent places may have the same one."""
        ...


@dataclass(frozen=True)
class RangePlaces:
    """Ranges of equal width, computed like `Scale.number` does in SQL."""

    scale: Scale
    size: int

    def number(self, values: np.ndarray, into: np.ndarray) -> None:
        scale = self.scale
        if scale.whole:
            np.subtract(values, float(scale.first * scale.of), out=into, dtype=np.float64)
            np.add(into, 0.5, out=into)
            np.multiply(into, 1 / scale.of, out=into)
            np.floor(into, out=into)
        else:
            if scale.per != 1:
                values = np.multiply(values, float(scale.per), out=into, dtype=np.float64)
            if scale.of != 1:
                values = np.divide(values, float(scale.of), out=into, dtype=np.float64)
            np.floor(values, out=into, dtype=np.float64)
            np.subtract(into, float(scale.first), out=into)

    @property
    def keys(self) -> np.ndarray:
        return np.arange(self.size)


@dataclass(frozen=True)
class UnitPlaces:
    """Units of time: days, or shorter ones of `seconds`, from the number `first` since 1970 on. Weeks and
    longer units have the days in them as places, all with the key of the first."""

    unit: str
    seconds: int
    per_second: int
    first: int
    size: int
    key_per_second: int
    """How many steps of the axis a second has; 0 for an axis of days."""

    def number(self, values: np.ndarray, into: np.ndarray) -> None:
        width = self.seconds * self.per_second if self.per_second else 1
        np.subtract(values // width if width > 1 else values, self.first, out=into, dtype=np.float64)

    @property
    def keys(self) -> np.ndarray:
        numbers = np.arange(self.first, self.first + self.size)
        if self.unit == "week":  # day 0, in 1970, was a Thursday
            numbers -= (numbers + 3) % 7
        elif self.unit in ("month", "quarter", "year"):
            months = numbers.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)
            months -= months % {"month": 1, "quarter": 3, "year": 12}[self.unit]
            numbers = months.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
        return numbers * (self.seconds * self.key_per_second) if self.key_per_second else numbers


def places_of(dimension: Dimension | Ranges | Moments, extent: Extent, kind: pa.DataType) -> Places | None:
    """The places of a column of this type with this extent; None if only SQL can compute them."""
    if extent.low is None or extent.high is None:
        return None
    if isinstance(dimension, Ranges) and not dimension.log and is_on_scale(kind):
        scale = dimension.scale
        if scale.whole and max(abs(extent.low), abs(extent.high), abs(scale.first * scale.of)) >= 2**52:
            return None
        size = dimension.number_of(extent.high) + 1
        return RangePlaces(scale, size) if 0 < size <= MOST_PLACES else None
    if isinstance(dimension, Moments) and is_on_calendar(kind):
        per_second = 0 if is_.is_date(kind) else _PER_SECOND[kind.unit]
        key_per_second = 10**6 if per_second else 0
        days = per_second == 0 or UNIT_SECONDS[dimension.unit] >= UNIT_SECONDS["day"]
        seconds = UNIT_SECONDS["day" if days else dimension.unit]
        width = seconds * key_per_second if key_per_second else 1
        first, last = int(extent.low) // width, int(extent.high) // width
        if last - first >= MOST_PLACES:
            return None
        return UnitPlaces(dimension.unit, seconds, per_second, first, last - first + 1, key_per_second)
    return None


def are_few(places: Iterable[Places]) -> bool:
    """Whether all combinations of these places can be counted in memory."""
    return math.prod(axis.size for axis in places) <= MOST_PLACES


def is_on_scale(kind: pa.DataType) -> bool:
    """Whether values are floats or whole numbers that NumPy computes with like SQL."""
    return bool(is_.is_float64(kind) or is_.is_float32(kind) or is_.is_signed_integer(kind))


def is_on_calendar(kind: pa.DataType) -> bool:
    """Whether values are dates, or moments without a zone in at most microseconds."""
    return bool(
        is_.is_date32(kind) or (is_.is_timestamp(kind) and kind.tz is None and kind.unit in _PER_SECOND)
    )


@dataclass(frozen=True)
class ColumnFigures:
    """The number of a column's values, and the positions of the least and the greatest one on its axis; None
    if there are no values."""

    count: int
    low: int | float | None = None
    high: int | float | None = None


class ColumnScan:
    """Columns, by role, of the rows of a snapshot that meet a filter. Used by one thread; others help while
    it computes."""

    def __init__(
        self, snapshot: Snapshot, where: Filter | None, columns: Mapping[str, Column], job: Job
    ) -> None:
        self._snapshot, self._columns, self._job = snapshot, columns, job
        self._bound = None if where is None else bind(where, snapshot.schema, snapshot.name)
        filtered = () if self._bound is None else project(snapshot, columns_read(self._bound))
        self._read = list(dict.fromkeys([*filtered, *columns.values()]))
        self._kept: Sequence[Values] | None = None

    @classmethod
    def of(
        cls, snapshot: Snapshot, where: Filter | None, columns: Mapping[str, str], job: Job
    ) -> ColumnScan | None:
        """A scan of the columns with these names, by role; None if DuckDB answers faster, or only DuckDB
        can."""
        if snapshot.num_rows < FEWEST_ROWS or not all(name in snapshot.by_name for name in columns.values()):
            return None
        by_role = {role: snapshot.by_name[name] for role, name in columns.items()}
        if not all(is_on_scale(column.type) or is_on_calendar(column.type) for column in by_role.values()):
            return None
        if where is not None:
            filtered = project(snapshot, columns_read(bind(where, snapshot.schema, snapshot.name)))
            if not filtered or not all(is_.is_primitive(column.type) for column in filtered):
                return None
            if RowSearch(snapshot, where, statement=True).strategy.method is Method.INDEX:
                return None
        return cls(snapshot, where, by_role, job)

    def figures(self) -> tuple[int, dict[str, ColumnFigures]]:
        """The number of rows, and the figures of each role. Raises `OutsidePlaces` for NaN and infinities."""
        collector = _KeptValues()

        def measure(piece: Piece, file: OpenFile) -> tuple[int, dict[str, ColumnFigures]]:
            rows = self._rows(piece, file)
            complete = rows.complete()
            collector.add(complete)
            has_nulls = any(array.null_count for array in rows.arrays.values())
            return rows.count, {
                role: _figures_of(rows.values(role) if has_nulls else complete[role], array.type)
                for role, array in rows.arrays.items()
            }

        parts = self._each(measure)
        self._kept = collector.parts
        return sum(rows for rows, _ in parts), {
            role: _together([figures[role] for _, figures in parts]) for role in self._columns
        }

    def counts(self, places: Mapping[str, Places], summed: str = "") -> pa.Table:
        """The number of `rows` in each place that has some, by the keys of each role, and as `sum` the sum of
        the values of the role `summed`. Rows without a value in one of the roles are left out.

        Raises `OutsidePlaces` if a value has no place, or a sum is not finite.
        """
        tallies = Tallies(places, summed)
        if self._kept is not None:
            run_tasks(lambda values, _: tallies.add(values), self._kept, lambda _: self._job.check())
        else:
            self._each(lambda piece, file: tallies.add(self._rows(piece, file).complete()))
        return tallies.table()

    def cache_columns(self) -> bool:
        """Decode the columns of row groups that may have these rows into memory, unless they would take most
        of the cache: a scan of fewer rows then takes half as long. Returns whether they are cached. Raises
        `Cancelled` between row groups."""
        rows = sum(piece.stop - piece.first for piece in self._pieces())
        if rows * sum(column.type.bit_width for column in self._read) // 8 > cache.max_bytes // 2:
            return False

        def decode(piece: Piece, file: OpenFile) -> None:
            if isinstance(piece.segment, FileSegment):
                run_chunks(piece.segment, piece.row_groups, self._read, cache, file)

        self._each(decode)
        return True

    def _each(self, work: Callable[[Piece, OpenFile], Answer]) -> list[Answer]:
        report, end = self._job.report, self._snapshot.num_positions
        return run_tasks(work, self._pieces(), lambda piece: report(piece.first, end))

    def _pieces(self) -> list[Piece]:
        """The row groups that may have rows that meet the filter, some of them together."""
        snapshot = self._snapshot
        may = may_meet(snapshot, self._bound) if self._bound is not None else lambda piece: True
        return list(runs(snapshot, 0, snapshot.num_positions, ROWS_AT_ONCE, may))

    def _rows(self, piece: Piece, file: OpenFile) -> _PieceRows:
        gaps = gaps_of(self._snapshot, piece.first, piece.stop)
        read = map(combine_chunks, live(self._snapshot, piece, gaps, self._read, file))
        arrays = dict(zip(self._read, read, strict=True))
        met = None
        if self._bound is not None:
            rows = pa.RecordBatch.from_arrays(list(arrays.values()), schema=schema_of(self._read))
            met = to_numpy(mask(self._bound, rows, self._job.check))
        return _PieceRows({role: arrays[column] for role, column in self._columns.items()}, met)


@dataclass(frozen=True)
class _PieceRows:
    """Columns of a piece by role, and which of its rows meet the filter; None if there is no filter."""

    arrays: Mapping[str, pa.Array]
    met: np.ndarray | None

    @property
    def count(self) -> int:
        """The number of rows that meet the filter."""
        return len(next(iter(self.arrays.values()))) if self.met is None else int(np.count_nonzero(self.met))

    def values(self, role: str) -> np.ndarray:
        """The values of one column that are not null."""
        rows = _both(self.met, _valid(self.arrays[role]))
        return _chosen(self.arrays[role], None if rows is None else np.flatnonzero(rows))

    def complete(self) -> dict[str, np.ndarray]:
        """The values by role of the rows that have all of them."""
        rows = self.met
        for array in self.arrays.values():
            rows = _both(rows, _valid(array))
        places = None if rows is None or rows.all() else np.flatnonzero(rows)
        return {role: _chosen(array, places) for role, array in self.arrays.items()}


def _valid(array: pa.Array) -> np.ndarray | None:
    return to_numpy(array.is_valid()) if array.null_count else None


def _both(first: np.ndarray | None, second: np.ndarray | None) -> np.ndarray | None:
    """The rows that both masks have; None means all rows."""
    return first if second is None else second if first is None else first & second


def _chosen(array: pa.Array, places: np.ndarray | None) -> np.ndarray:
    """The values at these indices, which NumPy takes in a quarter of the time that it takes for a mask."""
    values = to_numpy(array)
    return values if places is None else values[places]


def _figures_of(values: np.ndarray, kind: pa.DataType) -> ColumnFigures:
    if not len(values):
        return ColumnFigures(0)
    per_value = 10**6 // _PER_SECOND[kind.unit] if is_.is_timestamp(kind) else 1
    low, high = values.min().item() * per_value, values.max().item() * per_value
    if not (math.isfinite(low) and math.isfinite(high)):
        raise OutsidePlaces
    return ColumnFigures(len(values), low, high)


def _together(parts: Sequence[ColumnFigures]) -> ColumnFigures:
    low = min((part.low for part in parts if part.low is not None), default=None)
    high = max((part.high for part in parts if part.high is not None), default=None)
    return ColumnFigures(sum(part.count for part in parts), low, high)


class _KeptValues:
    """Values of all pieces, unless they need too much memory. Any thread."""

    def __init__(self) -> None:
        self.parts: list[Values] | None = []
        self._room = MOST_KEPT
        self._lock = threading.Lock()

    def add(self, values: Values) -> None:
        with self._lock:
            self._room -= sum(map(len, values.values()))
            if self._room < 0:
                self.parts = None
            elif self.parts is not None:
                self.parts.append(values)


class PartialTally:
    """What one thread has counted, and the memory in which it computes."""

    def __init__(self, size: int) -> None:
        self.rows, self.sums = np.zeros(size, np.int64), np.zeros(size)
        self.together, self.along_axis = np.empty(_BLOCK), np.empty(_BLOCK)
        self.places = np.empty(_BLOCK, np.int64)


def _run_starts(values: np.ndarray, axis: Places, part: PartialTally) -> np.ndarray | None:
    """The index at which each place begins among ascending values; None if they are not ascending, or in so
    many places that it is faster to number each one. Raises `OutsidePlaces`."""
    last = len(values) - 1
    ends = np.append(np.arange(0, last, STRIDE), last)
    if len(ends) < 3 or not (_is_ascending(values[ends]) and _is_ascending(values)):
        return None
    numbers = _numbers(axis, values[ends], part.along_axis)
    if not (numbers[0] >= 0 and numbers[-1] < axis.size):
        raise OutsidePlaces
    strides = np.flatnonzero(np.diff(numbers))
    if len(strides) > len(ends) // 4:
        return None
    indices = np.minimum(ends[strides, np.newaxis] + np.arange(STRIDE + 1), last)
    inside = _numbers(axis, values[indices.ravel()], part.along_axis).reshape(indices.shape)
    starts = indices[:, 1:][np.diff(inside) != 0]
    return np.append(0, starts)


def _is_ascending(values: np.ndarray) -> bool:
    """Whether no value is less than the one before it, or is NaN."""
    return bool((values[1:] >= values[:-1]).all())


def _numbers(axis: Places, values: np.ndarray, memory: np.ndarray) -> np.ndarray:
    """The numbers of the values' places, at the beginning of `memory`."""
    numbers = memory[: len(values)]
    with np.errstate(over="ignore", invalid="ignore"):  # what is infinite then has no place
        axis.number(values, numbers)
    return numbers


class Tallies:
    """The number of rows in each combination of places, and their sums. Any thread may add rows."""

    def __init__(self, places: Mapping[str, Places], summed: str) -> None:
        self._places, self._summed = places, summed
        self._size = math.prod(axis.size for axis in places.values())
        self._parts: list[PartialTally] = []
        self._idle: SimpleQueue[PartialTally] = SimpleQueue()

    def add(self, values: Values) -> None:
        """Raises `OutsidePlaces`."""
        try:
            part = self._idle.get_nowait()
        except Empty:
            part = PartialTally(self._size)
            self._parts.append(part)
        for first in range(0, len(next(iter(values.values()))), _BLOCK):
            block = {role: column[first : first + _BLOCK] for role, column in values.items()}
            if not self.add_runs(block, part):
                self._add_block(block, part)
        self._idle.put(part)

    def add_runs(self, values: Values, part: PartialTally) -> bool:
        """Add ascending values, as the times of a log are, in whole runs of one place. Returns whether they
        were such values."""
        if len(self._places) > 1:
            return False
        [(role, axis)] = self._places.items()
        starts = _run_starts(values[role], axis, part)
        if starts is None:
            return False
        places = _numbers(axis, values[role][starts], part.along_axis).astype(np.int64)
        part.rows[places] += np.diff(starts, append=len(values[role]))
        if self._summed:
            with np.errstate(over="ignore", invalid="ignore"):
                part.sums[places] += np.add.reduceat(values[self._summed], starts, dtype=np.float64)
        return True

    def _add_block(self, values: Values, part: PartialTally) -> None:
        length = len(next(iter(values.values())))
        together = part.together[:length]
        for index, (role, axis) in enumerate(self._places.items()):
            numbers = _numbers(axis, values[role], part.along_axis if index else part.together)
            if not (numbers.min(initial=0) >= 0 and numbers.max(initial=0) < axis.size):  # also if it is NaN
                raise OutsidePlaces
            if index:
                together *= axis.size
                together += numbers
        places = part.places[:length]
        np.copyto(places, together, casting="unsafe")
        part.rows += np.bincount(places, minlength=self._size)
        if self._summed:
            part.sums += np.bincount(places, values[self._summed], self._size)

    def table(self) -> pa.Table:
        """Raises `OutsidePlaces` for sums that are not finite."""
        keys = [axis.keys for axis in self._places.values()]
        whole = PartialTally(self._size)
        for part in self._parts:
            whole.rows += part.rows
            whole.sums += part.sums
        if not np.isfinite(whole.sums).all():
            raise OutsidePlaces
        shape = [len(axis_keys) for axis_keys in keys]
        rows, sums = whole.rows.reshape(shape), whole.sums.reshape(shape)
        for index, axis_keys in enumerate(keys):  # the days of a month are one place
            starts = np.flatnonzero(np.diff(axis_keys, prepend=axis_keys[0] - 1))
            rows = np.add.reduceat(rows, starts, index)
            sums = np.add.reduceat(sums, starts, index)
            keys[index] = axis_keys[starts]
        used = np.nonzero(rows)
        columns = {
            role: from_numpy(axis_keys[numbers].astype(np.int64))
            for role, axis_keys, numbers in zip(self._places, keys, used, strict=True)
        }
        columns["rows"] = from_numpy(rows[used])
        if self._summed:
            columns["sum"] = from_numpy(sums[used])
        return pa.table(columns)
