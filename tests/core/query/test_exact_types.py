"""Sorts, filters, pages and duplicates of columns that DuckDB alone would round, or take in another unit:
they answer as plain Python does."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, localcontext
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamella import Store, col
from lamella.core.errors import BadSql, LamellaError
from lamella.core.query import find
from lamella.core.query.scan_query import ScanQuery
from lamella.core.query.view import View
from lamella.core.scan.snapshot import SortKey
from lamella.core.store import Table
from tests.slow_tests import examples

HUGE = pa.decimal256(60, 2)
NEAR = 10**50
STATES = ("pending", "flushed", "changed", "old cells")
WIDENED: dict[str, tuple[pa.DataType, pa.DataType, list[Any], list[Any]]] = {
    "whole numbers in long decimals": (pa.int64(), HUGE, [7, 1, None], [Decimal(NEAR), Decimal("1.50")]),
    "seconds in microseconds": (pa.duration("s"), pa.duration("us"), [5, 0, None], [5, 4_999_999]),
    "milliseconds in nanoseconds": (pa.duration("ms"), pa.duration("ns"), [3, 1, None], [3, 1_000_000]),
    "bits in numbers": (pa.bool_(), pa.float64(), [True, False, None], [0.5, 1.0]),
    "whole numbers in decimals": (pa.int64(), pa.decimal128(30, 2), [7, 1, None], [Decimal("1.50")]),
    "days in moments": (pa.date32(), pa.timestamp("us"), [1, 0, None], [86_400_000_001, 86_400_000_000]),
    "seconds in moments": (pa.timestamp("s"), pa.timestamp("us"), [5, 0, None], [5, 5_000_000]),
    "clocks": (pa.time32("s"), pa.time64("us"), [5, 0, None], [5, 5_000_000]),
    "lists of seconds": (
        pa.list_(pa.duration("s")), pa.list_(pa.duration("us")), [[5], [0, 1], None], [[5], [5_000_000]],
    ),
    "fields": (
        pa.struct([("a", pa.int32())]), pa.struct([("a", pa.int64()), ("b", pa.string())]),
        [{"a": 2}, {"a": 1}], [{"a": 2, "b": None}, {"a": 1 << 40, "b": "x"}],
    ),
}  # fmt: skip


def column(values: list[Any], kind: pa.DataType) -> pa.Table:
    return pa.table({"v": pa.array(values, kind)})


def written(store: Store, state: str, before: pa.Table, after: pa.Table) -> Table:
    """A table whose first rows are of the narrower type, in files or pending, and the others of the wider."""
    table = store.create_table("t", before)
    table.maintenance.flush()
    if state == "old cells":
        table.update(pa.table({"_id": [1], "v": before["v"].slice(0, 1)}))
    table.insert(after)
    if state == "flushed":
        table.maintenance.flush()
    if state == "changed":
        table.update(pa.table({"_id": [1], "v": after["v"].slice(0, 1)}))
    return table


def held(table: Table) -> list[Any]:
    """The values as what they are counted as, so that two are equal only when they are the same."""
    return [counted(value) for value in table.read()["v"].to_pylist()]


def counted(value: Any) -> Any:
    if isinstance(value, dict):
        return tuple(counted(part) for part in value.values())
    if isinstance(value, list):
        return tuple(counted(part) for part in value)
    return getattr(value, "value", value)


def in_order(values: list[Any]) -> list[int]:
    """Row numbers in the order of a sort: nulls last, also inside a value; ties as they come."""

    def key(row: int) -> list[tuple[bool, Any]]:
        value = values[row]
        return [(part is None, part) for part in (value if isinstance(value, tuple) else (value,))]

    return sorted(range(len(values)), key=key)


def paged(table: Table, size: int) -> list[int]:
    ids, after = [], None
    while len(ids) <= 2 * table.num_rows:
        page = table.page(size, after, sort=["v"])
        ids += page.rows["_id"].to_pylist()
        after = page.next
        if after is None:
            return ids
    raise AssertionError("the pages do not end")


@pytest.mark.slow(except_every=4)
@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("case", WIDENED)
def test_a_widened_column_is_one_column(tmp_path: Path, case: str, state: str) -> None:
    narrow, wide, before, after = WIDENED[case]
    with Store.open(tmp_path / "s") as store:
        table = written(store, state, column(before, narrow), column(after, wide))
        values, rows = held(table), table.read()
        assert table.schema.field("v").type.equals(wide)
        assert table.read(sort=["v"])["_id"].to_pylist() == in_order(values)
        if not pa.types.is_nested(wide):
            assert paged(table, 2) == in_order(values)
        counts = store.sql("select count(*) n, count(distinct v) d from t").to_pylist()
        assert counts == [{"n": len(values), "d": len({v for v in values if v is not None})}]
        table.drop_duplicates("v")
        firsts = [i for i, value in enumerate(values) if value not in values[:i]]
        assert table.read().equals(rows.take(pa.array(firsts)))


@pytest.mark.slow(after=2)
@pytest.mark.parametrize("state", STATES)
def test_sql_counts_durations_in_the_unit_of_the_column(tmp_path: Path, state: str) -> None:
    with Store.open(tmp_path / "s") as store:
        seconds, finer = column([5, 6], pa.duration("s")), column([7], pa.duration("us"))
        table = written(store, state, seconds, finer)
        ticks = table.read()["v"].cast(pa.int64()).to_pylist()
        assert store.sql("select v + 0 as v from t order by _id")["v"].to_pylist() == ticks
        assert store.sql("select v from t order by _id")["v"].equals(table.read()["v"])


close = st.one_of(st.none(), st.integers(-3, 3).map(lambda i: NEAR + i), st.integers(-3, 3), st.just(-NEAR))


@settings(max_examples=examples(10))
@given(
    cells=st.lists(close, min_size=1, max_size=12),
    changed=close,
    number=close.filter(lambda v: v is not None),
)
def test_decimals_of_many_digits_are_told_apart(
    tmp_path_factory: pytest.TempPathFactory, cells: list[int | None], changed: int | None, number: int
) -> None:
    with Store.open(tmp_path_factory.mktemp("s")) as store:
        values = [None if v is None else Decimal(v) for v in cells]
        table = store.create_table("t", column(values, HUGE))
        table.maintenance.flush()
        table.update([{"_id": 0, "v": None if changed is None else Decimal(changed)}])
        cells = [changed, *cells[1:]]
        assert table.read(sort=["v"])["_id"].to_pylist() == in_order(cells)
        assert paged(table, 3) == in_order(cells)
        for where, meets in questions(number):
            expected = [i for i, v in enumerate(cells) if meets(v)]
            assert table.read(where=where)["_id"].to_pylist() == expected
            assert View(table.snapshot(), ScanQuery(where=where)).positions(0, 99).tolist() == expected
        distinct = list(dict.fromkeys(cells))
        table.drop_duplicates("v")
        assert [v if v is None else int(v) for v in table.read()["v"].to_pylist()] == distinct


def questions(number: int) -> list[tuple[Any, Callable[[int | None], bool]]]:
    with localcontext(prec=80):
        below = Decimal(number) - Decimal("0.005")
    return [
        (col("v") == number, lambda v: v == number),
        (col("v") != number, lambda v: v != number),
        (col("v") < number, lambda v: v is not None and v < number),
        (col("v") >= below, lambda v: v is not None and v >= number),
        (col("v").is_in([number, 0]), lambda v: v in (number, 0)),
    ]


def test_a_large_table_is_filtered_as_exactly_as_a_small_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(find, "MOST_CACHED_ROWS", 0)
    with Store.open(tmp_path / "s") as store:
        table = store.create_table("t", column([Decimal(NEAR), Decimal(NEAR + 1)], HUGE))
        assert table.count(col("v") == NEAR) == 1
        assert table.page(5, where=col("v") > NEAR, sort=["-v"]).rows["_id"].to_pylist() == [1]


NESTED = {
    "lists": (pa.list_(HUGE), [[Decimal(NEAR)], [Decimal(NEAR + 1)], None, [Decimal(NEAR)]]),
    "fields": (
        pa.struct([("a", HUGE)]),
        [{"a": Decimal(NEAR)}, {"a": Decimal(NEAR + 1)}, None, {"a": Decimal(NEAR)}],
    ),
    "maps": (
        pa.map_(pa.string(), HUGE),
        [[("k", Decimal(NEAR))], [("k", Decimal(NEAR + 1))], None, [("k", Decimal(NEAR))]],
    ),
    "short floats": (pa.list_(pa.float16()), [[1.0], [1.5], None, [1.0]]),
    "durations": (pa.struct([("a", pa.duration("ns"))]), [{"a": 1}, {"a": 2}, None, {"a": 1}]),
}


@pytest.mark.slow(after=2)
@pytest.mark.parametrize("pending", [True, False])
@pytest.mark.parametrize("kind", NESTED)
def test_nested_values_are_sorted_and_told_apart(tmp_path: Path, kind: str, pending: bool) -> None:
    type_, values = NESTED[kind]
    with Store.open(tmp_path / "s") as store:
        table = store.create_table("t", column(values[:2], type_))
        table.maintenance.flush()
        table.insert(column(values[2:], type_))
        if not pending:
            table.maintenance.flush()
        assert table.read(sort=["v"])["_id"].to_pylist() == [0, 3, 1, 2]
        assert View(table.snapshot(), ScanQuery(where=col("v").is_null(), sort=(SortKey("v"),))).num_rows == 1
        assert store.sql("select count(distinct v) n from t").to_pylist() == [{"n": 2}]
        assert table.drop_duplicates("v").deleted == 1


def test_sql_has_long_decimals_as_text_with_every_digit(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s") as store:
        table = store.create_table("t", column([Decimal(NEAR + 1), None], HUGE))
        table.insert(column([Decimal("-0.05")], HUGE))
        actual = store.sql("select _id, v || '' as v from t order by _id")["v"].to_pylist()
        assert actual == [f"{NEAR + 1}.00", None, "-0.05"]
        assert store.sql("select v from t order by _id")["v"].equals(table.read()["v"])
        assert store.sql("select _id from t where v = '-0.05'").to_pylist() == [{"_id": 2}]


@pytest.mark.slow(except_every=4)
@pytest.mark.parametrize(
    "text",
    [
        "select sum(v) from t",
        "select max(v) from t",
        "select v from t order by v desc",
        "select * from t where v = 5",
        "select * from t as a where -5.5 <> (a.v)",
        "select * from t where v in (1, 2)",
        "select * from t where v > '7'",
        "select * from t where v between '1' and '7'",
    ],
)
def test_sql_does_not_take_that_text_for_numbers(tmp_path: Path, text: str) -> None:
    with Store.open(tmp_path / "s") as store:
        store.create_table("t", column([Decimal("5.40"), Decimal(NEAR)], HUGE))
        store.create_table("other", [{"v": 5}])
        with pytest.raises(BadSql, match=r"column 'v' of table 't'.*read\(where=, sort=\)|sum"):
            store.sql(text)
        both = "select o.v from t join other o on true where o.v = 5 and t.v = '5.40' order by o.v"
        assert store.sql(both).to_pylist() == [{"v": 5}]


def test_times_too_far_away_for_the_engine_are_refused_by_name(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s") as store:
        table = store.create_table("far", column([2**62, 0], pa.timestamp("ms")))
        table.maintenance.flush()
        for ask in (table.read, partial(table.page, 5)):
            with pytest.raises(LamellaError, match=r"far: the query cannot be computed.*cast it to text"):
                ask(sort=["v"])


def test_any_limit_may_be_asked_of_a_sort(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s") as store:
        table = store.create_table("t", [{"v": 2}, {"v": 1}])
        assert table.read(sort=["v"], limit=2**70)["v"].to_pylist() == [1, 2]
        assert table.read(sort=["v"], limit=2**70, offset=2**69).num_rows == 0
