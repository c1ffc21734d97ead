"""The figures of each column type as SQL, and their execution. Cards and profiles use these, for local rows
and for those that an engine holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa
from pyarrow import types as is_

from lamella.core.arrow.nested_values import python_values
from lamella.core.filters.kinds import COMPARABLE, NUMBERS, Kind, kind_of, value_type
from lamella.core.libraries import exp, sqlglot
from lamella.core.query.axis import Axis, Number, axis_of
from lamella.core.query.duckdb_types import from_duckdb
from lamella.core.query.source import FigureRows

EXACT_ROWS = 1_000_000
"""For more values than this, distinct counts and quantiles are estimated; for local rows, quantiles from
about this many values."""
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
BINS = 20
MOST_DISTINCT_NUMBERS = 100_000
"""With more distinct numbers or times than this, no value is frequent, and counting each would take long."""
LONGEST_VALUE = 4_096
"""The maximum size in bytes of a frequent text or binary value. Longer ones are counted, but not listed."""
LONGEST_EXTREME = 200
"""The number of characters shown of a card's first and last text."""
SAMPLE_KEY = "k"
"""The name in statements of the key that selects rows for estimates."""
_LENGTHS = {Kind.TEXT: "length(v)", Kind.BINARY: "octet_length(v)", Kind.LIST: "len(v)"}
_BYTES = {Kind.TEXT: "strlen(v)", Kind.BINARY: "octet_length(v)"}

Measures = Mapping[str, tuple[str, pa.DataType]]
"""Figures by name: their SQL, and their types."""
Types = Mapping[str, pa.DataType]
Run = Callable[[str, Types], pa.Table]
"""Runs a statement; the types are those of its named columns."""
TopValues = tuple[tuple[Any, int], ...]


