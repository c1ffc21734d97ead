"""Which rows two versions of a table may differ in, found without reading any values.

Rows of a data file that both versions have can differ only where a pending entry says so that one of them has
and the other not. All other rows, of files that only one version has, are gone through in `_id` order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from lamella.core.scan.pieces import pieces
from lamella.core.scan.snapshot import Column, FileSegment, Snapshot
from lamella.core.store.cells import Cells
from lamella.core.store.columns_change import cast_from
from lamella.core.store.commit import NO_IDS
from lamella.core.store.ids import ids_between
from lamella.core.store.state import Held, State

ROWS_A_BLOCK = 100_000


@dataclass(frozen=True, eq=False)
class Block:
    """Positions of rows that one of the versions lacks, in the other; and of those that both have, in the
    order of their `ids`. In the latter only `columns`, by id, may differ, None for all."""

    removed: np.ndarray
    added: np.ndarray
    ids: np.ndarray
    before: np.ndarray
    after: np.ndarray
    columns: frozenset[int] | None


@dataclass(frozen=True, eq=False)
class _Rows:
    """Live rows: ascending ids and their positions."""

    ids: np.ndarray
    positions: np.ndarray

    def until(self, last: int) -> tuple[_Rows, _Rows]:
        """Those up to this id, and the others."""
        at = int(np.searchsorted(self.ids, last, side="right"))
        return _Rows(self.ids[:at], self.positions[:at]), _Rows(self.ids[at:], self.positions[at:])


_NO_ROWS = _Rows(NO_IDS, NO_IDS)


def blocks(before: State, after: State) -> Iterator[Block]:
    """In `_id` order, at most about 100,000 rows each."""
    ranges = _ranges(before, after)
    touched, columns = _touched(before, after)
    done = 0
    for first, last in ranges:
        start, stop = (int(np.searchsorted(touched, i)) for i in (first, last + 1))
        yield from _of_ids(before, after, touched[done:start], columns)
        yield from _of_range(before, after, first, last)
        done = stop
    yield from _of_ids(before, after, touched[done:], columns)


def _ranges(before: State, after: State) -> list[tuple[int, int]]:
    """The ids of segments that only one of the versions has, as disjoint (first, last)."""
    shared = {_identity(h) for h in before.held} & {_identity(h) for h in after.held}
    own = sorted((h.first_id, h.last_id) for h in (*before.held, *after.held) if _identity(h) not in shared)
    merged: list[tuple[int, int]] = []
    for first, last in own:
        if merged and first <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
        else:
            merged.append((first, last))
    return merged


def _identity(held: Held) -> object:
    """Entries are made again by an undo, files are not. Rows in the catalog are few: those are compared."""
    return held.segment.path if isinstance(held.segment, FileSegment) else (held.kind, held.entry)


def _touched(before: State, after: State) -> tuple[np.ndarray, frozenset[int]]:
    """Ids of rows that a pending entry of only one version is about, and the columns that those change."""
    cells = [*_only(before.cells, after.cells), *_only(after.cells, before.cells)]
    deleted = np.setxor1d(_deleted(before), _deleted(after))
    ids = [deleted, *(c.ids for c in cells)]
    return np.unique(np.concatenate(ids)), frozenset(key for c in cells for key in c.values)


def _deleted(state: State) -> np.ndarray:
    return np.concatenate([NO_IDS, *state.deletions.values()])


def _only(mine: Mapping[tuple[str, int], Cells], others: Mapping[tuple[str, int], Cells]) -> list[Cells]:
    by_version: dict[int, list[Cells]] = {}
    for cells in others.values():
        by_version.setdefault(cells.made, []).append(cells)
    return [
        cells
        for key, cells in mine.items()
        if key not in others and not any(_same(cells, other) for other in by_version.get(cells.made, ()))
    ]


def _same(a: Cells, b: Cells) -> bool:
    """What a cell was at the version that `made` it is one value, whichever entry holds it."""
    return set(a.values) == set(b.values) and np.array_equal(a.ids, b.ids)


def _of_ids(before: State, after: State, ids: np.ndarray, columns: frozenset[int]) -> Iterator[Block]:
    for at in range(0, len(ids), ROWS_A_BLOCK):
        some = ids[at : at + ROWS_A_BLOCK]
        yield _block(_living(before, some), _living(after, some), columns)


def _living(state: State, ids: np.ndarray) -> _Rows:
    positions = state.locate(ids)
    return _Rows(ids[positions >= 0], positions[positions >= 0])


def _of_range(before: State, after: State, first: int, last: int) -> Iterator[Block]:
    rows, others = _walk(before, first, last), _walk(after, first, last)
    mine, theirs = next(rows, None), next(others, None)
    while mine is not None or theirs is not None:
        cut = min(int(r.ids[-1]) for r in (mine, theirs) if r is not None)
        here, mine = (_NO_ROWS, None) if mine is None else mine.until(cut)
        there, theirs = (_NO_ROWS, None) if theirs is None else theirs.until(cut)
        yield _block(here, there, None)
        mine = mine if mine is not None and len(mine.ids) else next(rows, None)
        theirs = theirs if theirs is not None and len(theirs.ids) else next(others, None)


def _walk(state: State, first: int, last: int) -> Iterator[_Rows]:
    """The live rows of the segments that lie in a range of ids, a row group at a time."""
    inside = [i for i, h in enumerate(state.held) if first <= h.first_id and h.last_id <= last]
    if not inside:
        return
    starts = state.snapshot.segment_starts
    for piece in pieces(state.snapshot, int(starts[inside[0]]), int(starts[inside[-1] + 1])):
        live = _live(state.snapshot, piece.first, piece.stop)
        if len(live):
            yield _Rows(ids_between(state.snapshot, piece.first, piece.stop)[live - piece.first], live)


def _live(snapshot: Snapshot, first: int, stop: int) -> np.ndarray:
    low, high = np.searchsorted(snapshot.deleted, [first, stop])
    return np.delete(np.arange(first, stop), snapshot.deleted[low:high] - first)


def _block(before: _Rows, after: _Rows, columns: frozenset[int] | None) -> Block:
    ids, mine, theirs = np.intersect1d(before.ids, after.ids, assume_unique=True, return_indices=True)
    removed, added = np.delete(before.positions, mine), np.delete(after.positions, theirs)
    return Block(removed, added, ids, before.positions[mine], after.positions[theirs], columns)


def column_pairs(before: State, after: State) -> list[tuple[Column | None, Column]]:
    """The columns of the later version, each with what it was before: the one of the same id, or the one that
    a cast made it of. Where nothing is noted of casts, which convert to another type, the name tells."""
    now = {c.key for c in after.columns}
    gone = {c.key: c for c in before.columns if c.key not in now}
    undone = {key: c for c in gone.values() for key in cast_from(before.metadata, c.key)}
    was = {c.key: c for c in before.columns}
    for column in after.columns:
        origins = (gone.get(key) for key in cast_from(after.metadata, column.key))
        origin = next(filter(None, origins), None) or undone.get(column.key)
        if origin is not None:
            was.setdefault(column.key, origin)
    met = {origin.key for key, origin in was.items() if key in now}
    others = {c.name: c for c in gone.values() if c.key not in met}
    for column in after.columns:
        alike = others.get(column.name)
        if alike is not None and not alike.type.equals(column.type):
            was.setdefault(column.key, alike)
    return [(was.get(column.key), column) for column in after.columns]
