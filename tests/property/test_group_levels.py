"""Totals, subtotals and groups arranged as a tree, against plain Python: keys are null, NaN and -0.0 too.

LAMELLA_LONG_RUNS=2000 runs it longer.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamella import agg, col
from lamella.core.jobs import Job
from lamella.core.query.builder import Query, query_of
from lamella.core.query.group_levels import GroupLevels
from lamella.core.query.scan_query import as_scan
from lamella.core.query.source import SnapshotSource
from lamella.core.query.steps import Group
from lamella.core.query.view import View
from lamella.core.scan.snapshot import snapshot_of_rows
from tests.property.query_cases import SCHEMA, aggregates, comparable, condition, one_of, rows, some_of
from tests.property.query_model import Row, answered, ordered, told
from tests.property.test_queries_agree import agree
from tests.slow_tests import examples

RUNS = examples(8)
Types = dict[str, pa.DataType]


@pytest.fixture(scope="module")
def table() -> pa.Table:
    return rows(SCHEMA, 80, random.Random(11))


def types_of(query: Query) -> Types:
    return dict(zip(query.schema.names, query.schema.types, strict=True))


def grouped(data: st.DataObject, table: pa.Table) -> Query:
    """Groups by two keys or three, of all rows or some, with a condition on them or none."""
    query = query_of(SnapshotSource(snapshot_of_rows(table, "t")))
    if data.draw(st.booleans()):
        name = one_of(data.draw, query, comparable)
        assert name is not None
        query = query.where(condition(data.draw, query, name))
    keys = some_of(data.draw, query, comparable, 2, 3)
    groups = query.group_by(*keys).agg(**aggregates(data.draw, query), rows=agg.count())
    if data.draw(st.booleans()):
        name = one_of(data.draw, groups, comparable)
        groups = groups if name is None else groups.having(condition(data.draw, groups, name))
    return groups.compute(share=col("rows") / 4) if data.draw(st.booleans()) else groups


def behind(data: st.DataObject, groups: Query) -> Query:
    """The groups filtered, sorted and limited."""
    line = groups
    if data.draw(st.booleans()):
        name = one_of(data.draw, groups, comparable)
        assert name is not None
        line = line.where(condition(data.draw, groups, name))
    names = some_of(data.draw, groups, comparable, 0, 3)
    if names:
        line = line.sort(*(data.draw(st.sampled_from(["", "-"])) + name for name in names))
    return line.limit(data.draw(st.integers(0, 12))) if data.draw(st.booleans()) else line


def model_of(query: Query, table: pa.Table) -> list[Row]:
    row_list: list[Row] = table.to_pylist()
    for place, step in enumerate(query.pipeline.steps):
        before, after = (query.with_steps(query.pipeline.steps[:n]) for n in (place, place + 1))
        row_list = answered(step, row_list, types_of(before), types_of(after))
    return row_list


def level_model(groups: Query, count: int, table: pa.Table) -> list[Row]:
    """The groups by the first `count` keys, with the later steps of the query."""
    steps = [
        Group(step.keys[:count], step.aggregates) if isinstance(step, Group) else step
        for step in groups.pipeline.steps
    ]
    return model_of(groups.with_steps(tuple(steps)), table)


def keys_of(groups: Query) -> tuple[str, ...]:
    return next(step.keys for step in groups.pipeline.steps if isinstance(step, Group))


@settings(max_examples=RUNS)
@given(data=st.data())
def test_totals_and_subtotals(table, data):
    groups = grouped(data, table)
    keys = keys_of(groups)
    query = behind(data, groups)
    agree(query.totals().to_pylist(), level_model(groups, 0, table))
    subtotals = query.subtotals()
    assert len(subtotals) == len(keys) - 1
    for count, level in enumerate(subtotals, start=1):
        agree(level.to_pylist(), level_model(groups, count, table))


@settings(max_examples=RUNS)
@given(data=st.data())
def test_groups_as_a_tree(table, data):
    groups = grouped(data, table)
    query = behind(data, groups)
    keys = keys_of(groups)
    scan = as_scan(query.pipeline.steps[len(groups.pipeline.steps) :])
    assert scan is not None
    answer = snapshot_of_rows(groups.read(), "t")
    levels = GroupLevels.read(
        groups.pipeline.steps, lambda steps: groups.with_steps(steps).read(), answer, Job()
    )
    shuffled = np.random.default_rng(data.draw(st.integers(0, 99)))
    share = data.draw(st.sampled_from([0.0, 0.5, 1.0]))
    expanded = [shuffled.random(level.num_rows) < share for level in levels.levels[:-1]]
    level_of, group_of = levels.arrange(View(answer, scan), Job()).rows(expanded)
    tables = [View(level).page(0, level.num_rows).to_pylist() for level in levels.levels]
    got = [tables[level][group] for level, group in zip(level_of, group_of, strict=True)]

    uppers = [level_model(groups, count, table) for count in range(1, len(keys))]
    open_keys = {
        (count, told_keys(row, keys[: count + 1]))
        for count, (rows_of, is_open) in enumerate(zip(uppers, expanded, strict=True))
        for row, flag in zip(rows_of, is_open, strict=True)
        if flag
    }
    sort = [(key.column, key.descending) for key in scan.sort]
    agree(got, list(tree_of(model_of(query, table), uppers, keys, sort, open_keys)))


def told_keys(row: Row, keys: tuple[str, ...]) -> tuple[Any, ...]:
    return tuple(told(row[key]) for key in keys)


def tree_of(
    leaves: list[Row], uppers: list[list[Row]], keys: tuple[str, ...], sort: list[Any], open_keys: set[Any]
) -> Iterator[Row]:
    """The expected rows: the groups of the first level in order, each with its expanded contents."""

    def below(level: int, inside: list[Row]) -> Iterator[Row]:
        if level == len(uppers):
            yield from inside
            return
        key_names = keys[: level + 1]
        keys_inside = {told_keys(row, key_names) for row in inside}
        known = [row for row in uppers[level] if told_keys(row, key_names) in keys_inside]
        for row in ordered(known, [(name, down) for name, down in sort if name in row_names(uppers[level])]):
            yield row
            if (level, told_keys(row, key_names)) in open_keys:
                own = [leaf for leaf in inside if told_keys(leaf, key_names) == told_keys(row, key_names)]
                yield from below(level + 1, own)

    yield from below(0, leaves)


def row_names(row_list: list[Row]) -> list[str]:
    return list(row_list[0]) if row_list else []
