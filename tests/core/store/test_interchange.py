"""Tables, queries and files in other libraries, and as Python collections."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamella import Store, agg, col, open_dataset
from lamella.core.arrow.interchange import sized_batches
from lamella.core.datasets.base import Dataset
from lamella.core.errors import TypeConflict, UnknownRow
from lamella.core.query.builder import Query
from lamella.core.store import Table

LARGE = 2**60 + 1
ROWS = pa.table(
    {
        "n": pa.array([1, None, LARGE]),
        "late": pa.array([True, None, False]),
        "carrier": ["AA", None, "ÜA"],
        "day": pa.array([dt.date(2024, 2, 29)] * 3),
        "all": pa.array([1, 2, 3], pa.int32()),
        "sizes": pa.array([[1, 2], [], None], pa.list_(pa.int64())),
    }
)


@pytest.fixture
def table(tmp_path: Path) -> Iterator[Table]:
    with Store.open(tmp_path / "store") as store:
        yield store.create_table("t", ROWS)


@pytest.fixture(params=["table", "earlier version", "query", "file", "text file"])
def rows(request: pytest.FixtureRequest, table: Table, tmp_path: Path) -> Dataset | Query:
    pq.write_table(ROWS, tmp_path / "rows.parquet")
    (tmp_path / "rows.csv").write_text("n,carrier\n1,AA\n,\n1152921504606846977,ÜA\n", encoding="utf-8")
    return {
        "table": lambda: table,
        "earlier version": lambda: table.as_of(table.version),
        "query": lambda: table.query().select(*ROWS.column_names),
        "file": lambda: open_dataset(tmp_path / "rows.parquet"),
        "text file": lambda: open_dataset(tmp_path / "rows.csv", cache_dir=tmp_path / "cache"),
    }[request.param]()


def test_other_libraries_take_the_rows_by_arrows_stream(rows: Dataset | Query) -> None:
    numbers = [1, None, LARGE]
    assert pa.table(rows)["n"].to_pylist() == numbers
    assert pl.DataFrame(rows)["n"].to_list() == numbers
    assert duckdb.sql("SELECT n FROM rows").fetchall() == [(number,) for number in numbers]
    assert pd.DataFrame.from_arrow(rows)["carrier"].iloc[2] == "ÜA"


def test_data_frames_hold_every_value(rows: Dataset | Query) -> None:
    frame = rows.to_pandas()
    assert frame["n"].dtype == "Int64" and frame["n"][2] == LARGE and frame["n"].isna()[1]
    polars = rows.to_polars()
    assert polars["n"].to_list() == [1, None, LARGE] and polars["carrier"].to_list() == ["AA", None, "ÜA"]


def test_columns_of_pandas_without_nulls_are_numpys(table: Table) -> None:
    frame = table.to_pandas()
    assert frame["all"].dtype == "int32" and frame["late"].dtype == "boolean"
    assert frame["sizes"][0].tolist() == [1, 2]


def test_rows_say_how_many_they_are_and_are_true_without_any(rows: Dataset | Query) -> None:
    assert len(rows) == 3 and rows
    none = rows.where(col("n") < 0)
    assert len(none) == 0 and none


def test_columns_and_the_first_rows_are_at_hand(rows: Dataset | Query) -> None:
    names = [name for name in rows.schema.names if name != "_id"]
    assert list(rows.columns) == names and "n" in rows.columns
    assert rows.head(2)["n"].to_pylist() == [1, None] and len(rows.head()) == 3 and len(rows.head(0)) == 0


def test_the_first_rows_of_a_text_file_come_before_the_rest_is_read(tmp_path: Path) -> None:
    path = tmp_path / "long.csv"
    path.write_text("n,text\n" + "".join(f"{n},{'x' * 100}\n" for n in range(50_000)))
    rows = open_dataset(path, cache_dir=tmp_path / "cache")
    assert rows.head(3)["n"].to_pylist() == [0, 1, 2] and not rows.snapshot().complete
    assert len(rows) == 50_000 and rows.snapshot().complete


def test_a_store_names_its_tables(table: Table) -> None:
    assert list(table.store) == ["t"] and "t" in table.store


def test_several_conditions_have_to_be_met_together(table: Table) -> None:
    both = table.where(col("all") > 1, "carrier is not null").read()
    assert both["all"].to_pylist() == [3]
    assert table.where({"all": {"$gt": 1}}, col("n").is_null()).count() == 1


def test_batches_come_in_the_size_asked_for(table: Table) -> None:
    table.insert([{"all": n} for n in range(4, 11)])
    for stream in (table.batches(batch_size=4), table.query().batches(batch_size=4)):
        assert [len(batch) for batch in stream] == [4, 4, 2]
    sizes = [len(batch) for batch in table.batches(["all"], where=col("all") > 2, batch_size=3)]
    assert sizes == [3, 3, 2]


@given(st.lists(st.integers(0, 9), max_size=8), st.integers(1, 12))
def test_sized_batches_hold_the_same_rows(lengths: list[int], size: int) -> None:
    values = iter(range(100))
    batches = [
        pa.record_batch({"n": pa.array([next(values) for _ in range(n)], pa.int64())}) for n in lengths
    ]
    reader = pa.RecordBatchReader.from_batches(pa.schema([("n", pa.int64())]), batches)
    sized = list(sized_batches(reader, size, "t"))
    assert [n for batch in sized for n in batch["n"].to_pylist()] == list(range(sum(lengths)))
    assert all(len(batch) == size for batch in sized[:-1]) and all(0 < len(batch) <= size for batch in sized)


def test_a_dict_of_values_is_one_row(table: Table) -> None:
    assert table.insert({"n": 7, "carrier": "B6"}).inserted == 1
    last = table.read(["_id", "n", "carrier"]).to_pylist()[-1]
    assert (last["n"], last["carrier"]) == (7, "B6")
    assert table.update({"_id": last["_id"], "n": None}).updated == 1
    assert table.read(["n"])["n"].to_pylist()[-1] is None
    assert table.upsert({"carrier": "B6", "n": 8}, on="carrier").updated == 1
    table_of_one = table.store.create_table("one", {"size": {"h": 80}, "name": "A4"})
    assert table_of_one.read(["size", "name"]).to_pylist() == [{"size": {"h": 80}, "name": "A4"}]


def test_ids_that_are_gone_can_be_ignored(table: Table) -> None:
    gone, *remaining = table.read(["_id"])["_id"].to_pylist()
    table.delete(ids=[gone])
    with pytest.raises(UnknownRow):
        table.read(ids=[gone, *remaining])
    assert table.read(["_id"], ids=[gone, *remaining], missing="ignore")["_id"].to_pylist() == remaining
    assert table.read(ids=[gone], missing="ignore").num_rows == 0
    assert table.batches(ids=[gone, remaining[0]], missing="ignore").read_all().num_rows == 1
    assert table.update([{"_id": gone, "n": 1}, {"_id": remaining[0], "n": 5}], missing="ignore").updated == 1
    assert table.update({"n": 6}, where=[gone, remaining[1]], missing="ignore").updated == 1
    assert table.read(["n"])["n"].to_pylist() == [5, 6]
    assert table.delete(ids=[gone, remaining[0]], missing="ignore").deleted == 1
    version = table.version
    assert table.delete(ids=[gone], missing="ignore").deleted == 0
    assert table.update({"_id": gone, "n": 1}, missing="ignore").updated == 0
    assert table.version == version


def test_keys_that_no_row_has_can_be_ignored(table: Table) -> None:
    rows = [{"carrier": "AA", "n": 10}, {"carrier": "none has it", "n": 11}]
    with pytest.raises(UnknownRow):
        table.update(rows, on="carrier")
    assert table.update(rows, on="carrier", missing="ignore").updated == 1
    many = [{"carrier": "AA", "n": 12}, *({"carrier": f"no {n}", "n": n} for n in range(3_000))]
    assert table.update(many, on="carrier", missing="ignore").updated == 1
    assert table.read(["n"], where=col("carrier") == "AA")["n"].to_pylist() == [12]


def test_groups_go_to_other_libraries_too(table: Table) -> None:
    groups = table.group_by("carrier").agg(n=agg.count()).sort("carrier")
    assert groups.to_pandas()["n"].tolist() == [1, 1, 1] and len(groups) == 3


def test_a_type_that_polars_lacks_is_said(table: Table) -> None:
    sums = pa.array([1], pa.decimal256(50, 2))
    with pytest.raises(TypeConflict, match="Polars cannot hold column 'sum'"):
        table.store.create_table("sums", pa.table({"sum": sums})).to_polars()
