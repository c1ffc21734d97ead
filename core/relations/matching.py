"""Rows that have one of many keys, found in a table whose columns may be of other types than the keys."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lamella.core.arrays import take, to_numpy
from lamella.core.ascending import EMPTY, without
from lamella.core.filters.expr import Filter, Predicate, all_of, any_of
from lamella.core.filters.kinds import Kind, kind_of
from lamella.core.filters.operators import OPERATORS
from lamella.core.jobs import Job
from lamella.core.query.listed import is_one_of
from lamella.core.query.local import find
from lamella.core.relations.comparing import brought, meeting_type
from lamella.core.scan.key_codes import KeyCodes
from lamella.core.scan.pieces import pieces
from lamella.core.scan.python_value import python_value
from lamella.core.scan.rows import finish, take_rows
from lamella.core.scan.snapshot import Column, Snapshot

MOST_LISTED = 1_000
"""So many keys are looked for by a condition, which an index may serve; for more every row is looked at."""
AS_PYTHON = (Kind.INTEGER, Kind.TEXT)
"""Whole numbers and texts are equal where their Python values are."""


@dataclass(frozen=True, eq=False)
class Matched:
    """Ascending positions of rows that have one of the keys, and the number of the first such key."""

    positions: np.ndarray
    keys: np.ndarray


class Keys:
    """Rows of key values, numbered as they are given. A null is part of no key."""

    def __init__(self, values: Sequence[pa.ChunkedArray], columns: Sequence[Column]) -> None:
        """`columns` are those in which the keys are looked for, of types that meet those of `values`."""
        self._columns = tuple(columns)
        met = [meeting_type(v.type, c.type) for v, c in zip(values, columns, strict=True)]
        self._kinds = [kind for kind in met if kind is not None]
        given = [brought(v, kind) for v, kind in zip(values, self._kinds, strict=True)]
        rows = np.flatnonzero(valid_in_all(given))
        self.first = np.full(len(values[0]), -1, np.int64)
        """For each key the number of the first that is equal to it; -1 for one that holds a null."""
        self.first[rows] = rows[KeyCodes([_those(value, rows) for value in given]).first]
        self._rows = np.flatnonzero(self.first == np.arange(len(self.first)))
        self._values = [_those(value, self._rows) for value in given]

    @cached_property
    def _codes(self) -> KeyCodes:
        return KeyCodes(self._values)

    def found(self, columns: Sequence[pa.ChunkedArray]) -> tuple[np.ndarray, np.ndarray]:
        """The rows that have a key, and the number of the first such key."""
        same = [brought(values, kind) for values, kind in zip(columns, self._kinds, strict=True)]
        rows, numbers = self._codes.found(same)
        return rows, self._rows[numbers]

    def condition(self) -> Filter | None:
        """What every row that has a key meets, if not only those; None where that cannot be said in short."""
        if len(self._rows) > MOST_LISTED or not all(OPERATORS["eq"].fits(c.type) for c in self._columns):
            return None
        if not all(map(_can_be_told, self._values)):
            return None
        return all_of(is_one_of(c, v) for c, v in zip(self._columns, self._values, strict=True))

    def matching(self, snapshot: Snapshot, where: Filter | None, job: Job) -> Matched:
        """The live rows of `snapshot` that have a key in the columns, and meet `where`."""
        positions, numbers = [EMPTY], [EMPTY]
        for at, rows in self._candidates(snapshot, where, job) if len(self._rows) else ():
            found, keys = self.found(rows.columns)
            positions.append(at[found])
            numbers.append(keys)
        return Matched(np.concatenate(positions), np.concatenate(numbers))

    def _candidates(
        self, snapshot: Snapshot, where: Filter | None, job: Job
    ) -> Iterator[tuple[np.ndarray, pa.Table]]:
        condition = self.condition()
        if condition is None and where is None:
            yield from key_rows(snapshot, self._columns, job)
        else:
            both = all_of(part for part in (condition, where) if part is not None)
            positions = np.sort(find(snapshot, both, (), job))
            yield positions, take_rows(snapshot, positions, self._columns)


def of_one_key(cells: Sequence[pa.Scalar], columns: Sequence[Column]) -> Filter | None:
    """What rows meet that hold these values, and no others; None where they first have to be brought into
    another type, or to be told as a condition takes them."""
    if not all(cell.is_valid for cell in cells):
        return any_of([])
    for cell, column in zip(cells, columns, strict=True):
        if cell.type != column.type or kind_of(column.type) not in AS_PYTHON:
            return None
    return all_of(Predicate(c.name, "eq", (cell.as_py(),)) for cell, c in zip(cells, columns, strict=True))


def key_rows(
    snapshot: Snapshot, columns: Sequence[Column], job: Job
) -> Iterator[tuple[np.ndarray, pa.Table]]:  # fmt: skip
    """Positions and values of all live rows, a row group at a time; what is decoded is kept."""
    for piece in pieces(snapshot, 0, snapshot.num_positions):
        job.check()
        chunks = piece.stored(snapshot, columns)
        live = without(np.arange(piece.first, piece.stop), snapshot.deleted)
        yield live, finish(snapshot, piece.first, piece.stop, columns, chunks)


def valid_in_all(columns: Sequence[pa.ChunkedArray]) -> np.ndarray:
    """Which rows hold a null in none of the columns."""
    valid = np.ones(len(columns[0]), bool)
    for column in columns:
        valid &= to_numpy(column.is_valid())
    return valid


def _those(values: pa.ChunkedArray, rows: np.ndarray) -> pa.ChunkedArray:
    """At these rows, which ascend: where they are all, there is nothing to copy."""
    return values if len(rows) == len(values) else take(values, rows)


def _can_be_told(values: pa.ChunkedArray) -> bool:
    """Conditions take no day beyond the years 1 to 9999. None is among nanoseconds, for which there is no
    Python value but pandas'."""
    kind = kind_of(values.type)
    if kind not in (Kind.DATE, Kind.TIMESTAMP) or getattr(values.type, "unit", "") == "ns":
        return True
    extremes = pc.min_max(values)
    return all(isinstance(python_value(extremes[end]), dt.date | None) for end in ("min", "max"))
