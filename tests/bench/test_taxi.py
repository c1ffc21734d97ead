"""The workload on taxi trips: its files, the right answers, and the answers of every system."""

from __future__ import annotations

import csv
import gzip
from collections import Counter
from collections.abc import Iterator
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamella import Store
from lamella.core.bench import registry
from lamella.core.bench.engine.measure import Sample
from lamella.core.bench.engine.protocol import Failure, Message
from lamella.core.bench.engine.runner import run_workload
from lamella.core.bench.registry import ENTRIES, FAMILIES
from lamella.core.bench.results.published_results import published_lines
from lamella.core.bench.systems.duckdb import DuckDBTaxi
from lamella.core.bench.systems.pyarrow import trip_options
from lamella.core.bench.workloads.questions import digest
from lamella.core.bench.workloads.taxi import (
    QUERIES,
    SAMPLE_ROWS,
    TAXI,
    TRIP_SCHEMA,
    TaxiCycle,
    TaxiSystem,
    comparable_rows,
    files_of,
    make_files,
    right_answer,
    rows_of_files,
    trips,
)

ROWS = 2_500
IN_CHILD_PROCESSES_ONLY = ("parquetdb", "sqlite-parquet-dask", "spark-connect")
"""Importing the first changes logging and the working folder of a process; the workers and the server of the
others run until the process ends."""

Imported = tuple[TaxiSystem, list[Sample]]


@pytest.fixture(scope="module")
def benchmark_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("benchmark")


@pytest.fixture(
    scope="module", params=[name for name in FAMILIES["taxi"].places if name not in IN_CHILD_PROCESSES_ONLY]
)
def imported(request: pytest.FixtureRequest, benchmark_folder: Path) -> Imported:
    if ENTRIES[request.param].missing:
        pytest.skip(ENTRIES[request.param].missing)
    system = registry.load(request.param, "taxi")(benchmark_folder / request.param / "0", TAXI)
    assert isinstance(system, TaxiSystem)
    return system, list(TaxiCycle(system, TAXI, ROWS).step("import"))


@pytest.mark.slow(after=1)
def test_every_system_answers_every_query_rightly_first_and_again(imported: Imported) -> None:
    system, samples = imported
    cycle = TaxiCycle(system, TAXI, ROWS)
    samples = samples + [sample for query in QUERIES for sample in cycle.step(query)]
    checksums = {(sample.operation, sample.again): sample.checksum for sample in samples}
    right = {operation.id: right_answer(TAXI, operation, ROWS) for operation in TAXI.operations}
    assert checksums == {(query, again): right[query] for query in QUERIES for again in (False, True)} | {
        ("import", False): right["import"]
    }
    assert samples[0].disk_bytes > 0


def test_an_import_that_spoils_a_column_no_query_asks_about_is_noticed(benchmark_folder: Path) -> None:
    class Careless(DuckDBTaxi):
        def fill(self, rows: int) -> None:
            super().fill(rows)
            self.open(writing=True)
            self._connection.execute("UPDATE trips SET dropoff_ntaname = upper(dropoff_ntaname)")
            self.close()

    (sample,) = TaxiCycle(Careless(benchmark_folder / "careless" / "0", TAXI), TAXI, ROWS).step("import")
    rows, digest_ = right_answer(TAXI, TAXI.operation("import"), ROWS).split(":")
    assert rows == str(SAMPLE_ROWS) == sample.checksum.split(":")[0]
    assert sample.checksum.split(":")[1] != digest_


@pytest.mark.slow(after=2)
def test_the_fourth_query_comes_in_order_of_year_and_count(imported: Imported) -> None:
    system, _ = imported
    system.open(writing=False)
    rows = [(int(year), -count) for _, year, _, count in system.rows_of(system.ask("Q4"))]
    system.close()
    assert rows == sorted(rows)
    assert {year for year, _ in rows} == set(range(2009, 2016))


