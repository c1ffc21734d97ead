"""Follows relations: finds the rows of one table that are related to rows of another."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lamella.core.arrow.arrays import from_numpy, take, to_numpy
from lamella.core.arrow.nested_values import python_value
from lamella.core.arrow.sorted_ids import EMPTY, distinct, without
from lamella.core.arrow.types import ID
from lamella.core.errors import BadData, StoreProblem, UnknownTable
from lamella.core.filters.condition import in_condition
from lamella.core.filters.expr import Filter, Predicate, all_of, any_of
from lamella.core.filters.kinds import Kind, kind_of
from lamella.core.filters.operators import OPERATORS
from lamella.core.jobs import Job
from lamella.core.query.find import find_rows
from lamella.core.query.source import VersionOrTime
from lamella.core.relations.relation import Link, cast_keys, meeting_type
from lamella.core.scan.read import cells_at, finish, pieces, take_rows
from lamella.core.scan.row_ids import IdentifiedRows, ids_at, ids_of, refuse_unknown
from lamella.core.scan.snapshot import Column, Snapshot
from lamella.core.scan.take import KeyCodes

MOST_KEYS = 1_000
"""Up to this many keys are looked up by a condition, which may use an index; for more, every row is read."""
AS_PYTHON = (Kind.INTEGER, Kind.TEXT)
"""Whole numbers and texts are equal where their Python values are."""


@dataclass(frozen=True, eq=False)
class KeyMatches:
    """Ascending positions of rows that have one of the keys, and for each the number of the first such
    key."""

    positions: np.ndarray
    keys: np.ndarray


class Keys:
    """Rows of key values, numbered in the order given. A row with a null has no key."""

    def __init__(self, values: Sequence[pa.ChunkedArray], columns: Sequence[Column]) -> None:
        """`columns` are the columns in which to look for the keys; `meeting_type` must accept their types."""
        self._columns = tuple(columns)
        types = [meeting_type(v.type, c.type) for v, c in zip(values, columns, strict=True)]
        self._kinds = [kind for kind in types if kind is not None]
        arrays = [cast_keys(v, kind) for v, kind in zip(values, self._kinds, strict=True)]
        rows = np.flatnonzero(valid_rows(arrays))
        self.first = np.full(len(values[0]), -1, np.int64)
        """For each row, the number of the first row with an equal key; -1 if the row holds a null."""
        self.first[rows] = rows[KeyCodes([_take_rows(value, rows) for value in arrays]).first]
        self._rows = np.flatnonzero(self.first == np.arange(len(self.first)))
        self._values = [_take_rows(value, self._rows) for value in arrays]

    @cached_property
    def _codes(self) -> KeyCodes:
        return KeyCodes(self._values)

    def match(self, columns: Sequence[pa.ChunkedArray]) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows that have one of the keys, and for each the number of the first such key."""
        same = [cast_keys(values, kind) for values, kind in zip(columns, self._kinds, strict=True)]
        rows, numbers = self._codes.match(same)
        return rows, self._rows[numbers]

    def condition(self) -> Filter | None:
        """Return a condition that every row with one of the keys meets, and perhaps others; None if it would
        be too long."""
        if len(self._rows) > MOST_KEYS or not all(OPERATORS["eq"].fits(c.type) for c in self._columns):
            return None
        if not all(map(_fits_conditions, self._values)):
            return None
        return all_of(
            in_condition(c.name, c.type, v) for c, v in zip(self._columns, self._values, strict=True)
        )

    def matching(self, snapshot: Snapshot, where: Filter | None, job: Job) -> KeyMatches:
        """Return the live rows of `snapshot` that have one of the keys in the columns and meet `where`."""
        positions, numbers = [EMPTY], [EMPTY]
        for at, rows in self._candidates(snapshot, where, job) if len(self._rows) else ():
            matches, keys = self.match(rows.columns)
            positions.append(at[matches])
            numbers.append(keys)
        return KeyMatches(np.concatenate(positions), np.concatenate(numbers))

    def _candidates(
        self, snapshot: Snapshot, where: Filter | None, job: Job
    ) -> Iterator[tuple[np.ndarray, pa.Table]]:
        condition = self.condition()
        if condition is None and where is None:
            yield from key_rows(snapshot, self._columns, job)
        else:
            both = all_of(part for part in (condition, where) if part is not None)
            positions = np.sort(find_rows(snapshot, both, (), job))
            yield positions, take_rows(snapshot, positions, self._columns)