@dataclass(frozen=True)
class ColumnFigures:
    """The figures of a column of this type. Statements refer to its values as `v`."""

    type: pa.DataType

    @cached_property
    def plain(self) -> pa.DataType:
        """The type of the values; for dictionaries, the type of their entries."""
        return value_type(self.type)

    @cached_property
    def kind(self) -> Kind:
        return kind_of(self.type)

    @cached_property
    def axis(self) -> Axis | None:
        """The axis of numbers and times; None for other types, which have no bins and no quantiles."""
        return None if is_.is_null(self.type) else axis_of(self.type, exp.column("v"))

    @property
    def place(self) -> str:
        """SQL for a value's position on the axis."""
        assert self.axis is not None
        return self.axis.value.sql("duckdb")

    @property
    def is_ordered(self) -> str:
        """The condition that a value is not NaN; empty if the type has no NaN."""
        return "NOT isnan(v)" if is_.is_floating(self.plain) else ""

    @property
    def is_finite(self) -> str:
        """The condition that a value is neither NaN nor infinite; empty if the type has neither."""
        return "isfinite(v)" if is_.is_floating(self.plain) else ""

    @property
    def is_short(self) -> str:
        """The condition that a value has at most `LONGEST_VALUE` bytes; empty if the type has a fixed
        size."""
        length = None if is_.is_fixed_size_binary(self.plain) else _BYTES.get(self.kind)
        return f"{length} <= {LONGEST_VALUE}" if length else ""

    # ------------------------------------------------------------------- figures

    @property
    def counts(self) -> Measures:
        counts = {"rows": "count(*)", "present": "count(v)"}
        if is_.is_floating(self.plain):
            counts["nans"] = "count(*) FILTER (WHERE isnan(v))"
        return {name: (sql, pa.int64()) for name, sql in counts.items()}

    @property
    def about_distinct(self) -> Measures:
        return {"distinct": ("approx_count_distinct(v)", pa.int64())}

    @property
    def extremes(self) -> Measures:
        """`min` and `max` of values that conditions can name, without NaN."""
        if self.kind not in COMPARABLE:
            return {}
        return {end: (_with_filter(f"{end}(v)", self.is_ordered), self.plain) for end in ("min", "max")}

    @property
    def short_extremes(self) -> Measures:
        """`min` and `max` for the cards of types without an axis: texts are cut, and only texts and decimals
        have an order that people look for."""
        if self.kind is not Kind.TEXT and not is_.is_decimal(self.plain):
            return {}
        value = f"left(v, {LONGEST_EXTREME})" if self.kind is Kind.TEXT else "v"
        return {end: (f"{end}({value})", self.plain) for end in ("min", "max")}

    @property
    def ends(self) -> Measures:
        """`low` and `high`: the positions of the outermost finite values."""
        if self.axis is None:
            return {}
        places = {}
        for name, end in (("low", "min"), ("high", "max")):
            value = sqlglot.parse_one(_with_filter(f"{end}(v)", self.is_finite), dialect="duckdb")
            axis = axis_of(self.type, value)
            assert axis is not None
            places[name] = (axis.value.sql("duckdb"), axis.storage_type)
        return places

    @property
    def mean(self) -> Measures:
        """The mean of numbers and durations, without NaN."""
        if self.axis is None:
            return {}
        mean = _with_filter(f"avg(CAST({self.place} AS DOUBLE))", self.is_ordered)
        if is_.is_duration(self.plain):
            return {"mean": (f"CAST({mean} AS BIGINT)", self.plain)}
        return {"mean": (mean, pa.float64())} if self.kind in NUMBERS else {}

    @property
    def lengths(self) -> Measures:
        length = _LENGTHS.get(self.kind)
        if length is None or is_.is_fixed_size_binary(self.plain):
            return {}
        return {
            "shortest": (f"min({length})", pa.int64()),
            "mean_length": (f"avg({length})", pa.float64()),
            "longest": (f"max({length})", pa.int64()),
            "empty": (f"count(*) FILTER (WHERE {length} = 0)", pa.int64()),
        }

    def edges(self, measured: Mapping[str, Any]) -> tuple[Number, ...]:
        """The bounds of the bins between the measured `ends`; none without finite values."""
        low, high = measured.get("low"), measured.get("high")
        if self.axis is None or low is None or high is None:
            return ()
        if self.axis.whole:  # the widest integers arrive as decimals
            low, high = int(low), int(high)
        return self.axis.edges(low, high, BINS)

    def spread(self, present: int, edges: Sequence[Number], has_sample_key: bool) -> Measures:
        """`distinct`, and if there are edges also the `counts` of finite values in each bin and `quantiles`.
        For very many values, quantiles are those of a fixed sample, or approximate `places` on the axis."""
        spread = dict(self.about_distinct)
        if not is_approximate(present):
            spread["distinct"] = ("count(DISTINCT v)", pa.int64())
        if self.axis is None or not edges:
            return spread
        counts = _with_filter(self.axis.histogram(edges).sql("duckdb"), self.is_finite)
        spread["counts"] = (f"map_values({counts})", pa.list_(pa.int64()))
        if is_approximate(present) and not has_sample_key:
            return {**spread, **self.places(QUANTILES)}
        one_in = -(-present // EXACT_ROWS)
        is_chosen = f"hash({SAMPLE_KEY}) % {one_in} = 0" if one_in > 1 else ""
        quantiles = _with_filter(f"quantile_disc(v, {list(QUANTILES)})", self.is_finite, is_chosen)
        return {**spread, "quantiles": (quantiles, pa.list_(self.plain))}

    def places(self, parts: Sequence[float]) -> Measures:
        """`places`: the approximate positions of quantiles on the axis."""
        places = _with_filter(f"approx_quantile({self.place}, {list(parts)})", self.is_finite)
        return {"places": (places, pa.list_(pa.float64()))}

    def has_frequent_values(self, present: int, distinct: int) -> bool:
        """Whether counting each value is worthwhile. It is not for numbers and times that are all different
        or very many, nor for very many values most of which differ."""
        if is_.is_null(self.type):
            return False
        if self.axis is not None:
            return distinct <= MOST_DISTINCT_NUMBERS and distinct != present
        return not is_approximate(present) or distinct <= present // 2


def is_approximate(present: int) -> bool:
    """Whether figures of `present` non-null values are estimated."""
    return present > EXACT_ROWS


def columns_of(measures: Measures) -> str:
    """The SELECT list of a statement."""
    return ", ".join(f'{sql} AS "{name}"' for name, (sql, _) in measures.items())


def types_of(measures: Measures) -> dict[str, pa.DataType]:
    return {name: kind for name, (_, kind) in measures.items()}


def _with_filter(aggregate: str, *conditions: str) -> str:
    met = " AND ".join(filter(None, conditions))
    return f"{aggregate} FILTER (WHERE {met})" if met else aggregate


class ColumnValues:
    """The values of a column: `relation` has them as `v`, and `run` runs statements on it. Blocks, and raises
    what `run` raises."""

    def __init__(self, figures: ColumnFigures, relation: str, run: Run, has_sample_key: bool = False) -> None:
        self.figures, self._relation, self._run = figures, relation, run
        self.has_sample_key = has_sample_key
        """Whether the relation has a `SAMPLE_KEY`."""

    @classmethod
    def of(cls, rows: FigureRows, name: str) -> ColumnValues:
        """The values of a column, or of a field by its path. Raises `UnknownColumn`."""
        field, kind, value = rows.fields.at_path(name)
        key, columns = rows.sample_key, f"{value.sql('duckdb')} AS v"
        if key is not None:
            columns += f', "{key}" AS {SAMPLE_KEY}'
        inside = rows.relation(frozenset(filter(None, (field.identifier, key))))
        relation = f"(SELECT {columns} FROM ({inside}) AS t) AS r"
        return cls(ColumnFigures(kind), relation, rows.read, key is not None)

    def measure(self, measures: Measures) -> dict[str, Any]:
        """Compute figures of all values."""
        if not measures:
            return {}
        return {name: values[0] for name, values in self.read(measures).items()}

    def read(self, measures: Measures, clauses: str = "") -> dict[str, Sequence[Any]]:
        """Compute one row for each group that `clauses`, which follow FROM, produce."""
        types = types_of(measures)
        statement = f"SELECT {columns_of(measures)} FROM {self._relation} {clauses}"
        answer = self._run(statement, {**types, "v": self.figures.plain})
        table = from_duckdb(answer, pa.schema(list(types.items())))
        return {name: python_values(table.column(name)) for name in types}

    def top(self, most: int) -> TopValues:
        """The most frequent values with their counts; ties are sorted by value."""
        figures = self.figures
        met = " AND ".join(filter(None, ("v IS NOT NULL", figures.is_ordered, figures.is_short)))
        answer = self.read(
            {"v": ("v", figures.plain), "n": ("count(*)", pa.int64())},
            f"WHERE {met} GROUP BY ALL ORDER BY n DESC, v LIMIT {most}",
        )
        return tuple(zip(answer["v"], answer["n"], strict=True))
