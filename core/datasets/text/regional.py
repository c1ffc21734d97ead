"""Regional notations of numbers, dates and booleans: decimal commas, day or month first, ja and nein.

A `SpelledType` is a type with the rules that convert texts to it. It is inferred only if all values of a
column fit it and no other; if two readings fit, the column stays text, and a note says what it may be."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import astuple, dataclass, replace
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lamella.core.arrow.arrays import from_numpy, from_values, to_numpy
from lamella.core.datasets.text import month_names
from lamella.core.datasets.text.exact_numbers import LAST_EXACT_INTEGER, doubles, integers
from lamella.core.datasets.text.month_names import MONTH_NAMES, number_months

DAY_FIRST, MONTH_FIRST, YEAR_FIRST = "day-first", "month-first", "iso"
COMMA, POINT = ",", "."
SEPARATORS = {" ": "[ \u00a0\u202f]", "'": "['\u2019]", ".": r"\.", ",": ",", "": ""}
"""Patterns of the separators between thousands."""


@dataclass(frozen=True)
class Conventions:
    """The notation of values in a text; None means: detected column by column. `has_comma` and `date_order`
    are evidence from other columns."""

    decimal: str | None = None
    thousands: str | None = None
    dates: str | None = None
    zone: str | None = None
    booleans: tuple[tuple[str, str], ...] = ()
    has_comma: bool = False
    date_order: str | None = None


@dataclass(frozen=True)
class Spelling:
    """The rules for reading texts. `is_forced`: the user chose the type, so texts that do not fit become
    null. `booleans` are words for true and false."""

    decimal: str = POINT
    thousands: str = ""
    order: str = ""
    zone: str = ""
    is_forced: bool = False
    booleans: tuple[tuple[str, str], ...] = ()


class SpelledType(pa.ExtensionType):  # type: ignore[misc]  # pyarrow has no types
    """Takes the place of its storage type in the schema with which a text is read."""

    def __init__(self, storage: pa.DataType, spelling: Spelling) -> None:
        self.spelling = spelling
        # pyarrow 26 compares types by their names alone, not by what they serialize to.
        super().__init__(storage, f"spelled {json.dumps(astuple(spelling))}")

    def __arrow_ext_serialize__(self) -> bytes:
        return json.dumps(astuple(self.spelling)).encode()

    @classmethod
    def __arrow_ext_deserialize__(cls, storage: pa.DataType, data: bytes) -> SpelledType:
        spelling = Spelling(*json.loads(data))
        return cls(storage, replace(spelling, booleans=tuple((yes, no) for yes, no in spelling.booleans)))

    def __hash__(self) -> int:
        return hash((self.storage_type, self.spelling))

    @property
    def is_number(self) -> bool:
        kind = self.storage_type
        return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))

    def read(self, texts: pa.Array) -> pa.Array | None:
        """Return the values, or None if one would be lost or changed."""
        values = self._values(texts)
        return values if values is not None and values.null_count == texts.null_count else None

    def _values(self, texts: pa.Array) -> pa.Array | None:
        kind, spelling = self.storage_type, self.spelling
        if pa.types.is_boolean(kind):
            return _truths(texts, spelling)
        if not self.is_number:
            return _temporal(texts, kind, spelling)
        if not _all_match(texts, number_pattern(spelling)):
            return None
        plain = _plain_numbers(texts, spelling)
        return integers(plain) if pa.types.is_integer(kind) else doubles(plain)

    def convert(self, texts: pa.Array) -> pa.Array:
        """Return the values, with null for texts that do not fit the type."""
        kind, spelling = self.storage_type, self.spelling
        if pa.types.is_boolean(kind):
            return _truths(texts, spelling)
        if pa.types.is_string(kind):
            return texts
        if not self.is_number:
            return _temporal(texts, kind, spelling)
        return _numbers(texts, kind, spelling)


def number_pattern(spelling: Spelling, signs: str = "-?") -> str:
    between, point = SEPARATORS[spelling.thousands], re.escape(spelling.decimal)
    grouped = f"[0-9]{{1,3}}(?:{between}[0-9]{{3}})+|" if between else ""
    return f"^{signs}(?:{grouped}[0-9]+)(?:{point}[0-9]+)?$"


def _plain_numbers(texts: pa.Array, spelling: Spelling) -> pa.Array:
    if spelling.thousands:
        texts = pc.replace_substring_regex(texts, SEPARATORS[spelling.thousands], "")
    return texts if spelling.decimal == POINT else pc.replace_substring(texts, spelling.decimal, POINT)


def _all_match(texts: pa.Array, pattern: str) -> bool:
    return pc.all(pc.match_substring_regex(texts, pattern)).as_py() is not False


def _any_matches(texts: pa.Array, pattern: str) -> bool:
    """Whether a text matches; usually one of the first does, and the others need not be searched."""
    some = (texts.slice(0, _GLIMPSE), texts.slice(_GLIMPSE))
    return any(pc.any(pc.match_substring_regex(part, pattern)).as_py() is True for part in some)


def _only(texts: pa.Array, mask: pa.Array) -> pa.Array:
    return pc.if_else(mask, texts, pa.nulls(len(texts), texts.type))


_CURRENCY = "(?: ?(?:€|EUR|\\$|USD|£|GBP|CHF|%))?"
"""A unit after a number, accepted if the user chose the type."""


def _numbers(texts: pa.Array, kind: pa.DataType, spelling: Spelling) -> pa.Array:
    plain = pc.replace_substring_regex(texts, _CURRENCY + "$", "")
    fitting = pc.match_substring_regex(plain, number_pattern(spelling, "[+-]?"))
    if spelling.decimal == POINT and pa.types.is_floating(kind):
        fitting = pc.or_(
            fitting, pc.match_substring_regex(plain, r"^[+-]?[0-9]*\.?[0-9]+[eE][+-]?[0-9]{1,3}$")
        )
    plain = pc.replace_substring_regex(_plain_numbers(_only(plain, fitting), spelling), r"^\+", "")
    if pa.types.is_integer(kind):
        return _whole_numbers(pc.replace_substring_regex(plain, r"\.0+$", ""), kind)
    if pa.types.is_decimal(kind):
        plain = pc.replace_substring_regex(plain, r"^(-?)0*([0-9])", r"\1\2")
        whole, places = kind.precision - kind.scale, kind.scale
        pattern = rf"^-?[0-9]{{1,{max(whole, 1)}}}(?:\.[0-9]{{0,{places}}}0*)?$"
        plain = _only(plain, pc.match_substring_regex(plain, pattern))
        plain = pc.replace_substring_regex(plain, rf"(\.[0-9]{{{places}}})0*$", r"\1")
    elif pa.types.is_floating(kind):
        plain = _only(plain, pc.invert(_too_long(plain)))
    return pc.cast(plain, kind)


def _whole_numbers(texts: pa.Array, kind: pa.DataType) -> pa.Array:
    """The texts as integers; null for numbers beyond the type's range and for other texts."""
    wide, digits = pa.int64(), 18
    if (pc.max(pc.binary_length(texts)).as_py() or 0) > digits:  # few columns need the slower decimals
        wide, digits = pa.decimal128(20), 20
        texts = pc.replace_substring_regex(texts, "^(-?)0+([0-9])", r"\1\2")
    numbers = pc.cast(_only(texts, pc.match_substring_regex(texts, f"^-?0*[0-9]{{1,{digits}}}$")), wide)
    if kind == wide:
        return numbers
    bits, signed = kind.bit_width, pa.types.is_signed_integer(kind)
    least, most = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    limits = from_values([Decimal(least), Decimal(most)], pa.decimal128(20))
    within = pc.and_(pc.greater_equal(numbers, limits[0]), pc.less_equal(numbers, limits[1]))
    return pc.cast(_only(numbers, within), kind)


