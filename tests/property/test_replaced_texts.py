"""$replace that ignores case changes the rows that a filter of the same text shows, whatever the letters."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
from hypothesis import given
from hypothesis import strategies as st

from lamella import col
from lamella.core.filters.binding import bind
from lamella.core.filters.to_arrow import mask
from lamella.core.store.operators.texts import read_replacement, replace_texts

LETTERS = "abIiİıſsSσςΣßẞkK\u212aµμå\u212b.\\[]^-&~# \n"
"""Letters whose case forms are not pairs, and characters with a meaning in patterns."""


@given(
    find=st.text(LETTERS, min_size=1, max_size=3),
    values=st.lists(st.text(LETTERS, max_size=6), min_size=1, max_size=8),
    whole=st.booleans(),
)
def test_replace_ignoring_case_changes_exactly_what_a_filter_shows(
    find: str, values: list[str], whole: bool
) -> None:
    rows = pa.table({"x": [*values, find, find.upper(), find.lower()]})
    x = col("x")
    condition = x.equals(find, ignore_case=True) if whole else x.contains(find, ignore_case=True)
    replacement = read_replacement({"find": find, "with": "\N{SNOWMAN}", "case": False, "whole": whole})
    texts = rows.column("x").combine_chunks()
    changed = pc.not_equal(replace_texts(texts, replacement), texts)
    assert changed.to_pylist() == mask(bind(condition, rows.schema, "t"), rows).to_pylist()
