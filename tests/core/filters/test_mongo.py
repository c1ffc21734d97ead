"""Conditions as MongoDB writes them: read into trees, and written in operators that MongoDB has."""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume, given, settings

from lamella.core.errors import BadFilter, UnknownColumn
from lamella.core.filters import And, Filter, Or, Predicate, bind, from_mongo, mask, to_mongo
from lamella.core.filters.expr import DEEPEST, predicates
from lamella.core.filters.operators import OPERATORS
from lamella.core.query.expressions import col
from tests.property.filter_families import FAMILIES, cases
from tests.property.filter_model import expected
from tests.slow_tests import examples

ROWS = pa.table(
    {
        "price": [5, 12, None],
        "cost": [7, 3, 1],
        "name": ["Ada", "xb\nby", None],
        "tags": [["red", "round"], ["red"], None],
        "box": [{"w": 1, "kind": "a"}, {"w": 2, "kind": None}, None],
        "parts": [[{"n": 1, "ok": True}, {"n": 9, "ok": False}], [], None],
        "scores": [[1, 8], [4], [None]],
    }
)


ONE_TYPE = ({"date", "timestamp"}, {"struct", "map"})
"""Words that MongoDB has one type for."""


def rows_found(query: Any) -> list[int]:
    met = mask(bind(from_mongo(query), ROWS.schema, "rows"), ROWS).to_pylist()
    return [row for row, is_met in enumerate(met) if is_met]


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ({}, [0, 1, 2]),
        ({"price": 5}, [0]),
        ({"price": None}, [2]),
        ({"price": {"$ne": None}}, [0, 1]),
        ({"price": {"$ne": 5}}, [1, 2]),
        ({"price": {"$gt": 4, "$lt": 6}}, [0]),
        ({"price": {"$in": [5, None]}}, [0, 2]),
        ({"price": {"$nin": [5, None]}}, [1]),
        ({"price": {"$not": {"$gt": 5}}}, [0, 2]),
        ({"price": {"$mod": [5, 2]}}, [1]),
        ({"price": {"$between": [5, 6]}}, [0]),
        ({"price": {"$exists": False}}, [2]),
        ({"price": {"$type": "int"}}, [0, 1]),
        ({"price": {"$type": ["string", 10]}}, [2]),
        ({"name": {"$regex": "^a", "$options": "i"}}, [0]),
        ({"name": {"$regex": "b.b", "$options": "s"}}, [1]),
        ({"name": {"$regex": "b.b"}}, []),
        ({"name": re.compile("^X", re.IGNORECASE)}, [1]),
        ({"name": {"$not": re.compile("^A")}}, [1, 2]),
        ({"name": {"$regex": re.compile("B.B", re.IGNORECASE), "$options": "s"}}, [1]),
        ({"name": {"$startsWith": "A"}}, [0]),
        ({"tags": {"$all": ["red", "round"]}}, [0]),
        ({"tags": {"$size": 1}}, [1]),
        ({"tags": {"$elemMatch": {"$eq": "round"}}}, [0]),
        ({"tags": {"$elemMatch": {"$in": ["round", "x"]}}}, [0]),
        ({"scores": {"$elemMatch": {"$gt": 3, "$lt": 6}}}, [1]),
        ({"box.w": 2}, [1]),
        ({"box.kind": {"$exists": True}}, [0]),
        ({"box": {"$exists": True}}, [0, 1]),
        ({"box.kind": None}, [1, 2]),
        ({"box": {"w": 1, "kind": "a"}}, [0]),
        ({"box": {"w": 2}}, [1]),
        ({"box": {"$ne": {"w": 2, "kind": None}}}, [0, 2]),
        ({"box": {"$in": [{"w": 2}, {"kind": "a", "w": 1}]}}, [0, 1]),
        ({"tags": ["red"]}, [1]),
        ({"tags": {"$ne": ["red"]}}, [0, 2]),
        ({"tags": {"$in": [["red"], ["red", "round"]]}}, [0, 1]),
        ({"tags": {"$nin": [["red"], None]}}, [0]),
        ({"scores": [None]}, [2]),
        ({"parts": []}, [1]),
        ({"parts": [{"n": 1, "ok": True}, {"n": 9, "ok": False}]}, [0]),
        ({"tags": {"$all": []}}, []),
        ({"tags": {"$in": []}}, []),
        ({"tags": {"$nin": []}}, [0, 1, 2]),
        ({"box": {"$in": []}}, []),
        ({"tags.1": "round"}, [0]),
        ({"parts.0.n": {"$lt": 5}}, [0]),
        ({"parts.1.ok": {"$exists": False}}, [1, 2]),
        ({"name": {"$in": ["Ada", 5]}}, [0]),
        ({"price": "5"}, [0]),
        ({"$not": {"price": 5}}, [1, 2]),
        ({"$not": {"$or": [{"price": 5}, {"cost": 1}]}}, [1]),
        ({"cost": 3, "$not": {"price": {"$gt": 20}}}, [1]),
        ({"parts": {"$elemMatch": {"n": {"$gt": 5}, "ok": False}}}, [0]),
        ({"parts": {"$elemMatch": {"n": {"$gt": 5}, "ok": True}}}, []),
        ({"$or": [{"price": 5}, {"cost": 1}]}, [0, 2]),
        ({"$nor": [{"price": 5}, {"cost": 1}]}, [1]),
        ({"$and": [{"price": 5}, {"cost": 7}], "name": "Ada"}, [0]),
        ({"$expr": {"$lt": ["$price", "$cost"]}}, [0]),
        ({"$expr": {"$gt": ["$name", {"$literal": "$b"}]}}, [0, 1]),
        ({"$expr": {"$and": [{"$gt": ["$price", 4]}, {"$not": [{"$lt": ["$price", "$cost"]}]}]}}, [1]),
    ],
)
def test_a_query_finds_what_it_says(query: Any, rows: list[int]) -> None:
    assert rows_found(query) == rows
    assert rows_found(to_mongo(from_mongo(query))) == rows


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ({"price": {"$gtt": 5}}, r"no operator '\$gtt'.*Did you mean '\$gt'"),
        ({"$text": {"$search": "fox"}}, r"\$text.*table\.search"),
        ({"$andd": []}, r"no operator '\$andd'.*Did you mean '\$and'"),
        ({"price": {"$frobnicate": 5}}, r"There are: \$gt"),
        ({"$and": {"price": 5}}, r"\$and takes a list"),
        ({"price": {"$in": 5}}, r"\$in takes a list, not 5.*Write \[5\]"),
        ({"box": {"w": 1, "$gt": 5}}, "Refer to the field by its path: 'box.w'"),
        ({"price": {}}, r"\{\} is not a number"),
        ({"tags": "red"}, "does not fit column 'tags'"),
        ({"$not": 5}, "not a condition"),
        ({"price": {"$not": 5}}, r"Write \$ne"),
        ({"price": {"$not": {}}}, r"\$not takes operators, not \{\}"),
        ({"$and": []}, r"\$and takes at least one condition"),
        ({"parts": {"$elemMatch": {"$nor": []}}}, r"\$nor takes at least one condition"),
        ({"price": {"$exists": "yes"}}, "takes true or false"),
        ({"name": {"$options": "i"}}, r"needs a \$regex"),
        ({"name": {"$regex": 5}}, "pattern as text"),
        ({"name": {"$regex": "a", "$options": "x"}}, "no flag 'x'"),
        ({"tags": {"$elemMatch": 5}}, r"\$elemMatch takes a condition"),
        ({"$expr": {"$lt": ["$price"]}}, "takes 2 operands"),
        ({"$expr": {"$lt": [5, "$price"]}}, "begins with a column"),
        ({"$expr": {"$add": [1, 2]}}, r"no operator '\$add'"),
        ({5: 1}, "not a name of a column"),
        (5, "not a condition"),
        ({"price": {"$type": {}}}, "no type"),
        ({"price": {"$in": [col("price")]}}, "not a number"),
    ],
)
def test_what_is_no_query_is_refused(query: Any, reason: str) -> None:
    with pytest.raises(BadFilter, match=reason):
        rows_found(query)


