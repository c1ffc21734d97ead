"""Parquet files as other programs write them, and wrong ones: every reader gives the same, right answer."""

from __future__ import annotations

import contextlib
import datetime as dt
import math
import os
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lamella
from lamella import open_dataset
from lamella.core.bridge import connect
from lamella.core.errors import FileProblem, LamellaError
from lamella.core.scan.thrift import BINARY, Value
from tests.core.datasets.parquet_answers import NEAR, STEPS, problems, refusals, times, written
from tests.core.datasets.parquet_footer import (
    CHUNK_STATISTICS,
    CONVERTED_TYPE,
    CREATED_BY,
    LOGICAL_TYPE,
    MAX,
    MAX_VALUE,
    MIN,
    MIN_VALUE,
    NUM_ROWS,
    SCHEMA,
    chunks,
    read_footer,
    write_footer,
)

OLD_JAVA = b"parquet-mr version 1.8.2 (build c6522788629e590a53eb79874b95f6c3ff11f16c)"

MIXED = pa.table(
    {
        "n": pa.array([3, None, -1, 7, 7, 2**40], pa.int64()),
        "word": ["b", "a", None, "", "é", "a" * 40],
        "real": pa.array([1.5, None, -0.0, math.inf, 2.0, 1.5]),
        "yes": [True, None, False, True, True, False],
        "bytes": [b"\xff", b"a", None, b"", b"b", b"\x00"],
        "fixed": pa.array([b"ab", b"\xff\xff", None, b"\0\0", b"ab", b"zz"], pa.binary(2)),
        "price": pa.array(
            [Decimal("-1.00"), Decimal("2.50"), None, *[Decimal("0.01")] * 3], pa.decimal128(9, 2)
        ),
        "half": pa.array([1.5, None, -2.0, 0.0, 0.5, 8.0]).cast(pa.float16()),
        "day": pa.array([dt.date(2024, 1, 1), None, dt.date(1, 1, 1), *[dt.date(1969, 12, 31)] * 3]),
    }
)


# --------------------------------------------------------- footers that say something else


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("rows", [0, 5, 100])
def test_rows_are_those_of_the_row_groups_whatever_the_footer_says(tmp_path: Path, rows: int) -> None:
    path = written(
        tmp_path / "t.parquet", pa.table({"n": range(9), "s": list("abcdefghi")}), row_group_size=4
    )
    footer = read_footer(path)
    footer[NUM_ROWS].content = rows
    write_footer(path, footer)
    dataset = open_dataset(path)
    assert dataset.num_rows == 9
    assert dataset.where("n > 6").count() == 2
    assert lamella.sql("select count(*) from t", {"t": dataset}).to_pylist() == [{"count_star()": 9}]
    assert problems(path, tmp_path, thorough=False) == []


def test_files_of_which_one_footer_says_that_it_is_empty(tmp_path: Path) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    for name in ("1", "2"):
        written(folder / f"{name}.parquet", pa.table({"n": [1, 2, 3]}))
    footer = read_footer(folder / "1.parquet")
    footer[NUM_ROWS].content = 0
    write_footer(folder / "1.parquet", footer)
    assert open_dataset(folder).read()["n"].to_pylist() == [1, 2, 3, 1, 2, 3]


def test_lists_without_an_annotation(tmp_path: Path) -> None:
    rows = pa.table({"n": [1, 2, 3], "l": [[1, 2], None, []]})
    path = written(tmp_path / "t.parquet", rows)
    footer = read_footer(path)
    for element in footer[SCHEMA].content:
        element.pop(LOGICAL_TYPE, None)
        element.pop(CONVERTED_TYPE, None)
    footer.pop(5)  # Arrow's own schema
    write_footer(path, footer)
    assert str(open_dataset(path).schema.field("l").type).startswith("struct<list: list<")
    assert problems(path, tmp_path) == []


def old_extremes(
    path: Path, created: bytes = OLD_JAVA, values: dict[str, tuple[bytes, bytes]] | None = None
) -> None:
    """The extremes as programs gave them that took bytes for numbers with signs."""
    footer = read_footer(path)
    footer[CREATED_BY].content = created
    footer.pop(7, None)  # the order of the columns, which they did not give
    for name, chunk in zip(pq.read_schema(path).names, chunks(footer), strict=True):
        statistics = chunk[CHUNK_STATISTICS].content
        low, high = (values or {}).get(name, (statistics[MIN_VALUE].content, statistics[MAX_VALUE].content))
        for number in (MIN_VALUE, MAX_VALUE, 7, 8):
            statistics.pop(number, None)
        statistics[MIN], statistics[MAX] = Value(BINARY, low), Value(BINARY, high)
    write_footer(path, footer)


