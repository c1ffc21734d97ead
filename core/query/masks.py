"""The rows of a small table that meet a filter, found by Arrow over decoded columns: what was decoded
once is kept, so asking again costs a fraction of starting a query engine."""

from __future__ import annotations

import numpy as np

from core.arrays import to_numpy
from core.ascending import without
from core.filters import bind, mask
from core.filters.expr import Filter
from core.filters.walk import predicates
from core.jobs import Job
from core.scan.caches import cache
from core.scan.pieces import runs
from core.scan.rows import with_changes
from core.scan.snapshot import Snapshot

LARGEST_ROWS = 2_000_000
ROWS_AT_ONCE = 500_000


def pays(snapshot: Snapshot) -> bool:
    return snapshot.num_positions <= LARGEST_ROWS


def find_by_mask(snapshot: Snapshot, where: Filter, job: Job) -> np.ndarray:
    """Ascending positions of the live rows that meet `where`."""
    bound = bind(where, snapshot.schema, snapshot.name)
    columns = snapshot.select(dict.fromkeys(p.column for p in predicates(bound)))
    found = [np.empty(0, np.int64)]
    for piece in runs(snapshot, 0, snapshot.num_positions, ROWS_AT_ONCE):
        job.check()
        chunks = piece.stored(snapshot, columns, cache)
        met = mask(bound, with_changes(snapshot, piece.first, piece.stop, columns, chunks))
        found.append(np.flatnonzero(to_numpy(met)) + piece.first)
    positions = np.concatenate(found)
    return without(positions, snapshot.deleted)
