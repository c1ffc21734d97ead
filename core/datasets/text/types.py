"""Types of columns of text: inferred if all values fit, else the column stays text."""

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
from lamella.core.datasets.text.regional import Conventions, SpelledType

MARKERS_ALONE, SPECIALS_ALONE = pa.large_string(), pa.string_view()
"""Placeholder types for text whose type later values may decide: nothing but null markers, which fit any
type; and nothing but names of non-finite doubles, perhaps with null markers."""
NULL_MARKERS = ("", "NA", "N/A", "n/a", "#N/A", "NULL", "Null", "null", "None", "none", "\\N", "<NA>", "NaT")
_SHORTEST_TIMESTAMP = len("2013-01-31 10:00")
_ZONED_TIME = pa.timestamp("us", "UTC")

Reader = Callable[[pa.Array], "pa.Array | None"]


def read_as(texts: pa.Array, kind: pa.DataType) -> pa.Array | None:
    """Return `texts` as `kind`, or None if that would lose or change a value."""
    if pa.types.is_string(kind):
        return texts
    if pa.types.is_null(kind):
        return pa.nulls(len(texts), pa.string()) if texts.null_count == len(texts) else None
    if is_undecided(kind):
        return texts if join(tentative_type(texts), kind) == kind else None
    parse = kind.read if isinstance(kind, SpelledType) else _READERS[kind]
    values = parse(texts)
    if values is not None:
        return values
    cleaned = _clean(texts)
    return None if cleaned is None else parse(cleaned)


def convert(texts: pa.Array, kind: SpelledType) -> tuple[pa.Array, pa.Array | None]:
    """Return `texts` as a type chosen by the user, and a mask of those that do not fit and become null; the
    mask is None if there are none."""
    cleaned = _clean(texts)
    texts = texts if cleaned is None else cleaned
    values = kind.convert(texts)
    if values.null_count == texts.null_count:
        return values, None
    return values, pc.and_(pc.is_valid(texts), pc.is_null(values))


def find_type(texts: pa.Array) -> pa.DataType:
    """Return the first type that fits every value; null if there are no values."""
    kind = tentative_type(texts)
    return pa.string() if is_undecided(kind) else kind


def tentative_type(texts: pa.Array, conventions: Conventions | None = None) -> pa.DataType:
    """`find_type` for a column of which more values may follow: undecided if these do not suffice. With
    `conventions`, regional notations of numbers and dates are recognised, too."""
    return tentative_guess(texts, conventions).kind


def tentative_guess(texts: pa.Array, conventions: Conventions | None) -> regional.Guess:
    """`tentative_type` with a note."""
    if texts.null_count == len(texts):
        return regional.Guess(pa.null())
    cleaned = _clean(texts)
    plain = texts if cleaned is None else cleaned
    if plain.null_count == len(plain):
        return regional.Guess(MARKERS_ALONE)
    words = None if conventions is None else regional.guess_boolean(plain, conventions)
    if words is not None:
        return words
    for kind, parse in _READERS.items():
        values = parse(plain)
        if values is not None and _only_specials(values):
            return regional.Guess(SPECIALS_ALONE)
        if values is not None:
            return regional.Guess(kind if conventions is None else regional.revise(kind, plain, conventions))
    guess = regional.Guess() if conventions is None else regional.guess(plain, conventions)
    return guess if guess.kind is not None else replace(guess, kind=pa.string())


def yes_and_no(texts: pa.Array) -> tuple[str, str] | None:
    """Return the usual words for yes and no of a column of text that holds only these; else None."""
    cleaned = _clean(texts)
    return regional.yes_and_no(pc.drop_null(texts if cleaned is None else cleaned))


def is_undecided(kind: pa.DataType) -> bool:
    """Whether the column is text only until later values decide its type."""
    return bool(kind in (MARKERS_ALONE, SPECIALS_ALONE))


def widen(kind: pa.DataType, texts: pa.Array, conventions: Conventions | None = None) -> pa.DataType:
    """Return a type for values of `kind` and for `texts`, which do not fit it; never `kind` itself.

    If both join to `kind` again, as doubles and integers that no double can hold do, the result is text.
    """
    wide = join(kind, tentative_type(texts, conventions))
    return pa.string() if wide.equals(kind) else wide


def join(a: pa.DataType, b: pa.DataType) -> pa.DataType:
    """Return the narrowest type for both; text if there is no other.

    Only `read_as` tells whether every value fits it: not every integer is exact as a double, and not every
    time in microseconds is within the range of nanoseconds.
    """
    kinds = {a, b}
    if len(kinds) == 1:
        return a
    for kind in (pa.null(), MARKERS_ALONE):
        if kind in kinds:
            return _other_type(kind, a, b)
    if isinstance(a, SpelledType) or isinstance(b, SpelledType):
        return regional.join(a, b)
    if kinds <= {pa.int64(), pa.float64(), SPECIALS_ALONE}:
        return pa.float64()
    if kinds == {pa.timestamp("us"), pa.timestamp("ns")}:
        return pa.timestamp("ns")
    return pa.string()


