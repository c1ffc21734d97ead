"""Excel's limits, and tables in Markdown and HTML that carry no markup of their own."""

from __future__ import annotations

import datetime as dt
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import python_calamine

from lamella.core.datasets import open_dataset
from lamella.core.errors import BadData
from lamella.core.jobs import Job
from lamella.core.transfer import excel
from lamella.core.transfer.exporting import Destination
from lamella.core.transfer.writer import Rows


def export(path: Path, data: pa.Table, total: int | None = -1, **values: Any) -> Path:
    rows = Rows(data.schema, [data], len(data) if total == -1 else total, "my rows")
    return Destination.of(path, None, values).write(rows, Job()).path


def sheets(path: Path) -> dict[str, list[list[Any]]]:
    book = python_calamine.CalamineWorkbook.from_path(str(path))
    return {name: book.get_sheet_by_name(name).to_python() for name in book.sheet_names}


@pytest.fixture
def few_rows(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    monkeypatch.setattr(excel, "ROWS_A_SHEET", 10)
    yield 10


def test_more_rows_than_a_sheet_has_are_refused(few_rows: int, tmp_path: Path) -> None:
    data = pa.table({"n": range(few_rows + 1)})
    for total in (-1, None):
        with pytest.raises(BadData, match=r"has (11|more than 10) rows. A sheet of Excel has 1,048,576"):
            export(tmp_path / "a.xlsx", data, total)
    assert list(tmp_path.iterdir()) == []
    assert len(sheets(export(tmp_path / "a.xlsx", data.slice(1), None))["my rows"]) == 11


def test_more_rows_than_a_sheet_has_are_split_when_that_is_wanted(few_rows: int, tmp_path: Path) -> None:
    for count, expected in ((25, [10, 10, 5]), (20, [10, 10]), (10, [10]), (0, [0])):
        path = export(
            tmp_path / f"{count}.xlsx", pa.table({"n": range(count)}), too_many_rows="split", sheet="s"
        )
        actual = sheets(path)
        assert list(actual) == (["s"] if len(expected) == 1 else [f"s {i + 1}" for i in range(len(expected))])
        assert [rows[0] for rows in actual.values()] == [["n"]] * len(expected)
        assert [n for rows in actual.values() for (n,) in rows[1:]] == list(range(count))


def test_a_sheet_has_as_many_rows_and_columns_as_excel(tmp_path: Path) -> None:
    wide = pa.table({f"c{i}": [i] for i in range(16_385)})
    with pytest.raises(BadData, match=r"has 16,385 columns. A sheet of Excel has at most 16,384"):
        export(tmp_path / "a.xlsx", wide)
    long = Rows(pa.schema([("n", pa.int64())]), iter([]), 1_048_576, "t")
    with pytest.raises(BadData, match=r"t has 1,048,576 rows"):
        Destination.of(tmp_path / "a.xlsx").write(long, Job())


def test_text_is_never_a_formula_and_digits_stay(tmp_path: Path) -> None:
    data = pa.table(
        {"t": ["=1+1", "+A1", "007", "http://x", "_x0041_", None], "n": [2**62, -(10**15), 1, 2, 3, None]}
    )
    path = export(tmp_path / "a.xlsx", data)
    assert [row[0] for row in sheets(path)["my rows"][1:]] == ["=1+1", "+A1", "007", "http://x", "_x0041_"]
    assert [row[1] for row in sheets(path)["my rows"][1:]] == [str(2**62), str(-(10**15)), 1, 2, 3]
    with zipfile.ZipFile(path) as parts:
        sheet = parts.read("xl/worksheets/sheet1.xml").decode()
    assert "<f" not in sheet.replace("<filter", "")
    assert "hyperlink" not in sheet


def test_the_last_moment_of_a_day_is_not_midnight(tmp_path: Path) -> None:
    last, noon = dt.time(23, 59, 59, 999_999), dt.time(12)
    path = export(tmp_path / "a.xlsx", pa.table({"t": [last, noon]}))
    assert open_dataset(path).read()["t"].to_pylist() == [dt.time(23, 59, 59, 999_000), noon]


@pytest.mark.parametrize(
    ("title", "named"),
    [
        ("a/b:c", "a_b_c"),
        ("x" * 40, "x" * 31),
        ("'quoted'", "quoted"),
        ("History", "Sheet1"),
        ("", "my rows"),
    ],
)
def test_sheets_are_called_as_excel_allows(tmp_path: Path, title: str, named: str) -> None:
    assert list(sheets(export(tmp_path / "a.xlsx", pa.table({"n": [1]}), sheet=title))) == [named]


def test_text_too_long_for_a_cell_is_refused_or_cut(tmp_path: Path) -> None:
    data = pa.table({"t": ["x" * 32_767, "😀" * 16_384, "short"]})
    with pytest.raises(BadData, match=r"column 't' holds a text of 16,384 characters"):
        export(tmp_path / "a.xlsx", data)
    actual = sheets(export(tmp_path / "a.xlsx", data, long_text="cut"))["my rows"]
    assert [row[0] for row in actual[1:]] == ["x" * 32_767, "😀" * 16_383, "short"]


EVIL = pa.table(
    {"<b>": ["<script>alert(1)</script>", "a|b\nc", "*x* [l](javascript:1) `c`", "\x00 &amp;", None]}
)


def test_html_runs_nothing(tmp_path: Path) -> None:
    text = export(tmp_path / "a.html", EVIL, null="–").read_text("utf-8")
    assert "<script" not in text
    assert "<th>&lt;b&gt;</th>" in text
    assert "<td>&lt;script&gt;alert(1)&lt;/script&gt;</td>" in text
    assert "<td>a|b<br>c</td>" in text
    assert "<td>\ufffd &amp;amp;</td>" in text
    assert "<td>–</td>" in text
    assert text.startswith("<!DOCTYPE html>")
    alone = export(tmp_path / "b.html", EVIL, page=False).read_text("utf-8")
    assert alone.startswith("<table>")
    assert alone.endswith("</table>\n")


def test_markdown_has_no_markup_of_its_cells(tmp_path: Path) -> None:
    lines = export(tmp_path / "a.md", EVIL).read_text("utf-8").splitlines()
    assert lines[:2] == ["| &lt;b&gt; |", "| --- |"]
    assert lines[2] == "| &lt;script&gt;alert(1)&lt;/script&gt; |"
    assert lines[3] == "| a\\|b<br>c |"
    assert lines[4] == "| \\*x\\* \\[l\\](javascript:1) \\`c\\` |"
    assert len(lines) == 2 + len(EVIL)
