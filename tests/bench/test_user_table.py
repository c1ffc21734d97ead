"""A benchmark on the user's own table: every system gives the right rows, or a reason why it cannot."""

from __future__ import annotations

import datetime as dt
import math
import sqlite3
from contextlib import closing
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lamella import Store, open_dataset
from lamella.app.commands.bench import source_of, workload_of_table
from lamella.core.bench import registry
from lamella.core.bench.engine import runner
from lamella.core.bench.engine.choice import Choice, Part, part_of
from lamella.core.bench.engine.protocol import Failure, Message, UnsupportedStep
from lamella.core.bench.registry import FAMILIES, family_of, workload_named
from lamella.core.bench.results.compare import ratios
from lamella.core.bench.workloads.model import Workload
from lamella.core.bench.workloads.user_table import USER_TABLE, UserTableSystem, compared_type, digest
from lamella.core.bench.workloads.user_table_source import Source, user_table, words_of
from lamella.core.errors import BadFilter, LamellaError, UnknownColumn
from lamella.core.filters import parse, to_json
from lamella.core.jobs import Job
from tests.bench.table_suite import samples_of

ROWS = 600
WORDS = ["AA", "ua", None, "", "\\N", 'é, "x"\n']
PLAIN = {
    "n": pa.array([i if i % 7 else None for i in range(ROWS)], pa.int64()),
    "small": pa.array([i % 100 - 50 for i in range(ROWS)], pa.int8()),
    "x": pa.array([(-1) ** i * i / 7 if i % 5 else None for i in range(ROWS)]),
    "f": pa.array([i / 3 for i in range(ROWS)], pa.float32()),
    "word": pa.array([WORDS[i % 6] for i in range(ROWS)]),
    "ok": pa.array([[True, False, None][i % 3] for i in range(ROWS)]),
    "day": pa.array([dt.date(2020, 1, 1) + dt.timedelta(days=i) for i in range(ROWS)]),
    "at": pa.array([i * 10**6 for i in range(ROWS)], pa.timestamp("us", "Europe/Berlin")),
    "ns": pa.array([i * 1001 for i in range(ROWS)], pa.timestamp("ns")),
    "clock": pa.array(list(range(ROWS)), pa.time32("s")),
    "kind": pa.array([["p", "q"][i % 2] for i in range(ROWS)]).dictionary_encode(),
}
ODD = {
    "n": PLAIN["n"],
    "tags": pa.array([["a", "b"][: i % 3] if i % 4 else None for i in range(ROWS)]),
    "p": pa.array([{"city": ["x", "y"][i % 2], "n": i} for i in range(ROWS)]),
    "price": pa.array([Decimal(i) / 100 for i in range(ROWS)], pa.decimal128(10, 2)),
    "raw": pa.array([b"\0%d" % i for i in range(ROWS)]),
    "ratio": pa.array([[math.nan, -0.0, 1.5, None][i % 4] for i in range(ROWS)]),
}
PLAIN_CONDITIONS = [
    "n > 100 and word = 'AA'",
    "not (word contains 'A' or x < 0)",
    "word like '%A' and day > 2020-06-01",
    "at >= '1970-01-01 01:02:00' or word is null",
    "n mod 7 = 3 or small mod 3 = -1",
    "x > 3.5 and f < 100.25",
    "word in ('AA', '') and ok is true or n in (1, 2, 3, 4, 5)",
    "word starts with 'u' or word ends with 'A' or word = 'é, \"x\"\n'",
    "ns > '1970-01-01 00:00:00.0001001' and clock < '00:10:00'",
    "word = 'Ua' in any case and n > small and n between 10 and 500",
    "word ~ '^[AB]+$' and kind = 'p'",
    "f != 2 and ok is not null",
]
ODD_CONDITIONS = [
    "ratio > 3 or ratio = 0",
    "ratio < 3 or ratio is null",
    "price > 3.14 and price <= 5",
    "tags has 'a' and p.city = 'x'",
    "tags has size 1 or p.n < 10",
]


def table_in(tmp_path: Path, columns: dict[str, pa.Array]) -> Path:
    path = tmp_path / "flights.parquet"
    pq.write_table(pa.table(columns), path, row_group_size=150)
    return path


def prepared(path: Path, folder: Path, where: str | None, columns: list[str] | None = None) -> Workload:
    workload = user_table(open_dataset(path), Source(str(path)), columns, parse(where) if where else None)
    folder.mkdir(exist_ok=True)
    return family_of(workload).prepare(workload, workload.default_rows, folder, Job())


