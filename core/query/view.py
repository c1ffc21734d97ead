"""Random access to a query's answer."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pyarrow as pa

from lamella.core.arguments import condition_of
from lamella.core.jobs import Job
from lamella.core.query.explain import Explain, explained
from lamella.core.query.fetch import fetch, fetch_next
from lamella.core.query.found import Found
from lamella.core.query.positions import find
from lamella.core.query.query import Query
from lamella.core.scan.paths import chosen
from lamella.core.scan.pieces import schema_of
from lamella.core.scan.rows import live_positions
from lamella.core.scan.snapshot import Snapshot


class View:
    """The rows of a snapshot that meet a query, in its order. Making one runs the query.

    `page` may be called from any thread, and at the same time from several.
    """

    def __init__(self, snapshot: Snapshot, query: Query | None = None, job: Job | None = None) -> None:
        asked = query or Query()
        where = condition_of(asked.where, f"{snapshot.name}: where", snapshot)
        self.snapshot, self.query = snapshot, replace(asked, where=where)
        started = time.perf_counter()
        found = self._find(job)
        taken = time.perf_counter() - started
        self._positions = None if found is None else self._limited(found.positions)
        self.explain = (
            Explain(taken, self.num_rows)
            if found is None
            else explained(snapshot, self.query, found, self.num_rows, taken)
        )

    @property
    def num_rows(self) -> int:
        return self.snapshot.num_rows if self._positions is None else len(self._positions)

    @property
    def schema(self) -> pa.Schema:
        return schema_of(chosen(self.snapshot, self.query.columns))

    def page(self, offset: int, count: int, columns: list[str] | None = None) -> pa.Table:
        """`count` rows from row `offset` of the answer, fewer at its end; any column may be named."""
        fields = chosen(self.snapshot, self.query.columns if columns is None else columns)
        if self._positions is None:
            return fetch_next(self.snapshot, offset, count, fields)
        return fetch(self.snapshot, np.asarray(self._positions[offset : offset + count]), fields)

    def positions(self, offset: int, count: int) -> np.ndarray:
        """Where these rows of the answer stand in the snapshot."""
        count = max(0, min(count, self.num_rows - offset))
        if self._positions is None:
            return live_positions(self.snapshot, np.arange(offset, offset + count))
        return np.asarray(self._positions[offset : offset + count])

    def close(self) -> None:
        """Let go of the positions; the view answers nothing afterwards."""
        self._positions = np.empty(0, np.int64)

    def _find(self, job: Job | None) -> Found | None:
        query = self.query
        if query.where is None and not query.sort and query.limit is None and not query.offset:
            return None
        return find(self.snapshot, query.where, query.sort, job)

    def _limited(self, positions: np.ndarray) -> np.ndarray:
        first, limit = self.query.offset, self.query.limit
        return positions[first : None if limit is None else first + limit]
