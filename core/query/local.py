"""Rows that answer a query, run in this process."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from core.filters.expr import Filter
from core.jobs import Job
from core.query import masks
from core.query.positions import count, find
from core.query.query import SortKey
from core.scan.rows import read_rows, take_rows
from core.scan.snapshot import Snapshot
from core.scan.stream import read_all

__all__ = ["count", "read", "sort_keys"]


def read(
    snapshot: Snapshot,
    columns: Iterable[str] | None = None,
    where: Filter | None = None,
    sort: Iterable[str] | None = None,
    limit: int | None = None,
    offset: int = 0,
    job: Job | None = None,
) -> pa.Table:
    """The rows that meet `where`, in the snapshot's own order unless sorted ("-name" descends)."""
    job = job or Job()
    chosen, keys = snapshot.select(columns), sort_keys(sort)
    if where is not None or keys:
        found = _found(snapshot, where, keys, job)
        return take_rows(snapshot, found[offset : None if limit is None else offset + limit], chosen)
    if limit is None and offset == 0:
        return read_all(snapshot, chosen, job)
    return read_rows(snapshot, offset, snapshot.num_rows if limit is None else limit, chosen)


def _found(snapshot: Snapshot, where: Filter | None, keys: tuple[SortKey, ...], job: Job) -> np.ndarray:
    if where is not None and not keys and masks.pays(snapshot):
        return masks.find_by_mask(snapshot, where, job)
    return find(snapshot, where, keys, job).positions


def sort_keys(names: Iterable[str] | None) -> tuple[SortKey, ...]:
    return tuple(SortKey(n.removeprefix("-"), n.startswith("-")) for n in names or ())
