"""DuckDB over a real Parquet file, the Arrow mask and a plain Python model agree on every filter.

LAMELLA_LONG_RUNS=2000 runs it longer.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot import exp

from lamella.core.arrow.nested_values import place_of
from lamella.core.filters import Filter, Not, Predicate, bind, mask, to_sql
from lamella.core.filters.expr import Reference, columns_read
from lamella.core.filters.kinds import refusal
from lamella.core.filters.operators import OPERATORS, Operator, Takes
from lamella.core.filters.to_sql import field_in
from tests.property.filter_families import FAMILIES, NEGATIVE_NAN, cases
from tests.property.filter_model import expected
from tests.slow_tests import examples

RUNS = examples(25)
LONG = "LAMELLA_LONG_RUNS" in os.environ
FILTERS_A_STATEMENT = 20

Ask = Callable[[pa.Table], Callable[[Sequence[Filter]], list[list[int]]]]


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ask]:
    """Write rows to a Parquet file, and return which of them DuckDB finds for each filter. One statement has
    all filters, each with its own scan."""
    file = tmp_path_factory.mktemp("filters") / "rows.parquet"
    with duckdb.connect() as engine:

        def written(rows: pa.Table) -> Callable[[Sequence[Filter]], list[list[int]]]:
            numbers = pa.array(range(rows.num_rows), pa.int64())
            pq.write_table(rows.append_column("row", numbers), file, row_group_size=3)
            return lambda bound: found([select(rows.schema, condition) for condition in bound])

        def found(statements: Sequence[str]) -> list[list[int]]:
            answers: list[list[int]] = [[] for _ in statements]
            places = range(len(statements))
            for start in places[::FILTERS_A_STATEMENT]:
                union = " UNION ALL ".join(
                    f"SELECT {place}, row FROM ({statements[place]})"
                    for place in places[start : start + FILTERS_A_STATEMENT]
                )
                for place, row in engine.sql(union).fetchall():
                    answers[place].append(row)
            return [sorted(answer) for answer in answers]

        def select(schema: pa.Schema, bound: Filter) -> str:
            names = columns_read(bound)
            where = to_sql(bound, {name: f"asked_{i}" for i, name in enumerate(names)}).sql("duckdb")
            values = "".join(f", {field(name, schema)} AS asked_{i}" for i, name in enumerate(names))
            return f"SELECT row FROM (SELECT row{values} FROM read_parquet('{file}')) WHERE {where}"

        yield written


def field(name: str, schema: pa.Schema) -> str:
    place = place_of(name, dict(zip(schema.names, schema.types, strict=True)))
    assert place is not None
    column = exp.column(exp.to_identifier(place.column, quoted=True))
    return field_in(column, schema.field(place.column).type, place.path).sql("duckdb")


def agree(cells: dict[str, list[Any]], trees: Sequence[Filter], ask: Ask) -> None:
    size = len(next(iter(cells.values())))
    types = {name: FAMILIES[name].type for name in cells}
    rows = pa.table({name: pa.array(values, FAMILIES[name].type) for name, values in cells.items()})
    bound = [bind(tree, rows.schema, "rows") for tree in trees]
    for tree, condition, actual in zip(trees, bound, ask(rows)(bound), strict=True):
        meets = [expected(tree, {name: cells[name][row] for name in cells}, types) for row in range(size)]
        assert mask(condition, rows).to_pylist() == meets, tree
        assert actual == [row for row in range(size) if meets[row]], tree


@settings(max_examples=RUNS)
@given(case=cases())
def test_duckdb_arrow_and_plain_python_agree(case: tuple[dict[str, list[Any]], Filter], ask: Ask) -> None:
    cells, tree = case
    agree(cells, [tree], ask)


PAIRS = [
    (left, right)
    for left in FAMILIES
    for right in FAMILIES
    if OPERATORS["eq"].fits(FAMILIES[left].type)
    and left != right
    and refusal(FAMILIES[left].type, FAMILIES[right].type) is None
]


@st.composite
def pairs(draw: st.DrawFn) -> dict[str, list[Any]]:
    """Two columns of different types that are compared with each other."""
    names = draw(st.sampled_from(PAIRS))
    size = draw(st.integers(1, 6))
    return {
        name: draw(st.lists(st.none() | FAMILIES[name].cells, min_size=size, max_size=size)) for name in names
    }


@settings(max_examples=RUNS // 3)
@given(cells=pairs())
def test_columns_of_different_types_are_compared_exactly(cells: dict[str, list[Any]], ask: Ask) -> None:
    left, right = cells
    fitting = [o for o in OPERATORS.values() if o.takes is Takes.COLUMNS and o.fits(FAMILIES[left].type)]
    trees = [Predicate(left, o.id, (Reference(right),) * o.arity.value) for o in fitting]
    agree(cells, [*trees, *map(Not, trees)], ask)


NAN_CELLS = [
    [5.0, math.nan],
    [1.0, math.nan, None],
    [5.0, 5.0, math.nan],
    [math.nan],
    [math.inf, -math.inf, None, math.nan, 7.0],
    [1.0, 2.0, 3.0, 4.0, math.nan],
    [None, None, None, 0.0, math.nan],
    [1.0, NEGATIVE_NAN, math.nan, None],
    [5.0, 5.0, 5.0, math.nan, math.nan, None],
]


EACH = {"f16": NAN_CELLS, "f32": NAN_CELLS, "f64": NAN_CELLS}
SOME = {"f16": NAN_CELLS[::3], "f32": NAN_CELLS[1::3], "f64": NAN_CELLS}
NAN_CASES = [(column, cells) for column, lists in (EACH if LONG else SOME).items() for cells in lists]


@pytest.mark.slow(after=1)
@pytest.mark.parametrize(("column", "cells"), NAN_CASES)
def test_statistics_that_ignore_nan_lose_no_row(column: str, cells: list[float | None], ask: Ask) -> None:
    fitting = [operator for operator in OPERATORS.values() if operator.fits(FAMILIES[column].type)]
    trees = [Predicate(column, o.id, values) for o in fitting for values in questions(o)]
    agree({column: cells}, [*trees, *map(Not, trees)], ask)


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("kind", ["f32", "i64", "i8", "dec"])
@pytest.mark.parametrize("cells", NAN_CELLS)
def test_columns_are_compared_in_spite_of_statistics_that_ignore_nan(
    kind: str, cells: list[float | None], ask: Ask
) -> None:
    trees = [
        Predicate(left, operator, (Reference(two),))
        for operator in ("eq", "ne", "gt", "gte", "lt", "lte")
        for left, two in (("f64", kind), (kind, "f64"), ("f64", "f64"))
    ]
    beside = [5.0 if kind == "f32" else 5] * len(cells)
    agree({"f64": cells, kind: beside}, [*trees, *map(Not, trees)], ask)


def questions(operator: Operator) -> list[tuple[Any, ...]]:
    numbers = (0, 5, 7.5, math.nan, math.inf, -math.inf)
    if operator.takes is Takes.TYPES:
        return [("number",), ("text", "null")]
    if operator.takes is Takes.DIVISION:
        return [(2, 1), (7, 0)]
    return {
        0: [()],
        1: [(number,) for number in numbers],
        2: [(0, 10), (5, math.nan), (7, math.inf)],
        -1: [(0, 10), (5, math.nan), (7, math.inf)],
    }[operator.arity.value]
