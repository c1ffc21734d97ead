"""Aggregations as MongoDB writes them answer as a model in plain Python does, and are refused by name."""

from __future__ import annotations

import datetime as dt
import json
import math
import random

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamella import Store, col, open_dataset
from lamella.core.errors import BadFilter, BadQuery, LamellaError, UnknownColumn, UnknownTable
from lamella.core.query.builder import Query
from tests.core.query import mongo_model
from tests.slow_tests import examples

SCHEMA = pa.schema(
    [
        ("carrier", pa.string()),
        ("delay", pa.float64()),
        ("n", pa.int32()),
        ("day", pa.date32()),
        ("snow", pa.bool_()),
        ("tags", pa.list_(pa.string())),
        ("at", pa.struct([("x", pa.int64()), ("city", pa.string())])),
    ]
)
AIRLINES = [
    {"code": "AA", "name": "American"},
    {"code": "UA", "name": "United"},
    {"code": "AA", "name": "Again"},
]
BEFORE = [
    {"$match": {"n": {"$gte": 0}, "carrier": {"$ne": "B6"}}},
    {"$match": {"$expr": {"$gt": [{"$multiply": ["$n", 2]}, "$at.x"]}}},
    {"$match": {"snow": True, "$expr": {"$in": ["$carrier", ["UA", "AA", None]]}}},
    {"$sort": {"delay": -1, "carrier": 1}},
    {"$sort": {"at.x": 1, "n": -1}},
    {"$skip": 1},
    {"$limit": 4},
    {"$addFields": {"n": "$at.x", "delay": {"$add": ["$n", 0.5]}}},
    {"$set": {"carrier": {"$ifNull": ["$carrier", "$at.city", "none"]}}},
    {"$unwind": "$tags"},
    {"$unwind": {"path": "$tags", "preserveNullAndEmptyArrays": True}},
]
"""Stages that leave the columns what they are, but for lists that are unwound once."""

LAST = [
    {"$group": {"_id": "$carrier", "n": {"$sum": 1}, "late": {"$avg": "$delay"}}},
    {
        "$group": {
            "_id": {"c": "$carrier", "m": {"$month": "$day"}},
            "far": {"$max": "$n"},
            "i": {"$min": "$_id"},
        }
    },
    {"$group": {"_id": None, "n": {"$sum": "$n"}, "all": {"$push": "$carrier"}, "set": {"$addToSet": "$n"}}},
    {"$group": {"_id": "$at.city", "a": {"$first": "$n"}, "z": {"$last": "$delay"}, "c": {"$count": {}}}},
    {
        "$group": {
            "_id": "$snow",
            "s": {"$stdDevSamp": "$n"},
            "p": {"$stdDevPop": "$n"},
            "snow": {"$min": "$n"},
        }
    },
    {"$group": {"_id": {"$gt": ["$n", 3]}, "m": {"$median": {"input": "$n", "method": "approximate"}}}},
    {"$group": {"_id": "$_id", "late": {"$sum": {"$cond": [{"$gt": [{"$abs": "$delay"}, 1]}, 1, 0]}}}},
    {"$project": {"carrier": 1, "at.x": 1}},
    {"$project": {"_id": False, "low": {"$toLower": "$carrier"}, "UP": {"$toUpper": "$at.city"}}},
    {"$project": {"tags": False, "_id": False}},
    {"$project": {"same": {"$eq": ["$n", "$at.x"]}, "other": {"$ne": ["$carrier", "$at.city"]}}},
    {"$project": {"r": {"$mod": ["$n", 3]}, "q": {"$divide": ["$delay", "$n"]}, "w": {"$dayOfWeek": "$day"}}},
    {"$project": {"y": {"$year": "$day"}, "d": {"$dayOfMonth": {"date": "$day"}}, "s": {"$literal": "$x"}}},
    {"$project": {"t": {"$concat": ["$carrier", "-", "$at.city"]}, "c": {"$substrCP": ["$carrier", 1, 1]}}},
    {"$project": {"l": {"$strLenCP": "$carrier"}, "f": {"$subtract": ["$n", {"$multiply": ["$delay", 2]}]}}},
    {
        "$project": {
            "word": {
                "$switch": {
                    "branches": [
                        {"case": {"$lt": ["$n", 0]}, "then": "below"},
                        {"case": {"$and": ["$snow", {"$not": {"$eq": ["$carrier", None]}}]}, "then": "snow"},
                    ],
                    "default": "else",
                }
            },
            "either": {"$cond": {"if": {"$or": ["$snow", {"$lte": [5, "$n"]}]}, "then": "$n", "else": None}},
        }
    },
    {"$addFields": {"n": "$delay", "delay": "$n"}},
    {"$addFields": {"late": {"$ne": ["$n", "$at.x"]}, "n": {"$add": ["$n", 1]}}},
    {"$unset": ["tags", "n"]},
    {"$count": "rows"},
    {"$sortByCount": "$carrier"},
    {"$sortByCount": {"$month": "$day"}},
    {"$bucket": {"groupBy": "$n", "boundaries": [-3, 0, 2, 7]}},
    {
        "$bucket": {
            "groupBy": {"$add": ["$n", "$at.x"]},
            "boundaries": [0, 2.5],
            "default": -1,
            "output": {"c": {"$push": "$_id"}},
        }
    },
]
LOOKUPS = [
    [{"$lookup": {"from": "airlines", "localField": "carrier", "foreignField": "code", "as": name}}, unwind]
    for name in ("airline", "carrier")
    for unwind in (
        {"$unwind": f"${name}"},
        {"$unwind": {"path": f"${name}", "preserveNullAndEmptyArrays": True}},
    )
]

