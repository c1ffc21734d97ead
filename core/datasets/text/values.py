"""Columns of text given the type that all their values have, or left as they are.

What counts as what, in the order it is tried:
    boolean    true and false, in any case
    integer    64 bits, written without sign +, leading zeros or blanks between
    double     decimals that a double gives back; nan and inf beside real numbers
    date       2013-01-31
    timestamp  2013-01-31 10:00, with seconds and fraction or without; T for the blank; UTC when zoned
    text       everything else, unchanged
A double does not have the zeros that 1.10 and 1.100 end in. Prices and measurements stay numbers all the
same, and where the first rows have decimals of different lengths a note on the column says so
(`schema.field("version").metadata`); `open_dataset(path, text_columns=["version"])` keeps them as text.

An empty field is null. In a column of numbers, dates or booleans an empty quoted field and the markers
below are null too and blanks around a value are ignored; in a column of text all of them stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pyarrow as pa
import pyarrow.compute as pc

from lamella.core.arrays import from_values
from lamella.core.datasets.text.numbers import doubles, integers

MARKERS_ALONE, SPECIALS_ALONE = pa.large_string(), pa.string_view()
"""Stand for text that further values may show to be something else: null markers alone, which stand in a
column of any type, and, perhaps beside them, names of doubles that are not finite."""
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
    if is_undecided(kind):
        return texts if join(tentative_type(texts), kind) == kind else None
    values = _READERS[kind](texts)
    if values is not None:
        return values
    cleaned = _cleaned(texts)
    return None if cleaned is None else _READERS[kind](cleaned)


def find_type(texts: pa.Array) -> pa.DataType:
    """The first type that fits every value; null when there is none to tell by."""
    kind = tentative_type(texts)
    return pa.string() if is_undecided(kind) else kind


def tentative_type(texts: pa.Array) -> pa.DataType:
    """The same where more values of the column may follow: undecided where these alone do not tell."""
    if texts.null_count == len(texts):
        return pa.null()
    cleaned = _cleaned(texts)
    plain = texts if cleaned is None else cleaned
    if plain.null_count == len(plain):
        return MARKERS_ALONE
    for kind, read in _READERS.items():
        values = read(plain)
        if values is not None:
            return SPECIALS_ALONE if _only_specials(values) else kind
    return pa.string()


def is_undecided(kind: pa.DataType) -> bool:
    """Whether the column is text only as long as no other values follow."""
    return bool(kind in (MARKERS_ALONE, SPECIALS_ALONE))


def widen(kind: pa.DataType, texts: pa.Array) -> pa.DataType:
    """A type for values of `kind` and for `texts`, which do not fit it; never `kind` itself.

    What joins to `kind` again, as integers that are no doubles do with doubles, has only text in common.
    """
    wide = join(kind, tentative_type(texts))
    return pa.string() if wide.equals(kind) else wide


def join(a: pa.DataType, b: pa.DataType) -> pa.DataType:
    """The narrowest type for both whose values are told apart by `read_as`; text at the end of every way.

    Whether each value fits it is for `read_as` to say: not every integer is a double, and not every
    microsecond lies within the years of nanoseconds.
    """
    kinds = {a, b}
    if len(kinds) == 1:
        return a
    for kind in (pa.null(), MARKERS_ALONE):
        if kind in kinds:
            return _other(kind, a, b)
    if kinds <= {pa.int64(), pa.float64(), SPECIALS_ALONE}:
        return pa.float64()
    if kinds == {pa.timestamp("us"), pa.timestamp("ns")}:
        return pa.timestamp("ns")
    return pa.string()


def _other(kind: pa.DataType, a: pa.DataType, b: pa.DataType) -> pa.DataType:
    return b if a.equals(kind) else a


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
