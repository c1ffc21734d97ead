"""Types by the words that people have for them: what `has_type` is asked."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
from pyarrow import types

from lamella.core.errors import nearest
from lamella.core.filters.kinds import NUMBERS, Kind, kind_of, value_type

NULL = "null"


def _of(*kinds: Kind) -> Callable[[pa.DataType], bool]:
    return lambda type_: kind_of(type_) in kinds


WORDS: dict[str, Callable[[pa.DataType], bool]] = {
    "number": _of(*NUMBERS),
    "integer": _of(Kind.INTEGER),
    "float": _of(Kind.FLOAT),
    "decimal": _of(Kind.DECIMAL),
    "text": _of(Kind.TEXT),
    "boolean": _of(Kind.BOOLEAN),
    "date": _of(Kind.DATE),
    "timestamp": _of(Kind.TIMESTAMP),
    "time": _of(Kind.TIME),
    "duration": lambda type_: bool(types.is_duration(value_type(type_))),
    "binary": _of(Kind.BINARY),
    "list": _of(Kind.LIST),
    "struct": lambda type_: bool(types.is_struct(type_)),
    "map": lambda type_: bool(types.is_map(type_)),
}


def asked_types(word: str, type_: pa.DataType) -> tuple[bool, bool]:
    """Whether values of this type are asked for, and whether null is. Raises ValueError."""
    if word not in WORDS and word != NULL:
        guesses = nearest(word, [*WORDS, NULL])
        known = f"Did you mean '{guesses[0]}'?" if guesses else f"There are: {', '.join(WORDS)}, {NULL}"
        raise ValueError(f"there is no type '{word}'. {known}")
    return word != NULL and WORDS[word](type_), word == NULL
