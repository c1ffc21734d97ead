"""Delta tables published: read by other programs, each export a version, and never half of one."""

from __future__ import annotations

import datetime as dt
import json
import subprocess
import sys
from collections.abc import Iterator
from decimal import Decimal
from importlib.util import find_spec
from pathlib import Path

import duckdb
import polars as pl
import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from lamella import Store, export, open_dataset
from lamella.core.errors import BadData, Cancelled, FileProblem, TypeConflict
from lamella.core.jobs import Job
from lamella.core.transfer import delta
from lamella.core.transfer.exporting import Destination
from lamella.core.transfer.writer import Rows

ROWS = pa.table({"n": [1, 2, 3], "word": ["a", None, "c"], "x": [0.5, float("nan"), None]})
NOON = dt.datetime(2026, 1, 2, 12, 0, 0, 5)


def write(path: Path, table: pa.Table = ROWS, **values: object) -> None:
    Destination.of(path, "delta", values).write(Rows(table.schema, iter([table]), len(table), "rows"), Job())


def everything(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_table_of_a_store_is_read_by_other_programs(tmp_path: Path) -> None:
    with Store.open(tmp_path / "shop") as store:
        table = store.create_table("orders", ROWS)
        table.update([{"_id": 1, "word": "b"}])
        export_ = export(table, tmp_path / "orders.delta")
        expected = table.read(["n", "word"]).to_pylist()
    assert (export_.rows, export_.files) == (3, 2)
    assert pl.read_delta(str(export_.path)).select("n", "word").to_dicts() == expected
    assert DeltaTable(export_.path).to_pyarrow_table().select(["n", "word"]).to_pylist() == expected
    files = DeltaTable(export_.path).file_uris()
    assert sorted(duckdb.read_parquet(files).project("n, word").fetchall()) == [(1, "a"), (2, "b"), (3, "c")]
    assert open_dataset(export_.path).read(["n", "word"]).to_pylist() == expected


def test_every_type_comes_back_as_the_page_says(tmp_path: Path) -> None:
    zoned = pa.timestamp("ns", "Europe/Berlin")
    stored = {
        "null": (pa.nulls(1), pa.string(), None),
        "bool": (pa.array([True]), pa.bool_(), True),
        "u8": (pa.array([255], pa.uint8()), pa.int16(), 255),
        "u16": (pa.array([2**16 - 1], pa.uint16()), pa.int32(), 2**16 - 1),
        "u32": (pa.array([2**32 - 1], pa.uint32()), pa.int64(), 2**32 - 1),
        "u64": (pa.array([2**64 - 1], pa.uint64()), pa.decimal128(20, 0), Decimal(2**64 - 1)),
        "i8": (pa.array([-128], pa.int8()), pa.int8(), -128),
        "f16": (pa.array([1.5], pa.float32()).cast(pa.float16()), pa.float32(), 1.5),
        "decimal": (pa.array([Decimal("1.50")], pa.decimal128(38, 2)), pa.decimal128(38, 2), Decimal("1.50")),
        "small": (pa.array([Decimal("1.5")], pa.decimal32(4, 1)), pa.decimal128(4, 1), Decimal("1.5")),
        "word": (pa.array(["é"]).dictionary_encode(), pa.string(), "é"),
        "view": (pa.array(["é"], pa.string_view()), pa.string(), "é"),
        "bytes": (pa.array([b"ab"], pa.binary(2)), pa.binary(), b"ab"),
        "day": (pa.array([dt.date(1, 1, 1)], pa.date64()), pa.date32(), dt.date(1, 1, 1)),
        "second": (pa.array([NOON.replace(microsecond=0)], pa.timestamp("s")), pa.timestamp("us"),
                   NOON.replace(microsecond=0)),
        "nano": (pa.array([1_000_000_001], pa.timestamp("ns")), pa.timestamp("us"),
                 dt.datetime(1970, 1, 1, 0, 0, 1)),
        "zoned": (pa.array([NOON], pa.timestamp("us", "UTC")).cast(zoned), pa.timestamp("us", "UTC"),
                  NOON.replace(tzinfo=dt.UTC)),
        "list": (pa.array([[1, None]], pa.large_list(pa.uint8())), pa.list_(pa.int16()), [1, None]),
        "fixed": (pa.array([[1, 2]], pa.list_(pa.int64(), 2)), pa.list_(pa.int64()), [1, 2]),
        "struct": (pa.array([{"a": {"b": 1}}]), pa.struct({"a": pa.struct({"b": pa.int64()})}),
                   {"a": {"b": 1}}),
        "map": (pa.array([[("k", 1.0)]], pa.map_(pa.string(), pa.float64())),
                pa.map_(pa.string(), pa.float64()), [("k", 1.0)]),
    }  # fmt: skip
    table = pa.table({name: values for name, (values, _, _) in stored.items()})
    write(tmp_path / "t", table)
    back = open_dataset(tmp_path / "t")
    assert {f.name: str(f.type) for f in back.schema if not pa.types.is_nested(f.type)} == {
        name: str(kind) for name, (_, kind, _) in stored.items() if not pa.types.is_nested(kind)
    }
    assert back.read().to_pylist() == [{name: value for name, (_, _, value) in stored.items()}]
    assert pl.read_delta(str(tmp_path / "t")).height == 1


@pytest.mark.parametrize("kind", [pa.time64("us"), pa.duration("s"), pa.list_(pa.time32("s"))])
def test_types_that_it_lacks_are_refused_before_anything_is_written(
    kind: pa.DataType, tmp_path: Path
) -> None:
    with pytest.raises(TypeConflict, match=r"column 'odd' of type .* cannot be exported to Delta Lake"):
        write(tmp_path / "t", pa.table({"odd": pa.nulls(1, kind)}))
    with pytest.raises(TypeConflict, match="Its decimal numbers have at most 38 digits"):
        write(tmp_path / "t", pa.table({"odd": pa.nulls(1, pa.decimal256(50, 1))}))
    assert list(tmp_path.iterdir()) == []


def test_each_export_into_a_table_is_a_version_of_it(tmp_path: Path) -> None:
    path = tmp_path / "t"
    write(path)
    write(path, ROWS.slice(0, 1), mode="append")
    write(path, pa.table({"other": [7]}), mode="replace")
    assert [version.operation for version in open_dataset(path).versions()] == [
        "WRITE Overwrite", "WRITE Append", "WRITE ErrorIfExists",
    ]  # fmt: skip
    assert [open_dataset(path, version=n).num_rows for n in range(3)] == [3, 4, 1]
    assert pl.read_delta(str(path)).to_dicts() == [{"other": 7}]
    assert not list(path.glob("_staging*"))


def test_rows_stay_in_order(tmp_path: Path) -> None:
    numbers = pa.table({"n": range(250_000)})
    write(tmp_path / "t", numbers, row_group_rows=10_000)
    write(tmp_path / "t", numbers, mode="append")
    assert open_dataset(tmp_path / "t").read()["n"].to_pylist() == [*range(250_000)] * 2


def test_partitions_are_written_and_kept(tmp_path: Path) -> None:
    rows = pa.table({"k": ["a b/é=%", None, "x"], "day": [dt.date(2026, 1, 1)] * 3, "n": [1, 2, 3]})
    export(open_arrow(tmp_path, rows), tmp_path / "t.delta", partition_by=["k", "day"])
    write(tmp_path / "t.delta", rows, mode="append")
    write(tmp_path / "t.delta", rows, mode="append", partition_by=["k", "day"])
    table = open_dataset(tmp_path / "t.delta")
    assert sorted(table.read(where="k = 'a b/é=%'")["n"].to_pylist()) == [1, 1, 1]
    assert pl.read_delta(str(tmp_path / "t.delta")).height == 9
    with pytest.raises(BadData, match=r"is not partitioned by n. It is partitioned by k, day"):
        write(tmp_path / "t.delta", rows, mode="append", partition_by=["n"])
    with pytest.raises(BadData, match="partitioned by column 'k', which is not exported"):
        write(tmp_path / "t.delta", pa.table({"n": [1]}), mode="replace")


def open_arrow(folder: Path, rows: pa.Table):
    with pa.ipc.new_file(folder / "rows.arrow", rows.schema) as file:
        file.write_table(rows)
    return open_dataset(folder / "rows.arrow")


def test_a_new_table_never_takes_the_place_of_one_with_versions(tmp_path: Path) -> None:
    write(tmp_path / "t")
    for overwrite in (False, True):
        with pytest.raises(FileProblem, match=r"is already a Delta table.*with the mode append or replace"):
            Destination.of(tmp_path / "t", "delta", {}, overwrite)
    with pytest.raises(FileProblem, match="holds other files"):
        Destination.of(tmp_path / "t", "parquet", {"partition_by": ["n"]}, overwrite=True)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ({"n": [1], "word": ["a"], "y": [0.5]}, "has no column 'y'"),
        ({"n": [1], "word": ["a"]}, "has a column 'x', which is not exported"),
        ({"n": ["1"], "word": ["a"], "x": [0.5]}, "column 'n' is int64 in .*, but string in the export"),
    ],
)
def test_rows_that_do_not_fit_are_refused_and_nothing_changes(rows, said: str, tmp_path: Path) -> None:
    write(tmp_path / "t")
    before = everything(tmp_path)
    with pytest.raises(TypeConflict, match=said):
        write(tmp_path / "t", pa.table(rows), mode="append")
    assert everything(tmp_path) == before


