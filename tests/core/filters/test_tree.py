"""Trees: built with Python operators, equal by content, and of any size."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamella.core.errors import BadFilter
from lamella.core.filters import (
    And,
    Not,
    Or,
    Predicate,
    all_of,
    any_of,
    bind,
    from_json,
    mask,
    parse,
    to_json,
    to_sql,
    to_text,
)
from lamella.core.filters.expr import DEEPEST
from lamella.core.query.expressions import col

SCHEMA = pa.schema([("a", pa.int64()), ("b", pa.string())])
ROWS = pa.table({"a": [1, 7, 9_999, None], "b": ["x", "y", "x", "x"]}, schema=SCHEMA)


def rows_found(tree: object) -> list[int]:
    where = to_sql(bind(tree, SCHEMA, "rows"), {"a": "a", "b": "b"}).sql("duckdb")  # type: ignore[arg-type]
    with duckdb.connect() as engine:
        engine.register("rows", ROWS)
        rows = engine.execute(f"SELECT a FROM rows WHERE {where} ORDER BY a").fetchall()
    return [a for (a,) in rows]


def test_python_operators_build_the_tree_they_read_like() -> None:
    tree = (col("a") > 60) & (col("b") == "AA") | ~(col("a") != 3)
    assert tree == Or(
        (
            And((Predicate("a", "gt", (60,)), Predicate("b", "eq", ("AA",)))),
            Not(Predicate("a", "ne", (3,))),
        )
    )


def test_groups_of_one_kind_stay_flat() -> None:
    tree = (col("a") > 1) & (col("a") > 2) & ((col("a") > 3) & (col("a") > 4))
    assert isinstance(tree, And)
    assert [p.values for p in tree.children] == [(1,), (2,), (3,), (4,)]  # type: ignore[attr-defined]


def test_equal_trees_are_one_key_even_with_nan() -> None:
    left, right = (
        col("a").is_in([nan]) & ~col("b").is_in(["x", "y"]) for nan in (float("nan"), -float("nan"))
    )
    assert left == right
    assert {left: "found"}[right] == "found"
    assert left != right & (col("a") > 1)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (0.5, Decimal("0.5")),
        (True, 1),
        (dt.datetime(2020, 10, 25, 2, 30), dt.datetime(2020, 10, 25, 2, 30, fold=1)),
        (Decimal("sNaN"), Decimal("NaN")),
    ],
)
def test_values_that_ask_for_other_rows_make_filters_differ(left: object, right: object) -> None:
    assert (col("a") == left) != (col("a") == right)
    assert (col("a") == left) == (col("a") == left)
    assert len({col("a") == left, col("a") == right, col("a") == left}) == 2


def test_comparing_with_none_asks_for_null() -> None:
    assert (col("a") == None) == Predicate("a", "is_null")  # noqa: E711
    assert (col("a") != None) == Predicate("a", "not_null")  # noqa: E711


@pytest.mark.parametrize("wrong", [lambda: (col("a") > 1) and (col("a") < 3), lambda: 1 < col("a") < 3])
def test_words_that_python_would_swallow_are_refused(wrong: object) -> None:
    with pytest.raises(TypeError, match="no truth value"):
        wrong()  # type: ignore[operator]


@pytest.mark.slow
@pytest.mark.parametrize("combine", [any_of, all_of])
def test_thousands_of_terms_run_everywhere(combine: object) -> None:
    if combine is any_of:
        tree = any_of((col("a") == n) & (col("b") == "x") for n in (*range(1_000), 9_999))
    else:
        tree = all_of([*(col("a") != n for n in range(2, 9_999)), col("a") > 0])
    bound = bind(tree, SCHEMA, "rows")
    assert mask(bound, ROWS).to_pylist() == [True, False, True, False]
    assert rows_found(tree) == [1, 9_999]
    assert from_json(json.loads(json.dumps(to_json(tree)))) == tree


@pytest.mark.slow
def test_ten_thousand_terms_joined_one_by_one() -> None:
    tree = col("a") == 0
    for n in range(1, 10_000):
        tree = tree | (col("a") == n)
    assert len(tree.children) == 10_000  # type: ignore[attr-defined]
    assert mask(bind(tree, SCHEMA, "rows"), ROWS).to_pylist() == [True, True, True, False]


def test_groups_as_deep_as_allowed_run_and_deeper_ones_are_refused() -> None:
    tree = col("a") == 7
    for level in range(DEEPEST):
        tree = And((tree, col("b") == "y")) if level % 2 else Or((tree, col("b") == "z"))
    assert rows_found(tree) == [7]
    with pytest.raises(BadFilter, match="nests groups"):
        bind(Not(tree), SCHEMA, "rows")


def test_items_within_items_are_refused_however_they_are_written() -> None:
    levels = DEEPEST + 1
    tree = col("a") == 7
    for _ in range(DEEPEST):
        tree = col("l").elem_match(tree)
    assert from_json(to_json(tree)) == parse(to_text(tree)) == tree
    with pytest.raises(BadFilter, match="nested more than"):
        col("l").elem_match(tree)
    with pytest.raises(BadFilter, match="nested more than"):
        parse("l has item where (" * levels + "a = 7" + ")" * levels)


def test_a_tree_too_deep_to_bind_is_still_hashed_and_compared() -> None:
    tree = twin = col("a") == 7
    for _ in range(20_000):
        tree, twin = Not(tree), Not(twin)
    assert hash(tree) == hash(twin)
    assert tree == twin


VALUES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.binary()
    | st.decimals(allow_nan=False)
    | st.dates()
    | st.times()
    | st.datetimes(timezones=st.none() | st.just(dt.UTC))
)


@given(st.lists(VALUES).map(tuple), st.text(), st.booleans())
def test_json_gives_back_the_same_tree(values: tuple[object, ...], column: str, folds: bool) -> None:
    tree = Not(Or((Predicate(column, "in", values, folds), And(()))))
    again = from_json(json.loads(json.dumps(to_json(tree))))
    assert again == tree
    assert [type(v) for v in again.child.children[0].values] == [type(v) for v in values]  # type: ignore[attr-defined]


def test_nanoseconds_and_the_second_time_of_a_night_are_saved() -> None:
    schema = pa.schema(
        [("w", pa.timestamp("ns")), ("t", pa.time64("ns")), ("z", pa.timestamp("us", "Europe/Rome"))]
    )
    for text in ("w = timestamp '2020-01-01 00:00:00.000000001'", "t = time '00:00:00.000000001'"):
        tree = parse(text)
        assert bind(tree, schema, "rows").exact[0] % 1000 == 1  # type: ignore[attr-defined]
        assert bind(from_json(to_json(tree)), schema, "rows") == bind(tree, schema, "rows")
    tree = col("z") > dt.datetime(2020, 10, 25, 2, 30, fold=1)
    assert from_json(to_json(tree)) == parse(to_text(tree)) == tree


def test_a_decimal_keeps_its_digits_in_json() -> None:
    tree = col("a") == Decimal("1.10")
    assert to_json(tree) == {"column": "a", "operator": "eq", "values": [{"decimal": "1.10"}]}


WRONG = [None, [], {"xor": []}, {"and": 3}, {"column": "a"}, {"and": [], "or": []}]
WRONG_VALUES = [{"decimal": "x"}, {"bytes": "*"}, {"timestamp": "soon"}, {"float": "x"}]
WRONG += [{"column": 5, "operator": "is_null"}, {"column": "a", "operator": []}]
WRONG += [{"column": "a", "operator": "eq", "values": [value]} for value in WRONG_VALUES]


@pytest.mark.parametrize("wrong", WRONG)
def test_json_of_something_else_is_refused(wrong: object) -> None:
    with pytest.raises(BadFilter, match="cannot be read"):
        from_json(wrong)
