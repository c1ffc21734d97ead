"""Row groups that statistics rule out are not read, and no row is lost by that."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import resources
from core import Store, col, open_dataset
from core.dataset import Dataset
from core.filters.expr import Filter

GROUP = 4
VALUES: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "n": (pa.int64(), st.integers(-5, 5)),
    "tiny": (pa.int8(), st.sampled_from([-128, -1, 0, 1, 127])),
    "text": (pa.string(), st.sampled_from(["", "a", "ab", "abc", "b", "é", "￿", "𝄞"])),
    "bytes": (pa.binary(), st.sampled_from([b"", b"a", b"\xff"])),
    "day": (pa.date32(), st.dates(dt.date(2024, 1, 1), dt.date(2024, 1, 9))),
    "moment": (
        pa.timestamp("ms"),
        st.datetimes(dt.datetime(2024, 1, 1), dt.datetime(2024, 1, 2)).map(
            lambda m: m.replace(microsecond=0)
        ),
    ),
    "real": (pa.float64(), st.sampled_from([-1.5, 0.0, 2.0, float("nan")])),
    "u": (pa.uint64(), st.sampled_from([0, 1, 2**63, 2**64 - 1])),
}
ORDERED = ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__")


@st.composite
def tables(draw: st.DrawFn) -> tuple[str, list[Any], Filter]:
    name = draw(st.sampled_from(sorted(VALUES)))
    _, values = VALUES[name]
    rows = draw(st.lists(st.one_of(st.none(), values), min_size=1, max_size=24))
    if draw(st.booleans()):
        rows = sorted((r for r in rows if r is not None), key=repr) + [r for r in rows if r is None]
    return name, rows, draw(filters(name, values))


@st.composite
def filters(draw: st.DrawFn, name: str, values: st.SearchStrategy[Any]) -> Filter:
    column, kind = col(name), draw(st.integers(0, 6))
    if kind == 0 and name != "bytes":
        return getattr(column, draw(st.sampled_from(ORDERED)))(draw(values))
    if kind <= 1:
        return column.is_in(draw(st.lists(values, max_size=3)))
    if kind == 2:
        return draw(st.sampled_from([column.is_null(), ~column.is_null()]))
    if kind == 3 and name == "text":
        return draw(st.sampled_from([column.starts_with("a"), column.like("ab%"), column.contains("b")]))
    if kind == 4:
        return ~draw(filters(name, values))
    one, other = draw(filters(name, values)), draw(filters(name, values))
    return one & other if kind == 5 else one | other


@settings(max_examples=150)
@given(made=tables())
def test_what_is_skipped_holds_nothing(tmp_path_factory: pytest.TempPathFactory, made: Any) -> None:
    name, rows, where = made
    path = tmp_path_factory.mktemp("skipped") / "t.parquet"
    pq.write_table(pa.table({name: pa.array(rows, VALUES[name][0])}), path, row_group_size=GROUP)
    dataset = open_dataset(path)
    told, found = dataset.explain(where=where), dataset.count(where)
    bare = path.with_name("bare.parquet")
    pq.write_table(pq.ParquetFile(path).read(), bare, row_group_size=GROUP, write_statistics=False)
    assert found == open_dataset(bare).count(where)
    assert (told.rows, told.row_groups_total) == (found, -(-len(rows) // GROUP))
    assert told.row_groups_read <= told.row_groups_total
    assert told.row_groups_read >= (found > 0)


def dataset_of(tmp_path: Path, **columns: pa.Array) -> Dataset:
    pq.write_table(pa.table(columns), tmp_path / "t.parquet", row_group_size=10)
    return open_dataset(tmp_path / "t.parquet")


@pytest.mark.parametrize(
    ("where", "read"),
    [
        ("n = 15", 1),
        ("n between 15 and 25", 2),
        ("n > 10.5 and n < 12.5", 1),
        ("n in (5, 35)", 2),
        ("not n >= 10", 1),
        ("n < 5 or word = 'w39'", 2),
        ("word starts with 'w1'", 1),
        ("n is null", 0),
        ("n = 1000", 0),
        ("n >= 0", 4),
        ("n is not null", 4),
    ],
)
def test_row_groups_are_skipped(tmp_path: Path, where: str, read: int) -> None:
    words = pa.array([f"w{n:02}" for n in range(40)])
    told = dataset_of(tmp_path, n=pa.array(list(range(40))), word=words).explain(where=where)
    assert (told.row_groups_read, told.row_groups_total) == (read, 4)


def test_pending_cells_are_seen_where_statistics_would_rule_them_out(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s") as store:
        table = store.create_table("t", {"n": list(range(1_000))})
        table.flush()
        table.update([{"_id": 3, "n": 5_000}])
        assert table.read(columns=["_id"], where=col("n") == 5_000).to_pylist() == [{"_id": 3}]
        assert table.explain(where=col("n") == 5_001).rows == 0


def test_flights_of_a_month_lie_in_few_row_groups() -> None:
    flights = open_dataset(resources.sample("flights"))
    told = flights.explain(where=col("month") == 2, columns=["carrier"])
    assert (told.row_groups_read, told.row_groups_total) == (2, 4)
    assert told.rows == 24_951
    assert told.columns_read == ("month", "carrier")
