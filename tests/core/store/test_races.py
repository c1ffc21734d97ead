"""Commits of several processes at once: none overlaps, loses or corrupts the rows of another."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lamella import Store, col
from lamella.core.errors import BadData
from lamella.core.store import maintenance as tidying
from lamella.core.store import rewrite as placement
from lamella.core.store.folder import Staging
from lamella.core.store.table import Table

ROWS = 3_000


@pytest.fixture
def table_elsewhere(tmp_path: Path) -> Iterator[Table]:
    """The table as another process would open it."""
    with Store.open(tmp_path / "s") as store:
        yield store.create_table("t", {"n": list(range(ROWS)), "c": list(range(ROWS))})


@pytest.fixture
def table(table_elsewhere: Table) -> Iterator[Table]:
    with Store.open(table_elsewhere.store.path) as store:
        yield store["t"]


def rows_with(meanwhile: Callable[[], object]) -> Iterator[dict[str, int]]:
    """Rows for a long insert that is interrupted by another change."""
    for i in range(12_000):
        if i == 11_500:
            meanwhile()
        yield {"n": -i, "c": 0}


def once_before_publishing(monkeypatch: pytest.MonkeyPatch, meanwhile: Callable[[], object]) -> None:
    publish, waiting = Staging.publish, [meanwhile]

    def first(staging: Staging, *arguments: object) -> list[str]:
        if waiting:
            waiting.pop()()
        return publish(staging, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(Staging, "publish", first)


def whole(table: Table) -> None:
    """Check that ids ascend, that each row is found by its id, and that the files are valid."""
    ids = table.read(columns=["_id"]).column(0).to_pylist()
    assert ids == sorted(set(ids))
    assert all(table.get(i) is not None for i in ids[:: len(ids) // 200])
    assert not table.maintenance.verify().problems


def flush(table: Table) -> None:
    table.maintenance.flush()


def compact(table: Table) -> None:
    table.maintenance.compact()


def update(table: Table) -> None:
    table.update_where(None, {"$set": {"n": 7, "c": 7}})


@pytest.mark.parametrize("tidy", [flush, compact, update])
def test_no_file_spans_the_ids_of_rows_that_are_still_coming_in(
    table: Table, table_elsewhere: Table, tidy: Callable[[Table], None]
) -> None:
    def meanwhile() -> None:
        for _ in range(2):
            table_elsewhere.insert([{"n": 1, "c": 1}] * 600)
        tidy(table_elsewhere)

    table.insert(rows_with(meanwhile))
    whole(table)
    assert table.num_rows == ROWS + 12_000 + 1_200
    assert table.delete(where=col("n") < 0).deleted == 11_999
    table.maintenance.compact()
    whole(table)
    assert table.num_rows == ROWS + 1_200 + 1


def test_ids_taken_for_rows_that_never_came_stand_in_nobodys_way(
    table: Table, table_elsewhere: Table
) -> None:
    def breaks() -> None:
        table_elsewhere.insert([{"n": 1, "c": 1}])
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        table.insert(rows_with(breaks))
    assert table.store._catalog.ids_under_way(table._reader.table_id) == []
    table.maintenance.compact()
    assert len(table.snapshot().segments) == 1


def test_ids_that_an_insert_did_not_need_are_given_to_the_next(table: Table) -> None:
    table.insert([{"n": i, "c": i} for i in range(1_500)])
    table.insert([{"n": 0, "c": 0}])
    assert table.get(ROWS + 1_500) == {"_id": ROWS + 1_500, "n": 0, "c": 0}


def test_a_column_that_comes_back_while_a_table_is_compacted_keeps_its_values(
    table: Table, table_elsewhere: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    table.insert({"n": list(range(ROWS)), "c": list(range(ROWS))})
    table.columns.drop("c")
    once_before_publishing(monkeypatch, table_elsewhere.history.undo)
    table.maintenance.compact()
    assert table.read(columns=["c"]).column(0).to_pylist() == [*range(ROWS), *range(ROWS)]


def test_rows_that_come_back_while_their_neighbours_are_joined_are_in_their_place(
    table: Table, table_elsewhere: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    for part in (1, 2):
        table.insert({"n": [part] * ROWS, "c": [part] * ROWS})
    table.delete(where=col("n") == 1, message="the middle")
    once_before_publishing(monkeypatch, table_elsewhere.history.undo)
    table.maintenance.compact()
    whole(table)
    assert table.num_rows == 3 * ROWS


def test_a_value_that_a_column_being_widened_cannot_hold_is_not_spoiled(
    table: Table, table_elsewhere: Table
) -> None:
    def rows() -> Iterator[dict[str, float]]:
        yield from rows_with(lambda: table_elsewhere.insert([{"n": 2**53 + 1, "c": 0}]))
        yield {"n": 1.5, "c": 0}

    with pytest.raises(BadData, match="decimals hold every digit"):
        table.insert(rows())
    assert table.read(columns=["n"]).column(0)[-1].as_py() == 2**53 + 1
    whole(table)


def test_change_files_are_worked_in_beside_a_long_insert(
    table: Table, table_elsewhere: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(placement, "SMALL_ROWS", 10)

    def meanwhile() -> None:
        table_elsewhere.insert([{"n": 1, "c": 1}] * 600)
        for step in range(tidying.CHANGE_FILES + 2):
            table_elsewhere.update([{"_id": i, "c": step} for i in range(ROWS - 100, ROWS)])

    table.insert(rows_with(meanwhile))
    whole(table)
