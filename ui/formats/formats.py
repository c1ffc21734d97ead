"""ONE table of the formats of columns: what each is for, its options, and how it writes a value. Copying,
filtering, editing and exporting use the value itself."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from decimal import MAX_EMAX, MIN_EMIN, ROUND_HALF_UP, Context, Decimal, InvalidOperation
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import pyarrow as pa

from lamella.core.filters.cell_texts import Texts, whole_texts
from lamella.core.filters.kinds import ALL_KINDS, NUMBERS, Kind, kind_of, value_type
from lamella.core.query.steps import (
    Buckets,
    Compute,
    Group,
    Limit,
    Pivot,
    Sample,
    Select,
    Sort,
    Step,
    Where,
)
from lamella.ui.formats.shading import Shading
from lamella.ui.grid.texts import ROUNDED_MARK, screen_texts

MOST_DIGITS = 20
LARGEST_PLAIN = 10**21
"""From here on, a number has an exponent in every format."""

MOST_ZEROS = 15
"""The most zeros between the decimal point and the first other digit in a number without an exponent."""

ROUNDED_DIGITS = 3
LEAST_PLAIN, MOST_PLAIN = -5, 15
"""Powers of ten between which a rounded number has no exponent."""

EXACT = Context(prec=400, rounding=ROUND_HALF_UP, Emax=MAX_EMAX, Emin=MIN_EMIN)
SEPARATORS = {
    "none": ("", "."),
    "comma": (",", "."),
    "space": ("\u202f", "."),
    "space_comma": ("\u202f", ","),
    "point": (".", ","),
    "apostrophe": ("’", "."),
}
"""The separators between thousands, and before the decimals."""

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
MOMENT = re.compile(r"(-?\d{4,})-(\d\d)-(\d\d)(?:[ T](\d\d):(\d\d):(\d\d)(\.\d+)?)?(.*)")
CLOCK = re.compile(r"(\d\d):(\d\d):(\d\d)(\.\d+)?(.*)")
SECOND, MINUTE, HOUR, DAY = 1, 60, 3600, 86_400
UNITS = {"ms": Decimal("0.001"), "s": Decimal(1), "min": Decimal(MINUTE), "h": Decimal(HOUR)}
PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
BINARY_SIZES = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
DECIMAL_SIZES = ("B", "KB", "MB", "GB", "TB", "PB", "EB")


@dataclass(frozen=True)
class Format:
    """How a column is shown. `kind` is one of `FORMATS`; options that the kind does not have are ignored.

    `digits` counts decimal places, `significant` digits from the first one that is not 0; None for as many as
    the value has. `shading` colours the cells.
    """

    kind: str = "plain"
    separators: str = "none"
    digits: int | None = None
    significant: int | None = None
    prefix: str = ""
    suffix: str = ""
    sizes: str = "binary"
    date: str = "iso"
    time: str = "full"
    zone: str = ""
    unit: str = "s"
    span: str = "clock"
    align: str = ""
    shading: Shading | None = None

    def to_json(self) -> dict[str, Any]:
        """The options that differ from their defaults."""
        usual = Format()
        options = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "shading"}
        options = {name: value for name, value in options.items() if value != getattr(usual, name)}
        return {**options, "shading": self.shading.to_json()} if self.shading is not None else options

    @staticmethod
    def from_json(obj: Any) -> Format:
        """The format that `to_json` wrote. Raises ValueError for anything else."""
        if not isinstance(obj, Mapping):
            raise ValueError(f"a format must be an object, not {obj!r}")
        options = dict(obj)
        shading = Shading.from_json(options.pop("shading")) if "shading" in options else None
        for name, value in options.items():
            if name not in CHOICES and name not in ("digits", "significant", "prefix", "suffix", "zone"):
                raise ValueError(f"a format has no '{name}'")
            _check(name, value)
        return Format(**options, shading=shading)


def _check(name: str, value: Any) -> None:
    if name in ("digits", "significant"):
        low = 0 if name == "digits" else 1
        right = value is None or (type(value) is int and low <= value <= MOST_DIGITS)
    elif name in CHOICES:
        right = isinstance(value, str) and value in CHOICES[name]
    else:
        right = isinstance(value, str) and len(value) <= LONGEST_AFFIX and (value.isprintable() or not value)
    if not right:
        raise ValueError(f"'{name}' of a format cannot be {value!r}")


LONGEST_AFFIX = 60


# ------------------------------------------------------------------------- numbers


def formatted_number(value: Decimal, form: Format) -> str:
    """A number with separators, rounded as the format says. A value that would look like 0 but is not gets a
    mark."""
    is_tiny = bool(value) and form.digits is None and value.adjusted() < -MOST_ZEROS
    if is_tiny or abs(value) >= LARGEST_PLAIN:
        return scientific_text(value, form)
    rounded = _round(value, form)
    text = _separate(f"{rounded.copy_abs():,f}", form)
    if rounded == 0 and value != 0:
        return f"{ROUNDED_MARK}{text}"
    return f"-{text}" if rounded < 0 else text


def _round(value: Decimal, form: Format) -> Decimal:
    if form.digits is not None:
        return value.quantize(Decimal(1).scaleb(-form.digits), context=EXACT)
    if form.significant is not None:
        places = form.significant - 1 - value.adjusted() if value else 0
        return value if -int(value.as_tuple().exponent) <= places else (
            value.quantize(Decimal(1).scaleb(-places), context=EXACT))  # fmt: skip
    return value


def _separate(text: str, form: Format) -> str:
    """Apply the separators to a number as Python writes it: 1,234.5."""
    thousands, point = SEPARATORS[form.separators]
    whole, dot, fraction = text.partition(".")
    return whole.replace(",", thousands) + (point + fraction if dot else "")


def rounded_text(value: Decimal, form: Format) -> str:
    """A number with three decimal places, or more if fewer than three digits would be significant; in full if
    that is shorter, and with an exponent if it is very large or small."""
    size = value.adjusted() if value else 0
    if not LEAST_PLAIN <= size < MOST_PLAIN:
        return scientific_text(value, Format(digits=ROUNDED_DIGITS))
    digits = max(ROUNDED_DIGITS, ROUNDED_DIGITS - 1 - size)
    is_longer = -int(value.as_tuple().exponent) > digits
    return formatted_number(value, _separated_digits(digits) if is_longer else SEPARATED_NUMBER)


@lru_cache(maxsize=MOST_DIGITS)
def _separated_digits(digits: int) -> Format:
    return replace(SEPARATED_NUMBER, digits=digits)


def _number(value: Decimal, form: Format) -> str:
    return with_affixes(formatted_number(value, form), form)


def with_affixes(text: str, form: Format) -> str:
    """A number with prefix and suffix; the prefix follows the sign: -€5."""
    mark, digits = (text[0], text[1:]) if text[:1] in ("-", ROUNDED_MARK) else ("", text)
    return f"{mark}{form.prefix}{digits}{form.suffix}"


def _percent(value: Decimal, form: Format) -> str:
    return formatted_number(value.scaleb(2, context=EXACT), form) + " %"


def scientific_text(value: Decimal, form: Format) -> str:
    """A number with `digits` decimal places in its mantissa, or all it has."""
    if form.significant is not None and form.digits is None:
        form = replace(form, digits=form.significant - 1)
    if not value:
        return f"{value:.{form.digits or 0}f}e+0"
    exact = value.normalize(EXACT)
    places = len(exact.as_tuple().digits) - 1 if form.digits is None else form.digits
    mantissa = exact.scaleb(-exact.adjusted(), context=EXACT).quantize(
        Decimal(1).scaleb(-places), context=EXACT
    )
    exponent = exact.adjusted()
    if abs(mantissa) >= 10:  # 9.99 was rounded up
        mantissa, exponent = mantissa.scaleb(-1, context=EXACT).quantize(
            Decimal(1).scaleb(-places), context=EXACT), exponent + 1  # fmt: skip
    point = SEPARATORS[form.separators][1]
    return f"{mantissa:f}".replace(".", point) + f"e{exponent:+d}"


def bytes_text(value: Decimal, form: Format) -> str:
    names, step = (BINARY_SIZES, 1024) if form.sizes == "binary" else (DECIMAL_SIZES, 1000)
    place, scaled = 0, value
    digits = 1 if form.digits is None else form.digits
    form = replace(form, digits=digits, significant=None)
    while place < len(names) - 1 and abs(_round(scaled, form)) >= step:
        place, scaled = place + 1, EXACT.divide(scaled, Decimal(step))
    if place == 0 and value == value.to_integral_value():
        form = replace(form, digits=0)
    return f"{formatted_number(scaled, form)} {names[place]}"


# ------------------------------------------------------------------------- durations


def span_text(seconds: Decimal, form: Format) -> str:
    """A duration: 26:03:04, 1 d 02:03:04, or 1 d 2 h 3 min."""
    exact = seconds if form.digits is None else seconds.quantize(
        Decimal(1).scaleb(-form.digits), context=EXACT)  # fmt: skip
    sign, magnitude = ("-" if exact < 0 else ""), exact.copy_abs()
    whole = int(magnitude)
    fraction = f"{EXACT.subtract(magnitude, Decimal(whole)):f}".partition(".")[2]
    fraction = fraction if form.digits is not None else fraction.rstrip("0")
    behind = f".{fraction}" if fraction else ""
    minutes, second = divmod(whole, MINUTE)
    hours, minute = divmod(minutes, 60)
    if form.span == "clock":
        return f"{sign}{hours}:{minute:02}:{second:02}{behind}"
    days, hour = divmod(hours, 24)
    if form.span == "days":
        return f"{sign}{days} d {hour:02}:{minute:02}:{second:02}{behind}"
    parts = [f"{n} {unit}" for n, unit in ((days, "d"), (hour, "h"), (minute, "min")) if n]
    if second or fraction.strip("0") or not parts:
        parts.append(f"{second}{behind} s")
    return sign + " ".join(parts)


def _number_span(value: Decimal, form: Format) -> str:
    return span_text(EXACT.multiply(value, UNITS[form.unit]), form)


# --------------------------------------------------------------------- dates and times


def moment_text(text: str, form: Format) -> str:
    """A date or time from its ISO form; other text stays unchanged."""
    match = MOMENT.fullmatch(text)
    if match is None:
        return text
    year, month, day, hour, minute, second, fraction, zone = match.groups()
    date = _day(year, month, day, form)
    if hour is None or form.time == "none":
        return date
    clock = _clock(hour, minute, second, fraction, form)
    return f"{date} {clock}{zone}"


def _day(year: str, month: str, day: str, form: Format) -> str:
    name = MONTHS[int(month) - 1]
    return {
        "iso": f"{year}-{month}-{day}",
        "day_slash": f"{day}/{month}/{year}",
        "day_point": f"{day}.{month}.{year}",
        "day_name": f"{day} {name} {year}",
        "name_day": f"{name} {day}, {year}",
        "month": f"{name} {year}",
    }[form.date]


def _clock(hour: str, minute: str, second: str, fraction: str | None, form: Format) -> str:
    if form.time == "minutes":
        return f"{hour}:{minute}"
    return f"{hour}:{minute}:{second}{(fraction or '') if form.time == 'full' else ''}"


def clock_text(text: str, form: Format) -> str:
    match = CLOCK.fullmatch(text)
    if match is None or form.time == "none":
        return text
    hour, minute, second, fraction, zone = match.groups()
    return _clock(hour, minute, second, fraction, form) + zone


# ------------------------------------------------------------------------------ table


def _plain(values: pa.ChunkedArray | pa.Array, form: Format) -> Texts:
    return screen_texts(values)


def _of_numbers(write: Callable[[Decimal, Format], str]) -> Callable[[Any, Format], Texts]:
    """Apply a number format; NaN and the infinities stay unchanged."""

    def texts(values: pa.ChunkedArray | pa.Array, form: Format) -> Texts:
        written: Texts = []
        for text in whole_texts(values):
            finite = text is not None and text[-1].isdigit()
            written.append(write(Decimal(text), form) if finite and text is not None else text)
        return written

    return texts


def _moments(values: pa.ChunkedArray | pa.Array, form: Format) -> Texts:
    type_ = value_type(values.type)
    if form.zone and pa.types.is_timestamp(type_) and type_.tz is not None and is_zone(form.zone):
        values = values.cast(pa.timestamp(type_.unit, form.zone))
    return [None if text is None else moment_text(text, form) for text in whole_texts(values)]


def _clocks(values: pa.ChunkedArray | pa.Array, form: Format) -> Texts:
    return [None if text is None else clock_text(text, form) for text in whole_texts(values)]


def _spans(values: pa.ChunkedArray | pa.Array, form: Format) -> Texts:
    per = Decimal(PER_SECOND[value_type(values.type).unit])
    counts = values.cast(pa.int64()).to_pylist()
    return [None if n is None else span_text(EXACT.divide(Decimal(n), per), form) for n in counts]


def is_zone(name: str) -> bool:
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True


@dataclass(frozen=True)
class FormatKind:
    """A row of the table. `options` are the fields of `Format` that it uses; `write` returns one line for
    each value, None for null."""

    id: str
    label: str
    kinds: frozenset[Kind]
    options: tuple[str, ...]
    write: Callable[[Any, Format], Texts]


FORMATS = (
    FormatKind("plain", "As it is", ALL_KINDS, (), _plain),
    FormatKind("number", "Number", NUMBERS, ("separators", "digits", "significant", "prefix", "suffix"),
               _of_numbers(_number)),
    FormatKind("rounded", "Rounded", frozenset({Kind.FLOAT}), (), _of_numbers(rounded_text)),
    FormatKind("percent", "Percent", NUMBERS, ("separators", "digits"), _of_numbers(_percent)),
    FormatKind("bytes", "Bytes", NUMBERS, ("sizes", "digits"), _of_numbers(bytes_text)),
    FormatKind("scientific", "Scientific", NUMBERS, ("digits",), _of_numbers(scientific_text)),
    FormatKind("number_span", "Span of time", NUMBERS, ("unit", "span", "digits"), _of_numbers(_number_span)),
    FormatKind("date", "Date", frozenset({Kind.DATE}), ("date",), _moments),
    FormatKind("moment", "Date and time", frozenset({Kind.TIMESTAMP}), ("date", "time", "zone"), _moments),
    FormatKind("clock", "Time of day", frozenset({Kind.TIME}), ("time",), _clocks),
    FormatKind("span", "Span of time", frozenset({Kind.DURATION}), ("span", "digits"), _spans),
)  # fmt: skip
BY_ID = {entry.id: entry for entry in FORMATS}
AT_POINT = frozenset({"plain", "rounded"})
"""The kinds in which a column's decimal points are aligned."""

