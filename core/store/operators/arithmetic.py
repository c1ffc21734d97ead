"""$inc, $mul, $bit, $min, $max and $currentDate on whole columns."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lamella.core.arrow.arrays import from_numpy, from_values, to_numpy
from lamella.core.arrow.types import exact_cast
from lamella.core.errors import BadFilter, short_text
from lamella.core.filters.binding import bind
from lamella.core.filters.expr import Predicate
from lamella.core.filters.kinds import ORDERED_KINDS, kind_of
from lamella.core.filters.to_arrow import mask, scalar_of
from lamella.core.filters.values import natural
from lamella.core.store.operators.values import Refusal, array_of, choose, nulls, repeat_value

Number = int | float | Decimal
Kernel = Callable[[Any, Any], pa.Array]

_ALL_INTEGERS = pa.decimal256(20, 0)
_LARGEST_DIGITS = 38


def read_number(operand: Any) -> Number:
    value = natural(operand)
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise Refusal(f"it takes a number, not {short_text(value)}")
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        raise Refusal(f"{value} is larger than any integer type holds", "Give a Decimal")
    return value


def increment(values: pa.Array, by: Number) -> pa.Array:
    """Add a number; null counts as 0."""
    return _fill_nulls(_compute(values, by, pc.add_checked), by)


def multiply(values: pa.Array, by: Number) -> pa.Array:
    """Multiply by a number; null becomes 0."""
    return _fill_nulls(_compute(values, by, pc.multiply_checked), type(by)(0))


def _fill_nulls(values: pa.Array, number: Number) -> pa.Array:
    missing = ~to_numpy(values.is_valid())
    if not missing.any():
        return values
    if isinstance(number, Decimal) or pa.types.is_decimal(values.type):
        scalar = _decimal(_as_decimal(number))
    else:
        scalar = _scalar(number)
    return choose(missing, repeat_value(_single_value(scalar), len(values)), values)


def _compute(values: pa.Array, number: Number, kernel: Kernel) -> pa.Array:
    if pa.types.is_null(values.type):
        return nulls(len(values))
    if pa.types.is_floating(values.type):
        return _in_floats(values, _as_float(number), kernel)
    if isinstance(number, float) and number.is_integer() and abs(number) < 2**63:
        number = int(number)
    if pa.types.is_decimal(values.type) or isinstance(number, Decimal):
        return _in_decimals(values, number, kernel)
    if isinstance(number, float):
        return _in_floats(_doubles(values), number, kernel)
    return _in_integers(values, number, kernel)


def _in_integers(values: pa.Array, number: int, kernel: Kernel) -> pa.Array:
    """Compute in 64 bits, or in 256 if these are not enough."""
    if number < 2**63 and not pa.types.is_uint64(values.type):
        try:
            return kernel(values.cast(pa.int64()), scalar_of(number, pa.int64()))
        except pa.ArrowInvalid:
            pass  # an overflow: the slower way below finds a type for the result
    exact = kernel(values.cast(_ALL_INTEGERS), scalar_of(number, _ALL_INTEGERS))
    for kind in (values.type, pa.int64()):
        if (result := exact_cast(exact, kind)) is not None:
            return result
    raise Refusal(
        "a result is too large for 64-bit integers", "Cast the column to 'decimal(38, 0)' or 'float64' first"
    )


def _in_floats(values: pa.Array, number: float, kernel: Kernel) -> pa.Array:
    result = kernel(values.cast(pa.float64()), scalar_of(number, pa.float64()))
    rounded = result.cast(values.type, safe=False)
    wide = (values.cast(pa.float64()), rounded.cast(pa.float64()))
    lost = pc.and_(pc.is_finite(wide[0]), pc.invert(pc.is_finite(wide[1])))
    if math.isfinite(number) and pc.any(lost, min_count=0).as_py():
        raise Refusal(f"a result is too large for {values.type}", "Cast the column to a wider type first")
    return rounded


def _in_decimals(values: pa.Array, number: Number, kernel: Kernel) -> pa.Array:
    """Compute exactly, in as many digits as needed; digits that the column cannot hold are refused later."""
    type_ = values.type
    kind = pa.decimal256(type_.precision, type_.scale) if pa.types.is_decimal(type_) else _ALL_INTEGERS
    try:
        result = kernel(values.cast(kind), _decimal(_as_decimal(number)))
        return _shorten(result, type_)
    except pa.ArrowInvalid as error:
        raise Refusal(f"a result has more digits than {type_} can hold", str(error)) from error


def _shorten(values: pa.Array, type_: pa.DataType) -> pa.Array:
    """Convert to the stored type, else to as few digits as the results need, so that the column widens
    little."""
    if pa.types.is_decimal(type_) and (same := exact_cast(values, type_)) is not None:
        return same
    scale = type_.scale if pa.types.is_decimal(type_) else 0
    scales = range(scale, values.type.scale + 1)
    kinds = (pa.decimal128(_LARGEST_DIGITS, s) for s in scales if s <= _LARGEST_DIGITS)
    return next((fit for k in kinds if (fit := exact_cast(values, k)) is not None), values)


def _as_decimal(number: Number) -> Decimal:
    exact = Decimal(repr(number)) if isinstance(number, float) else Decimal(number)
    if not exact.is_finite():
        raise Refusal(f"decimal numbers cannot hold {number}")
    return exact


def _scalar(number: int | float) -> pa.Scalar:
    if isinstance(number, float):
        return scalar_of(number, pa.float64())
    return scalar_of(number, pa.int64() if number < 2**63 else pa.uint64())


def _decimal(number: Decimal) -> pa.Scalar:
    sign, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)
    scale = max(0, -exponent)
    unscaled = int("".join(map(str, digits))) * 10 ** max(0, exponent) * (-1 if sign else 1)
    precision = max(len(str(abs(unscaled))), scale, 1)
    if precision > _LARGEST_DIGITS:
        raise Refusal(f"{number} has more than {_LARGEST_DIGITS} digits")
    return scalar_of(unscaled, pa.decimal256(precision, scale))


def _single_value(scalar: pa.Scalar) -> pa.Array:
    return pc.fill_null(pa.nulls(1, scalar.type), scalar)


def _as_float(number: Number) -> float:
    result = float(number)
    if isinstance(number, int) and int(result) != number:
        raise Refusal(f"{number} cannot be a float exactly", "Cast the column to 'decimal(38, 10)' first")
    return result


def _doubles(values: pa.Array) -> pa.Array:
    doubles = exact_cast(values, pa.float64())
    if doubles is None:
        raise Refusal(
            f"it holds {values.type} values that cannot be doubles exactly",
            "Cast the column to 'decimal(38, 10)' first",
        )
    return doubles


_BITWISE = {"and": pc.bit_wise_and, "or": pc.bit_wise_or, "xor": pc.bit_wise_xor}


Bits = tuple[tuple[str, int], ...]
"""The operations on the bits, in order: "and", "or" or "xor", each with its operand."""


def read_bits(operand: Any) -> Bits:
    """Parse `{"and": 12}`, likewise with "or" and "xor", or several of them, which are applied in the given
    order."""
    if not isinstance(operand, Mapping) or not operand or not set(operand) <= set(_BITWISE):
        raise Refusal(
            f"it takes {{and: …}}, {{or: …}}, {{xor: …}} or several of them, not {short_text(operand)}"
        )
    return tuple((name, _bits(name, value)) for name, value in operand.items())


def _bits(name: str, value: Any) -> int:
    number = natural(value)
    if isinstance(number, bool) or not isinstance(number, int) or not -(2**63) <= number < 2**64:
        raise Refusal(f"'{name}' takes a 64-bit integer, not {short_text(value)}")
    return number


def change_bits(values: pa.Array, bits: Bits) -> pa.Array:
    """Apply operations to the bits; null counts as 0."""
    for name, number in bits:
        values = _change_bits(values, name, number)
    return values


def _change_bits(values: pa.Array, name: str, number: int) -> pa.Array:
    if pa.types.is_null(values.type):
        values = from_values([0] * len(values), pa.int64())
    wide = pa.uint64() if pa.types.is_uint64(values.type) else pa.int64()
    try:
        mask = scalar_of(number, wide)
    except OverflowError as error:
        raise Refusal(f"{number} does not fit {wide}") from error
    return _BITWISE[name](pc.fill_null(values.cast(wide), scalar_of(0, wide)), mask)


def is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def read_bound(operand: Any) -> Any:
    if operand is None:
        raise Refusal("null is neither less nor more than anything")
    return operand


def limit_above(values: pa.Array, bound: Any) -> pa.Array:
    """Limit values to the bound from above. Null becomes the bound; NaN counts as greater than every number,
    as in filters."""
    return _limit(values, bound, "gt")


def limit_below(values: pa.Array, bound: Any) -> pa.Array:
    return _limit(values, bound, "lt")


def _limit(values: pa.Array, bound: Any, beyond: str) -> pa.Array:
    limit = array_of([bound])
    replaced = ~to_numpy(values.is_valid())
    if not replaced.all():
        replaced |= _beyond(values, bound, beyond)
    return choose(replaced, repeat_value(limit, len(values)), values)


def _beyond(values: pa.Array, bound: Any, beyond: str) -> np.ndarray:
    table = pa.Table.from_arrays([values], names=["value"])
    try:
        return to_numpy(mask(bind(Predicate("value", beyond, (bound,)), table.schema, "it"), table))
    except BadFilter as error:
        raise Refusal(
            f"{short_text(bound)} cannot be compared with {values.type} values", error.why
        ) from error


def is_ordered(kind: pa.DataType) -> bool:
    return kind_of(kind) in ORDERED_KINDS


_NANOSECONDS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
_DAY_NANOSECONDS = 86_400 * 10**9


def read_moment(operand: Any) -> pa.DataType:
    """Parse True, or `{"$type": "date"}` or "timestamp", which gives the type of a new column; existing
    columns keep theirs."""
    has_type = isinstance(operand, Mapping) and operand.get("$type") in ("date", "timestamp")
    if operand is not True and not (has_type and len(operand) == 1):
        raise Refusal(
            f"it takes True, {{'$type': 'date'}} or {{'$type': 'timestamp'}}, not {short_text(operand)}"
        )
    return pa.date32() if has_type and operand["$type"] == "date" else pa.timestamp("us", "UTC")


def now(values: pa.Array, new_type: pa.DataType) -> pa.Array:
    """The current time. Timestamps without a zone get the time in UTC, dates the day in UTC; new columns have
    the type `new_type`."""
    kind = new_type if pa.types.is_null(values.type) else values.type
    moment = time.time_ns()
    if pa.types.is_date(kind):
        day = from_numpy(np.array([moment // _DAY_NANOSECONDS], np.int32), pa.date32())
        return repeat_value(day, len(values)).cast(kind)
    count = np.array([moment // _NANOSECONDS[kind.unit]], np.int64)
    return repeat_value(from_numpy(count, kind), len(values))


def is_moment(kind: pa.DataType) -> bool:
    return bool(pa.types.is_timestamp(kind) or pa.types.is_date(kind))
