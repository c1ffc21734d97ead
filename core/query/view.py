"""Random access to a query's answer, a page at a time."""

from __future__ import annotations

import copy
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from lamella.core.arrow.arrays import from_numpy, to_numpy
from lamella.core.arrow.sorted_ids import among
from lamella.core.arrow.types import ID
from lamella.core.filters.condition import condition_of
from lamella.core.jobs import Job
from lamella.core.libraries import exp
from lamella.core.query.duckdb_source import POSITION, identifier, is_misread, stored_relation
from lamella.core.query.duckdb_types import survives_duckdb
from lamella.core.query.engine import cursor
from lamella.core.query.explain import Explain, explain_result
from lamella.core.query.find import OWN_ORDER, RowSearch, SearchResult, own_order
from lamella.core.query.scan_query import ScanQuery
from lamella.core.scan.read import (
    live_positions,
    patch_scattered_values,
    pieces_with,
    read_rows,
    schema_of,
    take_rows,
)
from lamella.core.scan.row_ids import ids_between
from lamella.core.scan.snapshot import Column, Snapshot, project

DECODED_CELLS = 8_000_000


def fetch(
    snapshot: Snapshot, positions: np.ndarray, columns: Sequence[Column], job: Job | None = None
) -> pa.Table:
    """Read the rows at these live positions, in the given order."""
    if _decoding_pays(snapshot, positions, columns):
        return take_rows(snapshot, positions, columns)
    return _join_rows(snapshot, positions, columns, job)


def fetch_next(snapshot: Snapshot, offset: int, count: int, columns: Sequence[Column]) -> pa.Table:
    """Read `count` live rows in the snapshot's own order from live row `offset` on; fewer at the end."""
    numbers = np.arange(offset, max(offset, min(offset + count, snapshot.num_rows)))
    positions = live_positions(snapshot, numbers)
    if _decoding_pays(snapshot, positions, columns):
        return read_rows(snapshot, offset, count, columns)
    return _join_rows(snapshot, positions, columns, None)


def _decoding_pays(snapshot: Snapshot, positions: np.ndarray, columns: Sequence[Column]) -> bool:
    rows = sum(piece.stop - piece.first for piece in pieces_with(snapshot, np.sort(positions)))
    if rows * len(columns) <= DECODED_CELLS:
        return True
    return not all(survives_duckdb(c.type) and not is_misread(snapshot, c) for c in columns)


def _join_rows(
    snapshot: Snapshot, positions: np.ndarray, columns: Sequence[Column], job: Job | None
) -> pa.Table:
    schema = schema_of(columns)
    with cursor(job, snapshot.name) as own:
        places = pa.table({POSITION: from_numpy(positions), "place": from_numpy(np.arange(len(positions)))})
        own.register("wanted", places)
        place = exp.column("place", table="wanted", quoted=True)
        values = [exp.column(identifier(c), quoted=True) for c in columns]
        rows = stored_relation(snapshot, columns, own)
        query = exp.select(*values).from_(rows).join("wanted", using=[POSITION]).order_by(place)
        table = own.sql(query.sql("duckdb")).to_arrow_table()
    stored = table.rename_columns(schema.names).cast(schema).columns
    changed = [
        patch_scattered_values(snapshot, c, positions, chunk)
        for c, chunk in zip(columns, stored, strict=True)
    ]
    return pa.Table.from_arrays(changed, schema=schema)


class View:
    """The rows of a snapshot that answer a query, in its order. Construction runs the query.

    `page` may be called from several threads at once.
    """

    def __init__(self, snapshot: Snapshot, query: ScanQuery | None = None, job: Job | None = None) -> None:
        scan = query or ScanQuery()
        where = condition_of(scan.where, f"{snapshot.name}: where", snapshot)
        self.snapshot, self.query = snapshot, replace(scan, where=where)
        self._positions: np.ndarray | None = None
        started = time.perf_counter()
        result = self._find(job)
        seconds = time.perf_counter() - started
        self.explain = (
            Explain(seconds, self.num_rows, strategies=(OWN_ORDER,))
            if result is None
            else explain_result(snapshot, self.query, result, self.num_rows, seconds)
        )

    @property
    def num_rows(self) -> int:
        return self.snapshot.num_rows if self._positions is None else len(self._positions)

    @property
    def is_whole(self) -> bool:
        """Whether the view has all rows, in their own order."""
        return self._positions is None

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns of every page, with their notes."""
        return pa.schema([column.field for column in project(self.snapshot, self.query.columns)])

    def page(self, offset: int, count: int, columns: list[str] | None = None) -> pa.Table:
        """Read `count` rows from row `offset` of the answer, fewer at the end; any column may be named."""
        fields = project(self.snapshot, self.query.columns if columns is None else columns)
        if self._positions is None:
            return fetch_next(self.snapshot, offset, count, fields)
        return fetch(self.snapshot, np.asarray(self._positions[offset : offset + count]), fields)

    def positions(self, offset: int, count: int) -> np.ndarray:
        """The positions in the snapshot of these rows of the answer."""
        count = max(0, min(count, self.num_rows - offset))
        if self._positions is None:
            return live_positions(self.snapshot, np.arange(offset, offset + count))
        return np.asarray(self._positions[offset : offset + count])

    def follow(self, snapshot: Snapshot, inserted: int) -> View:
        """The same rows in the same order, whether or not they still meet the query, as they are in a later
        snapshot: without deleted rows, and with the `inserted` ones at the end."""
        same_rows = copy.copy(self)
        same_rows.snapshot = snapshot
        vars(same_rows).pop("schema", None)  # it belongs to the earlier snapshot
        if self._positions is None:
            return same_rows
        before = self.snapshot.num_positions
        if snapshot.num_positions == before + inserted:
            behind = np.arange(before, snapshot.num_positions)
            positions = np.concatenate([self._positions, behind])
        else:  # files were rewritten without their deleted rows
            positions = self._find_again(snapshot)
        gone = among(positions, snapshot.deleted_positions)
        same_rows._positions = positions[~gone] if gone.any() else positions
        return same_rows

    def _find_again(self, snapshot: Snapshot) -> np.ndarray:
        """Find the rows again by their `_id`, followed by rows newer than all earlier ones."""
        ids = ids_between(snapshot, 0, snapshot.num_positions)
        last = ids_between(self.snapshot, 0, self.snapshot.num_positions).max(initial=-1)
        own = to_numpy(self.page(0, self.num_rows, [ID]).column(0))
        places = np.searchsorted(ids, own)
        is_present = places < len(ids)
        is_present[is_present] = ids[places[is_present]] == own[is_present]
        return np.concatenate([places[is_present], np.flatnonzero(ids > last)])

    def close(self) -> None:
        """Release the positions; the view has no rows afterwards."""
        self._positions = np.empty(0, np.int64)

    def _find(self, job: Job | None) -> SearchResult | None:
        """Find the rows; None if the view has all rows in their own order."""
        query = self.query
        if query.where is None and not query.sort:
            if query.limit is None and not query.offset:
                return None
            rows, result = own_order(self.snapshot, query.offset, query.limit)
            self._positions = live_positions(self.snapshot, np.arange(query.offset, query.offset + rows))
            return result
        stop = None if query.limit is None else query.offset + query.limit
        result = RowSearch(self.snapshot, query.where, query.sort, stop).run(job)
        self._positions = result.positions[query.offset : stop]
        return result