def _other_type(kind: pa.DataType, a: pa.DataType, b: pa.DataType) -> pa.DataType:
    return b if a.equals(kind) else a


def _only_specials(values: pa.Array) -> bool:
    """Whether all doubles are 'nan' or 'inf': such a column probably holds names."""
    return pa.types.is_floating(values.type) and not pc.any(pc.is_finite(values)).as_py()


def _clean(texts: pa.Array) -> pa.Array | None:
    """The texts without surrounding blanks and null markers; None if there are no such."""
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
    return _cast_dates(texts, pa.date32()) if _lengths_within(texts, 10, 10) else None


def _timestamps(kind: pa.DataType) -> Reader:
    def read(texts: pa.Array) -> pa.Array | None:
        return _cast_dates(texts, kind) if _lengths_within(texts, _SHORTEST_TIMESTAMP, 40) else None

    return read


def _lengths_within(texts: pa.Array, shortest: int, longest: int) -> bool:
    lengths = pc.min_max(pc.binary_length(texts)).as_py()
    return lengths["min"] is None or (lengths["min"] >= shortest and lengths["max"] <= longest)


def _cast_dates(texts: pa.Array, kind: pa.DataType) -> pa.Array | None:
    """Cast to a date or time; None if a year is 0, which Python and most programs do not support."""
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
    _ZONED_TIME: _timestamps(_ZONED_TIME),
}


_INT64 = range(-(1 << 63), 1 << 63)


class Inexact(Exception):
    """The requested type would change a value."""


class WrittenFloat(float):
    """A float with its text, which is not the shortest form (`1.10`, `1e5`) and is used if the column becomes
    text."""

    def __new__(cls, text: str) -> WrittenFloat:
        number = super().__new__(cls, text)
        number.text = text
        return number

    text: str


def column_type(values: Sequence[Any]) -> pa.DataType:
    """Return the type of a column. Strings that are all dates or timestamps give that type; nothing but null
    markers leaves it undecided."""
    kind = reduce(join_json, (type_of(value) for value in values), pa.null())
    return temporal_or_text(from_values(values, pa.string())) if _all_strings(values, kind) else kind


def temporal_or_text(texts: pa.Array) -> pa.DataType:
    kind = tentative_type(texts)
    return kind if is_read_from_text(kind) else pa.string()


def widen_text(kind: pa.DataType, texts: pa.Array) -> pa.DataType:
    """Return a type for strings of `kind` and for `texts`, which do not fit it; never `kind` itself."""
    wide = join_json(kind, temporal_or_text(texts))
    return pa.string() if wide.equals(kind) else wide


def is_read_from_text(kind: pa.DataType) -> bool:
    """Whether values of the type are strings in the file that are converted."""
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
    """Return a type for values of both; text if they are of different kinds."""
    if a.equals(b):
        return a
    if pa.types.is_list(a) and pa.types.is_list(b):
        return pa.list_(join_json(a.value_type, b.value_type))
    if pa.types.is_struct(a) and pa.types.is_struct(b):
        return pa.struct(_join_fields(list(a), list(b)))
    return join(a, b)


def join_column_types(a: pa.DataType, b: pa.DataType) -> pa.DataType:
    """Return a type for columns of both. In JSON null markers are strings: beside values other than dates and
    times, they make a column text."""
    strings = all(pa.types.is_null(kind) or is_read_from_text(kind) for kind in (a, b))
    return join_json(a, b) if strings or MARKERS_ALONE not in (a, b) else pa.string()


def _join_fields(a: list[pa.Field], b: list[pa.Field]) -> list[pa.Field]:
    kinds = {field.name: field.type for field in a}
    for field in b:
        kinds[field.name] = join_json(kinds.get(field.name, pa.null()), field.type)
    return [pa.field(name, kind) for name, kind in kinds.items()]


def solid(kind: pa.DataType) -> pa.DataType:
    """Return the stored type for `kind`, which is text if it is undecided."""
    if isinstance(kind, SpelledType):
        return kind.storage_type
    if pa.types.is_null(kind) or is_undecided(kind) or (pa.types.is_struct(kind) and not kind.num_fields):
        return pa.string()
    if pa.types.is_list(kind):
        return pa.list_(solid(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(field.name, solid(field.type)) for field in kind])
    return kind


def needs_fitting(kind: pa.DataType, inside: bool = False) -> bool:
    """Whether values have to be fitted to the type in Python: pyarrow cannot turn objects into text, and
    misreads lists of nothing but nulls."""
    if pa.types.is_null(kind):
        return inside
    if pa.types.is_struct(kind):
        return not kind.num_fields or any(needs_fitting(field.type, True) for field in kind)
    return pa.types.is_list(kind) and needs_fitting(kind.value_type, True)


def fit(value: Any, kind: pa.DataType) -> Any:
    """Return `value` as a Python value of the type. Raises `Inexact` rather than change a number."""
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
