"""Charts of numbers and moments are the same whether columns are scanned or DuckDB runs statements."""

from __future__ import annotations

import datetime as dt
import math
import sys
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamella import Store, open_dataset
from lamella.core.errors import Cancelled
from lamella.core.jobs import Job
from lamella.core.query.builder import Query, query_of
from lamella.core.query.charts import ChartData, ChartSpec, cache_columns, column_scan, read_chart
from lamella.core.query.charts import rows as chart_rows
from lamella.core.query.engine import CountedCache
from lamella.core.query.source import SnapshotSource
from lamella.core.scan import chunks
from lamella.core.scan.cache import cache
from lamella.core.scan.snapshot import snapshot_of_rows
from tests.slow_tests import examples

ROWS = 3_000
UNITS = ("second", "minute", "hour", "day", "week", "month", "quarter", "year")


def some_rows(seed: int = 5) -> pa.Table:
    random = np.random.default_rng(seed)
    few_nulls = random.random(ROWS) < 0.1
    seconds = random.integers(-2_000_000_000, 2_000_000_000, ROWS)
    return pa.table(
        {
            "float": random.normal(50, 20, ROWS),
            "single": pa.array(random.normal(-3, 1, ROWS), pa.float32()),
            "sparse": pa.array(random.exponential(10, ROWS), mask=few_nulls),
            "small": pa.array(random.integers(-100, 100, ROWS), pa.int8()),
            "large": pa.array(random.integers(-(2**40), 2**40, ROWS), pa.int64(), mask=few_nulls[::-1]),
            "huge": pa.array(random.integers(-(2**62), 2**62, ROWS), pa.int64()),
            "second": pa.array(seconds, pa.timestamp("s")),
            "milli": pa.array(seconds * 1000 + 1, pa.timestamp("ms"), mask=few_nulls),
            "micro": pa.array(1_600_000_000_000_000 + seconds, pa.timestamp("us")),
            "nano": pa.array(seconds, pa.timestamp("ns")),
            "zoned": pa.array(seconds, pa.timestamp("s", "Europe/Berlin")),
            "day": pa.array((seconds // 86_400).astype(np.int32), pa.date32()),
            "text": [f"t{n}" for n in random.integers(0, 5, ROWS)],
        }
    )


SPECS = [
    *(ChartSpec("histogram", x=name) for name in ("float", "single", "sparse", "small", "large", "huge")),
    *(ChartSpec("histogram", x=name) for name in ("second", "milli", "micro", "nano", "zoned", "day")),
    *(ChartSpec("line", x="milli", measure="float", aggregate="mean", unit=unit) for unit in UNITS),
    *(ChartSpec("area", x="micro", measure="small", aggregate="sum", unit=unit) for unit in UNITS),
    *(ChartSpec("bar", x="day", unit=unit) for unit in UNITS[3:]),
    ChartSpec("bar", x="small", measure="sparse", aggregate="mean"),
    ChartSpec("bar", x="small", measure="text", aggregate="count"),
    ChartSpec("bar", x="day", measure="large", aggregate="max"),
    ChartSpec("line", x="large", measure="single", aggregate="count"),
    ChartSpec("scatter", x="float", y="sparse"),
    ChartSpec("scatter", x="second", y="float"),
    ChartSpec("scatter", x="float", y="float"),
    ChartSpec("heat_map", x="second", y="small", measure="float", aggregate="sum", unit="month"),
    ChartSpec("heat_map", x="small", y="large"),
    ChartSpec("histogram", x="float", color="text"),
    ChartSpec("histogram", x="sparse", log_x=True),
]


@pytest.fixture
def scans(monkeypatch) -> list[str]:
    """The figures that scans computed, for tests that expect one."""
    work: list[str] = []

    class Counting(column_scan.ColumnScan):
        def figures(self):
            work.append("figures")
            return super().figures()

        def counts(self, places, summed=""):
            work.append("counts")
            return super().counts(places, summed)

    monkeypatch.setattr(chart_rows, "ColumnScan", Counting)
    monkeypatch.setattr(column_scan, "FEWEST_ROWS", 0)
    monkeypatch.setattr("lamella.core.query.charts.reading.MOST_POINTS", 0)
    monkeypatch.setattr("lamella.core.query.charts.reading.ESTIMATED_ROWS", 0)
    return work


def chart(query: Query, spec: ChartSpec, fewest: int) -> ChartData:
    """The chart, with scans for at least this number of rows; nothing is remembered of earlier ones."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(column_scan, "FEWEST_ROWS", fewest)
        patch.setattr(chart_rows, "figure_cache", CountedCache(100))
        return replace(read_chart(query, spec), seconds=0.0)


def assert_same(query: Query, spec: ChartSpec) -> None:
    scanned, stated = chart(query, spec, 0), chart(query, spec, sys.maxsize)
    assert replace(scanned, table=None) == replace(stated, table=None)
    assert scanned.table.schema == stated.table.schema
    for name in stated.table.column_names:
        one, other = scanned.table[name].to_numpy(), stated.table[name].to_numpy()
        if name == "value":
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-6)
        else:
            assert one.tolist() == other.tolist()


def query_of_rows(rows: pa.Table) -> Query:
    return query_of(SnapshotSource(snapshot_of_rows(rows, "rows")))


@pytest.fixture(scope="module")
def file(tmp_path_factory) -> Query:
    path = tmp_path_factory.mktemp("rows") / "rows.parquet"
    pq.write_table(some_rows(), path, row_group_size=700)
    return open_dataset(path).query()


@pytest.mark.slow(except_every=3)
@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: "-".join(map(str, spec.to_json().values())))
def test_a_scan_makes_the_same_chart_as_a_statement(file, spec, scans):
    assert_same(file, spec)


@pytest.mark.slow(except_every=3)
@pytest.mark.parametrize(
    "where",
    [{"float": {"$gte": 40, "$lt": 60}}, {"sparse": None}, {"small": {"$gt": 1_000}}, {"text": "t1"}],
    ids=str,
)
@pytest.mark.parametrize(
    "spec",
    [
        ChartSpec("histogram", x="float"),
        ChartSpec("line", x="milli", measure="sparse", aggregate="mean", unit="month"),
        ChartSpec("scatter", x="single", y="large"),
    ],
    ids=lambda spec: spec.kind,
)
def test_filtered_rows_make_the_same_chart(file, spec, where, scans):
    assert_same(file.where(where), spec)


def test_a_filter_of_numbers_is_applied_by_the_scan(file, scans):
    chart(file.where({"float": {"$gte": 40}}), ChartSpec("histogram", x="small"), 0)
    assert scans == ["figures", "counts"]


def test_extremes_in_footers_spare_a_scan(file, scans):
    chart(file, ChartSpec("line", x="micro", measure="small", aggregate="sum"), 0)
    assert scans == ["counts"]


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_values_that_are_no_numbers_are_left_out_and_counted(tmp_path, value, scans):
    rows = some_rows()
    floats = rows["float"].to_numpy().copy()
    floats[[7, 1_500, 2_999]] = value
    pq.write_table(rows.set_column(0, "float", pa.array(floats)), tmp_path / "rows.parquet")
    query = open_dataset(tmp_path / "rows.parquet").query()
    for spec in (
        ChartSpec("histogram", x="float"),
        ChartSpec("line", x="day", measure="float", aggregate="sum", unit="year"),
    ):
        assert_same(query, spec)
        assert_same(query.where({"small": {"$gt": 0}}), spec)
        assert chart(query, spec, 0).left_out == (("float is NaN or infinite", 3),)


def test_changes_and_deletions_of_a_table_are_in_its_charts(tmp_path, scans):
    with Store.open(tmp_path / "store") as store:
        table = store.create_table("t", some_rows())
        table.delete(where={"small": {"$gt": 90}})
        table.update_where({"small": {"$lt": -90}}, {"$set": {"float": 12.5, "day": dt.date(1999, 12, 31)}})
        table.insert(some_rows(6).slice(0, 50))
        for spec in (
            ChartSpec("histogram", x="float"),
            ChartSpec("line", x="day", measure="float", aggregate="mean", unit="year"),
            ChartSpec("heat_map", x="small", y="float"),
        ):
            assert_same(table.query(), spec)
            assert_same(table.query().where({"float": {"$lt": 50}}), spec)


def test_sums_that_overflow_are_those_of_a_statement(scans):
    rows = pa.table({"x": pa.array([1, 1, 2], pa.int32()), "y": [1.5e308, 1.5e308, 1.0]})
    assert_same(query_of_rows(rows), ChartSpec("bar", x="x", measure="y", aggregate="sum"))


@pytest.mark.parametrize("end", [None, math.nan, math.inf])
def test_ascending_values_make_the_same_chart(end, scans, monkeypatch):
    ascending = list[bool]()
    add_runs = column_scan.Tallies.add_runs

    def add(self, values, part) -> bool:
        ascending.append(add_runs(self, values, part))
        return ascending[-1]

    monkeypatch.setattr(column_scan.Tallies, "add_runs", add)
    monkeypatch.setattr(column_scan, "STRIDE", 16)
    seconds = np.arange(ROWS) * 900 + 1_600_000_000
    floats = pa.array([*np.linspace(-7, 1_000, ROWS - 1), end], pa.float64())
    rows = some_rows().append_column("when", pa.array(seconds, pa.timestamp("s")))
    rows = rows.append_column("ascending", floats)
    query = query_of_rows(rows)
    for spec in (
        ChartSpec("line", x="when", measure="float", aggregate="mean", unit="day"),
        ChartSpec("line", x="when", measure="small", aggregate="sum", unit="month"),
        ChartSpec("bar", x="when", measure="ascending", aggregate="sum", unit="week"),
        ChartSpec("histogram", x="ascending"),
    ):
        assert_same(query, spec)
        assert_same(query.where({"float": {"$lt": 50}}), spec)
        assert any(ascending) or "ascending" in spec.columns
        ascending.clear()


SOME_OF_ASCENDING = st.one_of(
    st.builds(lambda most: {"float": {"$lt": most}}, st.sampled_from([-1e9, 20, 50, 80])),
    st.builds(lambda number: {"small": number}, st.integers(-101, 100)),
    st.builds(
        lambda first, count: {"number": {"$gte": first, "$lt": first + count}},
        st.integers(-10, ROWS),
        st.sampled_from([0, 1, 2, 500, ROWS]),
    ),
)


@settings(max_examples=examples(60), deadline=None)
@given(
    SOME_OF_ASCENDING,
    st.sampled_from([1, 60, 900, 40_000]),
    st.sampled_from(
        [
            ChartSpec("histogram", x="when"),
            *(
                ChartSpec("line", x="when", measure=measure, aggregate="mean", unit=unit)
                for measure in ("float", "small", "odd")
                for unit in ("hour", "day", "month")
            ),
        ]
    ),
)
def test_some_of_ascending_rows_make_the_same_chart(where, step, spec):
    seconds = pa.array(np.arange(ROWS) * step + 1_600_000_000, pa.timestamp("s"))
    rows = some_rows().append_column("when", seconds).append_column("number", pa.array(np.arange(ROWS)))
    odd = np.where(rows["small"].to_numpy() > 0, math.nan, 1.5)
    query = query_of_rows(rows.append_column("odd", pa.array(odd))).where(where)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(column_scan, "STRIDE", 16)
        patch.setattr("lamella.core.query.charts.reading.ESTIMATED_ROWS", 0)
        assert_same(query, spec)


def test_cached_columns_are_not_decoded_again(tmp_path, scans, monkeypatch):
    pq.write_table(some_rows(), tmp_path / "rows.parquet", row_group_size=700)
    query = open_dataset(tmp_path / "rows.parquet").query()
    spec = ChartSpec("line", x="milli", measure="float", aggregate="mean", unit="month")
    brushed = query.where({"float": {"$gte": 40, "$lt": 60}})
    expected = chart(brushed, spec, 0)
    cache_columns(query, spec)
    monkeypatch.setattr(chunks, "decode", lambda *_: pytest.fail("columns were decoded again"))
    assert chart(brushed, spec, 0) == expected


def test_columns_that_would_fill_the_cache_are_not_cached(tmp_path, scans, monkeypatch):
    pq.write_table(some_rows(), tmp_path / "rows.parquet", row_group_size=700)
    query = open_dataset(tmp_path / "rows.parquet").query()
    monkeypatch.setattr(cache, "max_bytes", 2 * 8 * ROWS - 1)
    bytes_before = cache.held_bytes
    cache_columns(query, ChartSpec("histogram", x="float"))
    assert cache.held_bytes == bytes_before


def test_values_that_need_too_much_memory_are_read_again(file, scans, monkeypatch):
    monkeypatch.setattr(column_scan, "MOST_KEPT", 10)
    query = file.where({"float": {"$gte": 40}})
    assert_same(query, ChartSpec("scatter", x="float", y="sparse"))


def test_a_cancelled_job_ends_a_scan(file, scans):
    job = Job()
    job.cancel()
    with pytest.raises(Cancelled):
        read_chart(file, ChartSpec("histogram", x="sparse"), job)


@settings(max_examples=examples(60), deadline=None)
@given(data=st.data())
def test_any_numbers_and_moments_make_the_same_chart(data):
    kinds = {
        pa.float64(): st.floats(width=64) | st.integers(-5, 5).map(float),
        pa.float32(): st.floats(width=32),
        pa.int64(): st.integers(-(2**63), 2**63 - 1) | st.integers(-5, 5),
        pa.int16(): st.integers(-(2**15), 2**15 - 1),
        pa.timestamp("us"): st.datetimes(dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31)),
        pa.timestamp("s"): st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2100, 12, 31)).map(
            lambda moment: moment.replace(microsecond=0)
        ),
        pa.date32(): st.dates(),
    }
    kind = data.draw(st.sampled_from(list(kinds)))
    x = data.draw(st.lists(st.none() | kinds[kind], min_size=1, max_size=30))
    if data.draw(st.booleans()):
        x = sorted(value for value in x if value is not None and value == value) or [None]
    y = data.draw(st.lists(st.none() | st.integers(-100, 100), min_size=len(x), max_size=len(x)))
    rows = pa.table({"x": pa.array(x, kind), "y": pa.array(y, pa.int32())})
    query = query_of_rows(rows)
    if data.draw(st.booleans()):
        query = query.where({"y": {"$gte": data.draw(st.integers(-100, 100))}})
    chosen = data.draw(
        st.sampled_from(
            [
                ChartSpec("histogram", x="x"),
                ChartSpec("line", x="x", measure="y", aggregate="mean"),
                ChartSpec("bar", x="x", measure="y", aggregate="sum"),
                ChartSpec("scatter", x="x", y="y"),
                ChartSpec("heat_map", x="y", y="x"),
            ]
        )
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("lamella.core.query.charts.reading.MOST_POINTS", 0)
        patch.setattr("lamella.core.query.charts.reading.ESTIMATED_ROWS", 0)
        patch.setattr(column_scan, "STRIDE", 2)
        assert_same(query, chosen)


def test_the_days_of_each_unit_are_those_of_the_calendar():
    first, last = dt.date(1899, 12, 25), dt.date(2101, 1, 10)
    epoch = dt.date(1970, 1, 1)
    for unit in UNITS[3:]:
        days = column_scan.UnitPlaces(unit, 86_400, 0, (first - epoch).days, (last - first).days, 0)
        moments = pa.array([first + dt.timedelta(days=n) for n in range(days.size)])
        begins = pc.floor_temporal(moments.cast(pa.timestamp("s")), unit=unit).cast(pa.date32())
        assert days.keys.tolist() == begins.cast(pa.int32()).to_pylist()
