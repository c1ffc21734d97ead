"""Few rows that meet a condition come in the order that the query engine would give them."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamella import Store, col
from lamella.core.query import find
from lamella.core.scan.snapshot import SortKey
from tests.slow_tests import examples

CELLS = {
    "n": (pa.int64(), st.integers(-2, 2)),
    "x": (pa.float64(), st.sampled_from([0.0, -0.0, 1.5, float("nan"), float("-inf")])),
    "word": (pa.string(), st.sampled_from(["", "a", "B", "ä", "𝒳", "ﬀ"])),
    "at": (pa.timestamp("us"), st.sampled_from([dt.datetime(1960, 1, 1), dt.datetime(2020, 2, 29, 1)])),
    "cost": (pa.decimal128(30, 2), st.sampled_from([Decimal("-1.50"), Decimal("0.00"), Decimal("12.25")])),
    "on": (pa.bool_(), st.booleans()),
}
ROWS = st.lists(
    st.fixed_dictionaries({name: st.none() | cell for name, (_, cell) in CELLS.items()}), max_size=20
)
KEYS = st.lists(st.sampled_from(list(CELLS)), min_size=1, max_size=3, unique=True)


@settings(max_examples=examples(15))
@given(rows=ROWS, changed=ROWS, names=KEYS, descending=st.lists(st.booleans(), min_size=3, max_size=3))
def test_the_order_is_the_engine_s(
    rows: list, changed: list, names: list, descending: list, tmp_path_factory: pytest.TempPathFactory
) -> None:
    schema = pa.schema([(name, kind) for name, (kind, _) in CELLS.items()])
    with Store.open(tmp_path_factory.mktemp("order") / "s") as store:
        table = store.create_table("t", pa.Table.from_batches([pa.RecordBatch.from_pylist(rows, schema)]))
        table.update([{"_id": i, **cells} for i, cells in enumerate(changed[: len(rows)])])
        where = ~(col("n") == 1)
        keys = tuple(SortKey(name, down) for name, down in zip(names, descending, strict=False))
        actual = find.find_rows(table.snapshot(), where, keys).tolist()
        assert actual == find.find_rows(table.snapshot(), where, keys, method=find.Method.DUCKDB).tolist()


def test_many_rows_come_in_order_too(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(find, "FEW_TO_ORDER", 3)
    with Store.open(tmp_path / "s") as store:
        table = store.create_table("t", {"n": [5, 1, 4, 1, 3, 9], "k": [1, 1, 1, 1, 1, 0]})
        assert table.read(where=col("k") == 1, sort=["-n"])["_id"].to_pylist() == [0, 2, 4, 1, 3]
        assert table.read(where=col("n") < 4, sort=["n"], limit=2)["_id"].to_pylist() == [1, 3]