def system_of(name: str, workload: Workload, folder: Path) -> UserTableSystem:
    system_ = registry.load(name, "mine")(folder / name, workload)
    assert isinstance(system_, UserTableSystem)
    return system_


def right(workload: Workload, rows: int = ROWS) -> dict[str, str]:
    expected = family_of(workload).answer_function
    assert expected is not None
    return {operation.id: expected(workload, operation, rows) for operation in workload.operations}


@pytest.fixture(scope="module")
def loaded_systems(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Workload, Path]]:
    """Both tables, loaded into every system that can store them."""
    by_title = {}
    for title, columns in (("plain", PLAIN), ("odd", ODD)):
        place = tmp_path_factory.mktemp(title)
        workload = prepared(table_in(place, columns), place / "benchmark", None)
        for name in FAMILIES["mine"].places:
            system = system_of(name, workload, place)
            if not system.cannot:
                system.open(writing=True)
                system.load(ROWS)
                system.close()
        by_title[title] = (workload, place)
    return by_title


@pytest.mark.slow(after=1)
@pytest.mark.parametrize(
    ("table", "where"),
    [("plain", where) for where in PLAIN_CONDITIONS] + [("odd", where) for where in ODD_CONDITIONS],
)
def test_every_system_finds_the_rows_of_a_condition(
    table: str, where: str, loaded_systems: dict[str, tuple[Workload, Path]]
) -> None:
    unfiltered, place = loaded_systems[table]
    workload = replace(unfiltered, options=unfiltered.options | {"where": to_json(parse(where))})
    expected = family_of(workload).answer_function
    assert expected is not None
    expected_answer = expected(workload, USER_TABLE.operation("filter"), ROWS)
    assert not expected_answer.startswith(("0:", f"{ROWS}:")), "the condition tells some rows from others"
    names = set()
    for name in FAMILIES["mine"].places:
        system = system_of(name, workload, place)
        if not system.cannot:
            system.open(writing=False)
            assert digest(system.as_table(system.filter()), system.table_copy.schema) == expected_answer, name
            system.close()
            names.add(name)
    assert {"lamella", "duckdb", "pickle"} <= names


@pytest.mark.slow(after=1)
@pytest.mark.parametrize(
    ("columns", "where", "unable"),
    [
        (PLAIN, PLAIN_CONDITIONS[1], set[str]()),
        (ODD, ODD_CONDITIONS[0], {"sqlite", "sqlite-wal", "csv", "jsonl"}),
    ],
)
def test_every_system_that_can_hold_a_table_answers_rightly(
    columns: dict[str, pa.Array], where: str, unable: set[str], tmp_path: Path
) -> None:
    workload = prepared(table_in(tmp_path, columns), tmp_path / "benchmark", where)
    expected_answer = right(workload)
    for name in FAMILIES["mine"].places:
        samples = samples_of(system_of(name, workload, tmp_path), workload, ROWS)
        assert {s.operation: s.checksum for s in samples} == ({} if name in unable else expected_answer), name
        assert all(sample.cost.seconds > 0 and sample.disk_bytes > 0 for sample in samples)


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("where", [PLAIN_CONDITIONS[at] for at in (0, 2, 5, 6, 7, 9, 10, 11)])
def test_pandas_changes_the_rows_that_it_finds(where: str, tmp_path: Path) -> None:
    workload = prepared(table_in(tmp_path, PLAIN), tmp_path / "benchmark", where)
    system = system_of("pandas", workload, tmp_path)
    system.open(writing=True)
    system.load(ROWS)
    system.update()
    assert digest(system.as_table(system.read()), system.table_copy.schema) == right(workload)["update"]


def test_a_condition_that_a_system_has_no_means_for_is_told_with_its_reason(tmp_path: Path) -> None:
    workload = prepared(table_in(tmp_path, PLAIN), tmp_path / "benchmark", "word ~ '^A' and n mod 7 = 1")
    reasons = {name: dict(system_of(name, workload, tmp_path).cannot) for name in FAMILIES["mine"].places}
    for name in ("sqlite", "sqlite-wal"):
        assert set(reasons[name]) == {"filter", "update"}
        assert "no regular expressions" in reasons[name]["filter"]
    assert "remainder" in reasons["pandas"]["update"]
    assert reasons["lamella"] == reasons["duckdb"] == reasons["polars"] == {}


