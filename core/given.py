"""Rows for an update: a row that lacks a key says nothing about that cell, where None says null."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from core.arrays import to_numpy
from core.block import Block
from core.rows import Row, blocks, together


@dataclass(frozen=True, eq=False)
class Given:
    """The rows as a table. `left_out` tells for columns which rows lack them; the table has null there."""

    table: pa.Table
    left_out: Mapping[str, np.ndarray]


def given(data: Any) -> Given:
    """Like `aligned`; only dicts leave anything out."""
    rows = repeatable(data)
    return given_in(list(blocks(rows)), rows)


def repeatable(data: Any) -> Any:
    """`data`, as a list if it is rows: they are gone through more than once."""
    columns = isinstance(data, (Mapping, str, bytes, pa.RecordBatch)) or hasattr(data, "__arrow_c_stream__")
    return data if columns or not isinstance(data, Iterable) else list(data)


def given_in(found: Sequence[Block], data: Any) -> Given:
    """The same, of `repeatable` data whose blocks are there already."""
    table = together(found)
    if not isinstance(data, list) or set(map(len, data)) <= {table.num_columns}:
        return Given(table, {})
    holding = [i for i, column in enumerate(table.columns) if column.null_count]
    names = [table.field(i).name for i in holding]
    lacking = {name: _lacking(table.column(i), name, data) for name, i in zip(names, holding, strict=True)}
    return Given(table, {name: lacks for name, lacks in lacking.items() if lacks.any()})


def _lacking(column: pa.ChunkedArray, name: str, rows: Sequence[Row]) -> np.ndarray:
    lacking = np.zeros(len(rows), bool)
    for place in np.flatnonzero(to_numpy(column.is_null())).tolist():
        lacking[place] = name not in rows[place] and name not in map(str, rows[place])
    return lacking