CHOICES = {
    "carrier": ["UA", "AA", "B6", "", None],
    "delay": [None, -2.0, -0.25, 0.0, 1.5, 2.5, 1.5],
    "n": [None, *range(-4, 9)],
    "day": [None, dt.date(2012, 12, 30), dt.date(2013, 1, 1), dt.date(2013, 1, 6), dt.date(2013, 2, 28)],
    "snow": [None, True, False],
    "tags": [None, [], ["a"], ["b", "a"], ["a", "a"]],
    "at": [None, {"x": None, "city": "JFK"}, {"x": 3, "city": None}, {"x": 0, "city": "ewr"}],
}
ROWS = 60


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    chance = random.Random(7)
    with Store.open(tmp_path_factory.mktemp("mongo") / "s") as store:
        store.create_table("airlines", AIRLINES)
        columns = {name: [chance.choice(values) for _ in range(ROWS)] for name, values in CHOICES.items()}
        store.create_table("many", pa.table(columns, SCHEMA))
        yield store


@settings(max_examples=examples(25), deadline=None)
@given(
    st.tuples(st.integers(0, ROWS - 1), st.integers(0, 12)),
    st.lists(st.sampled_from(BEFORE), max_size=3, unique_by=lambda stage: next(iter(stage))),
    st.sampled_from([[last] for last in LAST] + LOOKUPS),
)
def test_answers_are_those_of_plain_python(store, few, before, last):
    stages = [{"$match": {"_id": {"$gte": few[0], "$lt": sum(few)}}}, *before, *last]
    answer = store["many"].aggregate(stages)
    tables = {"airlines": store["airlines"].read().to_pylist()}
    actual = answer.read().to_pylist()
    expected = mongo_model.aggregated(store["many"].read().to_pylist(), stages, tables)
    assert len(actual) == len(expected)
    for actual_row, expected_row in zip(actual, expected, strict=True):
        assert actual_row.keys() == expected_row.keys()
        for name in actual_row:
            assert alike(actual_row[name], expected_row[name]), (name, actual_row, expected_row)
    again = Query.of(json.loads(json.dumps(answer.to_json())), store.__getitem__)
    assert again.pipeline == answer.pipeline


def alike(left, right):
    if isinstance(left, float) and isinstance(right, float | int):
        return math.isclose(left, right, rel_tol=1e-12, abs_tol=1e-12)
    return left == right


@pytest.fixture(scope="module")
def flights(store):
    few = {
        "carrier": ["UA", "AA", "UA", "B6"],
        "delay": [1.0, 2.0, 4.0, None],
        "n": [0, 1, 2, 3],
        "day": [dt.date(2013, 1, 7)] * 4,
        "snow": [None] * 4,
        "tags": [None] * 4,
        "at": [{"x": 1, "city": "JFK"}] * 4,
    }
    return store.create_table("flights", pa.table(few, SCHEMA))


def test_several_percentiles_are_a_column_each(flights):
    part = {"input": "$delay", "method": "approximate"}
    group = {
        "_id": None,
        "p": {"$percentile": {**part, "p": [0, 0.5]}},
        "q": {"$percentile": {**part, "p": [1]}},
    }
    assert flights.aggregate([{"$group": group}]).read().to_pylist() == [
        {"_id": None, "p.0": 1.0, "p.1": 2.0, "q": 4.0}
    ]


def test_facets_and_samples_are_asked_in_stages(flights):
    actual = flights.aggregate(
        [
            {"$skip": 1},
            {
                "$facet": {
                    "first": [{"$limit": 1}, {"$project": {"carrier": 1, "_id": 0}}],
                    "many": [{"$count": "n"}],
                }
            },
        ]
    )
    assert {name: rows.to_pylist() for name, rows in actual.tables().items()} == {
        "first": [{"carrier": "AA"}],
        "many": [{"n": 3}],
    }
    sampled = flights.aggregate([{"$sample": {"size": 2, "seed": 5}}])
    assert sampled.read().equals(flights.query().sample(2, seed=5).read())


