"""From a filter tree to MongoDB's form, in operators that MongoDB itself has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from lamella.core.errors import BadFilter
from lamella.core.filters.expr import And, Branch, Filter, Not, Predicate, Reference, thawed
from lamella.core.filters.items import ITEM
from lamella.core.filters.like import as_regex, literal
from lamella.core.filters.mongo.types import NAMES
from lamella.core.filters.operators import OPERATORS, Takes
from lamella.core.filters.values import number_text
from lamella.core.filters.walk import fold

Query = dict[str, Any]
_SAME = ("eq", "ne", "gt", "gte", "lt", "lte")


def to_mongo(filter: Filter) -> Query:
    """A query for MongoDB's `find`. Raises `BadFilter` for what it has no operator for.

    MongoDB compares values of different types by its own order, and null with other columns too.
    """
    return fold(filter, _predicate, _branch)


def _branch(node: Branch, parts: list[Query]) -> Query:
    if isinstance(node, Not):
        return {"$nor": parts}
    if not parts:
        return {} if isinstance(node, And) else {"$nor": [{}]}
    return parts[0] if len(parts) == 1 else {"$and" if isinstance(node, And) else "$or": parts}


def _predicate(predicate: Predicate) -> Query:
    if any(isinstance(value, Reference) for value in predicate.values):
        return _expression(predicate)
    if predicate.ignore_case and predicate.operator not in _FOLDED:
        raise _unknown(predicate, " in any case")
    if predicate.operator not in _WRITERS:
        raise _unknown(predicate)
    return {predicate.column: _WRITERS[predicate.operator](predicate, tuple(map(thawed, predicate.values)))}


def _unknown(predicate: Predicate, how: str = "") -> BadFilter:
    operator = OPERATORS.get(predicate.operator)
    label = predicate.operator if operator is None else operator.label
    return BadFilter(
        f"MongoDB has no operator for '{label}'{how} (asked of column '{predicate.column}')",
        fix="Leave the condition out, and apply it to what MongoDB answers",
    )


def _expression(predicate: Predicate) -> Query:
    column = f"${predicate.column}"
    operands = [_operand(value) for value in predicate.values]
    if predicate.ignore_case:
        raise _unknown(predicate, " in any case")
    if predicate.operator in _SAME:
        return {"$expr": {f"${predicate.operator}": [column, *operands]}}
    if OPERATORS[predicate.operator].takes is not Takes.COLUMNS:
        raise _unknown(predicate, " and another column")
    low, high = operands
    between = {"$and": [{"$gte": [column, low]}, {"$lte": [column, high]}]}
    return {"$expr": {"$not": [between]} if predicate.operator == "not_between" else between}


def _operand(value: Any) -> Any:
    if isinstance(value, Reference):
        return f"${value.name}"
    return {"$literal": value} if isinstance(value, str) and value.startswith("$") else value


def _pattern(make: Callable[[str], str]) -> Callable[[Predicate, Sequence[Any]], Query]:
    def written(predicate: Predicate, values: Sequence[Any]) -> Query:
        options = {"$options": "i"} if predicate.ignore_case else {}
        return {"$regex": make(values[0]), **options}

    return written


def _equal(predicate: Predicate, values: Sequence[Any]) -> Query:
    return _one_of(predicate, values) if predicate.ignore_case else {"$eq": values[0]}


def _one_of(predicate: Predicate, values: Sequence[Any]) -> Query:
    if not predicate.ignore_case or not values:
        return {"$in": list(values)}
    texts = (number_text(value) or value for value in values)
    return {"$regex": rf"\A(?:{'|'.join(map(literal, texts))})\z", "$options": "i"}


def _between(_predicate: Predicate, values: Sequence[Any]) -> Query:
    return {"$gte": values[0], "$lte": values[1]}


def _all(_predicate: Predicate, values: Sequence[Any]) -> Query:
    return {"$all": list(values)} if values else {"$type": "array"}


def _types(predicate: Predicate, values: Sequence[Any]) -> Query:
    missing = [word for word in values if word not in NAMES]
    if missing:
        raise BadFilter(f"MongoDB has no type '{missing[0]}' (asked of column '{predicate.column}')")
    return {"$type": list(dict.fromkeys(name for word in values for name in NAMES[word]))}


def _items(predicate: Predicate, values: Sequence[Any]) -> Query:
    query = to_mongo(values[0])
    of_item = _of_item(query)
    if of_item is None and _names_item(query):
        raise _unknown(predicate, " on items that are no structs, joined with or")
    return {"$elemMatch": query if of_item is None else of_item}


def _of_item(query: Query) -> Query | None:
    """The operators that the item itself is asked, all of which have to hold; None for anything else."""
    if list(query) == [ITEM]:
        return dict(query[ITEM])
    if list(query) == ["$nor"] and len(query["$nor"]) == 1:
        inside = _of_item(query["$nor"][0])
        return None if inside is None else {"$not": inside}
    parts = [_of_item(part) for part in query.get("$and", [])] if list(query) == ["$and"] else [None]
    names = [name for part in parts for name in part or ()]
    if None in parts or len(set(names)) < len(names):
        return None
    return {name: asked for part in parts if part for name, asked in part.items()}


def _names_item(query: Any) -> bool:
    if isinstance(query, dict):
        return any(_is_of_item(name) or _names_item(asked) for name, asked in query.items())
    return isinstance(query, list) and any(map(_names_item, query))


def _is_of_item(name: str) -> bool:
    return name == ITEM or name.startswith(f"{ITEM}.")


def _not(write: Callable[[Predicate, Sequence[Any]], Query]) -> Callable[[Predicate, Sequence[Any]], Query]:
    return lambda predicate, values: {"$not": write(predicate, values)}


_contains = _pattern(literal)
_WRITERS: dict[str, Callable[[Predicate, Sequence[Any]], Query]] = {
    "eq": _equal,
    "ne": lambda p, v: {"$not": _equal(p, v)} if p.ignore_case else {"$ne": v[0]},
    **dict.fromkeys(("gt", "gte", "lt", "lte"), lambda p, v: {f"${p.operator}": v[0]}),
    "between": _between,
    "not_between": _not(_between),
    "in": _one_of,
    "nin": lambda p, v: {"$not": _one_of(p, v)} if p.ignore_case else {"$nin": list(v)},
    "contains": _contains,
    "not_contains": _not(_contains),
    "starts_with": _pattern(lambda text: rf"\A{literal(text)}"),
    "ends_with": _pattern(lambda text: rf"{literal(text)}\z"),
    "like": _pattern(as_regex),
    "regex": _pattern(str),
    "mod": lambda p, v: {"$mod": list(v)},
    "has": lambda p, v: {"$elemMatch": _equal(p, v)},
    "has_any": lambda p, v: {"$elemMatch": _one_of(p, v)},
    "has_all": _all,
    "size": lambda p, v: {"$size": v[0]},
    "elem_match": _items,
    "is_true": lambda p, v: {"$eq": True},
    "is_false": lambda p, v: {"$eq": False},
    "is_empty": lambda p, v: {"$eq": ""},
    "not_empty": lambda p, v: {"$nin": [None, ""]},
    "is_null": lambda p, v: {"$eq": None},
    "not_null": lambda p, v: {"$ne": None},
    "type": _types,
    "exists": lambda p, v: {"$exists": True},
    "missing": lambda p, v: {"$exists": False},
}
_FOLDED = frozenset(
    {"eq", "ne", "in", "nin", "contains", "not_contains", "starts_with", "ends_with", "like", "regex"}
    | {"has", "has_any"}
)
"""What can be asked in any case, as patterns."""
