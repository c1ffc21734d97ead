"""What a column holds, at a glance: how many, how different, how much, and how it is spread."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
import pyarrow as pa
from pyarrow import types as is_
from sqlglot import exp

from core.filters.expr import Filter
from core.filters.kinds import COMPARABLE, NUMBERS, Kind, kind_of, value_type
from core.jobs import Job
from core.query.axis import Axis, axis_of
from core.query.engine import cursor
from core.query.nodes import Running, Scan
from core.query.returned import returned
from core.query.sql_parts import alias, cast, column, func
from core.scan.lru import LruCache
from core.scan.python_value import python_value, python_values
from core.scan.snapshot import Snapshot

EXACT_ROWS = 1_000_000
"""Of larger datasets, distinct values and quantiles are estimated."""
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
BINS = 20
TOP_VALUES = 10
KEPT_BYTES = 8 << 20
_BYTES_A_PROFILE = 8 << 10

Wanted = tuple[str, exp.Expr, pa.DataType]


@dataclass(frozen=True)
class Histogram:
    """`counts[i]` values lie from `edges[i]` up to before `edges[i + 1]`; the last bin has its upper edge
    too, and may be narrower. NaN and the infinities lie outside."""

    edges: tuple[Any, ...]
    counts: tuple[int, ...]


@dataclass(frozen=True)
class ColumnProfile:
    """A column of the rows that meet a condition. Values are Python's, as `get` gives them.

    `approximate` says that `distinct` and `quantiles` are estimates, as they are of more than a million
    rows. NaN is counted in `nans` and `distinct`, and left out of everything else; quantiles and histogram
    leave the infinities out too. Numbers and times have those two, everything else its most frequent values;
    where it is estimated that most values occur once, there are none. Nested values have neither least nor
    greatest.
    """

    column: str
    type: pa.DataType
    rows: int
    nulls: int
    nans: int
    distinct: int
    min: Any = None
    max: Any = None
    mean: Any = None
    quantiles: Mapping[float, Any] | None = None
    histogram: Histogram | None = None
    top_values: tuple[tuple[Any, int], ...] = ()
    approximate: bool = False

    @property
    def nbytes(self) -> int:
        """About what keeping it takes."""
        values = (self.min, self.max, *(value for value, _ in self.top_values))
        return _BYTES_A_PROFILE + sum(len(v) for v in values if isinstance(v, (str, bytes)))


_kept: LruCache[tuple[object, ...], ColumnProfile] = LruCache(KEPT_BYTES)


def profile(
    snapshot: Snapshot, name: str, where: Filter | None = None, job: Job | None = None
) -> ColumnProfile:
    """Of a column, or of a field inside one by its path; kept while the snapshot stays the same.

    Raises `UnknownColumn` and `BadFilter`.
    """
    key = (snapshot.token, name, where)
    known = _kept.get([key])[0]
    if known is None:
        known = _Profiling(snapshot, name, where, job or Job()).profile()
        _kept.put([(key, known)])
    return known


class _Profiling:
    """Two statements: one over everything, one for the bins or the most frequent values."""

    def __init__(self, snapshot: Snapshot, name: str, where: Filter | None, job: Job) -> None:
        scan = Scan(snapshot, 0)
        self._scan = scan if where is None else scan.narrowed(where)
        field, self._type, self._value = self._scan.fields.at_path(name)
        self._name, self._place, self._needed = name, snapshot.name, frozenset([field.identifier])
        self._job, self._kind = job, kind_of(self._type)
        self._axis = axis_of(self._type, self._value)
        self._approximate = snapshot.num_rows > EXACT_ROWS

    def profile(self) -> ColumnProfile:
        with cursor(self._job, self._place) as own:
            told = self._asked(own, self._all_values())
            one = {
                name: python_value(values[0])
                for name, values in zip(told.schema.names, told.columns, strict=True)
            }
            return ColumnProfile(
                self._name, self._type, one["rows"], one["rows"] - one["held"], one.get("nans") or 0,
                one["distinct"], one.get("min"), one.get("max"), one.get("mean"),
                self._quantiles(one),
                self._histogram(own, one.get("low"), one.get("high")), self._top_values(own, one),
                self._approximate,
            )  # fmt: skip

    # ------------------------------------------------------------- everything

    def _all_values(self) -> list[Wanted]:
        value, plain = self._value, value_type(self._type)
        distinct = (
            func("approx_count_distinct", value)
            if self._approximate
            else func("count", exp.Distinct(expressions=[value]))
        )
        wanted = [
            ("rows", func("count", exp.Star()), pa.int64()),
            ("held", func("count", value), pa.int64()),
            ("distinct", distinct, pa.int64()),
        ]
        if is_.is_floating(plain):
            wanted.append(("nans", func("count_if", func("isnan", value)), pa.int64()))
        if self._kind in COMPARABLE or is_.is_duration(plain):
            wanted += [(name, self._met(func(name, value)), plain) for name in ("min", "max")]
        return wanted if self._axis is None else [*wanted, *self._of_numbers(self._axis, plain)]

    def _of_numbers(self, axis: Axis, plain: pa.DataType) -> list[Wanted]:
        place = pa.decimal128(38, 0) if axis.whole else pa.float64()
        wanted = [
            ("low", self._met(func("min", axis.value), finite=True), place),
            ("high", self._met(func("max", axis.value), finite=True), place),
            ("quantiles", *self._of_quantiles(axis, plain)),
        ]
        mean = self._met(func("avg", cast(axis.value, "DOUBLE")))
        if is_.is_duration(plain):
            wanted.append(("mean", cast(mean, "BIGINT"), plain))
        elif self._kind in NUMBERS:
            wanted.append(("mean", mean, pa.float64()))
        return wanted

    def _of_quantiles(self, axis: Axis, plain: pa.DataType) -> tuple[exp.Expr, pa.DataType]:
        """Estimates of whole numbers may come to lie beyond what their type holds."""
        parts = exp.Array(expressions=[exp.Literal.number(part) for part in QUANTILES])
        if not self._approximate:
            return self._met(func("quantile_disc", self._value, parts), finite=True), pa.list_(plain)
        if self._kind is Kind.INTEGER:
            return func("approx_quantile", axis.value, parts), pa.list_(pa.decimal128(38, 0))
        return self._met(func("approx_quantile", self._value, parts), finite=True), pa.list_(plain)

    def _quantiles(self, one: Mapping[str, Any]) -> dict[float, Any] | None:
        found = one.get("quantiles")
        if found is None:
            return None
        if self._kind is Kind.INTEGER:
            found = [min(max(int(value), one["min"]), one["max"]) for value in found]
        return dict(zip(QUANTILES, found, strict=True))

    def _met(self, aggregate: exp.Expr, finite: bool = False) -> exp.Expr:
        """Of floats, without NaN, or without the infinities too."""
        if not is_.is_floating(value_type(self._type)):
            return aggregate
        met = func("isfinite", self._value) if finite else exp.Not(this=func("isnan", self._value))
        return exp.Filter(this=aggregate, expression=exp.Where(this=met))

    # ------------------------------------------------------------------ spread

    def _histogram(self, own: duckdb.DuckDBPyConnection, low: Any, high: Any) -> Histogram | None:
        if self._axis is None or low is None:
            return None
        low, high = (int(low), int(high)) if self._axis.whole else (low, high)
        edges = self._axis.edges(low, high, BINS)
        counted = self._met(self._axis.histogram(edges), finite=True)
        asked = self._rows(own).select(func("map_values", counted))
        counts = own.sql(asked.sql("duckdb")).fetchall()[0][0]
        return Histogram(tuple(self._axis.back(edges)), tuple(counts))

    def _top_values(
        self, own: duckdb.DuckDBPyConnection, one: Mapping[str, Any]
    ) -> tuple[tuple[Any, int], ...]:
        seldom_twice = self._approximate and one["distinct"] > one["held"] // 2
        if self._axis is not None or seldom_twice or is_.is_null(self._type):
            return ()
        value, times = alias(self._value, "value"), alias(func("count", exp.Star()), "n")
        order = [exp.Ordered(this=column("n"), desc=True), exp.Ordered(this=column("value"))]
        asked = (
            self._rows(own).select(value, times).where(exp.Not(this=_is_null(self._value)))
            .group_by(column("value")).order_by(*order).limit(TOP_VALUES)
        )  # fmt: skip
        kinds = pa.schema([pa.field("value", value_type(self._type)), pa.field("n", pa.int64())])
        found = returned(own.sql(asked.sql("duckdb")).to_arrow_table(), kinds)
        return tuple(zip(*(python_values(values) for values in found.columns), strict=True))

    # ----------------------------------------------------------------- asking

    def _rows(self, own: duckdb.DuckDBPyConnection) -> exp.Select:
        self._job.check()
        return exp.select().from_(self._scan.source(self._needed, Running(own, self._job)))

    def _asked(self, own: duckdb.DuckDBPyConnection, wanted: Sequence[Wanted]) -> pa.Table:
        asked = self._rows(own).select(*(alias(value, name) for name, value, _ in wanted))
        found = own.sql(asked.sql("duckdb")).to_arrow_table()
        return returned(found, pa.schema([pa.field(name, kind) for name, _, kind in wanted]))


def _is_null(value: exp.Expr) -> exp.Expr:
    return exp.Is(this=value, expression=exp.Null())
