"""Converts filters from and to MongoDB's query syntax."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lamella.core.errors import BadFilter, nearest, short_text
from lamella.core.filters.expr import (
    DEEPEST,
    ITEM,
    And,
    Branch,
    Filter,
    Not,
    Predicate,
    Reference,
    all_of,
    any_of,
    apply_flags,
    fold,
    thaw,
)
from lamella.core.filters.kinds import NULL, WORDS
from lamella.core.filters.operators import OPERATORS, Takes
from lamella.core.filters.predicate_values import as_regex, literal
from lamella.core.filters.values import exact_number_text

_WORDS: dict[str, tuple[str, ...]] = {
    "double": ("float",),
    "string": ("text",),
    "object": ("struct", "map"),
    "array": ("list",),
    "binData": ("binary",),
    "bool": ("boolean",),
    "date": ("date", "timestamp"),
    "int": ("integer",),
    "long": ("integer",),
}
_NUMBERS = {
    1: "double",
    2: "string",
    3: "object",
    4: "array",
    5: "binData",
    8: "bool",
    9: "date",
    10: "null",
    16: "int",
    18: "long",
    19: "decimal",
}
NAMES: dict[str, tuple[str, ...]] = {
    "number": ("number",),
    "integer": ("int", "long"),
    "float": ("double",),
    "decimal": ("decimal",),
    "text": ("string",),
    "boolean": ("bool",),
    "timestamp": ("date",),
    "date": ("date",),
    "binary": ("binData",),
    "list": ("array",),
    "struct": ("object",),
    "map": ("object",),
    NULL: ("null",),
}
"""MongoDB's names of types, for those it has."""


def words_for(name: Any) -> tuple[str, ...]:
    """Our names for a type of MongoDB. Unknown names are returned unchanged, and refused when the filter is
    bound."""
    alias = _NUMBERS.get(name, name) if isinstance(name, int) and not isinstance(name, bool) else name
    if not isinstance(alias, str):
        return (repr(alias),)
    if alias in WORDS and alias not in _WORDS:
        return (alias,)
    return _WORDS.get(alias, (alias,))


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
    "$words": "words",
}
_LISTS = {"$between": "between", "$mod": "mod"}
_COMPARISONS = {f"${name}": name for name in ("eq", "ne", "gt", "gte", "lt", "lte")}


def from_mongo(query: Any) -> Filter:
    """Convert a query to a filter; an empty query is met by every row.

    Missing values are null here, so `None` matches both. Raises `BadFilter` for unknown operators and
    malformed operands.
    """
    return _query(query, 0)


def _query(query: Any, depth: int) -> Filter:
    if not isinstance(query, Mapping):
        raise BadFilter(
            f"{short_text(query)} is not a condition", fix='Write one as a dict: {"price": {"$gt": 5}}'
        )
    if depth > DEEPEST:
        raise BadFilter(f"The filter nests groups more than {DEEPEST} deep", fix="Put conditions together")
    filters = [_entry(name, spec, depth + 1) for name, spec in query.items()]
    return filters[0] if len(filters) == 1 else all_of(filters)


def _entry(name: Any, spec: Any, depth: int) -> Filter:
    if not isinstance(name, str):
        raise BadFilter(f"{short_text(name)} is not a name of a column", fix="Give it as text")
    if name in _GROUPS:
        parts = [_query(part, depth) for part in _list(name, spec)]
        if not parts:
            raise BadFilter(
                f"{name} takes at least one condition", fix="Leave it out, or put one into its list"
            )
        return _GROUPS[name](parts)
    if name == "$expr":
        return _expression(spec, depth)
    if name == "$not":
        return Not(_query(spec, depth))
    if name.startswith("$"):
        raise _unknown(name, [*_GROUPS, "$not", "$expr"])
    return _conditions(name, spec, depth)


def _conditions(column: str, spec: Any, depth: int) -> Filter:
    """The conditions on one column: a value to equal, a pattern, or operators."""
    if isinstance(spec, re.Pattern):
        return _pattern(column, spec, "")
    if not isinstance(spec, Mapping):
        return _equal(column, spec)
    plain = [key for key in spec if not str(key).startswith("$")]
    if len(plain) == len(spec):
        return _equal(column, spec)
    if plain:
        raise BadFilter(
            f"Column '{column}' has the field '{plain[0]}' next to operators",
            "A dict contains either operators or the fields of a whole struct",
            f"Refer to the field by its path: '{column}.{plain[0]}'",
        )
    operators = {key: operand for key, operand in spec.items() if key != "$options"}
    if "$options" in spec and "$regex" not in spec:
        raise BadFilter(f"Column '{column}': $options needs a $regex next to it", fix="Add a $regex")
    filters = [_operator(column, key, operand, spec, depth) for key, operand in operators.items()]
    return filters[0] if len(filters) == 1 else all_of(filters)


