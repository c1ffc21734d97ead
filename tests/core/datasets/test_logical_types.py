"""Parquet columns that are more than the bytes and numbers that Arrow reads: UUIDs, intervals and periods."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from uuid import UUID

import duckdb
import pandas as pd
import pyarrow as pa
import pytest

import lamella
from lamella import Store, open_dataset
from lamella.core.datasets.edit_problem import edit_problem
from lamella.core.store.importing import import_file
from lamella.core.transfer.exporting import export
from tests.core.datasets.parquet_answers import problems

FIRST = UUID("00000000-0000-4000-8000-000000000001")
SECOND = UUID("f0000000-0000-4000-8000-000000000002")
INTERVALS = ["1 month 2 days 03:04:05.5", "1 year 2 months", "00:00:00", "1 day 02:00:00", None]


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """By DuckDB, which writes no schema of Arrow."""
    path = tmp_path_factory.mktemp("duckdb") / "events.parquet"
    spans = [
        "1 month 2 days 3 hours 4 minutes 5.5 seconds",
        "14 months",
        "0 seconds",
        "26 hours",
        None,
    ]
    duckdb.sql("CREATE OR REPLACE TEMP TABLE spans (n INTEGER, span VARCHAR)")
    duckdb.executemany("INSERT INTO spans VALUES (?, ?)", list(enumerate(spans)))
    duckdb.sql(
        f"""COPY (SELECT n, (CASE WHEN n < 2 THEN '{FIRST}' WHEN n < 4 THEN '{SECOND}' END)::UUID AS id,
                   span::INTERVAL AS span, ['{FIRST}'::UUID, NULL] AS ids,
                   {{'id': '{SECOND}'::UUID, 'span': INTERVAL 1 DAY}} AS inside
            FROM spans ORDER BY n) TO '{path}' (FORMAT parquet)"""
    )
    return path


def test_uuids_of_duckdb_are_uuids(events: Path) -> None:
    dataset = open_dataset(events)
    assert dataset.schema.field("id").type == pa.uuid()
    assert dataset.read(["id"])["id"].to_pylist() == [FIRST, FIRST, SECOND, SECOND, None]
    assert dataset.count(f"id = '{SECOND}'") == 2 and dataset.count(f"inside.id = '{SECOND}'") == 5
    assert dataset.read(["n"], sort=["-id", "n"])["n"].to_pylist() == [2, 3, 0, 1, 4]
    assert dataset.read(["ids"])["ids"][0].as_py() == [FIRST, None]


def test_uuids_are_grouped_and_exported_as_text(events: Path, tmp_path: Path) -> None:
    grouped = lamella.sql("SELECT id, count(*) AS n FROM t GROUP BY id ORDER BY id", {"t": events})
    assert grouped.to_pylist() == [{"id": FIRST, "n": 2}, {"id": SECOND, "n": 2}, {"id": None, "n": 1}]
    export(open_dataset(events).query().select("n", "id"), tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text().splitlines()[:2] == ['"n","id"', f'0,"{FIRST}"']
    export(open_dataset(events).query().select("id").limit(1), tmp_path / "out.duckdb")
    with duckdb.connect(tmp_path / "out.duckdb", read_only=True) as database:
        assert database.sql("SELECT id, typeof(id) FROM events").fetchall() == [(FIRST, "UUID")]


def test_intervals_of_duckdb_are_text(events: Path) -> None:
    dataset = open_dataset(events)
    assert dataset.read(["span"])["span"].to_pylist() == INTERVALS
    assert dataset.read(["n"], "span = '1 year 2 months'")["n"].to_pylist() == [1]
    assert dataset.count("span is null") == 1
    assert dataset.read(["span"], sort=["span"])["span"].to_pylist() == [*sorted(INTERVALS[:4]), None]
    assert dataset.profile("span").distinct == 4


def test_intervals_are_answered_alike_in_sql(events: Path) -> None:
    whole = lamella.sql("SELECT * FROM t ORDER BY n", {"t": events})
    assert whole["span"].to_pylist() == INTERVALS
    day = (0).to_bytes(4, "little") + (1).to_bytes(4, "little") + bytes(4)
    assert whole["inside"].to_pylist()[0] == {"id": SECOND, "span": day}
    longest = lamella.sql("SELECT max(span::INTERVAL)::VARCHAR AS m FROM t", {"t": events})
    assert longest.to_pylist() == [{"m": "1 year 2 months"}]


def test_every_reader_answers_alike(events: Path, tmp_path: Path) -> None:
    path = tmp_path / "ids.parquet"
    duckdb.sql(f"COPY (SELECT n, id, ids FROM '{events}') TO '{path}' (FORMAT parquet)")
    assert problems(path, tmp_path) == []


def test_a_store_takes_them_as_uuids_and_text(events: Path, tmp_path: Path) -> None:
    with Store.open(tmp_path / "store") as store:
        table = import_file(events, store, "events")
        assert table.schema.field("id").type == pa.uuid()
        assert table.read(["span"])["span"].to_pylist() == INTERVALS
        table.update({"id": SECOND}, where=f"id = '{FIRST}'")
        assert table.count(f"id = '{SECOND}'") == 4


def test_a_file_with_intervals_is_not_edited(events: Path) -> None:
    assert "intervals or periods, which are shown as text: 'span'" in str(edit_problem(open_dataset(events)))


PERIODS = {
    "M": "2024-03", "Q-DEC": "2024Q1", "Q-MAR": "2024Q4", "Y-DEC": "2024", "W-SUN": "2024-03-11/2024-03-17",
    "W-WED": "2024-03-07/2024-03-13", "D": "2024-03-12", "h": "2024-03-12 05:00", "min": "2024-03-12 05:06",
    "s": "2024-03-12 05:06:07", "ms": "2024-03-12 05:06:07.000", "us": "2024-03-12 05:06:07.000000",
    "ns": "2024-03-12 05:06:07.000000000", "2M": "2024-03", "2Q-MAR": "2024Q4", "15min": "2024-03-12 05:06",
    "10ms": "2024-03-12 05:06:07.000", "2W-SUN": "2024-03-11/2024-03-17",
}  # fmt: skip


@pytest.fixture(scope="module")
def periods(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("pandas") / "periods.parquet"
    moment = "2024-03-12 05:06:07"
    columns = {freq: pd.PeriodIndex([moment, None, "1969-12-31"], freq=freq) for freq in PERIODS}
    pd.DataFrame(columns).to_parquet(path)
    return path


def test_periods_of_pandas_are_text_as_pandas_writes_it(periods: Path) -> None:
    rows = open_dataset(periods).read()
    assert {name: rows[name][0].as_py() for name in PERIODS} == PERIODS
    before = {name: str(pd.Period("1969-12-31", freq=name)) for name in PERIODS}
    assert {name: rows[name][2].as_py() for name in PERIODS} == before
    assert rows["M"][1].as_py() is None


@pytest.mark.filterwarnings("ignore:.*is deprecated:FutureWarning")
@pytest.mark.parametrize(
    ("frequency", "moments"),
    [
        (
            "B",
            [
                "1969-12-26",
                "1969-12-29",
                "1970-01-01",
                "1970-01-02",
                "1970-01-05",
                "2024-03-08",
                "2024-03-11",
            ],
        ),
        ("ms", ["1969-12-31 23:59:59.5", "2024-03-12 05:06:07.089"]),
        ("ns", ["1969-12-31 23:59:59.000000001", "2024-03-12 05:06:07.123456789"]),
    ],
)
def test_business_days_and_parts_of_seconds_are_text_as_pandas_writes_it(
    tmp_path: Path, frequency: str, moments: list[str]
) -> None:
    index = pd.PeriodIndex(moments, freq=frequency)
    pd.DataFrame({"x": index}).to_parquet(tmp_path / "x.parquet")
    assert open_dataset(tmp_path / "x.parquet").read()["x"].to_pylist() == [str(period) for period in index]


def test_periods_are_filtered_and_grouped_as_text(periods: Path) -> None:
    dataset = open_dataset(periods)
    assert dataset.count("M = '2024-03'") == 1 and dataset.count("M >= '1969-12'") == 2
    assert dataset.count("M is null") == 1 and dataset.count("M = '2024-04'") == 0
    rows = lamella.sql('SELECT "Q-DEC" AS q, count(*) AS n FROM t GROUP BY q ORDER BY q', {"t": dataset})
    assert rows["q"].to_pylist() == ["1969Q4", "2024Q1", None]


def test_periods_are_text_whether_or_not_pandas_was_imported(periods: Path) -> None:
    """With it pyarrow gives another type to the same column."""
    code = (
        "import sys; import lamella; dataset = lamella.open_dataset(sys.argv[1]); "
        "print('pandas' in sys.modules, dataset.schema.field('M').type); "
        "import pandas; print(dataset.read(['M', 'Q-DEC']).to_pylist()[0])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(periods)], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False string\n{'M': '2024-03', 'Q-DEC': '2024Q1'}"
