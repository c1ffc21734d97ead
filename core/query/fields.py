"""The columns that a step of a query gives: what people call them, their types, and what SQL calls them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa
from sqlglot import exp

from lamella.core.errors import BadQuery, UnknownColumn
from lamella.core.filters.to_sql import field_in
from lamella.core.nested import Place, names_within, place_of
from lamella.core.query.sql_parts import column


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
        types = {field.name: field.type for field in self.all}
        place = place_of(name, types)
        if place is None:
            raise UnknownColumn(name, self.place, names_within(types))
        field = self[place.column]
        _refuse_lookalikes(place, self.place)
        value = field_in(column(field.identifier), field.type, place.path)
        return field, place.type, value


def _refuse_lookalikes(place: Place, of: str) -> None:
    """DuckDB 2.0 takes two fields of a struct for one where their names differ only in case."""
    kind = place.whole
    for name in place.path:
        alike = [field.name for field in kind if field.name.casefold() == name.casefold()]
        if len(alike) > 1:
            told = " and ".join(f"'{one}'" for one in alike)
            raise BadQuery(
                f"{of}: '{place.name}' cannot be computed with",
                f"The fields {told} differ only in case, which is not told apart there",
                "Rename one of them, or read the whole column",
            )
        kind = kind.field(name).type


def refuse_twice(names: Iterable[str], place: str) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise BadQuery(f"{place}: two columns would be called '{name}'", fix="Name each once")
        seen.add(name)