@pytest.mark.slow(after=1)
@pytest.mark.parametrize(
    "created", [OLD_JAVA, b"parquet-mr version 1.6.0", b"impala version 2.2.0", b"other"]
)
def test_extremes_in_another_order_than_the_values_are_not_believed(tmp_path: Path, created: bytes) -> None:
    prices = pa.array([Decimal("1.00"), Decimal("2.00"), Decimal("24.00")], pa.decimal128(25, 2))
    rows = pa.table(
        {
            "word": ["a", "é", "b"],
            "bytes": [b"a", b"\xff", b"b"],
            "fixed": pa.array([b"aa", b"\xff\xff", b"bb"], pa.binary(2)),
            "price": prices,
            "u": pa.array([1, 2**31 + 5, 3], pa.uint32()),
            "d": [{"word": "é"}, None, {"word": "a"}],
        }
    )
    path = written(tmp_path / "t.parquet", rows)
    width = 11
    old_extremes(
        path,
        created,
        {
            "word": ("é".encode(), b"b"),
            "bytes": (b"\xff", b"b"),
            "fixed": (b"\xff\xff", b"bb"),
            "price": ((200).to_bytes(width, "big"), (2400).to_bytes(width, "big")),
            "u": ((2**31 + 5).to_bytes(4, "little"), (3).to_bytes(4, "little")),
            "d": ("é".encode(), b"a"),
        },
    )
    assert open_dataset(path).where("word = 'é'").count() == 1
    assert problems(path, tmp_path) == []
    bridge = connect([path])
    assert bridge.execute("select count(*) from t where price = 1 or word = 'é'").fetchone() == (2,)
    bridge.close()


@pytest.mark.parametrize("values", [[None, "a", "a"], ["", None, None]])
def test_one_text_among_nulls_whose_extremes_are_not_believed(tmp_path: Path, values: list) -> None:
    path = written(tmp_path / "t.parquet", pa.table({"x": values}), use_dictionary=False)
    old_extremes(path)
    assert problems(path, tmp_path, ["filter"]) == []


def test_extremes_of_int96_are_not_believed(tmp_path: Path) -> None:
    path = times(NEAR, tmp_path / "t.parquet")
    footer = read_footer(path)
    footer[CREATED_BY].content = OLD_JAVA
    for chunk in chunks(footer):
        extremes = {MIN: Value(BINARY, b"\xff" * 12), MAX: Value(BINARY, b"\0" * 12)}
        chunk[CHUNK_STATISTICS] = Value(12, extremes)
    write_footer(path, footer)
    assert problems(path, tmp_path, ["filter", "sort", "profile"]) == []


def test_extremes_that_are_nan_are_not_believed(tmp_path: Path) -> None:
    rows = pa.table({"x": [1.0, math.nan, -5.0], "d": [{"x": 2.0}, None, {"x": math.nan}]})
    path = written(tmp_path / "t.parquet", rows)
    footer = read_footer(path)
    for chunk in chunks(footer):
        statistics = chunk[CHUNK_STATISTICS].content
        for number in (MIN, MAX, MIN_VALUE, MAX_VALUE):
            statistics[number] = Value(BINARY, b"\0\0\0\0\0\0\xf8\x7f")
    write_footer(path, footer)
    assert problems(path, tmp_path) == []


@pytest.mark.parametrize("place", ["inner", "word"])
def test_names_of_columns_that_are_no_text_are_refused(tmp_path: Path, place: str) -> None:
    rows = pa.table({"word": ["a"], "d": [{"inner": 1}]})
    path = written(tmp_path / "t.parquet", rows, store_schema=False)
    content = path.read_bytes()
    first = content.index(place.encode(), len(content) - 8 - int.from_bytes(content[-8:-4], "little"))
    path.write_bytes(content[:first] + b"\xfd" + content[first + 1 :])
    with pytest.raises(FileProblem, match="has a damaged Parquet footer"):
        open_dataset(path)


# ------------------------------------------------------------------- ways to write the same


def encoded(column: str, encoding: str) -> Callable[[Path], Path]:
    def make(path: Path) -> Path:
        only = {"use_dictionary": False, "column_encoding": {column: encoding}}
        return written(path, MIXED.select([column, "n"] if column != "n" else ["n"]), **only)

    make.__name__ = f"{encoding}_{column}"
    return make


def with_empty_row_groups(path: Path) -> Path:
    few = MIXED.select(["n", "word", "real", "fixed"])
    with pq.ParquetWriter(path, few.schema) as writer:
        for start, count in ((0, 0), (0, 2), (2, 0), (2, 4), (6, 0)):
            writer.write_table(few.slice(start, count))
    return path


def without_row_groups(path: Path) -> Path:
    with pq.ParquetWriter(path, MIXED.schema):
        return path


