"""Of a damaged table, every row that can still be read is copied, and no other."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lamella import Store
from lamella.core.jobs import Job
from lamella.core.scan.checksums import chunk_spans
from lamella.core.store.importing import copy_readable_rows
from lamella.core.store.salvage import Salvage
from tests.property.damage import flip_bit

ROWS, GROUP = 30_000, 10_000


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store whose table has three row groups, changes and deletions in each, and rows in no file."""
    path = tmp_path_factory.mktemp("salvage") / "store"
    with Store.open(path) as store:
        rows = {"n": list(range(ROWS)), "text": [f"row {i}" for i in range(ROWS)]}
        table = store.create_table("flights", pa.table(rows).replace_schema_metadata({"source": "radar"}))
        table.maintenance.compact(GROUP)
        store.maintenance.vacuum()
        table.update([{"_id": i, "n": -i} for i in range(1, ROWS, 2)])
        table.update([{"_id": 4, "text": "changed"}])
        table.delete(ids=[2, 3, GROUP + 5, 2 * GROUP])
        table.insert([{"n": 77, "text": "late"}])
        store.create_table("small", [{"word": "a"}])
    return path


@pytest.fixture
def path(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "store"))


def data_file(path: Path) -> Path:
    (file,) = (path / "data").glob("flights-*/*.parquet")
    return file


def damage_group(file: Path, group: int, column: str) -> None:
    """Flip a bit in the middle of a column of a row group."""
    metadata = pq.read_metadata(file)
    place = next(i for i in range(metadata.num_columns) if metadata.schema.column(i).name == column)
    start, stop = list(chunk_spans(metadata))[group * metadata.num_columns + place]
    flip_bit(file, (start + stop) // 2)


def salvage(path: Path) -> tuple[Salvage, pa.Table]:
    """What can be read of the table, and the table into which it was copied."""
    with Store.open(path) as store:
        (found,) = store.maintenance.find_salvage(store.maintenance.verify().damaged_tables)
        (copy,) = copy_readable_rows(store, [found], Job())
        assert copy.name == "flights_readable"
        rows = copy.read().replace_schema_metadata(copy.schema.metadata)
        copy.history.undo()
        assert copy.num_rows == 0
        return found, rows


def expected(whole: Path, groups: list[int], late: bool = True) -> list[dict[str, object]]:
    with Store.open(whole, read_only=True) as store:
        rows = store["flights"].read().to_pylist()
    return [
        {name: value for name, value in row.items() if name != "_id"}
        for row in rows
        if row["_id"] // GROUP in groups or (late and row["n"] == 77)
    ]


@pytest.mark.parametrize("column", ["text", "_id"])
def test_all_rows_but_those_of_a_damaged_row_group_are_copied(whole: Path, path: Path, column: str) -> None:
    damage_group(data_file(path), 1, column)
    found, rows = salvage(path)
    assert rows.drop_columns(["_id"]).to_pylist() == expected(whole, [0, 2])
    assert (found.readable, found.lost, found.is_exact) == (2 * GROUP - 2, GROUP - 1, True)
    assert str(found) == "flights: 19,998 rows can be read, 9,999 cannot"
    assert rows.schema.metadata[b"source"] == b"radar"


def cut_off(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-100])


def damage_footer(file: Path) -> None:
    flip_bit(file, -200)


@pytest.mark.parametrize("act", [Path.unlink, cut_off, damage_footer])
def test_without_a_sound_footer_all_rows_of_the_file_are_lost(
    whole: Path, path: Path, act: Callable[[Path], None]
) -> None:
    act(data_file(path))
    found, rows = salvage(path)
    assert rows.drop_columns(["_id"]).to_pylist() == expected(whole, [])
    assert (found.readable, found.lost) == (1, ROWS - 4)


def test_deleted_rows_that_cannot_be_told_from_others_make_the_count_a_limit(path: Path) -> None:
    with Store.open(path) as store:
        store["flights"].maintenance.compact(GROUP)
        store["flights"].delete(ids=[10])
        store.maintenance.vacuum()
        store["flights"].maintenance.expire(keep_versions=1)
        store.maintenance.vacuum()
    damage_group(data_file(path), 0, "_id")
    found, rows = salvage(path)
    assert not found.is_exact and found.lost == GROUP
    assert "up to 10,000 cannot" in str(found) and rows.num_rows == found.readable == ROWS - 3 - GROUP


def test_damaged_rows_in_the_catalog_are_lost_and_those_of_files_are_not(whole: Path, path: Path) -> None:
    catalog = sqlite3.connect(path / "catalog.sqlite")
    catalog.execute("UPDATE pending_rows SET batch = zeroblob(8) WHERE table_id = 1")
    catalog.commit()
    catalog.close()
    found, rows = salvage(path)
    assert (found.readable, found.lost) == (ROWS - 4, 1)
    assert rows.drop_columns(["_id"]).to_pylist() == expected(whole, [0, 1, 2], late=False)


@pytest.mark.parametrize("kind", ["change file", "deletions"])
def test_rows_are_not_copied_as_they_were_before_changes_that_cannot_be_read(path: Path, kind: str) -> None:
    if kind == "change file":
        flip_bit(next(path.rglob("*.cells")))
    else:
        catalog = sqlite3.connect(path / "catalog.sqlite")
        catalog.execute("UPDATE deletions SET ids = x'0000000000000001'")
        catalog.commit()
        catalog.close()
    with Store.open(path) as store:
        (found,) = store.maintenance.find_salvage(["flights"])
        assert not found.is_partial and "restore a backup" in str(found)


def test_whole_tables_and_damage_in_earlier_versions_have_nothing_to_copy(path: Path) -> None:
    with Store.open(path) as store:
        earlier = data_file(path)
        store["flights"].maintenance.compact()
        flip_bit(earlier)
        assert store.maintenance.verify().damaged_tables == ("flights",)
        flights, small = store.maintenance.find_salvage(["flights", "small"])
        assert not flights.is_partial and not small.is_partial
        assert str(flights) == f"flights: all {ROWS - 3:,} rows can be read; the damage is elsewhere"
