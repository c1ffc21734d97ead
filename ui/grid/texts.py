"""Texts of values: one line each for the screen, shortened and rounded where long, or complete for
copying."""

from __future__ import annotations

import re
from enum import Enum

import pyarrow as pa

from lamella.core.errors import visible
from lamella.core.filters.cell_texts import CUT, LENGTH, Texts, whole_texts
from lamella.core.filters.kinds import Kind, kind_of

LONGEST = 200  # characters of one cell on screen; copying takes the whole text
LONGEST_BYTES = 48
FRACTION_DIGITS = re.compile(r"\.(\d+)")
TIME_FRACTION = re.compile(r"(.*\d\d:\d\d:\d\d)(?:\.(\d+))?(.*)$")
BREAK, TAB = "↵", "⇥"  # stand on screen for line breaks and tabs
ROUNDED_MARK = "≈"
EXACT_DIGITS = 15  # decimal digits that a float always preserves; more mostly come from binary rounding
SURELY_EXACT_DIGITS = 13
ROUNDED_DIGITS = 10
DECIMALS = 2  # at least, in a rounded number without an exponent
LARGEST_PLAIN = 1e15
MINUS = "−"
CONTROLS = {
    code: f"\\x{code:02x}" for code in (*range(0x20), 0x7F)
}  # few fonts have glyphs for them, such as ␀ and ␛
STANDS_FOR = frozenset((CUT, BREAK, TAB, ROUNDED_MARK, LENGTH, "\\"))


def screen_texts(values: pa.ChunkedArray | pa.Array) -> Texts:
    """One line for each value, long ones shortened; None stands for null."""
    texts = whole_texts(values, LONGEST_BYTES)
    if kind_of(values.type) is Kind.FLOAT:
        return _short_floats(texts)
    return [_one_line(text) if text else text for text in texts]


def is_whole(text: str) -> bool:
    """Whether a text on screen certainly shows the whole value."""
    return not STANDS_FOR.intersection(text)


def with_minus(text: str) -> str:
    """A number's text as it is drawn. Texts that are copied, searched and edited keep the hyphen."""
    if text.startswith("-"):
        return MINUS + text[1:]
    return f"{ROUNDED_MARK}{MINUS}{text[2:]}" if text.startswith(f"{ROUNDED_MARK}-") else text


def with_hyphen(text: str) -> str:
    """A number's text as it was before it was drawn."""
    return (
        "-" + text[1:] if text.startswith(MINUS) else text.replace(ROUNDED_MARK + MINUS, f"{ROUNDED_MARK}-")
    )


class Fraction(Enum):
    """How the decimal places of a column's texts are aligned."""

    NONE = "none"
    AT_POINT = "at the point"  # floats: numbers with fewer digits end further left
    FILLED = "filled"  # times: filled with zeros up to the most digits in the column


def fraction_of(type_: pa.DataType) -> Fraction:
    kind = kind_of(type_)
    if kind is Kind.FLOAT:
        return Fraction.AT_POINT
    return Fraction.FILLED if kind in (Kind.TIMESTAMP, Kind.TIME) else Fraction.NONE


def fraction_digits(text: str) -> int:
    """The number of decimal places; 0 for a number with an exponent."""
    match = FRACTION_DIGITS.search(text)
    return len(match[1]) if match and "e" not in text else 0


def most_fraction_digits(texts: Texts) -> int:
    return max((fraction_digits(text) for text in texts if text and "." in text), default=0)


def with_fraction_digits(text: str, digits: int) -> str:
    """A time with this many decimal places in its seconds."""
    match = TIME_FRACTION.match(text)
    if not digits or match is None:
        return text
    return f"{match[1]}.{match[2] or '':0<{digits}}{match[3]}"


def _one_line(text: str | None) -> str | None:
    if text is None:
        return None
    cut = text if len(text) <= LONGEST else text[: LONGEST - 1] + CUT
    if cut.isprintable():
        return cut
    line = cut.replace("\r\n", BREAK).replace("\n", BREAK).replace("\r", BREAK).replace("\t", TAB)
    return visible(line.translate(CONTROLS))


def _short_floats(texts: Texts) -> Texts:
    """Floats in full up to 15 digits; longer ones are rounded to ten and marked. Beside a rounded number,
    those of 14 and 15 digits are rounded as well: most of them are binary fractions that happen to end
    early."""
    short = _rounded_beyond(texts, EXACT_DIGITS)
    is_rounded = any(text and text.startswith(ROUNDED_MARK) for text in short)
    return _rounded_beyond(short, SURELY_EXACT_DIGITS) if is_rounded else short


def _rounded_beyond(texts: Texts, digits: int) -> Texts:
    return [_short_float(text, digits) if text and len(text) > digits else text for text in texts]


def _short_float(text: str, most_digits: int) -> str:
    if text.startswith(ROUNDED_MARK):
        return text
    value, digits = float(text), text.partition("e")[0].strip("-").replace(".", "").lstrip("0")
    if len(digits) <= most_digits:
        return text
    whole = len(str(int(abs(value)))) if abs(value) < LARGEST_PLAIN else 0
    rounded = f"{value:.{max(ROUNDED_DIGITS, whole + DECIMALS)}g}"
    return text if float(rounded) == value else f"{ROUNDED_MARK}{rounded}"
