"""Several writers, dropped tables, widened columns and failures never harm a table."""

from __future__ import annotations

import datetime as dt
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from lamella import Store, col
from lamella.core.errors import BadData, StoreProblem, TypeConflict, UnknownRow
from lamella.core.store import Table
from lamella.core.store.catalog.queries import Catalog
from lamella.core.store.table_version import Reader
from tests.slow_tests import rounds

INSERTS = rounds(40)
"""The number of inserts by another process, while stores are opened."""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "store") as opened:
        yield opened


def numbers(first: int, count: int) -> pa.RecordBatch:
    return pa.record_batch({"x": pa.array(range(first, first + count))})


def test_a_row_inserted_while_many_come_in_leaves_every_row_findable(store: Store) -> None:
    table = store.create_table("t", [{"x": -1}])

    def coming() -> Iterator[pa.RecordBatch]:
        for first in range(0, 250_000, 50_000):
            yield numbers(first, 50_000)
            table.insert([{"x": -2}])

    table.insert(pa.RecordBatchReader.from_batches(numbers(0, 1).schema, coming()))
    ids = table.read().column("_id").to_pylist()
    assert ids == sorted(set(ids)) and len(ids) == 250_006
    assert all(table.get(i) is not None for i in (ids[0], ids[50_100], ids[-1]))
    assert table.delete(where=col("x") >= 249_990).deleted == 10
    assert table.num_rows == 249_996


def test_a_dropped_tables_memory_is_never_taken_for_another_table(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s") as first, Store.open(tmp_path / "s") as second:
        first.create_table("people", [{"name": "Ada"}])
        people = second["people"]
        assert people.num_rows == 1
        first.drop_table("people")
        first.create_table("orders", [{"total": 5}])
        assert second["orders"].read().to_pylist() == [{"_id": 0, "total": 5}]
        with pytest.raises(StoreProblem, match="gone"):
            people.update([{"_id": 0, "name": "Grace"}])
        assert first["orders"].read().to_pylist() == [{"_id": 0, "total": 5}]


def test_pending_cells_outlive_a_widened_column_and_a_rewrite_elsewhere(store: Store) -> None:
    table = store.create_table("t", pa.table({"x": pa.array([1] * 20_000, pa.int32())}))
    table.insert(pa.table({"x": pa.array([2] * 2_000, pa.int32())}))
    table.update([{"_id": i, "x": 111 * (i - 20_999)} for i in (21_000, 21_001, 21_002)])
    table.update([{"_id": 5, "x": 7}])
    table.insert([{"x": 2**40}])
    table.update_where(col("x") == 1, {"$set": {"x": 9}})
    actual = {i: table.get(i)["x"] for i in (0, 5, 21_000, 21_001, 21_002)}
    assert actual == {0: 9, 5: 7, 21_000: 111, 21_001: 222, 21_002: 333}


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (pa.float32(), 0.1),
        (pa.float32(), 1e300),
        (pa.date32(), dt.datetime(2020, 1, 1, 23, 59)),
        (pa.decimal128(5, 2), Decimal("1.239")),
        (pa.int64(), 1.5),
        (pa.float64(), 2**53 + 1),
        (pa.timestamp("us"), dt.datetime(2020, 1, 1, tzinfo=dt.UTC)),
    ],
)
def test_a_value_is_kept_exactly_or_refused(store: Store, kind: pa.DataType, value: object) -> None:
    table = store.create_table("t", pa.table({"x": pa.array([None], kind)}))
    for change in (
        lambda: table.update([{"_id": 0, "x": value}]),
        lambda: table.update_where(None, {"$set": {"x": value}}),
        lambda: table.insert([{"x": value}]),
    ):
        try:
            change()
        except (BadData, TypeConflict):
            continue
        assert table.read().column("x").to_pylist()[-1] == value


def test_times_beyond_nanoseconds_stay_readable_when_nanoseconds_arrive(store: Store) -> None:
    old = dt.datetime(1500, 1, 1)
    table = store.create_table("t", pa.table({"at": pa.array([old], pa.timestamp("us"))}))
    table.insert(pa.table({"at": pa.array(np.arange(2_000) * 1000, pa.timestamp("ns"))}))
    assert table.get(0)["at"] == old
    assert table.count(col("at") < dt.datetime(1600, 1, 1)) == 1


@pytest.mark.parametrize("ids", [[None, 0], [0.5], ["0"]])
def test_ids_are_whole_numbers(store: Store, ids: list) -> None:
    table = store.create_table("t", [{"x": 1}, {"x": 2}])
    with pytest.raises(BadData, match="whole number"):
        table.delete(ids=ids)
    with pytest.raises(BadData):
        table.update(pa.table({"_id": pa.array(ids), "x": pa.array([9] * len(ids))}))
    assert [r["x"] for r in table.read().to_pylist()] == [1, 2]


def test_keys_are_compared_as_what_they_are(store: Store) -> None:
    table = store.create_table("t", [{"k": 2**53 + 1, "x": 1}])
    with pytest.raises(TypeConflict, match="column 'k' is int64"):
        table.update([{"k": "9007199254740993", "x": 2}], on="k")
    with pytest.raises(UnknownRow):
        table.update([{"k": 2.0**53, "x": 2}], on="k")
    assert table.get(0)["x"] == 1


