"""Fields inside nested columns, named by their path: `address.city`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc

from lamella.core.errors import BadData


@dataclass(frozen=True)
class Place:
    """The column that a name leads to, of type `whole`, and the path and type of the field inside it.

    A step of the path is the name of a field, or the number of an item of a list, from 0 on."""

    column: str
    whole: pa.DataType
    path: tuple[str, ...]
    type: pa.DataType

    @classmethod
    def of(cls, column: str, type_: pa.DataType) -> Place:
        return cls(column, type_, (), type_)

    def inside(self, field: pa.Field) -> Place:
        return Place(self.column, self.whole, (*self.path, field.name), field.type)

    def item(self, number: int | str) -> Place:
        return Place(self.column, self.whole, (*self.path, str(number)), self.type.value_type)

    @cached_property
    def outer_list(self) -> Place | None:
        """The outermost list that it is an item of, or lies in an item of."""
        if not any(step.isdigit() for step in self.path):
            return None
        kind = self.whole
        for depth, step in enumerate(self.path):
            if is_list(kind):
                return Place(self.column, self.whole, self.path[:depth], kind)
            kind = kind.field(step).type
        return None

    @property
    def name(self) -> str:
        return ".".join((self.column, *self.path))


def place_of(name: str, types: Mapping[str, pa.DataType], items: bool = False) -> Place | None:
    """Where `name` leads among columns of these types; None for nowhere. With `items` into lists, too.

    A column whose own name holds dots comes before a path; names of fields may hold dots too. Raises
    `BadData` where it leads to two fields of one struct.
    """
    if not isinstance(name, str):
        return None
    if name in types:
        return Place.of(name, types[name])
    found = (_inside(Place.of(column, kind), name, items) for column, kind in types.items() if "." in name)
    return next((place for place in found if place is not None), None)


def names_within(types: Mapping[str, pa.DataType]) -> list[str]:
    """Every column and every field inside one, by name."""
    return [place.name for column, kind in types.items() for place in _all(Place.of(column, kind))]


def type_at(kind: pa.DataType, path: Iterable[str]) -> pa.DataType | None:
    """The type of the field at `path` inside a value of this type; None where there is none."""
    for name in path:
        place = kind.get_field_index(name) if pa.types.is_struct(kind) else -1
        if place < 0:
            return None
        kind = kind.field(place).type
    return kind


def project(values: pa.ChunkedArray | pa.Array, path: tuple[str, ...]) -> pa.ChunkedArray | pa.Array:
    """The field at `path`: null where anything it lies in is null."""
    return pc.struct_field(values, list(path)) if path else values


def is_list(kind: pa.DataType) -> bool:
    """Of any layout; a map is none."""
    return any(test(kind) for test in _LISTS)


_LISTS = (
    pa.types.is_list,
    pa.types.is_large_list,
    pa.types.is_fixed_size_list,
    pa.types.is_list_view,
    pa.types.is_large_list_view,
)
LONGEST_NUMBER = 9
"""Digits of the number of an item."""


def _inside(place: Place, name: str, items: bool) -> Place | None:
    if not name.startswith(f"{place.name}."):
        return None
    if pa.types.is_struct(place.type):
        for inner in map(place.inside, place.type):
            found = inner if inner.name == name else _inside(inner, name, items)
            if found is not None:
                refuse_twins(place.name, place.type, inner.path[-1])
                return found
    if items and is_list(place.type):
        number = name[len(place.name) + 1 :].partition(".")[0]
        if number.isascii() and number.isdigit() and len(number) <= LONGEST_NUMBER:
            inner = place.item(number)
            return inner if inner.name == name else _inside(inner, name, items)
    return None


def refuse_twins(name: str, struct: pa.StructType, field: str) -> None:
    """Raises `BadData` where the struct called `name` has two fields called `field`."""
    if len(struct.get_all_field_indices(field)) > 1:
        raise BadData(
            f"Column '{name}' has two fields called '{field}'",
            "A path cannot say which of them is meant",
            f"Read '{name}' as a whole, or write it with names that differ",
        )


def _all(place: Place) -> Iterator[Place]:
    yield place
    if pa.types.is_struct(place.type):
        for field in place.type:
            yield from _all(place.inside(field))
