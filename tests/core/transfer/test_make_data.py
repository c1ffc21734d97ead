"""Made data."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from lamella.core.errors import Cancelled, FileProblem, UnknownName
from lamella.core.jobs import Job
from lamella.core.transfer.generate import make


def test_twenty_columns_of_every_common_type(tmp_path: Path) -> None:
    table = pq.read_table(make("mixed", 30_000, tmp_path / "m.parquet"))
    assert (table.num_rows, table.num_columns) == (30_000, 20)
    kinds = {str(kind) for kind in table.schema.types}
    assert kinds >= {"int64", "int32", "double", "float", "string", "bool", "date32[day]", "timestamp[us]"}
    assert pc.count_distinct(table["city"]).as_py() == 500
    assert pc.count_distinct(table["unit_price"]).as_py() < 3_000
    assert table["order_id"].to_pylist() == list(range(1, 30_001))
    assert sum(column.null_count > 0 for column in table.columns) >= 5


def test_more_rows_begin_with_the_fewer(tmp_path: Path) -> None:
    few = pq.read_table(make("mixed", 1_000, tmp_path / "few.parquet"))
    many = pq.read_table(make("mixed", 100_500, tmp_path / "many.parquet"))
    assert many.slice(0, 1_000).equals(few)
    assert pq.ParquetFile(tmp_path / "many.parquet").metadata.num_row_groups == 2


def test_no_rows_are_an_empty_file_with_columns(tmp_path: Path) -> None:
    assert pq.read_table(make("mixed", 0, tmp_path / "m.parquet")).shape == (0, 20)


def test_cancelled_it_leaves_what_was_there(tmp_path: Path) -> None:
    path = make("mixed", 10, tmp_path / "m.parquet")
    job = Job()
    job.cancel()
    with pytest.raises(Cancelled):
        make("mixed", 1_000, path, job)
    assert pq.read_metadata(path).num_rows == 10
    assert [p.name for p in tmp_path.iterdir()] == ["m.parquet"]


def test_where_it_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(FileProblem, match=r"m\.parquet: could not be written"):
        make("mixed", 10, tmp_path / "nowhere" / "m.parquet")


def test_an_unknown_kind_suggests_one(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="Did you mean 'mixed'"):
        make("mixd", 10, tmp_path / "m.parquet")


def test_the_types_of_the_schema_hold_in_the_file(tmp_path: Path) -> None:
    path = make("mixed", 10, tmp_path / "m.parquet")
    assert pq.read_schema(path).field("weight_kg").type == pa.float32()


def test_it_writes_parquet_only_and_replaces_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "mine.parquet").write_text("a,b\n1,2\n")
    for name in ("mine.parquet", "zz.csv", "plain"):
        with pytest.raises(FileProblem):
            make("mixed", 10, tmp_path / name)
    assert [p.name for p in tmp_path.iterdir()] == ["mine.parquet"]
    assert (tmp_path / "mine.parquet").read_text() == "a,b\n1,2\n"
