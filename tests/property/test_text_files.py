"""Generated CSV, TSV and JSON lines, read in blocks of a few bytes, against Python's own csv and json.

Types, widths, quotes and characters change across the edges of blocks everywhere. Opening, counting,
caching, paging, importing and exporting agree cell by cell. LAMELLA_LONG_RUNS=5000 runs it longer.
"""

from __future__ import annotations

import csv
import datetime as dt
import io
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Context, Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from lamella.core.datasets import open_dataset
from lamella.core.datasets.base import Dataset
from lamella.core.datasets.text import dataset as text_dataset
from lamella.core.datasets.text import dataset as text_opening
from lamella.core.datasets.text.exact_numbers import doubles, loses_json_digits
from lamella.core.jobs import Job
from lamella.core.store.importing import import_dataset
from lamella.core.store.store import Store
from lamella.core.transfer.exporting import ExportOptions, export
from tests.slow_tests import examples

RUNS = examples(15)
Rows = list[list[str | None]]
MARKERS = {"", "NA", "N/A", "n/a", "#N/A", "NULL", "Null", "null", "None", "none", "\\N", "<NA>", "NaT"}
SPECIALS = {"nan", "NaN", "inf", "-inf"}
NUMBERS = [
    "0",
    "1",
    "-20",
    "9007199254740992",
    "9007199254740993",
    "9223372036854775807",
    "9223372036854775808",
]
DECIMALS = [
    "0.5",
    "-1.25",
    "1.10",
    ".5",
    "1e-05",
    "-0",
    "0.1234567890123456789",
    "1234567890123456.7",
    "1e400",
]
TIMES = ["2013-01-31 10:00", "2013-01-31T10:00:00.5", "2013-01-31 10:00:00.123456789", "0001-01-31 10:00"]
ODD_TEXTS = [
    "true",
    "FALSE",
    "2013-01-31",
    "2013-02-30",
    "2013-01-31T10:00:00Z",
    "007",
    " 5",
    "+49",
    *SPECIALS,
]
TEXTS = ["Oslo", "é", "xü", 'say "hi"', "a,b", "a;b", "x\ny", "\n", '"', "''", "x" * 40, "12E4", "\r\n"]
FAMILIES = [
    NUMBERS,
    DECIMALS,
    NUMBERS + DECIMALS,
    TIMES,
    ODD_TEXTS,
    TEXTS,
    ["NA", "", "null"],
    ["nan", "1", "2.5"],
]


@contextmanager
def tiny_blocks(size: int) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_opening, "FIRST_BYTES", max(4, size))  # as long as the longest byte order mark
        patch.setattr(text_dataset, "SMALLEST_BLOCK", size)
        patch.setattr(text_dataset, "LARGEST_BLOCK", size)
        yield


@dataclass(frozen=True)
class DelimitedFile:
    names: list[str]
    rows: Rows
    delimiter: str
    newline: str
    encoding: str
    quoted: list[bool]
    last_newline: bool

    def bytes(self) -> bytes:
        quoted = iter(self.quoted * (1 + sum(map(len, self.rows)) // len(self.quoted)))
        lines = [self.delimiter.join(self.names)]
        lines += [self.delimiter.join(self._field(cell, next(quoted)) for cell in row) for row in self.rows]
        return (self.newline.join(lines) + self.newline * self.last_newline).encode(self.encoding)

    def _field(self, cell: str | None, quoted: bool) -> str:
        if cell is None:
            return ""
        needed = not cell or any(sign in cell for sign in (self.delimiter, '"', "\n", "\r", "'"))
        return '"' + cell.replace('"', '""') + '"' if quoted or needed else cell


@st.composite
def delimited_files(draw: st.DrawFn) -> DelimitedFile:
    """Columns whose values come from one family at first and from another one later."""
    width, height = draw(st.integers(1, 4)), draw(st.integers(1, 25))
    columns = []
    for _ in range(width):
        first, then = (draw(st.sampled_from(FAMILIES)) for _ in range(2))
        turn = draw(st.integers(0, height))
        columns.append(
            [draw(st.none() | st.sampled_from(first if at < turn else then)) for at in range(height)]
        )
    rows: Rows = [list(row) for row in zip(*columns, strict=True)]
    return DelimitedFile(
        [f"c{place}" for place in range(width)],
        rows,
        draw(st.sampled_from(",\t;|")),
        draw(st.sampled_from(["\n", "\r\n", "\r"])),
        draw(st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "cp1252"])),
        draw(st.lists(st.booleans(), min_size=1, max_size=5)),
        draw(st.booleans()) or rows[-1] == [None],
    )


