"""MongoDB's names and numbers of types, and the words that filters have for them."""

from __future__ import annotations

from typing import Any

from lamella.core.filters.type_words import NULL, WORDS

_WORDS: dict[str, tuple[str, ...]] = {
    "double": ("float",),
    "string": ("text",),
    "object": ("struct", "map"),
    "array": ("list",),
    "binData": ("binary",),
    "bool": ("boolean",),
    "date": ("date", "timestamp"),
    "int": ("integer",),
    "long": ("integer",),
}
_NUMBERS = {
    1: "double",
    2: "string",
    3: "object",
    4: "array",
    5: "binData",
    8: "bool",
    9: "date",
    10: "null",
    16: "int",
    18: "long",
    19: "decimal",
}
NAMES: dict[str, tuple[str, ...]] = {
    "number": ("number",),
    "integer": ("int", "long"),
    "float": ("double",),
    "decimal": ("decimal",),
    "text": ("string",),
    "boolean": ("bool",),
    "timestamp": ("date",),
    "date": ("date",),
    "binary": ("binData",),
    "list": ("array",),
    "struct": ("object",),
    "map": ("object",),
    NULL: ("null",),
}
"""What MongoDB calls the words that it has a name for."""


def words_for(name: Any) -> tuple[str, ...]:
    """What is not known is given back: it is refused where the filter meets a column."""
    called = _NUMBERS.get(name, name) if isinstance(name, int) and not isinstance(name, bool) else name
    if not isinstance(called, str):
        return (repr(called),)
    if called in WORDS and called not in _WORDS:
        return (called,)
    return _WORDS.get(called, (called,))
