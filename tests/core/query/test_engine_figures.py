"""Charts, cards and profiles of rows that a Spark server holds: the same as of the same rows here."""

from __future__ import annotations

import datetime as dt
import math
import random
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lamella import col, open_dataset
from lamella.core.datasets.base import Dataset
from lamella.core.datasets.spark import SparkTable
from lamella.core.errors import BadQuery
from lamella.core.jobs import Job
from lamella.core.query.answer_comparison import compare_answers
from lamella.core.query.cards import card
from lamella.core.query.charts import ChartSpec, read_chart
from lamella.core.query.column_figures import LONGEST_VALUE
from lamella.core.query.engine_figures import EngineRows
from lamella.core.query.profile import profile

ROWS = 5_500
"""More than are drawn as single points."""
START = dt.datetime(2020, 1, 1)


def rows() -> pa.Table:
    choose, odd = random.Random(7), [math.nan, math.inf, -math.inf, 0.0, -0.0]
    numbers = range(ROWS)
    columns = {
        "id": pa.array(numbers),
        "k": pa.array([f"k{n % 7}" if n % 11 else None for n in numbers]),
        "many": pa.array([f"m{n % 53}" for n in numbers]),
        "f": pa.array([choose.gauss(0, 10) if n % 50 else choose.choice(odd) for n in numbers]),
        "few": pa.array([n % 5 / 2 for n in numbers]),
        "price": pa.array([Decimal(n % 97) / 10 for n in numbers], pa.decimal128(10, 2)),
        "day": pa.array([START.date() + dt.timedelta(days=n % 700) for n in numbers]),
        "ts": pa.array([START + dt.timedelta(hours=n) for n in numbers], pa.timestamp("us")),
        "tz": pa.array([START + dt.timedelta(hours=n) for n in numbers], pa.timestamp("us", "UTC")),
        "flag": pa.array([n % 3 == 0 if n % 13 else None for n in numbers]),
        "tags": pa.array([[n % 3] * (n % 3) for n in numbers]),
        "bytes": pa.array([bytes([n % 5]) for n in numbers]),
        "long": pa.array([f"{n % 3}" * (1 if n % 4 else LONGEST_VALUE + 1) for n in numbers]),
    }
    return pa.table(columns)


@pytest.fixture(scope="module")
def pair(spark_address: str, tmp_path_factory: pytest.TempPathFactory) -> tuple[Dataset, SparkTable]:
    path = tmp_path_factory.mktemp("figures") / "t.parquet"
    pq.write_table(rows(), path)
    return open_dataset(path), open_dataset(f"{spark_address}/parquet:{path}")


@pytest.mark.slow(after=1)
@pytest.mark.parametrize(
    "spec",
    [
        ChartSpec("histogram", "f", color="k"),
        ChartSpec("histogram", "day"),
        ChartSpec("histogram", "id", log_x=True),
        ChartSpec("bar", "k"),
        ChartSpec("bar", "many", measure="id", aggregate="mean"),
        ChartSpec("bar", "few", measure="price", aggregate="sum"),
        ChartSpec("bar", "flag", measure="f", aggregate="median", color="k"),
        ChartSpec("bar", "bytes", measure="k", aggregate="distinct"),
        ChartSpec("line", "ts", measure="id", aggregate="mean", unit="month"),
        ChartSpec("line", "tz", measure="f", aggregate="max", color="k"),
        ChartSpec("line", "ts", measure="f", aggregate="max", color="many"),
        ChartSpec("area", "day", panels="k"),
        ChartSpec("scatter", "id", "f"),
        ChartSpec("box", "few", "f", panels="flag"),
        ChartSpec("box", "", "price"),
        ChartSpec("heat_map", "k", "many"),
    ],
    ids=lambda spec: "-".join(map(str, spec.to_json().values())),
)
def test_a_chart_is_the_same(pair: tuple[Dataset, SparkTable], spec: ChartSpec) -> None:
    own, engine = (read_chart(source.query(), spec) for source in pair)
    comparison = compare_answers(own.table, engine.table, in_order=True)
    assert comparison.is_same, (comparison.problem, comparison.differences[:3])
    assert (engine.x, engine.y, engine.color, engine.panels) == (own.x, own.y, own.color, own.panels)
    assert (engine.rows, engine.used, engine.left_out) == (own.rows, own.used, own.left_out)
    assert engine.remarks == own.remarks


