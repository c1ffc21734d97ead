"""Converts MongoDB's expressions and accumulators to computed values and aggregates."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Protocol, Self

import pyarrow as pa

from lamella.core.errors import BadQuery, nearest, short_text
from lamella.core.filters.expr import Filter, Not, Predicate, Reference, all_of, any_of
from lamella.core.query.expressions import DEEPEST, ColumnReference, Condition, Constant, Expression, call
from lamella.core.query.steps import Aggregate, How, Pipeline, Step

Make = Callable[..., Expression]
ANY_NUMBER = 1000


@dataclass(frozen=True)
class Operator:
    """An operator. `make` takes `least` to `most` values. `names` are the keys of a dict that may replace the
    list of values; the first `least` are required."""

    least: int
    most: int
    make: Make
    names: tuple[str, ...] = ()


def _chain(function: str, *begin: Expression) -> Make:
    return lambda *values: reduce(lambda left, right: call(function, left, right), [*begin, *values])


def _simple(function: str) -> Make:
    return lambda *values: call(function, *values)


def _text(function: str) -> Make:
    """A function of text; null becomes the empty text, as in MongoDB."""
    return lambda *values: call("coalesce", call(function, *values), "")


def _remainder(number: Expression, divisor: Expression) -> Expression:
    """The remainder, with the sign of the dividend."""
    return call("multiply", call("sign", number), call("modulo", call("abs", number), call("abs", divisor)))


def _round(number: Expression, places: Expression = Constant(0)) -> Expression:  # noqa: B008 -- immutable
    return call("round", number, places)


def _weekday(moment: Expression) -> Expression:
    """1 for Sunday to 7 for Saturday."""
    return call("add", call("modulo", call("weekday", moment), 7), 1)


def _truncate(moment: Expression, unit: Expression, begin: Expression | None = None) -> Expression:
    monday = isinstance(begin, Constant) and str(begin.value).lower() in ("monday", "mon")
    if unit == Constant("week") and not monday:
        raise BadQuery(
            "$dateTrunc: weeks begin on Monday here, but on Sunday in MongoDB",
            fix='Add "startOfWeek": "monday"',
        )
    return call("truncate", moment, unit)


def _part(function: str) -> Operator:
    return Operator(1, 1, _simple(function), ("date",))


def _of_number(function: str) -> Operator:
    return Operator(1, 1, _simple(function))


OPERATORS: dict[str, Operator] = {
    "$add": Operator(1, ANY_NUMBER, _chain("add")),
    "$subtract": Operator(2, 2, _simple("subtract")),
    "$multiply": Operator(1, ANY_NUMBER, _chain("multiply")),
    "$divide": Operator(2, 2, _simple("divide")),
    "$mod": Operator(2, 2, _remainder),
    "$pow": Operator(2, 2, _simple("power")),
    "$abs": _of_number("abs"),
    "$ceil": _of_number("ceil"),
    "$floor": _of_number("floor"),
    "$round": Operator(1, 2, _round),
    "$sqrt": _of_number("sqrt"),
    "$exp": _of_number("exp"),
    "$ln": _of_number("ln"),
    "$log10": _of_number("log10"),
    "$concat": Operator(1, ANY_NUMBER, _chain("add", Constant(""))),
    "$toUpper": Operator(1, 1, _text("upper")),
    "$toLower": Operator(1, 1, _text("lower")),
    "$trim": Operator(1, 1, _simple("trim"), ("input",)),
    "$substrCP": Operator(3, 3, _text("substring")),
    "$replaceAll": Operator(3, 3, _simple("replace"), ("input", "find", "replacement")),
    "$strLenCP": Operator(1, 1, _simple("length")),
    "$size": Operator(1, 1, _simple("length")),
    "$year": _part("year"),
    "$month": _part("month"),
    "$dayOfMonth": _part("day"),
    "$dayOfYear": _part("day_of_year"),
    "$dayOfWeek": Operator(1, 1, _weekday, ("date",)),
    "$isoDayOfWeek": _part("weekday"),
    "$isoWeek": _part("week"),
    "$hour": _part("hour"),
    "$minute": _part("minute"),
    "$second": _part("second"),
    "$dateTrunc": Operator(2, 3, _truncate, ("date", "unit", "startOfWeek")),
    "$cond": Operator(3, 3, _simple("when"), ("if", "then", "else")),
    "$ifNull": Operator(2, ANY_NUMBER, _simple("coalesce")),
}

WAYS_OUT = {
    "$toInt": "Cast it: .compute(n=col('n').cast('int32'))",
    "$toLong": "Cast it: .compute(n=col('n').cast('int64'))",
    "$toDouble": "Cast it: .compute(n=col('n').cast('float64'))",
    "$toString": "Cast it: .compute(n=col('n').cast('string'))",
    "$toDate": "Cast it: .compute(day=col('day').cast('timestamp[us]'))",
    "$convert": "Cast it: .compute(n=col('n').cast('float64'))",
    "$dateToString": "Take its parts: $year, $month, $dayOfMonth, or where they begin: $dateTrunc",
    "$week": "Weeks are numbered by ISO 8601: $isoWeek",
    "$strLenBytes": "Characters are counted: $strLenCP",
    "$substr": "Characters are counted: $substrCP",
    "$substrBytes": "Characters are counted: $substrCP",
    "$regexMatch": "Match by it: {'$match': {'name': {'$regex': '^a'}}}",
    "$filter": "Unwind the list and match its items: $unwind, $match",
    "$map": "Unwind the list and compute with its items: $unwind, $addFields",
    "$reduce": "Unwind the list and group its items: $unwind, $group",
    "$arrayElemAt": "Unwind the list and group its items: $unwind, then $group with $first",
}


def unknown(place: str, kind: str, key: Any, names: Iterable[str], ways: Mapping[str, str]) -> BadQuery:
    """The error for an unknown name. `ways` are alternatives to what MongoDB has and queries here lack."""
    listed = list(names)
    message = f"{place}: there is no {kind} {key!r}"
    if key in ways:
        return BadQuery(message, "MongoDB has it, but queries here do not", ways[key])
    guesses = " or ".join(f"'{guess}'" for guess in nearest(str(key), listed))
    return BadQuery(message, fix=f"Did you mean {guesses}?" if guesses else f"There are: {', '.join(listed)}")


def single(place: str, kind: str, value: Any, example: str) -> tuple[str, Any]:
    """The only key of a dict, and its value."""
    if not isinstance(value, Mapping) or len(value) != 1:
        raise BadQuery(
            f"{place}: {short_text(value)} is not a valid {kind}", fix=f"Write a dict with one key: {example}"
        )
    ((key, operand),) = value.items()
    if not isinstance(key, str) or not key.startswith("$"):
        raise BadQuery(
            f"{place}: {short_text(value)} is not a valid {kind}",
            fix=f"Begin its name with a dollar sign: {example}",
        )
    return key, operand


def arguments(
    place: str, name: str, value: Any, needed: Iterable[str], optional: Iterable[str] = ()
) -> dict[str, Any]:
    """The arguments of `name` as a dict; raises `BadQuery` if one is missing or unknown."""
    takes = [*needed, *optional]
    if not isinstance(value, Mapping):
        raise BadQuery(
            f"{place}: {name} takes a dict, not {short_text(value)}", fix=f"Its keys are: {', '.join(takes)}"
        )
    for key in value:
        if key not in takes:
            raise unknown(place, f"argument of {name} that is called", key, takes, {})
    lacking = [key for key in needed if key not in value]
    if lacking:
        raise BadQuery(f"{place}: {name} lacks '{lacking[0]}'", fix=f"Its keys are: {', '.join(takes)}")
    return dict(value)


def whole(place: str, name: str, value: Any, least: int) -> int:
    """A whole number, such as a number of rows; it may be written as a float, as in MongoDB."""
    fits = isinstance(value, int | float) and not isinstance(value, bool) and value == value // 1
    if not fits or value < least:
        raise BadQuery(f"{place}: {name} takes a whole number of {least} or more, not {short_text(value)}")
    return int(value)


_EXAMPLE = '{"$add": ["$a", 1]}'
_GROUPS: dict[str, Callable[[Iterable[Filter]], Filter]] = {"$and": all_of, "$or": any_of}
_COMPARISONS = {f"${name}": name for name in ("eq", "ne", "gt", "gte", "lt", "lte")}
_MIRRORED_COMPARISONS = {"gt": "lt", "gte": "lte", "lt": "gt", "lte": "gte"}
CONDITIONS = (*_COMPARISONS, "$in", *_GROUPS, "$not")
RAW = ("$literal", "$switch")


class Rows(Protocol):
    """The rows to which stages apply: a query, as far as stages need it."""

    pipeline: Pipeline

    @property
    def name(self) -> str: ...

    @property
    def schema(self) -> pa.Schema: ...

    def sibling(self, name: str) -> Self | None: ...

    def then(self, step: Step) -> Self: ...

    def with_steps(self, steps: tuple[Step, ...]) -> Self: ...

    def where(self, condition: Any) -> Self: ...

    def limit(self, count: int | None, offset: int = 0) -> Self: ...

    def sample(self, count: int, seed: int = 0) -> Self: ...

    def facets(self, /, **queries: Callable[[Any], Any]) -> Self: ...

    def join(
        self, other: Any, *, left_on: tuple[str, ...], right_on: tuple[str, ...], how: How, suffix: str
    ) -> Self: ...


class ExpressionReader:
    """Reads the expressions of one stage. Conditions can compare only columns; other operands become
    `hidden_columns` columns, which are computed first, in this order, and removed afterwards."""

    def __init__(self, rows: Rows, names: Iterable[str] = ()) -> None:
        """`names` are further names that hidden columns must not have, besides those of the rows."""
        self.place = rows.name
        self._used_names = {*rows.schema.names, *names}
        self.hidden_columns: list[tuple[str, Expression]] = []

    def fresh(self, name: str) -> str:
        """A column name that is not used yet; marks it as used."""
        while name in self._used_names:
            name += "_"
        self._used_names.add(name)
        return name

    def value(self, spec: Any, depth: int = 0) -> Expression:
        """Read a value. Raises `BadQuery` for what cannot be computed."""
        if depth > DEEPEST:
            raise BadQuery(f"{self.place}: an expression nests more than {DEEPEST} deep")
        if isinstance(spec, str):
            return ColumnReference(self.path(spec)) if spec.startswith("$") else Constant(spec)
        if isinstance(spec, Mapping):
            return self._operation(*single(self.place, "expression", spec, _EXAMPLE), depth + 1)
        if isinstance(spec, list | tuple | set):
            raise BadQuery(
                f"{self.place}: a list of values cannot be computed: {spec!r}",
                fix="Give each value its own name; $push collects the values of a group",
            )
        return Constant(spec)

    def path(self, text: str) -> str:
        """`$a.b` without its dollar."""
        if text.startswith("$$") or text == "$":
            raise BadQuery(f"{self.place}: there is no variable '{text}'", fix="Name a field: '$carrier'")
        return text[1:]

    def column(self, spec: Any, depth: int = 0) -> str:
        """The column that an expression names, or a hidden column that it is computed as."""
        value = self.value(spec, depth)
        if isinstance(value, ColumnReference):
            return value.name
        name = self.fresh("value")
        self.hidden_columns.append((name, value))
        return name

    def condition(self, spec: Any, depth: int = 0) -> Filter:
        """Read a condition; a field alone must be true."""
        if isinstance(spec, bool):
            return all_of(()) if spec else any_of(())
        if not isinstance(spec, Mapping):
            return Predicate(self.column(spec, depth), "is_true")
        key, operand = single(self.place, "expression", spec, '{"$gt": ["$a", 1]}')
        if depth > DEEPEST:
            raise BadQuery(f"{self.place}: an expression nests more than {DEEPEST} deep")
        if key in _GROUPS:
            return _GROUPS[key](self.condition(part, depth + 1) for part in self._list(key, operand))
        if key == "$not":
            (inside,) = self._several(key, operand if isinstance(operand, list | tuple) else [operand], 1)
            return Not(self.condition(inside, depth + 1))
        if key in _COMPARISONS:
            return self._compare(key, self._several(key, operand, 2), depth + 1)
        if key == "$in":
            return self._membership(self._several(key, operand, 2), depth + 1)
        return Predicate(self.column(spec, depth), "is_true")

    def _operation(self, key: str, operand: Any, depth: int) -> Expression:
        if key == "$literal":
            return Constant(operand)
        if key == "$switch":
            return self._switch(operand, depth)
        if key in CONDITIONS:
            return Condition(self.condition({key: operand}, depth))
        operator = OPERATORS.get(key)
        if operator is None:
            raise unknown(self.place, "operator", key, [*OPERATORS, *CONDITIONS, *RAW], WAYS_OUT)
        return operator.make(
            *(self.value(value, depth) for value in self._operand_values(key, operator, operand))
        )

    def _operand_values(self, key: str, operator: Operator, operand: Any) -> list[Any]:
        """The operands: by name, from a list, or a single value."""
        if (
            operator.names
            and isinstance(operand, Mapping)
            and not any(str(k).startswith("$") for k in operand)
        ):
            needed, optional = operator.names[: operator.least], operator.names[operator.least :]
            values = arguments(self.place, key, operand, needed, optional)
            return [values[name] for name in operator.names if name in values]
        operands = list(operand) if isinstance(operand, list | tuple) else [operand]
        if not operator.least <= len(operands) <= operator.most:
            count = f"{operator.least}" if operator.least == operator.most else f"{operator.least} or more"
            raise BadQuery(f"{self.place}: {key} takes {count} values, not {len(operands)}")
        return operands

    def _switch(self, operand: Any, depth: int) -> Expression:
        parts = arguments(self.place, "$switch", operand, ("branches",), ("default",))
        value = self.value(parts.get("default"), depth)
        for branch in reversed(self._list("$switch: branches", parts["branches"])):
            case = arguments(self.place, "a branch of $switch", branch, ("case", "then"))
            met = Condition(self.condition(case["case"], depth))
            value = call("when", met, self.value(case["then"], depth), value)
        return value

    def _compare(self, key: str, operands: Sequence[Any], depth: int) -> Filter:
        left, right = (self._operand(operand, depth) for operand in operands)
        operator = _COMPARISONS[key]
        if not isinstance(left, Reference):
            left, right, operator = right, left, _MIRRORED_COMPARISONS.get(operator, operator)
        if not isinstance(left, Reference):
            raise BadQuery(f"{self.place}: {key} compares two constants", fix='Name a field: "$carrier"')
        if right is None and operator in ("eq", "ne"):
            return Predicate(left.name, "is_null" if operator == "eq" else "not_null")
        met = Predicate(left.name, operator, (right,))
        if not isinstance(right, Reference) or operator not in ("eq", "ne"):
            return met
        both = Predicate(left.name, "is_null") & Predicate(right.name, "is_null")
        return met | both if operator == "eq" else met & ~both

    def _operand(self, spec: Any, depth: int) -> Any:
        """A reference to a column, or a constant."""
        if isinstance(spec, str):
            return Reference(self.path(spec)) if spec.startswith("$") else spec
        if isinstance(spec, Mapping):
            if set(spec) == {"$literal"}:
                return spec["$literal"]
            return Reference(self.column(spec, depth))
        return spec

    def _membership(self, operands: Sequence[Any], depth: int) -> Filter:
        """Whether a field is one of several constants, or a constant is an item of a field."""
        subject, values = operands
        if isinstance(values, str) and values.startswith("$"):
            return Predicate(self.path(values), "has", (self._operand(subject, depth),))
        column = self.column(subject, depth)
        listed = self._list("$in", values)
        if any(isinstance(value, str) and value.startswith("$") for value in listed):
            raise BadQuery(
                f"{self.place}: $in takes constants", fix="Use $eq for each value, joined with $or"
            )
        predicate = Predicate(column, "in", tuple(value for value in listed if value is not None))
        return any_of([predicate, Predicate(column, "is_null")]) if None in listed else predicate

    def _list(self, key: str, value: Any) -> Sequence[Any]:
        if not isinstance(value, list | tuple):
            raise BadQuery(f"{self.place}: {key} takes a list, not {value!r}", fix=f"Write [{value!r}]")
        return value

    def _several(self, key: str, value: Any, count: int) -> Sequence[Any]:
        operands = self._list(key, value)
        if len(operands) != count:
            raise BadQuery(f"{self.place}: {key} takes {count} values, not {len(operands)}")
        return operands


NamedAggregate = tuple[str, Aggregate]
METHODS = ("approximate", "continuous")
"""MongoDB's methods of computing percentiles; here they are always exact and interpolated."""

