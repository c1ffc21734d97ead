"""The dialect of delimited text: what each option changes, and what is refused."""

from __future__ import annotations

import csv
import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lamella import open_dataset
from lamella.core.errors import BadData, TypeConflict
from lamella.core.transfer.delimited import Dialect
from lamella.core.transfer.exporting import ExportOptions, UnknownOption, export
from lamella.core.transfer.text_columns import PLAIN, texts_of

ROWS = pa.table(
    {
        "name": ["plain", 'says "no"', "a;b", "two\nlines", " edge ", "", None],
        "x": [1.5, 2.0, None, -0.25, float("nan"), float("inf"), 1e300],
        "day": [dt.date(2024, 3, 1), None, *[dt.date(1999, 12, 31)] * 5],
        "at": pa.array([dt.datetime(2024, 3, 1, 9, 30)] * 7, pa.timestamp("ms")),
        "price": pa.array([Decimal("1.50")] * 7, pa.decimal128(9, 2)),
    }
)


def written(folder: Path, rows: pa.Table = ROWS, name: str = "out.csv", **values: Any) -> bytes:
    pq.write_table(rows, folder / "in.parquet")
    export(open_dataset(folder / "in.parquet"), folder / name, ExportOptions(overwrite=True, values=values))
    return (folder / name).read_bytes()


def cells(data: bytes, encoding: str = "utf-8", **dialect: Any) -> list[list[str]]:
    return list(csv.reader(data.decode(encoding).splitlines(keepends=True), **dialect))


def test_defaults_are_what_most_programs_read(tmp_path: Path) -> None:
    lines = cells(written(tmp_path))
    assert lines[0] == ["name", "x", "day", "at", "price"]
    assert lines[1] == ["plain", "1.5", "2024-03-01", "2024-03-01 09:30:00.000", "1.50"]
    assert lines[2][:2] == ['says "no"', "2.0"]
    assert [line[0] for line in lines[1:]] == ["plain", 'says "no"', "a;b", "two\nlines", " edge ", "", ""]
    assert [line[1] for line in lines[3:]] == ["", "-0.25", "nan", "inf", "1e+300"]


def test_decimals_with_many_places_are_written_without_exponent(tmp_path: Path) -> None:
    rows = pa.table({"x": pa.array([Decimal(0), Decimal("0.00000001")], pa.decimal128(12, 8))})
    assert written(tmp_path, rows).decode().splitlines() == ['"x"', "0.00000000", "0.00000001"]


def test_null_and_empty_text_differ_by_their_quotes(tmp_path: Path) -> None:
    for quoting in ("text", "needed", "all"):
        lines = written(tmp_path, ROWS.select(["name", "x"]), quoting=quoting).decode().splitlines()
        assert lines[-2].startswith('"",')
        assert lines[-1].startswith(",")


HIDDEN = pa.StringArray.from_buffers(
    2, pa.py_buffer(np.array([0, 3, 3], np.int32)), pa.py_buffer(b"a,b"), pa.py_buffer(b"\x02"), 1
)
"""A null that hides bytes, and an empty text."""


@pytest.mark.parametrize(
    ("texts", "null", "quoted"),
    [
        (HIDDEN, "", ["", '""']),
        (HIDDEN, "NULL", ["NULL", ""]),
        (pa.array(["plain", "NULL", None]), "NULL", ["plain", '"NULL"', "NULL"]),
        (pa.array(["x", " a", "b ", "a b"]), "", ["x", '" a"', '"b "', "a b"]),
        (pa.array(["skipped, too", "x", "y", "skipped "]).slice(1, 2), "", ["x", "y"]),
        (pa.array(["skipped", "a,b", "y"]).slice(1), "", ['"a,b"', "y"]),
        (pa.array(['"', "x"]), "", ['""""', "x"]),
        (pa.array(["ä", "\r"]), "", ["ä", '"\r"']),
    ],
)
def test_only_texts_that_need_quotes_have_them(texts: pa.Array, null: str, quoted: list[str]) -> None:
    dialect = Dialect(",", '"', "needed", null, "\n", False, PLAIN)
    lines = str(dialect.lines(pa.RecordBatch.from_arrays([texts], ["name"])), "utf-8")
    assert lines == "".join(f"\n{each}" for each in quoted)


def test_a_german_dialect(tmp_path: Path) -> None:
    data = written(
        tmp_path, delimiter=";", decimal_sign=",", dates="dd.mm.yyyy", encoding="utf-8-bom", line_ends="crlf",
        quoting="needed",
    )  # fmt: skip
    assert data.startswith(b"\xef\xbb\xbfname;x;day;at;price\r\n")
    lines = cells(data, "utf-8-sig", delimiter=";")
    assert lines[1] == ["plain", "1,5", "01.03.2024", "01.03.2024 09:30:00.000", "1,50"]
    assert [line[0] for line in lines[2:5]] == ['says "no"', "a;b", "two\nlines"]
    assert b'\r\n"a;b";;31.12.1999' in data