def test_narrower_values_are_added_as_the_table_s_type(tmp_path: Path) -> None:
    write(tmp_path / "t")
    narrow = pa.table(
        {"x": pa.array([1.5], pa.float32()), "n": pa.array([9], pa.uint8()), "word": pa.nulls(1, pa.string())}
    )
    write(tmp_path / "t", narrow, mode="append")
    assert open_dataset(tmp_path / "t").read().to_pylist()[-1] == {"n": 9, "word": None, "x": 1.5}


def test_a_value_that_has_no_place_is_named(tmp_path: Path) -> None:
    far = pa.table({"t": pa.array([2**62], pa.timestamp("s"))})
    with pytest.raises(BadData, match="a value of column 't' does not fit timestamp"):
        write(tmp_path / "t", far)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("error", [BadData("the second is bad"), Cancelled(), OSError(5, "I/O error")])
def test_a_failed_version_leaves_the_folder_as_it_was(error: Exception, tmp_path: Path) -> None:
    write(tmp_path / "t")
    before = everything(tmp_path)

    def tables() -> Iterator[pa.Table]:
        yield ROWS
        raise error

    said = FileProblem if isinstance(error, OSError) else type(error)
    with pytest.raises(said):
        Destination.of(tmp_path / "t", "delta", {"mode": "append"}).write(
            Rows(ROWS.schema, tables(), None), Job()
        )
    assert everything(tmp_path) == before


