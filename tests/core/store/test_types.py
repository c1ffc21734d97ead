"""Every Arrow type that Parquet can store is read as it was written, both from the catalog and from files."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lamella import Store, col
from lamella.core.errors import BadData, UnknownRow
from lamella.core.query.scan_query import ScanQuery
from lamella.core.query.view import View
from lamella.core.scan.snapshot import SortKey


def extension(kind: pa.DataType, storage: pa.Array) -> pa.Array:
    return pa.ExtensionArray.from_storage(kind, storage)


VALUES = {
    "i8": pa.array([1, None, -3], pa.int8()),
    "u64": pa.array([2**64 - 1, None, 0], pa.uint64()),
    "f32": pa.array([1.5, None, float("nan")], pa.float32()),
    "f16": pa.array([1.5, None, 2.0], pa.float16()),
    "flag": pa.array([True, None, False]),
    "text": pa.array(["a", None, ""]),
    "large": pa.array(["a", None, "ä"], pa.large_string()),
    "view": pa.array(["a", None, "b"], pa.string_view()),
    "raw": pa.array([b"\x00\xff", None, b""]),
    "fixed": pa.array([b"ab", None, b"cd"], pa.binary(2)),
    "day": pa.array([dt.date(2013, 1, 1), None, dt.date(1, 1, 1)]),
    "clock": pa.array([dt.time(1, 2, 3), None, dt.time(0)], pa.time64("us")),
    "at_ns": pa.array([1, None, 3], pa.timestamp("ns")),
    "at_zone": pa.array([1, None, 3], pa.timestamp("us", "Europe/Berlin")),
    "span": pa.array([1, None, 3], pa.duration("ms")),
    "price": pa.array([Decimal("1.10"), None, Decimal("-9.99")], pa.decimal128(9, 2)),
    "huge": pa.array([Decimal(10) ** 50, None, Decimal(0)], pa.decimal256(60, 0)),
    "kind": pa.array(["x", None, "x"]).dictionary_encode(),
    "tags": pa.array([["a", None], None, []], pa.list_(pa.string())),
    "point": pa.array([[1.0, 2.0], None, [3.0, 4.0]], pa.list_(pa.float64(), 2)),
    "place": pa.array([{"lat": 1.5, "name": "x"}, None, {"lat": None, "name": None}]),
    "pairs": pa.array([[("a", 1)], None, []], pa.map_(pa.string(), pa.int64())),
    "nothing": pa.nulls(3),
    "d32": pa.array([Decimal("1.1"), None, Decimal("-999.99")], pa.decimal32(5, 2)),
    "d64": pa.array([Decimal("1.1"), None, Decimal("0")], pa.decimal64(12, 2)),
    "date64": pa.array([86_400_000, None, 0], pa.date64()),
    **{f"at_{unit}": pa.array([1, None, -3], pa.timestamp(unit)) for unit in ("ms", "us")},
    **{f"zoned_{unit}": pa.array([1, None, 3], pa.timestamp(unit, "+02:00")) for unit in ("ms", "ns")},
    **{f"span_{unit}": pa.array([1, None, 3], pa.duration(unit)) for unit in ("s", "us", "ns")},
    "clock_ms": pa.array([1, None, 3], pa.time32("ms")),
    "clock_ns": pa.array([1000, None, 3000], pa.time64("ns")),
    "kind_small": pa.array(["x", None, "x"]).dictionary_encode().cast(pa.dictionary(pa.int8(), pa.string())),
    "large_list": pa.array([[1, None], None, []], pa.large_list(pa.int64())),
    "large_raw": pa.array([b"a", None, b""], pa.large_binary()),
    "raw_view": pa.array([b"a", None, b""], pa.binary_view()),
    "nested": pa.array([{"a": [{"b": 1.5}]}, None, {"a": None}]),
    "uuid": extension(pa.uuid(), pa.array([b"x" * 16, None, b"y" * 16], pa.binary(16))),
    "json": extension(pa.json_(), pa.array(['{"a": 1}', None, "[]"])),
    "bool8": extension(pa.bool8(), pa.array([1, None, 0], pa.int8())),
    "tensor": extension(
        pa.fixed_shape_tensor(pa.float64(), (2, 2)),
        pa.array([[1.0, 2.0, 3.0, 4.0], None, [0.0] * 4], pa.list_(pa.float64(), 4)),
    ),
    "opaque": extension(pa.opaque(pa.int64(), "t", "v"), pa.array([5, None, 6])),
}

PLAIN = {
    "list view": (pa.array([[1, None], None, []], pa.list_view(pa.int64())), pa.list_(pa.int64())),
    "large list view": (pa.array([[1], None], pa.large_list_view(pa.int64())), pa.large_list(pa.int64())),
    "run ends": (pa.RunEndEncodedArray.from_arrays(pa.array([2, 3]), pa.array([5, None])), pa.int64()),
    "numbers in a dictionary": (pa.array([5, None]).dictionary_encode(), pa.int64()),
    "text views in a struct": (
        pa.array([{"a": "x"}, None], pa.struct([("a", pa.string_view())])),
        pa.struct([("a", pa.string())]),
    ),
    "seconds": (pa.array([1, None, -3], pa.timestamp("s")), pa.timestamp("ms")),
    "seconds in a zone": (pa.array([1, None], pa.timestamp("s", "+02:00")), pa.timestamp("ms", "+02:00")),
    "seconds of a day": (pa.array([1, None], pa.time32("s")), pa.time32("ms")),
    "seconds in a list": (pa.array([[1], None], pa.list_(pa.timestamp("s"))), pa.list_(pa.timestamp("ms"))),
    "a dictionary in a list": (
        pa.array([["x"], None], pa.list_(pa.dictionary(pa.int32(), pa.string()))),
        pa.list_(pa.string()),
    ),
    "a dictionary that holds null": (
        pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int8()), pa.array(["x", None])),
        pa.dictionary(pa.int8(), pa.string()),
    ),
}  # fmt: skip


@pytest.fixture(params=[1, 700], ids=["in the catalog", "in a file"])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> object:
    with Store.open(tmp_path / "s") as store:
        data = pa.table({name: pa.chunked_array([values] * request.param) for name, values in VALUES.items()})
        yield store.create_table("t", data)


@pytest.mark.slow(after=1)
def test_types_and_values_come_back(table: object) -> None:
    actual = table.read().slice(0, 3)
    for name, values in VALUES.items():
        assert str(actual.column(name).to_pylist()) == str(values.to_pylist()), name
        assert actual.schema.field(name).type == values.type, name


@pytest.mark.slow(after=1)
def test_a_changed_cell_of_any_type_leaves_the_others_alone(table: object) -> None:
    for name in VALUES:
        table.update_where([0], {"$set": {name: None}})
    after = table.read()
    assert all(after.column(name)[0].as_py() is None for name in VALUES)
    assert str(after.column("place")[2].as_py()) == str(VALUES["place"][2].as_py())
    while table.version < 100 and table.history.undoable():
        table.history.undo()
    assert str(table.read().slice(0, 3).column("pairs").to_pylist()) == str(VALUES["pairs"].to_pylist())


@pytest.mark.slow(after=1)
def test_a_sorted_and_filtered_page_has_them_all(table: object) -> None:
    view = View(table.snapshot(), ScanQuery(where=col("text") == "a", sort=(SortKey("i8"),)))
    page = view.page(0, 1)
    assert page.num_rows == 1
    for name, values in VALUES.items():
        assert str(page.column(name)[0].as_py()) == str(values[0].as_py()), name


@pytest.mark.slow(after=1)
def test_the_data_files_reopen_after_a_flush(table: object) -> None:
    table.update_where([1], {"$set": {"text": "set"}})
    table.maintenance.flush()
    assert table.get(1)["text"] == "set"
    assert str(table.get(0)["tags"]) == str(VALUES["tags"][0].as_py())


@pytest.mark.slow(except_every=3)
@pytest.mark.parametrize("name", VALUES)
def test_a_table_without_rows_of_any_type_can_be_sorted_and_asked(tmp_path: Path, name: str) -> None:
    with Store.open(tmp_path / "s") as store:
        table = store.create_table("t", pa.table({name: VALUES[name].slice(0, 0)}))
        assert View(table.snapshot(), ScanQuery(sort=(SortKey(name),))).num_rows == 0
        assert store.sql(f'select "{name}" from t').num_rows == 0


@pytest.mark.slow(after=1)
def test_every_type_can_be_asked_for_in_sql_also_where_files_lack_the_column(table: object) -> None:
    table.insert(pa.table({"later": pa.array(["x"] * 2_000)}))
    assert table.store.sql("select * from t").num_rows == table.num_rows
    view = View(table.snapshot(), ScanQuery(where=col("later") == "x", sort=(SortKey("f16"), SortKey("i8"))))
    assert view.page(0, 1).column("f16").to_pylist() == [None]


@pytest.mark.slow(after=1)
def test_all_of_them_come_back_after_a_change_a_flush_and_a_reopen(table: object) -> None:
    table.update_where([1], {"$set": {"text": "set"}})
    path, rows = table.store.path, table.num_rows
    table.maintenance.flush()
    table.store.close()
    with Store.open(path) as store:
        actual = store["t"].read()
        assert actual.num_rows == rows
        for name, values in VALUES.items():
            assert actual.schema.field(name).type == values.type, name
            assert str(actual.column(name)[2].as_py()) == str(values[2].as_py()), name


@pytest.mark.slow(except_every=3)
@pytest.mark.parametrize("count", [1, 700])
@pytest.mark.parametrize("layout", PLAIN)
def test_other_layouts_come_back_as_the_plain_one(tmp_path: Path, layout: str, count: int) -> None:
    values, kind = PLAIN[layout]
    with Store.open(tmp_path / "s") as store:
        table = store.create_table("t", pa.table({"x": pa.chunked_array([values] * count)}))
        table.insert(pa.table({"x": values}))
        table.update_where([0], {"$set": {"x": None}})
        for _ in range(2):
            actual = table.read(columns=["x"]).column("x")
            assert actual.type == kind
            assert actual.to_pylist() == [None, *(values.to_pylist() * (count + 1))[1:]]
            table.maintenance.flush()


@pytest.mark.parametrize("kind", [pa.month_day_nano_interval(), pa.dense_union([pa.field("a", pa.int64())])])
def test_what_parquet_cannot_hold_is_refused(tmp_path: Path, kind: pa.DataType) -> None:
    with Store.open(tmp_path / "s") as store:
        with pytest.raises(BadData, match="cannot be stored in Parquet"):
            store.create_table(
                "t", pa.table({"x": pa.array([], kind) if kind.num_fields == 0 else pa.nulls(0, kind)})
            )
        assert store.tables == []


@pytest.mark.parametrize("count", [1, 5_000])
def test_seconds_beyond_what_can_be_kept_are_refused_when_they_come_in(tmp_path: Path, count: int) -> None:
    far = pa.table({"at": pa.array([2**60] * count, pa.timestamp("s"))})
    with Store.open(tmp_path / "s") as store:
        table = store.create_table("t", pa.table({"at": pa.array([1], pa.timestamp("s"))}))
        for change in (lambda: store.create_table("u", far), lambda: table.insert(far)):
            with pytest.raises(BadData, match="column 'at'"):
                change()
        with pytest.raises(BadData, match="column 'at'"):
            table.update_where([0], {"$set": {"at": pa.scalar(2**60, pa.timestamp("s"))}})
        table.maintenance.flush()
        assert table.read(columns=["at"]).to_pylist() == [{"at": dt.datetime(1970, 1, 1, 0, 0, 1)}]
        assert store.tables == ["t"]


def test_what_is_noted_about_columns_stays_when_their_layout_does_not(tmp_path: Path) -> None:
    kind = pa.field("at", pa.timestamp("s"), metadata={"unit": "s"})
    data = pa.table([pa.array([1], pa.timestamp("s"))], schema=pa.schema([kind], {"made": "by hand"}))
    with Store.open(tmp_path / "s") as store:
        table = store.create_table("t", data)
        assert (table.metadata, table.columns.metadata("at")) == ({"made": "by hand"}, {"unit": "s"})


FAR = {
    "at": (pa.array([253_402_300_800_000], pa.timestamp("ms")), "10000-01-01T00:00:00.000"),
    "before": (pa.array([-99_999_999_999_000], pa.timestamp("ms")), "-1199-02-15T14:13:21.000"),
    "zoned": (pa.array([253_402_300_800_000], pa.timestamp("ms", "UTC")), "10000-01-01T00:00:00.000Z"),
    "beyond": (pa.array([2**62], pa.timestamp("ms")), 2**62),
    "day": (pa.array([2_932_897], pa.int32()).cast(pa.date32()), "10000-01-01"),
    "last": (pa.array([2**31 - 1], pa.int32()).cast(pa.date32()), 2**31 - 1),
    "span": (pa.array([2**62], pa.duration("s")), 2**62),
}  # fmt: skip


@pytest.mark.slow(except_every=4)
@pytest.mark.parametrize("flushed", [False, True])
@pytest.mark.parametrize("name", FAR)
def test_a_row_can_be_got_whose_times_python_has_no_value_for(
    tmp_path: Path, name: str, flushed: bool
) -> None:
    values, expected_value = FAR[name]
    offsets = pa.array([0, 1], pa.int32())
    within = {
        "list": pa.ListArray.from_arrays(offsets, values),
        "struct": pa.StructArray.from_arrays([values], names=["x"]),
        "map": pa.MapArray.from_arrays(offsets, pa.array(["k"]), values),
    }
    with Store.open(tmp_path / "s") as store:
        table = store.create_table("t", pa.table({"v": values, **within}))
        if flushed:
            table.maintenance.flush()
        expected = {
            "_id": 0,
            "v": expected_value,
            "list": [expected_value],
            "struct": {"x": expected_value},
            "map": [("k", expected_value)],
        }
        assert table.get(0) == expected


@pytest.mark.slow(except_every=3)
@pytest.mark.parametrize("kind", ["uuid", "json", "bool8", "d32", "d64", "price", "at_ns", "day", "fixed"])
def test_rows_are_found_by_keys_of_any_type_without_parts(tmp_path: Path, kind: str) -> None:
    keys, two = VALUES[kind], pa.array(["", "x"])
    with Store.open(tmp_path / "s") as store:
        table = store.create_table("t", pa.table({"k": keys, "text": ["a", "b", "c"]}))
        for _ in range(2):
            table.update(pa.table({"k": keys.slice(0, 2), "text": ["A", "B"]}), on="k")
            assert table.read().column("text").to_pylist() == ["A", "B", "c"]
            commit = table.upsert(pa.table({"k": keys.slice(2), "w": two.slice(0, 1)}), on="k")
            assert (commit.inserted, commit.updated) == (0, 1)
            table.maintenance.flush()
        with pytest.raises(BadData, match="two of the rows given have k = "):
            table.update(pa.table({"k": pa.concat_arrays([keys, keys]), "w": ["x"] * 6}), on="k")


def test_a_key_that_is_far_away_is_told(tmp_path: Path) -> None:
    far, _expected = FAR["day"]
    with Store.open(tmp_path / "s") as store:
        table = store.create_table("t", pa.table({"day": VALUES["day"], "w": [1, 2, 3]}))
        with pytest.raises(UnknownRow, match="day = '10000-01-01'"):
            table.update(pa.table({"day": far, "w": [9]}), on="day")


@pytest.mark.parametrize("depth", [55, 150, 3_000])
def test_values_nested_too_deep_are_refused_where_they_come_in(tmp_path: Path, depth: int) -> None:
    deep: Any = 1
    for _ in range(depth):
        deep = {"x": deep}
    with Store.open(tmp_path / "s") as store:
        table = store.create_table("t", [{"d": 1}])
        for change in (lambda: table.insert([{"e": deep}]), lambda: store.create_table("u", [{"e": deep}])):
            with pytest.raises(BadData, match="column 'e'"):
                change()
        assert table.read().to_pylist() == [{"_id": 0, "d": 1}]
