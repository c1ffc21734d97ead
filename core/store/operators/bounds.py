"""$min and $max: a bound on what a cell holds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from lamella.core.arrays import to_numpy
from lamella.core.errors import BadFilter
from lamella.core.filters.binding import bind
from lamella.core.filters.expr import Predicate
from lamella.core.filters.kinds import ORDERED, kind_of
from lamella.core.filters.to_arrow import mask
from lamella.core.store.operators.meeting import array_of, chosen, repeated
from lamella.core.store.operators.refusal import Refusal


def read_bound(operand: Any) -> Any:
    if operand is None:
        raise Refusal("null is neither less nor more than anything")
    return operand


def lowered(values: pa.Array, bound: Any) -> pa.Array:
    """Null takes the bound. NaN counts as greater than every number, as in filters."""
    return _bounded(values, bound, "gt")


def raised(values: pa.Array, bound: Any) -> pa.Array:
    return _bounded(values, bound, "lt")


def _bounded(values: pa.Array, bound: Any, beyond: str) -> pa.Array:
    given = array_of([bound])
    replaced = ~to_numpy(values.is_valid())
    if not replaced.all():
        replaced |= _beyond(values, bound, beyond)
    return chosen(replaced, repeated(given, len(values)), values)


def _beyond(values: pa.Array, bound: Any, beyond: str) -> np.ndarray:
    table = pa.Table.from_arrays([values], names=["value"])
    try:
        return to_numpy(mask(bind(Predicate("value", beyond, (bound,)), table.schema, "it"), table))
    except BadFilter as error:
        raise Refusal(f"{bound!r} cannot be compared with {values.type} values", error.why) from error


def is_ordered(kind: pa.DataType) -> bool:
    return kind_of(kind) in ORDERED