def test_columns_are_left_out_whether_the_id_is_named_or_not(flights):
    left = flights.aggregate([{"$project": {"_id": 1, "tags": 0}}]).read()
    assert left.equals(flights.aggregate([{"$unset": "tags"}]).read())
    assert left.column_names == ["_id", *(field.name for field in SCHEMA if field.name != "tags")]


def test_an_item_is_looked_for_in_the_list_of_a_row(store):
    rows = store["many"].aggregate([{"$match": {"$expr": {"$in": ["b", "$tags"]}}}])
    assert rows.read().equals(store["many"].read(where=col("tags").has("b")))


def test_a_date_is_cut_to_its_week_or_month(flights):
    stages = [
        {"$limit": 1},
        {
            "$project": {
                "_id": 0,
                "m": {"$dateTrunc": {"date": "$day", "unit": "month"}},
                "w": {"$dateTrunc": {"date": "$day", "unit": "week", "startOfWeek": "monday"}},
            }
        },
    ]
    assert flights.aggregate(stages).read().to_pylist() == [
        {"m": dt.date(2013, 1, 1), "w": dt.date(2013, 1, 7)}
    ]


def test_a_lookup_may_match_rows_of_the_other_table_first(flights):
    lookup = {"from": "airlines", "localField": "carrier", "foreignField": "code", "as": "a"}
    stages = [{"$lookup": {**lookup, "pipeline": [{"$match": {"name": "Again"}}]}}, {"$unwind": "$a"}]
    assert flights.aggregate(stages).read().column("a.name").to_pylist() == ["Again"]


def test_what_only_filters_sorts_and_cuts_is_found_by_position(flights):
    stages = [{"$match": {"n": {"$gt": 0}}}, {"$sort": {"n": -1}}, {"$skip": 1}, {"$limit": 1}]
    assert flights.aggregate(stages).pipeline == flights.where("n > 0").sort("-n").limit(1, 1).pipeline


def test_queries_and_files_in_place_are_aggregated_too(flights, tmp_path):
    import pyarrow.parquet as pq

    pq.write_table(flights.read(), tmp_path / "f.parquet")
    files = open_dataset(tmp_path / "f.parquet")
    stages = [{"$group": {"_id": "$carrier", "n": {"$sum": 1}}}]
    assert files.aggregate(stages).read().equals(flights.where("n >= 0").aggregate(stages).read())
    with pytest.raises(BadQuery, match="Only tables of the same store"):
        files.aggregate([{"$lookup": {"from": "t", "localField": "n", "foreignField": "n", "as": "t"}},
                         {"$unwind": "$t"}])  # fmt: skip


def group(accumulator):
    return {"$group": {"_id": "$carrier", "n": accumulator}}


LOOKUP = {"from": "airlines", "localField": "carrier", "foreignField": "code", "as": "a"}


