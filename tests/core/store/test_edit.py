"""`Table.edit`: cells, new rows and deletions in one commit."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest

from lamella import Store
from lamella.core.errors import BadData, TypeConflict, UnknownColumn, UnknownRow
from lamella.core.store.table import Table


@pytest.fixture
def store(tmp_path) -> Iterator[Store]:
    with Store.open(tmp_path / "store") as open_store:
        yield open_store


@pytest.fixture
def table(store) -> Table:
    rows = pa.table(
        {
            "n": pa.array(range(100), pa.int32()),
            "text": [f"row {i}" for i in range(100)],
            "size": [{"h": 1, "w": 2}] * 100,
        }
    )
    return store.create_table("t", rows)


def cells(ids: list[int], **columns: pa.Array) -> pa.Table:
    return pa.table({"_id": pa.array(ids, pa.int64()), **columns})


def ints(*values: int | None) -> pa.Array:
    return pa.array(values, pa.int32())


def test_edit_changes_adds_and_deletes_in_one_commit_that_undo_takes_back(table) -> None:
    before = table.read()
    commit = table.edit(
        [cells([7, 3], n=ints(-7, None)), cells([3], text=pa.array([""]))],
        rows=pa.table({"text": ["new", None]}),
        delete=np.array([9, 8]),
        message="tidy",
    )
    assert (commit.updated, commit.inserted, commit.deleted, commit.version) == (2, 2, 2, 2)
    assert table.get(3) == {"_id": 3, "n": None, "text": "", "size": {"h": 1, "w": 2}}
    assert table.get(7)["n"] == -7 and table.get(7)["text"] == "row 7"
    assert table.get(8) is None and table.get(9) is None
    assert [table.get(i)["text"] for i in commit.inserted_ids.tolist()] == ["new", None]
    table.history.undo()
    assert table.read().equals(before)


def test_edit_writes_only_what_differs(table) -> None:
    commit = table.edit([cells([3, 4], n=ints(3, 40))])
    assert commit.updated == 1
    assert table.edit([cells([3], n=ints(3))]).version == table.version == 2


def test_edit_takes_the_last_of_several_values_for_a_cell(table) -> None:
    table.edit([cells([3, 4], n=ints(1, 2)), cells([4, 4], n=ints(5, 6))])
    assert [table.get(i)["n"] for i in (3, 4)] == [1, 6]


def test_edit_takes_columns_for_no_rows(table) -> None:
    assert table.edit([cells([], n=ints()), cells([4], text=pa.array(["x"]))]).updated == 1
    assert table.edit([cells([], n=ints())]).updated == 0 and table.get(4)["n"] == 4


def test_edit_replaces_a_struct_whole(table) -> None:
    size = pa.array([{"h": 9, "w": None}], table.schema.field("size").type)
    table.edit([cells([0], size=size)])
    assert table.get(0)["size"] == {"h": 9, "w": None}


@pytest.mark.parametrize("rows", [12_000, 60_000])
def test_edit_of_many_rows_goes_into_files(store, rows) -> None:
    table = store.create_table("many", {"n": list(range(60_000)), "m": [0] * 60_000})
    values = pa.array(np.arange(rows) + 1)
    new = pa.table({"n": pa.array(np.arange(5_000))})
    gone = np.arange(rows, min(rows + 10, 60_000))
    commit = table.edit([cells(list(range(rows)), n=values)], new, gone)
    assert (commit.updated, commit.inserted, commit.deleted) == (rows, 5_000, len(gone))
    numbers = table.read(["n"]).column(0).to_pylist()
    assert numbers == [*range(1, rows + 1), *range(rows + len(gone), 60_000), *range(5_000)]


@pytest.mark.parametrize(
    ("edit", "error", "says"),
    [
        ({"cells": [cells([500], n=ints(1))]}, UnknownRow, "500"),
        ({"delete": np.array([500])}, UnknownRow, "500"),
        ({"cells": [cells([5], m=ints(1))]}, UnknownColumn, "m"),
        ({"cells": [cells([5], n=pa.array([1.5]))]}, TypeConflict, "'n' holds int32, but double was given"),
        ({"rows": pa.table({"n": ["x"]})}, TypeConflict, "'n' holds int32"),
        ({"rows": pa.table({"_id": [1]})}, UnknownColumn, "_id"),
        ({"cells": [pa.table({"n": ints(1)})]}, BadData, "without _id"),
        ({"cells": [cells([5], n=ints(1))], "delete": np.array([5])}, BadData, "both changed and deleted"),
    ],
)
def test_edit_that_is_refused_changes_nothing(table, edit, error, says) -> None:
    with pytest.raises(error, match=says):
        table.edit(**edit)
    assert table.version == 1


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        ({"cells": 5}, "takes a list of Arrow tables, not 5"),
        ({"cells": [{"_id": 1, "n": 2}]}, "takes a list of Arrow tables"),
        ({"cells": [pa.table({"_id": ["x"], "n": ints(1)})]}, "'x' is not an _id"),
        ({"cells": [pa.table({"_id": [None], "n": ints(1)})]}, "not an _id"),
        ({"cells": [pa.table([[1], [2], [3]], names=["_id", "n", "n"])]}, "'n' is given twice"),
        ({"rows": [{"n": 1}]}, "new rows as an Arrow table"),
        ({"delete": 5}, "takes a list of row ids, not 5"),
        ({"delete": ["x"]}, "'x' is not an _id"),
    ],
)
def test_edit_refuses_other_arguments(table, edit, says) -> None:
    with pytest.raises(BadData, match=says):
        table.edit(**edit)
    assert table.version == 1
