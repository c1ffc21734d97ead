"""Charts as figures: each against what pandas makes of the same rows."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from lamella import Store
from lamella.core.errors import BadQuery, Cancelled
from lamella.core.jobs import Job
from lamella.core.query import figure_rows
from lamella.core.query.builder import Query, query_of
from lamella.core.query.charts import ChartData, ChartSpec, read_chart, suggest
from lamella.core.query.charts import reading as charts
from lamella.core.query.charts.dimensions import NULL, OTHERS, Dimension
from lamella.core.query.charts.spec import TITLES
from lamella.core.query.expressions import col
from lamella.core.query.source import SnapshotSource
from lamella.core.scan.snapshot import snapshot_of_rows

ROWS = 3_000
rng = np.random.default_rng(7)
DAYS = pd.date_range("2021-01-01", periods=400, freq="D").to_numpy()


def query_of_rows(rows: pa.Table) -> Query:
    return query_of(SnapshotSource(snapshot_of_rows(rows, "rows")))


@pytest.fixture(scope="module")
def rows() -> pa.Table:
    delay = rng.normal(10, 30, ROWS).round(1)
    moments = pa.array(rng.choice(DAYS, ROWS) + rng.integers(0, 86_400, ROWS).astype("timedelta64[s]"))
    return pa.table(
        {
            "hour": pa.array(rng.integers(5, 24, ROWS), pa.int32()),
            "delay": pa.array(delay, mask=rng.random(ROWS) < 0.05),
            "distance": pa.array(rng.integers(80, 5_000, ROWS), pa.int64()),
            "rate": pa.array(rng.choice([0.5, 1.0, 2.5], ROWS)),
            "carrier": pa.array(rng.choice(["UA", "B6", "it's", 'a "b"'], ROWS, p=[0.5, 0.3, 0.15, 0.05])),
            "origin": pa.array(rng.choice(["EWR", "JFK", None], ROWS)),
            "tail": pa.array([f"N{n}" for n in rng.zipf(1.5, ROWS) % 500]),
            "ok": pa.array(rng.random(ROWS) < 0.3),
            "moment": moments.cast(pa.timestamp("us")),
            "zoned": moments.cast(pa.timestamp("ms", "UTC")).cast(pa.timestamp("ms", "Europe/Berlin")),
            "day": moments.cast(pa.date32()),
            "price": pa.array(
                [Decimal(int(n)) / 100 for n in rng.integers(0, 10_000, ROWS)], pa.decimal128(9, 2)
            ),
            "took": pa.array(rng.integers(0, 7_200, ROWS), pa.duration("s")),
            "clock": pa.array(rng.integers(0, 86_400, ROWS), pa.int32()).cast(pa.time32("s")),
        }
    )


@pytest.fixture(scope="module")
def frame(rows) -> pd.DataFrame:
    return rows.to_pandas()


def chart(rows: pa.Table, kind: str, **words) -> ChartData:
    return read_chart(query_of_rows(rows), ChartSpec(kind, **words))


def by_value(data: ChartData, name: str = "value") -> dict:
    """Figures by the values of their places."""
    lows = [{p.key: p.low for p in d.places} for d in (data.panels, data.color, data.x, data.y) if d]
    names = [n for n in ("panels", "color", "x", "y") if n in data.table.column_names]
    by_key = {}
    for row in data.table.to_pylist():
        key = tuple(low[row[n]] for low, n in zip(lows, names, strict=True))
        by_key[key if len(key) > 1 else key[0]] = row[name]
    return by_key


FUNCTIONS = {
    "sum": "sum", "mean": "mean", "median": "median", "min": "min", "max": "max", "distinct": "nunique",
    "count": "count",
}  # fmt: skip


@pytest.mark.parametrize("aggregate", FUNCTIONS)
def test_bars_are_aggregates_of_the_values_of_each_text(rows, frame, aggregate):
    data = chart(rows, "bar", x="carrier", measure="delay", aggregate=aggregate)
    expected = frame.dropna(subset="delay").groupby("carrier").delay.agg(FUNCTIONS[aggregate]).to_dict()
    assert by_value(data) == pytest.approx(expected)
    assert data.used == frame.delay.notna().sum() and data.rows == ROWS
    assert data.left_out == (("delay is null", int(frame.delay.isna().sum())),)
    assert list(by_value(data, "rows").values()) and sum(by_value(data, "rows").values()) == data.used


def test_bars_of_texts_stand_by_their_height_and_those_of_numbers_in_their_order(rows, frame):
    tall = [place.low for place in chart(rows, "bar", x="carrier").x.places]
    assert tall == list(frame.carrier.value_counts().index)
    hours = [place.low for place in chart(rows, "bar", x="hour").x.places]
    assert hours == sorted(frame.hour.unique())


@pytest.mark.parametrize("measure", ["price", "took", "ok", "distance"])
def test_a_mean_is_of_decimals_spans_truth_and_whole_numbers_too(rows, frame, measure):
    data = chart(rows, "bar", x="hour", measure=measure, aggregate="mean")
    plain = frame[measure].dt.total_seconds() if measure == "took" else frame[measure].astype(float)
    assert by_value(data) == pytest.approx(plain.groupby(frame.hour).mean().to_dict())


def test_a_line_has_the_band_of_its_means(rows, frame):
    data = chart(rows, "line", x="hour", measure="delay", aggregate="mean", color="origin")
    groups = frame.dropna(subset="delay").assign(
        origin=lambda f: f.origin.astype(object).where(f.origin.notna(), None)
    )
    expected = (
        groups.groupby(["origin", "hour"], dropna=False).delay.agg(["mean", "std", "count"]).reset_index()
    )
    low = {
        (None if pd.isna(r.origin) else r.origin, r.hour): r["mean"] - 1.96 * r["std"] / math.sqrt(r["count"])
        for _, r in expected.iterrows()
    }
    assert by_value(data, "low") == pytest.approx(low)
    assert [place.low for place in data.color.places] == [*groups.origin.dropna().value_counts().index, None]


UNITS = {"hour": "h", "day": "D", "week": "W-SUN", "month": "M", "quarter": "Q", "year": "Y"}


@pytest.mark.slow(except_every=3)
@pytest.mark.parametrize("unit", UNITS)
def test_moments_are_put_together_by_units_of_time(rows, frame, unit, monkeypatch):
    monkeypatch.setitem(charts.WANTED_UNITS, "line", 100_000)
    monkeypatch.setattr(charts, "MOST_CELLS", 100_000)
    data = chart(rows, "line", x="moment", unit=unit)
    expected = frame.groupby(frame.moment.dt.to_period(UNITS[unit]).dt.start_time).size()
    assert {pd.Timestamp(key): n for key, n in by_value(data).items()} == expected.to_dict()
    assert data.x.unit == unit
    lefts = [place.left for place in data.x.places]
    assert lefts == sorted(lefts) and all(p.left < p.right for p in data.x.places)


def test_moments_of_a_zone_are_put_together_by_its_clock(rows, frame):
    data = chart(rows, "bar", x="zoned", unit="month")
    expected = frame.groupby([frame.zoned.dt.year, frame.zoned.dt.month]).size()
    assert {(key.year, key.month): n for key, n in by_value(data).items()} == expected.to_dict()


def test_a_unit_that_is_too_fine_gives_way_to_the_next_one_and_that_is_said(rows):
    data = chart(rows, "bar", x="moment", unit="hour")
    assert data.x.unit == "week"
    assert any("By week: by hour there would be" in remark for remark in data.remarks)


def test_a_histogram_counts_each_value_once_in_ranges_of_a_round_width(rows, frame):
    for name in ("delay", "distance", "price"):
        data = chart(rows, "histogram", x=name)
        values = frame[name].dropna().astype(float)
        for row in data.table.to_pylist():
            place = data.x.place(row["x"])
            assert row["rows"] == ((values >= float(place.low)) & (values < float(place.high))).sum()
        assert data.used == len(values) == sum(data.table["rows"].to_pylist())
        width = float(data.x.places[0].high - data.x.places[0].low)
        assert 10 <= len(data.x) <= charts.MOST_BARS
        assert float(f"{width:e}".partition("e")[0]) in (1, 2, 5)


@pytest.mark.parametrize("kind", [pa.float64(), pa.decimal128(9, 4)])
def test_a_histogram_of_one_fraction_is_one_bar_of_that_name(kind):
    for color in ("", "t"):
        rows = pa.table({"v": pa.array([1.5, None, 1.5, 1.5]).cast(kind), "t": ["a", "b", "a", "b"]})
        data = chart(rows, "histogram", x="v", color=color)
        (place,) = data.x.places
        assert float(place.low) == 1.5 and place.high is None and place.left < 1.5 < place.right
        assert data.used == 3 and sum(data.table["rows"].to_pylist()) == 3


def test_one_value_far_away_leaves_the_others_apart():
    values = pa.table({"v": pa.array([*rng.normal(0, 1, 2_000), 500.0])})
    data = chart(values, "histogram", x="v")
    assert len(data.table) > 3 and len(data.x) <= charts.MOST_BARS


def test_a_log_axis_has_ranges_by_powers_and_leaves_out_what_it_lacks():
    values = pa.table({"v": [0.0, -5.0, 1.0, 10.0, 100.0, 1_000.0, math.nan]})
    data = chart(values, "histogram", x="v", log_x=True)
    assert data.used == 4
    assert dict(data.left_out) == {"v is NaN or infinite": 1, "v is 0 or less, which a log scale lacks": 2}
    assert data.x.log and data.x.places[0].left == pytest.approx(0) and data.x.places[-1].right > 3


def test_boxes_are_quartiles_and_whiskers(rows, frame):
    data = chart(rows, "box", x="carrier", y="delay")
    for name, values in frame.dropna(subset="delay").groupby("carrier").delay:
        q1, middle, q3 = values.quantile([0.25, 0.5, 0.75])
        inside = values[(values >= q1 - 1.5 * (q3 - q1)) & (values <= q3 + 1.5 * (q3 - q1))]
        expected = {
            "least": values.min(), "low": inside.min(), "q1": q1, "value": middle, "q3": q3,
            "high": inside.max(), "greatest": values.max(), "outliers": len(values) - len(inside),
            "rows": len(values),
        }  # fmt: skip
        actual = {figure: by_value(data, figure)[name] for figure in expected}
        assert actual == pytest.approx(expected)
    assert len(chart(rows, "box", y="delay").table) == 1


def test_cells_of_a_heat_map(rows, frame):
    data = chart(rows, "heat_map", x="hour", y="carrier", measure="delay", aggregate="max")
    expected = frame.dropna(subset="delay").groupby(["hour", "carrier"]).delay.max().to_dict()
    assert by_value(data) == pytest.approx(expected)


def test_few_rows_are_points_and_many_are_densities(rows, frame, monkeypatch):
    points = chart(rows, "scatter", x="distance", y="delay", color="carrier")
    assert points.shows_points and points.color is not None
    expected = frame.dropna(subset="delay")
    assert sorted(
        zip(points.table["at_x"].to_pylist(), points.table["at_y"].to_pylist(), strict=True)
    ) == sorted(zip(expected.distance.astype(float), expected.delay, strict=True))
    monkeypatch.setattr(charts, "MOST_POINTS", 100)
    dense = chart(rows, "scatter", x="distance", y="delay", color="carrier")
    assert not dense.shows_points and dense.color is None and dense.used == len(expected)
    assert any("carrier" in remark for remark in dense.remarks)


def test_panels_and_colours_split_the_rows(rows, frame):
    data = chart(rows, "bar", x="hour", color="ok", panels="origin")
    origin = frame.origin.astype(object).where(frame.origin.notna(), None)
    expected = frame.groupby([origin.fillna("none"), "ok", "hour"]).size()
    actual = {("none" if p is None else p, c, x): n for (p, c, x), n in by_value(data).items()}
    assert actual == expected.to_dict()


def test_numbers_and_moments_as_colours_are_ranges(rows):
    for name in ("distance", "delay", "moment", "zoned", "day", "took", "clock", "price"):
        data = chart(rows, "line", x="hour", color=name)
        assert 2 <= len(data.color) <= 10, name
        assert sum(data.table["rows"].to_pylist()) == ROWS


def test_numbers_with_a_fraction_that_are_few_stand_by_themselves(rows):
    data = chart(rows, "line", x="rate")
    assert [place.low for place in data.x.places] == [0.5, 1.0, 2.5]
    assert [place.at for place in data.x.places] == [0.5, 1.0, 2.5]
    assert all(place.right - place.left == 0.5 for place in data.x.places), "bars do not cover each other"


def test_the_most_frequent_of_very_many_values_and_the_others(rows):
    many = pa.table({"v": pa.array([*(f"v{n}" for n in range(50_000)), *["often"] * 100, "x" * 10_000])})
    data = chart(many, "bar", x="v")
    assert len(data.x) == 30 and data.x.others == 50_002 - 29
    assert data.x.places[0].low == "often" and data.x.places[-1].key == OTHERS
    assert data.used == data.rows == len(many)
    assert any("29 most frequent of 50,002" in remark for remark in data.remarks)
    assert all(place.low is None or len(place.low) < 100 for place in data.x.places)


@pytest.mark.parametrize("aggregate", ["sum", "max", "distinct"])
def test_of_very_many_values_the_highest_bars_are_shown(aggregate):
    many = pa.table({"v": [f"v{n % 100}" for n in range(300)], "m": [(n % 100) * n for n in range(300)]})
    expected = getattr(many.to_pandas().groupby("v").m, FUNCTIONS[aggregate])().nlargest(29)
    data = chart(many, "bar", x="v", measure="m", aggregate=aggregate)
    heights = [
        data.table["value"][n].as_py() for n, key in enumerate(data.table["x"].to_pylist()) if key >= 0
    ]
    assert sorted(heights, reverse=True) == expected.to_list()
    assert any("29 highest of 100 values" in remark for remark in data.remarks)


CASES = [
    ("bar", {"x": "carrier"}), ("bar", {"x": "tail"}), ("bar", {"x": "ok"}), ("bar", {"x": "rate"}),
    ("bar", {"x": "hour"}), ("histogram", {"x": "distance"}), ("histogram", {"x": "delay"}),
    ("histogram", {"x": "distance", "log_x": True}), ("histogram", {"x": "price"}),
    ("line", {"x": "moment", "unit": "month"}), ("line", {"x": "zoned", "unit": "week"}),
    ("line", {"x": "day", "unit": "quarter"}), ("histogram", {"x": "clock"}), ("histogram", {"x": "took"}),
    ("histogram", {"x": "moment"}), ("line", {"x": "hour", "color": "origin"}),
    ("line", {"x": "hour", "color": "tail"}), ("line", {"x": "hour", "color": "delay"}),
    ("line", {"x": "hour", "color": "day"}),
]  # fmt: skip


@pytest.mark.slow(except_every=3)
@pytest.mark.parametrize(("kind", "words"), CASES)
def test_the_condition_of_a_place_finds_the_rows_that_it_counts(rows, kind, words):
    data, query = chart(rows, kind, **words), query_of_rows(rows)
    name, column = ("color", data.color) if data.color is not None else ("x", data.x)
    counts: dict[int, int] = {}
    for row in data.table.to_pylist():
        counts[row[name]] = counts.get(row[name], 0) + row["rows"]
    places = [place for place in column.places if place.key in counts]
    for place in [*places[:4], *places[-3:]]:
        condition = column.filter_of([place])
        assert condition is not None
        assert query.where(condition).count() == counts[place.key], place
    together = column.filter_of(places[1:3])
    assert query.where(together).count() == sum(counts.get(p.key, 0) for p in places[1:3])


def test_a_brush_touches_places():
    data = chart(pa.table({"v": [1, 2, 3, 4, 5]}), "bar", x="v")
    assert [p.low for p in data.x.range_between(1.6, 3.4)] == [2, 3]
    assert data.x.range_between(20, 30) == ()


@pytest.mark.slow(after=2)
@pytest.mark.parametrize("kind", TITLES)
def test_rows_that_cannot_be_drawn_leave_an_empty_chart(kind):
    for values in (
        pa.array([], pa.float64()), pa.array([None, None], pa.float64()),
        pa.array([math.nan, math.inf, -math.inf], pa.float64()),
    ):  # fmt: skip
        rows = pa.table({"v": values, "w": values, "t": pa.array(["a"] * len(values), pa.string())})
        words = {"x": "v", "y": "w"} if kind in ("scatter", "heat_map") else {"x": "v"}
        words = {"x": "t", "y": "v"} if kind == "box" else words
        words |= {"measure": "w", "aggregate": "mean"} if kind in ("line", "bar", "area") else {}
        data = chart(rows, kind, **words)
        assert (data.used, data.rows, len(data.table)) == (0, len(values), 0)
        assert bool(data.left_out) == bool(len(values))
        assert data.figures().num_rows == 0


@pytest.mark.parametrize("kind", TITLES)
def test_one_value_is_drawn(kind):
    rows = pa.table({"v": [2.5, 2.5, math.inf], "w": [7, 7, 7], "t": ["a", "a", "a"]})
    words = {"x": "v", "y": "w"} if kind in ("scatter", "heat_map") else {"x": "v"}
    data = chart(rows, kind, **({"x": "t", "y": "v"} if kind == "box" else words))
    assert data.used == 2
    assert dict(data.left_out) == {"v is NaN or infinite": 1}


def test_means_leave_out_infinities_and_say_so():
    rows = pa.table({"t": ["a", "a", "b"], "v": [1.0, math.inf, 3.0]})
    data = chart(rows, "bar", x="t", measure="v", aggregate="mean")
    assert by_value(data) == {"a": 1.0, "b": 3.0}
    assert dict(data.left_out) == {"v is NaN or infinite": 1}


def test_the_greatest_numbers_of_a_type_have_places():
    for kind, values in ((pa.uint64(), [0, 2**64 - 1]), (pa.int64(), [-(2**63), 2**63 - 1])):
        data = chart(pa.table({"v": pa.array(values, kind)}), "histogram", x="v")
        assert data.used == 2
    for kind in ("histogram", "bar"):
        data = chart(pa.table({"v": [-1.7e308, 1.7e308]}), kind, x="v")
        assert data.used == 2
        assert all(
            math.isfinite(end) for place in data.x.places for end in (place.left, place.at, place.right)
        )


def test_moments_outside_pythons_calendar_have_places_without_a_condition():
    far = pa.array([-(10**17), 0, 2 * 10**17], pa.timestamp("us"))
    data = chart(pa.table({"v": far}), "bar", x="v", unit="year")
    assert data.used == 3
    assert data.x.filter_of([data.x.places[0]]) is None
    moments = pa.array([n * 10**17 for n in range(-20, 20)], pa.timestamp("us"))
    colors = chart(pa.table({"k": [1] * 40, "v": moments}), "bar", x="k", color="v").color
    assert colors.filter_of([colors.places[0]]) is None


PROBLEMS = [
    (ChartSpec("bar"), "Choose a column for X"),
    (ChartSpec("bar", "gone"), "'gone' no longer exists"),
    (ChartSpec("histogram", "carrier"), "takes numbers or times"),
    (ChartSpec("scatter", "delay"), "Choose a column for Y"),
    (ChartSpec("bar", "hour", measure="carrier", aggregate="mean"), "The mean takes numbers"),
    (ChartSpec("bar", "hour", aggregate="sum"), "Choose a column for the sum"),
    (ChartSpec("pie", "hour"), "type of chart"),
    (ChartSpec("bar", "hour", aggregate="mode"), "aggregate"),
    (ChartSpec("line", "moment", unit="fortnight"), "unit of time"),
]


@pytest.mark.parametrize(("spec", "says"), PROBLEMS)
def test_what_a_chart_lacks_is_said(rows, spec, says):
    with pytest.raises(BadQuery, match=says):
        read_chart(query_of_rows(rows), spec)


def test_nested_columns_are_refused():
    rows = pa.table({"k": [1, 2], "v": [[1], [2]], "n": pa.nulls(2)})
    for name in ("v", "n"):
        for roles in ({"x": name}, {"x": "k", "color": name}, {"x": "k", "panels": name}):
            with pytest.raises(BadQuery, match="single values"):
                chart(rows, "bar", **roles)


def test_a_chart_is_of_the_rows_of_all_steps(rows, frame):
    query = query_of_rows(rows).where(col("hour") < 12).compute(late=col("delay") * 2).limit(500, 10)
    data = read_chart(query, ChartSpec("bar", "carrier", measure="late", aggregate="sum"))
    expected = frame[frame.hour < 12].iloc[10:510].dropna(subset="delay")
    assert by_value(data) == pytest.approx((expected.groupby("carrier").delay.sum() * 2).to_dict())


class Noting:
    """A connection that notes what it is asked."""

    def __init__(self, connection, statements: list[str]) -> None:
        self._connection, self._statements = connection, statements

    def sql(self, text: str):
        self._statements.append(text)
        return self._connection.sql(text)

    def __getattr__(self, name: str):
        return getattr(self._connection, name)


def test_another_chart_of_the_same_rows_does_not_measure_its_columns_again(rows, monkeypatch):
    query, statements = query_of_rows(rows), list[str]()
    cursor = figure_rows.query_cursor

    @contextmanager
    def noted(place: str, job: Job) -> Iterator[Noting]:
        with cursor(place, job) as connection:
            yield Noting(connection, statements)

    monkeypatch.setattr(figure_rows, "query_cursor", noted)
    read_chart(query, ChartSpec("histogram", "distance"))
    assert len(statements) == 2
    read_chart(query, ChartSpec("histogram", "distance", color="ok"))
    assert len(statements) == 5 and "min(" not in statements[2]
    read_chart(query, ChartSpec("histogram", "distance"))
    assert len(statements) == 6


def test_a_change_of_the_table_is_in_the_next_chart(tmp_path):
    with Store.open(tmp_path / "s") as store:
        table = store.create_table("t", pa.table({"a": ["x", "y"], "n": [1, 2]}))
        spec = ChartSpec("bar", "a", measure="n", aggregate="sum")
        assert by_value(read_chart(table.query(), spec)) == {"x": 1, "y": 2}
        table.insert(pa.table({"a": ["x"], "n": [10]}))
        assert by_value(read_chart(table.query(), spec)) == {"x": 11, "y": 2}


def test_a_cancelled_job_reads_no_chart(rows):
    job = Job()
    job.cancel()
    with pytest.raises(Cancelled):
        read_chart(query_of_rows(rows), ChartSpec("bar", "carrier"), job)


def test_progress_is_reported(rows):
    shares: list[float] = []
    job = Job(lambda progress: shares.append(progress.done / progress.total))
    read_chart(query_of_rows(rows), ChartSpec("bar", "carrier"), job)
    assert shares and all(0 <= share <= 1 for share in shares)


def test_figures_have_the_values_in_place_of_keys(rows):
    figures = chart(rows, "line", x="hour", measure="delay", aggregate="mean", color="origin").figures()
    assert figures.column_names == ["origin", "hour", "mean(delay)", "rows", "low", "high"]
    assert figures.schema.field("hour").type == pa.int32()
    assert chart(rows, "histogram", x="distance").figures().column_names == [
        "distance from", "distance to below", "rows",
    ]  # fmt: skip
    answer = chart(rows, "bar", x="tail").figures()
    assert answer["tail"].to_pylist().index("others") == len(answer) - 1
    twice = chart(rows, "bar", x="ok", color="ok").figures()
    assert twice.column_names == ["ok", "ok 2", "rows"]
    points = chart(rows, "scatter", x="distance", y="delay").figures()
    assert points.column_names == ["distance", "delay"] and len(points) > 2_000
    colored = chart(rows, "scatter", x="distance", y="delay", color="carrier", panels="ok").figures()
    assert colored.column_names == ["ok", "carrier", "distance", "delay"]
    assert set(colored["carrier"].to_pylist()) == set(rows["carrier"].to_pylist())


def test_figures_of_points_have_values_whatever_the_scale(rows):
    names = ["distance", "delay", "day", "moment"]
    first = rows.select(names).slice(0, 200)
    first = first.filter(pc.is_valid(first["delay"]))
    logged = chart(first, "scatter", x="distance", y="delay", log_x=True).figures()
    assert sorted(logged["distance"].to_pylist()) == sorted(first["distance"].to_pylist())
    for name in ("day", "moment"):
        figures = chart(first, "scatter", x=name, y="delay").figures()
        assert sorted(figures[name].to_pylist()) == sorted(first[name].to_pylist())


def test_a_chart_comes_back_from_json():
    spec = ChartSpec("line", "hour", measure="delay", aggregate="mean", color="origin", log_y=True)
    assert ChartSpec.from_json(spec.to_json()) == spec
    assert ChartSpec("bar", "a").to_json() == {"kind": "bar", "x": "a"}
    for bad in (None, {}, {"kind": "bar", "wrong": 1}, {"kind": "bar", "x": 5}, {"kind": "pie"}):
        with pytest.raises(BadQuery):
            ChartSpec.from_json(bad)


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["delay"], ChartSpec("histogram", "delay")),
        (["carrier"], ChartSpec("bar", "carrier")),
        (["moment"], ChartSpec("line", "moment")),
        (["distance", "delay"], ChartSpec("scatter", "distance", "delay")),
        (["carrier", "delay"], ChartSpec("bar", "carrier", measure="delay", aggregate="mean")),
        (["carrier", "origin"], ChartSpec("heat_map", "carrier", "origin")),
        (["delay", "moment", "origin"],
         ChartSpec("line", "moment", measure="delay", aggregate="mean", color="origin")),
        (["distance", "delay", "ok"], ChartSpec("scatter", "distance", "delay", color="ok")),
        (["nothing"], ChartSpec("bar")),
    ],
)  # fmt: skip
def test_the_types_of_columns_decide_what_is_drawn(rows, names, expected):
    types = {field.name: field.type for field in rows.schema}
    assert suggest(names, types) == expected


@pytest.mark.slow(except_every=3)
@pytest.mark.parametrize("before", TITLES)
@pytest.mark.parametrize("after", TITLES)
def test_another_type_of_chart_of_the_same_columns_can_be_drawn(rows, before, after):
    types = {field.name: field.type for field in rows.schema}
    specs = {
        "histogram": ChartSpec("histogram", "delay", color="origin"),
        "scatter": ChartSpec("scatter", "distance", "delay", color="carrier"),
        "box": ChartSpec("box", "carrier", "delay"),
        "heat_map": ChartSpec("heat_map", "hour", "carrier", measure="delay", aggregate="mean"),
    }
    first = specs.get(before, ChartSpec(before, "hour", measure="delay", aggregate="mean", color="origin"))
    assert first.problem(types) == ""
    spec = first.as_kind(after, types)
    if spec.problem(types):
        assert after in ("histogram", "scatter") and spec.x != "delay"
    else:
        assert read_chart(query_of_rows(rows), spec).used


def test_rows_without_a_value_are_counted_once_where_a_column_is_along_both_axes(rows, frame):
    data = chart(rows, "heat_map", x="delay", y="delay", measure="delay", aggregate="mean")
    assert data.left_out == (("delay is null", frame.delay.isna().sum()),)


def test_nulls_of_a_colour_are_one_of_its_values(rows, frame):
    data = chart(rows, "line", x="hour", color="origin")
    nulls = sum(r["rows"] for r in data.table.to_pylist() if r["color"] == NULL)
    assert nulls == frame.origin.isna().sum()
    assert isinstance(data.color, Dimension) and data.color.places[-1].key == NULL


@pytest.mark.parametrize("role", ["color", "panels"])
def test_colours_and_panels_leave_out_what_is_no_number_but_keep_nulls(role):
    tint = pa.array([math.nan, math.inf, 1.0, 2.0, None] * 4)
    query = query_of_rows(pa.table({"x": pa.array([1, 2] * 10), "tint": tint}))
    data = read_chart(query, ChartSpec("bar", "x", **{role: "tint"}))
    assert data.left_out == (("tint is NaN or infinite", 8),) and data.used == 12
    assert set(data.figures()["tint"].to_pylist()) == {1.0, 2.0, None}
    only_nan = query_of_rows(pa.table({"x": [1, 2], "tint": [math.nan] * 2}))
    assert read_chart(only_nan, ChartSpec("bar", "x", **{role: "tint"})).figures().num_rows == 0


def test_ranges_are_no_narrower_than_the_numbers_that_they_part():
    query = query_of_rows(pa.table({"x": [1e16, 1e16 + 2, 1e16 + 4] * 20}))
    places = read_chart(query, ChartSpec("histogram", "x")).x.places
    assert all(place.low < place.high for place in places)


def test_days_have_no_hours():
    day = pa.table({"d": pa.array([dt.date(2024, 1, 1), dt.date(2024, 1, 2)])})
    assert chart(day, "line", x="d", unit="hour").x.unit == "day"


def test_size_of_points_is_a_column_of_numbers():
    rows = pa.table(
        {"lon": [1.0, 2.0, None], "lat": [50.0, 51.0, 52.0], "n": [4, None, 9], "t": ["a", "b", "c"]}
    )
    query = query_of(SnapshotSource(snapshot_of_rows(rows, "places")))
    data = read_chart(query, ChartSpec("scatter", "lon", "lat", size="n"))
    assert data.figures().to_pylist() == [
        {"lon": 1.0, "lat": 50.0, "n": 4.0},
        {"lon": 2.0, "lat": 51.0, "n": None},
    ]
    with pytest.raises(BadQuery, match="size of a point takes numbers"):
        read_chart(query, ChartSpec("scatter", "lon", "lat", size="t"))
    assert "size" not in ChartSpec("bar", "t", size="n").columns
    many = pa.table({"lon": list(range(6000)), "lat": list(range(6000)), "n": list(range(6000))})
    dense = read_chart(
        query_of(SnapshotSource(snapshot_of_rows(many, "m"))), ChartSpec("scatter", "lon", "lat", size="n")
    )
    assert "No sizes by n" in dense.remarks[0] and not dense.shows_points
