"""Columns of a snapshot, and fields inside them, by the names that people give: `address.city`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

import pyarrow as pa

from lamella.core.errors import BadData, UnknownColumn
from lamella.core.nested import names_within, place_of, refuse_twins
from lamella.core.scan.snapshot import Column, Snapshot


def chosen(snapshot: Snapshot, names: Iterable[str] | None, flatten: bool = False) -> tuple[Column, ...]:
    """The columns, or fields inside them, of these names; all columns for None.

    A column whose own name holds dots comes before a path. `flatten` puts the fields of a struct in its place
    by their paths. Raises `UnknownColumn`, and `BadData` where two then have one name.
    """
    found = snapshot.columns if names is None else tuple(named(snapshot, name) for name in names)
    if not flatten:
        return found
    flat = tuple(dict.fromkeys(leaf for column in found for leaf in _leaves(column)))
    _refuse_twice(snapshot, flat)
    return flat


def named(snapshot: Snapshot, name: str) -> Column:
    """The column, or the field inside one, of this name; raises `UnknownColumn`."""
    for column in snapshot.columns:
        if column.name == name:
            return column
    types = {column.name: column.type for column in snapshot.columns}
    place = place_of(name, types)
    if place is None:
        raise UnknownColumn(name, snapshot.name, names_within(types))
    return Column(name, place.type, snapshot.column(place.column).key, place.path)


def _field(column: Column, field: pa.Field) -> Column:
    return Column(f"{column.name}.{field.name}", field.type, column.key, (*column.path, field.name))


def _leaves(column: Column) -> Iterator[Column]:
    """A struct without fields stays as it is."""
    if not pa.types.is_struct(column.type) or column.type.num_fields == 0:
        yield column
        return
    for field in column.type:
        refuse_twins(column.name, column.type, field.name)
        yield from _leaves(_field(column, field))


def _refuse_twice(snapshot: Snapshot, flat: tuple[Column, ...]) -> None:
    twice = [name for name, times in Counter(c.name for c in flat).items() if times > 1]
    if twice:
        raise BadData(
            f"{snapshot.name}: flattened, two columns would be called '{twice[0]}'",
            "A column has the name that a field inside another one gets",
            "Rename one of them, or read it without flatten",
        )
