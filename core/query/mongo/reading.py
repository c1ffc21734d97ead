"""From MongoDB's expressions to computed values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lamella.core.errors import BadQuery
from lamella.core.filters.expr import Filter, Not, Predicate, Reference, all_of, any_of
from lamella.core.query.expressions import DEEPEST, Condition, Constant, Expression, Named, call
from lamella.core.query.mongo.operators import OPERATORS, WAYS_OUT, Operator
from lamella.core.query.mongo.refusals import arguments, single, unknown

if TYPE_CHECKING:
    from lamella.core.query.asking import Asking

_EXAMPLE = '{"$add": ["$a", 1]}'
_GROUPS: dict[str, Callable[[Iterable[Filter]], Filter]] = {"$and": all_of, "$or": any_of}
_COMPARISONS = {f"${name}": name for name in ("eq", "ne", "gt", "gte", "lt", "lte")}
_TURNED = {"gt": "lt", "gte": "lte", "lt": "gt", "lte": "gte"}
CONDITIONS = (*_COMPARISONS, "$in", *_GROUPS, "$not")
RAW = ("$literal", "$switch")


class Reading:
    """Reads the expressions of one stage. A condition asks of columns alone: what it compares beyond them
    becomes one of the `hidden` columns, which are computed first, in this order, and left out afterwards.
    """

    def __init__(self, rows: Asking, taken: Iterable[str] = ()) -> None:
        """`taken` are names that no hidden column may have, beside those that the rows have."""
        self.place = rows.name
        self._taken = {*rows.schema.names, *taken}
        self.hidden: list[tuple[str, Expression]] = []

    def fresh(self, name: str) -> str:
        """A name that no column has yet."""
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        return name

    def value(self, given: Any, depth: int = 0) -> Expression:
        """Raises `BadQuery` for what cannot be computed."""
        if depth > DEEPEST:
            raise BadQuery(f"{self.place}: an expression nests more than {DEEPEST} deep")
        if isinstance(given, str):
            return Named(self.path(given)) if given.startswith("$") else Constant(given)
        if isinstance(given, Mapping):
            return self._operation(*single(self.place, "expression", given, _EXAMPLE), depth + 1)
        if isinstance(given, list | tuple | set):
            raise BadQuery(
                f"{self.place}: a list cannot be made of values: {given!r}",
                fix="Give each a name of its own; $push collects the values of a group",
            )
        return Constant(given)

    def path(self, given: str) -> str:
        """`$a.b` without its dollar."""
        if given.startswith("$$") or given == "$":
            raise BadQuery(f"{self.place}: there is no variable '{given}'", fix="Name a field: '$carrier'")
        return given[1:]

    def column(self, given: Any, depth: int = 0) -> str:
        """The column that an expression is, or a hidden one that it is computed as."""
        value = self.value(given, depth)
        if isinstance(value, Named):
            return value.name
        name = self.fresh("value")
        self.hidden.append((name, value))
        return name

    def condition(self, given: Any, depth: int = 0) -> Filter:
        """What is true of a row; a field alone has to hold true."""
        if isinstance(given, bool):
            return all_of(()) if given else any_of(())
        if not isinstance(given, Mapping):
            return Predicate(self.column(given, depth), "is_true")
        key, asked = single(self.place, "expression", given, '{"$gt": ["$a", 1]}')
        if depth > DEEPEST:
            raise BadQuery(f"{self.place}: an expression nests more than {DEEPEST} deep")
        if key in _GROUPS:
            return _GROUPS[key](self.condition(part, depth + 1) for part in self._list(key, asked))
        if key == "$not":
            (inside,) = self._several(key, asked if isinstance(asked, list | tuple) else [asked], 1)
            return Not(self.condition(inside, depth + 1))
        if key in _COMPARISONS:
            return self._compared(key, self._several(key, asked, 2), depth + 1)
        if key == "$in":
            return self._one_of(self._several(key, asked, 2), depth + 1)
        return Predicate(self.column(given, depth), "is_true")

    def _operation(self, key: str, asked: Any, depth: int) -> Expression:
        if key == "$literal":
            return Constant(asked)
        if key == "$switch":
            return self._switch(asked, depth)
        if key in CONDITIONS:
            return Condition(self.condition({key: asked}, depth))
        operator = OPERATORS.get(key)
        if operator is None:
            raise unknown(self.place, "operator", key, [*OPERATORS, *CONDITIONS, *RAW], WAYS_OUT)
        return operator.make(*(self.value(one, depth) for one in self._given(key, operator, asked)))

    def _given(self, key: str, operator: Operator, asked: Any) -> list[Any]:
        """By name, in a list, or a single value as it is."""
        if operator.names and isinstance(asked, Mapping) and not any(str(k).startswith("$") for k in asked):
            needed, optional = operator.names[: operator.least], operator.names[operator.least :]
            named = arguments(self.place, key, asked, needed, optional)
            return [named[name] for name in operator.names if name in named]
        given = list(asked) if isinstance(asked, list | tuple) else [asked]
        if not operator.least <= len(given) <= operator.most:
            count = f"{operator.least}" if operator.least == operator.most else f"{operator.least} or more"
            raise BadQuery(f"{self.place}: {key} takes {count} values, not {len(given)}")
        return given

    def _switch(self, asked: Any, depth: int) -> Expression:
        given = arguments(self.place, "$switch", asked, ("branches",), ("default",))
        value = self.value(given.get("default"), depth)
        for branch in reversed(self._list("$switch: branches", given["branches"])):
            case = arguments(self.place, "a branch of $switch", branch, ("case", "then"))
            met = Condition(self.condition(case["case"], depth))
            value = call("when", met, self.value(case["then"], depth), value)
        return value

    def _compared(self, key: str, operands: Sequence[Any], depth: int) -> Filter:
        one, other = (self._operand(operand, depth) for operand in operands)
        operator = _COMPARISONS[key]
        if not isinstance(one, Reference):
            one, other, operator = other, one, _TURNED.get(operator, operator)
        if not isinstance(one, Reference):
            raise BadQuery(f"{self.place}: {key} compares two constants", fix='Name a field: "$carrier"')
        if other is None and operator in ("eq", "ne"):
            return Predicate(one.name, "is_null" if operator == "eq" else "not_null")
        met = Predicate(one.name, operator, (other,))
        if not isinstance(other, Reference) or operator not in ("eq", "ne"):
            return met
        both = Predicate(one.name, "is_null") & Predicate(other.name, "is_null")
        return met | both if operator == "eq" else met & ~both

    def _operand(self, given: Any, depth: int) -> Any:
        """A reference to a column, or a constant as it is."""
        if isinstance(given, str):
            return Reference(self.path(given)) if given.startswith("$") else given
        if isinstance(given, Mapping):
            if set(given) == {"$literal"}:
                return given["$literal"]
            return Reference(self.column(given, depth))
        return given

    def _one_of(self, operands: Sequence[Any], depth: int) -> Filter:
        """A field among constants, or a constant among the items of a field."""
        given, values = operands
        if isinstance(values, str) and values.startswith("$"):
            return Predicate(self.path(values), "has", (self._operand(given, depth),))
        column = self.column(given, depth)
        listed = self._list("$in", values)
        if any(isinstance(value, str) and value.startswith("$") for value in listed):
            raise BadQuery(f"{self.place}: $in takes constants", fix="Ask for $eq with each, in an $or")
        found = Predicate(column, "in", tuple(value for value in listed if value is not None))
        return any_of([found, Predicate(column, "is_null")]) if None in listed else found

    def _list(self, key: str, given: Any) -> Sequence[Any]:
        if not isinstance(given, list | tuple):
            raise BadQuery(f"{self.place}: {key} takes a list, not {given!r}", fix=f"Write [{given!r}]")
        return given

    def _several(self, key: str, given: Any, count: int) -> Sequence[Any]:
        found = self._list(key, given)
        if len(found) != count:
            raise BadQuery(f"{self.place}: {key} takes {count} values, not {len(found)}")
        return found
