"""Rows of nothing but integers, gathered column by column: several times faster than value by value."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any

import numpy as np
import pyarrow as pa

from core.arrays import from_numpy

ROWS_A_BLOCK = 100_000


class IntegerBlock:
    """Up to 100,000 rows with the keys of the first one, each value an int64."""

    def __init__(self, sample: Mapping[str, Any]) -> None:
        self.names = list(sample)
        self.rows = 0
        self._pack: Callable[..., bytes] = struct.Struct(f"<{len(self.names)}q").pack
        self._values = itemgetter(*self.names)
        self._columns = np.empty((len(self.names), 0), np.int64)

    def add(self, rows: Sequence[Mapping[str, Any]]) -> bool:
        """Take the rows; False, and nothing taken, where one has other keys or a value is no int64."""
        if self.rows + len(rows) > ROWS_A_BLOCK or set(map(len, rows)) != {len(self.names)}:
            return False
        pack, values = self._pack, self._values
        try:
            packed = b"".join([pack(*values(row)) for row in rows])
        except (KeyError, struct.error):
            return False
        self._make_room(len(rows))
        by_row = np.frombuffer(packed, "<i8").reshape(len(rows), len(self.names))
        self._columns[:, self.rows : self.rows + len(rows)] = by_row.T
        self.rows += len(rows)
        return True

    def _make_room(self, count: int) -> None:
        """As large as the first rows need, then at once as large as it gets: few rows touch little memory."""
        room = self._columns.shape[1]
        if self.rows + count > room:
            larger = np.empty((len(self.names), ROWS_A_BLOCK if room else count), np.int64)
            larger[:, : self.rows] = self._columns[:, : self.rows]
            self._columns = larger

    def table(self) -> pa.Table:
        arrays = [from_numpy(column[: self.rows]) for column in self._columns]
        return pa.Table.from_arrays(arrays, names=[str(name) for name in self.names])


def fits(sample: Mapping[str, Any]) -> bool:
    """Whether a block is worth trying: two integers at least, and nothing else."""
    return len(sample) > 1 and all(type(value) is int for value in sample.values())
