"""Compares two versions of a table row by row: rows by their `_id`, columns by their permanent ids."""

from __future__ import annotations

import time

import numpy as np

from lamella.core.arrow.types import ID
from lamella.core.jobs import Job
from lamella.core.query.comparison.columns import ColumnPair
from lamella.core.query.comparison.comparison import Comparison, Tally, row_numbers
from lamella.core.scan.row_ids import distinct, ids_at, ids_between
from lamella.core.scan.snapshot import Column, Snapshot
from lamella.core.store.cells import NO_IDS
from lamella.core.store.diff import Diff, DiffBlock
from lamella.core.store.table_version import TableVersion


def compare_versions(before: TableVersion, after: TableVersion, job: Job) -> Comparison:
    """Compare two versions. Files that both have are not read. Blocks.

    A column that only one of them has is a difference of the schemas, not of rows. Cells are compared as
    they are stored.
    """
    started, diff = time.perf_counter(), Diff(before, after)
    pairs = _pairs(before, after, diff)
    common = [pair for pair in pairs if pair.is_common]
    tally = Tally(common, None)
    places = {pair.after.key: place for place, pair in enumerate(common) if pair.after is not None}
    parts: list[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]] = []
    for block in diff.row_blocks(job):
        changed = _count(diff, block, before.snapshot, after.snapshot, tally, places, job)
        parts.append(
            (block.added_positions, block.removed_positions, block.after[changed], block.before[changed])
        )
    added, removed, changed_after, changed_before = (
        np.concatenate([NO_IDS, *arrays]) for arrays in (zip(*parts, strict=True) if parts else [()] * 4)
    )
    order = np.argsort(changed_after, kind="stable")
    removed = np.sort(removed)
    return Comparison(
        before.snapshot, after.snapshot, pairs, (ID,), None,
        row_numbers(after.snapshot, np.sort(added)),
        row_numbers(before.snapshot, removed),
        _places(before, after, removed),
        row_numbers(after.snapshot, changed_after[order]),
        row_numbers(before.snapshot, changed_before[order]),
        tally.columns, (), time.perf_counter() - started,
        (f"version {before.version}", f"version {after.version}"),
    )  # fmt: skip


def _pairs(before: TableVersion, after: TableVersion, diff: Diff) -> tuple[ColumnPair, ...]:
    """The pairs of columns, with their notes."""
    ours, theirs = _columns_by_key(before.snapshot), _columns_by_key(after.snapshot)
    pairs = [ColumnPair(None if was is None else ours[was.key], theirs[now.key]) for was, now in diff.pairs]
    keys = {pair.before.key for pair in pairs if pair.before is not None}
    return (*pairs, *(ColumnPair(ours[c.key], None) for c in before.columns if c.key not in keys))


def _columns_by_key(snapshot: Snapshot) -> dict[int, Column]:
    return {column.key: column for column in snapshot.columns}


def _count(
    diff: Diff,
    block: DiffBlock,
    before: Snapshot,
    after: Snapshot,
    tally: Tally,
    places: dict[int, int],
    job: Job,
) -> np.ndarray:
    """Which rows of both versions differ in a column that both have."""
    changed = np.zeros(len(block.ids), bool)
    numbers = row_numbers(before, block.before), row_numbers(after, block.after)
    for column, different, earlier, later in diff.differing_cells(block):
        job.check()
        if column.key in places:
            tally.add(places[column.key], (earlier, later), different, numbers)
            changed |= different
    return changed


def _places(before: TableVersion, after: TableVersion, removed: np.ndarray) -> np.ndarray:
    """For each removed row, the row of the later version that it would precede by its `_id`."""
    if not len(removed):
        return NO_IDS
    ids, snapshot, ranges = ids_at(before, removed), after.snapshot, after.ranges
    numbers = np.searchsorted(ranges.last, ids)
    positions = snapshot.segment_starts[numbers].copy()
    for number in distinct(numbers[numbers < len(ranges.last)]).tolist():
        own = np.flatnonzero(numbers == number)
        start, rows = int(snapshot.segment_starts[number]), snapshot.segments[number].num_rows
        first = int(ranges.first[number])
        if int(ranges.last[number]) - first + 1 == rows:
            positions[own] += np.maximum(ids[own] - first, 0)
        else:
            positions[own] += np.searchsorted(ids_between(snapshot, start, start + rows), ids[own])
    places: np.ndarray = row_numbers(snapshot, positions)
    return places
