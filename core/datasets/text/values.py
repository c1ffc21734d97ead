"""Columns of text given the type that all their values have, or left as they are.

What counts as what, in the order it is tried:
    boolean    true and false, in any case
    integer    64 bits, written without sign +, leading zeros or blanks between
    double     decimals that a double gives back; nan and inf beside real numbers
    date       2013-01-31
    timestamp  2013-01-31 10:00, with seconds and fraction or without; T for the blank; UTC when zoned
    text       everything else, unchanged
An empty field is null. In a column of numbers, dates or booleans an empty quoted field and the markers
below are null too and blanks around a value are ignored; in a column of text all of them stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pyarrow as pa
import pyarrow.compute as pc

from core.arrays import from_values
from core.datasets.text.numbers import doubles, integers
from core.widening import common_type

NULL_MARKERS = ("", "NA", "N/A", "n/a", "NULL", "Null", "null", "None", "none", "\\N", "<NA>", "NaT")
_SHORTEST_TIMESTAMP = len("2013-01-31 10:00")
_ZONED = pa.timestamp("us", "UTC")

Reader = Callable[[pa.Array], "pa.Array | None"]


def read_as(texts: pa.Array, kind: pa.DataType) -> pa.Array | None:
    """`texts` as `kind`, or None when a value would be lost or changed by that."""
    if pa.types.is_string(kind):
        return texts
    if pa.types.is_null(kind):
        return pa.nulls(len(texts), pa.string()) if texts.null_count == len(texts) else None
    values = _READERS[kind](texts)
    if values is not None:
        return values
    cleaned = _cleaned(texts)
    return None if cleaned is None else _READERS[kind](cleaned)


def find_type(texts: pa.Array) -> pa.DataType:
    """The first type that fits every value; null when there is none to tell by."""
    if texts.null_count == len(texts):
        return pa.null()
    cleaned = _cleaned(texts)
    plain = texts if cleaned is None else cleaned
    if plain.null_count == len(plain):
        return pa.string()
    for kind, read in _READERS.items():
        values = read(plain)
        if values is not None and not _only_specials(values):
            return kind
    return pa.string()


def widen(kind: pa.DataType, texts: pa.Array) -> pa.DataType:
    """A type for values of `kind` and for `texts`, which do not fit it."""
    found = find_type(texts)
    return join(kind, found)


def join(a: pa.DataType, b: pa.DataType) -> pa.DataType:
    """The narrowest type for both whose values are told apart by `read_as`; text at the end of every way."""
    if {a, b} == {pa.int64(), pa.float64()}:
        return pa.float64()
    if pa.types.is_date(a) != pa.types.is_date(b):
        return _other(a, b) if pa.null() in (a, b) else pa.string()
    return common_type(a, b) or pa.string()


def _other(a: pa.DataType, b: pa.DataType) -> pa.DataType:
    return b if pa.types.is_null(a) else a


def _only_specials(values: pa.Array) -> bool:
    """A column of nothing but 'nan' and 'inf' is rather one of names."""
    return pa.types.is_floating(values.type) and not pc.any(pc.is_finite(values)).as_py()


def _cleaned(texts: pa.Array) -> pa.Array | None:
    """Without the blanks around values and without null markers; None when there are none."""
    trimmed = pc.utf8_trim_whitespace(texts)
    missing = pc.is_in(trimmed, value_set=_markers())
    if not pc.any(missing).as_py() and trimmed.equals(texts):
        return None
    return pc.if_else(missing, pa.nulls(len(texts), pa.string()), trimmed)


@cache
def _markers() -> pa.Array:
    return from_values(NULL_MARKERS, pa.string())


def _booleans(texts: pa.Array) -> pa.Array | None:
    return _cast(texts, pa.bool_()) if _lengths_within(texts, 4, 5) else None


def _dates(texts: pa.Array) -> pa.Array | None:
    return _cast_dated(texts, pa.date32()) if _lengths_within(texts, 10, 10) else None


def _timestamps(kind: pa.DataType) -> Reader:
    def read(texts: pa.Array) -> pa.Array | None:
        return _cast_dated(texts, kind) if _lengths_within(texts, _SHORTEST_TIMESTAMP, 40) else None

    return read


def _lengths_within(texts: pa.Array, shortest: int, longest: int) -> bool:
    found = pc.min_max(pc.binary_length(texts)).as_py()
    return found["min"] is None or (found["min"] >= shortest and found["max"] <= longest)


def _cast_dated(texts: pa.Array, kind: pa.DataType) -> pa.Array | None:
    """Python, and so most of what shows a date, knows no year 0."""
    return None if pc.any(pc.starts_with(texts, "0000")).as_py() else _cast(texts, kind)


def _cast(texts: pa.Array, kind: pa.DataType) -> pa.Array | None:
    try:
        return pc.cast(texts, kind)
    except pa.ArrowInvalid:
        return None


_READERS: dict[pa.DataType, Reader] = {
    pa.bool_(): _booleans,
    pa.int64(): integers,
    pa.float64(): doubles,
    pa.date32(): _dates,
    pa.timestamp("us"): _timestamps(pa.timestamp("us")),
    pa.timestamp("ns"): _timestamps(pa.timestamp("ns")),
    _ZONED: _timestamps(_ZONED),
}
