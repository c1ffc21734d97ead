"""Values as text: how each kind is written, and read again as the same value."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Any

from lamella.core.errors import BadFilter
from lamella.core.filters.spans import saved_span, span_ns, span_text
from lamella.core.filters.temporal import (
    moment_from_text,
    moment_text,
    saved_moment,
    saved_time,
    time_from_text,
)
from lamella.core.filters.values import MOST_DIGITS, natural

CONSTANTS: dict[str, Any] = {
    "true": True,
    "false": False,
    "null": None,
    "nan": math.nan,
    "inf": math.inf,
    "infinity": math.inf,
}
"""Words that are values."""

_BARE_MOMENT = re.compile(r"[\d: .-]+(?:[+-]\d{2}:\d{2})?")


def written(value: Any) -> str:
    """Raises `BadFilter` for a value that the language has no form for."""
    value = natural(value)
    for kind, write in _WRITERS:
        if isinstance(value, kind):
            return write(value)
    raise BadFilter(f"{value!r} cannot be written in a condition that is text")


def unquoted(raw: str) -> str:
    return raw[1:-1].replace("''", "'")


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def pattern(raw: str) -> tuple[str, str]:
    r"""`/\d\/\d/i` as the pattern and its flags."""
    body, _slash, flags = raw[1:].rpartition("/")
    return re.sub(r"\\(.)", lambda m: "/" if m[1] == "/" else m[0], body), flags.casefold()


def slashed(regex: str) -> str:
    """`/…/` where that reads back as the same pattern, quoted text elsewhere."""
    raw = "/" + regex.replace("/", "\\/") + "/"
    whole = re.fullmatch(r"/(?:[^/\\\n]|\\[^\n])+/", raw)
    return raw if whole and pattern(raw)[0] == regex else quoted(regex)


def number(raw: str) -> int | float | Decimal:
    """A float where that is the number that was written, else a decimal number: whole ones have to be equal
    to it, fractions the shortest that stand for it."""
    if len(raw) > MOST_DIGITS:
        raise ValueError(f"a number of more than {MOST_DIGITS} digits cannot be compared")
    if raw.lstrip("+-").replace("_", "").isdigit():
        return int(raw)
    exact = Decimal(raw)
    if exact and abs(exact.adjusted()) > MOST_DIGITS:
        raise ValueError(f"a number of more than {MOST_DIGITS} digits cannot be compared")
    near = float(exact)
    if not math.isfinite(near):
        return exact
    return near if (int(near) if near.is_integer() else Decimal(repr(near))) == exact else exact


def moment(raw: str) -> dt.date | str:
    """A date, or a timestamp; as text where it is finer than Python's values are."""
    when, nanoseconds = moment_from_text(" ".join(raw.split()))
    if nanoseconds:
        return raw
    return when if ":" in raw else when.date()


def clock(raw: str) -> dt.time | str:
    when, nanoseconds = time_from_text(raw)
    return raw if nanoseconds % 1000 else when


def typed(raw: str) -> Any:
    """`decimal '1.10'`, `x'00ff'` and the like."""
    kind, quote, text = raw.partition("'")
    return _TYPED[kind.strip().casefold()](unquoted(quote + text))


def _decimal(text: str) -> Decimal:
    try:
        return Decimal(text.strip())
    except InvalidOperation:
        raise ValueError("it is not a number") from None


_TYPED: dict[str, Callable[[str], Any]] = {
    "decimal": _decimal,
    "date": dt.date.fromisoformat,
    "timestamp": saved_moment,
    "time": saved_time,
    "duration": saved_span,
    "x": bytes.fromhex,
}


def _whole(value: int) -> str:
    if abs(value) >= 10**MOST_DIGITS:
        raise BadFilter(f"A number of more than {MOST_DIGITS} digits cannot be compared")
    return str(value)


def _float(value: float) -> str:
    short = repr(value)
    return f"{int(value)}.0" if value.is_integer() and Decimal(short) != int(value) else short


def _timestamp(value: dt.datetime) -> str:
    if getattr(value, "nanosecond", 0):
        return quoted(value.isoformat(sep=" "))
    plain = moment_text(value).replace("T", " ")
    return plain if _BARE_MOMENT.fullmatch(plain) and len(plain) <= 32 else f"timestamp '{plain}'"


_WRITERS: tuple[tuple[type | tuple[type, ...], Callable[[Any], str]], ...] = (
    (type(None), lambda value: "null"),
    (bool, lambda value: "true" if value else "false"),
    (int, _whole),
    (float, _float),
    (str, quoted),
    (Decimal, lambda value: f"decimal '{value}'"),
    ((bytes, bytearray, memoryview), lambda value: f"x'{bytes(value).hex()}'"),
    (dt.datetime, _timestamp),
    (dt.date, dt.date.isoformat),
    (dt.timedelta, lambda value: f"duration '{span_text(span_ns(value))}'"),
    (dt.time, lambda value: f"time '{value.isoformat()}'" if value.tzinfo else value.isoformat()),
)
