"""Text that is a number, told from text that only looks like one.

A value is a number when writing the number down again loses nothing that was there: '00501', '+49',
'12E4' and integers beyond 64 bits stay text, and a decimal that a double cannot hold does too.
"""

from __future__ import annotations

import re
from decimal import Context, Decimal
from math import isfinite

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lamella.core.arrays import from_numpy, to_numpy

_EXACT_DIGITS = 15  # every decimal of so many digits survives the way through a double
_LAST_EXACT_INTEGER = 1 << 53
_PLAIN_BYTES = np.isin(np.arange(256), np.frombuffer(b"0123456789.-", np.uint8))
_ZERO, _NINE, _POINT, _MINUS, _E = map(np.uint8, b"09.-e")
_SMALL = np.uint8(0x20)  # makes a capital letter a small one
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
    """int64, or None when one value is not an integer written the usual way.

    Every unusual way ('007', '-0', '0x1F') is longer than the usual one, so lengths tell.
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
    """float64, or None when one value is no number or would not come back from a double."""
    try:
        numbers = pc.cast(texts, pa.float64())
    except pa.ArrowInvalid:
        return None
    present = pc.drop_null(texts) if texts.null_count else texts
    doubtful = present.filter(_doubtful(present))
    return numbers if not len(doubtful) or _all_exact(doubtful) else None


def _doubtful(texts: pa.Array) -> pa.Array:
    """Which values are not plain short decimals."""
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
    """Offsets, and the bytes they point into with two more at the end to look ahead at."""
    _, places, values = texts.buffers()
    offsets = np.frombuffer(places, np.int32)[texts.offset :][: len(texts) + 1].astype(np.int64)
    data = np.frombuffer(values, np.uint8) if values is not None else np.empty(0, np.uint8)
    return offsets, np.concatenate([data[: offsets[-1]], np.zeros(2, np.uint8)])


def _all_exact(texts: pa.Array) -> bool:
    for told_apart in (_not_scientific, _not_written_back):
        if len(texts):
            texts = texts.filter(told_apart(texts))
    return all(_is_exact(text) for text in pc.unique(texts).to_pylist())


def _not_scientific(texts: pa.Array) -> pa.Array:
    return pc.invert(pc.match_substring_regex(texts, _SCIENTIFIC))


def _not_written_back(texts: pa.Array) -> pa.Array:
    """What is not the shortest way to write its double; only plain decimals count as such."""
    same = pc.equal(pc.cast(pc.cast(texts, pa.float64()), pa.string()), texts)
    return pc.invert(pc.and_(same, pc.match_substring_regex(texts, r"^-?[0-9]+\.[0-9]+$")))


def _is_exact(text: str) -> bool:
    """Whether `text` is a number as numbers are written, and one that its double gives back."""
    if text in _SPECIAL:
        return True
    if not _FINITE.fullmatch(text) or _BARE_EXPONENT.fullmatch(text):
        return False
    if text.lstrip("-").isdecimal() and abs(int(text)) > _LAST_EXACT_INTEGER:
        return False
    return survives_double(text)


def survives_double(text: str) -> bool:
    """Whether the double nearest to a number has all its digits: in short, or as many as were given."""
    number = float(text)
    if repr(number) == text:
        return True
    written = Decimal(text).normalize(Context(prec=max(1, len(text))))
    if not isfinite(number):
        return False
    if Decimal(repr(number)) == written:
        return True
    digits = len(written.as_tuple().digits)
    return Context(prec=digits).create_decimal_from_float(number) == written


def uneven_zeros(texts: pa.Array) -> tuple[str, str] | None:
    """Two decimals, the first with zeros at its end, where the numbers do not tell how many there were.

    None where all decimals have as many digits behind the point, as prices have, or where zeros end only
    what is whole, as 1.0 does where Python writes.
    """
    decimals = texts.filter(pc.match_substring_regex(texts, r"^-?[0-9]*\.[0-9]+$"))
    zeros = decimals.filter(pc.match_substring_regex(decimals, r"\.[0-9]+0$"))
    places = pc.subtract(pc.binary_length(decimals), pc.find_substring(decimals, "."))
    extremes = pc.min_max(places).as_py()
    if not len(zeros) or extremes["min"] == extremes["max"]:
        return None
    first = zeros[0].as_py()
    others = decimals.filter(pc.not_equal(places, len(first) - first.index(".")))
    return first, others[0].as_py()


def loses_json_digits(data: bytes) -> bool:
    """Whether a number with a point or an exponent in JSON has digits that its double does not give back.

    Digits in a string may be taken for such a number where they follow a comma or a blank.
    """
    view = np.frombuffer(data + b"\n" * _EXPONENT_BYTES, np.uint8)
    if _has_long_exponent(view) and not all(survives_double(m[1].decode()) for m in _TINY.finditer(data)):
        return True
    starts, ends = _long_runs(view)
    if not len(starts):
        return False
    starts -= view[starts - 1] == _MINUS
    value = _BEFORE_VALUE[view[starts - 1]]
    starts, ends = starts[value], ends[value]
    exponent = _EXPONENT_SIGN[view[ends]]
    ends = ends + exponent
    ends += exponent & _SIGN[view[ends]]
    for _ in range(3):
        ends += exponent & _DIGIT[view[ends]]
    texts = _cut_out(view, starts, ends)
    decimals = texts.filter(pc.match_substring_regex(texts, "[.eE]"))
    plain = pc.replace_substring_regex(decimals, "[eE]([+-]?)0?", "e\\1") if exponent.any() else decimals
    odd = decimals.filter(pc.not_equal(pc.cast(pc.cast(decimals, pa.float64()), pa.string()), plain))
    return not all(survives_double(text) for text in pc.unique(odd).to_pylist())


def _has_long_exponent(view: np.ndarray) -> bool:
    """Whether a number may be too close to zero: an exponent of three digits or more below it."""
    places = np.flatnonzero(
        (view[1:-_EXPONENT_BYTES] == _MINUS) & ((view[: -_EXPONENT_BYTES - 1] | _SMALL) == _E)
    )
    places += 2
    digits = np.zeros(len(places), np.int64)
    for _ in range(4):
        digits += _DIGIT[view[places + digits]]
    return bool(((digits >= 3) & _AFTER_VALUE[view[places + digits]]).any())


def _long_runs(view: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where 16 or more digits and points, one after the other, begin and end; never at the very beginning."""
    part = (view - _POINT) < 12  # the sign between point and digits, /, is in no number
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
