"""A column's values as another type: exact, or cut where that was asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from lamella.core.arrow.arrays import from_values, take, to_numpy
from lamella.core.arrow.types import common_type, exact_cast
from lamella.core.errors import BadData, TypeConflict
from lamella.core.filters.cells import parse_cell

Convert = Callable[[pa.Array], pa.Array | None]
"""An array as the type wanted, or None where one of its values does not survive."""
_TEXTS = {pa.string(), pa.large_string(), pa.string_view()}
NULLS = "Cast with on_error='null' to make null of what does not fit"
_UNITS = {"s": "second", "ms": "millisecond", "us": "microsecond", "ns": "nanosecond"}


class LostValues(Exception):
    """`value` does not survive the cast, for the reason given; `fix` is the way out."""

    def __init__(self, value: str, why: str, fix: str) -> None:
        self.value, self.why, self.fix = value, why, fix
        super().__init__(value)


def is_carried(have: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether every value survives whatever it is, and reading casts it: then no data is written."""
    if types.is_timestamp(have) and types.is_timestamp(wanted) and have.unit == wanted.unit:
        return (have.tz is None) == (wanted.tz is None)
    if types.is_dictionary(have):
        return have.value_type in _TEXTS and wanted in _TEXTS
    return {have, wanted} <= _TEXTS or common_type(have, wanted) == wanted


def refuse_unrelated(table: str, column: str, have: pa.DataType, wanted: pa.DataType) -> None:
    """Raise `TypeConflict` where no value of the one type means anything as the other."""
    moment_as_number = any(
        types.is_temporal(a) and (types.is_integer(b) or types.is_floating(b) or types.is_decimal(b))
        for a, b in ((have, wanted), (wanted, have))
    )
    if moment_as_number or not (_is_text(have) or _can_cast(have, wanted)):
        raise TypeConflict(
            f"{table}: column '{column}' is {have} and cannot become {wanted}",
            "No value of the one says what it is as the other",
            "Add a column and fill it with what you want instead",
        )


@dataclass(frozen=True)
class Cast:
    """`lossy`: a value that is too fine becomes the nearest that `to` holds: 1.7 as int64 is 1, a time its
    day. `nulls`: one that does not fit at all becomes null."""

    to: pa.DataType
    lossy: bool = False
    nulls: bool = False


def converted(values: pa.Array, cast: Cast) -> pa.Array:
    """`values` cast; null stays null. Raises `LostValues` for the first value that does not survive."""
    wanted, nulls = cast.to, cast.nulls
    if types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    if _is_text(values.type) and not _is_text(wanted):
        return _parsed(values, wanted, nulls)
    if nulls and types.is_floating(values.type) and types.is_integer(wanted):
        values = pc.if_else(pc.is_finite(values), values, pa.scalar(None, values.type))
    convert = _converter(values.type, wanted, cast.lossy)
    return _joined(_piecewise(values, convert, lambda one: _unfit(one, cast)), wanted)


def _piecewise(
    values: pa.Array, convert: Convert, failed: Callable[[pa.Array], pa.Array]
) -> Iterator[pa.Array]:
    """Whole where it can be, halved around each value that does not survive."""
    waiting = [values]
    while waiting:
        part = waiting.pop()
        made = convert(part)
        if made is not None:
            yield made
        elif len(part) == 1:
            yield failed(part)
        else:
            half = len(part) // 2
            waiting += [part.slice(half), part.slice(0, half)]


def _converter(have: pa.DataType, wanted: pa.DataType, lossy: bool) -> Convert:
    if _is_text(wanted):
        return lambda part: _arrow(part, wanted)  # text says all there is to say
    if types.is_temporal(have) and types.is_temporal(wanted) and _has_zone(have) != _has_zone(wanted):
        return lambda part: _zone_changed(part, wanted, lossy)
    if lossy:
        return lambda part: _cut(part, wanted)
    return lambda part: exact_cast(part, wanted)


def _arrow(part: pa.Array, wanted: pa.DataType) -> pa.Array | None:
    try:
        return part.cast(wanted)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None


