"""The one table of acts on a table's rows and columns; the Change dialog shows it.

An act is plain data. It says what it would do, and does it in one commit:

    act = Update({"$compute": {"price": "price * 1.19"}})
    act.effect(table, where="stock > 0").changed
    act.apply(table, where="stock > 0")
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from lamella.core.arrow.from_python import repeatable
from lamella.core.arrow.nested_values import is_list
from lamella.core.arrow.types import TypeName, type_named
from lamella.core.datasets.text.conversions import conversion
from lamella.core.datasets.text.regional import DAY_FIRST, MONTH_FIRST
from lamella.core.errors import BadData
from lamella.core.filters.condition import Condition, row_selection
from lamella.core.filters.kinds import NESTED_KINDS, NUMBERS, kind_of
from lamella.core.jobs import Job
from lamella.core.store.commit import Commit
from lamella.core.store.effects import (
    Effect,
    cast_effect,
    delete_effect,
    duplicates_effect,
    has_conflicts,
    made_columns_effect,
    rename_effect,
    update_effect,
    upsert_effect,
)
from lamella.core.store.evolution import DAYS, Cast, Notation
from lamella.core.store.operators import OPERATORS, Operators
from lamella.core.store.operators.cleaning import CASES, SIDES
from lamella.core.store.operators.rows import SOURCES
from lamella.core.store.row_lookup import RowSelection, duplicate_ids
from lamella.core.store.split_merge import Merge as MergeColumns
from lamella.core.store.split_merge import Split as SplitColumn
from lamella.core.store.table import Table
from lamella.core.store.table_version import TableVersion

RowChoice = Condition | Iterable[int] | None
"""A filter, ids, or None for all rows."""


class Act(Protocol):
    """`effect` computes exactly what would happen, or with `most` only what would happen to the first `most`
    rows, which is quick; `apply` does it. Both raise `LamellaError` if the act does not fit the table."""

    def effect(
        self, table: Table, where: RowChoice = None, job: Job | None = None, most: int | None = None
    ) -> Effect: ...

    def apply(
        self, table: Table, where: RowChoice = None, message: str = "", job: Job | None = None
    ) -> Commit: ...


def _choose_rows(table: Table, where: RowChoice) -> tuple[TableVersion, RowSelection]:
    return table._state(), row_selection(where, f"{table.name}: where", table)


@dataclass(frozen=True)
class Update:
    """Apply update operators, see `Table.update_where`."""

    operators: Operators

    def effect(
        self, table: Table, where: RowChoice = None, job: Job | None = None, most: int | None = None
    ) -> Effect:
        state, selection = _choose_rows(table, where)
        return update_effect(state, self.operators, selection, job or Job(), most)

    def apply(
        self, table: Table, where: RowChoice = None, message: str = "", job: Job | None = None
    ) -> Commit:
        return table.update_where(where, self.operators, message, job)


BY_VALUES = "by values"
_ORDERS = (DAY_FIRST, MONTH_FIRST)


@dataclass(frozen=True)
class CastColumn:
    """See `Columns.cast`. Always applies to all rows, because a column has one type. `dates` may also be
    `BY_VALUES`: a value beyond 12 anywhere in the column decides whether the day or the month comes first."""

    column: str
    type: TypeName
    lossy: bool = False
    on_error: Literal["refuse", "null"] = "refuse"
    decimal: str = "."
    thousands: str = ""
    dates: str = "iso"

    def effect(
        self, table: Table, where: RowChoice = None, job: Job | None = None, most: int | None = None
    ) -> Effect:
        _refuse_rows(table, where, "a column has one type")
        notation = Notation(self.decimal, self.thousands, self._order(table, job or Job()))
        how = Cast(type_named(self.type), self.lossy, self.on_error == "null", notation)
        return cast_effect(table._state(), self.column, how, job or Job())

    def apply(
        self, table: Table, where: RowChoice = None, message: str = "", job: Job | None = None
    ) -> Commit:
        _refuse_rows(table, where, "a column has one type")
        return table.columns.cast(
            self.column,
            self.type,
            self.lossy,
            self.on_error,
            message,
            job,
            decimal=self.decimal,
            thousands=self.thousands,
            dates=self._order(table, job or Job()),
        )

    def _order(self, table: Table, job: Job) -> str:
        """The order of day and month. Raises `BadData` if no value shows it."""
        if self.dates != BY_VALUES:
            return self.dates
        if not pa.types.is_temporal(type_named(self.type)):
            return "iso"
        texts = (pc.cast(batch.column(0), pa.string()) for batch in table.batches([self.column], job=job))
        way = conversion(texts, "dates")
        if way.other is not None:
            raise BadData(
                f"{table.name}: no value of '{self.column}' shows whether the day or the month is first",
                way.doubt,
                "Choose which of them is first",
            )
        return way.kind.spelling.order.replace("-", " ") if way.kind.spelling.order in _ORDERS else "iso"


def _refuse_rows(table: Table, where: RowChoice, why: str) -> None:
    if where is not None:
        raise BadData(f"{table.name}: this applies to all rows", why, "Leave where= out")


@dataclass(frozen=True)
class Split:
    """See `Columns.split`."""

    column: str
    into: Sequence[str]
    by: str = " "
    regex: bool = False
    keep: bool = True

    def effect(
        self, table: Table, where: RowChoice = None, job: Job | None = None, most: int | None = None
    ) -> Effect:
        state, selection = _choose_rows(table, where)
        act = SplitColumn(self.column, tuple(self.into), self.by, self.regex, self.keep)
        return made_columns_effect(state, act, selection, job or Job(), most)

    def apply(
        self, table: Table, where: RowChoice = None, message: str = "", job: Job | None = None
    ) -> Commit:
        return table.columns.split(
            self.column, self.into, self.by, self.regex, self.keep, where, message, job
        )


@dataclass(frozen=True)
class Merge:
    """See `Columns.merge`."""

    columns: Sequence[str]
    into: str
    between: str = " "
    keep: bool = True

    def effect(
        self, table: Table, where: RowChoice = None, job: Job | None = None, most: int | None = None
    ) -> Effect:
        state, selection = _choose_rows(table, where)
        act = MergeColumns(tuple(self.columns), self.into, self.between, self.keep)
        return made_columns_effect(state, act, selection, job or Job(), most)

    def apply(
        self, table: Table, where: RowChoice = None, message: str = "", job: Job | None = None
    ) -> Commit:
        return table.columns.merge(self.columns, self.into, self.between, self.keep, where, message, job)


@dataclass(frozen=True)
class Rename:
    """See `Columns.rename`."""

    names: Mapping[str, str]

    def effect(
        self, table: Table, where: RowChoice = None, job: Job | None = None, most: int | None = None
    ) -> Effect:
        _refuse_rows(table, where, "a column has one name")
        return rename_effect(table._state(), self.names)

    def apply(
        self, table: Table, where: RowChoice = None, message: str = "", job: Job | None = None
    ) -> Commit:
        _refuse_rows(table, where, "a column has one name")
        return table.columns.rename(self.names, message=message)


@dataclass(frozen=True)
class DropDuplicates:
    """See `Table.drop_duplicates`."""

    on: Sequence[str] | None = None
    keep: str = "first"

    def effect(
        self, table: Table, where: RowChoice = None, job: Job | None = None, most: int | None = None
    ) -> Effect:
        (state, selection), own, started = _choose_rows(table, where), job or Job(), time.perf_counter()
        gone = duplicate_ids(state, self.on, self.keep, own, selection)
        return duplicates_effect(state, gone, self.on or (), selection, own, time.perf_counter() - started)

    def apply(
        self, table: Table, where: RowChoice = None, message: str = "", job: Job | None = None
    ) -> Commit:
        return table.drop_duplicates(self.on, self.keep, message, job, where=where)


@dataclass(frozen=True)
class Delete:
    """See `Table.delete`; without `where`, it deletes all rows."""

    def effect(
        self, table: Table, where: RowChoice = None, job: Job | None = None, most: int | None = None
    ) -> Effect:
        return delete_effect(*_choose_rows(table, where), job or Job())

    def apply(
        self, table: Table, where: RowChoice = None, message: str = "", job: Job | None = None
    ) -> Commit:
        selection = row_selection(where, f"{table.name}: where", table)
        if isinstance(selection, list):
            return table.delete(ids=selection, message=message, job=job)
        return table.delete(where="_id >= 0" if selection is None else selection, message=message, job=job)


@dataclass(frozen=True)
class Upsert:
    """See `Table.upsert`. `data` is anything that `insert` takes, or a function that returns it anew each
    time, such as one that reads a file. With `keep` "refuse", identical rows of one key count once."""

    data: Any
    on: Sequence[str]
    keep: Literal["refuse", "first", "last"] = "refuse"

    def effect(
        self, table: Table, where: RowChoice = None, job: Job | None = None, most: int | None = None
    ) -> Effect:
        _refuse_rows(table, where, "the keys say which rows change")
        return upsert_effect(table._state(), self._rows(), list(self.on), self.keep, job or Job())

    def apply(
        self, table: Table, where: RowChoice = None, message: str = "", job: Job | None = None
    ) -> Commit:
        _refuse_rows(table, where, "the keys say which rows change")
        rows, on, keep = self._rows(), list(self.on), self.keep
        if keep == "refuse" and on and not has_conflicts(table.name, rows, on):
            keep = "first"
        return table.upsert(rows, on, message=message, job=job, keep=keep)

    def _rows(self) -> Any:
        """The data in a form that can be iterated more than once."""
        data = repeatable(self.data() if callable(self.data) else self.data)
        return data.read_all() if isinstance(data, pa.RecordBatchReader) else data


# ------------------------------------------------------------------------------ the tables

FieldKind = Literal[
    "value", "item", "expression", "number", "digits", "choice", "json", "replacement", "column", "nothing"
]


def _identity(operand: Any) -> Any:
    return operand


@dataclass(frozen=True)
class Assignment:
    """How one column is set: an update operator with its label, the kind of input it needs (`asks`), and the
    operand made from that input. `hint` is an example of input."""

    id: str
    label: str
    operator: str
    asks: FieldKind
    hint: str = ""
    choices: Callable[[pa.DataType], Sequence[str]] = lambda _kind: ()
    operand: Callable[[Any], Any] = _identity

    def fits(self, kind: pa.DataType) -> bool:
        if self.id == "fill" and kind_of(kind) in NESTED_KINDS:
            return False
        return OPERATORS[self.operator].fits(kind)

    def type_of_answer(self, kind: pa.DataType) -> pa.DataType:
        """The type of a value, or of an item, to give to a column of this type."""
        return kind.value_type if self.asks == "item" and is_list(kind) else kind


def _sources(kind: pa.DataType) -> Sequence[str]:
    if kind_of(kind) in NESTED_KINDS:
        return ("above", "below")
    numeric = kind_of(kind) in NUMBERS
    return [source for source in SOURCES if numeric or source not in ("mean", "median")]


ASSIGNMENTS = (
    Assignment("set", "= value", "$set", "value"),
    Assignment("compute", "= expression", "$compute", "expression", "price * 1.19"),
    Assignment("clear", "= null", "$unset", "nothing", operand=lambda _: ""),
    Assignment("now", "= now", "$currentDate", "nothing", operand=lambda _: True),
    Assignment("add", "+ add", "$inc", "number", "5"),
    Assignment("multiply", "× multiply by", "$mul", "number", "1.19"),
    Assignment("at_most", "at most", "$min", "value"),
    Assignment("at_least", "at least", "$max", "value"),
    Assignment("round", "round to digits", "$round", "digits", "2, or -3 for thousands"),
    Assignment("replace", "find and replace", "$replace", "replacement"),
    Assignment("trim", "trim spaces", "$trim", "choice", choices=lambda _: SIDES),
    Assignment("case", "change case", "$case", "choice", choices=lambda _: CASES),
    Assignment("fill", "fill nulls with", "$fill", "value", operand=lambda value: {"value": value}),
    Assignment(
        "fill_from",
        "fill nulls from",
        "$fill",
        "choice",
        choices=_sources,
        operand=lambda source: {"from": source},
    ),
    Assignment("bits", "change bits", "$bit", "json", '{"and": 12}'),
    Assignment("push", "add an item", "$push", "item"),
    Assignment("add_to_set", "add an item if missing", "$addToSet", "item"),
    Assignment("pull", "remove an item", "$pull", "item"),
    Assignment("pull_all", "remove items", "$pullAll", "json", '["a", "b"]'),
    Assignment(
        "pop",
        "remove at the end",
        "$pop",
        "choice",
        choices=lambda _: ("last", "first"),
        operand=lambda end: 1 if end == "last" else -1,
    ),
    Assignment("move", "move values to", "$rename", "column"),
)
ASSIGNMENT_BY_ID = {assignment.id: assignment for assignment in ASSIGNMENTS}


def assignments_for(kind: pa.DataType, inside: bool = False) -> list[Assignment]:
    """The assignments that fit a column of this type, or a field of this type `inside` a struct."""
    return [
        assignment
        for assignment in ASSIGNMENTS
        if assignment.fits(kind) and not (inside and assignment.id == "fill_from")
    ]


def update_of(lines: Sequence[tuple[str, Assignment, Any]]) -> Update:
    """Build an update from lines of column, assignment and input. Raises `BadData` for a column in two
    lines."""
    operators: dict[str, dict[str, Any]] = {}
    names = set()
    for column, assignment, answer in lines:
        if column in names:
            raise BadData(f"column '{column}' is changed twice", "the result would depend on their order")
        names.add(column)
        operators.setdefault(assignment.operator, {})[column] = assignment.operand(answer)
    return Update(operators)


@dataclass(frozen=True)
class Kind:
    """A kind of act, as it is offered. `some_rows`: whether it can apply to selected rows. `verb` begins the
    label of the button, "Change 12 rows"."""

    id: str
    label: str
    act: type[Any]
    verb: str
    some_rows: bool = True


KINDS = (
    Kind("update", "Set values", Update, "Change"),
    Kind("cast", "Change the type of a column", CastColumn, "Change", some_rows=False),
    Kind("split", "Split a column", Split, "Split"),
    Kind("merge", "Merge columns", Merge, "Merge"),
    Kind("rename", "Rename columns", Rename, "Rename", some_rows=False),
    Kind("drop_duplicates", "Drop duplicates", DropDuplicates, "Delete"),
    Kind("delete", "Delete rows", Delete, "Delete"),
    Kind("upsert", "Update and add rows by key", Upsert, "Apply", some_rows=False),
)
READING_CHOICES: Mapping[str, Sequence[str]] = {
    "decimal": (".", ","),
    "thousands": ("", ",", ".", "'", " "),
    "dates": (BY_VALUES, *DAYS),
}
