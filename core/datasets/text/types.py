"""Columns of text given the type that all their values have, or left as they are."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from decimal import Context, Decimal
from functools import cache, reduce
from math import isfinite
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lamella.core.arrow.arrays import from_numpy, from_values, to_numpy

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
    for told_apart in (_not_scientific, _not_written_back, _not_kept_plain):
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
"""What the doubles above are short of, so that both together have twice the digits."""


def _keep_digits(
    data: np.ndarray, starts: np.ndarray, ends: np.ndarray, exponents: np.ndarray | None = None
) -> np.ndarray:
    """Which numbers, from each start to its end without their sign, a double gives back for certain: of the
    others `survives_double` knows. True for whole numbers, which others check.

    A double does so where it is nearer than half of the number's last digit. `exponents` stand behind."""
    keep = np.zeros(len(starts), np.bool_)
    for first in range(0, len(starts), _NUMBERS_AT_ONCE):  # so many as the processor's cache holds
        some = slice(first, first + _NUMBERS_AT_ONCE)
        keep[some] = _keep_few(data, starts[some], ends[some], None if exponents is None else exponents[some])
    return keep


def _keep_few(
    data: np.ndarray, starts: np.ndarray, ends: np.ndarray, exponents: np.ndarray | None
) -> np.ndarray:
    lengths = ends - starts
    is_whole = lengths <= _LONGEST_KEPT
    known = is_whole.copy()
    columns = np.arange(min(int(lengths.max()), _LONGEST_KEPT))[:, None]
    signs = data[np.minimum(starts + columns, len(data) - 1)]
    digits = np.zeros(len(starts), np.int64)
    places, points = np.zeros(len(starts), np.int16), np.zeros(len(starts), np.int8)
    for place, sign in enumerate(signs):
        inside, value = place < lengths, sign - _ZERO
        is_digit = (value < 10) & inside
        if place > 17:
            known &= ~is_digit | (digits < 10**17)
        digits = np.where(is_digit, digits * 10 + value, digits)
        places += is_digit & (points > 0)
        points += (sign == _POINT) & inside
    is_whole &= points == 0
    if exponents is not None:
        places = places - exponents
        is_whole &= exponents == 0
    known &= (points <= 1) & (places >= 0) & (places < len(_POWERS))
    ten, rest = (powers[np.where(known, places, 0)] for powers in (_TENS, _TENS_REST))
    digits[~known] = 0
    high = digits.astype(np.float64)
    low = (digits - high.astype(np.int64)).astype(np.float64)
    nearest = high / ten
    nearest += _missing(nearest, ten, rest, high, low) / ten
    missing = np.abs(_missing(nearest, ten, rest, high, low))
    return np.asarray(is_whole | known & (missing < _SURELY_HALF))


_SURELY_HALF = 0.499
"""Of a last digit: computed with twice the digits of a double, which is not quite exact."""


def _missing(
    double: np.ndarray, ten: np.ndarray, rest: np.ndarray, high: np.ndarray, low: np.ndarray
) -> np.ndarray:
    """high + low - double · (ten + rest), by Dekker's product of doubles without rounding."""
    product = double * ten
    upper, ten_upper = _upper_half(double), _upper_half(ten)
    lower, ten_lower = double - upper, ten - ten_upper
    error = ((upper * ten_upper - product) + upper * ten_lower + lower * ten_upper) + lower * ten_lower
    missing: np.ndarray = (high - product) - error - double * rest + low
    return missing


def _upper_half(double: np.ndarray) -> np.ndarray:
    shifted = double * float((1 << 27) + 1)
    return np.asarray(shifted - (shifted - double))


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
    """What follows digits as their exponent, up to three digits, None where nothing does; where it ends."""
    there = _EXPONENT_SIGN[view[ends]]
    if not there.any():
        return None, ends
    stops = ends + there
    negative = there & (view[stops] == _MINUS)
    stops += there & _SIGN[view[stops]]
    exponents = np.zeros(len(ends), np.int64)
    for _ in range(3):
        is_digit = there & _DIGIT[view[stops]]
        exponents = np.where(is_digit, exponents * 10 + (view[stops] - _ZERO), exponents)
        stops += is_digit
    return np.where(negative, -exponents, exponents), stops


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


MARKERS_ALONE, SPECIALS_ALONE = pa.large_string(), pa.string_view()
"""Stand for text that further values may show to be something else: null markers alone, which stand in a
column of any type, and, perhaps beside them, names of doubles that are not finite."""
NULL_MARKERS = ("", "NA", "N/A", "n/a", "NULL", "Null", "null", "None", "none", "\\N", "<NA>", "NaT")
_SHORTEST_TIMESTAMP = len("2013-01-31 10:00")
_ZONED = pa.timestamp("us", "UTC")

Reader = Callable[[pa.Array], "pa.Array | None"]


