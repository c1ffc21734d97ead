from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest

from lamella import Store
from lamella.core.jobs import Job
from lamella.core.store.table import Table
from lamella.ui.editing.edit_target import TableTarget
from lamella.ui.editing.staged_edits import DELETED_TEXT, cell_texts, check, difference, stage_edit, without


@pytest.fixture
def table(tmp_path) -> Iterator[Table]:
    with Store.open(tmp_path / "store") as store:
        yield store.create_table("t", {"n": list(range(10)), "note": [f"row {i}" for i in range(10)]})


def cells(ids: list[int], **columns: list) -> pa.Table:
    return pa.table({"_id": ids, **columns})


def test_a_difference_is_what_edits_come_to(table) -> None:
    edits = [
        stage_edit(
            TableTarget(table), table.snapshot(), table.version, [cells([3, 1], n=[30, 10])], None, None
        ),
        stage_edit(
            TableTarget(table),
            table.snapshot(),
            table.version,
            [cells([3], n=[33], note=["x"]), cells([5], n=[50])],
            np.array([7]),
            None,
        ),
        stage_edit(
            TableTarget(table),
            table.snapshot(),
            table.version,
            [cells([1], n=[1]), cells([7], n=[70])],
            np.array([7]),
            pa.table({"n": [99]}),
        ),
    ]
    changes = difference("t", edits)
    texts = [(c.row_id, c.name, c.before, c.after) for c in cell_texts(changes, 10)]
    assert sorted(texts) == [(3, "n", "3", "33"), (3, "note", "row 3", "x"), (5, "n", "5", "50")]
    assert (changes.num_cells, changes.deleted_ids.tolist(), changes.num_new, changes.count) == (3, [7], 1, 5)
    assert not check(table, changes, Job()).conflicts
    commit = changes.commit(table, 1, Job())
    assert (commit.version, commit.updated, commit.deleted, commit.inserted) == (2, 2, 1, 1)
    assert table.get(3) == {"_id": 3, "n": 33, "note": "x"} and table.get(1)["n"] == 1


def test_check_tells_mine_from_theirs(table) -> None:
    edit = stage_edit(
        TableTarget(table),
        table.snapshot(),
        table.version,
        [cells([1, 2, 3, 4], n=[10, 20, 30, 40])],
        np.array([6, 7]),
        None,
    )
    table.update([{"_id": 1, "n": 100}, {"_id": 2, "note": "other"}, {"_id": 3, "n": 30}])
    table.delete(ids=[4, 6])
    changes = difference("t", [edit])
    met = check(table, changes, Job())
    actual = [(c.row_id, c.before, c.after, c.theirs) for c in met.conflicts]
    assert actual == [(1, "1", "10", "100"), (4, "4", "40", DELETED_TEXT)] and met.missing_ids.tolist() == [
        4,
        6,
    ]
    without(changes, [(1, "n")], met.missing_ids).commit(table, met.version, Job())
    assert [table.get(i) and table.get(i)["n"] for i in (1, 2, 3, 4, 7)] == [100, 20, 30, None, None]


def test_check_shows_rows_that_are_deleted_here_and_changed_by_somebody(table) -> None:
    edit = stage_edit(TableTarget(table), table.snapshot(), 1, [], np.array([2, 5, 6]), None)
    table.update([{"_id": 2, "note": "theirs"}, {"_id": 5, "note": None}, {"_id": 7, "n": 70}])
    changes = difference("t", [edit])
    met = check(table, changes, Job())
    actual = [(c.row_id, c.name, c.before, c.after, c.theirs) for c in met.conflicts]
    assert actual == [(2, "note", "row 2", DELETED_TEXT, "theirs"), (5, "note", "row 5", DELETED_TEXT, None)]
    without(changes, [(2, "note")], met.missing_ids).commit(table, met.version, Job())
    assert [table.get(i) is None for i in (2, 5, 6, 7)] == [False, True, True, False]