CHOICES: dict[str, dict[str, str]] = {
    "kind": {entry.id: entry.label for entry in FORMATS},
    "separators": {"none": "1234.5", "comma": "1,234.5", "space": "1 234.5", "space_comma": "1 234,5",
                   "point": "1.234,5", "apostrophe": "1’234.5"},
    "sizes": {"binary": "KiB, MiB (1,024)", "decimal": "KB, MB (1,000)"},
    "date": {"iso": "2013-12-31", "day_slash": "31/12/2013", "day_point": "31.12.2013",
             "day_name": "31 Dec 2013", "name_day": "Dec 31, 2013", "month": "Dec 2013"},
    "time": {"full": "14:05:09.25", "seconds": "14:05:09", "minutes": "14:05", "none": "No time"},
    "unit": {"s": "Seconds", "ms": "Milliseconds", "min": "Minutes", "h": "Hours"},
    "span": {"clock": "26:03:04", "days": "1 d 02:03:04", "words": "1 d 2 h 3 min"},
    "align": {"": "Default", "left": "Left", "center": "Centred", "right": "Right"},
}  # fmt: skip
"""The values of the options, with their labels."""


def kinds_for(type_: pa.DataType) -> list[FormatKind]:
    """The kinds that fit a type, the plain one first."""
    kind = kind_of(type_)
    return [entry for entry in FORMATS if kind in entry.kinds]


