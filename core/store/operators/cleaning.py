"""$trim, $case and $round on whole columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lamella.core.arrow.arrays import from_values
from lamella.core.errors import short_text
from lamella.core.filters.kinds import value_type
from lamella.core.store.operators.values import Refusal

MOST_DIGITS = 300
SIDES = ("both", "left", "right", "all")
CASES = ("lower", "upper", "title", "sentence")
_SPACE = r"[\s\p{Z}]+"


def read_side(operand: Any) -> str:
    """Parse a side; True means both."""
    return "both" if operand is True else _word(operand, SIDES)


def read_case(operand: Any) -> str:
    return _word(operand, CASES)


def _word(operand: Any, words: tuple[str, ...]) -> str:
    if not isinstance(operand, str) or operand not in words:
        raise Refusal(f"it does not know {short_text(operand)}", f"Give one of {', '.join(words)}")
    return operand


def trim(values: pa.Array, side: str) -> pa.Array:
    """Remove white space at one or both sides; "all" also reduces each run inside to one space."""
    return _of_texts(values, _TRIMS[side])


def change_case(values: pa.Array, case: str) -> pa.Array:
    return _of_texts(values, _CASES[case])


def _of_texts(values: pa.Array, make: Callable[[pa.Array], pa.Array]) -> pa.Array:
    """Apply `make` to texts of any type; the type stays the same, and null stays null."""
    if pa.types.is_null(values.type):
        return values
    kind = value_type(values.type)
    texts = values if values.type in (pa.string(), pa.large_string()) else values.cast(pa.large_string())
    cleaned = make(texts)
    return cleaned if cleaned.type == kind else cleaned.cast(kind)


def _all_spaces(texts: pa.Array) -> pa.Array:
    single = pc.replace_substring_regex(texts, pattern=_SPACE, replacement=" ")
    return pc.utf8_trim_whitespace(single)


_TRIMS: dict[str, Callable[[pa.Array], pa.Array]] = {
    "both": pc.utf8_trim_whitespace,
    "left": pc.utf8_ltrim_whitespace,
    "right": pc.utf8_rtrim_whitespace,
    "all": _all_spaces,
}
_CASES: dict[str, Callable[[pa.Array], pa.Array]] = {
    "lower": pc.utf8_lower,
    "upper": pc.utf8_upper,
    "title": pc.utf8_title,
    "sentence": pc.utf8_capitalize,
}


def read_digits(operand: Any) -> int:
    if isinstance(operand, bool) or not isinstance(operand, int) or abs(operand) > MOST_DIGITS:
        raise Refusal(
            f"it takes the number of digits after the decimal point, not {short_text(operand)}",
            "Give 2, 0, or -3 for thousands",
        )
    return operand


def round_values(values: pa.Array, digits: int) -> pa.Array:
    """Round half away from zero; the type stays the same."""
    if pa.types.is_null(values.type) or (digits >= 0 and pa.types.is_integer(values.type)):
        return values
    if pa.types.is_decimal(values.type) and digits >= values.type.scale:
        return values
    try:
        if pa.types.is_integer(values.type):
            return _rounded_integers(values, digits)
        return pc.round(values, digits, "half_towards_infinity").cast(values.type)
    except pa.ArrowInvalid as error:
        raise Refusal(
            f"a result is too large for {values.type}", "Cast the column to a wider type first"
        ) from error


def _rounded_integers(values: pa.Array, digits: int) -> pa.Array:
    """Round integers by way of decimals, where nothing overflows."""
    if -digits > 19:
        return pc.multiply(values, from_values([0], values.type)[0])
    wide = values.cast(pa.decimal256(38, 0))
    return pc.round(wide, digits, "half_towards_infinity").cast(values.type)
