"""When two cells are equal: of one type or of two, exactly or by what somebody allows them to differ."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lamella.core.arrow.arrays import in_one, take, to_numpy
from lamella.core.arrow.equality import differs
from lamella.core.errors import BadData, shown
from lamella.core.filters.kinds import NUMBERS, TEMPORAL, Kind, kind_of, value_type

_WHOLE = pa.decimal128(38, 0)
_FLOAT_REACHES = float(2**63)
_NUMBER = r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$"


@dataclass(frozen=True)
class CellRule:
    """What two cells may differ by and still be equal. `tolerance` is of numbers, which may differ by so much
    and no more; the others are of texts. Null equals null alone, NaN equals NaN, -0.0 equals 0.0.

    Raises `BadData` for a tolerance below 0, or that is not a number.
    """

    tolerance: float = 0.0
    ignore_case: bool = False
    ignore_space: bool = False

    def __post_init__(self) -> None:
        tolerance = self.tolerance
        is_number = isinstance(tolerance, int | float) and not isinstance(tolerance, bool)
        if not is_number or not 0 <= tolerance < math.inf:
            raise BadData(f"compare: the tolerance {shown(tolerance)} is not a number from 0 on")

    @property
    def is_about_text(self) -> bool:
        return self.ignore_case or self.ignore_space


def differing(
    before: pa.ChunkedArray | pa.Array, after: pa.ChunkedArray | pa.Array, rule: CellRule | None
) -> np.ndarray:
    """Row by row, whether the cells of two columns of one length differ. Without a rule, as they are stored:
    -0.0 differs from 0.0 then.

    Columns of two types are compared by value: 1, 1.0 and the text "1" are equal. Where one of the types has
    no such value, the cells differ.
    """
    different = _of_codes(before, after)
    if different is None:
        ours, theirs = _plain(before), _plain(after)
        different = differs(ours, theirs) if ours.type.equals(theirs.type) else _of_two_types(ours, theirs)
    if rule is None or not different.any():
        return different
    places = np.flatnonzero(different & to_numpy(before.is_valid()) & to_numpy(after.is_valid()))
    if len(places):
        ours, theirs = (_plain(take(in_one(values), places)) for values in (before, after))
        different[places] = ~_near(ours, theirs, rule)
    return different


def _of_codes(before: pa.ChunkedArray | pa.Array, after: pa.ChunkedArray | pa.Array) -> np.ndarray | None:
    """Texts that are places in dictionaries differ where these do: each text is compared once. None for
    others."""
    types = before.type, after.type
    if not all(pa.types.is_dictionary(kind) and pa.types.is_string(kind.value_type) for kind in types):
        return None
    ours, theirs = in_one(before), in_one(after)
    if ours.dictionary.null_count or theirs.dictionary.null_count:
        return None
    codes = []
    for values in (ours, theirs):
        known = pc.fill_null(pc.index_in(values.dictionary, value_set=ours.dictionary), -1)
        valid = to_numpy(values.is_valid())
        places = np.where(valid, to_numpy(values.indices), 0)
        codes.append(np.where(valid, to_numpy(known)[places] if len(known) else places, -2))
    different: np.ndarray = codes[0] != codes[1]
    return different


def largest_difference(before: pa.ChunkedArray | pa.Array, after: pa.ChunkedArray | pa.Array) -> float | None:
    """The greatest distance between the numbers of a row; None where there are none to compare."""
    if not is_numeric(before.type) or not is_numeric(after.type):
        return None
    distances = np.abs(_floats(_plain(before)) - _floats(_plain(after)))
    finite = distances[np.isfinite(distances)]
    return float(finite.max()) if len(finite) else None


def is_numeric(kind: pa.DataType) -> bool:
    return kind_of(kind) in NUMBERS


def compared_as(one: pa.DataType, other: pa.DataType) -> str:
    """The word for how columns of two types are compared; empty for columns of one."""
    if _plain_type(one).equals(_plain_type(other)):
        return ""
    kinds = {kind_of(one), kind_of(other)}
    if kinds <= NUMBERS or (Kind.TEXT in kinds and kinds & NUMBERS):
        return "as numbers"
    if kinds <= TEMPORAL:
        return "as times"
    return "as text" if Kind.TEXT in kinds else "where one can be read as the other"


def _plain_type(kind: pa.DataType) -> pa.DataType:
    plain = value_type(kind)
    if pa.types.is_large_string(plain) or pa.types.is_string_view(plain):
        return pa.string()
    if pa.types.is_large_binary(plain) or pa.types.is_binary_view(plain):
        return pa.binary()
    return plain


def _plain(values: pa.ChunkedArray | pa.Array) -> pa.Array:
    """Text is one type, however it is laid out."""
    one = in_one(values) if isinstance(values, pa.ChunkedArray) else values
    kind = _plain_type(one.type)
    return one if one.type.equals(kind) else one.cast(kind)


def _of_two_types(ours: pa.Array, theirs: pa.Array) -> np.ndarray:
    valid_a, valid_b = to_numpy(ours.is_valid()), to_numpy(theirs.is_valid())
    different: np.ndarray = valid_a | valid_b
    places = np.flatnonzero(valid_a & valid_b)
    if len(places):
        different[places] = ~_same_value(take(ours, places), take(theirs, places))
    return different


def _same_value(ours: pa.Array, theirs: pa.Array) -> np.ndarray:
    """Neither has a null."""
    kinds = kind_of(ours.type), kind_of(theirs.type)
    if set(kinds) <= NUMBERS:
        return _same_number(ours, theirs)
    if kinds[0] is Kind.TEXT:
        return _same_text(ours, theirs)
    if kinds[1] is Kind.TEXT:
        return _same_text(theirs, ours)
    for a, b, kind in ((ours, theirs, theirs.type), (theirs, ours, ours.type)):
        try:
            return ~differs(a.cast(kind), b)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            continue
    return np.zeros(len(ours), bool)


def _same_number(ours: pa.Array, theirs: pa.Array) -> np.ndarray:
    floating = [pa.types.is_floating(values.type) for values in (ours, theirs)]
    if all(floating):
        return ~differs(ours.cast(pa.float64()), theirs.cast(pa.float64()))
    whole = [pa.types.is_integer(values.type) for values in (ours, theirs)]
    if any(floating) and any(whole):
        return _same_whole(*((ours, theirs) if whole[0] else (theirs, ours)))
    if not any(floating):
        try:
            kind = _WHOLE if all(whole) else _wider(ours.type, theirs.type)
            return ~differs(ours.cast(kind), theirs.cast(kind))
        except pa.ArrowInvalid:  # more digits than a decimal has
            pass
    equal: np.ndarray = _floats(ours) == _floats(theirs)
    return equal


def _wider(one: pa.DataType, other: pa.DataType) -> pa.DataType:
    scales = [kind.scale for kind in (one, other) if pa.types.is_decimal(kind)]
    return pa.decimal256(76, max(scales))


def _same_whole(whole: pa.Array, floats: pa.Array) -> np.ndarray:
    """Beyond 2⁵³ not every whole number is a float: those are compared as whole numbers."""
    numbers, reals = to_numpy(whole), to_numpy(floats.cast(pa.float64()))
    same: np.ndarray = numbers.astype(np.float64) == reals
    large = np.flatnonzero(same & (np.abs(reals) >= 2**53))
    for place in large.tolist():
        same[place] = int(numbers[place]) == int(reals[place])
    return same


def _same_text(texts: pa.Array, others: pa.Array) -> np.ndarray:
    """Where the other value is written so, or is the number or time that the text is."""
    try:
        same = ~differs(texts, others.cast(pa.string()))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return np.zeros(len(texts), bool)
    if is_numeric(others.type):
        places = np.flatnonzero(~same & to_numpy(pc.match_substring_regex(texts, _NUMBER)))
        if len(places):
            written = pc.utf8_trim_whitespace(take(texts, places)).cast(pa.float64())
            same[places] = _same_number(take(others, places), written)
    elif kind_of(others.type) in TEMPORAL:
        with suppress(pa.ArrowInvalid, pa.ArrowNotImplementedError):
            same |= ~differs(texts.cast(others.type), others)
    return same


def _floats(values: pa.Array) -> np.ndarray:
    """NaN for null."""
    floats = to_numpy(values.cast(pa.float64(), safe=False)).copy()
    if values.null_count:
        floats[~to_numpy(values.is_valid())] = np.nan
    return floats


def _near(ours: pa.Array, theirs: pa.Array, rule: CellRule) -> np.ndarray:
    """Whether cells that differ are equal by the rule; neither has a null."""
    kinds = {kind_of(ours.type), kind_of(theirs.type)}
    if kinds <= NUMBERS:
        if not rule.tolerance and not all(pa.types.is_floating(values.type) for values in (ours, theirs)):
            return np.zeros(len(ours), bool)
        with np.errstate(invalid="ignore"):
            near: np.ndarray = np.abs(_floats(ours) - _floats(theirs)) <= rule.tolerance
        return near
    if kinds == {Kind.TEXT} and rule.is_about_text:
        same: np.ndarray = ~differs(_lenient(ours, rule), _lenient(theirs, rule))
        return same
    return np.zeros(len(ours), bool)


def _lenient(texts: pa.Array, rule: CellRule) -> pa.Array:
    if rule.ignore_space:
        texts = pc.utf8_trim_whitespace(pc.replace_substring_regex(texts, r"\s+", " "))
    return pc.utf8_lower(texts) if rule.ignore_case else texts