def can_be_shaded(type_: pa.DataType) -> bool:
    return kind_of(type_) in NUMBERS


def fitting(form: Format | None, type_: pa.DataType) -> Format | None:
    """The parts of a format that apply to values of the type; None if none do."""
    if form is None:
        return None
    if kind_of(type_) not in BY_ID[form.kind].kinds:
        form = Format(align=form.align, shading=form.shading)
    if form.shading is not None and not can_be_shaded(type_):
        form = replace(form, shading=None)
    return None if form == Format() else form


SEPARATED_NUMBER = Format("number", "comma")
WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
NO_AMOUNTS = {"year", "yr", "yyyy", "zip", "zipcode", "postcode", "plz", "phone", "isbn", "ean", "gtin"}
NO_AMOUNTS_AT_END = {
    *("id", "ids", "uid", "pid", "key", "code", "number", "no", "nr", "num"),
    *("time", "date", "hhmm", "port", "epoch", "version"),
}
"""Words in the names of columns whose numbers are identifiers or times rather than amounts."""


@lru_cache(maxsize=10_000)
def usual_format(name: str, type_: pa.DataType) -> Format | None:
    """The default format of a column: whole numbers with separators, unless the name says that they are not
    amounts."""
    if not pa.types.is_integer(type_):
        return None
    words = [word.lower() for word in WORDS.findall(name)]
    is_amount = NO_AMOUNTS.isdisjoint(words) and NO_AMOUNTS_AT_END.isdisjoint(words[-1:])
    return SEPARATED_NUMBER if is_amount else None