@pytest.mark.parametrize(
    ("stage", "error", "said"),
    [
        ({"$grup": {}}, BadQuery, r"no stage '\$grup'.*Did you mean '\$group'"),
        ({"$out": "x"}, BadQuery, r"no stage '\$out'.*store\.create_table"),
        ({"match": {}}, BadQuery, "with a dollar sign"),
        ({"$match": {}, "$limit": 1}, BadQuery, "a dict with one key"),
        ({"$match": {"n": {"$gtt": 1}}}, BadFilter, r"no operator '\$gtt'"),
        ({"$match": {"$text": {"$search": "x"}}}, BadFilter, r"table\.search"),
        ({"$match": []}, BadQuery, "takes a dict"),
        ({"$match": {"$expr": {"$gt": [1, 2]}}}, BadQuery, "compares two constants"),
        ({"$match": {"$expr": {"$in": ["$n", ["$delay"]]}}}, BadQuery, "takes constants"),
        ({"$match": {"$expr": {"$in": ["$n", 3]}}}, BadQuery, "takes a list"),
        ({"$group": {"n": {"$sum": 1}}}, BadQuery, "lacks '_id'"),
        (group({"$summ": 1}), BadQuery, r"no accumulator '\$summ'.*Did you mean '\$sum'"),
        (group({"$top": {}}), BadQuery, r"Put \$sort before"),
        (group({"$push": {"a": "$n"}}), BadQuery, "with a dollar sign"),
        (group({"$count": 1}), BadQuery, "takes nothing"),
        (group({"$sum": "$carrier"}), BadQuery, "'sum' does not fit carrier"),
        (group({"$percentile": {"input": "$n", "p": 0.5}}), BadQuery, "numbers from 0 to 1"),
        (group({"$median": {"input": "$n", "method": "discrete"}}), BadQuery, "'discrete'"),
        (group({"$median": "$n"}), BadQuery, "takes a dict"),
        ({"$sort": {"n": "down"}}, BadQuery, "1 for ascending"),
        ({"$sort": {"m": 1}}, UnknownColumn, "no column 'm'"),
        ({"$limit": 0}, BadQuery, "1 or more"),
        ({"$skip": 1.5}, BadQuery, "whole number"),
        ({"$project": {}}, BadQuery, "takes a dict"),
        ({"$project": {"n": 1, "day": 0}}, BadQuery, "both keeps"),
        ({"$project": {"delai": 1}}, UnknownColumn, "Did you mean 'delay'"),
        ({"$project": {"x": {"$yera": "$day"}}}, BadQuery, r"Did you mean '\$year'"),
        ({"$project": {"x": {"$toInt": "$n"}}}, BadQuery, r"cast\('int32'\)"),
        ({"$project": {"x": {"$year": {"date": "$day", "timezone": "UTC"}}}}, BadQuery, "'timezone'"),
        ({"$project": {"x": {"$year": "$n"}}}, BadQuery, r"'year' does not fit n \(int32\)"),
        ({"$project": {"x": {"$add": []}}}, BadQuery, "takes 1 or more"),
        ({"$project": {"x": {"$cond": {"if": "$snow", "then": 1}}}}, BadQuery, "lacks 'else'"),
        ({"$project": {"x": ["$n"]}}, BadQuery, "list of values cannot be computed"),
        ({"$project": {"x": "$$NOW"}}, BadQuery, r"no variable '\$\$NOW'"),
        ({"$project": {"x": {"$dateTrunc": {"date": "$day", "unit": "week"}}}}, BadQuery, "on Monday"),
        ({"$addFields": {"at.x": 1}}, BadQuery, "inside the column 'at'"),
        ({"$unset": "at.x"}, BadQuery, "inside the column 'at'"),
        ({"$unset": []}, BadQuery, "takes names"),
        ({"$unset": [field.name for field in SCHEMA] + ["_id"]}, BadQuery, "no column would be left"),
        ({"$unwind": "tags"}, BadQuery, r'Write "\$tags"'),
        ({"$unwind": {"path": "$tags", "includeArrayIndex": "i"}}, BadQuery, "'includeArrayIndex'"),
        ({"$count": "$n"}, BadQuery, "takes a name"),
        ({"$sortByCount": "carrier"}, BadQuery, "takes a field"),
        ({"$bucket": {"groupBy": "$n", "boundaries": [2, 1]}}, BadQuery, "the least first"),
        ({"$bucket": {"groupBy": "$n", "boundaries": [1, 2], "default": "rest"}}, BadQuery, "get null"),
        ({"$facet": []}, BadQuery, "takes a dict"),
        ({"$facet": {"a": [{"$fly": 1}]}}, BadQuery, "no stage"),
        ({"$sample": {"size": "2"}}, BadQuery, "whole number"),
        ({"$lookup": LOOKUP}, BadQuery, r'Follow it with {"\$unwind": "\$a"}'),
        ({"$lookup": {**LOOKUP, "let": {}}}, BadQuery, "'let'"),
    ],
    ids=str,
)  # fmt: skip
def test_what_is_not_there_is_refused_by_name(flights, stage, error, said):
    with pytest.raises(error, match=said):
        flights.aggregate([stage]).read()


@pytest.mark.parametrize("stages", [{"$match": {}}, None, "x", [1]], ids=str)
def test_what_is_no_list_of_stages_is_refused(flights, stages):
    with pytest.raises(BadQuery):
        flights.aggregate(stages)


@pytest.mark.parametrize(
    ("change", "error"),
    [({"from": "airline"}, UnknownTable), ({"foreignField": "cod"}, UnknownColumn), ({"as": 1}, BadQuery),
     ({"pipeline": [{"$limit": 1}]}, BadQuery), ({"pipeline": {}}, BadQuery)],
    ids=str,
)  # fmt: skip
def test_a_lookup_that_cannot_be_followed_is_refused(flights, change, error):
    with pytest.raises(error):
        flights.aggregate([{"$lookup": {**LOOKUP, **change}}, {"$unwind": "$a"}]).read()


def test_expressions_nested_without_end_are_refused(flights):
    deep = "$n"
    for _ in range(400):
        deep = {"$abs": deep}
    with pytest.raises(BadQuery, match="deep"):
        flights.aggregate([{"$project": {"x": deep}}])
    for _ in range(400):
        deep = {"$not": [deep]}
    with pytest.raises(LamellaError, match="deep"):
        flights.aggregate([{"$match": {"$expr": deep}}])
