"""The profile of a column: counts, distinct values, extremes and distribution."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from lamella.core.filters.expr import Filter, asks_words, columns_read
from lamella.core.jobs import Job
from lamella.core.query.column_figures import EXACT_ROWS, QUANTILES, ColumnValues, is_approximate
from lamella.core.query.engine import cursor
from lamella.core.query.figure_rows import LocalRows
from lamella.core.query.plan import ScanNode
from lamella.core.scan.cache import LruCache
from lamella.core.scan.read import read_all_rows
from lamella.core.scan.snapshot import Snapshot, snapshot_of_rows

TOP_VALUES = 10
WIDE = 500
"""From this many columns on, only the needed columns are read first."""
KEPT_BYTES = 8 << 20
_BYTES_A_PROFILE = 8 << 10


@dataclass(frozen=True)
class Histogram:
    """A histogram: `counts[i]` values lie from `edges[i]` up to, but not including, `edges[i + 1]`. The last
    bin includes its upper edge, and may be narrower. NaN and infinities are in no bin."""

    edges: tuple[Any, ...]
    counts: tuple[int, ...]


@dataclass(frozen=True)
class Lengths:
    """The lengths of texts in characters, of binary values in bytes, or of lists in items. `empty` is the
    number of empty values."""

    min: int
    mean: float
    max: int
    empty: int


@dataclass(frozen=True)
class ColumnProfile:
    """The profile of a column over the rows that meet a condition. Values are Python's, as `get` returns
    them.

    `approximate` means that `distinct` and `quantiles` are estimates, as for more than a million values. NaN
    is counted in `nans` and `distinct`, and left out of everything else; quantiles and histogram also leave
    out infinities. Only numbers and times have quantiles and a histogram. There are no most frequent values
    if most values are estimated to be distinct, nor for numbers or times that are very many or all distinct.
    Texts and binary values of more than 4,096 bytes are counted, but are never among the most frequent ones.
    Nested values have no minimum or maximum. Texts, lists and binary values of varying size have `lengths`,
    unless all are null. A quantile is always a value of the column, the lower one of two, whereas aggregates
    interpolate numbers.
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
        """The approximate memory that the profile takes."""
        values = (self.min, self.max, *(value for value, _ in self.top_values))
        return _BYTES_A_PROFILE + sum(len(v) for v in values if isinstance(v, (str, bytes)))


recent_profiles: LruCache[tuple[object, ...], ColumnProfile] = LruCache(KEPT_BYTES)


def profile(
    snapshot: Snapshot, name: str, where: Filter | None = None, job: Job | None = None
) -> ColumnProfile:
    """The profile of a column, or of a field by its path; cached while the snapshot stays the same.

    Raises `UnknownColumn` and `BadFilter`.
    """
    key = (snapshot.token, name, where)
    profile = recent_profiles.get([key])[0]
    if profile is None:
        work = job or Job()
        scan = ScanNode(_narrow(snapshot, name, where, work), 0)
        scan = scan if where is None else scan.with_filter(where)
        with cursor(work, snapshot.name) as connection:
            rows = LocalRows(scan, key, connection, work, decodes=False)
            profile = read_profile(ColumnValues.of(rows, name), name)
        recent_profiles.put([(key, profile)])
    return profile


def _narrow(snapshot: Snapshot, name: str, where: Filter | None, job: Job) -> Snapshot:
    """For a wide file, the needed columns in memory. Each statement in DuckDB goes through all columns of a
    file, which takes 0.3 s for ten thousand."""
    names = list(dict.fromkeys([name, *(columns_read(where) if where is not None else ())]))
    is_wide = len(snapshot.columns) >= WIDE and snapshot.num_rows <= EXACT_ROWS
    if not is_wide or asks_words(where) or not all(each in snapshot.by_name for each in names):
        return snapshot
    return snapshot_of_rows(
        read_all_rows(snapshot, [snapshot.column(each) for each in names], job), snapshot.name
    )


def read_profile(values: ColumnValues, name: str) -> ColumnProfile:
    """Measure the extremes in one statement, the distribution in another, the frequent values in a third.
    Blocks."""
    figures = values.figures
    first = {**figures.counts, **figures.extremes, **figures.ends, **figures.mean, **figures.lengths}
    if not values.has_sample_key:  # for an engine, another statement costs more than another figure
        first |= figures.about_distinct
    base = values.measure(first)
    present, edges = base["present"], figures.edges(base)
    spread = figures.spread(present, edges, values.has_sample_key)
    two = base | values.measure({name: sql for name, sql in spread.items() if first.get(name) != sql})
    quantiles, histogram, lengths = two.get("quantiles"), None, None
    if figures.axis is not None and edges:
        histogram = Histogram(tuple(figures.axis.back(edges)), tuple(two["counts"]))
        if quantiles is None:
            quantiles = figures.axis.back(
                [round(place) if figures.axis.whole else place for place in two["places"]]
            )
    if base.get("shortest") is not None:
        lengths = Lengths(base["shortest"], base["mean_length"], base["longest"], base["empty"])
    has_top = figures.has_frequent_values(present, two["distinct"])
    return ColumnProfile(
        name, figures.type, base["rows"], base["rows"] - present, base.get("nans") or 0, two["distinct"],
        base.get("min"), base.get("max"), base.get("mean"),
        None if quantiles is None else dict(zip(QUANTILES, quantiles, strict=True)), histogram,
        values.top(TOP_VALUES) if has_top else (), is_approximate(present), lengths,
    )  # fmt: skip
