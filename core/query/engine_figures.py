"""Cards and profiles of columns whose rows an engine holds, which counts them there: of all rows of an
answer, not of those that were fetched."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType
from typing import Any

import pyarrow as pa
from pyarrow import types as is_

from lamella.core.arrow.nested import python_values
from lamella.core.filters.expr import Filter
from lamella.core.filters.kinds import COMPARABLE, NUMBERS, Kind, kind_of, value_type
from lamella.core.jobs import Job
from lamella.core.libraries import exp
from lamella.core.query.axis import CLIPPED, Axis, Number, Scale, axis_of
from lamella.core.query.builder import Query, query_of
from lamella.core.query.cards import (
    LONGEST_EXTREME,
    LONGEST_VALUE,
    TOP_VALUES,
    ColumnCard,
    Figures,
    TopValue,
    card,
)
from lamella.core.query.computed_view import ComputedView
from lamella.core.query.duckdb_types import from_duckdb
from lamella.core.query.figure_rows import figure_rows
from lamella.core.query.profile import (
    BINS,
    EXACT_ROWS,
    MOST_DISTINCT_NUMBERS,
    QUANTILES,
    ColumnProfile,
    Histogram,
    Lengths,
    profile,
)
from lamella.core.query.profile import TOP_VALUES as MOST_FREQUENT
from lamella.core.query.source import FigureRows, SnapshotSource
from lamella.core.query.view import View
from lamella.core.scan.snapshot import Snapshot

_LENGTHS = {Kind.TEXT: "length(v)", Kind.BINARY: "octet_length(v)", Kind.LIST: "len(v)"}
_EXTREMES = ("min", "max")
Measures = Mapping[str, tuple[str, pa.DataType]]
"""The SQL of each figure over the values, which it knows as `v`, and its type."""
NONE: Measures = MappingProxyType({})
TopValues = tuple[tuple[Any, int], ...]


@dataclass(frozen=True, eq=False)
class EngineRows:
    """The rows of a query that an engine answers. `token` is the same as long as they are the same."""

    query: Query
    num_rows: int
    schema: pa.Schema
    token: Hashable

    def card(self, name: str, job: Job) -> ColumnCard:
        """Of a column, or of a field inside one by its path. Blocks. Raises `UnknownColumn`, `BadQuery` for
        what the engine cannot compute, and what else the engine raises."""
        with _values(self.query, name, job) as values:
            return values.card()

    def profile(self, name: str, job: Job) -> ColumnProfile:
        """The same for a profile."""
        return profile_of_query(self.query, name, job)


def profile_of_query(query: Query, name: str, job: Job) -> ColumnProfile:
    with _values(query, name, job) as values:
        return values.profile()


class FetchedView(View):
    """The first rows of an answer, of which `all_rows` has more."""

    def __init__(self, snapshot: Snapshot, all_rows: EngineRows) -> None:
        super().__init__(snapshot)
        self.all_rows = all_rows


def all_rows(view: View | ComputedView) -> Snapshot | EngineRows:
    """What figures of a view are computed of."""
    return view.all_rows if isinstance(view, FetchedView) else view.snapshot


def query_of_rows(rows: Snapshot | EngineRows) -> Query:
    return rows.query if isinstance(rows, EngineRows) else query_of(SnapshotSource(rows))


def card_of(
    rows: Snapshot | EngineRows, name: str, where: Filter | None, job: Job, sampled: bool = False
) -> ColumnCard:
    """As `core.query.cards.card`; an engine's rows are filtered by their query, and never sampled."""
    return rows.card(name, job) if isinstance(rows, EngineRows) else card(rows, name, where, job, sampled)


def profile_of(rows: Snapshot | EngineRows, name: str, where: Filter | None, job: Job) -> ColumnProfile:
    """As `core.query.profile.profile`."""
    return rows.profile(name, job) if isinstance(rows, EngineRows) else profile(rows, name, where, job)


@contextmanager
def _values(query: Query, name: str, job: Job) -> Iterator[_Values]:
    with figure_rows(query, job) as rows:
        yield _Values(rows, name)


