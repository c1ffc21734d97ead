"""Computed values as text: what is written reads back the same, and mistakes are shown where they stand."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamella import col
from lamella.core.errors import BadFilter, BadQuery, LamellaError, UnknownColumn
from lamella.core.filters.expr import And, Not, Or, Predicate, Reference
from lamella.core.query.expression_text import LONGEST, expression_text, parse_expression
from lamella.core.query.expressions import (
    Call,
    ColumnReference,
    Condition,
    Constant,
    Expression,
    call,
    coalesce,
    expression_of,
    when,
)
from lamella.core.query.functions.table import FUNCTIONS
from tests.slow_tests import examples

TYPES = {
    "distance": pa.int64(),
    "air_time": pa.float64(),
    "dep_delay": pa.float64(),
    "carrier": pa.string(),
    "odd name": pa.int32(),
    "day": pa.date32(),
    "time_hour": pa.timestamp("us", "UTC"),
    "late": pa.bool_(),
    "when": pa.int64(),
}
delay, distance, carrier = col("dep_delay"), col("distance"), col("carrier")


@pytest.mark.parametrize(
    ("text", "expression"),
    [
        ("distance / air_time", distance / col("air_time")),
        ("distance/air_time/2", distance / col("air_time") / 2),
        ("round(dep_delay / 60, 1)", (delay / 60).round(1)),
        ("ROUND(dep_delay)", delay.round()),
        ("upper(carrier)", carrier.upper()),
        ('"odd name" * 2', col("odd name") * 2),
        ("year(time_hour)", col("time_hour").year()),
        ("1 + 2 * 3", call("add", 1, call("multiply", 2, 3))),
        ("(1 + 2) * 3", call("multiply", call("add", 1, 2), 3)),
        ("distance -1", distance - 1),
        ("distance - -1", distance - -1),
        ("distance // 7 % 3", distance // 7 % 3),
        ("-distance ** 2", -(distance**2)),
        ("-2 ^ 2", -call("power", 2, 2)),
        ("2 ** 3 ** 2", call("power", 2, call("power", 3, 2))),
        ("carrier || '''s'", carrier + "'s"),
        ("concat(carrier, '-', carrier)", carrier + "-" + carrier),
        ("substring(carrier, 1, 2)", carrier.substring(0, 2)),
        ("day + 1", col("day") + 1),
        ("day - 2013-01-31", col("day") - dt.date(2013, 1, 31)),
        ("day -2013-01-31", col("day") - dt.date(2013, 1, 31)),
        ("time_hour - duration '90 min'", None),
        ("date_trunc('month', day)", col("day").truncate("month")),
        ("ifnull(dep_delay, 0)", coalesce(delay, 0)),
        ("cast(distance as double)", distance.cast("float64")),
        ("cast(distance as decimal(10, 2))", distance.cast("decimal(10, 2)")),
        ("when dep_delay > 60 then 'late' else 'on time'", when(delay > 60, "late", "on time")),
        ("if(dep_delay > 60, 'late', 'on time')", when(delay > 60, "late", "on time")),
        (
            "CASE WHEN dep_delay > 60 THEN 'very' WHEN dep_delay > 0 THEN 'late' END",
            when(delay > 60, "very", when(delay > 0, "late")),
        ),
        ("when late then 1 else 2", call("when", col("late"), 1, 2)),
        ("dep_delay > 60 and carrier = 'AA'", expression_of((delay > 60) & (carrier == "AA"))),
        ("dep_delay % 2 = 1", expression_of(delay.mod(2, 1))),
        ("dep_delay % 2", delay % 2),
        ("carrier ~ /a.c/i or late is true", None),
        ("not (dep_delay > 1 or dep_delay < 0)", expression_of(~((delay > 1) | (delay < 0)))),
        ('"when" > 5', expression_of(col("when") > 5)),
        ("coalesce(dep_delay > 5, false)", coalesce(delay > 5, False)),
        ("true", Constant(True)),
        ("null", Constant(None)),
        ("-inf", Constant(float("-inf"))),
    ],
)
def test_a_text_is_read_and_its_own_text_reads_back(text: str, expression: Any) -> None:
    actual = parse_expression(text, TYPES if text != "time_hour - duration '90 min'" else None)
    if expression is not None:
        assert actual == expression_of(expression)
    assert parse_expression(expression_text(actual)) == actual


@pytest.mark.parametrize(
    ("text", "kind", "marked", "reason"),
    [
        ("", BadQuery, "", "It is empty"),
        ("distance /", BadQuery, "", "A value is missing here"),
        ("distnce * 2", UnknownColumn, "distnce", "Did you mean 'distance'?"),
        ("uper(carrier)", BadQuery, "uper", "Did you mean 'upper'"),
        ("1 + upper(distance)", BadQuery, "upper(distance)", "It takes text"),
        ("upper(carrier, carrier)", BadQuery, "upper", "is given 2 values"),
        ("substring(carrier, 0, 1)", BadQuery, "substring(carrier, 0, 1)", "(from 1)"),
        ("round(1", BadQuery, "(", "never closed"),
        ("1 + )", BadQuery, ")", "A value is expected here"),
        ("1 2", BadQuery, "2", "'2' is not expected here"),
        ("round(distance 2)", BadQuery, "2", "'2' is not expected here"),
        ("year(day) = 2013", BadQuery, "=", "compute the value as a column first"),
        ("distance > 5 + 1", BadQuery, "+", "does not go on a condition"),
        ("late and distance > 1", BadQuery, "late", "late is true"),
        ("distance > 'x'", BadFilter, "'x'", ""),
        ("distance > 1 and carier = 'x'", UnknownColumn, "carier", "Did you mean 'carrier'?"),
        ("when distance > 1 1", BadQuery, "1", "'then' is expected here"),
        ("case when distance > 1 then 1", BadQuery, "", "'end' is expected here"),
        ("'abc", BadFilter, "'", "no end"),
        ("distance || distance", BadQuery, "||", "joins texts"),
        ("__import__('os').system('x')", LamellaError, ".", ""),
        ("cast(distance as foo)", LamellaError, "foo", "no type 'foo'"),
    ],
)
def test_a_mistake_is_shown_where_it_stands(text: str, kind: type, marked: str, reason: str) -> None:
    with pytest.raises(kind) as raised:
        parse_expression(text, TYPES)
    assert raised.value.span is not None
    start, stop = raised.value.span
    assert text[start:stop] == marked
    assert reason in str(raised.value)


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("text", ["(" * 5_000 + "1" + ")" * 5_000, "1" + "+1" * 5_000, "-" * 5_000 + "1"])
def test_what_nests_too_deep_is_refused(text: str) -> None:
    with pytest.raises(BadQuery, match="200 deep"):
        parse_expression(text)


def test_what_is_too_long_is_refused() -> None:
    with pytest.raises(BadQuery, match="20,000 characters"):
        parse_expression("1 + 1" + " " * LONGEST)


def test_what_cannot_be_written_is_refused() -> None:
    for odd in (Call("nothing", (Constant(1),)), Call("upper", ()), Constant([1])):
        with pytest.raises(BadQuery):
            expression_text(odd)
    deep: Expression = ColumnReference("a")
    for _ in range(300):
        deep = -deep
    with pytest.raises(BadQuery, match="200 deep"):
        expression_text(deep)


NAMES = st.sampled_from(
    ["a", "b.c", "odd name", 'q"', "when", "end", "and", "true", "7up", "é", "in", "is", ""]
)
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**20), 10**20),
    st.floats(),
    st.text(max_size=6),
    st.dates(),
    st.datetimes().map(lambda moment: moment.replace(fold=0)),
    st.datetimes(timezones=st.just(dt.UTC)).map(lambda moment: moment.replace(fold=0)),
    st.times().map(lambda moment: moment.replace(fold=0)),
    st.decimals(allow_nan=False, allow_infinity=False, places=3, min_value=-(10**6), max_value=10**6),
    st.binary(max_size=4),
    st.timedeltas(),
    st.just(Decimal("1E+3")),
)
PREDICATES = st.one_of(
    st.builds(
        lambda name, operator, value: Predicate(name, operator, (value,)),
        NAMES,
        st.sampled_from(["eq", "ne", "gt", "lte"]),
        st.integers() | st.text(max_size=4) | st.dates() | st.builds(Reference, NAMES),
    ),
    st.builds(lambda name, values: Predicate(name, "in", tuple(values)), NAMES, st.lists(st.integers())),
    st.builds(
        lambda name, pattern: Predicate(name, "regex", (pattern,), True), NAMES, st.sampled_from(["a/b", "x"])
    ),
    st.builds(lambda name: Predicate(name, "is_null"), NAMES),
    st.builds(lambda name: Predicate(name, "between", (-1, 2)), NAMES),
    st.builds(lambda name: Predicate(name, "mod", (7, -2)), NAMES),
    st.builds(lambda name, p: Predicate(name, "elem_match", (p,)), NAMES, st.just(col("item") > 1)),
)
FILTERS = st.recursive(
    PREDICATES,
    lambda inner: st.one_of(
        st.builds(Not, inner),
        st.builds(lambda parts: And(tuple(parts)), st.lists(inner, max_size=3)),
        st.builds(lambda parts: Or(tuple(parts)), st.lists(inner, max_size=3)),
    ),
    max_leaves=4,
)


def _calls(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    of_two = [f.id for f in FUNCTIONS.values() if f.least <= 2 <= f.most]
    of_one = [f.id for f in FUNCTIONS.values() if f.least <= 1 <= f.most]
    condition = st.builds(Condition, FILTERS)
    return st.one_of(
        st.builds(call, st.sampled_from(of_two), inner, inner),
        st.builds(call, st.sampled_from(of_one), inner),
        st.builds(call, st.just("when"), condition | inner, inner, inner),
        st.builds(call, st.just("replace"), inner, inner, inner),
        st.builds(
            lambda text, start: call("substring", text, start, 2), inner, st.integers(0, 9).map(Constant)
        ),
        st.builds(call, st.just("least"), inner, inner, inner),
    )


EXPRESSIONS = st.recursive(
    st.one_of(st.builds(ColumnReference, NAMES), st.builds(Constant, VALUES), st.builds(Condition, FILTERS)),
    _calls,
    max_leaves=12,
)


@settings(max_examples=examples(50), deadline=None)
@given(EXPRESSIONS)
def test_every_expression_reads_back_from_its_text(expression: Expression) -> None:
    assert parse_expression(expression_text(expression)) == expression


@settings(max_examples=examples(50), deadline=None)
@given(st.text(alphabet="ab1 .'\"()+-*/,=<>%^|whentlsdi", max_size=30))
def test_no_text_raises_anything_else(text: str) -> None:
    try:
        parse_expression(text, TYPES)
    except LamellaError:
        return
