"""Changes of one row or cell: the preparation for rows of one shape is reused while it is valid."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lamella import Store
from lamella.core.errors import BadData, UnknownRow
from lamella.core.store.maintenance import ENTRIES
from lamella.core.store.store import Store as StoreType

COLUMNS = [f"c{number}" for number in range(30)]
ROWS = 20


@pytest.fixture
def wide(tmp_path: Path) -> Iterator[StoreType]:
    with Store.open(tmp_path / "w") as store:
        table = store.create_table("t", {name: list(range(ROWS)) for name in COLUMNS})
        assert table.maintenance.flush() is None
        yield store


def _row(value: int) -> dict[str, int]:
    return dict.fromkeys(COLUMNS, value)


def _read_anew(store: StoreType) -> list[dict[str, Any]]:
    """The table as another process would read it."""
    with Store.open(store.path) as elsewhere:
        actual: list[dict[str, Any]] = elsewhere["t"].read().to_pylist()
    assert actual == store["t"].read().to_pylist()
    return actual


def test_whole_rows_are_kept_as_they_were_given(wide: StoreType) -> None:
    table = wide["t"]
    for row in range(5):
        table.update([{"_id": row, **_row(100 + row)}])
    table.update([{"_id": row, **_row(2**63 - 1)} for row in (9, 7)])
    rows = _read_anew(wide)
    assert [rows[row]["c3"] for row in (0, 4, 5, 7, 9)] == [100, 104, 5, 2**63 - 1, 2**63 - 1]
    assert table.get(9) == {"_id": 9, **_row(2**63 - 1)}


def test_many_small_commits_are_merged_to_the_last_value_of_each_cell(wide: StoreType) -> None:
    table = wide["t"]
    for number in range(ENTRIES + 5):
        table.update([{"_id": number % 7, **_row(number)}])
        table.update([{"_id": number % 3, "c1": -number}])
        table.insert([_row(number)])
    last = ENTRIES + 4
    rows = _read_anew(wide)
    assert rows[last % 7]["c2"] == last
    assert rows[last % 3]["c1"] == -last
    assert [row["c2"] for row in rows[ROWS:]] == list(range(ENTRIES + 5))


@pytest.mark.parametrize("place", [0, 7, len(COLUMNS)], ids=["first", "between", "last"])
def test_a_row_s_id_may_stand_anywhere(wide: StoreType, place: int) -> None:
    cells = {name: 1000 + number for number, name in enumerate(COLUMNS)}
    keys = [*COLUMNS[:place], "_id", *COLUMNS[place:]]
    for row in (3, 4):
        wide["t"].update([{key: row if key == "_id" else cells[key] for key in keys}])
    assert [_read_anew(wide)[row] for row in (3, 4)] == [{"_id": row, **cells} for row in (3, 4)]


@pytest.mark.parametrize("row", [-1, ROWS, 2**63 - 1, -(2**63)])
def test_a_row_of_integers_that_is_not_there_is_refused(wide: StoreType, row: int) -> None:
    with pytest.raises(UnknownRow, match=str(row)):
        wide["t"].update([{"_id": row, **_row(1)}])
    wide["t"].delete([3])
    with pytest.raises(UnknownRow, match="3"):
        wide["t"].update([{"_id": 3, **_row(1)}])
    assert wide["t"].version == 2


def test_an_id_alone_changes_nothing(wide: StoreType) -> None:
    assert wide["t"].update([{"_id": 3}]).updated == 0
    assert wide["t"].version == 1


def test_integers_meet_columns_of_other_types_and_new_ones(tmp_path: Path) -> None:
    kinds = {"small": pa.int8(), "real": pa.float64(), "exact": pa.decimal128(9, 2), "whole": pa.int64()}
    rows = pa.table({name: pa.array([1, 2], pa.int8()).cast(kind) for name, kind in kinds.items()})
    with Store.open(tmp_path / "w") as store:
        table = store.create_table("t", rows)
        for value in (5, 6):
            table.update([{"_id": 1, **dict.fromkeys(kinds, value)}])
        assert table.schema.types[1:] == list(kinds.values())
        table.update([{"_id": 0, "small": 300, "new": 7}])
        rows_now = _read_anew(store)
    assert [(row["small"], row["real"], row["exact"], row["new"]) for row in rows_now] == [
        (300, 1.0, 1, 7), (6, 6.0, 6, None)
    ]  # fmt: skip


def test_rows_of_a_known_shape_meet_the_columns_as_they_are_now(wide: StoreType) -> None:
    table = wide["t"]
    table.update([{"_id": 0, **_row(1)}])
    table.columns.rename("c0", "other")
    table.update([{"_id": 1, **_row(2)}])
    rows = _read_anew(wide)
    assert (rows[0]["other"], rows[0]["c0"], rows[1]["other"], rows[1]["c0"]) == (1, None, 1, 2)
    table.columns.cast("c5", "text")
    with pytest.raises(BadData):
        table.update([{"_id": 2, **_row(3)}])
    table.columns.drop("c5")
    table.update([{"_id": 2, **_row(3)}])
    assert _read_anew(wide)[2]["c5"] == 3


def test_rows_of_a_known_shape_meet_what_another_process_did(wide: StoreType) -> None:
    table = wide["t"]
    table.update([{"_id": 0, **_row(1)}])
    with Store.open(wide.path) as elsewhere:
        elsewhere["t"].columns.cast("c1", "double")
        elsewhere["t"].update([{"_id": 1, "c1": 0.5}])
    table.update([{"_id": 2, **_row(2)}])
    assert table.read(["c1"]).column("c1").to_pylist()[:3] == [1.0, 0.5, 2.0]


def test_words_are_written_with_rows_of_other_columns(tmp_path: Path) -> None:
    words = pa.array(["a", "b", "a"]).dictionary_encode()
    with Store.open(tmp_path / "w") as store:
        table = store.create_table("t", pa.table({"word": words, "n": [1, 2, 3]}))
        new = pa.table({"_id": [1], "word": words.slice(2, 1), "n": [9]})
        for _ in range(ENTRIES + 2):
            table.update(new)
        table.insert(new.drop_columns("_id"))
        rows = _read_anew(store)
    assert [(row["word"], row["n"]) for row in rows] == [("a", 1), ("a", 9), ("a", 3), ("a", 9)]


def test_keys_left_out_and_nulls_of_single_rows(wide: StoreType) -> None:
    table = wide["t"]
    table.update([{"_id": 1, "c1": None, "c2": 5}])
    table.update([{"_id": 2, "c1": 7, "c2": None}, {"_id": 3, "c2": 8}])
    rows = _read_anew(wide)
    assert [(rows[row]["c1"], rows[row]["c2"]) for row in (1, 2, 3)] == [(None, 5), (7, None), (3, 8)]


def test_a_row_of_nothing_is_a_row(wide: StoreType) -> None:
    wide["t"].insert([{}])
    assert _read_anew(wide)[-1]["c0"] is None
    with Store.open(wide.path) as store:
        store.create_table("bare", [{}]).insert([{}, {}])
        assert store["bare"].num_rows == 3


def test_many_single_deletions_stay_few_to_read_and_can_be_taken_back(tmp_path: Path) -> None:
    gone = list(range(0, 6 * ENTRIES, 2))
    with Store.open(tmp_path / "w") as store:
        table = store.create_table("t", {"n": list(range(1_000))})
        for row in gone:
            table.delete([row])
        numbers = [n for n in range(1_000) if n not in gone]
        assert [row["n"] for row in _read_anew(store)] == numbers
        assert table.read(as_of=1 + 70)["n"].to_pylist() == [n for n in range(1_000) if n not in gone[:70]]
        table.history.restore(1 + 100)
        assert [row["n"] for row in _read_anew(store)] == [n for n in range(1_000) if n not in gone[:100]]
        table.history.undo()
        assert [row["n"] for row in _read_anew(store)] == numbers
        assert len(table._state().deletions) <= ENTRIES
        assert store.maintenance.verify().problems == ()


def test_rows_of_nothing_are_merged_with_others(tmp_path: Path) -> None:
    new_rows = [{"n": number} if number % 3 else {} for number in range(2 * ENTRIES)]
    with Store.open(tmp_path / "w") as store:
        table = store.create_table("t", [{"n": -1}])
        for row in new_rows:
            table.insert([row])
        assert [row["n"] for row in _read_anew(store)] == [-1, *(row.get("n") for row in new_rows)]
        bare = store.create_table("bare", [{}])
        for _ in range(ENTRIES + 2):
            bare.insert([{}])
        assert bare.num_rows == ENTRIES + 3


def test_operators_tell_what_stays_the_same(tmp_path: Path) -> None:
    row = {"word": "a", "n": 1, "x": float("nan"), "list": ["a"], "inner": {"n": 1}, "none": None}
    with Store.open(tmp_path / "w") as store:
        table = store.create_table("t", [row, row | {"none": "b"}])
        assert table.update_where([0], {"$set": row}).updated == 0
        assert table.update_where([0], {"$set": {"x": -0.0}}).updated == 1
        assert table.update_where([0], {"$set": {"x": 0.0}}).updated == 1
        assert table.update_where([0], {"$push": {"list": None}}).updated == 1
        assert table.update_where([0], {"$set": {"list": ["a", None]}}).updated == 0
        assert table.update_where([0], {"$set": {"inner.n": None}}).updated == 1
        assert table.update_where([1], {"$unset": {"none": True}}).updated == 1
        assert table.get(0) == row | {"_id": 0, "x": 0.0, "list": ["a", None], "inner": {"n": None}}


def test_documents_of_one_shape_and_of_several(tmp_path: Path) -> None:
    day = dt.datetime(2024, 1, 2, 3, 4, 5)
    alike = {"name": "ä", "tags": ["a", None], "inner": {"n": 1, "at": day}, "more": [{"k": 1, "v": "x"}]}
    several = [
        {"name": None, "tags": None, "inner": None, "more": []},
        {"name": "b", "tags": [], "inner": {"n": None, "at": None}, "more": [{"k": None, "v": "y"}]},
    ]
    with Store.open(tmp_path / "w") as store:
        table = store.create_table("t", [alike] * 3)
        for row in (alike, *several):
            table.insert([row])
        table.insert([alike, *several] * 500)
        rows = [{k: v for k, v in row.items() if k != "_id"} for row in _read_anew(store)]
    assert rows == [alike] * 4 + several + [alike, *several] * 500


def test_commits_of_several_shapes_are_merged_in_their_order(wide: StoreType) -> None:
    table = wide["t"]
    names = [c for c in table.read().column_names if c != "_id"]
    rows = _read_anew(wide)
    for number in range(3 * ENTRIES):
        kind = number % 4 if number % 7 else 0
        some = {0: names, 1: names[::-1], 2: names[:2], 3: names[1:]}[kind]
        row = rows[number % 5]
        change = {name: (number if kind else -number) * 100 + names.index(name) for name in some}
        table.update([{"_id": row["_id"]} | change])
        row |= change
    assert _read_anew(wide) == rows