def test_undo_takes_nothing_back_that_it_has_not_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store.open(tmp_path / "s") as first, Store.open(tmp_path / "s") as second:
        table = first.create_table("t", [{"x": 1}])
        table.update([{"_id": 0, "x": 2}])
        newest_commits, meddled = Catalog.newest_commits, []

        def late(catalog: Catalog, *arguments: Any) -> list[Any]:
            commits = newest_commits(catalog, *arguments)
            if not meddled:
                meddled.append(second["t"].insert([{"x": 5}]))
            return commits

        monkeypatch.setattr(Catalog, "newest_commits", late)
        table.history.undo()
        assert meddled
        assert [r["x"] for r in table.read().to_pylist()] == [2]  # the newest commit, the insert, is undone
        table.history.redo()
        assert [r["x"] for r in table.read().to_pylist()] == [2, 5]


def test_ids_may_come_from_a_generator_also_when_the_commit_is_staged_again(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s") as first, Store.open(tmp_path / "s") as second:
        table = first.create_table("t", {"x": list(range(50))})

        def slowly() -> Iterator[int]:
            second["t"].insert([{"x": -1}])
            yield from (1, 2)

        assert table.delete(ids=slowly()).deleted == 2
        assert table.num_rows == 49


def test_many_threads_are_told_the_truth_about_their_commits(store: Store) -> None:
    table = store.create_table("t", [{"x": -1}])
    failures: list[Exception] = []

    def insert(table: Table) -> None:
        for n in range(100):
            try:
                table.insert([{"x": n}])
            except Exception as error:  # noqa: BLE001 -- any at all is a failure of the test
                failures.append(error)

    threads = [threading.Thread(target=insert, args=(table,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert table.num_rows == 401


def test_a_large_insert_that_meets_another_commit_is_entered_after_it(store: Store) -> None:
    table = store.create_table("t", [{"x": -1}])

    def coming() -> Iterator[pa.RecordBatch]:
        yield numbers(0, 2_000)
        table.update([{"_id": 0, "x": -5}])

    assert table.insert(pa.RecordBatchReader.from_batches(numbers(0, 1).schema, coming())).inserted == 2_000
    assert (table.get(0), table.num_rows) == ({"_id": 0, "x": -5}, 2_001)


def test_opening_a_store_never_sweeps_what_another_process_just_wrote(tmp_path: Path) -> None:
    writer = """
import sys, numpy
from lamella import Store
table = Store.open(sys.argv[1])["t"]
for n in range(int(sys.argv[2])):
    table.insert({"x": numpy.full(1500, n)})
"""
    path = tmp_path / "s"
    with Store.open(path) as store:
        store.create_table("t", {"x": np.arange(1_500)})
        child = subprocess.Popen([sys.executable, "-c", writer, str(path), str(INSERTS)])
        while child.poll() is None:
            Store.open(path).close()
        assert child.returncode == 0
        assert store["t"].read().num_rows == (1 + INSERTS) * 1_500


@pytest.mark.slow
def test_two_programs_may_make_the_same_store(tmp_path: Path) -> None:
    maker = "import sys; from lamella import Store; Store.open(sys.argv[1]).close()"
    makers = [subprocess.Popen([sys.executable, "-c", maker, str(tmp_path / "s")]) for _ in range(4)]
    assert [m.wait() for m in makers] == [0] * 4
    with Store.open(tmp_path / "s") as store:
        assert store.tables == []


def test_a_store_opens_while_another_program_closes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite removes the files beside the catalog at any moment."""
    Store.open(tmp_path / "s").close()
    shared = tmp_path / "s" / "catalog.sqlite-shm"
    shared.touch()
    access = os.access

    def look(path: Path, mode: int, **options: bool) -> bool:
        if path == shared:
            shared.unlink()
        return access(path, mode, **options)

    monkeypatch.setattr(os, "access", look)
    with Store.open(tmp_path / "s") as store:
        assert store.tables == []


def test_a_store_closes_while_another_thread_opens_a_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store.open(tmp_path / "s") as store:
        store.create_table("a", [{"x": 1}])
        store.create_table("b", [{"x": 1}])
    store = Store.open(tmp_path / "s")
    forget = Reader.forget

    def forget_and_open(reader: Reader) -> None:
        assert store["b"].num_rows == 1
        forget(reader)

    assert store["a"].num_rows == 1
    monkeypatch.setattr(Reader, "forget", forget_and_open)
    store.close()


def test_a_store_that_was_not_made_to_its_end_opens(tmp_path: Path) -> None:
    (tmp_path / "s" / "data").mkdir(parents=True)
    (tmp_path / "s" / "tmp").mkdir()
    with Store.open(tmp_path / "s") as store:
        assert store.tables == []


def test_table_names_that_differ_only_in_case_are_refused(store: Store) -> None:
    store.create_table("a", [{"x": 1}])
    with pytest.raises(StoreProblem, match="already has a table 'a'"):
        store.create_table("A", [{"x": 1}])
    store.rename_table("a", "A")
    assert store.tables == ["A"]


def test_reading_does_not_wait_for_another_programs_write(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s") as store, Store.open(tmp_path / "s") as elsewhere:
        table = store.create_table("t", [{"x": 1}])
        with elsewhere._catalog.transaction():
            blocked = threading.Thread(target=lambda: table.insert([{"x": 2}]))
            blocked.start()
            assert (table.name, table.num_rows) == ("t", 1)
        blocked.join()
        assert table.num_rows == 2


def test_a_type_that_parquet_cannot_hold_is_refused_at_once(store: Store) -> None:
    spans = pa.array([None], pa.month_day_nano_interval())
    with pytest.raises(BadData, match="cannot be stored in Parquet"):
        store.create_table("t", pa.table({"x": spans}))
    assert store.tables == []
