"""The data of a chart: its figures by the keys of their places, and as a readable table."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lamella.core.arrow.arrays import from_values, to_numpy
from lamella.core.filters.kinds import Kind, kind_of, value_type
from lamella.core.query.charts.dimensions import OTHERS, Dimension, Place
from lamella.core.query.charts.partial_units import Days
from lamella.core.query.charts.spec import BOX, ChartSpec, is_moment

X, Y, MEASURE, COLOR, PANELS, SIZE = "x", "y", "m", "c", "p", "s"
"""The roles of columns in a chart."""
POLE = 90
_HEIGHTS = frozenset({"value", "low", "high", "least", "q1", "q3", "greatest"})


@dataclass(frozen=True)
class ChartData:
    """The data of a chart. `table` has one row per figure: the keys of its place in `x`, `y`, `color` and
    `panels` (those that exist), the `value`, and the number of `rows` it covers. Means have the ends of their
    band as `low` and `high`. Boxes have `least`, `low`, `q1`, `value`, `q3`, `high`, `greatest` and
    `outliers`. A scatter plot of few rows has one row per point, with its position as `at_x` and `at_y`, and
    its `size`.

    `partial` has the keys of units of time along x of which rows cover only a part, with the first and last
    day of it: their sums and counts are lower than those of whole units.

    `used` of all `rows` are shown; `left_out` is why others are not. `sampled` means that everything is
    estimated.
    """

    spec: ChartSpec
    table: pa.Table
    types: Mapping[str, pa.DataType]
    rows: int
    used: int
    x: Dimension | None = None
    y: Dimension | None = None
    color: Dimension | None = None
    panels: Dimension | None = None
    left_out: tuple[tuple[str, int], ...] = ()
    remarks: tuple[str, ...] = ()
    sampled: bool = False
    partial: Mapping[int, Days] = field(default_factory=dict)
    seconds: float = field(default=0.0, compare=False)

    @property
    def shows_points(self) -> bool:
        """Whether every row is a separate point."""
        return "at_x" in self.table.column_names

    @property
    def is_map(self) -> bool:
        """Whether the chart can be drawn in the proportions of a map: no latitudes lie beyond the poles."""
        latitudes = () if self.y is None else self.y.places
        is_on_earth = bool(latitudes) and latitudes[0].right > -POLE and latitudes[-1].left <= POLE
        return self.spec.is_map and is_on_earth

    @property
    def farthest(self) -> float:
        """The greatest distance from zero that is drawn; on a log scale, that of the exponent. Infinite if a
        figure is, such as a sum that overflows."""
        if "value" in self.table.column_names and not pc.all(pc.is_finite(self.table["value"])).as_py():
            return math.inf
        ends = (
            end
            for dimension in (self.x, self.y)
            if dimension
            for p in dimension.places
            for end in (p.left, p.right)
        )
        return float(np.max(np.abs(self._heights), initial=max(map(abs, ends), default=0.0)))

    @property
    def narrowest(self) -> float:
        """The extent of the shorter axis; infinite if no axis has any."""
        heights = self._heights
        low, high = np.min(heights, initial=math.inf), np.max(heights, initial=-math.inf)
        extents = [high - low or abs(high)] if len(heights) else []
        extents += [
            dimension.places[-1].right - dimension.places[0].left
            for dimension in (self.x, self.y)
            if dimension
        ]
        return float(min((extent for extent in extents if extent > 0), default=math.inf))

    @property
    def _heights(self) -> np.ndarray:
        """All finite figures that are drawn as heights; none on a log scale."""
        names = () if self.spec.log_y and self.y is None else _HEIGHTS.intersection(self.table.column_names)
        columns = [to_numpy(self.table.column(name).drop_null()).astype(np.float64) for name in names]
        numbers = np.concatenate(columns) if columns else np.empty(0)
        return numbers[np.isfinite(numbers)]

    def dimension(self, role: str) -> Dimension | None:
        return {X: self.x, Y: self.y, COLOR: self.color, PANELS: self.panels}[role]

    def figures(self) -> pa.Table:
        """The figures with values instead of keys, for export and reading."""
        names, columns = list[str](), list[Any]()
        splits = (("panels", PANELS), ("color", COLOR))
        roles = splits if self.shows_points else (*splits, ("x", X), ("y", Y))
        dimensions = {
            role: dimension
            for role, name in roles
            if (dimension := self.dimension(name)) is not None and role in self.table.column_names
        }
        table = _in_order_of_places(self.table, dimensions)
        for role, dimension in dimensions.items():
            for title, values in _written(dimension, table.column(role).to_pylist()):
                names.append(title)
                columns.append(values)
        titles = {"at_x": self.spec.x, "at_y": self.spec.y, "size": self.spec.size}
        axes = {"at_x": self.x, "at_y": self.y}
        titles |= {} if self.spec.kind == BOX else {"value": self.spec.figure}
        for name in table.column_names:
            if name not in ("panels", "color", "x", "y"):
                names.append(titles.get(name, name))
                places, axis = table.column(name), axes.get(name)
                columns.append(places if axis is None else _values_at(axis, places))
        if self.spec.figure == "rows" and "value" in table.column_names:
            place = table.column_names.index("value") - len(table.column_names)
            del names[place], columns[place]
        return pa.Table.from_arrays(columns, _distinct_names(names))


def _in_order_of_places(table: pa.Table, dimensions: Mapping[str, Dimension]) -> pa.Table:
    """The rows in the order in which places are drawn: nulls and others are last, with keys below 0."""
    ranks = []
    for role, dimension in dimensions.items():
        rank = {place.key: number for number, place in enumerate(dimension.places)}
        ranks.append([rank[key] for key in table.column(role).to_pylist()])
    return table.take(pa.array(np.lexsort(ranks[::-1]))) if ranks else table


def _written(dimension: Dimension, keys: Sequence[int]) -> Iterator[tuple[str, pa.Array]]:
    """A column of values, or two columns with the ends of ranges."""
    by_key: dict[int, Place] = {place.key: place for place in dimension.places}
    plain = value_type(dimension.type)
    lows = [by_key[key].low for key in keys]
    if dimension.form == "ranges" and not _are_single(dimension):
        yield f"{dimension.column} from", _array(lows, plain)
        yield f"{dimension.column} to below", _array([by_key[key].high for key in keys], plain)
    elif dimension.others:
        texts = [
            "others" if key == OTHERS else None if low is None else str(low)
            for key, low in zip(keys, lows, strict=True)
        ]
        yield dimension.column, from_values(texts, pa.string())
    else:
        yield dimension.column, _array(lows, plain)


def _values_at(axis: Dimension, places: pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """The values at points: powers of ten on a log scale, moments from seconds."""
    if axis.log:
        return from_values([float(f"{10.0**place:.12g}") for place in places.to_pylist()], pa.float64())
    if not is_moment(axis.type):
        return places
    moments = pc.round(pc.multiply(places, 1e6)).cast(pa.int64()).cast(pa.timestamp("us"))
    return moments.cast(pa.date32()) if kind_of(axis.type) is Kind.DATE else moments


def _are_single(dimension: Dimension) -> bool:
    """Whether each range contains only one whole number."""
    whole = kind_of(dimension.type) is Kind.INTEGER and not dimension.log
    return whole and all(place.high is None or place.high - place.low == 1 for place in dimension.places)


def _array(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    try:
        return from_values(values, kind)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return from_values([None if value is None else str(value) for value in values], pa.string())


def _distinct_names(names: Sequence[str]) -> list[str]:
    """Add a number to repeated names."""
    names_so_far: list[str] = []
    for name in names:
        tries = (name if number == 1 else f"{name} {number}" for number in itertools.count(1))
        names_so_far.append(next(attempt for attempt in tries if attempt not in names_so_far))
    return names_so_far
