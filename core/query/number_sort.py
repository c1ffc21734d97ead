"""Sorting rows by one numeric column, and arrays for positions, in memory or in a temporary file."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Sequence

import numpy as np
import psutil
import pyarrow as pa

from lamella.core.arrow.arrays import to_numpy
from lamella.core.arrow.sorted_ids import EMPTY, comparable, in_key_order, stable_order
from lamella.core.index.sorted_index import as_numbers, can_be_ordered, is_bytes
from lamella.core.jobs import Job
from lamella.core.query.engine import no_room
from lamella.core.scan.snapshot import Snapshot, SortKey

MAPPED_ABOVE = 1 << 23


def room_for(count: int) -> np.ndarray:
    """An uninitialized array of `count` int64. Above eight million it is in an unnamed temporary file, which
    the system removes with the array. Raises `NoRoom`."""
    if count <= MAPPED_ABOVE:
        return np.empty(count, np.int64)
    with tempfile.TemporaryFile(prefix="lamella-positions-") as file:
        try:
            _reserve(file.fileno(), 8 * count)
        except OSError as error:
            raise no_room(error.strerror or str(error)) from error
        return np.memmap(file, np.int64, "r+", shape=(count,))


def _reserve(file: int, size: int) -> None:
    """Allocate the disk space now: writing a mapped page without space would kill the process."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file, 0, size)
    else:
        os.truncate(file, size)


BYTES_A_ROW = 48
"""The memory per row that sorting takes."""


def is_sorted_here(snapshot: Snapshot, sort: Sequence[SortKey], limit: int | None) -> bool:
    """Whether to sort with `number_order`. DuckDB finds the first rows of a sort without sorting all of
    them."""
    if len(sort) != 1 or limit is not None:
        return False
    kinds = [column.type for column in snapshot.columns if column.name == sort[0].column]
    if not kinds or not can_be_ordered(kinds[0]) or is_bytes(kinds[0]):
        return False
    if pa.types.is_decimal256(kinds[0]):  # arrives as bytes, however short
        return False
    return snapshot.num_rows * BYTES_A_ROW <= psutil.virtual_memory().available // 2


def number_order(batches: Iterable[pa.RecordBatch], at_most: int, descending: bool, job: Job) -> np.ndarray:
    """Sort the positions in the first column by the second column: nulls last, ties ascending."""
    positions, keys, nulls = _collect(batches, at_most, descending)
    job.check()
    if not bool(np.all(positions[1:] > positions[:-1])):
        placed = stable_order(comparable(positions), job.check)
        positions, keys = positions[placed], keys[placed]
    job.check()
    ordered = in_key_order(positions, keys, job.check)
    del positions, keys
    job.check()
    answer = room_for(len(ordered) + len(nulls))
    answer[: len(ordered)] = ordered
    answer[len(ordered) :] = np.sort(nulls)
    return answer


def _collect(
    batches: Iterable[pa.RecordBatch], at_most: int, descending: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the positions with a value, their sort keys, and the positions without a value."""
    positions, keys, filled = np.empty(at_most, np.int64), np.empty(at_most, np.uint64), 0
    nulls = [EMPTY]
    for batch in batches:
        places, values = to_numpy(batch.column(0)), batch.column(1)
        if values.null_count:
            present = to_numpy(values.is_valid())
            nulls.append(places[~present])
            places, values = places[present], values.drop_null()
        numbers = comparable(as_numbers(values))
        after = filled + len(places)
        positions[filled:after] = places
        keys[filled:after] = ~numbers if descending else numbers
        filled = after
    return positions[:filled], keys[:filled], np.concatenate(nulls)
