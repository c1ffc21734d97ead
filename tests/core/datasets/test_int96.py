"""Times of 96 bits, as older programs write them: every reader gives the same time, or says what is lost."""

from __future__ import annotations

import datetime as dt
import struct
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lamella
from lamella import Store, agg, col, open_dataset
from lamella.core.errors import FileProblem
from lamella.core.query.scan_query import ScanQuery
from lamella.core.query.view import View
from lamella.core.scan import parquet_file as footers
from lamella.core.scan.snapshot import NOTE, SortKey
from lamella.core.scan.thrift import BINARY, Value
from lamella.core.store.importing import import_file
from tests.core.datasets.parquet_answers import NEAR, problems, times, written
from tests.core.datasets.parquet_footer import (
    CREATED_BY,
    read_footer,
    write_footer,
)

FAR = [dt.datetime(9999, 12, 31), None, dt.datetime(1, 1, 1, 0, 0, 0, 1), dt.datetime(2024, 1, 1)]


def everywhere(path: Path, column: str = "t") -> list[list]:
    """A column as a page, sorted, in SQL and imported."""
    dataset = open_dataset(path)
    ids = View(dataset.snapshot(), ScanQuery(sort=(SortKey(column),)))
    in_order = ids.page(0, 100)[column].to_pylist()
    with Store.open(path.parent / f"{path.stem}.store") as store:
        imported = import_file(path, store).read(columns=[column])[column].to_pylist()
    return [
        dataset.read()[column].to_pylist(),
        sorted((v for v in in_order if v is not None), key=in_order.index) and in_order,
        lamella.sql(f"select {column} from t", {"t": dataset})[column].to_pylist(),
        imported,
    ]


def test_int96_far_away_is_the_same_date_everywhere(tmp_path: Path) -> None:
    path = times(FAR, tmp_path / "far.parquet")
    dataset = open_dataset(path)
    assert dataset.schema.field("t").type == pa.timestamp("us")
    page, in_order, by_sql, imported = everywhere(path)
    assert page == by_sql == imported == FAR
    assert in_order == [FAR[2], FAR[3], FAR[0], None]
    profile = dataset.profile("t")
    assert (profile.min, profile.max, profile.nulls) == (FAR[2], FAR[0], 1)
    assert dataset.count(col("t") > dt.datetime(9000, 1, 1)) == 1
    assert View(dataset.snapshot(), ScanQuery(where=col("t") == FAR[0])).num_rows == 1
    assert problems(path, tmp_path) == []


def test_int96_near_by_stays_in_nanoseconds(tmp_path: Path) -> None:
    path = times(NEAR, tmp_path / "near.parquet")
    assert open_dataset(path).schema.field("t").type == pa.timestamp("ns")
    assert problems(path, tmp_path) == []


@pytest.mark.slow
def test_int96_keeps_its_nanoseconds_in_every_reader(tmp_path: Path) -> None:
    counts = [0, 1, None, 999, 1_000, -1, 10**18 + 7]
    rows = pa.table({"t": pa.array(counts, pa.timestamp("ns")), "n": range(7)})
    path = written(tmp_path / "t.parquet", rows, use_deprecated_int96_timestamps=True)
    dataset = open_dataset(path)
    answer = lamella.sql("select t from f where n in (1, 6) order by n", {"f": dataset})
    assert answer["t"].cast(pa.int64()).to_pylist() == [1, 10**18 + 7]
    view = View(dataset.snapshot(), ScanQuery(sort=(SortKey("t"),)))
    assert view.positions(0, 7).tolist() == [5, 0, 1, 3, 4, 6, 2]
    assert problems(path, tmp_path) == []


