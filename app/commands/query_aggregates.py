"""Aggregates as they are typed: `late=mean(dep_delay)`."""

from __future__ import annotations

import re
from collections.abc import Iterable

from lamella.core import agg
from lamella.core.errors import BadQuery
from lamella.core.query.aggregate import Aggregate
from lamella.core.query.expressions import Named

_AGGREGATE = re.compile(r"\s*(?P<name>[^=]+?)\s*=\s*(?P<function>\w+)\s*\((?P<inside>.*)\)\s*")
_PART = re.compile(r"(?P<column>.*),(?P<part>[^,]*)")


def aggregates(texts: Iterable[str]) -> dict[str, Aggregate]:
    """By name; raises `BadQuery` for what is none, and for a name that stands twice."""
    found: dict[str, Aggregate] = {}
    for text in texts:
        name, aggregate = _read(text)
        if name in found:
            raise BadQuery(f"--agg names '{name}' twice", fix="Give each aggregate a name of its own")
        found[name] = aggregate
    return found


def _read(text: str) -> tuple[str, Aggregate]:
    found = _AGGREGATE.fullmatch(text)
    if found is None:
        raise BadQuery(
            f"--agg {text!r} is no aggregate",
            fix="Write NAME=AGGREGATE(COLUMN): late=mean(dep_delay), n=count()",
        )
    function = "avg" if found["function"] == "mean" else found["function"]
    if function == "quantile":
        return found["name"], _quantile(text, found["inside"])
    column = _unquoted(found["inside"].strip())
    rows = column == "*" and function == "count"
    return found["name"], Aggregate(function, None if rows or not column else Named(column))


def _quantile(text: str, inside: str) -> Aggregate:
    """A column, and its part behind the last comma."""
    found = _PART.fullmatch(inside)
    try:
        part = None if found is None else float(found["part"])
    except ValueError:
        part = None
    if found is None or part is None:
        raise BadQuery(f"--agg {text!r} does not say which part", fix="Write p=quantile(distance, 0.9)")
    return agg.quantile(_unquoted(found["column"].strip()), part)


def _unquoted(name: str) -> str:
    """Names may be quoted as in a condition."""
    if len(name) > 1 and name[0] == name[-1] == '"':
        return name[1:-1].replace('""', '"')
    return name