def test_the_answers_are_those_of_plain_python_over_the_files(benchmark_folder: Path) -> None:
    make_files(benchmark_folder, ROWS)
    rows = list(_read(files_of(benchmark_folder, ROWS)))
    halves = [row for row in rows if row["trip_distance"].endswith(".5")]
    assert any(int(row["trip_distance"][:-2]) % 2 == 0 for row in halves), "which rounding to even would tell"
    people = Counter(row["passenger_count"] for row in rows)
    fares = dict.fromkeys(people, Fraction())
    for row in rows:
        fares[row["passenger_count"]] += Fraction(row["total_amount"])
    keys = [(int(row["passenger_count"]), row["pickup_datetime"][:4], _miles(row)) for row in rows]
    answers: dict[str, list[Any]] = {
        "Q1": list(Counter(row["cab_type"] for row in rows).items()),
        "Q2": [(int(key), float(fares[key] / count)) for key, count in people.items()],
        "Q3": [(*key, count) for key, count in Counter(key[:2] for key in keys).items()],
        "Q4": [(*key, count) for key, count in Counter(keys).items()],
    }
    for query, answer in answers.items():
        assert digest(comparable_rows(query, answer)) == right_answer(TAXI, TAXI.operation(query), ROWS)


def _read(files: list[Path]) -> Iterator[dict[str, str]]:
    for file in files:
        with gzip.open(file, "rt", encoding="utf-8", newline="") as text:
            yield from csv.DictReader(text)


def _miles(row: dict[str, str]) -> int:
    return int(Decimal(row["trip_distance"]).quantize(Decimal(1), ROUND_HALF_UP))


@given(rows=st.integers(1, 2_000_000_000))
def test_files_share_the_rows_evenly_and_are_never_more_than_56(rows: int) -> None:
    shares = list(rows_of_files(rows))
    assert sum(shares) == rows and max(shares) - min(shares) <= 1
    assert len(shares) <= 56
    assert len(shares) == 56 or max(shares) <= 250_000
    assert len(shares) > 1 or rows == 1


def test_the_files_hold_the_trips_as_they_were_made(benchmark_folder: Path) -> None:
    make_files(benchmark_folder, ROWS)
    batches = [
        pa.csv.read_csv(file, convert_options=trip_options()) for file in files_of(benchmark_folder, ROWS)
    ]
    assert len(batches) == 2
    assert pa.concat_tables(batches).equals(pa.Table.from_batches(trips(ROWS), TRIP_SCHEMA))


def test_files_are_made_once_for_all_systems_of_a_benchmark(tmp_path: Path) -> None:
    make_files(tmp_path, 20)
    times = [file.stat().st_mtime_ns for file in files_of(tmp_path, 20)]
    make_files(tmp_path, 20)
    assert [file.stat().st_mtime_ns for file in files_of(tmp_path, 20)] == times
    assert [folder.name for folder in tmp_path.iterdir()] == ["taxi-csv-20"]


def test_what_a_killed_process_left_half_made_is_made_anew(tmp_path: Path) -> None:
    half = tmp_path / "taxi-csv-20.part"
    half.mkdir()
    (half / "trips_07.csv.gz").write_bytes(b"half")
    make_files(tmp_path, 20)
    assert [file.name for file in files_of(tmp_path, 20)] == ["trips_00.csv.gz", "trips_01.csv.gz"]
    assert not half.exists()


@pytest.mark.parametrize("tie", [16.00000005, 31.24999995, 12.34567895])
def test_averages_on_either_side_of_a_tie_are_the_same(tie: float) -> None:
    low, high = (comparable_rows("Q2", [(1, tie * (1 + by))]) for by in (-1e-15, 1e-15))
    assert digest(low) == digest(high)
    assert digest(low) != digest(comparable_rows("Q2", [(1, tie * (1 - 1e-8))]))


