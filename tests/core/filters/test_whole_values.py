"""Whole lists and structs, and items by their number, in every form of a condition and way to find rows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lamella import Store, col, open_dataset
from lamella.core.errors import BadFilter, LamellaError, UnknownColumn
from lamella.core.filters import Filter, from_json, from_mongo, parse, sentence, to_json, to_mongo, to_text
from lamella.core.filters.binding import MOST_WHOLE
from lamella.core.filters.expr import DEEPEST, Predicate
from lamella.core.store import Table

ROWS: list[dict[str, Any]] = [
    {"n": i, "l": [i % 3, None, i], "st": {"x": i % 4, "y z": None, "l": [{"q": i}]}, "g": [[i], [i % 2]]}
    for i in range(40)
]
CASES: list[tuple[Filter, str, Any, list[int]]] = [
    (col("l") == [2, None, 5], "l = [2, null, 5]", {"l": {"$eq": [2, None, 5]}}, [5]),
    (
        col("st") == {"x": 1, "l": [{"q": 5}]},
        "st = {x: 1, l: [{q: 5}]}",
        {"st": {"$eq": {"x": 1, "l": [{"q": 5}]}}},
        [5],
    ),
    (
        (col("st") == {"x": 1, "y z": None, "l": [{"q": 9}]}) & (col("n") > 0),
        'st = {x: 1, "y z": null, l: [{q: 9}]} and n > 0',
        {"$and": [{"st": {"$eq": {"x": 1, "y z": None, "l": [{"q": 9}]}}}, {"n": {"$gt": 0}}]},
        [9],
    ),
    (col("g").is_in([[[3], [1]], []]), "g in ([[3], [1]], [])", {"g": {"$in": [[[3], [1]], []]}}, [3]),
    (
        (col("l") != [0, None, 0]) & (col("n") < 2),
        "l != [0, null, 0] and n < 2",
        {"$and": [{"l": {"$ne": [0, None, 0]}}, {"n": {"$lt": 2}}]},
        [1],
    ),
    (col("st.l.0.q") == 7, "st.l.0.q = 7", {"st.l.0.q": {"$eq": 7}}, [7]),
    (col("g.0.0") == 3, "g.0.0 = 3", {"g.0.0": {"$eq": 3}}, [3]),
    (
        (col("l.0") < col("l.2")) & (col("n") < 4),
        "l.0 < l.2 and n < 4",
        {"$and": [{"$expr": {"$lt": ["$l.0", "$l.2"]}}, {"n": {"$lt": 4}}]},
        [3],
    ),
    (
        col("l.9").is_null() & (col("n") == 8),
        "l.9 is null and n = 8",
        {"$and": [{"l.9": {"$eq": None}}, {"n": {"$eq": 8}}]},
        [8],
    ),
]


@pytest.fixture
def table(tmp_path: Path) -> Iterator[Table]:
    with Store.open(tmp_path / "store") as store:
        yield store.create_table("t", ROWS)


@pytest.mark.slow(except_every=3)
@pytest.mark.parametrize(("where", "text", "query", "rows"), CASES, ids=[text for _, text, *_ in CASES])
def test_whole_values_and_items_mean_the_same_in_every_form(
    table: Table, tmp_path: Path, where: Filter, text: str, query: Any, rows: list[int]
) -> None:
    assert to_text(where) == text and parse(text) == where
    assert to_mongo(where) == query and from_mongo(query) == where
    assert from_json(json.loads(json.dumps(to_json(where)))) == where
    pq.write_table(pa.Table.from_pylist(ROWS), tmp_path / "rows.parquet", row_group_size=10)
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, ROWS)))
    sources = [table, open_dataset(tmp_path / "rows.parquet"), open_dataset(tmp_path / "rows.jsonl")]
    for source in sources:
        assert source.read(columns=["n"], where=where)["n"].to_pylist() == rows
        assert source.where(text).select("n").read()["n"].to_pylist() == rows
    table.indexes.create("n")
    assert table.read(columns=["n"], where=query)["n"].to_pylist() == rows
    table.update_where(None, {"$inc": {"n": 0, "st.x": 4}, "$set": {"new": 1}})
    table.update_where(None, {"$inc": {"st.x": -4}})
    assert table.update_where(where, {"$set": {"new": 2}}).updated == len(rows)
    assert table.delete(where=text).deleted == len(rows)


def test_whole_values_are_told_in_words() -> None:
    assert sentence(col("st") == {"x": 1, "y z": None}) == "st is {x: 1, 'y z': null}"
    assert sentence(col("l").is_in([[1, "a"], []])) == "l is [1, a] or []"


def test_whole_values_cannot_change_a_filter_later() -> None:
    value = [1, {"x": [2]}]
    where = col("l") == value
    value.append(3)
    assert where == (col("l") == [1, {"x": [2]}]) and hash(where) == hash(col("l") == [1, {"x": [2]}])
    assert where != (col("l") == [1.0, {"x": [2]}]) and where != (col("l") == [1, [("x", [2])]])


REFUSED: list[tuple[Filter | str, type[LamellaError], str]] = [
    (col("n") == [1], BadFilter, r"\[1\] is not a number"),
    (col("l") == {"a": 1}, BadFilter, "One is a list or struct"),
    (col("l") == 5, BadFilter, "'eq' does not fit column 'l'"),
    (col("l") == ["a"], BadFilter, "'a' is not a number"),
    (col("l") > [1], BadFilter, "'gt' does not fit column 'l'"),
    (col("st") == {"w": 1}, UnknownColumn, r"no column 'st\.w'"),
    (col("l") == list(range(MOST_WHOLE + 1)), BadFilter, "more than 1000 values"),
    (Predicate("l", "eq", ([1],), ignore_case=True), BadFilter, "cannot be compared in any case"),
    (col("l.x") == 1, UnknownColumn, r"no column 'l\.x'"),
    (col("l.0.x") == 1, UnknownColumn, r"no column 'l\.0\.x'"),
    (col("l.-1") == 1, UnknownColumn, r"no column 'l\.-1'"),
    ("l = [1", BadFilter, r"The '\[' that opens here is never closed"),
    ("l = [1 2]", BadFilter, r"A comma or \] is expected here, not 2"),
    ("l = [n]", BadFilter, "A value is expected here, not 'n'"),
    ("st = {'x': 1}", BadFilter, "The name of a field is expected here"),
    ("st = {x 1}", BadFilter, "':' is expected here"),
    ("l = " + "[" * (DEEPEST + 2), BadFilter, "nested too deep"),
]


@pytest.mark.slow(except_every=4)
@pytest.mark.parametrize(("where", "kind", "reason"), REFUSED, ids=range(len(REFUSED)))
def test_what_cannot_be_compared_as_a_whole_is_refused(
    table: Table, where: Filter | str, kind: type[LamellaError], reason: str
) -> None:
    with pytest.raises(kind, match=reason):
        table.count(where)


def test_values_nested_too_deep_are_refused() -> None:
    value: Any = 1
    for _ in range(DEEPEST + 2):
        value = [value]
    with pytest.raises(BadFilter, match="nested more than"):
        col("l") == value  # noqa: B015


def test_documents_whose_keys_vary_are_not_compared_as_a_whole(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s") as store:
        table = store.create_table("t", [{"d": {"a": 1, "b": 1}}, {"d": {"a": "x", "b": 2}}])
        with pytest.raises(BadFilter, match="documents with varying keys"):
            table.count({"d": {"b": 1}})
        assert table.count({"d.b": 1}) == 1


def test_a_column_of_the_name_of_an_item_comes_first(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s") as store:
        table = store.create_table("t", [{"l": [1, 2], "l.0": 5}, {"l": [5, 2], "l.0": 1}])
        assert table.read(columns=["_id"], where="l.0 = 5")["_id"].to_pylist() == [0]
        assert table.read(columns=["_id"], where={"l": [5, 2]})["_id"].to_pylist() == [1]
        both = {"l": [5, 2], "l.0": 1}
        for where in ({"l": [5, 2]}, both):
            assert table.read(columns=["_id"], where=where)["_id"].to_pylist() == [1]
            assert table.where(where).select("_id").read()["_id"].to_pylist() == [1]


def test_a_column_of_the_name_of_a_field_keeps_the_struct_from_being_compared(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s") as store:
        table = store.create_table("t", [{"a": {"b": 1}, "a.b": 9}])
        with pytest.raises(BadFilter, match=r"also a column named 'a\.b'.*Rename that column"):
            table.count({"a": {"b": 1}})
        assert table.count({"a.b": 9}) == 1


def test_a_column_of_nothing_but_nulls_equals_no_whole_value(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s") as store:
        table = store.create_table("t", [{"x": None, "s": {"x": None, "k": 1}}])
        assert table.count(col("x") == [1]) == 0 and table.count(col("x") != {"a": 1}) == 1
        assert table.count(col("s") == {"x": [1], "k": 1}) == 0 and table.count(col("s") == {"k": 1}) == 1


@pytest.mark.parametrize(
    ("value", "rows"), [(42, [0]), (42.0, [0]), (-1.5, [2]), (0, [3]), (-0.0, [3]), (10**3, [4])]
)
def test_a_text_equals_a_number_that_it_is_the_text_of(tmp_path: Path, value: Any, rows: list[int]) -> None:
    with Store.open(tmp_path / "s") as store:
        table = store.create_table("t", {"t": ["42", "42.0", "-1.5", "0", "1000", None]})
        for where in (col("t") == value, col("t").is_in([value]), {"t": value}, to_text(col("t") == value)):
            assert table.read(columns=["_id"], where=where)["_id"].to_pylist() == rows
        assert table.count(col("t") != value) == 6 - len(rows)
        assert table.count(col("t").equals(value, ignore_case=True)) == len(rows)
