"""Casts that lose nothing. Arrow's own safe cast rounds floats and forgets time zones without a word."""

from __future__ import annotations

from typing import TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from lamella.core.errors import BadData

Values = TypeVar("Values", pa.Array, pa.ChunkedArray)


def exact_cast(values: Values, kind: pa.DataType) -> Values | None:
    """`values` as `kind` where every value survives, else None.

    A value survives when casting it back gives it again. Null stays null, NaN counts as equal to NaN. A time
    neither gains nor loses its zone, and a number is never taken for a point in time.
    """
    if values.type.equals(kind):
        return values
    if pa.types.is_dictionary(values.type):
        return exact_cast(_decoded(values), kind)
    if pa.types.is_null(values.type):
        nulls = pa.nulls(len(values), kind)
        return nulls if isinstance(values, pa.Array) else pa.chunked_array([nulls])
    if not _same_meaning(values.type, kind):
        return None
    try:
        made = _with_room(values, kind).cast(kind)
        given = _filled(values.type, kind)
        back = made.cast(given, safe=not pa.types.is_floating(given))  # safe leaves large integers out
        return made if _same(values.cast(given), back) else None
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
        return None


def inexact(column: str, given: pa.DataType, kind: pa.DataType) -> BadData:
    """The refusal of values that would change on their way from one type into another."""
    return BadData(
        f"column '{column}' holds {given} values that do not all fit {kind} exactly",
        "none is rounded or cut",
        f"Cast the column first: {_offer(given, kind)}",
    )


def _offer(given: pa.DataType, kind: pa.DataType) -> str:
    numeric = any(pa.types.is_floating(t) or pa.types.is_integer(t) for t in (given, kind))
    return "decimals hold every digit, text holds anything" if numeric else "text holds anything"


def _with_room(values: Values, kind: pa.DataType) -> Values:
    """Integers on their way into decimals by way of those that hold them all: Arrow refuses to look whether
    they fit fewer digits."""
    if pa.types.is_integer(values.type) and pa.types.is_decimal(kind):
        return values.cast(pa.decimal256(20, 0))
    return values


def _decoded(values: Values) -> Values:
    return values.cast(values.type.value_type)


def _filled(given: pa.DataType, kind: pa.DataType) -> pa.DataType:
    """The type given, with that of `kind` where it has none: there is no casting back to null."""
    if pa.types.is_null(given):
        return kind
    if pa.types.is_list(given) and pa.types.is_list(kind):
        return pa.list_(_filled(given.value_type, kind.value_type))
    if pa.types.is_struct(given) and pa.types.is_struct(kind):
        others = {field.name: field.type for field in kind}
        return pa.struct([(f.name, _filled(f.type, others.get(f.name, f.type))) for f in given])
    return given


def _same_meaning(a: pa.DataType, b: pa.DataType) -> bool:
    if pa.types.is_temporal(a) and pa.types.is_temporal(b):
        return _has_zone(a) == _has_zone(b)
    return not any(pa.types.is_temporal(one) and _is_number(other) for one, other in ((a, b), (b, a)))


def _has_zone(kind: pa.DataType) -> bool:
    return pa.types.is_timestamp(kind) and kind.tz is not None


def _is_number(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_decimal(kind)
        or pa.types.is_boolean(kind)
    )


def _same(a: Values, b: Values) -> bool:
    """Whether two of one type are equal, null to null and NaN to NaN."""
    if a.equals(b):
        return True
    if not a.is_null().equals(b.is_null()):
        return False
    if pa.types.is_floating(a.type):
        return _same_floats(a, b)
    if pa.types.is_list(a.type) or pa.types.is_large_list(a.type):
        lengths = pc.list_value_length(a).equals(pc.list_value_length(b))
        return lengths and _same(pc.list_flatten(a), pc.list_flatten(b))
    if pa.types.is_struct(a.type):
        places = range(a.type.num_fields)
        return all(_same(pc.struct_field(a, [i]), pc.struct_field(b, [i])) for i in places)
    return False


def _same_floats(a: Values, b: Values) -> bool:
    equal = pc.or_(pc.equal(a, b), pc.and_(pc.is_nan(a), pc.is_nan(b)))
    return bool(pc.all(equal, min_count=0).as_py())
