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

NO_NANOSECONDS = [field for field in query_cases.SCHEMA if field.name != "fine"]
IN_UTC = [
    field.with_type(pa.timestamp("us", "UTC")) if field.name == "z" else field for field in NO_NANOSECONDS
]
SCHEMA = pa.schema([("id", pa.int64()), *IN_UTC])
OTHER = pa.schema([("key", pa.int64()), *query_cases.OTHER])
STEPS = [step for step in query_cases.STEPS if step not in (query_cases.sample, query_cases.facets)]
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
    key, *fields = schema
    values = rows(pa.schema(fields), size, choose)
    pq.write_table(pa.table([pa.array(range(size)), *values.columns], schema=schema), path)
    return Pair(open_dataset(path), open_spark_table(f"{address}/parquet:{path}", [key.name]))


@settings(max_examples=RUNS)
@given(data=st.data())
def test_queries_have_the_same_answer_on_spark(
    pairs: tuple[Pair, Pair], data: st.DataObject, monkeypatch_module: None
) -> None:
    table, second = pairs
    own_query = data.draw(query_cases.questions(table.here.query(), second.here.query()))[-1]
    spark_query = Query(
        {
            name: table.there if source is table.here else second.there
            for name, source in own_query.sources.items()
        },
        own_query.pipeline,
    )
    try:
        expected = own_query.read()
    except LamellaError:
        assume(False)
    try:
        actual = spark_query.read()
    except ServerRefusal as error:
        assert IS_SAIL and any(words in str(error) for words in SAIL_LACKS), str(error)
        assume(False)
    except BadQuery as error:
        assert "A table of a Spark server has no order" in str(error), str(error)
        assume(False)
    assert actual.schema.equals(expected.schema)
    assert spark_query.schema.equals(expected.schema)
    if not (IS_SAIL and loses_filters(own_query.pipeline.steps)):
        assert spark_query.count() == expected.num_rows
    if IS_SAIL and forgets_order(own_query.pipeline.steps):
        assume(not any(isinstance(step, Limit) for step in own_query.pipeline.steps))  # of other rows then
        comparison = compare_answers(expected, actual, in_order=False)
        assert comparison.is_same, comparison.differences
    else:
        agree(actual.to_pylist(), expected.to_pylist())


@pytest.mark.parametrize("following", [(), (Limit(None, 4),), (Group((), (("n", agg.sum("id")),)),)])
def test_rows_from_some_row_on(pairs: tuple[Pair, Pair], following: tuple[Step, ...]) -> None:
    steps = (Sort((SortKey("k"), SortKey("id", True))), Limit(None, 7), *following)
    own, on_spark = (source.query().with_steps(steps) for source in (pairs[0].here, pairs[0].there))
    agree(on_spark.read().to_pylist(), own.read().to_pylist())
    assert on_spark.count() == own.count()


def loses_filters(steps: tuple[Step, ...]) -> bool:
    """Sail 0.7 counts the single row of aggregates without keys even if it does not meet a filter."""
    return any(isinstance(step, Group | Pivot) and not step.keys for step in steps)


def forgets_order(steps: tuple[Step, ...]) -> bool:
    """Sail 0.7 assumes that group keys are still unique in rows derived from groups, and sorts only by them;
    and that a constant on one side of an outer join stays constant after it."""
    if any(isinstance(step, Join) and step.how in ("right", "full") for step in steps):
        return True
    places = [place for place, step in enumerate(steps) if isinstance(step, Group | Pivot | Buckets)]
    return bool(places) and any(isinstance(step, Unpivot | Unwind) for step in steps[places[0] :])


@pytest.fixture(scope="module")
def monkeypatch_module() -> None:
    """Restrict random queries to the steps that both engines support."""
    patch = pytest.MonkeyPatch()
    patch.setattr(query_cases, "STEPS", STEPS)
    yield
    patch.undo()
