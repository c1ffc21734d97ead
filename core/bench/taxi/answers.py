"""The right answers of the four queries, from the trips themselves, and the rules they are compared by. What
was imported is checked by a sample of whole trips, all columns of them.

- A year is a whole number, whether a system says 2009 or '2009'. All times are of one zone, so the year of
  the text and the year of the milliseconds since 1970 are the same.
- A distance is rounded to whole miles, halves away from zero, as SQLite's ROUND and DuckDB's round do. The
  distances have two decimals: those that end in .5 are exact as doubles, and no other is near a half.
- An average counts to nine significant digits. Amounts have two decimals, so the average of 64 rows can lie
  just between two such numbers; a hundred-billionth of it is added, so that these ties go up everywhere.
- The order of rows does not count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lamella.core.bench.data import SEED
from lamella.core.bench.questions.answers import digest
from lamella.core.bench.taxi.data import trips
from lamella.core.bench.workloads import Operation, Workload

SAMPLED = 200
"""Trips, or all where there are fewer."""

_NUDGE = 1e-11
_BASE = 10_000


class Group(NamedTuple):
    """What the queries tell trips apart by."""

    cab: str
    passengers: int
    year: int
    distance: int


def expected(workload: Workload, operation: Operation, rows: int) -> str:
    return right_answers(rows)[operation.id]


def comparable(query: str, rows: Iterable[Sequence[Any]]) -> list[list[Any]]:
    """Rows as they are compared, from whatever system."""
    return [_RULES[query](list(row)) for row in rows]


_RULES: dict[str, Callable[[list[Any]], list[Any]]] = {
    "Q1": lambda row: row,
    "Q2": lambda row: [row[0], row[1] * (1 + _NUDGE)],
    "Q3": lambda row: [row[0], int(row[1]), row[2]],
    "Q4": lambda row: [row[0], int(row[1]), *row[2:]],
}


def sampled(rows: int) -> list[int]:
    """The ids of the trips that are read back after an import."""
    drawn: list[int] = np.random.default_rng([SEED, rows]).choice(rows, min(rows, SAMPLED), False).tolist()
    return drawn


@cache
def right_answers(rows: int) -> dict[str, str]:
    """By operation; one pass over the trips for all of them."""
    counts, cents = Counter[Group](), Counter[Group]()
    wanted, whole = pa.array(sampled(rows), pa.int64()), list[pa.RecordBatch]()
    for batch in trips(rows):
        whole.append(batch.filter(pc.is_in(batch["trip_id"], wanted)))
        for group, count, sum_ in _groups(batch):
            counts[group] += count
            cents[group] += sum_
    trips_of, cents_of = _by(counts, "passengers"), _by(cents, "passengers")
    found: dict[str, list[list[Any]]] = {
        "Q1": _rows(_by(counts, "cab")),
        "Q2": [[key[0], cents_of[key] / count / 100] for key, count in trips_of.items()],
        "Q3": _rows(_by(counts, "passengers", "year")),
        "Q4": _rows(_by(counts, "passengers", "year", "distance")),
    }
    told = {query: digest(comparable(query, answer)) for query, answer in found.items()}
    return told | {"import": digest(pa.Table.from_batches(whole))}


def _groups(batch: pa.RecordBatch) -> Iterable[tuple[Group, int, int]]:
    """Each group of a batch, how many trips it has and what they cost in cents."""
    cabs = pc.unique(batch["cab_type"])
    columns = [
        pc.index_in(batch["cab_type"], cabs),
        batch["passenger_count"],
        pc.year(batch["pickup_datetime"]),
    ]
    distance = np.floor(batch["trip_distance"].to_numpy() + 0.5).astype(np.int64)
    code = np.zeros(batch.num_rows, np.int64)
    for values in (*(column.to_numpy(zero_copy_only=False) for column in columns), distance):
        code = code * _BASE + values
    codes, place, counts = np.unique(code, return_inverse=True, return_counts=True)
    cents = np.bincount(place, np.round(batch["total_amount"].to_numpy() * 100))
    for one, count, sum_ in zip(codes.tolist(), counts.tolist(), cents.tolist(), strict=True):
        rest, miles = divmod(one, _BASE)
        rest, year = divmod(rest, _BASE)
        cab, passengers = divmod(rest, _BASE)
        yield Group(cabs[cab].as_py(), passengers, year, miles), count, int(sum_)


def _by(sums: Counter[Group], *names: str) -> Counter[tuple[Any, ...]]:
    found = Counter[tuple[Any, ...]]()
    for group, value in sums.items():
        found[tuple(getattr(group, name) for name in names)] += value
    return found


def _rows(counts: Counter[tuple[Any, ...]]) -> list[list[Any]]:
    return [[*key, count] for key, count in counts.items()]
