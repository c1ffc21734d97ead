"""Which items of lists a $pull takes out: those equal to a value, or those that meet conditions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lamella.core.arrays import to_numpy
from lamella.core.errors import BadFilter, UnknownColumn
from lamella.core.filters.binding import bind
from lamella.core.filters.expr import Filter, Predicate, all_of
from lamella.core.filters.to_arrow import mask
from lamella.core.store.differing import differs
from lamella.core.store.operators.meeting import array_of, met, repeated
from lamella.core.store.operators.refusal import Refusal

_COMPARISONS = {f"${name}": name for name in ("eq", "ne", "gt", "gte", "lt", "lte", "in", "nin")}


def matching(items: pa.Array, condition: Any) -> np.ndarray:
    """`condition` is a value, `{"$gte": 5, …}`, or for structs the same by field, joined by and."""
    if isinstance(condition, Mapping) and _has_operators(condition):
        return _meeting(pa.Table.from_arrays([items], names=["item"]), {"item": condition})
    if isinstance(condition, Mapping) and pa.types.is_struct(items.type):
        return _fields_matching(items, condition)
    if condition is None:
        return ~to_numpy(items.is_valid())
    held, given = met(items, array_of([condition]))
    same: np.ndarray = ~differs(held, repeated(given, len(items)))
    return same


def _fields_matching(items: pa.Array, conditions: Mapping[str, Any]) -> np.ndarray:
    met_all = to_numpy(items.is_valid()).copy()
    for name, condition in conditions.items():
        place = items.type.get_field_index(name)
        if place < 0:
            raise UnknownColumn(
                name, "an item of the list", [items.type.field(i).name for i in range(items.type.num_fields)]
            )
        met_all &= matching(pc.struct_field(items, [place]), condition)
    return met_all


def _meeting(table: pa.Table, conditions: Mapping[str, Mapping[str, Any]]) -> np.ndarray:
    where = all_of(
        _predicate(name, op, value) for name, ops in conditions.items() for op, value in ops.items()
    )
    try:
        return to_numpy(mask(bind(where, table.schema, "the list"), table))
    except BadFilter as error:
        raise Refusal(error.what, error.fix) from error


def _predicate(name: str, comparison: str, value: Any) -> Filter:
    if comparison not in _COMPARISONS:
        raise Refusal(f"there is no condition '{comparison}'", f"There are: {', '.join(_COMPARISONS)}")
    if value is None and comparison in ("$eq", "$ne"):
        return Predicate(name, "is_null" if comparison == "$eq" else "not_null")
    values = tuple(value) if comparison in ("$in", "$nin") else (value,)
    return Predicate(name, _COMPARISONS[comparison], values)


def _has_operators(condition: Mapping[str, Any]) -> bool:
    return any(str(name).startswith("$") for name in condition)