_SIMPLE = {
    "$avg": "avg",
    "$min": "min",
    "$max": "max",
    "$first": "first",
    "$last": "last",
    "$push": "list",
    "$addToSet": "distinct_list",
    "$stdDevSamp": "stddev",
    "$stdDevPop": "stddev_pop",
}
_WAYS_OUT = {
    "$firstN": "Use $push, and take the first items of the list",
    "$lastN": "Use $push, and take the last items of the list",
    "$top": "Put $sort before, and use $first",
    "$bottom": "Put $sort before, and use $last",
    "$mergeObjects": "Take the fields one by one",
    "$accumulator": "Compute from the aggregates of the query",
}


def read_accumulator(name: str, spec: Any, reading: ExpressionReader) -> Iterator[NamedAggregate]:
    """Read an entry of $group as columns; several percentiles become one column each."""
    if name.startswith("$") or "." in name:
        raise BadQuery(f"{reading.place}: $group cannot name a column {name!r}", fix="Leave the sign out")
    key, operand = single(reading.place, "accumulator", spec, '{"$sum": "$delay"}')
    if key == "$percentile":
        yield from _percentiles(name, operand, reading)
    elif key in _FURTHER:
        yield name, _FURTHER[key](operand, reading)
    elif key in _SIMPLE:
        yield name, Aggregate(_SIMPLE[key], reading.value(operand))
    else:
        names = [*_FURTHER, *_SIMPLE, "$percentile"]
        raise unknown(reading.place, "accumulator", key, names, _WAYS_OUT)