def test_a_column_that_a_system_cannot_hold_is_named_with_its_reason(tmp_path: Path) -> None:
    workload = prepared(table_in(tmp_path, ODD), tmp_path / "benchmark", None)
    cannot = {
        name: system_of(name, workload, tmp_path).cannot.get("load", "") for name in FAMILIES["mine"].places
    }
    assert "price: decimal numbers would be rounded" in cannot["sqlite"]
    assert "ratio: it stores NaN as NULL" in cannot["sqlite"] and "type for lists" in cannot["sqlite-wal"]
    assert "raw: CSV has no form for bytes" in cannot["csv"]
    assert "price: Python's JSON has no decimal" in cannot["jsonl"]
    assert not any(cannot[name] for name in ("lamella", "duckdb", "polars", "pandas", "pyarrow", "pickle"))


@pytest.mark.slow(after=1)
@pytest.mark.parametrize(
    ("columns", "where", "changed"),
    [
        ({"n": pa.array([1, 2], pa.int64()), "m": pa.array([1, 2], pa.int64())}, "n > 1", {"m": [1, 3]}),
        ({"n": pa.array([1, 2], pa.int64()), "w": pa.array(["a", "b"])}, "n > 1", {"w": ["a", "measured"]}),
        ({"n": pa.array([1, 2], pa.int64())}, "n > 1", {"n": [1, 3]}),
        ({"n": pa.array([None, 2**63 - 1], pa.int64())}, None, {"n": [None, 2**63 - 2]}),
        ({"n": pa.array([1, None], pa.int64()), "b": pa.array([1, 2], pa.uint8())}, None, {"n": [2, None]}),
    ],
)
def test_the_update_changes_the_first_number_outside_the_condition_or_else_a_text(
    columns: dict[str, pa.Array], where: str | None, changed: dict[str, list[object]], tmp_path: Path
) -> None:
    workload = prepared(table_in(tmp_path, columns), tmp_path / "benchmark", where)
    after = pa.table(columns | {name: pa.array(values) for name, values in changed.items()})
    for name in ("lamella", "sqlite", "pandas", "csv"):
        system = system_of(name, workload, tmp_path)
        checksums = {s.operation: s.checksum for s in samples_of(system, workload, 2)}
        assert checksums["update"] == digest(after, after.schema)


def test_a_table_of_dates_alone_has_nothing_to_update(tmp_path: Path) -> None:
    workload = prepared(table_in(tmp_path, {"day": PLAIN["day"]}), tmp_path / "benchmark", None)
    assert workload.steps == ("load", "read") and "nothing is updated" in workload.about
    assert {
        sample.operation for sample in samples_of(system_of("sqlite", workload, tmp_path), workload, ROWS)
    } == {*("load", "read", "read_again")}


def test_columns_are_those_chosen_and_those_that_the_filter_asks_for(tmp_path: Path) -> None:
    path = table_in(tmp_path, PLAIN)
    workload = prepared(path, tmp_path / "benchmark", "n > 3 and word = 'AA'", ["x"])
    assert pq.read_schema(workload.options["path"]).names == ["n", "x", "word"]
    with pytest.raises(UnknownColumn, match="nn"):
        user_table(open_dataset(path), Source(str(path)), ["nn"])
    with pytest.raises(BadFilter):
        user_table(open_dataset(path), Source(str(path)), None, parse("n contains 'a'"))


def test_values_that_nobody_compares_stay_out_and_are_named(tmp_path: Path) -> None:
    path = table_in(tmp_path, {"n": PLAIN["n"], "span": pa.array(list(range(ROWS)), pa.duration("us"))})
    assert user_table(open_dataset(path), Source(str(path))).options["left_out"] == ["span"]
    alone = table_in(tmp_path, {"span": pa.array([1], pa.duration("us"))})
    with pytest.raises(LamellaError, match="no column to measure"):
        user_table(open_dataset(alone), Source(str(alone)))
    empty = table_in(tmp_path, {"n": pa.array([], pa.int64())})
    with pytest.raises(LamellaError, match="no rows to measure"):
        user_table(open_dataset(empty), Source(str(empty)))


