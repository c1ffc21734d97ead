"""How SQLite would scan a table: which rows constraints and statistics exclude, and what it would cost."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from itertools import product
from typing import Any

import apsw
import pyarrow as pa
import pyarrow.parquet as pq

from lamella.core.bridge.values import (
    DIGITS,
    EVERYTHING,
    NOTHING,
    NULLS,
    VALUES,
    Bytes,
    ColumnType,
    Floats,
    Integers,
    MatchingValues,
    Moments,
    Range,
    Storage,
    any_of,
    as_bytes,
    column_type,
)
from lamella.core.datasets.tables import quote_identifier
from lamella.core.errors import LamellaError
from lamella.core.scan.parquet_file import Footer
from lamella.core.scan.snapshot import Column, Snapshot

ROWID = -1


@dataclass(frozen=True)
class Constraint:
    """A constraint on the column at this index, or on `ROWID`. `literal`: its value is in the statement."""

    column: int
    op: str
    literal: bool


@dataclass(frozen=True)
class Plan:
    """How to run a scan. `columns` are the indexes of the columns to read, ascending."""

    columns: tuple[int, ...]
    constraints: tuple[Constraint, ...]

    def to_text(self) -> str:
        """Return the text that SQLite keeps of the plan and shows in EXPLAIN QUERY PLAN."""
        constraints = [[each.column, each.op, each.literal] for each in self.constraints]
        return json.dumps({"columns": self.columns, "constraints": constraints})


@lru_cache(1024)
def plan_of(text: str) -> Plan:
    record = json.loads(text)
    return Plan(tuple(record["columns"]), tuple(Constraint(*each) for each in record["constraints"]))


COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")
LETTERS_IN_BOTH_CASES = 3
_WHITE = " \t\n\v\f\r"
_NUMBER = re.compile(rf"[{_WHITE}]*([+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?)[{_WHITE}]*", re.ASCII)
_NUMBER_SIGNS = frozenset(f"{_WHITE}+-.0123456789eE")
_BEHIND_NUMBERS = ":"
"""No text that SQLite takes for a number begins with this character or a later one."""
_ANY_NUMBER = (-math.inf, math.inf)


def matching_values(column: ColumnType, op: str, value: Any, literal: bool = False) -> MatchingValues:
    """Return the values of a column that may meet `column op value`. `op` is a comparison, in (with a
    collection), is, is not, is null, is not null, like or glob. `literal`: the value is in the statement."""
    if op in ("is null", "is not null"):
        return NULLS if op == "is null" else VALUES
    if op == "in":
        return _in(column, value, literal)
    if value is None:
        return {"is": NULLS, "is not": VALUES}.get(op, NOTHING)
    if op in ("like", "glob"):
        return _beginning(column, op, value)
    if op == "is not":
        return EVERYTHING
    return _matching_values(column, "=" if op == "is" else op, value, literal)


def _in(column: ColumnType, values: Collection[Any], literal: bool) -> MatchingValues:
    return any_of(matching_values(column, "=", value, literal) for value in values)


def _matching_values(column: ColumnType, op: str, value: Any, literal: bool) -> MatchingValues:
    low, high = value, value
    if column.storage is Storage.NUMBER and isinstance(value, str):
        low, high = _as_number(value)
    storage = storage_of(low)
    if column.storage is Storage.TEXT and storage is Storage.NUMBER:
        return VALUES
    if storage is not column.storage:
        meets = ("<", "<=", "<>") if column.storage < storage else (">", ">=", "<>")
        return VALUES if op in meets else NOTHING
    if column.order is None or _read_as_number(column, op, value, literal):
        return VALUES
    return column.order.compare(op, low, high)


def storage_of(value: Any) -> Storage:
    """Return SQLite's class of a value that is not null."""
    if isinstance(value, str):
        return Storage.TEXT
    return Storage.BLOB if isinstance(value, bytes) else Storage.NUMBER


def _as_number(text: str) -> tuple[Any, Any]:
    """Return what numeric affinity makes of a text: the text itself, or two bounds of the number it stands
    for. SQLite does not always round a decimal fraction to the nearest double."""
    if not text or set(text) - _NUMBER_SIGNS:
        return text, text
    match = _NUMBER.fullmatch(text)
    if match is None:
        return _ANY_NUMBER
    number = match[1]
    if number.lstrip("+-").isdigit() and -(1 << 63) <= int(number) < 1 << 63:
        return int(number), int(number)
    near = float(number)
    return _steps(near, -math.inf), _steps(near, math.inf)


