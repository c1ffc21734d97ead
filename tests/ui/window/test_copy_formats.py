"""Complete values, copied so that the target program reads them back."""

from __future__ import annotations

import csv
import datetime  # noqa: F401 -- what is copied as Python names it
import datetime as dt
import io
import json
import math
import zoneinfo  # noqa: F401
from decimal import Decimal

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QMenu

from lamella.ui.window.copy_formats import BY_ID, FORMATS, Cells
from tests.slow_tests import examples

ROWS = pa.table(
    {
        "n": pa.array([1, None, -3], pa.int64()),
        "real": pa.array([0.1 + 0.2, float("nan"), 1e300]),
        "price": pa.array([Decimal("1.20"), None, Decimal("-0.05")], pa.decimal128(6, 2)),
        "text": ['it\'s "so", or | not', "two\nlines\\", ""],
        "flag": [True, False, None],
        "day": pa.array([dt.date(2020, 2, 29), None, dt.date(1, 1, 1)], pa.date32()),
        "at": pa.array([dt.datetime(2020, 1, 1, 0, 0, 0, 5), None, None], pa.timestamp("us")),
        "zoned": pa.array([dt.datetime(2020, 7, 1, tzinfo=dt.UTC)] * 3, pa.timestamp("us", "Europe/Berlin")),
        "blob": pa.array([b"\x00\xff'", None, b""], pa.binary()),
        "list": pa.array([[1, None], None, []], pa.list_(pa.int8())),
    }
)


def written(name: str, table: pa.Table = ROWS, pieces: int = 2) -> str:
    pages = [table.slice(at, pieces) for at in range(0, table.num_rows, pieces)]
    return "\n".join(BY_ID[name].write(Cells("my table", table.schema, pages)))


def same(actual: object, expected: object) -> bool:
    nan = isinstance(expected, float) and math.isnan(expected)
    return math.isnan(actual) if nan else actual == expected  # type: ignore[arg-type]


def test_csv_reads_back_with_null_and_empty_apart() -> None:
    rows = list(csv.reader(io.StringIO(written("csv"))))
    assert rows[0] == ROWS.column_names and len(rows) == 4
    assert rows[1][3] == 'it\'s "so", or | not' and rows[2][3] == "two\nlines\\"
    assert rows[1][1] == "0.30000000000000004"
    assert '"two\nlines\\",false,,,' in written("csv")
    assert ',"",,' in written("csv")


def test_json_reads_back() -> None:
    rows = json.loads(written("json"), parse_float=Decimal)
    assert [row["n"] for row in rows] == [1, None, -3]
    assert rows[0]["price"] == Decimal("1.20") and rows[1]["real"] == "NaN"
    assert rows[0]["text"] == ROWS["text"][0].as_py() and rows[0]["list"] == [1, None]
    assert rows[0]["blob"] == "0x00ff27" and rows[0]["at"] == "2020-01-01 00:00:00.000005"


def test_markdown_keeps_each_row_on_a_line() -> None:
    lines = written("markdown").splitlines()
    assert len(lines) == 5 and lines[1].startswith("| ---: | ---: | ---: | :--- |")
    assert "or \\| not" in lines[2] and "two<br>lines\\\\" in lines[3]


def test_python_reads_back() -> None:
    rows = eval(written("python"))
    expected = ROWS.to_pylist()
    for actual, row in zip(rows, expected, strict=True):
        assert all(same(actual[name], row[name]) for name in row)
    assert eval(written("python", ROWS.select(["n"]))) == [1, None, -3]


def test_sql_reads_back() -> None:
    kinds = (
        'n BIGINT, "real" DOUBLE, price DECIMAL(6,2), text VARCHAR, flag BOOLEAN, day DATE, "at" TIMESTAMP'
    )
    with duckdb.connect() as own:
        own.execute(f'CREATE TABLE "my table" ({kinds}, zoned TIMESTAMPTZ, blob BLOB, list VARCHAR)')
        own.execute(written("sql_insert"))
        rows = own.sql('SELECT * EXCLUDE (zoned, list) FROM "my table"').fetchall()
        zoned = own.sql('SELECT epoch_us(zoned) FROM "my table"').fetchall()
        values = own.sql(f"SELECT count(*) FROM ({written('sql_values')})").fetchall()
    expected = [tuple(row.values()) for row in ROWS.drop_columns(["zoned", "list"]).to_pylist()]
    for row, expected_row in zip(rows, expected, strict=True):
        assert all(
            same(value, expected_value) for value, expected_value in zip(row, expected_row, strict=True)
        )
    assert {at for (at,) in zoned} == {int(dt.datetime(2020, 7, 1, tzinfo=dt.UTC).timestamp() * 1e6)}
    assert values == [(3,)]


def test_an_in_list_has_each_value_once_and_no_null() -> None:
    table = pa.table({"c": ["AA", "it's", None, "AA"], "n": [1, 2, 3, 1]})
    assert written("in_list", table.select(["c"])) == "('AA', 'it''s')"
    assert written("in_list", table) == "(('AA', 1), ('it''s', 2))"


@pytest.mark.parametrize("format_", FORMATS, ids=lambda format_: format_.id)
def test_every_format_writes_no_rows_and_every_type(format_) -> None:
    for table in (ROWS, ROWS.slice(0, 0), ROWS.select(["n"]).slice(0, 0)):
        assert isinstance("\n".join(format_.write(Cells("t", table.schema, [table]))), str)


LETTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\0")


@settings(max_examples=examples(full=30))
@given(st.lists(st.text(LETTERS, max_size=6), min_size=1, max_size=4))
def test_any_text_survives(texts) -> None:
    table = pa.table({"text": pa.array(texts, pa.string()), "n": range(len(texts))})
    assert [row["text"] for row in json.loads(written("json", table))] == texts
    assert [row["text"] for row in eval(written("python", table))] == texts
    lines = list(csv.reader(io.StringIO(written("csv", table), newline="")))[1:]
    assert [row[0] for row in lines] == texts
    with duckdb.connect() as own:
        assert [row[0] for row in own.sql(written("sql_values", table)).fetchall()] == texts


def test_the_menu_copies_whole_values(window, tmp_path, settled, qtbot) -> None:
    long = "x" * 5000
    pq.write_table(pa.table({"a": [long, "b"], "b": [0.1 + 0.2, 1.0]}), tmp_path / "t.parquet")
    window.open_paths([tmp_path / "t.parquet"])
    tab = settled()
    window.commands["select_all"].trigger()
    window.commands["copy_as"].trigger()
    menu = next(menu for menu in tab.findChildren(QMenu) if menu.isVisible())
    assert [action.text() for action in menu.actions()] == [format_.label for format_ in FORMATS]
    next(action for action in menu.actions() if action.text() == "JSON").trigger()
    menu.close()
    copied = [{"a": long, "b": 0.1 + 0.2}, {"a": "b", "b": 1.0}]
    qtbot.waitUntil(lambda: tab.messages.label.text() == "Copied 2 rows as JSON")
    assert json.loads(QGuiApplication.clipboard().text()) == copied
