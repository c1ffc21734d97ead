"""What a column holds, at a glance: how many, how different, how much, and how it is spread."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow import types as is_

from lamella.core.arrow.nested import python_value, python_values
from lamella.core.filters.expr import Filter, asks_words, columns_read
from lamella.core.filters.kinds import COMPARABLE, NUMBERS, Kind, kind_of, value_type
from lamella.core.jobs import Job
from lamella.core.libraries import duckdb, exp
from lamella.core.query.axis import Number, axis_of
from lamella.core.query.duckdb_types import from_duckdb
from lamella.core.query.engine import cursor
from lamella.core.query.fields import alias, cast, column, every, func, number
from lamella.core.query.plan import QueryContext, ScanNode
from lamella.core.scan.cache import LruCache
from lamella.core.scan.read import read_all
from lamella.core.scan.snapshot import Snapshot, snapshot_of_rows

EXACT_ROWS = 1_000_000
"""Of more values, distinct ones and quantiles are estimated: the latter from so many of them."""
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
BINS = 20
TOP_VALUES = 10
MOST_DISTINCT_NUMBERS = 100_000
"""Of more numbers or times than these no value is frequent, and counting each would take long."""
WIDE = 500
"""From so many columns on, those that are needed are read by themselves."""
KEPT_BYTES = 8 << 20
_BYTES_A_PROFILE = 8 << 10
_LENGTHS = {Kind.TEXT: "length", Kind.BINARY: "octet_length", Kind.LIST: "len"}
"""DuckDB's function for each kind of value that has a length."""

if TYPE_CHECKING:  # sqlglot is loaded when the first column is profiled
    Wanted = tuple[str, exp.Expr, pa.DataType]


@dataclass(frozen=True)
class Histogram:
    """`counts[i]` values lie from `edges[i]` up to before `edges[i + 1]`; the last bin has its upper edge
    too, and may be narrower. NaN and the infinities lie outside."""

    edges: tuple[Any, ...]
    counts: tuple[int, ...]


@dataclass(frozen=True)
class Lengths:
    """Of texts in characters, of binary values in bytes, of lists in items. `empty` have none."""

    min: int
    mean: float
    max: int
    empty: int


