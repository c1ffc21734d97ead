"""The parts of a workload: operations, the rows that they are about, and the right answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[Any]
"""The values of a column: int64, or float64 for the data columns of a workload with `floats`."""

Columns = dict[str, Values]
Condition = Callable[[Columns], npt.NDArray[np.bool_]]


@dataclass(frozen=True)
class Pick:
    """Rows scattered over a table by a seed: `count` of them, but at most half of all; without a `count`, as
    many as the workload's size."""

    name: str
    count: int | None = None


@dataclass(frozen=True)
class PickChange:
    """A change that gives the picked rows the values of another version of the data, in all or some
    columns."""

    pick: Pick
    version: int
    columns: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Answer:
    """The right answer: rows of a `version` of the data, with the rows in `changes`, and without those in
    `deletion`.

    `only` and `where` restrict the rows, and `columns` the columns.
    """

    version: int = 0
    changes: tuple[PickChange, ...] = ()
    deletion: Pick | None = None
    only: Pick | None = None
    where: Condition | None = None
    columns: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Operation:
    """A timed operation. `sentence` completes "Lamella … 3 × faster"; `{rows}` becomes "1,000 rows".

    `resizes` marks operations that change the size on disk, `holds` those that are measured for memory.
    """

    id: str
    title: str
    sentence: str
    about: str
    answer: Answer = Answer()
    resizes: bool = False
    holds: bool = False


class Check(StrEnum):
    """How the answers of a workload are checked; the value completes "The right answers are"."""

    COMPUTED = "computed from the data"
    BY_DUCKDB = "computed by DuckDB from the same rows"
    AGREED = "not known in advance: the systems have to agree with the first that answers"

    @property
    def sentence(self) -> str:
        return f"The right answers are {self.value}. A wrong answer is a failure and has no time."


@dataclass(frozen=True)
class Workload:
    """A workload. `steps` run in order on one database; each step times one or more operations.

    `opens_inside` is whether opening the database is part of each operation's time. `key` is an integer
    column, in addition to `data_columns`, that identifies rows. `table_rows` is the size of the table if the
    workload's sizes count something else: the rows that it changes. `needle` puts one value of -1 into the
    first column. `floats` means that the columns have random numbers from 0 to 1 instead of integers.
    `small_rows` and `published_rows` are the sizes of these scales; `small_repeats` and `small_table_rows`
    belong to the small scale. `asks_only` means that the steps after the first change nothing: if one of them
    fails, the others continue. `options` is plain data that a benchmark of the user's own data needs, and is
    passed to every child process. `check` is how answers are checked."""

    id: str
    title: str
    about: str
    steps: tuple[str, ...]
    operations: tuple[Operation, ...]
    default_rows: tuple[int, ...]
    default_repeats: int
    opens_inside: bool = False
    family: str = "table"
    data_columns: tuple[str, ...] = ()
    key: str | None = None
    checked_columns: tuple[str, ...] = ()
    table_rows: int | None = None
    needle: bool = False
    floats: bool = False
    small_rows: tuple[int, ...] = (1_000,)
    small_repeats: int = 1
    small_table_rows: int | None = None
    published_rows: tuple[int, ...] = ()
    asks_only: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)
    check: Check = Check.COMPUTED

    def operation(self, operation_id: str) -> Operation:
        """Raises `KeyError` for an operation that this workload does not have."""
        return {operation.id: operation for operation in self.operations}[operation_id]

    def has(self, operation_id: str) -> bool:
        return any(operation.id == operation_id for operation in self.operations)

    def size(self, rows: int) -> int:
        """Return the number of rows of the table if the workload's size is `rows`."""
        return self.table_rows or rows

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the data columns."""
        return np.dtype(np.float64 if self.floats else np.int64)

    def dtype_of(self, column: str) -> np.dtype[Any]:
        """Return the type of a column; the key is always an integer."""
        return np.dtype(np.int64) if column == self.key else self.dtype

    def at_small_scale(self) -> Workload:
        """Return the workload for the small scale, with a smaller table if its sizes count changed rows."""
        return replace(self, table_rows=self.small_table_rows or self.table_rows)