def typed(texts: list[str | None]) -> tuple[pa.DataType, list[Any]]:
    """The type and the values of a column by the documented rules, cell by cell."""
    present = [text for text in texts if text is not None]
    known = [text.strip() for text in present if text.strip() not in MARKERS]
    for kind, reads in KINDS:
        if known and all(map(reads, known)) and (kind != pa.float64() or not SPECIALS.issuperset(known)):
            cells = [None if t is None or t.strip() in MARKERS else t.strip() for t in texts]
            return kind, [None if cell is None else value_of(cell, kind) for cell in cells]
    return pa.string(), list(texts)


def is_integer(text: str) -> bool:
    return bool(re.fullmatch("0|-?[1-9][0-9]*", text)) and -(2**63) <= int(text) < 2**63


def is_double(text: str) -> bool:
    if text in SPECIALS:
        return True
    if not re.fullmatch(r"-?(0|[1-9]\d*)?(\.\d*)?([eE][+-]?\d+)?", text) or re.fullmatch(
        r"-?\d+[eE]\d+", text
    ):
        return False
    return abs(float(text)) != float("inf") and Decimal(text) == Decimal(repr(float(text)))


def is_date(text: str) -> bool:
    try:
        return len(text) == 10 and bool(dt.date.fromisoformat(text))
    except ValueError:
        return False


def is_time(text: str, digits: int, zone: str = "") -> bool:
    shape = rf"\d{{4}}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d(\.\d{{1,{digits}}})?)?{zone}"
    return bool(re.fullmatch(shape, text)) and (digits < 9 or 1678 <= int(text[:4]) <= 2261)


KINDS: list[tuple[pa.DataType, Any]] = [
    (pa.bool_(), lambda text: text.casefold() in ("true", "false")),
    (pa.int64(), is_integer),
    (pa.float64(), is_double),
    (pa.date32(), is_date),
    (pa.timestamp("us"), lambda text: is_time(text, 6)),
    (pa.timestamp("ns"), lambda text: is_time(text, 9)),
    (pa.timestamp("us", "UTC"), lambda text: is_time(text, 6, "Z")),
]


def value_of(text: str, kind: pa.DataType) -> Any:
    if pa.types.is_boolean(kind):
        return text.casefold() == "true"
    if pa.types.is_integer(kind):
        return int(text)
    if pa.types.is_floating(kind):
        return repr(float(text))
    if pa.types.is_date(kind):
        return dt.date.fromisoformat(text)
    moment, _, fraction = text.rstrip("Z").partition(".")
    seconds = (dt.datetime.fromisoformat(moment) - dt.datetime(1970, 1, 1)) // dt.timedelta(seconds=1)
    digits = 9 if kind.unit == "ns" else 6
    return seconds * 10**digits + int(fraction.ljust(digits, "0") or 0)


def cells(table: pa.Table) -> list[list[Any]]:
    """The columns as comparable values: doubles as text, times as integers in their unit."""
    return [
        (column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column).to_pylist()
        if not pa.types.is_floating(column.type)
        else [None if value is None else repr(value) for value in column.to_pylist()]
        for column in table.columns
    ]


def lines_outside_quotes(text: str) -> int:
    """The number of lines that end outside quotes, counted character by character."""
    inside, count = False, 0
    for sign in text.replace("\r\n", "\n"):
        inside ^= sign == '"'
        count += sign in "\r\n" and not inside
    return count + (not text.endswith(("\r", "\n")))


