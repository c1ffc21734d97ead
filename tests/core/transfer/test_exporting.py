"""An exported file is plain, whole or absent, and opens and imports as the same rows."""

from __future__ import annotations

import datetime as dt
import json
import os
import sys
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from lamella import Store, col, open_dataset
from lamella.core.errors import BadData, Cancelled, FileProblem, TypeConflict, UnknownColumn
from lamella.core.jobs import Job
from lamella.core.query.scan_query import ScanQuery
from lamella.core.query.view import View
from lamella.core.scan.snapshot import SortKey
from lamella.core.store.importing import import_file
from lamella.core.transfer.exporting import ExportOptions, UnknownFormat, export
from tests.mounts import seen_read_only

ROWS = 250


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "store") as opened:
        yield opened


@pytest.fixture
def table(store: Store) -> Any:
    table_ = store.create_table(
        "flights",
        pa.table(
            {
                "n": pa.array(range(ROWS)),
                "carrier": ["AA", "U/A=1", None, "ö %", ""] * (ROWS // 5),
                "day": pa.array([dt.date(2013, 1, 1 + i % 3) for i in range(ROWS)]),
                "price": pa.array([Decimal(i) / 4 for i in range(ROWS)], pa.decimal128(9, 2)),
                "at": pa.array(range(ROWS), pa.timestamp("us", "Europe/Berlin")),
                "x": pa.array([float("nan") if i % 7 == 0 else i / 2 for i in range(ROWS)]),
            }
        ),
    )
    table_.update([{"_id": 1, "n": 1_000}])
    table_.delete(ids=[2])
    return table_


def rows(data: Any, sort: str = "n") -> list[dict]:
    whole_table = data if isinstance(data, pa.Table) else data.read()
    without_ids = whole_table.select([name for name in whole_table.column_names if name != "_id"])
    return sorted(without_ids.to_pylist(), key=lambda row: row[sort])


def same(a: list[dict], b: list[dict]) -> bool:
    return [{k: str(v) for k, v in row.items()} for row in a] == [
        {k: str(row[k]) for k in row_expected} for row, row_expected in zip(b, a, strict=True)
    ]


def test_a_parquet_file_has_the_rows_types_and_notes_and_imports_again(
    store: Store, table: Any, tmp_path: Path
) -> None:
    table.set_metadata({"source": "here", "pandas": "{}"})
    table.columns.set_metadata("price", {"unit": "EUR"})
    result = table.export(tmp_path / "out.parquet")
    assert (result.rows, result.files, result.bytes) == (249, 1, (tmp_path / "out.parquet").stat().st_size)
    exported = pq.ParquetFile(tmp_path / "out.parquet").read()
    assert same(rows(exported), rows(table))
    assert exported.schema.names == ["n", "carrier", "day", "price", "at", "x"]
    assert exported.schema.types == table.schema.types[1:]
    assert exported.schema.metadata == {b"source": b"here"}
    assert exported.schema.field("price").metadata[b"unit"] == b"EUR"
    assert same(rows(import_file(tmp_path / "out.parquet", store)), rows(table))


def test_columns_rows_and_ids_can_be_chosen(table: Any, tmp_path: Path) -> None:
    out = tmp_path / "out.parquet"
    table.export(out, columns=["day", "n"], where=col("n") < 10, include_ids=True)
    exported = pq.ParquetFile(out).read()
    assert exported.column_names == ["_id", "day", "n"]
    assert exported.column("n").to_pylist() == [0, 3, 4, 5, 6, 7, 8, 9]
    assert exported.column("_id").to_pylist() == exported.column("n").to_pylist()


def test_the_codec_and_the_row_groups_of_parquet_can_be_chosen(table: Any, tmp_path: Path) -> None:
    table.export(tmp_path / "out.parquet", codec="snappy", row_group_rows=100)
    file = pq.ParquetFile(tmp_path / "out.parquet")
    assert [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)] == [100, 100, 49]
    assert file.metadata.row_group(0).column(0).compression == "SNAPPY"
    table.export(tmp_path / "by", codec="gzip", partition_by=["day"])
    part = pq.ParquetFile(tmp_path / "by" / "day=2013-01-01" / "part-0.parquet")
    assert part.metadata.row_group(0).column(0).compression == "GZIP"
    with pytest.raises(BadData, match="codec cannot be 'zip'"):
        table.export(tmp_path / "no.parquet", codec="zip")
    with pytest.raises(BadData, match="row_group_rows cannot be 0"):
        table.export(tmp_path / "no.parquet", row_group_rows=0)


