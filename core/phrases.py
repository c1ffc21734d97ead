"""Numbers, sizes and spans of time as people read them, and the case of sentences."""

from __future__ import annotations

_UNITS = ("bytes", "KB", "MB", "GB", "TB", "PB")
_SECOND_MS = 1000


def quantity(count: int, noun: str, plural: str = "") -> str:
    """`1 row`, `2,000 rows`; `plural` where it is not the noun with an s: `2 entries`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {plural or noun + 's'}"


def size_text(size: int) -> str:
    """A number of bytes in three digits: `999 bytes`, `1.5 KB`, `21.3 MB`; a KB is 1,000 bytes."""
    if size < 1000:
        return quantity(size, "byte")
    number, unit = size / 1000, 1
    while number >= 999.5 and unit < len(_UNITS) - 1:  # from here on three digits would round to 1,000
        number, unit = number / 1000, unit + 1
    digits = f"{number:.3g}" if number < 999.5 else f"{number:,.0f}"
    return f"{digits} {_UNITS[unit]}"


def duration_text(seconds: float) -> str:
    """`under 1 ms`, `240 ms`, `3.2 s`."""
    ms = seconds * _SECOND_MS
    if ms >= _SECOND_MS:
        return f"{seconds:.1f} s"
    return f"{ms:.0f} ms" if ms >= 1 else "under 1 ms"


def sentence_case(text: str) -> str:
    """Return the text with its first letter as a capital; the others stay as they are."""
    return text[:1].upper() + text[1:]
