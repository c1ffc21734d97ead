"""Complete rows are written to files as they arrive; columns that are left out keep their values."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lamella import Store, col
from lamella.core.errors import BadData, UnknownRow, VersionConflict
from lamella.core.store.store import Store as StoreType

Rows = list[dict[str, Any]]
NEXT_ID = 18_000
"""The next unused id."""


@pytest.fixture
def wide(tmp_path: Path) -> Iterator[StoreType]:
    """Two files of 6,000 rows and four columns, with pending cells in a column that is left out later."""
    with Store.open(tmp_path / "w") as store:
        names = ["key", "a", "b", "c"]
        table = store.create_table("t", {name: list(range(6_000)) for name in names})
        table.insert({name: list(range(6_000, 12_000)) for name in names})
        table.update([{"_id": 7, "c": None}, {"_id": 7_000, "c": -1}])
        table.delete(ids=[8, 9_000])
        yield store


@pytest.mark.parametrize("on", ["_id", "key"])
def test_columns_that_are_left_out_stay_as_they_are(wide: StoreType, on: str) -> None:
    before = _held(wide)
    changes = [{on: row[on], "a": -row["a"], "b": 2 * row["b"]} for row in before]
    if on == "_id":
        changes = [row | {"key": row["_id"] + 1} for row in changes]
    assert wide["t"].update(changes, on=on).updated == len(before)
    assert _held(wide) == [{**row, **new} for row, new in zip(before, changes, strict=True)]
    assert wide.maintenance.verify().problems == ()
    wide["t"].history.undo()
    assert _held(wide) == before


@pytest.fixture
def store(tmp_path: Path) -> Iterator[StoreType]:
    """Three files of 6,000 rows each; the second has deleted rows and pending cells."""
    with Store.open(tmp_path / "s") as store:
        table = store.create_table("t", _columns(0, 6_000))
        table.insert(_columns(6_000, 6_000))
        table.insert(_columns(12_000, 6_000))
        table.delete(ids=[7_000, 7_001, 9_000])
        table.update([{"_id": 8_000, "n": -8}])
        yield store


def _columns(first: int, count: int) -> dict[str, Any]:
    return {"n": list(range(first, first + count)), "m": [0] * count}


def _held(store: StoreType) -> Rows:
    return store["t"].read().to_pylist()


def _whole(store: StoreType) -> Rows:
    return [{"n": 2 * row["n"] + 1, "m": row["_id"], "_id": row["_id"]} for row in _held(store)]


def _changed(before: Rows, changes: Rows) -> Rows:
    new = {row["_id"]: row for row in changes}
    return [{**row, **new.get(row["_id"], {})} for row in before]


SHAPES: dict[str, Callable[[Rows], Rows]] = {
    "every row": lambda rows: rows,
    "whole files": lambda rows: [row for row in rows if row["_id"] > 6_000],
    "from the middle of a file": lambda rows: rows[100:],
    "to the middle of a file": lambda rows: rows[:-100],
    "another order": lambda rows: [*rows[9_000:], *rows[:9_000]],
    "a row left out": lambda rows: rows[:15_000] + rows[15_001:],
    "a cell left out": lambda rows: [*rows[:-1], {"_id": rows[-1]["_id"], "m": 5}],
    "a null": lambda rows: [*rows[:-1], {**rows[-1], "n": None}],
    "a wider value": lambda rows: [*rows[:-1], {**rows[-1], "n": 0.5}],
}


@pytest.mark.slow(except_every=3)
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_the_rows_given_change_and_the_others_stay(store: StoreType, shape: Callable[[Rows], Rows]) -> None:
    before, changes = _held(store), shape(_whole(store))
    commit = store["t"].update(changes)
    assert (commit.inserted, commit.updated, commit.deleted) == (0, len(changes), 0)
    assert _held(store) == _changed(before, changes)
    assert store.maintenance.verify().problems == ()
    store["t"].history.undo()
    assert _held(store) == before


BY_KEY: dict[str, Callable[[Rows], Rows]] = {
    "every row": lambda rows: rows,
    "another order": lambda rows: [*rows[9_000:], *rows[:9_000]],
    "the last row left out": lambda rows: rows[:-1],
    "the first row left out": lambda rows: rows[1:],
    "cells left out": lambda rows: [*rows[:-1], {"n": rows[-1]["n"]}],
}


@pytest.mark.slow(after=2)
@pytest.mark.parametrize("shape", BY_KEY.values(), ids=BY_KEY)
def test_rows_found_by_a_key_change_and_keep_their_ids(
    store: StoreType, shape: Callable[[Rows], Rows]
) -> None:
    before = _held(store)
    changes = shape([{"n": row["n"], "m": row["n"] + 1} for row in before])
    commit = store["t"].update(changes, on="n")
    new = {row["n"]: row for row in changes}
    assert commit.updated == len(changes)
    assert _held(store) == [{**row, **new.get(row["n"], {})} for row in before]
    assert store.maintenance.verify().problems == ()


def test_all_rows_that_share_a_key_change(store: StoreType) -> None:
    before = _held(store)
    store["t"].insert([{"n": before[0]["n"], "m": 3}])
    store["t"].update([{"n": row["n"], "m": 7} for row in before], on="n")
    assert store["t"].count(col("m") == 7) == len(before) + 1


def test_a_key_given_twice_is_refused_though_the_table_has_it_twice(store: StoreType) -> None:
    before = _held(store)
    store["t"].insert([{"n": before[0]["n"], "m": 3}])
    with pytest.raises(BadData, match="n = 0"):
        store["t"].update([{"n": row["n"], "m": 7} for row in _held(store)], on="n")
    assert store["t"].count(col("m") == 7) == 0


def test_an_arrow_table_of_whole_rows_changes_them_too(store: StoreType) -> None:
    changes = pa.Table.from_pylist(_whole(store))
    store["t"].update(changes)
    assert _held(store) == changes.select(["_id", "n", "m"]).to_pylist()


REFUSED: dict[str, tuple[Callable[[Rows], Rows], type[Exception]]] = {
    "a row twice": (lambda rows: [*rows, rows[-1]], BadData),
    "a row that is gone": (lambda rows: [*rows, {**rows[-1], "_id": 7_000}], UnknownRow),
    "a row that never was": (lambda rows: [*rows, {**rows[-1], "_id": NEXT_ID}], UnknownRow),
    "text for a number": (lambda rows: [*rows[:-1], {**rows[-1], "n": "many"}], BadData),
    "no row at all": (lambda rows: [*rows, 5], BadData),  # type: ignore[list-item]
}


@pytest.mark.slow(after=2)
@pytest.mark.parametrize(("shape", "error"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused_late_changes_nothing(
    store: StoreType, shape: Callable[[Rows], Rows], error: type[Exception]
) -> None:
    before, version = _held(store), store["t"].version
    files = sorted(store.path.rglob("*.parquet"))
    with pytest.raises(error):
        store["t"].update(shape(_whole(store)))
    assert (_held(store), store["t"].version) == (before, version)
    assert sorted(store.path.rglob("*.parquet")) == files


def test_rows_decided_on_at_another_version_are_refused(store: StoreType) -> None:
    before, changes = _held(store), _whole(store)
    with pytest.raises(VersionConflict):
        store["t"].update(changes, expected_version=store["t"].version - 1)
    assert _held(store) == before


def test_a_commit_in_between_is_not_lost(store: StoreType) -> None:
    before, changes = _held(store), pa.Table.from_pylist(_whole(store))

    def meanwhile() -> Iterator[pa.RecordBatch]:
        yield from changes.slice(0, 15_000).to_batches()
        store["t"].insert([{"n": 1, "m": 1}])
        yield from changes.slice(15_000).to_batches()

    store["t"].update(pa.RecordBatchReader.from_batches(changes.schema, meanwhile()))
    assert _held(store) == [*_changed(before, changes.to_pylist()), {"_id": NEXT_ID, "n": 1, "m": 1}]
    assert store.maintenance.verify().problems == ()


def test_a_transaction_takes_them_back(store: StoreType) -> None:
    before, changes = _held(store), _whole(store)
    with pytest.raises(ZeroDivisionError), store.transaction():
        store["t"].update(changes)
        assert _held(store) != before
        raise ZeroDivisionError
    assert _held(store) == before
    store["t"].update(changes)
    assert _held(store) == _changed(before, changes)