def of_one_key(cells: Sequence[pa.Scalar], columns: Sequence[Column]) -> Filter | None:
    """Return the condition that exactly the rows with these values meet; None if the values need a
    conversion first."""
    if not all(cell.is_valid for cell in cells):
        return any_of([])
    for cell, column in zip(cells, columns, strict=True):
        if cell.type != column.type or kind_of(column.type) not in AS_PYTHON:
            return None
    return all_of(Predicate(c.name, "eq", (cell.as_py(),)) for cell, c in zip(cells, columns, strict=True))


def key_rows(
    snapshot: Snapshot, columns: Sequence[Column], job: Job
) -> Iterator[tuple[np.ndarray, pa.Table]]:  # fmt: skip
    """Yield the positions and values of all live rows, one row group at a time; decoded columns are
    cached."""
    for piece in pieces(snapshot, 0, snapshot.num_positions):
        job.check()
        chunks = piece.stored_chunks(snapshot, columns)
        live = without(np.arange(piece.first, piece.stop), snapshot.deleted_positions)
        yield live, finish(snapshot, piece.first, piece.stop, columns, chunks)


def valid_rows(columns: Sequence[pa.ChunkedArray]) -> np.ndarray:
    """Return a mask of the rows that hold no null in any of the columns."""
    valid = np.ones(len(columns[0]), bool)
    for column in columns:
        valid &= to_numpy(column.is_valid())
    return valid


def _take_rows(values: pa.ChunkedArray, rows: np.ndarray) -> pa.ChunkedArray:
    """Return the values at these ascending rows, without a copy if they are all rows."""
    return values if len(rows) == len(values) else take(values, rows)


def _fits_conditions(values: pa.ChunkedArray) -> bool:
    """Return whether all values are within the years 1 to 9999, as conditions require. Nanoseconds always
    are; they have no Python value except in pandas."""
    kind = kind_of(values.type)
    if kind not in (Kind.DATE, Kind.TIMESTAMP) or getattr(values.type, "unit", "") == "ns":
        return True
    extremes = pc.min_max(values)
    return all(isinstance(python_value(extremes[end]), dt.date | None) for end in ("min", "max"))


COUNT = "count"


@dataclass(frozen=True, eq=False)
class RowSelection:
    """The rows of a table that meet `where`; only those at the live positions `within`, if given."""

    where: Filter | None = None
    within: np.ndarray | None = None

    def and_meeting(self, where: Filter | None) -> RowSelection:
        both = [each for each in (self.where, where) if each is not None]
        return RowSelection(all_of(both) if both else None, self.within)


def related_rows(
    link: Link, state: IdentifiedRows, row_id: int, far: IdentifiedRows, job: Job
) -> RowSelection:
    """Return the rows of `far` that are related to this row. Raises `UnknownRow`."""
    if link.other_columns != (ID,):
        return RowSelection(condition(link, state, row_id, far, job))
    return of_keys([_key(cell) for cell in _cells(link, state, row_id)], link.other_columns, far, job)


def condition(link: Link, state: IdentifiedRows, row_id: int, far: IdentifiedRows, job: Job) -> Filter:
    """Return the condition that exactly the rows of `far` related to this row meet. Raises `UnknownRow`."""
    cells = _cells(link, state, row_id)
    condition = of_one_key(cells, far.snapshot.select(link.other_columns))
    if condition is not None:
        return condition
    return _condition([_key(cell) for cell in cells], link.other_columns, far, job)


def of_keys(
    values: Sequence[pa.ChunkedArray], names: Sequence[str], far: IdentifiedRows, job: Job
) -> RowSelection:
    """Return the rows of `far` that have one of the keys in the columns with these names."""
    if tuple(names) == (ID,) and pa.types.is_signed_integer(values[0].type):
        ids = to_numpy(values[0].drop_null()).astype(np.int64)
        positions = distinct(far.locate(ids))
        return RowSelection(within=positions[positions >= 0])
    return RowSelection(_condition(values, names, far, job))


