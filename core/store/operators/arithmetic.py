"""$inc, $mul and $bit over whole columns. Nothing wraps: a result that a type cannot hold widens it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lamella.core.arrays import from_values, to_numpy
from lamella.core.casts import exact_cast
from lamella.core.filters.arrow_values import scalar_of
from lamella.core.filters.values import natural
from lamella.core.store.operators.meeting import chosen, nulls, repeated
from lamella.core.store.operators.refusal import Refusal

Number = int | float | Decimal
Kernel = Callable[[Any, Any], pa.Array]

_ALL_INTEGERS = pa.decimal256(20, 0)
_LARGEST_DIGITS = 38


def read_number(operand: Any) -> Number:
    value = natural(operand)
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise Refusal(f"it takes a number, not {value!r}")
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        raise Refusal(f"{value} is larger than any integer type holds", "Give a Decimal")
    return value


def increased(values: pa.Array, by: Number) -> pa.Array:
    """Null counts as 0."""
    return _filled(_computed(values, by, pc.add_checked), by)


def multiplied(values: pa.Array, by: Number) -> pa.Array:
    """Null becomes 0."""
    return _filled(_computed(values, by, pc.multiply_checked), type(by)(0))


def _filled(values: pa.Array, number: Number) -> pa.Array:
    missing = ~to_numpy(values.is_valid())
    if not missing.any():
        return values
    if isinstance(number, Decimal) or pa.types.is_decimal(values.type):
        scalar = _decimal(_as_decimal(number))
    else:
        scalar = _scalar(number)
    return chosen(missing, repeated(_one(scalar), len(values)), values)


def _computed(values: pa.Array, number: Number, kernel: Kernel) -> pa.Array:
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
    """In 64 bits, and where these do not do in 256."""
    if number < 2**63 and not pa.types.is_uint64(values.type):
        try:
            return kernel(values.cast(pa.int64()), scalar_of(number, pa.int64()))
        except pa.ArrowInvalid:
            pass  # an overflow: the long way finds what holds the result
    exact = kernel(values.cast(_ALL_INTEGERS), scalar_of(number, _ALL_INTEGERS))
    for kind in (values.type, pa.int64()):
        if (made := exact_cast(exact, kind)) is not None:
            return made
    raise Refusal(
        "a result is too large for 64-bit integers", "Cast the column to 'decimal(38, 0)' or 'float64' first"
    )


def _in_floats(values: pa.Array, number: float, kernel: Kernel) -> pa.Array:
    made = kernel(values.cast(pa.float64()), scalar_of(number, pa.float64()))
    rounded = made.cast(values.type, safe=False)
    wide = (values.cast(pa.float64()), rounded.cast(pa.float64()))
    lost = pc.and_(pc.is_finite(wide[0]), pc.invert(pc.is_finite(wide[1])))
    if math.isfinite(number) and pc.any(lost, min_count=0).as_py():
        raise Refusal(f"a result is too large for {values.type}", "Cast the column to a wider type first")
    return rounded


def _in_decimals(values: pa.Array, number: Number, kernel: Kernel) -> pa.Array:
    """Exact, in as many digits as it takes; what the column has no digits for is refused later."""
    held = values.type
    kind = pa.decimal256(held.precision, held.scale) if pa.types.is_decimal(held) else _ALL_INTEGERS
    try:
        made = kernel(values.cast(kind), _decimal(_as_decimal(number)))
        return _shortened(made, held)
    except pa.ArrowInvalid as error:
        raise Refusal(f"a result has more digits than {held} can hold", str(error)) from error


def _shortened(made: pa.Array, held: pa.DataType) -> pa.Array:
    """In the type held, else with as few digits as the results need, so that the column widens little."""
    if pa.types.is_decimal(held) and (same := exact_cast(made, held)) is not None:
        return same
    scale = held.scale if pa.types.is_decimal(held) else 0
    scales = range(scale, made.type.scale + 1)
    kinds = (pa.decimal128(_LARGEST_DIGITS, s) for s in scales if s <= _LARGEST_DIGITS)
    return next((fit for k in kinds if (fit := exact_cast(made, k)) is not None), made)


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


def _one(scalar: pa.Scalar) -> pa.Array:
    return pc.fill_null(pa.nulls(1, scalar.type), scalar)


def _as_float(number: Number) -> float:
    made = float(number)
    if isinstance(number, int) and int(made) != number:
        raise Refusal(f"{number} is not exact as a float", "Cast the column to 'decimal(38, 10)' first")
    return made


def _doubles(values: pa.Array) -> pa.Array:
    made = exact_cast(values, pa.float64())
    if made is None:
        raise Refusal(
            f"it holds {values.type} values that are not exact as double",
            "Cast the column to 'decimal(38, 10)' first",
        )
    return made


_BITWISE = {"and": pc.bit_wise_and, "or": pc.bit_wise_or, "xor": pc.bit_wise_xor}


Bits = tuple[tuple[str, int], ...]
"""What is done to the bits, in that order: "and", "or" or "xor", and with what."""


def read_bits(operand: Any) -> Bits:
    """`{"and": 12}`, with "or" and "xor" likewise, or several of them: one after the other, as given."""
    if not isinstance(operand, Mapping) or not operand or not set(operand) <= set(_BITWISE):
        raise Refusal(f"it takes {{and: …}}, {{or: …}}, {{xor: …}} or several of them, not {operand!r}")
    return tuple((name, _bits(name, given)) for name, given in operand.items())


def _bits(name: str, given: Any) -> int:
    number = natural(given)
    if isinstance(number, bool) or not isinstance(number, int) or not -(2**63) <= number < 2**64:
        raise Refusal(f"'{name}' takes a 64-bit integer, not {given!r}")
    return number


def bits_changed(values: pa.Array, bits: Bits) -> pa.Array:
    """Null counts as 0."""
    for name, number in bits:
        values = _bits_changed(values, name, number)
    return values


def _bits_changed(values: pa.Array, name: str, number: int) -> pa.Array:
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
