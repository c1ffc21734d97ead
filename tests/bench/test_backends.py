"""One behaviour suite over every system: the right rows, through each of its operations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from core.bench import backends
from core.bench.backends import ENTRIES, Backend, Entry, MissingBackend, UnknownBackend
from core.bench.backends.base import TableBackend
from core.bench.checksum import checksum
from core.bench.cycle import Sample
from core.bench.families import family_of
from core.bench.protocol import Failure, Message, Unsupported
from core.bench.runner import run
from core.bench.table_cycle import TableCycle
from core.bench.workloads import PARTIAL, SINGLE, SMALL, UPDATE_ALL, WORKLOADS, Workload

ROWS = 250
SMALLER = {workload.id: replace(workload, table_rows=3 * ROWS) for workload in (PARTIAL,)}
HEAVY = {"parquetdb"}
"""Their import changes logging and working folder of a process, so only child processes do it."""

COMPLETE = {"sqlite": set[str](), "lamella": {"index"}}
"""Those that do every operation, but for these where they do not need them."""


def asked(name: str) -> Workload:
    return SMALLER.get(name, WORKLOADS[name])


def usable(name: str) -> None:
    if ENTRIES[name].missing:
        pytest.skip(ENTRIES[name].missing)


def samples_of(backend: Backend, workload: Workload, rows: int = ROWS) -> list[Sample]:
    cycle = family_of(workload).cycle(backend, workload, rows)
    steps = [step for step in workload.steps if step not in backend.cannot]
    return [sample for step in steps for sample in cycle.step(step)] + list(cycle.settle())


@pytest.fixture(params=ENTRIES)
def backend_class(request: pytest.FixtureRequest) -> Iterator[type[Backend]]:
    usable(request.param)
    yield backends.load(request.param)


@pytest.mark.parametrize(
    ("name", "workload"),
    [
        (name, workload.id)
        for name, entry in ENTRIES.items()
        for workload in WORKLOADS.values()
        if name not in HEAVY and entry.takes(workload.family)
    ],
)
def test_every_operation_answers_rightly(name: str, workload: str, tmp_path: Path) -> None:
    work = asked(workload)
    backend = backends.load(name, work.family)(tmp_path / "db", work)
    samples = samples_of(backend, work)
    found = {sample.operation: sample.checksum for sample in samples}
    right = family_of(work).expected
    assert found == {known: right(work, work.operation(known), ROWS) for known in found}
    assert len(samples) == len(found)
    if name in COMPLETE:
        assert {operation.id for operation in work.operations} - set(found) <= COMPLETE[name]
    assert all(sample.cost.seconds > 0 and sample.disk_bytes > 0 for sample in samples)


@pytest.mark.parametrize("workload", [name for name in WORKLOADS if WORKLOADS[name].family == "table"])
@pytest.mark.parametrize("name", sorted(HEAVY))
def test_a_system_that_needs_a_process_of_its_own_answers_rightly(
    name: str, workload: str, tmp_path: Path
) -> None:
    usable(name)
    heard: list[Message] = []
    records = run(asked(workload), [12], [name], repeats=1, folder=tmp_path, on_event=heard.append)
    assert [message for message in heard if isinstance(message, Failure)] == []
    told = {record.operation for record in records}
    assert told >= {operation.id for operation in asked(workload).operations} - {"index", "vacuum"}
    assert list(tmp_path.iterdir()) == []


def test_what_a_system_cannot_do_is_told_once_with_its_reason(tmp_path: Path) -> None:
    heard: list[Message] = []
    records = run(UPDATE_ALL, [2, 5], ["pyarrow"], repeats=2, folder=tmp_path, on_event=heard.append)
    assert [message for message in heard if isinstance(message, Failure)] == []
    assert {record.operation for record in records} == {"create", "create_with_preparation", "read"}
    told = [message for message in heard if isinstance(message, Unsupported)]
    assert [message.step for message in told] == ["update", "update_by_row_id"]
    assert all("written anew" in message.reason for message in told)


def test_a_system_that_is_not_made_for_a_workload_says_so_and_the_others_go_on(tmp_path: Path) -> None:
    heard: list[Message] = []
    records = run("entity", [2], ["pyarrow", "sqlite"], repeats=1, folder=tmp_path, on_event=heard.append)
    (told,) = (message for message in heard if isinstance(message, Unsupported))
    assert told.backend == "pyarrow" and "not made for entities" in told.reason
    assert {record.backend for record in records} == {"sqlite"}


def test_single_changes_have_a_latency_each_and_a_mean(tmp_path: Path) -> None:
    backend = backends.load("sqlite")(tmp_path / "db", SINGLE)
    by_name = {sample.operation: sample.cost for sample in samples_of(backend, SINGLE)}
    for name in ("get", "get_again", "update_one", "update_cell", "delete_one"):
        cost = by_name[name]
        assert len(cost.latencies) == 100
        assert cost.seconds == pytest.approx(sum(cost.latencies) / 100)
    assert by_name["fill"].latencies == ()


@pytest.mark.parametrize("name", ["lamella", "sqlite"])
def test_a_vacuum_gives_back_what_the_changes_left(name: str, tmp_path: Path) -> None:
    backend = backends.load(name)(tmp_path / "db", UPDATE_ALL)
    size = {sample.operation: sample.disk_bytes for sample in samples_of(backend, UPDATE_ALL, rows=3_000)}
    assert size["vacuum"] < 1.1 * size["create"]
    if name == "lamella":
        assert size["update_by_row_id"] > 1.5 * size["vacuum"], "history is kept until then"


def test_a_slow_system_ends_at_the_same_rows_as_a_quick_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core.bench.table_cycle.ENOUGH_SECONDS", 0.0)
    backend = backends.load("sqlite")(tmp_path / "db", SINGLE)
    samples = {sample.operation: sample for sample in samples_of(backend, SINGLE)}
    for name in ("update_one", "update_cell", "delete_one"):
        assert len(samples[name].cost.latencies) == 1
        assert samples[name].checksum == family_of(SINGLE).expected(SINGLE, SINGLE.operation(name), ROWS)


def test_preparation_is_part_of_one_time_and_not_of_the_other(tmp_path: Path) -> None:
    backend = backends.load("sqlite")(tmp_path / "db", SMALL)
    assert isinstance(backend, TableBackend)
    cycle = TableCycle(backend, SMALL, ROWS)
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
    places = {"table": "core.bench.backends.absent:Absent"}
    entry = Entry("absent", "Absent", places, requires="no_such_package")
    monkeypatch.setitem(ENTRIES, "absent", entry)
    with pytest.raises(MissingBackend, match=r'no_such_package.*pip install "lamella\[bench\]"'):
        backends.load("absent")


@pytest.mark.parametrize("place", ["no_such_module:Class", "tests.bench.odd_backends:NoSuchClass"])
def test_a_backend_of_somebodys_own_that_cannot_be_loaded_says_why(place: str) -> None:
    with pytest.raises(MissingBackend, match=place.partition(":")[2] + r"|no_such_module"):
        backends.load(place)


def test_a_checksum_is_of_the_columns_asked_for(tmp_path: Path) -> None:
    backend = backends.load("sqlite")(tmp_path / "db", SMALL)
    assert isinstance(backend, TableBackend)
    cycle = TableCycle(backend, SMALL, 5)
    list(cycle.step("create"))
    backend.open(writing=False)
    answer = backend.read()
    backend.close()
    first, second = (
        checksum(backend.blocks(answer, names)) for names in (["col0", "col1"], ["col1", "col0"])
    )
    assert first != second
