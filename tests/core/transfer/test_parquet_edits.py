"""Edits saved into Parquet files, which keep the settings that they were written with."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lamella import open_dataset
from lamella.core.errors import FileProblem
from lamella.core.transfer.saving import save_edits


def test_a_file_keeps_its_settings(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    schema = pa.schema(
        [
            pa.field("n", pa.int32(), nullable=False, metadata={"unit": "m"}),
            pa.field("s", pa.dictionary(pa.int32(), pa.string())),
            pa.field("l", pa.list_(pa.struct([("x", pa.int64())]))),
            pa.field("at", pa.timestamp("ns", "UTC")),
        ],
        {"made": "here"},
    )
    rows = pa.table(
        [
            pa.array(range(10), pa.int32()), pa.array(["a", "b"] * 5).dictionary_encode(),
            pa.array([[{"x": n}] for n in range(10)]),
            pa.array([10**18 + n for n in range(10)], schema[3].type),
        ],
        schema=schema,
    )  # fmt: skip
    codecs = {"n": "zstd", "s": "gzip", "l.list.element.x": "snappy", "at": "none"}
    sorting = [pq.SortingColumn(0)]
    pq.write_table(
        rows, path, row_group_size=4, compression=codecs, use_dictionary=["s"], sorting_columns=sorting,
        write_page_index=True, column_encoding={"n": "DELTA_BINARY_PACKED"},
    )  # fmt: skip
    before = pq.ParquetFile(path)
    save_edits(open_dataset(path), {5: {"s": "c", "l": [{"x": 7}, {"x": None}], "at": None}})
    after = pq.ParquetFile(path)
    expected = rows.to_pylist()
    expected[5].update(s="c", l=[{"x": 7}, {"x": None}], at=None)
    assert after.read().to_pylist() == expected
    assert after.schema_arrow.equals(before.schema_arrow, check_metadata=True)
    assert after.schema.equals(before.schema)
    for group in range(3):
        old, new = before.metadata.row_group(group), after.metadata.row_group(group)
        assert (old.num_rows, old.sorting_columns) == (new.num_rows, new.sorting_columns)
        for column in range(4):
            old_column, new_column = old.column(column), new.column(column)
            assert (old_column.compression, set(old_column.encodings)) == (
                new_column.compression,
                set(new_column.encodings),
            )
            assert old_column.has_offset_index == new_column.has_offset_index


SETTINGS: list[dict[str, Any]] = [
    {"use_deprecated_int96_timestamps": True}, {"version": "1.0"}, {"store_schema": False},
    {"use_compliant_nested_type": False}, {"write_statistics": False}, {"bloom_filter_options": {"s": True}},
    {"use_dictionary": False, "column_encoding": {"f": "BYTE_STREAM_SPLIT"}},
    {"store_decimal_as_integer": True}, {"compression": "brotli"}, {"compression": "lz4"},
    {"data_page_version": "2.0"},
]  # fmt: skip


@pytest.mark.parametrize("options", SETTINGS, ids=lambda options: next(iter(options)))
def test_a_file_written_with_other_settings_keeps_them(tmp_path: Path, options: dict[str, Any]) -> None:
    path = tmp_path / "a.parquet"
    rows = pa.table(
        {
            "f": [1.5, 2.5, None],
            "s": ["a", "b", "c"],
            "l": [[1], [2], None],
            "d": pa.array([Decimal("1.50")] * 3, pa.decimal128(9, 2)),
            "t": pa.array(
                [dt.datetime(2020, 1, 1)] * 3, pa.timestamp("us" if "version" in options else "ns")
            ),
        }
    )
    pq.write_table(rows, path, **options)
    before = pq.ParquetFile(path)
    save_edits(open_dataset(path), {1: {"s": "new"}})
    after = pq.ParquetFile(path)
    assert after.read(["f", "l", "d", "t"]).equals(before.read(["f", "l", "d", "t"]))
    assert after.read(["s"]).column(0).to_pylist() == ["a", "new", "c"]
    assert after.schema_arrow.equals(before.schema_arrow, check_metadata=True)
    assert after.schema.equals(before.schema)
    assert after.metadata.format_version == before.metadata.format_version
    for place in range(after.metadata.num_columns):
        old, new = (file.metadata.row_group(0).column(place) for file in (before, after))
        assert (old.compression, set(old.encodings)) == (new.compression, set(new.encodings))
        assert old.is_stats_set == new.is_stats_set
        assert (old.bloom_filter_length is None) == (new.bloom_filter_length is None)


def test_a_null_where_none_may_be_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    schema = pa.schema([pa.field("n", pa.int64(), nullable=False)])
    pq.write_table(pa.table({"n": [1, 2]}, schema=schema), path)
    before = path.read_bytes()
    with pytest.raises(FileProblem, match="cannot hold a null in column 'n'"):
        save_edits(open_dataset(path), {0: {"n": None}})
    assert path.read_bytes() == before


def test_sorting_that_an_edit_may_break_is_no_longer_claimed(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"n": [1, 2, 3]}), path, sorting_columns=[pq.SortingColumn(0)])
    save_edits(open_dataset(path), {0: {"n": 9}})
    assert pq.ParquetFile(path).metadata.row_group(0).sorting_columns == ()


def test_a_file_without_the_schema_of_arrow_stays_without(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    with pq.ParquetWriter(path, pa.schema([("n", pa.int64())]), store_schema=False) as writer:
        writer.write_table(pa.table({"n": [1, 2]}))
        writer.add_key_value_metadata({"k": "v"})
    save_edits(open_dataset(path), {0: {"n": 9}})
    assert pq.read_metadata(path).metadata == {b"k": b"v"}
