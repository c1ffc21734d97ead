"""SQL's LIKE patterns as RE2 regular expressions."""

from __future__ import annotations

import re

ESCAPE = "\\"


def as_regex(pattern: str) -> str:
    """Matches the whole text; raises ValueError where an escape has nothing to escape."""
    parts, place = [], 0
    while place < len(pattern):
        char = pattern[place]
        if char == ESCAPE:
            place += 1
            if place == len(pattern):
                raise ValueError("the pattern ends with a backslash that escapes nothing")
            parts.append(literal(pattern[place]))
        else:
            parts.append({"%": ".*", "_": "."}.get(char) or literal(char))
        place += 1
    return r"(?s)\A" + "".join(parts) + r"\z"


def literal(text: str) -> str:
    """The regular expression that finds just this."""
    return re.escape(text).replace("\0", r"\x00")