@dataclass(frozen=True)
class ColumnProfile:
    """A column of the rows that meet a condition. Values are Python's, as `get` gives them.

    `approximate` says that `distinct` and `quantiles` are estimates, as they are of more than a million
    values. NaN is counted in `nans` and `distinct`, and left out of everything else; quantiles and
    histogram leave the infinities out too. Numbers and times have those two. There are no most frequent
    values where it is estimated that most occur once, and none of numbers or times where there are very many
    or all occur once. Nested values have neither least nor greatest. Texts, lists and binary values that are
    not all of one size have `lengths`, unless all are null. A quantile is a value of the column, the lower
    one of two, where aggregates of numbers take what lies between them.
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
    lengths: Lengths | None = None

    @property
    def nbytes(self) -> int:
        """About what keeping it takes."""
        values = (self.min, self.max, *(value for value, _ in self.top_values))
        return _BYTES_A_PROFILE + sum(len(v) for v in values if isinstance(v, (str, bytes)))


recent_profiles: LruCache[tuple[object, ...], ColumnProfile] = LruCache(KEPT_BYTES)


def profile(
    snapshot: Snapshot, name: str, where: Filter | None = None, job: Job | None = None
) -> ColumnProfile:
    """Of a column, or of a field inside one by its path; kept while the snapshot stays the same.

    Raises `UnknownColumn` and `BadFilter`.
    """
    key = (snapshot.token, name, where)
    profile = recent_profiles.get([key])[0]
    if profile is None:
        work = job or Job()
        profile = _Profiling(_narrowed(snapshot, name, where, work), name, where, work).profile()
        recent_profiles.put([(key, profile)])
    return profile


def _narrowed(snapshot: Snapshot, name: str, where: Filter | None, job: Job) -> Snapshot:
    """Of a wide file the columns that are needed, in memory: each statement of DuckDB looks at all columns of
    a file, which takes 0.3 s where there are ten thousand."""
    names = list(dict.fromkeys([name, *(columns_read(where) if where is not None else ())]))
    is_wide = len(snapshot.columns) >= WIDE and snapshot.num_rows <= EXACT_ROWS
    if not is_wide or asks_words(where) or not all(each in snapshot.by_name for each in names):
        return snapshot
    return snapshot_of_rows(read_all(snapshot, [snapshot.column(each) for each in names], job), snapshot.name)


class _Profiling:
    """One statement for extremes, one for the spread between them, one for the most frequent values."""

    def __init__(self, snapshot: Snapshot, name: str, where: Filter | None, job: Job) -> None:
        scan = ScanNode(snapshot, 0)
        self._scan = scan if where is None else scan.with_filter(where)
        field, self._type, self._value = self._scan.fields.at_path(name)
        self._name, self._place, self._identifiers = name, snapshot.name, frozenset([field.identifier])
        self._job, self._kind, self._plain = job, kind_of(self._type), value_type(self._type)
        self._axis = axis_of(self._type, self._value)

    def profile(self) -> ColumnProfile:
        with cursor(self._job, self._place) as connection:
            one = self._measure(connection, self._of_extremes())
            edges, count = self._edges(one), one["held"]
            two = self._measure(connection, self._of_spread(edges, count))
            quantiles, approximate = two.get("quantiles"), count > EXACT_ROWS
            histogram = None
            if self._axis is not None and edges:
                histogram = Histogram(tuple(self._axis.back(edges)), tuple(two["counts"]))
            distinct = two["distinct"]
            differ = approximate and distinct > count // 2
            if self._axis is not None:
                differ = distinct > MOST_DISTINCT_NUMBERS or distinct == count
            return ColumnProfile(
                self._name, self._type, one["rows"], one["rows"] - count, one.get("nans") or 0,
                two["distinct"], one.get("min"), one.get("max"), one.get("mean"),
                None if quantiles is None else dict(zip(QUANTILES, quantiles, strict=True)),
                histogram, () if differ else self._top_values(connection), approximate, _lengths(one),
            )  # fmt: skip

    # --------------------------------------------------------------- extremes

    def _of_extremes(self) -> list[Wanted]:
        value, plain = self._value, self._plain
        measures = [
            ("rows", func("count", exp.Star()), pa.int64()),
            ("held", func("count", value), pa.int64()),
        ]
        if is_.is_floating(plain):
            measures.append(("nans", func("count_if", func("isnan", value)), pa.int64()))
        if self._kind in COMPARABLE:
            measures += [(name, self._filtered(func(name, value)), plain) for name in ("min", "max")]
        if self._kind in _LENGTHS and not is_.is_fixed_size_binary(plain):
            length = func(_LENGTHS[self._kind], value)
            none = exp.EQ(this=length, expression=number(0))
            measures += [
                ("shortest", func("min", length), pa.int64()),
                ("mean_length", func("avg", length), pa.float64()),
                ("longest", func("max", length), pa.int64()),
                ("empty", func("count_if", none), pa.int64()),
            ]
        if self._axis is not None:
            measures += [
                ("low", self._filtered(func("min", self._axis.value), finite=True), self._axis.storage_type),
                ("high", self._filtered(func("max", self._axis.value), finite=True), self._axis.storage_type),
            ]
            mean = self._filtered(func("avg", cast(self._axis.value, "DOUBLE")))
            if is_.is_duration(plain):
                measures.append(("mean", cast(mean, "BIGINT"), plain))
            elif self._kind in NUMBERS:
                measures.append(("mean", mean, pa.float64()))
        return measures

    # ----------------------------------------------------------------- spread

    def _edges(self, one: Mapping[str, Any]) -> tuple[Number, ...]:
        low, high = one.get("low"), one.get("high")
        if self._axis is None or low is None or high is None:
            return ()
        if self._axis.whole:
            low, high = int(low), int(high)
        return self._axis.edges(low, high, BINS)

    def _of_spread(self, edges: Sequence[Number], count: int) -> list[Wanted]:
        if count > EXACT_ROWS:
            distinct = func("approx_count_distinct", self._value)
        else:
            distinct = func("count", exp.Distinct(expressions=[self._value]))
        measures = [("distinct", distinct, pa.int64())]
        if self._axis is None or not edges:
            return measures
        counts = func("map_values", self._filtered(self._axis.histogram(edges), finite=True))
        parts = exp.Array(expressions=[exp.Literal.number(part) for part in QUANTILES])
        quantiles = self._filtered(func("quantile_disc", self._value, parts), True, self._in_sample(count))
        return [
            *measures,
            ("counts", counts, pa.list_(pa.int64())),
            ("quantiles", quantiles, pa.list_(self._plain)),
        ]

    def _in_sample(self, count: int) -> exp.Expr | None:
        """Rows spread over all of them, about `EXACT_ROWS`, and always the same ones; None for every row."""
        if count <= EXACT_ROWS:
            return None
        place = func("hash", column(self._scan.order[0].identifier))
        remainder = exp.Mod(this=place, expression=number(-(-count // EXACT_ROWS)))
        return exp.EQ(this=remainder, expression=number(0))

    def _filtered(self, aggregate: exp.Expr, finite: bool = False, also: exp.Expr | None = None) -> exp.Expr:
        """Of floats, without NaN, or without the infinities too."""
        conditions = [] if also is None else [also]
        if is_.is_floating(self._plain):
            conditions.append(
                func("isfinite", self._value) if finite else exp.Not(this=func("isnan", self._value))
            )
        return (
            exp.Filter(this=aggregate, expression=exp.Where(this=every(conditions)))
            if conditions
            else aggregate
        )

    # ----------------------------------------------------------------- asking

    def _top_values(self, connection: duckdb.DuckDBPyConnection) -> tuple[tuple[Any, int], ...]:
        if is_.is_null(self._type):
            return ()
        conditions = [exp.Not(this=_is_null(self._value))]
        if is_.is_floating(self._plain):
            conditions.append(exp.Not(this=func("isnan", self._value)))
        value, times = alias(self._value, "value"), alias(func("count", exp.Star()), "n")
        order = [exp.Ordered(this=column("n"), desc=True), exp.Ordered(this=column("value"))]
        query = (
            self._rows(connection).select(value, times).where(every(conditions))
            .group_by(column("value")).order_by(*order).limit(TOP_VALUES)
        )  # fmt: skip
        kinds = pa.schema([pa.field("value", value_type(self._type)), pa.field("n", pa.int64())])
        table = from_duckdb(connection.sql(query.sql("duckdb")).to_arrow_table(), kinds)
        return tuple(zip(*(python_values(values) for values in table.columns), strict=True))

    def _rows(self, connection: duckdb.DuckDBPyConnection) -> exp.Select:
        self._job.check()
        return exp.select().from_(self._scan.source(self._identifiers, QueryContext(connection, self._job)))

    def _measure(self, connection: duckdb.DuckDBPyConnection, measures: Sequence[Wanted]) -> dict[str, Any]:
        query = self._rows(connection).select(*(alias(value, name) for name, value, _ in measures))
        answer = connection.sql(query.sql("duckdb")).to_arrow_table()
        table = from_duckdb(answer, pa.schema([pa.field(name, kind) for name, _, kind in measures]))
        return {name: python_value(v[0]) for name, v in zip(table.schema.names, table.columns, strict=True)}


def _lengths(one: Mapping[str, Any]) -> Lengths | None:
    if one.get("shortest") is None:
        return None
    return Lengths(one["shortest"], one["mean_length"], one["longest"], one["empty"])


def _is_null(value: exp.Expr) -> exp.Expr:
    return exp.Is(this=value, expression=exp.Null())
