"""MongoDB's expressions and accumulators as computed values and aggregates."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Protocol, Self

import pyarrow as pa

from lamella.core.errors import BadQuery, nearest, shown
from lamella.core.filters.expr import Filter, Not, Predicate, Reference, all_of, any_of
from lamella.core.query.expressions import DEEPEST, Condition, Constant, Expression, Named, call
from lamella.core.query.steps import Aggregate, How, Pipeline, Step

Make = Callable[..., Expression]
MANY = 1000


@dataclass(frozen=True)
class Operator:
    """`make` is given `least` to `most` values. `names` are the keys of a dict that may be given instead of
    a list, of which the first `least` are needed."""

    least: int
    most: int
    make: Make
    names: tuple[str, ...] = ()


def _chain(function: str, *begin: Expression) -> Make:
    return lambda *values: reduce(lambda one, other: call(function, one, other), [*begin, *values])


def _simple(function: str) -> Make:
    return lambda *values: call(function, *values)


def _text(function: str) -> Make:
    """Of nothing MongoDB makes the empty text."""
    return lambda *values: call("coalesce", call(function, *values), "")


def _remainder(number: Expression, divisor: Expression) -> Expression:
    """With the sign of the number that is divided."""
    return call("multiply", call("sign", number), call("modulo", call("abs", number), call("abs", divisor)))


def _rounded(number: Expression, places: Expression = Constant(0)) -> Expression:  # noqa: B008 -- immutable
    return call("round", number, places)


def _weekday(moment: Expression) -> Expression:
    """1 for Sunday to 7 for Saturday."""
    return call("add", call("modulo", call("weekday", moment), 7), 1)


def _truncated(moment: Expression, unit: Expression, begin: Expression | None = None) -> Expression:
    monday = isinstance(begin, Constant) and str(begin.value).lower() in ("monday", "mon")
    if unit == Constant("week") and not monday:
        raise BadQuery(
            "$dateTrunc: weeks begin on Monday here, in MongoDB on Sunday", fix='Add "startOfWeek": "monday"'
        )
    return call("truncate", moment, unit)


def _part(function: str) -> Operator:
    return Operator(1, 1, _simple(function), ("date",))


def _of_number(function: str) -> Operator:
    return Operator(1, 1, _simple(function))


OPERATORS: dict[str, Operator] = {
    "$add": Operator(1, MANY, _chain("add")),
    "$subtract": Operator(2, 2, _simple("subtract")),
    "$multiply": Operator(1, MANY, _chain("multiply")),
    "$divide": Operator(2, 2, _simple("divide")),
    "$mod": Operator(2, 2, _remainder),
    "$pow": Operator(2, 2, _simple("power")),
    "$abs": _of_number("abs"),
    "$ceil": _of_number("ceil"),
    "$floor": _of_number("floor"),
    "$round": Operator(1, 2, _rounded),
    "$sqrt": _of_number("sqrt"),
    "$exp": _of_number("exp"),
    "$ln": _of_number("ln"),
    "$log10": _of_number("log10"),
    "$concat": Operator(1, MANY, _chain("add", Constant(""))),
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
    "$dateTrunc": Operator(2, 3, _truncated, ("date", "unit", "startOfWeek")),
    "$cond": Operator(3, 3, _simple("when"), ("if", "then", "else")),
    "$ifNull": Operator(2, MANY, _simple("coalesce")),
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


def unknown(place: str, kind: str, key: Any, known: Iterable[str], ways: Mapping[str, str]) -> BadQuery:
    """`ways` are the ways out for what MongoDB has and queries here do not."""
    listed = list(known)
    told = f"{place}: there is no {kind} {key!r}"
    if key in ways:
        return BadQuery(told, "MongoDB has it, queries here do not", ways[key])
    guesses = " or ".join(f"'{guess}'" for guess in nearest(str(key), listed))
    return BadQuery(told, fix=f"Did you mean {guesses}?" if guesses else f"There are: {', '.join(listed)}")


def single(place: str, kind: str, given: Any, example: str) -> tuple[str, Any]:
    """The only key of a dict, and what it is given."""
    if not isinstance(given, Mapping) or len(given) != 1:
        raise BadQuery(f"{place}: {shown(given)} is no {kind}", fix=f"Write a dict of one name: {example}")
    ((key, asked),) = given.items()
    if not isinstance(key, str) or not key.startswith("$"):
        raise BadQuery(
            f"{place}: {shown(given)} is no {kind}", fix=f"Write its name behind a dollar: {example}"
        )
    return key, asked


def arguments(
    place: str, name: str, given: Any, needed: Iterable[str], optional: Iterable[str] = ()
) -> dict[str, Any]:
    """A dict of the arguments that `name` takes; raises `BadQuery` for one that is lacking or not known."""
    takes = [*needed, *optional]
    if not isinstance(given, Mapping):
        raise BadQuery(
            f"{place}: {name} takes a dict, not {shown(given)}", fix=f"Its keys are: {', '.join(takes)}"
        )
    for key in given:
        if key not in takes:
            raise unknown(place, f"argument of {name} that is called", key, takes, {})
    lacking = [key for key in needed if key not in given]
    if lacking:
        raise BadQuery(f"{place}: {name} lacks '{lacking[0]}'", fix=f"Its keys are: {', '.join(takes)}")
    return dict(given)


def whole(place: str, name: str, given: Any, least: int) -> int:
    """A number of rows; MongoDB's own are whole too, but may be written as floats."""
    fits = isinstance(given, int | float) and not isinstance(given, bool) and given == given // 1
    if not fits or given < least:
        raise BadQuery(f"{place}: {name} takes a whole number of {least} or more, not {shown(given)}")
    return int(given)


