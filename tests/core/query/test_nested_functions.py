"""Functions that need a value more than once are nested as deep as any other."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest

from lamella import Store, agg, col
from lamella.core.query.expressions import Expression, call, coalesce, when
from lamella.core.query.fields import Field, Fields
from lamella.core.query.functions.table import type_expression

ZONE = ZoneInfo("Europe/Berlin")
ROWS = pa.table(
    {
        "n": pa.array([-1_000_003, -7, 0, 8, 999_983, None], pa.int64()),
        "f": [-1e6, -7.25, 0.0, 8.5, 999_983.75, None],
        "d": pa.array([Decimal(text) for text in ("-1000.03", "-7", "0", "8.5", "99.83")] + [None]),
        "t": pa.array([dt.datetime(2024, 3, 31, hour, 30, tzinfo=dt.UTC) for hour in range(5)] + [None]).cast(
            pa.timestamp("us", "Europe/Berlin")
        ),
    }
)
DEPTHS = (5, 30)
MOST_CHARACTERS_A_CALL = 1000


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    with Store.open(tmp_path_factory.mktemp("nested") / "s") as store:
        yield store.create_table("t", ROWS)


def nested(value: Any, depth: int, step: Callable[[Any, int], Any]) -> Any:
    for place in range(depth):
        value = step(value, place)
    return value


CASES: dict[str, tuple[str, Callable[[Any, int], Any]]] = {
    "% of whole numbers": ("n", lambda x, place: x % (10_007 - place)),
    "// of whole numbers": ("n", lambda x, place: x // (1 + place % 2)),
    "% in the divisor": ("n", lambda x, place: (1_000_003 - place) % x),
    "// in the divisor": ("n", lambda x, place: (1_000_003 - place) // x),
    "% of floats": ("f", lambda x, place: x % (10_007.5 - place)),
    "// of floats": ("f", lambda x, place: x // (1 + place % 2)),
    "% of decimals": ("d", lambda x, place: x % Decimal(1007 - place)),
}


@pytest.mark.slow(after=2)
@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("case", CASES)
def test_nested_divisions_are_what_python_makes_of_them(table, case, depth):
    name, step = CASES[case]
    actual = table.compute(made=nested(col(name), depth, step)).read().column("made").to_pylist()
    assert actual == [python(value, depth, step) for value in ROWS.column(name).to_pylist()]


def python(value: Any, depth: int, step: Callable[[Any, int], Any]) -> Any:
    """Python's own decimals cut off where its other numbers round down."""
    if isinstance(value, Decimal):
        return Decimal(float(python(Fraction(value), depth, lambda x, n: x % (1007 - n)))).quantize(value)
    try:
        return None if value is None else nested(value, depth, step)
    except (ZeroDivisionError, ArithmeticError):
        return None


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("depth", DEPTHS)
def test_nested_beginnings_of_days_are_that_of_the_day(table, depth):
    expression = nested(col("t"), depth, lambda x, _: x.truncate("day"))
    actual = table.compute(made=expression).read().column("made").to_pylist()
    days = [time and time.astimezone(ZONE).replace(hour=0, minute=0) for time in ROWS.column("t").to_pylist()]
    assert actual == days


REPEATING: dict[str, Callable[[Any, int], Any]] = {
    **{case: step for case, (_, step) in CASES.items()},
    "power": lambda x, _: x**1.5,
    "sqrt": lambda x, _: x.sqrt(),
    "ln": lambda x, _: x.ln(),
    "round": lambda x, place: x.round(place % 5),
    "casts": lambda x, place: x.cast("float64" if place % 2 else "decimal(20, 4)"),
    "one type of two": lambda x, place: coalesce(x.cast("int64"), 0.5),
    "when": lambda x, place: when(col("n") > place, (x // 2).cast("int64"), 0.5),
}


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("case", REPEATING)
def test_the_text_of_nested_calls_grows_with_their_number(case):
    fields = Fields("t", tuple(Field(field.name, field.type, f"c{n}") for n, field in enumerate(ROWS.schema)))
    expression = nested(col("f") if case != "% of decimals" else col("d"), 60, REPEATING[case])
    assert len(type_expression(expression, fields).value.sql.sql("duckdb")) < 60 * 3 * MOST_CHARACTERS_A_CALL


def test_a_value_that_is_not_chosen_is_not_computed(table):
    long: Expression = nested(col("n"), 10, lambda x, place: x % (10_007 - place))
    wrong = call("multiply", long + 2**62, 4)
    answer = table.compute(made=when(col("n").is_null(), wrong, 1), other=coalesce(1, wrong)).read()
    assert set(answer.column("made").to_pylist() + answer.column("other").to_pylist()) <= {1, None}


def test_nested_divisions_are_aggregated_grouped_and_asked_for(table):
    long = nested(col("n"), 12, CASES["% of whole numbers"][1])
    expected = [
        python(number, 12, CASES["% of whole numbers"][1]) for number in ROWS.column("n").to_pylist()[:5]
    ]
    sums = table.agg(sum=agg.sum(long), most=agg.max(long)).read().to_pylist()
    assert sums == [{"sum": sum(expected), "most": max(expected)}]
    groups = table.group_by(key=long).agg(n=agg.count()).where("key >= 0").read()
    assert groups.column("key").to_pylist() == sorted(set(expected))
    assert not any(math.isnan(key) for key in groups.column("key").to_pylist())
