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


def aggregated(rows: list[Row], stages: list[dict[str, Any]], others: dict[str, list[Row]]) -> list[Row]:
    waiting = list(stages)
    while waiting:
        ((name, asked),) = waiting.pop(0).items()
        if name == "$lookup":
            ((_, unwind),) = waiting.pop(0).items()
            rows = looked_up(rows, asked, unwind, others)
        else:
            rows = STAGES[name](rows, asked)
    return rows


def value(given: Any, row: Row) -> Any:
    if isinstance(given, str) and given.startswith("$"):
        return at(row, given[1:])
    if not isinstance(given, dict):
        return given
    ((name, asked),) = given.items()
    if name == "$literal":
        return asked
    if name == "$cond":
        met, yes, no = asked if isinstance(asked, list) else (asked["if"], asked["then"], asked["else"])
        return value(yes if value(met, row) else no, row)
    if name == "$switch":
        cases = [branch["then"] for branch in asked["branches"] if value(branch["case"], row)]
        return value([*cases, asked.get("default")][0], row)
    if isinstance(asked, dict) and "date" in asked:
        asked = asked["date"]
    listed = asked if isinstance(asked, list) else [asked]
    if name == "$in":
        return value(listed[0], row) in listed[1]
    values = [value(one, row) for one in listed]
    if name in KNOW_NULL:
        return KNOW_NULL[name](*values)
    return None if None in values else FUNCTIONS[name](*values)


def at(row: Row, path: str) -> Any:
    if path in row:
        return row[path]
    head, _, rest = path.partition(".")
    inside = row[head]
    return None if inside is None else at(inside, rest)


def matched(rows: list[Row], asked: dict[str, Any]) -> list[Row]:
    def meets(row: Row, name: str, wanted: Any) -> bool:
        if name == "$expr":
            return bool(value(wanted, row))
        held = at(row, name)
        if not isinstance(wanted, dict):
            return held == wanted
        return all(bool(KNOW_NULL[operator](held, operand)) for operator, operand in wanted.items())

    return [row for row in rows if all(meets(row, name, wanted) for name, wanted in asked.items())]


def grouped(rows: list[Row], asked: Row) -> list[Row]:
    key = asked["_id"]
    parts = {f"_id.{n}": v for n, v in key.items()} if in_parts(key) else {"_id": key}
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(value(part, row) for part in parts.values()), []).append(row)
    made = [
        {**dict(zip(parts, told, strict=True)), **gathered(group, asked)} for told, group in groups.items()
    ]
    return ordered(made, dict.fromkeys(parts, 1))


def in_parts(key: Any) -> bool:
    return isinstance(key, dict) and not any(name.startswith("$") for name in key)


def gathered(group: list[Row], asked: Row) -> Row:
    found = {}
    for name, accumulator in asked.items():
        if name == "_id":
            continue
        ((how, given),) = accumulator.items()
        given = given.get("input") if isinstance(given, dict) and "input" in given else given
        values = [None if how == "$count" else value(given, row) for row in group]
        found[name] = ACCUMULATORS[how](values)
    return found


def ordered(rows: list[Row], keys: dict[str, int]) -> list[Row]:
    def compared(one: Row, other: Row) -> int:
        for name, direction in keys.items():
            a, b = at(one, name), at(other, name)
            if a == b:
                continue
            if a is None or b is None:
                return 1 if a is None else -1
            return direction if a > b else -direction
        return 0

    return sorted(rows, key=cmp_to_key(compared))


def with_fields(rows: list[Row], asked: Row) -> list[Row]:
    return [{**row, **{name: value(given, row) for name, given in asked.items()}} for row in rows]


def projected(rows: list[Row], asked: Row) -> list[Row]:
    if not any(asked.values()):
        return [{name: held for name, held in row.items() if name not in asked} for row in rows]
    kept = {} if "_id" in asked else {"_id": 1}
    kept.update({name: given for name, given in asked.items() if given is not False})
    return [
        {name: at(row, name) if given == 1 else value(given, row) for name, given in kept.items()}
        for row in rows
    ]


def unwound(rows: list[Row], asked: Any) -> list[Row]:
    path, keep = (
        (asked["path"], asked["preserveNullAndEmptyArrays"]) if isinstance(asked, dict) else (asked, False)
    )
    name = path[1:]
    return [
        {**row, name: item} for row in rows for item in (row[name] or ([None] if keep else []))
    ]  # fmt: skip


def looked_up(rows: list[Row], asked: Row, unwind: Any, others: dict[str, list[Row]]) -> list[Row]:
    keep, found, name = isinstance(unwind, dict), [], asked["as"]
    names = list(others[asked["from"]][0])
    for row in rows:
        key = at(row, asked["localField"])
        partners = [o for o in others[asked["from"]] if key is not None and o[asked["foreignField"]] == key]
        for partner in partners or ([dict.fromkeys(names)] if keep else []):
            kept = {called: held for called, held in row.items() if called != name}
            found.append({**kept, **{f"{name}.{called}": held for called, held in partner.items()}})
    return found


def bucketed(rows: list[Row], asked: Row) -> list[Row]:
    edges = asked["boundaries"]

    def begin(row: Row) -> Any:
        held = value(asked["groupBy"], row)
        if held is None or not edges[0] <= held < edges[-1]:
            return asked.get("default")
        return max(edge for edge in edges if edge <= held)

    placed = [{**row, "bucket": begin(row)} for row in rows]
    return grouped(placed, {"_id": "$bucket", **asked.get("output", {"count": {"$sum": 1}})})


def compares(how: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    return lambda a, b: a is not None and b is not None and how(a, b)


def present(values: list[Any]) -> list[Any]:
    return [one for one in values if one is not None]


def spread(values: list[Any], all_there_are: bool) -> float | None:
    held = present(values)
    if all_there_are:
        return statistics.pstdev(held) if held else None
    return statistics.stdev(held) if len(held) > 1 else None


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
        {name: held for name, held in row.items() if name not in names} for row in rows
    ],
    "$unwind": unwound,
    "$count": lambda rows, name: [{name: len(rows)}] if rows else [],
    "$bucket": bucketed,
    "$sortByCount": lambda rows, key: ordered(
        grouped(rows, {"_id": key, "count": {"$sum": 1}}), {"count": -1}
    ),
}
