"""Leaves of a Parquet file's columns are located by their paths."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from lamella import open_dataset
from lamella.core.scan.parquet_file import unchanged_footer
from lamella.core.scan.snapshot import FileSegment


def test_leaves_are_found_by_the_path_of_a_column_or_field(tmp_path: Path) -> None:
    """Though names have dots, and signs that come before and after a dot in order."""
    deep = pa.struct({"b": pa.int64(), "c": pa.struct({"d": pa.string()})})
    names = {"z": pa.int64(), "a": deep, "a-": pa.int64(), "a/b": pa.int64(), "a.x": pa.int64(),
             "ab": pa.list_(pa.int64()), "": pa.int64(), "A": pa.int64()}  # fmt: skip
    pq.write_table(pa.Table.from_pylist([{}], pa.schema(names)), tmp_path / "t.parquet")
    (segment,) = open_dataset(tmp_path / "t.parquet").snapshot().segments
    assert isinstance(segment, FileSegment)
    file = unchanged_footer(segment)
    schema = file.metadata.schema
    paths = [schema.column(place).path for place in range(len(schema))]
    for name in [*names, "a.b", "a.c", "a.c.d", "a.", "no", "ab.list", "ab.list.element", "a/"]:
        expected = [n for n, path in enumerate(paths) if path == name or path.startswith(f"{name}.")]
        assert file.leaves_within(name) == expected, name
