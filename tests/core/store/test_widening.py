"""Columns widen as data arrives, if every stored and new value stays unchanged."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lamella import Store
from lamella.core.errors import BadData

MIDNIGHT, NOON = dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 2, 12)
DAY = dt.date(2020, 1, 1)
DECIMALS = [Decimal("1.50"), Decimal("0.25")]
FEW, MANY = 2, 1_500

WIDER = [
    (pa.array([1], pa.int32()), pa.array([2**40]), pa.int64(), [1, 2**40]),
    (pa.nulls(1), pa.array(["x"]), pa.string(), [None, "x"]),
    (pa.array([DAY]), pa.array([NOON], pa.timestamp("us")), pa.timestamp("us"), [MIDNIGHT, NOON]),
    (pa.array([NOON], pa.timestamp("ms")), pa.array([1], pa.timestamp("ns")), pa.timestamp("ns"), None),
    (pa.array([7]), pa.array([0.5]), pa.float64(), [7.0, 0.5]),
    (pa.array([-(2**53)]), pa.array([0.5]), pa.float64(), [-(2.0**53), 0.5]),
    (pa.array(["a"]), pa.array(["b"], pa.large_string()), pa.string(), ["a", "b"]),
    (pa.array([Decimal("1.5")]), pa.array([Decimal("0.25")]), pa.decimal128(3, 2), DECIMALS),
    (pa.array([[1]]), pa.array([[0.5]]), pa.list_(pa.float64()), [[1.0], [0.5]]),
    (
        pa.array([{"a": 1}]),
        pa.array([{"a": 0.5, "b": "x"}]),
        pa.struct([("a", pa.float64()), ("b", pa.string())]),
        [{"a": 1.0, "b": None}, {"a": 0.5, "b": "x"}],
    ),
    (
        pa.array([[{"a": 1}]]),
        pa.array([[{"b": [1]}]]),
        pa.list_(pa.struct([("a", pa.int64()), ("b", pa.list_(pa.int64()))])),
        [[{"a": 1, "b": None}], [{"a": None, "b": [1]}]],
    ),
]  # fmt: skip


def times(values: pa.Array, count: int) -> pa.Table:
    return pa.table({"x": pa.chunked_array([values] * count)})


@pytest.mark.slow(after=2)
@pytest.mark.parametrize("count", [FEW, MANY], ids=["in the catalog", "in a file"])
@pytest.mark.parametrize("more", [FEW, MANY], ids=["few more", "many more"])
@pytest.mark.parametrize("case", WIDER, ids=lambda case: f"{case[0].type} and {case[1].type}")
def test_a_column_widens_for_what_arrives(tmp_path: Path, case: tuple, count: int, more: int) -> None:
    first, then, kind, expected = case
    with Store.open(tmp_path / "s") as store:
        table = store.create_table("t", times(first, count))
        table.insert(times(then, more))
    with Store.open(tmp_path / "s") as store:
        table = store["t"]
        for _ in range(2):
            actual = table.read(columns=["x"])
            assert actual.schema.field("x").type == kind
            values = actual.column("x").to_pylist()
            assert expected is None or [values[0], values[-1]] == expected
            assert len(values) == count + more
            counted = store.sql("select count(*) as n, count(x) as v from t").to_pylist()[0]
            assert counted["n"] == count + more
            table.maintenance.flush()
        table.history.undo()
        assert table.read(columns=["x"]).column("x").to_pylist() == first.to_pylist() * count


REFUSED = [
    (pa.array([2**53 + 1]), pa.array([0.5]), "decimals hold every digit"),
    (pa.array([0.5]), pa.array([2**53 + 1]), "decimals hold every digit"),
    (pa.array([dt.date(1500, 1, 1)]), pa.array([1], pa.timestamp("ns")), "column 'x'"),
    (pa.array([[2**53 + 1]]), pa.array([[0.5]]), "column 'x'"),
    (pa.array([1]), pa.array(["x"]), "column 'x' is int64 and cannot take string"),
]


@pytest.mark.slow(except_every=3)
@pytest.mark.parametrize("count", [FEW, MANY], ids=["in the catalog", "in a file"])
@pytest.mark.parametrize("more", [FEW, MANY], ids=["few more", "many more"])
@pytest.mark.parametrize("case", REFUSED, ids=lambda case: f"{case[0].type} and {case[1].type}")
def test_what_would_change_a_value_is_refused_and_changes_nothing(
    tmp_path: Path, case: tuple, count: int, more: int
) -> None:
    first, then, said = case
    with Store.open(tmp_path / "s") as store:
        table = store.create_table("t", times(first, count))
        with pytest.raises(BadData, match=said):
            table.insert(times(then, more))
        assert table.read(columns=["x"]).equals(times(first, count))
        assert (table.version, list((store.path / "tmp").iterdir())) == (1, [])


def test_changed_cells_are_looked_at_before_a_column_widens(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s") as store:
        table = store.create_table("t", times(pa.array([1]), MANY))
        table.update([{"_id": 3, "x": 2**53 + 1}])
        for change in (lambda: table.insert([{"x": 0.5}]), lambda: table.update([{"_id": 0, "x": 0.5}])):
            with pytest.raises(BadData, match="decimals hold every digit"):
                change()
        table.update([{"_id": 3, "x": 2**53}])
        table.maintenance.flush()
        table.update([{"_id": 0, "x": 0.5}])
        assert table.read(columns=["x"]).column("x").to_pylist()[:4] == [0.5, 1.0, 1.0, 2.0**53]


def rows_with(**late: Any) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = [{"a": i, "b": 1} for i in range(45_000)]
    return [*rows, {"a": 1, "b": 2} | late]


def test_a_value_far_on_widens_the_column_of_the_rows_before(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s") as store:
        for late in ({"a": 0.5}, {"b": None}, {"c": "new"}):
            rows = rows_with(**late)
            table = store.create_table(str(late), rows)
            actual = table.read()
            names = [name for name in actual.column_names if name != "_id"]
            assert actual.column("_id").to_pylist() == list(range(len(rows)))
            for row, back in zip(
                (rows[0], rows[-2], rows[-1]), actual.take([0, 44_999, 45_000]).to_pylist(), strict=True
            ):
                assert {name: row.get(name) for name in names} == {name: back[name] for name in names}


def test_a_large_integer_far_before_a_fraction_is_not_rounded(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s") as store:
        rows = [{"a": 2**53 + 1, "b": 1}, *rows_with(a=0.5)]
        with pytest.raises(BadData, match="column 'a'"):
            store.create_table("t", rows)
        assert store.tables == []
        assert list((store.path / "tmp").iterdir()) == []


@pytest.mark.slow
def test_nulls_that_come_late_and_again_make_few_files(tmp_path: Path) -> None:
    rows = [{f"c{j}": None if i % 20_011 == j else i for j in range(8)} for i in range(80_000)]
    with Store.open(tmp_path / "s") as store:
        table = store.create_table("t", rows)
        assert len(list((store.path / "data").rglob("*.parquet"))) <= 4
        assert table.read(columns=[f"c{j}" for j in range(8)]).to_pylist() == rows


@pytest.mark.slow
def test_keys_that_rarely_come_make_few_files(tmp_path: Path) -> None:
    rows = [{"a": i} | ({f"rare {i // 1_000}": i} if i % 1_000 == 999 else {}) for i in range(60_000)]
    with Store.open(tmp_path / "s") as store:
        table = store.create_table("t", rows)
        assert len(list((store.path / "data").rglob("*.parquet"))) <= 3
        assert len(table.schema) == 62
        for row_id in (0, 999, 1_999, 59_999):
            actual = table.get(row_id)
            assert actual is not None
            assert {name: v for name, v in actual.items() if v is not None} == {"_id": row_id, **rows[row_id]}
