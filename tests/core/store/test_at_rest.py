"""Many pending changes are flushed when a store is closed or left idle; few stay where they are."""

from __future__ import annotations

import logging
from pathlib import Path

import pyarrow as pa
import pytest

from lamella import Store
from lamella.core.store import Table

ROWS = 5_000


def many(table: Table, count: int = 3_000) -> None:
    """Change this many scattered cells."""
    ids = pa.array(range(count), pa.int64())
    table.update(pa.table({"_id": ids, "x": pa.array([-7] * count, pa.int64())}))


def flushed(folder: Path) -> int:
    """The number of files with changed cells in the store."""
    return len(list(folder.rglob("*.cells*")))


def made(folder: Path) -> Store:
    store = Store.open(folder)
    store.create_table("t", pa.table({"x": pa.array(range(ROWS), pa.int64())}))
    return store


def test_closing_a_store_flushes_many_pending_changes(tmp_path: Path) -> None:
    with made(tmp_path / "s") as store:
        many(store["t"])
        assert flushed(tmp_path) == 0
    with Store.open(tmp_path / "s") as store:
        table = store["t"]
        assert (flushed(tmp_path), table.version) == (1, 2)
        assert table.read()["x"].to_pylist() == [-7] * 3_000 + list(range(3_000, ROWS))
        table.history.undo()
        assert table.read()["x"].to_pylist() == list(range(ROWS))


def test_a_few_stay_pending(tmp_path: Path) -> None:
    with made(tmp_path / "s") as store:
        many(store["t"], 900)
    assert flushed(tmp_path) == 0


def test_a_table_that_somebody_else_dropped_keeps_no_store_from_closing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store, elsewhere = made(tmp_path / "s"), Store.open(tmp_path / "s")
    many(store["t"])
    elsewhere.drop_table("t")
    with caplog.at_level(logging.WARNING):
        store.maintenance.flush_idle()
    assert "t: pending changes stay pending: t: the table is gone" in caplog.text
    left = store.create_table("u", pa.table({"x": pa.array(range(ROWS), pa.int64())}))
    many(left)
    elsewhere.drop_table("u")
    store.close()
    elsewhere.close()
    assert not [path for path in (tmp_path / "s").glob("*") if path.suffix in (".sqlite-wal", ".sqlite-shm")]


def test_who_changed_nothing_flushes_nothing(tmp_path: Path) -> None:
    with made(tmp_path / "s") as store:
        many(store["t"])
        with Store.open(tmp_path / "s") as elsewhere:
            assert elsewhere["t"].num_rows == ROWS
        assert flushed(tmp_path) == 0
        store.maintenance.flush_idle()
        assert flushed(tmp_path) == 1


def test_what_cannot_be_flushed_stays_pending_and_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with made(tmp_path / "s") as store, Store.open(tmp_path / "s", busy_seconds=0.05) as elsewhere:
        many(elsewhere["t"])
        with store.transaction():
            store["t"].update([{"_id": 0, "x": 1}])
            with caplog.at_level(logging.WARNING):
                elsewhere.maintenance.flush_idle()
        assert "stay pending" in caplog.text
        assert store["t"].read()["x"].to_pylist()[:2] == [1, -7]


def test_a_transaction_that_is_left_by_closing_flushes_nothing(tmp_path: Path) -> None:
    store = made(tmp_path / "s")
    with pytest.raises(ZeroDivisionError), store.transaction():
        many(store["t"])
        store.maintenance.flush_idle()
        raise ZeroDivisionError
    store.close()
    assert flushed(tmp_path) == 0
