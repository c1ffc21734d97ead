"""Rows as Python tuples or objects, and answers of them cut into blocks of columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter, itemgetter
from typing import Any

import numpy as np

from lamella.core.bench.backends.base import Row, Rows
from lamella.core.bench.data import BLOCK_ROWS
from lamella.core.bench.workloads import Values, Workload

Tuples = list[tuple[Any, ...]]


class Record:
    """A row as an object, with an attribute for each column."""

    def __init__(self, row: Row) -> None:
        self.__dict__.update(row)


def names_of(workload: Workload) -> list[str]:
    """Of all columns of a table, the key first."""
    return [*((workload.key,) if workload.key else ()), *workload.data_columns]


def tuples_of(rows: Rows) -> Tuples:
    return [tuple(row.values()) for row in rows]


def tuple_blocks(
    answer: Sequence[Sequence[Any]], held: Sequence[str], names: Sequence[str]
) -> Iterator[Sequence[Values]]:
    """`held` are the columns of the table; an answer of fewer holds just those asked for."""
    for part in _parts(answer):
        columns = list(zip(*part, strict=True))
        here = held if len(columns) == len(held) else names
        yield [np.array(columns[here.index(name)]) for name in names]


def dict_blocks(answer: Sequence[Mapping[str, Any]], names: Sequence[str]) -> Iterator[Sequence[Values]]:
    for part in _parts(answer):
        yield [np.array(list(map(itemgetter(name), part))) for name in names]


def object_blocks(answer: Sequence[Any], names: Sequence[str]) -> Iterator[Sequence[Values]]:
    for part in _parts(answer):
        yield [np.array(list(map(attrgetter(name), part))) for name in names]


def _parts(answer: Sequence[Any]) -> Iterator[Sequence[Any]]:
    for start in range(0, len(answer), BLOCK_ROWS):
        yield answer[start : start + BLOCK_ROWS]
