"""Dicts whose keys vary: frequent keys are real fields, the rest is JSON, and the dict comes back whole."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamella import Store
from lamella.core.arrow.documents import whole
from lamella.core.arrow.from_python import to_table
from lamella.core.arrow.types import MOST_FIELDS
from lamella.core.errors import BadData

JSON = st.recursive(
    st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=3) | st.floats(allow_nan=False),
    lambda inner: st.dictionaries(st.sampled_from("abc"), inner, min_size=1, max_size=3),
    max_leaves=6,
)


def without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_nulls(inner) for key, inner in value.items() if inner is not None}
    return value


@given(
    st.lists(
        st.dictionaries(st.sampled_from("abcdef"), JSON, min_size=1, max_size=4), min_size=1, max_size=12
    )
)
def test_documents_of_any_shape_come_back(documents: list[dict[str, Any]]) -> None:
    actual = to_table([{"x": document} for document in documents]).column("x").to_pylist()
    assert [without_nulls(whole(document)) for document in actual] == documents


def rows(count: int) -> list[dict[str, Any]]:
    """100 keys of which each row has some, a key with values of two types, and a key unique to each row."""
    documents = []
    for i in range(count):
        document: dict[str, Any] = {f"k{j}": i + j for j in range(100) if (i + j) % 3}
        document["mixed"] = i if i % 2 else f"text {i}"
        document[f"once {i}"] = {"deep": [i]}
        documents.append({"n": i, "x": document})
    return documents


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("count", [50, 3_000, 6_000], ids=["catalog", "one file", "many blocks"])
def test_a_table_of_documents_gives_each_back_whole(tmp_path: Path, count: int) -> None:
    given_rows = rows(count)
    with Store.open(tmp_path / "s") as store:
        table = store.create_table("t", given_rows)
        names = table.schema.field("x").type.names
        assert {f"k{j}" for j in range(100)} < set(names)
        assert len(names) <= MOST_FIELDS + 1
        table.maintenance.flush()
        for row_id in (0, 1, count // 2, count - 1):
            actual = table.get(row_id)
            assert actual is not None and actual["x"] == given_rows[row_id]["x"]
        assert len(list((store.path / "data").rglob("*.parquet"))) <= 3


@pytest.mark.slow
def test_two_of_a_hundred_keys_are_two_columns_of_the_file(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s") as store:
        store.create_table("t", rows(3_000))
        file = pq.ParquetFile(next((store.path / "data").rglob("*.parquet")))
        leaves = {file.schema.column(i).path for i in range(len(file.schema))}
        assert {"x.k0", "x.k99", "x._rest"} <= leaves
        sums = store.sql("select sum(x.k0) as a, sum(x.k99) as b from t").to_pylist()[0]
        expected = rows(3_000)
        assert sums == {
            key: sum(r["x"].get(k, 0) for r in expected) for key, k in (("a", "k0"), ("b", "k99"))
        }


def test_what_a_field_cannot_take_goes_into_the_rest_of_later_rows(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s") as store:
        table = store.create_table("t", [{"x": {"a": 1}}] * 1_500)
        table.insert([{"x": {"a": "text"}}])
        table.insert([{"x": {"a": "text", "b": 5}}] * 1_500)
        table.update([{"_id": 0, "x": {"a": ["list"]}}])
        for _ in range(2):
            actual = table.read(columns=["x"]).column("x").to_pylist()
            assert [whole(actual[i]) for i in (0, 1, 1_500, 3_000)] == [
                {"a": ["list"]}, {"a": 1}, {"a": "text"}, {"a": "text", "b": 5},
            ]  # fmt: skip
            table.maintenance.flush()


def test_what_json_has_no_word_for_is_refused(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s") as store:
        with pytest.raises(BadData, match="column 'x'"):
            store.create_table("t", [{"x": {"a": 1}}, {"x": {"a": dt.date(2020, 1, 1)}}])
        table = store.create_table("t", [{"x": {"a": 1}}])
        with pytest.raises(BadData, match="column 'x'"):
            table.insert([{"x": {"a": b"raw"}}])


@pytest.mark.parametrize("count", [2, 1_500])
def test_an_empty_dict_is_not_null(tmp_path: Path, count: int) -> None:
    with Store.open(tmp_path / "s") as store:
        table = store.create_table("t", [{"x": {}}, {"x": None}] * count)
        assert table.read(columns=["x"]).column("x").is_null().to_pylist() == [False, True] * count
        first, second = table.get(0), table.get(1)
        assert first is not None and first["x"] == {}
        assert second is not None and second["x"] is None
        table.insert([{"x": {"a": 1}}])
        last = table.get(2 * count) if count == 2 else None
        assert last is None or last["x"] == {"a": 1}


def test_a_column_named_like_the_rest_is_a_column(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s") as store:
        table = store.create_table("t", pa.table({"_rest": ["no json"]}))
        assert table.get(0) == {"_id": 0, "_rest": "no json"}