def _sum(operand: Any, reading: ExpressionReader) -> Aggregate:
    if operand == 1 and type(operand) is int:
        return Aggregate("count")
    return Aggregate("sum", reading.value(operand))


def _count(operand: Any, reading: ExpressionReader) -> Aggregate:
    if operand != {}:
        raise BadQuery(f"{reading.place}: $count takes nothing, not {operand!r}", fix='Write {"$count": {}}')
    return Aggregate("count")


def _median(operand: Any, reading: ExpressionReader) -> Aggregate:
    parts = arguments(reading.place, "$median", operand, ("input",), ("method",))
    _refuse_method(parts, reading)
    return Aggregate("median", reading.value(parts["input"]))


def _percentiles(name: str, operand: Any, reading: ExpressionReader) -> Iterator[NamedAggregate]:
    fields = arguments(reading.place, "$percentile", operand, ("input", "p"), ("method",))
    _refuse_method(fields, reading)
    parts = fields["p"]
    fits = isinstance(parts, list | tuple) and all(
        isinstance(p, int | float) and not isinstance(p, bool) and 0 <= p <= 1 for p in parts
    )
    if not fits or not parts:
        raise BadQuery(
            f"{reading.place}: $percentile takes a list of parts as p, not {parts!r}",
            fix='Give a list of numbers from 0 to 1: "p": [0.5, 0.9]',
        )
    value = reading.value(fields["input"])
    for place, part in enumerate(parts):
        called = name if len(parts) == 1 else f"{name}.{place}"
        yield called, Aggregate("quantile", value, None, float(part))


def _refuse_method(parts: dict[str, Any], reading: ExpressionReader) -> None:
    method = parts.get("method", METHODS[0])
    if method not in METHODS:
        raise unknown(reading.place, "method of percentiles", method, METHODS, {})


_FURTHER: dict[str, Callable[[Any, ExpressionReader], Aggregate]] = {
    "$sum": _sum,
    "$count": _count,
    "$median": _median,
}
ACCUMULATORS = (*_FURTHER, *_SIMPLE, "$percentile")
