"""A view with computed columns, whose values are computed for each page when it is read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from lamella.core.filters.expr import Filter, columns_read
from lamella.core.jobs import Job
from lamella.core.query.builder import query_of
from lamella.core.query.explain import Explain
from lamella.core.query.expressions import columns_in
from lamella.core.query.scan_query import ScanQuery, as_scan
from lamella.core.query.source import SnapshotSource
from lamella.core.query.steps import Compute, Limit, Select, Sort, Step, Where
from lamella.core.query.view import View
from lamella.core.scan.snapshot import Snapshot, snapshot_of_rows

MOST_COMPUTED_ROWS = 2_000_000
"""For more rows, a computed column is not computed in full only to describe it."""


class ComputedView:
    """Like `View`, with columns that some steps compute. For a table with billions of rows, computing a
    column in full takes minutes and gigabytes; computing it for the rows on screen takes milliseconds."""

    def __init__(self, view: View, steps: Sequence[Compute], schema: pa.Schema) -> None:
        self._view, self.steps = view, tuple(steps)
        self.schema = schema
        self._own_names = frozenset(view.snapshot.types)
        self.computed_names = frozenset(name for step in steps for name, _ in step.values)

    @property
    def snapshot(self) -> Snapshot:
        """The snapshot of the rows, without the computed columns."""
        return self._view.snapshot

    @property
    def query(self) -> ScanQuery:
        return self._view.query

    @property
    def explain(self) -> Explain:
        return self._view.explain

    @property
    def num_rows(self) -> int:
        return self._view.num_rows

    @property
    def is_whole(self) -> bool:
        return self._view.is_whole

    def positions(self, offset: int, count: int) -> np.ndarray:
        return self._view.positions(offset, count)

    def page(self, offset: int, count: int, columns: list[str] | None = None) -> pa.Table:
        names = list(self.schema.names) if columns is None else columns
        if not self.computed_names & set(names):
            return self._view.page(offset, count, names)
        needed = dict.fromkeys([*names, *_columns_of(self.steps)])
        rows = self._view.page(offset, count, [name for name in needed if name in self._own_names])
        query = query_of(SnapshotSource(snapshot_of_rows(rows, self.snapshot.name)))
        return query.with_steps((*self.steps, Select(tuple(names)))).read(Job())

    def can_profile(self, name: str) -> bool:
        """Whether figures of a column may be requested: those of a computed column need every row."""
        return name not in self.computed_names or self.snapshot.num_rows <= MOST_COMPUTED_ROWS

    def rows_of(self, name: str, job: Job) -> tuple[Snapshot, Filter | None]:
        """All rows of a column, and the filter on them, for a card or a profile. For a computed column of
        more than `MOST_COMPUTED_ROWS` rows this takes long. Blocks."""
        where = self.query.where
        if name not in self.computed_names:
            return self.snapshot, where
        condition_columns = {} if where is None else dict.fromkeys(_columns_read(Where(where)))
        needed = dict.fromkeys([name, *(column for column in condition_columns if column in self._own_names)])
        steps: tuple[Step, ...] = (*self.steps, Select(tuple(needed)))
        if where is not None and self.computed_names & set(condition_columns):
            steps, where = (Where(where), *self.steps, Select((name,))), None
        rows = query_of(SnapshotSource(self.snapshot)).with_steps(steps).read(job)
        return snapshot_of_rows(rows, self.snapshot.name), where

    def close(self) -> None:
        self._view.close()


def computed_on_pages(steps: Sequence[Step]) -> tuple[ScanQuery, tuple[Compute, ...]] | None:
    """Split the steps into a scan of a dataset's rows, and the columns computed page by page. None if rows
    are filtered or sorted by computed columns, or if there are other kinds of steps."""
    scan: list[Step] = []
    computed: list[Compute] = []
    names: set[str] = set()
    for step in steps:
        if isinstance(step, Compute):
            computed.append(step)
            names.update(name for name, _ in step.values)
        elif isinstance(step, Where | Sort | Limit) and not names & set(_columns_read(step)):
            scan.append(step)
        elif not isinstance(step, Select) or step is not steps[-1]:
            return None
    query = as_scan(scan)
    return None if query is None else (query, tuple(computed))


def _columns_read(step: Where | Sort | Limit) -> Iterator[str]:
    """The columns that a step reads; for a field's path, also the column that may contain it."""
    if isinstance(step, Sort):
        yield from (key.column for key in step.keys)
    elif isinstance(step, Where):
        for name in columns_read(step.condition):
            yield from (name, name.partition(".")[0])


def _columns_of(steps: Sequence[Compute]) -> Iterator[str]:
    for step in steps:
        for _, value in step.values:
            yield from columns_in(value)
