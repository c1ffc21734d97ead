"""Whether indexes serve a query, and the rows they find for it.

A filter is served from the leaves up: a condition on an indexed column names the rows that meet it, an And
takes those that name few and looks at these rows for the rest, an Or needs all of its parts. Where too many
rows are named, looking at all of them costs less, and nothing is served.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial, reduce

import numpy as np

from lamella.core.ascending import EMPTY, among, union, without
from lamella.core.filters.binding import Bound, bind_to
from lamella.core.filters.expr import And, Branch, Filter, Or, Predicate
from lamella.core.filters.walk import fold
from lamella.core.index.candidates import Candidates, candidates, index_name, meeting, most_served
from lamella.core.index.file_index import FileIndex, file_indexes, indexed_column
from lamella.core.index.sorting import first_rows, in_sort_order, key_columns
from lamella.core.query.query import SortKey
from lamella.core.scan.snapshot import Column, Snapshot

MUCH_MORE = 16
"""An And leaves out a part that names so many times the rows of another: they are looked at instead."""


@dataclass(frozen=True, eq=False)
class Served:
    """Live positions, in the order asked for; `looked_at` are those whose values had to be compared."""

    positions: np.ndarray
    index: str
    looked_at: np.ndarray


def serve(
    snapshot: Snapshot, where: Filter | None, keys: Sequence[SortKey] = (), first: int | None = None
) -> Served | None:
    """The rows that meet `where`, ascending or in the order of the keys; None where no index helps.

    `first` asks for so many rows at least.
    """
    if snapshot.indexes is None or not snapshot.indexes.any_sorted:
        return None
    early = _first_in_order(snapshot, where, keys, first)
    if early is not None or where is None:
        return early
    columns = key_columns(snapshot, keys)
    named = None if columns is None else _candidates(snapshot, where)
    if columns is None or named is None or named.rows > most_served(snapshot):
        return None
    positions = without(named.positions(), snapshot.deleted)
    looked_at = positions if named.rest else EMPTY
    if named.rest and len(positions):
        positions = positions[meeting(snapshot, positions, And(named.rest))]
    used = ", ".join(dict.fromkeys(named.indexes))
    return Served(in_sort_order(snapshot, positions, keys, columns), used, looked_at)


def _first_in_order(
    snapshot: Snapshot, where: Filter | None, keys: Sequence[SortKey], first: int | None
) -> Served | None:
    """The first rows of all, or of a range of the column that is sorted by: no others are looked at."""
    column = indexed_column(snapshot, keys[0].column) if keys else None
    if column is None or first is None:
        return None
    bound = None if where is None else bind_to(where, snapshot.types, snapshot.name)
    if bound is not None and not (isinstance(bound, Bound) and bound.column == column.name):
        return None
    found = first_rows(snapshot, keys, first, bound)
    return None if found is None else Served(found, index_name(column), found)


def _candidates(snapshot: Snapshot, where: Filter) -> Candidates | None:
    bound, held = bind_to(where, snapshot.types, snapshot.name), dict[int, list[FileIndex]]()

    def held_by(column: Column) -> list[FileIndex]:
        """Each file is looked for once."""
        if column.key not in held:
            held[column.key] = file_indexes(snapshot, column)
        return held[column.key]

    def leaf(condition: Predicate) -> Candidates | None:
        return candidates(snapshot, condition, held_by) if isinstance(condition, Bound) else None

    def branch(node: Branch, parts: list[Candidates | None]) -> Candidates | None:
        if isinstance(node, And):
            return _all_of(node, parts)
        return _any_of(node, parts) if isinstance(node, Or) else None

    return fold(bound, leaf, branch)


def _all_of(node: Branch, parts: Sequence[Candidates | None]) -> Candidates | None:
    """The part that names the fewest rows, with those that do not name many more."""
    served = [part for part in parts if part is not None]
    if not served:
        return None
    fewest = min(part.rows for part in served)
    used = [part for part in served if part.rows <= MUCH_MORE * fewest]
    left = [
        condition
        for condition, part in zip(node.children, parts, strict=True)
        if part is None or part.rows > MUCH_MORE * fewest
    ]
    return Candidates(
        fewest,
        partial(_common, used),
        tuple(name for part in used for name in part.indexes),
        (*(condition for part in used for condition in part.rest), *left),
    )


def _any_of(node: Branch, parts: Sequence[Candidates | None]) -> Candidates | None:
    served = [part for part in parts if part is not None]
    if len(served) < len(parts):
        return None
    return Candidates(
        sum(part.rows for part in served),
        partial(_together, served),
        tuple(name for part in served for name in part.indexes),
        (node,) if any(part.rest for part in served) else (),
    )


def _common(parts: Sequence[Candidates]) -> np.ndarray:
    found = sorted((part.positions() for part in parts), key=len)
    return reduce(lambda few, more: few[among(few, more)], found)


def _together(parts: Sequence[Candidates]) -> np.ndarray:
    return union(*(part.positions() for part in parts))
