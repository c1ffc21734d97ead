"""The same tests for every system: each of its operations gives the right rows."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import sleep
from typing import Any

import numpy as np
import pytest

from lamella.core.bench import registry
from lamella.core.bench.engine.protocol import Failure, Message, UnsupportedStep
from lamella.core.bench.engine.runner import run_workload
from lamella.core.bench.registry import ENTRIES, Entry, MissingSystem, UnknownSystem, family_of
from lamella.core.bench.systems.base import System, TableSystem
from lamella.core.bench.systems.sqlite import SQLite
from lamella.core.bench.workloads.model import Values
from lamella.core.bench.workloads.table_cycle import TableCycle
from lamella.core.bench.workloads.table_rows import checksum
from lamella.core.bench.workloads.tables import FLOATS, SINGLE, SMALL, UPDATE_ALL
from tests.bench.idle_systems import NoOp
from tests.bench.table_suite import ENOUGH_SECONDS, ROWS, TABLES, asked, right_answer, rows_of, samples_of

HEAVY = {"parquetdb"}
"""Importing these changes logging and the working folder of a process, so only child processes do it."""

NEEDLESS = frozenset({"index", "vacuum"})
"""Operations that a system may not need, and then has no times for."""

COMPLETE = {
    **dict.fromkeys(("sqlite", "sqlite-wal", "sqlite-obj", "sqlalchemy-core"), frozenset[str]()),
    **dict.fromkeys(("lamella", "duckdb", "sqlalchemy-orm", "deltalake"), frozenset({"index"})),
    **dict.fromkeys(("polars", "pandas"), NEEDLESS),
}
"""Systems that support every operation, except for these operations, which they do not need."""


def step_of(operation: str) -> str:
    return operation.removesuffix("_again").removesuffix("_with_preparation")


def usable(name: str) -> None:
    if ENTRIES[name].missing:
        pytest.skip(ENTRIES[name].missing)


@pytest.fixture(params=[name for name, entry in ENTRIES.items() if entry.takes("table")])
def system_class(request: pytest.FixtureRequest) -> Iterator[type[System]]:
    usable(request.param)
    yield registry.load(request.param)


@pytest.mark.slow(after=22)  # one workload on every system
@pytest.mark.parametrize(
    ("name", "workload"),
    [
        (name, workload)
        for workload in TABLES
        for name, entry in ENTRIES.items()
        if name not in HEAVY and entry.takes("table")
    ],
)
def test_every_operation_answers_rightly(
    name: str, workload: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usable(name)
    monkeypatch.setattr("lamella.core.bench.workloads.table_cycle.ENOUGH_SECONDS", ENOUGH_SECONDS)
    work, rows = asked(workload), rows_of(workload)
    system = registry.load(name)(tmp_path / "db", work)
    samples = samples_of(system, work, rows)
    actual = {sample.operation: sample.checksum for sample in samples}
    assert actual == {known: right_answer(workload, known, rows) for known in actual}
    assert len(samples) == len(actual)
    missing = {operation.id for operation in work.operations} - set(actual)
    assert missing <= COMPLETE.get(name, NEEDLESS | {m for m in missing if step_of(m) in system.cannot})
    assert all(sample.cost.seconds > 0 and sample.disk_bytes > 0 for sample in samples)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(HEAVY))
def test_a_system_that_needs_a_process_of_its_own_answers_rightly(name: str, tmp_path: Path) -> None:
    usable(name)
    output = tmp_path / "checksums.json"
    (tmp_path / "dbs").mkdir()
    suite = [sys.executable, "-m", "tests.bench.table_suite", name, str(tmp_path / "dbs"), str(output)]
    subprocess.run(suite, check=True, capture_output=True, cwd=Path(__file__).parents[2])
    answers = json.loads(output.read_text(encoding="utf-8"))
    assert set(answers) == set(TABLES)
    for workload, own_answers in answers.items():
        assert own_answers == {
            known: right_answer(workload, known, rows_of(workload)) for known in own_answers
        }
        assert set(own_answers) >= {operation.id for operation in asked(workload).operations} - NEEDLESS


@pytest.mark.slow
def test_what_a_system_cannot_do_is_told_once_with_its_reason(tmp_path: Path) -> None:
    heard: list[Message] = []
    records = run_workload(UPDATE_ALL, [2, 5], ["pyarrow"], repeats=2, folder=tmp_path, on_event=heard.append)
    assert [message for message in heard if isinstance(message, Failure)] == []
    assert {record.operation for record in records} == {"create", "create_with_preparation", "read"}
    messages = [message for message in heard if isinstance(message, UnsupportedStep)]
    assert [message.step for message in messages] == ["update", "update_by_row_id"]
    assert all("rewrit" in message.reason for message in messages)


@pytest.mark.slow
def test_a_system_that_is_not_made_for_a_workload_says_so_and_the_others_go_on(tmp_path: Path) -> None:
    heard: list[Message] = []
    systems = ["pyarrow", "sqlite"]
    records = run_workload("entity-changes", [2], systems, repeats=1, folder=tmp_path, on_event=heard.append)
    (message,) = (message for message in heard if isinstance(message, UnsupportedStep))
    assert message.system == "pyarrow" and "does not support entities" in message.reason
    assert {record.system for record in records} == {"sqlite"}


def test_single_changes_have_a_latency_each_and_a_mean(tmp_path: Path) -> None:
    system = registry.load("sqlite")(tmp_path / "db", SINGLE)
    by_name = {sample.operation: sample.cost for sample in samples_of(system, SINGLE)}
    for name in ("get", "get_again", "update_one", "update_cell", "delete_one"):
        cost = by_name[name]
        assert len(cost.latencies) == 100
        assert cost.seconds == pytest.approx(sum(cost.latencies) / 100)
    assert by_name["fill"].latencies == ()


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("name", ["lamella", "sqlite"])
def test_a_vacuum_gives_back_what_the_changes_left(name: str, tmp_path: Path) -> None:
    system = registry.load(name)(tmp_path / "db", UPDATE_ALL)
    size = {sample.operation: sample.disk_bytes for sample in samples_of(system, UPDATE_ALL, rows=3_000)}
    assert size["vacuum"] < 1.1 * size["create"]
    if name == "lamella":
        assert size["update_by_row_id"] > 1.5 * size["vacuum"], "history is kept until then"


def test_a_slow_system_ends_at_the_same_rows_as_a_quick_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lamella.core.bench.workloads.table_cycle.ENOUGH_SECONDS", 0.0)
    system = registry.load("sqlite")(tmp_path / "db", SINGLE)
    samples = {sample.operation: sample for sample in samples_of(system, SINGLE)}
    for name in ("update_one", "update_cell", "delete_one"):
        assert len(samples[name].cost.latencies) == 1
        assert samples[name].checksum == family_of(SINGLE).answer_function(
            SINGLE, SINGLE.operation(name), ROWS
        )


def test_what_a_system_puts_off_until_it_is_closed_is_part_of_its_time(tmp_path: Path) -> None:
    class PutsOff(NoOp):
        def close(self) -> None:
            sleep(0.02)

    cycle = TableCycle(PutsOff(tmp_path / "db", SMALL), SMALL, 3)
    samples = {sample.operation: sample for step in ("create", "read") for sample in cycle.step(step)}
    assert samples["create"].cost.seconds >= 0.02


def test_preparation_is_part_of_one_time_and_not_of_the_other(tmp_path: Path) -> None:
    system = registry.load("sqlite")(tmp_path / "db", SMALL)
    assert isinstance(system, TableSystem)
    cycle = TableCycle(system, SMALL, ROWS)
    samples = [sample for step in ("create", "read") for sample in cycle.step(step)]
    costs = {sample.operation: sample.cost for sample in samples}
    assert costs["create_with_preparation"].seconds > costs["create"].seconds


def test_what_stands_on_sqlite_holds_a_hundred_columns_and_the_others_the_key_and_a_hundred(
    tmp_path: Path,
) -> None:
    column_counts = {name: registry.load(name)(tmp_path, UPDATE_ALL).columns for name in COMPLETE}
    on_sqlite = {"sqlite", "sqlite-wal", "sqlite-obj", "sqlalchemy-core", "sqlalchemy-orm"}
    assert {name for name, columns in column_counts.items() if columns == 100} == on_sqlite
    assert {name for name, columns in column_counts.items() if columns == 101} == set(
        column_counts
    ) - on_sqlite


def pragmas(system: Any) -> list[Any]:
    connection = system._session.connection() if hasattr(system, "_session") else system._connection
    ask = getattr(connection, "exec_driver_sql", connection.execute)
    return [ask(f"PRAGMA {name}").fetchone()[0] for name in ("synchronous", "journal_mode")]


@pytest.mark.parametrize(
    ("name", "set_up"),
    [
        ("sqlite-wal", [2, "wal"]),
        *((name, [0, "memory"]) for name in ("sqlite", "sqlite-obj", "sqlalchemy-core", "sqlalchemy-orm")),
    ],
)
def test_sqlite_in_wal_is_durable_and_as_published_it_is_not(
    name: str, set_up: list[Any], tmp_path: Path
) -> None:
    usable(name)
    system = registry.load(name)(tmp_path / "db", SMALL)
    system.open(writing=True)
    assert pragmas(system) == set_up
    system.close()


def test_every_system_says_its_version_and_how_it_is_set_up(system_class: type[System]) -> None:
    assert system_class.version()
    assert "durable" in system_class.describe()


def test_an_unknown_name_gets_the_nearest_one() -> None:
    with pytest.raises(UnknownSystem, match="Did you mean 'sqlite'"):
        registry.load("sqllite")


def test_a_system_whose_package_is_missing_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = Entry("absent", "Absent", (("no_such_module", "no-such-package"),))
    monkeypatch.setitem(ENTRIES, "absent", entry)
    with pytest.raises(MissingSystem, match=r"no-such-package.* -m pip install no-such-package"):
        registry.load("absent")


@pytest.mark.parametrize("place", ["no_such_module:Class", "tests.bench.odd_systems:NoSuchClass"])
def test_a_system_of_somebodys_own_that_cannot_be_loaded_says_why(place: str) -> None:
    with pytest.raises(MissingSystem, match=place.partition(":")[2] + r"|no_such_module"):
        registry.load(place)


def test_a_checksum_is_of_the_columns_asked_for(tmp_path: Path) -> None:
    system = registry.load("sqlite")(tmp_path / "db", SMALL)
    assert isinstance(system, TableSystem)
    cycle = TableCycle(system, SMALL, 5)
    list(cycle.step("create"))
    system.open(writing=False)
    answer = system.read()
    system.close()
    first, second = (checksum(system.blocks(answer, names)) for names in (["col0", "col1"], ["col1", "col0"]))
    assert first != second


class OfAnotherType(SQLite):
    """Returns integers as floats, and floats with half the digits."""

    def blocks(self, answer: Any, names: Sequence[str]) -> Iterator[Sequence[Values]]:
        kind = np.float32 if self.workload.floats else np.float64
        for columns in super().blocks(answer, names):
            yield [values.astype(kind) for values in columns]


@pytest.mark.parametrize(("workload", "is_right"), [("small", True), ("floats", False)])
def test_the_type_of_numbers_does_not_matter_but_what_it_loses_does(
    workload: str, is_right: bool, tmp_path: Path
) -> None:
    work = asked(workload)
    samples = samples_of(OfAnotherType(tmp_path / "db", work), work)
    right = [sample.checksum == right_answer(workload, sample.operation, ROWS) for sample in samples]
    assert set(right) == {is_right}


ANSWERS = {
    "sqlite": "list of tuple",
    "sqlite-obj": "list of Record",
    "sqlalchemy-core": "list of Row",
    "sqlalchemy-orm": "list of Benchmark",
    "sqlite-parquet": "list of tuple",
    "lamella": "Table",
    "pyarrow": "Table",
    "duckdb": "Table",
    "polars": "DataFrame",
    "pandas": "DataFrame",
    "deltalake": "Table",
}


@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_is_what_a_user_of_the_system_gets(name: str, tmp_path: Path) -> None:
    usable(name)
    system = registry.load(name)(tmp_path / "db", FLOATS)
    assert isinstance(system, TableSystem)
    list(TableCycle(system, FLOATS, 3).step("create"))
    system.open(writing=False)
    answer = system.read()
    kind, rows = type(answer).__name__, len(answer)
    assert (f"list of {type(answer[0]).__name__}" if kind == "list" else kind, rows) == (ANSWERS[name], 3)
    system.close()


LOADED = """
import sys
from lamella.core.bench.engine import worker
from lamella.core.bench.registry import ENTRIES, FAMILIES, load
names, families, strangers = (words.split(",") for words in sys.argv[1:])
for family in families:
    FAMILIES[family].cycle, FAMILIES[family].answer_function
    for name in names:
        if ENTRIES[name].takes(family) and not ENTRIES[name].missing:
            load(name, family)
