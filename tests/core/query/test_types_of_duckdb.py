"""Files that DuckDB wrote with types of its own mean the same values, whatever is asked."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

import duckdb
import pyarrow as pa
import pytest

from lamella import agg, col, open_dataset
from lamella.core.datasets.base import Dataset
from lamella.core.query.profile import profile

IDS = [UUID(int=n << 120 | 7) for n in (9, 1, 200, 1)]


def written(path: Path, rows: str) -> Dataset:
    with duckdb.connect() as engine:
        engine.execute(f"COPY ({rows}) TO '{path}' (FORMAT parquet)")
    return open_dataset(path)


@pytest.fixture
def ids(tmp_path: Path) -> Dataset:
    listed = ", ".join(f"('{id_}'::UUID, {place})" for place, id_ in enumerate(IDS))
    return written(tmp_path / "ids.parquet", f"SELECT * FROM (VALUES {listed}, (NULL, 4)) AS ids(u, n)")


def test_rows_are_grouped_sorted_and_told_apart_by_uuids(ids):
    assert ids.schema.field("u").type == pa.uuid()
    in_order = [IDS[1], IDS[0], IDS[2], None]
    assert ids.group_by("u").agg(n=agg.count()).read().to_pydict() == {"u": in_order, "n": [2, 1, 1, 1]}
    assert ids.group_by("u").agg().read().column("u").to_pylist() == in_order
    assert ids.compute(m=col("n")).sort("-u").read().column("u").to_pylist() == [
        IDS[2], IDS[0], IDS[1], IDS[1], None
    ]  # fmt: skip
    answer = ids.agg(n=agg.count_distinct("u"), u=agg.first("u"), all=agg.list("u")).read().to_pylist()
    assert answer == [{"n": 3, "u": IDS[0], "all": [*IDS, None]}]
    assert ids.query().facets(u="u").tables()["u"].to_pylist()[0] == {"u": IDS[1], "n": 2}
    assert profile(ids.snapshot(), "u").distinct == 3


def test_pages_follow_the_order_of_uuids(ids):
    query, numbers, after = ids.compute(m=col("n")).sort("u", "-n"), [], None
    while True:
        page = query.page(2, after=after)
        numbers += page.rows.column("n").to_pylist()
        if (after := page.next) is None:
            break
    assert numbers == [3, 1, 0, 2, 4]


def test_uuids_inside_structs_lists_and_maps_are_read_whole(tmp_path):
    uuid = IDS[0]
    literal = f"'{uuid}'::UUID"
    nested = written(
        tmp_path / "nested.parquet",
        f"SELECT {{'u': {literal}, 'n': 1}} AS s, [{literal}, NULL] AS l, "
        f"MAP {{{literal}: [{literal}]}} AS m",
    )
    row = {"s": {"u": uuid, "n": 1}, "l": [uuid, None], "m": [(uuid, [uuid])]}
    assert nested.read().to_pylist() == [row]
    assert nested.compute(n=1).read().to_pylist() == [row | {"n": 1}]
    for name, value in row.items():
        assert nested.group_by(name).agg(n=agg.count()).read().to_pylist() == [{name: value, "n": 1}]


@pytest.mark.parametrize("value", ["INTERVAL '1 month 2 days'", "{'a': 1}::VARIANT"])
def test_intervals_and_variants_are_what_the_file_holds_of_them(tmp_path, value):
    rows = written(tmp_path / "t.parquet", f"SELECT {value} AS v, 1 AS n UNION ALL SELECT {value}, 2")
    values = rows.read().column("v").to_pylist()
    assert rows.compute(m=col("n")).read().column("v").to_pylist() == values
    assert rows.group_by("v").agg(n=agg.count()).read().to_pylist() == [{"v": values[0], "n": 2}]


def test_months_and_days_are_grouped_by_what_was_written(tmp_path):
    rows = written(tmp_path / "t.parquet", "SELECT INTERVAL 1 month AS v UNION ALL SELECT INTERVAL 30 days")
    assert rows.group_by("v").agg(n=agg.count()).read().column("n").to_pylist() == [1, 1]