def test_an_export_can_be_sorted(table: Any, tmp_path: Path) -> None:
    table.export(tmp_path / "out.csv", columns=["carrier"], sort=["-day", "n"], where=col("n") > 240)
    expected = table.read(["carrier"], col("n") > 240, ["-day", "n"])["carrier"].to_pylist()
    assert open_dataset(tmp_path / "out.csv").read()["carrier"].to_pylist() == expected


def test_a_partitioned_folder_opens_again_here_and_elsewhere(
    store: Store, table: Any, tmp_path: Path
) -> None:
    result = table.export(tmp_path / "out", partition_by=["carrier", "day"])
    assert (result.rows, result.files) == (249, 15)
    assert (tmp_path / "out" / "carrier=U%2FA%3D1" / "day=2013-01-02" / "part-0.parquet").is_file()
    assert (tmp_path / "out" / "carrier=__HIVE_DEFAULT_PARTITION__").is_dir()
    opened = open_dataset(tmp_path / "out")
    assert opened.schema.names == ["n", "price", "at", "x", "carrier", "day"]
    assert opened.schema.field("day").type == pa.date32()
    assert same(rows(table), rows(opened))
    assert opened.count(col("carrier") == "U/A=1") == table.count(col("carrier") == "U/A=1")
    assert opened.count(col("carrier").is_null()) == table.count(col("carrier").is_null())
    assert opened.count(col("day") > dt.date(2013, 1, 1)) == table.count(col("day") > dt.date(2013, 1, 1))
    actual = opened.read(where=(col("carrier") == "") & (col("day") == dt.date(2013, 1, 2)), sort=["-n"])
    expected = table.read(where=(col("carrier") == "") & (col("day") == dt.date(2013, 1, 2)), sort=["-n"])
    assert actual["n"].to_pylist() == expected["n"].to_pylist()
    assert set(actual["carrier"].to_pylist()) == {""}
    page = View(opened.snapshot(), ScanQuery(sort=(SortKey("day", descending=True),))).page(0, 3)
    assert page["day"].to_pylist() == [dt.date(2013, 1, 3)] * 3
    assert same(rows(table), rows(import_file(tmp_path / "out", store, "again")))
    partitioned = ds.dataset(tmp_path / "out", partitioning="hive").to_table()
    assert sorted(partitioned["n"].to_pylist()) == sorted(table.read()["n"].to_pylist())
    with duckdb.connect() as connection:
        pattern = f"{tmp_path}/out/**/*.parquet"
        listed = connection.sql(
            "select carrier, count(*) c from read_parquet(?) group by 1", params=[pattern]
        )
        counts = dict(listed.fetchall())
    assert counts["U/A=1"] == counts["ö %"] == 50
    assert counts[None] == 49


def test_rows_of_a_file_that_are_all_deleted_make_no_partition(store: Store, tmp_path: Path) -> None:
    table = store.create_table("t", {"n": range(100), "k": ["x", "y"] * 50})
    table.insert({"n": range(100, 200), "k": ["y", "z"] * 50})
    table.delete(where="n < 100")
    assert table.export(tmp_path / "out", partition_by=["k"]).rows == 100
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["k=y", "k=z"]
    assert table.export(tmp_path / "out.parquet").rows == 100


@pytest.mark.slow
def test_partitions_of_numbers_and_truths_and_of_many_values(store: Store, tmp_path: Path) -> None:
    data = pa.table(
        {"k": pa.array([i % 300 for i in range(3_000)]), "late": [True, False] * 1_500, "n": range(3_000)}
    )
    table = store.create_table("t", data)
    result = table.export(tmp_path / "out", partition_by=["k"])
    assert result.files == 300
    opened = open_dataset(tmp_path / "out")
    assert opened.schema.field("k").type == pa.int64()
    assert opened.read(where=col("k") == 7, sort=["n"])["n"].to_pylist() == list(range(7, 3_000, 300))
    assert opened.num_rows == 3_000
    table.export(tmp_path / "truths", partition_by=["late"])
    assert open_dataset(tmp_path / "truths").count(col("late") == True) == 1_500  # noqa: E712
    wide = store.create_table("wide", pa.table({"k": range(20_001), "n": range(20_001)}))
    with pytest.raises(BadData, match="more than 10,000 folders"):
        wide.export(tmp_path / "wide", partition_by=["k"])
    assert not (tmp_path / "wide").exists()


