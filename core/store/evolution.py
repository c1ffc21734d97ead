"""How a table's columns change: columns that new data adds or widens, and casts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from lamella.core.arrow.arrays import combine_chunks, from_values, take, to_numpy
from lamella.core.arrow.documents import fold_extra_fields
from lamella.core.arrow.ingest import RowBatch, as_block
from lamella.core.arrow.nested_values import python_value
from lamella.core.arrow.types import ID, common_type, exact_cast, inexact, stored_type, wider_type
from lamella.core.errors import BadData, TypeConflict, short_text
from lamella.core.filters.cells import parse_cell
from lamella.core.scan.chunks import BatchValues
from lamella.core.scan.snapshot import Column

DEEPEST = 50
"""The deepest nesting allowed; Arrow cannot read back more than 63 levels."""
LONGEST_SHOWN = 60
MOST_PLANS = 8


@dataclass(frozen=True)
class ColumnPlan:
    """How new data changes a table's columns. `columns` are those of the data, in its order, with the types
    in which they will be stored."""

    columns: tuple[Column, ...]
    added_columns: tuple[Column, ...]
    widened_columns: tuple[Column, ...]

    def apply_to(self, columns: tuple[Column, ...]) -> tuple[Column, ...]:
        """The table's columns once the plan is committed."""
        if not self.widened_columns and not self.added_columns:
            return columns
        wider = {c.key: c for c in self.widened_columns}
        return (*(wider.get(c.key, c) for c in columns), *self.added_columns)

    def by_key(self, values: pa.Table) -> Mapping[int, pa.Array]:
        """The values of the plan's columns, by column id."""
        batches = [] if self._hold_words else values.to_batches()
        if len(batches) == 1:
            return BatchValues(self.keys, batches[0].schema, batches[0])
        return {key: combine_chunks(values.column(place)) for place, key in enumerate(self.keys)}

    @cached_property
    def keys(self) -> tuple[int, ...]:
        return tuple(c.key for c in self.columns)

    @cached_property
    def _hold_words(self) -> bool:
        """Whether any column is a dictionary."""
        return any(pa.types.is_dictionary(c.type) for c in self.columns)


class KnownPlans:
    """Caches plans of data that has the table's own columns and types, for the last few schemas."""

    def __init__(self) -> None:
        self._plans: tuple[tuple[pa.Schema, ColumnPlan], ...] = ()

    def of(self, schema: pa.Schema) -> ColumnPlan | None:
        return next((plan for met, plan in self._plans if met is schema or met.equals(schema)), None)

    def remember(self, schema: pa.Schema, plan: ColumnPlan) -> None:
        self._plans = ((schema, plan), *self._plans[: MOST_PLANS - 1])


def refuse_null_character(table: str, column: str) -> None:
    """Raise `BadData` for a column name that SQLite cannot have."""
    if "\0" in column:
        raise BadData(
            f"{table}: the column name {short_text(column):.200} holds a null character",
            "SQLite and many programs end a name there",
            "Leave it out",
        )


def plan_columns(
    table: str, have: tuple[Column, ...], arriving: RowBatch, take_ids: Callable[[int], int]
) -> ColumnPlan:
    """Plan how the table's columns change to take the arriving data. Raises `TypeConflict` naming the first
    column whose types have nothing in common, with an example value; `BadData` for one that is nested too
    deeply.

    Does not check whether stored values fit the wider types.
    """
    for field in arriving.schema:
        _refuse_deep(table, field)
    columns_by_name = {c.name: c for c in have}
    schema = arriving.schema
    fresh = [f for f in schema if f.name not in columns_by_name and f.name != ID]
    for field in fresh:
        refuse_null_character(table, field.name)
    first = take_ids(len(fresh)) if fresh else 0
    added = {f.name: Column(f.name, stored_type(f.type), first + i) for i, f in enumerate(fresh)}
    fitted = {
        f.name: _widen_column(table, columns_by_name[f.name], arriving)
        for f in schema
        if f.name in columns_by_name
    }
    widened = tuple(c for c in fitted.values() if c != columns_by_name[c.name])
    columns = tuple({**added, **fitted}[f.name] for f in schema if f.name != ID)
    return ColumnPlan(columns, tuple(added.values()), widened)


