"""A store of an earlier format opens, is upgraded, and keeps all of its contents."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from lamella import Store
from lamella.core.errors import StoreProblem
from lamella.core.store.catalog.schema import FORMAT_VERSION, MIGRATIONS

TO_FORMAT_2 = "DROP TABLE indexes; DROP TABLE relations; PRAGMA user_version = 2;"
TO_FORMAT_1 = f"""
{TO_FORMAT_2}
ALTER TABLE commits DROP COLUMN name;
ALTER TABLE commits DROP COLUMN transaction_id;
ALTER TABLE data_files DROP COLUMN checksum;
ALTER TABLE data_files DROP COLUMN made;
ALTER TABLE deletions DROP COLUMN checksum;
ALTER TABLE pending_rows DROP COLUMN checksum;
ALTER TABLE pending_cells DROP COLUMN checksum;
DROP TABLE transactions; DROP TABLE change_files; DROP TABLE metadata; DROP TABLE removed_files;
DROP TABLE ids_under_way;
PRAGMA user_version = 1;
"""


@pytest.fixture(params=[TO_FORMAT_1, TO_FORMAT_2], ids=["format 1", "format 2"])
def old_store(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A store of an earlier format, with a data file, pending rows and cells, and an undone commit."""
    with Store.open(tmp_path / "s") as store:
        table = store.create_table("t", {"n": list(range(2_000)), "word": ["a"] * 2_000})
        table.update([{"_id": 5, "word": "five"}])
        table.insert([{"n": -1, "word": "new"}])
        table.delete(ids=[7])
        table.history.undo()
    catalog = sqlite3.connect(tmp_path / "s" / "catalog.sqlite")
    catalog.executescript(request.param)
    catalog.close()
    return tmp_path / "s"


def test_a_store_of_an_earlier_format_is_brought_up_to_date(old_store: Path) -> None:
    for _ in range(2):
        with Store.open(old_store) as store:
            table = store["t"]
            actual = table.read()
            assert actual["n"].to_pylist() == [*range(2_000), -1]
            assert actual["word"].to_pylist()[4:6] == ["a", "five"]
            assert store.maintenance.verify().problems == ()
            assert table.history.redoable() is not None and len(table.history.commits()) == 5
    with Store.open(old_store) as store:
        store["t"].history.redo()
        assert store["t"].get(7) is None


def test_a_store_of_an_earlier_format_is_not_changed_when_it_is_only_to_be_read(old_store: Path) -> None:
    with pytest.raises(StoreProblem, match=r"earlier format.*Open it once for writing"):
        Store.open(old_store, read_only=True)
    catalog = sqlite3.connect(old_store / "catalog.sqlite")
    assert catalog.execute("PRAGMA user_version").fetchone()[0] < FORMAT_VERSION
    catalog.close()


def test_every_earlier_format_has_a_step_to_the_next() -> None:
    assert sorted(MIGRATIONS) == list(range(1, FORMAT_VERSION))
