"""Behind which row a page begins, as text that a caller keeps from page to page."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import types as is_

from lamella.core.errors import BadData, shown
from lamella.core.query.query import SortKey
from lamella.core.scan.paths import chosen, named
from lamella.core.scan.rows import take_rows
from lamella.core.scan.snapshot import Column, Snapshot

_SORT = b"sort"


@dataclass(frozen=True)
class Cursor:
    """A row's `_id`, and the values it was sorted by then: it may be changed or deleted by now."""

    row_id: int
    values: tuple[pa.Scalar, ...] = ()


def written(snapshot: Snapshot, position: int, id_column: Column, keys: Sequence[SortKey]) -> str:
    """The cursor of the row at a live position."""
    columns = (id_column, *chosen(snapshot, (key.column for key in keys)))
    rows = take_rows(snapshot, np.array([position]), columns)
    rows = rows.rename_columns([str(i) for i in range(len(columns))])
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema.with_metadata({_SORT: _told(keys)})) as stream:
        stream.write_table(rows)
    return base64.urlsafe_b64encode(sink.getvalue()).decode()


def parsed(snapshot: Snapshot, cursor: str, keys: Sequence[SortKey]) -> Cursor:
    """Raises `BadData` for what is no cursor, and for one of pages in another order."""
    try:
        with pa.ipc.open_stream(pa.py_buffer(base64.urlsafe_b64decode(cursor))) as stream:
            rows = stream.read_all()
        told = json.loads(rows.schema.metadata[_SORT])
        row_id, *values = [column[0] for column in rows.columns]
        kinds = [named(snapshot, key.column).type for key in keys]
    except (binascii.Error, ValueError, TypeError, KeyError, IndexError, OSError, pa.ArrowException) as error:
        raise BadData(
            f"{snapshot.name}: {shown(cursor)} is no cursor", fix="Give what the page before has as `next`"
        ) from error
    if told != json.loads(_told(keys)):
        raise BadData(
            f"{snapshot.name}: the cursor is of pages in another order",
            fix="Keep the sort from page to page, or begin again without a cursor",
        )
    try:
        return Cursor(row_id.as_py(), tuple(v.cast(k) for v, k in zip(values, kinds, strict=True)))
    except (pa.ArrowException, ValueError) as error:
        raise BadData(
            f"{snapshot.name}: the cursor is of a time when a sorted column had another type",
            str(error),
            "Begin again without a cursor",
        ) from error


def compared(one: Sequence[pa.Scalar], other: Sequence[pa.Scalar], keys: Sequence[SortKey]) -> int:
    """Below 0 where the first row comes first in the order of `keys`, 0 where they are equal in it."""
    for a, b, key in zip(one, other, keys, strict=True):
        if a.is_valid != b.is_valid:
            return -1 if a.is_valid else 1
        if a.is_valid:
            x, y = _comparable(a), _comparable(b)
            if x != y:
                return -1 if (x < y) != key.descending else 1
    return 0


def refuse_unordered(snapshot: Snapshot, keys: Sequence[SortKey]) -> None:
    for key in keys:
        kind = named(snapshot, key.column).type
        if is_.is_nested(kind):
            raise BadData(
                f"{snapshot.name}: pages cannot follow the order of column '{key.column}'",
                f"It holds {kind}",
                "Sort by another column",
            )


def _comparable(scalar: pa.Scalar) -> tuple[bool, Any]:
    """NaN is the greatest number. Times are compared as the numbers they are stored as."""
    value = scalar.value if is_.is_temporal(scalar.type) else scalar.as_py()
    return (True, 0) if value != value else (False, value)


def _told(keys: Sequence[SortKey]) -> str:
    return json.dumps([[key.column, key.descending] for key in keys])