print(*(name for name in strangers if name in sys.modules))
"""


SCANS = "sqlglot,lamella.core.filters,lamella.core.store"


@pytest.mark.slow(after=1)
@pytest.mark.parametrize(
    ("names", "families", "strangers"),
    [
        ("sqlite,sqlite-obj,sqlalchemy-core,polars,mongodb", "table", f"pyarrow,pandas,duckdb,{SCANS}"),
        ("csv,csv-numpy,jsonl,pickle,zodb,pytables,h5py", "table", f"pyarrow,pandas,duckdb,{SCANS}"),
        ("duckdb,pyarrow,pandas,parquetdb", "table", f"polars,{SCANS}"),
        ("sqlite,sqlite-wal", "entity,entity-queries,entity-memory,catalog", "duckdb,pandas,polars,sqlglot"),
        ("sqlite,sqlite-fts5", "entity-indexes,entity-text", "duckdb,pandas,polars,tantivy,sqlglot"),
    ],
)
def test_a_child_loads_no_library_that_its_system_does_without(
    names: str, families: str, strangers: str
) -> None:
    """Libraries of other systems would count in its memory, and in the time of its first operation."""
    command = [sys.executable, "-c", LOADED, names, families, strangers]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (result.stdout.split(), result.stderr) == ([], "")
