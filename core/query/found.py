"""The rows that a query found, and what of the files was read to find them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

import numpy as np

from lamella.core.scan.footers import unchanged
from lamella.core.scan.pieces import Piece
from lamella.core.scan.snapshot import FileSegment, Snapshot


@dataclass(frozen=True)
class Reads:
    """Row groups are those of files: how many there are, and how many were read. `files_read` is None where
    that was counted over all files together."""

    row_groups_read: int = 0
    row_groups_total: int = 0
    files_read: int | None = 0
    files_total: int = 0


@dataclass(frozen=True, eq=False)
class Found:
    """`positions` are int64, and mapped to a temporary file when there are more than eight million.

    `reads` counts what was read of the files, which few ask. `index` names the index that was used.
    """

    positions: np.ndarray
    reads: Callable[[], Reads]
    index: str | None = None


def files_of(snapshot: Snapshot) -> list[FileSegment]:
    return [segment for segment in snapshot.segments if isinstance(segment, FileSegment)]


def row_groups_of(snapshot: Snapshot) -> int:
    """How many row groups the snapshot's files have; parses the footers that were not read yet."""
    return sum(unchanged(file).metadata.num_row_groups for file in files_of(snapshot))


def found_in(snapshot: Snapshot, positions: np.ndarray, looked_at: Iterable[Piece]) -> Found:
    """`looked_at`: where values had to be compared; no row group is named twice."""
    return Found(positions, partial(reads_in, snapshot, looked_at))


def reads_in(snapshot: Snapshot, looked_at: Iterable[Piece]) -> Reads:
    files = [(piece.segment, len(piece.row_groups)) for piece in looked_at]
    read = [(segment, groups) for segment, groups in files if isinstance(segment, FileSegment)]
    return Reads(
        sum(groups for _, groups in read),
        row_groups_of(snapshot),
        len({id(segment) for segment, _ in read}),
        len(files_of(snapshot)),
    )
