"""Changes of several tables that happen together or not at all, for every reader and after any failure."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from lamella import Store, col
from lamella.core.errors import (
    BadData,
    FileProblem,
    LamellaError,
    ReadOnlyStore,
    StoreBusy,
    StoreProblem,
    UnknownRow,
)
from lamella.core.store import Table
from tests.slow_tests import rounds

MOVES = rounds(16)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "store") as opened:
        opened.create_table("orders", [{"total": 10}, {"total": 20}])
        opened.create_table("stock", {"left": [5] * 2_000})
        yield opened


def contents(store: Store) -> dict[str, list[dict]]:
    return {name: store[name].read().to_pylist() for name in store.tables}


def files(store: Store) -> set[str]:
    return {str(f.relative_to(store.path / "data")) for f in (store.path / "data").rglob("*") if f.is_file()}


def no_stray(store: Store) -> None:
    assert files(store) == store._catalog.known_paths()
    assert list((store.path / "tmp").iterdir()) == []


def sell(store: Store, orders: int = 1) -> None:
    store["orders"].insert([{"total": 30}] * orders)
    store["stock"].update([{"_id": 0, "left": 4}])


def test_changes_of_several_tables_happen_at_once(store: Store) -> None:
    with Store.open(store.path) as elsewhere:
        with store.transaction("a sale"):
            sell(store)
            store["stock"].delete(ids=[7])
            assert (store["orders"].num_rows, store["stock"].get(0)) == (3, {"_id": 0, "left": 4})
            assert store.sql("select sum(total) s from orders").to_pylist() == [{"s": 60}]
            assert store["orders"].history.diff(1).summary().added == 1
            assert (elsewhere["orders"].num_rows, elsewhere["stock"].get(0)) == (2, {"_id": 0, "left": 5})
        assert contents(elsewhere) == contents(store)
        assert (elsewhere["orders"].num_rows, elsewhere["stock"].num_rows) == (3, 1_999)
    commits = [c for name in store.tables for c in store[name].history.commits() if c.message == "a sale"]
    assert len(commits) == 3 and len({c.transaction_id for c in commits}) == 1
    assert commits[0].transaction_id is not None


def test_an_exception_takes_all_of_it_back(store: Store) -> None:
    before, on_disk = contents(store), files(store)
    versions = {name: store[name].version for name in store.tables}
    with pytest.raises(ZeroDivisionError), store.transaction():
        sell(store)
        store["stock"].insert({"left": list(range(3_000))})
        store["stock"].maintenance.compact()
        assert store["stock"].num_rows == 5_000
        store.create_table("new", {"a": list(range(2_000))})
        store.rename_table("orders", "sales")
        store.drop_table("stock")
        assert store.tables == ["new", "sales"]
        raise ZeroDivisionError
    assert contents(store) == before and files(store) == on_disk
    assert {name: store[name].version for name in store.tables} == versions
    no_stray(store)


def test_what_was_taken_back_is_never_read_again(store: Store) -> None:
    """Version, entry and row numbers of a rolled-back transaction are reused for other changes."""
    orders = store["orders"]
    for value in (1, 2):
        with pytest.raises(ZeroDivisionError), store.transaction():
            orders.insert([{"total": value}])
            orders.update([{"_id": 0, "total": value}])
            assert orders.get(2) == {"_id": 2, "total": value}
            raise ZeroDivisionError
        assert orders.get(2) is None and orders.count(col("total") == value) == 0
    orders.insert([{"total": 3}])
    orders.update([{"_id": 0, "total": 4}])
    assert orders.read()["total"].to_pylist() == [4, 20, 3]
    assert orders.as_of(2).read()["total"].to_pylist() == [10, 20, 3]


def test_what_was_taken_back_is_never_read_again_after_a_reload(store: Store) -> None:
    """After renaming, all pending changes are read from the catalog again."""
    orders = store["orders"]
    assert orders.num_rows == 2
    for value, name in ((1, "first"), (2, "second")):
        with pytest.raises(ZeroDivisionError), store.transaction():
            orders.insert([{"total": value}])
            orders.update([{"_id": 0, "total": value}])
            orders.columns.rename("total", name)
            assert orders.read()[name].to_pylist() == [value, 20, value]
            raise ZeroDivisionError
    orders.insert([{"total": 3}])
    orders.update([{"_id": 0, "total": 4}])
    orders.columns.rename("total", "third")
    assert orders.read()["third"].to_pylist() == [4, 20, 3]


def test_who_reads_on_in_what_was_taken_back_is_told_so(store: Store) -> None:
    with pytest.raises(KeyError), store.transaction():
        store["stock"].insert({"left": [1] * 2_000})
        reader = store["stock"].batches()
        assert reader.read_next_batch().num_rows == 2_000
        raise KeyError
    with pytest.raises(FileProblem, match="the transaction that wrote it was rolled back"):
        reader.read_all()


def test_an_order_remembered_from_what_was_taken_back_is_not_used(store: Store) -> None:
    orders = store["orders"]

    def paged() -> list[int]:
        first = orders.page(2, sort=["total"])
        second = orders.page(2, sort=["total"], after=first.next)
        return first.rows["total"].to_pylist() + second.rows["total"].to_pylist()

    with pytest.raises(ZeroDivisionError), store.transaction():
        orders.insert([{"total": 1}])
        assert paged() == [1, 10, 20]
        raise ZeroDivisionError
    orders.insert([{"total": 15}])
    assert paged() == [10, 15, 20]


def test_a_table_that_was_taken_back_is_gone_for_those_who_hold_it(store: Store) -> None:
    with pytest.raises(ZeroDivisionError), store.transaction():
        table = store.create_table("a", [{"x": 1}])
        raise ZeroDivisionError
    store.create_table("b", [{"y": 2}])
    for use in (table.read, lambda: table.insert([{"x": 2}])):
        with pytest.raises(StoreProblem, match="a: the table is gone"):
            use()
    assert store["b"].read().to_pylist() == [{"_id": 0, "y": 2}]


def test_a_change_that_fails_leaves_the_others_of_the_transaction(store: Store) -> None:
    with store.transaction():
        sell(store)
        with pytest.raises(UnknownRow):
            store["stock"].delete(ids=[10**6])
        with pytest.raises(BadData):
            store["orders"].insert([{"_id": 1, "total": 5}])
    assert (store["orders"].num_rows, store["stock"].num_rows) == (3, 2_000)
    no_stray(store)


def test_a_block_inside_another_fails_alone_and_succeeds_with_it(store: Store) -> None:
    with store.transaction("outer"):
        sell(store)
        with pytest.raises(ZeroDivisionError), store.transaction("inner"):
            store["orders"].insert({"total": list(range(2_000))})
            assert store["orders"].num_rows == 2_003
            raise ZeroDivisionError
        assert store["orders"].num_rows == 3
        with store.transaction("inner"):
            store["orders"].insert([{"total": 77}])
    assert store["orders"].read()["total"].to_pylist() == [10, 20, 30, 77]
    assert {c.transaction_id for c in store["orders"].history.commits()[1:]} == {1}
    no_stray(store)
    with pytest.raises(ZeroDivisionError), store.transaction():
        with store.transaction():
            sell(store)
        raise ZeroDivisionError
    assert store["orders"].num_rows == 4


def test_files_are_not_removed_while_they_may_be_wanted_back(store: Store) -> None:
    before, on_disk = contents(store), files(store)
    with pytest.raises(ZeroDivisionError), store.transaction():
        store["stock"].insert({"left": [1] * 5_000})
        store["stock"].maintenance.expire(keep_versions=1)
        store.drop_table("stock")
        with pytest.raises(StoreProblem, match="Vacuum after its block"):
            store.maintenance.vacuum()
        Store.open(store.path).close()
        raise ZeroDivisionError
    assert contents(store) == before and files(store) == on_disk
    with store.transaction():
        store.drop_table("stock")
    assert files(store) == set()


def test_a_block_without_changes_makes_no_version(store: Store) -> None:
    with store.transaction():
        assert store["orders"].num_rows == 2
    assert store["orders"].version == 1


def test_undo_and_redo_go_over_all_tables_of_a_transaction(store: Store) -> None:
    before = contents(store)
    with store.transaction():
        sell(store)
        sell(store, orders=2)
    after = contents(store)
    undone = store["stock"].history.undo()
    assert contents(store) == before
    assert (undone.table, undone.kind) == ("stock", "undo")
    assert store["orders"].history.commits()[-1].transaction_id == undone.transaction_id is not None
    assert store["orders"].history.commits()[-1].deleted == 3
    store["orders"].history.redo()
    assert contents(store) == after
    store["orders"].history.undo()
    assert contents(store) == before
    assert store["stock"].history.undoable() is None


def test_a_transaction_is_not_undone_where_one_of_its_tables_moved_on(store: Store) -> None:
    with store.transaction():
        sell(store)
    store["stock"].update([{"_id": 5, "left": 0}])
    before = contents(store)
    with pytest.raises(StoreProblem, match=r"stock: it has changed since.*Undo the later changes of stock"):
        store["orders"].history.undo()
    assert contents(store) == before
    store["stock"].history.undo()
    store["orders"].history.undo()
    assert store["stock"].get(0) == {"_id": 0, "left": 5}
    store["orders"].insert([{"total": 1}])
    with pytest.raises(StoreProblem, match="orders: it has changed since"):
        store["stock"].history.redo()


@pytest.mark.parametrize("name", ["orders", "new"])
def test_undo_of_a_transaction_that_made_a_table_leaves_it_empty_and_redo_fills_it(
    store: Store, name: str
) -> None:
    before = contents(store)
    with store.transaction():
        sell(store)
        new = store.create_table("new", [{"a": 1}, {"a": 2}])
        new.insert([{"a": 3, "b": "x"}])
        new.columns.add("c", pa.int64())
    after = contents(store)
    assert store[name].history.undo().kind == "undo"
    assert contents(store) == before | {"new": []} and new.schema.names == ["_id"]
    assert new.history.commits()[-1].deleted == 3 and new.history.undoable() is None
    assert not store.maintenance.verify().problems
    store[name].history.redo()
    assert contents(store) == after and new.schema.names == ["_id", "a", "b", "c"]
    store[name].history.undo()
    new.insert([{"z": 1}])
    assert new.read().to_pylist() == [{"_id": 3, "z": 1}]
    new.history.undo()
    assert contents(store) == before | {"new": []}


def test_a_table_is_not_undone_into_nothing_outside_a_transaction(store: Store) -> None:
    table = store.create_table("made", [{"a": 1}])
    assert table.history.undoable() is None
    with pytest.raises(StoreProblem, match="nothing to undo"):
        table.history.undo()


def test_a_transaction_that_lost_a_table_is_not_undone_in_part(store: Store) -> None:
    with store.transaction():
        sell(store)
        store.create_table("new", [{"a": 1}])
    store.drop_table("new")
    with pytest.raises(StoreProblem, match="One of those tables was dropped"):
        store["orders"].history.undo()
    store["orders"].history.restore(1)
    assert store["orders"].num_rows == 2


def test_a_transaction_of_which_a_version_expired_is_not_undone_in_part(store: Store) -> None:
    with store.transaction():
        sell(store)
    store["stock"].update([{"_id": 1, "left": 1}])
    store["stock"].maintenance.expire(keep_versions=1)
    with pytest.raises(StoreProblem, match="its versions have expired"):
        store["orders"].history.undo()


def test_a_transaction_cannot_undo_itself(store: Store) -> None:
    with store.transaction():
        store["stock"].update([{"_id": 0, "left": 1}])
        with pytest.raises(StoreProblem, match="cannot undo what it did itself"):
            store["stock"].history.undo()
    assert store["stock"].get(0) == {"_id": 0, "left": 1}


def test_what_happened_before_can_be_undone_inside_a_transaction(store: Store) -> None:
    store["stock"].update([{"_id": 0, "left": 1}])
    with store.transaction():
        store["stock"].history.undo()
        store["orders"].insert([{"total": 1}])
    assert (store["stock"].get(0), store["orders"].num_rows) == ({"_id": 0, "left": 5}, 3)


def test_other_threads_wait_for_a_transaction_and_see_none_of_it(store: Store) -> None:
    versions: list[int] = []

    def insert() -> None:
        versions.append(store["orders"].insert([{"total": 99}]).version)

    with store.transaction():
        thread = threading.Thread(target=insert)
        thread.start()
        for value in range(50):
            store["orders"].insert([{"total": value}])
        counts: list[int] = []
        looker = threading.Thread(target=lambda: counts.append(store["orders"].num_rows))
        looker.start()
        looker.join()
        assert counts == [2] and not versions
        assert store["orders"].num_rows == 52
    thread.join()
    assert versions == [52]
    assert store["orders"].read()["total"].to_pylist() == [10, 20, *range(50), 99]


def test_who_waits_too_long_for_a_writer_is_told_so(store: Store) -> None:
    with Store.open(store.path, busy_seconds=0.05) as elsewhere, store.transaction():
        store["orders"].insert([{"total": 1}])
        with pytest.raises(StoreBusy, match=r"0\.05 seconds.*Try again"):
            elsewhere["orders"].insert([{"total": 2}])
        assert elsewhere["orders"].num_rows == 2
        Store.open(store.path, busy_seconds=0.05).close()
    failures: list[Exception] = []

    def insert(table: Table) -> None:
        try:
            table.insert([{"total": 3}])
        except LamellaError as error:
            failures.append(error)

    with Store.open(store.path, busy_seconds=0.05) as own, own.transaction():
        thread = threading.Thread(target=insert, args=(own["orders"],))
        thread.start()
        thread.join()
    assert [type(f) for f in failures] == [StoreBusy]
    assert store["orders"].num_rows == 3


def test_pending_changes_are_put_in_order_after_the_transaction(store: Store) -> None:
    with store.transaction():
        for value in range(100):
            store["stock"].update([{"_id": value, "left": value}])
    entries = store._catalog.valid(
        "pending_cells", store["stock"]._reader.table_id, store["stock"].version, ("entry",)
    )
    assert len(entries) < 100
    assert store["stock"].read()["left"].to_pylist()[:100] == list(range(100))


def test_columns_change_with_the_rest(store: Store) -> None:
    before = contents(store)
    with pytest.raises(ZeroDivisionError), store.transaction():
        store["orders"].columns.rename("total", "sum")
        store["orders"].update([{"_id": 0, "paid": True}])
        assert store["orders"].schema.names == ["_id", "sum", "paid"]
        raise ZeroDivisionError
    assert contents(store) == before
    store["orders"].update([{"_id": 0, "note": "x"}])
    assert store["orders"].schema.field("note").type == pa.string()


def test_a_read_only_store_has_no_transactions(store: Store) -> None:
    reading = Store.open(store.path, read_only=True)
    with reading, pytest.raises(ReadOnlyStore), reading.transaction():
        pass


KILLED = """
import os, sys
import numpy
from lamella import Store
store = Store.open(sys.argv[1])
with store.transaction():
    store["orders"].insert([{"total": 1}])
    store["stock"].insert({"left": numpy.arange(3000)})
    store.create_table("new", {"a": numpy.arange(3000)})
    print("written", flush=True)
    sys.stdin.read()