def _zone_changed(part: pa.Array, wanted: pa.DataType, lossy: bool) -> pa.Array | None:
    """Times without a zone are the wall clock's in the zone wanted; taking a zone away loses it."""
    if part.null_count == len(part):
        return pa.nulls(len(part), wanted)
    if _has_zone(part.type):
        return _cut(pc.local_timestamp(part), wanted) if lossy else None
    plain = _cut(part, pa.timestamp(wanted.unit)) if lossy else exact_cast(part, pa.timestamp(wanted.unit))
    try:
        return None if plain is None else pc.assume_timezone(plain, wanted.tz)
    except pa.ArrowInvalid:
        return None  # a time that the clocks skipped or showed twice


def _cut(part: pa.Array, wanted: pa.DataType) -> pa.Array | None:
    """Without what is finer than `wanted`; None where a value is out of its range."""
    if (exact := exact_cast(part, wanted)) is not None:
        return exact
    if types.is_integer(wanted) and types.is_floating(part.type):
        finite = pc.all(pc.is_finite(part), min_count=0).as_py()
        return exact_cast(pc.trunc(part), wanted) if finite else None
    if types.is_decimal(part.type) and (types.is_integer(wanted) or types.is_decimal(wanted)):
        return _arrow(pc.round(part, getattr(wanted, "scale", 0), "towards_zero"), wanted)
    if types.is_timestamp(part.type) and (types.is_date(wanted) or types.is_timestamp(wanted)):
        unit = "day" if types.is_date(wanted) else _UNITS[wanted.unit]
        return exact_cast(pc.floor_temporal(part, unit=unit), wanted)
    if types.is_floating(wanted) or types.is_time(wanted):
        return _nearest(part, wanted)
    return _arrow(part, wanted) if types.is_decimal(wanted) else None


def _nearest(part: pa.Array, wanted: pa.DataType) -> pa.Array | None:
    try:
        made = part.cast(wanted, safe=False)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None
    both = types.is_floating(wanted) and types.is_floating(part.type)
    return None if both and not pc.is_inf(made).equals(pc.is_inf(part)) else made


def _parsed(values: pa.Array, wanted: pa.DataType, nulls: bool) -> pa.Array:
    """Text as what it says: each different text is read once."""
    encoded = values.cast(pa.large_string()).dictionary_encode()
    read = _piecewise(
        encoded.dictionary, lambda part: _read(part, wanted), lambda one: _read_one(one, wanted, nulls)
    )
    texts = pa.concat_arrays([_joined(read, wanted), pa.nulls(1, wanted)])
    places = np.where(to_numpy(encoded.is_valid()), to_numpy(encoded.indices), len(texts) - 1)
    return take(texts, places.astype(np.int64))


def _read(texts: pa.Array, wanted: pa.DataType) -> pa.Array | None:
    """What Arrow reads, less what it takes for more than it says: hexadecimal, and numbers without end."""
    made = _arrow(texts, wanted)
    if made is None:
        return None
    if types.is_integer(wanted) and pc.any(pc.match_substring(texts, "x", ignore_case=True)).as_py():
        return None
    endless = types.is_floating(wanted) and pc.any(pc.is_inf(made)).as_py()
    return None if endless else made


def _read_one(one: pa.Array, wanted: pa.DataType, nulls: bool) -> pa.Array:
    text = one[0].as_py()
    try:
        return from_values([parse_cell(text, wanted)], wanted)
    except BadData as error:
        if nulls:
            return pa.nulls(1, wanted)
        raise LostValues(repr(text), error.why, NULLS) from error


def _unfit(one: pa.Array, cast: Cast) -> pa.Array:
    if cast.nulls:
        return pa.nulls(1, cast.to)
    value = str(one[0].as_py())
    if _converter(one.type, cast.to, lossy=True)(one) is not None:
        nearest = f"{NULLS}, with lossy=True to cut what is too fine"
        raise LostValues(value, f"it is {one.type}, and {cast.to} does not hold it exactly", nearest)
    raise LostValues(value, f"it is {one.type}, and {cast.to} has no value near it", NULLS)


def _joined(parts: Iterator[pa.Array], wanted: pa.DataType) -> pa.Array:
    made = list(parts)
    return pa.concat_arrays(made) if made else pa.nulls(0, wanted)


def _can_cast(have: pa.DataType, wanted: pa.DataType) -> bool:
    try:
        pa.nulls(0, have).cast(wanted)
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        return False
    return True


def _is_text(kind: pa.DataType) -> bool:
    return kind in _TEXTS or (types.is_dictionary(kind) and kind.value_type in _TEXTS)


def _has_zone(kind: pa.DataType) -> bool:
    return types.is_timestamp(kind) and kind.tz is not None
