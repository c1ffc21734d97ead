"""Filters on rows: building them, binding them to a schema, compiling them to SQL and Arrow, and describing
them in words."""

from __future__ import annotations

from lamella.core.filters.binding import BoundPredicate, bind
from lamella.core.filters.expr import And, Filter, Not, Or, Predicate, Reference, all_of, any_of
from lamella.core.filters.expr_json import from_json, to_json
from lamella.core.filters.mongo import from_mongo, to_mongo
from lamella.core.filters.operators import OPERATORS, fits, fitting
from lamella.core.filters.sentence import sentence
from lamella.core.filters.text import parse, to_text
from lamella.core.filters.to_arrow import mask
from lamella.core.filters.to_sql import to_sql

__all__ = [
    "OPERATORS",
    "And",
    "BoundPredicate",
    "Filter",
    "Not",
    "Or",
    "Predicate",
    "Reference",
    "all_of",
    "any_of",
    "bind",
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