def test_a_commit_that_another_program_overtakes_is_said(tmp_path: Path, monkeypatch) -> None:
    """Both replace all rows of the same version."""
    write(tmp_path / "t")
    monkeypatch.setattr(
        delta, "put_on_disk", lambda _: write_deltalake(tmp_path / "t", ROWS, mode="overwrite")
    )
    with pytest.raises(FileProblem, match="was changed by another program meanwhile"):
        write(tmp_path / "t", mode="replace")
    table = DeltaTable(tmp_path / "t")
    assert table.version() == 1
    assert len(list((tmp_path / "t").glob("*.parquet"))) == 2


def test_a_table_with_rules_for_its_values_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "t")
    DeltaTable(tmp_path / "t").alter.add_constraint({"positive": "n > 0"})
    with pytest.raises(FileProblem, match=r"Lamella cannot write: .*the constraint positive"):
        write(tmp_path / "t", mode="append")
    write_deltalake(tmp_path / "log", ROWS, configuration={"delta.appendOnly": "true"})
    with pytest.raises(FileProblem, match="only allows rows to be added"):
        write(tmp_path / "log", mode="replace")
    write(tmp_path / "log", mode="append")
    assert open_dataset(tmp_path / "log").num_rows == 6


def test_statistics_of_floats_are_left_out(tmp_path: Path) -> None:
    """They ignore NaN, which Spark takes for greater than all numbers: files would be skipped."""
    write(
        tmp_path / "t", pa.table({"n": [1], "x": [float("nan")], "s": [{"y": 1.5}], "odd `name`, too": ["a"]})
    )
    lines = (tmp_path / "t" / "_delta_log" / f"{0:020}.json").read_text().splitlines()
    stats = next(json.loads(json.loads(line)["add"]["stats"]) for line in lines if '"add"' in line)
    assert stats["maxValues"] == {"n": 1, "odd `name`, too": "a"}
    assert pl.read_delta(str(tmp_path / "t")).height == 1


def test_names_that_differ_by_their_case_get_a_number(tmp_path: Path) -> None:
    write(tmp_path / "t", pa.table({"Order Date": [1], "order date": [2]}))
    assert open_dataset(tmp_path / "t").schema.names == ["Order Date", "order date_2"]


IN_SAIL = """
import json, sys
from lamella.core.bench.systems.spark_connect import session
with session() as spark:
    rows = spark.read.format("delta").load(sys.argv[1]).orderBy("n").toArrow()
    print(json.dumps(rows.select(["n", "k"]).to_pylist()))
"""


@pytest.mark.slow
@pytest.mark.skipif(find_spec("pysail") is None, reason="pysail is not installed: pip install pysail")
def test_a_spark_connect_server_reads_it(tmp_path: Path) -> None:
    rows = pa.table({"n": [1, 2], "k": ["a b", None]})
    write(tmp_path / "t", rows, partition_by=["k"])
    write(tmp_path / "t", pa.table({"n": [3], "k": ["é"]}), mode="append")
    (tmp_path / "script.py").write_text(IN_SAIL)  # pyspark's client takes `python -c` for a shell of Spark's
    words = [sys.executable, str(tmp_path / "script.py"), str(tmp_path / "t")]
    result = subprocess.run(words, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout) == [{"n": 1, "k": "a b"}, {"n": 2, "k": None}, {"n": 3, "k": "é"}]
