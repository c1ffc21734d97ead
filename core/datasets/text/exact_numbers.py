"""Numbers in texts, converted only if no digit is lost."""

from __future__ import annotations

import re
from decimal import Context, Decimal
from math import isfinite

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lamella.core.arrow.arrays import from_numpy, to_numpy

_EXACT_DIGITS = 15  # a double keeps every decimal of up to this many digits
LAST_EXACT_INTEGER = 1 << 53
_PLAIN_BYTES = np.isin(np.arange(256), np.frombuffer(b"0123456789.-", np.uint8))
_ZERO, _NINE, _POINT, _MINUS, _E = map(np.uint8, b"09.-e")
_SMALL = np.uint8(0x20)  # turns an upper-case letter into a lower-case one
_LONG_RUN = 16
_EXPONENT_BYTES = 8
_BEFORE_VALUE, _AFTER_VALUE, _DIGIT, _SIGN, _EXPONENT_SIGN = (
    np.isin(np.arange(256), np.frombuffer(signs, np.uint8))
    for signs in (b":,[ \t\r\n", b",]} \t\r\n", b"0123456789", b"+-", b"eE")
)
_TINY = re.compile(rb"[:,\[\s](-?[0-9]+(?:\.[0-9]+)?[eE]-[0-9]{3,4})(?=[,\]}\s])")
_FINITE = re.compile(r"-?(0|[1-9][0-9]*)?(\.[0-9]*)?([eE][+-]?[0-9]+)?")
_BARE_EXPONENT = re.compile(r"-?[0-9]+[eE][0-9]+")
_SPECIAL = frozenset({"nan", "NaN", "inf", "-inf", "Infinity", "-Infinity", "Inf", "-Inf"})
_SCIENTIFIC = r"^-?[0-9](\.[0-9]{1,14}[eE][+-]?|[eE][+-])[0-9]{1,2}$"


def integers(texts: pa.Array) -> pa.Array | None:
    """Return the texts as int64, or None if one is not an integer in canonical form.

    Every other form ('007', '-0', '0x1F') is longer than the canonical one, so comparing lengths is enough.
    """
    try:
        numbers = pc.cast(texts, pa.int64())
    except pa.ArrowInvalid:
        return None
    present = pc.drop_null(numbers) if numbers.null_count else numbers
    written = pc.sum(pc.binary_length(texts)).as_py() or 0
    return numbers if written == _usual_length(to_numpy(present)) else None


def _usual_length(numbers: np.ndarray) -> int:
    if not len(numbers):
        return 0
    negative = int(np.count_nonzero(numbers < 0))
    size = np.abs(numbers).view(np.uint64)
    length = len(numbers) + negative
    limit, most = 10, int(size.max())
    while limit <= most:
        length += int(np.count_nonzero(size >= np.uint64(limit)))
        limit *= 10
    return length


def doubles(texts: pa.Array) -> pa.Array | None:
    """Return the texts as float64, or None if one is not a number or has digits that a double does not
    keep."""
    try:
        numbers = pc.cast(texts, pa.float64())
    except pa.ArrowInvalid:
        return None
    present = pc.drop_null(texts) if texts.null_count else texts
    doubtful = present.filter(_doubtful(present))
    return numbers if not len(doubtful) or _all_exact(doubtful) else None


def _doubtful(texts: pa.Array) -> pa.Array:
    """A mask of the values that are not plain short decimals."""
    offsets, data = _bytes_of(texts)
    starts, lengths = offsets[:-1], np.diff(offsets)
    minus = data[starts] == _MINUS
    first, second = data[starts + minus], data[starts + minus + 1]
    lengths = lengths - minus
    leads = first == _ZERO
    padded = leads & (lengths > 1) & (second >= _ZERO) & (second <= _NINE)
    room = np.where(leads & (second == _POINT), _EXACT_DIGITS + 2, _EXACT_DIGITS)
    odd = padded | (lengths > room)
    if not _PLAIN_BYTES[data[offsets[0] : offsets[-1]]].all():
        odd |= to_numpy(pc.match_substring_regex(texts, r"[^0-9.\-]"))
    return from_numpy(odd, pa.bool_())


