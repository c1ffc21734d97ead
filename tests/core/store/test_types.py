"""Every Arrow type that Parquet can keep goes in and comes out, small in the catalog and large in files."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

from core import Store, col
from core.query.query import Query, SortKey
from core.query.view import View

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
}


@pytest.fixture(params=[1, 700], ids=["in the catalog", "in a file"])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> object:
    with Store.open(tmp_path / "s") as store:
        data = pa.table({name: pa.chunked_array([values] * request.param) for name, values in VALUES.items()})
        yield store.create_table("t", data)


def test_types_and_values_come_back(table: object) -> None:
    found = table.read().slice(0, 3)
    for name, values in VALUES.items():
        assert str(found.column(name).to_pylist()) == str(values.to_pylist()), name
        assert found.schema.field(name).type == values.type, name


def test_a_changed_cell_of_any_type_leaves_the_others_alone(table: object) -> None:
    for name in VALUES:
        table.update_where([0], {"$set": {name: None}})
    after = table.read()
    assert all(after.column(name)[0].as_py() is None for name in VALUES)
    assert str(after.column("place")[2].as_py()) == str(VALUES["place"][2].as_py())
    while table.version < 100 and table.undoable():
        table.undo()
    assert str(table.read().slice(0, 3).column("pairs").to_pylist()) == str(VALUES["pairs"].to_pylist())


def test_a_sorted_and_filtered_page_has_them_all(table: object) -> None:
    view = View(table.snapshot(), Query(where=col("text") == "a", sort=(SortKey("i8"),)))
    page = view.page(0, 1)
    assert page.num_rows == 1
    for name, values in VALUES.items():
        assert str(page.column(name)[0].as_py()) == str(values[0].as_py()), name


def test_the_data_files_reopen_after_a_flush(table: object) -> None:
    table.update_where([1], {"$set": {"text": "set"}})
    table.flush()
    assert table.get(1)["text"] == "set"
    assert str(table.get(0)["tags"]) == str(VALUES["tags"][0].as_py())


@pytest.mark.parametrize("name", VALUES)
def test_a_table_without_rows_of_any_type_can_be_sorted_and_asked(tmp_path: Path, name: str) -> None:
    with Store.open(tmp_path / "s") as store:
        table = store.create_table("t", pa.table({name: VALUES[name].slice(0, 0)}))
        assert View(table.snapshot(), Query(sort=(SortKey(name),))).num_rows == 0
        assert store.sql(f'select "{name}" from t').num_rows == 0


def test_every_type_can_be_asked_for_in_sql_also_where_files_lack_the_column(table: object) -> None:
    table.insert(pa.table({"later": pa.array(["x"] * 2_000)}))
    assert table.store.sql("select * from t").num_rows == table.num_rows
    view = View(table.snapshot(), Query(where=col("later") == "x", sort=(SortKey("f16"), SortKey("i8"))))
    assert view.page(0, 1).column("f16").to_pylist() == [None]
