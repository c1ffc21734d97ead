"""The rows of a chart, with columns by role: their extents, and which rows are left out."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyarrow import types as is_

from lamella.core.errors import BadQuery
from lamella.core.filters.kinds import Kind, kind_of
from lamella.core.jobs import Job
from lamella.core.libraries import exp
from lamella.core.query.axis import axis_of
from lamella.core.query.charts.column_scan import ColumnScan, OutsidePlaces
from lamella.core.query.charts.dimensions import Extent, is_even_value, seconds_of
from lamella.core.query.charts.figures import COLOR, MEASURE, PANELS, SIZE, X, Y
from lamella.core.query.charts.spec import BOX, HISTOGRAM, SCATTER, ChartSpec, is_on_line
from lamella.core.query.engine import CountedCache
from lamella.core.query.functions.types import per_second
from lamella.core.query.source import FigureRows

MOST_FIGURES = 400
"""The number of extents and counts of columns that are cached for the next charts of them."""

_STATED = (Kind.FLOAT, Kind.INTEGER, Kind.TIMESTAMP, Kind.DATE)
"""The kinds of columns whose extremes are looked up in the footers of files."""

figure_cache = CountedCache[tuple[object, ...], tuple[Any]](MOST_FIGURES)


class WrongExtremes(Exception):
    """Values lie outside the extremes that the statistics of files state, or are NaN."""


class ChartRows:
    """The rows of a chart. With `trusts_footers`, the extents of floats come from the statistics of files,
    which leave out NaN, instead of a second read. The figures then show whether that was right:
    `_stated_highs` has the greatest values."""

    def __init__(self, rows: FigureRows, place: str, spec: ChartSpec, job: Job, trusts_footers: bool) -> None:
        self._spec, self._job, self._source = spec, job, rows
        fields = rows.fields
        types = {one.name: one.type for one in fields.columns}
        reached = {name: fields.at_path(name) for name in spec.columns if name in types}
        self.types = types
        problem = spec.problem(types)
        if problem:
            raise BadQuery(f"{place}: this chart cannot be drawn", problem)
        column_names = {X: spec.x, PANELS: spec.panels}
        column_names |= {Y: spec.y} if spec.has_y else {}
        column_names |= {MEASURE: spec.measure} if spec.has_measure else {}
        column_names |= {COLOR: spec.color} if spec.has_color else {}
        column_names |= {SIZE: spec.size} if spec.has_size else {}
        self._names = {role: name for role, name in column_names.items() if name}
        self._values = {
            role: (reached[name][0].identifier, reached[name][2].sql("duckdb"))
            for role, name in self._names.items()
        }
        self._conditions: list[str] = []
        self._counts = dict[str, Any]()
        self._extents = dict[str, Extent]()
        self._left_out: list[tuple[str, int]] = []
        self._remarks: list[str] = []
        self._trusts_footers = trusts_footers
        self._stated_highs = dict[str, int | float]()
        self.scan = self._column_scan() if trusts_footers else None

    def _column_scan(self) -> ColumnScan | None:
        """The scan that answers instead of statements; None if it cannot."""
        spec, scanned = self._spec, self._source.scan
        if scanned is None or not {X} <= self._names.keys() <= {X, Y, MEASURE}:
            return None
        if spec.kind == BOX or spec.log_x or spec.log_y or spec.aggregate not in ("count", "sum", "mean"):
            return None
        return ColumnScan.of(*scanned, self._names, self._job)

    def _is_dimension(self, role: str) -> bool:
        return role in self._names and not (role == Y and self._spec.kind == BOX)

    # ------------------------------------------------------------------ columns

    def _type(self, role: str) -> pa.DataType:
        return self.types[self._names[role]]

    def _rows(self, *roles: str) -> str:
        """A relation with the columns of these roles (all by default), named like the roles."""
        selected_roles = roles or tuple(self._names)
        identifiers = frozenset(self._values[role][0] for role in selected_roles)
        inside = self._source.relation(identifiers)
        columns = ", ".join(f"{self._values[role][1]} AS {role}" for role in selected_roles) or "1 AS one"
        return f"(SELECT {columns} FROM ({inside}) AS t)"

    def _used_rows(self) -> str:
        met = f" WHERE {' AND '.join(self._conditions)}" if self._conditions else ""
        return f"{self._rows()} AS r{met}"

    def _number(self, role: str) -> str:
        """A value as a number to compute with: true is 1, durations are in seconds."""
        kind = self._type(role)
        if kind_of(kind) is Kind.BOOLEAN:
            return f"CAST({role} AS INTEGER)::DOUBLE"
        seconds = seconds_of(kind)
        return f"{role}::DOUBLE" if seconds == 1 else f"({role}::DOUBLE / {seconds!r})"

    def _place(self, role: str) -> str:
        axis = axis_of(self._type(role), exp.column(role))
        assert axis is not None
        return axis.value.sql("duckdb")

    def _query(self, statement: str, **types: pa.DataType) -> pa.Table:
        """Run a statement; `types` are those of columns that are not named after a role."""
        for role in self._names:
            kind = self._type(role)
            types |= {role: kind, f"{role}_low": kind, f"{role}_high": kind, f"k{role}": kind}
        return self._source.read(statement, types)

    # ------------------------------------------------------------------ extents

    def _measure_extents(self) -> None:
        """Find the extents of columns, and leave out rows with missing values or without a place."""
        self._counts = self._figures_of_columns()
        for role in (X, Y, MEASURE):
            if role in self._names:
                self._leave_out(role)
        for role in (COLOR, PANELS):
            if self._has_extent(role):
                self._extents[role] = self._extent(role)

    def _figures_of_columns(self) -> dict[str, Any]:
        """The figures by role and name; figures that are cached for the same rows are not computed again."""
        requests = {"n": ("count(*)", "n", ("", "rows"))}
        for role, name in self._names.items():
            requests[f"{role}_n"] = f"count({role})", f"{role}_n", (name, "count")
            if self._has_extent(role):
                for end, function in (("low", "min"), ("high", "max")):
                    place = axis_of(self._type(role), exp.column(f"{role}_{end}"))
                    assert place is not None
                    outer = place.value.sql("duckdb")
                    requests[f"{role}_{end}"] = f"{function}({role})", outer, (name, end)
                if self._may_be_few(role):
                    inner = f"approx_count_distinct({role})"
                    requests[f"{role}_distinct"] = inner, f"{role}_distinct", (name, "distinct")
            elif role == MEASURE and self._measures_numbers:
                requests["m_mean"] = f"avg({self._number(role)})", "m_mean", (name, "mean")
        token = self._source.token
        cached_figures = {
            one: None if token is None else figure_cache.get((token, *key))
            for one, (_, _, key) in requests.items()
        }
        cached_figures |= self._stated(cached_figures) if self._trusts_footers else {}
        missing = {one: parts for one, parts in requests.items() if cached_figures[one] is None}
        for one, value in self._read_figures(missing).items() if missing else ():
            cached_figures[one] = (value,)
            if token is not None:
                figure_cache.put((token, *requests[one][2]), (value,))
        return {one: value[0] for one, value in cached_figures.items() if value is not None}

    def _read_figures(self, missing: Mapping[str, tuple[str, str, tuple[str, str]]]) -> dict[str, Any]:
        """Compute at least the missing figures."""
        if self.scan is not None and not any(one.endswith("_distinct") for one in missing):
            return self._scanned_figures(self.scan)
        inner = ", ".join(f"{sql} AS {one}" for one, (sql, _, _) in missing.items())
        outer = ", ".join(f"{sql} AS {one}" for one, (_, sql, _) in missing.items())
        answer = self._query(f"SELECT {outer} FROM (SELECT {inner} FROM {self._rows()} AS r)")
        row: dict[str, Any] = answer.to_pylist()[0]
        return row

    def _scanned_figures(self, scan: ColumnScan) -> dict[str, int | float | None]:
        try:
            rows, by_role = scan.figures()
        except OutsidePlaces:
            raise WrongExtremes from None
        figures: dict[str, int | float | None] = {"n": rows}
        for role, column in by_role.items():
            figures[f"{role}_n"] = column.count
            if self._has_extent(role):
                figures |= {f"{role}_low": column.low, f"{role}_high": column.high}
            elif self._measures_numbers:
                figures["m_mean"] = column.low  # only whether it is finite matters
        return figures

    def _remembered(self, about: tuple[object, ...], read: Callable[[], pa.Table]) -> pa.Table:
        """Read a small answer about the same rows only once."""
        token = self._source.token
        figures = None if token is None else figure_cache.get((token, *about))
        if figures is None:
            figures = (read(),)
            if token is not None:
                figure_cache.put((token, *about), figures)
        answer: pa.Table = figures[0]
        return answer

    def _stated(self, cached_figures: Mapping[str, tuple[Any] | None]) -> dict[str, tuple[Any]]:
        """The unknown figures of columns whose extremes the footers of files state."""
        extremes_by_name = dict[str, tuple[Any]]()
        for role, name in self._names.items():
            figures = [one for one in cached_figures if one.startswith(f"{role}_")]
            kind = self._type(role)
            if kind_of(kind) not in _STATED or all(cached_figures[figure] for figure in figures):
                continue
            is_sum = role == MEASURE and self._spec.aggregate in ("mean", "sum")
            is_range = self._has_extent(role) and not self._may_be_few(role)
            extremes = self._source.stated_extremes(name) if is_sum or is_range else None
            if extremes is not None:
                low, high, rows = extremes
                if is_.is_timestamp(kind):
                    low, high = (end * 10**6 // per_second(kind.unit) for end in (low, high))
                ends = {f"{role}_n": rows, f"{role}_low": low, f"{role}_high": high, "m_mean": low}
                extremes_by_name |= {figure: (ends[figure],) for figure in figures} | {"n": (rows,)}
                self._stated_highs[role] = high
        return extremes_by_name

    @property
    def _measures_numbers(self) -> bool:
        return self._spec.aggregate not in ("count", "distinct")

    def _has_extent(self, role: str) -> bool:
        return role in self._names and role not in (MEASURE, SIZE) and is_on_line(self._type(role))

    def _may_be_few(self, role: str) -> bool:
        fraction = kind_of(self._type(role)) in (Kind.FLOAT, Kind.DECIMAL)
        return fraction and self._spec.kind not in (HISTOGRAM, SCATTER) and self._is_dimension(role)

    def _leave_out(self, role: str) -> None:
        name, counts = self._names[role], self._counts
        nulls = counts["n"] - counts[f"{role}_n"]
        if nulls and (f"{name} is null", nulls) not in self._left_out:
            self._conditions.append(f"{role} IS NOT NULL")
            self._left_out.append((f"{name} is null", nulls))
        if self._has_extent(role):
            self._extents[role] = self._extent(role)
        elif role == MEASURE and self._measures_numbers and not _finite(counts["m_mean"]):
            self._leave_out_unless(role, f"isfinite({self._number(role)})", "is NaN or infinite")

    def _extent(self, role: str) -> Extent:
        low, high = self._counts[f"{role}_low"], self._counts[f"{role}_high"]
        place, tests = self._place(role), list[str]()
        if not (_finite(low) and _finite(high)):
            finite = f"isfinite({place})"
            tests.append(finite)
            met = (
                finite if role in (X, Y) else f"({role} IS NULL OR {finite})"
            )  # nulls have a place of theirs
            self._leave_out_unless(role, met, "is NaN or infinite")
        if self._is_log(role) and not (low is not None and _finite(low) and low > 0):
            positive = f"{place} > 0"
            tests.append(positive)
            self._leave_out_unless(role, positive, "is 0 or less, which a log scale lacks", tests[:-1])
        if tests and low is not None:
            met = " AND ".join(tests)
            answer = self._query(
                f"SELECT min({place}) AS low, max({place}) AS high FROM {self._rows(role)} AS r WHERE {met}"
            )
            low, high = answer["low"][0].as_py(), answer["high"][0].as_py()
        distinct = self._counts.get(f"{role}_distinct") or 0
        return Extent(None if low is None else _plain(low), None if high is None else _plain(high), distinct)

    def _is_log(self, role: str) -> bool:
        kind = self._type(role)
        wanted = (
            self._spec.log_x if role == X else self._spec.log_y and role == Y and self._spec.kind == SCATTER
        )
        return wanted and is_even_value(kind)

    def _leave_out_unless(self, role: str, met: str, why: str, among: Sequence[str] = ()) -> None:
        """Leave out rows that have a value which does not meet a condition."""
        self._conditions.append(met)
        where = "".join(f" AND {one}" for one in among)
        rows = f"{self._rows(role)} AS r WHERE {role} IS NOT NULL AND NOT ({met}){where}"
        count = self._query(f"SELECT count(*) AS n FROM {rows}")["n"][0].as_py()
        reason = (f"{self._names[role]} {why}", count)
        if count and reason not in self._left_out:  # one column may be on both axes
            self._left_out.append(reason)


def _finite(value: Any) -> bool:
    return value is None or math.isfinite(value)


def _plain(value: Any) -> int | float:
    return value if isinstance(value, int | float) else int(value)
