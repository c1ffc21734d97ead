"""Text that is a number, told from text that only looks like one.

A value is a number when writing the number down again loses nothing that was there: '00501', '+49',
'12E4' and integers beyond 64 bits stay text, and a decimal that a double cannot hold does too.
"""

from __future__ import annotations

import re
from decimal import Context, Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from core.arrays import from_numpy, to_numpy

_EXACT_DIGITS = 15  # every decimal of so many digits survives the way through a double
_LAST_EXACT_INTEGER = 1 << 53
_PLAIN_BYTES = np.isin(np.arange(256), np.frombuffer(b"0123456789.-", np.uint8))
_ZERO, _NINE, _POINT, _MINUS = b"09.-"
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
    """Whether the double nearest to `text` is written so: in short, or to as many digits as were given."""
    if text in _SPECIAL:
        return True
    if not _FINITE.fullmatch(text) or _BARE_EXPONENT.fullmatch(text):
        return False
    if text.lstrip("-").isdecimal() and abs(int(text)) > _LAST_EXACT_INTEGER:
        return False
    written = Decimal(text).normalize(Context(prec=max(1, len(text))))
    number = float(text)
    if Decimal(repr(number)) == written:
        return True
    digits = len(written.as_tuple().digits)
    return Context(prec=digits).create_decimal_from_float(number) == written
