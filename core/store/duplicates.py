"""Rows that hold the same values as another row."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sqlglot import exp

from lamella.core.arguments import text_of
from lamella.core.arrays import to_numpy
from lamella.core.ascending import without
from lamella.core.errors import BadData
from lamella.core.jobs import Job
from lamella.core.query.engine import cursor
from lamella.core.query.source import POSITION, identifier, relation
from lamella.core.scan.rows import live_positions
from lamella.core.scan.snapshot import Column
from lamella.core.store.row_ids import ids_at
from lamella.core.store.state import State

_KEPT = {"first": exp.Min, "last": exp.Max}


def duplicate_ids(state: State, on: Sequence[str] | None, keep: str, job: Job) -> np.ndarray:
    """Ascending ids of the rows whose values in `on` (None: all columns) an earlier row has, or a later one
    when the last is kept. Null equals null, and NaN equals NaN."""
    snapshot = state.snapshot
    if text_of(keep, f"{snapshot.name}: keep") not in _KEPT:
        raise BadData(f"{snapshot.name}: keep is '{keep}'", fix="Say 'first' or 'last'")
    columns = _compared(state, on)
    with cursor(job, snapshot.name) as own:
        rows = relation(snapshot, columns, own, job=job)
        kept = _KEPT[keep](this=exp.column(POSITION, quoted=True))
        query = (
            exp.select(kept).from_(rows).group_by(*(exp.column(identifier(c), quoted=True) for c in columns))
        )
        positions = np.sort(to_numpy(own.sql(query.sql("duckdb")).to_arrow_table().column(0)))
    live = live_positions(snapshot, np.arange(snapshot.num_rows))
    return ids_at(state, without(live, positions))


def _compared(state: State, on: Sequence[str] | None) -> tuple[Column, ...]:
    columns = state.columns if on is None else state.snapshot.select(on)
    if not columns:
        raise BadData(f"{state.snapshot.name}: there is no column to compare rows by", fix="Name one")
    return columns
