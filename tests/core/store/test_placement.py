"""Changes are stored in the catalog, in change files beside the data files, or in new data files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lamella import Store, col
from lamella.core.jobs import Job
from lamella.core.scan.snapshot import FileSegment
from lamella.core.store import maintenance as tidying
from lamella.core.store import rewrite as placement
from lamella.core.store.table import Table

ROWS, COLUMNS = 3_000, 20


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Table]:
    """A table in which changes of eleven rows or more go to change files."""
    monkeypatch.setattr(placement, "SMALL_ROWS", 10)
    with Store.open(tmp_path / "s") as store:
        yield store.create_table("t", {f"c{i}": list(range(ROWS)) for i in range(COLUMNS)})


def files(table: Table, suffix: str = ".parquet") -> set[str]:
    return {path.name for path in table.store.path.rglob(f"*{suffix}")}


def column(table: Table, name: str) -> list[int]:
    return table.read(columns=[name]).column(0).to_pylist()


def in_files(table: Table) -> bool:
    return all(isinstance(segment, FileSegment) for segment in table.snapshot().segments)


def test_a_few_cells_write_no_file(table: Table) -> None:
    before = files(table)
    table.update([{"_id": i, "c3": -1} for i in range(10)])
    assert (files(table), files(table, ".cells")) == (before, set())


def test_scattered_rows_leave_the_data_files_and_write_what_changed(table: Table) -> None:
    before = files(table)
    table.update([{"_id": i, "c3": -i} for i in range(0, ROWS, 3)])
    assert files(table) == before and len(files(table, ".cells")) == 1
    assert column(table, "c3") == [-i if i % 3 == 0 else i for i in range(ROWS)]
    assert column(table, "c4") == list(range(ROWS))
    assert table.count(col("c3") < 0) == ROWS // 3 - 1
    table.history.undo()
    assert column(table, "c3") == list(range(ROWS))


def test_one_column_of_every_row_is_written_alone(table: Table) -> None:
    before = files(table)
    table.update_where(None, {"$set": {"c3": 7}})
    assert files(table) == before and len(files(table, ".cells")) == 1
    assert column(table, "c3") == [7] * ROWS


def test_where_most_cells_change_the_data_file_is_replaced(table: Table) -> None:
    before = files(table)
    changed = [{"_id": i, **{f"c{k}": -i for k in range(COLUMNS)}} for i in range(1, ROWS)]
    table.update(changed)
    assert len(files(table) - before) == 1 and not files(table, ".cells")
    assert column(table, "c5") == [-i for i in range(ROWS)]


def test_scattered_deletions_leave_the_data_files(table: Table) -> None:
    before = files(table)
    table.delete(ids=range(0, ROWS, 3))
    assert files(table) == before and table.num_rows == ROWS - ROWS // 3


def test_where_most_rows_go_the_data_file_is_replaced(table: Table) -> None:
    table.delete(where=col("c0") >= 10)
    assert len(table.snapshot().deleted_positions) == 0 and column(table, "c1") == list(range(10))


def test_deleting_every_row_keeps_columns_and_never_gives_an_id_again(table: Table) -> None:
    table.delete(where=col("c0") >= 0)
    assert table.num_rows == 0 and len(table.schema) == COLUMNS + 1
    table.insert([{"c0": 1}])
    assert column(table, "_id") == [ROWS]
    table.history.undo()
    table.history.undo()
    assert column(table, "c1") == list(range(ROWS))


def test_what_came_last_holds_wherever_it_was_written(table: Table) -> None:
    """Catalog, change file, catalog, data file, catalog: each later than the last; then all are merged."""
    expected, past = list(range(ROWS)), []
    for step, ids in enumerate([range(5), range(0, 900, 3), range(3, 9), range(ROWS), range(4, 12)]):
        past.append(expected)
        wide = {f"c{k}": -step for k in range(COLUMNS)} if len(ids) == ROWS else {"c3": -step}
        table.update([{"_id": i, **wide} for i in ids])
        expected = [-step if i in ids else value for i, value in enumerate(expected)]
        assert column(table, "c3") == expected
    for tidy in (tidying.Tidier.merge, tidying.Tidier.flush, tidying.Tidier.rewrite_changed_segments):
        tidy(table._writer.upkeep._tidier, table._reader.current(), Job())
        assert column(table, "c3") == expected
    for before in reversed(past):
        table.history.undo()
        assert column(table, "c3") == before


def test_cells_older_than_a_change_file_do_not_come_back_when_they_are_merged(table: Table) -> None:
    table.update([{"_id": 3, "c3": -1}])
    table.update([{"_id": i, "c3": -2} for i in range(100)])
    table.update([{"_id": 4, "c3": -3}])
    table.maintenance.flush()
    assert column(table, "c3")[:6] == [-2, -2, -2, -2, -3, -2]
    assert in_files(table)


def test_cells_in_a_rewritten_file_do_not_come_back_when_the_others_are_merged(table: Table) -> None:
    table.insert({f"c{i}": list(range(ROWS)) for i in range(COLUMNS)})
    table.update([{"_id": 3, "c3": -1}, {"_id": ROWS + 3, "c3": -1}])
    table.update([{"_id": i, **{f"c{k}": -2 for k in range(COLUMNS)}} for i in range(ROWS)])
    table.update([{"_id": ROWS + 4, "c3": -3}])
    table.maintenance.flush()
    assert column(table, "c3")[3] == -2
    assert column(table, "c3")[ROWS + 3 : ROWS + 6] == [-1, -3, 5]


def test_many_small_commits_stay_few_entries(table: Table) -> None:
    for step in range(3 * tidying.ENTRIES):
        table.update([{"_id": step % 50, "c3": step}])
        table.insert([{"c3": step}])
    state = table._reader.current()
    assert len(state.cells) <= tidying.ENTRIES + 1 and len(state.segment_entries) <= tidying.ENTRIES + 8
    assert column(table, "c3")[ROWS:] == list(range(3 * tidying.ENTRIES))


def test_pending_changes_are_written_to_files_when_they_are_many(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tidying, "FLUSH_ROWS_ABOVE", 20)
    for start in range(0, 30, 6):
        table.insert([{"c0": start + i} for i in range(6)])
    assert table.num_rows == ROWS + 30 and len(files(table)) >= 2


def test_change_files_do_not_pile_up(table: Table) -> None:
    for step in range(tidying.CHANGE_FILES + 3):
        table.update([{"_id": i, "c3": step} for i in range(step, step + 20)])
    expected = [min(i, tidying.CHANGE_FILES + 2) for i in range(tidying.CHANGE_FILES + 22)]
    assert column(table, "c3")[: len(expected)] == expected
    assert len(table._reader.current().cells) <= tidying.CHANGE_FILES
