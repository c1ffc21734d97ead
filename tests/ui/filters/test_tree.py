"""The filter as it is edited: nothing that is typed is lost, nothing unfinished is asked."""

from __future__ import annotations

import datetime as dt
import json
import math
from decimal import Decimal

import pyarrow as pa
import pytest

from lamella.core.errors import BadFilter
from lamella.core.filters import Filter, bind
from lamella.core.query.expressions import col
from lamella.ui.filters.tree import (
    Condition,
    Group,
    Problem,
    from_filter,
    from_json,
    join_list,
    quick,
    split_list,
    text_of,
    to_json,
)

SCHEMA = pa.schema(
    [
        ("dep_delay", pa.int16()),
        ("carrier", pa.string()),
        ("time_hour", pa.timestamp("us", "America/New_York")),
        ("distance", pa.float64()),
        ("fare", pa.decimal128(8, 2)),
        ("late", pa.bool_()),
        ("raw", pa.binary()),
    ]
)
TYPES = dict(zip(SCHEMA.names, SCHEMA.types, strict=True))
NAN = math.nan


@pytest.mark.parametrize(
    "filter",
    [
        col("dep_delay") > 60,
        (col("dep_delay") > 60) & col("carrier").is_in(["AA", "U,A", 'say "x"', "", " b "]),
        (col("carrier") == "") | col("carrier").contains('"') | col("carrier").like("A%", ignore_case=True),
        ~((col("dep_delay") > 1) & (col("late").is_true() | ~(col("distance") > 5))),
        col("time_hour").between("2013-01-01", dt.datetime(2013, 2, 1, 5, 30)),
        (col("distance") == NAN) & (col("fare") <= Decimal("1.10")) & (col("raw") == b"\0\xff"),
        col("carrier").is_null() & (col("time_hour") != dt.datetime(2013, 1, 1, tzinfo=dt.UTC)),
    ],
)
def test_a_filter_shown_and_read_back_is_the_same(filter: Filter) -> None:
    bound = bind(filter, SCHEMA, "flights")
    assert bind(from_filter(filter).filter(TYPES), SCHEMA, "flights") == bound
    saved = from_json(json.loads(json.dumps(to_json(from_filter(bound)))))
    assert bind(saved.filter(TYPES), SCHEMA, "flights") == bound


@pytest.mark.parametrize(
    ("filter", "operator"),
    [
        (~(col("carrier") == "AA"), "ne"),
        (~col("carrier").not_in(["AA"]), "in"),
        (~col("late").is_null(), "not_null"),
    ],
)
def test_the_opposite_of_one_condition_is_shown_as_one(filter: Filter, operator: str) -> None:
    (condition,) = from_filter(filter).children
    assert isinstance(condition, Condition)
    assert condition.operator == operator


def test_what_is_off_or_unfinished_is_left_out() -> None:
    tree = Group(
        [
            Condition("dep_delay", "gt", ["60"], on=False),
            Condition("dep_delay", "lt", [""]),
            Condition("dep_delay", "lt", ["soon"]),
            Group([Condition("carrier", "eq", ["AA"])], on=False),
            Group([]),
        ]
    )
    assert tree.filter(TYPES) is None
    tree.children[0].on = True
    assert tree.filter(TYPES) == (col("dep_delay") > 60)


@pytest.mark.parametrize(
    ("condition", "place", "reason"),
    [
        (Condition(), "column", "choose a column"),
        (Condition("carier", "eq", ["AA"]), "column", "Did you mean 'carrier'"),
        (Condition("dep_delay", "gt", ["soon"]), "value", "'soon' is not a number"),
        (Condition("dep_delay", "between", ["1"]), "value", "needs a value"),
        (Condition("carrier", "regex", ["("]), "value", "unclosed bracket"),
    ],
)
def test_a_problem_names_its_field(condition: Condition, place: str, reason: str) -> None:
    problem = condition.bind(TYPES)
    assert isinstance(problem, Problem)
    assert problem.place == place
    assert reason in problem.reason


