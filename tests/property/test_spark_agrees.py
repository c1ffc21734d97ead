"""Random queries have the same answer from DuckDB and from a Spark Connect server.

LAMELLA_LONG_RUNS=200 runs more queries; LAMELLA_SPARK=apache runs them on Apache Spark itself.
"""

from __future__ import annotations

import os
import random
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from lamella import agg, open_dataset
from lamella.core.datasets.base import Dataset
from lamella.core.datasets.spark import SparkTable, open_spark_table
from lamella.core.errors import BadQuery, LamellaError
from lamella.core.query.answer_comparison import compare_answers
from lamella.core.query.builder import Query
from lamella.core.query.steps import Buckets, Group, Join, Limit, Pivot, Sort, Step, Unpivot, Unwind
from lamella.core.remote.spark_connect import ServerRefusal
from lamella.core.scan.snapshot import SortKey
from tests.property import query_cases
from tests.property.query_cases import rows
from tests.property.test_queries_agree import agree
from tests.slow_tests import examples

RUNS = examples(12)
IS_SAIL = os.environ.get("LAMELLA_SPARK", "sail") == "sail"

NO_NANOSECONDS = [one for one in query_cases.SCHEMA if one.name != "fine"]
IN_UTC = [one.with_type(pa.timestamp("us", "UTC")) if one.name == "z" else one for one in NO_NANOSECONDS]
SCHEMA = pa.schema([("id", pa.int64()), *IN_UTC])
OTHER = pa.schema([("key", pa.int64()), *query_cases.OTHER])
STEPS = [one for one in query_cases.STEPS if one not in (query_cases.sample, query_cases.facets)]
"""Without samples, which differ between engines, and facets, which are refused."""

SAIL_LACKS = ("mode function", "Internal error", "Physical input schema", "panicked")
"""Messages of Sail 0.7 for queries that it accepts but cannot run."""


@dataclass(frozen=True)
class Pair:
    """The same rows on this machine and on the server."""

    here: Dataset
    there: SparkTable


@pytest.fixture(scope="module")
def pairs(spark_address: str, tmp_path_factory: pytest.TempPathFactory) -> tuple[Pair, Pair]:
    folder, choose = tmp_path_factory.mktemp("spark"), random.Random(4)
    return (
        pair(folder / "t.parquet", SCHEMA, 60, choose, spark_address),
        pair(folder / "u.parquet", OTHER, 12, choose, spark_address),
    )


def pair(path: Path, schema: pa.Schema, size: int, choose: random.Random, address: str) -> Pair:
    """Create a pair with a key column, by which the rows are sorted."""
    key, *others = schema
    values = rows(pa.schema(others), size, choose)
    pq.write_table(pa.table([pa.array(range(size)), *values.columns], schema=schema), path)
    return Pair(open_dataset(path), open_spark_table(f"{address}/parquet:{path}", [key.name]))


@settings(max_examples=RUNS)
@given(data=st.data())
def test_queries_have_the_same_answer_on_spark(
    pairs: tuple[Pair, Pair], data: st.DataObject, monkeypatch_module: None
) -> None:
    table, other = pairs
    here = data.draw(query_cases.questions(table.here.query(), other.here.query()))[-1]
    there = Query(
        {name: table.there if source is table.here else other.there for name, source in here.sources.items()},
        here.pipeline,
    )
    try:
        expected = here.read()
    except LamellaError:
        assume(False)
    try:
        actual = there.read()
    except ServerRefusal as error:
        assert IS_SAIL and any(words in str(error) for words in SAIL_LACKS), str(error)
        assume(False)
    except BadQuery as error:
        assert "A table of a Spark server has no order" in str(error), str(error)
        assume(False)
    assert actual.schema.equals(expected.schema)
    assert there.schema.equals(expected.schema)
    if not (IS_SAIL and loses_filters(here.pipeline.steps)):
        assert there.count() == expected.num_rows
    if IS_SAIL and forgets_order(here.pipeline.steps):
        assume(not any(isinstance(step, Limit) for step in here.pipeline.steps))  # of other rows then
        comparison = compare_answers(expected, actual, in_order=False)
        assert comparison.is_same, comparison.differences
    else:
        agree(actual.to_pylist(), expected.to_pylist())


@pytest.mark.parametrize("following", [(), (Limit(None, 4),), (Group((), (("n", agg.sum("id")),)),)])
def test_rows_from_some_row_on(pairs: tuple[Pair, Pair], following: tuple[Step, ...]) -> None:
    steps = (Sort((SortKey("k"), SortKey("id", True))), Limit(None, 7), *following)
    here, there = (one.query().with_steps(steps) for one in (pairs[0].here, pairs[0].there))
    agree(there.read().to_pylist(), here.read().to_pylist())
    assert there.count() == here.count()


def loses_filters(steps: tuple[Step, ...]) -> bool:
    """Sail 0.7 counts the single row of aggregates without keys even if it does not meet a filter."""
    return any(isinstance(step, Group | Pivot) and not step.keys for step in steps)


def forgets_order(steps: tuple[Step, ...]) -> bool:
    """Sail 0.7 assumes that group keys are still unique in rows derived from groups, and sorts only by them;
    and that a constant on one side of an outer join stays constant after it."""
    if any(isinstance(step, Join) and step.how in ("right", "full") for step in steps):
        return True
    made = [place for place, step in enumerate(steps) if isinstance(step, Group | Pivot | Buckets)]
    return bool(made) and any(isinstance(step, Unpivot | Unwind) for step in steps[made[0] :])


@pytest.fixture(scope="module")
def monkeypatch_module() -> None:
    """Restrict random queries to the steps that both engines support."""
    patch = pytest.MonkeyPatch()
    patch.setattr(query_cases, "STEPS", STEPS)
    yield
    patch.undo()
