"""The names of types: written as they are read."""

from __future__ import annotations

import pyarrow as pa
import pytest

from lamella.core.arrow.types import type_named, type_text
from lamella.core.datasets import preview
from lamella.ui.dialogs import new_table


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (pa.string(), "string"),
        (pa.float64(), "float64"),
        (pa.float32(), "float32"),
        (pa.date32(), "date"),
        (pa.timestamp("us", "Europe/Rome"), "timestamp[us, tz=Europe/Rome]"),
        (pa.decimal128(18, 2), "decimal(18, 2)"),
        (pa.list_(pa.float64()), "list<item: float64>"),
    ],
)
def test_types_are_written_as_they_are_read(kind: pa.DataType, text: str) -> None:
    assert type_text(kind) == text and type_named(text) == kind


def test_types_to_choose_have_the_names_of_columns() -> None:
    """Those of a new table, and those as which a file can be read."""
    for name in (*new_table.TYPES, *preview.TYPES):
        assert type_text(type_named(name)) == name


def test_names_of_fields_are_no_types() -> None:
    kind = pa.struct({"double": pa.int8(), "float": pa.float32(), "n": pa.date32()})
    assert type_text(kind) == "struct<double: int8, float: float32, n: date>"
