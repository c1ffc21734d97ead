"""What `lamella query` prints."""

from __future__ import annotations

import csv
import datetime
import io
import json

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.output import FORMATS, NULL, WIDEST

ROWS = pa.table(
    {
        "n": pa.array([1, None, 1000], pa.int64()),
        "text": pa.array(["a", 'b,\n"c"', ""]),
        "when": pa.array([datetime.datetime(2013, 1, 1, 5), None, datetime.datetime(2013, 12, 31)]),
        "x": pa.array([0.5, float("nan"), float("inf")]),
        "raw": pa.array([b"\x00\xff", None, b""]),
        "list": pa.array([[1, 2], [], None]),
    }
)


def printed(table: pa.Table, format_name: str) -> str:
    out = io.StringIO()
    FORMATS[format_name](table, out)
    return out.getvalue()


def test_csv_quotes_what_needs_it_and_leaves_null_empty():
    header, first, second, third = csv.reader(io.StringIO(printed(ROWS, "csv")))
    assert header == ROWS.column_names
    assert first == ["1", "a", "2013-01-01 05:00:00", "0.5", "00ff", "[1, 2]"]
    assert second[:3] == ["", 'b,\n"c"', ""]
    assert third[0] == "1000"


@pytest.mark.parametrize("format_name", ["json", "jsonl"])
def test_json_is_json_for_every_value(format_name):
    text = printed(ROWS, format_name)
    rows = json.loads(text) if format_name == "json" else [json.loads(line) for line in text.splitlines()]
    assert [row["n"] for row in rows] == [1, None, 1000]
    assert rows[0]["list"] == [1, 2] and rows[0]["when"] == "2013-01-01 05:00:00"
    assert [row["x"] for row in rows] == [0.5, "nan", "inf"]


def test_a_table_lines_numbers_up_and_tells_null_from_nothing():
    header, rule, first, second, third, count = printed(ROWS.select(["n", "text"]), "table").splitlines()
    assert header == "   n  text"
    assert rule == "────  ──────"
    assert (first, third) == ("   1  a", "1000")
    assert second.startswith(NULL) and "⏎" in second
    assert count == "(3 rows)"


def test_long_text_is_cut_in_a_table_and_nowhere_else():
    table = pa.table({"t": ["x" * 200]})
    assert max(map(len, printed(table, "table").splitlines())) == WIDEST
    assert "x" * 200 in printed(table, "csv") and "x" * 200 in printed(table, "json")


@pytest.mark.parametrize("format_name", FORMATS)
def test_an_answer_without_rows_still_has_its_shape(format_name):
    text = printed(ROWS.slice(0, 0), format_name)
    expected = {"table": "(0 rows)", "csv": "n,text", "json": "[\n]", "jsonl": ""}[format_name]
    assert expected in text


@given(st.lists(st.tuples(st.integers(-(2**63), 2**63 - 1) | st.none(), st.text()), max_size=5))
def test_any_rows_come_back_from_json_lines(rows):
    table = pa.table(
        {"a": pa.array([r[0] for r in rows], pa.int64()), "b": pa.array([r[1] for r in rows], pa.string())}
    )
    back = [json.loads(line) for line in printed(table, "jsonl").split("\n") if line]
    assert [(row["a"], row["b"]) for row in back] == rows