def _too_long(texts: pa.Array) -> pa.Array:
    """A mask of the whole numbers, such as account numbers, that would lose digits as doubles."""
    long = pc.match_substring_regex(texts, "^-?0*[1-9][0-9]{15,}$")
    if not pc.any(long).as_py():
        return long
    lost = [
        text
        for text in pc.unique(texts.filter(long)).to_pylist()
        if text and abs(int(text)) > LAST_EXACT_INTEGER
    ]
    return pc.is_in(texts, value_set=from_values(lost, pa.string()))


YES_NO = (
    ("yes", "no"), ("y", "n"), ("t", "f"), ("on", "off"), ("ja", "nein"), ("j", "n"), ("wahr", "falsch"),
    ("oui", "non"), ("o", "n"), ("vrai", "faux"), ("s\u00ed", "no"), ("si", "no"), ("verdadero", "falso"),
    ("vero", "falso"), ("sim", "n\u00e3o"), ("ja", "nee"), ("ja", "nej"), ("tak", "nie"), ("ano", "ne"),
)  # fmt: skip
"""Pairs of words, in lower case, that are offered to be read as true and false."""
_USUAL = {"true": True, "false": False, "1": True, "0": False, "x": True}
_USUAL |= {word: place == 0 for pair in YES_NO for place, word in enumerate(pair)}
"""The meaning of words in a column that the user chose to read as booleans."""