def _condition(
    values: Sequence[pa.ChunkedArray], names: Sequence[str], far: IdentifiedRows, job: Job
) -> Filter:
    keys = Keys(values, far.snapshot.select(names))
    if keys.first.max(initial=-1) < 0:
        return any_of([])
    condition = keys.condition()
    if condition is not None and (len(names) == 1 or len(values[0]) == 1):
        return condition
    positions = keys.matching(far.snapshot, None, job).positions
    return Predicate(ID, "in", tuple(ids_at(far, positions).tolist()))


def _keys_of(link: Link, state: IdentifiedRows, ids: np.ndarray) -> list[pa.ChunkedArray]:
    if link.columns == (ID,):
        return [pa.chunked_array([from_numpy(ids)])]
    columns = state.snapshot.select(link.columns)
    return take_rows(state.snapshot, state.locate(ids), columns).columns  # type: ignore[no-any-return]


def _cells(link: Link, state: IdentifiedRows, row_id: int) -> list[pa.Scalar]:
    ids = ids_of(state, [row_id])
    position = int(state.locate(ids)[0])
    if position < 0:
        refuse_unknown(state, ids)
    return cells_at(state.snapshot, position, state.snapshot.select(link.columns))


def _key(cell: pa.Scalar) -> pa.ChunkedArray:
    return pa.chunked_array([pa.repeat(cell, 1)])


def counts(
    link: Link, state: IdentifiedRows, row_ids: Sequence[int], far: Snapshot, where: Filter | None, job: Job
) -> pa.Table:
    """Return how many rows of `far` are related to each of these rows, in the order given."""
    ids = ids_of(state, row_ids)
    refuse_unknown(state, ids)
    keys = Keys(_keys_of(link, state, ids), far.select(link.other_columns))
    counts = np.bincount(keys.matching(far, where, job).keys, minlength=len(ids))
    each = np.where(keys.first < 0, 0, counts[keys.first]) if len(ids) else counts
    return pa.Table.from_arrays([from_numpy(ids), from_numpy(each.astype(np.int64))], [ID, COUNT])


AsOf = VersionOrTime | Mapping[str, VersionOrTime]
"""A time, a version name that both tables have, or a version for each table by its name."""


def versions(link: Link, as_of: AsOf | None) -> tuple[VersionOrTime | None, VersionOrTime | None]:
    """Return the versions of the table and of the other one; None means the newest.

    Raises `BadData` for one version number given for two tables.
    """
    if isinstance(as_of, Mapping):
        for name in as_of:
            if name not in (link.table, link.other):
                raise UnknownTable(
                    str(name), f"the relation '{link.relation.name}'", [link.table, link.other]
                )
        return as_of.get(link.table), as_of.get(link.other)
    if as_of is None or isinstance(as_of, str | dt.datetime) or link.table == link.other:
        return as_of, as_of
    raise BadData(
        f"{link.table} and {link.other} have no version {as_of!r} in common",
        "Each table numbers its own versions",
        f"Give a time, or a version of each: as_of={{'{link.table}': {as_of!r}, '{link.other}': …}}",
    )


def link_at(link: Link, pair: tuple[Snapshot, Snapshot], far: tuple[Snapshot, Snapshot]) -> Link:
    """Return the link with the columns' former names. Each pair is a table's snapshot now and then."""
    return replace(
        link,
        columns=_current_names(link, link.columns, *pair),
        other_columns=_current_names(link, link.other_columns, *far),
    )


def _current_names(link: Link, names: Sequence[str], now: Snapshot, then: Snapshot) -> tuple[str, ...]:
    if now is then:
        return tuple(names)
    names_then = {column.key: column.name for column in then.columns}
    keys = {name: now.column(name).key for name in names}
    for name, key in keys.items():
        if key not in names_then:
            raise StoreProblem(
                f"the relation '{link.relation.name}' cannot be followed in that version of {now.name}",
                f"the column '{name}' was added or cast later",
                "Name a later version, or join by columns that exist in it: table.as_of(…).join(…)",
            )
    return tuple(names_then[keys[name]] for name in names)