def _operator(column: str, key: str, operand: Any, beside: Mapping[str, Any], depth: int) -> Filter:
    if key in _VALUES:
        return Predicate(column, _VALUES[key], (operand,))
    if key in _LISTS:
        return Predicate(column, _LISTS[key], tuple(_list(key, operand)))
    if key == "$regex":
        return _pattern(column, operand, beside.get("$options", ""))
    if key == "$not":
        if isinstance(operand, re.Pattern) or (isinstance(operand, Mapping) and operand):
            return Not(_conditions(column, operand, _deeper(depth)))
        raise BadFilter(
            f"Column '{column}': $not takes operators, not {short_text(operand)}", fix="Write $ne for a value"
        )
    if key == "$elemMatch":
        return _element(column, operand, _deeper(depth))
    if key in _MEMBER_OPERATORS:
        return _MEMBER_OPERATORS[key](column, operand)
    raise _unknown(key, [*_VALUES, *_LISTS, *_MEMBER_OPERATORS, "$regex", "$not", "$elemMatch"])


def _deeper(depth: int) -> int:
    if depth > DEEPEST:
        raise BadFilter(f"The filter nests groups more than {DEEPEST} deep", fix="Put conditions together")
    return depth + 1


def _equal(column: str, value: Any) -> Filter:
    return Predicate(column, "is_null") if value is None else Predicate(column, "eq", (value,))


def _unequal(column: str, value: Any) -> Filter:
    return Predicate(column, "not_null") if value is None else Predicate(column, "ne", (value,))


def _read_in(column: str, operand: Any) -> Filter:
    values = _list("$in", operand)
    present = tuple(value for value in values if value is not None)
    is_one = Predicate(column, "in", present)
    return any_of([is_one, Predicate(column, "is_null")]) if len(present) < len(values) else is_one


def _read_not_in(column: str, operand: Any) -> Filter:
    values = _list("$nin", operand)
    present = tuple(value for value in values if value is not None)
    unlisted = Predicate(column, "nin", present)
    return all_of([unlisted, Predicate(column, "not_null")]) if len(present) < len(values) else unlisted


def _read_all_of(column: str, operand: Any) -> Filter:
    """$all. For an empty list it matches nothing in MongoDB, whereas in a filter tree every list matches."""
    values = tuple(_list("$all", operand))
    return Predicate(column, "has_all" if values else "has_any", values)


def _exists(column: str, operand: Any) -> Filter:
    if operand not in (True, False, 0, 1):
        raise BadFilter(f"Column '{column}': $exists takes true or false, not {short_text(operand)}")
    return Predicate(column, "exists" if operand else "missing")


def _type(column: str, operand: Any) -> Filter:
    names = operand if isinstance(operand, list | tuple) else [operand]
    words = dict.fromkeys(word for name in names for word in words_for(name))
    return Predicate(column, "type", tuple(words))


def _pattern(column: str, pattern: Any, options: Any) -> Filter:
    own = ""
    if isinstance(pattern, re.Pattern):
        letters = {re.IGNORECASE: "i", re.MULTILINE: "m", re.DOTALL: "s", re.VERBOSE: "x"}
        own = "".join(flag for bit, flag in letters.items() if pattern.flags & bit)
        pattern = pattern.pattern
    if not isinstance(pattern, str) or not isinstance(options, str):
        raise BadFilter(f"Column '{column}': $regex takes a pattern as text, not {short_text(pattern)}")
    options += own
    flags, folds = apply_flags(pattern, options)
    return Predicate(column, "regex", (flags,), folds)


def _element(column: str, operand: Any, depth: int) -> Filter:
    """$elemMatch. Operators apply to the item itself, anything else to its fields."""
    if not isinstance(operand, Mapping):
        raise BadFilter(f"Column '{column}': $elemMatch takes a condition, not {short_text(operand)}")
    of_item = all(str(key).startswith("$") and key not in _GROUPS and key != "$expr" for key in operand)
    if not of_item or not operand:
        return Predicate(column, "elem_match", (_query(operand, depth),))
    where = _conditions(ITEM, operand, depth)
    if isinstance(where, Predicate) and where.operator in _OF_ITEMS and not where.ignore_case:
        return Predicate(column, _OF_ITEMS[where.operator], where.values)
    return Predicate(column, "elem_match", (where,))


