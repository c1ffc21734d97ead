"""Columns are added, dropped, renamed, ordered and cast, each in one commit that can be undone."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lamella import Store, col
from lamella.core.arrow.types import UnknownType
from lamella.core.errors import BadData, LamellaError, TypeConflict, UnknownColumn
from lamella.core.query.scan_query import ScanQuery
from lamella.core.query.view import View
from lamella.core.scan.snapshot import FileSegment, SortKey

SIZES = {"in the catalog": 3, "in a file": 1_500, "in several": 30_000}


@pytest.fixture
def store(tmp_path: Path) -> Any:
    with Store.open(tmp_path / "store") as opened:
        yield opened


@pytest.fixture(params=SIZES.values(), ids=SIZES.keys())
def table(request: pytest.FixtureRequest, store: Store) -> Any:
    return store.create_table("t", numbered(request.param))


def numbered(rows: int) -> pa.Table:
    n = pa.array(range(rows), pa.int32())
    return pa.table({"n": n, "word": [f"w{i}" for i in range(rows)], "half": [i / 2 for i in range(rows)]})


def one(store: Store, values: pa.Array) -> Any:
    """A table of one column, large enough to be in a data file."""
    repeated = pa.chunked_array([values] * (1 + 1_500 // len(values)))
    return store.create_table(f"t{len(store.tables)}", pa.table({"x": repeated}))


def first(table: Any, count: int) -> list[Any]:
    return table.read(columns=["x"], limit=count).column("x").to_pylist()


def files(table: Any) -> set[Path]:
    return {s.path for s in table.snapshot().segments if isinstance(s, FileSegment)}


def pages(table: Any) -> list[dict]:
    """Read the table as the grid does, last row first."""
    query = ScanQuery(sort=(SortKey("_id", descending=True),))
    return View(table.snapshot(), query).page(0, 2).to_pylist()


# ------------------------------------------------------------ add


def test_an_added_column_is_null_and_found_by_filters_sorts_views_and_sql(table: Any, store: Store) -> None:
    before = files(table)
    table.columns.add("late", bool, after="n")
    assert table.schema.names == ["_id", "n", "late", "word", "half"]
    assert table.schema.field("late").type == pa.bool_()
    assert files(table) == before
    assert table.count(col("late").is_null()) == table.num_rows
    table.update([{"_id": 1, "late": True}])
    assert table.read(where=col("late") == True)["_id"].to_pylist() == [1]  # noqa: E712
    assert table.read(sort=["late"], limit=1)["_id"].to_pylist() == [1]
    assert store.sql("select count(*) n from t where late is null").to_pylist() == [{"n": table.num_rows - 1}]
    assert pages(table)[0]["late"] is None


def test_a_default_fills_the_rows_that_are_there_and_those_that_come(table: Any) -> None:
    table.delete(ids=[0])
    commit = table.columns.add("price", default=Decimal("1.50"), type=pa.decimal128(9, 2))
    assert commit.updated == table.num_rows
    assert set(table.read()["price"].to_pylist()) == {Decimal("1.50")}
    table.insert([{"n": 5}])
    assert table.read()["price"].to_pylist()[-1] == Decimal("1.50")
    table.history.undo()
    table.history.undo()
    assert table.schema.names == ["_id", "n", "word", "half"]
    table.history.redo()
    assert table.count(col("price") == Decimal("1.50")) == table.num_rows


def test_the_type_of_a_new_column_can_be_said_in_several_ways(store: Store) -> None:
    table = store.create_table("t", [{"n": 1}])
    for name, kind in {"a": "int16", "b": float, "c": pa.list_(pa.string()), "d": "text"}.items():
        table.columns.add(name, kind)
    table.columns.add("e", default=dt.date(2020, 1, 1))
    table.columns.add("f", default={"x": 1}, after="_id")
    types = " ".join(str(t).replace(" ", "") for t in table.schema.types)
    assert types == "int64 struct<x:int64> int64 int16 double list<item:string> string date32[day]"
    assert table.get(0)["f"] == {"x": 1}


def test_adding_refuses_what_it_cannot_mean(table: Any) -> None:
    version = table.version
    with pytest.raises(BadData, match="already has a column 'n'"):
        table.columns.add("n", int)
    with pytest.raises(BadData, match="needs a name"):
        table.columns.add("", int)
    with pytest.raises(BadData, match="_id"):
        table.columns.add("_id", int)
    with pytest.raises(UnknownType, match="Did you mean 'int64'"):
        table.columns.add("x", "int46")
    with pytest.raises(BadData, match="column 'x' needs a type"):
        table.columns.add("x")
    with pytest.raises(BadData, match="300 does not fit column 'x' of type int8"):
        table.columns.add("x", pa.int8(), default=300)
    with pytest.raises(UnknownColumn, match="Did you mean 'word'"):
        table.columns.add("x", int, after="wodr")
    assert table.version == version


# ------------------------------------------------------------ drop, rename, order


def test_a_dropped_column_is_gone_everywhere_and_comes_back_with_undo(table: Any, store: Store) -> None:
    before, whole = files(table), table.read()
    table.update([{"_id": 2, "word": "changed"}])
    table.columns.drop("word", "half")
    assert table.read(limit=1).to_pylist() == [{"_id": 0, "n": 0}]
    assert files(table) == before
    with pytest.raises(UnknownColumn):
        table.read(where=col("word") == "w1")
    with pytest.raises(LamellaError):
        store.sql("select word from t")
    table.columns.add("word", int)
    assert table.get(2) == {"_id": 2, "n": 2, "word": None}
    table.history.undo()
    table.history.undo()
    table.history.undo()
    assert table.read().equals(whole)


def test_the_last_column_may_go_and_rows_stay(table: Any, store: Store) -> None:
    rows = table.num_rows
    table.columns.drop("n", "word", "half")
    assert table.num_rows == rows
    assert table.read().column_names == ["_id"]
    assert store.sql("select count(*) n from t").to_pylist() == [{"n": rows}]
    table.insert([{"again": 1}])
    assert table.get(rows) == {"_id": rows, "again": 1}
    table.maintenance.flush()
    assert table.get(rows) == {"_id": rows, "again": 1}
    assert table.num_rows == rows + 1


def test_renamed_columns_can_swap_their_names(table: Any, store: Store) -> None:
    before = files(table)
    table.update([{"_id": 1, "word": "new"}])
    table.columns.rename({"n": "word", "word": "n"})
    assert table.get(1) == {"_id": 1, "word": 1, "n": "new", "half": 0.5}
    assert files(table) == before
    assert table.read(where=col("word") == 2)["n"].to_pylist() == ["w2"]
    assert table.read(where=col("n").starts_with("ne"))["_id"].to_pylist() == [1]
    assert store.sql("select n from t where word = 2").to_pylist() == [{"n": "w2"}]
    assert pages(table)[0]["word"] == table.num_rows - 1
    table.insert([{"word": 7, "n": "x"}])
    table.history.undo()
    table.history.undo()
    assert table.get(1) == {"_id": 1, "n": 1, "word": "new", "half": 0.5}


def test_names_may_differ_in_case_only_and_be_what_sql_reserves(table: Any) -> None:
    table.columns.rename({"word": "N", "half": "select"})
    assert table.read(where=col("N") == "w2")["n"].to_pylist() == [2]
    assert table.read(where=col("select") == 1.0)["N"].to_pylist() == ["w2"]
    assert table.read(sort=["-N"], limit=1).num_rows == 1


def test_renaming_refuses_what_is_taken_unknown_or_the_tables_own(table: Any) -> None:
    version = table.version
    for old, new, said in [
        ("n", "word", "already has a column 'word'"),
        ("n", "", "needs a name"),
        ("n", "_id", "row ids"),
        ("_id", "x", "belongs to the table"),
        ("wrod", "x", "Did you mean 'word'"),
    ]:
        with pytest.raises(LamellaError, match=said):
            table.columns.rename(old, new)
    with pytest.raises(BadData, match="already has a column 'x'"):
        table.columns.rename({"n": "x", "word": "x"})
    with pytest.raises(BadData, match="belongs to the table"):
        table.columns.drop("_id")
    with pytest.raises(BadData, match="named twice"):
        table.columns.reorder(["n", "n"])
    assert table.columns.rename("n", "n").version == version
    assert table.version == version


def test_columns_named_come_first_and_the_others_behind(table: Any) -> None:
    table.columns.reorder(["half", "word"])
    assert table.schema.names == ["_id", "half", "word", "n"]
    assert table.get(2) == {"_id": 2, "half": 1.0, "word": "w2", "n": 2}
    assert table.columns.reorder(["half"]).version == table.version
    table.history.undo()
    assert table.schema.names == ["_id", "n", "word", "half"]


# ------------------------------------------------------------ cast


def test_widening_writes_nothing_and_holds_everywhere(table: Any, store: Store) -> None:
    before = files(table)
    table.update([{"_id": 1, "n": 100}])
    table.columns.cast("n", pa.int64())
    assert files(table) == before
    assert table.schema.field("n").type == pa.int64()
    table.update([{"_id": 2, "n": 2**40}])
    assert table.read(columns=["n"], limit=3)["n"].to_pylist() == [0, 100, 2**40]
    assert table.read(where=col("n") > 2**33)["_id"].to_pylist() == [2]
    assert table.read(sort=["-n"], limit=1)["_id"].to_pylist() == [2]
    assert store.sql("select max(n) m from t").to_pylist() == [{"m": 2**40}]
    assert table.batches(["n"]).read_all().schema.field("n").type == pa.int64()
    table.history.undo()
    table.history.undo()
    assert table.schema.field("n").type == pa.int32()
    assert table.get(2)["n"] == 2


CARRIED = [
    (pa.nulls(3), pa.string(), [None] * 3),
    (pa.array([1, None], pa.date32()), pa.timestamp("us"), [dt.datetime(1970, 1, 2), None]),
    (pa.array([1.5, None], pa.float32()), pa.float64(), [1.5, None]),
    (pa.array(["a", None, "a"]).dictionary_encode(), pa.string(), ["a", None, "a"]),
    (pa.array(["a", None]), pa.large_string(), ["a", None]),
    (pa.array([7, None], pa.uint8()), pa.int16(), [7, None]),
    (
        pa.array([0], pa.timestamp("us", "UTC")),
        pa.timestamp("us", "Asia/Tokyo"),
        [dt.datetime(1970, 1, 1, tzinfo=dt.UTC)],
    ),
]


@pytest.mark.parametrize(("values", "kind", "expected"), CARRIED, ids=lambda v: str(getattr(v, "type", "")))
def test_every_widening_reads_as_the_new_type(
    store: Store, values: pa.Array, kind: pa.DataType, expected: list
) -> None:
    table = one(store, values)
    before = files(table)
    table.columns.cast("x", kind)
    assert files(table) == before
    assert table.schema.field("x").type == kind
    assert first(table, len(values)) == expected
    value = next((v for v in expected if v is not None), None)
    if value is None:
        assert table.count(col("x").contains("a")) == 0
    else:
        hits = table.num_rows * sum(v == value for v in expected) // len(values)
        assert table.count(col("x") == value) == hits
    assert table.read(sort=["-x"], limit=2).schema.field("x").type == kind
    table.maintenance.flush()
    assert first(table, len(values)) == expected


CAST = [
    (pa.array(["007", None, " 7 ", "1e3"]), "int64", [7, None, 7, 1000]),
    (pa.array(["1.5", None, "nan"]), float, [1.5, None, pytest.approx(float("nan"), nan_ok=True)]),
    (pa.array(["1.10", None]), pa.decimal128(9, 2), [Decimal("1.10"), None]),
    (pa.array(["2020-01-31", None, "2020-2-1"]), "date32", [dt.date(2020, 1, 31), None, dt.date(2020, 2, 1)]),
    (pa.array(["2020-01-31 10:00", None]), "timestamp[us]", [dt.datetime(2020, 1, 31, 10), None]),
    (pa.array(["01:02:03"]), pa.time64("us"), [dt.time(1, 2, 3)]),
    (pa.array(["true", None, "False"]), bool, [True, None, False]),
    (pa.array(['{"a": 1}', None]), pa.struct([("a", pa.int64())]), [{"a": 1}, None]),
    (pa.array([1, None, -3]), str, ["1", None, "-3"]),
    (pa.array([1.0, None, 3.0]), "int8", [1, None, 3]),
    (pa.array([1, None]), float, [1.0, None]),
    (pa.array([300, None]), "int16", [300, None]),
    (pa.array([True, None]), "int64", [1, None]),
    (pa.array(["x", None, "x"]), pa.dictionary(pa.int32(), pa.string()), ["x", None, "x"]),
    (pa.array([[1], None, []]), pa.list_(pa.int8()), [[1], None, []]),
    (pa.array([b"ab", None]), str, ["ab", None]),
]  # fmt: skip


@pytest.mark.slow(except_every=3)
@pytest.mark.parametrize(("values", "kind", "expected"), CAST, ids=lambda v: str(getattr(v, "type", "")))
def test_a_cast_converts_every_value_and_undo_brings_the_old_ones(
    store: Store, values: pa.Array, kind: Any, expected: list
) -> None:
    table = one(store, values)
    old = first(table, len(values))
    version = table.columns.cast("x", kind).version
    assert first(table, len(values)) == expected
    assert table.schema.names == ["_id", "x"]
    assert table.count(col("x").is_null()) == table.read()["x"].null_count
    table.update([{"_id": 0, "x": None}])
    assert first(table, len(values)) == [None, *expected[1:]]
    table.maintenance.flush()
    assert first(table, len(values)) == [None, *expected[1:]]
    table.history.undo()
    assert table.version > version
    table.history.undo()
    assert str(first(table, len(values))) == str(old)
    assert table.schema.field("x").type == values.type


LOST = [
    (pa.array([1.0, 2.5, None]), int, "2.5"),
    (pa.array([1.0, float("nan")]), int, "nan"),
    (pa.array([1, 300]), "int8", "300"),
    (pa.array([2**53 + 1]), float, "9007199254740993"),
    (pa.array(["1", "one"]), int, "'one'"),
    (pa.array(["1", ""]), int, "''"),
    (pa.array(["0x1F"]), int, "'0x1F'"),
    (pa.array(["1e999", "inf"]), float, "'1e999'"),
    (pa.array(["1.234"]), pa.decimal128(9, 2), "'1.234'"),
    (pa.array([b"\xff"]), str, "xff"),
    (pa.array([dt.datetime(2020, 1, 1, 10)]), "date32", "2020-01-01 10:00"),
    (pa.array([0], pa.timestamp("us", "UTC")), pa.timestamp("us"), "1970-01-01"),
    (pa.array([dt.datetime(2020, 10, 25, 2, 30)]), pa.timestamp("us", "Europe/Berlin"), "2020-10-25 02:30"),
]


@pytest.mark.slow(after=2)
@pytest.mark.parametrize(("values", "kind", "named"), LOST, ids=lambda v: str(getattr(v, "type", v)))
def test_a_cast_that_would_lose_a_value_is_refused_by_name(
    store: Store, values: pa.Array, kind: Any, named: str
) -> None:
    table = one(store, values)
    before, version = table.read(), table.version
    with pytest.raises(BadData, match="column 'x' holds") as refused:
        table.columns.cast("x", kind)
    assert named in refused.value.what
    assert table.version == version
    assert str(table.read().to_pylist()) == str(before.to_pylist())  # NaN is not equal to itself
    table.columns.cast("x", kind, on_error="null")
    actual = pa.array(first(table, len(values)))
    assert actual.null_count > values.null_count


@pytest.mark.slow
def test_what_is_too_fine_can_be_cut_when_asked(store: Store) -> None:
    for values, kind, expected in [
        (pa.array([1.7, -1.7]), int, [1, -1]),
        (pa.array([2**53 + 1]), float, [float(2**53)]),
        (pa.array([Decimal("1.256")]), pa.decimal128(9, 2), [Decimal("1.25")]),
        (pa.array([dt.datetime(2020, 1, 1, 10)]), "date32", [dt.date(2020, 1, 1)]),
        (pa.array([1_999], pa.timestamp("us")), pa.timestamp("ms"), [dt.datetime(1970, 1, 1, 0, 0, 0, 1000)]),
        (pa.array([0], pa.timestamp("us", "Asia/Tokyo")), pa.timestamp("us"), [dt.datetime(1970, 1, 1, 9)]),
    ]:
        table = one(store, values)
        table.columns.cast("x", kind, lossy=True)
        assert first(table, len(values)) == expected
    table = one(store, pa.array([1.5, 1e300, float("nan")]))
    with pytest.raises(BadData, match="1e\\+300"):
        table.columns.cast("x", int, lossy=True)
    table.columns.cast("x", int, lossy=True, on_error="null")
    assert first(table, 3) == [1, None, None]


def test_casts_without_a_meaning_are_refused(table: Any) -> None:
    with pytest.raises(TypeConflict, match="column 'n' is int32 and cannot become date32"):
        table.columns.cast("n", "date32")
    with pytest.raises(TypeConflict, match="cannot become list"):
        table.columns.cast("n", pa.list_(pa.int64()))
    with pytest.raises(BadData, match="on_error"):
        table.columns.cast("n", int, on_error="ignore")


def test_a_cast_column_sees_pending_changes_and_leaves_deleted_rows_out(table: Any) -> None:
    table.update([{"_id": 1, "word": "100"}])
    table.update_where(None, {"$set": {"word": "8"}})
    table.update([{"_id": 2, "word": "not a number"}])
    table.delete(ids=[2])
    table.columns.cast("word", int)
    assert set(table.read()["word"].to_pylist()) == {8}
    assert table.read(where=col("word") > 7).num_rows == table.num_rows
    table.history.undo()
    table.history.undo()
    assert table.get(2)["word"] == "not a number"


# ------------------------------------------------------------ metadata


def test_metadata_of_table_and_columns_is_kept_shown_and_undone(table: Any) -> None:
    table.set_metadata({"source": "a survey", "unit": "none"})
    table.columns.set_metadata("half", {"unit": "km"})
    assert table.metadata == {"source": "a survey", "unit": "none"}
    assert table.columns.metadata("half") == {"unit": "km"}
    table.set_metadata({"unit": None, b"raw": b"\xff"})
    assert table.schema.metadata == {b"source": b"a survey", b"raw": b"\xff"}
    assert table.schema.field("half").metadata == {b"unit": b"km"}
    table.columns.rename("half", "distance")
    table.columns.cast("distance", "float32", lossy=True)
    assert table.columns.metadata("distance") == {"unit": "km"}
    for _ in range(3):
        table.history.undo()
    assert table.metadata == {"source": "a survey", "unit": "none"}
    table.columns.drop("half")
    table.history.undo()
    assert table.columns.metadata("half") == {"unit": "km"}
    assert table.set_metadata({"unit": "none"}).version == table.version
    with pytest.raises(UnknownColumn):
        table.columns.set_metadata("hlaf", {"a": "b"})
    with pytest.raises(BadData):
        table.columns.set_metadata("_id", {"a": "b"})


@pytest.mark.parametrize("rows", SIZES.values())
def test_what_arrow_notes_about_data_is_kept_with_the_table(store: Store, tmp_path: Path, rows: int) -> None:
    fields = [
        pa.field("n", pa.int32(), metadata={"unit": "km", "PARQUET:field_id": "9"}),
        pa.field("word", pa.string()),
    ]
    schema = pa.schema([*fields, pa.field("half", pa.float64())], {"pandas": "{}", "geo": "{...}"})
    data = numbered(rows).cast(schema)
    store.create_table("noted", data)
    store.close()
    with Store.open(store.path) as again:
        table = again["noted"]
        assert table.metadata == {"pandas": "{}", "geo": "{...}"}
        assert table.columns.metadata("n") == {"unit": "km"}
        assert table.schema.remove_metadata().equals(table.read().schema)
        table.insert(data)
        assert table.metadata["geo"] == "{...}"