def _truths(texts: pa.Array, spelling: Spelling) -> pa.Array:
    truths = {word.lower(): place == 0 for pair in spelling.booleans for place, word in enumerate(pair)}
    meanings = _USUAL | truths if spelling.is_forced else truths
    words = pc.utf8_lower(texts)
    is_true = pc.is_in(words, value_set=from_values([w for w in meanings if meanings[w]], pa.string()))
    is_known = pc.is_in(words, value_set=from_values([*meanings], pa.string()))
    return pc.if_else(is_known, is_true, pa.nulls(len(texts), pa.bool_()))


_DAY = r"(?P<a>[0-9]{1,4})[./-](?P<b>[0-9]{1,2})[./-](?P<c>[0-9]{4}|[0-9]{1,2})"
_TIME = (
    r"(?P<h>[0-9]{1,2}):(?P<mi>[0-9]{2})(?::(?P<s>[0-9]{2})(?:[.,](?P<f>[0-9]{1,9}))?)?"
    r"(?: ?(?P<p>[AaPp])\.?[Mm]\.?)?"
)
_ONLY_DAY, _ONLY_TIME = f"^{_DAY}$", f"^{_TIME}$"
_DAY_AND_TIME = f"^{_DAY}(?:(?:, ?|[T ]+){_TIME})?$"
_WITH_TIME = r"[0-9]:[0-9]{2}"
_TWO_DIGITS_MEAN = 69
"""Two-digit years from this on are in the 20th century, as in POSIX's strptime."""
_NS_A_DAY = 86_400_000_000_000
_NS_A_UNIT = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
_LAST_DAY_IN_NS = 106_750
"""Days from 1970, to 2262 or back to 1677, between which 64 bits can hold nanoseconds."""


def _temporal(texts: pa.Array, kind: pa.DataType, spelling: Spelling) -> pa.Array:
    """The dates or times; null for invalid ones, such as the 31st of February, and texts of other forms."""
    if pa.types.is_time(kind):
        parts = _Parts(pc.extract_regex(texts, _ONLY_TIME))
        since_midnight, valid = parts.time(kind.unit)
        numbers = since_midnight.astype(np.int32 if kind.bit_width == 32 else np.int64)
        return from_numpy(numbers, kind, valid & parts.present)
    if spelling.order == MONTH_NAMES:
        texts = pc.coalesce(number_months(texts), texts)
    parts = _Parts(pc.extract_regex(texts, _ONLY_DAY if pa.types.is_date(kind) else _DAY_AND_TIME))
    days, valid = parts.days(spelling.order)
    valid &= parts.present
    if pa.types.is_date(kind):
        return pc.cast(from_numpy(days.astype(np.int32), pa.date32(), valid), kind)
    since_midnight, timely = parts.time(kind.unit)
    if not spelling.is_forced:
        timely &= parts.lengths("h") > 0  # a day alone is a date
    if kind.unit == "ns":
        timely &= np.abs(days) <= _LAST_DAY_IN_NS
    units_a_day = _NS_A_DAY // _NS_A_UNIT[kind.unit]
    values = from_numpy(days * units_a_day + since_midnight, pa.timestamp(kind.unit), valid & timely)
    return in_zone(values, spelling.zone) if spelling.zone else values


def in_zone(values: pa.Array, zone: str) -> pa.Array:
    """Return the local times of a zone. In an hour that occurs twice, the first is meant; times in an hour
    that is skipped become its end."""
    return pc.assume_timezone(values, zone, ambiguous="earliest", nonexistent="latest")


_ZERO, _NO_LENGTH = (from_numpy(np.zeros(1, kind))[0] for kind in (np.int64, np.int32))
_NOT = from_numpy(np.zeros(1, np.bool_))[0]


