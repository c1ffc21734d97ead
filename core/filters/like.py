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
            parts.append(_literal(pattern[place]))
        else:
            parts.append({"%": ".*", "_": "."}.get(char) or _literal(char))
        place += 1
    return r"(?s)\A" + "".join(parts) + r"\z"


def _literal(char: str) -> str:
    return r"\x00" if char == "\0" else re.escape(char)
