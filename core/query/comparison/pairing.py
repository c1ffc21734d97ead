"""Which rows of two datasets belong together: by key columns, or by the order they come in."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pyarrow as pa

from lamella.core.arrow.arrays import to_numpy
from lamella.core.errors import BadData, UnknownColumn
from lamella.core.filters.kinds import NUMBERS, TEMPORAL, Kind, kind_of
from lamella.core.jobs import Job
from lamella.core.libraries import duckdb
from lamella.core.query.comparison.cells import CellRule
from lamella.core.query.duckdb_source import POSITION, identifier, relation
from lamella.core.query.engine import query_cursor
from lamella.core.scan.read import live_positions
from lamella.core.scan.snapshot import Column, Snapshot

MOST_CANDIDATES = 40
"""Columns that are looked at for a key."""
MOST_COMBINED, MOST_KEY_COLUMNS = 8, 3
"""Of the first so many, so many together may be one."""
MOST_CHECKS = 24
"""Keys that are looked for in all rows, or nearly."""
SAMPLE_ROWS = 20_000
"""One value twice among the first so many rows, and a column is not a key."""
_KEY_TYPES = frozenset({Kind.INTEGER, Kind.TEXT, Kind.DECIMAL, Kind.UUID, Kind.DATE, Kind.TIMESTAMP})


@dataclass(frozen=True, eq=False)
class RowPairs:
    """Positions: `before` and `after` of rows that belong together, in the order of the later side; `removed`
    of rows of the earlier side alone, and `added` of the later one, both ascending. `notes` says what people
    should know of the keys."""

    before: np.ndarray
    after: np.ndarray
    removed: np.ndarray
    added: np.ndarray
    notes: tuple[str, ...] = ()


def pair_by_order(before: Snapshot, after: Snapshot) -> RowPairs:
    """The first row with the first, the second with the second, and so on."""
    ours, theirs = all_positions(before), all_positions(after)
    both = min(len(ours), len(theirs))
    return RowPairs(ours[:both], theirs[:both], ours[both:], theirs[both:])


def all_positions(snapshot: Snapshot) -> np.ndarray:
    return live_positions(snapshot, np.arange(snapshot.num_rows, dtype=np.int64))


def pair_by_key(
    before: Snapshot,
    after: Snapshot,
    key: Sequence[str],
    rule: CellRule,
    job: Job,
    is_unique: bool = False,
) -> RowPairs:
    """Null is a key like any other, and NaN. Rows that share a key are paired in the order they come, which a
    note says; where the key `is_unique`, nobody looks for them.

    Raises `UnknownColumn`, and `BadData` for a key that cannot be compared.
    """
    sides = before, after
    columns = [[_column(side, name) for name in key] for side in sides]
    with query_cursor(f"{before.name} and {after.name}", job) as cursor:
        rows = [
            _keyed_rows(side, own, other, rule, cursor, job)
            for side, own, other in zip(sides, columns, reversed(columns), strict=True)
        ]
        notes, repeated = [], False
        for side, own, text in zip(sides, columns, rows, strict=True):
            if is_unique or (side.ids is not None and len(own) == 1 and own[0].key == side.ids.key):
                continue
            job.check()
            shared, nulls = _key_faults(cursor, text, len(key))
            repeated = repeated or shared > 0
            notes += _key_notes(side.name, key, shared, nulls)
        job.check()
        pairs = cursor.sql(_join(rows, len(key), repeated)).to_arrow_table()
    return _arranged(pairs, tuple(notes))


def _column(snapshot: Snapshot, name: str) -> Column:
    if name not in snapshot.by_name:
        raise UnknownColumn(name, snapshot.name, [c.name for c in snapshot.columns])
    column = snapshot.column(name)
    if pa.types.is_nested(column.type):
        raise BadData(
            f"{snapshot.name}: column '{name}' cannot be a key",
            f"It holds {column.type}",
            "Choose columns of single values, or compare row by row in their order",
        )
    return column


def _keyed_rows(
    snapshot: Snapshot,
    own: Sequence[Column],
    other: Sequence[Column],
    rule: CellRule,
    cursor: duckdb.DuckDBPyConnection,
    job: Job,
) -> str:
    """SQL of rows `pos`, `k0`, `k1`, …: positions, and the keys in a form that both sides have."""
    columns = tuple(dict.fromkeys(own))
    values = [
        f"{_comparable(identifier(a), a.type, b.type, rule)} AS k{place}"
        for place, (a, b) in enumerate(zip(own, other, strict=True))
    ]
    rows = relation(snapshot, columns, cursor, job=job).sql("duckdb")
    return f"SELECT {POSITION}, {', '.join(values)} FROM {rows}"


def _comparable(name: str, own: pa.DataType, other: pa.DataType, rule: CellRule) -> str:
    kinds = {kind_of(own), kind_of(other)}
    value = f'"{name}"'
    if not own.equals(other) and kinds != {Kind.TEXT}:
        if kinds == {Kind.INTEGER}:
            value = f"CAST({value} AS HUGEINT)"
        elif kinds == {Kind.INTEGER, Kind.FLOAT}:
            value = _exact_text(value, kind_of(own))
        elif kinds <= NUMBERS:
            value = f"CAST({value} AS DOUBLE)"
        elif kinds <= TEMPORAL:
            value = f"CAST({value} AS TIMESTAMP)"
        elif Kind.TEXT in kinds:
            value = f"CAST({value} AS VARCHAR)"
    if kinds == {Kind.TEXT}:
        if rule.ignore_space:
            value = f"trim(regexp_replace({value}, '\\s+', ' ', 'g'))"
        if rule.ignore_case:
            value = f"lower({value})"
    return value


def _exact_text(value: str, kind: Kind) -> str:
    """Whole numbers beyond 2⁵³ are no floats: those of floats are written as whole numbers."""
    if kind is Kind.INTEGER:
        return f"CAST({value} AS VARCHAR)"
    whole = f"isfinite({value}) AND abs({value}) < 1e30 AND trunc({value}) = {value}"
    return (
        f"CASE WHEN {whole} THEN CAST(CAST({value} AS HUGEINT) AS VARCHAR) ELSE CAST({value} AS VARCHAR) END"
    )


def _keys(count: int) -> list[str]:
    return [f"k{place}" for place in range(count)]


def _key_faults(cursor: duckdb.DuckDBPyConnection, rows: str, count: int) -> tuple[int, int]:
    """How many rows share their key with another one, and how many have a null in it."""
    keys = ", ".join(_keys(count))
    some_null = " OR ".join(f"{name} IS NULL" for name in _keys(count))
    sql = (
        f"SELECT coalesce(sum(n) FILTER (n > 1), 0)::BIGINT, coalesce(sum(n) FILTER ({some_null}), 0)::BIGINT"
        f" FROM (SELECT count(*) AS n, {keys} FROM ({rows}) GROUP BY ALL)"
    )
    ((shared, nulls),) = cursor.sql(sql).fetchall()
    return int(shared), int(nulls)


def _key_notes(name: str, key: Sequence[str], shared: int, nulls: int) -> list[str]:
    called = ", ".join(key)
    notes = []
    if shared:
        notes.append(
            f"{name}: {shared:,} rows share their key ({called}) with another one and are paired in the"
            " order they come"
        )
    if nulls:
        notes.append(f"{name}: {nulls:,} {'row has' if nulls == 1 else 'rows have'} no value in {called}")
    return notes


def _join(rows: Sequence[str], count: int, repeated: bool) -> str:
    """Where keys are repeated, the times that a key came before are part of it: no row is joined twice."""
    keys = _keys(count)
    if repeated:
        number = f"row_number() OVER (PARTITION BY {', '.join(keys)} ORDER BY {POSITION}) AS times"
        rows, keys = [f"SELECT *, {number} FROM ({one})" for one in rows], [*keys, "times"]
    equal = " AND ".join(f"a.{name} IS NOT DISTINCT FROM b.{name}" for name in keys)
    return (
        f"SELECT a.{POSITION} AS earlier, b.{POSITION} AS later FROM ({rows[0]}) a"
        f" FULL JOIN ({rows[1]}) b ON {equal}"
    )


def _arranged(pairs: pa.Table, notes: tuple[str, ...]) -> RowPairs:
    valid = [to_numpy(pairs.column(place).is_valid()) for place in (0, 1)]
    before, after = (to_numpy(pairs.column(place)).astype(np.int64, copy=False) for place in (0, 1))
    both = valid[0] & valid[1]
    ours, theirs = before[both], after[both]
    order = np.argsort(theirs, kind="stable")
    removed, added = before[valid[0] & ~both], after[valid[1] & ~both]
    return RowPairs(ours[order], theirs[order], np.sort(removed), np.sort(added), notes)


def suggest_key(before: Snapshot, after: Snapshot, job: Job) -> tuple[str, ...]:
    """Columns that tell the rows of both sides apart, or none: `_id` for two versions of one table, else the
    first columns of both, up to three, whose values are all there and unique together, those that are called
    like keys before others."""
    if before.ids is not None and after.ids is not None and before.token[0] == after.token[0]:
        return (before.ids.name,)
    names, checks = _candidates(before, after), 0
    rows, distinct = _first_values(before, names, job)
    for key in _combinations([name for name in names if name in distinct]):
        counts = [distinct[name] for name in key]
        has_unique = max(counts) == rows < SAMPLE_ROWS  # on one side at least, where it was tried alone
        if math.prod(counts) < rows or (has_unique and len(key) > 1):
            continue
        if all(_is_unique(side, [side.column(name) for name in key], job) for side in (before, after)):
            return key
        checks += 1
        if checks == MOST_CHECKS:
            break
    return ()


def _combinations(names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Those of the first names come first: each name alone, then with those before it."""
    for last, name in enumerate(names):
        yield (name,)
        if last < MOST_COMBINED:
            for others in range(1, MOST_KEY_COLUMNS):
                yield from ((*before, name) for before in combinations(names[:last], others))


