"""DuckDB over a real Parquet file, the Arrow mask and a plain Python model agree on every filter."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.filters import And, Filter, Not, Or, Predicate, bind, mask, to_sql
from core.filters.operators import OPERATORS, Arity

Ask = Callable[[pa.Table, Filter], list[int]]
NEW_YORK = "America/New_York"


@dataclass(frozen=True)
class Family:
    """A column type with the cells it may hold and the values it may be asked for."""

    type: pa.DataType
    cells: st.SearchStrategy[Any]
    values: st.SearchStrategy[Any]


def around(*numbers: int) -> st.SearchStrategy[int]:
    return st.sampled_from(numbers).flatmap(lambda n: st.integers(n - 2, n + 2))


FRACTIONS = st.sampled_from([0.5, -1.5, 60.25, Decimal("2.5"), Decimal("-0.001"), math.inf, -math.inf])
ANY_NUMBER = around(0, 60, 127, -128, 2**31, 2**53, 2**63, -(2**63), 2**64, 10**40) | FRACTIONS
TEXT = st.text("aAbBé😀%_\\.\n'\"\0 0", max_size=4)
MOMENTS = st.datetimes(dt.datetime(1700, 1, 1), dt.datetime(2200, 1, 1)) | st.sampled_from(
    [dt.datetime(2013, 3, 10, 2, 30), dt.datetime(2013, 1, 1), dt.datetime(1969, 12, 31, 23, 59, 59, 999_999)]
)
FLOATS = st.floats(width=32) | st.sampled_from([0.0, -0.0, 1.0, 5.0, math.nan, math.inf, -math.inf])


def integers(type_: pa.DataType, low: int, high: int) -> Family:
    near = st.sampled_from([n for n in (low, high, 0, 1, 60) if low <= n <= high])
    return Family(type_, near | st.integers(low, high), near | ANY_NUMBER)


def whole_seconds(moments: st.SearchStrategy[dt.datetime]) -> st.SearchStrategy[dt.datetime]:
    return moments.map(lambda moment: moment.replace(microsecond=0))


FAMILIES = {
    "i8": integers(pa.int8(), -128, 127),
    "i64": integers(pa.int64(), -(2**63), 2**63 - 1),
    "u64": integers(pa.uint64(), 0, 2**64 - 1),
    "f32": Family(pa.float32(), FLOATS, FLOATS | ANY_NUMBER),
    "f64": Family(pa.float64(), FLOATS, FLOATS | ANY_NUMBER | st.floats()),
    "f16": Family(
        pa.float16(), st.sampled_from([0.0, -0.0, 1.5, math.nan]), st.sampled_from([0, 1.5, 10**6])
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
    "clock": Family(pa.time64("us"), st.times(), st.times()),
}
REGEXES = ("a", "^a", "[ab]+", "a|b", "^$", "a.b", r"\.", "é|😀")


@st.composite
def predicate(draw: st.DrawFn, columns: list[str]) -> Predicate:
    name = draw(st.sampled_from(columns))
    family = FAMILIES[name]
    operator = draw(st.sampled_from([o for o in OPERATORS.values() if o.fits(family.type)]))
    if operator.id == "regex":
        return Predicate(name, "regex", (draw(st.sampled_from(REGEXES)),))
    one = (family.values | family.cells).filter(lambda v: operator.id != "like" or complete(v))
    counts = {Arity.NONE: (0, 0), Arity.ONE: (1, 1), Arity.TWO: (2, 2), Arity.MANY: (0, 4)}
    low, high = counts[operator.arity]
    values = tuple(draw(st.lists(one, min_size=low, max_size=high)))
    folds = isinstance(draw(family.cells), str) and draw(st.booleans())
    return Predicate(name, operator.id, values, ignore_case=folds)


def complete(pattern: str) -> bool:
    return not re.sub(r"(?s)\\.", "", pattern).endswith("\\")


def trees(columns: list[str]) -> st.SearchStrategy[Filter]:
    def grow(inner: st.SearchStrategy[Filter]) -> st.SearchStrategy[Filter]:
        some = st.lists(inner, max_size=3).map(tuple)
        return some.map(And) | some.map(Or) | inner.map(Not)

    return st.recursive(predicate(columns), grow, max_leaves=5)


@st.composite
def cases(draw: st.DrawFn) -> tuple[dict[str, list[Any]], Filter]:
    columns = draw(st.lists(st.sampled_from(list(FAMILIES)), min_size=1, max_size=3, unique=True))
    size = draw(st.integers(0, 8))
    cells = {
        name: draw(st.lists(st.none() | FAMILIES[name].cells, min_size=size, max_size=size))
        for name in columns
    }
    return cells, draw(trees(columns))


# The model ------------------------------------------------------------------------------------


def expected(node: Filter, row: dict[str, Any]) -> bool:
    if isinstance(node, Predicate):
        return meets(node, row[node.column])
    met = [expected(child, row) for child in node.children]  # type: ignore[attr-defined]
    if isinstance(node, Not):
        return not met[0]
    return all(met) if isinstance(node, And) else any(met)


def meets(p: Predicate, cell: Any) -> bool:
    base, opposite = {
        "ne": ("eq", True),
        "nin": ("in", True),
        "not_between": ("between", True),
        "not_contains": ("contains", True),
        "not_null": ("is_null", True),
    }.get(p.operator, (p.operator, False))
    if base == "is_null":
        return (cell is None) != opposite
    return (cell is not None and positive(p, base, cell)) != opposite


def positive(p: Predicate, operator: str, cell: Any) -> bool:
    values = [folded(value, p) for value in p.values]
    cell = folded(cell, p)
    if isinstance(cell, str) and operator in TEXT_TESTS:
        return TEXT_TESTS[operator](cell, *values)
    x, vs = ranked(cell), [ranked(asked(value, p.column)) for value in values]
    return {
        "eq": lambda: x == vs[0],
        "gt": lambda: x > vs[0],
        "gte": lambda: x >= vs[0],
        "lt": lambda: x < vs[0],
        "lte": lambda: x <= vs[0],
        "between": lambda: vs[0] <= x <= vs[1],
        "in": lambda: x in vs,
        "is_true": lambda: cell is True,
        "is_false": lambda: cell is False,
        "is_empty": lambda: cell == "",
        "not_empty": lambda: cell != "",
    }[operator]()


def folded(value: Any, p: Predicate) -> Any:
    return value.lower() if p.ignore_case and isinstance(value, str) else value


def asked(value: Any, column: str) -> Any:
    """A fraction asked of a float column stands for the nearest float there is."""
    type_ = FAMILIES[column].type
    if not pa.types.is_floating(type_) or not math.isfinite(value) or value == int(value):
        return value
    with np.errstate(over="ignore"):
        return float(type_.to_pandas_dtype()(float(value)))


def ranked(value: Any) -> tuple[int, Any]:
    """A key under which Python compares as filters do: NaN after every number."""
    if isinstance(value, bool | str | bytes | dt.time):
        return 0, value
    if isinstance(value, dt.date):
        moment = value if isinstance(value, dt.datetime) else dt.datetime(value.year, value.month, value.day)
        return 0, moment
    if isinstance(value, float) and not math.isfinite(value):
        return (2, 0) if math.isnan(value) else (math.copysign(1, value), 0)  # type: ignore[return-value]
    return 0, Fraction(value)


def like(text: str, pattern: str) -> bool:
    if not pattern:
        return not text
    head, rest = pattern[0], pattern[1:]
    if head == "%":
        return any(like(text[start:], rest) for start in range(len(text) + 1))
    if head == "\\":
        head, rest = pattern[1], pattern[2:]
        return text[:1] == head and like(text[1:], rest)
    return bool(text) and head in ("_", text[0]) and like(text[1:], rest)


TEXT_TESTS = {
    "contains": lambda cell, value: value in cell,
    "starts_with": str.startswith,
    "ends_with": str.endswith,
    "like": like,
    "regex": lambda cell, pattern: re.search(pattern, cell) is not None,
}


# The promise ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ask]:
    """Which rows of a Parquet file DuckDB finds."""
    file = tmp_path_factory.mktemp("filters") / "rows.parquet"
    with duckdb.connect() as engine:

        def rows_found(rows: pa.Table, bound: Filter) -> list[int]:
            numbers = pa.array(range(rows.num_rows), pa.int64())
            pq.write_table(rows.append_column("row", numbers), file, row_group_size=3)
            where = to_sql(bound, {name: name for name in rows.column_names}).sql("duckdb")
            query = f"SELECT row FROM read_parquet('{file}') WHERE {where} ORDER BY row"
            return [row for (row,) in engine.sql(query).fetchall()]

        yield rows_found


def agree(cells: dict[str, list[Any]], tree: Filter, ask: Ask) -> None:
    size = len(next(iter(cells.values())))
    wanted = [expected(tree, {name: cells[name][row] for name in cells}) for row in range(size)]
    rows = pa.table({name: pa.array(values, FAMILIES[name].type) for name, values in cells.items()})
    bound = bind(tree, rows.schema, "rows")
    assert mask(bound, rows).to_pylist() == wanted
    assert ask(rows, bound) == [row for row in range(size) if wanted[row]]


@settings(max_examples=250)
@given(case=cases())
def test_duckdb_arrow_and_plain_python_agree(case: tuple[dict[str, list[Any]], Filter], ask: Ask) -> None:
    agree(*case, ask)


NAN_CELLS = [
    [5.0, math.nan],
    [1.0, math.nan, None],
    [5.0, 5.0, math.nan],
    [math.nan],
    [math.inf, -math.inf, None, math.nan, 7.0],
    [1.0, 2.0, 3.0, 4.0, math.nan],
    [None, None, None, 0.0, math.nan],
    [5.0, 5.0, 5.0, math.nan, math.nan, None],
]


@pytest.mark.parametrize("column", ["f16", "f32", "f64"])
@pytest.mark.parametrize("cells", NAN_CELLS)
def test_statistics_that_ignore_nan_lose_no_row(column: str, cells: list[float | None], ask: Ask) -> None:
    for operator in OPERATORS.values():
        if not operator.fits(FAMILIES[column].type):
            continue
        for values in questions(operator.arity):
            tree = Predicate(column, operator.id, values)
            agree({column: cells}, tree, ask)
            agree({column: cells}, Not(tree), ask)


def questions(arity: Arity) -> list[tuple[float, ...]]:
    numbers = (0, 5, 7.5, math.nan, math.inf, -math.inf)
    if arity is Arity.NONE:
        return [()]
    if arity is Arity.ONE:
        return [(number,) for number in numbers]
    return [(0, 10), (5, math.nan), (7, math.inf)]
