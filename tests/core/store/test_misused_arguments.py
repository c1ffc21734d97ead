"""Arguments of the wrong kind are refused with advice on what to write instead, and nothing changes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from lamella import Store, col
from lamella.core.errors import BadData, LamellaError
from lamella.core.store.table import Table

Ask = Callable[[Any], Any]


@pytest.fixture
def table(tmp_path: Path) -> Any:
    with Store.open(tmp_path / "s") as store:
        yield store.create_table("t", [{"code": str(i), "n": i} for i in range(10)])


REFUSED: list[tuple[str, Ask]] = [
    ("on takes names of columns, not None", lambda t: t.update([{"n": 1}], on=None)),
    ("on takes names of columns, not 5", lambda t: t.drop_duplicates(on=5)),
    (r"ids takes a list of row ids, not 3. Give a list: \[3\]", lambda t: t.delete(ids=3)),
    ("ids takes a list of row ids, not 5", lambda t: t.read(ids=5)),
    ("Give a condition as where=", lambda t: t.delete(col("n") > 1)),
    (r"update_where takes a condition, not 0", lambda t: t.update_where(0, {"$set": {"n": 1}})),
    (r"not 5.5. Write one, .*col\('n'\) > 1", lambda t: t.update_where(5.5, {"$set": {"n": 1}})),
    (r"Did you mean '\$gt'", lambda t: t.update_where({"n": {"$gtt": 1}}, {"$set": {"n": 1}})),
    ("where takes a condition, not True", lambda t: t.delete(where=True)),
    ("where takes a condition, not 5", lambda t: t.read(where=5)),
    ("where takes a condition, not 5", lambda t: t.count(5)),
    ("where takes a condition, not 5", lambda t: t.page(5, where=5)),
    ("where takes a condition", lambda t: t.transform(lambda rows: rows, where=5)),
    ("ids= and where= were both given", lambda t: t.delete(ids=[1], where=col("n") > 1)),
    ("takes a dict of operators, not None", lambda t: t.update_where(None, None)),
    ("takes a dict of operators", lambda t: t.update_where(None, [{"$set": {"n": 1}}])),
    (r"columns.rename was given \['n'\]", lambda t: t.columns.rename(["n"])),
    (r"not \('n', 'desc'\).*'-n' for descending", lambda t: t.read(sort=[("n", "desc")])),
    ("expected_version '1' is not a whole number", lambda t: t.insert([{"n": 1}], expected_version="1")),
    (r"'0' is not an _id.*whole number", lambda t: t.update([{"_id": "0", "n": 1}])),
    ("1.0 is not an _id", lambda t: t.update([{"_id": 1.0, "n": 1}])),
    ("None is not an _id", lambda t: t.update([{"_id": 1, "n": 1}, {"_id": None, "n": 1}])),
    (
        "no '_id' to find it by. Add it, or leave",
        lambda t: t.update([{"_id": 0, "n": 5}, {"n": 1}]),
    ),
    ("set_on_insert takes a dict, not 5", lambda t: t.upsert([{"n": 1}], "n", set_on_insert=5)),
    ("set_on_insert takes a dict", lambda t: t.upsert([{"n": 1}], "n", set_on_insert=np.array([1, 2]))),
    ("column name 1 is not text", lambda t: t.upsert([{"n": 1}], "n", set_on_insert={1: 2})),
    ("limit 1.5 is not a whole number", lambda t: t.read(limit=1.5)),
    ("table name None is not text", lambda t: t.store.create_table(None, [{"a": 1}])),
    ("table name 5 is not text", lambda t: t.store.create_table(5, [{"a": 1}])),
    ("table name 5 is not text", lambda t: t.store[5]),
    ("version name None is not text", lambda t: t.history.name_version(None)),
    ("statement None is not text", lambda t: t.store.sql(None)),
    ("older_than '1 day' is not a time", lambda t: t.maintenance.expire(older_than="1 day")),
    ("Did you mean 'columns'", lambda t: t.export("x.parquet", colums=["n"])),
    (r"Give a list: \[5\]", lambda t: t.read(where=col("n").is_in(5))),
    (r"Give a list: \['ab'\]", lambda t: t.read(where=col("code").is_in("ab"))),
    ("column 'n' is 5, not a list of values", lambda t: t.insert({"n": 5, "code": ["a"]})),
    ("column '_id' is 0, not a list", lambda t: t.update({"_id": 0, "n": [5]})),
    (r"give a list of one dict: \[{'a'", lambda t: t.store.create_table("x", {"a": 1, "b": [1]})),
    ("column 'code' is 'ab', not a list", lambda t: t.insert({"code": "ab", "n": [1]})),
    ("column 'code' is {'a': 1}, not a list", lambda t: t.insert({"code": {"a": 1}, "n": [1]})),
    ("missing cannot be 'skip'. Give 'refuse' or 'ignore'", lambda t: t.read(ids=[0], missing="skip")),
    ("missing cannot be None", lambda t: t.delete(ids=[0], missing=None)),
    ("batch_size 0 is less than 1", lambda t: t.batches(batch_size=0)),
    ("batch_size 'all' is not a whole number", lambda t: t.query().batches(batch_size="all")),
    ("Series cannot become rows", lambda t: t.insert(pd.Series([1, 2], name="n"))),
    ("DataFrame cannot become rows", lambda t: t.insert(pd.DataFrame([[1, 2]], columns=["n", "n"]))),
    ("metadata is text; 'rows' is 5", lambda t: t.set_metadata({"rows": 5})),
    ("metadata is text; 'd' is {'a': 1}", lambda t: t.set_metadata({"d": {"a": 1}})),
    ("a key of metadata is text, not 5", lambda t: t.columns.set_metadata("n", {5: "x"})),
    ("metadata is a dict of text", lambda t: t.set_metadata("x")),
]


@pytest.mark.slow(except_every=4)
@pytest.mark.parametrize(("said", "ask"), REFUSED)
def test_an_argument_of_another_kind_is_refused(table: Table, said: str, ask: Ask) -> None:
    version, tables = table.version, table.store.tables
    with pytest.raises(LamellaError, match=said):
        ask(table)
    assert (table.version, table.store.tables) == (version, tables)


def test_one_name_stands_for_a_list_of_one(table: Table, tmp_path: Path) -> None:
    assert table.read(columns="code", limit=1).column_names == ["code"]
    assert table.read(sort="-n", limit=1)["n"].to_pylist() == [9]
    assert table.batches(columns="n", sort="-n").read_all().column_names == ["n"]
    assert table.page(1, columns="n", sort="-n").rows["n"].to_pylist() == [9]
    assert table.export(tmp_path / "n.csv", columns="n").rows == 10
    table.columns.reorder("n")
    assert table.schema.names == ["_id", "n", "code"]


def test_columns_to_drop_may_come_as_a_list(table: Table) -> None:
    table.columns.drop(["n", "code"])
    assert table.schema.names == ["_id"]
    with pytest.raises(BadData, match=r"columns\.drop takes names of columns, not 5"):
        table.columns.drop(5)  # type: ignore[arg-type]


def test_nulls_of_pandas_are_nulls(table: Table) -> None:
    table.insert([{"n": 1, "at": pd.NaT}, {"n": pd.NA, "at": pd.Timestamp("2024-01-02")}])
    added = table.read(["n", "at"], offset=10).to_pylist()
    assert added[0] == {"n": 1, "at": None}
    assert added[1]["n"] is None
    assert added[1]["at"].year == 2024