def check_everywhere(path: Path, store: Store, size: int, rows: int, **options: Any) -> pa.Table:
    """Check that filling, counting, paging, caching and importing agree; return the rows."""
    cache = path.parent / "cache"
    with tiny_blocks(size):
        opened = open_dataset(path, cache_dir=cache, **options)
        straight = open_dataset(path, cache_dir=path.parent / "other", **options)
        assert opened.num_rows <= rows
        opened.fill(Job())
        rows_read = opened.read()
        assert (opened.num_rows, opened.count(), rows_read.num_rows, opened.snapshot().complete) == (
            rows,
        ) * 3 + (True,)
        pages = [opened.read(offset=at, limit=3) for at in range(0, rows, 3)]
        assert cells(pa.concat_tables(pages)) == cells(rows_read)
        again = open_dataset(path, cache_dir=cache, **options)
        assert again.snapshot().complete
        assert (again.schema, cells(again.read())) == (opened.schema, cells(rows_read))
        table = import_dataset(straight, store)
        assert table.num_rows == rows
        assert cells(table.read().drop_columns("_id")) == cells(rows_read)
        store.drop_table(table.name)
    whole = open_dataset(path, cache_dir=cache, **options)
    assert (whole.schema, cells(whole.read())) == (opened.schema, cells(rows_read))
    if path.suffix == ".csv":
        check_exported_text(opened, rows_read, path.parent)
    check_exported_json(opened, rows_read, path.parent)
    return rows_read


def check_exported_text(opened: Dataset, rows_read: pa.Table, folder: Path) -> None:
    for name, delimiter in (("out.csv", ","), ("out.tsv", "\t")):
        export(opened, folder / name, ExportOptions(overwrite=True))
        back = open_dataset(folder / name, delimiter=delimiter, header=True).read()
        assert back.num_rows == rows_read.num_rows
        for written, column in zip(back.columns, rows_read.columns, strict=True):
            assert list(map(comparable, written)) == list(map(comparable, column))


def check_exported_json(opened: Dataset, rows_read: pa.Table, folder: Path) -> None:
    export(opened, folder / "out.jsonl", ExportOptions(overwrite=True))
    lines = (folder / "out.jsonl").read_text("utf-8").split("\n")[:-1]
    assert len(lines) == rows_read.num_rows
    plain = [
        f.name for f in rows_read.schema if not (pa.types.is_temporal(f.type) or pa.types.is_floating(f.type))
    ]
    for line, row in (
        zip(map(json.loads, lines), rows_read.select(plain).to_pylist(), strict=True) if plain else ()
    ):
        assert {name: line[name] for name in plain} == row


def comparable(value: pa.Scalar) -> Any:
    """The value as it is read back: a whole double is written without a point, so it becomes an integer."""
    if not value.is_valid:
        return None
    if pa.types.is_timestamp(value.type):
        return (
            value.cast(pa.timestamp("ns", value.type.tz)).value if value.as_py().year > 1700 else str(value)
        )
    return repr(float(value.as_py())) if pa.types.is_floating(value.type) else value.as_py()


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with Store.open(tmp_path_factory.mktemp("text") / "store") as opened:
        yield opened


@settings(max_examples=RUNS)
@given(delimited_files(), st.integers(1, 90))
def test_delimited_text(
    store: Store, tmp_path_factory: pytest.TempPathFactory, file: DelimitedFile, size: int
) -> None:
    path = tmp_path_factory.mktemp("csv") / "x.csv"
    data = file.bytes()
    path.write_bytes(data)
    text = data.decode(file.encoding)
    parsed = list(csv.reader(io.StringIO(text, newline=""), delimiter=file.delimiter))
    assert [row or [""] for row in parsed[1:]] == [[cell or "" for cell in row] for row in file.rows]
    assert lines_outside_quotes(text) == len(file.rows) + 1
    rows_read = check_everywhere(path, store, size, len(file.rows), delimiter=file.delimiter, header=True)
    columns = [typed([row[place] for row in file.rows]) for place in range(len(file.names))]
    assert rows_read.schema.types == [kind for kind, _ in columns]
    assert cells(rows_read) == [values for _, values in columns]
    if len(file.names) > 1 and file.encoding == "utf-8":
        assert duckdb_cells(path, file) == file.rows


def duckdb_cells(path: Path, file: DelimitedFile) -> Rows:
    """The same cells as texts by DuckDB, which infers types by other rules."""
    with duckdb.connect() as connection:
        rows = connection.execute(
            "SELECT * FROM read_csv($1, delim=$2, quote='\"', escape='\"', header=true, all_varchar=true,"
            " auto_detect=false, columns=$3, nullstr='', allow_quoted_nulls=false)",
            [str(path), file.delimiter, dict.fromkeys(file.names, "VARCHAR")],
        ).fetchall()
    return [list(row) for row in rows]


