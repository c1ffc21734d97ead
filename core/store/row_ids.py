"""Which rows a change is about: those a filter chooses, or those named by `_id`."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from lamella.core.arrays import to_numpy
from lamella.core.casts import exact_cast
from lamella.core.errors import BadData, UnknownRow, shown
from lamella.core.filters.expr import Filter
from lamella.core.jobs import Job
from lamella.core.query.local import find
from lamella.core.scan.rows import live_positions, take_rows
from lamella.core.schema import ID
from lamella.core.store.ids import ID_COLUMN
from lamella.core.store.state import State

Where = Filter | Sequence[int] | None
"""A condition, `_id`s, or None for all rows."""


def chosen_ids(state: State, where: Where) -> np.ndarray:
    """Ids of the live rows that `where` chooses, ascending. Raises like `known_ids`."""
    if where is None or isinstance(where, Filter):
        return ids_at(state, _positions(state, where))
    return known_ids(state, where)


def ids_at(state: State, positions: np.ndarray) -> np.ndarray:
    found = state.ranges.at(state.snapshot, positions)
    return to_numpy(take_rows(state.snapshot, positions, [ID_COLUMN]).column(0)) if found is None else found


def known_ids(state: State, ids: Iterable[int]) -> np.ndarray:
    """`ids`, ascending and each once; raises `UnknownRow` naming the first that is not in the table."""
    given = ids_of(state, list(ids))
    refuse_unknown(state, given)
    ascending = np.sort(given)
    return ascending[np.append(True, ascending[1:] != ascending[:-1])] if len(given) else given


def refuse_unknown(state: State, ids: np.ndarray) -> None:
    lost = ids[state.locate(ids) < 0]
    if len(lost):
        raise UnknownRow(
            f"{state.snapshot.name} has no row with {ID} {lost[0]}",
            fix="It may have been deleted; read the table again",
        )


def refuse_duplicates(name: str, ids: np.ndarray) -> None:
    """`ids` are ascending."""
    twice = ids[1:][ids[1:] == ids[:-1]]
    if len(twice):
        raise BadData(
            f"{name}: two of the rows given are for the same row ({ID} {twice[0]})", fix="Give each row once"
        )


def ids_of(state: State, given: Sequence[Any]) -> np.ndarray:
    """In the order given; raises `BadData` naming the first that is no whole number of 64 bits."""
    found = None if bool in set(map(type, given)) else _as_ids(given)
    if found is not None:
        return found
    raise _no_id(state, next(value for value in given if not _is_id(value)))


def _no_id(state: State, bad: Any) -> BadData:
    return BadData(
        f"{state.snapshot.name}: {shown(bad)} is no {ID}",
        f"every {ID} has to be a whole number of at most 64 bits",
        f"Give those that the table's column {ID} has",
    )


def _as_ids(given: Sequence[Any]) -> np.ndarray | None:
    try:
        return np.fromiter(map(operator.index, given), np.int64, len(given))
    except (TypeError, OverflowError):
        return None


def _is_id(value: Any) -> bool:
    try:
        return not isinstance(value, bool) and -(2**63) <= operator.index(value) < 2**63
    except TypeError:
        return False


def ids_given(state: State, column: pa.ChunkedArray) -> np.ndarray:
    """The `_id`s that rows brought along; raises `BadData` where one is no whole number."""
    given = exact_cast(column, pa.int64()) if pa.types.is_integer(column.type) else None
    if given is None or given.null_count:
        raise _no_id(state, next((value for value in column.to_pylist() if not _is_id(value)), None))
    return to_numpy(given)


def _positions(state: State, where: Filter | None) -> np.ndarray:
    if where is None:
        return live_positions(state.snapshot, np.arange(state.snapshot.num_rows))
    return find(state.snapshot, where, (), Job())
