"""A chart of a sample of very many rows, which is available long before that of all rows."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lamella.core.arrow.arrays import combine_chunks, take
from lamella.core.filters.expr import Filter, asks_words, columns_read
from lamella.core.jobs import Job
from lamella.core.query.builder import Query
from lamella.core.query.cards import LARGE_ROWS, SAMPLE_BLOCKS, sample_of
from lamella.core.query.charts.figures import ChartData
from lamella.core.query.charts.reading import cache_columns, read_chart
from lamella.core.query.charts.spec import BOX, ChartSpec, is_on_line
from lamella.core.query.source import SnapshotSource, engine_of
from lamella.core.query.steps import Pipeline, Sort, Where
from lamella.core.scan.cache import LruCache
from lamella.core.scan.open_file import OpenFile
from lamella.core.scan.parallel import run_tasks
from lamella.core.scan.read import ROWS_AT_ONCE, Piece, gaps_of, live, read_all_rows, runs
from lamella.core.scan.snapshot import Column, MemorySegment, Snapshot, project

MOST_STRATA, SMALLEST_STRATUM = 2_500_000, 8
"""The maximum number of rows of a sample along an axis, and the least number of rows that each stands for."""
FEWEST_IN_PLACE = 20
"""The least mean number of rows of such a sample in each place."""
STRATIFIED_SAMPLE_BYTES = 128 << 20

_stratified_values: LruCache[tuple[Hashable, Hashable], pa.ChunkedArray] = LruCache(STRATIFIED_SAMPLE_BYTES)
_GROWING = frozenset({"count", "sum"})
"""Aggregates that grow with the number of rows; those of a sample are scaled up."""


def preview_chart(query: Query, spec: ChartSpec, job: Job | None = None) -> ChartData | None:
    """The chart of some thousand rows, with counts and sums scaled up to all rows. Blocks.

    None if it would not be faster, or would not resemble the chart of all rows: if there are few rows, an
    engine holds them, or steps other than filters produce them; or if they are in the order of an axis, and
    `prepare_previews` has not sampled their columns. Raises like `read_chart`.
    """
    job = job or Job()
    if spec.has_measure and spec.measure and spec.aggregate == "distinct":
        return None
    snapshot, wheres = _sampled_rows(query)
    names = _columns_of(spec, wheres)
    if snapshot is None or not all(name in snapshot.types for name in names):
        return None
    sample = sample_of(snapshot, names, job)
    along_axis = _is_along_axis(sample, spec, job)
    if along_axis:
        stratified_sample = (
            _stratified_sample(snapshot, names) if wheres else None
        )  # all rows are soon counted
        if stratified_sample is None:
            return None
        sample = stratified_sample
    rows = Query(
        {query.pipeline.source: SnapshotSource(sample)},
        Pipeline(query.pipeline.source, tuple(Where(condition) for condition in wheres)),
    )
    data = read_chart(rows, spec, job, bands=False)  # those of a sample would be wider
    if data.shows_points or not data.table.num_rows:
        return None
    if along_axis and data.used < FEWEST_IN_PLACE * data.table.num_rows:
        return None
    return _scaled(data, snapshot.num_rows / sample.num_rows, sample.num_rows)


def prepare_previews(query: Query, spec: ChartSpec, job: Job | None = None) -> None:
    """Cache the columns of a chart that was drawn, so that charts of some of its rows, such as those that a
    brush leaves, are computed sooner; and sample them, if rows are in the order of an axis. Blocks."""
    job = job or Job()
    if not cache_columns(query, spec, job):
        return
    snapshot, wheres = _sampled_rows(query)
    if snapshot is None:
        return
    names = _columns_of(spec, wheres)
    if _is_along_axis(sample_of(snapshot, names, job), spec, job):
        keys = {_key_of(snapshot, column): column for column in _whole_columns(snapshot, names)}
        missing = [
            key for key, values in zip(keys, _stratified_values.get(keys), strict=True) if values is None
        ]
        if missing:
            values = _read_strata(snapshot, [keys[key] for key in missing], job)
            _stratified_values.put(zip(missing, values, strict=True))


def _sampled_rows(query: Query) -> tuple[Snapshot | None, list[Filter]]:
    """The snapshot whose rows meet these filters; None if it is not worth a sample, or has none."""
    wheres = [step.condition for step in query.pipeline.steps if isinstance(step, Where)]
    if engine_of(query) is not None or any(map(asks_words, wheres)):
        return None, wheres
    if not all(isinstance(step, Where | Sort) for step in query.pipeline.steps):
        return None, wheres
    snapshot = query.sources[query.pipeline.source].snapshot()
    is_large = snapshot.complete and snapshot.num_rows > LARGE_ROWS
    return (snapshot if is_large else None), wheres


def _columns_of(spec: ChartSpec, wheres: Iterable[Filter]) -> list[str]:
    return list(dict.fromkeys([*spec.columns, *(name for where in wheres for name in columns_read(where))]))


def _stratified_sample(snapshot: Snapshot, names: Iterable[str]) -> Snapshot | None:
    """One random row of each stratum of consecutive ones; None unless `prepare_previews` has read the
    columns."""
    columns = _whole_columns(snapshot, names)
    values = _stratified_values.get([_key_of(snapshot, column) for column in columns])
    complete = {str(c.key): v for c, v in zip(columns, values, strict=True) if v is not None}
    if len(complete) < len(columns):
        return None
    rows = MemorySegment.of(pa.table(complete))
    return Snapshot(snapshot.name, tuple(columns), (rows,), (snapshot.token, "stratified sample", *columns))


def _whole_columns(snapshot: Snapshot, names: Iterable[str]) -> list[Column]:
    return list(dict.fromkeys(map(snapshot.whole, project(snapshot, names))))


def _key_of(snapshot: Snapshot, column: Column) -> tuple[Hashable, Hashable]:
    return snapshot.token, column.key


def _read_strata(snapshot: Snapshot, columns: Sequence[Column], job: Job) -> list[pa.ChunkedArray]:
    size = max(SMALLEST_STRATUM, -(-snapshot.num_rows // MOST_STRATA))

    def read(piece: Piece, file: OpenFile) -> list[pa.Array]:
        gaps = gaps_of(snapshot, piece.first, piece.stop)
        arrays = list(map(combine_chunks, live(snapshot, piece, gaps, columns, file)))
        starts = np.arange(0, len(arrays[0]), size)
        places = starts + np.random.default_rng(piece.first).integers(0, size, len(starts))
        places = places[places < len(arrays[0])]
        return [take(array, places) for array in arrays]

    pieces = list(runs(snapshot, 0, snapshot.num_positions, ROWS_AT_ONCE))
    parts = run_tasks(read, pieces, lambda piece: job.report(piece.first, snapshot.num_positions))
    return [pa.chunked_array([pa.concat_arrays(values)]) for values in zip(*parts, strict=True)]


def _is_along_axis(sample: Snapshot, spec: ChartSpec, job: Job) -> bool:
    axes = (spec.x, spec.y if spec.has_y else "")
    return any(_is_in_order(sample, name, job) for name in axes if name)


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
