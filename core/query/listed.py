"""Values of Arrow as a condition on a column."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

import pyarrow as pa

from lamella.core.arrow.nested import python_value
from lamella.core.filters.expr import Filter, Predicate, any_of
from lamella.core.filters.kinds import Kind, kind_of
from lamella.core.filters.operators import OPERATORS
from lamella.core.scan.snapshot import Column


def is_one_of(column: Column, values: pa.ChunkedArray) -> Filter:
    """The column holds one of the values, of which none is null."""
    listed = tuple(dict.fromkeys(_operands(values)))
    if len(listed) > 1 and OPERATORS["in"].fits(column.type):
        return Predicate(column.name, "in", listed)
    return any_of(Predicate(column.name, "eq", (value,)) for value in listed)


def _operands(values: pa.ChunkedArray) -> Iterable[object]:
    """Whole numbers and texts are the same in Python, and are made all at once."""
    if kind_of(values.type) in (Kind.INTEGER, Kind.TEXT):
        return cast(list[object], values.to_pylist())
    return map(_operand, values)


def _operand(scalar: pa.Scalar) -> object:
    """A key as a condition takes it. Nanoseconds have no Python value but pandas': they are told as text."""
    kind = scalar.type
    if (pa.types.is_timestamp(kind) or pa.types.is_time64(kind)) and kind.unit == "ns":
        return scalar.cast(pa.string()).as_py()
    return python_value(scalar)
