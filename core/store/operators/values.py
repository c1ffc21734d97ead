"""Brings values to a common type when they join others in a column: exactly, or not at all."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from lamella.core.arrow.arrays import take
from lamella.core.arrow.from_python import from_columns
from lamella.core.arrow.types import exact_cast, wider_type
from lamella.core.errors import BadData


class Refusal(Exception):
    """An operand or values that an operator cannot take. `reason` is a clause: what is wrong with them."""

    def __init__(self, reason: str, fix: str = "") -> None:
        self.reason, self.fix = reason, fix
        super().__init__(reason)


def array_of(values: list[Any]) -> pa.Array:
    """Convert Python values to an array of the type that fits them all."""
    try:
        return from_columns({"values": values}).column(0).combine_chunks()
    except BadData as error:
        raise Refusal("the values have no type in common", error.why) from error


def nulls(count: int) -> pa.Array:
    return pa.nulls(count, pa.null())


def repeat_value(value: pa.Array, count: int) -> pa.Array:
    """An array of one value, `count` times."""
    return value if count == 1 else take(value, np.zeros(count, np.int64))


def to_common_type(old: pa.Array, arriving: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Convert both to the old type if the new values fit it, else to the narrowest type that takes all."""
    alike = refuse_other_kind(old.type, arriving.type)
    fitting = exact_cast(arriving, old.type)
    if fitting is not None:
        return old, fitting
    return _exact(old, alike), _exact(arriving, alike)


def refuse_other_kind(old: pa.DataType, arriving: pa.DataType) -> pa.DataType:
    """The common type of both; whether all values fit it may have to be checked."""
    alike = wider_type(old, arriving)
    if alike is None:
        raise Refusal(f"it holds {old} and cannot take {arriving} values", "Cast the values, or the column")
    return alike


def to_stored_type(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """Convert `values` to the stored type if each fits it; else leave them as they are."""
    if pa.types.is_null(kind) or wider_type(kind, values.type) is None:
        return values
    fitting = exact_cast(values, kind)
    return values if fitting is None else fitting


def choose(condition: np.ndarray, values: pa.Array, fallback: pa.Array) -> pa.Array:
    """Where `condition` is true take `values`, elsewhere `fallback`; any types that have a common one."""
    if condition.all():
        return values
    if not condition.any():
        return fallback
    fallback, values = to_common_type(fallback, values)
    places = np.arange(len(fallback), dtype=np.int64)
    places[condition] += len(fallback)
    return take(pa.concat_arrays([fallback, values]), places)


def _exact(values: pa.Array, kind: pa.DataType) -> pa.Array:
    cast = exact_cast(values, kind)
    if cast is None:
        raise Refusal(f"not all {values.type} values fit {kind} exactly", "Cast the column first")
    return cast