def _steps(number: float, towards: float) -> float:
    return math.nextafter(math.nextafter(number, towards), towards)


def _read_as_number(column: ColumnType, op: str, value: Any, literal: bool) -> bool:
    """Return whether the other side may be a numeric column that holds a text: texts that stand for numbers
    are then less than that text, wherever they sort among texts."""
    texts = column.storage is Storage.TEXT and isinstance(column.order, Bytes)
    return texts and not literal and op in ("<", "<=") and value < _BEHIND_NUMBERS


def _beginning(column: ColumnType, op: str, pattern: Any) -> MatchingValues:
    """Return the texts that begin with the literal start of the pattern. LIKE ignores the case of ASCII
    letters; the start ends before any non-ASCII letter, however SQLite treats it."""
    if column.storage is not Storage.TEXT or not isinstance(column.order, Bytes):
        return VALUES
    if not isinstance(pattern, str):
        return VALUES
    signs = re.compile(r"[^%_\x00\x80-\U0010ffff]*" if op == "like" else r"[^*?\[\x00]*")
    beginning = signs.match(pattern)
    text = beginning[0] if beginning else ""
    if not text:
        return VALUES
    if op == "glob":
        return MatchingValues((_from_to(text, text),))
    return MatchingValues(
        tuple(_from_to(head + tail.upper(), head + tail.lower()) for head, tail in _in_any_case(text))
    )


def _in_any_case(text: str) -> Iterator[tuple[str, str]]:
    """Return the first letters in every combination of cases, where most ranges differ, each with the
    rest."""
    first, tail = text[:LETTERS_IN_BOTH_CASES], text[LETTERS_IN_BOTH_CASES:]
    heads = product(*(dict.fromkeys((letter.upper(), letter.lower())) for letter in first))
    return (("".join(head), tail) for head in heads)


def _from_to(low: str, high: str) -> Range:
    """Return the range of texts from `low` to those that begin with `high`: UTF-8 has no byte 255."""
    return as_bytes(low), as_bytes(high) + b"\xff"


@dataclass(frozen=True)
class DeclaredColumn:
    """A column as SQLite sees it. `key` is the column's; so is `name`, unless SQLite would confuse it with
    another."""

    name: str
    key: int
    type: ColumnType


def declare(columns: Iterable[Column]) -> list[DeclaredColumn]:
    """Name the columns for SQLite, which ignores the case of ASCII letters: a name that differs from another
    only in case gets a number, as does a column without a name."""
    columns = list(columns)
    names = {fold_case(column.name) for column in columns}
    taken_names: set[str] = {""}
    declarations = []
    for column in columns:
        name, number = column.name, 2
        while fold_case(name) in taken_names or (name != column.name and fold_case(name) in names):
            name, number = f"{column.name or 'column'}_{number}", number + 1
        taken_names.add(fold_case(name))
        declarations.append(DeclaredColumn(name, column.key, column_type(column.type)))
    return declarations


def statement(columns: Iterable[DeclaredColumn]) -> str:
    columns_text = ", ".join(
        f"{quote_identifier(column.name)} {column.type.declared_type}" for column in columns
    )
    return f"CREATE TABLE declared ({columns_text})"


def current_column(declared: DeclaredColumn, snapshot: Snapshot) -> Column:
    """Return the column in this snapshot. Raises `LamellaError` if it was dropped or has another type now."""
    now = next((column for column in snapshot.columns if column.key == declared.key), None)
    if now is not None and column_type(now.type).declared_type == declared.type.declared_type:
        return now
    became = "was dropped or cast" if now is None else f"is of type {now.type} now"
    raise LamellaError(
        f"{snapshot.name}: column '{declared.name}' {became}",
        "The table changed after SQLite was connected to it",
        "Connect again",
    )


def fold_case(name: str) -> str:
    """Return a form of the name that is equal for names that SQLite does not tell apart."""
    return "".join(letter.lower() if letter.isascii() else letter for letter in name)


