"""What the grid needs to know of columns before it draws them: names, types, alignment, notes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from lamella.core.filters.kinds import NUMBERS, Kind, kind_of
from lamella.core.scan.snapshot import NOTE
from lamella.ui.grid.texts import Fraction, fraction_of

ICONS = {
    Kind.TEXT: "text",
    Kind.BOOLEAN: "bool",
    Kind.DATE: "date",
    Kind.TIMESTAMP: "date",
    Kind.TIME: "date",
    Kind.DURATION: "date",
}
NO_SCHEMA = pa.schema([])


def icon_name(type_: pa.DataType) -> str:
    """The icon for a type in headers and lists of columns."""
    kind = kind_of(type_)
    return "number" if kind in NUMBERS else ICONS.get(kind, "group")


def is_right_aligned(type_: pa.DataType) -> bool:
    return kind_of(type_) in NUMBERS


def has_sign(type_: pa.DataType) -> bool:
    """Whether texts of negative values begin with a minus sign."""
    return kind_of(type_) in NUMBERS or kind_of(type_) is Kind.DURATION


def note_of(field: pa.Field) -> str:
    """The note on the column's values; empty if there is none."""
    return str((field.metadata or {}).get(NOTE, b"").decode(errors="replace"))


@dataclass(frozen=True)
class GridColumns:
    """The columns of a schema, by position. Making it takes a while for ten thousand; any thread can do
    it."""

    schema: pa.Schema = NO_SCHEMA
    names: Sequence[str] = ()
    types: Sequence[pa.DataType] = ()
    right: Sequence[bool] = ()
    """For each column, whether it is aligned to the right."""
    has_minus: Sequence[bool] = ()
    """For each column, whether negative values begin with a minus sign."""
    fractions: Mapping[int, Fraction] = field(default_factory=dict)
    """How decimal places are aligned, for the columns in which they are."""
    notes: Mapping[str, str] = field(default_factory=dict)
    """The notes on columns, by name."""

    @classmethod
    def of(cls, schema: pa.Schema) -> GridColumns:
        types = schema.types
        looks = {kind: (is_right_aligned(kind), has_sign(kind), fraction_of(kind)) for kind in set(types)}
        fractions = {place: looks[kind][2] for place, kind in enumerate(types)}
        return cls(
            schema,
            schema.names,
            types,
            [looks[kind][0] for kind in types],
            [looks[kind][1] for kind in types],
            {place: fraction for place, fraction in fractions.items() if fraction is not Fraction.NONE},
            {each.name: note for each in schema if (note := note_of(each))},
        )
