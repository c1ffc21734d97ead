"""Binds a filter tree to a schema: every column exists, and every operator and value fits it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import pyarrow as pa

from lamella.core.arrow.nested_values import Place, is_list, refuse_twins
from lamella.core.arrow.types import REST
from lamella.core.errors import BadFilter, UnknownColumn, nearest
from lamella.core.filters.expr import (
    DEEPEST,
    And,
    Branch,
    Filter,
    Not,
    Or,
    Predicate,
    Reference,
    Struct,
    fold,
)
from lamella.core.filters.kinds import NESTED_KINDS, Kind, kind_of
from lamella.core.filters.operators import OPERATORS, WHOLE, Arity, NullOperand, Operator, Takes, fitting
from lamella.core.filters.predicate_values import BadValue, BoundReference, TypedPredicate, Types, place_in
from lamella.core.filters.values import value_text

MOST_WHOLE = 1_000
"""The maximum number of values inside lists and structs in one condition."""
_COUNTS = {Arity.NONE: "no value", Arity.ONE: "one value", Arity.TWO: "two values"}


@dataclass(frozen=True)
class BoundPredicate(Predicate):
    """A predicate that fits its column, which is at `place`. Compilers compare with `exact` (see `Value`)."""

    type: pa.DataType = field(default_factory=pa.null)
    exact: tuple[Any, ...] = ()
    place: Place = field(default=Place.of("", pa.null()), compare=False)

    @cached_property
    def memo(self) -> dict[Any, Any]:
        """What compilers prepare from many values, by purpose: done once, not for each block of rows."""
        return {}

    @property
    def is_listable(self) -> bool:
        """Whether its values can be merged into one list with those of other conditions."""
        return self.has_only_values and OPERATORS["in"].fits(self.type)

    @cached_property
    def has_only_values(self) -> bool:
        """Whether it compares only with values: no columns, no conditions on items."""
        return not any(issubclass(kind, BoundReference | Filter) for kind in set(map(type, self.exact)))


def bind(filter: Filter, schema: pa.Schema, name: str) -> Filter:
    """Bind the filter: return the same tree with `BoundPredicate` predicates, in which conditions on one
    column are merged. Binding a bound filter again is harmless.

    `name` is the dataset's name for messages. Raises `UnknownColumn`, or `BadFilter` for an operator or value
    that does not fit, an invalid pattern, or groups nested deeper than `DEEPEST`.
    """
    return bind_to(filter, dict(zip(schema.names, schema.types, strict=True)), name)


def bind_to(filter: Filter, types: Types, name: str) -> Filter:
    """The same, given the types of the columns."""
    bound, _depth = fold(filter, lambda predicate: (_condition(predicate, types, name), 0), _branch)
    return bound


def bind_predicate(predicate: Predicate, types: Types, name: str) -> BoundPredicate:
    """Bind a single condition, in order to show it; `types` are those of the columns in the dataset
    `name`."""
    bound = _condition(predicate, types, name)
    if isinstance(bound, BoundPredicate):
        return bound
    place = place_in(types, predicate.column, name)
    return BoundPredicate(
        predicate.column, predicate.operator, predicate.values, type=place.type, place=place
    )


def _condition(predicate: Predicate, types: Types, name: str) -> Filter:
    """Bind a condition. A comparison with whole lists or structs becomes conditions on their contents."""
    if isinstance(predicate, BoundPredicate) and types.get(predicate.place.column) == predicate.place.whole:
        return predicate
    operator, place = known_operator(predicate), place_in(types, predicate.column, name)
    are_whole = not predicate.values or any(map(is_whole, predicate.values))
    if operator.id in WHOLE and kind_of(place.type) in NESTED_KINDS and are_whole:
        return _whole(predicate, operator, place, types, name)
    return _bind_values(predicate, operator, place, types, name)


def _bind_values(
    predicate: Predicate, operator: Operator, place: Place, types: Types, name: str
) -> BoundPredicate:
    if pa.types.is_null(place.type):
        met = _met_by_null(operator, TypedPredicate(predicate, place.type, types, name, bind_to))
        return _bind_place(place, "is_null" if met else "not_null")
    _refuse_unfit(predicate, operator, place.type)
    values, exact = TypedPredicate(predicate, place.type, types, name, bind_to).read(
        check_count(predicate, operator)
    )
    if None in exact:
        return _bind_place(place, "has_any")
    return BoundPredicate(
        predicate.column, operator.id, values, predicate.ignore_case, place.type, exact, place
    )


def _branch(node: Branch, children: list[tuple[Filter, int]]) -> tuple[Filter, int]:
    depth = 1 + max((depth for _child, depth in children), default=0)
    if depth > DEEPEST:
        raise BadFilter(
            f"The filter nests groups more than {DEEPEST} deep",
            fix="Put conditions of one kind into one group; all_of() and any_of() do this for many",
        )
    bound = merge_equalities(type(node), [child for child, _depth in children])
    if isinstance(node, Not):
        return Not(bound[0]), depth
    return (And(bound) if isinstance(node, And) else Or(bound)), depth


def merge_equalities(kind: type[Branch], conditions: Sequence[Filter]) -> tuple[Filter, ...]:
    """Merge `a = 1 or a = 2` into `a in (1, 2)`, and `a != 1 and a != 2` into `a not in (1, 2)`, which read
    the column once."""
    many, single = {Or: ("in", "eq"), And: ("nin", "ne")}.get(kind, ("", ""))
    groups: dict[object, Filter | list[BoundPredicate]] = {}
    for at, condition in enumerate(conditions):
        if (
            isinstance(condition, BoundPredicate)
            and condition.operator in (many, single)
            and condition.is_listable
        ):
            alike = groups.setdefault((condition.column, condition.ignore_case), [])
            assert isinstance(alike, list)
            alike.append(condition)
        else:
            groups[at] = condition
    return tuple(_merge(many, alike) if isinstance(alike, list) else alike for alike in groups.values())


def _merge(operator: str, conditions: list[BoundPredicate]) -> Filter:
    first = conditions[0]
    if len(conditions) == 1:
        return first
    values = tuple(value for condition in conditions for value in condition.values)
    exact = tuple(value for condition in conditions for value in condition.exact)
    return replace(first, operator=operator, values=values, exact=exact)


def _bind_place(place: Place, operator: str) -> BoundPredicate:
    return BoundPredicate(place.name, operator, type=place.type, place=place)


def _met_by_null(operator: Operator, typed: TypedPredicate) -> bool:
    """Whether all rows of an all-null column meet the condition; otherwise none does."""
    values = check_count(typed.predicate, operator)
    for value in values:
        if isinstance(value, Reference):
            place_in(typed.types, value.name, typed.name)
    exact = typed.read(values)[1] if operator.takes is Takes.TYPES else values
    return bool(operator.test(NullOperand(), exact))


def is_whole(value: Any) -> bool:
    """Whether a value is a list or a struct."""
    return isinstance(value, tuple)


def _whole(predicate: Predicate, operator: Operator, place: Place, types: Types, name: str) -> Filter:
    values = check_count(predicate, operator)
    if predicate.ignore_case:
        raise BadFilter(
            f"Column '{predicate.column}': whole lists and structs cannot be compared in any case",
            fix="Compare their items or fields, each in any case",
        )
    if len(values) > MOST_WHOLE or sum(map(_count_inside, values)) > MOST_WHOLE:
        raise BadFilter(
            f"Column '{predicate.column}' is compared with lists or structs of more than {MOST_WHOLE} values",
            fix="Compare some of their items or fields, or join with a table of them",
        )
    conditions = [And(tuple(_equal(predicate, place, value, types, name))) for value in values]
    equal = conditions[0] if len(conditions) == 1 else Or(tuple(conditions))
    return Not(equal) if operator.id in ("ne", "nin") else equal


def _count_inside(value: Any) -> int:
    inside = [inner for _name, inner in value] if isinstance(value, Struct) else value
    return 1 + sum(map(_count_inside, inside)) if is_whole(value) else 1


def _equal(predicate: Predicate, place: Place, value: Any, types: Types, name: str) -> Iterator[Filter]:
    """The conditions under which what is at `place` equals `value`; inside lists and structs null equals
    null."""
    if place.path and place.outer_list is None and place.name != predicate.column and place.name in types:
        raise BadFilter(
            f"Column '{predicate.column}' cannot be compared as a whole",
            f"There is also a column named '{place.name}', like one of its fields",
            "Rename that column",
        )
    if value is None and place.name != predicate.column:
        yield _bind_place(place, "is_null")
    elif pa.types.is_null(place.type):
        yield _bind_place(place, "not_null")
    elif isinstance(value, Struct) and pa.types.is_struct(place.type):
        _refuse_other_fields(predicate, place, value)
        yield _bind_place(place, "not_null")
        fields = dict(value)
        for field in place.type:
            yield from _equal(predicate, place.inside(field), fields.get(field.name), types, name)
    elif is_whole(value) and not isinstance(value, Struct) and is_list(place.type):
        yield _bind_values(
            Predicate(place.name, "size", (len(value),)), OPERATORS["size"], place, types, name
        )
        for number, item in enumerate(value):
            yield from _equal(predicate, place.item(number), item, types, name)
    elif is_whole(value) or kind_of(place.type) in NESTED_KINDS:
        what = f"Column '{place.name}' ({place.type}) cannot be compared with {value_text(value)}"
        raise BadValue(value, what, "one is a list or struct, and the other is not")
    else:
        yield _bind_values(Predicate(place.name, "eq", (value,)), OPERATORS["eq"], place, types, name)


def _refuse_other_fields(predicate: Predicate, place: Place, value: Struct) -> None:
    names = place.type.names
    if REST in names:
        raise BadFilter(
            f"Column '{place.name}' holds documents with varying keys, which cannot be compared as a whole",
            fix=f"Compare their keys by path: {place.name}.{names[0]}",
        )
    for name in names:
        refuse_twins(place.name, place.type, name)
    for name, inner in value:
        if name not in names and inner is not None:
            paths = [f"{place.name}.{field_name}" for field_name in names]
            raise UnknownColumn(f"{place.name}.{name}", predicate.column, paths)


def known_operator(predicate: Predicate) -> Operator:
    """Return the operator from the table. Raises `BadFilter` if there is none."""
    operator_name = str(predicate.operator)
    operator = OPERATORS.get(operator_name)
    if operator is None:
        guesses = " or ".join(f"'{g}'" for g in nearest(operator_name, list(OPERATORS)))
        raise BadFilter(
            f"There is no operator '{predicate.operator}' (asked of column '{predicate.column}')",
            fix=f"Did you mean {guesses}?" if guesses else f"There are: {', '.join(OPERATORS)}",
        )
    return operator


def _refuse_unfit(predicate: Predicate, operator: Operator, type_: pa.DataType) -> None:
    kind = kind_of(type_)
    compared = kind_of(type_.value_type) if operator.takes is Takes.ITEMS and kind is Kind.LIST else kind
    folds = compared is Kind.TEXT and operator.takes is not Takes.TYPES
    if kind not in operator.kinds or (predicate.ignore_case and not folds):
        feature = operator.id if kind not in operator.kinds else "ignore_case"
        raise BadFilter(
            f"'{feature}' does not fit column '{predicate.column}'",
            f"Its type is {type_}, which holds {kind.value}",
            f"Operators that fit: {', '.join(fit.id for fit in fitting(type_))}",
        )


def check_count(predicate: Predicate, operator: Operator) -> Sequence[Any]:
    """The predicate's values; raises `BadFilter` if their number does not match the operator."""
    count = len(predicate.values)
    if operator.arity is not Arity.MANY and count != operator.arity.value:
        raise BadFilter(
            f"'{operator.id}' on column '{predicate.column}' was given {count} values",
            f"It takes {_COUNTS[operator.arity]}",
        )
    return predicate.values