def wider_columns(before: Sequence[Column], after: Sequence[Column]) -> list[Column]:
    """The columns of `after` whose type has changed."""
    types = {c.key: c.type for c in before}
    return [c for c in after if c.key in types and not types[c.key].equals(c.type)]


def narrow_rows(rows: pa.Table, have: tuple[Column, ...]) -> pa.Table:
    """Convert each column to the table's type if all its values fit: small numbers in int64 do not widen a
    column."""
    types_by_name = {c.name: c.type for c in have}
    columns = [_narrow(rows.column(f.name), types_by_name.get(f.name, f.type)) for f in rows.schema]
    return pa.Table.from_arrays(columns, names=rows.column_names)


def _narrow(values: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    alike = values.type.equals(kind) or wider_type(values.type, kind) is not None
    fits = exact_cast(values, kind) if alike or _both_times(values.type, kind) else None
    return values if fits is None else fits


def to_columns(rows: pa.Table, columns: Sequence[Column]) -> pa.Table:
    """Convert `rows` to these columns, in their order and types; columns not given become null.

    Raises `BadData` naming the column whose values do not all survive.
    """
    if [(f.name, f.type) for f in rows.schema] == [(c.name, c.type) for c in columns]:
        return rows
    by_name = dict(zip(rows.column_names, rows.columns, strict=True))
    arrays = [_column_values(by_name.get(c.name), c, rows.num_rows) for c in columns]
    return pa.Table.from_arrays(arrays, schema=pa.schema([pa.field(c.name, c.type) for c in columns]))


def _column_values(values: pa.ChunkedArray | None, column: Column, rows: int) -> pa.ChunkedArray:
    if values is None:
        return pa.chunked_array([pa.nulls(rows, column.type)])
    values = fold_extra_fields(values, column.type)
    exact = exact_cast(values, column.type)
    if exact is None:
        raise inexact(column.name, values.type, column.type)
    return exact


def as_keys(table: str, rows: pa.Table, columns: Sequence[Column]) -> pa.Table:
    """Convert key values to their columns' types; raise `TypeConflict` or `BadData` if one is of another
    kind."""
    for column in columns:
        _widen_column(table, column, as_block(rows))
    return to_columns(rows, columns)


def _widen_column(table: str, column: Column, arriving: RowBatch) -> Column:
    kind = arriving.schema.field(column.name).type
    wider = wider_type(column.type, kind)
    if wider is None:
        raise TypeConflict(
            f"{table}: column '{column.name}' is {column.type} and cannot take {kind} values"
            f"{_example(arriving.table().column(column.name))}",
            fix="Cast the values, or the column, first",
        )
    return column if wider.equals(column.type) else Column(column.name, stored_type(wider), column.key)


def _example(values: pa.ChunkedArray) -> str:
    """The text for an example: the first value that is not null."""
    place = int(np.argmax(to_numpy(values.is_valid()))) if len(values) else 0
    if not len(values) or not values[place].is_valid:
        return ""
    text = repr(python_value(values[place]))
    return f" such as {text if len(text) <= LONGEST_SHOWN else text[:LONGEST_SHOWN] + '…'}"


def _refuse_deep(table: str, field: pa.Field) -> None:
    if pa.types.is_nested(field.type) and (depth := _depth(field.type)) > DEEPEST:
        raise BadData(
            f"{table}: column '{field.name}' holds values nested {depth} deep",
            f"at most {DEEPEST} levels can be read back",
            "Store them as JSON text",
        )


def _depth(kind: pa.DataType) -> int:
    inside = (kind.field(i).type for i in range(kind.num_fields))
    return 1 + max(map(_depth, inside), default=0) if pa.types.is_nested(kind) else 0


def _both_times(a: pa.DataType, b: pa.DataType) -> bool:
    return bool(pa.types.is_temporal(a) and pa.types.is_temporal(b))


Convert = Callable[[pa.Array], pa.Array | None]
"""Converts an array to the target type, or returns None if a value does not survive."""
_TEXTS = {pa.string(), pa.large_string(), pa.string_view()}
NULLS = "Cast with on_error='null' to turn values that do not fit into null"
_UNITS = {"s": "second", "ms": "millisecond", "us": "microsecond", "ns": "nanosecond"}


class LostValues(Exception):
    """Raised when `value` does not survive the cast; `why` gives the reason, `fix` the way out."""

    def __init__(self, value: str, why: str, fix: str) -> None:
        self.value, self.why, self.fix = value, why, fix
        super().__init__(value)


def is_carried(have: pa.DataType, target: pa.DataType) -> bool:
    """Whether every value survives the cast, and reading applies it, so that no data needs to be written."""
    if types.is_timestamp(have) and types.is_timestamp(target) and have.unit == target.unit:
        return (have.tz is None) == (target.tz is None)
    if types.is_dictionary(have):
        return have.value_type in _TEXTS and target in _TEXTS
    return {have, target} <= _TEXTS or common_type(have, target) == target


def refuse_unrelated_types(table: str, column: str, have: pa.DataType, target: pa.DataType) -> None:
    """Raise `TypeConflict` if no value of one type has a meaning in the other."""
    moment_as_number = any(
        types.is_temporal(a) and (types.is_integer(b) or types.is_floating(b) or types.is_decimal(b))
        for a, b in ((have, target), (target, have))
    )
    if moment_as_number or not (_is_text(have) or _can_cast(have, target)):
        raise TypeConflict(
            f"{table}: column '{column}' is {have} and cannot become {target}",
            "There is no natural conversion between these types",
            "Add a column and fill it with the values you want instead",
        )


DAYS = ("iso", "day first", "month first")
_CENTURIES = ((r"69|[7-9]\d", "19"), (r"[0-5]\d|6[0-8]", "20"))
"""The centuries of years of two digits, as where files are read."""
_NUMBER_SIGNS = (".", ",")
_GROUP_SIGNS = ("", ".", ",", "'", " ", "\u00a0", "\u202f", "_")


@dataclass(frozen=True)
class Notation:
    """How numbers and dates are written in texts: the decimal separator, the thousands separator, and the
    order of day and month in dates such as 31.12.2024."""

    decimal: str = "."
    thousands: str = ""
    dates: str = "iso"

    def refuse(self, column: str, have: pa.DataType) -> None:
        """Raise `BadData` for invalid separators or orders, and if the column is not text."""
        for what, sign, known in (
            ("decimal", self.decimal, _NUMBER_SIGNS),
            ("thousands", self.thousands, _GROUP_SIGNS),
            ("dates", self.dates, DAYS),
        ):
            if sign not in known:
                signs = ", ".join(map(repr, known))
                raise BadData(f"{column}: {what} cannot be {short_text(sign)}", fix=f"Give one of {signs}")
        if self.decimal == self.thousands:
            raise BadData(f"{column}: decimal and thousands are the same character", fix="Change one of them")
        if self != Notation() and not _is_text(have):
            raise BadData(
                f"{column}: decimal, thousands and dates describe text, but this column is {have}",
                fix="Leave them out",
            )

    def texts(self, texts: pa.Array, target: pa.DataType) -> pa.Array:
        """Rewrite texts for Arrow and `parse_cell`; null if a text is not in this notation."""
        if types.is_temporal(target) and self.dates != "iso":
            return self._dates(texts)
        number = types.is_integer(target) or types.is_floating(target) or types.is_decimal(target)
        if number and (self.decimal, self.thousands) != (".", ""):
            return self._numbers(texts)
        return texts

    def _numbers(self, texts: pa.Array) -> pa.Array:
        group = re.escape(self.thousands)
        whole = rf"(?:\d{{1,3}}(?:{group}\d{{3}})+|\d+)" if group else r"\d+"
        point = re.escape(self.decimal)
        pattern = rf"^\s*[+-]?(?:{whole}(?:{point}\d*)?|{point}\d+)(?:[eE][+-]?\d+)?\s*$"
        fits = pc.match_substring_regex(texts, pattern=pattern)
        if group:
            texts = pc.replace_substring(texts, pattern=self.thousands, replacement="")
        texts = pc.replace_substring(texts, pattern=self.decimal, replacement=".")
        return pc.if_else(fits, pc.utf8_trim_whitespace(texts), _null(texts.type))

    def _dates(self, texts: pa.Array) -> pa.Array:
        pattern = r"^\s*(\d{1,2})[./-](\d{1,2})[./-](\d{4})((?:[ T].*)?)\s*$"
        order = r"\3-0\2-0\1\4" if self.dates == "day first" else r"\3-0\1-0\2\4"
        for years, century in _CENTURIES:
            short = rf"^(\s*\d{{1,2}}[./-]\d{{1,2}}[./-])({years})((?:[ T].*)?\s*)$"
            texts = pc.replace_substring_regex(texts, pattern=short, replacement=rf"\1{century}\2\3")
        fits = pc.match_substring_regex(texts, pattern=pattern)
        iso = pc.replace_substring_regex(texts, pattern=pattern, replacement=order)
        iso = pc.replace_substring_regex(iso, pattern=r"^(\d{4})-0(\d\d)-", replacement=r"\1-\2-")
        iso = pc.replace_substring_regex(iso, pattern=r"^(\d{4}-\d\d)-0(\d\d)", replacement=r"\1-\2")
        return pc.if_else(fits, iso, _null(texts.type))


@dataclass(frozen=True)
class Cast:
    """The options of a cast. `lossy`: a value with too much precision becomes the nearest that `to` holds:
    1.7 as int64 is 1, a time its day. `nulls`: a value that does not fit at all becomes null. `notation`: how
    text is written."""

    to: pa.DataType
    lossy: bool = False
    nulls: bool = False
    notation: Notation = Notation()


def cast_values(values: pa.Array, cast: Cast) -> pa.Array:
    """Cast `values`; null stays null. Raises `LostValues` for the first value that does not survive."""
    target, nulls = cast.to, cast.nulls
    if types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    if _is_text(values.type) and not _is_text(target):
        return _parse_texts(values, cast)
    if nulls and types.is_floating(values.type) and types.is_integer(target):
        values = pc.if_else(pc.is_finite(values), values, _null(values.type))
    convert = _converter(values.type, target, cast.lossy)
    return _join(_piecewise(values, convert, lambda value: _unfit(value, cast)), target)


def _piecewise(
    values: pa.Array, convert: Convert, failed: Callable[[pa.Array], pa.Array]
) -> Iterator[pa.Array]:
    """Convert the array as a whole if possible, else halve it around each value that does not survive."""
    waiting = [values]
    while waiting:
        part = waiting.pop()
        converted = convert(part)
        if converted is not None:
            yield converted
        elif len(part) == 1:
            yield failed(part)
        else:
            half = len(part) // 2
            waiting += [part.slice(half), part.slice(0, half)]


def _converter(have: pa.DataType, target: pa.DataType, lossy: bool) -> Convert:
    if _is_text(target):
        return lambda part: _arrow(part, target)  # text loses nothing
    if types.is_temporal(have) and types.is_temporal(target) and _has_zone(have) != _has_zone(target):
        return lambda part: _cast_zone(part, target, lossy)
    if lossy:
        return lambda part: _cut(part, target)
    return lambda part: exact_cast(part, target)


def _arrow(part: pa.Array, target: pa.DataType) -> pa.Array | None:
    try:
        return part.cast(target)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None


def _cast_zone(part: pa.Array, target: pa.DataType, lossy: bool) -> pa.Array | None:
    """Cast between times with and without a zone: a time without one is local time in the target zone;
    removing a zone is lossy."""
    if part.null_count == len(part):
        return pa.nulls(len(part), target)
    if _has_zone(part.type):
        return _cut(pc.local_timestamp(part), target) if lossy else None
    plain = _cut(part, pa.timestamp(target.unit)) if lossy else exact_cast(part, pa.timestamp(target.unit))
    try:
        return None if plain is None else pc.assume_timezone(plain, target.tz)
    except pa.ArrowInvalid:
        return None  # a time that was skipped or repeated when the clocks changed


def _cut(part: pa.Array, target: pa.DataType) -> pa.Array | None:
    """Cut off what is more precise than `target`; None if a value is out of its range."""
    if (exact := exact_cast(part, target)) is not None:
        return exact
    if types.is_integer(target) and types.is_floating(part.type):
        finite = pc.all(pc.is_finite(part), min_count=0).as_py()
        return exact_cast(pc.trunc(part), target) if finite else None
    if types.is_decimal(part.type) and (types.is_integer(target) or types.is_decimal(target)):
        return _arrow(pc.round(part, getattr(target, "scale", 0), "towards_zero"), target)
    if types.is_timestamp(part.type) and (types.is_date(target) or types.is_timestamp(target)):
        unit = "day" if types.is_date(target) else _UNITS[target.unit]
        return exact_cast(pc.floor_temporal(part, unit=unit), target)
    if types.is_floating(target) or types.is_time(target):
        return _nearest(part, target)
    return _arrow(part, target) if types.is_decimal(target) else None


def _nearest(part: pa.Array, target: pa.DataType) -> pa.Array | None:
    try:
        cast = part.cast(target, safe=False)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None
    both = types.is_floating(target) and types.is_floating(part.type)
    return None if both and not pc.is_inf(cast).equals(pc.is_inf(part)) else cast


def _parse_texts(values: pa.Array, cast: Cast) -> pa.Array:
    """Parse text; each distinct text is parsed once."""
    target, notation = cast.to, cast.notation
    encoded = values.cast(pa.large_string()).dictionary_encode()
    parsed_pieces = _piecewise(
        encoded.dictionary, lambda part: _read(part, target, notation), lambda value: _read_value(value, cast)
    )
    parsed = pa.concat_arrays([_join(parsed_pieces, target), pa.nulls(1, target)])
    places = np.where(to_numpy(encoded.is_valid()), to_numpy(encoded.indices), len(parsed) - 1)
    return take(parsed, places.astype(np.int64))


def _read(texts: pa.Array, target: pa.DataType, notation: Notation) -> pa.Array | None:
    """Parse with Arrow, but reject what it accepts too generously: hexadecimal numbers, and infinities."""
    texts = notation.texts(texts, target)
    if texts.null_count:
        return None
    values = _arrow(texts, target)
    if values is None:
        return None
    if types.is_integer(target) and pc.any(pc.match_substring(texts, "x", ignore_case=True)).as_py():
        return None
    endless = types.is_floating(target) and pc.any(pc.is_inf(values)).as_py()
    return None if endless else values


def _read_value(value: pa.Array, cast: Cast) -> pa.Array:
    text, target = value[0].as_py(), cast.to
    plain = cast.notation.texts(value, target)[0].as_py()
    try:
        if plain is None:
            raise BadData(text, "it is written in another notation")
        return from_values([parse_cell(plain, target)], target)
    except BadData as error:
        if cast.nulls:
            return pa.nulls(1, target)
        raise LostValues(repr(text), error.why, NULLS) from error


def _unfit(single: pa.Array, cast: Cast) -> pa.Array:
    if cast.nulls:
        return pa.nulls(1, cast.to)
    value = str(single[0].as_py())
    if _converter(single.type, cast.to, lossy=True)(single) is not None:
        nearest = f"{NULLS}, with lossy=True to cut off excess precision"
        raise LostValues(value, f"it is {single.type}, and {cast.to} cannot hold it exactly", nearest)
    raise LostValues(value, f"it is {single.type}, and {cast.to} has no value near it", NULLS)


def failures(values: pa.Array, cast: Cast) -> np.ndarray:
    """The indices of the values that would become null."""
    values_cast = cast_values(values, replace(cast, nulls=True))
    return np.flatnonzero(to_numpy(values.is_valid()) & ~to_numpy(values_cast.is_valid()))


def reason(value: pa.Array, cast: Cast) -> str:
    """The reason why the single value does not survive; empty if it does."""
    try:
        cast_values(value, replace(cast, nulls=False))
    except LostValues as lost:
        return lost.why
    return ""


def _join(parts: Iterator[pa.Array], target: pa.DataType) -> pa.Array:
    pieces = list(parts)
    return pa.concat_arrays(pieces) if pieces else pa.nulls(0, target)


def _can_cast(have: pa.DataType, target: pa.DataType) -> bool:
    try:
        pa.nulls(0, have).cast(target)
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        return False
    return True


def _is_text(kind: pa.DataType) -> bool:
    return kind in _TEXTS or (types.is_dictionary(kind) and kind.value_type in _TEXTS)


def _null(kind: pa.DataType) -> pa.Scalar:
    """A null scalar, made without `pa.scalar`, which imports pandas."""
    return pa.nulls(1, kind)[0]


def _has_zone(kind: pa.DataType) -> bool:
    return types.is_timestamp(kind) and kind.tz is not None
