"""$push, $addToSet, $pull, $pullAll and $pop on whole columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lamella.core.arrow.arrays import take, to_numpy
from lamella.core.arrow.equality import Lists, as_array, differs, is_list, lists_of
from lamella.core.errors import BadFilter, UnknownColumn, short_text
from lamella.core.filters.binding import bind
from lamella.core.filters.expr import Filter, Predicate, all_of
from lamella.core.filters.to_arrow import mask
from lamella.core.store.operators.inside import has_place, value_at
from lamella.core.store.operators.values import Refusal, array_of, repeat_value, to_common_type

_COMPARISONS = {f"${name}": name for name in ("eq", "ne", "gt", "gte", "lt", "lte", "in", "nin")}


def matching(items: pa.Array, condition: Any) -> np.ndarray:
    """Which items meet `condition`: a value, `{"$gte": 5, …}`, or for structs the same by field, joined by
    "and"."""
    if isinstance(condition, Mapping) and _has_operators(condition):
        return _meeting(pa.Table.from_arrays([items], names=["item"]), {"item": condition})
    if isinstance(condition, Mapping) and pa.types.is_struct(items.type):
        return _fields_matching(items, condition)
    if condition is None:
        return ~to_numpy(items.is_valid())
    left, right = to_common_type(items, array_of([condition]))
    same: np.ndarray = ~differs(left, repeat_value(right, len(items)))
    return same


def _fields_matching(items: pa.Array, conditions: Mapping[str, Any]) -> np.ndarray:
    met_all = to_numpy(items.is_valid()).copy()
    for name, condition in conditions.items():
        place = items.type.get_field_index(name)
        if place < 0:
            raise UnknownColumn(
                name, "an item of the list", [items.type.field(i).name for i in range(items.type.num_fields)]
            )
        met_all &= matching(pc.struct_field(items, [place]), condition)
    return met_all


def _meeting(table: pa.Table, conditions: Mapping[str, Mapping[str, Any]]) -> np.ndarray:
    where = all_of(
        _predicate(name, op, value) for name, ops in conditions.items() for op, value in ops.items()
    )
    try:
        return to_numpy(mask(bind(where, table.schema, "the list"), table))
    except BadFilter as error:
        raise Refusal(error.what, error.fix) from error


def _predicate(name: str, comparison: str, value: Any) -> Filter:
    if comparison not in _COMPARISONS:
        raise Refusal(f"there is no condition '{comparison}'", f"There are: {', '.join(_COMPARISONS)}")
    if value is None and comparison in ("$eq", "$ne"):
        return Predicate(name, "is_null" if comparison == "$eq" else "not_null")
    values = tuple(value) if comparison in ("$in", "$nin") else (value,)
    return Predicate(name, _COMPARISONS[comparison], values)


def _has_operators(condition: Mapping[str, Any]) -> bool:
    return any(str(name).startswith("$") for name in condition)


Places = list[int]

_MODIFIERS = ("$each", "$position", "$sort", "$slice")


@dataclass(frozen=True)
class Push:
    """The items to add, where, and how the list is then sorted and cut. `sort` has (path in an item,
    descending)."""

    items: tuple[Any, ...]
    position: int | None = None
    sort: tuple[tuple[tuple[str, ...], bool], ...] = ()
    slice: int | None = None

    def insert_into(self, places: Places, added: Places) -> Places:
        at = len(places) if self.position is None else self.position
        return [*places[:at], *added, *places[at:]]

    def cut(self, places: Places) -> Places:
        if self.slice is None:
            return places
        return places[: self.slice] if self.slice >= 0 else places[self.slice :]


def read_push(operand: Any) -> Push:
    if not (isinstance(operand, Mapping) and any(str(key).startswith("$") for key in operand)):
        return Push((operand,))
    _refuse_other_modifiers(operand, _MODIFIERS)
    whole = {name: _whole(operand, name) for name in ("$position", "$slice")}
    return Push(_items_of(operand), whole["$position"], _sort_keys(operand.get("$sort")), whole["$slice"])


def push_items(values: pa.Array, push: Push) -> pa.Array:
    lists, added = _with(values, push.items)
    news = list(range(len(lists.items) - added, len(lists.items)))
    for path, _ in push.sort:
        _refuse_unknown_field(lists.items.type, path)
    ranks = [(_ranks(value_at(lists.items, path)), descending) for path, descending in push.sort]

    def edit(old: Places) -> Places:
        places = push.insert_into(old, news)
        for rank, descending in reversed(ranks):
            places.sort(key=rank.__getitem__, reverse=descending)
        return push.cut(places)

    return _edit_lists(lists, edit, np.ones(len(values), bool))


def read_additions(operand: Any) -> tuple[Any, ...]:
    if not (isinstance(operand, Mapping) and any(str(key).startswith("$") for key in operand)):
        return (operand,)
    _refuse_other_modifiers(operand, ("$each",))
    return _items_of(operand)


def add_to_set(values: pa.Array, each: tuple[Any, ...]) -> pa.Array:
    """Add each item that a list lacks, once."""
    lists, added = _with(values, each)
    first = len(lists.items) - added
    alike = [_equal_to(lists.items, first + i) for i in range(added)]

    def edit(old: Places) -> Places:
        places = old
        for i, same in enumerate(alike):
            if not any(same[place] for place in places):
                places = [*places, first + i]
        return places

    return _edit_lists(lists, edit, np.ones(len(values), bool))


def read_condition(operand: Any) -> Any:
    return operand


def pull_matching(values: pa.Array, condition: Any) -> pa.Array:
    """Remove the items that meet a condition. Null stays null, even in a column of type null."""
    if pa.types.is_null(values.type):
        return values
    lists = lists_of(values)
    return _without(lists, matching(lists.items, condition))


def read_list(operand: Any) -> tuple[Any, ...]:
    if isinstance(operand, (str, bytes, Mapping)) or not isinstance(operand, Sequence):
        raise Refusal(f"it takes a list of values, not {short_text(operand)}")
    return tuple(operand)


def pull_values(values: pa.Array, listed: tuple[Any, ...]) -> pa.Array:
    lists, added = _with(values, listed)
    first = len(lists.items) - added
    gone = np.zeros(len(lists.items), bool)
    for i in range(added):
        gone |= _equal_to(lists.items, first + i)
    return _without(lists, gone)


def read_end(operand: Any) -> int:
    if isinstance(operand, bool) or operand not in (1, -1):
        raise Refusal(f"it takes 1 for the last item or -1 for the first, not {short_text(operand)}")
    return int(operand)


def pop_item(values: pa.Array, end: int) -> pa.Array:
    if pa.types.is_null(values.type):
        return values
    lists = lists_of(values)
    return _edit_lists(lists, lambda places: places[:-1] if end == 1 else places[1:], lists.valid)


def is_editable(kind: pa.DataType) -> bool:
    return is_list(kind) and not pa.types.is_map(kind) and not pa.types.is_fixed_size_list(kind)


def _with(values: pa.Array, each: Sequence[Any]) -> tuple[Lists, int]:
    """The lists with the new items after all existing ones, and the number of new items."""
    arriving = array_of(list(each))
    if pa.types.is_null(values.type):
        lists = Lists(np.zeros(len(values), np.int64), np.zeros(len(values), bool), arriving[:0])
    else:
        lists = lists_of(values)
    items, arriving = to_common_type(lists.items, arriving)
    return Lists(lists.lengths, lists.valid, pa.concat_arrays([items, arriving])), len(each)


def _edit_lists(lists: Lists, edit: Callable[[Places], Places], mask: np.ndarray) -> pa.Array:
    """Apply `edit` to each list where `mask` is true; a null list counts as empty."""
    edits: list[Places] = []
    spans = zip(lists.starts.tolist(), lists.lengths.tolist(), mask.tolist(), strict=True)
    for start, length, is_wanted in spans:
        old = list(range(start, start + length))
        edits.append(edit(old) if is_wanted else old)
    lengths = np.fromiter(map(len, edits), np.int64, len(edits))
    places = np.fromiter((p for places in edits for p in places), np.int64, int(lengths.sum()))
    return as_array(Lists(lengths, lists.valid | mask, take(lists.items, places)))


def _without(lists: Lists, gone: np.ndarray) -> pa.Array:
    return _edit_lists(lists, lambda places: [place for place in places if not gone[place]], lists.valid)


def _equal_to(items: pa.Array, place: int) -> np.ndarray:
    same: np.ndarray = ~differs(items, repeat_value(items[place : place + 1], len(items)))
    return same


def _refuse_unknown_field(items: pa.DataType, path: tuple[str, ...]) -> None:
    if path and not pa.types.is_null(items) and not has_place(items, path):
        names = [items.field(i).name for i in range(items.num_fields)] if pa.types.is_struct(items) else []
        listing = f"There are: {', '.join(names)}" if names else "Sort by 1 or -1"
        raise Refusal(f"$sort by '{'.'.join(path)}', which its items do not have", listing)


def _ranks(values: pa.Array) -> np.ndarray:
    """The ranks of the values, null first; equal values share a rank."""
    if pa.types.is_null(values.type):
        return np.zeros(len(values), np.int64)
    try:
        order = to_numpy(pc.sort_indices(values)).astype(np.int64)
    except (pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
        raise Refusal(f"{values.type} values have no order", "Name a field: {'$sort': {field: 1}}") from error
    ordered = take(values, order)
    steps = differs(ordered[1:], ordered[:-1])
    ranks = np.empty(len(values), np.int64)
    ranks[order] = np.concatenate([[0], np.cumsum(steps)]) if len(order) else order
    ranks[~to_numpy(values.is_valid())] = -1
    return ranks


def _items_of(operand: Mapping[str, Any]) -> tuple[Any, ...]:
    if "$each" not in operand:
        raise Refusal(f"{', '.join(operand)} needs $each", "Give the items as {'$each': […]}")
    return read_list(operand["$each"])


def _refuse_other_modifiers(operand: Mapping[str, Any], modifiers: Sequence[str]) -> None:
    for name in operand:
        if name not in modifiers:
            raise Refusal(f"there is no modifier '{name}'", f"There are: {', '.join(modifiers)}")


def _whole(operand: Mapping[str, Any], name: str) -> int | None:
    value = operand.get(name)
    if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
        raise Refusal(f"{name} takes a whole number, not {short_text(value)}")
    return value


def _sort_keys(order: Any) -> tuple[tuple[tuple[str, ...], bool], ...]:
    """Parse $sort: 1 or -1 for the items themselves, or `{field: 1 or -1, …}`."""
    if order is None:
        return ()
    orders = order if isinstance(order, Mapping) else {"": order}
    for direction in orders.values():
        if isinstance(direction, bool) or direction not in (1, -1):
            raise Refusal(f"$sort takes 1 or -1, or these by field, not {short_text(order)}")
    return tuple((tuple(n.split(".")) if n else (), d == -1) for n, d in orders.items())