def read_as(texts: pa.Array, kind: pa.DataType) -> pa.Array | None:
    """`texts` as `kind`, or None when a value would be lost or changed by that."""
    if pa.types.is_string(kind):
        return texts
    if pa.types.is_null(kind):
        return pa.nulls(len(texts), pa.string()) if texts.null_count == len(texts) else None
    if is_undecided(kind):
        return texts if join(tentative_type(texts), kind) == kind else None
    values = _READERS[kind](texts)
    if values is not None:
        return values
    cleaned = _cleaned(texts)
    return None if cleaned is None else _READERS[kind](cleaned)


def find_type(texts: pa.Array) -> pa.DataType:
    """The first type that fits every value; null when there is none to tell by."""
    kind = tentative_type(texts)
    return pa.string() if is_undecided(kind) else kind


def tentative_type(texts: pa.Array) -> pa.DataType:
    """The same where more values of the column may follow: undecided where these alone do not tell."""
    if texts.null_count == len(texts):
        return pa.null()
    cleaned = _cleaned(texts)
    plain = texts if cleaned is None else cleaned
    if plain.null_count == len(plain):
        return MARKERS_ALONE
    for kind, read in _READERS.items():
        values = read(plain)
        if values is not None:
            return SPECIALS_ALONE if _only_specials(values) else kind
    return pa.string()


def is_undecided(kind: pa.DataType) -> bool:
    """Whether the column is text only as long as no other values follow."""
    return bool(kind in (MARKERS_ALONE, SPECIALS_ALONE))


def widen(kind: pa.DataType, texts: pa.Array) -> pa.DataType:
    """A type for values of `kind` and for `texts`, which do not fit it; never `kind` itself.

    What joins to `kind` again, as integers that are no doubles do with doubles, has only text in common.
    """
    wide = join(kind, tentative_type(texts))
    return pa.string() if wide.equals(kind) else wide


def join(a: pa.DataType, b: pa.DataType) -> pa.DataType:
    """The narrowest type for both whose values are told apart by `read_as`; text at the end of every way.

    Whether each value fits it is for `read_as` to say: not every integer is a double, and not every
    microsecond lies within the years of nanoseconds.
    """
    kinds = {a, b}
    if len(kinds) == 1:
        return a
    for kind in (pa.null(), MARKERS_ALONE):
        if kind in kinds:
            return _other(kind, a, b)
    if kinds <= {pa.int64(), pa.float64(), SPECIALS_ALONE}:
        return pa.float64()
    if kinds == {pa.timestamp("us"), pa.timestamp("ns")}:
        return pa.timestamp("ns")
    return pa.string()


def _other(kind: pa.DataType, a: pa.DataType, b: pa.DataType) -> pa.DataType:
    return b if a.equals(kind) else a


def _only_specials(values: pa.Array) -> bool:
    """A column of nothing but 'nan' and 'inf' is rather one of names."""
    return pa.types.is_floating(values.type) and not pc.any(pc.is_finite(values)).as_py()


def _cleaned(texts: pa.Array) -> pa.Array | None:
    """Without the blanks around values and without null markers; None when there are none."""
    trimmed = pc.utf8_trim_whitespace(texts)
    missing = pc.is_in(trimmed, value_set=_markers())
    if not pc.any(missing).as_py() and trimmed.equals(texts):
        return None
    return pc.if_else(missing, pa.nulls(len(texts), pa.string()), trimmed)


@cache
def _markers() -> pa.Array:
    return from_values(NULL_MARKERS, pa.string())


def _booleans(texts: pa.Array) -> pa.Array | None:
    return _cast(texts, pa.bool_()) if _lengths_within(texts, 4, 5) else None


def _dates(texts: pa.Array) -> pa.Array | None:
    return _cast_dated(texts, pa.date32()) if _lengths_within(texts, 10, 10) else None


def _timestamps(kind: pa.DataType) -> Reader:
    def read(texts: pa.Array) -> pa.Array | None:
        return _cast_dated(texts, kind) if _lengths_within(texts, _SHORTEST_TIMESTAMP, 40) else None

    return read


def _lengths_within(texts: pa.Array, shortest: int, longest: int) -> bool:
    lengths = pc.min_max(pc.binary_length(texts)).as_py()
    return lengths["min"] is None or (lengths["min"] >= shortest and lengths["max"] <= longest)


def _cast_dated(texts: pa.Array, kind: pa.DataType) -> pa.Array | None:
    """Python, and so most of what shows a date, knows no year 0."""
    return None if pc.any(pc.starts_with(texts, "0000")).as_py() else _cast(texts, kind)


def _cast(texts: pa.Array, kind: pa.DataType) -> pa.Array | None:
    try:
        return pc.cast(texts, kind)
    except pa.ArrowInvalid:
        return None


_READERS: dict[pa.DataType, Reader] = {
    pa.bool_(): _booleans,
    pa.int64(): integers,
    pa.float64(): doubles,
    pa.date32(): _dates,
    pa.timestamp("us"): _timestamps(pa.timestamp("us")),
    pa.timestamp("ns"): _timestamps(pa.timestamp("ns")),
    _ZONED: _timestamps(_ZONED),
}


