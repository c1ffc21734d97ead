"""Positions of many rows, in memory or in a file that only memory names."""

from __future__ import annotations

import os
import tempfile

import numpy as np

from lamella.core.query.engine import no_room

MAPPED_ABOVE = 1 << 23


def room_for(count: int) -> np.ndarray:
    """So many int64, not filled yet: above eight million in a temporary file without a name, which the system
    takes back when the array is gone. Raises `NoRoom`."""
    if count <= MAPPED_ABOVE:
        return np.empty(count, np.int64)
    with tempfile.TemporaryFile(prefix="lamella-positions-") as file:
        try:
            _reserve(file.fileno(), 8 * count)
        except OSError as error:
            raise no_room(error.strerror or str(error)) from error
        return np.memmap(file, np.int64, "r+", shape=(count,))


def _reserve(file: int, size: int) -> None:
    """Take the room on disk at once: a mapped page that finds none would end the process."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file, 0, size)
    else:
        os.truncate(file, size)