_EXAMPLE = '{"$add": ["$a", 1]}'
_GROUPS: dict[str, Callable[[Iterable[Filter]], Filter]] = {"$and": all_of, "$or": any_of}
_COMPARISONS = {f"${name}": name for name in ("eq", "ne", "gt", "gte", "lt", "lte")}
_TURNED = {"gt": "lt", "gte": "lte", "lt": "gt", "lte": "gte"}
CONDITIONS = (*_COMPARISONS, "$in", *_GROUPS, "$not")
RAW = ("$literal", "$switch")


class Rows(Protocol):
    """The rows that stages are given: a query, as far as a stage needs it."""

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
    """Reads the expressions of one stage. A condition asks of columns alone: what it compares beyond them
    becomes one of the `hidden` columns, which are computed first, in this order, and left out afterwards.
    """

    def __init__(self, rows: Rows, taken: Iterable[str] = ()) -> None:
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
        return operator.make(*(self.value(one, depth) for one in self._operand_values(key, operator, asked)))

    def _operand_values(self, key: str, operator: Operator, asked: Any) -> list[Any]:
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


NamedAggregate = tuple[str, Aggregate]
METHODS = ("approximate", "continuous")
"""MongoDB's names of ways to find percentiles; here they are exact, between two values."""

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
    "$firstN": "Take $push, and the first items of the list",
    "$lastN": "Take $push, and the last items of the list",
    "$top": "Put $sort before, and take $first",
    "$bottom": "Put $sort before, and take $last",
    "$mergeObjects": "Take the fields one by one",
    "$accumulator": "Compute with what the aggregates of the query give",
}


def read_accumulator(name: str, asked: Any, reading: ExpressionReader) -> Iterator[NamedAggregate]:
    """The columns that one entry of $group becomes: several percentiles are a column each."""
    if name.startswith("$") or "." in name:
        raise BadQuery(f"{reading.place}: $group cannot call a column {name!r}", fix="Leave the sign out")
    key, given = single(reading.place, "accumulator", asked, '{"$sum": "$delay"}')
    if key == "$percentile":
        yield from _percentiles(name, given, reading)
    elif key in _OTHERS:
        yield name, _OTHERS[key](given, reading)
    elif key in _SIMPLE:
        yield name, Aggregate(_SIMPLE[key], reading.value(given))
    else:
        known = [*_OTHERS, *_SIMPLE, "$percentile"]
        raise unknown(reading.place, "accumulator", key, known, _WAYS_OUT)


def _sum(given: Any, reading: ExpressionReader) -> Aggregate:
    if given == 1 and type(given) is int:
        return Aggregate("count")
    return Aggregate("sum", reading.value(given))


def _count(given: Any, reading: ExpressionReader) -> Aggregate:
    if given != {}:
        raise BadQuery(f"{reading.place}: $count takes nothing, not {given!r}", fix='Write {"$count": {}}')
    return Aggregate("count")


def _median(given: Any, reading: ExpressionReader) -> Aggregate:
    told = arguments(reading.place, "$median", given, ("input",), ("method",))
    _refuse_method(told, reading)
    return Aggregate("median", reading.value(told["input"]))


def _percentiles(name: str, given: Any, reading: ExpressionReader) -> Iterator[NamedAggregate]:
    told = arguments(reading.place, "$percentile", given, ("input", "p"), ("method",))
    _refuse_method(told, reading)
    parts = told["p"]
    fits = isinstance(parts, list | tuple) and all(
        isinstance(p, int | float) and not isinstance(p, bool) and 0 <= p <= 1 for p in parts
    )
    if not fits or not parts:
        raise BadQuery(
            f"{reading.place}: $percentile takes parts of the values as p, not {parts!r}",
            fix='Give a list of numbers from 0 to 1: "p": [0.5, 0.9]',
        )
    value = reading.value(told["input"])
    for place, part in enumerate(parts):
        called = name if len(parts) == 1 else f"{name}.{place}"
        yield called, Aggregate("quantile", value, None, float(part))


def _refuse_method(told: dict[str, Any], reading: ExpressionReader) -> None:
    method = told.get("method", METHODS[0])
    if method not in METHODS:
        raise unknown(reading.place, "method of percentiles", method, METHODS, {})


_OTHERS: dict[str, Callable[[Any, ExpressionReader], Aggregate]] = {
    "$sum": _sum,
    "$count": _count,
    "$median": _median,
}
ACCUMULATORS = (*_OTHERS, *_SIMPLE, "$percentile")
