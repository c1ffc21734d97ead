"""From MongoDB's form to a filter tree."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lamella.core.errors import BadFilter, nearest
from lamella.core.filters.expr import DEEPEST, Filter, Not, Predicate, Reference, all_of, any_of
from lamella.core.filters.flags import flagged
from lamella.core.filters.items import ITEM
from lamella.core.filters.mongo.types import words_for

_VALUES = {
    "$gt": "gt",
    "$gte": "gte",
    "$lt": "lt",
    "$lte": "lte",
    "$size": "size",
    "$contains": "contains",
    "$startsWith": "starts_with",
    "$endsWith": "ends_with",
    "$like": "like",
}
_LISTS = {"$all": "has_all", "$between": "between", "$mod": "mod"}
_COMPARISONS = {f"${name}": name for name in ("eq", "ne", "gt", "gte", "lt", "lte")}


def from_mongo(query: Any) -> Filter:
    """The filter that such a query asks for; an empty one asks nothing.

    A row that lacks a value holds null here, so `None` finds both. Raises `BadFilter` for an operator that is
    not known, and for operands of another form than it takes.
    """
    return _query(query, 0)


def _query(query: Any, depth: int) -> Filter:
    if not isinstance(query, Mapping):
        raise BadFilter(f"{query!r} is no condition", fix='Write one as a dict: {"price": {"$gt": 5}}')
    if depth > DEEPEST:
        raise BadFilter(f"The filter nests groups more than {DEEPEST} deep", fix="Put conditions together")
    found = [_entry(name, asked, depth + 1) for name, asked in query.items()]
    return found[0] if len(found) == 1 else all_of(found)


def _entry(name: Any, asked: Any, depth: int) -> Filter:
    if not isinstance(name, str):
        raise BadFilter(f"{name!r} is no name of a column", fix="Give it as text")
    if name in _GROUPS:
        return _GROUPS[name]([_query(part, depth) for part in _list(name, asked)])
    if name == "$expr":
        return _expression(asked, depth)
    if name == "$not":
        return Not(_query(asked, depth))
    if name.startswith("$"):
        raise _unknown(name, [*_GROUPS, "$not", "$expr"])
    return _conditions(name, asked, depth)


def _conditions(column: str, asked: Any, depth: int) -> Filter:
    """What one column is asked: a value to be equal to, a pattern, or operators."""
    if isinstance(asked, re.Pattern):
        return _pattern(column, asked, "")
    if not isinstance(asked, Mapping):
        return _equal(column, asked)
    plain = [key for key in asked if not str(key).startswith("$")]
    if len(plain) == len(asked):
        return _equal(column, asked)
    if plain:
        raise BadFilter(
            f"Column '{column}' is asked for its field '{plain[0]}' beside operators",
            "A dict holds either operators, or the fields of a whole struct",
            f"Ask for the field by its path: '{column}.{plain[0]}'",
        )
    operators = {key: operand for key, operand in asked.items() if key != "$options"}
    if "$options" in asked and "$regex" not in asked:
        raise BadFilter(f"Column '{column}': $options stands beside $regex alone", fix="Add a $regex")
    found = [_operator(column, key, operand, asked, depth) for key, operand in operators.items()]
    return found[0] if len(found) == 1 else all_of(found)


def _operator(column: str, key: str, operand: Any, beside: Mapping[str, Any], depth: int) -> Filter:
    if key in _VALUES:
        return Predicate(column, _VALUES[key], (operand,))
    if key in _LISTS:
        return Predicate(column, _LISTS[key], tuple(_list(key, operand)))
    if key == "$regex":
        return _pattern(column, operand, beside.get("$options", ""))
    if key == "$not":
        if isinstance(operand, Mapping | re.Pattern):
            return Not(_conditions(column, operand, _deeper(depth)))
        raise BadFilter(
            f"Column '{column}': $not takes operators, not {operand!r}", fix="Write $ne for a value"
        )
    if key == "$elemMatch":
        return _element(column, operand, _deeper(depth))
    if key in _OTHERS:
        return _OTHERS[key](column, operand)
    raise _unknown(key, [*_VALUES, *_LISTS, *_OTHERS, "$regex", "$not", "$elemMatch"])


def _deeper(depth: int) -> int:
    if depth > DEEPEST:
        raise BadFilter(f"The filter nests groups more than {DEEPEST} deep", fix="Put conditions together")
    return depth + 1


def _equal(column: str, value: Any) -> Filter:
    return Predicate(column, "is_null") if value is None else Predicate(column, "eq", (value,))


def _unequal(column: str, value: Any) -> Filter:
    return Predicate(column, "not_null") if value is None else Predicate(column, "ne", (value,))


def _one_of(column: str, operand: Any) -> Filter:
    values = _list("$in", operand)
    known = tuple(value for value in values if value is not None)
    found = Predicate(column, "in", known)
    return any_of([found, Predicate(column, "is_null")]) if len(known) < len(values) else found


def _none_of(column: str, operand: Any) -> Filter:
    values = _list("$nin", operand)
    known = tuple(value for value in values if value is not None)
    found = Predicate(column, "nin", known)
    return all_of([found, Predicate(column, "not_null")]) if len(known) < len(values) else found


def _exists(column: str, operand: Any) -> Filter:
    if operand not in (True, False, 0, 1):
        raise BadFilter(f"Column '{column}': $exists takes true or false, not {operand!r}")
    return Predicate(column, "exists" if operand else "missing")


def _type(column: str, operand: Any) -> Filter:
    names = operand if isinstance(operand, list | tuple) else [operand]
    words = dict.fromkeys(word for name in names for word in words_for(name))
    return Predicate(column, "type", tuple(words))


def _pattern(column: str, pattern: Any, options: Any) -> Filter:
    own = ""
    if isinstance(pattern, re.Pattern):
        known = {re.IGNORECASE: "i", re.MULTILINE: "m", re.DOTALL: "s", re.VERBOSE: "x"}
        own = "".join(flag for bit, flag in known.items() if pattern.flags & bit)
        pattern = pattern.pattern
    if not isinstance(pattern, str) or not isinstance(options, str):
        raise BadFilter(f"Column '{column}': $regex takes a pattern as text, not {pattern!r}")
    options += own
    flags, folds = flagged(pattern, options)
    return Predicate(column, "regex", (flags,), folds)


def _element(column: str, operand: Any, depth: int) -> Filter:
    """Operators alone are asked of the item, anything else of its fields."""
    if not isinstance(operand, Mapping):
        raise BadFilter(f"Column '{column}': $elemMatch takes a condition, not {operand!r}")
    of_item = all(str(key).startswith("$") and key not in _GROUPS and key != "$expr" for key in operand)
    if not of_item or not operand:
        return Predicate(column, "elem_match", (_query(operand, depth),))
    where = _conditions(ITEM, operand, depth)
    if isinstance(where, Predicate) and where.operator in _OF_ITEMS and not where.ignore_case:
        return Predicate(column, _OF_ITEMS[where.operator], where.values)
    return Predicate(column, "elem_match", (where,))


def _expression(asked: Any, depth: int) -> Filter:
    """`{"$lt": ["$a", "$b"]}`: names behind a dollar are columns."""
    if not isinstance(asked, Mapping) or len(asked) != 1:
        raise BadFilter(f"$expr takes one comparison, not {asked!r}", fix='Write {"$lt": ["$a", "$b"]}')
    ((key, operands),) = asked.items()
    if key in ("$and", "$or"):
        return _GROUPS[key]([_expression(part, _deeper(depth)) for part in _list(key, operands)])
    if key == "$not":
        (inside,) = _several(key, operands, 1)
        return Not(_expression(inside, _deeper(depth)))
    if key not in _COMPARISONS:
        raise _unknown(key, [*_COMPARISONS, "$and", "$or", "$not"])
    one, other = _several(key, operands, 2)
    if not _names_column(one):
        raise BadFilter(f"$expr: {key} begins with a column, not {one!r}", fix=f'Write "$name", then {one!r}')
    value = Reference(other[1:]) if _names_column(other) else _literal(other)
    return Predicate(one[1:], _COMPARISONS[key], (value,))


def _literal(operand: Any) -> Any:
    """A value, which MongoDB lets one mark as such: a text that begins with a dollar has to be."""
    return operand["$literal"] if isinstance(operand, Mapping) and list(operand) == ["$literal"] else operand


def _names_column(operand: Any) -> bool:
    return isinstance(operand, str) and operand.startswith("$")


def _several(key: str, operands: Any, count: int) -> Sequence[Any]:
    found = _list(key, operands)
    if len(found) != count:
        raise BadFilter(f"$expr: {key} takes {count} operands, not {len(found)}")
    return found


def _list(key: str, operand: Any) -> Sequence[Any]:
    if not isinstance(operand, list | tuple):
        raise BadFilter(f"{key} takes a list, not {operand!r}", fix=f"Write [{operand!r}]")
    return operand


def _neither(parts: list[Filter]) -> Filter:
    return Not(any_of(parts) if len(parts) != 1 else parts[0])


def _unknown(key: str, known: Sequence[str]) -> BadFilter:
    if key in ("$text", "$search"):
        fix = (
            "Give the words to a table's search, and the condition to its where: table.search('fox', where=…)"
        )
        return BadFilter(f"A condition cannot search by words, as {key} does", fix=fix)
    guesses = " or ".join(f"'{guess}'" for guess in nearest(key, known))
    fix = f"Did you mean {guesses}?" if guesses else f"There are: {', '.join(known)}"
    return BadFilter(f"There is no operator '{key}'", fix=fix)


_GROUPS: dict[str, Callable[[list[Filter]], Filter]] = {"$and": all_of, "$or": any_of, "$nor": _neither}
_OF_ITEMS = {"eq": "has", "in": "has_any"}
_OTHERS: dict[str, Callable[[str, Any], Filter]] = {
    "$eq": _equal,
    "$ne": _unequal,
    "$in": _one_of,
    "$nin": _none_of,
    "$exists": _exists,
    "$type": _type,
}
