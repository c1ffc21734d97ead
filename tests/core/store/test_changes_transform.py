"""Functions over a table, duplicates and deletions: one commit each, or nothing at all."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamella import Store, col
from lamella.core.errors import BadData, Cancelled, LamellaError, UnknownColumn, UnknownRow, VersionConflict
from lamella.core.jobs import Job
from lamella.core.store import Table, row_lookup
from tests.slow_tests import examples


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "store") as opened:
        yield opened


def rows(table: Table) -> list[dict[str, Any]]:
    return table.read().drop_columns(["_id"]).to_pylist()


def numbers(store: Store, count: int) -> Table:
    return store.create_table("t", {"n": np.arange(count), "other": np.arange(count)})


def test_a_function_gives_new_values_and_new_columns_over_many_row_groups(store: Store) -> None:
    table = numbers(store, 250_000)
    table.delete(ids=[5])
    sizes = []

    def twice(batch: pa.Table) -> dict[str, Any]:
        sizes.append(batch.num_rows)
        return {"n": pc.multiply(batch["n"], 2), "odd": pc.equal(pc.bit_wise_and(batch["n"], 1), 1)}

    commit = table.transform(twice, columns=["n"])
    assert (commit.updated, commit.version, sum(sizes), len(sizes) > 1) == (249_999, 3, 249_999, True)
    rows_left = np.delete(np.arange(250_000), 5)
    back = table.read()
    assert np.array_equal(back["n"].to_numpy(), rows_left * 2)
    assert np.array_equal(back["odd"].to_numpy(zero_copy_only=False), rows_left % 2 == 1)
    assert np.array_equal(back["other"].to_numpy(), rows_left)
    table.history.undo()
    assert table.schema.names == ["_id", "n", "other"]
    assert np.array_equal(table.read()["n"].to_numpy(), rows_left)


def test_only_rows_that_the_filter_chooses_and_the_function_changes_are_written(store: Store) -> None:
    table = numbers(store, 1_000)
    commit = table.transform(lambda batch: {"n": pc.max_element_wise(batch["n"], 995)}, where=col("n") >= 990)
    assert commit.updated == 5
    assert table.read()["n"].to_pylist()[-11:] == [989, *[995] * 6, *range(996, 1_000)]
    assert table.transform(lambda batch: batch).updated == 0
    assert table.version == 2


def test_a_function_may_give_columns_back_that_it_was_not_given(store: Store) -> None:
    table = numbers(store, 10)
    table.transform(lambda batch: {"other": pc.add(batch["n"], 100)}, columns=["n"])
    assert table.read()["other"].to_pylist() == list(range(100, 110))


def test_types_widen_over_the_batches_as_they_do_for_rows(store: Store) -> None:
    table = numbers(store, 150_000)
    commit = table.transform(
        lambda b: {"n": pc.divide(b["n"].cast(pa.float64()), 2.0)} if b["n"][0].as_py() else {"n": b["n"]}
    )
    assert commit.updated > 0
    assert table.schema.field("n").type == pa.float64()
    assert table.read()["n"].to_pylist()[:3] == [0, 1, 2]


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda batch: {"n": [1]}, "returned 1 rows for the 10 of the rows with _id 0 to 9"),
        (lambda batch: batch["lost"], "failed at the rows with _id 0 to 9. KeyError"),
        (lambda batch: None, "failed at the rows"),
        (lambda batch: 1 / 0, "ZeroDivisionError: division by zero"),
        (lambda batch: {"n": ["x"] * 10}, "column 'n' is int64 and cannot take string"),
        (lambda batch: {"_id": batch["n"]}, "the function changed _id"),
    ],
)
def test_a_function_that_fails_changes_nothing(store: Store, function: Any, said: str) -> None:
    table = numbers(store, 10)
    with pytest.raises(LamellaError, match=said):
        table.transform(function)
    assert (table.version, table.read()["n"].to_pylist()) == (1, list(range(10)))


def test_a_stopped_transform_changes_nothing(store: Store) -> None:
    table, job = numbers(store, 250_000), Job()

    def stop(batch: pa.Table) -> dict[str, Any]:
        job.cancel()
        return {"n": pc.add(batch["n"], 1)}

    with pytest.raises(Cancelled):
        table.transform(stop, job=job)
    assert (table.version, table.count(col("n") == 0)) == (1, 1)


TWICE = [
    {"a": 1, "b": "x"},
    {"a": None, "b": "x"},
    {"a": 1, "b": "x"},
    {"a": 1, "b": None},
    {"a": None, "b": "x"},
    {"a": 1, "b": None},
]


@pytest.mark.parametrize(
    ("on", "keep", "ids"),
    [
        (None, "first", [0, 1, 3]),
        (None, "last", [2, 4, 5]),
        ("a", "first", [0, 1]),
        (["b"], "last", [4, 5]),
        (["b", "a"], "first", [0, 1, 3]),
    ],
)
def test_of_rows_with_the_same_values_one_stays(store: Store, on: Any, keep: str, ids: list[int]) -> None:
    table = store.create_table("t", TWICE)
    commit = table.drop_duplicates(on, keep=keep)
    assert (commit.deleted, table.read()["_id"].to_pylist()) == (6 - len(ids), ids)
    assert table.drop_duplicates(on, keep=keep).version == 2


def test_nan_equals_nan_and_nested_values_are_compared(store: Store) -> None:
    values = [math.nan, 1.0, math.nan, None, None]
    table = store.create_table("t", {"x": values, "y": [[{"z": 1}]] * 5})
    table.update([{"_id": 0, "y": [{"z": 1}]}])
    assert table.drop_duplicates().deleted == 2
    assert table.read()["_id"].to_pylist() == [0, 1, 3]


def test_rows_of_more_columns_than_are_grouped_one_by_one_are_compared(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_lookup, "MOST_KEYS", 2)
    zeros = {"a": 0.0, "b": None, "c": [{"z": math.nan}], "d": "x", "e": None}
    rows = [zeros, {**zeros, "a": -0.0}, {**zeros, "e": 1}, {**zeros, "c": None}, {**zeros, "c": None}]
    table = store.create_table("t", rows)
    assert table.drop_duplicates().deleted == 2
    assert table.read()["_id"].to_pylist() == [0, 2, 3]
    assert table.drop_duplicates(["d", "b", "a"], keep="last").deleted == 2
    assert table.read()["_id"].to_pylist() == [3]


def test_pending_changes_count_as_what_they_are(store: Store) -> None:
    table = numbers(store, 3_000)
    table.update([{"_id": 7, "n": 2_000}])
    table.insert([{"n": 5, "other": 0}])
    table.delete(ids=[0])
    assert table.drop_duplicates("n").deleted == 2
    assert (table.get(7) or {})["n"] == 2_000
    assert table.get(2_000) is None and table.get(3_000) is None


def test_columns_changed_in_other_rows_each_are_compared_as_what_they_are(store: Store) -> None:
    table = store.create_table("t", {"a": [0, 1, 2, 3], "b": ["x", "y", "z", "w"]})
    table.update([{"_id": 0, "a": 7}, {"_id": 1, "a": 3}])
    table.update([{"_id": 1, "b": "w"}, {"_id": 2, "b": "u"}])
    table.delete(ids=[1])
    assert table.drop_duplicates().deleted == 0
    table.update([{"_id": 3, "a": 2, "b": "u"}])
    assert table.drop_duplicates(["a", "b"]).deleted == 1
    assert table.read().to_pylist() == [{"_id": 0, "a": 7, "b": "x"}, {"_id": 2, "a": 2, "b": "u"}]


@settings(max_examples=examples(full=30))
@given(values=st.lists(st.tuples(st.integers(0, 2), st.sampled_from(["", "a", None])), max_size=12))
def test_duplicates_are_those_a_dict_finds(
    tmp_path_factory: pytest.TempPathFactory, values: list[Any]
) -> None:
    with Store.open(tmp_path_factory.mktemp("s")) as store:
        a, b = pa.array([v[0] for v in values], pa.int64()), pa.array([v[1] for v in values], pa.string())
        table = store.create_table("t", pa.table({"a": a, "b": b}))
        last = {value: place for place, value in enumerate(values)}
        table.drop_duplicates(keep="last")
        assert table.read()["_id"].to_pylist() == sorted(last.values())


def test_what_cannot_be_compared_is_refused(store: Store) -> None:
    table = store.create_table("t", [{"big": 1, "n": 1}])
    with pytest.raises(UnknownColumn, match="Did you mean 'big'"):
        table.drop_duplicates("bgi")
    with pytest.raises(BadData, match="Say 'first' or 'last'"):
        table.drop_duplicates(keep="none")
    with pytest.raises(BadData, match="no column is given to compare"):
        table.drop_duplicates([])
    assert table.version == 1
    assert table.drop_duplicates("n").deleted == 0


def test_only_what_is_named_is_deleted(store: Store) -> None:
    table = numbers(store, 10)
    with pytest.raises(BadData, match="Give either ids= or where="):
        table.delete()
    with pytest.raises(BadData, match="ids= and where= were both given"):
        table.delete(ids=[1], where=col("n") == 1)
    with pytest.raises(UnknownRow, match="no row with _id 10"):
        table.delete(ids=[1, 10])
    with pytest.raises(BadData, match="has to be a whole number"):
        table.delete(ids=["1"])
    with pytest.raises(UnknownColumn, match="Did you mean 'other'"):
        table.delete(where=col("othr") == 1)
    assert (table.delete(ids=[]).deleted, table.delete(where=col("n") > 99).deleted) == (0, 0)
    assert (table.version, table.num_rows) == (1, 10)
    assert table.delete(ids=[3, 3]).deleted == 1


def test_they_ask_for_the_version_they_were_decided_on(store: Store) -> None:
    table = numbers(store, 10)
    table.delete(ids=[0])
    with pytest.raises(VersionConflict):
        table.transform(lambda batch: {"n": pc.add(batch["n"], 1)}, expected_version=1)
    with pytest.raises(VersionConflict):
        table.drop_duplicates("other", expected_version=1)
    assert (
        table.transform(lambda batch: {"n": pc.add(batch["n"], 1)}, message="up", expected_version=2).message
        == "up"
    )
    assert table.drop_duplicates("other", message="none").version == 3


@pytest.mark.parametrize("together", [False, True])
def test_a_function_cannot_change_the_table_it_makes_values_for(store: Store, together: bool) -> None:
    table = numbers(store, 100)
    table.update([{"_id": 1, "n": 7}])
    before, version = rows(table), table.version
    changes = (
        lambda: table.insert([{"n": 9, "other": 9}]),
        lambda: table.update([{"_id": 0, "n": 9}]),
        lambda: table.delete(ids=[0]),
        table.history.undo,
        table.maintenance.flush,
    )
    for change in changes:

        def made(batch: pa.Table, change: Callable[[], object] = change) -> dict[str, Any]:
            change()
            return {"n": pc.add(batch["n"], 1)}

        with (
            pytest.raises(
                LamellaError, match=r"t: the table is being changed.*Let the function only return values"
            ),
            store.transaction() if together else nullcontext(),
        ):
            table.transform(made)
        assert (rows(table), table.version) == (before, version)
    table.transform(lambda batch: {"n": pc.add(batch["n"], 1)})
    assert rows(table)[0]["n"] == before[0]["n"] + 1


def test_a_function_may_read_its_table_and_change_another(store: Store) -> None:
    table, log = numbers(store, 10), store.create_table("log", [{"rows": 0}])

    def made(batch: pa.Table) -> dict[str, Any]:
        log.insert([{"rows": table.count()}])
        return {"n": pc.add(batch["n"], 1)}

    table.transform(made)
    assert rows(log) == [{"rows": 0}, {"rows": 10}] and rows(table)[9]["n"] == 10


@pytest.mark.parametrize("drop", [lambda rows: rows.drop_columns(["word"]), lambda rows: rows.select(["n"])])
def test_transform_refuses_a_function_that_only_leaves_columns_out(
    store: Store, drop: Callable[[pa.Table], Any]
) -> None:
    table = store.create_table("t", {"n": range(3), "word": ["a", "b", "c"]})
    with pytest.raises(BadData, match=r"leaves out column 'word'.*Use table.columns.drop\('word'\)"):
        table.transform(drop)
    assert table.transform(lambda rows: {}).version == 1
    assert table.transform(lambda rows: rows).version == 1
    assert table.transform(lambda rows: {"n": pc.add(rows["n"], 0)}).version == 1
    assert table.transform(lambda rows: {"n": pc.add(rows["n"], 1)}).updated == 3
    assert table.schema.names == ["_id", "n", "word"]


def test_transform_does_not_let_its_function_drop_the_table(store: Store) -> None:
    table = store.create_table("t", {"n": range(3)})

    def drops(rows: pa.Table) -> pa.Table:
        store.drop_table("t")
        return rows

    with pytest.raises(BadData, match=r"the table is being changed.*Nothing changed"):
        table.transform(drops)
    assert store.tables == ["t"] and table.num_rows == 3
