"""The words of a workload: what is asked, of which rows, and what the right answer is made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[Any]
"""Of one column: int64, or float64 for the data columns of a workload with `floats`."""

Columns = dict[str, Values]
Condition = Callable[[Columns], npt.NDArray[np.bool_]]


@dataclass(frozen=True)
class Pick:
    """Rows scattered over a table by a seed: `count` of them but never over half, or as the size says."""

    name: str
    count: int | None = None


@dataclass(frozen=True)
class Changed:
    """The picked rows have the values of another version of the data, in all or some columns."""

    pick: Pick
    version: int
    columns: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Answer:
    """The right rows: the data's `version`, with what was changed and without what is gone.

    `only` and `where` say which of them are asked for, and `columns` which of their columns.
    """

    version: int = 0
    changed: tuple[Changed, ...] = ()
    gone: Pick | None = None
    only: Pick | None = None
    where: Condition | None = None
    columns: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Operation:
    """One timed thing. `sentence` completes "Lamella … 3 × faster"; `{rows}` is "1,000 rows".

    `resizes` marks those after which the size on disk is news, `holds` those asked for their memory.
    """

    id: str
    title: str
    sentence: str
    about: str
    answer: Answer = Answer()
    resizes: bool = False
    holds: bool = False


class Check(StrEnum):
    """What the answers of a workload are compared with; the value follows "The right answers are"."""

    COMPUTED = "computed from the data"
    BY_DUCKDB = "computed by DuckDB from the same rows"
    AGREED = "known to nobody beforehand: the systems have to agree with the first that answers"

    @property
    def sentence(self) -> str:
        return f"The right answers are {self.value}. A wrong one is a failure and has no time."


@dataclass(frozen=True)
class Workload:
    """`steps` run in order on one database; each step times one operation or several.

    `opens_inside` says whether opening the database is part of each operation's time. `key` is the integer
    column, beside `data_columns`, that tells the rows apart. `table_rows` is the size of the table where a
    workload's sizes count something else: the rows it changes. `needle` puts one row of -1 into the first
    column. `floats` says that the columns hold random numbers from 0 to 1 instead of integers. `small_rows`
    and `published_rows` are the sizes of those scales; `small_repeats` and `small_table_rows` go with the
    first. `asks_only` says that the steps after the first change nothing: where one of them fails, the others
    go on. `options` is what a benchmark of somebody's own data needs besides: plain data, given to every
    child process. `check` is how answers are checked."""

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
        """Raises KeyError for an operation that this workload does not have."""
        return {operation.id: operation for operation in self.operations}[operation_id]

    def has(self, operation_id: str) -> bool:
        return any(operation.id == operation_id for operation in self.operations)

    def size(self, rows: int) -> int:
        """Rows of the table when the workload is asked for `rows`."""
        return self.table_rows or rows

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of the data columns."""
        return np.dtype(np.float64 if self.floats else np.int64)

    def dtype_of(self, column: str) -> np.dtype[Any]:
        """The key is an integer, whatever the data are."""
        return np.dtype(np.int64) if column == self.key else self.dtype

    def at_small_scale(self) -> Workload:
        """The same, on a smaller table where its sizes count the changed rows."""
        return replace(self, table_rows=self.small_table_rows or self.table_rows)
