"""Columns of every type that filters support, with possible values, and conditions on them."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any
from uuid import UUID

import pyarrow as pa
from hypothesis import strategies as st

from lamella.core.filters import And, Filter, Not, Or, Predicate
from lamella.core.filters.expr import ITEM, Reference
from lamella.core.filters.kinds import NULL, WORDS, refusal
from lamella.core.filters.operators import EQUALITIES, OPERATORS, WHOLE, Arity, Operator, Takes

NEW_YORK = "America/New_York"


@dataclass(frozen=True)
class Family:
    """A column type with the cells it may hold and the values it may be asked for; of nested ones also the
    `parts` of structs by name, or the `item` of lists."""

    type: pa.DataType
    cells: st.SearchStrategy[Any]
    values: st.SearchStrategy[Any] = field(default_factory=st.nothing)
    parts: Mapping[str, Family] = field(default_factory=dict)
    item: Family | None = None


def around(*numbers: int) -> st.SearchStrategy[int]:
    return st.sampled_from(numbers).flatmap(lambda n: st.integers(n - 2, n + 2))


FRACTIONS = st.sampled_from([0.5, -1.5, 60.25, Decimal("2.5"), Decimal("-0.001"), math.inf, -math.inf])
ANY_NUMBER = around(0, 60, 127, -128, 2**31, 2**53, 2**63, -(2**63), 2**64, 10**40) | FRACTIONS
TEXT = st.text("aAbBé😀%_\\.\n'\"\0 0", max_size=4) | st.sampled_from(["42", "42.0", "-1.5", "0"])
NUMBERS_AS_TEXT = st.sampled_from([42, 42.0, -1.5, Decimal("-1.50"), 0, -0.0])
MOMENTS = st.datetimes(dt.datetime(1700, 1, 1), dt.datetime(2200, 1, 1)) | st.sampled_from(
    [dt.datetime(2013, 3, 10, 2, 30), dt.datetime(2013, 1, 1), dt.datetime(1969, 12, 31, 23, 59, 59, 999_999)]
)
SPANS = st.timedeltas(dt.timedelta(days=-40_000), dt.timedelta(days=40_000)) | st.sampled_from(
    [dt.timedelta(0), dt.timedelta(seconds=60), dt.timedelta(milliseconds=-1), dt.timedelta(microseconds=1)]
)
KEYS = st.integers(0, 3).map(lambda n: UUID(int=n << 120 | n))
NEGATIVE_NAN = math.copysign(math.nan, -1.0)
"""The result of 0.0 / 0.0 on most machines: NaN with the sign set."""
FLOATS = st.floats(width=32) | st.sampled_from(
    [0.0, -0.0, 1.0, 5.0, math.nan, NEGATIVE_NAN, math.inf, -math.inf, 2.0**53, 2.0**63, -(2.0**63), 2.0**64]
)


def integers(type_: pa.DataType, low: int, high: int) -> Family:
    near = st.sampled_from([n for n in (low, high, 0, 1, 60, 2**53 + 1) if low <= n <= high])
    return Family(type_, near | st.integers(low, high), near | ANY_NUMBER)


def lists_of(family: Family, type_: pa.DataType, least: int = 0, most: int = 3) -> Family:
    cells = st.lists(st.none() | family.cells, min_size=least, max_size=most)
    return Family(type_, cells, item=family)


def struct_of(**parts: Family) -> Family:
    cells = st.fixed_dictionaries({name: st.none() | part.cells for name, part in parts.items()})
    return Family(pa.struct([(name, part.type) for name, part in parts.items()]), cells, parts=parts)


def whole_milliseconds(span: dt.timedelta) -> dt.timedelta:
    return span - span % dt.timedelta(milliseconds=1)


def whole_seconds(moments: st.SearchStrategy[dt.datetime]) -> st.SearchStrategy[dt.datetime]:
    return moments.map(lambda moment: moment.replace(microsecond=0))


SMALL = integers(pa.int16(), -3, 3)
WORDS_FEW = Family(pa.string(), st.sampled_from(["a", "A", "b", "é", ""]), st.sampled_from(["a", "A", "b"]))
F64 = Family(pa.float64(), FLOATS, FLOATS | ANY_NUMBER | st.floats())
PERSON = struct_of(name=WORDS_FEW, age=SMALL, tags=lists_of(WORDS_FEW, pa.list_(pa.string())))

FAMILIES = {
    "i8": integers(pa.int8(), -128, 127),
    "i64": integers(pa.int64(), -(2**63), 2**63 - 1),
    "u64": integers(pa.uint64(), 0, 2**64 - 1),
    "f32": Family(pa.float32(), FLOATS, FLOATS | ANY_NUMBER),
    "f64": F64,
    "f16": Family(
        pa.float16(),
        st.sampled_from([0.0, -0.0, 1.5, math.nan, NEGATIVE_NAN]),
        st.sampled_from([0, 1.5, 10**6]),
    ),
    "dec": Family(
        pa.decimal128(9, 2),
        st.decimals(-9, 9, places=2) | st.sampled_from([Decimal("9999999.99")]),
        st.decimals(-9, 9, places=3) | ANY_NUMBER,
    ),
    "dec38": Family(
        pa.decimal128(38, 0), st.sampled_from([Decimal(10**38 - 1), Decimal(-1), Decimal(0)]), ANY_NUMBER
    ),
    "text": Family(pa.string(), TEXT, TEXT),
    "large": Family(pa.large_string(), TEXT, TEXT),
    "words": Family(pa.dictionary(pa.int8(), pa.string()), TEXT, TEXT),
    "view": Family(pa.string_view(), TEXT, TEXT),
    "flag": Family(pa.bool_(), st.booleans(), st.booleans()),
    "bytes": Family(pa.binary(), st.binary(max_size=2), st.binary(max_size=2)),
    "day": Family(pa.date32(), st.dates(dt.date(1, 1, 1), dt.date(9999, 12, 31)), st.dates() | MOMENTS),
    "moment": Family(pa.timestamp("us"), MOMENTS, MOMENTS | st.dates() | st.datetimes()),
    "second": Family(pa.timestamp("s"), whole_seconds(MOMENTS), MOMENTS),
    "fine": Family(pa.timestamp("ns"), MOMENTS, MOMENTS | st.datetimes()),
    "zoned": Family(
        pa.timestamp("ms", NEW_YORK),
        whole_seconds(MOMENTS).map(lambda moment: moment.replace(tzinfo=dt.UTC)),
        MOMENTS.map(lambda moment: moment.replace(tzinfo=dt.timezone(dt.timedelta(hours=5)))),
    ),
    "utc": Family(
        pa.timestamp("us", "UTC"),
        MOMENTS.map(lambda moment: moment.replace(tzinfo=dt.UTC)),
        MOMENTS.map(lambda moment: moment.replace(tzinfo=dt.UTC)),
    ),
    "i32": integers(pa.int32(), -(2**31), 2**31 - 1),
    "dec2": Family(
        pa.decimal128(20, 4),
        st.decimals(-9, 9, places=4) | st.decimals(-9, 9, places=2) | st.integers(-9, 9).map(Decimal),
        ANY_NUMBER,
    ),
    "tick": Family(pa.time32("s"), st.times().map(lambda clock: clock.replace(microsecond=0)), st.times()),
    "clock": Family(pa.time64("us"), st.times(), st.times()),
    "span": Family(pa.duration("ms"), SPANS.map(whole_milliseconds), SPANS),
    "seconds": Family(pa.duration("s"), st.integers(-3, 100).map(lambda n: dt.timedelta(seconds=n)), SPANS),
    "key": Family(pa.uuid(), KEYS, KEYS),
    "numbers": lists_of(SMALL, pa.list_(pa.int16())),
    "pair": lists_of(F64, pa.list_(pa.float64(), 2), 2, 2),
    "labels": lists_of(WORDS_FEW, pa.large_list(pa.string())),
    "grid": lists_of(lists_of(SMALL, pa.list_(pa.int16())), pa.list_(pa.list_(pa.int16()))),
    "people": lists_of(PERSON, pa.list_(PERSON.type)),
    "place": struct_of(city=WORDS_FEW, at=struct_of(x=F64, n=integers(pa.int64(), -5, 5))),
}
REGEXES = ("a", "^a", "[ab]+", "a|b", "^$", "a.b", r"\.", "é|😀", "(?s)a.b", "(?m)^b")


def askable(families: Mapping[str, Family]) -> dict[str, Family]:
    """Columns, the fields inside them and the first items of lists, by name."""
    by_name = {}
    for name, family in families.items():
        by_name[name] = family
        by_name.update({f"{name}.{inner}": part for inner, part in askable(family.parts).items()})
        if family.item is not None:
            by_name.update(askable({f"{name}.{number}": family.item for number in range(3)}))
    return by_name


def fits(operator: Operator, family: Family) -> bool:
    if operator.id in WHOLE and is_nested(family):
        return True
    nested = family.item is not None and is_nested(family.item)
    return operator.fits(family.type) and not (nested and operator.takes is Takes.ITEMS)


def is_nested(family: Family) -> bool:
    return family.item is not None or bool(family.parts)


def is_text(family: Family) -> bool:
    return family.type in (pa.string(), pa.large_string(), pa.string_view(), FAMILIES["words"].type)


def numbers_as_text(operator: Operator, family: Family) -> st.SearchStrategy[Any]:
    return NUMBERS_AS_TEXT if operator.id in EQUALITIES and is_text(family) else st.nothing()


def wholes(family: Family) -> st.SearchStrategy[Any]:
    """Values to compare whole lists and structs with; null fields may be left out."""
    if family.item is not None:
        return family.cells | st.lists(st.none() | wholes(family.item), max_size=3)
    if family.parts:
        parts = {name: st.none() | wholes(part) for name, part in family.parts.items()}
        return family.cells | st.fixed_dictionaries({}, optional=parts)
    return family.values | family.cells


@st.composite
def predicate(draw: st.DrawFn, families: Mapping[str, Family]) -> Predicate:
    names = askable(families)
    name = draw(st.sampled_from(list(names)))
    family = names[name]
    without_index = [o for o in OPERATORS.values() if o.takes is not Takes.WORDS]
    operator = draw(st.sampled_from([o for o in without_index if fits(o, family)]))
    values = tuple(draw(_values(operator, family, names)))
    asked_family = family.item if operator.takes is Takes.ITEMS and family.item is not None else family
    folds = is_text(asked_family) and operator.arity is not Arity.NONE and draw(st.booleans())
    return Predicate(name, operator.id, values, ignore_case=folds and operator.takes is not Takes.TYPES)


def _values(operator: Operator, family: Family, names: Mapping[str, Family]) -> st.SearchStrategy[list[Any]]:
    counts = {Arity.NONE: (0, 0), Arity.ONE: (1, 1), Arity.TWO: (2, 2), Arity.MANY: (0, 4)}
    low, high = counts[operator.arity]
    strategy = family.values | family.cells | numbers_as_text(operator, family)
    if operator.id in WHOLE and is_nested(family):
        return st.lists(wholes(family), min_size=max(low, 1), max_size=high)
    if operator.takes is Takes.COLUMNS:
        names_alike = [
            name for name, family_alike in names.items() if refusal(family.type, family_alike.type) is None
        ]
        strategy |= st.sampled_from([Reference(name) for name in names_alike])
    elif operator.id == "regex":
        strategy = st.sampled_from(REGEXES)
    elif operator.id == "like":
        strategy = strategy.filter(complete)
    elif operator.takes is Takes.ITEMS and family.item is not None:
        strategy = family.item.values | family.item.cells
    elif operator.takes is Takes.TYPES:
        return st.lists(st.sampled_from([*WORDS, NULL]), min_size=1, max_size=3)
    elif operator.takes is Takes.COUNT:
        strategy = st.integers(0, 3)
    elif operator.takes is Takes.DIVISION:
        divisors = st.sampled_from([1, 2, -3, 7, 128, 2**31, 2**53])
        return st.tuples(divisors, st.integers(-3, 3)).map(list)
    elif operator.takes is Takes.FILTER and family.item is not None:
        strategy = trees(family.item.parts or {ITEM: family.item})
    return st.lists(strategy, min_size=low, max_size=high)


def complete(pattern: str) -> bool:
    return not re.sub(r"(?s)\\.", "", pattern).endswith("\\")


def trees(families: Mapping[str, Family]) -> st.SearchStrategy[Filter]:
    def grow(inner: st.SearchStrategy[Filter]) -> st.SearchStrategy[Filter]:
        some = st.lists(inner, max_size=3).map(tuple)
        return some.map(And) | some.map(Or) | inner.map(Not)

    return st.recursive(predicate(families), grow, max_leaves=5)


@st.composite
def cases(draw: st.DrawFn) -> tuple[dict[str, list[Any]], Filter]:
    columns = draw(st.lists(st.sampled_from(list(FAMILIES)), min_size=1, max_size=3, unique=True))
    size = draw(st.integers(0, 8))
    cells = {
        name: draw(st.lists(st.none() | FAMILIES[name].cells, min_size=size, max_size=size))
        for name in columns
    }
    return cells, draw(trees({name: FAMILIES[name] for name in columns}))