def test_the_digest_tells_null_nan_and_zero_apart_but_not_the_order_or_the_sign_of_zero() -> None:
    schema = pa.schema([("x", pa.float64())])

    def of(values: list[float | None]) -> str:
        return digest(pa.table({"x": pa.array(values, pa.float64())}), schema)

    assert of([1.0, math.nan, 0.0]) == of([-0.0, -math.nan, 1.0])
    digests = [of([None]), of([math.nan]), of([0.0]), of([0.0, 0.0]), of([])]
    assert len(set(digests)) == len(digests)


@pytest.mark.parametrize("kind", [pa.duration("s"), pa.map_(pa.string(), pa.int8()), pa.decimal256(60, 2)])
def test_types_without_a_plain_form_are_not_compared(kind: pa.DataType) -> None:
    assert compared_type(kind) is None and compared_type(pa.list_(kind)) is None


def store_in(tmp_path: Path) -> Path:
    with Store.open(tmp_path / "My tables") as store:
        store.create_table("flights", pa.table(PLAIN).slice(0, 50))
    return tmp_path / "My tables"


@pytest.mark.slow
def test_a_table_of_a_store_is_measured_by_its_name(tmp_path: Path) -> None:
    heard: list[Message] = []
    workload = workload_of_table(f"{store_in(tmp_path)}:flights", "n > 10 and word = 'AA'", ["n", "x"])
    assert workload.title == "flights where n is more than 10 and word is AA"
    choice = Choice((part_of(workload, ["lamella", "sqlite"], repeats=1),), folder=tmp_path)
    records = runner.run(choice, heard.append)
    assert not [message for message in heard if isinstance(message, (Failure, UnsupportedStep))]
    assert {(record.system, record.operation) for record in records} == {
        (name, operation.id) for name in ("lamella", "sqlite") for operation in workload.operations
    }
    assert any("Lamella filters 50 rows of flights" in ratio.sentence for ratio in ratios(records))
    assert [path.name for path in tmp_path.iterdir()] == ["My tables"]


def test_a_store_of_several_tables_asks_for_the_name(tmp_path: Path) -> None:
    place = store_in(tmp_path)
    assert source_of(str(place)) == source_of(f"{place}:flights") == Source(str(place), "flights")
    with Store.open(place) as store:
        store.create_table("airlines", {"n": [1]})
    with pytest.raises(LamellaError, match=r"table to measure is not given.*airlines, flights"):
        source_of(str(place))


def test_a_benchmark_is_kept_and_repeated_as_it_was_asked(tmp_path: Path) -> None:
    path = table_in(tmp_path, PLAIN)
    workload = user_table(open_dataset(path), Source(str(path)), ["n"], parse("n > 3"))
    choice = Choice((Part(workload, (ROWS,), ("sqlite",), 2, words_of(workload)),), seed=7)
    assert Choice.from_json(choice.to_json()) == choice
    (command,) = choice.commands
    assert f"--table {path} --where 'n > 3' --columns n" in command
    assert workload_named(workload.id).title == "flights"
    second = user_table(open_dataset(path), Source(str(path)), ["n"], parse("n > 4"))
    assert second.id != workload.id, "benchmarks of other rows are not compared with it"


def test_a_table_that_has_become_smaller_is_refused_before_anything_runs(tmp_path: Path) -> None:
    path = table_in(tmp_path, PLAIN)
    workload = user_table(open_dataset(path), Source(str(path)))
    pq.write_table(pa.table(PLAIN).slice(0, 10), path)
    with pytest.raises(LamellaError, match="now has 10 rows, but 600 were to be measured"):
        runner.run(Choice((part_of(workload, ["sqlite"], repeats=1),), folder=tmp_path))
    assert [place.name for place in tmp_path.iterdir()] == ["flights.parquet"]


def test_fewer_rows_are_the_first_of_the_table(tmp_path: Path) -> None:
    workload = prepared(table_in(tmp_path, PLAIN), tmp_path / "benchmark", "n > 3")
    expected_answer = right(workload, rows=20)
    assert expected_answer["read"].startswith("20:")
    samples = samples_of(system_of("polars", workload, tmp_path), workload, rows=20)
    assert {s.operation: s.checksum for s in samples} == expected_answer


def test_a_table_of_a_file_can_be_measured(tmp_path: Path) -> None:
    path = tmp_path / "shop.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE a (n)")
        connection.execute("CREATE TABLE b (n)")
        connection.execute("INSERT INTO b VALUES (1), (2)")
    source = source_of(f"{path}:b")
    assert source == Source(str(path), "b") and source.words == ("--table", f"{path}:b")
    with source.open_table() as dataset:
        assert dataset.num_rows == 2
