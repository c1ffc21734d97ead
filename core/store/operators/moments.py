"""$currentDate: the moment of the commit, in UTC."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from lamella.core.arrays import from_numpy
from lamella.core.store.operators.meeting import repeated
from lamella.core.store.operators.refusal import Refusal

_NANOSECONDS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
_DAY_NANOSECONDS = 86_400 * 10**9


def read_moment(operand: Any) -> pa.DataType:
    """True, or `{"$type": "date"}` or "timestamp": what a new column is; others have their type."""
    named = isinstance(operand, Mapping) and operand.get("$type") in ("date", "timestamp")
    if operand is not True and not (named and len(operand) == 1):
        raise Refusal(f"it takes True, {{'$type': 'date'}} or {{'$type': 'timestamp'}}, not {operand!r}")
    return pa.date32() if named and operand["$type"] == "date" else pa.timestamp("us", "UTC")


def now(values: pa.Array, wanted: pa.DataType) -> pa.Array:
    """Timestamps without a zone get UTC's, dates UTC's day; new columns are of the type `wanted`."""
    kind = wanted if pa.types.is_null(values.type) else values.type
    moment = time.time_ns()
    if pa.types.is_date(kind):
        day = from_numpy(np.array([moment // _DAY_NANOSECONDS], np.int32), pa.date32())
        return repeated(day, len(values)).cast(kind)
    count = np.array([moment // _NANOSECONDS[kind.unit]], np.int64)
    return repeated(from_numpy(count, kind), len(values))


def is_moment(kind: pa.DataType) -> bool:
    return bool(pa.types.is_timestamp(kind) or pa.types.is_date(kind))