def nested_nulls(path: Path) -> Path:
    kind = pa.struct([("a", pa.int64()), ("b", pa.struct([("c", pa.string()), ("l", pa.list_(pa.int8()))]))])
    values = [
        None,
        {"a": None, "b": None},
        {"a": 1, "b": {"c": None, "l": None}},
        {"a": 2, "b": {"c": "x", "l": []}},
        {"a": None, "b": {"c": "", "l": [None, 1]}},
    ]
    lists = pa.array([[None, values[3]], None, [], [values[0]], [values[4]]], pa.list_(kind))
    return written(path, pa.table({"d": pa.array(values, kind), "ds": lists}), row_group_size=2)


def deep_nesting(path: Path) -> Path:
    kind, value = pa.int64(), 7
    for level in range(12):
        name = f"f{level}"
        if level % 3 == 2:
            kind, value = pa.list_(kind), [value, None]
        else:
            kind, value = (
                pa.struct([(name, kind), (f"n{level}", pa.string())]),
                {name: value, f"n{level}": None},
            )
    return written(path, pa.table({"deep": pa.array([value, None, value], kind), "n": [1, 2, 3]}))


def nan_in_statistics(path: Path) -> Path:
    nan = math.nan
    rows = {"x": [nan, 1.0, -0.0, 0.0, nan, None], "all": [nan] * 6, "half": [nan, 1.5, None, -1.5, 2.0, 0.0]}
    table = pa.table({**rows, "half": pa.array(rows["half"]).cast(pa.float16())})
    return written(path, table, row_group_size=2)


def by_duckdb(path: Path) -> Path:
    duckdb.sql(
        f"""copy (
            select i n, i::utinyint u, (i * 1.5)::decimal(30, 3) p, (i / 3)::float f, 'w' || i s,
                   case when i % 2 = 0 then ('w' || i)::blob end b, uuid() id,
                   make_time(i, 2, 3.5) c, timestamp '2024-01-01' + interval (i) day t,
                   timestamptz '2024-01-01 00:00+00' + interval (i) day z,
                   (i || ':30:00+00')::timetz tz,
                   case when i > 3 then {{'a': i, 'b': [i, null]}} end d, map {{'k': i}} m,
                   i::varchar::enum('1', '2', '3', '4', '5', '6') e
            from range(1, 7) r(i)
        ) to '{path}' (format parquet, row_group_size 2048)"""
    )
    return path


def variants(path: Path) -> Path:
    """Shredded: fields of their own hold what is a whole number."""
    shredding = "{v: 'BIGINT'}"
    duckdb.sql(
        f"""copy (
            select i n, case when i % 2 = 0 then i::variant else ('x' || i)::variant end v from range(6) r(i)
        ) to '{path}' (format parquet, shredding {shredding})"""
    )
    return path


def by_polars(path: Path) -> Path:
    import polars as pl

    rows = pl.DataFrame(
        {
            "n": [1, None, 3],
            "u": pl.Series([1, 2**63, None], dtype=pl.UInt64),
            "s": ["a", None, "é"],
            "c": [dt.time(1, 2, 3), None, dt.time(0)],
            "t": [dt.datetime(2024, 1, 1), None, dt.datetime(1, 1, 1)],
            "d": [{"x": 1}, {"x": None}, None],
            "l": [[1, 2], [], None],
            "w": pl.Series(["x", "y", "x"], dtype=pl.Categorical),
        }
    )
    rows.write_parquet(path)
    return path


MAKERS: list[Callable[[Path], Path]] = [
    encoded("n", "PLAIN"),
    encoded("word", "PLAIN"),
    encoded("n", "DELTA_BINARY_PACKED"),
    encoded("word", "DELTA_LENGTH_BYTE_ARRAY"),
    encoded("word", "DELTA_BYTE_ARRAY"),
    encoded("fixed", "DELTA_BYTE_ARRAY"),
    encoded("yes", "RLE"),
    *(encoded(name, "BYTE_STREAM_SPLIT") for name in ("n", "real", "half", "price", "fixed")),
    with_empty_row_groups,
    without_row_groups,
    nested_nulls,
    deep_nesting,
    nan_in_statistics,
    by_duckdb,
    by_polars,
]
WAYS: dict[str, dict[str, Any]] = {
    **{codec: {"compression": codec} for codec in ("none", "snappy", "gzip", "brotli", "zstd", "lz4")},
    "v1 pages": {"data_page_version": "1.0", "data_page_size": 1, "write_batch_size": 1},
    "v2 pages": {"data_page_version": "2.0", "data_page_size": 1, "write_batch_size": 1},
    "version 1": {"version": "1.0"},
    "no statistics": {"write_statistics": False},
    "no statistics and no dictionaries": {"write_statistics": False, "use_dictionary": False},
    "page index": {"write_page_index": True},
    "checksums": {"write_page_checksum": True},
    "bare": {"store_schema": False},
}


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
def test_a_file_is_answered_as_pyarrow_reads_it(tmp_path: Path, make: Callable[[Path], Path]) -> None:
    assert problems(make(tmp_path / "made.parquet"), tmp_path, thorough=False) == []


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("way", WAYS)
def test_however_it_was_written_a_file_is_answered_alike(tmp_path: Path, way: str) -> None:
    few = MIXED.select(["n", "word", "real"])
    path = written(tmp_path / "made.parquet", few, row_group_size=4, **WAYS[way])
    assert problems(path, tmp_path, thorough=False) == []


