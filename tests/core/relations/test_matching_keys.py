"""Keys match where they mean the same, whatever types the two columns have."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lamella import Store, col
from lamella.core.arrow.arrays import from_values


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "s") as opened:
        yield opened


def ids(rows: pa.Table) -> list[int]:
    return rows["_id"].to_pylist()


PAIRS = [
    (pa.int8(), [1, 2, None], pa.int64(), [2, 300, 1]),
    (pa.int64(), [1, 2**53 + 1, 5], pa.float64(), [1.0, 2.0**53, 5.5]),
    (pa.float64(), [float("nan"), -0.0, 2.5], pa.float64(), [0.0, float("nan"), 2.5]),
    (pa.float64(), [float("nan"), 2.5, 7.0], pa.int64(), [7, 2, 0]),
    (pa.decimal128(9, 2), [Decimal("1.00"), Decimal("1.50"), None], pa.int64(), [1, 2, 1]),
    (pa.uint64(), [2**63, 1, 2], pa.int64(), [-1, 1, 2]),
    (pa.string(), ["a", "ä", ""], pa.large_string(), ["A", "ä", ""]),
    (pa.timestamp("us"), [1_000_000, 1_500_000, None], pa.timestamp("s"), [1, 2, None]),
    (pa.timestamp("ns"), [1_000_000_001, 1_000_000_000, 5], pa.timestamp("ns"), [1_000_000_001, 5, 6]),
    (pa.timestamp("us", "UTC"), [3_600_000_000, 0, None], pa.timestamp("us", "Asia/Tokyo"), [0, 1, None]),
    (pa.date32(), [0, 1, None], pa.date32(), [1, 0, 0]),
    (pa.duration("s"), [1, 2, None], pa.duration("ms"), [1_000, 2_500, None]),
    (pa.binary(), [b"a", b"", None], pa.binary(), [b"", b"b", None]),
    (pa.bool_(), [True, False, None], pa.bool_(), [True, True, None]),
]


@pytest.mark.slow(except_every=2)
@pytest.mark.parametrize(("kind", "keys", "target_kind", "target_keys"), PAIRS, ids=lambda v: str(v)[:16])
def test_values_match_where_they_mean_the_same_whatever_their_types(
    tmp_path: Path, kind: pa.DataType, keys: list[Any], target_kind: pa.DataType, target_keys: list[Any]
) -> None:
    with Store.open(tmp_path / "s") as store:
        a = store.create_table("a", pa.table({"k": typed(keys, kind)}))
        b = store.create_table("b", pa.table({"k": typed(target_keys, target_kind)}))
        store.relations.declare("a.k", "b.k")
        expected = [[n for n, y in enumerate(target_keys) if same(x, kind, y, target_kind)] for x in keys]
        assert [ids(a.relations.rows(n, "b")) for n in range(len(keys))] == expected
        assert a.relations.counts(range(len(keys)), "b")["count"].to_pylist() == list(map(len, expected))
        back = [[n for n, x in enumerate(keys) if same(x, kind, y, target_kind)] for y in target_keys]
        assert [ids(b.relations.rows(n, "a")) for n in range(len(target_keys))] == back
        assert any(expected)


def typed(values: list[Any], kind: pa.DataType) -> pa.Array:
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind) or pa.types.is_date(kind):
        whole = pa.int32() if pa.types.is_date(kind) else pa.int64()
        return from_values(values, whole).cast(kind)
    return from_values(values, kind)


def same(x: Any, kind: pa.DataType, y: Any, target_kind: pa.DataType) -> bool:
    if x is None or y is None:
        return False
    scale = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
    x, y = (
        v * scale.get(getattr(t, "unit", ""), 1) if hasattr(t, "unit") else v
        for v, t in ((x, kind), (y, target_kind))
    )
    return x == y or (x != x and y != y)


def test_uuids_are_keys_like_others(tmp_path: Path) -> None:
    first, second = (bytes([n] * 16) for n in (1, 2))
    uuids = pa.ExtensionArray.from_storage(pa.uuid(), from_values([second, first, None], pa.binary(16)))
    with Store.open(tmp_path / "s") as store:
        store.create_table("a", pa.table({"k": uuids}))
        store.create_table("b", pa.table({"k": uuids, "n": from_values([1, 2, 3], pa.int64())}))
        store.relations.declare("a.k", "b.k")
        assert [ids(store["a"].relations.rows(n, "b", where=col("n") < 9)) for n in range(3)] == [
            [0],
            [1],
            [],
        ]
        assert store["a"].relations.page(1, "b", 5).rows["n"].to_pylist() == [2]


def test_times_of_day_match_to_the_nanosecond(store: Store) -> None:
    kind = pa.time64("ns")
    times = pa.array([0, 5, 1_000_000_000], kind)
    store.create_table("seen", pa.table({"at": times, "again": times}))
    store.create_table("told", pa.table({"at": pa.array([0, 1], pa.time32("s"))}))
    store.relations.declare("told.at", "seen.at")
    store.relations.declare("seen.at", "seen.again", name="same")
    assert [ids(store["told"].relations.rows(row, "seen")) for row in (0, 1)] == [[0], [2]]
    assert [ids(store["seen"].relations.rows(row, "seen", direction="out")) for row in (0, 1)] == [[0], [1]]


def test_a_column_of_nulls_alone_points_at_nothing(store: Store) -> None:
    kinds = [pa.timestamp("ms"), pa.duration("s"), pa.date32(), pa.float64(), pa.string(), pa.uuid()]
    whole = {f"event{n}": pa.nulls(2, kind) for n, kind in enumerate(kinds)}
    store.create_table("event", pa.table(whole))
    store.create_table("log", pa.table({name: pa.nulls(2) for name in whole}))
    for name in whole:
        store.relations.declare(f"log.{name}", f"event.{name}")
        assert store["log"].relations.rows(0, "event", through=f"log_{name}").num_rows == 0
        assert store["event"].relations.rows(0, "log", through=f"log_{name}").num_rows == 0
    assert not any(check.problems for check in store.relations.check(*(f"log_{name}" for name in whole)))
    assert isinstance(store.relations.suggest(), tuple)


@pytest.mark.parametrize("zone", [None, "America/New_York"])
def test_moments_match_beyond_the_years_that_conditions_take(store: Store, zone: str | None) -> None:
    moments = pa.array([10**15, 5 * 10**11, -(10**14), 5, None], pa.timestamp("s", zone))
    store.create_table("seen", pa.table({"at": moments}))
    store.create_table("told", pa.table({"at": moments}))
    store.relations.declare("told.at", "seen.at")
    matches = [ids(store["told"].relations.rows(row, "seen")) for row in range(5)]
    assert matches == [[0], [1], [2], [3], []]
    assert [check.dangling for check in store.relations.check("told_at")] == [0]
