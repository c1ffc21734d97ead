"""Exported rows are read back equal, except for the losses that the table of formats lists.

Each format is read by other people's readers: pyarrow, json, csv, sqlite3, DuckDB, calamine, an HTML parser.
LAMELLA_LONG_RUNS=500 runs it longer.
"""

from __future__ import annotations

import csv
import datetime as dt
import html.parser
import json
import random
import re
import sqlite3
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
import python_calamine
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import ipc

from lamella.core.jobs import Job
from lamella.core.transfer.exporting import Destination
from lamella.core.transfer.formats import FORMATS
from lamella.core.transfer.writer import FINER_KINDS, KINDS, Rows, kind_of, kinds_of
from tests.slow_tests import examples

EXAMPLES = examples(8)
DAYS = (-200_000, -25_509, -25_508, -1, 0, 19_789, 2_932_896)
LETTERS = [
    "a",
    "B",
    "é",
    "😀",
    '"',
    "'",
    ",",
    ";",
    "|",
    "\\",
    "<b>",
    "&amp;",
    "_x0041_",
    "007",
    "=1",
    " ",
    "\n",
    "\t",
]
BERLIN = "Europe/Berlin"


def text(rng: random.Random) -> str:
    return "".join(rng.choices(LETTERS, k=rng.randrange(6)))


def integers(bits: int, signed: bool = True) -> Callable[[random.Random], int]:
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    return lambda rng: rng.choice([low, high, 0, 1, rng.randint(low, high), rng.randint(0, 100)])


def floats(width: type) -> Callable[[random.Random], float]:
    special = [0.0, -0.0, 1.0, -2.5, float("nan"), float("inf"), float("-inf"), 0.1, 1 / 3]
    large = [] if width is np.float16 else [1e20, 1.5e-7]
    return lambda rng: float(width(rng.choice([*special, *large, rng.gauss(0, 1)])))


def decimals(digits: int, scale: int) -> Callable[[random.Random], Decimal]:
    def make(rng: random.Random) -> Decimal:
        number = rng.choice([0, 1, -1, 10**digits - 1, rng.randrange(10**digits)])
        return Decimal(number).scaleb(-scale, context=None) if digits < 28 else Decimal(f"{number}e-{scale}")

    return make


def counts(per_day: int, low: int = DAYS[0], high: int = DAYS[-1]) -> Callable[[random.Random], int]:
    def make(rng: random.Random) -> int:
        day = rng.choice([day for day in DAYS if low <= day <= high])
        return day * per_day + rng.choice([0, 0, rng.randrange(per_day)])

    return make


