"""Equality of cells: of one type or two, exact or within a tolerance."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lamella.core.arrow.arrays import combine_chunks, take, to_numpy
from lamella.core.arrow.equality import differs
from lamella.core.errors import BadData, short_text
from lamella.core.filters.kinds import NUMBERS, TEMPORAL, Kind, kind_of, value_type

_WHOLE = pa.decimal128(38, 0)
_FLOAT_REACHES = float(2**63)
_NUMBER = r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$"


@dataclass(frozen=True)
class CellRule:
    """How much two cells may differ and still be equal. `tolerance` is the maximum difference between
    numbers; the other fields are about texts. Null equals only null, NaN equals NaN, and -0.0 equals 0.0.

    Raises `BadData` for a tolerance that is negative or not a number.
    """

    tolerance: float = 0.0
    ignore_case: bool = False
    ignore_space: bool = False

    def __post_init__(self) -> None:
        tolerance = self.tolerance
        is_number = isinstance(tolerance, int | float) and not isinstance(tolerance, bool)
        if not is_number or not 0 <= tolerance < math.inf:
            raise BadData(f"compare: the tolerance {short_text(tolerance)} is not a number of at least 0")

    @property
    def is_about_text(self) -> bool:
        return self.ignore_case or self.ignore_space


def differing(
    before: pa.ChunkedArray | pa.Array, after: pa.ChunkedArray | pa.Array, rule: CellRule | None
) -> np.ndarray:
    """Whether the cells of two columns of equal length differ, row by row. Without a rule they are compared
    as stored, so -0.0 differs from 0.0.

    Columns of two types are compared by value: 1, 1.0 and the text "1" are equal. Cells differ if one of the
    types cannot represent the other's value.
    """
    different = _of_codes(before, after)
    if different is None:
        ours, theirs = _plain(before), _plain(after)
        different = differs(ours, theirs) if ours.type.equals(theirs.type) else _of_two_types(ours, theirs)
    if rule is None or not different.any():
        return different
    places = np.flatnonzero(different & to_numpy(before.is_valid()) & to_numpy(after.is_valid()))
    if len(places):
        ours, theirs = (_plain(take(combine_chunks(values), places)) for values in (before, after))
        different[places] = ~_near(ours, theirs, rule)
    return different


def _of_codes(before: pa.ChunkedArray | pa.Array, after: pa.ChunkedArray | pa.Array) -> np.ndarray | None:
    """Compare dictionary-encoded texts by their codes, so that each text is compared once. None for other
    columns."""
    types = before.type, after.type
    if not all(pa.types.is_dictionary(kind) and pa.types.is_string(kind.value_type) for kind in types):
        return None
    ours, theirs = combine_chunks(before), combine_chunks(after)
    if ours.dictionary.null_count or theirs.dictionary.null_count:
        return None
    codes = []
    for values in (ours, theirs):
        common_codes = pc.fill_null(pc.index_in(values.dictionary, value_set=ours.dictionary), -1)
        valid = to_numpy(values.is_valid())
        places = np.where(valid, to_numpy(values.indices), 0)
        codes.append(np.where(valid, to_numpy(common_codes)[places] if len(common_codes) else places, -2))
    different: np.ndarray = codes[0] != codes[1]
    return different


def largest_difference(before: pa.ChunkedArray | pa.Array, after: pa.ChunkedArray | pa.Array) -> float | None:
    """The greatest difference between the numbers of a row; None if there is none to compute."""
    if not is_numeric(before.type) or not is_numeric(after.type):
        return None
    distances = np.abs(_floats(_plain(before)) - _floats(_plain(after)))
    finite = distances[np.isfinite(distances)]
    return float(finite.max()) if len(finite) else None


def is_numeric(kind: pa.DataType) -> bool:
    return kind_of(kind) in NUMBERS


def comparison_phrase(left: pa.DataType, right: pa.DataType) -> str:
    """A phrase for how columns of two types are compared; empty for equal types."""
    if _plain_type(left).equals(_plain_type(right)):
        return ""
    kinds = {kind_of(left), kind_of(right)}
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
    """Values with one type for all layouts of text, and one for all layouts of binary data."""
    array = combine_chunks(values) if isinstance(values, pa.ChunkedArray) else values
    kind = _plain_type(array.type)
    return array if array.type.equals(kind) else array.cast(kind)


def _of_two_types(ours: pa.Array, theirs: pa.Array) -> np.ndarray:
    valid_a, valid_b = to_numpy(ours.is_valid()), to_numpy(theirs.is_valid())
    different: np.ndarray = valid_a | valid_b
    places = np.flatnonzero(valid_a & valid_b)
    if len(places):
        different[places] = ~_same_value(take(ours, places), take(theirs, places))
    return different


def _same_value(ours: pa.Array, theirs: pa.Array) -> np.ndarray:
    """Whether values of two types are equal; neither has nulls."""
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
        except pa.ArrowInvalid:  # more digits than a decimal can hold
            pass
    equal: np.ndarray = _floats(ours) == _floats(theirs)
    return equal


def _wider(left: pa.DataType, right: pa.DataType) -> pa.DataType:
    scales = [kind.scale for kind in (left, right) if pa.types.is_decimal(kind)]
    return pa.decimal256(76, max(scales))


def _same_whole(whole: pa.Array, floats: pa.Array) -> np.ndarray:
    """Compare whole numbers with floats. Beyond 2⁵³, where floats cannot represent all whole numbers, they
    are compared as whole numbers."""
    numbers, reals = to_numpy(whole), to_numpy(floats.cast(pa.float64()))
    same: np.ndarray = numbers.astype(np.float64) == reals
    large = np.flatnonzero(same & (np.abs(reals) >= 2**53))
    for place in large.tolist():
        same[place] = int(numbers[place]) == int(reals[place])
    return same


def _same_text(texts: pa.Array, values: pa.Array) -> np.ndarray:
    """Whether a text is how the other value is written, or reads as the same number or time."""
    try:
        same = ~differs(texts, values.cast(pa.string()))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return np.zeros(len(texts), bool)
    if is_numeric(values.type):
        places = np.flatnonzero(~same & to_numpy(pc.match_substring_regex(texts, _NUMBER)))
        if len(places):
            written = pc.utf8_trim_whitespace(take(texts, places)).cast(pa.float64())
            same[places] = _same_number(take(values, places), written)
    elif kind_of(values.type) in TEMPORAL:
        with suppress(pa.ArrowInvalid, pa.ArrowNotImplementedError):
            same |= ~differs(texts.cast(values.type), values)
    return same


def _floats(values: pa.Array) -> np.ndarray:
    """The numbers as floats, with NaN for null."""
    floats = to_numpy(values.cast(pa.float64(), safe=False)).copy()
    if values.null_count:
        floats[~to_numpy(values.is_valid())] = np.nan
    return floats


def _near(ours: pa.Array, theirs: pa.Array, rule: CellRule) -> np.ndarray:
    """Whether cells that differ are equal by the rule; neither has nulls."""
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
