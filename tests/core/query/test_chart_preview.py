"""The preview of a chart: from a sample, near to the chart of all rows, or none."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from lamella import Store, col
from lamella.core.query import cards
from lamella.core.query.agg import count
from lamella.core.query.builder import Query, query_of
from lamella.core.query.charts import ChartSpec, column_scan, prepare_previews, preview_chart, read_chart
from lamella.core.query.source import SnapshotSource
from lamella.core.scan.snapshot import snapshot_of_rows

ROWS = 40_000


@pytest.fixture(scope="module")
def rows() -> Query:
    random = np.random.default_rng(4)
    table = pa.table(
        {
            "number": np.arange(ROWS),
            "value": random.normal(50, 20, ROWS),
            "other": random.normal(0, 1, ROWS),
            "kind": pa.array(random.choice(["a", "b", "c"], ROWS, p=[0.6, 0.3, 0.1])),
        }
    )
    return query_of(SnapshotSource(snapshot_of_rows(table, "rows")))


@pytest.fixture(autouse=True)
def small_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lamella.core.query.charts.preview.LARGE_ROWS", ROWS // 2)
    monkeypatch.setattr(cards, "BLOCK_ROWS", 1_000)


def test_a_preview_is_near_to_the_chart_of_all_rows_and_says_what_it_is(rows):
    spec = ChartSpec("bar", x="kind")
    estimate, exact = preview_chart(rows, spec), read_chart(rows, spec)
    assert estimate.sampled and not exact.sampled
    assert estimate.remarks == ("An estimate from a sample of 8,000 rows; exact figures follow",)
    assert estimate.rows == estimate.used == ROWS
    assert estimate.figures()["kind"].to_pylist() == exact.figures()["kind"].to_pylist() == ["a", "b", "c"]
    assert np.allclose(estimate.figures()["rows"], exact.figures()["rows"], rtol=0.1)


def test_sums_grow_with_the_rows_and_means_do_not(rows):
    for aggregate in ("sum", "mean", "median"):
        spec = ChartSpec("bar", x="kind", measure="value", aggregate=aggregate)
        name = f"{aggregate}(value)"
        estimate, exact = (
            read_figures(rows, spec).figures()[name] for read_figures in (preview_chart, read_chart)
        )
        assert np.allclose(estimate, exact, rtol=0.1), aggregate


def test_a_filter_is_met_by_about_as_many_rows(rows):
    met = rows.where(col("value") > 70)
    spec = ChartSpec("histogram", x="value")
    estimate, exact = preview_chart(met, spec), read_chart(met, spec)
    assert estimate.used == pytest.approx(exact.used, rel=0.1) and estimate.used != exact.used


def test_boxes_of_a_preview_have_the_height_of_all_and_so_many_rows(rows):
    estimate, exact = (
        read_figures(rows, ChartSpec("box", x="kind", y="value")).table
        for read_figures in (preview_chart, read_chart)
    )
    assert np.allclose(estimate["value"], exact["value"], rtol=0.05)
    assert np.allclose(estimate["rows"], exact["rows"], rtol=0.1)


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        (ChartSpec("histogram", x="number"), "in the order of the axis"),
        (ChartSpec("line", x="number", measure="value", aggregate="mean"), "in the order of the axis"),
        (ChartSpec("bar", x="kind", measure="value", aggregate="distinct"), "a sample has fewer values"),
    ],
)
def test_what_a_sample_would_not_show_has_no_preview_chart(rows, spec, why):
    assert preview_chart(rows, spec) is None, why


def test_rows_that_other_steps_make_and_few_rows_have_none(rows):
    spec = ChartSpec("bar", x="kind")
    assert preview_chart(rows.group_by("kind").agg(n=count()), spec) is None
    assert preview_chart(rows.limit(10), spec) is None
    few = rows.limit(100).read()
    assert preview_chart(query_of(SnapshotSource(snapshot_of_rows(few, "few"))), spec) is None


def test_points_are_drawn_when_all_of_them_are_there(rows):
    """If few rows meet a filter, each is a point, and a sample would miss some of them."""
    assert preview_chart(rows.where(col("value") > 110), ChartSpec("scatter", x="value", y="other")) is None


ALONG = ChartSpec("histogram", x="number")
LINE_ALONG = ChartSpec("line", x="number", measure="value", aggregate="mean")


@pytest.fixture
def prepared_rows(rows, monkeypatch: pytest.MonkeyPatch) -> Query:
    monkeypatch.setattr(column_scan, "FEWEST_ROWS", 1)
    for spec in (ALONG, LINE_ALONG):
        prepare_previews(rows, spec)
    return rows


def test_some_of_the_rows_in_the_order_of_an_axis_have_one_after_the_chart_of_all(prepared_rows):
    some = prepared_rows.where(col("value") > 40)
    estimate, exact = preview_chart(some, ALONG), read_chart(some, ALONG)
    assert estimate.sampled and len(estimate.table) == len(exact.table)
    assert estimate.remarks == ("An estimate from a sample of 5,000 rows; exact figures follow",)
    assert estimate.used == pytest.approx(exact.used, rel=0.05)
    assert np.allclose(estimate.table["value"], exact.table["value"], rtol=0.25)
    assert preview_chart(prepared_rows, ALONG) is None, "all rows are counted as fast"


def test_a_preview_along_an_axis_has_enough_rows_in_each_place(prepared_rows):
    assert len(read_chart(prepared_rows, LINE_ALONG).table) == 400
    assert preview_chart(prepared_rows.where(col("value") > 50), LINE_ALONG) is None, "6 rows of the sample"
    assert preview_chart(prepared_rows.where(col("value") > 0), ALONG) is not None, "100 rows of it"


def test_a_preview_along_an_axis_is_of_the_rows_that_are_there_now(tmp_path, monkeypatch):
    monkeypatch.setattr(column_scan, "FEWEST_ROWS", 1)
    random = np.random.default_rng(5)
    with Store.open(tmp_path / "store") as store:
        value = random.normal(50, 20, ROWS)
        rows = store.create_table("rows", pa.table({"number": np.arange(ROWS), "value": value}))
        some = rows.query().where(col("value") > 40)
        prepare_previews(some, ALONG)
        assert preview_chart(some, ALONG) is not None
        rows.delete(where=col("number") < ROWS // 4)
        some = rows.query().where(col("value") > 40)
        assert preview_chart(some, ALONG) is None
        prepare_previews(some, ALONG)
        estimate, exact = preview_chart(some, ALONG), read_chart(some, ALONG)
        assert estimate.x.places[0].low == exact.x.places[0].low == ROWS // 4
        assert estimate.used == pytest.approx(exact.used, rel=0.05)


def test_a_brush_on_a_column_that_was_not_sampled_has_none(prepared_rows):
    assert preview_chart(prepared_rows.where(col("other") > 0), ALONG) is None
