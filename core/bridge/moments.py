"""Days and times as the text that SQLite's date functions read, and where a text lies among them.

The text of a later moment is the greater one, so any text at all, "2024-05" or "soon", has one place among
the stored numbers. It is found by halving, unless it is the very text of a number.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import pyarrow as pa

from lamella.core.bridge.orders import Numbers
from lamella.core.bridge.wanted import VALUES, Wanted

DIGITS = {"s": 0, "ms": 3, "us": 6, "ns": 9}
"""Behind the point, in a text that has a fraction of a second."""
_EPOCH = dt.datetime(1970, 1, 1)
_FIRST_DAY = dt.date.min.toordinal() - _EPOCH.toordinal()
_LAST_DAY = dt.date.max.toordinal() - _EPOCH.toordinal()
_DAY_SECONDS = 86_400


@dataclass(frozen=True)
class Moments(Numbers):
    """`form` is "day", "moment" or "clock"; `unit` that of the stored numbers, but for days."""

    form: str
    unit: str = "s"

    def compared(self, op: str, low: str, high: str) -> Wanted:
        """Moments outside the years 1 to 9999, whose texts are in no order, are wanted whatever is asked."""
        first, last = self._ends()
        place, met = _place(self, low)
        at_most = min(place if met and op == "<=" else place - 1, last)
        at_least = place + 1 if met and op == ">" else place
        ranges = {
            "=": [(place, place)] if met else [],
            "<>": [(first, place - 1), (place + met, last)],
            "<": [(first, at_most)],
            "<=": [(first, at_most)],
            ">": [(at_least, last)],
            ">=": [(at_least, last)],
        }[op]
        inside = [(a, b) for a, b in ranges if a <= b]
        if inside == [(first, last)]:
            return VALUES
        return Wanted(((None, first - 1), *inside, (last + 1, None)))

    def text(self, number: int) -> str:
        """What SQLite sees of a stored number."""
        if self.form == "day":
            return (_EPOCH + dt.timedelta(days=number)).date().isoformat()
        digits = DIGITS[self.unit]
        seconds, fraction = divmod(number, 10**digits)
        moment = (_EPOCH + dt.timedelta(seconds=seconds)).isoformat(" ")
        text = moment[11:] if self.form == "clock" else moment
        return f"{text}.{fraction:0{digits}}" if fraction else text

    def _ends(self) -> tuple[int, int]:
        second = 10 ** DIGITS[self.unit]
        if self.form == "day":
            return _FIRST_DAY, _LAST_DAY
        if self.form == "clock":
            return 0, _DAY_SECONDS * second - 1
        return _FIRST_DAY * _DAY_SECONDS * second, (_LAST_DAY + 1) * _DAY_SECONDS * second - 1


@lru_cache(1024)
def _place(order: Moments, text: str) -> tuple[int, bool]:
    """The first number whose text is not less, or the one behind the last; and whether it is the same."""
    low, high = order._ends()
    end = high + 1
    guess = _number(order, text)
    if guess is not None and low <= guess < end and order.text(guess) == text:
        return guess, True
    high = end
    while low < high:
        middle = (low + high) // 2
        if order.text(middle) < text:
            low = middle + 1
        else:
            high = middle
    return low, low < end and order.text(low) == text


def _number(order: Moments, text: str) -> int | None:
    """What a text in the usual form stands for, without looking for it; None for other texts."""
    whole, _, fraction = text.partition(".")
    try:
        if order.form == "day":
            return dt.date.fromisoformat(whole).toordinal() - _EPOCH.toordinal()
        moment = dt.datetime.fromisoformat(f"1970-01-01 {whole}" if order.form == "clock" else whole)
        digits = DIGITS[order.unit]
        seconds = (moment.replace(tzinfo=None) - _EPOCH) // dt.timedelta(seconds=1)
        scale: int = 10**digits
        return seconds * scale + int(fraction.ljust(digits, "0")[:digits] or 0)
    except ValueError:
        return None


def day_texts(days: pa.Array) -> list[Any]:
    texts: list[Any] = days.cast(pa.string()).to_pylist()
    return texts


def moment_texts(moments: pa.Array) -> list[Any]:
    """Moments with a zone in UTC."""
    return _without_empty_fraction(moments.cast(pa.timestamp(moments.type.unit)))


def clock_texts(times: pa.Array) -> list[Any]:
    return _without_empty_fraction(times)


def _without_empty_fraction(values: pa.Array) -> list[Any]:
    texts: list[Any] = values.cast(pa.string()).to_pylist()
    digits = DIGITS[values.type.unit]
    if not digits:
        return texts
    empty, cut = "." + "0" * digits, -digits - 1
    return [text[:cut] if text is not None and text.endswith(empty) else text for text in texts]