class _Values:
    """The values of one column: two or three statements count them."""

    def __init__(self, rows: FigureRows, name: str) -> None:
        self._rows, self._name = rows, name
        field, self._type, value = rows.fields.at_path(name)
        inside = rows.relation(frozenset([field.identifier]))
        self._relation = f"(SELECT {value.sql('duckdb')} AS v FROM ({inside}) AS t) AS r"
        self._plain, self._kind = value_type(self._type), kind_of(self._type)
        self._axis = axis_of(self._type, exp.column("v"))
        is_float = is_.is_floating(self._plain)
        self._is_number = "NOT isnan(v)" if is_float else "v IS NOT NULL"
        self._is_finite = "isfinite(v)" if is_float else "v IS NOT NULL"

    # ---------------------------------------------------------------------- cards

    def card(self) -> ColumnCard:
        if self._axis is None:
            figures, scale = self._figures_of_values(), None
        else:
            figures, scale = self._figures_on_axis(self._axis)
        top = tuple(TopValue(value, count, None) for value, count in figures.top)
        return ColumnCard(self._name, self._type, figures, None, top, scale)

    def _figures_of_values(self) -> Figures:
        measures = self._counts()
        if self._kind is Kind.TEXT:
            short = f"left(v, {LONGEST_EXTREME})"
            measures |= {end: (f"{end}({short})", self._plain) for end in ("min", "max")}
        one = self._measure(measures)
        return Figures(
            one["rows"], one["rows"] - one["held"], 0, one["distinct"], True,
            one.get("min"), one.get("max"), {}, self._top_values(TOP_VALUES),
        )  # fmt: skip

    def _figures_on_axis(self, axis: Axis) -> tuple[Figures, Scale]:
        place = axis.value.sql("duckdb")
        finite = f"FILTER (WHERE {self._is_finite})"
        ends = {
            end: (f"approx_quantile({place}, {share}) {finite}", pa.float64())
            for end, share in (("first", 0.01), ("last", 0.99))
        }
        one = self._measure({**self._counts(), **self._extremes(), **ends}, self._reach())
        scale = self._scale(axis, one)
        number = scale.number(axis)
        outside = f"CASE WHEN {place} < {scale.edge(0)!r} THEN {-CLIPPED} ELSE {CLIPPED} END"
        answer = self._read(
            {"b": (f"coalesce({number}, {outside})", pa.int64()), "n": ("count(*)", pa.int64())},
            f"WHERE {self._is_finite} GROUP BY ALL",
        )
        bins = dict(zip(answer["b"], answer["n"], strict=True))
        figures = Figures(
            one["rows"], one["rows"] - one["held"], one.get("nans") or 0, one["distinct"], True,
            one["min"], one["max"], bins,
        )  # fmt: skip
        return figures, scale

    def _scale(self, axis: Axis, one: Mapping[str, Any]) -> Scale:
        """From about the 1st to the 99th percentile, or between the extremes where those are one value."""
        if one["low"] is None:
            return Scale(0, 1, 1, axis.whole)
        low, high = (min(max(one[end], one["low"]), one["high"]) for end in ("first", "last"))
        if low == high:
            low, high = one["low"], one["high"]
        if axis.whole:
            return Scale.between(low, high, self._plain)
        return Scale.between_floats(float(low), float(high))

    # ------------------------------------------------------------------- profiles

    def profile(self) -> ColumnProfile:
        measures = {**self._counts(), **self._extremes(), **self._lengths()}
        if self._kind in NUMBERS:
            mean = f"avg(CAST(v AS DOUBLE)) FILTER (WHERE {self._is_number})"
            measures["mean"] = (mean, pa.float64())
        one = self._measure(measures, self._reach())
        counts = one["held"]
        approximate, distinct = counts > EXACT_ROWS, one["distinct"]
        if not approximate:
            distinct = self._measure({"n": ("count(DISTINCT v)", pa.int64())})["n"]
        histogram, quantiles = None, None
        if self._axis is not None and one["low"] is not None:
            histogram, quantiles = self._spread(self._axis, one, approximate)
        differ = approximate and distinct > counts // 2
        if self._axis is not None:
            differ = distinct > MOST_DISTINCT_NUMBERS or distinct == counts
        lengths = None
        if one.get("shortest") is not None:
            lengths = Lengths(one["shortest"], one["mean_length"], one["longest"], one["empty"])
        return ColumnProfile(
            self._name, self._type, one["rows"], one["rows"] - counts, one.get("nans") or 0, distinct,
            one.get("min"), one.get("max"), one.get("mean"), quantiles, histogram,
            () if differ else self._top_values(MOST_FREQUENT), approximate, lengths,
        )  # fmt: skip

    def _spread(
        self, axis: Axis, one: Mapping[str, Any], approximate: bool
    ) -> tuple[Histogram, dict[float, Any]]:
        """How many values lie below each edge says how many lie between two."""
        place = axis.value.sql("duckdb")
        low, high = (int(one[end]) if axis.whole else float(one[end]) for end in ("low", "high"))
        edges = axis.edges(low, high, BINS)
        below = {
            f"below{n}": (
                f"count(*) FILTER (WHERE {self._is_finite} AND {place} < {_literal(edge)})", pa.int64()
            )
            for n, edge in enumerate(edges[1:-1])
        }  # fmt: skip
        function, value = ("approx_quantile", place) if approximate else ("quantile_disc", "v")
        kind = pa.float64() if approximate else self._plain
        parts = {
            f"part{n}": (f"{function}({value}, {part}) FILTER (WHERE {self._is_finite})", kind)
            for n, part in enumerate(QUANTILES)
        }
        finite = {"finite": (f"count(*) FILTER (WHERE {self._is_finite})", pa.int64())}
        two = self._measure({**below, **parts, **finite})
        passed = [0, *(two[name] for name in below), two["finite"]]
        counts = tuple(after - before for before, after in pairwise(passed))
        values = [two[name] for name in parts]
        if approximate:
            values = axis.back([round(value) if axis.whole else value for value in values])
        return Histogram(tuple(axis.back(edges)), counts), dict(zip(QUANTILES, values, strict=True))

    def _lengths(self) -> Measures:
        length = _LENGTHS.get(self._kind)
        if length is None:
            return {}
        return {
            "shortest": (f"min({length})", pa.int64()),
            "mean_length": (f"avg({length})", pa.float64()),
            "longest": (f"max({length})", pa.int64()),
            "empty": (f"count(*) FILTER (WHERE {length} = 0)", pa.int64()),
        }

    # ---------------------------------------------------------------------- both

    def _counts(self) -> dict[str, tuple[str, pa.DataType]]:
        counts = {"rows": "count(*)", "held": "count(v)", "distinct": "approx_count_distinct(v)"}
        if is_.is_floating(self._plain):
            counts["nans"] = "count(*) FILTER (WHERE isnan(v))"
        return {name: (sql, pa.int64()) for name, sql in counts.items()}

    def _extremes(self) -> Measures:
        """Of values that are in an order; NaN is none. Of floats also those that are finite."""
        if self._kind not in COMPARABLE:
            return {}
        extremes = {end: (f"{end}(v) FILTER (WHERE {self._is_number})", self._plain) for end in _EXTREMES}
        if is_.is_floating(self._plain):
            extremes |= {
                f"finite_{end}": (f"{end}(v) FILTER (WHERE {self._is_finite})", self._plain)
                for end in _EXTREMES
            }
        return extremes

    def _reach(self) -> Measures:
        """The places of the outermost finite values, of their `_extremes`."""
        reach = {}
        for name, end in zip(("low", "high"), _EXTREMES, strict=True):
            extreme = f"finite_{end}" if is_.is_floating(self._plain) else end
            axis = axis_of(self._type, exp.column(extreme, quoted=True))
            if axis is not None:
                reach[name] = (axis.value.sql("duckdb"), axis.storage_type)
        return reach

    def _top_values(self, most: int) -> TopValues:
        length = {Kind.TEXT: "strlen(v)", Kind.BINARY: "octet_length(v)"}.get(self._kind)
        short = f" AND {length} <= {LONGEST_VALUE}" if length else ""
        answer = self._read(
            {"v": ("v", self._plain), "m": ("count(*)", pa.int64())},
            f"WHERE v IS NOT NULL AND {self._is_number}{short} GROUP BY ALL ORDER BY m DESC, v LIMIT {most}",
        )
        return tuple(zip(answer["v"], answer["m"], strict=True))

    def _measure(self, measures: Measures, further: Measures = NONE) -> dict[str, Any]:
        """Figures of all values, and further ones of these figures."""
        return {name: values[0] for name, values in self._read(measures, "", further).items()}

    def _read(self, measures: Measures, rest: str = "", further: Measures = NONE) -> dict[str, Sequence[Any]]:
        statement = f"SELECT {_columns(measures)} FROM {self._relation} {rest}"
        if further:
            statement = f"SELECT *, {_columns(further)} FROM ({statement}) AS f"
        every = {**measures, **further}
        types = {name: kind for name, (_, kind) in measures.items()}
        answer = self._rows.read(statement, {**types, "v": self._plain})
        table = from_duckdb(answer, pa.schema([(name, kind) for name, (_, kind) in every.items()]))
        return {name: python_values(table.column(name)) for name in every}


def _columns(measures: Measures) -> str:
    return ", ".join(f'{sql} AS "{name}"' for name, (sql, _) in measures.items())


def _literal(place: Number) -> str:
    return f"CAST('{place!r}' AS DOUBLE)" if isinstance(place, float) else str(place)
