"""The columns that a step of a query gives: what people call them, their types, and what SQL calls them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyarrow import types as is_
from sqlglot import exp

from core.errors import BadQuery, UnknownColumn
from core.query.sql_parts import column, func, text


@dataclass(frozen=True)
class Field:
    """`identifier` is unique in the whole query, and never shown."""

    name: str
    type: pa.DataType
    identifier: str


@dataclass(frozen=True)
class Fields:
    """The columns in their order. `place` is what they are of, for messages."""

    place: str
    all: tuple[Field, ...]

    @property
    def names(self) -> list[str]:
        return [field.name for field in self.all]

    @property
    def schema(self) -> pa.Schema:
        return pa.schema([pa.field(field.name, field.type) for field in self.all])

    @property
    def identifiers(self) -> dict[str, str]:
        """By the columns' names."""
        return {field.name: field.identifier for field in self.all}

    def __contains__(self, name: str) -> bool:
        return any(field.name == name for field in self.all)

    def __getitem__(self, name: str) -> Field:
        """Raises `UnknownColumn`."""
        for field in self.all:
            if field.name == name:
                return field
        raise UnknownColumn(name, self.place, self.names)

    def replaced(self, field: Field) -> Fields:
        """With the column in place of the one that is called so, or behind all."""
        if field.name not in self:
            return Fields(self.place, (*self.all, field))
        return Fields(self.place, tuple(field if old.name == field.name else old for old in self.all))

    def at_path(self, name: str) -> tuple[Field, pa.DataType, exp.Expr]:
        """The column of this name, or the field inside one at this path: column, type and value."""
        for field in self.all:
            if field.name == name:
                return field, field.type, column(field.identifier)
        for field in self.all:
            found = _inside(field.name, field.type, column(field.identifier), name)
            if found is not None:
                return field, *found
        raise UnknownColumn(name, self.place, [*self.names, *_paths(self.all)])


def _inside(
    path: str, kind: pa.DataType, value: exp.Expr, wanted: str
) -> tuple[pa.DataType, exp.Expr] | None:
    if not is_.is_struct(kind) or not wanted.startswith(f"{path}."):
        return None
    for part in kind:
        inner, inside = f"{path}.{part.name}", func("struct_extract", value, text(part.name))
        if inner == wanted:
            return part.type, inside
        found = _inside(inner, part.type, inside, wanted)
        if found is not None:
            return found
    return None


def _paths(fields: Sequence[Field]) -> list[str]:
    return [
        f"{field.name}.{part.name}" for field in fields if is_.is_struct(field.type) for part in field.type
    ]


def refuse_twice(names: Iterable[str], place: str) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise BadQuery(f"{place}: two columns would be called '{name}'", fix="Name each once")
        seen.add(name)
