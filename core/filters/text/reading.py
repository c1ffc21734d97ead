"""Text to a filter tree, and whether it fits a schema, each mistake shown where it stands."""

from __future__ import annotations

from functools import lru_cache

import pyarrow as pa

from lamella.core.errors import BadFilter, LamellaError, UnknownColumn
from lamella.core.filters.binding import bind
from lamella.core.filters.expr import Filter, Predicate, Reference
from lamella.core.filters.operators import OPERATORS, Takes
from lamella.core.filters.reading import BadValue
from lamella.core.filters.text.lexer import Part, Token
from lamella.core.filters.text.parser import Reader
from lamella.core.filters.text.places import pointing
from lamella.core.filters.text.strays import meant_as_text

KEPT = 256
LONGEST_KEPT = 1_000
"""Characters of a text that is likely to be asked again."""


def parse(text: str, schema: pa.Schema | None = None, name: str = "the data") -> Filter:
    """The tree that `text` spells. Raises `BadFilter` that shows the place.

    With a `schema`, that of the dataset `name`, what does not fit it is refused in the same way, as
    `core.filters.bind` would refuse it: `UnknownColumn` too.
    """
    tree, reader = _known(text) if len(text) <= LONGEST_KEPT else _read(text)
    if schema is not None:
        _refuse_unfit(tree, reader, schema, name)
    return tree


def _read(text: str) -> tuple[Filter, Reader]:
    reader = Reader(text)
    return reader.read(), reader


_known = lru_cache(KEPT)(_read)


def _refuse_unfit(tree: Filter, reader: Reader, schema: pa.Schema, name: str) -> None:
    try:
        bind(tree, schema, name)
    except LamellaError:
        for predicate, spelled in reader.conditions:
            _refuse_one(predicate, spelled, reader.text, schema, name)
        raise


def _refuse_one(predicate: Predicate, spelled: list[Token], text: str, schema: pa.Schema, name: str) -> None:
    try:
        bind(predicate, schema, name)
    except UnknownColumn as error:
        token = _naming(error.name, spelled)
        if token is not spelled[0]:
            raise meant_as_text(error, error.name, text, token) from None
        raise pointing(error, text, token.start, token.stop) from None
    except BadFilter as error:
        named = next((value.name for value in predicate.values if isinstance(value, Reference)), None)
        if named is not None and OPERATORS[predicate.operator].takes is not Takes.COLUMNS:
            raise meant_as_text(error, named, text, _naming(named, spelled)) from None
        first, last = _refused(error, spelled)
        raise pointing(error, text, first.start, last.stop) from None


def _refused(error: BadFilter, spelled: list[Token]) -> tuple[Token, Token]:
    """The value that does not fit, or the whole condition."""
    for token in spelled:
        if isinstance(error, BadValue) and token.part is Part.VALUE and token.value is error.value:
            return token, token
    return spelled[0], spelled[-1]


def _naming(name: str, spelled: list[Token]) -> Token:
    """The last token of this name, for a value stands behind its column."""
    named = (t for t in reversed(spelled) if t.part in (Part.WORD, Part.NAME) and t.value == name)
    return next(named, spelled[0])
