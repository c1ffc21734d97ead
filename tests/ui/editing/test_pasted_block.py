from __future__ import annotations

import csv
import datetime as dt
import io
import math
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from lamella.core.arrow.equality import differs
from lamella.core.errors import BadData
from lamella.core.filters.cell_texts import whole_texts
from lamella.core.filters.cells import cell_reader, parse_cell
from lamella.core.jobs import Job
from lamella.ui.editing.pasted_block import (
    Area,
    Block,
    area_of,
    clipboard_lines,
    read_block,
    read_paste,
    typed_array,
)
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
    read_cell = cell_reader(type_)
    for text in TEXTS:
        try:
            expected = parse_cell(text, type_)
        except BadData as error:
            with pytest.raises(BadData, match="fit") as caught:
                read_cell(text)
            assert str(caught.value) == str(error)
        else:
            assert repr(read_cell(text)) == repr(expected)


def _of_counts(type_: pa.DataType, *counts: int) -> pa.Array:
    return pa.array(counts, pa.int64()).cast(type_)


LAST_NS = 2**63 - 1
YEAR_1, YEAR_9999 = -62_135_596_800, 253_402_300_799
VALUES = [
    pa.array([0.0, -0.0, math.inf, -math.inf, math.nan, 5e-324, 1.7976931348623157e308, -1.5e-7]),
    pa.array([0.1, -0.0, math.inf, 1e-45, 3.4028235e38], pa.float32()),
    pa.array(np.array([0.1, -0.0, np.inf, 6e-8, 65504], np.float16)),
    pa.array([2**64 - 1, 0], pa.uint64()),
    pa.array([Decimal("-999999999999999999.99999999999999999999"), Decimal("1E-20")], pa.decimal128(38, 20)),
    pa.array([Decimal("12345678901234567890123456789012345678901234567.12345")], pa.decimal256(76, 5)),
    pa.array(["", "a\tb", '"q"', "x\ny", "\r\n", " a ", "NULL", "\u2028", "a\x00b", "∞", "=A1"]),
    pa.array(["a", "b", ""]).dictionary_encode(),
    pa.array([b"", b"\x00\xff", b"abc"]),
    pa.array([bytes(range(16))], pa.uuid()),
    pa.array([dt.date(1, 1, 1), dt.date(9999, 12, 31)]),
    _of_counts(pa.timestamp("s"), YEAR_1, YEAR_9999),
    _of_counts(pa.timestamp("ns"), 1 - LAST_NS, LAST_NS, 1),
    _of_counts(pa.timestamp("ns", "Europe/Berlin"), 10**15 - LAST_NS, 1, 10**9, 1_635_642_000 * 10**9),
    _of_counts(pa.timestamp("s", "Europe/Berlin"), YEAR_1 + 86_400, -3_000_000_000, YEAR_9999 - 86_400),
    _of_counts(pa.timestamp("s", "Africa/Monrovia"), 0, 62_000_000, 63_072_000),
    _of_counts(pa.time64("ns"), 0, 1, 1000, 86_399_999_999_999),
    _of_counts(pa.duration("s"), 0, 1, -1, -7200, 90_000, -90_000, -86_400),
    _of_counts(pa.duration("ns"), 1, -1, LAST_NS, -LAST_NS),
    pa.array([[1, None], [], [2**53 + 1]]),
    pa.array([{"a": 1, "b": "x"}, {"a": None, "b": ""}]),
    pa.array([[b"\x00\xff", b""]]),
    pa.array([{"day": dt.date(2020, 1, 1), "at": dt.datetime(2020, 1, 1, 1), "n": Decimal("1.10")}]),
    pa.array([{"f": math.inf, "g": -0.0, "h": math.nan}]),
    pa.array([[("k", 1), ("l", None)], []], pa.map_(pa.string(), pa.int64())),
    pa.array([[(b"k", dt.date(2020, 1, 1))]], pa.map_(pa.binary(), pa.date32())),
    pa.array([[dt.time(1, 2, 3)]]),
    pa.array([[dt.timedelta(hours=-2)]]),
    pa.array([[2**64 - 1]], pa.list_(pa.uint64())),
    pa.array([[0.1, -0.0]], pa.list_(pa.float32(), 2)),
    pa.array([[1_577_836_800_000_000_001]], pa.list_(pa.timestamp("ns"))),
    pa.array([[dt.datetime(2020, 1, 1, tzinfo=dt.UTC)]], pa.list_(pa.timestamp("us", "Europe/Berlin"))),
]


@pytest.mark.parametrize("values", VALUES, ids=lambda values: str(values.type))
def test_what_is_copied_is_pasted_as_the_same_values(values) -> None:
    texts = whole_texts(values)
    assert read_block("\n".join(clipboard_lines([[text] for text in texts])) + "\n").rows == [
        [text] for text in texts
    ]
    for read_cell in (cell_reader(values.type), lambda text: parse_cell(text, values.type)):
        pasted = typed_array([read_cell(text) for text in texts], values.type)
        assert pasted.type == values.type
        assert not differs(values, pasted).any(), (texts, pasted)
