"""An insert returns the ids of its rows, in the order of the rows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from lamella import Store, col
from lamella.core.errors import StoreProblem
from lamella.core.store import Table
from lamella.core.store.commit import Commit


@pytest.fixture
def table(tmp_path: Path) -> Iterator[Table]:
    with Store.open(tmp_path / "store") as store:
        yield store.create_table("t", {"k": [0, 1, 2]})


def keys_of(table: Table, commit: Commit) -> list[int]:
    """The keys of the rows that a commit reports as inserted."""
    assert len(commit.inserted_ids) == commit.inserted
    rows = table.read()
    keys = dict(zip(rows.column("_id").to_pylist(), rows.column("k").to_pylist(), strict=True))
    return [keys[row_id] for row_id in commit.inserted_ids.tolist()]


def batches(count: int, rows: int, between: Iterator[object]) -> pa.RecordBatchReader:
    """Batches of keys counted from 0; another change happens before each batch."""

    def coming() -> Iterator[pa.RecordBatch]:
        for number in range(count):
            next(between)
            yield pa.record_batch({"k": np.arange(number * rows, (number + 1) * rows)})

    return pa.RecordBatchReader.from_batches(pa.schema({"k": pa.int64()}), coming())


@pytest.mark.parametrize("count", [1, 3, 1_001, 120_000])
def test_of_rows_in_the_catalog_and_of_rows_in_files(table: Table, count: int) -> None:
    keys = np.arange(count)[::-1]
    first = table.insert({"k": keys})
    assert first.inserted_ids.dtype == np.int64
    assert first.inserted_ids.tolist() == list(range(3, 3 + count))
    assert keys_of(table, first) == keys.tolist()
    table.delete(ids=first.inserted_ids[-1:])
    second = table.insert({"k": keys})
    assert keys_of(table, second) == keys.tolist()
    assert second.inserted_ids[0] > first.inserted_ids[-1]


def test_ids_that_others_were_given_in_between_are_left_out(table: Table) -> None:
    commits = [table.insert([{"k": -1}])]
    between = (commits.append(table.insert([{"k": -1}])) for _ in range(9))
    commit = table.insert(batches(5, 50_000, between))
    assert keys_of(table, commit) == list(range(250_000))
    own = commit.inserted_ids
    assert len(np.unique(np.diff(own))) > 1 and bool((np.diff(own) > 0).all())
    for commit_elsewhere in commits:
        assert keys_of(table, commit_elsewhere) == [-1] and commit_elsewhere.inserted_ids[0] not in own


def test_rows_that_another_commit_overtook_have_the_ids_of_the_last_try(table: Table) -> None:
    between = (table.update_where([0], {"$inc": {"k": 1}}) for _ in range(2))
    assert keys_of(table, table.insert(batches(1, 5_000, between))) == list(range(5_000))


def test_a_file_for_each_set_of_columns(table: Table) -> None:
    rows = [{"k": 5_000 - i, f"c{i // 1_500}": i} for i in range(4_500)]
    assert keys_of(table, table.insert(rows)) == [row["k"] for row in rows]


@pytest.mark.parametrize("count", [4, 3_000])
def test_an_upsert_tells_those_of_new_rows_alone(table: Table, count: int) -> None:
    keys = np.arange(count)[::-1]
    commit = table.upsert({"k": keys, "v": keys}, on="k")
    assert (commit.updated, keys_of(table, commit)) == (3, keys[:-3].tolist())
    assert table.upsert({"k": keys, "v": keys}, on="k").inserted_ids.tolist() == []


def test_a_row_inserted_for_a_condition_that_none_meets(table: Table) -> None:
    commit = table.update_where(col("k") == 9, {"$set": {"v": 1}}, upsert=True)
    assert keys_of(table, commit) == [9]
    assert not len(table.update_where(col("k") == 9, {"$set": {"v": 2}}, upsert=True).inserted_ids)


def test_inside_a_transaction(table: Table) -> None:
    with table.store.transaction():
        few, many = table.insert([{"k": 7}]), table.insert({"k": np.arange(2_000)})
        assert keys_of(table, few) == [7]
    assert keys_of(table, few) == [7]
    assert keys_of(table, many) == list(range(2_000))


def test_what_inserts_nothing_has_none(table: Table) -> None:
    for commit in (table.insert([]), table.delete(ids=[0]), table.update([{"_id": 1, "k": 5}])):
        assert commit.inserted_ids.tolist() == []


def test_the_history_does_not_keep_them_and_says_so(table: Table) -> None:
    inserted = table.insert([{"k": 3}, {"k": 4}])
    assert table.history.commits()[-1] == inserted
    with pytest.raises(StoreProblem, match="which rows version 2 added"):
        table.history.commits()[-1].inserted_ids  # noqa: B018 -- it is the asking that is refused
    table.delete(ids=inserted.inserted_ids)
    undone = table.history.undo()
    assert undone.inserted == 2
    with pytest.raises(StoreProblem, match="diff"):
        undone.inserted_ids  # noqa: B018 -- it is the asking that is refused
    assert table.get(int(inserted.inserted_ids[0])) == {"_id": 3, "k": 3}