def test_a_chart_of_a_line_of_steps_shows_points_of_few_rows(pair: tuple[Dataset, SparkTable]) -> None:
    own, engine = (
        read_chart(source.query().where(col("id") < 60), ChartSpec("scatter", "id", "f", color="k"))
        for source in pair
    )
    assert engine.shows_points and compare_answers(own.table, engine.table, in_order=False).is_same


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("name", [name for name in rows().column_names if name != "tz"])
def test_cards_and_profiles_are_the_same(pair: tuple[Dataset, SparkTable], name: str) -> None:
    table, engine = pair[0].snapshot(), EngineRows(pair[1].query(), pair[1].schema, "rows")
    own, engine_card = card(table, name), engine.card(name, None, Job())
    for figure in ("rows", "nulls", "nans", "min", "max", "top"):
        assert getattr(engine_card.figures, figure) == getattr(own.figures, figure), figure
    assert engine_card.figures.distinct == pytest.approx(own.figures.distinct, rel=0.1), "both are estimates"
    assert sum(engine_card.figures.bins.values()) == sum(own.figures.bins.values())
    ours, theirs = profile(table, name), engine.profile(name, None, Job())
    for figure in ("rows", "nulls", "nans", "distinct", "min", "max", "quantiles", "histogram", "lengths"):
        assert getattr(theirs, figure) == getattr(ours, figure), figure
    assert (theirs.top_values, theirs.approximate) == (ours.top_values, ours.approximate)
    assert theirs.mean == pytest.approx(ours.mean, nan_ok=True)


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("name", [name for name in rows().column_names if name != "tz"])
def test_cards_have_figures_of_all_rows_and_of_those_that_meet_a_filter(
    pair: tuple[Dataset, SparkTable], name: str
) -> None:
    where = (col("many") == "m7") | col("k").is_null()
    own = card(pair[0].snapshot(), name, where)
    engine = EngineRows(pair[1].query(), pair[1].schema, "rows").card(name, where, Job())
    assert own.matching_figures is not None and engine.matching_figures is not None
    assert engine.top == own.top
    for ours, theirs in ((own.figures, engine.figures), (own.matching_figures, engine.matching_figures)):
        for figure in ("rows", "nulls", "nans", "min", "max", "top"):
            assert getattr(theirs, figure) == getattr(ours, figure), figure
        assert theirs.distinct == pytest.approx(ours.distinct, rel=0.1), "both are estimates"
    bars = engine.bars(20)
    assert sum(bars.counts) == sum(own.figures.bins.values())
    assert sum(bars.matching_counts or ()) == sum(own.matching_figures.bins.values())
    assert all(met <= total for met, total in zip(bars.matching_counts or (), bars.counts, strict=True))


def test_another_filter_counts_only_the_rows_that_meet_it(
    pair: tuple[Dataset, SparkTable], monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, statements = EngineRows(pair[1].query(), pair[1].schema, object()), list[str]()
    read_sql = pair[1].server.read
    monkeypatch.setattr(
        pair[1].server, "read", lambda sql, job=None: statements.append(sql) or read_sql(sql, job)
    )
    whole = engine.card("f", None, Job())
    before = len(statements)
    cards = [engine.card("f", where, Job()) for where in (col("id") < 100, col("id") < 200, col("id") < 100)]
    assert [engine_card.matching_figures.rows for engine_card in cards] == [100, 200, 100] and all(
        engine_card.figures is whole.figures for engine_card in cards
    )
    assert len(statements) == before + 2


def test_values_that_a_filter_brings_to_the_top_are_counted_among_all_rows(
    pair: tuple[Dataset, SparkTable], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lamella.core.query.engine_figures.COUNTED_VALUES", 8)
    own, engine = pair[0].snapshot(), EngineRows(pair[1].query(), pair[1].schema, object())
    where = col("id").between(5_390, 5_395)
    top = engine.card("many", where, Job()).top
    assert top == card(own, "many", where).top
    assert [value.matching_count for value in top] == [1] * 6 and all(value.total > 100 for value in top)
    assert not {value.value for value in top} <= {
        value for value, _ in engine.card("many", None, Job()).figures.top
    }


def test_a_table_has_profiles_of_the_rows_that_meet_a_condition(pair: tuple[Dataset, SparkTable]) -> None:
    actual = pair[1].profile("id", col("id") < 10)
    assert (actual.rows, actual.min, actual.max, actual.mean) == (10, 0, 9, 4.5)


def test_of_very_many_values_quantiles_are_estimated(
    pair: tuple[Dataset, SparkTable], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lamella.core.query.charts.reading.ESTIMATED_ROWS", 1_000)
    monkeypatch.setattr("lamella.core.query.column_figures.EXACT_ROWS", 1_000)
    chart = read_chart(pair[1].query(), ChartSpec("bar", "flag", measure="id", aggregate="median"))
    assert "Quantiles of id are estimated" in chart.remarks
    assert chart.table["value"].to_pylist() == pytest.approx([ROWS / 2] * 2, rel=0.05)
    actual = pair[1].profile("day")
    assert actual.approximate and actual.quantiles is not None
    assert abs(actual.quantiles[0.5] - dt.date(2020, 12, 1)) < dt.timedelta(days=40)


def test_figures_that_the_dialect_lacks_are_refused_before_anything_runs(
    pair: tuple[Dataset, SparkTable],
) -> None:
    from lamella.core.query.figure_rows import figure_rows

    with (
        figure_rows(pair[1].query(), Job()) as table,
        pytest.raises(BadQuery, match="cannot be computed on Spark Connect") as caught,
    ):
        table.read("SELECT damerau_levenshtein('a', 'b') AS d", {})
    assert "damerau_levenshtein" in str(caught.value)
