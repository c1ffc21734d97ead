"""Caches the SQL of queries of one dataset as long as its snapshot lives: writing it again takes about as
long as grouping a hundred thousand rows."""

from __future__ import annotations

import threading
from collections import OrderedDict
from weakref import WeakKeyDictionary

import pyarrow as pa

from lamella.core.jobs import Job
from lamella.core.query import execute as answers
from lamella.core.query.compile import compile_pipeline
from lamella.core.query.duckdb_source import TEMPORARY
from lamella.core.query.execute import Statement
from lamella.core.query.expressions import ColumnReference
from lamella.core.query.steps import Aggregate, Group, Limit, Pipeline, Select, Sort, Step, Where
from lamella.core.scan.parquet_file import unchanged_footer
from lamella.core.scan.snapshot import Snapshot

MOST_STATEMENTS = 64
LONGEST = 16_384

_statements: WeakKeyDictionary[Snapshot, OrderedDict[Pipeline, Statement]] = WeakKeyDictionary()
_lock = threading.Lock()


def can_be_cached(pipeline: Pipeline) -> bool:
    """Whether the SQL may be reused for equal pipelines. Computed values exclude this: 1, 1.0 and True are
    equal in Python, but compute different values."""
    return all(map(_is_plain, pipeline.steps))


def read(pipeline: Pipeline, snapshot: Snapshot, job: Job) -> pa.Table:
    """Read the answer of a pipeline that `can_be_cached`."""
    statement = _cached_statement(pipeline, snapshot)
    if statement is not None:
        for file in snapshot.files:
            unchanged_footer(file)
        answer = answers.read_statement(statement, job)
        if answer is not None:
            return answer
    statement, rows = answers.read_with_statement(
        compile_pipeline(pipeline, lambda _name: snapshot, job), job
    )
    if len(statement.text) <= LONGEST and TEMPORARY not in statement.text and not statement.decodings.growing:
        _keep(pipeline, snapshot, statement)
    return rows


def _is_plain(step: Step) -> bool:
    if isinstance(step, Group):
        return all(_is_of_a_column(aggregate) for _name, aggregate in step.aggregates)
    return isinstance(step, Where | Sort | Limit | Select)


def _is_of_a_column(aggregate: Aggregate) -> bool:
    return aggregate.parameter is None and isinstance(aggregate.value, ColumnReference | None)


def _cached_statement(pipeline: Pipeline, snapshot: Snapshot) -> Statement | None:
    """The cached statement; None if an index may now be of use."""
    if snapshot.indexes is not None and snapshot.indexes.has_sorted_index and _is_filtered(pipeline):
        return None
    with _lock:
        statements = _statements.get(snapshot)
        return None if statements is None else statements.get(pipeline)


def _is_filtered(pipeline: Pipeline) -> bool:
    return any(isinstance(step, Where) for step in pipeline.steps)


def _keep(pipeline: Pipeline, snapshot: Snapshot, statement: Statement) -> None:
    with _lock:
        statements = _statements.setdefault(snapshot, OrderedDict())
        statements[pipeline] = statement
        if len(statements) > MOST_STATEMENTS:
            statements.popitem(last=False)
