"""Reads a chart's figures: statements of DuckDB, or scans of a few columns, aggregate all rows of a query
into at most some thousand rows."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lamella.core.arrow.arrays import from_numpy, from_values
from lamella.core.arrow.nested_values import python_values
from lamella.core.filters.kinds import Kind, kind_of, value_type
from lamella.core.jobs import Job
from lamella.core.libraries import exp
from lamella.core.query.axis import axis_of
from lamella.core.query.builder import Query
from lamella.core.query.charts.boxes import WHISKERS, boxes
from lamella.core.query.charts.column_scan import OutsidePlaces, Places, are_few, places_of
from lamella.core.query.charts.dimensions import (
    NULL,
    OTHERS,
    Dimension,
    Extent,
    Moments,
    Ranges,
    by_height,
    clock_seconds,
    fitting_unit,
    is_even_value,
    seconds_of,
    unit_count,
    values_dimension,
)
from lamella.core.query.charts.figures import COLOR, MEASURE, PANELS, SIZE, ChartData, X, Y
from lamella.core.query.charts.partial_units import Days, partial_units
from lamella.core.query.charts.rows import ChartRows, WrongExtremes
from lamella.core.query.charts.spec import (
    ADDITIVE,
    AREA,
    BAR,
    BOX,
    HEAT_MAP,
    HISTOGRAM,
    LINE,
    SCATTER,
    ChartSpec,
    is_moment,
    is_on_line,
)
from lamella.core.query.column_figures import LONGEST_VALUE
from lamella.core.query.duckdb_types import from_duckdb
from lamella.core.query.figure_rows import figure_rows
from lamella.core.query.scan_query import as_scan
from lamella.core.query.source import engine_of

MOST_POINTS = 5_000
"""For more rows, a scatter plot shows densities instead of points."""
MOST_CELLS = 8_000
"""The approximate maximum of rows in the answer when the user chooses a fine unit of time."""
ESTIMATED_ROWS = 5_000_000
"""For more rows, distinct values are estimated, and means have no bands, which need a slower statement."""
CONFIDENCE = 1.96
"""The half width of a band in standard errors: 95 of 100 such bands contain the mean of the whole
population."""
MOST_IN_MEMORY = 30_000_000
"""For more rows, boxes are computed in SQL, which takes four times as long but little memory."""

FINE_RANGES, MOST_BARS = 2_000, 300
"""For histograms: the number of narrow ranges to combine, and the maximum number of bars."""

_PER_KIND = {HISTOGRAM: 50, BAR: 40, LINE: 400, AREA: 400, SCATTER: 100, BOX: 30, HEAT_MAP: 40}
"""The number of ranges or units of time along an axis."""
WANTED_UNITS = {HISTOGRAM: 400, BAR: 400, LINE: 4_000, AREA: 4_000, BOX: 60, HEAT_MAP: 120}
_DENSITY_ROWS = 75
VALUES = {X: 30, Y: 30, COLOR: 7, PANELS: 12}
"""The maximum number of single values; fractional numbers with more are combined into ranges."""


def read_chart(query: Query, spec: ChartSpec, job: Job | None = None, bands: bool = True) -> ChartData:
    """Read the data of a chart of the query's rows. Blocks.

    Means have bands, unless there are very many rows or `bands` is false. Raises `BadQuery`, with the reason,
    if the chart cannot be drawn from these columns.
    """
    began = time.perf_counter()
    spec.check()
    job = job or Job()
    with figure_rows(query, job) as rows:
        try:
            data = _ChartQuery(rows, query.name, spec, job, trusts_footers=True).read(bands)
        except WrongExtremes:
            data = _ChartQuery(rows, query.name, spec, job, trusts_footers=False).read(bands)
    return replace(data, seconds=time.perf_counter() - began)


def cache_columns(query: Query, spec: ChartSpec, job: Job | None = None) -> bool:
    """Decode the columns of a chart into memory, if that makes charts of some of its rows, such as those that
    a brush leaves, faster. Returns whether they are cached. Blocks."""
    if engine_of(query) is not None or as_scan(query.pipeline.steps) is None:
        return False
    job = job or Job()
    with figure_rows(query, job) as rows:
        scan = _ChartQuery(rows, query.name, spec, job, trusts_footers=True).scan
        return scan is not None and scan.cache_columns()


@dataclass(frozen=True)
class _Keys:
    """How rows are assigned to places. `raw` are SQL expressions over the role's column by which rows are
    grouped, `columns` their names, and `made` is SQL for the key, over those."""

    raw: tuple[str, ...]
    made: str
    columns: tuple[str, ...]
    dimension: Dimension | Ranges | Moments

    def resolve(self, keys: pa.ChunkedArray) -> tuple[Dimension, pa.Array]:
        """The places that occur, and the keys that replace SQL's values."""
        values = [NULL if key is None else key for key in keys.to_pylist()]
        present, nulls = set(values) - {NULL}, NULL in values
        if isinstance(self.dimension, Dimension):
            return self.dimension, from_values(values, pa.int64())
        if isinstance(self.dimension, Moments):
            number = {key: n for n, key in enumerate(sorted(present))}
            values = [number.get(key, NULL) for key in values]
        return self.dimension.dimension(present, nulls), from_values(values, pa.int64())


