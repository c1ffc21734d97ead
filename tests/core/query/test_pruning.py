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

from lamella import Store, col, open_dataset, resources
from lamella.core.datasets.base import Dataset
from lamella.core.filters.expr import Filter
from tests.slow_tests import examples

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
def tables(draw: st.DrawFn) -> tuple[pa.Array, Filter]:
    """A column "x", perhaps of structs in structs, null at any level; and a filter of what it holds."""
    name = draw(st.sampled_from(sorted(VALUES)))
    kind, values = VALUES[name]
    rows = draw(st.lists(st.one_of(st.none(), values), min_size=1, max_size=24))
    if draw(st.booleans()):
        rows = sorted((r for r in rows if r is not None), key=repr) + [r for r in rows if r is None]
    path = ["x"]
    for level in range(draw(st.integers(0, 2))):
        kind, path = pa.struct([(f"f{level}", kind), ("other", pa.int8())]), ["x", f"f{level}", *path[1:]]
        rows = [
            draw(st.sampled_from([None, {f"f{level}": r}])) if r is None else {f"f{level}": r} for r in rows
        ]
    where = draw(filters(name, values, ".".join(path)))
    if len(path) > 1 and draw(st.booleans()):
        where = where & ~col(".".join(path[:-1])).is_null()
    return pa.array(rows, kind), where


@st.composite
def filters(draw: st.DrawFn, name: str, values: st.SearchStrategy[Any], path: str) -> Filter:
    column, kind = col(path), draw(st.integers(0, 6))
    if kind == 0 and name != "bytes":
        return getattr(column, draw(st.sampled_from(ORDERED)))(draw(values))
    if kind <= 1:
        return column.is_in(draw(st.lists(values, max_size=3)))
    if kind == 2:
        return draw(st.sampled_from([column.is_null(), ~column.is_null()]))
    if kind == 3 and name == "text":
        return draw(st.sampled_from([column.starts_with("a"), column.like("ab%"), column.contains("b")]))
    if kind == 4:
        return ~draw(filters(name, values, path))
    left, right = draw(filters(name, values, path)), draw(filters(name, values, path))
    return left & right if kind == 5 else left | right


