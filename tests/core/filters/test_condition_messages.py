"""Conditions that do not fit are told in the words of conditions, with what to write instead."""

from __future__ import annotations

import pyarrow as pa
import pytest

from lamella.core.errors import BadFilter
from lamella.core.filters.text.parser import parse

SCHEMA = pa.schema(
    [
        ("s", pa.string()),
        ("score", pa.float64()),
        ("items", pa.list_(pa.struct([("n", pa.int64())]))),
    ]
)


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ("s = true", "cannot be compared with true. True is not text; write it in quotes"),
        ("s = null", "cannot be compared with null"),
        ("score is nan", "'is' alone is not an operator.* Ask for a value by score = …"),
        ("items.n > 4", r"'items' is a list of items.*items has item where \(n > 4\)"),
    ],
)
def test_what_to_write_instead_is_told(condition, said):
    with pytest.raises(BadFilter, match=said):
        parse(condition, SCHEMA, "t")
