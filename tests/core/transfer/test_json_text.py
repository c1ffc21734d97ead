"""JSON lines and arrays: what Python's json reads of them."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lamella import open_dataset
from lamella.core.errors import FileProblem
from lamella.core.transfer.exporting import ExportOptions, export, format_for

TEXTS = ['a "quoted"\\ text', "tab\tand\nline", "\x00\x1f\x7f", "é😀\u2028", "", None]
ROWS = pa.table(
    {
        'key "q"': TEXTS,
        "n": pa.array([1, -(2**63), 2**63 - 1, 0, 5, None]),
        "x": [1.0, 0.1, 1e300, float("nan"), float("-inf"), None],
        "b": [True, False, None, True, True, None],
        "d": pa.array([Decimal("1.10")] * 5 + [None], pa.decimal128(30, 2)),
        "day": [dt.date(2024, 2, 29)] * 5 + [None],
        "long": pa.array([90_061_500, -1, 0, 1, 1, None], pa.duration("ms")),
        "s": [{"a": 1, "b": ["x", None]}] * 5 + [None],
        "c": pa.array(["u", "v", "u", None, "w", None]).dictionary_encode(),
        "k": pa.array([1, 2, 1, None, 3, None]).dictionary_encode(),
        "nothing": pa.nulls(6),
    }
)
FIRST = {
    'key "q"': TEXTS[0], "n": 1, "x": 1.0, "b": True, "d": "1.10", "day": "2024-02-29", "long": "25:01:01.5",
    "s": {"a": 1, "b": ["x", None]}, "c": "u", "k": 1, "nothing": None,
}  # fmt: skip


def written(folder: Path, name: str, rows: pa.Table = ROWS, **values: Any) -> str:
    pq.write_table(rows, folder / "in.parquet")
    export(open_dataset(folder / "in.parquet"), folder / name, ExportOptions(overwrite=True, values=values))
    return (folder / name).read_text("utf-8")


def test_lines_hold_an_object_each(tmp_path: Path) -> None:
    lines = [json.loads(line) for line in written(tmp_path, "out.jsonl").split("\n")[:-1]]
    assert lines[0] == FIRST
    assert [line['key "q"'] for line in lines] == TEXTS
    assert [line["n"] for line in lines] == ROWS["n"].to_pylist()
    assert [line["x"] for line in lines] == [1.0, 0.1, 1e300, "nan", "-inf", None]
    assert isinstance(lines[0]["x"], float)
    assert [line["long"] for line in lines] == ["25:01:01.5", "-0:00:00.001", "0:00:00", "0:00:00.001",
                                               "0:00:00.001", None]  # fmt: skip
    assert set(lines[5].values()) == {None}


@pytest.mark.parametrize("indent", [True, False])
def test_an_array_holds_the_same_objects(tmp_path: Path, indent: bool) -> None:
    text = written(tmp_path, "out.json", indent=indent)
    lines = written(tmp_path, "out.jsonl").split("\n")[:-1]
    assert json.loads(text) == [json.loads(line) for line in lines]
    assert text.count("\n") == (len(lines) + 2 if indent else 1)


@pytest.mark.parametrize("name", ["out.json", "out.jsonl"])
def test_cells_without_a_value_can_be_left_out(tmp_path: Path, name: str) -> None:
    text = written(tmp_path, name, nulls=False)
    rows = json.loads(text) if name == "out.json" else [json.loads(line) for line in text.split("\n")[:-1]]
    assert "nothing" not in rows[0]
    assert rows[5] == {}
    assert rows[0] == {key: value for key, value in FIRST.items() if value is not None}


def test_no_rows_are_an_empty_array(tmp_path: Path) -> None:
    assert json.loads(written(tmp_path, "out.json", ROWS.slice(0, 0))) == []
    assert written(tmp_path, "out.jsonl", ROWS.slice(0, 0)) == ""


@pytest.mark.parametrize("name", ["o.json", "o.jsonl"])
def test_a_file_without_rows_says_why_it_cannot_be_opened(tmp_path: Path, name: str) -> None:
    written(tmp_path, name, ROWS.slice(0, 0))
    assert "a file without rows has none, and cannot be opened" in format_for(tmp_path / name).always
    with pytest.raises(FileProblem, match=r"It has no objects|JSON lines name their columns in each row"):
        open_dataset(tmp_path / name).read()


def test_many_pieces_keep_their_order(tmp_path: Path) -> None:
    rows = pa.table({"n": range(50_001)})
    assert [row["n"] for row in json.loads(written(tmp_path, "out.json", rows))] == list(range(50_001))