def _first_values(snapshot: Snapshot, names: Sequence[str], job: Job) -> tuple[int, dict[str, int]]:
    """How many of the first rows there are, and how many values each column has in them, where none is
    missing."""
    if not names:
        return 0, {}
    columns = [snapshot.column(name) for name in names]
    with query_cursor(snapshot.name, job) as cursor:
        rows = relation(snapshot, tuple(columns), cursor, job=job).sql("duckdb")
        quoted = [f'"{identifier(column)}"' for column in columns]
        counts = ", ".join(f"count({name}), count(DISTINCT {name})" for name in quoted)
        sql = f"SELECT count(*), {counts} FROM (SELECT * FROM {rows} LIMIT {SAMPLE_ROWS})"
        ((total, *value_counts),) = cursor.sql(sql).fetchall()
    pairs = zip(names, value_counts[::2], value_counts[1::2], strict=True)
    return total, {name: distinct for name, there, distinct in pairs if there == total}


def _candidates(before: Snapshot, after: Snapshot) -> list[str]:
    ours = {c.name: c for c in before.columns if not _is_id(before, c)}
    names = [
        c.name
        for c in after.columns
        if c.name in ours
        and not _is_id(after, c)
        and {kind_of(c.type), kind_of(ours[c.name].type)} <= _KEY_TYPES
    ]
    return sorted(names[:MOST_CANDIDATES], key=_unlike_a_key)