JSON_VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from([0, 1, -5, 2**53, 2**53 + 1, 2**63 - 1, 2**63, 0.5, -1.25, 1e300, 0.30000000000000004]),
    st.sampled_from(
        ["", "NA", "x", "é", "2013-01-31", "2013-01-31 10:00", "2013-01-31T10:00:00.123456789", "5"]
    ),
    st.sampled_from([[], [1], [0.5, None], ["x"], {}, {"a": 1}, {"a": 0.5, "b": []}, {"b": [{"a": None}]}]),
)


@settings(max_examples=RUNS)
@given(
    st.lists(
        st.lists(st.tuples(st.sampled_from("abc"), JSON_VALUES), max_size=3),
        min_size=1,
        max_size=20,
    ).filter(any),
    st.booleans(),
    st.integers(1, 90),
)
def test_json_lines(
    store: Store,
    tmp_path_factory: pytest.TempPathFactory,
    members: list[list[tuple[str, Any]]],
    ascii_alone: bool,
    size: int,
) -> None:
    path = tmp_path_factory.mktemp("json") / "x.jsonl"
    rows = [dict(row) for row in members]
    path.write_text("".join(json.dumps(row, ensure_ascii=ascii_alone) + "\n" for row in rows), "utf-8")
    rows_read = check_everywhere(path, store, size, len(rows))
    assert rows_read.column_names == list(dict.fromkeys(name for row in rows for name in row))
    for row, actual in zip(
        map(json.loads, path.read_text("utf-8").splitlines()), rows_read.to_pylist(), strict=True
    ):
        assert all(is_same(row.get(name), value) for name, value in actual.items()), (row, actual)


def is_same(value: Any, actual: Any) -> bool:
    """Whether a cell is the JSON value, or its text in a column of several kinds."""
    if isinstance(actual, str):
        return bool(value == actual) or (not isinstance(value, str) and bool(json.loads(actual) == value))
    if isinstance(actual, list):
        return isinstance(value, list) and len(value) == len(actual) and all(map(is_same, value, actual))
    if isinstance(actual, dict):
        return isinstance(value, dict) and all(
            is_same(value.get(name), item) for name, item in actual.items()
        )
    if isinstance(actual, dt.date):
        return isinstance(value, str) and str(actual)[: len(value)] == value.replace("T", " ")
    if actual is None:
        return value is None or value in ("", "NA")
    return bool(value == actual)


@st.composite
def decimals(draw: st.DrawFn) -> str:
    """Numbers with a point or an exponent: as programs write doubles, and with a digit or two changed."""
    number = draw(
        st.floats(-1e22, 1e22) | st.floats(-10, 10) | st.floats(allow_nan=False, allow_infinity=False)
    )
    kind, digits = draw(st.sampled_from("efgr")), draw(st.integers(0, 20))
    text = repr(number) if kind == "r" else f"{number:.{digits}{kind}}"
    places = [place for place, sign in enumerate(text.split("e")[0]) if sign in "123456789"]
    for place in draw(st.lists(st.sampled_from(places), max_size=2)) if places else []:
        text = text[:place] + draw(st.sampled_from("123456789")) + text[place + 1 :]
    assume(abs(float(text)) != float("inf"))  # JsonLines covers numbers beyond the range of doubles
    return text if re.search("[.e]", text) else f"{text}.0"


def gives_back(text: str) -> bool:
    """Whether the nearest double, rounded to the number's digits, equals the number."""
    number, written = float(text), Decimal(text).normalize(Context(prec=400))
    rounded = Context(prec=len(written.as_tuple().digits)).create_decimal_from_float(number)
    return rounded == written or Decimal(repr(number)) == written


@settings(max_examples=RUNS * 2)
@given(st.lists(decimals(), min_size=1, max_size=8))
def test_numbers_that_doubles_give_back_are_told_from_others(numbers: list[str]) -> None:
    is_exact = all(map(gives_back, numbers))
    assert loses_json_digits(f'{{"v": [{", ".join(numbers)}]}}\n'.encode()) == (not is_exact)
    as_numbers = doubles(pa.array(numbers))
    bare = any(re.fullmatch(r"-?[0-9]+e[0-9]+", number) for number in numbers)
    assert (as_numbers is not None) == (is_exact and not bare)
    if as_numbers is not None:
        assert as_numbers.to_pylist() == list(map(float, numbers))
