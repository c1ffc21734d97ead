"""Random queries mean the same on tables with pending changes, on Parquet of others, and in plain Python.

LAMELLA_LONG_RUNS=2000 runs it longer.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamella import Store, open_dataset
from lamella.core.datasets.base import Dataset
from lamella.core.query.steps import Group, Join, Sample
from tests.property.query_cases import OTHER, SCHEMA, questions, rows
from tests.property.query_model import Row, answered
from tests.slow_tests import examples

RUNS = examples(25)

FROM_MEMORY = 5
"""How often a grouping runs until it is answered from columns in memory, by a prepared statement."""


@dataclass(frozen=True)
class Source:
    """Two datasets, and their rows as PyArrow reads them."""

    table: Dataset
    other: Dataset
    rows: list[Row]
    other_rows: list[Row]


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Source]]:
    folder, choose = tmp_path_factory.mktemp("queries"), random.Random(4)
    data, second = rows(SCHEMA, 60, choose), rows(OTHER, 12, choose)
    with Store.open(folder / "store") as store:
        yield [
            in_store(store, data, second, choose),
            in_files(folder, "polars", data, second, by_polars),
            in_files(folder, "duckdb", data.drop_columns(["N"]), second, by_duckdb),
        ]


def in_store(store: Store, data: pa.Table, second: pa.Table, choose: random.Random) -> Source:
    """A table of several files, with changed cells in files and pending ones, and deleted rows."""
    table = store.create_table("t", data.slice(0, 40))
    table.insert(data.slice(40))
    changed_cells = rows(SCHEMA, 8, choose).select(["k", "f", "n"]).to_pylist()
    table.update([{"_id": choose.randrange(10, 50), **row} for row in changed_cells[:1]] + [
        {"_id": place, **row} for place, row in enumerate(changed_cells)
    ])  # fmt: skip
    later_cells = rows(SCHEMA, 9, choose).select(["d", "b"]).to_pylist()
    table.update([{"_id": place, **row} for place, row in enumerate(later_cells, start=1)])
    table.delete(ids=[3, 9, 41])
    joined = store.create_table("u", second)
    return Source(table, joined, table.read().to_pylist(), joined.read().to_pylist())


def in_files(folder: Path, name: str, data: pa.Table, second: pa.Table, write: Any) -> Source:
    write(data, folder / f"{name}.parquet")
    write(second, folder / f"{name}-other.parquet")
    row_lists = [
        pq.ParquetFile(folder / f"{end}.parquet").read().to_pylist() for end in (name, f"{name}-other")
    ]
    return Source(
        open_dataset(folder / f"{name}.parquet"), open_dataset(folder / f"{name}-other.parquet"), *row_lists
    )


def by_polars(table: pa.Table, path: Path) -> None:
    pl.from_arrow(table).write_parquet(path)


def by_duckdb(table: pa.Table, path: Path) -> None:
    with duckdb.connect() as engine:
        engine.execute("SET TimeZone = 'UTC'")
        engine.register("given", table)
        engine.execute(f"COPY given TO '{path}' (FORMAT parquet, ROW_GROUP_SIZE 2048)")


@settings(max_examples=RUNS)
@given(data=st.data(), which=st.integers(0, 2))
def test_queries_mean_what_the_model_says(sources, data, which):
    source = sources[which]
    grown = data.draw(questions(source.table.query(), source.other.query()))
    expected, second = source.rows, (source.other.schema.names, source.other_rows)
    for before, after in pairwise(grown):
        step = after.pipeline.steps[-1]
        types = dict(zip(before.schema.names, before.schema.types, strict=True))
        types_after = dict(zip(after.schema.names, after.schema.types, strict=True))
        if isinstance(step, Sample):
            expected = sampled(after.read().to_pylist(), step.count, expected)
            continue
        expected = answered(step, expected, types, types_after, second if isinstance(step, Join) else None)
    grouped = any(isinstance(step, Group) for step in grown[-1].pipeline.steps)
    for _ in range(FROM_MEMORY if grouped else 1):
        answer = grown[-1].read()
        assert answer.schema.equals(grown[-1].schema)
        agree(answer.to_pylist(), expected)
    assert grown[-1].count() == len(expected)


def sampled(answer: list[Row], count: int, rows: list[Row]) -> list[Row]:
    """Check that a sample has the right size and each row at most once; the choice of rows is undefined."""
    assert len(answer) == min(count, len(rows))
    left, drawn = list(rows), []
    for got in answer:
        place = next(n for n, row in enumerate(left) if all(alike(got[name], row[name]) for name in row))
        drawn.append(left.pop(place))
    return drawn


def agree(answer: list[Row], expected: list[Row]) -> None:
    assert [list(row) for row in answer] == [list(row) for row in expected]
    for got, expected_cell in zip(answer, expected, strict=True):
        assert all(alike(got[name], expected_cell[name]) for name in expected_cell), (got, expected_cell)


def alike(got: Any, expected_cell: Any) -> bool:
    """Sums and means of floats may differ in the last digits, since their order is undefined."""
    if isinstance(got, list) and isinstance(expected_cell, list):
        return len(got) == len(expected_cell) and all(map(alike, got, expected_cell))
    if isinstance(got, dict) and isinstance(expected_cell, dict):
        return list(got) == list(expected_cell) and all(alike(got[name], expected_cell[name]) for name in got)
    if isinstance(got, float) and expected_cell is not None:
        close = math.isclose(got, float(expected_cell), rel_tol=1e-9, abs_tol=1e-9)
        return close or (math.isnan(got) and math.isnan(expected_cell))
    return bool(got == expected_cell)
