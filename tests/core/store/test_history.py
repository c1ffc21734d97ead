"""Versions of a table: reading, restoring, naming and expiring them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path
from time import time_ns

import pyarrow as pa
import pytest

from lamella import Store, col
from lamella.core.errors import BadData, ReadOnlyStore, StoreProblem, UnknownVersion
from lamella.core.store import Table


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "store") as opened:
        yield opened


@pytest.fixture
def table(store: Store) -> Table:
    """Five versions: 2,000 rows, one changed, one deleted, one with a new column inserted, all changed."""
    table = store.create_table("t", {"n": list(range(2_000)), "word": ["a"] * 2_000})
    table.update([{"_id": 3, "n": -3}])
    table.delete(ids=[5])
    table.insert([{"n": 7, "word": "new", "more": 1.5}])
    table.update_where(None, {"$set": {"word": "b"}})
    return table


def numbers(rows: pa.Table) -> list[int]:
    actual: list[int] = rows.column("n").to_pylist()
    return actual


def test_an_old_version_is_read_like_any_dataset(table: Table) -> None:
    first, third = table.as_of(1), table.as_of(3)
    assert (first.num_rows, third.num_rows, table.num_rows) == (2_000, 1_999, 2_000)
    assert first.schema.names == ["_id", "n", "word"] and table.schema.names == ["_id", "n", "word", "more"]
    assert numbers(first.read()) == list(range(2_000))
    assert numbers(first.batches().read_all()) == list(range(2_000))
    assert (first.count(col("word") == "a"), table.count(col("word") == "a")) == (2_000, 0)
    assert numbers(third.read(where=col("_id") <= 5)) == [0, 1, 2, -3, 4]
    assert third.version == 3
    assert table.read(["n"], as_of=2, where=col("_id") == 3).to_pylist() == [{"n": -3}]


def test_an_old_version_stays_what_it_was_while_the_table_moves_on(table: Table) -> None:
    old = table.as_of(2)
    table.maintenance.flush()
    table.maintenance.compact()
    table.delete(where=col("n") > 10)
    assert numbers(old.read())[:5] == [0, 1, 2, -3, 4] and old.num_rows == 2_000


def test_a_time_means_the_version_that_was_the_newest_then(table: Table) -> None:
    times = [c.time for c in table.history.commits()]
    assert all(t is not None for t in times)
    for version, time in enumerate(times, start=1):
        assert time is not None
        assert table.as_of(time).version == version
        local = time.astimezone().replace(tzinfo=None)
        assert table.as_of(local).version == version
        assert table.as_of(time.astimezone(dt.timezone(dt.timedelta(hours=9)))).version == version
    assert times[0] is not None
    with pytest.raises(StoreProblem, match="no version yet at"):
        table.as_of(times[0] - dt.timedelta(microseconds=1))


def test_a_time_means_one_version_when_the_clock_was_set_back(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = time_ns()
    for clock in (now + 10**13, now, now - 10**12, now + 10**13, now + 10**14):
        monkeypatch.setattr("time.time_ns", lambda clock=clock: clock)
        commit = table.update([{"_id": 3, "n": clock}])
        assert commit.time == table.history.commits()[-1].time
    times = [c.time for c in table.history.commits()]
    assert times == sorted(set(times))
    assert [table.as_of(when).version for when in times] == list(range(1, 11))


@pytest.mark.parametrize("version", [0, -1, 6, 10**30])
def test_a_version_that_never_was_is_refused(table: Table, version: int) -> None:
    with pytest.raises(StoreProblem, match=f"there is no version {version}.*The newest is 5"):
        table.as_of(version)


@pytest.mark.parametrize("when", [None, 1.5, True, dt.date(2020, 1, 1)])
def test_what_names_no_version_is_refused(table: Table, when: object) -> None:
    with pytest.raises(BadData, match="names no version"):
        table.as_of(when)  # type: ignore[arg-type]


def test_restore_is_a_commit_that_can_be_undone(table: Table) -> None:
    now, then = table.read(), table.as_of(2).read()
    commit = table.history.restore(2, message="as it was")
    assert (commit.kind, commit.restores, commit.version, commit.message) == ("restore", 2, 6, "as it was")
    assert (commit.inserted, commit.updated, commit.deleted) == (1, 1_999, 1)
    assert table.read().equals(then)
    assert table.history.undo().restores == 5
    assert table.read().equals(now)
    table.history.redo()
    assert table.read().equals(then)
    table.history.undo()
    table.history.undo()
    assert table.read(["word"], as_of=4).equals(table.read(["word"]))
    assert table.history.restore(table.version).version == table.version


def test_restore_leads_back_across_changed_columns(table: Table) -> None:
    table.columns.drop("n")
    table.columns.rename("word", "n")
    table.history.restore(1)
    assert table.schema.equals(table.as_of(1).schema)
    table.insert([{"n": 1, "word": "x"}])
    assert table.get(2_001) == {"_id": 2_001, "n": 1, "word": "x"}


def test_versions_have_names(table: Table) -> None:
    table.history.name_version("start", 1)
    table.history.name_version("now")
    assert [c.name for c in table.history.commits()] == ["start", "", "", "", "now"]
    assert table.as_of("start").num_rows == 2_000
    with pytest.raises(StoreProblem, match="version 1 is already named 'start'"):
        table.history.name_version("start", 2)
    with pytest.raises(StoreProblem, match=r"version 5 is already named 'now'.*unname_version"):
        table.history.name_version("later", 5)
    with pytest.raises(StoreProblem, match="needs a name"):
        table.history.name_version(" ", 2)
    with pytest.raises(UnknownVersion, match="Did you mean 'start'"):
        table.history.restore("strat")
    table.history.unname_version("start")
    table.history.name_version("start", 2)
    assert table.history.restore("start").restores == 2


def test_expired_versions_are_gone_and_the_others_whole(table: Table) -> None:
    versions = {v: table.as_of(v).read() for v in (2, 4, 5)}
    times = [c.time for c in table.history.commits()]
    table.history.name_version("second", 2)
    planned = table.maintenance.expire(keep_versions=2, dry_run=True)
    assert len(table.history.commits()) == 5
    assert table.maintenance.expire(keep_versions=2) == planned
    assert (planned.expired, planned.oldest, planned.named) == ((1, 3), 4, (2,))
    assert [c.version for c in table.history.commits()] == [2, 4, 5]
    for version, rows in versions.items():
        assert table.as_of(version).read().equals(rows)
    for gone in (1, 3, times[0], times[1], times[2]):
        with pytest.raises(StoreProblem, match="has expired"):
            table.as_of(gone)  # type: ignore[arg-type]
    assert table.as_of(times[3]).version == 4  # type: ignore[arg-type]


def test_a_version_expires_when_it_has_no_name_any_more(table: Table) -> None:
    table.history.name_version("second", 2)
    assert table.maintenance.expire(keep_versions=1).expired == (1, 3, 4)
    table.history.unname_version("second")
    assert table.maintenance.expire(keep_versions=1).expired == (2,)
    with pytest.raises(UnknownVersion, match="No version of it has a name"):
        table.as_of("second")


def test_versions_expire_by_age_but_not_the_one_that_held_then(table: Table) -> None:
    third = table.history.commits()[2].time
    assert third is not None
    assert table.maintenance.expire(older_than=dt.timedelta(days=1)).expired == ()
    assert table.maintenance.expire(older_than=third, keep_versions=4).expired == (1,)
    assert table.maintenance.expire(older_than=third).expired == (2,)
    assert table.as_of(third).version == 3
    assert table.maintenance.expire(older_than=dt.timedelta(0)).expired == (3, 4)
    assert table.num_rows == 2_000


def test_versions_expire_until_their_files_fit(store: Store) -> None:
    table = store.create_table("t", {"n": list(range(5_000))})
    for value in range(3):
        table.update_where(None, {"$set": {"n": value}})
        table.maintenance.compact()
    sizes = sum(f.stat().st_size for f in (store.path / "data").rglob("*.*"))
    assert table.maintenance.expire(max_bytes=sizes).expired == ()
    expiry = table.maintenance.expire(max_bytes=1)
    assert expiry.oldest == table.version and len(table.history.commits()) == 1
    assert store.maintenance.vacuum().bytes >= expiry.bytes > 0
    assert numbers(table.read()) == [2] * 5_000


def test_expire_needs_to_be_told_what(table: Table) -> None:
    with pytest.raises(BadData, match="older_than=, keep_versions= or max_bytes="):
        table.maintenance.expire()
    with pytest.raises(BadData, match="keep_versions 0 is less than 1"):
        table.maintenance.expire(keep_versions=0)


def test_undo_stops_at_the_oldest_version_and_redo_goes_on(table: Table) -> None:
    table.history.undo()
    table.history.undo()
    rows = table.read()
    table.maintenance.expire(keep_versions=1)
    assert table.history.undoable() is None and table.history.redoable() is None
    with pytest.raises(StoreProblem, match="nothing to undo"):
        table.history.undo()
    table.insert([{"n": 8}])
    table.history.undo()
    assert table.read().equals(rows) and table.history.undoable() is None
    table.history.redo()
    assert table.num_rows == len(rows) + 1
    table.history.undo()
    assert table.read().equals(rows)


def test_undo_to_a_version_is_one_commit_that_one_redo_takes_back(table: Table) -> None:
    commit = table.history.undo_to(2)
    assert (commit.version, commit.kind, commit.restores, commit.message) == (
        6,
        "undo",
        2,
        "undo to version 2",
    )
    assert (commit.inserted, commit.updated, commit.deleted) == (1, 1_999, 1)
    assert not table.history.diff(2).summary() and table.count({"word": "b"}) == 0
    undoable = table.history.undoable()
    assert undoable is not None and undoable.version == 2
    redone = table.history.redo()
    assert (redone.restores, table.history.redoable()) == (5, None) and table.count({"word": "b"}) == 2_000
    for version in (7, 5):  # what the table has
        with pytest.raises(StoreProblem, match=f"does not lead to version {version}"):
            table.history.undo_to(version)
    again = table.history.undo_to(6)
    assert again.version == 8 and not table.history.diff(2).summary()


def test_undo_to_a_version_before_a_transaction_is_refused(table: Table, store: Store) -> None:
    second = store.create_table("other", {"n": [1]})
    with store.transaction():
        table.delete(ids=[9])
        second.delete(ids=[0])
    with pytest.raises(StoreProblem, match="other tables were changed together"):
        table.history.undo_to(2)
    assert table.version == 6


def test_undo_and_redo_work_where_what_they_restore_has_expired(table: Table) -> None:
    table.history.undo()
    table.history.undo()
    rows = table.read()
    table.history.redo()
    redone = table.read()
    table.maintenance.expire(keep_versions=2)
    assert table.history.undoable() is None
    table.delete(ids=[0])
    table.history.undo()
    assert table.read().equals(redone)
    assert table.history.restore(7).restores == 7
    assert table.read().equals(rows)


def test_what_was_undone_before_versions_that_expired_is_not_redone(table: Table) -> None:
    table.history.undo()
    table.history.name_version("undone", 5)
    table.history.name_version("kept", 6)
    table.delete(ids=[0])
    table.history.undo()
    rows = table.read()
    assert table.maintenance.expire(keep_versions=1).expired == (1, 2, 3, 4, 7)
    assert table.history.redoable() is None
    with pytest.raises(StoreProblem, match="nothing to redo"):
        table.history.redo()
    assert table.read().equals(rows)
    table.insert([{"n": 8}])
    table.history.undo()
    assert table.history.redo().inserted == 1


def test_pending_rows_stay_readable_when_the_columns_they_were_written_with_expire(store: Store) -> None:
    table = store.create_table("t", [{"n": 1, "word": "a"}])
    table.insert([{"n": 2, "word": "b"}])
    table.columns.rename("word", "text")
    table.columns.drop("n")
    table.maintenance.expire(keep_versions=1)
    with Store.open(store.path) as elsewhere:
        assert elsewhere["t"].read().to_pylist() == [{"_id": 0, "text": "a"}, {"_id": 1, "text": "b"}]


def test_history_cannot_be_changed_read_only(table: Table, store: Store) -> None:
    with Store.open(store.path, read_only=True) as reading:
        same = reading["t"]
        assert same.as_of(1).num_rows == 2_000 and same.history.diff(1).summary().removed == 1
        for change in (
            lambda: same.history.restore(1),
            lambda: same.history.name_version("x"),
            lambda: same.maintenance.expire(keep_versions=1),
            reading.maintenance.vacuum,
        ):
            with pytest.raises(ReadOnlyStore):
                change()