class _ChartQuery(ChartRows):
    """Reads the extents of columns, their most frequent values, and the figures: each by a statement, or by a
    scan of columns."""

    def read(self, bands: bool) -> ChartData:
        self._job.report(0, 3, "Looking at the values")
        self._measure_extents()
        self._job.report(1, 3, "Looking at the values")
        if self._spec.kind == SCATTER:
            return self._scatter()
        keys = {role: self._keys(role) for role in (X, Y, COLOR, PANELS) if self._is_dimension(role)}
        self._job.report(2, 3, "Putting rows together")
        answer = self._boxes(keys) if self._spec.kind == BOX else self._groups(keys, bands)
        return self._data(answer, keys)

    # ------------------------------------------------------------------ places

    def _keys(self, role: str) -> _Keys:
        kind, name = self._type(role), self._names[role]
        if not is_on_line(kind) or self._is_few(role) or self._is_single(role):
            return self._keys_of_values(role)
        extent, most = self._extents[role], self._most(role)
        unit = self._unit(role, extent, most) if is_moment(kind) else ""
        if unit and (role in (X, Y) or unit_count(kind, extent, unit) <= most):
            column = f"k{role}"
            axis = axis_of(kind, exp.column(column))
            assert axis is not None
            moments_of = Moments(name, kind, unit, role)
            return _Keys((moments_of.key,), axis.value.sql("duckdb"), (column,), moments_of)
        ranges = Ranges.between(name, kind, extent, most, self._is_log(role), exp.column(role))
        return _Keys((ranges.key,), f"k{role}", (f"k{role}",), ranges)

    def _is_few(self, role: str) -> bool:
        few = 0 < self._extents[role].distinct <= VALUES[role]
        return few and self._may_be_few(role) and not self._is_log(role)

    def _is_single(self, role: str) -> bool:
        """Whether all values of a histogram are one fraction, which needs no range around it."""
        if self._spec.kind != HISTOGRAM or role != X or self._is_log(X):
            return False
        is_fraction = kind_of(self._type(X)) in (Kind.FLOAT, Kind.DECIMAL)
        extent = self._extents[X]
        return is_fraction and extent.low is not None and extent.low == extent.high

    def _most(self, role: str) -> int:
        if role in (COLOR, PANELS):
            return VALUES[role]
        if self._is_fine(role):
            return FINE_RANGES
        return _PER_KIND[self._spec.kind]

    def _is_fine(self, role: str) -> bool:
        """Whether values are first counted in narrow ranges: a few distant values would put all others into
        one or two wide ones."""
        return (
            self._spec.kind == HISTOGRAM
            and role == X
            and is_even_value(self._type(X))
            and not self._is_log(X)
            and not self._is_single(X)
        )

    def _put_together(self, answer: pa.Table, keys: _Keys) -> tuple[pa.Table, _Keys]:
        """Combine narrow ranges into wider ones of a round width."""
        ranges = keys.dimension
        assert isinstance(ranges, Ranges)
        counts = Counter[int]()
        for key, rows in zip(answer["x"].to_pylist(), answer["rows"].to_pylist(), strict=True):
            counts[key] += rows
        if not counts:
            return answer, keys
        wider, together = ranges.coarser(counts, _PER_KIND[HISTOGRAM], MOST_BARS)
        by = [name for name in ("panels", "color", "x") if name in answer.column_names]
        sums = Counter[tuple[int | None, ...]]()
        for row in answer.to_pylist():
            row["x"] = ranges.coarser_key(row["x"], together)
            sums[tuple(row[name] for name in by)] += row["rows"]
        columns = {name: from_values([key[n] for key in sums], pa.int64()) for n, name in enumerate(by)}
        rows = from_values(list(sums.values()), pa.int64())
        merged = pa.table({**columns, "value": rows.cast(pa.float64()), "rows": rows})
        return merged, replace(keys, dimension=wider)

    def _unit(self, role: str, extent: Extent, most: int) -> str:
        kind, requested = self._type(role), self._spec.unit if role == X else ""
        if not requested:
            return fitting_unit(kind, extent, most)
        colors = 1 if COLOR not in self._names else VALUES[COLOR]
        panels = 1 if PANELS not in self._names else VALUES[PANELS]
        most = max(most, min(WANTED_UNITS[self._spec.kind], MOST_CELLS // (colors * panels)))
        unit = fitting_unit(kind, extent, most, requested)
        if unit != requested:
            count = unit_count(kind, extent, requested)
            self._remarks.append(f"By {unit}: by {requested} there would be {count:,} places")
        return unit

    def _keys_of_values(self, role: str) -> _Keys:
        kind, column = self._type(role), f"k{role}"
        text, most = kind_of(kind) is Kind.TEXT, VALUES[role]
        short = f" AND strlen({role}) <= {LONGEST_VALUE}" if text else ""
        conditions = "".join(f" AND {condition}" for condition in self._conditions)
        if kind_of(kind) is Kind.FLOAT:
            conditions += f" AND isfinite({role})"
        statement = (
            f"WITH g AS MATERIALIZED (SELECT {role}, count(*) AS n FROM {self._rows()} AS r"
            f" WHERE {role} IS NOT NULL{conditions} GROUP BY {role})"
            f" SELECT {role} AS v, n, (SELECT count(*) FROM g) AS groups FROM g WHERE true{short}"
            f" ORDER BY n DESC, v LIMIT {most}"
        )
        about = ("values", role, tuple(self._names.items()), conditions, most)
        answer = self._remembered(about, lambda: self._query(statement, v=kind))
        groups = answer["groups"][0].as_py() if len(answer) else 0
        by_figure = groups > most and self._has_highest
        if by_figure:
            answer = self._query(
                f"SELECT v FROM (SELECT {role} AS v, {self._aggregate()} AS figure FROM {self._rows()} AS r"
                f" WHERE {role} IS NOT NULL{conditions}{short} GROUP BY {role}) AS f"
                f" ORDER BY figure DESC NULLS LAST, v LIMIT {most - 1}",
                v=kind,
            )
        num_shown = len(answer) if groups <= most else min(most - 1, len(answer))
        others = groups - num_shown
        answer = answer.slice(0, num_shown)
        in_order = not text or (self._spec.kind in (LINE, AREA, HEAT_MAP) and role in (X, Y))
        if in_order or role == PANELS:
            answer = answer.take(pc.sort_indices(answer["v"]))
        plain = pa.schema([("v", value_type(kind))])
        values = list(python_values(from_duckdb(answer.select(["v"]), plain).column("v")))
        nulls = role in (COLOR, PANELS) and self._counts[f"{role}_n"] < self._counts["n"]
        if others:
            self._say_others(role, num_shown, groups, "highest" if by_figure else "most frequent")
        dimension = values_dimension(self._names[role], kind, values, nulls, others)
        if text and values:  # DuckDB compares a constant list only once per dictionary entry
            listed = exp.Array(expressions=[exp.Literal.string(value) for value in values]).sql("duckdb")
        else:
            listed = self._source.constants(f"top_{role}", answer["v"])
        if not others:
            key = f"coalesce(list_position({listed}, {column}) - 1, {NULL})"
            return _Keys((role,), key, (column,), dimension)
        raw = (f"list_position({listed}, {role})", f"({role} IS NULL)")
        key = f"CASE WHEN {column}0 THEN {NULL} ELSE coalesce({column} - 1, {OTHERS}) END"
        return _Keys(raw, key, (column, f"{column}0"), dimension)

    @property
    def _has_highest(self) -> bool:
        """Whether to show the highest figures if there are more values than fit. Not for means and medians,
        which can be high by chance if they cover few rows."""
        return MEASURE in self._names and self._spec.aggregate in ("sum", "max", "distinct")

    def _say_others(self, role: str, num_shown: int, groups: int, which: str) -> None:
        name = self._names[role]
        self._remarks.append(f"{name}: the {num_shown:,} {which} of {groups:,} values, the rest as 'others'")

    # ------------------------------------------------------------------ figures

    def _grouped(self, keys: Mapping[str, _Keys], figures: str) -> str:
        return f"SELECT {', '.join([*_raw_columns(keys), figures])} FROM {self._used_rows()} GROUP BY ALL"

    @staticmethod
    def _made(keys: Mapping[str, _Keys], figures: str, whole: bool = True) -> str:
        """SELECT the keys from the grouped columns, as BIGINT if `whole`."""
        kind = "::BIGINT" if whole else ""
        key_columns = [f"({key.made}){kind} AS {_COLUMN_OF[role]}" for role, key in keys.items()]
        return f"SELECT {', '.join([*key_columns, figures])}"

    def _groups(self, keys: Mapping[str, _Keys], bands: bool) -> pa.Table:
        band = (
            bands
            and self._counts["n"] <= ESTIMATED_ROWS
            and self._spec.aggregate == "mean"
            and self._spec.kind in (LINE, AREA, BAR)
            and MEASURE in self._names
        )
        counts = None if band else self._scanned_counts(keys)
        if counts is not None:
            return counts
        figures = f"count(*) AS rows, {self._aggregate()} AS value"
        figures += f", stddev_samp({self._number(MEASURE)}) AS spread" if band else ""
        inner = self._grouped(keys, figures)
        width = f"{CONFIDENCE} * spread / sqrt(rows)"
        ends = f", value - {width} AS low, value + {width} AS high" if band else ""
        outer = self._made(keys, f"value::DOUBLE AS value, rows::BIGINT AS rows{ends}")
        return self._query(f"{outer} FROM ({inner})")

    def _scanned_counts(self, keys: Mapping[str, _Keys]) -> pa.Table | None:
        """What `_groups` returns, without a statement; None if only a statement can compute it."""
        places: dict[str, Places] = {}
        for role, key in keys.items():
            along_axis = (
                places_of(key.dimension, self._extents[role], self._type(role)) if self.scan else None
            )
            if along_axis is not None:
                places[role] = along_axis
        if self.scan is None or len(places) < len(keys) or not are_few(places.values()):
            return None
        aggregate = self._spec.aggregate if MEASURE in self._names else "count"
        try:
            counts = self.scan.counts(places, "" if aggregate == "count" else MEASURE)
        except OutsidePlaces:
            raise WrongExtremes from None
        rows = counts["rows"].cast(pa.float64())
        sums = rows if aggregate == "count" else counts["sum"]
        value = pc.divide(sums, rows) if aggregate == "mean" else sums
        columns = {_COLUMN_OF[role]: counts[role] for role in keys}
        return pa.table({**columns, "value": value, "rows": counts["rows"]})

    def _aggregate(self) -> str:
        if MEASURE not in self._names or self._spec.aggregate == "count":
            return "count(*)"
        if self._spec.aggregate == "distinct":
            estimated = self._counts["n"] > ESTIMATED_ROWS
            remark = f"Distinct values of {self._spec.measure} are estimated"
            if estimated and remark not in self._remarks:
                self._remarks.append(remark)
            return "approx_count_distinct(m)" if estimated else "count(DISTINCT m)"
        if self._spec.aggregate == "median":
            return f"{self._quantile(MEASURE)}({self._number(MEASURE)}, 0.5)"
        function = {"mean": "avg"}.get(self._spec.aggregate, self._spec.aggregate)
        return f"{function}({self._number(MEASURE)})"

    def _quantile(self, role: str) -> str:
        """The SQL function for quantiles; no machine of a cluster holds very many values, so they are
        estimated."""
        if not self._source.is_remote or self._counts["n"] <= ESTIMATED_ROWS:
            return "quantile_cont"
        self._remarks.append(f"Quantiles of {self._names[role]} are estimated")
        return "approx_quantile"

    def _boxes(self, keys: Mapping[str, _Keys]) -> pa.Table:
        names = [name for key in keys.values() for name in key.columns]
        values = ", ".join([*_raw_columns(keys), f"{self._number(Y)} AS v"])
        if self._counts["n"] <= MOST_IN_MEMORY and not self._source.is_remote:
            every = self._made(keys, "v", whole=False)
            rows = self._query(f"{every} FROM (SELECT {values} FROM {self._used_rows()})", v=pa.float64())
            return boxes(rows, [_COLUMN_OF[role] for role in keys], self._job)
        by = "".join(f"{name}, " for name in names)
        grouped = f"SELECT {by}{self._quantile(Y)}(v, [0.25, 0.5, 0.75]) AS q FROM b GROUP BY ALL"
        reach = f"{WHISKERS} * (q[3] - q[1])"
        fences = f"SELECT {by}q[1] - {reach} AS below, q[3] + {reach} AS above FROM g"  # once per box
        figures = (
            "count(*) AS rows, min(v) AS least, max(v) AS greatest,"
            " min(v) FILTER (WHERE v >= below) AS low, max(v) FILTER (WHERE v <= above) AS high,"
            " count(*) FILTER (WHERE v < below OR v > above) AS outliers"
        )
        own = "".join(f"b.{name}, " for name in names)
        spread = f"SELECT {own}{figures} FROM b JOIN f ON {_equal('b', 'f', names)} GROUP BY ALL"
        outer = self._made(
            keys,
            "least, low, q[1] AS q1, q[2] AS value, q[3] AS q3, high, greatest,"
            " outliers::BIGINT AS outliers, rows::BIGINT AS rows",
        )
        return self._query(
            f"WITH b AS NOT MATERIALIZED (SELECT {values} FROM {self._used_rows()}), g AS ({grouped}),"
            f" f AS ({fences}), s AS ({spread})"
            f" {outer} FROM (SELECT s.*, q FROM s JOIN g ON {_equal('s', 'g', names)})",
            v=pa.float64(),
        )

    def _scatter(self) -> ChartData:
        """Read the rows as points, or, if there are many, the number of rows in each cell of a grid."""
        points = min(self._counts["n"], self._counts["x_n"], self._counts["y_n"]) <= MOST_POINTS
        if not points and COLOR in self._names:
            self._remarks.append(f"No colours of {self._spec.color}: so many points are drawn as densities")
            del self._names[COLOR], self._values[COLOR]
        if not points and SIZE in self._names:
            self._remarks.append(f"No sizes by {self._spec.size}: so many points are drawn as densities")
            del self._names[SIZE], self._values[SIZE]
        ranges = {role: self._net(role) for role in (X, Y)}
        keys = {role: self._keys(role) for role in (COLOR, PANELS) if role in self._names}
        self._job.report(2, 3, "Putting rows together")
        net = {role: _Keys((one.key,), f"k{role}", (f"k{role}",), one) for role, one in ranges.items()}
        if not points:
            return self._data(self._groups({**net, **keys}, bands=False), {**net, **keys})
        every = {**net, **keys}
        places = [f"{self._place(role)} AS at_{role}" for role in (X, Y)]
        columns = "at_x, at_y"
        if SIZE in self._names:
            places.append(f"{self._number(SIZE)} AS size")
            columns += ", size"
        inner = f"SELECT {', '.join([*_raw_columns(every), *places])} FROM {self._used_rows()}"
        answer = self._query(f"{self._made(every, columns)} FROM ({inner})")
        return self._data(answer, every)

    def _net(self, role: str) -> Ranges:
        most = _PER_KIND[SCATTER] if role == X else _DENSITY_ROWS
        column = exp.column(role)
        return Ranges.between(
            self._names[role], self._type(role), self._extents[role], most, self._is_log(role), column
        )

    # ------------------------------------------------------------------ answer

    def _check_stated(self, answer: pa.Table, keys: Mapping[str, _Keys]) -> None:
        """Raises `WrongExtremes` if figures contradict the stated extremes."""
        for role, high in self._stated_highs.items():
            ranges = keys[role].dimension if role in keys else None
            if isinstance(ranges, Ranges):
                numbers, last = answer.column(_COLUMN_OF[role]), ranges.number_of(high) + 1
                checks = [pc.and_(pc.greater_equal(numbers, 0), pc.less_equal(numbers, last))]
            else:
                figures = {"value", "least", "greatest"}.intersection(answer.column_names)
                checks = [pc.is_finite(answer.column(name)) for name in figures]
            if any(check.null_count or pc.all(check).as_py() is False for check in checks):
                raise WrongExtremes

    def _data(self, answer: pa.Table, keys: Mapping[str, _Keys]) -> ChartData:
        self._check_stated(answer, keys)
        if self._is_fine(X):
            answer, wider = self._put_together(answer, keys[X])
            keys = {**keys, X: wider}
        dimensions = dict[str, Dimension]()
        for role, key in keys.items():
            column = _COLUMN_OF[role]
            dimensions[role], numbers = key.resolve(answer.column(column))
            answer = answer.set_column(answer.column_names.index(column), column, numbers)
        for role in (X, Y):
            if f"at_{role}" in answer.column_names:
                at = self._points(role, answer.column(f"at_{role}"))
                answer = answer.set_column(answer.column_names.index(f"at_{role}"), f"at_{role}", at)
        if self._spec.kind == BAR and X in dimensions:
            dimensions[X] = by_height(dimensions[X], answer)
        used = len(answer) if "rows" not in answer.column_names else pc.sum(answer["rows"]).as_py() or 0
        order = [(_COLUMN_OF[role], "ascending") for role in (PANELS, COLOR, X, Y) if role in keys]
        answer = answer.take(pc.sort_indices(answer, order)) if order else answer
        return ChartData(
            self._spec, answer, dict(self.types), self._counts["n"], used,
            dimensions.get(X), dimensions.get(Y), dimensions.get(COLOR), dimensions.get(PANELS),
            tuple(self._left_out), tuple(self._remarks),
            partial=self._partial_units(dimensions.get(X), keys.get(X)),
        )  # fmt: skip

    def _partial_units(self, axis: Dimension | None, keys: _Keys | None) -> Mapping[int, Days]:
        """The incomplete units of time along x, where figures add up; not if rows are far away."""
        spec = self._spec
        adds_up = spec.kind == HISTOGRAM or (
            spec.kind in (LINE, AREA, BAR) and (MEASURE not in self._names or spec.aggregate in ADDITIVE)
        )
        moments = None if keys is None else keys.dimension
        if axis is None or not isinstance(moments, Moments) or not adds_up or self._source.is_remote:
            return {}
        extent = self._extents[X]
        axis_ = axis_of(self._type(X), exp.column(X))
        if axis_ is None or extent.low is None or extent.high is None:
            return {}
        first, last = axis_.back([extent.low, extent.high])
        day = replace(moments, unit="day").key

        def count_days() -> int:
            statement = f"SELECT count(DISTINCT {day}) AS days FROM {self._used_rows()}"
            about = ("days", tuple(self._names.items()), tuple(self._conditions))
            days: int = self._remembered(about, lambda: self._query(statement))["days"][0].as_py()
            return days

        return partial_units(axis, first, last, count_days)

    def _points(self, role: str, places: pa.ChunkedArray) -> pa.Array:
        kind = self._type(role)
        if is_moment(kind):
            axis = axis_of(kind, exp.column(role))
            assert axis is not None
            seconds = seconds_of(kind)
            numbers = [int(place) for place in places.to_pylist()]
            moments = zip(axis.back(numbers), numbers, strict=True)
            return from_numpy(
                np.array([clock_seconds(value, n / seconds) for value, n in moments], np.float64)
            )
        values = [float(place) / seconds_of(kind) for place in places.to_pylist()]
        log = self._is_log(role)
        return from_numpy(np.array([math.log10(value) for value in values] if log else values, np.float64))


def _raw_columns(keys: Mapping[str, _Keys]) -> list[str]:
    """The expressions by which rows are grouped, with their names."""
    every = (pair for key in keys.values() for pair in zip(key.raw, key.columns, strict=True))
    return [f"{sql} AS {name}" for sql, name in every]


def _equal(one: str, other: str, names: Sequence[str]) -> str:
    return " AND ".join(f"{one}.{name} IS NOT DISTINCT FROM {other}.{name}" for name in names) or "true"


_COLUMN_OF = {X: "x", Y: "y", COLOR: "color", PANELS: "panels"}
