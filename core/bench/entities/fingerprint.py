"""Rows of entities as a number of rows and a hash, equal for equal rows whatever system gave them."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from lamella.core.bench.entities.data import SCHEMA

ITEM_END = "\x1f"


def fingerprint(rows: pa.Table, in_order: bool = False) -> list[list[Any]]:
    """Of the columns that entities have; ids, which differ from system to system, are left out.

    A pass of Python over every value would take longer than most questions.
    """
    flat = _flat(rows)
    if not in_order:
        keys = ["name"] if "name" in flat.column_names else flat.column_names
        flat = flat.sort_by([(key, "ascending") for key in keys])
    written = pa.BufferOutputStream()
    csv.write_csv(flat, written)
    return [[flat.num_rows, blake2b(written.getvalue(), digest_size=8).hexdigest()]]


def _flat(rows: pa.Table) -> pa.Table:
    """Lists as one text, nested fields as columns."""
    flat: dict[str, Any] = {}
    for name in SCHEMA.names:
        if name in rows.column_names:
            flat |= _leaves(name, rows[name].cast(SCHEMA.field(name).type))
    return pa.table(flat)


def _leaves(name: str, column: pa.ChunkedArray) -> dict[str, Any]:
    if pa.types.is_list(column.type):
        return {name: pc.binary_join(column.combine_chunks(), ITEM_END)}
    if pa.types.is_struct(column.type):
        return {field.name: pc.struct_field(column, field.name) for field in column.type.fields}
    return {name: column}
