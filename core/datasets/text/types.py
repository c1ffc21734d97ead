"""Columns of text given the type that all their values have, or left as they are."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cache, reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lamella.core.arrow.arrays import from_values
from lamella.core.datasets.text import regional
from lamella.core.datasets.text.exact_numbers import doubles, integers
from lamella.core.datasets.text.regional import Conventions, Spelled

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
    read = kind.read if isinstance(kind, Spelled) else _READERS[kind]
    values = read(texts)
    if values is not None:
        return values
    cleaned = _cleaned(texts)
    return None if cleaned is None else read(cleaned)


def convert(texts: pa.Array, kind: Spelled) -> tuple[pa.Array, pa.Array | None]:
    """`texts` as a type that a person chose, and which of them are no value of it and so null; None for
    none."""
    cleaned = _cleaned(texts)
    texts = texts if cleaned is None else cleaned
    values = kind.convert(texts)
    if values.null_count == texts.null_count:
        return values, None
    return values, pc.and_(pc.is_valid(texts), pc.is_null(values))


def find_type(texts: pa.Array) -> pa.DataType:
    """The first type that fits every value; null when there is none to tell by."""
    kind = tentative_type(texts)
    return pa.string() if is_undecided(kind) else kind


def tentative_type(texts: pa.Array, conventions: Conventions | None = None) -> pa.DataType:
    """The same where more values of the column may follow: undecided where these alone do not tell. With
    `conventions`, numbers and dates as regions write them have their types, too."""
    return tentative_guess(texts, conventions).kind


def tentative_guess(texts: pa.Array, conventions: Conventions | None) -> regional.Guess:
    """The same with what is to be said of it."""
    if texts.null_count == len(texts):
        return regional.Guess(pa.null())
    cleaned = _cleaned(texts)
    plain = texts if cleaned is None else cleaned
    if plain.null_count == len(plain):
        return regional.Guess(MARKERS_ALONE)
    words = None if conventions is None else regional.guess_boolean(plain, conventions)
    if words is not None:
        return words
    for kind, read in _READERS.items():
        values = read(plain)
        if values is not None and _only_specials(values):
            return regional.Guess(SPECIALS_ALONE)
        if values is not None:
            return regional.Guess(kind if conventions is None else regional.revised(kind, plain, conventions))
    guess = regional.Guess() if conventions is None else regional.guess(plain, conventions)
    return guess if guess.kind is not None else replace(guess, kind=pa.string())


def yes_and_no(texts: pa.Array) -> tuple[str, str] | None:
    """The usual words for yes and no that a column of text holds, where it holds only these."""
    cleaned = _cleaned(texts)
    return regional.yes_and_no(pc.drop_null(texts if cleaned is None else cleaned))


def is_undecided(kind: pa.DataType) -> bool:
    """Whether the column is text only as long as no other values follow."""
    return bool(kind in (MARKERS_ALONE, SPECIALS_ALONE))


def widen(kind: pa.DataType, texts: pa.Array, conventions: Conventions | None = None) -> pa.DataType:
    """A type for values of `kind` and for `texts`, which do not fit it; never `kind` itself.

    What joins to `kind` again, as integers that are no doubles do with doubles, has only text in common.
    """
    wide = join(kind, tentative_type(texts, conventions))
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
    if isinstance(a, Spelled) or isinstance(b, Spelled):
        return regional.join(a, b)
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
    lengths = pc.min_max(pc.binary_length(texts)).as_py()
    return lengths["min"] is None or (lengths["min"] >= shortest and lengths["max"] <= longest)


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


_INT64 = range(-(1 << 63), 1 << 63)


class Inexact(Exception):
    """A value would be changed by the type that was asked for."""


class WrittenFloat(float):
    """A float whose text is not the shortest one, `1.10` or `1e5`, and is kept where the column is text."""

    def __new__(cls, text: str) -> WrittenFloat:
        number = super().__new__(cls, text)
        number.text = text
        return number

    text: str


def column_type(values: Sequence[Any]) -> pa.DataType:
    """The type of a column; strings that are all dates or timestamps make it one of those, and null markers
    alone leave it open."""
    kind = reduce(join_json, (type_of(value) for value in values), pa.null())
    return temporal_or_text(from_values(values, pa.string())) if _all_strings(values, kind) else kind


def temporal_or_text(texts: pa.Array) -> pa.DataType:
    kind = tentative_type(texts)
    return kind if is_read_from_text(kind) else pa.string()


def widen_text(kind: pa.DataType, texts: pa.Array) -> pa.DataType:
    """A type for strings of `kind` and for `texts`, which do not fit it; never `kind` itself."""
    wide = join_json(kind, temporal_or_text(texts))
    return pa.string() if wide.equals(kind) else wide


def is_read_from_text(kind: pa.DataType) -> bool:
    """Whether a column of the type stands in the file as strings that are not just text."""
    return bool(pa.types.is_temporal(kind) or kind == MARKERS_ALONE)


def _all_strings(values: Iterable[Any], kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) and all(value is None or isinstance(value, str) for value in values)


def type_of(value: Any) -> pa.DataType:
    if value is None:
        return pa.null()
    if isinstance(value, bool):
        return pa.bool_()
    if isinstance(value, int):
        return pa.int64() if value in _INT64 else pa.string()
    if isinstance(value, float):
        return pa.float64()
    if isinstance(value, list):
        return pa.list_(reduce(join_json, map(type_of, value), pa.null()))
    if isinstance(value, dict):
        return pa.struct([pa.field(key, type_of(item)) for key, item in value.items()])
    return pa.string()


def join_json(a: pa.DataType, b: pa.DataType) -> pa.DataType:
    """A type for values of both; text, where they are of different kinds."""
    if a.equals(b):
        return a
    if pa.types.is_list(a) and pa.types.is_list(b):
        return pa.list_(join_json(a.value_type, b.value_type))
    if pa.types.is_struct(a) and pa.types.is_struct(b):
        return pa.struct(_join_fields(list(a), list(b)))
    return join(a, b)


def join_column_types(a: pa.DataType, b: pa.DataType) -> pa.DataType:
    """Null markers are strings in JSON: beside anything but dates and times they make a column text."""
    strings = all(pa.types.is_null(kind) or is_read_from_text(kind) for kind in (a, b))
    return join_json(a, b) if strings or MARKERS_ALONE not in (a, b) else pa.string()


def _join_fields(a: list[pa.Field], b: list[pa.Field]) -> list[pa.Field]:
    kinds = {field.name: field.type for field in a}
    for field in b:
        kinds[field.name] = join_json(kinds.get(field.name, pa.null()), field.type)
    return [pa.field(name, kind) for name, kind in kinds.items()]


def solid(kind: pa.DataType) -> pa.DataType:
    """The type that stands for `kind` in a file: text where nothing was ever there to tell by."""
    if isinstance(kind, Spelled):
        return kind.storage_type
    if pa.types.is_null(kind) or is_undecided(kind) or (pa.types.is_struct(kind) and not kind.num_fields):
        return pa.string()
    if pa.types.is_list(kind):
        return pa.list_(solid(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(field.name, solid(field.type)) for field in kind])
    return kind


def needs_fitting(kind: pa.DataType, inside: bool = False) -> bool:
    """Whether only Python can fit values to the type: pyarrow knows no text made from objects, and
    reads lists of nothing but nulls wrongly."""
    if pa.types.is_null(kind):
        return inside
    if pa.types.is_struct(kind):
        return not kind.num_fields or any(needs_fitting(field.type, True) for field in kind)
    return pa.types.is_list(kind) and needs_fitting(kind.value_type, True)


def fit(value: Any, kind: pa.DataType) -> Any:
    """`value` as a Python value of the type; raises `Inexact` rather than change a number."""
    if value is None:
        return None
    if pa.types.is_string(kind):
        written = value.text if isinstance(value, WrittenFloat) else value
        return written if isinstance(written, str) else json.dumps(written, ensure_ascii=False)
    if pa.types.is_list(kind):
        return [fit(item, kind.value_type) for item in value]
    if pa.types.is_struct(kind):
        return {field.name: fit(value.get(field.name), field.type) for field in kind}
    if pa.types.is_floating(kind) and isinstance(value, int) and int(float(value)) != value:
        raise Inexact
    return float(value) if pa.types.is_floating(kind) else value