def test_an_empty_table_exports_to_what_opens_again(store: Store, tmp_path: Path) -> None:
    table = store.create_table("t", pa.table({"a": pa.array([], pa.int64()), "b": pa.array([], pa.string())}))
    table.export(tmp_path / "out.parquet")
    table.export(tmp_path / "folder", partition_by=["a"])
    assert open_dataset(tmp_path / "out.parquet").schema.names == ["a", "b"]
    assert open_dataset(tmp_path / "folder").num_rows == 0


@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
def test_delimited_text_imports_again(store: Store, table: Any, tmp_path: Path, suffix: str) -> None:
    table.columns.drop("x")
    table.export(tmp_path / f"out{suffix}")
    header = (tmp_path / f"out{suffix}").read_text().splitlines()[0]
    assert header.replace('"', "").replace("\t", ",") == "n,carrier,day,price,at"
    again = rows(import_file(tmp_path / f"out{suffix}", store, "again"))
    assert [(r["n"], r["carrier"], r["day"]) for r in again] == [
        (r["n"], r["carrier"], r["day"]) for r in rows(table)
    ]
    assert [float(r["price"]) for r in again] == [float(r["price"]) for r in rows(table)]


def test_json_lines_keep_nested_values_and_import_again(store: Store, tmp_path: Path) -> None:
    documents = [
        {"n": i, "place": {"lat": i / 2, "tags": ["a", None]}, "x": None if i else 1.5} for i in range(20)
    ]
    table = store.create_table("t", documents)
    table.export(tmp_path / "out.jsonl")
    lines = (tmp_path / "out.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == documents
    assert rows(import_file(tmp_path / "out.jsonl", store, "again")) == documents
    table.export(tmp_path / "out.csv")
    text = (tmp_path / "out.csv").read_text().splitlines()[1]
    assert '""lat"": 0.0' in text
    odd = store.create_table("odd", [{"x": float("nan"), "b": b"\x00\xff"}])
    odd.export(tmp_path / "odd.jsonl")
    assert json.loads((tmp_path / "odd.jsonl").read_text()) == {"x": "nan", "b": "00ff"}


def test_files_in_place_are_exported_too(table: Any, tmp_path: Path) -> None:
    table.export(tmp_path / "a.parquet")
    result = export(open_dataset(tmp_path / "a.parquet"), tmp_path / "b.csv", ExportOptions(columns=["n"]))
    assert result.rows == 249
    assert len((tmp_path / "b.csv").read_text().splitlines()) == 250


def test_where_nothing_can_be_written_the_reason_is_told(table: Any, tmp_path: Path) -> None:
    with seen_read_only(tmp_path) as place:
        for name, by in (("a.parquet", []), ("a.csv", []), ("a.jsonl", []), ("a", ["day"])):
            with pytest.raises(FileProblem, match=r"could not be written.* Choose another folder"):
                table.export(place / name, partition_by=by)


def test_devices_and_the_folders_of_others_are_never_replaced(table: Any, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(FileProblem, match="is not a file"):
        table.export(tmp_path / "pipe.csv", overwrite=True)
    assert (tmp_path / "pipe.csv").is_fifo()
    (tmp_path / "theirs").mkdir()
    pq.write_table(pa.table({"a": [1]}), tmp_path / "theirs" / "a.parquet")
    with pytest.raises(FileProblem, match="other files"):
        table.export(tmp_path / "theirs", partition_by=["day"], overwrite=True)
    assert pq.ParquetFile(tmp_path / "theirs" / "a.parquet").read().to_pydict() == {"a": [1]}


def test_what_is_there_is_left_alone_unless_it_is_to_be_overwritten(table: Any, tmp_path: Path) -> None:
    out, folder = tmp_path / "out.parquet", tmp_path / "folder"
    out.write_text("precious")
    with pytest.raises(FileProblem, match="is there already"):
        table.export(out)
    assert out.read_text() == "precious"
    table.export(out, overwrite=True)
    assert open_dataset(out).num_rows == 249
    table.export(folder, partition_by=["carrier"])
    with pytest.raises(FileProblem, match="is there already"):
        table.export(folder, partition_by=["day"])
    table.export(folder, partition_by=["day"], overwrite=True)
    assert {p.name for p in folder.iterdir()} == {f"day=2013-01-0{i}" for i in (1, 2, 3)}
    (folder / "notes.txt").write_text("mine")
    with pytest.raises(FileProblem, match="other files"):
        table.export(folder, partition_by=["day"], overwrite=True)
    assert (folder / "notes.txt").read_text() == "mine"


class StopsLate(Job):
    """Cancelled once rows are being written."""

    def report(self, position: int, total: int | None = None, text: str = "") -> None:
        if "rows" in text:
            self.cancel()
        super().report(position, total, text)


@pytest.mark.parametrize("partition_by", [[], ["carrier"]])
def test_a_stopped_or_failed_export_leaves_nothing(
    table: Any, tmp_path: Path, partition_by: list[str]
) -> None:
    before = set(tmp_path.iterdir())
    with pytest.raises(Cancelled):
        table.export(tmp_path / "out.parquet", StopsLate(), partition_by=partition_by)
    assert set(tmp_path.iterdir()) == before
    if sys.platform == "linux":
        with pytest.raises(FileProblem):
            table.export(Path("/proc/out.parquet"), partition_by=partition_by)


def test_exports_that_cannot_be_meant_are_refused(table: Any, tmp_path: Path) -> None:
    table.columns.add("raw", bytes, default=b"x")
    before = set(tmp_path.iterdir())
    for path, options, error, said in [
        ("out.xyz", {}, FileProblem, "names no format"),
        ("out", {}, FileProblem, "names no format"),
        ("out", {"format": "parket"}, UnknownFormat, "Did you mean 'parquet'"),
        ("out.csv", {"columns": ["carier"]}, UnknownColumn, "Did you mean 'carrier'"),
        ("out", {"partition_by": ["carier"]}, UnknownColumn, "Did you mean 'carrier'"),
        ("out", {"partition_by": ["day"], "columns": ["n"]}, BadData, "is not exported"),
        ("out", {"partition_by": ["day"], "columns": ["day"]}, BadData, "no column is left"),
        (
            "out",
            {"partition_by": ["raw"]},
            TypeConflict,
            "column 'raw' of type binary cannot be used for names of folders",
        ),
        ("out", {"partition_by": ["day"], "format": "csv"}, BadData, "only Parquet"),
        ("nowhere/out.csv", {}, FileProblem, "There is no folder"),
    ]:
        with pytest.raises(error, match=said):
            table.export(tmp_path / path, **options)
    assert set(tmp_path.iterdir()) == before


def test_times_beyond_the_year_9999_are_written_as_text_too(store: Store, tmp_path: Path) -> None:
    far = pa.array([253_402_300_800_000, 0], pa.timestamp("ms"))
    table = store.create_table("far", {"at": far, "in": pa.StructArray.from_arrays([far], names=["x"])})
    table.export(tmp_path / "far.jsonl")
    table.export(tmp_path / "far.csv")
    first, second = map(json.loads, (tmp_path / "far.jsonl").read_text().splitlines())
    assert first == {"at": "10000-01-01 00:00:00.000", "in": {"x": "10000-01-01T00:00:00.000"}}
    assert second["at"] == "1970-01-01 00:00:00.000"
    assert '{""x"": ""10000-01-01T00:00:00.000""}' in (tmp_path / "far.csv").read_text()


BERLIN = dt.timezone(dt.timedelta(hours=1))
FOLDER_VALUES = [
    (pa.float64(), [0.1, -1.5e300, float("inf")]),
    (pa.float32(), [0.5, 1e-7]),
    (pa.bool_(), [True, False]),
    (pa.decimal128(9, 2), [Decimal("1.50"), Decimal("-0.25")]),
    (pa.timestamp("us", "Europe/Berlin"), [dt.datetime(2013, 1, 1, 9, 30, 0, 7, BERLIN)]),
    (pa.timestamp("ms", "Europe/Berlin"), [dt.datetime(1850, 1, 1, 9, 30, tzinfo=dt.UTC)]),
    (pa.timestamp("ms"), [dt.datetime(2013, 1, 1, 9, 30, 0, 7_000), dt.datetime(2013, 1, 1)]),
    (pa.time64("us"), [dt.time(9, 30), dt.time(9, 30, 0, 7)]),
    (pa.string(), ["007", "12", "2013-01-01", "true", ""]),
    (pa.date32(), [dt.date(2013, 1, 1)]),
    (pa.uint8(), [7, 255]),
]


@pytest.mark.slow(except_every=3)
@pytest.mark.parametrize(("kind", "values"), FOLDER_VALUES, ids=[str(kind) for kind, _ in FOLDER_VALUES])
def test_a_partitioned_folder_opens_with_the_types_it_was_exported_with(
    store: Store, tmp_path: Path, kind: pa.DataType, values: list[Any]
) -> None:
    data = pa.table({"k": pa.array([*values, None], kind), "n": range(len(values) + 1)})
    store.create_table("t", data).export(tmp_path / "out", partition_by=["k"])
    opened = open_dataset(tmp_path / "out")
    assert opened.schema.field("k").type == kind
    assert opened.read(["k"], sort=["n"])["k"].combine_chunks().equals(data["k"].combine_chunks())
    assert opened.count(col("k").is_null()) == 1


def test_folders_of_others_among_exported_ones_are_read_as_what_all_of_them_hold(
    store: Store, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    store.create_table("t", pa.table({"k": [0.5], "n": [1]})).export(out, partition_by=["k"])
    (out / "k=none").mkdir()
    (out / "k=none" / "part-0.parquet").write_bytes((out / "k=0.5" / "part-0.parquet").read_bytes())
    assert sorted(open_dataset(out).read()["k"].to_pylist()) == ["0.5", "none"]
    pq.write_table(pa.table({"n": [2]}), out / "k=none" / "part-0.parquet")
    assert sorted(open_dataset(out).read()["k"].to_pylist()) == ["0.5", "none"]


@pytest.mark.parametrize("suffix", ["jsonl", "csv"])
def test_dicts_of_varying_keys_are_exported_whole(store: Store, tmp_path: Path, suffix: str) -> None:
    documents = [{"x": 1, "y": "s"}, {"x": "t", "y": "u"}, {"y": "v"}]
    documents_table = store.create_table("documents", [{"d": document} for document in documents])
    documents_table.export(tmp_path / f"d.{suffix}")
    lines = (tmp_path / f"d.{suffix}").read_text().splitlines()
    texts = [json.loads(line)["d"] for line in lines] if suffix == "jsonl" else lines[1:]
    actual = [json.loads(t.strip('"').replace('""', '"')) if suffix == "csv" else t for t in texts]
    assert actual == documents


def test_a_field_that_others_called_like_the_rest_is_exported_as_it_is(tmp_path: Path) -> None:
    pq.write_table(pa.table({"d": [{"_rest": "mine", "x": 1}]}), tmp_path / "others.parquet")
    export(open_dataset(tmp_path / "others.parquet"), tmp_path / "d.jsonl")
    assert json.loads((tmp_path / "d.jsonl").read_text()) == {"d": {"_rest": "mine", "x": 1}}


@pytest.mark.parametrize(
    "far", [pa.array([0, 9 * 10**18], pa.timestamp("us")), pa.array([2**31 - 1], pa.date32())]
)
def test_far_times_name_no_folders(tmp_path: Path, far: pa.Array) -> None:
    with Store.open(tmp_path / "s") as store:
        table = store.create_table("t", {"at": far, "n": list(range(len(far)))})
        with pytest.raises(BadData, match="column 'at' holds times that cannot be names of folders"):
            table.export(tmp_path / "out", partition_by=["at"])
        assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("options", [ExportOptions(partition_by=("s",)), ExportOptions(format="jsonl")])
def test_text_that_is_not_utf8_is_refused_in_words(tmp_path: Path, options: ExportOptions) -> None:
    texts = pa.array([b"ab\xff"]).view(pa.string())
    pq.write_table(pa.table({"s": texts, "n": [1]}), tmp_path / "t.parquet")
    with pytest.raises(BadData, match="is not UTF-8"):
        export(open_dataset(tmp_path / "t.parquet"), tmp_path / "out", options)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("format", ["csv", "jsonl", "markdown", "html", "excel", "sqlite"])
def test_text_that_is_not_utf8_is_refused_by_its_column(tmp_path: Path, format: str) -> None:
    texts = pa.array([b"ab\xff"]).view(pa.string())
    pq.write_table(pa.table({"s": texts, "n": [1]}), tmp_path / "t.parquet")
    with pytest.raises(BadData, match="column 's': a text is not UTF-8"):
        export(open_dataset(tmp_path / "t.parquet"), tmp_path / "out", format=format)