class _Parts:
    def __init__(self, parts: pa.StructArray) -> None:
        self._parts = parts
        self.present = to_numpy(pc.is_valid(parts))

    def number(self, name: str) -> np.ndarray:
        """Return the part as a number; 0 if it is missing."""
        texts = self._text(name)
        filled = pc.if_else(pc.equal(texts, _scalar("")), _scalar("0"), texts)
        return to_numpy(pc.fill_null(pc.cast(filled, pa.int64()), _ZERO))

    def _text(self, name: str) -> pa.Array:
        return pc.struct_field(self._parts, name)

    def lengths(self, name: str) -> np.ndarray:
        return to_numpy(pc.fill_null(pc.binary_length(self._text(name)), _NO_LENGTH))

    def days(self, order: str) -> tuple[np.ndarray, np.ndarray]:
        """Return days since 1970 and a mask of the valid ones. `order` does not matter if the year is
        first."""
        a, b, c = (self.number(part) for part in "abc")
        led, digits = self.lengths("a"), self.lengths("c")
        year_leads = led == 4
        short = np.where(c < _TWO_DIGITS_MEAN, 2000, 1900)
        year = np.where(year_leads, a, np.where(digits == 2, c + short, c))
        is_day_first = order == DAY_FIRST
        month = np.where(year_leads, b, b if is_day_first else a)
        day = np.where(year_leads, c, a if is_day_first else b)
        formed = np.where(year_leads, digits <= 2, (led <= 2) & (digits != 1) & (order in _ORDERS))
        valid = formed & (year > 0) & (month >= 1) & (month <= 12) & (day >= 1)
        months = (np.where(valid, year - 1970, 0) * 12 + np.where(valid, month - 1, 0)).astype(
            "datetime64[M]"
        )
        first = months.astype("datetime64[D]").astype(np.int64)
        after = (months + 1).astype("datetime64[D]").astype(np.int64)
        return first + day - 1, valid & (day <= after - first)

    def time(self, unit: str) -> tuple[np.ndarray, np.ndarray]:
        """Return units since midnight and a mask of the valid ones; times finer than the unit are not
        valid."""
        hour, minute, second = (self.number(part) for part in ("h", "mi", "s"))
        fraction = self.number("f") * 10 ** (9 - self.lengths("f").astype(np.int64))
        step = _NS_A_UNIT[unit]
        half = pc.utf8_lower(self._text("p"))
        is_half = self.lengths("p") > 0
        is_pm = to_numpy(pc.fill_null(pc.equal(half, _scalar("p")), _NOT)) & is_half
        valid = np.where(is_half, (hour >= 1) & (hour <= 12), hour < 24) & (minute < 60) & (second < 60)
        hour = np.where(is_half, hour % 12 + 12 * is_pm, hour)
        seconds = (hour * 60 + minute) * 60 + second
        return seconds * (10**9 // step) + fraction // step, valid & (fraction % step == 0)


_ORDERS = (DAY_FIRST, MONTH_FIRST)


def _scalar(text: str) -> pa.Scalar:
    return from_values([text], pa.string())[0]


# ---------------------------------------------------------------- what a column may be

_GLIMPSE = 64
_NUMBER_SIGNS = "^-?[0-9][0-9.,' \u00a0\u202f\u2019]*$"
_DATE_SIGNS = r"^[0-9]{1,4}[./-][0-9]{1,2}[./-][0-9]{1,4}(?:$|[T ,])"
_SURE_COMMA = r",(?:[0-9]{1,2}|[0-9]{4,})$|^-?0[0-9]*,|[0-9]{4},"
_SURE_POINT = r"\.(?:[0-9]{1,2}|[0-9]{4,})$|^-?0[0-9]*\.|[0-9]{4}\."


@dataclass(frozen=True)
class Guess:
    """The inferred type of a column; text if `kind` is None. `note` says what was assumed, or what the text
    may be."""

    kind: pa.DataType | None = None
    note: str = ""


def guess(texts: pa.Array, conventions: Conventions) -> Guess:
    """Infer the type of a column of text whose values have no surrounding blanks and no null markers."""
    present = pc.drop_null(texts)
    glimpse = present.slice(0, _GLIMPSE)
    if not len(glimpse):
        return Guess()
    if _all_match(glimpse, _NUMBER_SIGNS) and not _all_match(glimpse, _DATE_SIGNS):
        return _guess_number(present, conventions)
    if _all_match(glimpse, _DATE_SIGNS):
        return _guess_date(present, conventions)
    if _all_match(glimpse, month_names.SIGNS):
        return _guess_named_date(present, conventions)
    pair = yes_and_no(present)
    return Guess() if pair is None else Guess(None, MAY_BE_BOOLEANS.format(*pair))


MAY_BE_BOOLEANS = "{} and {} may mean yes and no: say so to read them as true and false"


def guess_boolean(texts: pa.Array, conventions: Conventions) -> Guess | None:
    """Return a boolean type if all values are words that the user chose for true and false, else None."""
    spelled = SpelledType(pa.bool_(), Spelling(booleans=conventions.booleans))
    return Guess(spelled) if conventions.booleans and spelled.read(texts) is not None else None


def yes_and_no(texts: pa.Array) -> tuple[str, str] | None:
    """Return the two words of a column, as written, if it holds only these and they are usual; else None."""
    for some in (texts.slice(0, _GLIMPSE), texts):
        written = {word.lower(): word for word in reversed(pc.unique(some).to_pylist()) if word is not None}
        if len(written) > 2:
            return None
    return next(((written[yes], written[no]) for yes, no in YES_NO if {yes, no} == {*written}), None)


def _guess_number(texts: pa.Array, conventions: Conventions) -> Guess:
    for decimal, thousands in _ways_to_write(texts, conventions):
        for kind in (pa.int64(), pa.float64()):
            spelled = SpelledType(kind, Spelling(decimal, thousands))
            if spelled.read(texts) is not None:
                return Guess(spelled)
    if conventions.decimal is None and _all_match(texts, r"^-?[1-9][0-9]{0,2}(?:,[0-9]{3})?$"):
        example = next(text for text in texts.to_pylist() if "," in text)
        return Guess(
            None, f"{example} may be {example.replace(',', '.')} or {example.replace(',', '')}: {_CHOOSE}"
        )
    return Guess()


_CHOOSE = "say how numbers are written to read it as one"


def _ways_to_write(texts: pa.Array, conventions: Conventions) -> list[tuple[str, str]]:
    """The possible pairs of decimal sign and thousands separator; empty if the values leave doubt."""
    blanks = [sign for sign in (" ", "'") if _any_matches(texts, SEPARATORS[sign])]
    has_comma, has_point = _any_matches(texts, ","), _any_matches(texts, r"\.")
    if conventions.decimal is not None:
        return [_complete_marks(conventions.decimal, conventions.thousands, blanks)]
    if blanks:
        sign = COMMA if has_comma else POINT
        return [(sign, blanks[0])] if has_comma != has_point and len(blanks) == 1 else []
    if has_comma and has_point:
        comma_last, point_last = _any_matches(texts, r"\.[0-9]{3},"), _any_matches(texts, r",[0-9]{3}\.")
        if not (comma_last or point_last):
            comma_last, point_last = _any_matches(texts, _SURE_COMMA), _any_matches(texts, _SURE_POINT)
        return [(COMMA, POINT)] * (comma_last and not point_last) + [(POINT, COMMA)] * (
            point_last and not comma_last
        )
    if has_comma:
        if _any_matches(texts, ",[0-9]{3},"):
            return [(POINT, COMMA)]
        return [(COMMA, "")] if conventions.has_comma or _any_matches(texts, _SURE_COMMA) else []
    grouped = has_point and (conventions.has_comma or _any_matches(texts, r"\.[0-9]{3}\."))
    return [(COMMA, POINT)] if grouped else []


def _complete_marks(decimal: str, thousands: str | None, blanks: Sequence[str]) -> tuple[str, str]:
    if thousands is None:
        thousands = blanks[0] if blanks else POINT if decimal == COMMA else COMMA
    return decimal, thousands


def _guess_date(texts: pa.Array, conventions: Conventions) -> Guess:
    order, note = _order_of(texts, conventions)
    return Guess(None, note) if order is None else _guess_of_order(texts, order, note, conventions)


def _guess_named_date(texts: pa.Array, conventions: Conventions) -> Guess:
    fit = number_months(texts).null_count == texts.null_count
    return _guess_of_order(texts, MONTH_NAMES, "", conventions) if fit else Guess()


def _guess_of_order(texts: pa.Array, order: str, note: str, conventions: Conventions) -> Guess:
    zone = conventions.zone or "" if _any_matches(texts, _WITH_TIME) else ""
    times = [pa.timestamp(unit, zone or None) for unit in ("us", "ns")]
    for kind in times if _any_matches(texts, _WITH_TIME) else [pa.date32()]:
        spelled = SpelledType(kind, Spelling(order=order, zone=zone))
        if spelled.read(texts) is not None:
            return Guess(spelled, note)
    return Guess()


def _order_of(texts: pa.Array, conventions: Conventions) -> tuple[str | None, str]:
    """The order of day and month, None if in doubt; and a note."""
    parts = _Parts(pc.extract_regex(texts, _DAY_AND_TIME))
    if not parts.present.all():
        return None, ""
    if (parts.lengths("a") == 4).all() or conventions.dates is not None:
        return conventions.dates or YEAR_FIRST, ""
    few = (parts.lengths("c") == 2) & (parts.lengths("a") < 4)
    padded = few & (parts.lengths("a") == 2) & (parts.lengths("b") == 2)
    if few.any() and not padded.all() and _any_matches(texts, "^[0-9]{1,4}[.-]"):
        return None, ""  # versions such as 1.2.10
    return _order_by_days(texts, parts, few, conventions)


def _order_by_days(
    texts: pa.Array, parts: _Parts, few: np.ndarray, conventions: Conventions
) -> tuple[str | None, str]:
    """`_order_of`, decided by values beyond 12. `few` is a mask of the two-digit years."""
    led = parts.lengths("a") == 4
    day_first, month_first = (bool(((parts.number(part) > 12) & ~led).any()) for part in "ab")
    with_points = _any_matches(texts, r"^[0-9]{1,2}\.")
    example = texts[0].as_py()
    years = " Years of two digits are those from 1969 to 2068" if few.any() else ""
    if day_first and month_first:
        return (
            None,
            f"Some values have the day first, some the month, such as {example}: they stay as written",
        )
    if day_first or (month_first and not with_points):
        return (DAY_FIRST if day_first else MONTH_FIRST), years.strip()
    if month_first or (few.any() and not conventions.date_order):
        return None, ""
    if with_points or conventions.date_order:
        order = DAY_FIRST if with_points else conventions.date_order
        why = "as with points between" if with_points else "as in another column"
        first = "day" if order == DAY_FIRST else "month"
        return order, f"No day is after the 12th: read with the {first} first, {why}.{years}".rstrip(".")
    return (
        None,
        f"{example} may have the day or the month first, as no day is after the 12th: {_CHOOSE_DATES}",
    )


_CHOOSE_DATES = "say which to read it as a date"


def likely_spelling(texts: pa.Array, kind: pa.DataType, conventions: Conventions) -> Spelling:
    """Return the rules for reading texts as a type chosen by the user, derived from those that may fit it."""
    present = pc.utf8_trim_whitespace(pc.drop_null(texts))
    if pa.types.is_temporal(kind):
        if _any_matches(present.slice(0, _GLIMPSE), month_names.SIGNS):
            return Spelling(order=MONTH_NAMES)
        dated = present.filter(pc.match_substring_regex(present, _DAY_AND_TIME))
        order = _order_of(dated, conventions)[0] if len(dated) else None
        return Spelling(order=order or conventions.dates or conventions.date_order or YEAR_FIRST)
    plain = pc.replace_substring_regex(present, _CURRENCY + "$", "")
    numbers = plain.filter(pc.match_substring_regex(plain, _NUMBER_SIGNS))
    ways = _ways_to_write(numbers, conventions) if len(numbers) else []
    if not ways and conventions.has_comma:
        ways = [(COMMA, POINT)]
    return Spelling(*ways[0]) if ways else Spelling()


def evidence(kinds: Sequence[pa.DataType], conventions: Conventions) -> Conventions:
    """Return the conventions with evidence from columns of these types."""
    spellings = [kind.spelling for kind in kinds if isinstance(kind, SpelledType)]
    orders = {spelling.order for spelling in spellings if spelling.order in _ORDERS}
    comma = any(s.decimal == COMMA for s in spellings)
    points = any(s.thousands == COMMA for s in spellings)
    return replace(
        conventions,
        has_comma=comma and not points,
        date_order=orders.pop() if len(orders) == 1 else None,
    )


def revise(kind: pa.DataType, texts: pa.Array, conventions: Conventions) -> pa.DataType:
    """Return the type of values that read as `kind` by the plain rules, given evidence from other columns:
    1.234 beside decimal commas is a thousand."""
    if pa.types.is_floating(kind) and (conventions.decimal == COMMA or conventions.has_comma):
        if not _any_matches(texts, r"\."):
            return kind
        if conventions.decimal is None and _any_matches(texts, _SURE_POINT):
            return kind
        return guess(texts, conventions).kind or (pa.string() if conventions.decimal else kind)
    if conventions.zone and pa.types.is_timestamp(kind) and kind.tz is None:
        zone = conventions.zone
        return SpelledType(pa.timestamp(kind.unit, zone), Spelling(order=YEAR_FIRST, zone=zone))
    return kind


_DOUBTFUL = r"^-?[1-9][0-9]{0,2}[.,][0-9]{3}$"


def by_other_columns(before: Guess, after: Guess, texts: pa.Array) -> Guess:
    """Return the second guess; if it changes the values, as of 1.234, a note says so."""
    kind = after.kind
    if after.note or kind == before.kind or not (isinstance(kind, SpelledType) and kind.is_number):
        return after
    example = _first_doubtful(texts)
    if example is None:
        return after
    (value,) = kind.convert(from_values([example], pa.string())).to_pylist()
    return replace(after, note=f"{example} is read as {value:.15g}, as another column has decimal commas")


def saying_doubt(guess: Guess, texts: pa.Array) -> Guess:
    """Return the guess, with a note if all doubles might be whole numbers with points between thousands."""
    if guess.kind != pa.float64() or _any_matches(
        texts, r"^\s*-?(?:0|[0-9]*\.(?:[0-9]{0,2}$|[0-9]{4})|[0-9]{4})|[eE]"
    ):
        return guess
    example = _first_doubtful(texts)
    if example is None:
        return guess
    what = f"{example} may be {example.replace('.', '')}, too: say how numbers are written if it is"
    return replace(guess, note=" ".join(filter(None, (guess.note, what))))


def _first_doubtful(texts: pa.Array) -> str | None:
    doubtful = texts.filter(pc.match_substring_regex(texts, _DOUBTFUL))
    return str(doubtful[0].as_py()) if len(doubtful) else None


def join(a: pa.DataType, b: pa.DataType) -> pa.DataType:
    """Return the narrowest type for both, of which at least one is `SpelledType`."""
    for kind in (a, b):
        if isinstance(kind, SpelledType) and kind.spelling.is_forced:
            return kind
    for kind, partner in ((a, b), (b, a)):
        if isinstance(kind, SpelledType) and pa.types.is_boolean(kind.storage_type):
            number = (
                partner.is_number
                if isinstance(partner, SpelledType)
                else partner in (pa.int64(), pa.float64())
            )
            return partner if number else pa.string()  # words such as 1 and 0 are numbers, too
    spelled, partner = (a, b) if isinstance(a, SpelledType) else (b, a)
    if isinstance(partner, SpelledType):
        return _join_spellings(spelled, partner)
    if spelled.is_number:
        return spelled if partner == pa.int64() else pa.string()
    same = partner == spelled.storage_type and spelled.spelling.order != ""
    return spelled if same else pa.string()


def _join_spellings(a: SpelledType, b: SpelledType) -> pa.DataType:
    if not (a.is_number and b.is_number):
        return _join_dates(a, b)
    thousands = {a.spelling.thousands, b.spelling.thousands} - {""}
    if a.spelling.decimal != b.spelling.decimal or len(thousands) > 1:
        return pa.string()
    kind = a.storage_type if a.storage_type == b.storage_type else pa.float64()
    return SpelledType(kind, Spelling(a.spelling.decimal, "".join(thousands)))


def _join_dates(a: SpelledType, b: SpelledType) -> pa.DataType:
    orders = {a.spelling.order, b.spelling.order} - {YEAR_FIRST}
    kinds = (a.storage_type, b.storage_type)
    are_times = all(map(pa.types.is_timestamp, kinds)) and a.spelling.zone == b.spelling.zone
    if len(orders) > 1 or not (are_times or kinds[0] == kinds[1]):
        return pa.string()
    finer = next((kind for kind in kinds if are_times and kind.unit == "ns"), kinds[0])
    return SpelledType(finer, (a if a.spelling.order in orders or not orders else b).spelling)
