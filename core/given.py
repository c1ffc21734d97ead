"""Rows for an update: a row that lacks a key says nothing about that cell, where None says null."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from core.arrays import to_numpy
from core.rows import Row, aligned


@dataclass(frozen=True, eq=False)
class Given:
    """The rows as a table. `left_out` tells for columns which rows lack them; the table has null there."""

    table: pa.Table
    left_out: Mapping[str, np.ndarray]


def given(data: Any) -> Given:
    """Like `aligned`; only dicts leave anything out."""
    columns = isinstance(data, (Mapping, str, bytes, pa.RecordBatch)) or hasattr(data, "__arrow_c_stream__")
    if columns or not isinstance(data, Iterable):
        return Given(aligned(data), {})
    rows = list(data)
    table = aligned(rows)
    found = {name: _lacking(table.column(name), name, rows) for name in table.column_names}
    return Given(table, {name: lacking for name, lacking in found.items() if lacking.any()})


def _lacking(column: pa.ChunkedArray, name: str, rows: Sequence[Row]) -> np.ndarray:
    lacking = np.zeros(len(rows), bool)
    if column.null_count:
        for place in np.flatnonzero(to_numpy(column.is_null())).tolist():
            lacking[place] = name not in rows[place] and name not in map(str, rows[place])
    return lacking