def _is_id(snapshot: Snapshot, column: Column) -> bool:
    return snapshot.ids is not None and column.key == snapshot.ids.key


def _unlike_a_key(name: str) -> bool:
    words = name.casefold().replace("-", "_").split("_")
    return words[-1] not in _KEY_WORDS and not name.casefold().endswith("id")


_KEY_WORDS = frozenset({"id", "key", "code", "uuid", "guid", "no", "number", "nr"})


def _is_unique(snapshot: Snapshot, columns: Sequence[Column], job: Job) -> bool:
    """Whether no value is missing and no values are there twice together: the first rows rule most out."""
    job.check()
    with query_cursor(snapshot.name, job) as cursor:
        rows = relation(snapshot, tuple(columns), cursor, job=job).sql("duckdb")
        names = [f'"{identifier(column)}"' for column in columns]
        both = names[0] if len(names) == 1 else f"row({', '.join(names)})"
        there = " AND ".join(f"count({name}) = count(*)" for name in names)
        some = f"(SELECT {', '.join(names)} FROM {rows} LIMIT {SAMPLE_ROWS})"
        for source in (some, rows):
            sql = f"SELECT {there} AND count(*) = count(DISTINCT {both}) FROM {source}"
            if not cursor.sql(sql).fetchall()[0][0]:
                return False
    return True