def _bytes_of(texts: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """The offsets, and the bytes that they point into, followed by two zeros for looking ahead."""
    _, places, values = texts.buffers()
    offsets = np.frombuffer(places, np.int32)[texts.offset :][: len(texts) + 1].astype(np.int64)
    data = np.frombuffer(values, np.uint8) if values is not None else np.empty(0, np.uint8)
    return offsets, np.concatenate([data[: offsets[-1]], np.zeros(2, np.uint8)])


def _all_exact(texts: pa.Array) -> bool:
    for told_apart in (_not_scientific, _inexact_mask, _not_kept_plain):
        if len(texts):
            texts = texts.filter(told_apart(texts))
    return all(_is_exact(text) for text in pc.unique(texts).to_pylist())


def _not_scientific(texts: pa.Array) -> pa.Array:
    return pc.invert(pc.match_substring_regex(texts, _SCIENTIFIC))


def _not_kept_plain(texts: pa.Array) -> pa.Array:
    offsets, data = _bytes_of(texts)
    stored = from_numpy(
        _keep_digits(data, offsets[:-1] + (data[offsets[:-1]] == _MINUS), offsets[1:]), pa.bool_()
    )
    return pc.invert(pc.and_(stored, pc.match_substring_regex(texts, r"^-?(0|[1-9][0-9]*)\.[0-9]+$")))


def _inexact_mask(texts: pa.Array) -> pa.Array:
    """A mask of the texts that are not the shortest plain decimal of their double."""
    same = pc.equal(pc.cast(pc.cast(texts, pa.float64()), pa.string()), texts)
    return pc.invert(pc.and_(same, pc.match_substring_regex(texts, r"^-?[0-9]+\.[0-9]+$")))


def _is_exact(text: str) -> bool:
    """Whether `text` is a number in a usual form, all of whose digits its double keeps."""
    if text in _SPECIAL:
        return True
    if not _FINITE.fullmatch(text) or _BARE_EXPONENT.fullmatch(text):
        return False
    if text.lstrip("-").isdecimal() and abs(int(text)) > LAST_EXACT_INTEGER:
        return False
    return survives_double(text)


def survives_double(text: str) -> bool:
    """Whether the double nearest to a number keeps all its digits, in its shortest form or rounded to as many
    digits as the text has."""
    if len(text) <= _EXACT_DIGITS + 1 and "." in text and "e" not in text and "E" not in text:
        return True
    number = float(text)
    if text in (repr(number), f"{number:.17g}", f"{number:.16e}"):
        return True
    written = Decimal(text).normalize(Context(prec=max(1, len(text))))
    if not isfinite(number):
        return False
    if Decimal(repr(number)) == written:
        return True
    digits = len(written.as_tuple().digits)
    return Context(prec=digits).create_decimal_from_float(number) == written


_LONGEST_KEPT, _NUMBERS_AT_ONCE = 26, 1 << 14
_POWERS = [10**exponent for exponent in range(41)]
_TENS = np.array(_POWERS, np.float64)
_TENS_REST = np.array([float(power - int(float(power))) for power in _POWERS])
"""The rounding errors of the doubles above, so that both together have twice the digits."""


def _keep_digits(
    data: np.ndarray, starts: np.ndarray, ends: np.ndarray, exponents: np.ndarray | None = None
) -> np.ndarray:
    """A mask of the numbers, each from its start (after the sign) to its end, whose digits a double certainly
    keeps; for the others, ask `survives_double`. True for whole numbers, which are checked elsewhere.

    A double keeps the digits if it differs by less than half a unit of the last one. `exponents` are the
    powers of ten that follow the digits."""
    keep = np.zeros(len(starts), np.bool_)
    for first in range(0, len(starts), _NUMBERS_AT_ONCE):  # as many as fit the CPU cache
        some = slice(first, first + _NUMBERS_AT_ONCE)
        keep[some] = _short_mask(
            data, starts[some], ends[some], None if exponents is None else exponents[some]
        )
    return keep


def _short_mask(
    data: np.ndarray, starts: np.ndarray, ends: np.ndarray, exponents: np.ndarray | None
) -> np.ndarray:
    lengths = ends - starts
    is_whole = lengths <= _LONGEST_KEPT
    is_known = is_whole.copy()
    columns = np.arange(min(int(lengths.max()), _LONGEST_KEPT))[:, None]
    signs = data[np.minimum(starts + columns, len(data) - 1)]
    digits = np.zeros(len(starts), np.int64)
    places, points = np.zeros(len(starts), np.int16), np.zeros(len(starts), np.int8)
    for place, sign in enumerate(signs):
        inside, value = place < lengths, sign - _ZERO
        is_digit = (value < 10) & inside
        if place > 17:
            is_known &= ~is_digit | (digits < 10**17)
        digits = np.where(is_digit, digits * 10 + value, digits)
        places += is_digit & (points > 0)
        points += (sign == _POINT) & inside
    is_whole &= points == 0
    if exponents is not None:
        places = places - exponents
        is_whole &= exponents == 0
    is_known &= (points <= 1) & (places >= 0) & (places < len(_POWERS))
    ten, ten_error = (powers[np.where(is_known, places, 0)] for powers in (_TENS, _TENS_REST))
    digits[~is_known] = 0
    high = digits.astype(np.float64)
    low = (digits - high.astype(np.int64)).astype(np.float64)
    nearest = high / ten
    nearest += _missing(nearest, ten, ten_error, high, low) / ten
    missing = np.abs(_missing(nearest, ten, ten_error, high, low))
    return np.asarray(is_whole | is_known & (missing < _SURELY_HALF))


_SURELY_HALF = 0.499
"""Less than half a unit of the last digit, since differences are computed with a small error."""


def _missing(
    double: np.ndarray, ten: np.ndarray, ten_error: np.ndarray, high: np.ndarray, low: np.ndarray
) -> np.ndarray:
    """high + low - double · (ten + rest), by Dekker's exact product of doubles."""
    product = double * ten
    upper, ten_upper = _upper_half(double), _upper_half(ten)
    lower, ten_lower = double - upper, ten - ten_upper
    error = ((upper * ten_upper - product) + upper * ten_lower + lower * ten_upper) + lower * ten_lower
    missing: np.ndarray = (high - product) - error - double * ten_error + low
    return missing


def _upper_half(double: np.ndarray) -> np.ndarray:
    shifted = double * float((1 << 27) + 1)
    return np.asarray(shifted - (shifted - double))


def uneven_zeros(texts: pa.Array) -> tuple[str, str] | None:
    """Return two decimals as an example of trailing zeros that doubles lose: the first one has them.

    None if all decimals have the same number of digits after the point, as prices do, or if zeros only follow
    whole numbers, as in Python's 1.0.
    """
    decimals = texts.filter(pc.match_substring_regex(texts, r"^-?[0-9]*\.[0-9]+$"))
    zeros = decimals.filter(pc.match_substring_regex(decimals, r"\.[0-9]+0$"))
    places = pc.subtract(pc.binary_length(decimals), pc.find_substring(decimals, "."))
    extremes = pc.min_max(places).as_py()
    if not len(zeros) or extremes["min"] == extremes["max"]:
        return None
    first = zeros[0].as_py()
    odd_decimals = decimals.filter(pc.not_equal(places, len(first) - first.index(".")))
    return first, odd_decimals[0].as_py()


def loses_json_digits(data: bytes) -> bool:
    """Whether a number with a point or an exponent in JSON has digits that its double does not keep.

    Digits in a string may be mistaken for a number if they follow a comma or a space.
    """
    view = np.frombuffer(data + b"\n" * _EXPONENT_BYTES, np.uint8)
    if _has_long_exponent(view) and not all(survives_double(m[1].decode()) for m in _TINY.finditer(data)):
        return True
    starts, ends = _long_runs(view)
    if not len(starts):
        return False
    value = _BEFORE_VALUE[view[starts - 1 - (view[starts - 1] == _MINUS)]]
    starts, ends = starts[value], ends[value]
    exponents, stops = _exponents(view, ends)
    doubtful = ~_keep_digits(view, starts, ends, exponents)
    starts, stops = starts[doubtful], stops[doubtful]
    texts = _cut_out(view, starts - (view[starts - 1] == _MINUS), stops)
    decimals = texts.filter(pc.match_substring_regex(texts, "[.eE]"))
    plain = decimals if exponents is None else pc.replace_substring_regex(decimals, "[eE]([+-]?)0?", "e\\1")
    odd = decimals.filter(pc.not_equal(pc.cast(pc.cast(decimals, pa.float64()), pa.string()), plain))
    return not all(survives_double(text) for text in pc.unique(odd).to_pylist())


def _exponents(view: np.ndarray, ends: np.ndarray) -> tuple[np.ndarray | None, np.ndarray]:
    """The exponents after the digits, of up to three digits, or None if there are none; and where they
    end."""
    sign = _EXPONENT_SIGN[view[ends]]
    if not sign.any():
        return None, ends
    stops = ends + sign
    negative = sign & (view[stops] == _MINUS)
    stops += sign & _SIGN[view[stops]]
    exponents = np.zeros(len(ends), np.int64)
    for _ in range(3):
        is_digit = sign & _DIGIT[view[stops]]
        exponents = np.where(is_digit, exponents * 10 + (view[stops] - _ZERO), exponents)
        stops += is_digit
    return np.where(negative, -exponents, exponents), stops


def _has_long_exponent(view: np.ndarray) -> bool:
    """Whether a number may be too close to zero: with a negative exponent of three digits or more."""
    places = np.flatnonzero(
        (view[1:-_EXPONENT_BYTES] == _MINUS) & ((view[: -_EXPONENT_BYTES - 1] | _SMALL) == _E)
    )
    places += 2
    digits = np.zeros(len(places), np.int64)
    for _ in range(4):
        digits += _DIGIT[view[places + digits]]
    return bool(((digits >= 3) & _AFTER_VALUE[view[places + digits]]).any())


def _long_runs(view: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The starts and ends of runs of 16 or more digits and points, except at the very beginning."""
    part = (view - _POINT) < 12  # includes /, which is between . and the digits in ASCII but in no number
    longer = part
    for length in (1, 2, 4, 8):
        longer = longer[:-length] & longer[length:]
    places = np.flatnonzero(longer)
    first = np.diff(places, prepend=-2) > 1
    last = np.diff(places, append=len(view) + 2) > 1
    starts, ends = places[first], places[last] + _LONG_RUN
    return starts[starts > 1], ends[starts > 1]


def _cut_out(view: np.ndarray, starts: np.ndarray, ends: np.ndarray) -> pa.Array:
    """The texts from each start to its end."""
    lengths = ends - starts
    offsets = np.zeros(len(starts) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    places = np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], lengths)
    buffers = [None, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(view[places])]
    return pa.Array.from_buffers(pa.string(), len(starts), buffers)