TYPES: dict[str, tuple[pa.DataType, Callable[[random.Random], Any]]] = {
    "nothing": (pa.null(), lambda rng: None),
    "truth": (pa.bool_(), lambda rng: rng.random() < 0.5),
    **{f"i{bits}": (getattr(pa, f"int{bits}")(), integers(bits)) for bits in (8, 16, 32, 64)},
    **{f"u{bits}": (getattr(pa, f"uint{bits}")(), integers(bits, False)) for bits in (8, 16, 32, 64)},
    "f16": (pa.float16(), floats(np.float16)),
    "f32": (pa.float32(), floats(np.float32)),
    "f64": (pa.float64(), floats(np.float64)),
    "price": (pa.decimal128(9, 2), decimals(9, 2)),
    "exact": (pa.decimal128(38, 10), decimals(38, 10)),
    "huge": (pa.decimal256(60, 5), decimals(60, 5)),
    "words": (pa.string(), text),
    "large": (pa.large_string(), text),
    "category": (pa.dictionary(pa.int32(), pa.string()), text),
    "bytes": (pa.binary(), lambda rng: rng.randbytes(rng.randrange(4))),
    "fixed": (pa.binary(3), lambda rng: rng.randbytes(3)),
    "day": (pa.date32(), counts(1)),
    "day64": (pa.date64(), lambda rng: counts(1)(rng) * 86_400_000),
    "time_s": (pa.time32("s"), lambda rng: rng.randrange(86_400)),
    "time_us": (pa.time64("us"), lambda rng: rng.choice([0, rng.randrange(86_400 * 10**6)])),
    "time_ns": (pa.time64("ns"), lambda rng: rng.randrange(86_400 * 10**9)),
    "at_s": (pa.timestamp("s"), counts(86_400)),
    "at_ms": (pa.timestamp("ms"), counts(86_400_000)),
    "at_us": (pa.timestamp("us"), counts(86_400 * 10**6)),
    "at_ns": (pa.timestamp("ns"), counts(86_400 * 10**9, -25_509, 20_000)),
    "zoned": (pa.timestamp("us", BERLIN), counts(86_400 * 10**6, -25_508, 20_000)),
    "zoned_ns": (pa.timestamp("ns", BERLIN), counts(86_400 * 10**9, -25_508, 20_000)),
    "time_ms": (pa.time32("ms"), lambda rng: rng.randrange(86_400_000)),
    "zoned_s": (pa.timestamp("s", "UTC"), counts(86_400, -25_508, 20_000)),
    "long": (pa.duration("ms"), lambda rng: rng.randint(-(10**9), 10**9)),
    "long_ns": (pa.duration("ns"), lambda rng: rng.randint(-(10**15), 10**15)),
    "tags": (pa.list_(pa.string()), lambda rng: [None, text(rng), ""][: rng.randrange(4)]),
    "pair": (pa.list_(pa.int16(), 2), lambda rng: [1, rng.randrange(9)]),
    "place": (
        pa.struct([("lat", pa.float64()), ("name", pa.string())]),
        lambda rng: {"lat": rng.choice([None, 1.5]), "name": text(rng)},
    ),
    "map": (pa.map_(pa.string(), pa.int32()), lambda rng: [(text(rng), 1)]),
}  # fmt: skip
BEYOND_POLARS = ["huge"]
SPAN = {
    "span": (pa.month_day_nano_interval(), lambda rng: pa.MonthDayNano([rng.randrange(20), 3, 5_000_001]))
}


def made(seed: int, types: dict[str, Any] = TYPES) -> pa.Table:
    rng = random.Random(seed)
    rows = rng.choice([1, 7, 40])

    def column(kind: pa.DataType, make: Callable[[random.Random], Any]) -> pa.Array:
        values = [None if rng.random() < 0.15 else make(rng) for _ in range(rows)]
        storage = {"date64": pa.int64(), "time64": pa.int64(), "date32": pa.int32(), "time32": pa.int32()}
        name = str(kind).partition("[")[0]
        if name in ("timestamp", "duration", *storage):
            return pa.array(values, storage.get(name, pa.int64())).cast(kind)
        return pa.array(values, kind)

    return pa.table({name: column(*each) for name, each in types.items()})


def export(folder: Path, table: pa.Table, format_id: str, **values: Any) -> Path:
    suffix = next(known.suffixes[0] for known in FORMATS if known.id == format_id)
    path = folder / f"out{suffix}"
    pieces = [table.slice(at, 13) for at in range(0, len(table), 13)]
    result = Destination.of(path, format_id, values, overwrite=True).write(
        Rows(table.schema, iter(pieces), len(table), "t"), Job()
    )
    assert result.rows == len(table)
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("exported")