def _expression(spec: Any, depth: int) -> Filter:
    """Read `{"$lt": ["$a", "$b"]}`, in which names with a dollar sign are columns."""
    if not isinstance(spec, Mapping) or len(spec) != 1:
        raise BadFilter(
            f"$expr takes one comparison, not {short_text(spec)}", fix='Write {"$lt": ["$a", "$b"]}'
        )
    ((key, operands),) = spec.items()
    if key in ("$and", "$or"):
        return _GROUPS[key]([_expression(part, _deeper(depth)) for part in _list(key, operands)])
    if key == "$not":
        (inside,) = _several(key, operands, 1)
        return Not(_expression(inside, _deeper(depth)))
    if key not in _COMPARISONS:
        raise _unknown(key, [*_COMPARISONS, "$and", "$or", "$not"])
    left, right = _several(key, operands, 2)
    if not _names_column(left):
        text = short_text(left)
        raise BadFilter(f"$expr: {key} begins with a column, not {text}", fix=f'Write "$name", then {text}')
    value = Reference(right[1:]) if _names_column(right) else _literal(right)
    return Predicate(left[1:], _COMPARISONS[key], (value,))


def _literal(operand: Any) -> Any:
    """A value, which may be wrapped in $literal: texts that begin with a dollar sign must be."""
    return operand["$literal"] if isinstance(operand, Mapping) and list(operand) == ["$literal"] else operand


def _names_column(operand: Any) -> bool:
    return isinstance(operand, str) and operand.startswith("$")


def _several(key: str, operands: Any, count: int) -> Sequence[Any]:
    filters = _list(key, operands)
    if len(filters) != count:
        raise BadFilter(f"$expr: {key} takes {count} operands, not {len(filters)}")
    return filters


def _list(key: str, operand: Any) -> Sequence[Any]:
    if not isinstance(operand, list | tuple):
        raise BadFilter(
            f"{key} takes a list, not {short_text(operand)}", fix=f"Write [{short_text(operand)}]"
        )
    return operand


def _neither(parts: list[Filter]) -> Filter:
    return Not(any_of(parts) if len(parts) != 1 else parts[0])


def _unknown(key: str, names: Sequence[str]) -> BadFilter:
    if key in ("$text", "$search"):
        fix = "Write {'notes': {'$words': 'fox'}}, or give the words to a table's search: table.search('fox')"
        return BadFilter(f"A condition on words must name one column, which {key} does not", fix=fix)
    guesses = " or ".join(f"'{guess}'" for guess in nearest(key, names))
    fix = f"Did you mean {guesses}?" if guesses else f"There are: {', '.join(names)}"
    return BadFilter(f"There is no operator '{key}'", fix=fix)


_GROUPS: dict[str, Callable[[list[Filter]], Filter]] = {"$and": all_of, "$or": any_of, "$nor": _neither}
_OF_ITEMS = {"eq": "has", "in": "has_any"}
_MEMBER_OPERATORS: dict[str, Callable[[str, Any], Filter]] = {
    "$eq": _equal,
    "$ne": _unequal,
    "$in": _read_in,
    "$nin": _read_not_in,
    "$all": _read_all_of,
    "$exists": _exists,
    "$type": _type,
}


Query = dict[str, Any]
_SAME_OPERATORS = ("eq", "ne", "gt", "gte", "lt", "lte")


