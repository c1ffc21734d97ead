"""Queries over Parquet files where they lie: any layout, and never a file that changed since."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lamella import col, open_dataset
from lamella.core.datasets.base import Dataset
from lamella.core.errors import FileProblem
from lamella.core.query.find import count_rows
from lamella.core.query.scan_query import ScanQuery
from lamella.core.query.view import View
from lamella.core.scan.snapshot import SortKey

LAYOUTS = [
    ({"a": 1, "A": 2}, {"a": 1, "A": 2}),
    ({"a": 1, "A": 2}, {"A": 2, "a": 1}),
    ({"A": 2}, {"a": 1, "A": 2}),
    ({"a": 1, "A": 2}, {"a": 1}, {"A": 2}),
    ({"x": 0, "a": 1}, {"x": 0, "A": 2}),
    ({"x": 0, "Straße": 1, "A": 2, "a": 1}, {"a": 1, "x": 0}, {"A": 2, "STRASSE": 5, "a": 1}),
]


def folder(place: Path, *files: dict[str, int]) -> Dataset:
    place.mkdir()
    for number, row in enumerate(files):
        pq.write_table(pa.table({k: [v, v] for k, v in row.items()}), place / f"{number}.parquet")
    return open_dataset(place)


@pytest.mark.parametrize("files", LAYOUTS)
def test_columns_that_differ_in_case_keep_to_themselves(tmp_path: Path, files: tuple[dict, ...]) -> None:
    dataset = folder(tmp_path / "d", *files)
    rows = list(itertools.chain.from_iterable([file, file] for file in files))
    for name in dataset.snapshot().schema.names:
        for value in (0, 1, 2, 5):
            expected = sum(row.get(name) == value for row in rows)
            assert dataset.count(col(name) == value) == expected, (name, value)
        view = View(dataset.snapshot(), ScanQuery(sort=(SortKey(name),)))
        values = sorted(row[name] for row in rows if name in row)
        assert view.page(0, len(values), [name])[name].to_pylist() == values


QUESTIONS: list[Callable[[Dataset], object]] = [
    lambda dataset: count_rows(dataset.snapshot(), col("x") >= 0),
    lambda dataset: View(dataset.snapshot(), ScanQuery(sort=(SortKey("x", True),))),
    lambda dataset: dataset.read(where=col("x") == 1),
    lambda dataset: View(dataset.snapshot()).page(0, 4),
]


@pytest.mark.parametrize("ask", QUESTIONS)
@pytest.mark.parametrize("changed", ["0.parquet", "1.parquet"])
def test_a_file_that_changed_is_not_queried(tmp_path: Path, changed: str, ask: Callable) -> None:
    dataset = folder(tmp_path / "d", {"x": 1}, {"x": 2})
    path = tmp_path / "d" / changed
    pq.write_table(pa.table({"x": range(100)}), path)
    os.utime(path, (1, 1))
    with pytest.raises(FileProblem, match=f"{changed}: changed on disk since it was opened. Reload"):
        ask(dataset)


@pytest.mark.parametrize("text", ["", "a"])
def test_one_text_among_nulls_is_no_null(tmp_path: Path, text: str) -> None:
    pq.write_table(
        pa.table({"x": pa.array([None, text, text])}), tmp_path / "t.parquet", use_dictionary=False
    )
    view = View(open_dataset(tmp_path / "t.parquet").snapshot(), ScanQuery(where=col("x").is_null()))
    assert view.page(0, 10).column("x").to_pylist() == [None]
    assert open_dataset(tmp_path / "t.parquet").count(col("x").not_null()) == 2


def test_other_than_the_one_text_of_a_row_group_are_its_nulls(tmp_path: Path) -> None:
    rows = pa.table({"x": pa.array(["a", None, None, "a"])})
    pq.write_table(rows, tmp_path / "t.parquet", use_dictionary=False)
    view = View(open_dataset(tmp_path / "t.parquet").snapshot(), ScanQuery(where=col("x") != "a"))
    assert view.positions(0, 10).tolist() == [1, 2]


@pytest.mark.parametrize("ids", [[1, 1, 1, 1], [None] * 4, [4, 3, 2, 1]])
def test_a_column_of_a_file_that_is_called__id_does_not_tell_its_rows_apart(
    tmp_path: Path, ids: list
) -> None:
    rows = pa.table({"_id": pa.array(ids, pa.int64()), "v": [1, 2, 3, 4]})
    pq.write_table(rows, tmp_path / "rows.parquet")
    query = open_dataset(tmp_path / "rows.parquet").where("v > 0")
    first = query.page(3)
    assert first.rows["v"].to_pylist() == [1, 2, 3]
    assert query.page(3, first.next).rows["v"].to_pylist() == [4]