def form_of(formats: Mapping[str, Format], name: str, type_: pa.DataType) -> Format | None:
    """The chosen format of a column, if it applies to its values."""
    form = formats.get(name)
    return usual_format(name, type_) if form is None else fitting(form, type_)


COMPUTING_AGGREGATES = frozenset({"sum", "avg", "median", "quantile", "stddev", "stddev_pop", "variance"})
"""Aggregates that compute a new number; the others return one of the values."""

KEEPS_FIGURES = (Where, Sort, Select, Limit, Sample, Compute)


def figure_formats(
    steps: Sequence[Step], schema: pa.Schema, figures: Collection[str] = ()
) -> dict[str, Format]:
    """The default formats of floats that groups compute, by name: the last digits of a mean are never of
    interest. `schema` is that of the rows after the steps; `figures` are columns before them that were also
    computed by groups."""
    places = reversed(range(len(steps)))
    place = next((n for n in places if not isinstance(steps[n], KEEPS_FIGURES)), None)
    grouping = None if place is None else steps[place]
    if grouping is None:
        names = set(figures)
    elif isinstance(grouping, Group | Buckets):
        names = {
            name for name, aggregate in grouping.aggregates if aggregate.function in COMPUTING_AGGREGATES
        }
    elif isinstance(grouping, Pivot) and all(
        aggregate.function in COMPUTING_AGGREGATES for _, aggregate in grouping.aggregates
    ):
        names = set(schema.names).difference(grouping.keys)
    else:
        return {}
    for step in steps[place or 0 :]:
        if isinstance(step, Compute):  # a new column of the same name replaces a figure
            names.difference_update(name for name, _ in step.values)
    floats = [field.name for field in schema if kind_of(field.type) is Kind.FLOAT]
    return {name: Format("rounded") for name in floats if name in names}