def to_mongo(filter: Filter) -> Query:
    """Convert a filter to a query for MongoDB's `find`. Raises `BadFilter` if MongoDB has no operator for it.

    MongoDB compares values of different types by its own order, and compares null with other columns too.
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
        return _write_expression(predicate)
    if predicate.ignore_case and predicate.operator not in _CASE_OPERATORS:
        raise _no_mongo_form(predicate, " in any case")
    if predicate.operator not in _WRITERS:
        raise _no_mongo_form(predicate)
    return {predicate.column: _WRITERS[predicate.operator](predicate, tuple(map(thaw, predicate.values)))}


def _no_mongo_form(predicate: Predicate, how: str = "") -> BadFilter:
    operator = OPERATORS.get(predicate.operator)
    label = predicate.operator if operator is None else operator.label
    return BadFilter(
        f"MongoDB has no operator for '{label}'{how} (asked of column '{predicate.column}')",
        fix="Leave the condition out, and apply it to MongoDB's answer",
    )


def _write_expression(predicate: Predicate) -> Query:
    column = f"${predicate.column}"
    operands = [_operand(value) for value in predicate.values]
    if predicate.ignore_case:
        raise _no_mongo_form(predicate, " in any case")
    if predicate.operator in _SAME_OPERATORS:
        return {"$expr": {f"${predicate.operator}": [column, *operands]}}
    if OPERATORS[predicate.operator].takes is not Takes.COLUMNS:
        raise _no_mongo_form(predicate, " and another column")
    low, high = operands
    between = {"$and": [{"$gte": [column, low]}, {"$lte": [column, high]}]}
    return {"$expr": {"$not": [between]} if predicate.operator == "not_between" else between}


def _operand(value: Any) -> Any:
    if isinstance(value, Reference):
        return f"${value.name}"
    return {"$literal": value} if isinstance(value, str) and value.startswith("$") else value


def _write_pattern(make: Callable[[str], str]) -> Callable[[Predicate, Sequence[Any]], Query]:
    def write(predicate: Predicate, values: Sequence[Any]) -> Query:
        options = {"$options": "i"} if predicate.ignore_case else {}
        return {"$regex": make(values[0]), **options}

    return write


def _write_equal(predicate: Predicate, values: Sequence[Any]) -> Query:
    return _write_one_of(predicate, values) if predicate.ignore_case else {"$eq": values[0]}


def _write_one_of(predicate: Predicate, values: Sequence[Any]) -> Query:
    if not predicate.ignore_case or not values:
        return {"$in": list(values)}
    texts = (exact_number_text(value) or value for value in values)
    return {"$regex": rf"\A(?:{'|'.join(map(literal, texts))})\z", "$options": "i"}


def _between(_predicate: Predicate, values: Sequence[Any]) -> Query:
    return {"$gte": values[0], "$lte": values[1]}


def _write_all_of(_predicate: Predicate, values: Sequence[Any]) -> Query:
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
        raise _no_mongo_form(predicate, " on items that are no structs, joined with or")
    return {"$elemMatch": query if of_item is None else of_item}


def _of_item(query: Query) -> Query | None:
    """The operators on the item itself, all of which must be met; None if the query is anything else."""
    if list(query) == [ITEM]:
        return dict(query[ITEM])
    if list(query) == ["$nor"] and len(query["$nor"]) == 1:
        inside = _of_item(query["$nor"][0])
        return None if inside is None else {"$not": inside}
    parts = [_of_item(part) for part in query.get("$and", [])] if list(query) == ["$and"] else [None]
    names = [name for part in parts for name in part or ()]
    if None in parts or len(set(names)) < len(names):
        return None
    return {name: spec for part in parts if part for name, spec in part.items()}


def _names_item(query: Any) -> bool:
    if isinstance(query, dict):
        return any(_is_of_item(name) or _names_item(spec) for name, spec in query.items())
    return isinstance(query, list) and any(map(_names_item, query))


def _is_of_item(name: str) -> bool:
    return name == ITEM or name.startswith(f"{ITEM}.")


def _not(write: Callable[[Predicate, Sequence[Any]], Query]) -> Callable[[Predicate, Sequence[Any]], Query]:
    return lambda predicate, values: {"$not": write(predicate, values)}


_contains = _write_pattern(literal)
_WRITERS: dict[str, Callable[[Predicate, Sequence[Any]], Query]] = {
    "eq": _write_equal,
    "ne": lambda p, v: {"$not": _write_equal(p, v)} if p.ignore_case else {"$ne": v[0]},
    **dict.fromkeys(("gt", "gte", "lt", "lte"), lambda p, v: {f"${p.operator}": v[0]}),
    "between": _between,
    "not_between": _not(_between),
    "in": _write_one_of,
    "nin": lambda p, v: {"$not": _write_one_of(p, v)} if p.ignore_case else {"$nin": list(v)},
    "contains": _contains,
    "not_contains": _not(_contains),
    "starts_with": _write_pattern(lambda text: rf"\A{literal(text)}"),
    "ends_with": _write_pattern(lambda text: rf"{literal(text)}\z"),
    "like": _write_pattern(as_regex),
    "regex": _write_pattern(str),
    "words": lambda p, v: {"$words": v[0]},
    "mod": lambda p, v: {"$mod": list(v)},
    "has": lambda p, v: {"$elemMatch": _write_equal(p, v)},
    "has_any": lambda p, v: {"$elemMatch": _write_one_of(p, v)},
    "has_all": _write_all_of,
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
_CASE_OPERATORS = frozenset(
    {"eq", "ne", "in", "nin", "contains", "not_contains", "starts_with", "ends_with", "like", "regex"}
    | {"has", "has_any"}
)
"""Operators that can ignore case, written as patterns."""