def test_int96_of_a_page_that_is_joined_keeps_its_nanoseconds(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("lamella.core.query.view.DECODED_CELLS", 0)
    rows = pa.table({"t": pa.array([1, 2, 3], pa.timestamp("ns"))})
    path = written(tmp_path / "t.parquet", rows, use_deprecated_int96_timestamps=True)
    assert View(open_dataset(path).snapshot()).page(1, 2)["t"].cast(pa.int64()).to_pylist() == [2, 3]


@pytest.mark.slow
@pytest.mark.parametrize("values", [NEAR, FAR])
def test_int96_inside_nested_columns(tmp_path: Path, values: list) -> None:
    moment = pa.timestamp("us")
    rows = pa.table(
        {
            "d": pa.array([{"t": v, "x": 1} for v in values], pa.struct([("t", moment), ("x", pa.int64())])),
            "l": pa.array([values, None, [], values[:1]], pa.list_(moment)),
            "m": pa.array([[("a", v)] for v in values], pa.map_(pa.string(), moment)),
            "with.point": pa.array(values, moment),
        }
    )
    path = written(tmp_path / "t.parquet", rows, use_deprecated_int96_timestamps=True)
    assert open_dataset(path).read()["d"].to_pylist() == rows["d"].to_pylist()
    assert problems(path, tmp_path) == []


def test_int96_of_several_files_is_in_microseconds_where_one_needs_them(tmp_path: Path) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    times(NEAR, folder / "1.parquet")
    times(FAR, folder / "2.parquet")
    times(NEAR, folder / "3.parquet")
    dataset = open_dataset(folder)
    assert dataset.schema.field("t").type == pa.timestamp("us")
    assert dataset.read()["t"].to_pylist() == [*NEAR, *FAR, *NEAR]
    assert lamella.sql("select t from f", {"f": dataset})["t"].to_pylist() == [*NEAR, *FAR, *NEAR]
    assert dataset.count(col("t") == NEAR[2]) == 2


def test_int96_that_no_unit_holds_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    times(FAR, folder / "1.parquet")
    rows = pa.table({"t": pa.array([1], pa.timestamp("ns"))})
    written(folder / "2.parquet", rows, use_deprecated_int96_timestamps=True)
    with pytest.raises(FileProblem, match=r"column 't' is timestamp\[ns\] here but timestamp\[us\] in"):
        open_dataset(folder)


def test_int96_of_many_rows_of_spark_is_not_decoded_to_tell_its_unit(tmp_path, monkeypatch) -> None:
    path = times(NEAR, tmp_path / "t.parquet")
    footer = read_footer(path)
    footer[CREATED_BY].content = b"parquet-mr version 1.13.1 (build db4183109d5b734ec5930d870cdae161e408ddba)"
    entry = {1: Value(BINARY, b"org.apache.spark.version"), 2: Value(BINARY, b"3.4.3")}
    footer[5].content.append(entry)
    write_footer(path, footer)
    assert open_dataset(path).schema.field("t").type == pa.timestamp("ns")
    monkeypatch.setattr(footers, "MOST_SPARK_ROWS", 3)
    monkeypatch.setattr(footers, "_footers", {True: {}, False: {}})
    monkeypatch.setattr(footers.Footer, "_measured_int96", lambda *_: pytest.fail("decoded"))
    assert open_dataset(path).schema.field("t").type == pa.timestamp("us")
    assert open_dataset(path).read()["t"].to_pylist() == NEAR


def with_int96(path: Path, values: list[tuple[int, int]], **more: list) -> Path:
    """Times of 96 bits as they are stored, in a column `t`: the nanoseconds of a day, and the Julian day."""
    near = [dt.datetime(2000, 1, 1) + dt.timedelta(days=place) for place in range(len(values))]
    columns = {"t": pa.array(near, pa.timestamp("us")), **more}
    plain = {"compression": "none", "use_dictionary": False, "write_statistics": False}
    written(path, pa.table(columns), use_deprecated_int96_timestamps=True, **plain)
    content = path.read_bytes()
    for place, (nanoseconds, day) in enumerate(values):
        before = struct.pack("<QI", 0, 2451545 + place)
        assert content.count(before) == 1
        content = content.replace(before, struct.pack("<QI", nanoseconds, day))
    path.write_bytes(content)
    return path


def test_int96_whose_nanoseconds_are_cut_off_says_so_on_the_column(tmp_path: Path) -> None:
    day = 2451545
    path = with_int96(tmp_path / "t.parquet", [(1_001, day), (5_000, 5373484)], n=[1, 2])
    dataset = open_dataset(path)
    assert dataset.schema.field("t").type == pa.timestamp("us")
    assert dataset.schema.field("t").metadata[NOTE].startswith(b"Some times of this column had nanoseconds")
    assert dataset.schema.field("n").metadata is None
    assert dataset.read()["t"].to_pylist() == [
        dt.datetime(2000, 1, 1, 0, 0, 0, 1),
        dt.datetime(9999, 12, 31, 0, 0, 0, 5),
    ]
    whole = with_int96(tmp_path / "whole.parquet", [(1_000, day), (5_000, 5373484)])
    assert open_dataset(whole).schema.field("t").metadata is None
    near = with_int96(tmp_path / "near.parquet", [(1_001, day), (5_000, day)])
    assert open_dataset(near).schema.field("t").metadata is None


def test_a_note_on_a_column_follows_it_through_a_query(tmp_path: Path) -> None:
    path = with_int96(tmp_path / "t.parquet", [(1_001, 2_451_545), (5_000, 5_373_484)], n=[1, 2])
    dataset = open_dataset(path)
    steps = [
        dataset.where(col("n") > 0),
        dataset.select(["t", "n"]).sort("-t").limit(1),
        dataset.compute(m=col("n") * 2).where(col("m") > 2),
        dataset.group_by("t").agg(n=agg.count()),
        dataset.join(dataset.select(["t"]), on="t"),
    ]
    for step in steps:
        assert step.schema.field("t").metadata == dataset.schema.field("t").metadata
        assert step.schema.field("n").metadata is None


def test_a_note_on_a_column_is_one_on_the_fields_inside(tmp_path: Path) -> None:
    note = {"note": "as it was heard"}
    inside = pa.table({"d": pa.array([{"t": 1, "x": {"y": 2}}])})
    with Store.open(tmp_path / "s") as store:
        table = store.create_table("t", inside)
        table.columns.set_metadata("d", note)
        for path in ("d.t", "d.x", "d.x.y"):
            schema = View(table.snapshot(), ScanQuery(columns=(path,))).schema
            assert schema.field(path).metadata == {NOTE: b"as it was heard"}
            grouped = table.group_by(path).agg(n=agg.count()).schema
            assert grouped.field(0).metadata == {NOTE: b"as it was heard"}


@pytest.mark.parametrize("value", [(0, 2**32 - 1), (0, 2**31 - 1)])
def test_int96_that_is_no_time_says_so_on_the_column(tmp_path: Path, value: tuple[int, int]) -> None:
    path = with_int96(tmp_path / "t.parquet", [(0, 2451545), value], n=[1, 2])
    dataset = open_dataset(path)
    assert b"more than 292,000 years away" in dataset.schema.field("t").metadata[NOTE]
    assert dataset.read(columns=["n"])["n"].to_pylist() == [1, 2]
    in_sql = lamella.sql("select t from f", {"f": dataset})["t"].cast(pa.int64())
    assert dataset.read()["t"].cast(pa.int64()).equals(in_sql)


@pytest.mark.slow(except_every=3)
@pytest.mark.parametrize(
    "value",
    [
        (2**63 + 192, 2_440_588),  # whole microseconds, negative where the number is signed
        (2**63 + 192, 2_334_588),  # within the reach of nanoseconds to who takes it for positive
        (2**64 - 616, 2_440_588),
        (2**64 - 1_000, 2_440_598),
        (0, 0),
        (5_000, 0),
        (0, 1),
        (0, 200_000_000),
        (3 * 86_400 * 10**9, 2_440_588),
    ],
)
def test_int96_of_no_time_of_day_is_the_same_in_every_reader(tmp_path: Path, value: tuple[int, int]) -> None:
    """Arrow and DuckDB differ on nanoseconds from 2^63 on, and on day 0."""
    path = with_int96(tmp_path / "t.parquet", [value, (0, 2_451_545)], n=[1, 2])
    dataset = open_dataset(path)
    values = dataset.read()["t"]
    counts = values.cast(pa.int64())
    assert lamella.sql("select t from f", {"f": dataset})["t"].cast(pa.int64()).equals(counts)
    in_order = View(dataset.snapshot(), ScanQuery(sort=(SortKey("t"),))).page(0, 2)["t"].cast(pa.int64())
    assert in_order.to_pylist() == sorted(counts.to_pylist())
    assert dataset.profile("t").distinct == 2
    condition = col("t") > dt.datetime(1999, 12, 31)
    in_sql = lamella.sql("select count(*) as n from f where t > timestamp '1999-12-31'", {"f": dataset})
    assert dataset.count(condition) == in_sql["n"][0].as_py()
    assert View(dataset.snapshot(), ScanQuery(where=condition)).num_rows == in_sql["n"][0].as_py()


def test_int96_of_no_time_of_day_inside_a_struct_is_the_same_in_every_reader(tmp_path: Path) -> None:
    near = pa.array([dt.datetime(2000, 1, 1), dt.datetime(2000, 1, 2)], pa.timestamp("us"))
    rows = pa.table({"d": pa.StructArray.from_arrays([near, pa.array([1, 2])], ["t", "x"])})
    plain = {"compression": "none", "use_dictionary": False, "write_statistics": False}
    path = written(tmp_path / "t.parquet", rows, use_deprecated_int96_timestamps=True, **plain)
    content = path.read_bytes()
    path.write_bytes(content.replace(struct.pack("<QI", 0, 2_451_545), struct.pack("<QI", 0, 0)))
    dataset = open_dataset(path)
    counted = lamella.sql("select count(*) as n from f where d.t < timestamp '1900-01-01'", {"f": dataset})
    assert counted["n"].to_pylist() == [0]
    assert dataset.count("d.t < '1900-01-01'") == 0
    assert lamella.sql("select d from f", {"f": dataset})["d"].to_pylist() == dataset.read()["d"].to_pylist()


def test_a_damaged_column_of_int96_leaves_the_others_readable(tmp_path: Path) -> None:
    rows = pa.table({"n": [1, 2], "t": pa.array(NEAR[:2], pa.timestamp("us"))})
    path = written(tmp_path / "t.parquet", rows, use_deprecated_int96_timestamps=True, compression="gzip")
    content = bytearray(path.read_bytes())
    chunk = pq.ParquetFile(path).metadata.row_group(0).column(1)
    content[chunk.dictionary_page_offset : chunk.data_page_offset + 8] = b"\xff" * (
        chunk.data_page_offset + 8 - chunk.dictionary_page_offset
    )
    path.write_bytes(content)
    dataset = open_dataset(path)
    assert dataset.read(columns=["n"])["n"].to_pylist() == [1, 2]
    for ask in (
        lambda: dataset.read(columns=["t"]),
        lambda: lamella.sql("select t from f", {"f": dataset}),
        lambda: dataset.profile("t"),
    ):
        with pytest.raises(FileProblem, match="could not be read"):
            ask()
