"""One behaviour suite over every system: the right rows, through each of its operations."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from core.bench import backends
from core.bench.backends import ENTRIES, Backend, Entry, MissingBackend, UnknownBackend
from core.bench.checksum import checksum, expected
from core.bench.cycle import Cycle
from core.bench.workloads import SMALL, UPDATE_ALL, WORKLOADS, Workload

ROWS = 250


@pytest.fixture(params=ENTRIES)
def backend_class(request: pytest.FixtureRequest) -> Iterator[type[Backend]]:
    if ENTRIES[request.param].missing:
        pytest.skip(ENTRIES[request.param].missing)
    yield backends.load(request.param)


@pytest.mark.parametrize("workload", WORKLOADS.values(), ids=list(WORKLOADS))
def test_every_operation_answers_rightly(
    backend_class: type[Backend], workload: Workload, tmp_path: Path
) -> None:
    cycle = Cycle(backend_class(tmp_path / "db", workload), workload, ROWS)
    samples = [sample for step in workload.steps for sample in cycle.step(step)] + list(cycle.settle())
    found = {sample.operation: sample.checksum for sample in samples}
    assert found == {name: expected(workload, workload.operation(name), ROWS) for name in found}
    assert set(found) >= {operation.id for operation in workload.operations} - {"index"}
    assert len(samples) == len(found)
    assert all(sample.cost.seconds > 0 and sample.disk_bytes > 0 for sample in samples)


def test_preparation_is_part_of_one_time_and_not_of_the_other(tmp_path: Path) -> None:
    cycle = Cycle(backends.load("sqlite")(tmp_path / "db", SMALL), SMALL, ROWS)
    samples = [sample for step in ("create", "read") for sample in cycle.step(step)]
    costs = {sample.operation: sample.cost for sample in samples}
    assert costs["create_with_preparation"].seconds > costs["create"].seconds


def test_sqlite_holds_a_hundred_columns_and_lamella_the_key_and_a_hundred(tmp_path: Path) -> None:
    held = {name: backends.load(name)(tmp_path, UPDATE_ALL).columns for name in ("sqlite", "lamella")}
    assert held == {"sqlite": 100, "lamella": 101}


def test_sqlite_in_wal_is_durable_and_sqlite_as_published_is_not(tmp_path: Path) -> None:
    modes = {}
    for name in ("sqlite", "sqlite-wal"):
        backend = backends.load(name)(tmp_path / name, SMALL)
        backend.open(writing=True)
        connection = backend._connection  # type: ignore[attr-defined]
        modes[name] = [
            connection.execute(f"PRAGMA {p}").fetchone()[0] for p in ("synchronous", "journal_mode")
        ]
        backend.close()
    assert modes == {"sqlite": [0, "memory"], "sqlite-wal": [2, "wal"]}


def test_every_system_says_its_version_and_how_it_is_set_up(backend_class: type[Backend]) -> None:
    assert backend_class.version()
    assert "durable" in backend_class.describe()


def test_an_unknown_name_gets_the_nearest_one() -> None:
    with pytest.raises(UnknownBackend, match="Did you mean 'sqlite'"):
        backends.load("sqllite")


def test_a_backend_whose_package_is_missing_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = Entry("absent", "Absent", "core.bench.backends.absent:Absent", requires="no_such_package")
    monkeypatch.setitem(ENTRIES, "absent", entry)
    with pytest.raises(MissingBackend, match=r'no_such_package.*pip install "lamella\[bench\]"'):
        backends.load("absent")


@pytest.mark.parametrize("place", ["no_such_module:Class", "tests.bench.odd_backends:NoSuchClass"])
def test_a_backend_of_somebodys_own_that_cannot_be_loaded_says_why(place: str) -> None:
    with pytest.raises(MissingBackend, match=place.partition(":")[2] + r"|no_such_module"):
        backends.load(place)


def test_a_checksum_is_of_the_columns_asked_for(tmp_path: Path) -> None:
    backend = backends.load("sqlite")(tmp_path / "db", SMALL)
    cycle = Cycle(backend, SMALL, 5)
    list(cycle.step("create"))
    backend.open(writing=False)
    answer = backend.read()
    backend.close()
    first, second = (
        checksum(backend.blocks(answer, names)) for names in (["col0", "col1"], ["col1", "col0"])
    )
    assert first != second
