from __future__ import annotations

import csv
import io

import numpy as np
import pyarrow as pa
import pytest

from lamella.core.errors import BadData
from lamella.core.filters.cells import cell_reader, parse_cell
from lamella.core.jobs import Job
from lamella.ui.editing.pasted_block import Area, Block, area_of, clipboard_lines, read_block, read_paste
from lamella.ui.grid.selection import CellRange


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("a", [["a"]]),
        ("a\n", [["a"]]),
        ("a\r\nb\r\n", [["a"], ["b"]]),
        ("a\rb", [["a"], ["b"]]),
        ("a\tb\n\tc", [["a", "b"], [None, "c"]]),
        ("a\t\n", [["a", None]]),
        ("a\n\nb\n", [["a"], [None], ["b"]]),
        ('"two\r\nlines"\tx', [["two\r\nlines", "x"]]),
        ('"a ""word"""\t""\n', [['a "word"', ""]]),
        ('said "x"\ty', [['said "x"', "y"]]),
        ('"left open\tb\nc', [['"left open', "b"], ["c"]]),
        ('"a" b\t"', [['"a" b', '"']]),
    ],
)
def test_read_block_takes_what_spreadsheets_write(text, rows) -> None:
    assert read_block(text).rows == rows


def test_read_block_reads_what_python_writes_as_excel_tsv() -> None:
    rows = [["a", 'b "c"', "d\te"], ["f\ng", "\r\n", "'"]]
    text = io.StringIO()
    csv.writer(text, "excel-tab").writerows(rows)
    assert read_block(text.getvalue()).rows == rows


def test_clipboard_lines_keep_null_apart_from_empty_text() -> None:
    rows = [["a", None, ""], ['"', "x\ty\r\n", 'z"']]
    assert read_block("\n".join(clipboard_lines(rows)) + "\n").rows == rows


@pytest.mark.parametrize(
    ("block", "selected", "size"),
    [
        ((1, 1), (1, 1), (1, 1)),
        ((1, 1), (4, 3), (4, 3)),
        ((2, 2), (1, 1), (2, 2)),
        ((2, 2), (4, 4), (4, 4)),
        ((2, 2), (5, 4), (2, 4)),
        ((1, 3), (5, 1), (5, 3)),
        ((3, 1), (2, 2), (3, 2)),
    ],
)
def test_area_repeats_a_block_where_it_fits_whole(block, selected, size) -> None:
    texts = Block([["x"] * block[1] for _ in range(block[0])])
    cells = CellRange(2, 1, 1 + selected[0], selected[1])
    area = area_of(texts, cells, [f"c{i}" for i in range(6)])
    assert (area.top, area.height, len(area.names)) == (2, *size)


def test_read_paste_lists_what_cannot_be_read_with_its_place() -> None:
    block = Block([["1", "x"], ["two", "y"], [None], ["300", "z"]])
    schema = pa.schema([("n", pa.int8()), ("t", pa.string())])
    paste = read_paste(block, Area(10, 4, ("n", "t")), schema, Job())
    assert [(p.row, p.name, p.text) for p in paste.problems] == [(11, "n", "two"), (13, "n", "300")]
    assert "-128 to 127" in paste.problems[1].reason
    n, t = paste.cells(np.array([100, 101, 102, 103]))
    assert n.to_pydict() == {"_id": [100, 102], "n": [1, None]}
    assert t.to_pydict() == {"_id": [100, 101, 103], "t": ["x", "y", "z"]}


def test_new_rows_are_those_behind_the_last() -> None:
    block = Block([["1"], ["2"]])
    paste = read_paste(block, Area(0, 6, ("n",)), pa.schema([("n", pa.int64())]), Job())
    assert paste.new_rows(3).to_pydict() == {"n": [2, 1, 2]}
    assert paste.new_rows(6) is None


def test_moments_finer_than_pythons_are_pasted_beside_others() -> None:
    block = Block([["2013-01-31 05:00:00.000000007"], ["2013-01-31"], [None]])
    type_ = pa.timestamp("ns")
    paste = read_paste(block, Area(0, 3, ("at",)), pa.schema([("at", type_)]), Job())
    values = paste.columns["at"].values
    assert values.cast(pa.int64()).to_pylist() == [1359608400000000007, 1359590400000000000, None]


TYPES = [
    pa.int8(), pa.int64(), pa.uint64(), pa.float32(), pa.float64(), pa.bool_(), pa.date32(), pa.date64(),
    pa.decimal128(9, 2), pa.string(), pa.timestamp("us"), pa.timestamp("s", "Europe/Oslo"),
    pa.list_(pa.int64()),
]  # fmt: skip
TEXTS = [
    "0", "-0", "7", "-129", "+5", "007", "12.5", "0.1", "-0.5", ".5", "1e3", "NaN", "", " 7 ", "true", "True",
    "1", "2013-01-31", "2013-02-30", "1600-02-29", "0001-01-01", "2013-01-31 10:00", "99999999999999999999",
    "[1]", "٣",
]  # fmt: skip


@pytest.mark.parametrize("type_", TYPES, ids=str)
def test_cell_reader_reads_as_parse_cell(type_) -> None:
    read = cell_reader(type_)
    for text in TEXTS:
        try:
            expected = parse_cell(text, type_)
        except BadData as error:
            with pytest.raises(BadData, match="fit") as caught:
                read(text)
            assert str(caught.value) == str(error)
        else:
            assert repr(read(text)) == repr(expected)