OPERATORS = {
    apsw.SQLITE_INDEX_CONSTRAINT_EQ: "=",
    apsw.SQLITE_INDEX_CONSTRAINT_NE: "<>",
    apsw.SQLITE_INDEX_CONSTRAINT_LT: "<",
    apsw.SQLITE_INDEX_CONSTRAINT_LE: "<=",
    apsw.SQLITE_INDEX_CONSTRAINT_GT: ">",
    apsw.SQLITE_INDEX_CONSTRAINT_GE: ">=",
    apsw.SQLITE_INDEX_CONSTRAINT_IS: "is",
    apsw.SQLITE_INDEX_CONSTRAINT_ISNOT: "is not",
    apsw.SQLITE_INDEX_CONSTRAINT_ISNULL: "is null",
    apsw.SQLITE_INDEX_CONSTRAINT_ISNOTNULL: "is not null",
    apsw.SQLITE_INDEX_CONSTRAINT_LIKE: "like",
    apsw.SQLITE_INDEX_CONSTRAINT_GLOB: "glob",
}
WITHOUT_COLLATION = ("is null", "is not null", "like", "glob")
SHARES = {"=": 0.02, "is": 0.02, "in": 0.1, "like": 0.2, "glob": 0.2, "is null": 0.1}
"""The estimated share of rows that pass a constraint with this operator; a third for others."""
OTHER_SHARE = 0.3
BEGINNING_COST = 100.0
UNSEEN_COST = 0.02
"""The cost of a row that is excluded before SQLite sees it; one that it sees costs 1, plus its columns."""
COLUMN_COST = 0.3


@dataclass(frozen=True)
class RowIdColumn:
    """Where the row id comes from: the column `_id` at an index, or the row number if there is none."""

    id_place: int | None

    def constrained_place(self, place: int) -> int:
        return self.id_place if place == ROWID and self.id_place is not None else place

    def is_id(self, place: int) -> bool:
        return place in (ROWID, self.id_place)


def best_index(
    info: apsw.IndexInfo, columns: Sequence[DeclaredColumn], numbered: RowIdColumn, rows: int
) -> Plan:
    """Return the plan, and enter it into `info`. SQLite checks every row it is given again."""
    constraints = []
    for which, each in _usable(info, columns, numbered):
        constraints.append(each)
        info.set_aConstraintUsage_argvIndex(which, len(constraints))
        if each.op == "in":
            info.set_aConstraintUsage_in(which, True)
    plan = Plan(tuple(sorted(_columns_read(info, len(columns)))), tuple(constraints))
    info.idxStr = plan.to_text()
    _estimate(info, plan, numbered, rows)
    info.orderByConsumed = _in_order(info, numbered)
    return plan


def _usable(
    info: apsw.IndexInfo, columns: Sequence[DeclaredColumn], numbered: RowIdColumn
) -> Iterator[tuple[int, Constraint]]:
    for which in range(info.nConstraint):
        op = OPERATORS.get(info.get_aConstraint_op(which))
        if op is None or not info.get_aConstraint_usable(which):
            continue
        place = numbered.constrained_place(info.get_aConstraint_iColumn(which))
        is_text = place != ROWID and columns[place].type.storage is Storage.TEXT
        if is_text and op not in WITHOUT_COLLATION and info.get_aConstraint_collation(which) != "BINARY":
            continue
        if op == "=" and info.get_aConstraintUsage_in(which):
            op = "in"
        yield which, Constraint(place, op, info.get_aConstraint_rhs(which) is not None)


def _columns_read(info: apsw.IndexInfo, columns: int) -> set[int]:
    """Return the columns that SQLite reads. It marks them in 64 bits; the last stands for all from there
    on."""
    mask = info.colUsed
    return {place for place in mask if place < columns} | (set(range(63, columns)) if 63 in mask else set())


def _estimate(info: apsw.IndexInfo, plan: Plan, numbered: RowIdColumn, rows: int) -> None:
    if any(each.op in ("=", "is") and numbered.is_id(each.column) for each in plan.constraints):
        info.estimatedRows, info.idxFlags = 1, apsw.SQLITE_INDEX_SCAN_UNIQUE
        info.estimatedCost = BEGINNING_COST
        return
    estimate = rows * math.prod(SHARES.get(each.op, OTHER_SHARE) for each in plan.constraints)
    info.estimatedRows = max(1, int(estimate))
    unseen = rows * UNSEEN_COST * len(plan.constraints)
    info.estimatedCost = BEGINNING_COST + unseen + estimate * (1 + COLUMN_COST * len(plan.columns))


def _in_order(info: apsw.IndexInfo, numbered: RowIdColumn) -> bool:
    """Rows come in the order of their ids."""
    return (
        info.nOrderBy == 1 and numbered.is_id(info.get_aOrderBy_iColumn(0)) and not info.get_aOrderBy_desc(0)
    )


