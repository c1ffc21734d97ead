"""Tables in files and object stores, beyond the tests of every system: mixed columns, indexes, sizes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lamella.core.bench import registry
from lamella.core.bench.systems.base import TableSystem
from lamella.core.bench.workloads.model import Workload
from lamella.core.bench.workloads.table_cycle import TableCycle
from lamella.core.bench.workloads.table_rows import blocks
from lamella.core.bench.workloads.tables import FLOATS, NEEDLE, UPDATE_ALL
from tests.bench.table_suite import samples_of

FILES = ["csv", "csv-numpy", "jsonl", "pickle", "pickle-obj", "zodb", "pytables", "h5py", "mongodb"]
ROWS = 60
MIXED = replace(UPDATE_ALL, floats=True)
"""A workload with an integer key and columns of floats."""


def usable(name: str) -> None:
    if registry.ENTRIES[name].missing:
        pytest.skip(registry.ENTRIES[name].missing)


def filled(name: str, workload: Workload, folder: Path, rows: int) -> Any:
    usable(name)
    system = registry.load(name)(folder / "db", workload)
    assert isinstance(system, TableSystem)
    system.open(writing=True)
    system.fill(blocks(workload, rows))
    return system


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("name", FILES)
def test_a_key_of_integers_goes_with_columns_of_floats(name: str, tmp_path: Path) -> None:
    usable(name)
    system = registry.load(name)(tmp_path / "db", MIXED)
    right = TableCycle(registry.load("sqlite")(tmp_path / "sqlite", MIXED), MIXED, ROWS)  # type: ignore[arg-type]
    expected = {s.operation: s.checksum for step in MIXED.steps for s in right.step(step)}
    expected |= {sample.operation: sample.checksum for sample in right.settle()}
    actual = {sample.operation: sample.checksum for sample in samples_of(system, MIXED, ROWS)}
    assert actual == {operation: expected[operation] for operation in actual}
    assert {"create", "read", "update"} <= set(actual)


def test_pytables_is_told_how_many_rows_will_come(tmp_path: Path) -> None:
    system = filled("pytables", NEEDLE, tmp_path, 25_000)
    assert system._table._v_expectedrows == system._table.nrows == 25_000
    system.close()


def test_pytables_finds_a_needle_by_its_index(tmp_path: Path) -> None:
    system = filled("pytables", NEEDLE, tmp_path, ROWS)
    assert not system._table.will_query_use_indexing("col0 == -1")
    assert system.index("col0")
    assert system._table.will_query_use_indexing("col0 == -1")
    assert system.find().tolist() == [-1]
    system.close()


def test_zodb_loads_few_objects_to_find_a_needle_by_its_index(tmp_path: Path) -> None:
    system = filled("zodb", NEEDLE, tmp_path, ROWS)
    system.index("col0")
    system.close()
    system.open(writing=False)
    (row,) = system.find()
    loaded, _ = system._connection.getTransferCounts()
    assert row.col0 == -1 and loaded < ROWS / 4
    system.close()


def test_pytables_takes_ids_for_what_they_were_when_it_was_opened(tmp_path: Path) -> None:
    system = filled("pytables", FLOATS, tmp_path, 10)
    remaining = system.read()[[1, 4, 6, 8, 9]]
    for gone in ([5], [0], [7], [2, 3]):
        system.delete(gone)
    assert system.read().tolist() == remaining.tolist()
    system.close()


@pytest.mark.parametrize(("name", "raw"), [("h5py", 1.0), ("pytables", 1.0), ("pickle", 1.25)])
def test_floats_take_what_the_format_says(name: str, raw: float, tmp_path: Path) -> None:
    """HDF5 adds some kilobytes to eight bytes per number; a pickle adds bytes to each number and row."""
    system = filled(name, FLOATS, tmp_path, 10_000)
    system.close()
    bare = 10_000 * 5 * 8
    assert raw * bare * 0.95 <= system.disk_bytes() <= raw * bare + 70_000


def test_a_rewritten_file_leaves_nothing_beside_it(tmp_path: Path) -> None:
    for name in ("csv", "csv-numpy", "jsonl", "pickle"):
        work = replace(UPDATE_ALL, steps=("create", "update"))
        system = registry.load(name)(tmp_path / name, work)
        samples_of(system, work, 5)
        assert len(list((tmp_path / name).iterdir())) == 1
