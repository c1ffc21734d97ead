"""Delimited text: layout found out, values kept."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamella.core.datasets import open_dataset
from lamella.core.datasets.text import dataset
from lamella.core.datasets.text.delimited import ZEROS, RaggedRow
from lamella.core.datasets.text.dialect import find_dialect
from lamella.core.datasets.text.types import NULL_MARKERS
from lamella.core.errors import FileProblem, UnknownColumn


def rows_of(path: Path, data: bytes | str, **options: Any) -> list[dict[str, Any]]:
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return open_dataset(path, cache_dir=path.parent / "cache", **options).read().to_pylist()


@pytest.mark.parametrize("delimiter", [",", "\t", ";", "|"])
def test_delimiters_are_found(tmp_path: Path, delimiter: str) -> None:
    data = "a,b\n1,x y\n2,z\n".replace(",", delimiter)
    assert rows_of(tmp_path / "x.csv", data) == [{"a": 1, "b": "x y"}, {"a": 2, "b": "z"}]


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_lines_above_are_left_out_whatever_ends_them(tmp_path: Path, newline: str) -> None:
    data = "title|Konto;1\na;b\n1,5;2\n".replace("\n", newline)
    assert rows_of(tmp_path / "x.csv", data, skip_rows=1) == [{"a": 1.5, "b": 2}]


@pytest.mark.parametrize("mark", ["sep=;\n", "SEP=;\r\n", '"sep=;"\n', "sep=;\r"])
def test_a_first_line_for_spreadsheets_names_the_delimiter(tmp_path: Path, mark: str) -> None:
    newline = mark[mark.index("=") + 2 :].lstrip('"')
    data = mark + newline.join(["a;b", "1,5;2,3", "2,5;3,4", ""])
    assert rows_of(tmp_path / "x.csv", data) == [{"a": 1.5, "b": 2.3}, {"a": 2.5, "b": 3.4}]
    assert rows_of(tmp_path / "y.csv", "sep=a\nx\ny\n") == [{"sep=a": "x"}, {"sep=a": "y"}]


def test_decimal_commas_do_not_look_like_delimiters(tmp_path: Path) -> None:
    assert rows_of(tmp_path / "x.csv", "a;b\n1,5;2,5\n3,5;4,5\n")[0] == {"a": 1.5, "b": 2.5}


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp1252", "latin-1"]
)
def test_encodings_are_found(tmp_path: Path, encoding: str) -> None:
    data = "city,n\nMünchen,1\nÉvora,2\n".encode(encoding)
    assert rows_of(tmp_path / "x.csv", data) == [{"city": "München", "n": 1}, {"city": "Évora", "n": 2}]


def test_an_encoding_can_be_named(tmp_path: Path) -> None:
    data = "city\nŁódź\n".encode("cp1250")
    assert rows_of(tmp_path / "x.csv", data, encoding="cp1250") == [{"city": "Łódź"}]


@pytest.mark.slow
def test_a_first_accent_far_in_a_western_file(tmp_path: Path) -> None:
    data = b"city,n\n" + b"Oslo,1\n" * 400_000 + "Málaga,2\n".encode("cp1252")
    assert rows_of(tmp_path / "x.csv", data)[-1] == {"city": "Málaga", "n": 2}


@pytest.mark.parametrize(
    "compress", [gzip.compress, bz2.compress, lambda d: pa.compress(d, "zstd", asbytes=True)]
)
def test_compressed_text(tmp_path: Path, compress: Any) -> None:
    assert rows_of(tmp_path / "x", compress(b"a,b\n1,2\n")) == [{"a": 1, "b": 2}]


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_line_ends(tmp_path: Path, newline: str) -> None:
    assert rows_of(tmp_path / "x.csv", newline.join(["a,b", "1,x", "2,y"])) == [
        {"a": 1, "b": "x"},
        {"a": 2, "b": "y"},
    ]


@pytest.mark.parametrize(
    "data",
    [
        "a,b\r1,x\r2,y\r\n",
        "a,b\r1,x\r2,y\n",
        "a,b\r1,x\n2,y\n",
        "a,b\n1,x\r2,y\r",
        "a,b\r1,x\r\r\n2,y\r",
        "a,b\r\n1,x\r2,y\n",
    ],
)
def test_every_kind_of_line_break_ends_a_row(tmp_path: Path, data: str) -> None:
    assert rows_of(tmp_path / "x.csv", data) == [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("rows", [3, 20_000])
def test_single_quotes_are_found_whatever_ends_the_file(tmp_path: Path, newline: str, rows: int) -> None:
    lines = ["id,name,n", *(f"{number},'Smith, J{number}',1" for number in range(rows))]
    table = rows_of(tmp_path / "x.csv", newline.join([*lines, ""]))
    assert table[-1] == {"id": rows - 1, "name": f"Smith, J{rows - 1}", "n": 1}


def test_apostrophes_are_no_quotes(tmp_path: Path) -> None:
    data = "a,b\nit's,dogs'\n'90s,x\ncan't,y\n"
    assert rows_of(tmp_path / "x.csv", data)[1] == {"a": "'90s", "b": "x"}


def test_quoted_line_feeds_between_returns(tmp_path: Path) -> None:
    """As spreadsheets of older Macs write cells of several lines."""
    data = 'a,b\r1,"x\n\n\n\ny"\r2,z\r'
    assert rows_of(tmp_path / "x.csv", data) == [{"a": 1, "b": "x\n\n\n\ny"}, {"a": 2, "b": "z"}]


@pytest.mark.parametrize("quote", ['"', "'"])
def test_line_feeds_in_quotes_of_either_kind_end_no_line(quote: str) -> None:
    data = "a,b\r1,'x\n\n\n\ny'\r2,'z'\r".replace("'", quote)
    dialect = find_dialect(data, whole=True)
    assert dialect is not None and (dialect.quote, dialect.newline) == (quote, "\r")


PYTHON_LOG = "2024-03-01 10:00:00,{0:03} INFO worker: processed {0} items{1}"
WEB_LOG = (
    '10.0.0.{0} - - [01/Mar/2024:10:00:00] "GET /a?x={0} HTTP/1.1" 200 "Mozilla (KHTML, like Gecko)"{1:.0}'
)
SYSTEM_LOG = "Mar  1 10:00:{0:02} host kernel: eth0: link up; speed {0}{1}"


@pytest.mark.parametrize(
    ("line", "more"), [(PYTHON_LOG, ", cached"), (WEB_LOG, ""), (SYSTEM_LOG, "; duplex")]
)
def test_each_line_of_a_log_is_a_row(tmp_path: Path, line: str, more: str) -> None:
    lines = [line.format(number, more if number % 3 else "") for number in range(40)]
    rows = rows_of(tmp_path / "x.log", "\n".join(lines))
    assert [list(row.values()) for row in rows] == [[text] for text in lines]


def test_each_line_of_prose_is_a_row(tmp_path: Path) -> None:
    commas = [3, 0, 1, 2, 5, 1, 0, 4, 2, 1]
    lines = ["Word" + ", and more" * number + "." for number in commas]
    assert [list(row.values()) for row in rows_of(tmp_path / "x.txt", "\n".join(lines))] == [
        [t] for t in lines
    ]


def test_a_short_row_does_not_turn_a_table_into_lines(tmp_path: Path) -> None:
    lines = ["city, country, n", *(["Oslo, Norway, 1"] * 20), "Rome, Italy"]
    with pytest.raises(FileProblem, match="line 22 has 2 fields, but 3 are expected"):
        rows_of(tmp_path / "x.csv", "\n".join(lines))


LINE_BREAKS = st.sampled_from(["\r", "\r\n", "\n"])


@pytest.mark.parametrize("width", [1, 2])
@given(usual=LINE_BREAKS, breaks=st.lists(LINE_BREAKS, min_size=1, max_size=60), data=st.data())
def test_no_row_is_lost_at_the_edges_of_blocks(
    tmp_path_factory: pytest.TempPathFactory, width: int, usual: str, breaks: list[str], data: st.DataObject
) -> None:
    texts = st.sampled_from(["x", "yy", '"q\nr"', '"s,t"', "zzzzzzzz"])
    rows = [[data.draw(texts) for _ in range(width)] for _ in breaks]
    names = [f"c{place}" for place in range(width)]
    lines = zip([names, *rows], [usual, *breaks], strict=True)
    path = tmp_path_factory.mktemp("csv") / "x.csv"
    path.write_bytes("".join(",".join(row) + end for row, end in lines).encode())
    with patch.object(dataset, "SMALLEST_BLOCK", data.draw(st.integers(8, 40))):
        table = open_dataset(path, delimiter=",", header=True).read()
    expected = [[text.strip('"') for text in row] for row in rows]
    assert [list(row.values()) for row in table.to_pylist()] == expected


@pytest.mark.parametrize(
    ("data", "names"),
    [
        ("city,n\nOslo,1\n", ["city", "n"]),
        ("state,2021\nAlabama,-29.59\nAlaska,-14.62\nOhio,12.4\n", ["state", "2021"]),
        ("Ann,2000\nBob,35.5\nCarl,3\nDora,4.5\n", ["column_1", "column_2"]),
        ("Oslo,1\nRome,2\n", ["column_1", "column_2"]),
        ("city,country\nOslo,Norway\n", ["city", "country"]),
        (",n,n,n_2\n0,1,2,3\n", ["column_1", "n", "n_3", "n_2"]),
        (" a , b \n1,2\n", ["a", "b"]),
        ("\n\na,b\n1,2\n", ["a", "b"]),
        ("a,b\n", ["a", "b"]),
        ('"a\nb",c\n1,2\n', ["a\nb", "c"]),
        ("city,2018,2019,2020\nOslo,1,2,4\nRome,3,4,4\n", ["city", "2018", "2019", "2020"]),
        (",1990,2000,2010\na,7.5,,8\nb,1,2,4\n", ["column_1", "1990", "2000", "2010"]),
        ("city,2019,2020\nOslo,1,2\n", ["city", "2019", "2020"]),
        ("film,2008,2012\nseries,2002,2008\n", ["column_1", "column_2", "column_3"]),
        ("2018,2019,2020\n2019,2020,2021\n7,9,1\n", ["column_1", "column_2", "column_3"]),
        ("x,1,2,3\ny,7,7,7\n", ["column_1", "column_2", "column_3", "column_4"]),
        ("1,2,3,4,5\n6,8,1,1,2\n", ["1", "2", "3", "4", "5"]),
        ('"","0","1"\n"0",27,29\n"1",59,53\n', ["column_1", "0", "1"]),
        ('"7","0"\n"3","1"\n', ["column_1", "column_2"]),
        ('"7",0\n"3",1\n', ["column_1", "column_2"]),
    ],
)
def test_headers(tmp_path: Path, data: str, names: list[str]) -> None:
    (tmp_path / "x.csv").write_text(data)
    assert open_dataset(tmp_path / "x.csv").schema.names == names


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("size", [200 << 10, 3 << 20])
@pytest.mark.parametrize("quoted", [False, True])
def test_a_long_header_is_not_cut(tmp_path: Path, size: int, quoted: bool) -> None:
    names = [f"column {number:0{size // 100}}" for number in range(100)]
    header = ",".join(f'"{name}\n"' if quoted else name for name in names)
    rows = rows_of(tmp_path / "x.csv", header + "\n" + ",".join("7" * 100) + "\n")
    assert rows == [dict.fromkeys(names, 7)]


def test_the_header_can_be_given(tmp_path: Path) -> None:
    years = "country,2019,2020\nNorway,1,2\n"
    assert rows_of(tmp_path / "x.csv", years, header=True) == [{"country": "Norway", "2019": 1, "2020": 2}]
    assert len(rows_of(tmp_path / "x.csv", "a,b\nc,d\n", header=False)) == 2


def test_empty_is_null_and_quoted_empty_is_empty_text(tmp_path: Path) -> None:
    assert rows_of(tmp_path / "x.csv", 'a,b\n,1\n"",2\nx,3\n') == [
        {"a": None, "b": 1},
        {"a": "", "b": 2},
        {"a": "x", "b": 3},
    ]


def test_an_empty_line_of_a_single_column_is_a_null(tmp_path: Path) -> None:
    assert rows_of(tmp_path / "x.csv", "n\n1\n\n3\n") == [{"n": 1}, {"n": None}, {"n": 3}]


@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_an_empty_last_field_is_a_null_with_a_line_break_behind_it_or_not(tmp_path: Path, end: str) -> None:
    rows = rows_of(tmp_path / "x.csv", 'a,b,c\n,,\n,"0",' + end)
    assert rows == [{"a": None, "b": None, "c": None}, {"a": None, "b": 0, "c": None}]


def test_codes_stay_what_they_are(tmp_path: Path) -> None:
    assert rows_of(tmp_path / "x.csv", "zip,big\n00501,12345678901234567890\n90210,1\n")[0] == {
        "zip": "00501",
        "big": "12345678901234567890",
    }


@pytest.mark.parametrize(
    ("values", "noted"),
    [
        (["1.10", "1.100"], ["1.10", "1.100"]),
        (["1.9", "1.10", "2.0"], ["1.10", "1.9"]),
        (["1.10", "2.50", "3.00"], None),
        (["10", "10.50", "3.99"], None),
        (["1.0", "2.5", "3.25"], None),
    ],
)
def test_zeros_that_numbers_do_not_have_are_noted_on_the_column(
    tmp_path: Path, values: list[str], noted: list[str] | None
) -> None:
    rows = rows_of(tmp_path / "x.csv", "v,n\n" + "".join(f"{value},1\n" for value in values))
    assert [row["v"] for row in rows] == list(map(float, values))
    field = open_dataset(tmp_path / "x.csv").schema.field("v")
    assert (field.metadata or {}).get(b"note", b"").decode() == (ZEROS.format(*noted) if noted else "")


def test_columns_can_be_kept_as_text(tmp_path: Path) -> None:
    data = "version,price\n1.10,1.10\n1.100,2.00\n"
    assert rows_of(tmp_path / "x.csv", data, text_columns=["version"]) == [
        {"version": "1.10", "price": 1.1},
        {"version": "1.100", "price": 2.0},
    ]
    with pytest.raises(UnknownColumn, match="Did you mean 'version'"):
        rows_of(tmp_path / "x.csv", data, text_columns=["versoin"])
    with pytest.raises(FileProblem, match="is JSON lines, whose values already have types"):
        rows_of(tmp_path / "x.jsonl", '{"version": 1.10}', text_columns=["version"])


def test_lines_of_prose_are_one_column(tmp_path: Path) -> None:
    assert rows_of(tmp_path / "log.txt", "start\nall is well, so far\nend\n") == [
        {"column_1": "start"},
        {"column_1": "all is well, so far"},
        {"column_1": "end"},
    ]


def test_short_rows_are_filled_up_when_asked(tmp_path: Path) -> None:
    data = 'a,b,c\n1,"x\ny",3\n2\n3,z,,,\n'
    assert rows_of(tmp_path / "x.csv", data, ragged="pad") == [
        {"a": 1, "b": "x\ny", "c": 3},
        {"a": 2, "b": None, "c": None},
        {"a": 3, "b": "z", "c": None},
    ]


def test_padding_is_offered_exactly_where_it_helps(tmp_path: Path) -> None:
    offers = {
        "a,b\n1,2\n1\n": True,
        "a,b\n1,2\n1,2,,\n": True,
        "a,b\n1,2\n1,2,3\n": False,
        "a,b\n1\n1,2,3\n": False,
    }
    for data, paddable in offers.items():
        with pytest.raises(RaggedRow) as refused:
            rows_of(tmp_path / "x.csv", data)
        assert refused.value.paddable is paddable, data


def test_a_value_beyond_the_last_column_is_never_dropped(tmp_path: Path) -> None:
    with pytest.raises(FileProblem, match="line 3 has 3 fields"):
        rows_of(tmp_path / "x.csv", "a,b\n1,2\n1,2,3\n", ragged="pad")


VALUES = st.one_of(
    st.none(),
    st.integers(),
    st.floats(allow_nan=False),
    st.booleans(),
    st.dates(),
    st.datetimes(),
    st.text(st.characters(exclude_categories=["Cc", "Cs"]), max_size=8),
    st.sampled_from(
        [
            "007",
            "1e5",
            "NA",
            "null",
            " 1",
            "1 ",
            '"',
            "a,b",
            "x\ny",
            "\r\n",
            "-0",
            "1.0",
            "true",
            "2013-01-01",
        ]
    ),
)


@given(
    st.integers(2, 4).flatmap(
        lambda n: st.lists(st.lists(VALUES, min_size=n, max_size=n), min_size=1, max_size=8)
    )
)
def test_what_python_writes_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, rows: list[list[Any]]
) -> None:
    """The same values, or the text that stood in the file; a null where nothing or a marker stood."""
    names = [f"col {i}" for i in range(len(rows[0]))]
    written = io.StringIO(newline="")
    csv.writer(written).writerows([names, *rows])
    path = tmp_path_factory.mktemp("csv") / "x.csv"
    path.write_bytes(written.getvalue().encode())
    back = open_dataset(path, delimiter=",", header=True).read()
    assert back.column_names == names
    assert back.num_rows == len(rows)
    for given_row, read_row in zip(rows, back.to_pylist(), strict=True):
        for value, actual in zip(given_row, read_row.values(), strict=True):
            assert _same(value, actual), (value, actual)


def _same(value: Any, actual: Any) -> bool:
    text = "" if value is None else str(value)
    if actual is None:
        return text.strip() in NULL_MARKERS
    if isinstance(actual, str):
        return actual == text
    if isinstance(value, str):
        if isinstance(actual, bool):
            return str(actual).casefold() == text.strip().casefold()
        return str(actual) == text.strip() or float(actual) == float(text)
    return bool(actual == value)
