"""Parquet files in place: one, a folder, a glob."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lamella.core.datasets import open_dataset
from lamella.core.datasets.partitions import FROM_FOLDER
from lamella.core.errors import FileProblem
from lamella.core.scan import parquet_file as footers


def write(path: Path, **columns: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path)
    return path


def test_a_file_is_shown_with_its_name_types_and_rows(tmp_path: Path) -> None:
    dataset = open_dataset(write(tmp_path / "trips.parquet", city=["A", None], n=[1, 2]))
    assert (dataset.name, dataset.num_rows, dataset.format) == ("trips", 2, "Parquet")
    assert dataset.schema == pa.schema({"city": pa.string(), "n": pa.int64()})
    assert dataset.read().to_pylist() == [{"city": "A", "n": 1}, {"city": None, "n": 2}]


def test_the_extension_does_not_matter(tmp_path: Path) -> None:
    assert open_dataset(write(tmp_path / "trips.csv", n=[1])).format == "Parquet"


def test_a_folder_is_one_dataset_without_what_programs_keep_for_themselves(tmp_path: Path) -> None:
    folder = tmp_path / "trips.parquet"
    write(folder / "b" / "part-2.parquet", n=[2])
    write(folder / "a" / "part-1.parquet", n=[1])
    for own in ("_SUCCESS", ".part-1.parquet.crc", "_metadata"):
        (folder / own).write_bytes(b"not data")
    dataset = open_dataset(folder)
    assert dataset.name == "trips"
    assert dataset.read()["n"].to_pylist() == [1, 2]


def test_a_glob_takes_what_matches(tmp_path: Path) -> None:
    for number in (1, 2, 3):
        write(tmp_path / f"trips-{number}.parquet", n=[number])
    assert open_dataset(tmp_path / "trips-[12].parquet").read()["n"].to_pylist() == [1, 2]


def test_columns_are_matched_by_name_and_missing_ones_are_null(tmp_path: Path) -> None:
    write(tmp_path / "1.parquet", a=[1], b=["x"])
    write(tmp_path / "2.parquet", c=[True], b=["y"], a=[2])
    assert open_dataset(tmp_path).read().to_pylist() == [
        {"a": 1, "b": "x", "c": None},
        {"a": 2, "b": "y", "c": True},
    ]


def test_types_widen_where_every_value_stays_exact(tmp_path: Path) -> None:
    write(tmp_path / "1.parquet", a=pa.array([1], pa.int16()), f=pa.array([0.5], pa.float32()))
    write(tmp_path / "2.parquet", a=pa.array([1 << 40]), f=pa.array([0.1]))
    dataset = open_dataset(tmp_path)
    assert dataset.schema.types == [pa.int64(), pa.float64()]
    assert dataset.read()["a"].to_pylist() == [1, 1 << 40]


def test_whole_numbers_and_doubles_are_doubles_where_that_is_exact(tmp_path: Path) -> None:
    write(tmp_path / "1.parquet", n=[1, 2])
    write(tmp_path / "2.parquet", n=[3, 1 << 53])
    write(tmp_path / "3.parquet", n=[0.5, None])
    dataset = open_dataset(tmp_path)
    assert dataset.schema.types == [pa.float64()]
    assert dataset.read()["n"].to_pylist() == [1, 2, 3, 1 << 53, 0.5, None]
    write(tmp_path / "4.parquet", n=[(1 << 53) + 1])
    with pytest.raises(FileProblem, match=r"4\.parquet: column 'n' is int64 here but double in .*3\.parquet"):
        open_dataset(tmp_path)


def test_types_that_conflict_are_refused_with_both_files_and_the_column(tmp_path: Path) -> None:
    write(tmp_path / "1.parquet", price=[1])
    write(tmp_path / "2.parquet", price=["one"])
    with pytest.raises(
        FileProblem, match=r"2\.parquet: column 'price' is string here but int64 in .*1\.parquet"
    ):
        open_dataset(tmp_path)


def test_names_that_differ_only_in_case_are_two_columns(tmp_path: Path) -> None:
    dataset = open_dataset(write(tmp_path / "x.parquet", **{"Name": ["A"], "name": ["a"], "": [1]}))
    assert dataset.read().to_pylist() == [{"Name": "A", "name": "a", "": 1}]


def test_two_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    both = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["n", "n"])
    pq.write_table(both, tmp_path / "x.parquet")
    with pytest.raises(FileProblem, match="has 2 columns named 'n'"):
        open_dataset(tmp_path / "x.parquet")


def test_files_without_rows_keep_their_columns(tmp_path: Path) -> None:
    dataset = open_dataset(write(tmp_path / "x.parquet", n=pa.array([], pa.int64())))
    assert (dataset.num_rows, dataset.schema.names, dataset.read().num_rows) == (0, ["n"], 0)


def test_a_file_that_changed_is_not_read_as_if_it_had_not(tmp_path: Path) -> None:
    path = write(tmp_path / "x.parquet", n=[1, 2, 3])
    dataset = open_dataset(path)
    write(path, n=[9])
    os.utime(path, ns=(1, 1))
    with pytest.raises(FileProblem, match=r"changed on disk.*Reload"):
        dataset.read()
    assert open_dataset(path).read()["n"].to_pylist() == [9]


def test_tokens_tell_versions_of_a_file_apart(tmp_path: Path) -> None:
    path = write(tmp_path / "x.parquet", n=[1])
    first, same = open_dataset(path).snapshot().token, open_dataset(path).snapshot().token
    write(path, n=[1, 2])
    assert first == same != open_dataset(path).snapshot().token


@pytest.mark.parametrize("kind", [pl.Int128, pl.List(pl.Int128), pl.Struct({"deep": pl.UInt128})])
def test_a_column_of_a_type_that_arrow_lacks_is_left_out_by_name(tmp_path, kind):
    path = tmp_path / "wide.parquet"
    pl.DataFrame({"ok": [1], "wide": pl.Series([None], dtype=kind), "last": ["a"]}).write_parquet(path)
    dataset = open_dataset(path)
    assert dataset.read().to_pylist() == [{"ok": 1, "last": "a"}]
    assert dataset.remarks == (
        "Column 'wide' is left out: only the program that wrote it can tell its type: Integers with more "
        "than 64 bits not implemented",
    )


def test_a_file_that_takes_a_type_arrow_has_not_is_refused_while_it_is_open(tmp_path):
    path = tmp_path / "t.parquet"
    pl.DataFrame({"n": [1]}).write_parquet(path)
    dataset = open_dataset(path)
    pl.DataFrame({"n": pl.Series([1], dtype=pl.Int128)}).write_parquet(path)
    with pytest.raises(FileProblem, match=r"can be read|changed on disk"):
        dataset.read()


@pytest.fixture
def nested_texts(tmp_path: Path) -> Path:
    """Two row groups of 100 KB of text each, alone and inside lists."""
    texts = [f"{n:01000}" for n in range(200)]
    table = pa.table({"plain": texts, "inside": [[text] for text in texts], "n": range(200)})
    pq.write_table(table, tmp_path / "x.parquet", row_group_size=100, use_dictionary=False)
    return tmp_path / "x.parquet"


def test_more_nested_text_than_one_array_holds_is_refused_before_it_is_decoded(
    nested_texts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(footers, "MOST_NESTED_TEXT", 90_000)
    dataset = open_dataset(nested_texts)
    with pytest.raises(
        FileProblem, match=r"'inside' holds more than 2 GB of text in row group 0.*smaller row"
    ):
        dataset.read()
    assert dataset.read(["plain", "n"]).num_rows == 200


def test_row_groups_that_are_too_much_together_are_read_one_by_one(
    nested_texts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A low limit stands for 2 GB, which would take a test too long."""
    whole = pq.ParquetFile.read_row_groups

    def refusing(file: pq.ParquetFile, row_groups: list[int], **options: Any) -> pa.Table:
        if len(row_groups) > 1:
            raise pa.ArrowNotImplementedError("Nested data conversions not implemented for chunked arrays")
        return whole(file, row_groups, **options)

    monkeypatch.setattr(pq.ParquetFile, "read_row_groups", refusing)
    assert open_dataset(nested_texts).read()["inside"].to_pylist() == [[f"{n:01000}"] for n in range(200)]


def test_columns_that_folders_stand_for_are_marked(tmp_path: Path) -> None:
    for year in (2023, 2024):
        (tmp_path / f"year={year}").mkdir()
        write(tmp_path / f"year={year}" / "a.parquet", n=[year])
    field = open_dataset(tmp_path).schema.field("year")
    assert (field.metadata or {})[b"note"].decode() == FROM_FOLDER
    assert not open_dataset(tmp_path).schema.field("n").metadata