"""


def test_a_process_that_is_killed_inside_leaves_nothing_of_it(store: Store) -> None:
    before = contents(store)
    writer = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(store.path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert writer.stdout is not None and writer.stdout.readline() == "written\n"
    Store.open(store.path).close()  # files being written in the transaction are not removed
    published = files(store) - store._catalog.known_paths()
    assert len(published) == 2
    writer.kill()
    writer.communicate()
    with Store.open(store.path) as opened:
        assert contents(opened) == before
        no_stray(opened)
        assert opened.maintenance.verify().problems == ()


@pytest.mark.slow
def test_many_processes_see_all_of_a_transaction_or_nothing(store: Store) -> None:
    """Money moves between two tables in one process; the sum stays the same in all others."""
    mover = """
import sys
from lamella import Store
store = Store.open(sys.argv[1])
a, b = store["a"], store["b"]
for n in range(int(sys.argv[2])):
    with store.transaction():
        a.update([{"_id": 0, "x": 100 - n}])
        b.update([{"_id": 0, "x": n}])
"""
    a, b = (store.create_table(name, [{"x": x}]) for name, x in (("a", 100), ("b", 0)))
    process = subprocess.Popen([sys.executable, "-c", mover, str(store.path), str(MOVES)])
    sums = set()
    while process.poll() is None:
        with store.transaction():
            sums.add(a.get(0)["x"] + b.get(0)["x"])  # type: ignore[index]
    assert process.returncode == 0
    assert sums == {100}
    assert b.read()["x"].to_pylist() == [MOVES - 1]
