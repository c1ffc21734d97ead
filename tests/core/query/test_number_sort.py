"""A sort by one column of numbers or times: of any type, with nulls, whatever is pending."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lamella import Store, col, open_dataset
from lamella.core.arrow import sorted_ids as stable_order
from lamella.core.errors import Cancelled
from lamella.core.filters.expr import Filter
from lamella.core.jobs import Job
from lamella.core.query import find as orders
from lamella.core.query.scan_query import ScanQuery
from lamella.core.query.view import View
from lamella.core.scan.snapshot import SortKey
from lamella.core.store import Table

ROWS = 5_000
NUMBERS = np.random.default_rng(3).integers(0, 700, ROWS).tolist()
FLOATS = [math.nan if n % 97 == 0 else -0.0 if n % 89 == 0 else (n % 40) / 7 - 3 for n in NUMBERS]
DAY = dt.date(2020, 1, 1)
COLUMNS = {
    "int": pa.array([n - 300 for n in NUMBERS], pa.int16()),
    "unsigned": pa.array([n << 54 for n in NUMBERS], pa.uint64()),
    "float": pa.array(FLOATS, pa.float64()),
    "narrow": pa.array(FLOATS, pa.float32()),
    "truth": pa.array([n % 3 == 0 for n in NUMBERS]),
    "day": pa.array([DAY + dt.timedelta(n - 300) for n in NUMBERS]),
    "time": pa.array([dt.datetime(1960, 1, 1) + dt.timedelta(days=40 * n) for n in NUMBERS]),
    "clock": pa.array([dt.time(n // 60, n % 60) for n in NUMBERS]),
    "span": pa.array([dt.timedelta(seconds=n - 300) for n in NUMBERS]),
    "price": pa.array([Decimal(n - 300) / 100 for n in NUMBERS], pa.decimal128(9, 2)),
    "wide": pa.array([Decimal(n - 300) / 100 for n in NUMBERS], pa.decimal256(9, 2)),
    "code": pa.array(NUMBERS, pa.int64()).dictionary_encode(),
}


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Table]:
    """A table with nulls, deletions, changed cells and rows that are in no file yet."""
    missing = np.random.default_rng(4).random(ROWS) < 0.1
    columns = {name: _without(values, missing) for name, values in COLUMNS.items()}
    with Store.open(tmp_path_factory.mktemp("sorted")) as store:
        table_ = store.create_table("t", pa.table(columns))
        table_.delete(ids=range(100, ROWS, 11))
        changed = [i for i in range(7, ROWS, 501) if i % 11 != 1]
        table_.update([{"_id": i, "int": i % 50 - 25, "float": None} for i in changed])
        table_.insert([{"int": 5, "float": math.nan, "day": DAY}, {"int": None, "float": 0.0}])
        yield table_


def _without(values: pa.Array, missing: np.ndarray) -> pa.Array:
    plain = values.cast(pa.int64()) if pa.types.is_dictionary(values.type) else values
    column = pa.array(
        [None if gone else v for v, gone in zip(plain.to_pylist(), missing, strict=True)], plain.type
    )
    return column.dictionary_encode() if plain is not values else column


def expected(values: list[Any], descending: bool) -> list[int]:
    """Places of the values: NaN greater than all, null last both ways, equal ones as they stand."""
    present = [i for i, value in enumerate(values) if value is not None]
    present.sort(key=lambda i: _rank(values[i]), reverse=descending)
    return present + [i for i, value in enumerate(values) if value is None]


def _rank(value: Any) -> tuple[bool, Any]:
    return (True, 0.0) if isinstance(value, float) and math.isnan(value) else (False, value)


@pytest.mark.slow(except_every=4)
@pytest.mark.parametrize("descending", [False, True], ids=["up", "down"])
@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("where", [None, col("int") > -100], ids=["all", "some"])
def test_rows_come_in_the_order_of_a_column(
    table: Table, name: str, descending: bool, where: Filter | None
) -> None:
    rows = table.read(["_id", name], where=where)
    view = View(table.snapshot(), ScanQuery(where=where, sort=(SortKey(name, descending),)))
    actual = view.page(0, view.num_rows, ["_id"])["_id"].to_pylist()
    ids = rows["_id"].to_pylist()
    assert actual == [ids[i] for i in expected(rows[name].to_pylist(), descending)]


@pytest.mark.parametrize("kind", [pa.float16(), pa.float32()])
def test_a_nan_that_signals_is_sorted_like_any_other(tmp_path: Path, kind: pa.DataType) -> None:
    bits = {pa.float16(): np.array([0x7D00, 0x3C00, 0x7E00], np.uint16)}.get(
        kind, np.array([0x7FA00000, 0x3F800000, 0x7FC00000], np.uint32)
    )
    values = pa.Array.from_buffers(kind, 3, [None, pa.py_buffer(bits)])
    pq.write_table(pa.table({"x": values}), tmp_path / "t.parquet")
    view = View(open_dataset(tmp_path / "t.parquet").snapshot(), ScanQuery(sort=(SortKey("x"),)))
    assert view.positions(0, 3).tolist() == [1, 0, 2]


class Impatient(Job):
    """A job that somebody cancels at a check of his choice."""

    def __init__(self, checks: float) -> None:
        super().__init__()
        self.checks, self.checked = checks, 0

    def check(self) -> None:
        if self.checked >= self.checks:
            self.cancel()
        self.checked += 1
        super().check()


def test_a_sort_that_is_cancelled_on_its_way_leaves_nothing_behind(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stable_order, "LARGEST_SORT", ROWS // 20)
    query, patient = ScanQuery(sort=(SortKey("float", True),)), Impatient(math.inf)
    expected = View(table.snapshot(), query, patient).page(0, ROWS, ["_id"])
    assert patient.checked > 20
    orders.forget()
    for checks in range(patient.checked):
        with pytest.raises(Cancelled):
            View(table.snapshot(), query, Impatient(checks))
        assert orders._orders.held_bytes == 0
    assert View(table.snapshot(), query).page(0, ROWS, ["_id"]).equals(expected)
