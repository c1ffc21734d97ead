"""Dates with English month names: Jan 1, 2000, 1 January 2000, 01-Jan-2000, 2000-Jan-01."""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from lamella.core.arrow.arrays import from_values

MONTH_NAMES = "month-names"
SIGNS = r"^(?:[0-9]{1,4}(?:st|nd|rd|th)?[ ./-]*[A-Za-z]{3}|[A-Za-z]{3,9}\.?[ ./-]+[0-9])"
"""A pattern for the beginning of such a date."""

_MONTH, _BETWEEN, _DAY, _YEAR = r"[A-Za-z]{3,9}\.?", "[ ./-]+", "[0-9]{1,2}(?:st|nd|rd|th)?", "[0-9]{4}"
_FORMS = (
    rf"(?P<d1>{_DAY})(?P<b1>[ ./-]*)(?P<m1>{_MONTH})(?P<c1>,?[ ./-]*)(?P<y1>{_YEAR})",
    rf"(?P<m2>{_MONTH})(?P<b2>{_BETWEEN})(?P<d2>{_DAY})(?P<c2>,?{_BETWEEN}|,)(?P<y2>{_YEAR})",
    rf"(?P<y3>{_YEAR})(?P<b3>{_BETWEEN})(?P<m3>{_MONTH})(?P<c3>{_BETWEEN})(?P<d3>{_DAY})",
)
_DATE = f"^(?:{'|'.join(_FORMS)})(?P<rest>(?:,? +|T)[0-9].*)?$"
_NAMES = [name.lower() for name in (*calendar.month_name[1:], *calendar.month_abbr[1:], "sept")]
_NUMBERS = [f"{number:02}" for number in (*range(1, 13), *range(1, 13), 9)]


def number_months(texts: pa.Array) -> pa.Array:
    """Return the dates with the month as a number, `2000-01-1`, followed by any rest unchanged; null for
    texts of other forms. Years of two digits are not accepted: 01-Jan-20 may be of any century."""
    parts = pc.extract_regex(texts, _DATE)
    year, month, day = (_join_parts(parts, name) for name in "ymd")
    places = pc.index_in(
        pc.utf8_rtrim(pc.utf8_lower(month), characters="."), value_set=from_values(_NAMES, pa.string())
    )
    number = pc.take(from_values(_NUMBERS, pa.string()), places)
    day = pc.replace_substring_regex(day, "[a-z]+$", "")
    date = pc.binary_join_element_wise(year, number, day, "-")
    return pc.binary_join_element_wise(date, pc.struct_field(parts, "rest"), "")


def _join_parts(parts: pa.StructArray, name: str) -> pa.Array:
    """The part from the form that matches; in the other two forms it is empty."""
    return pc.binary_join_element_wise(*(pc.struct_field(parts, f"{name}{form}") for form in (1, 2, 3)), "")


def day_of(text: str) -> re.Match[str] | None:
    """Match a date; the group `rest` is the text that follows it."""
    return re.match(_DATE, text)


def day_writer(sample: Sequence[re.Match[str]]) -> Callable[[str], str]:
    """Return a function that writes ISO dates in the form of a column's dates; the first one decides."""
    first = sample[0] if sample else re.match(_DATE, "01 Jan 2000")
    assert first is not None
    form = next(number for number in (1, 2, 3) if first[f"y{number}"])
    between, before_last = first[f"b{form}"], first[f"c{form}"]
    months = [parts[f"m{form}"] for parts in sample if parts[f"m{form}"]] or [first[f"m{form}"]]
    names = (
        calendar.month_name if any(len(month.rstrip(".")) > 4 for month in months) else calendar.month_abbr
    )
    days = [parts[f"d{form}"] for parts in sample if parts[f"d{form}"]]
    padded = all(len(day) == 2 for day in days)
    upper, lower, point = months[0].isupper(), months[0].islower(), "." if months[0].endswith(".") else ""

    def write(text: str) -> str:
        match = re.fullmatch(r"([0-9]{4})-([0-9]{2})-([0-9]{2})", text)
        if match is None:
            return text
        year, month, day = match[1], names[int(match[2])], match[3] if padded else match[3].lstrip("0")
        month = (month.upper() if upper else month.lower() if lower else month) + point
        order = {1: (day, month, year), 2: (month, day, year), 3: (year, month, day)}[form]
        return f"{order[0]}{between}{order[1]}{before_last}{order[2]}"

    return write
