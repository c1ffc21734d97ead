"""Groups as rows of a grid: pages across levels, and where rows stand when others are opened."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from lamella.core.filters import Filter
from lamella.core.jobs import Job
from lamella.core.query import agg
from lamella.core.query.builder import query_of
from lamella.core.query.expressions import col
from lamella.core.query.group_levels import GroupLevels
from lamella.core.query.scan_query import ScanQuery
from lamella.core.query.source import SnapshotSource
from lamella.core.query.view import View
from lamella.core.scan.snapshot import SortKey, snapshot_of_rows
from lamella.ui.grid.tree import TreeRows, all_open, none_open

ROWS = pa.table(
    {
        "word": pa.array(["a", "b", None, "a"]).dictionary_encode(),
        "day": [dt.date(2024, 1, n) for n in (1, 2, 3, 4)],
        "sum": [Decimal("1.25"), None, Decimal("3.00"), Decimal("4.50")],
        "inside": [{"n": 1, "tags": ["x"]}, None, {"n": 3, "tags": []}, {"n": 4, "tags": None}],
    }
)
KEYS = ("word", "day")


def tree_of(where: Filter | None = None) -> TreeRows:
    groups = query_of(SnapshotSource(snapshot_of_rows(ROWS, "t"))).group_by(*KEYS)
    query = groups.agg(n=agg.count(), sum=agg.sum("sum"), last=agg.last("inside"), all=agg.list("sum"))
    answer = snapshot_of_rows(query.read(), "t")
    levels = GroupLevels.read(
        query.pipeline.steps, lambda steps: query.with_steps(steps).read(), answer, Job()
    )
    view = View(answer, ScanQuery(where=where))
    return TreeRows(levels, levels.arrange(view, Job()), view.schema, none_open(levels))


def test_a_page_has_rows_of_all_levels_in_the_types_of_the_groups() -> None:
    tree = tree_of()
    tree = tree.with_open(all_open(tree.levels))
    page = tree.page(0, 10)
    assert page.schema.types == tree.schema.types and page.column_names == tree.schema.names
    assert page.column("word").to_pylist() == ["a", "a", "a", "b", "b", None, None]
    assert [value and value.day for value in page.column("day").to_pylist()] == [None, 1, 4, None, 2, None, 3]
    assert page.column("sum").to_pylist()[:3] == [Decimal("5.75"), Decimal("1.25"), Decimal("4.50")]
    assert page.column("last").to_pylist()[0] == {"n": 4, "tags": None}
    for first in range(8):
        assert tree.page(first, 3, ["sum", "word"]).equals(page.select(["sum", "word"]).slice(first, 3))
    assert tree.has_value(0, 7, "day").tolist() == [False, True, True, False, True, False, True]


def test_rows_are_found_again_when_others_are_open() -> None:
    closed = tree_of()
    opened = closed.with_open(closed.with_group(0, True, closed.open_groups))
    assert (closed.num_rows, opened.num_rows, closed.most_rows) == (3, 5, 7)
    assert [opened.row_of(closed, row) for row in range(3)] == [0, 3, 4]
    assert [closed.row_of(opened, row) for row in range(5)] == [0, 0, 0, 1, 2]
    assert [opened.parent(row) for row in range(5)] == [0, 0, 0, 3, 4]
    assert [opened.is_open(row) for row in range(5)] == [True, None, None, False, False]
    assert opened.with_open(opened.with_group(0, False, opened.open_groups)).num_rows == 3
    assert np.array_equal(opened.is_counted(0, 4), [False, True, True, True, True])
    assert np.array_equal(opened.is_counted(3, 4), [True, True])


@pytest.mark.parametrize(("where", "rows"), [(col("n") > 5, 0), (col("word") == "a", 3)])
def test_groups_without_any_shown_are_left_out(where: Filter, rows: int) -> None:
    tree = tree_of(where)
    tree = tree.with_open(all_open(tree.levels))
    assert tree.num_rows == rows and tree.page(0, 5).num_rows == rows
    assert tree.page(0, 5).schema.types == tree.schema.types


def test_groups_by_one_key_open_into_rows_found_by_its_value() -> None:
    source = query_of(SnapshotSource(snapshot_of_rows(ROWS, "t")))
    query = source.group_by("word").agg(n=agg.count()).having(col("n") < 2)
    answer = snapshot_of_rows(query.read(), "t")
    levels = GroupLevels.read(
        query.pipeline.steps, lambda steps: query.with_steps(steps).read(), answer, Job()
    )
    assert (levels.keys, levels.parents) == (("word",), ())
    view, requests = View(answer, ScanQuery(sort=(SortKey("word", True),))), []

    def find(values: Mapping[str, Any], job: Job) -> View:
        requests.append(values)
        condition = col("word").is_null() if values["word"] is None else col("word") == values["word"]
        return View(snapshot_of_rows(ROWS, "t"), ScanQuery(where=condition), job)

    tree = TreeRows(levels, levels.arrange(view, Job()), view.schema, none_open(levels), find)
    assert (tree.num_rows, [tree.is_open(row) for row in range(2)]) == (2, [False, False])
    opened = tree.with_open(tree.with_group(1, True, tree.open_groups))
    page = opened.page(0, 3)
    assert page.column_names == ["word", "n", "day", "sum", "inside"]
    assert page.column("n").to_pylist() == [1, 1, None]
    assert page.column("day").to_pylist()[:2] == [None, None] and opened.is_open(2) is None
    assert opened.with_open(opened.open_groups).num_rows == 3 and len(requests) == 1
    assert opened.row_of(opened, 2) == 2 and tree.row_of(opened, 2) == 1
