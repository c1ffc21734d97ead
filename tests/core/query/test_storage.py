"""The storage of rows as footers describe it: sizes, encodings and extents of columns."""

from __future__ import annotations

import datetime as dt
from contextlib import AbstractContextManager
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lamella import Store, col, open_dataset
from lamella.core.jobs import Job
from lamella.core.query import storage
from lamella.core.query.engine import cursor
from lamella.core.query.storage import UNKNOWN_CODEC, StoredColumn, read_storage
from tests.core.datasets.parquet_footer import (
    CHUNK_STATISTICS,
    CHUNK_TYPE,
    CODEC,
    CREATED_BY,
    MAX_VALUE,
    MIN_VALUE,
    chunks,
    read_footer,
    write_footer,
)

INT32 = 1


def columns_of(path: Path) -> dict[str, StoredColumn]:
    return {
        column.name: column for column in read_storage(open_dataset(path).snapshot(), None, Job()).columns
    }


def write(path: Path, **columns: object) -> Path:
    path.parent.mkdir(exist_ok=True)
    pq.write_table(pa.table(columns), path)
    return path


def test_leaves_of_a_nested_column_have_neither_extent_nor_nulls(tmp_path: Path):
    rows = [{"n": 1, "word": "a"}, {"n": 2, "word": None}, None]
    columns = columns_of(write(tmp_path / "nested.parquet", s=rows, items=[[1, 2], [], None]))
    assert columns["s"].chunks == 2, "both leaves count"
    assert [(column.extent, column.nulls) for column in columns.values()] == [("", None), ("", None)]


def test_extents_are_written_as_cells_are(tmp_path: Path):
    columns = columns_of(
        write(
            tmp_path / "kinds.parquet",
            flag=[False, True],
            wait=[dt.timedelta(hours=-1), dt.timedelta(days=2)],
            half=pa.array([1.5, 2.5], pa.float16()),
            raw=[b"\x00", b"\xff"],
            word=["two\nlines", "x" * 100],
            fare=[-0.5, 7.0],
        )
    )
    assert {name: column.extent for name, column in columns.items()} == {
        "flag": "false to true",
        "wait": "-1:00:00 to 2 d 0:00:00",
        "half": "",
        "raw": "0x00 to 0xff",
        "word": f"two lines to {'x' * 59}…",
        "fare": "-0.5 to 7",
    }


def test_a_column_of_dates_and_times_in_a_folder_has_no_extent(tmp_path: Path):
    day = dt.date(2024, 5, 1)
    write(tmp_path / "trips" / "1.parquet", at=[day], n=[1])
    write(tmp_path / "trips" / "2.parquet", at=[dt.datetime(2024, 6, 1, 9)], n=[2.5])
    columns = columns_of(tmp_path / "trips")
    assert (columns["at"].extent, columns["n"].extent) == ("", "1 to 2.5")


def test_a_codec_that_nobody_knows_is_called_unknown(tmp_path: Path):
    path = write(tmp_path / "codec.parquet", n=[1, 2], word=["a", "b"])
    footer = read_footer(path)
    chunks(footer)[1][CODEC].content = 99
    write_footer(path, footer)
    columns = columns_of(path)
    assert columns["word"].codecs == {"unknown": 1} and columns["n"].extent == "1 to 2"
    assert open_dataset(path).read(["n"])["n"].to_pylist() == [1, 2]


def test_extremes_that_are_no_text_or_beyond_the_calendar_are_left_out(tmp_path: Path):
    far = pa.array([2**62], pa.timestamp("us"))
    path = write(tmp_path / "far.parquet", word=["a"], far=far, n=[1])
    footer = read_footer(path)
    statistics = chunks(footer)[0][CHUNK_STATISTICS].content
    for place in (MIN_VALUE, MAX_VALUE):
        statistics[place].content = b"\x9e"
    footer[CREATED_BY].content = b"\xff"
    write_footer(path, footer)
    assert {name: column.extent for name, column in columns_of(path).items()} == {
        "word": "",
        "far": "",
        "n": "1 to 1",
    }


def test_statistics_of_another_type_than_the_column_are_left_out(tmp_path: Path):
    path = write(tmp_path / "types.parquet", n=[1, 2], price=[1.5, 2.5])
    footer = read_footer(path)
    for chunk in chunks(footer):
        chunk[CHUNK_TYPE].content = INT32
    write_footer(path, footer)
    assert [column.extent for column in columns_of(path).values()] == ["", ""]
    where = (col("n") > 5) & (col("price") > 9.0)
    assert [group.is_read for group in read_storage(open_dataset(path).snapshot(), where, Job()).groups] == [
        True
    ]


def test_row_groups_state_the_extents_of_the_columns_in_a_filter(tmp_path: Path):
    path = write(tmp_path / "flags.parquet", flag=[False, True], wait=[dt.timedelta(1), dt.timedelta(2)])
    where = (col("flag") == True) & (col("wait") > dt.timedelta(1))  # noqa: E712
    [group] = read_storage(open_dataset(path).snapshot(), where, Job()).groups
    assert group.extents == ("flag: false to true", "wait: 1 d 0:00:00 to 2 d 0:00:00")


def test_what_lamella_notes_for_itself_in_data_files_is_no_metadata(tmp_path: Path):
    with Store.open(tmp_path / "store") as store:
        rows = pa.table({"n": list(range(20_000))}).replace_schema_metadata({"source": "radar"})
        table = store.create_table("t", rows)
        storage = read_storage(table.snapshot(), None, Job())
        assert storage.files and not any(key.startswith("lamella") for key in storage.metadata)


def test_only_files_from_elsewhere_are_checked_for_unknown_codecs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    checked: list[str] = []

    def check(job: Job, place: str) -> AbstractContextManager[duckdb.DuckDBPyConnection]:
        checked.append(place)
        return cursor(job, place)

    monkeypatch.setattr(storage, "cursor", check)
    rows = pa.table({"n": list(range(20_000))})
    with Store.open(tmp_path / "store") as store:
        table = store.create_table("t", rows)
        table.maintenance.flush()
        [column] = [c for c in read_storage(table.snapshot(), None, Job()).columns if c.name == "n"]
        assert column.codecs and UNKNOWN_CODEC not in column.codecs and not checked
    pq.write_table(rows, tmp_path / "rows.parquet")
    read_storage(open_dataset(tmp_path / "rows.parquet").snapshot(), None, Job())
    assert checked == [str(tmp_path / "rows.parquet")]
