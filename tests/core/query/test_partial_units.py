"""Units of time at the ends of a chart of which rows cover only a part are known."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

import pyarrow as pa
import pytest

from lamella.core.query.builder import query_of
from lamella.core.query.charts import ChartSpec, read_chart
from lamella.core.query.source import SnapshotSource
from lamella.core.scan.snapshot import snapshot_of_rows

DAY = dt.timedelta(days=1)


def days(first: dt.date, last: dt.date) -> list[dt.date]:
    return [first + n * DAY for n in range((last - first).days + 1)]


def weekdays(first: dt.date, last: dt.date) -> list[dt.date]:
    return [day for day in days(first, last) if day.weekday() < 5]


def months(year: int, last: int) -> list[dt.date]:
    return [dt.date(year + n // 12, n % 12 + 1, 1) for n in range(last)]


def partial_of(
    moments: Sequence[dt.date] | pa.Array, unit: str, kind: str = "line", **spec: str
) -> list[str]:
    """The incomplete units, each as its first and its last day with rows."""
    rows = pa.table({"at": moments, "n": [1] * len(moments)})
    query = query_of(SnapshotSource(snapshot_of_rows(rows, "rows")))
    data = read_chart(query, ChartSpec(kind, "at", unit=unit, **spec))
    assert data.x is not None and data.x.unit == unit
    return [f"{begin} {end}" for _key, (begin, end) in sorted(data.partial.items())]


YEAR = days(dt.date(2023, 1, 1), dt.date(2023, 12, 31))


@pytest.mark.parametrize(
    ("moments", "unit", "partial"),
    [
        (YEAR, "month", []),
        (YEAR[:-20], "month", ["2023-12-01 2023-12-11"]),
        (YEAR[9:], "month", ["2023-01-10 2023-01-31"]),
        (YEAR[19:-20], "year", ["2023-01-20 2023-12-11"]),
        (YEAR[:12], "month", ["2023-01-01 2023-01-12"]),
        (YEAR[1:-3], "week", ["2023-12-25 2023-12-28"]),
        (YEAR[:-1], "quarter", []),
        (weekdays(dt.date(2023, 1, 1), dt.date(2023, 9, 30)), "week", []),
        (weekdays(dt.date(2023, 1, 1), dt.date(2024, 3, 28)), "month", []),
        (weekdays(dt.date(2023, 1, 1), dt.date(2024, 3, 18)), "month", ["2024-03-01 2024-03-18"]),
        (months(2020, 48), "year", []),
        (months(2020, 45), "year", ["2023-01-01 2023-09-01"]),
        (months(2020, 45), "month", []),
        (YEAR[::90], "month", []),
    ],
)
def test_units_at_the_ends_are_partial_where_days_are_missing(
    moments: Sequence[dt.date], unit: str, partial: list[str]
) -> None:
    assert partial_of(moments, unit) == partial


@pytest.mark.parametrize("zone", [None, "America/New_York"])
def test_times_count_by_their_day(zone: str | None) -> None:
    hours = [dt.datetime(2023, 1, 1) + n * dt.timedelta(hours=5) for n in range(4 * 500)]
    before = [] if zone is None else ["2022-12-31 2022-12-31"]
    stamps = pa.array(hours, pa.timestamp("us", tz=zone))
    assert partial_of(stamps, "month") == [*before, "2024-02-01 2024-02-21"]
    assert partial_of(stamps, "day") == []


@pytest.mark.parametrize(
    ("spec", "is_partial"),
    [
        ({"measure": "n", "aggregate": "sum"}, True),
        ({"measure": "n", "aggregate": "count", "kind": "bar"}, True),
        ({"kind": "histogram"}, True),
        ({"kind": "area"}, True),
        ({"measure": "n", "aggregate": "mean"}, False),
        ({"measure": "n", "aggregate": "max"}, False),
    ],
)
def test_only_figures_that_add_up_are_partial(spec: dict[str, str], is_partial: bool) -> None:
    assert bool(partial_of(YEAR[:-20], "month", **spec)) is is_partial
