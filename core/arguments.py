"""Arguments as people give them, refused before they get anywhere."""

from __future__ import annotations

import operator
from typing import Any

from core.errors import BadData

MOST_ROWS = 2**62
"""No count is larger; two of them still add up to 64 bits."""


def text_of(given: str, what: str) -> str:
    """`given` as it is; raises `BadData` for half a character, which nothing can write down.

    `what` says what the text is: "t: the message".
    """
    try:
        given.encode()
    except UnicodeEncodeError as error:
        raise BadData(
            f"{what} {given!a} holds half a character at position {error.start}",
            "it is not Unicode that can be kept",
            "Leave it out, or decode the bytes that it came from with the right encoding",
        ) from None
    return given


def count_of(given: Any, what: str, least: int = 0) -> int:
    """A number of rows; raises `BadData` for what is no whole number, and for fewer than `least`.

    `what` says what is counted: "t: limit".
    """
    if isinstance(given, bool) or not hasattr(given, "__index__"):
        raise BadData(f"{what} {given!r} is no whole number", fix=f"Give {least} or more")
    number = operator.index(given)
    if number < least:
        raise BadData(f"{what} {number} is less than {least or 'none'}", fix=f"Give {least} or more")
    return min(number, MOST_ROWS)
