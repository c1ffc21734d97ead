"""Rows for an update: a row that lacks a key says nothing about that cell, where None says null."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from lamella.core.arrays import take, to_numpy
from lamella.core.block import Block
from lamella.core.rows import Row, blocks, together

Rows = TypeVar("Rows", pa.ChunkedArray, pa.Table)


@dataclass(frozen=True, eq=False)
class Given:
    """The rows as a table. `left_out` tells for columns which rows lack them; the table has null there.
    `documents` are the dicts that structs of the table were made of, which may lack some of the fields."""

    table: pa.Table
    left_out: Mapping[str, np.ndarray]
    documents: Mapping[str, Sequence[Any]] = field(default_factory=dict)

    def taken(self, places: np.ndarray) -> Given:
        """The rows at these places."""
        left_out = {name: lacks[places] for name, lacks in self.left_out.items()}
        listed = places.tolist() if self.documents else []
        documents = {name: [values[i] for i in listed] for name, values in self.documents.items()}
        return Given(taken(self.table, places), left_out, documents)

    def without(self, names: Iterable[str]) -> Given:
        """The rows without these columns, of which some may not be there."""
        gone = set(names)
        return Given(
            self.table.select([name for name in self.table.column_names if name not in gone]),
            {name: lacks for name, lacks in self.left_out.items() if name not in gone},
            {name: values for name, values in self.documents.items() if name not in gone},
        )


def taken(rows: Rows, places: np.ndarray) -> Rows:
    """The rows at these places; those already in place are not copied."""
    if len(places) == len(rows) and (len(rows) == 1 or bool((places[1:] > places[:-1]).all())):
        return rows
    return take(rows, places)


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
    documents = _documents(table.schema, data)
    if not isinstance(data, list) or set(map(len, data)) <= {table.num_columns}:
        return Given(table, {}, documents)
    holding = [i for i, column in enumerate(table.columns) if column.null_count]
    names = [table.field(i).name for i in holding]
    lacking = {name: _lacking(table.column(i), name, data) for name, i in zip(names, holding, strict=True)}
    return Given(table, {name: lacks for name, lacks in lacking.items() if lacks.any()}, documents)


def is_given_by_key(data: Any) -> bool:
    """Whether the structs of `repeatable` data come from dicts, which need not have all fields."""
    return isinstance(data, (list, Mapping))


def _documents(schema: pa.Schema, data: Any) -> dict[str, Sequence[Any]]:
    """What was given as dicts. Structs of Arrow and of DataFrames have all their fields in every row."""
    names = [field.name for field in schema if pa.types.is_struct(field.type)]
    if not names or not is_given_by_key(data):
        return {}
    if isinstance(data, list):
        return {name: [_value(row, name) for row in data] for name in names}
    columns = {str(name): values for name, values in data.items()}
    known = {name: columns[name] for name in names}
    return {n: values for n, values in known.items() if not isinstance(values, (pa.Array, pa.ChunkedArray))}


def _value(row: Row, name: str) -> Any:
    return row[name] if name in row else next((row[key] for key in row if str(key) == name), None)


def _lacking(column: pa.ChunkedArray, name: str, rows: Sequence[Row]) -> np.ndarray:
    lacking = np.zeros(len(rows), bool)
    for place in np.flatnonzero(to_numpy(column.is_null())).tolist():
        lacking[place] = name not in rows[place] and name not in map(str, rows[place])
    return lacking
