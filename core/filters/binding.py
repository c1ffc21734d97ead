"""A filter tree made to fit a schema: every column known, every operator and value right for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from core.arrays import from_values
from core.errors import BadFilter, UnknownColumn, nearest
from core.filters.expr import And, Branch, Filter, Not, Or, Predicate
from core.filters.kinds import Kind, kind_of
from core.filters.like import as_regex
from core.filters.null_operand import NullOperand
from core.filters.operators import OPERATORS, PATTERNS, Arity, Operator, fitting
from core.filters.values import Value, convert
from core.filters.walk import fold

DEEPEST = 60
"""Groups within groups: far beyond what people nest, and what every engine can still take."""

_COUNTS = {Arity.NONE: "no value", Arity.ONE: "one value", Arity.TWO: "two values"}


@dataclass(frozen=True)
class Bound(Predicate):
    """A predicate that fits its column. `exact` is what compilers compare with (see `Value`)."""

    type: pa.DataType = field(default_factory=pa.null)
    exact: tuple[Any, ...] = ()


def bind(filter: Filter, schema: pa.Schema, name: str) -> Filter:
    """The same tree over `Bound` predicates; binding again is harmless.

    `name` is the dataset's, for messages. Raises `UnknownColumn`, or `BadFilter` for an operator or a
    value that does not fit, a pattern that cannot be read, and groups nested deeper than `DEEPEST`.
    """
    types = dict(zip(schema.names, schema.types, strict=True))
    bound, _depth = fold(filter, lambda predicate: (bind_predicate(predicate, types, name), 0), _branch)
    return bound


def bind_predicate(predicate: Predicate, types: Mapping[str, pa.DataType], name: str) -> Bound:
    """One condition alone; `types` are those of the columns called so in the dataset `name`."""
    type_ = types.get(predicate.column)
    if type_ is None:
        raise UnknownColumn(predicate.column, name, types)
    if pa.types.is_null(type_):
        return _of_nulls(predicate)
    operator = _operator(predicate, type_)
    values = tuple(_value(predicate, value, type_) for value in counted(predicate, operator))
    if operator.id in PATTERNS:
        check_pattern(predicate)
    shown, exact = tuple(v.shown for v in values), tuple(v.exact for v in values)
    return Bound(predicate.column, operator.id, shown, predicate.ignore_case, type_, exact)


def _branch(node: Branch, children: list[tuple[Filter, int]]) -> tuple[Filter, int]:
    depth = 1 + max((depth for _child, depth in children), default=0)
    if depth > DEEPEST:
        raise BadFilter(
            f"The filter nests groups more than {DEEPEST} deep",
            fix="Put conditions of one kind into one group; for many of them all_of() and any_of() do",
        )
    bound = tuple(child for child, _depth in children)
    if isinstance(node, Not):
        return Not(bound[0]), depth
    return (And(bound) if isinstance(node, And) else Or(bound)), depth


def _of_nulls(predicate: Predicate) -> Bound:
    """All rows of the column meet it, or none."""
    operator = known_operator(predicate)
    met = operator.test(NullOperand(), counted(predicate, operator))
    return Bound(predicate.column, "is_null" if met else "not_null")


def known_operator(predicate: Predicate) -> Operator:
    """Raises `BadFilter` for one that the table does not have."""
    operator = OPERATORS.get(predicate.operator)
    if operator is None:
        guesses = " or ".join(f"'{g}'" for g in nearest(predicate.operator, list(OPERATORS)))
        raise BadFilter(
            f"There is no operator '{predicate.operator}' (asked of column '{predicate.column}')",
            fix=f"Did you mean {guesses}?" if guesses else f"There are: {', '.join(OPERATORS)}",
        )
    return operator


def _operator(predicate: Predicate, type_: pa.DataType) -> Operator:
    operator, kind = known_operator(predicate), kind_of(type_)
    if kind not in operator.kinds or (predicate.ignore_case and kind is not Kind.TEXT):
        asked = operator.id if kind not in operator.kinds else "ignore_case"
        raise BadFilter(
            f"'{asked}' does not fit column '{predicate.column}'",
            f"It is {type_}, which holds {kind.value}",
            f"Operators that fit: {', '.join(fit.id for fit in fitting(type_))}",
        )
    return operator


def counted(predicate: Predicate, operator: Operator) -> Sequence[Any]:
    """The predicate's values; raises `BadFilter` where they are not as many as the operator takes."""
    given = len(predicate.values)
    if operator.arity is not Arity.MANY and given != operator.arity.value:
        raise BadFilter(
            f"'{operator.id}' on column '{predicate.column}' was given {given} values",
            f"It takes {_COUNTS[operator.arity]}",
        )
    return predicate.values


def _value(predicate: Predicate, value: Any, type_: pa.DataType) -> Value:
    try:
        return convert(value, type_)
    except (ValueError, OverflowError) as error:
        raise BadFilter(
            f"Column '{predicate.column}' ({type_}) cannot be compared with {value!r}", str(error)
        ) from error


def check_pattern(predicate: Predicate) -> None:
    """Raises `BadFilter` that says where the pattern of a `like` or `regex` is wrong."""
    pattern = predicate.values[0]
    try:
        regex = as_regex(pattern) if predicate.operator == "like" else pattern
        pc.match_substring_regex(from_values([""], pa.string()), regex)
    except ValueError as error:
        reason = str(error).removeprefix("Invalid regular expression: ")
        raise BadFilter(
            f"Column '{predicate.column}': the pattern '{pattern}' cannot be read",
            reason + _place(pattern, reason),
            "A backslash before a special character takes it as it is",
        ) from error


def _place(pattern: str, reason: str) -> str:
    """RE2 quotes the part it stumbled over after a colon; where that part stands in the pattern."""
    part = reason.rpartition(": ")[2]
    at = pattern.find(part) if part != reason else -1
    return f", at character {at + 1}" if at >= 0 else ""
