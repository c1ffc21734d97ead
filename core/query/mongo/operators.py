"""THE table of MongoDB's operators on values that queries have, as calls of the functions they have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce

from lamella.core.errors import BadQuery
from lamella.core.query.expressions import Constant, Expression, call

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
