"""On tables of a store and on Parquet files of any writer, filters find the same rows as plain Python.

LAMELLA_LONG_RUNS=2000 runs it longer.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lamella.core.filters import Filter, parse, to_text
from tests.property.filter_families import FAMILIES, Family, trees
from tests.property.filter_model import expected
from tests.property.filter_sources import SOURCES, Case, by_engine, by_masks, close_stores
from tests.slow_tests import examples

RUNS = examples(7)

NAMES = ["a", "A", "b c", "é", "É", "select", "a.x", "_", "c0", 'say "x"', "ß", "SS", "item", "and"]
BY_DUCKDB = "files of DuckDB"
"""DuckDB treats names that differ only in case as equal, has no half floats and no negative durations, and
writes null arrays in a form that Arrow cannot read."""


@st.composite
def cases(draw: st.DrawFn, families: dict[str, Family], names: list[str]) -> tuple[Case, list[Filter]]:
    kinds = draw(st.lists(st.sampled_from(list(families)), min_size=1, max_size=3))
    named = draw(st.permutations(names))[: len(kinds)]
    columns = {name: families[kind] for name, kind in zip(named, kinds, strict=True)}
    size = draw(st.sampled_from([6, 12, 9, 4, 2, 1, 0]))
    row = st.fixed_dictionaries({name: st.none() | family.cells for name, family in columns.items()})
    rows = draw(st.lists(row, min_size=size, max_size=size))
    schema = pa.schema([(name, family.type) for name, family in columns.items()])
    changed = st.dictionaries(st.integers(0, max(0, size - 1)), row, max_size=3 if size else 0)
    case = Case(
        schema,
        {name: [each[name] for each in rows] for name in columns},
        draw(changed),
        draw(st.lists(row, max_size=3)),
    )
    return case, draw(st.lists(trees(columns), min_size=5, max_size=8))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("everywhere")


@pytest.fixture(autouse=True)
def stores_closed() -> Iterator[None]:
    yield
    close_stores()


@pytest.mark.slow(after=2)
@pytest.mark.parametrize("source", SOURCES)
def test_filters_find_what_plain_python_finds(source: str, folder: Path) -> None:
    families, names = dict(FAMILIES), NAMES
    if source == BY_DUCKDB:
        for name in ("f16", "pair", "span", "seconds"):
            del families[name]
        names = list({name.casefold(): name for name in NAMES}.values())

    @settings(max_examples=RUNS, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
    @given(case_and_filters=cases(families, names))
    def promise(case_and_filters: tuple[Case, list[Filter]]) -> None:
        case, filters = case_and_filters
        rows = SOURCES[source](case, folder)
        types = {field.name: field.type for field in rows.schema}
        for where in filters:
            expected_rows = [i for i, row in enumerate(case.rows) if expected(where, row, types)]
            assert by_masks(rows, where) == expected_rows
            assert by_engine(rows, where) == expected_rows
            assert rows.count(to_text(where)) == len(expected_rows)

    promise()


@pytest.mark.slow(except_every=4)
@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize(
    ("where", "expected_rows"),
    [("day = moment", [0]), ("day < moment", [1]), ("moment <= day", [0, 2]), ("moment != day", [1, 2, 3])],
)
def test_a_day_is_compared_with_a_moment_as_its_midnight(
    unit: str, where: str, expected_rows: list[int], folder: Path
) -> None:
    midnight = dt.datetime(2013, 1, 2)
    moments = [midnight, midnight + dt.timedelta(seconds=1), midnight - dt.timedelta(seconds=1), None]
    cells = {"day": [midnight.date()] * 4, "moment": moments}
    case = Case(pa.schema([("day", pa.date32()), ("moment", pa.timestamp(unit))]), cells, {}, [])
    rows = SOURCES["files of PyArrow"](case, folder)
    assert by_masks(rows, parse(where)) == by_engine(rows, parse(where)) == expected_rows
