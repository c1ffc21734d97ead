"""An upsert updates existing rows and inserts the others, all in one commit or not at all."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamella import Store, col
from lamella.core.errors import (
    BadData,
    LamellaError,
    TypeConflict,
    UnknownColumn,
    UnknownRow,
    VersionConflict,
)
from lamella.core.scan.snapshot import FileSegment
from lamella.core.store import Table
from tests.slow_tests import examples

PRICES = [
    {"code": "a", "size": 1, "price": 10},
    {"code": "b", "size": 1, "price": 20},
    {"code": None, "size": 2, "price": 30},
]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "store") as opened:
        yield opened


def rows(table: Table) -> list[dict[str, Any]]:
    return table.read().drop_columns(["_id"]).to_pylist()


def test_rows_are_updated_or_inserted_in_one_commit(store: Store) -> None:
    table = store.create_table("prices", PRICES)
    commit = table.upsert([{"code": "c", "price": 5}, {"code": "a", "price": 11}], on="code")
    assert (commit.version, commit.inserted, commit.updated) == (2, 1, 1)
    assert rows(table) == [
        {"code": "a", "size": 1, "price": 11},
        *PRICES[1:],
        {"code": "c", "size": None, "price": 5},
    ]
    table.history.undo()
    assert rows(table) == PRICES


def test_new_rows_alone_get_what_is_set_on_insert(store: Store) -> None:
    table = store.create_table("prices", PRICES)
    data = [{"code": "a", "price": 11}, {"code": "c", "price": 5}]
    table.upsert(data, on="code", set_on_insert={"size": 9, "since": dt.date(2020, 1, 1)})
    assert [(r["size"], r["since"]) for r in rows(table)] == [
        (1, None),
        (1, None),
        (2, None),
        (9, dt.date(2020, 1, 1)),
    ]


def test_what_is_set_on_insert_makes_no_column_when_nothing_is_inserted(store: Store) -> None:
    table = store.create_table("prices", PRICES)
    assert table.upsert(PRICES[:1], on="code", set_on_insert={"since": 1}).inserted == 0
    assert "since" not in table.schema.names


def test_null_is_a_key_like_any_other(store: Store) -> None:
    table = store.create_table("prices", PRICES)
    commit = table.upsert([{"code": None, "price": 31}], on="code")
    assert (commit.inserted, commit.updated, rows(table)[2]["price"]) == (0, 1, 31)
    with pytest.raises(BadData, match="code = None"):
        table.upsert([{"code": None, "price": 1}, {"code": None, "price": 2}], on="code")


def test_several_columns_together_are_a_key(store: Store) -> None:
    table = store.create_table("prices", PRICES)
    data = [
        {"code": "a", "size": 2, "price": 1},
        {"code": None, "size": 2, "price": 2},
        {"code": "b", "size": 1, "price": 3},
    ]
    commit = table.upsert(data, on=["code", "size"])
    assert (commit.inserted, commit.updated) == (1, 2)
    assert [r["price"] for r in rows(table)] == [10, 3, 2, 1]
    assert table.update([{"size": 1, "code": "a", "price": 7}], on=["size", "code"]).updated == 1
    assert rows(table)[0]["price"] == 7


def test_every_row_that_has_the_key_is_updated(store: Store) -> None:
    table = store.create_table("prices", PRICES)
    assert table.upsert([{"size": 1, "price": 0}], on="size").updated == 2
    assert table.update([{"size": 1, "price": 5}], on="size").updated == 2


@pytest.mark.parametrize("size", [10, 2_500])
def test_many_new_rows_beside_many_updates(store: Store, size: int) -> None:
    table = store.create_table("t", {"k": np.arange(30_000), "v": np.zeros(30_000, np.int64)})
    keys = np.concatenate([np.arange(100_000, 100_000 + size), np.arange(29_999, -1, -3)])
    commit = table.upsert({"k": keys, "v": keys * 2}, on="k")
    assert (commit.inserted, commit.updated) == (size, 10_000)
    rows_now = table.read()
    k, v = (rows_now.column(n).to_numpy() for n in ("k", "v"))
    assert np.array_equal(v, np.where((k % 3 == 2) & (k < 30_000) | (k >= 100_000), 2 * k, 0))
    assert np.array_equal(k, np.concatenate([np.arange(30_000), np.arange(100_000, 100_000 + size)]))
    assert isinstance(table.snapshot().segments[-1], FileSegment) == (size > 1_000)
    assert all((table.get(i) or {})["k"] == k[i] for i in (0, 29_999, 30_000, 30_000 + size - 1))


def test_all_rows_may_be_new_and_none_may_be_given(store: Store) -> None:
    table = store.create_table("t", pa.table({"k": pa.array([], pa.int64())}))
    assert table.upsert({"k": np.arange(5_000)}, on="k").inserted == 5_000
    assert table.upsert({"k": np.arange(0)}, on="k").version == 2
    assert table.upsert({"k": np.arange(5_000)}, on="k").updated == 0


def test_a_key_that_needs_a_wider_column_widens_it(store: Store) -> None:
    table = store.create_table("t", pa.table({"k": pa.array([1, 2], pa.int8()), "v": pa.array([1, 2])}))
    table.update([{"_id": 0, "k": 3}])
    assert table.upsert([{"k": 3, "v": 5}, {"k": 1000, "v": 6}], on="k").inserted == 1
    assert [(r["k"], r["v"]) for r in rows(table)] == [(3, 5), (2, 2), (1000, 6)]


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (pa.float64(), [0.5, math.nan, None]),
        (pa.string_view(), ["a", "", None]),
        (pa.dictionary(pa.int32(), pa.string()), ["a", "b", None]),
        (pa.timestamp("us", "UTC"), [dt.datetime(2020, 1, 1, tzinfo=dt.UTC), None]),
        (pa.date32(), [dt.date(2020, 1, 1), None]),
        (pa.binary(), [b"a", b""]),
        (pa.bool_(), [True, False, None]),
        (pa.uint64(), [2**64 - 1, 0]),
    ],
    ids=str,
)
def test_rows_are_found_by_keys_of_any_flat_type(store: Store, kind: pa.DataType, values: list[Any]) -> None:
    keys = pa.array(values, kind)
    table = store.create_table("t", pa.table({"k": keys, "v": pa.array(range(len(keys)))}))
    turned = pa.table({"k": pa.array(values[::-1], kind), "v": pa.array(range(10, 10 + len(keys)))})
    assert table.update(turned, on="k").updated == len(keys)
    assert [r["v"] for r in rows(table)] == list(range(10, 10 + len(keys)))[::-1]
    assert table.upsert(turned, on="k").inserted == 0


def test_zeros_of_either_sign_are_one_key(store: Store) -> None:
    table = store.create_table("t", [{"k": 0.0, "v": 1}])
    assert table.update([{"k": -0.0, "v": 2}], on="k").updated == 1


def test_a_condition_that_no_row_meets_makes_one(store: Store) -> None:
    table = store.create_table("prices", PRICES)
    operators = {"$inc": {"price": 5}, "$push": {"tags": "new"}, "$setOnInsert": {"size": 7}}
    expected = (col("code") == "c") & (col("price") == 3) & (col("size") > 4)
    commit = table.update_where(expected, operators, upsert=True)
    assert (commit.inserted, commit.updated, table.version) == (1, 0, 2)
    assert rows(table)[-1] == {"code": "c", "size": 7, "price": 8, "tags": ["new"]}
    commit = table.update_where(col("code") == "c", operators, upsert=True)
    assert (commit.inserted, commit.updated) == (0, 1)
    assert rows(table)[-1] == {"code": "c", "size": 7, "price": 13, "tags": ["new", "new"]}
    with pytest.raises(BadData, match="Choose rows by a filter"):
        table.update_where([], operators, upsert=True)


def test_rows_of_keys_alone_change_nothing(store: Store) -> None:
    table = store.create_table("prices", PRICES)
    assert table.update([{"code": "a"}], on="code").updated == 0
    assert table.upsert([{"code": "a"}, {"code": "c"}], on="code").inserted == 1
    assert (table.version, rows(table)[-1]["code"]) == (2, "c")


REFUSALS: list[tuple[Any, Any, dict[str, Any], type[LamellaError], str]] = [
    ([{"code": "a"}, {"code": "a"}], "code", {}, BadData, "code = 'a'.*Give each row once"),
    ([{"cod": "a"}], "cod", {}, UnknownColumn, "Did you mean 'code'"),
    ([{"price": 1}], "code", {}, BadData, "no column 'code' to find them by"),
    ([{"code": 5}], "code", {}, TypeConflict, "column 'code' is string and cannot take int64"),
    ([{"code": "a", "price": "x"}], "code", {}, TypeConflict, "column 'price'"),
    ([{"_id": 0, "code": "a"}], "code", {}, BadData, "an upsert takes no _id"),
    ([{"code": "z", "price": 1}], "code", {"price": 2}, BadData, "in the rows and in set_on_insert"),
    ([{"tags": ["a"], "price": 1}], "tags", {}, BadData, "nested"),
]


@pytest.mark.parametrize(("data", "on", "constants", "error", "said"), REFUSALS, ids=lambda v: str(v)[:30])
def test_a_refused_upsert_changes_nothing(
    store: Store, data: Any, on: Any, constants: dict[str, Any], error: type[LamellaError], said: str
) -> None:
    table = store.create_table("prices", [row | {"tags": ["a"]} for row in PRICES])
    with pytest.raises(error, match=said):
        table.upsert(data, on=on, set_on_insert=constants)
    assert (table.version, table.schema.names) == (1, ["_id", "code", "size", "price", "tags"])


def test_a_key_that_no_row_has_is_named(store: Store) -> None:
    table = store.create_table("prices", PRICES)
    with pytest.raises(UnknownRow, match="no row with code = 'b', size = 2"):
        table.update([{"code": "b", "size": 2, "price": 1}], on=["code", "size"])
    assert table.version == 1


def test_every_kind_of_change_can_ask_for_the_version_it_was_decided_on(store: Store) -> None:
    table = store.create_table("prices", PRICES)
    version = table.version
    table.update([{"_id": 0, "price": 12}])
    for change in (
        lambda: table.insert(PRICES, expected_version=version),
        lambda: table.update([{"_id": 0, "price": 1}], expected_version=version),
        lambda: table.upsert(PRICES, on="code", expected_version=version),
        lambda: table.update_where(None, {"$inc": {"price": 1}}, expected_version=version),
        lambda: table.delete(where=col("price") > 0, expected_version=version),
    ):
        with pytest.raises(VersionConflict, match="at version 2, not at 1"):
            change()
    assert (table.version, [r["price"] for r in rows(table)]) == (2, [12, 20, 30])
    assert table.update_where(None, {"$inc": {"price": 1}}, expected_version=2).version == 3


KEYS = st.one_of(st.none(), st.integers(0, 6))


@settings(max_examples=examples(full=30))
@given(data=st.data())
def test_upserts_do_what_they_do_to_a_dict(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    with Store.open(tmp_path_factory.mktemp("s")) as store:
        table = store.create_table("t", pa.table({n: pa.array([], pa.int64()) for n in ("a", "b", "v")}))
        model: dict[tuple[Any, Any], int] = {}
        for number in range(data.draw(st.integers(1, 4))):
            keys = data.draw(st.lists(st.tuples(KEYS, KEYS), unique=True, max_size=8))
            given_rows = pa.table(
                {
                    "v": pa.array([number] * len(keys), pa.int64()),
                    "b": pa.array([b for _, b in keys], pa.int64()),
                    "a": pa.array([a for a, _ in keys], pa.int64()),
                }
            )
            commit = table.upsert(given_rows, on=["a", "b"])
            assert commit.inserted == len(set(keys) - set(model))
            assert commit.updated == len(set(keys) & set(model))
            model |= dict.fromkeys(keys, number)
        assert {(r["a"], r["b"]): r["v"] for r in rows(table)} == model


def test_a_row_changes_the_cells_that_it_gives_and_no_others(store: Store) -> None:
    table = store.create_table("t", [{"k": "a", "x": 1, "y": 2}, {"k": "b", "x": 3, "y": 4}])
    table.update([{"k": "a", "x": 10}, {"k": "b", "y": 40.5}], on="k")
    assert rows(table) == [{"k": "a", "x": 10, "y": 2}, {"k": "b", "x": 3, "y": 40.5}]
    table.update([{"_id": 1, "x": None}, {"_id": 0, "y": 7}])
    assert rows(table) == [{"k": "a", "x": 10, "y": 7}, {"k": "b", "x": None, "y": 40.5}]
    commit = table.upsert([{"k": "c", "y": 5}, {"k": "b", "x": 6}, {"k": "a", "y": None}], on="k")
    assert (commit.inserted, commit.updated) == (1, 2)
    assert rows(table) == [
        {"k": "a", "x": 10, "y": None},
        {"k": "b", "x": 6, "y": 40.5},
        {"k": "c", "x": None, "y": 5},
    ]


def test_a_row_without_its_key_finds_nothing(store: Store) -> None:
    table = store.create_table("prices", PRICES)
    for change in (table.update, table.upsert):
        with pytest.raises(BadData, match="row 1 of those given has no 'code'"):
            change([{"code": "a", "price": 1}, {"price": 2}], on="code")
    assert rows(table) == PRICES