_INT64 = range(-(1 << 63), 1 << 63)


class Inexact(Exception):
    """A value would be changed by the type that was asked for."""


class WrittenFloat(float):
    """A float whose text is not the shortest one, `1.10` or `1e5`, and is kept where the column is text."""

    def __new__(cls, text: str) -> WrittenFloat:
        number = super().__new__(cls, text)
        number.text = text
        return number

    text: str


def column_type(values: Sequence[Any]) -> pa.DataType:
    """The type of a column; strings that are all dates or timestamps make it one of those, and null markers
    alone leave it open."""
    kind = reduce(join_json, (type_of(value) for value in values), pa.null())
    return temporal_or_text(from_values(values, pa.string())) if _all_strings(values, kind) else kind


def temporal_or_text(texts: pa.Array) -> pa.DataType:
    kind = tentative_type(texts)
    return kind if is_read_from_text(kind) else pa.string()


def widen_text(kind: pa.DataType, texts: pa.Array) -> pa.DataType:
    """A type for strings of `kind` and for `texts`, which do not fit it; never `kind` itself."""
    wide = join_json(kind, temporal_or_text(texts))
    return pa.string() if wide.equals(kind) else wide


def is_read_from_text(kind: pa.DataType) -> bool:
    """Whether a column of the type stands in the file as strings that are not just text."""
    return bool(pa.types.is_temporal(kind) or kind == MARKERS_ALONE)


def _all_strings(values: Iterable[Any], kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) and all(value is None or isinstance(value, str) for value in values)


def type_of(value: Any) -> pa.DataType:
    if value is None:
        return pa.null()
    if isinstance(value, bool):
        return pa.bool_()
    if isinstance(value, int):
        return pa.int64() if value in _INT64 else pa.string()
    if isinstance(value, float):
        return pa.float64()
    if isinstance(value, list):
        return pa.list_(reduce(join_json, map(type_of, value), pa.null()))
    if isinstance(value, dict):
        return pa.struct([pa.field(key, type_of(item)) for key, item in value.items()])
    return pa.string()


def join_json(a: pa.DataType, b: pa.DataType) -> pa.DataType:
    """A type for values of both; text, where they are of different kinds."""
    if a.equals(b):
        return a
    if pa.types.is_list(a) and pa.types.is_list(b):
        return pa.list_(join_json(a.value_type, b.value_type))
    if pa.types.is_struct(a) and pa.types.is_struct(b):
        return pa.struct(_join_fields(list(a), list(b)))
    return join(a, b)


def join_column_types(a: pa.DataType, b: pa.DataType) -> pa.DataType:
    """Null markers are strings in JSON: beside anything but dates and times they make a column text."""
    strings = all(pa.types.is_null(kind) or is_read_from_text(kind) for kind in (a, b))
    return join_json(a, b) if strings or MARKERS_ALONE not in (a, b) else pa.string()


def _join_fields(a: list[pa.Field], b: list[pa.Field]) -> list[pa.Field]:
    kinds = {field.name: field.type for field in a}
    for field in b:
        kinds[field.name] = join_json(kinds.get(field.name, pa.null()), field.type)
    return [pa.field(name, kind) for name, kind in kinds.items()]


def solid(kind: pa.DataType) -> pa.DataType:
    """The type that stands for `kind` in a file: text where nothing was ever there to tell by."""
    if pa.types.is_null(kind) or is_undecided(kind) or (pa.types.is_struct(kind) and not kind.num_fields):
        return pa.string()
    if pa.types.is_list(kind):
        return pa.list_(solid(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(field.name, solid(field.type)) for field in kind])
    return kind


def needs_fitting(kind: pa.DataType, inside: bool = False) -> bool:
    """Whether only Python can fit values to the type: pyarrow knows no text made from objects, and
    reads lists of nothing but nulls wrongly."""
    if pa.types.is_null(kind):
        return inside
    if pa.types.is_struct(kind):
        return not kind.num_fields or any(needs_fitting(field.type, True) for field in kind)
    return pa.types.is_list(kind) and needs_fitting(kind.value_type, True)


def fit(value: Any, kind: pa.DataType) -> Any:
    """`value` as a Python value of the type; raises `Inexact` rather than change a number."""
    if value is None:
        return None
    if pa.types.is_string(kind):
        written = value.text if isinstance(value, WrittenFloat) else value
        return written if isinstance(written, str) else json.dumps(written, ensure_ascii=False)
    if pa.types.is_list(kind):
        return [fit(item, kind.value_type) for item in value]
    if pa.types.is_struct(kind):
        return {field.name: fit(value.get(field.name), field.type) for field in kind}
    if pa.types.is_floating(kind) and isinstance(value, int) and int(float(value)) != value:
        raise Inexact
    return float(value) if pa.types.is_floating(kind) else value