def test_moving_keeps_every_condition() -> None:
    first, two, three = (Condition("dep_delay", "gt", [str(n)]) for n in range(3))
    tree = Group([first, two, three])
    tree.wrap(two)
    assert tree.filter(TYPES) == (col("dep_delay") > 0) & (col("dep_delay") > 1) & (col("dep_delay") > 2)
    inner = tree.children[1]
    assert isinstance(inner, Group)
    assert inner.children == [two]
    tree.unwrap(two)
    assert tree.children == [first, two, three]
    tree.move(three, -1)
    assert tree.children == [first, three, two]
    tree.remove(first)
    assert tree.children == [three, two]


def test_removing_the_last_condition_removes_its_group() -> None:
    inside = Condition("dep_delay", "gt", ["1"])
    tree = Group([Group([Group([inside])])])
    tree.remove(inside)
    assert tree.children == []


def test_json_keeps_what_is_off_and_unfinished() -> None:
    tree = Group(
        [
            Condition("dep_delay", "gt", ["so"], on=False),
            Group([Condition()], is_conjunction=False, is_negated=True, on=False),
        ]
    )
    again = from_json(json.loads(json.dumps(to_json(tree))))
    assert to_json(again) == to_json(tree)
    condition, group = again.children
    assert (condition.on, condition.texts) == (False, ["so"])  # type: ignore[union-attr]
    assert (group.is_conjunction, group.is_negated, group.on) == (False, True, False)  # type: ignore[union-attr]


@pytest.mark.parametrize("wrong", [None, {}, {"every": 1}, {"column": "a", "operator": "eq", "texts": []}])
def test_json_of_something_else_is_refused(wrong: object) -> None:
    with pytest.raises(BadFilter, match="cannot be read"):
        from_json(wrong)


@pytest.mark.parametrize("values", [["AA"], ["a,b", 'c"d', ""], [" x "], ["line\nbreak"]])
def test_lists_read_back(values: list[str]) -> None:
    assert split_list(join_list(values)) == values


def test_a_literal_pair_of_quotes_stays_what_it_is_until_somebody_types() -> None:
    tree = from_filter(col("carrier") == '""')
    assert tree.filter(TYPES) == (col("carrier") == '""')
    (condition,) = tree.conditions()
    condition.type_in(['""'])
    assert tree.filter(TYPES) == (col("carrier") == "")


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("", []),
        (" , ", []),
        ("AA,UA", ["AA", "UA"]),
        (' "a, b" ,"", c d ', ["a, b", "", "c d"]),
        ('"open, end', ['"open', "end"]),
    ],
)
def test_lists_as_people_type_them(text: str, values: list[str]) -> None:
    assert split_list(text) == values


@pytest.mark.parametrize(
    ("text", "name", "meant"),
    [
        (">5", "dep_delay", ("gt", ["5"])),
        (" >= 5 ", "dep_delay", ("gte", ["5"])),
        ("<>7", "dep_delay", ("ne", ["7"])),
        ("1~9", "dep_delay", ("between", ["1", "9"])),
        ("-5~-1", "dep_delay", ("between", ["-5", "-1"])),
        ("=NULL", "carrier", ("is_null", [])),
        ("!= null", "carrier", ("not_null", [])),
        (">2013-01-01", "time_hour", ("gt", ["2013-01-01"])),
        (">5", "carrier", None),
        ("5", "dep_delay", None),
    ],
)
def test_quick_operators(text: str, name: str, meant: tuple[str, list[str]] | None) -> None:
    assert quick(text, TYPES[name]) == meant


def test_moments_are_written_without_needless_zeros() -> None:
    assert text_of(dt.datetime(2013, 1, 1)) == "2013-01-01"
    assert text_of(dt.datetime(2013, 1, 1, 5, tzinfo=dt.UTC)) == "2013-01-01 05:00:00+00:00"
