"""Conditions on rows: built, bound to a schema, compiled to SQL and Arrow, said in plain words."""

from __future__ import annotations

from core.filters.binding import Bound, bind
from core.filters.column import Column, col
from core.filters.expr import And, Filter, Not, Or, Predicate, Reference, all_of, any_of
from core.filters.expr_json import from_json, to_json
from core.filters.mongo import from_mongo, to_mongo
from core.filters.operators import OPERATORS, fits, fitting
from core.filters.sentence import sentence
from core.filters.text import parse, to_text
from core.filters.to_arrow import mask
from core.filters.to_sql import to_sql

__all__ = [
    "OPERATORS",
    "And",
    "Bound",
    "Column",
    "Filter",
    "Not",
    "Or",
    "Predicate",
    "Reference",
    "all_of",
    "any_of",
    "bind",
    "col",
    "fits",
    "fitting",
    "from_json",
    "from_mongo",
    "mask",
    "parse",
    "sentence",
    "to_json",
    "to_mongo",
    "to_sql",
    "to_text",
]
