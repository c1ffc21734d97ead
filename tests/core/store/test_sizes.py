"""The sizes of a store by table, column and version; as much is freed as was announced."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lamella import Store
from lamella.core.store.sizes import TableSizes

ROWS = 60_000


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "shop") as opened:
        rows = {"n": list(range(ROWS)), "text": [f"word {i % 977}" for i in range(ROWS)]}
        opened.create_table("orders", rows)
        opened.create_table("few", {"k": [1, 2]})
        yield opened


def sizes(store: Store, table: str = "orders") -> TableSizes:
    return next(each for each in store.maintenance.sizes().tables if each.name == table)


def on_disk(store: Store) -> int:
    files = [path for path in store.path.rglob("*") if path.is_file() and path.suffix != ".sqlite-shm"]
    return sum(path.stat().st_size for path in files)


def test_sizes_are_those_on_the_disk(store: Store) -> None:
    store["orders"].indexes.create("n")
    measured = store.maintenance.sizes()
    orders = sizes(store)
    files = list((store.path / "data").glob("orders-*/*"))
    assert (orders.rows, orders.files, orders.bytes) == (ROWS, 1, sum(f.stat().st_size for f in files))
    assert orders.index_bytes > 0 and orders.history_bytes == 0
    assert [column.name for column in orders.columns] == ["_id", "n", "text"]
    assert 0.9 * orders.bytes < sum(column.bytes for column in orders.columns) <= orders.bytes
    assert all(column.encoding for column in orders.columns)
    locks = sum(path.stat().st_size for path in (store.path / "readers").rglob("*"))
    assert measured.total == on_disk(store) - locks
    assert measured.format == 3 and measured.path == store.path


def test_versions_say_what_they_added_and_what_their_expiry_frees(store: Store) -> None:
    table = store["orders"]
    table.update_where(None, {"$inc": {"n": 1}})
    table.history.name_version("raised")
    table.update_where(None, {"$inc": {"n": 1}})
    table.update_where(None, {"$inc": {"n": 1}})
    versions = sizes(store).versions
    assert [each.version for each in versions] == [1, 2, 3, 4]
    assert [each.name for each in versions] == ["", "raised", "", ""]
    assert all(each.added > 0 for each in versions) and versions[-1].freed == 0
    for version in versions[:-1]:
        planned = table.maintenance.expire(keep_versions=4 - version.version, dry_run=True)
        assert version.freed == planned.bytes
    expiry = table.maintenance.expire(keep_versions=1)
    assert expiry.bytes == versions[-2].freed


def test_the_vacuum_plan_is_what_a_vacuum_frees(store: Store) -> None:
    table = store["orders"]
    table.update_where(None, {"$inc": {"n": 1}})
    table.maintenance.compact()
    table.maintenance.expire(keep_versions=1)
    stray = next((store.path / "data").glob("orders-*")) / f"{'0' * 32}.parquet"
    stray.write_bytes(b"left by a crash")
    planned = store.maintenance.vacuum_plan()
    assert stray.exists() and planned.files > 1
    vacuum = store.maintenance.vacuum()
    assert (vacuum.files, vacuum.bytes) == (planned.files, planned.bytes)
    assert store.maintenance.vacuum_plan().files == 0


def test_the_compaction_plan_says_what_is_rewritten_and_freed(store: Store) -> None:
    table = store["orders"]
    assert not table.maintenance.compaction_plan().is_needed
    for start in range(3):
        table.insert({"n": list(range(start, start + 20_000)), "text": ["x"] * 20_000})
    plan = table.maintenance.compaction_plan()
    before = sizes(store)
    assert plan.is_needed and plan.files == before.files == 4
    compaction = table.maintenance.compact()
    assert compaction.rewritten == 4 and compaction.files_after == 1
    assert not table.maintenance.compaction_plan().is_needed
    freed = store.maintenance.vacuum()
    assert freed.bytes == plan.freed < plan.bytes
    table.update([{"_id": 0, "n": -1}])
    pending = table.maintenance.compaction_plan()
    assert pending.is_needed and pending.pending and pending.files == 1


def test_a_table_that_cannot_be_measured_says_why(store: Store) -> None:
    file = next((store.path / "data").glob("orders-*/*.parquet"))
    content = file.read_bytes()
    file.unlink()
    with Store.open(store.path, read_only=True) as elsewhere:
        measured = {each.name: each for each in elsewhere.maintenance.sizes().tables}
        assert measured["few"].rows == 2 and not measured["few"].problem
        assert str(file) in measured["orders"].problem or file.name in measured["orders"].problem
        assert "few" in str(elsewhere.maintenance.sizes())
    file.write_bytes(content)


def test_reading_sizes_writes_nothing(store: Store, tmp_path: Path) -> None:
    store["orders"].update([{"_id": 0, "n": 5}])
    path = store.path
    before = {p: p.stat().st_mtime_ns for p in (path / "data").rglob("*")}
    with Store.open(path, read_only=True) as elsewhere:
        assert elsewhere.maintenance.sizes().tables[1].compaction is not None
    assert {p: p.stat().st_mtime_ns for p in (path / "data").rglob("*")} == before
    assert not any((path / "tmp").iterdir())
