"""Columns computed from others have exact values and types; impossible ones are refused."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

from lamella import Store, col
from lamella.core.errors import BadQuery, UnknownColumn
from lamella.core.query.expressions import Constant, coalesce, greatest, least, when
from lamella.core.query.functions.table import FUNCTIONS

BERLIN = pa.timestamp("us", "Europe/Berlin")
EAST = pa.timestamp("ms", "+02:00")
AT = dt.datetime(2024, 7, 31, 23, 30, tzinfo=dt.UTC)


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    rows = pa.table(
        {
            "i": pa.array([7, -7, None], pa.int64()),
            "j": pa.array([2, 0, 3], pa.int32()),
            "f": [1.5, float("nan"), -0.25],
            "d": pa.array([Decimal("1.25"), None, Decimal("-3.10")], pa.decimal128(10, 2)),
            "s": [" Ab", "", None],
            "day": pa.array([dt.date(2024, 2, 29), None, dt.date(1, 1, 1)]),
            "at": pa.array([AT, None, AT], BERLIN),
            "east": pa.array([AT, None, AT], EAST),
            "clock": pa.array([dt.time(1, 2, 3), None, dt.time(23)], pa.time32("s")),
            "span": pa.array([5, 90, None], pa.duration("s")),
            "huge": pa.array([Decimal("1.5"), None, Decimal("-2")], pa.decimal256(60, 3)),
            "inside": [{"a": 1.0}, {"a": 2.5}, None],
            "items": pa.array([[1, 2], [], None], pa.list_(pa.int64())),
        }
    )
    with Store.open(tmp_path_factory.mktemp("expressions") / "s") as store:
        yield store.create_table("t", rows)


CASES = {
    "add": (col("i") + col("j"), pa.int64(), [9, -7, None]),
    "subtract": (1 - col("i"), pa.int64(), [-6, 8, None]),
    "multiply": (col("d") * col("d"), pa.decimal128(20, 4), [Decimal("1.5625"), None, Decimal("9.61")]),
    "divide": (col("i") / col("j"), pa.float64(), [3.5, None, None]),
    "floor_divide": (col("i") // 2, pa.int64(), [3, -4, None]),
    "modulo": (col("i") % 2, pa.int64(), [1, 1, None]),
    "power": (2 ** col("j"), pa.float64(), [4.0, 1.0, 8.0]),
    "negate": (-col("span"), pa.duration("s"), [dt.timedelta(seconds=-5), dt.timedelta(seconds=-90), None]),
    "abs": (abs(col("d")), pa.decimal128(10, 2), [Decimal("1.25"), None, Decimal("3.10")]),
    "round": (col("d").round(1), pa.decimal128(11, 2), [Decimal("1.30"), None, Decimal("-3.10")]),
    "floor": (col("d").floor(), pa.decimal128(11, 2), [Decimal(1), None, Decimal(-4)]),
    "ceil": (col("j").ceil(), pa.int64(), [2, 0, 3]),
    "sign": (col("i").sign(), pa.int64(), [1, -1, None]),
    "sqrt": ((col("j") - 1).sqrt(), pa.float64(), [1.0, None, pytest.approx(2**0.5)]),
    "ln": (
        col("j").ln(),
        pa.float64(),
        [pytest.approx(0.6931471805599453), None, pytest.approx(1.0986122886681098)],
    ),
    "log10": ((col("i") - 7).log10(), pa.float64(), [None, None, None]),
    "exp": ((col("j") * 0).exp(), pa.float64(), [1.0, 1.0, 1.0]),
    "upper": (col("s").upper(), pa.string(), [" AB", "", None]),
    "lower": (col("s").lower(), pa.string(), [" ab", "", None]),
    "trim": (col("s").trim(), pa.string(), ["Ab", "", None]),
    "length": (col("items").length(), pa.int64(), [2, 0, None]),
    "substring": (col("s").substring(1, 1), pa.string(), ["A", "", None]),
    "replace": (col("s").replace("b", "ü"), pa.string(), [" Aü", "", None]),
    "year": (col("day").year(), pa.int64(), [2024, None, 1]),
    "quarter": (col("at").quarter(), pa.int64(), [3, None, 3]),
    "month": (col("at").month(), pa.int64(), [8, None, 8]),
    "week": (col("day").week(), pa.int64(), [9, None, 1]),
    "day": (col("at").day(), pa.int64(), [1, None, 1]),
    "day_of_year": (col("day").day_of_year(), pa.int64(), [60, None, 1]),
    "weekday": (col("day").weekday(), pa.int64(), [4, None, 1]),
    "hour": (col("east").hour(), pa.int64(), [1, None, 1]),
    "minute": (col("clock").minute(), pa.int64(), [2, None, 0]),
    "second": (col("clock").second(), pa.int64(), [3, None, 0]),
    "date": (col("at").date(), pa.date32(), [dt.date(2024, 8, 1), None, dt.date(2024, 8, 1)]),
    "truncate": (col("day").truncate("week"), pa.date32(), [dt.date(2024, 2, 26), None, dt.date(1, 1, 1)]),
    "coalesce": (coalesce(col("i"), 0.5), pa.float64(), [7.0, -7.0, 0.5]),
    "least": (least(col("i"), col("j")), pa.int64(), [2, -7, 3]),
    "greatest": (greatest(col("i"), 0), pa.int64(), [7, 0, 0]),
    "when": (when(col("i") > 0, "up", when(col("i").is_null(), "none")), pa.string(), ["up", None, "none"]),
    "cast": (col("j").cast("string"), pa.string(), ["2", "0", "3"]),
}


@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_function_gives_what_its_name_says(table, function):
    expression, kind, values = CASES[function]
    column = table.compute(made=expression).select("made").read().column(0)
    assert column.type == kind
    assert column.to_pylist() == values


@pytest.mark.parametrize(
    ("expression", "kind", "first"),
    [
        (col("at") - col("at"), pa.duration("us"), dt.timedelta(0)),
        (col("at") + dt.timedelta(days=1), BERLIN, AT + dt.timedelta(days=1)),
        (col("east") + col("span"), pa.timestamp("us", "+02:00"), AT + dt.timedelta(seconds=5)),
        (col("day") - dt.date(2024, 1, 1), pa.int64(), 59),
        (col("day") + 1, pa.date32(), dt.date(2024, 3, 1)),
        (col("span") * 2, pa.duration("s"), dt.timedelta(seconds=10)),
        (col("span") / col("span"), pa.float64(), 1.0),
        (col("d") + col("i"), pa.decimal128(23, 2), Decimal("8.25")),
        (col("inside.a") * 2, pa.float64(), 2.0),
        (when(col("i") > 0, col("huge")), pa.decimal256(60, 3), Decimal("1.5")),
        (col("day").fill_null("2020-01-01"), pa.date32(), dt.date(2024, 2, 29)),
        (col("east").truncate("day"), EAST, dt.datetime(2024, 7, 31, 22, tzinfo=dt.UTC)),
        (col("i") >= 0, pa.bool_(), True),
    ],
    ids=str,
)
def test_times_decimals_and_conditions_keep_their_types(table, expression, kind, first):
    column = table.compute(made=expression).select("made").read().column(0)
    assert (column.type, column[0].as_py()) == (kind, first)


LAST = 1704067199999999999  # 2023-12-31 23:59:59.999999999


@pytest.mark.parametrize("zone", [None, "UTC", "Africa/Abidjan", "+00:00"])
def test_the_last_nanosecond_of_a_year_belongs_to_it(tmp_path, zone):
    with Store.open(tmp_path / "s") as store:
        table = store.create_table("t", pa.table({"t": pa.array([LAST, -1], pa.timestamp("ns", zone))}))
        at = col("t")
        parts = table.compute(y=at.year(), h=at.hour(), s=at.second(), d=at.date(), b=at.truncate("second"))
        actual = parts.select("y", "h", "s", "d", "b").read()
        assert actual.slice(0, 1).drop_columns(["b"]).to_pylist() == [
            {"y": 2023, "h": 23, "s": 59, "d": dt.date(2023, 12, 31)}
        ]
        assert actual["y"].to_pylist() == [2023, 1969]
        assert actual["b"].cast(pa.int64()).to_pylist() == [1704067199 * 10**9, -(10**9)]
        assert sum(table.profile("t").histogram.counts) == 2


NEW_YORK, HAVANA, LORD_HOWE = "America/New_York", "America/Havana", "Australia/Lord_Howe"


@pytest.mark.parametrize(
    ("zone", "at", "unit", "begins"),
    [
        (NEW_YORK, "2013-11-03 05:30:15.500", "second", "2013-11-03 05:30:15"),
        (NEW_YORK, "2013-11-03 05:30:15.500", "hour", "2013-11-03 05:00:00"),
        (NEW_YORK, "2013-11-03 06:30:15.500", "hour", "2013-11-03 06:00:00"),
        (NEW_YORK, "2013-11-03 05:30:15.500", "day", "2013-11-03 04:00:00"),
        (NEW_YORK, "2013-03-10 07:30:00.000", "hour", "2013-03-10 07:00:00"),
        (HAVANA, "2013-11-03 04:30:00.000", "day", "2013-11-03 04:00:00"),
        (HAVANA, "2013-11-03 05:30:00.000", "day", "2013-11-03 04:00:00"),
        (HAVANA, "2013-11-03 05:30:00.000", "hour", "2013-11-03 05:00:00"),
        (HAVANA, "2013-03-10 05:30:00.000", "day", "2013-03-10 05:00:00"),
        (LORD_HOWE, "2013-04-06 15:10:00.000", "hour", "2013-04-06 14:00:00"),
    ],
)
def test_truncating_tells_an_hour_that_comes_twice_apart(tmp_path, zone, at, unit, begins):
    moment, begin = (dt.datetime.fromisoformat(f"{text}+00:00") for text in (at, begins))
    with Store.open(tmp_path / "s") as store:
        table = store.create_table("t", pa.table({"t": pa.array([moment], pa.timestamp("us", zone))}))
        actual = table.compute(b=col("t").truncate(unit)).read()["b"]
        assert actual.cast(pa.timestamp("us", "UTC")).to_pylist() == [begin]


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        (col("s") + 1, r"'add' does not fit s \(string\) and 1 \(int64\)"),
        (col("huge") * 2, r"'multiply' does not fit huge \(decimal256\(60, 3\)\)"),
        (col("i").year(), r"'year' does not fit i \(int64\)\. It takes a date or a timestamp"),
        (col("day").truncate("hour"), "days have no hours"),
        (when(col("i") > 0, 1, "one"), "'when' does not fit"),
        (col("day").cast("int64"), "'cast' does not fit"),
        (coalesce(None), "would be null in every row"),
        (col("i") + 1j, "cannot be used in a computation"),
    ],
    ids=str,
)
def test_what_does_not_fit_is_named_with_its_type(table, expression, said):
    with pytest.raises(BadQuery, match=said):
        table.compute(made=expression).read()


def test_a_misspelt_column_and_a_field_that_is_not_there_are_told(table):
    with pytest.raises(UnknownColumn, match="Did you mean 'span'"):
        table.compute(made=col("spam") * 2).read()
    with pytest.raises(UnknownColumn, match=r"inside\.b"):
        table.compute(made=col("inside.b") * 2).read()


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        (col("i") * 2**62, "(?i)overflow"),
        (col("f").cast("int64"), r"'int64' cannot hold a value of f: 1\.5"),
        (col("s").cast("int64"), "'int64' cannot hold a value of s"),
    ],
    ids=str,
)
def test_a_value_that_does_not_fit_ends_the_query(table, expression, said):
    with pytest.raises(BadQuery, match=said):
        table.compute(made=expression).read()


def test_an_expression_is_no_condition(table):
    with pytest.raises(BadQuery, match="Give the value a name first"):
        table.where(col("i") + 1 > 2)
    with pytest.raises(TypeError, match="no truth value"):
        bool(col("i") + 1)


def test_too_deep_an_expression_is_refused(table):
    deep = col("i") + 1
    for _ in range(300):
        deep = deep + 1
    with pytest.raises(BadQuery, match="more than 200 deep"):
        table.compute(made=deep).read()


@pytest.mark.parametrize("text", ["a * 2", "a + b", "-a", "abs(a)", "a > 2", "(a + 1) * b", "a.x - 1"])
def test_compute_refuses_text_that_reads_as_computed(tmp_path: Path, text: str) -> None:
    with Store.open(tmp_path / "texts") as store:
        table = store.create_table("t", [{"a": 1, "b": 2}])
        with pytest.raises(BadQuery, match=r"would hold the text .* in every row.*Write it with col\(\)"):
            table.compute(c=text)
        assert table.compute(c=Constant(text)).read()["c"].to_pylist() == [text]


@pytest.mark.parametrize(
    "text", ["a", "", "hello", "2 * 3", "x * 2", "late - evening", "'a' * 2", "a *", "2024-01-01"]
)
def test_compute_takes_other_text_as_a_value(tmp_path: Path, text: str) -> None:
    with Store.open(tmp_path / "texts") as store:
        table = store.create_table("t", [{"a": 1, "b": 2}])
        assert table.compute(c=text).read()["c"].to_pylist() == [text]
