"""Conditions as people give them: an expression, text, or a dict as MongoDB has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import pyarrow as pa

from lamella.core.errors import BadData, BadFilter, shown
from lamella.core.filters.expr import Filter
from lamella.core.filters.mongo import from_mongo
from lamella.core.filters.text import parse
from lamella.core.validation import items_of

Condition = Filter | str | Mapping[str, Any]
"""What can be asked of rows: an expression, `col("n") > 1`, text, `"n > 1"`, or a dict as MongoDB has them,
`{"n": {"$gt": 1}}`."""


class Described(Protocol):
    """Rows with a name and a schema, which may take a moment to find out: a table, say."""

    @property
    def name(self) -> str: ...

    @property
    def schema(self) -> pa.Schema: ...


def ids_listed(given: Any, what: str) -> list[Any]:
    """Row ids as a list; raises `BadData` for a single one, and for a condition. What each is, is not looked
    at."""
    ids = None if isinstance(given, str) else items_of(given)
    if ids is None and isinstance(given, (Filter, str, Mapping)):
        fix = f"Give a condition as where={'…' if isinstance(given, Filter) else shown(given)}"
        raise BadData(f"{what} takes a list of row ids, not {shown(given)}", "it may be a condition", fix)
    if ids is None:
        raise BadData(
            f"{what} takes a list of row ids, not {shown(given)}", fix=f"Give a list: [{shown(given)}]"
        )
    return ids


def condition_of(given: Any, what: str, about: Described | None = None) -> Filter | None:
    """A filter as it is, one read from text or from a dict, or None; raises `BadFilter` for anything else.

    With the rows that text is `about`, what does not fit them is refused with its place in the text.
    """
    if given is None or isinstance(given, Filter):
        return given
    if isinstance(given, str):
        return parse(given, about.schema, about.name) if about is not None else parse(given)
    if isinstance(given, Mapping):
        return from_mongo(given)
    fix = "Write one, as an expression or as text: col('n') > 1, or \"n > 1\""
    raise BadFilter(f"{what} takes a condition, not {shown(given)}", fix=fix)


def rows_chosen(given: Any, what: str, about: Described | None = None) -> Filter | list[Any] | None:
    """A condition, row ids as a list, or None for all rows; raises `BadFilter` for anything else."""
    ids = None if isinstance(given, str) else items_of(given)
    return condition_of(given, what, about) if ids is None else ids
