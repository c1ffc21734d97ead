"""MongoDB's aggregation in plain Python, over rows as dicts, with null where a field is not there.

What queries have otherwise is otherwise here too: nulls sort last and are equal to nothing in a lookup, and
parts of a document are columns called by their path.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from functools import cmp_to_key, reduce
from typing import Any

Row = dict[str, Any]


def aggregated(rows: list[Row], stages: list[dict[str, Any]], tables: dict[str, list[Row]]) -> list[Row]:
    waiting = list(stages)
    while waiting:
        ((name, operand),) = waiting.pop(0).items()
        if name == "$lookup":
            ((_, unwind),) = waiting.pop(0).items()
            rows = looked_up(rows, operand, unwind, tables)
        else:
            rows = STAGES[name](rows, operand)
    return rows


def value(expression: Any, row: Row) -> Any:
    if isinstance(expression, str) and expression.startswith("$"):
        return at(row, expression[1:])
    if not isinstance(expression, dict):
        return expression
    ((name, operand),) = expression.items()
    if name == "$literal":
        return operand
    if name == "$cond":
        met, yes, no = (
            operand if isinstance(operand, list) else (operand["if"], operand["then"], operand["else"])
        )
        return value(yes if value(met, row) else no, row)
    if name == "$switch":
        cases = [branch["then"] for branch in operand["branches"] if value(branch["case"], row)]
        return value([*cases, operand.get("default")][0], row)
    if isinstance(operand, dict) and "date" in operand:
        operand = operand["date"]
    listed = operand if isinstance(operand, list) else [operand]
    if name == "$in":
        return value(listed[0], row) in listed[1]
    values = [value(item, row) for item in listed]
    if name in KNOW_NULL:
        return KNOW_NULL[name](*values)
    return None if None in values else FUNCTIONS[name](*values)


def at(row: Row, path: str) -> Any:
    if path in row:
        return row[path]
    head, _, tail = path.partition(".")
    inside = row[head]
    return None if inside is None else at(inside, tail)


def matched(rows: list[Row], operand: dict[str, Any]) -> list[Row]:
    def meets(row: Row, name: str, asked_operand: Any) -> bool:
        if name == "$expr":
            return bool(value(asked_operand, row))
        actual = at(row, name)
        if not isinstance(asked_operand, dict):
            return actual == asked_operand
        return all(bool(KNOW_NULL[operator](actual, operand)) for operator, operand in asked_operand.items())

    return [row for row in rows if all(meets(row, name, operand_) for name, operand_ in operand.items())]


def grouped(rows: list[Row], operand: Row) -> list[Row]:
    key = operand["_id"]
    parts = {f"_id.{n}": v for n, v in key.items()} if in_parts(key) else {"_id": key}
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(value(part, row) for part in parts.values()), []).append(row)
    groups_made = [
        {**dict(zip(parts, key_values, strict=True)), **gathered(group, operand)}
        for key_values, group in groups.items()
    ]
    return ordered(groups_made, dict.fromkeys(parts, 1))


def in_parts(key: Any) -> bool:
    return isinstance(key, dict) and not any(name.startswith("$") for name in key)


def gathered(group: list[Row], operand: Row) -> Row:
    results = {}
    for name, accumulator in operand.items():
        if name == "_id":
            continue
        ((how, argument),) = accumulator.items()
        argument = argument.get("input") if isinstance(argument, dict) and "input" in argument else argument
        values = [None if how == "$count" else value(argument, row) for row in group]
        results[name] = ACCUMULATORS[how](values)
    return results


def ordered(rows: list[Row], keys: dict[str, int]) -> list[Row]:
    def compared(left: Row, right: Row) -> int:
        for name, direction in keys.items():
            a, b = at(left, name), at(right, name)
            if a == b:
                continue
            if a is None or b is None:
                return 1 if a is None else -1
            return direction if a > b else -direction
        return 0

    return sorted(rows, key=cmp_to_key(compared))


def with_fields(rows: list[Row], operand: Row) -> list[Row]:
    return [{**row, **{name: value(expression, row) for name, expression in operand.items()}} for row in rows]


def projected(rows: list[Row], operand: Row) -> list[Row]:
    if not any(operand.values()):
        return [{name: cell for name, cell in row.items() if name not in operand} for row in rows]
    fields = {} if "_id" in operand else {"_id": 1}
    fields.update({name: expression for name, expression in operand.items() if expression is not False})
    return [
        {
            name: at(row, name) if expression == 1 else value(expression, row)
            for name, expression in fields.items()
        }
        for row in rows
    ]


def unwound(rows: list[Row], operand: Any) -> list[Row]:
    path, keep = (
        (operand["path"], operand["preserveNullAndEmptyArrays"])
        if isinstance(operand, dict)
        else (operand, False)
    )
    name = path[1:]
    return [
        {**row, name: item} for row in rows for item in (row[name] or ([None] if keep else []))
    ]  # fmt: skip


def looked_up(rows: list[Row], operand: Row, unwind: Any, tables: dict[str, list[Row]]) -> list[Row]:
    keep, joined, name = isinstance(unwind, dict), [], operand["as"]
    names = list(tables[operand["from"]][0])
    for row in rows:
        key = at(row, operand["localField"])
        partners = [
            o for o in tables[operand["from"]] if key is not None and o[operand["foreignField"]] == key
        ]
        for partner in partners or ([dict.fromkeys(names)] if keep else []):
            left_row = {called: cell for called, cell in row.items() if called != name}
            joined.append({**left_row, **{f"{name}.{called}": cell for called, cell in partner.items()}})
    return joined


def bucketed(rows: list[Row], operand: Row) -> list[Row]:
    edges = operand["boundaries"]

    def begin(row: Row) -> Any:
        cell = value(operand["groupBy"], row)
        if cell is None or not edges[0] <= cell < edges[-1]:
            return operand.get("default")
        return max(edge for edge in edges if edge <= cell)

    placed = [{**row, "bucket": begin(row)} for row in rows]
    return grouped(placed, {"_id": "$bucket", **operand.get("output", {"count": {"$sum": 1}})})


def compares(how: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    return lambda a, b: a is not None and b is not None and how(a, b)


def present(values: list[Any]) -> list[Any]:
    return [item for item in values if item is not None]


def spread(values: list[Any], all_there_are: bool) -> float | None:
    numbers = present(values)
    if all_there_are:
        return statistics.pstdev(numbers) if numbers else None
    return statistics.stdev(numbers) if len(numbers) > 1 else None


KNOW_NULL: dict[str, Callable[..., Any]] = {
    "$eq": lambda a, b: a == b,
    "$ne": lambda a, b: a != b,
    "$gt": compares(lambda a, b: a > b),
    "$gte": compares(lambda a, b: a >= b),
    "$lt": compares(lambda a, b: a < b),
    "$lte": compares(lambda a, b: a <= b),
    "$in": lambda a, b: a in b,
    "$and": lambda *parts: all(parts),
    "$or": lambda *parts: any(parts),
    "$not": lambda part: not part,
    "$ifNull": lambda *values: next(iter(present(list(values))), None),
    "$toUpper": lambda text: (text or "").upper(),
    "$toLower": lambda text: (text or "").lower(),
    "$substrCP": lambda text, start, count: (text or "")[start : start + count],
}
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "$add": lambda *values: sum(values),
    "$subtract": lambda a, b: a - b,
    "$multiply": lambda *values: reduce(lambda a, b: a * b, values),
    "$divide": lambda a, b: a / b if b else None,
    "$mod": lambda a, b: (abs(a) % abs(b)) * (1 if a > 0 else -1) if b else None,
    "$abs": abs,
    "$concat": lambda *values: "".join(values),
    "$strLenCP": len,
    "$size": len,
    "$year": lambda day: day.year,
    "$month": lambda day: day.month,
    "$dayOfMonth": lambda day: day.day,
    "$dayOfWeek": lambda day: day.isoweekday() % 7 + 1,
}
ACCUMULATORS: dict[str, Callable[[list[Any]], Any]] = {
    "$sum": lambda values: sum(present(values)),
    "$count": len,
    "$avg": lambda values: statistics.fmean(present(values)) if present(values) else None,
    "$min": lambda values: min(present(values), default=None),
    "$max": lambda values: max(present(values), default=None),
    "$first": lambda values: values[0],
    "$last": lambda values: values[-1],
    "$push": lambda values: values,
    "$addToSet": lambda values: sorted(set(present(values))),
    "$stdDevSamp": lambda values: spread(values, all_there_are=False),
    "$stdDevPop": lambda values: spread(values, all_there_are=True),
    "$median": lambda values: float(statistics.median(present(values))) if present(values) else None,
}
STAGES: dict[str, Callable[[list[Row], Any], list[Row]]] = {
    "$match": matched,
    "$group": grouped,
    "$sort": ordered,
    "$limit": lambda rows, count: rows[:count],
    "$skip": lambda rows, count: rows[count:],
    "$project": projected,
    "$addFields": with_fields,
    "$set": with_fields,
    "$unset": lambda rows, names: [
        {name: cell for name, cell in row.items() if name not in names} for row in rows
    ],
    "$unwind": unwound,
    "$count": lambda rows, name: [{name: len(rows)}] if rows else [],
    "$bucket": bucketed,
    "$sortByCount": lambda rows, key: ordered(
        grouped(rows, {"_id": key, "count": {"$sum": 1}}), {"count": -1}
    ),
}
