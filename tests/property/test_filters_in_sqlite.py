"""For the types that it has, SQLite finds the same rows as Lamella, if null counts as false.

LAMELLA_LONG_RUNS=2000 runs it longer.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamella.core.filters import And, Filter, Not, Predicate
from lamella.core.filters.expr import Branch, Reference, fold
from tests.property.filter_families import Family, integers, trees
from tests.property.filter_model import asked as comparable
from tests.property.filter_sources import SOURCES, Case, by_engine, by_masks
from tests.slow_tests import examples

RUNS = examples(10)

WHOLE = integers(pa.int64(), -(2**63), 2**63 - 1)
NUMBERS = st.sampled_from([0.0, -0.0, 0.5, 60.0, -1.5, 2.0**53, -(2.0**63), 1e300, math.inf, -math.inf])
WORDS = st.text("aAbBé😀%_\\.'\"0 ", max_size=4)
STORED_BY_SQLITE = {
    "n": Family(WHOLE.type, WHOLE.cells, WHOLE.cells | NUMBERS),
    "x": Family(pa.float64(), NUMBERS, NUMBERS | st.integers(-(2**63), 2**63 - 1)),
    "word": Family(pa.string(), WORDS, WORDS),
    "Word": Family(pa.string(), WORDS, WORDS),
}
COLUMNS = {name: f"c{number}" for number, name in enumerate(STORED_BY_SQLITE)}
"""SQLite treats names that differ only in case as equal."""

Write = Callable[[str, list[str]], str]
COMPARISONS = {"eq": "=", "gt": ">", "gte": ">=", "lt": "<", "lte": "<="}
TESTS: dict[str, Write] = {
    **{id_: lambda x, v, sign=sign: f"{x} {sign} {v[0]}" for id_, sign in COMPARISONS.items()},
    "between": lambda x, v: f"{x} between {v[0]} and {v[1]}",
    "in": lambda x, v: f"{x} in ({', '.join(v)})",
    "contains": lambda x, v: f"instr({x}, {v[0]}) > 0",
    "starts_with": lambda x, v: f"substr({x}, 1, length({v[0]})) = {v[0]}",
    "ends_with": lambda x, v: (
        f"substr({x}, length({x}) - length({v[0]}) + 1) = {v[0]} and length({x}) >= length({v[0]})"
    ),
    "like": lambda x, v: rf"{x} like {v[0]} escape '\'",
    "mod": lambda x, v: f"{x} % {v[0]} = {v[1]}",
    "is_empty": lambda x, v: f"{x} = ''",
    "not_empty": lambda x, v: f"{x} <> ''",
    "is_null": lambda x, v: f"{x} is null",
    "missing": lambda x, v: f"{x} is null",
}
OPPOSITES = {
    "ne": "eq",
    "nin": "in",
    "not_between": "between",
    "not_contains": "contains",
    "not_null": "is_null",
    "exists": "missing",
}


def askable(node: Filter) -> bool:
    """Whether SQLite supports the filter: it lacks patterns, types, case folding and remainders of floats."""
    return fold(node, _has, lambda _node, met: all(met))


def _has(predicate: Predicate) -> bool:
    known = OPPOSITES.get(predicate.operator, predicate.operator) in TESTS
    return known and not predicate.ignore_case and (predicate.operator != "mod" or predicate.column == "n")


def statement(where: Filter) -> tuple[str, dict[str, Any]]:
    """The filter as SQL with two-valued logic: a condition that is null is not met."""
    values: dict[str, Any] = {}

    def placed(value: Any, column: str) -> str:
        if isinstance(value, Reference):
            return COLUMNS[value.name]
        name = f"v{len(values)}"
        values[name] = comparable(value, STORED_BY_SQLITE[column].type)
        return f":{name}"

    def condition(predicate: Predicate) -> str:
        base = OPPOSITES.get(predicate.operator, predicate.operator)
        said = TESTS[base](
            COLUMNS[predicate.column], [placed(value, predicate.column) for value in predicate.values]
        )
        return f"coalesce({said}, 0)" if base == predicate.operator else f"not coalesce({said}, 0)"

    def branch(node: Branch, said: list[str]) -> str:
        if isinstance(node, Not):
            return f"not ({said[0]})"
        word, none = ("and", "1") if isinstance(node, And) else ("or", "0")
        return f" {word} ".join(f"({each})" for each in said) or none

    return f"select row from t where {fold(where, condition, branch)} order by row", values


@st.composite
def cases(draw: st.DrawFn) -> tuple[Case, list[Filter]]:
    row = st.fixed_dictionaries({name: st.none() | f.cells for name, f in STORED_BY_SQLITE.items()})
    rows = draw(st.lists(row, min_size=1, max_size=9))
    schema = pa.schema([(name, family.type) for name, family in STORED_BY_SQLITE.items()])
    cells = {name: [each[name] for each in rows] for name in STORED_BY_SQLITE}
    filters = st.lists(trees(STORED_BY_SQLITE).filter(askable), min_size=8, max_size=12)
    return Case(schema, cells, {}, []), draw(filters)


@pytest.fixture(scope="module")
def engine() -> Iterator[sqlite3.Connection]:
    with sqlite3.connect(":memory:") as connection:
        connection.execute("pragma case_sensitive_like = on")
        connection.execute("create table t (row integer, c0 integer, c1 real, c2 text, c3 text)")
        yield connection
    connection.close()


@settings(max_examples=RUNS)
@given(case_and_filters=cases())
def test_sqlite_finds_the_same(
    case_and_filters: tuple[Case, list[Filter]],
    engine: sqlite3.Connection,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    case, filters = case_and_filters
    engine.execute("delete from t")
    records = [(number, *row.values()) for number, row in enumerate(case.rows)]
    engine.executemany("insert into t values (?, ?, ?, ?, ?)", records)
    rows = SOURCES["files of PyArrow"](case, Path(tmp_path_factory.mktemp("files")))
    for where in filters:
        sql, values = statement(where)
        expected = [row for (row,) in engine.execute(sql, values)]
        assert by_masks(rows, where) == expected
        assert by_engine(rows, where) == expected
