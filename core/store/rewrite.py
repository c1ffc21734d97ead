"""Data files written anew with what was changed in them: for large changes, and to flush small ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from core.jobs import Job
from core.scan.snapshot import Column, Snapshot
from core.scan.stream import tables_between
from core.store.cells import Cells, latest, placed
from core.store.layout import Staging
from core.store.reader import Held, State
from core.store.writer import WrittenFile, write_files


@dataclass(frozen=True, eq=False)
class Rewrite:
    """Segments that files replace, and what stays pending of entries that reached into them."""

    replaced: tuple[Held, ...]
    files: tuple[WrittenFile, ...]
    cells: dict[int, Cells]
    deletions: dict[int, np.ndarray]


def rewrite(
    state: State,
    segments: np.ndarray,
    columns: tuple[Column, ...],
    cells: Cells | None,
    deleted: np.ndarray,
    staging: Staging,
    job: Job,
) -> Rewrite:
    """Stage the given segments (ascending numbers) with pending and new changes applied."""
    after = _after(state, columns, cells, deleted)
    files: list[WrittenFile] = []
    for first, last in _runs(segments):
        start, stop = int(after.segment_starts[first]), int(after.segment_starts[last + 1])
        files += write_files(tables_between(after, columns, start, stop, job), columns, staging)
    replaced = tuple(state.held[i] for i in segments)
    return Rewrite(replaced, tuple(files), *_left_over(state, replaced, columns))


def segments_of(state: State, ids: np.ndarray) -> np.ndarray:
    """Numbers of the segments that hold these ids."""
    positions = state.ranges.locate(state.snapshot, ids)
    starts = state.snapshot.segment_starts
    return np.unique(np.searchsorted(starts, positions[positions >= 0], side="right") - 1)


def segments_with_pending(state: State) -> np.ndarray:
    """Numbers of the segments that a flush would rewrite."""
    touched = [cells.ids for cells in state.cells.values()] + list(state.deletions.values())
    changed = segments_of(state, np.unique(np.concatenate([np.empty(0, np.int64), *touched])))
    loose = [i for i, held in enumerate(state.held) if held.kind == "pending_rows"]
    return np.union1d(changed, np.array(loose, np.int64)).astype(np.int64)


def _after(state: State, columns: tuple[Column, ...], cells: Cells | None, deleted: np.ndarray) -> Snapshot:
    changes = [*state.cells.values(), *([cells] if cells else [])]
    locate = partial(state.ranges.locate, state.snapshot)
    gone = np.union1d(state.snapshot.deleted, locate(deleted))
    overlay = placed(latest(changes, columns), locate)
    return replace(state.snapshot, columns=columns, deleted=gone, overlay=overlay)


def _runs(numbers: np.ndarray) -> list[tuple[int, int]]:
    """Neighbouring numbers as (first, last)."""
    breaks = np.flatnonzero(np.diff(numbers) > 1)
    firsts = numbers[np.append(0, breaks + 1)] if len(numbers) else numbers
    lasts = numbers[np.append(breaks, len(numbers) - 1)] if len(numbers) else numbers
    return list(zip(firsts.tolist(), lasts.tolist(), strict=True))


def _left_over(
    state: State, replaced: Sequence[Held], columns: Sequence[Column]
) -> tuple[dict[int, Cells], dict[int, np.ndarray]]:
    """Of each pending entry that reached into the replaced segments, the part that lies elsewhere."""
    cells = {
        entry: held.without(inside).of_types(columns)
        for entry, held in state.cells.items()
        if len(inside := _inside(held.ids, replaced))
    }
    deletions = {
        entry: np.setdiff1d(ids, inside)
        for entry, ids in state.deletions.items()
        if len(inside := _inside(ids, replaced))
    }
    return cells, deletions


def _inside(ids: np.ndarray, replaced: Sequence[Held]) -> np.ndarray:
    reached = np.zeros(len(ids), bool)
    for held in replaced:
        reached |= (ids >= held.first_id) & (ids <= held.last_id)
    return ids[reached]