def test_numbers_are_quoted_where_their_sign_is_the_delimiter(tmp_path: Path) -> None:
    lines = cells(written(tmp_path, decimal_sign=","))
    assert [line[1] for line in lines[1:3]] == ["1,5", "2,0"]
    assert {len(line) for line in lines} == {5}


def test_the_quote_header_and_null_text_can_be_chosen(tmp_path: Path) -> None:
    data = written(tmp_path, quote="'", header=False, null="NULL", delimiter="tab", quoting="needed")
    lines = cells(data, delimiter="\t", quotechar="'")
    assert lines[0][:2] == ["plain", "1.5"]
    assert lines[-1][0] == "NULL"
    assert lines[2][1] == "NULL"
    rows = pa.table({"word": ["NULL", None, "it's"], "n": [1, 2, 3]})
    assert written(tmp_path, rows, quote="'", null="NULL", quoting="needed") == (
        b"word,n\n'NULL',1\nNULL,2\n'it''s',3\n"
    )


@pytest.mark.parametrize("encoding", ["utf-16", "windows-1252", "latin-1"])
def test_encodings(tmp_path: Path, encoding: str) -> None:
    data = written(tmp_path, pa.table({"größe": ["é", "ß"]}), encoding=encoding)
    assert cells(data, encoding) == [["größe"], ["é"], ["ß"]]


def test_a_character_that_the_encoding_lacks_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadData, match=r"windows-1252 has no character '→' \(U\+2192\)"):
        written(tmp_path, pa.table({"a": ["→"]}), encoding="windows-1252")
    assert not (tmp_path / "out.csv").exists()


def test_formulas_are_neutralised_in_text_alone(tmp_path: Path) -> None:
    rows = pa.table({"=a": ["=1+1", "+1", "-1", "@x", "\tx", "\rx", "a=1", None, ""], "n": [-1] * 9})
    lines = cells(written(tmp_path, rows, neutralise_formulas=True, null="-"))
    assert lines[0] == ["'=a", "n"]
    assert [line[0] for line in lines[1:]] == [
        "'=1+1", "'+1", "'-1", "'@x", "'\tx", "'\rx", "a=1", "-", "",
    ]  # fmt: skip
    assert {line[1] for line in lines[1:]} == {"-1"}
    assert cells(written(tmp_path, rows))[1] == ["=1+1", "-1"]


def test_categories_are_neutralised_too(tmp_path: Path) -> None:
    rows = pa.table({"c": pa.array(["=x", "y", None]).dictionary_encode()})
    assert cells(written(tmp_path, rows, neutralise_formulas=True)) == [["c"], ["'=x"], ["y"], []]


def test_many_pieces_keep_their_order(tmp_path: Path) -> None:
    count = 100_001
    rows = pa.table({"n": range(count), "t": [f"t{i}" for i in range(count)]})
    lines = cells(written(tmp_path, rows))
    assert len(lines) == count + 1
    assert lines[1:] == [[str(i), f"t{i}"] for i in range(count)]


def test_a_file_without_rows_is_its_header(tmp_path: Path) -> None:
    assert written(tmp_path, ROWS.slice(0, 0)) == b'"name","x","day","at","price"\n'
    assert written(tmp_path, ROWS.slice(0, 0), header=False) == b""


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"delimiter": ""}, "delimiter cannot be ''"),
        ({"delimiter": ";;"}, "delimiter cannot be ';;'"),
        ({"delimiter": "a"}, "delimiter cannot be 'a'"),
        ({"delimiter": '"'}, "both"),
        ({"quote": "\n"}, "quote cannot be"),
        ({"delimiter": "\udcff"}, "delimiter '.udcff' holds half a character"),
        ({"null": "a,b"}, "null cannot be 'a,b'"),
        ({"quoting": "som"}, "There are: text, needed, all"),
        ({"encoding": "utf8"}, "Did you mean 'utf-8'"),
        ({"header": "perhaps"}, "Give true or false"),
        ({"decimal_sign": 1}, "Give text"),
    ],
)
def test_values_that_fit_no_option_are_refused(tmp_path: Path, values: dict[str, Any], said: str) -> None:
    with pytest.raises(BadData, match=said):
        written(tmp_path, **values)
    assert not (tmp_path / "out.csv").exists()


def test_an_option_of_another_format_is_refused_with_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(UnknownOption, match="Export to CSV has no option 'codec'"):
        written(tmp_path, codec="zstd")
    with pytest.raises(UnknownOption, match="Did you mean 'delimiter'"):
        written(tmp_path, delimeter=";")


def test_values_without_text_are_refused_by_column(tmp_path: Path) -> None:
    odd = pa.array([b"\xff\xfe"]).view(pa.string())
    with pytest.raises(BadData, match=r"column 's': a text is not UTF-8"):
        written(tmp_path, pa.table({"s": odd}))


def test_union_columns_have_no_text() -> None:
    union = pa.UnionArray.from_dense(
        pa.array([0, 1], pa.int8()), pa.array([0, 0], pa.int32()), [pa.array([1]), pa.array(["a"])]
    )
    with pytest.raises(TypeConflict, match="cannot be written as text"):
        texts_of(union)