@settings(max_examples=examples(50))
@given(case=tables())
def test_what_is_skipped_holds_nothing(tmp_path_factory: pytest.TempPathFactory, case: Any) -> None:
    rows, where = case
    path = tmp_path_factory.mktemp("skipped") / "t.parquet"
    pq.write_table(pa.table({"x": rows}), path, row_group_size=GROUP)
    dataset = open_dataset(path)
    explanation, count = dataset.explain(where=where), dataset.count(where)
    bare = path.with_name("bare.parquet")
    pq.write_table(pq.ParquetFile(path).read(), bare, row_group_size=GROUP, write_statistics=False)
    assert count == open_dataset(bare).count(where)
    assert (explanation.rows, explanation.row_groups_total) == (count, -(-len(rows) // GROUP))
    assert explanation.row_groups_read <= explanation.row_groups_total
    assert explanation.row_groups_read >= (count > 0)


def dataset_of(tmp_path: Path, **columns: pa.Array) -> Dataset:
    pq.write_table(pa.table(columns), tmp_path / "t.parquet", row_group_size=10)
    return open_dataset(tmp_path / "t.parquet")


@pytest.mark.parametrize(
    ("where", "groups_read"),
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
def test_row_groups_are_skipped(tmp_path: Path, where: str, groups_read: int) -> None:
    words = pa.array([f"w{n:02}" for n in range(40)])
    explanation = dataset_of(tmp_path, n=pa.array(list(range(40))), word=words).explain(where=where)
    assert (explanation.row_groups_read, explanation.row_groups_total) == (groups_read, 4)


@pytest.mark.parametrize(
    ("where", "groups_read"),
    [
        ("d.n = 15", 1),
        ("d.n between 15 and 25", 2),
        ("d.e.n > 10.5 and d.e.n < 12.5", 1),
        ("d.n in (5, 35)", 2),
        ("not d.n >= 10", 1),
        ("d.e.n < 5 or d.word = 'w39'", 2),
        ("d.word starts with 'w1'", 1),
        ("d.word like 'w3%'", 1),
        ("d.day < '2024-01-05'", 1),
        ("d.n is null", 0),
        ("d is null", 0),
        ("d.e is not null", 4),
        ("d.n = 1000", 0),
        ("d.n is not null", 4),
        ("d.real < 5", 4),
    ],
)
def test_row_groups_are_skipped_by_fields_inside_structs(
    tmp_path: Path, where: str, groups_read: int
) -> None:
    days = [dt.date(2024, 1, 1) + dt.timedelta(days=n) for n in range(40)]
    structs = [
        {"n": n, "word": f"w{n:02}", "e": {"n": n}, "day": days[n], "real": float(n)} for n in range(40)
    ]
    dataset = dataset_of(tmp_path, d=pa.array(structs))
    explanation = dataset.explain(where=where)
    assert (explanation.row_groups_read, explanation.row_groups_total) == (groups_read, 4)
    assert f"row groups  {groups_read} of 4 read" in str(explanation)


def test_row_groups_are_skipped_where_a_struct_is_null_or_a_field_of_it(tmp_path: Path) -> None:
    of_group = [None, {"e": None}, {"e": {"n": None}}, {"e": {"n": 7}}, {"e": {"n": None}}]
    kind = pa.struct([("e", pa.struct([("n", pa.int64())]))])
    rows = pa.table({"d": pa.array([row for row in of_group for _ in range(2)], kind), "i": range(10)})
    pq.write_table(rows, tmp_path / "t.parquet", row_group_size=2)
    dataset = open_dataset(tmp_path / "t.parquet")
    for where, expected, groups_read in (
        ("d.e.n = 7", [6, 7], 1),
        ("d.e.n != 7", [0, 1, 2, 3, 4, 5, 8, 9], 4),
        ("d.e.n is not null", [6, 7], 1),
        ("not d.e.n < 8", [0, 1, 2, 3, 4, 5, 8, 9], 4),
        ("d.e is null", [0, 1, 2, 3], 4),
    ):
        explanation = dataset.explain(where=where)
        assert (dataset.read(where=where)["i"].to_pylist(), explanation.row_groups_read) == (
            expected,
            groups_read,
        ), where


def test_statistics_of_items_of_lists_skip_no_rows(tmp_path: Path) -> None:
    rows = [{"l": [n, n + 100], "ds": [{"n": n}]} for n in range(40)]
    dataset = dataset_of(tmp_path, d=pa.array(rows))
    explanation = dataset.explain(where=col("d.l").has(105))
    assert (explanation.rows, explanation.row_groups_read) == (1, 4)
    assert dataset.explain(where=col("d.ds").elem_match(col("n") == 39)).rows == 1
    assert dataset.explain(where="d.l is null").rows == 0


def test_a_column_whose_name_looks_like_a_path_is_not_taken_for_the_field(tmp_path: Path) -> None:
    columns = {"d": pa.array([{"n": n, "m": {"k": n}} for n in range(40)]), "d.n": pa.array([0] * 40)}
    null = pa.array([None] * 40, pa.struct([("y", pa.int64())]))
    dataset = dataset_of(tmp_path, **columns, **{"x": null, "x.z": pa.array([1] * 40)})
    assert dataset.explain(where="x is null").rows == 40
    explanation = dataset.explain(where="d.m.k = 39")
    assert (explanation.rows, explanation.row_groups_read) == (1, 1)
    assert dataset.count(col("d.n") == 0) == 40


def test_fields_that_a_file_lacks_are_null_there(tmp_path: Path) -> None:
    (tmp_path / "many").mkdir()
    for name, row in (("1", {"a": 1}), ("2", {"a": 1, "b": 2})):
        pq.write_table(pa.table({"d": [row]}), tmp_path / "many" / f"{name}.parquet")
    dataset = open_dataset(tmp_path / "many")
    explanation = dataset.explain(where="d.b = 2")
    assert (explanation.rows, explanation.row_groups_read) == (1, 1)
    assert dataset.count(col("d.b").is_null()) == 1


def test_pending_cells_inside_structs_are_seen_where_statistics_would_rule_them_out(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s") as store:
        table = store.create_table("t", {"d": [{"n": n} for n in range(1_000)]})
        table.maintenance.flush()
        table.update([{"_id": 3, "d": {"n": 5_000}}])
        assert table.read(columns=["_id"], where=col("d.n") == 5_000).to_pylist() == [{"_id": 3}]
        assert table.explain(where=col("d.n") == 5_001).rows == 0


def test_pending_cells_are_seen_where_statistics_would_rule_them_out(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s") as store:
        table = store.create_table("t", {"n": list(range(1_000))})
        table.maintenance.flush()
        table.update([{"_id": 3, "n": 5_000}])
        assert table.read(columns=["_id"], where=col("n") == 5_000).to_pylist() == [{"_id": 3}]
        assert table.explain(where=col("n") == 5_001).rows == 0


def test_flights_of_a_month_lie_in_few_row_groups() -> None:
    flights = open_dataset(resources.sample("flights"))
    explanation = flights.explain(where=col("month") == 2, columns=["carrier"])
    assert (explanation.row_groups_read, explanation.row_groups_total) == (2, 4)
    assert explanation.rows == 24_951
    assert explanation.columns_read == ("month", "carrier")