UNIT_DIGITS = {"milliseconds": 3, "microseconds": 6, "nanoseconds": 9}


@dataclass(frozen=True)
class Extent:
    """The least and greatest value; None where unknown. `nulls` and `values`: whether there may be any."""

    low: Any = None
    high: Any = None
    nulls: bool = True
    values: bool = True

    def meets(self, values: MatchingValues) -> bool:
        if values.nulls and self.nulls:
            return True
        return self.values and (
            values.meets(self.low, self.high) if self.low is not None else bool(values.ranges)
        )


UNKNOWN = Extent()
ALL_NULL = Extent(values=False)


@lru_cache(4096)
def extents(footer: Footer, name: str, column: Column) -> list[Extent]:
    """Return the extent of each row group. `name` is the column's name in this file."""
    groups = range(footer.metadata.num_row_groups)
    kind = column_type(column.type)
    place = _leaf(footer, name)
    if place is None or not _alike(footer.schema.field(name).type, column.type):
        return [UNKNOWN for _ in groups]
    if footer.has_doubtful_extremes(name):
        return [UNKNOWN for _ in groups]
    leaf = footer.metadata.schema.column(place)
    return [
        _extent(footer.metadata.row_group(group).column(place), leaf, kind, column.type) for group in groups
    ]


def _leaf(footer: Footer, name: str) -> int | None:
    """Return the column's index among the leaves; None for nested columns, or if a nested field has the same
    path."""
    schema = footer.metadata.schema
    places = [i for i in range(footer.metadata.num_columns) if schema.column(i).path == name]
    return places[0] if len(places) == 1 and not pa.types.is_nested(footer.schema.field(name).type) else None


def _alike(stored: pa.DataType, kind_shown: pa.DataType) -> bool:
    """Return whether a value has the same key as stored and as the type that is shown."""
    if stored.equals(kind_shown):
        return True
    families = (pa.types.is_integer, pa.types.is_floating)
    return any(family(stored) and family(kind_shown) for family in families)


def _extent(
    chunk: pq.ColumnChunkMetaData, leaf: pq.ColumnSchema, kind: ColumnType, kind_shown: pa.DataType
) -> Extent:
    statistics = chunk.statistics
    if statistics is None:
        return UNKNOWN
    floats = pa.types.is_floating(kind_shown)
    nulls = floats or not statistics.has_null_count or statistics.null_count > 0
    if statistics.has_null_count and statistics.null_count == chunk.num_values:
        return ALL_NULL
    keys = _keys(statistics, leaf, kind) if statistics.has_min_max else None
    return Extent(None, None, nulls) if keys is None else Extent(keys[0], keys[1], nulls)


def _keys(statistics: pq.Statistics, leaf: pq.ColumnSchema, kind: ColumnType) -> tuple[Any, Any] | None:
    if isinstance(kind.order, Bytes):
        return statistics.min_raw, statistics.max_raw
    if isinstance(kind.order, Moments):
        return _in_unit(statistics, leaf, kind.order)
    if isinstance(kind.order, Integers):
        return int(statistics.min), int(statistics.max)
    return _doubles(statistics, kind.order) if isinstance(kind.order, Floats) else None


def _doubles(statistics: pq.Statistics, order: Floats) -> tuple[float, float] | None:
    """Return the extent as doubles, widened if the order is not exact: rounding may go either way."""
    if not isinstance(statistics.min, int | float | Decimal):
        return None
    low, high = float(statistics.min), float(statistics.max)
    if math.isnan(low) or math.isnan(high):
        return None
    return (low, high) if order.exact else (math.nextafter(low, -math.inf), math.nextafter(high, math.inf))


def _in_unit(statistics: pq.Statistics, leaf: pq.ColumnSchema, order: Moments) -> tuple[int, int] | None:
    """Return the extent in the order's unit. The file's unit may differ from that of its Arrow schema:
    Parquet has no seconds."""
    if leaf.physical_type not in ("INT32", "INT64"):
        return None
    if order.form == "day":
        return statistics.min_raw, statistics.max_raw
    stored = UNIT_DIGITS.get(json.loads(leaf.logical_type.to_json()).get("timeUnit", ""))
    if stored is None:
        return None
    step = DIGITS[order.unit] - stored
    if step >= 0:
        return statistics.min_raw * 10**step, statistics.max_raw * 10**step
    return statistics.min_raw // 10**-step, -(-statistics.max_raw // 10**-step)