@pytest.mark.parametrize("query", [{"box": {"weight": 1}}, {"tags.x": "red"}, {"parts.0.m": 1}])
def test_a_field_that_is_not_there_is_refused(query: Any) -> None:
    with pytest.raises(UnknownColumn, match=r"no column .(box\.weight|tags\.x|parts\.0\.m)"):
        rows_found(query)


def test_a_type_that_is_not_known_is_refused_where_a_column_is_asked() -> None:
    with pytest.raises(BadFilter, match=r"no type 'strng'. There are: number"):
        rows_found({"price": {"$type": "strng"}})


@pytest.mark.parametrize("group", [{"$and": [5]}, {"a": {"$not": 5}}, {"a": {"$elemMatch": 5}}])
def test_queries_nested_too_deep_are_refused(group: dict[str, Any]) -> None:
    query: Any = {"a": 1} if "$and" in group else {"$gt": 1}
    for _ in range(20 * DEEPEST):
        query = {"$and": [query]} if "$and" in group else {next(iter(group["a"])): query}
    with pytest.raises(BadFilter, match="nests groups"):
        from_mongo(query if "$and" in group else {"a": query})


def test_one_of_no_values_in_any_case_is_nothing() -> None:
    tree = col("name").is_in([], ignore_case=True)
    assert to_mongo(tree) == {"name": {"$in": []}}
    assert rows_found(to_mongo(~tree)) == [0, 1, 2]


