"""A place inside nested values, over a whole column at once: what is there, and the column with it changed.

A step is the name of a struct's field or the number of a list's item, as text.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lamella.core.arrays import from_numpy, to_numpy
from lamella.core.layouts import REST
from lamella.core.store.lists import Lists, as_array, is_list, lists_of, ranges
from lamella.core.store.operators.meeting import as_held, met, nulls
from lamella.core.store.operators.refusal import Refusal

Steps = Sequence[str]
MOST_PADDING, MOST_PADDING_IN_ALL = 10_000, 100_000_000


def value_at(values: pa.Array, steps: Steps) -> pa.Array:
    """What is at the place, row by row; null where there is nothing."""
    for step in steps:
        values = _stepped(values, step)
    return values


def with_value_at(values: pa.Array, steps: Steps, new: pa.Array) -> pa.Array:
    """`values` with `new` at the place. What leads there is made where `new` is not null."""
    if not steps:
        return new
    inner = with_value_at(value_at(values, steps[:1]), steps[1:], new)
    if is_list(values.type):
        return as_held(_with_item(values, _item_number(values, steps[0]), inner), values.type)
    return _with_field(values, steps[0], inner)


def has_place(kind: pa.DataType, steps: Steps) -> bool:
    """Whether columns of this type have fields of these names; items of lists, and keys of documents that
    keep some as JSON, may always be there."""
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


def _stepped(values: pa.Array, step: str) -> pa.Array:
    if pa.types.is_null(values.type):
        return nulls(len(values))
    if pa.types.is_struct(values.type):
        place = values.type.get_field_index(step)
        return pc.struct_field(values, [place]) if place >= 0 else nulls(len(values))
    if is_list(values.type) and not pa.types.is_map(values.type):
        return _items(values, _item_number(values, step))
    raise Refusal(f"there is nothing called '{step}' inside {values.type} values")


def _item_number(values: pa.Array, step: str) -> int:
    if not (step.isascii() and step.isdigit()):
        raise Refusal(f"'{step}' is no place in a list", "Items are numbered from 0")
    number = int(step)
    size = values.type.list_size if pa.types.is_fixed_size_list(values.type) else None
    if size is not None and number >= size:
        raise Refusal(f"its lists have {size} items, numbered from 0, and no item {number}")
    return number


def _items(values: pa.Array, number: int) -> pa.Array:
    lists = lists_of(values)
    there = lists.lengths > number
    places = np.where(there, lists.starts + number, 0)
    return lists.items.take(from_numpy(places, valid=there))


def _with_item(values: pa.Array, number: int, inner: pa.Array) -> pa.Array:
    """Lists that are too short, or null, grow by nulls up to an item that is not null."""
    lists = lists_of(values)
    items, inner = met(lists.items, inner)
    given = to_numpy(inner.is_valid())
    lengths = np.where(given, np.maximum(lists.lengths, number + 1), lists.lengths)
    _refuse_padding(np.where(given, number - lists.lengths, 0), number)
    rows = np.repeat(np.arange(len(lengths)), lengths)
    within = ranges(np.zeros(len(lengths), np.int64), lengths)
    places = np.where(within == number, len(items) + rows, lists.starts[rows] + within)
    held = (within == number) | (within < lists.lengths[rows])
    pool = pa.concat_arrays([items, inner])
    taken = pool.take(from_numpy(np.where(held, places, 0), valid=held))
    return as_array(Lists(lengths, lists.valid | given, taken))


def _refuse_padding(added: np.ndarray, number: int) -> None:
    """`added`: how many nulls each list needs before the item."""
    if (len(added) and int(added.max()) > MOST_PADDING) or int(added.clip(0).sum()) > MOST_PADDING_IN_ALL:
        raise Refusal(
            f"item {number} lies {int(added.max()):,} items behind the end of a list",
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