class FormattedTexts(list[str | None]):
    """The formatted texts of a page of a column. `values` are the texts without the format, with all digits
    of floats if it is a number format, and `numbers` the basis of colours, if it has some."""

    def __init__(
        self, form: Format, texts: Iterable[str | None], values: Texts, numbers: list[float | None]
    ) -> None:
        super().__init__(texts)
        self.form, self.values, self.numbers = form, values, numbers

    def part(self, first: int, count: int) -> FormattedTexts:
        end = first + count
        return FormattedTexts(self.form, self[first:end], self.values[first:end], self.numbers[first:end])

    @property
    def extent(self) -> tuple[float, float] | None:
        """The least and greatest number without NaN; None if there are none."""
        finite = [n for n in self.numbers if n is not None and math.isfinite(n)]
        return (min(finite), max(finite)) if finite else None


def format_texts(values: pa.ChunkedArray | pa.Array, form: Format) -> FormattedTexts:
    is_float = kind_of(values.type) is Kind.FLOAT
    plain = whole_texts(values) if is_float and form.kind != "plain" else screen_texts(values)
    if form == SEPARATED_NUMBER and pa.types.is_integer(values.type):  # ten times as fast as with decimals
        texts: Texts = [None if value is None else f"{value:,}" for value in values.to_pylist()]
    else:
        texts = plain if form.kind == "plain" else BY_ID[form.kind].write(values, form)
    return FormattedTexts(form, texts, plain, [] if form.shading is None else numbers_of(values))


def in_format(text: str, form: Format) -> str:
    """A text of the screen in a format; unchanged if the text does not contain enough of the value."""
    entry = BY_ID[form.kind]
    if entry.write is _spans or entry.id == "plain":
        return text
    try:
        return entry.write(pa.array([text.lstrip(ROUNDED_MARK)]), form)[0] or ""
    except InvalidOperation:
        return text


def numbers_of(values: pa.ChunkedArray | pa.Array) -> list[float | None]:
    if pa.types.is_dictionary(values.type):
        values = values.cast(value_type(values.type))
    return [None if value is None else float(value) for value in values.to_pylist()]
