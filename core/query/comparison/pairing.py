"""Pairs the rows of two datasets, by key columns or by order."""

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
"""The maximum number of columns that are considered for a key."""
MOST_KEY_CANDIDATES, MOST_KEY_COLUMNS = 8, 3
"""Only combinations of the first columns are tried: the number of these, and of columns in a combination."""
MOST_CHECKS = 24
"""The maximum number of keys that are checked over all rows."""
SAMPLE_ROWS = 20_000
"""The number of first rows that rule out most keys: a repeated value among them suffices."""
_KEY_TYPES = frozenset({Kind.INTEGER, Kind.TEXT, Kind.DECIMAL, Kind.UUID, Kind.DATE, Kind.TIMESTAMP})


@dataclass(frozen=True, eq=False)
class RowPairs:
    """Pairs of rows, as positions. `before` and `after` are those of paired rows, in the order of the later
    side; `removed_rows` and `added_rows` are those of rows that only the earlier or the later side has,
    ascending. `notes` are remarks on the keys for the user."""

    before: np.ndarray
    after: np.ndarray
    removed_rows: np.ndarray
    added_rows: np.ndarray
    notes: tuple[str, ...] = ()


def pair_by_order(before: Snapshot, after: Snapshot) -> RowPairs:
    """Pair the first rows, the second rows, and so on."""
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
    """Pair rows with equal keys. Null and NaN are keys like any other. Rows that share a key are paired in
    order, which a note mentions; this is not checked if the key `is_unique`.

    Raises `UnknownColumn`, and `BadData` for a key that cannot be compared.
    """
    sides = before, after
    columns = [[_column(side, name) for name in key] for side in sides]
    with query_cursor(f"{before.name} and {after.name}", job) as cursor:
        rows = [
            _keyed_rows(side, own, opposite, rule, cursor, job)
            for side, own, opposite in zip(sides, columns, reversed(columns), strict=True)
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
    return _arrange(pairs, tuple(notes))


def _column(snapshot: Snapshot, name: str) -> Column:
    if name not in snapshot.by_name:
        raise UnknownColumn(name, snapshot.name, [c.name for c in snapshot.columns])
    column = snapshot.column(name)
    if pa.types.is_nested(column.type):
        raise BadData(
            f"{snapshot.name}: column '{name}' cannot be a key",
            f"Its type is {column.type}",
            "Choose columns of single values, or compare the rows in their order",
        )
    return column


def _keyed_rows(
    snapshot: Snapshot,
    own: Sequence[Column],
    opposite: Sequence[Column],
    rule: CellRule,
    cursor: duckdb.DuckDBPyConnection,
    job: Job,
) -> str:
    """SQL for rows `pos`, `k0`, `k1`, …: positions, and keys in a form that both sides share."""
    columns = tuple(dict.fromkeys(own))
    values = [
        f"{_comparable(identifier(a), a.type, b.type, rule)} AS k{place}"
        for place, (a, b) in enumerate(zip(own, opposite, strict=True))
    ]
    rows = relation(snapshot, columns, cursor, job=job).sql("duckdb")
    return f"SELECT {POSITION}, {', '.join(values)} FROM {rows}"


def _comparable(name: str, own: pa.DataType, opposite: pa.DataType, rule: CellRule) -> str:
    kinds = {kind_of(own), kind_of(opposite)}
    value = f'"{name}"'
    if not own.equals(opposite) and kinds != {Kind.TEXT}:
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
    """A number as text that is equal for equal integers and floats. Floats beyond 2⁵³ are written as whole
    numbers."""
    if kind is Kind.INTEGER:
        return f"CAST({value} AS VARCHAR)"
    whole = f"isfinite({value}) AND abs({value}) < 1e30 AND trunc({value}) = {value}"
    return (
        f"CASE WHEN {whole} THEN CAST(CAST({value} AS HUGEINT) AS VARCHAR) ELSE CAST({value} AS VARCHAR) END"
    )


def _keys(count: int) -> list[str]:
    return [f"k{place}" for place in range(count)]


def _key_faults(cursor: duckdb.DuckDBPyConnection, rows: str, count: int) -> tuple[int, int]:
    """Return the number of rows that share their key with another row, and of those with a null in it."""
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
    """SQL for the paired rows. Repeated keys also count their occurrences, so that no row is paired twice."""
    keys = _keys(count)
    if repeated:
        number = f"row_number() OVER (PARTITION BY {', '.join(keys)} ORDER BY {POSITION}) AS times"
        rows, keys = [f"SELECT *, {number} FROM ({row})" for row in rows], [*keys, "times"]
    equal = " AND ".join(f"a.{name} IS NOT DISTINCT FROM b.{name}" for name in keys)
    return (
        f"SELECT a.{POSITION} AS earlier, b.{POSITION} AS later FROM ({rows[0]}) a"
        f" FULL JOIN ({rows[1]}) b ON {equal}"
    )


def _arrange(pairs: pa.Table, notes: tuple[str, ...]) -> RowPairs:
    valid = [to_numpy(pairs.column(place).is_valid()) for place in (0, 1)]
    before, after = (to_numpy(pairs.column(place)).astype(np.int64, copy=False) for place in (0, 1))
    both = valid[0] & valid[1]
    ours, theirs = before[both], after[both]
    order = np.argsort(theirs, kind="stable")
    removed, added = before[valid[0] & ~both], after[valid[1] & ~both]
    return RowPairs(ours[order], theirs[order], np.sort(removed), np.sort(added), notes)


def suggest_key(before: Snapshot, after: Snapshot, job: Job) -> tuple[str, ...]:
    """Columns that identify the rows of both sides, or none. This is `_id` for two versions of one table;
    otherwise the first columns of both, up to three, without missing values and unique together, with names
    that look like keys preferred."""
    if before.ids is not None and after.ids is not None and before.token[0] == after.token[0]:
        return (before.ids.name,)
    names, checks = _candidates(before, after), 0
    rows, distinct = _first_values(before, names, job)
    for key in _combinations([name for name in names if name in distinct]):
        counts = [distinct[name] for name in key]
        has_unique = max(counts) == rows < SAMPLE_ROWS  # on at least one side; it was tried alone before
        if math.prod(counts) < rows or (has_unique and len(key) > 1):
            continue
        if all(_is_unique(side, [side.column(name) for name in key], job) for side in (before, after)):
            return key
        checks += 1
        if checks == MOST_CHECKS:
            break
    return ()


def _combinations(names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Combinations that start with the first names: each name alone, then with those before it."""
    for last, name in enumerate(names):
        yield (name,)
        if last < MOST_KEY_CANDIDATES:
            for size in range(1, MOST_KEY_COLUMNS):
                yield from ((*before, name) for before in combinations(names[:last], size))


def _first_values(snapshot: Snapshot, names: Sequence[str], job: Job) -> tuple[int, dict[str, int]]:
    """The number of first rows, and the number of distinct values in them for each column without missing
    values."""
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
    return total, {name: distinct for name, count, distinct in pairs if count == total}


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
    """Whether no value is missing and no combination of values is repeated; the first rows rule out most
    keys."""
    job.check()
    with query_cursor(snapshot.name, job) as cursor:
        rows = relation(snapshot, tuple(columns), cursor, job=job).sql("duckdb")
        names = [f'"{identifier(column)}"' for column in columns]
        both = names[0] if len(names) == 1 else f"row({', '.join(names)})"
        all_present = " AND ".join(f"count({name}) = count(*)" for name in names)
        some = f"(SELECT {', '.join(names)} FROM {rows} LIMIT {SAMPLE_ROWS})"
        for source in (some, rows):
            sql = f"SELECT {all_present} AND count(*) = count(DISTINCT {both}) FROM {source}"
            if not cursor.sql(sql).fetchall()[0][0]:
                return False
    return True
