"""Cards of columns: nulls, the distribution of values and the most frequent ones, over all rows and over
those that meet a filter."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from typing import Any

import pyarrow as pa
from pyarrow import types as is_

from lamella.core.arrow.nested_values import python_values
from lamella.core.filters.binding import bind
from lamella.core.filters.expr import Filter, Predicate, all_of, asks_words, columns_read
from lamella.core.filters.expr_json import value_from_json
from lamella.core.filters.kinds import COMPARABLE, kind_of, value_type
from lamella.core.jobs import Job
from lamella.core.libraries import duckdb
from lamella.core.query import card_cache
from lamella.core.query.axis import FARTHEST_BIN, FINE_BINS, Axis, Scale, range_filter, value_filter
from lamella.core.query.card_cache import saved_value
from lamella.core.query.column_figures import ColumnFigures, Measures, TopValues, columns_of, types_of
from lamella.core.query.duckdb_types import from_duckdb
from lamella.core.query.engine import CountedCache, cursor
from lamella.core.query.plan import QueryContext, ScanNode
from lamella.core.scan.cache import LruCache
from lamella.core.scan.read import read_range
from lamella.core.scan.snapshot import Column, MemorySegment, Snapshot, project

LARGE_ROWS = 5_000_000
"""For more rows, a card from a sample is worth showing first."""
SMALL_ROWS = 500_000
"""For more rows, the position of the bins is estimated from a sample."""
SAMPLE_BLOCKS, BLOCK_ROWS = 8, 16_384
TOP_VALUES = 8
COUNTED_VALUES, LONGEST_COUNTED = 1_000, 100
"""The number of values of all rows whose counts are kept, and the characters of the longest one. A filter
need not count these again."""
MOSTLY_DIFFERENT = 0.1
"""If a larger share of a sample's values is distinct, only its most frequent ones are counted, not all
values."""
_MANY_VALUES = 50
KEPT_BYTES = 16 << 20
SAMPLE_BYTES = 64 << 20
MOST_COUNTS = 64
_BYTES_OF_FIGURES = 16 << 10
_BYTES_OF_COUNT = 300
_COUNTS = ("rows", "nulls", "nans", "distinct", "approximate")


@dataclass(frozen=True)
class Figures:
    """The figures of a column of some rows. `bins` maps the number of each non-empty bin to its count of
    values; NaN and infinities are in none. `distinct` is an estimate if `approximate`."""

    rows: int
    nulls: int = 0
    nans: int = 0
    distinct: int = 0
    approximate: bool = False
    min: Any = None
    max: Any = None
    bins: Mapping[int, int] = field(default_factory=dict)
    top: TopValues = ()
    counts: Mapping[object, int] = field(default_factory=dict, compare=False, repr=False)
    """Counts by `_key`, of values that are frequent but not among the top: a filter may bring them there."""

    @property
    def nbytes(self) -> int:
        """The approximate memory that the figures take."""
        values = (self.min, self.max, *(value for value, _ in self.top))
        texts = sum(len(value) for value in values if isinstance(value, (str, bytes)))
        return _BYTES_OF_FIGURES + texts + _BYTES_OF_COUNT * len(self.counts)

    def to_json(self) -> dict[str, Any]:
        """Raises `card_cache.InexactValue` for values that JSON would not restore exactly."""
        plain = {name: getattr(self, name) for name in _COUNTS}
        return plain | {
            "min": saved_value(self.min),
            "max": saved_value(self.max),
            "bins": sorted(map(list, self.bins.items())),
            "top": [[saved_value(value), count] for value, count in self.top],
        }

    @classmethod
    def from_json(cls, item: Mapping[str, Any]) -> Figures:
        return cls(
            **{name: item[name] for name in _COUNTS},
            min=value_from_json(item["min"]),
            max=value_from_json(item["max"]),
            bins={int(number): int(count) for number, count in item["bins"]},
            top=tuple((value_from_json(value), int(count)) for value, count in item["top"]),
        )

    @property
    def has_one_value(self) -> bool:
        return self.rows > 1 and self.distinct == 1

    @property
    def is_nearly_unique(self) -> bool:
        """Whether most values occur once, as in a column of names or keys."""
        values = self.rows - self.nulls - self.nans
        return values >= _MANY_VALUES and self.distinct > values / 2

    def percentile(self, share: float) -> int | None:
        """The bin that contains this percentile; `share` is from 0 to 1."""
        threshold, count = share * sum(self.bins.values()), 0
        for number in sorted(self.bins):
            count += self.bins[number]
            if count >= threshold:
                return number
        return None


@dataclass(frozen=True)
class Bars:
    """A histogram. Bar i has the values from `edges[i - 1]` up to, but not including, `edges[i]`; the first
    bar has no lower edge, and the last no upper one. The last bar may be narrower than the others, whose
    width is 1. `matching_counts` is None without a filter."""

    edges: tuple[Any, ...]
    counts: tuple[int, ...]
    matching_counts: tuple[int, ...] | None
    last_width: float = 1.0

    def __len__(self) -> int:
        return len(self.counts)

    @property
    def can_filter(self) -> bool:
        """Whether conditions can name the edges: Python cannot represent times that far from the present."""
        return not any(isinstance(edge, str) for edge in self.edges)


@dataclass(frozen=True)
class TopValue:
    """A frequent value, the number of all rows that have it, and of those that meet the filter."""

    value: Any
    total: int
    matching_count: int | None

    @property
    def count(self) -> int:
        return self.total if self.matching_count is None else self.matching_count


@dataclass(frozen=True)
class ColumnCard:
    """`matching_figures` are the figures of the rows that meet the filter; None without a filter.
    `is_sample` means that only some of the rows were read. Numbers and times have bins, all other types
    their most frequent values."""

    column: str
    type: pa.DataType
    figures: Figures
    matching_figures: Figures | None
    top: tuple[TopValue, ...]
    scale: Scale | None
    is_sample: bool = False

    @property
    def nbytes(self) -> int:
        return self.figures.nbytes + (0 if self.matching_figures is None else self.matching_figures.nbytes)

    @property
    def shown_figures(self) -> Figures:
        """The figures of the rows that are shown."""
        return self.figures if self.matching_figures is None else self.matching_figures

    @property
    def is_comparable(self) -> bool:
        """Whether conditions can name the values."""
        return kind_of(self.type) in COMPARABLE

    @property
    def has_tail(self) -> bool:
        """Whether the last bar includes values far above the others."""
        ends = self._axis_range
        return ends is not None and max(self.figures.bins) > ends[1]

    def bars(self, most: int) -> Bars:
        """At most `most` bars of equal width, and at most half as many as there are values. The axis reaches
        from the 1st to the 99th percentile of all rows and of those that meet the filter; values outside are
        in the first or the last bar."""
        ends = self._axis_range
        if self.scale is None or ends is None:
            return Bars((), (), None)
        first, last = ends
        values = sum(self.figures.bins.values())
        count = max(1, min(most, values // 2))
        together = -(-(last - first + 1) // count)
        starts = list(range(first, last + 1, together))
        met = (
            None
            if self.matching_figures is None
            else _bar_counts(self.matching_figures.bins, starts, together)
        )
        width = 1.0 if self.has_tail else (last + 1 - starts[-1]) / together
        return Bars(self._values(starts[1:]), _bar_counts(self.figures.bins, starts, together), met, width)

    @cached_property
    def _axis_range(self) -> tuple[int, int] | None:
        sets = [
            figures
            for figures in (self.figures, self.matching_figures)
            if figures is not None and figures.bins
        ]
        lows = [low for figures in sets if (low := figures.percentile(0.01)) is not None]
        highs = [high for figures in sets if (high := figures.percentile(0.99)) is not None]
        if not lows or not highs:
            return None
        first, last = min(lows), max(highs)
        if first == last:  # nearly all values are alike: give the others a bar if they are near
            near = [n for figures in sets for n in figures.bins if abs(n - first) <= FINE_BINS]
            first, last = min(near), max(near)
        return first, last

    def _values(self, numbers: Sequence[int]) -> tuple[Any, ...]:
        assert self.scale is not None
        edges = [self.scale.edge(number) for number in numbers]
        if is_.is_decimal(value_type(self.type)):
            return tuple(Decimal(repr(edge)) for edge in edges)
        axis = ColumnFigures(self.type).axis
        assert axis is not None
        return tuple(axis.back(edges))

    def range_filter(self, bars: Bars, first: int, last: int) -> Filter:
        """The filter for values in the bars `first` to `last`."""
        low = bars.edges[first - 1] if first > 0 else None
        high = bars.edges[last] if last < len(bars) - 1 else None
        return range_filter(self.column, self.type, low, high)

    def value_filter(self, values: Sequence[Any]) -> Filter:
        """The filter for values that are one of these; None stands for null."""
        return value_filter(self.column, self.type, values)


def _bar_counts(bins: Mapping[int, int], starts: Sequence[int], together: int) -> tuple[int, ...]:
    counts = [0] * len(starts)
    for number, count in bins.items():
        counts[min(max((number - starts[0]) // together, 0), len(counts) - 1)] += count
    return tuple(counts)


_cards: LruCache[tuple[object, ...], ColumnCard] = LruCache(KEPT_BYTES)
_counts: CountedCache[tuple[object, ...], int] = CountedCache(MOST_COUNTS)
_samples: LruCache[tuple[object, ...], pa.ChunkedArray] = LruCache(SAMPLE_BYTES)


def card(
    snapshot: Snapshot, name: str, where: Filter | None = None, job: Job | None = None, sampled: bool = False
) -> ColumnCard:
    """The card of a column, or of a field by its path, for all rows and for those that meet `where`; cached
    while the snapshot stays the same. With `sampled`, it is computed from some thousand rows spread over all,
    which takes the same short time for any size.

    Raises `UnknownColumn` and `BadFilter`.
    """
    job = job or Job()
    exact = cached_card(snapshot, name, where, sampled)
    if exact is None and where is None and not sampled:
        exact = saved_card(snapshot, name)
    if exact is None:
        rows = snapshot
        if asks_words(where):
            sampled = False  # a sample has no index, and the table's index leaves few rows to read
        elif sampled or snapshot.num_positions <= SAMPLE_BLOCKS * BLOCK_ROWS:
            # for small data, decoding a column is faster than preparing a statement on its file
            rows = sample_of(snapshot, [name, *_columns_of(where, snapshot)], job)
        whole = None if where is None else card(snapshot, name, None, job, sampled)
        exact = _CardQuery(snapshot, rows, name, where, job).card(whole, sampled)
        _cards.put([((snapshot.token, name, where, sampled), exact)])
        if where is None and not sampled:
            _save(snapshot, exact)
    return exact


def saved_card(snapshot: Snapshot, name: str) -> ColumnCard | None:
    """The exact card of all rows, if any process has computed it before. Reads a small file."""

    def read(item: Mapping[str, Any]) -> ColumnCard:
        figures = Figures.from_json(item["all"])
        scale = None if item["scale"] is None else Scale(*item["scale"])
        top = tuple(TopValue(value, count, None) for value, count in figures.top)
        return ColumnCard(name, snapshot.types[name], figures, None, top, scale)

    exact = cached_card(snapshot, name)
    if exact is None:
        exact = card_cache.load(snapshot, name, read)
        if exact is not None:
            _cards.put([((snapshot.token, name, None, False), exact)])
    return exact


def _save(snapshot: Snapshot, exact: ColumnCard) -> None:
    if snapshot.num_rows < card_cache.LEAST_ROWS or exact.column not in snapshot.types:
        return
    scale = exact.scale
    plain = None if scale is None else [scale.first, scale.of, scale.per, scale.whole]
    with suppress(card_cache.InexactValue):
        card_cache.save(snapshot, exact.column, {"all": exact.figures.to_json(), "scale": plain})


def cached_card(
    snapshot: Snapshot, name: str, where: Filter | None = None, sampled: bool = False
) -> ColumnCard | None:
    """The card, if it was computed before. Reads nothing."""
    return _cards.get([(snapshot.token, name, where, sampled)])[0]


def know_count(snapshot: Snapshot, where: Filter, rows: int) -> None:
    """Record how many rows meet a filter, so that cards need not count them again."""
    _counts.put((snapshot.token, where), rows)


def forget_cards() -> None:
    """Drop the cards that are cached in memory."""
    for cache, most in ((_cards, KEPT_BYTES), (_samples, SAMPLE_BYTES)):
        cache.resize(0)
        cache.resize(most)
    _counts.clear()


def _columns_of(where: Filter | None, snapshot: Snapshot) -> Iterable[str]:
    return () if where is None else columns_read(bind(where, snapshot.schema, snapshot.name))


def sample_of(snapshot: Snapshot, names: Iterable[str], job: Job) -> Snapshot:
    """Live rows from blocks spread over all rows, or all rows if there are few. The columns are cached."""
    columns = {c.key: snapshot.whole(c) for c in project(snapshot, dict.fromkeys(names))}
    samples = {key: _sampled_values(snapshot, column, job) for key, column in columns.items()}
    rows = pa.table({str(key): values for key, values in samples.items()})
    token = (snapshot.token, "sample", tuple(columns))
    return Snapshot(snapshot.name, tuple(columns.values()), (MemorySegment.of(rows),), token)


def _sampled_values(snapshot: Snapshot, column: Column, job: Job) -> pa.ChunkedArray:
    key = (snapshot.token, column.key)
    values = _samples.get([key])[0]
    if values is None:
        blocks = []
        for first, stop in _blocks(snapshot):
            job.check()
            blocks.append(read_range(snapshot, first, stop, [column]).column(0))
        chunks = [chunk for block in blocks for chunk in block.chunks]
        values = pa.chunked_array(chunks, column.type)
        _samples.put([(key, values)])
    return values


def _blocks(snapshot: Snapshot) -> list[tuple[int, int]]:
    """The first position of each block, and the position after its last."""
    total = snapshot.num_positions
    if total <= SAMPLE_BLOCKS * BLOCK_ROWS:
        return [(0, total)] if total else []
    gap = (total - BLOCK_ROWS) / (SAMPLE_BLOCKS - 1)
    return [(int(gap * i), int(gap * i) + BLOCK_ROWS) for i in range(SAMPLE_BLOCKS)]


class _CardQuery:
    """Computes the figures of one column over `rows`: those of the `snapshot`, or a sample of them."""

    def __init__(self, snapshot: Snapshot, rows: Snapshot, name: str, where: Filter | None, job: Job) -> None:
        self._snapshot, self._rows, self._name, self._where, self._job = snapshot, rows, name, where, job
        scan = ScanNode(rows, 0)
        self._field, self._type, value = scan.fields.at_path(name)
        self._value, self._figures = value.sql("duckdb"), ColumnFigures(self._type)
        self._plain, self._axis = self._figures.plain, self._figures.axis

    def card(self, whole: ColumnCard | None, sampled: bool) -> ColumnCard:
        """`whole` is the card of all rows; None without a filter."""
        with cursor(self._job, self._snapshot.name) as connection:
            if is_.is_null(self._type):
                rows = self._num_rows(connection)
                figures, scale = Figures(rows, rows), None
            elif self._axis is None:
                figures, scale = self._of_values(connection), None
            else:
                figures, scale = self._of_axis(connection, self._axis, None if whole is None else whole.scale)
            if whole is None:
                top = tuple(TopValue(value, count, None) for value, count in figures.top)
                return ColumnCard(self._name, self._type, figures, None, top, scale, sampled)
            top = top_values(figures, whole.figures, lambda values: self._count_of(connection, values, None))
            return ColumnCard(self._name, self._type, whole.figures, figures, top, scale, sampled)

    def _num_rows(self, connection: duckdb.DuckDBPyConnection) -> int:
        """Count the rows. Nulls are what remains after counting values: grouping by null takes DuckDB 2.0
        three times as long."""
        if self._where is None:
            return self._rows.num_rows
        key = (self._rows.token, self._where)
        count = _counts.get(key)
        if count is None:
            count = self._run(connection, "SELECT count(*) AS n FROM {rows}", {"n": pa.int64()})["n"][0]
            _counts.put(key, count)
        return count

    def _of_axis(
        self, connection: duckdb.DuckDBPyConnection, axis: Axis, scale: Scale | None
    ) -> tuple[Figures, Scale]:
        if scale is not None:
            return self._count_bins(connection, axis, scale), scale
        small = self._rows is not self._snapshot or self._rows.num_rows <= SMALL_ROWS
        sample = self._rows if small else sample_of(self._snapshot, [self._name], self._job)
        scale = self._scale(connection, axis, sample)
        figures = self._count_bins(connection, axis, scale)
        outside = sum(n for number, n in figures.bins.items() if abs(number) == FARTHEST_BIN)
        if not small and outside > 0.01 * sum(figures.bins.values()):  # the sample was not representative
            scale = self._scale(connection, axis, self._rows)
            figures = self._count_bins(connection, axis, scale)
        return figures, scale

    def _scale(self, connection: duckdb.DuckDBPyConnection, axis: Axis, rows: Snapshot) -> Scale:
        """The scale from the 1st to the 99th percentile, or between the extremes if both percentiles are
        equal."""
        place, kind = self._figures.place, axis.storage_type
        finite = f"WHERE {self._figures.is_finite}" if self._figures.is_finite else ""
        statement = f"SELECT min({place}) AS a, max({place}) AS b, quantile_disc({place}, [0.01, 0.99]) AS q"
        types = {"a": kind, "b": kind, "q": pa.list_(kind)}
        answer = self._run(connection, f"{statement} FROM {{rows}} {finite}", types, rows)
        return Scale.between_percentiles(
            axis, self._plain, (answer["a"][0], answer["b"][0]), answer["q"][0] or ()
        )

    def _count_bins(self, connection: duckdb.DuckDBPyConnection, axis: Axis, scale: Scale) -> Figures:
        number, plain = scale.number(axis), self._plain
        measures: Measures = {
            "b": (number, pa.int16()),
            "n": ("count(*)", pa.int64()),
            "low": ("min(v)", plain),
            "high": ("max(v)", plain),
            **self._figures.about_distinct,
        }
        statement = f"SELECT {columns_of(measures)} FROM {{rows}} WHERE v IS NOT NULL GROUP BY ALL"
        answer = self._run(connection, statement, types_of(measures))
        bins = {number: n for number, n in zip(answer["b"], answer["n"], strict=True) if number is not None}
        rows, present = self._num_rows(connection), sum(answer["n"])
        low = answer["low"][answer["b"].index(min(bins))] if bins else None
        high = answer["high"][answer["b"].index(max(bins))] if bins else None
        nans = 0
        outside = next((place for place, number in enumerate(answer["b"]) if number is None), None)
        if outside is not None:
            also = self._outside(connection, number, axis, scale)
            nans, below, above = also["nans"], also["below"], also["above"]
            low = also["low"] if below or not bins else low
            high = also["high"] if above or not bins else high
            for end, count in ((-FARTHEST_BIN, also["finite_below"]), (FARTHEST_BIN, also["finite_above"])):
                if count:
                    bins[end] = bins.get(end, 0) + count
        return Figures(rows, rows - present, nans, sum(answer["distinct"]), True, low, high, bins)

    def _outside(
        self, connection: duckdb.DuckDBPyConnection, number: str, axis: Axis, scale: Scale
    ) -> dict[str, Any]:
        """Measure the values without a bin: NaN, infinities, and values too far from the others."""
        real, finite = self._figures.is_ordered or "true", self._figures.is_finite or "true"
        below = f"{self._figures.place} < {float(scale.edge(0))!r}::DOUBLE"
        counts = {
            "nans": f"NOT ({real})",
            "below": f"{real} AND {below}",
            "above": f"{real} AND NOT ({below})",
            "finite_below": f"{finite} AND {below}",
            "finite_above": f"{finite} AND NOT ({below})",
        }
        counters = "".join(f", count(*) FILTER ({met}) AS {name}" for name, met in counts.items())
        statement = (
            f"SELECT min(v) FILTER ({real}) AS low, max(v) FILTER ({real}) AS high{counters}"
            f" FROM {{rows}} WHERE v IS NOT NULL AND {number} IS NULL"
        )
        types = {"low": self._plain, "high": self._plain, **dict.fromkeys(counts, pa.int64())}
        return {name: values[0] for name, values in self._run(connection, statement, types).items()}

    def _of_values(self, connection: duckdb.DuckDBPyConnection) -> Figures:
        """Count all values; if a sample suggests too many distinct ones, count only the sample's top
        values."""
        if self._rows is not self._snapshot or self._rows.num_rows <= SMALL_ROWS:
            return self._count_groups(connection)
        sample = sample_of(self._snapshot, [self._name], self._job)
        among = _CardQuery(self._snapshot, sample, self._name, None, self._job)._count_groups(connection)
        if among.distinct <= MOSTLY_DIFFERENT * (among.rows - among.nulls):
            return self._count_groups(connection)
        figures = self._figures
        measures = {**figures.counts, **figures.about_distinct, **figures.short_extremes}
        answer = self._run(connection, f"SELECT {columns_of(measures)} FROM {{rows}}", types_of(measures))
        rows, present = answer["rows"][0], answer["present"][0]
        if present <= SMALL_ROWS:
            return self._count_groups(connection)
        if self._where is not None:
            columns = [self._name, *_columns_of(self._where, self._snapshot)]
            sample = sample_of(self._snapshot, columns, self._job)
            query = _CardQuery(self._snapshot, sample, self._name, self._where, self._job)
            among = query._count_groups(connection)
        likely = [value for value, count in among.top if count > 1]
        counts = self._count_of(connection, likely, self._where)
        top = sorted(zip(likely, counts, strict=True), key=lambda pair: -pair[1])
        low, high = (answer[end][0] if end in answer else None for end in ("min", "max"))
        return Figures(rows, rows - present, 0, answer["distinct"][0], True, low, high, {}, tuple(top))

    def _count_groups(self, connection: duckdb.DuckDBPyConnection) -> Figures:
        is_short = self._figures.is_short
        short = f" AND {is_short}" if is_short else ""
        most = COUNTED_VALUES if self._where is None else TOP_VALUES
        totals: Measures = {
            "rows": ("coalesce(sum(m), 0)::BIGINT", pa.int64()),
            "present": ("coalesce(sum(m) FILTER (v IS NOT NULL), 0)::BIGINT", pa.int64()),
            "distinct": ("count(v)", pa.int64()),
            **self._figures.short_extremes,
        }
        statement = (
            "WITH g AS MATERIALIZED (SELECT v, count(*) AS m FROM {rows} GROUP BY ALL),"
            f" t AS (SELECT {columns_of(totals)} FROM g),"
            f" o AS (SELECT v, m FROM g WHERE v IS NOT NULL{short} ORDER BY m DESC, v LIMIT {most})"
            " SELECT t.*, v, m FROM t LEFT JOIN o ON true ORDER BY m DESC, v"
        )
        types = {**types_of(totals), "v": self._plain, "m": pa.int64()}
        answer = self._run(connection, statement, types)
        rows, present = answer["rows"][0], answer["present"][0]
        top = tuple((v, m) for v, m in zip(answer["v"], answer["m"], strict=True) if m is not None)
        low, high = (answer[end][0] if end in answer else None for end in ("min", "max"))
        values, counts = shown_values(top)
        return Figures(rows, rows - present, 0, answer["distinct"][0], False, low, high, {}, values, counts)

    def _count_of(
        self, connection: duckdb.DuckDBPyConnection, values: Sequence[Any], where: Filter | None
    ) -> list[int]:
        """The number of rows with each of the values; 0 for values that conditions cannot name."""
        if not values or self._figures.kind not in COMPARABLE:
            return [0] * len(values)
        is_one = Predicate(self._name, "in", tuple(values))
        predicate = is_one if where is None else all_of([where, is_one])
        statement = "SELECT v, count(*) AS m FROM {rows} GROUP BY ALL"
        answer = self._run(connection, statement, {"v": self._plain, "m": pa.int64()}, where=predicate)
        counts = {_key(value): count for value, count in zip(answer["v"], answer["m"], strict=True)}
        return [counts.get(_key(value), 0) for value in values]

    def _run(
        self,
        connection: duckdb.DuckDBPyConnection,
        statement: str,
        types: Mapping[str, pa.DataType],
        rows: Snapshot | None = None,
        where: Filter | None = None,
    ) -> dict[str, list[Any]]:
        """Run a statement in which `{rows}` stands for a relation with the values as `v`: those of all rows,
        or of the rows that meet the filter."""
        self._job.check()
        if where is None and rows is None:
            where = self._where
        scan = ScanNode(rows or self._rows, 0)
        scan = scan if where is None else scan.with_filter(where)
        identifiers = frozenset([self._field.identifier])
        source = scan.query(identifiers, QueryContext(connection, self._job)).sql("duckdb")
        values = f"(SELECT {self._value} AS v FROM ({source}) AS t)"
        answer = connection.sql(statement.replace("{rows}", values))
        table = from_duckdb(answer.to_arrow_table(), pa.schema(list(types.items())))
        return {name: python_values(table.column(place)) for place, name in enumerate(types)}


def shown_values(frequent: TopValues) -> tuple[TopValues, dict[object, int]]:
    """Return the most frequent values, and the counts of further short ones, which a filter may bring to the
    top."""
    top, tail = frequent[:TOP_VALUES], frequent[TOP_VALUES:]
    return top, {key: n for value, n in tail if len((key := _key(value))[1]) <= LONGEST_COUNTED}


def top_values(
    met: Figures, whole: Figures, count: Callable[[Sequence[Any]], Sequence[int]]
) -> tuple[TopValue, ...]:
    """The frequent values of the rows that meet a filter. `count` returns how many of all rows have each of
    the given values; it is called for values whose counts `whole` lacks."""
    count_of: dict[object, int] = {**whole.counts}
    count_of.update((_key(value), n) for value, n in whole.top)
    missing = [value for value, _ in met.top if _key(value) not in count_of]
    if missing:
        count_of.update(zip(map(_key, missing), count(missing), strict=True))
    return tuple(TopValue(value, count_of[_key(value)], n) for value, n in met.top)


def _key(value: Any) -> tuple[type, str]:
    return (type(value), repr(value))