def test_a_year_may_be_a_text_or_a_number_and_must_be_the_right_one() -> None:
    assert digest(comparable_rows("Q3", [(1, "2009", 5)])) == digest(comparable_rows("Q3", [(1, 2009, 5)]))
    assert digest(comparable_rows("Q3", [(1, 2009, 5)])) != digest(comparable_rows("Q3", [(1, 2010, 5)]))


@pytest.mark.slow
def test_values_far_in_a_file_may_widen_the_columns_of_lamellas_table(tmp_path: Path) -> None:
    folder = tmp_path / "taxi-csv-2"
    folder.mkdir()
    long = 45_000
    for number, last in enumerate(("7", "7.5")):
        lines = ["cab_type,count", *(f"yellow cab number {n},{n}" for n in range(long)), f"green,{last}"]
        folder.joinpath(f"trips_{number}.csv.gz").write_bytes(gzip.compress("\n".join(lines).encode(), 1))
    system = registry.load("lamella", "taxi")(tmp_path / "lamella" / "0", TAXI)
    system.folder.mkdir(parents=True)
    assert isinstance(system, TaxiSystem)
    system.fill(2)
    with Store.open(system.folder) as store:
        assert store["trips"].num_rows == 2 * (long + 1)
        assert store["trips"].read(columns=["count"], where="cab_type = 'green'")["count"].to_pylist() == [
            7.0,
            7.5,
        ]


@pytest.mark.slow
def test_systems_benchmark_in_processes_of_their_own_and_leave_nothing(tmp_path: Path) -> None:
    names = [name for name in IN_CHILD_PROCESSES_ONLY if not ENTRIES[name].missing]
    heard: list[Message] = []
    records = run_workload("taxi", [300], names, repeats=1, folder=tmp_path, on_event=heard.append)
    assert [message for message in heard if isinstance(message, Failure)] == []
    calls = {(registry.plain_name(record.system), record.operation) for record in records}
    assert calls == {(name, operation.id) for name in names for operation in TAXI.operations}
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_answers_of_dasks_workers_are_added_up() -> None:
    pytest.importorskip("distributed")
    from lamella.core.bench.systems.sqlite_parquet import merge

    counted = merge("Q1", [[("green", 2), ("yellow", 5)], [("yellow", 4)], []])
    assert sorted(counted) == [("green", 2), ("yellow", 9)]
    assert merge("Q2", [[(1, 12.0, 3)], [(1, 8.0, 1)]]) == [(1, 5.0)]
    parts = [[(1, "2010", 3.0, 4), (2, "2009", 1.0, 1)], [(1, "2010", 2.0, 5), (2, "2009", 1.0, 2)]]
    assert merge("Q4", parts) == [(2, "2009", 1.0, 3), (1, "2010", 2.0, 5), (1, "2010", 3.0, 4)]
    assert merge("Q3", [[], []]) == []


def test_published_times_are_the_lowest_at_1_1_billion_rows() -> None:
    minutes = {"Q1": (7, 28), "Q2": (13, 17), "Q3": (30, 11), "Q4": (54, 46)}
    for query, (minute, second) in minutes.items():
        (line,) = (
            publication
            for publication in published_lines("taxi", query)
            if publication.system == "sqlite-parquet"
        )
        assert [(p.rows, p.seconds) for p in line.points] == [(1_100_000_000, minute * 60 + second)]
        assert line.statistic == "lowest"
    (own,) = (publication for publication in published_lines("taxi", "Q1") if publication.system == "sqlite")
    assert own.points[0].seconds == 8 * 3600 + 39 * 60 + 20


def test_published_sizes_are_lines_of_bytes() -> None:
    sizes = {line.system: line.points[0].value for line in published_lines("taxi", "import", "disk_bytes")}
    assert sizes == {
        "csv": 500e9,
        "sqlite-parquet": 105e9,
        "sqlite": 529e9,
        "sqlite-compressed": 137e9,
    }