@pytest.mark.slow
def test_a_shredded_variant_is_filtered_sorted_and_read_in_sql(tmp_path: Path) -> None:
    path = variants(tmp_path / "v.parquet")
    assert [field.name for field in open_dataset(path).schema.field("v").type] == [
        "metadata",
        "value",
        "typed_value",
    ]
    assert problems(path, tmp_path, [step for step in STEPS if step != "sql"]) == []
    rows = lamella.sql("select n, v, v::varchar as t from f order by n", {"f": path})
    assert rows["t"].to_pylist() == ["0", "x1", "2", "x3", "4", "x5"]
    assert [field.name for field in rows.schema.field("v").type] == ["metadata", "value"]


# --------------------------------------------------------------------- a corpus of others

CORPUS = os.environ.get("LAMELLA_CORPUS", "")
SUFFIXES = (".parquet", ".encrypted")
UNREADABLE_BY_DUCKDB = {"map_no_value.parquet": "MAP_KEY_VALUE requires two children"}
"""A map without values is a list for Arrow, and nothing for DuckDB, which then reads no column at all."""
REFUSED = {
    "datapage_v1-corrupt-checksum.parquet": "the checksum of a page differs",
    "rle-dict-uncompressed-corrupt-checksum.parquet": "the checksum of a page differs",
    "large_string_map.brotli.parquet": "holds more than 2 GB of text",
}
"""What is damaged on purpose, or too large, though pyarrow may read it."""


def corpus() -> list[Path]:
    return sorted(file for file in Path(CORPUS).rglob("*") if file.suffix in SUFFIXES) if CORPUS else []


def is_readable(path: Path) -> bool:
    try:
        with pq.ParquetFile(path) as file:
            file.read()
    except (OSError, pa.ArrowException):
        return False
    return True


def holds_variants(path: Path) -> bool:
    structs = [kind for kind in open_dataset(path).schema.types if pa.types.is_struct(kind)]
    return any(kind.num_fields and kind.field(0).name == "metadata" for kind in structs)


@pytest.mark.skipif(
    not CORPUS, reason="LAMELLA_CORPUS names no folder of Parquet files, such as parquet-testing"
)
@pytest.mark.parametrize("path", corpus(), ids=lambda path: path.name)
def test_a_file_of_the_corpus_is_answered_or_refused_in_words(path: Path, tmp_path: Path) -> None:
    if path.name in REFUSED:
        with pytest.raises(FileProblem, match=REFUSED[path.name]):
            open_dataset(path).read()
    elif not is_readable(path):
        said = refusals(path, tmp_path)
        assert said
        assert path.suffix != ".encrypted" or any("encrypted" in text for text in said)
    elif path.name in UNREADABLE_BY_DUCKDB:
        assert problems(path, tmp_path, ["page", "import"]) == []
        assert all(UNREADABLE_BY_DUCKDB[path.name] in text for text in refusals(path, tmp_path))
    elif holds_variants(path):
        assert problems(path, tmp_path, [step for step in STEPS if step != "sql"]) == []
        with contextlib.suppress(LamellaError):  # some DuckDB has no type for
            lamella.sql("select * from f", {"f": path})
    else:
        assert problems(path, tmp_path) == []


def test_geometries_are_their_bytes(tmp_path: Path) -> None:
    path = tmp_path / "places.parquet"
    points = "VALUES ('POINT (30 10)'::GEOMETRY, 1), (NULL, 2), ('LINESTRING (3 1, 1 3)'::GEOMETRY, 3)"
    duckdb.sql(f"COPY (SELECT * FROM ({points}) AS t(place, n)) TO '{path}'")
    assert open_dataset(path).schema.field("place").type == pa.binary()
    assert problems(path, tmp_path) == []
    answer = lamella.sql("SELECT octet_length(place) AS bytes FROM f ORDER BY n", {"f": path})
    assert answer.column("bytes").to_pylist() == [21, None, 41]
