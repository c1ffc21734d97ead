"""The rows that an index finds for a query."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from lamella.core.filters.expr import Filter
from lamella.core.index.planning import serve
from lamella.core.query.found import Found, Reads, reads_in
from lamella.core.query.query import SortKey
from lamella.core.scan.pieces import Piece, piece_at
from lamella.core.scan.snapshot import Snapshot


def find_by_index(
    snapshot: Snapshot, where: Filter | None, sort: Sequence[SortKey] = (), limit: int | None = None
) -> Found | None:
    """The same as `core.query.positions.find`; None where no index helps."""
    served = serve(snapshot, where, sort, limit)
    if served is None:
        return None
    return Found(served.positions, partial(_reads, snapshot, served.looked_at), served.index)


def _reads(snapshot: Snapshot, looked_at: np.ndarray) -> Reads:
    return reads_in(snapshot, _holding(snapshot, np.sort(looked_at)))


def _holding(snapshot: Snapshot, ascending: np.ndarray) -> Iterator[Piece]:
    """The pieces that hold these positions."""
    done = 0
    while done < len(ascending):
        piece = piece_at(snapshot, int(ascending[done]))
        yield piece
        done = int(np.searchsorted(ascending, piece.stop))