def clock(cell: str, unit: int) -> int:
    match = re.fullmatch(r"(-?)(\d+):(\d\d):(\d\d)(?:\.(\d+))?", cell)
    assert match is not None, cell
    seconds = int(match[2]) * 3600 + int(match[3]) * 60 + int(match[4])
    count = seconds * unit + (int(match[5].ljust(9, "0")) * unit // 10**9 if match[5] else 0)
    return -count if match[1] else count


def in_json(value: Any) -> Any:
    """The JSON form of a nested value."""
    if isinstance(value, dict):
        return {key: in_json(inner) for key, inner in value.items()}
    return [in_json(inner) for inner in value] if isinstance(value, list | tuple) else value


def check_texts(texts: list[Any], values: pa.ChunkedArray, where: str) -> None:
    """Check that each text can be converted back to its value, given the type."""
    kind, name = values.type, kind_of(values.type)
    if name == "category":
        values, kind = values.cast(kind.value_type), kind.value_type
        name = kind_of(kind)
    if name in ("list", "struct", "map"):
        actual = [cell if cell is None or not isinstance(cell, str) else json.loads(cell) for cell in texts]
        assert actual == [in_json(value) for value in values.to_pylist()], where
    elif name == "binary":
        assert [None if c is None else bytes.fromhex(c) for c in texts] == values.to_pylist(), where
    elif name == "duration":
        unit = {"ms": 10**3, "ns": 10**9}[kind.unit]
        assert [None if c is None else clock(c, unit) for c in texts] == values.cast(
            pa.int64()
        ).to_pylist(), where
    elif name == "float":
        actual = [None if cell is None else float(cell) for cell in texts]
        same_floats(pa.array(actual, pa.float64()).cast(kind), values, where)
    elif name == "decimal":
        assert [None if c is None else Decimal(c) for c in texts] == values.to_pylist(), where
    elif name == "null":
        assert set(texts) <= {None}, where
    elif name == "time":
        unit = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[kind.unit]
        stored = values.cast(pa.int32() if unit < 10**6 else pa.int64()).to_pylist()
        assert [None if c is None else clock(c, unit) for c in texts] == stored, where
    else:
        actual = pa.array([None if cell is None else str(cell) for cell in texts], pa.string())
        cast_back = actual.cast(pa.date32()).cast(kind) if name == "date" else actual.cast(kind)
        assert pa.chunked_array([cast_back]).equals(values), where


def same_floats(actual: pa.Array, values: pa.ChunkedArray, where: str) -> None:
    left, right = (
        np.array([np.nan if v is None else v for v in each.to_pylist()]) for each in (actual, values)
    )
    assert np.array_equal(left, right, equal_nan=True), where


def is_same(actual: pa.ChunkedArray, values: pa.ChunkedArray) -> bool:
    if not actual.type.equals(values.type):
        return False
    if pa.types.is_floating(values.type):
        left, right = (
            np.array([9e99 if v is None else v for v in c.cast(pa.float64()).to_pylist()])
            for c in (actual, values)
        )
        return np.array_equal(left, right, equal_nan=True)
    return bool(actual.combine_chunks().equals(values.combine_chunks()))


def check_losses(format_id: str, table: pa.Table, actual: pa.Table) -> set[str]:
    """Check that columns of kinds without a loss are equal; return the kinds of other columns that differ."""
    losses = next(known.losses for known in FORMATS if known.id == format_id)
    differing = set()
    for name in table.column_names:
        if not is_same(actual.column(name), table.column(name)):
            listed = set(kinds_of(table.schema.field(name).type)) & set(losses)
            assert listed, f"{format_id} loses '{name}' ({table.schema.field(name).type}) unlisted"
            differing |= listed
    return differing


seeds = given(seed=st.integers(0, 10**6))
few = settings(max_examples=EXAMPLES, deadline=None)


@few
@seeds
def test_parquet(folder: Path, seed: int) -> None:
    table = made(seed)
    actual = pq.ParquetFile(export(folder, table, "parquet", codec="snappy")).read()
    check_losses("parquet", table, actual)
    for name in table.column_names:
        assert actual[name].to_pylist() == table[name].to_pylist() or "f" in name, name
    polars_reads(
        export(folder, table.drop_columns(BEYOND_POLARS), "parquet"), len(table), polars.read_parquet
    )


def polars_reads(path: Path, rows: int, read_file: Callable[[Path], polars.DataFrame]) -> None:
    assert len(read_file(path)) == rows


@few
@seeds
@pytest.mark.parametrize("stream", [False, True])
def test_arrow(folder: Path, stream: bool, seed: int) -> None:
    table = made(seed, TYPES | SPAN)
    path = export(folder, table, "arrow", codec="lz4", stream=stream)
    with path.open("rb") as file:
        actual = (ipc.open_stream if stream else ipc.open_file)(file).read_all()
    check_losses("arrow", table, actual)
    assert actual["category"].to_pylist() == table["category"].to_pylist()
    if not stream:
        known = export(folder, table.drop_columns(["span", *BEYOND_POLARS]), "arrow")
        polars_reads(known, len(table), polars.read_ipc)


@few
@seeds
@pytest.mark.parametrize(("format_id", "delimiter"), [("csv", ","), ("tsv", "\t"), ("csv", ";")])
def test_delimited_text(folder: Path, format_id: str, delimiter: str, seed: int) -> None:
    table = made(seed, TYPES)
    path = export(
        folder, table, format_id, delimiter=delimiter, quoting=random.Random(seed).choice(["text", "needed"])
    )
    actual = pa_csv.read_csv(
        path,
        parse_options=pa_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        convert_options=pa_csv.ConvertOptions(
            column_types=dict.fromkeys(table.column_names, pa.string()),
            strings_can_be_null=True, quoted_strings_can_be_null=False, null_values=[""],
        ),
    )  # fmt: skip
    for name in table.column_names:
        check_texts(actual[name].to_pylist(), table[name], name)
    with path.open(newline="", encoding="utf-8") as file:
        lines = list(csv.reader(file, delimiter=delimiter))
    assert lines[0] == table.column_names
    assert lines[1:] == [[cell or "" for cell in row.values()] for row in actual.to_pylist()]


@few
@seeds
def test_dialects_of_delimited_text_are_read_by_duckdb(folder: Path, seed: int) -> None:
    rng = random.Random(seed)
    table = made(seed).select(["words", "i64", "f64", "price", "day", "at_us", "truth"])
    path = export(
        folder, table, "csv", delimiter="|", decimal_sign=",", null="NULL", quoting="needed",
        encoding=rng.choice(["utf-8", "utf-8-bom"]), line_ends=rng.choice(["lf", "crlf"]),
    )  # fmt: skip
    with duckdb.connect() as connection:
        actual = connection.execute(
            "SELECT * FROM read_csv(?, delim='|', nullstr='NULL', header=true, allow_quoted_nulls=false,"
            " quote='\"', escape='\"', auto_detect=false, columns={"
            + ", ".join(f"'{name}': 'VARCHAR'" for name in table.column_names)
            + "})",
            [str(path)],
        ).fetchall()
    columns = dict(zip(table.column_names, zip(*actual, strict=True), strict=True))
    for name in table.column_names:
        texts = [
            None if c is None else c.replace(",", ".") if name in ("f64", "price") else c
            for c in columns[name]
        ]
        check_texts(texts, table[name], name)


@few
@seeds
@pytest.mark.parametrize("format_id", ["json", "jsonl"])
def test_json(folder: Path, format_id: str, seed: int) -> None:
    table = made(seed, TYPES | SPAN)
    data = export(folder, table, format_id).read_text("utf-8")
    rows = json.loads(data) if format_id == "json" else [json.loads(line) for line in data.split("\n")[:-1]]
    losses = next(known.losses for known in FORMATS if known.id == format_id)
    for name in table.column_names:
        cells = [row[name] for row in rows]
        kind = kind_of(table.schema.field(name).type)
        if kind not in losses:
            plain = table[name].to_pylist()
            assert [in_json(value) for value in plain] == cells, name
        if name == "truth":
            cells = [None if cell is None else str(cell).lower() for cell in cells]
        if name != "span":
            check_texts(cells, table[name], name)


@few
@seeds
def test_sqlite(folder: Path, seed: int) -> None:
    table = made(seed, TYPES | SPAN)
    path = export(folder, table, "sqlite")
    connection = sqlite3.connect(path)
    rows = connection.execute("SELECT * FROM t").fetchall()
    declared = {row[1]: row[2] for row in connection.execute("PRAGMA table_info(t)")}
    connection.close()
    assert (declared["day"], declared["price"], declared["truth"]) == ("DATE", "DECIMAL(9,2)", "BOOLEAN")
    losses = next(known.losses for known in FORMATS if known.id == "sqlite")
    for name, cells in zip(table.column_names, zip(*rows, strict=True), strict=True):
        values = table[name]
        kind = kind_of(values.type)
        if kind not in losses:
            assert list(cells) == values.to_pylist(), name
        elif name == "truth":
            assert list(cells) == values.cast(pa.int8()).to_pylist()
        elif name == "price":
            assert pa.array(cells, pa.float64()).cast(values.type).equals(values.combine_chunks())
        elif kind == "float":
            actual = [np.nan if c is None else c for c in cells]
            expected = [np.nan if v is None else v for v in values.cast(pa.float64()).to_pylist()]
            assert np.array_equal(actual, expected, equal_nan=True)
        elif name != "span":
            check_texts(list(cells), values, name)


@few
@seeds
def test_duckdb(folder: Path, seed: int) -> None:
    table = made(seed, TYPES | SPAN)
    path = export(folder, table, "duckdb")
    with duckdb.connect(str(path), read_only=True) as connection:
        table_read = connection.sql("SELECT * FROM t").to_arrow_table()
    plain = pa.table({
        name: table_read[name].cast(table.schema.field(name).type) if name in ("large",) else table_read[name]
        for name in table_read.column_names
    })  # fmt: skip
    check_losses("duckdb", table, plain)
    for name in ("category", "fixed", "day64", "time_s", "price", "f16"):
        actual = (
            table_read[name].cast(table.schema.field(name).type)
            if name != "category"
            else table_read[name].cast(pa.string())
        )
        assert is_same(actual, table[name].cast(actual.type)), name


def test_excel_in_pieces(folder: Path) -> None:
    check_excel(folder, 3)


@few
@seeds
def test_excel(folder: Path, seed: int) -> None:
    check_excel(folder, seed)


def check_excel(folder: Path, seed: int) -> None:
    table = made(seed, TYPES | SPAN)
    path = export(folder, table, "excel")
    sheet = python_calamine.CalamineWorkbook.from_path(str(path)).get_sheet_by_index(0)
    rows = sheet.to_python(skip_empty_area=False)
    assert rows[0] == table.column_names
    rows = [[*row, *[""] * (len(rows[0]) - len(row))] for row in rows[1:]]
    rows += [[""] * len(table.column_names)] * (len(table) - len(rows))  # only nulls, at the end
    for place, name in enumerate(table.column_names):
        check_cells([row[place] for row in rows], table[name], name)


def check_cells(cells: list[Any], values: pa.ChunkedArray, name: str) -> None:
    if name in ("at_ns", "zoned_ns"):
        values = values.cast(pa.timestamp("us", values.type.tz), safe=False)
    check = EXCEL.get(kind_of(values.type))
    for cell, value in zip(cells, values.to_pylist(), strict=True):
        if value is None:
            assert cell == "", name
        elif check is not None:
            assert check(cell, value), (name, cell, value)


def same_time(cell: Any, value: dt.datetime) -> bool:
    moment = dt.datetime.fromisoformat(cell.partition(".")[0]) if isinstance(cell, str) else cell
    moment = moment if isinstance(moment, dt.datetime) else dt.datetime.combine(moment, dt.time())
    return abs(moment - value) <= dt.timedelta(seconds=1 if isinstance(cell, str) else 0.001)


def same_integer(cell: Any, value: int) -> bool:
    return isinstance(cell, str) == (abs(value) >= 10**15) and int(cell) == value


def same_day(cell: Any, value: dt.date) -> bool:
    if isinstance(cell, str):
        return value < dt.date(1900, 3, 1) and dt.date.fromisoformat(cell) == value
    return bool(cell == value)


EXCEL: dict[str, Callable[[Any, Any], bool]] = {
    **dict.fromkeys(("integer", "int64", "uint64"), same_integer),
    **dict.fromkeys(("text", "category", "boolean"), lambda cell, value: cell == value),
    "float": lambda cell, value: float(cell) == pytest.approx(value, nan_ok=True, rel=1e-15),
    "decimal": lambda cell, value: Decimal(repr(cell) if isinstance(cell, float) else cell) == value,
    "date": same_day,
    "timestamp": same_time,
    "zoned": lambda cell, value: isinstance(cell, str) or same_time(cell, value.replace(tzinfo=None)),
    "duration": lambda cell, value: isinstance(cell, str) or abs(cell - value) <= dt.timedelta(seconds=0.001),
}


class Cells(html.parser.HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.rows: list[list[str]] = []

    def handle_starttag(self, tag: str, attributes: Any) -> None:
        assert tag != "script"
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")
        elif tag == "br":
            self.rows[-1][-1] += "\n"

    def handle_data(self, data: str) -> None:
        if self.rows and self.rows[-1] and data.strip("\n"):
            self.rows[-1][-1] += data


def markdown_cell(cell: str) -> str:
    return html.unescape(re.sub(r"\\(.)", r"\1", cell).replace("\0", "\\").replace("<br>", "\n"))


@few
@seeds
@pytest.mark.parametrize("format_id", ["html", "markdown"])
def test_documents(folder: Path, format_id: str, seed: int) -> None:
    table = made(seed, {name: TYPES[name] for name in ("words", "i64", "truth", "day", "tags")})
    data = export(folder, table, format_id, null="NULL").read_text("utf-8")
    if format_id == "html":
        reader = Cells()
        reader.feed(data.partition("<body>")[2])
        rows, lost = reader.rows, str
    else:
        lines = data.replace("\\\\", "\0").splitlines()
        rows = [
            [markdown_cell(cell) for cell in re.split(r"(?<!\\) ?\| ?", line)[1:-1]]
            for line in (lines[0], *lines[2:])
        ]

        def lost(value: str) -> str:
            return value.replace("\t", " ").strip(" ")

        rows = [[lost(cell) for cell in row] for row in rows]
    assert rows[0] == table.column_names
    for row, values in zip(rows[1:], table.to_pylist(), strict=True):
        assert row[0] == ("NULL" if values["words"] is None else lost(values["words"]))
        assert row[1:4] == [
            "NULL" if value is None else str(value).lower() for value in list(values.values())[1:4]
        ]


def test_listed_losses_are_losses(folder: Path) -> None:
    """Formats that keep types list no loss that does not occur."""
    actual: dict[str, set[str]] = {"parquet": set(), "arrow": set(), "duckdb": set()}
    for seed in range(6):
        table = made(seed)
        actual["parquet"] |= check_losses(
            "parquet", table, pq.ParquetFile(export(folder, table, "parquet")).read()
        )
        table = made(seed, TYPES | SPAN)
        with ipc.open_file(export(folder, table, "arrow")) as file:
            actual["arrow"] |= check_losses("arrow", table, file.read_all())
        with duckdb.connect(str(export(folder, table, "duckdb")), read_only=True) as connection:
            table_read = connection.sql("SELECT * FROM t").to_arrow_table()
        actual["duckdb"] |= check_losses("duckdb", table, table_read.set_column(
            table_read.schema.get_field_index("large"), "large", table_read["large"].cast(pa.large_string())
        ))  # fmt: skip
    for known in FORMATS:
        assert set(known.losses) | set(known.refused_kinds) <= set(KINDS) | set(FINER_KINDS)
        if known.id in actual:
            assert actual[known.id] == set(known.losses), known.id