def test_a_text_that_begins_with_a_dollar_stays_one_beside_columns() -> None:
    tree = col("name").between(col("title"), "$c")
    written = {"$and": [{"$gte": ["$name", "$title"]}, {"$lte": ["$name", {"$literal": "$c"}]}]}
    assert to_mongo(tree) == {"$expr": written}
    assert from_mongo(to_mongo(tree)) == (col("name") >= col("title")) & (col("name") <= "$c")


def test_what_mongodb_has_operators_for_is_written_in_them() -> None:
    tree = (col("price") > 5) & (col("name").contains("a.b") | ~col("tags").has("red"))
    assert to_mongo(tree) == {
        "$and": [
            {"price": {"$gt": 5}},
            {"$or": [{"name": {"$regex": r"a\.b"}}, {"$nor": [{"tags": {"$elemMatch": {"$eq": "red"}}}]}]},
        ]
    }
    assert to_mongo(col("price") < col("cost")) == {"$expr": {"$lt": ["$price", "$cost"]}}
    assert to_mongo(col("tags").elem_match(col("item") > "a")) == {"tags": {"$elemMatch": {"$gt": "a"}}}
    assert (to_mongo(And(())), to_mongo(Or(()))) == ({}, {"$nor": [{}]})


@pytest.mark.parametrize(
    "tree",
    [
        Predicate("name", "gt", ("a",), ignore_case=True),
        col("opens").has_type("time"),
        col("tags").elem_match((col("item") == "a") | (col("item") == "b")),
        Predicate("name", "frobnicate"),
    ],
)
def test_what_mongodb_has_no_operator_for_is_refused(tree: Filter) -> None:
    with pytest.raises(BadFilter, match="MongoDB has no"):
        to_mongo(tree)


@settings(max_examples=examples(50))
@given(case=cases())
def test_written_and_read_again_a_filter_finds_the_same_rows(
    case: tuple[dict[str, list[Any]], Filter],
) -> None:
    cells, tree = case
    try:
        again = from_mongo(to_mongo(tree))
    except BadFilter as error:
        assert "MongoDB has no" in str(error) or "nests groups" in str(error)
        return
    type_words = [set(p.values) for p in predicates(tree) if p.operator == "type"]
    assume(not any(len(words & both) == 1 for words in type_words for both in ONE_TYPE))
    types = {name: FAMILIES[name].type for name in cells}
    rows = pa.table({name: pa.array(values, types[name]) for name, values in cells.items()})
    actual = mask(bind(again, rows.schema, "rows"), rows).to_pylist()
    rows_expected = [{name: values[row] for name, values in cells.items()} for row in range(rows.num_rows)]
    assert actual == [expected(tree, row, types) for row in rows_expected]


def test_every_operator_is_written_or_refused() -> None:
    values = {0: (), 1: ("1",), 2: (1, 0), -1: ("1", "2")}
    for operator in OPERATORS.values():
        value = (col("n") == 1,) if operator.id == "elem_match" else values[operator.arity.value]
        value = ("text",) if operator.id == "type" else value
        assert from_mongo(to_mongo(Predicate("a", operator.id, value))) != And(())
