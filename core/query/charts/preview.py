"""A chart of a sample of very many rows, which is available long before that of all rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lamella.core.filters.expr import asks_words, columns_read
from lamella.core.jobs import Job
from lamella.core.query.builder import Query
from lamella.core.query.cards import LARGE_ROWS, SAMPLE_BLOCKS, sample_of
from lamella.core.query.charts.figures import ChartData
from lamella.core.query.charts.reading import read_chart
from lamella.core.query.charts.spec import BOX, ChartSpec, is_on_line
from lamella.core.query.source import SnapshotSource, engine_of
from lamella.core.query.steps import Pipeline, Sort, Where
from lamella.core.scan.read import read_all_rows
from lamella.core.scan.snapshot import Snapshot

_GROWING = frozenset({"count", "sum"})
"""Aggregates that grow with the number of rows; those of a sample are scaled up."""


def preview_chart(query: Query, spec: ChartSpec, job: Job | None = None) -> ChartData | None:
    """The chart of some thousand rows, with counts and sums scaled up to all rows. Blocks.

    None if it would not be faster, or would not resemble the chart of all rows: if there are few rows, an
    engine holds them, or steps other than filters produce them; or if they are sorted by an axis, of which
    the sample would have only pieces. Raises like `read_chart`.
    """
    job = job or Job()
    wheres = [step.condition for step in query.pipeline.steps if isinstance(step, Where)]
    if engine_of(query) is not None or any(map(asks_words, wheres)):
        return None
    if not all(isinstance(step, Where | Sort) for step in query.pipeline.steps):
        return None
    if spec.has_measure and spec.measure and spec.aggregate == "distinct":
        return None
    source = query.sources[query.pipeline.source]
    snapshot = source.snapshot()
    if not snapshot.complete or snapshot.num_rows <= LARGE_ROWS:
        return None
    names = dict.fromkeys([*spec.columns, *(name for where in wheres for name in columns_read(where))])
    if not all(name in snapshot.types for name in names):
        return None
    sample = sample_of(snapshot, names, job)
    if any(_is_in_order(sample, name, job) for name in (spec.x, spec.y if spec.has_y else "") if name):
        return None
    rows = Query(
        {query.pipeline.source: SnapshotSource(sample)},
        Pipeline(query.pipeline.source, tuple(Where(condition) for condition in wheres)),
    )
    data = read_chart(rows, spec, job)
    if data.shows_points or not data.table.num_rows:
        return None
    return _scaled(data, snapshot.num_rows / sample.num_rows, sample.num_rows)


def _is_in_order(sample: Snapshot, name: str, job: Job) -> bool:
    """Whether most blocks have only values beyond those of the block before."""
    column = sample.column(name)
    if not is_on_line(column.type):
        return False
    values = read_all_rows(sample, [column], job).column(0)
    size = -(-len(values) // SAMPLE_BLOCKS)
    parts = [pc.min_max(values.slice(first, size)).as_py() for first in range(0, len(values), max(1, size))]
    ends = [(part["min"], part["max"]) for part in parts if part["min"] is not None]
    steps = [_step(before, after) for before, after in pairwise(ends)]
    return bool(steps) and max(steps.count(1), steps.count(-1)) > len(steps) // 2


def _step(before: tuple[Any, Any], after: tuple[Any, Any]) -> int:
    """1 if the second range starts beyond the first, -1 if it ends before it, otherwise 0."""
    return 1 if before[1] <= after[0] < after[1] else -1 if after[1] <= before[0] < before[1] else 0


def _scaled(data: ChartData, factor: float, rows: int) -> ChartData:
    def scale(names: Iterable[str], table: pa.Table) -> pa.Table:
        for name in names:
            place = table.column_names.index(name)
            scaled = pc.multiply(table.column(place).cast(pa.float64()), factor)
            whole = table.schema.field(name).type == pa.int64()
            table = table.set_column(place, name, pc.round(scaled).cast(pa.int64()) if whole else scaled)
        return table

    spec = data.spec
    grows = spec.kind != BOX and (not spec.has_measure or not spec.measure or spec.aggregate in _GROWING)
    names = [name for name in ("rows", "outliers") if name in data.table.column_names]
    names += ["value"] if grows and "value" in data.table.column_names else []
    return replace(
        data,
        table=scale(names, data.table),
        rows=round(data.rows * factor),
        used=round(data.used * factor),
        left_out=tuple((why, round(count * factor)) for why, count in data.left_out),
        remarks=(f"An estimate from a sample of {rows:,} rows; exact figures follow", *data.remarks),
        sampled=True,
    )
