"""An explanation says which parts of the files an answer reads and which it skips."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lamella import Store, col, open_dataset
from lamella.core.datasets.base import Dataset
from lamella.core.errors import UnknownColumn

ROWS = 1_000


@pytest.fixture
def three_files(tmp_path: Path) -> Dataset:
    """Rows in ascending order: ten row groups in each of three files."""
    for file in range(3):
        numbers = range(file * ROWS, (file + 1) * ROWS)
        rows = pa.table({"n": list(numbers), "text": [f"text {n}" for n in numbers], "x": [0.5] * ROWS})
        pq.write_table(rows, tmp_path / f"{file}.parquet", row_group_size=100)
    return open_dataset(tmp_path / "*.parquet")


def test_columns_are_those_of_condition_order_and_answer(three_files: Dataset) -> None:
    explanation = three_files.explain(columns=["text"], where=col("n") > 5)
    assert (explanation.columns_read, explanation.columns_skipped) == (("n", "text"), ("x",))
    assert three_files.explain(columns=["x"], sort=["-text"]).columns_skipped == ("n",)


def test_rows_of_a_page_lie_in_few_row_groups(three_files: Dataset) -> None:
    explanation = three_files.explain(limit=150, offset=950)
    assert (explanation.rows, explanation.row_groups_read, explanation.row_groups_total) == (150, 2, 30)
    assert (explanation.files_read, explanation.files_total) == (2, 3)


def test_nothing_is_read_for_no_rows(three_files: Dataset) -> None:
    explanation = three_files.explain(limit=0)
    assert (explanation.rows, explanation.row_groups_read, explanation.files_read) == (0, 0, 0)


def test_rows_in_memory_belong_to_no_file(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s") as store:
        explanation = store.create_table("t", [{"n": 1}, {"n": 2}]).explain(where=col("n") > 1)
    assert (explanation.rows, explanation.files_total, explanation.row_groups_total) == (1, 0, 0)


def test_what_is_not_there_is_told(three_files: Dataset) -> None:
    with pytest.raises(UnknownColumn, match="Did you mean 'text'"):
        three_files.explain(where=col("texd") == "a")


def test_it_is_text_for_people(three_files: Dataset) -> None:
    lines = str(three_files.explain(limit=150, offset=950)).splitlines()
    assert lines[:2] == ["rows        150", "files       2 of 3 read, 1 skipped"]
    assert lines[2:4] == [
        "row groups  2 of 30 read, 28 skipped",
        "columns     3 of 3 read, 0 skipped: n, text, x",
    ]
