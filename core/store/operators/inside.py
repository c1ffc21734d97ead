"""Reads and sets values inside nested ones, including documents, in a whole column at once."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lamella.core.arrow.arrays import from_numpy, quick_array, take, to_numpy
from lamella.core.arrow.documents import ReservedKey, json_of, whole
from lamella.core.arrow.equality import Lists, as_array, is_list, lists_of, ranges
from lamella.core.arrow.nested_values import python_value
from lamella.core.arrow.types import MOST_FIELDS, REST, REST_FIELD, exact_cast, wider_type
from lamella.core.store.operators.values import (
    Refusal,
    array_of,
    nulls,
    refuse_other_kind,
    to_common_type,
    to_stored_type,
)

Steps = Sequence[str]
MOST_PADDING, MOST_PADDING_IN_ALL = 10_000, 100_000_000


def value_at(values: pa.Array, steps: Steps) -> pa.Array:
    """The values at the path, row by row; null where there is nothing."""
    for step in steps:
        values = _step_into(values, step)
    return values


def with_value_at(values: pa.Array, steps: Steps, new: pa.Array) -> pa.Array:
    """Set `new` at the path. Missing parents are created where `new` is not null."""
    if not steps:
        return new
    inner = with_value_at(value_at(values, steps[:1]), steps[1:], new)
    if is_list(values.type):
        return to_stored_type(_with_item(values, _item_number(values, steps[0]), inner), values.type)
    return _with_field(values, steps[0], inner)


def has_place(kind: pa.DataType, steps: Steps) -> bool:
    """Whether a type has fields along this path; items of lists, and keys of documents that keep some as
    JSON, may always exist."""
    for step in steps:
        if pa.types.is_struct(kind) and kind.get_field_index(REST) >= 0:
            return True
        if is_list(kind):
            kind = kind.value_type
        elif pa.types.is_struct(kind) and kind.get_field_index(step) >= 0:
            kind = kind.field(step).type
        else:
            return False
    return True


def _step_into(values: pa.Array, step: str) -> pa.Array:
    if pa.types.is_null(values.type):
        return nulls(len(values))
    if pa.types.is_struct(values.type):
        place = values.type.get_field_index(step)
        return pc.struct_field(values, [place]) if place >= 0 else nulls(len(values))
    if is_list(values.type) and not pa.types.is_map(values.type):
        return _items(values, _item_number(values, step))
    raise Refusal(f"there is no '{step}' inside {values.type} values")


def _item_number(values: pa.Array, step: str) -> int:
    if not (step.isascii() and step.isdigit()):
        raise Refusal(f"'{step}' is not the number of an item in a list", "Items are numbered from 0")
    number = int(step)
    size = values.type.list_size if pa.types.is_fixed_size_list(values.type) else None
    if size is not None and number >= size:
        raise Refusal(f"its lists have {size} items, numbered from 0, so there is no item {number}")
    return number


def _items(values: pa.Array, number: int) -> pa.Array:
    lists = lists_of(values)
    has_item = lists.lengths > number
    places = np.where(has_item, lists.starts + number, 0)
    return lists.items.take(from_numpy(places, valid=has_item))


def _with_item(values: pa.Array, number: int, inner: pa.Array) -> pa.Array:
    """Set an item. Lists that are too short, or null, are padded with nulls up to an item that is not
    null."""
    lists = lists_of(values)
    items, inner = to_common_type(lists.items, inner)
    present = to_numpy(inner.is_valid())
    lengths = np.where(present, np.maximum(lists.lengths, number + 1), lists.lengths)
    _refuse_padding(np.where(present, number - lists.lengths, 0), number)
    rows = np.repeat(np.arange(len(lengths)), lengths)
    within = ranges(np.zeros(len(lengths), np.int64), lengths)
    places = np.where(within == number, len(items) + rows, lists.starts[rows] + within)
    exists = (within == number) | (within < lists.lengths[rows])
    pool = pa.concat_arrays([items, inner])
    new_items = pool.take(from_numpy(np.where(exists, places, 0), valid=exists))
    return as_array(Lists(lengths, lists.valid | present, new_items))


def _refuse_padding(added: np.ndarray, number: int) -> None:
    """Raise `Refusal` for too much padding; `added` is how many nulls each list needs before the item."""
    if (len(added) and int(added.max()) > MOST_PADDING) or int(added.clip(0).sum()) > MOST_PADDING_IN_ALL:
        raise Refusal(
            f"item {number} is {int(added.max()):,} items beyond the end of a list",
            f"at most {MOST_PADDING:,} are filled with nulls, {MOST_PADDING_IN_ALL:,} in all lists together;"
            " $push adds at the end",
        )


def _with_field(values: pa.Array, name: str, inner: pa.Array) -> pa.Array:
    if pa.types.is_null(values.type):
        fields: dict[str, pa.Array] = {}
    else:
        kind = values.type
        fields = {kind.field(i).name: pc.struct_field(values, [i]) for i in range(kind.num_fields)}
    fields[name] = inner
    missing = ~(to_numpy(values.is_valid()) | to_numpy(inner.is_valid()))
    mask = from_numpy(missing) if missing.any() else None
    return pa.StructArray.from_arrays(list(fields.values()), names=list(fields), mask=mask)


Compute = Callable[[pa.Array, np.ndarray], pa.Array]
"""Computes new values from the old ones and the numbers of their rows."""


def value_in(values: pa.Array, steps: Steps) -> pa.Array:
    """The values at the path, row by row. Raises `Refusal` for values without a type in common."""
    depth = _steps_to_document(values.type, steps)
    if depth is None:
        return value_at(values, steps)
    documents = _Documents(value_at(values, steps[:depth]), steps[depth])
    return value_in(documents.array(), steps[depth + 1 :])


def change_at(values: pa.Array, steps: Steps, compute: Compute, rows: np.ndarray) -> pa.Array:
    """Replace the values at the path by what `compute` makes of them."""
    depth = _steps_to_document(values.type, steps)
    if depth is None:
        inner = value_at(values, steps)
        new = compute(inner, rows)
        refuse_other_kind(inner.type, new.type)
        return with_value_at(values, steps, to_stored_type(new, inner.type))
    documents = _Documents(value_at(values, steps[:depth]), steps[depth])
    below = steps[depth + 1 :]
    for part in documents.parts():
        among = rows[part.places]
        new = change_at(part.values, below, compute, among) if below else compute(part.values, among)
        documents.put(part.places, new)
    return with_value_at(values, steps[:depth], documents.to_array())


@dataclass(frozen=True, eq=False)
class _Part:
    places: np.ndarray
    values: pa.Array


class _Documents:
    """One key of documents: in a field, or in the rest, where values have other types."""

    def __init__(self, values: pa.StructArray, key: str) -> None:
        self._values, self._key = values, key
        self._fields = {f.name: pc.struct_field(values, [i]) for i, f in enumerate(values.type)}
        self._rests = [json.loads(text) if text else {} for text in self._fields[REST].to_pylist()]
        self._is_in_rest = np.array([key in rest for rest in self._rests], bool)
        self._has_field = key in self._fields
        field = self._fields.get(key)
        self._kind = pa.null() if field is None else field.type
        self._pool: list[tuple[np.ndarray, pa.Array]] = []

    def array(self) -> pa.Array:
        field = self._fields.get(self._key, nulls(len(self._values)))
        if not self._is_in_rest.any():
            return field
        values = [whole(python_value(value)) for value in field]
        key = self._key
        try:
            return array_of([rest.get(key, own) for rest, own in zip(self._rests, values, strict=True)])
        except Refusal as refusal:
            raise Refusal(f"its values in '{REST}' have several types", "Change each separately") from refusal

    def parts(self) -> list[_Part]:
        """The values in the field as one part, as they may widen it; those in the rest one by one."""
        in_fields, in_rest = np.flatnonzero(~self._is_in_rest), np.flatnonzero(self._is_in_rest)
        field = self._fields.get(self._key, nulls(len(self._values)))
        parts = [_Part(in_fields, take(field, in_fields))] if len(in_fields) else []
        return parts + [
            _Part(np.array([i]), _value_array(self._rests[i][self._key])) for i in in_rest.tolist()
        ]

    def put(self, places: np.ndarray, new: pa.Array) -> None:
        for place in places.tolist():
            self._rests[place].pop(self._key, None)
        if new.null_count == len(new):
            return
        fit = self._fitting(new, of_field=not self._is_in_rest[places[0]])
        if fit is not None:
            self._pool.append((places, fit))
            return
        for place, value in zip(places.tolist(), new, strict=True):
            if value.is_valid:
                self._rests[place][self._key] = whole(python_value(value))

    def to_array(self) -> pa.Array:
        fields = self._fields | {REST: _texts(self._rests)}
        if self._has_field:
            fields[self._key] = self._field()
        has_rest = np.array([bool(rest) for rest in self._rests], bool)
        valid = to_numpy(self._values.is_valid()) | has_rest
        for places, values in self._pool:
            valid[places] |= to_numpy(values.is_valid())
        names = [*(name for name in fields if name != REST), REST]
        arrays = [fields[name] for name in names]
        return pa.StructArray.from_arrays(arrays, names=names, mask=from_numpy(~valid))

    def _fitting(self, new: pa.Array, of_field: bool) -> pa.Array | None:
        """Convert `new` to the field's type; None if it belongs in the rest. Values from the rest do not
        widen the field, and make no new field."""
        if not self._has_field:
            if self._is_in_rest.any() or len(self._fields) > MOST_FIELDS:
                return None
            self._has_field, self._kind = True, new.type
            return new
        if not pa.types.is_null(self._kind) and wider_type(self._kind, new.type) is None:
            return None
        if not of_field:
            return exact_cast(new, self._kind)
        fit = to_stored_type(new, self._kind)
        self._kind = fit.type
        return fit

    def _field(self) -> pa.Array:
        """The new values of the field, null where there is none."""
        places = np.zeros(len(self._values), np.int64)
        parts = [pa.nulls(1, self._kind)]
        for rows, values in self._pool:
            places[rows] = sum(map(len, parts)) + np.arange(len(rows))
            parts.append(values)
        return take(pa.concat_arrays(parts), places)


def _steps_to_document(kind: pa.DataType, steps: Steps) -> int | None:
    for number, step in enumerate(steps):
        if pa.types.is_struct(kind):
            if kind.get_field_index(REST) >= 0:
                return number
            place = kind.get_field_index(step)
            kind = kind.field(place).type if place >= 0 else pa.null()
        else:
            kind = kind.value_type if is_list(kind) and not pa.types.is_map(kind) else pa.null()
    return None


def _value_array(value: Any) -> pa.Array:
    """A JSON value as an array; if Arrow has no type for it, as bytes, which only operators for any type
    accept."""
    try:
        return array_of([value])
    except Refusal:
        return array_of([json.dumps(value).encode()])


def _texts(rests: Sequence[dict[str, Any]]) -> pa.Array:
    try:
        texts = quick_array([json_of(rest) for rest in rests], REST_FIELD.type)
    except (TypeError, ReservedKey) as error:
        raise Refusal(f"'{REST}' of its documents cannot hold the value: {error}") from error
    assert texts is not None
    return texts
