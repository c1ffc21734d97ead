"""Typed texts of the filter row are parsed as conditions, and written back."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pytest

from lamella import col
from lamella.core.filters import Filter, bind
from lamella.ui.filters.filter_row import typed_condition, written_condition
from lamella.ui.filters.tree import Condition, Problem, from_filter

SCHEMA = pa.schema(
    {
        "n": pa.int16(),
        "x": pa.float64(),
        "name": pa.string(),
        "day": pa.date32(),
        "late": pa.bool_(),
        "stops": pa.list_(pa.string()),
        "at": pa.struct({"city": pa.string()}),
    }
)
TYPES = dict(zip(SCHEMA.names, SCHEMA.types, strict=True))
DAY = dt.date(2013, 1, 31)


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("n", ">5", col("n") > 5),
        ("n", " >= 5 ", col("n") >= 5),
        ("n", "<5", col("n") < 5),
        ("n", "<=5", col("n") <= 5),
        ("n", "<>5", col("n") != 5),
        ("n", "5", col("n") == 5),
        ("n", "=1, 2", col("n").is_in([1, 2])),
        ("n", "-5~-1", col("n").between(-5, -1)),
        ("n", "=null", col("n").is_null()),
        ("day", ">=2013-01-31", col("day") >= DAY),
        ("name", "=NULL", col("name").is_null()),
        ("name", "<> null", col("name").not_null()),
        ("name", "ua", col("name").contains("ua", ignore_case=True)),
        ("name", "1~9", col("name").contains("1~9", ignore_case=True)),
        ("name", '">5"', col("name").contains(">5")),
        ("name", '"say ""x"""', col("name").contains('say "x"')),
        ("name", "=UA", col("name") == "UA"),
        ("name", '=""', col("name") == ""),
        ("name", '="Paris, France"', col("name") == "Paris, France"),
        ("name", "<>AA, UA", col("name").not_in(["AA", "UA"])),
        ("name", ">M", col("name") > "M"),
        ("name", "/^A.*[0-9]$/", col("name").matches("^A.*[0-9]$")),
        ("name", r"/a\/b/i", col("name").matches("a/b", ignore_case=True)),
        ("late", "True", col("late").is_true()),
        ("stops", "JFK", col("stops").has("JFK")),
        ("at", "<>NULL", col("at").not_null()),
    ],
)
def test_a_text_is_a_condition_and_is_written_like_that(name: str, text: str, expected: Filter) -> None:
    condition = typed_condition(text, name, TYPES)
    assert isinstance(condition, Condition)
    assert bind(condition.filter(TYPES), SCHEMA, "t") == bind(expected, SCHEMA, "t")
    (condition_shown,) = from_filter(expected).children
    written = written_condition(condition_shown, TYPES)
    assert written.replace(" ", "").lower() == text.replace(" ", "").lower()


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("n", "soon", "'soon' is not a number"),
        ("n", ">", "needs a value"),
        ("n", "1~x", "'x' is not a number"),
        ("name", "=", "needs a value"),
        ("name", "/(/", "unclosed bracket"),
        ("day", "x", "write a date"),
        ("late", "maybe", "maybe"),
        ("at", "Oslo", "does not apply"),
        ("gone", "1", "no column"),
    ],
)
def test_what_cannot_be_read_says_why(name: str, text: str, reason: str) -> None:
    actual = typed_condition(text, name, TYPES)
    assert isinstance(actual, Problem) and reason in actual.reason


@pytest.mark.parametrize(
    "unwritable",
    [
        col("name").starts_with("A"),
        col("name").is_in(["a"], ignore_case=True),
        col("stops").elem_match(col("item") > "A"),
        col("n") < col("x"),
        col("stops") == ["JFK"],
    ],
)
def test_what_no_text_asks_is_not_written(unwritable: Filter) -> None:
    for node in from_filter(unwritable).conditions():
        assert written_condition(node, TYPES) is None


def test_an_empty_text_asks_nothing() -> None:
    assert typed_condition("  ", "n", TYPES) is None
