"""Conditions and update operators have the same results on a server with MongoDB's protocol and on a
table."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pymongo import MongoClient
from pymongo.collection import Collection
from pymongo.errors import OperationFailure

from lamella import Store
from lamella.core.arrow.documents import whole
from lamella.core.errors import BadFilter, LamellaError
from lamella.core.store import Table

ROWS: list[dict[str, Any]] = [
    {"n": 1, "t": "42", "tags": ["a", "b"], "size": {"h": 1, "w": 2}, "items": [{"name": "p", "n": 1}]},
    {"n": 42, "t": "x", "tags": [], "size": {"h": 1, "w": 3}, "items": []},
    {
        "n": -7,
        "t": "",
        "tags": ["b"],
        "size": {"h": 2, "w": 2},
        "items": [{"name": "q", "n": 5}, {"name": "p", "n": 9}],
    },
    {"tags": ["b", "a"], "size": {"h": 5, "w": 2}, "items": [{"name": "r", "n": 7}]},
    {"n": 8, "t": "42.0"},
]
SAME: list[dict[str, Any]] = [
    {},
    {"n": 42},
    {"n": None},
    {"n": {"$ne": 42}},
    {"n": {"$gt": 0, "$lt": 10}},
    {"n": {"$in": [1, None]}},
    {"n": {"$nin": [1, None]}},
    {"n": {"$not": {"$gt": 5}}},
    {"n": {"$mod": [5, 2]}},
    {"n": {"$mod": [5, -2]}},
    {"n": {"$exists": True}},
    {"n": {"$exists": False}},
    {"n": {"$type": "int"}},
    {"t": {"$regex": "^4"}},
    {"t": {"$regex": "^X", "$options": "i"}},
    {"$and": [{"n": {"$gt": 0}}, {"t": "x"}]},
    {"$or": [{"n": 1}, {"t": "x"}]},
    {"$nor": [{"n": 1}, {"t": "x"}]},
    {"tags": ["a", "b"]},
    {"tags": ["b", "a"]},
    {"tags": []},
    {"tags": {"$eq": ["b"]}},
    {"tags": {"$ne": ["b"]}},
    {"tags": {"$in": [["b"], []]}},
    {"tags": {"$size": 2}},
    {"tags": {"$all": ["a", "b"]}},
    {"tags": {"$all": []}},
    {"tags": {"$not": {"$all": []}}},
    {"n": {"$in": []}},
    {"n": {"$nin": []}},
    {"tags": {"$in": []}},
    {"tags": {"$nin": []}},
    {"size": {"$in": []}},
    {"tags": {"$elemMatch": {"$in": []}}},
    {"tags": {"$elemMatch": {"$nin": []}}},
    {"tags": {"$elemMatch": {}}},
    {"items": {"$elemMatch": {}}},
    {"tags": {"$elemMatch": {"$eq": "a"}}},
    {"tags.0": "b"},
    {"tags.1": "a"},
    {"tags.1": {"$exists": True}},
    {"tags.0": {"$gt": "a"}},
    {"size": {"h": 1, "w": 2}},
    {"size": {"$ne": {"h": 1, "w": 2}}},
    {"size": {"$in": [{"h": 1, "w": 2}, {"h": 5, "w": 2}]}},
    {"size": {"$exists": True}},
    {"size.h": 1},
    {"size.h": {"$exists": True}},
    {"size.h": {"$exists": False}},
    {"size.w": None},
    {"items.0.name": "p"},
    {"items.1.name": "p"},
    {"items.1.n": {"$gte": 9}},
    {"items.0.n": {"$in": [5, 7]}},
    {"items.0.name": {"$exists": False}},
    {"items": [{"name": "p", "n": 1}]},
    {"items": {"$elemMatch": {"name": "p", "n": {"$gt": 5}}}},
    {"$expr": {"$gt": ["$n", 5]}},
]
"""Conditions with the same meaning on both."""
ODD_QUERIES: list[tuple[dict[str, Any], list[int], str]] = [
    ({"n": "42"}, [1], "a value is read as the column's type"),
    ({"t": 42}, [0], "a text equals the number that it is the shortest text of"),
    ({"size": {"w": 2, "h": 1}}, [0], "the order of fields does not count"),
    ({"size": {"h": 1, "w": 2, "z": None}}, [0], "null stands for a missing field"),
    ({"tags": {"$nin": [["b"], []]}}, [0, 3, 4], "the server forgets $nin of lists, of which it knows $in"),
]
"""Conditions with another meaning in Lamella, with the rows that it finds, and the reason."""
ONLY_HERE: list[tuple[dict[str, Any], list[int]]] = [
    ({"$not": {"n": 1}}, [1, 2, 3, 4]),
    ({"$not": {"$or": [{"n": 1}, {"t": "x"}]}}, [2, 3, 4]),
]
"""Conditions that the server refuses, with the rows that Lamella finds."""
REFUSED: list[dict[str, Any]] = [
    {"$and": []},
    {"$or": []},
    {"$nor": []},
    {"items": {"$elemMatch": {"$or": []}}},
    {"n": {"$type": []}},
    {"n": {"$mod": []}},
]
UPDATES: list[dict[str, Any]] = [
    {"$set": {"size": {"h": 9}}},
    {"$set": {"size.h": 9}},
    {"$set": {"tags.0": "z"}},
    {"$pop": {"tags": 1}},
    {"$pop": {"tags": -1, "items": 1}},
    {"$pop": {"nothing": 1}},
    {"$pull": {"tags": "b"}},
    {"$pullAll": {"tags": ["a", "b"]}},
    {"$inc": {"size.w": 2}},
]
WITH_LISTS = {"tags": {"$exists": True}, "size": {"$exists": True}, "n": {"$exists": True}}


@pytest.fixture
def documents(mongodb_uri: str) -> Iterator[Collection[Any]]:
    with MongoClient(mongodb_uri) as client:
        collection = client["filters"]["rows"]
        collection.insert_many([{"_id": number, **row} for number, row in enumerate(ROWS)])
        yield collection
        client.drop_database("filters")


@pytest.fixture
def table(tmp_path: Path) -> Iterator[Table]:
    with Store.open(tmp_path / "store") as store:
        yield store.create_table("rows", [{**row, "nothing": None} for row in ROWS])


def ids(table: Table, query: dict[str, Any]) -> list[int]:
    actual: list[int] = table.read(columns=["_id"], where=query)["_id"].to_pylist()
    return actual


def asked(documents: Collection[Any], query: dict[str, Any]) -> list[int]:
    return sorted(document["_id"] for document in documents.find(query, {"_id": 1}))


def test_conditions_find_what_the_server_finds(documents: Collection[Any], table: Table) -> None:
    differing = {
        str(q): (asked(documents, q), ids(table, q)) for q in SAME if asked(documents, q) != ids(table, q)
    }
    assert differing == {}


def test_conditions_that_mean_something_else_here_find_what_is_documented(
    documents: Collection[Any], table: Table
) -> None:
    for query, rows, why in ODD_QUERIES:
        assert ids(table, query) == rows, why
        assert asked(documents, query) != rows, why


def test_conditions_that_the_server_refuses_are_answered_here(
    documents: Collection[Any], table: Table
) -> None:
    for query, rows in ONLY_HERE:
        assert ids(table, query) == rows
        with pytest.raises(OperationFailure):
            asked(documents, query)


def test_conditions_on_nothing_are_refused_by_both(documents: Collection[Any], table: Table) -> None:
    for query in REFUSED:
        with pytest.raises(OperationFailure):
            asked(documents, query)
        with pytest.raises(BadFilter):
            ids(table, query)


def test_bits_change_as_documented_where_the_server_does_not_know_them(
    documents: Collection[Any], table: Table
) -> None:
    update = {"$bit": {"n": {"and": 7, "or": 8, "xor": 1}}}
    with pytest.raises(OperationFailure, match="Unsupported modifier"):
        documents.update_many({}, update)
    table.update_where(None, update)
    numbers = [((row.get("n") or 0) & 7 | 8) ^ 1 for row in ROWS]
    assert table.read(columns=["n"])["n"].to_pylist() == numbers


@pytest.mark.parametrize("update", UPDATES, ids=str)
def test_update_operators_change_what_the_server_changes(
    documents: Collection[Any], table: Table, update: dict[str, Any]
) -> None:
    documents.update_many(WITH_LISTS, update)
    try:
        table.update_where(WITH_LISTS, update)
    except LamellaError as error:
        pytest.fail(f"{update}: {error}")
    assert [known(row) for row in documents.find().sort("_id")] == [
        known(row) for row in table.read().to_pylist()
    ]


def known(row: dict[str, Any]) -> dict[str, Any]:
    """Return a document without nulls, which stand for missing fields."""
    return {name: value for name, value in cleaned(whole(row)).items() if value is not None}


def cleaned(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: cleaned(inner) for name, inner in value.items() if inner is not None}
    return [cleaned(inner) for inner in value] if isinstance(value, list) else value
