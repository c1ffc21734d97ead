"""The one table of update operators, the assignments made from them, and how these are applied."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from lamella.core.arrow.arrays import take, to_numpy
from lamella.core.arrow.types import ID, REST
from lamella.core.errors import BadData, UnknownColumn, UnknownName, short_text
from lamella.core.query.expressions import columns_in
from lamella.core.scan.snapshot import Column
from lamella.core.store.operators import arithmetic, cleaning, texts
from lamella.core.store.operators import arithmetic as bounds
from lamella.core.store.operators import arithmetic as moments
from lamella.core.store.operators import lists as list_edits
from lamella.core.store.operators import rows as row_context
from lamella.core.store.operators.inside import Compute, change_at, has_place, value_in
from lamella.core.store.operators.rows import Computation, Filling, RowContext
from lamella.core.store.operators.values import Refusal, array_of, choose, nulls, repeat_value, to_stored_type
from lamella.core.validation import text_of

ComputeColumn = Callable[[pa.Array, Any], pa.Array]
ComputeOfRows = Callable[[pa.Array, Any, RowContext, str], pa.Array]


@dataclass(frozen=True)
class Operator:
    """An update operator. `read` parses the operand, `compute` makes new values from the old ones; both may
    refuse.

    `wants` describes the types it fits; a column of type null fits always. `verb` begins the sentence in the
    history. `creates`: it can add columns. `moves`: the operand is a name. `of_rows` replaces `compute` for
    operators that need the rows' other values, or the rest of the named column.
    """

    name: str
    verb: str
    wants: str
    fits: Callable[[pa.DataType], bool]
    read: Callable[[Any], Any]
    compute: ComputeColumn
    creates: bool = False
    moves: bool = False
    only_on_insert: bool = False
    of_rows: ComputeOfRows | None = None


def _anything(_kind: pa.DataType) -> bool:
    return True


def _assign(values: pa.Array, value: pa.Array) -> pa.Array:
    return repeat_value(value, len(values))


def _as_value(operand: Any) -> pa.Array:
    return array_of([operand])


def _clear(values: pa.Array, _operand: object) -> pa.Array:
    return nulls(len(values))


def _name(operand: Any) -> Any:
    return operand


_NUMBER = ("numbers", arithmetic.is_number)
_INTEGER = ("whole numbers", pa.types.is_integer)
_ORDERED_VALUES = ("numbers, text, dates and times", bounds.is_ordered)
_LIST = ("lists of any length", list_edits.is_editable)
_MOMENT = ("timestamps and dates", moments.is_moment)
_TEXT = ("text", texts.is_text)
_ANY_VALUES = ("values of any type", _anything)

_TABLE = (
    Operator("$set", "set", *_ANY_VALUES, _as_value, _assign, creates=True),
    Operator("$unset", "clear", *_ANY_VALUES, _name, _clear),
    Operator("$inc", "increase", *_NUMBER, arithmetic.read_number, arithmetic.increment),
    Operator("$mul", "multiply", *_NUMBER, arithmetic.read_number, arithmetic.multiply),
    Operator("$min", "lower", *_ORDERED_VALUES, bounds.read_bound, bounds.limit_above),
    Operator("$max", "raise", *_ORDERED_VALUES, bounds.read_bound, bounds.limit_below),
    Operator("$bit", "change bits of", *_INTEGER, arithmetic.read_bits, arithmetic.change_bits),
    Operator("$currentDate", "date", *_MOMENT, moments.read_moment, moments.now, creates=True),
    Operator("$compute", "compute", *_ANY_VALUES, row_context.read_expression, _assign, creates=True,
             of_rows=row_context.compute_values),
    Operator("$fill", "fill", *_ANY_VALUES, row_context.read_filling, _assign,
    of_rows=row_context.fill_nulls), Operator("$round", "round", *_NUMBER, cleaning.read_digits,
    cleaning.round_values), Operator("$trim", "trim", *_TEXT, cleaning.read_side, cleaning.trim),
    Operator("$case", "change the case of", *_TEXT, cleaning.read_case, cleaning.change_case),
    Operator("$replace", "replace in", *_TEXT, texts.read_replacement, texts.replace_texts),
    Operator("$push", "add to", *_LIST, list_edits.read_push, list_edits.push_items, creates=True),
    Operator("$addToSet", "add to", *_LIST, list_edits.read_additions, list_edits.add_to_set, creates=True),
    Operator("$pull", "take out of", *_LIST, list_edits.read_condition, list_edits.pull_matching),
    Operator("$pullAll", "take out of", *_LIST, list_edits.read_list, list_edits.pull_values),
    Operator("$pop", "shorten", *_LIST, list_edits.read_end, list_edits.pop_item),
    Operator("$rename", "move", *_ANY_VALUES, _name, _clear, moves=True),
    Operator("$setOnInsert", "set", *_ANY_VALUES, _as_value, _assign, creates=True, only_on_insert=True),
)  # fmt: skip

OPERATORS: dict[str, Operator] = {operator.name: operator for operator in _TABLE}


Operators = Mapping[str, Mapping[str, Any]]


class UnknownOperator(UnknownName):
    kind = "update operator"


@dataclass(frozen=True)
class Path:
    """A column, or a path inside its values. `text` is how it was written."""

    column: str
    steps: tuple[str, ...]
    text: str

    def overlaps(self, path: Path) -> bool:
        common = min(len(self.steps), len(path.steps))
        return self.column == path.column and self.steps[:common] == path.steps[:common]


@dataclass(frozen=True)
class Assignment:
    """One operator at one path; `target` is where $rename moves the values."""

    operator: Operator
    path: Path
    operand: Any
    target: Path | None = None

    def to_error(self, table: str, refusal: Refusal) -> BadData:
        what = f"{table}: {self.operator.name} of column '{self.path.text}': {refusal.reason}"
        return BadData(what, fix=refusal.fix)


def assignments(operators: Operators, columns: Sequence[Column], table: str) -> list[Assignment]:
    """Parse operators into assignments, in the order given. Raises `UnknownOperator`, `UnknownColumn`, or
    `BadData` for operands that do not fit, and for two operators that change the same path."""
    if not isinstance(operators, Mapping):
        raise BadData(
            f"{table}: an update takes a dict of operators, not {short_text(operators)}",
            fix="Give {'$set': {'n': 1}}",
        )
    types = {c.name: c.type for c in columns}
    rules = [(_operator(name, table), operands) for name, operands in operators.items()]
    edits = [
        _assignment(operator, path, operand, types, table)
        for operator, operands in rules
        for path, operand in _operands(operator.name, operands, table).items()
    ]
    _refuse_conflicts(edits, table)
    return edits


def operators_text(operators: Operators) -> str:
    """The sentence for the history: "set late, increase fee"."""
    parts = [
        f"{OPERATORS[name].verb} {', '.join(map(str, operands))}"
        for name, operands in operators.items()
        if name in OPERATORS and isinstance(operands, Mapping)
    ]
    return ", ".join(parts)


def path_to(text: str, names: Sequence[str] | Mapping[str, Any]) -> Path:
    """Resolve a path: a column of exactly this name, else the column with the longest matching beginning,
    else a new column."""
    if text in names:
        return Path(text, (), text)
    parts = text.split(".")
    for length in range(len(parts) - 1, 0, -1):
        if (column := ".".join(parts[:length])) in names:
            return Path(column, tuple(parts[length:]), text)
    return Path(parts[0], tuple(parts[1:]), text)


def _operator(name: str, table: str) -> Operator:
    if name not in OPERATORS:
        raise UnknownOperator(name, f"updating {table}", OPERATORS)
    return OPERATORS[name]


def _operands(name: str, operands: Any, table: str) -> Mapping[str, Any]:
    if not isinstance(operands, Mapping) or not all(isinstance(path, str) for path in operands):
        raise BadData(
            f"{table}: {name} takes operands by column, not {short_text(operands)}",
            fix=f"Give {{'{name}': {{column: …}}}}",
        )
    for path in operands:
        text_of(path, f"{table}: the column name")
    return operands


def _assignment(
    operator: Operator, text: str, operand: Any, types: Mapping[str, pa.DataType], table: str
) -> Assignment:
    path = _check_path(text, types, table, operator.creates)
    try:
        target = _target(path, operand, types, table) if operator.moves else None
        assignment = Assignment(operator, path, operator.read(operand), target)
    except Refusal as refusal:
        raise Assignment(operator, path, operand).to_error(table, refusal) from refusal
    if isinstance(assignment.operand, Computation):
        row_context.refuse_unknown_columns(
            assignment.operand, types, operand if isinstance(operand, str) else None
        )
    if path.column not in types and operand is None:
        raise UnknownColumn(path.column, table, types)  # its type would be unknown
    return assignment


def _target(path: Path, operand: Any, types: Mapping[str, pa.DataType], table: str) -> Path:
    if not isinstance(operand, str) or not operand:
        raise Refusal(f"it takes the new name, not {short_text(operand)}")
    target = _check_path(operand, types, table, creates=True)
    if any(step.isdigit() for step in (*path.steps, *target.steps)):
        raise Refusal("items of lists cannot be moved")
    return target


def _check_path(text: str, types: Mapping[str, pa.DataType], table: str, creates: bool) -> Path:
    path = path_to(text, types)
    if path.column == ID:
        raise BadData(f"{table}: {ID} cannot be changed", "it identifies the row")
    if not path.column or "" in path.steps:
        raise BadData(f"{table}: '{text}' names no column", "a part of it is empty")
    if REST in path.steps:
        raise BadData(
            f"{table}: '{text}' cannot be changed", f"'{REST}' holds keys of documents that have no field",
            "Name the key itself, as if it were a field",
        )  # fmt: skip
    if not creates and path.column not in types:
        raise UnknownColumn(path.column, table, types)
    if not creates and path.steps and not has_place(types[path.column], path.steps):
        raise UnknownColumn(text, table, _with_fields(path.column, types[path.column]))
    return path


def paths_of(types: Mapping[str, pa.DataType]) -> dict[str, pa.DataType]:
    """The columns and the fields inside structs that an update can name, by their paths, with their types."""
    return {
        text: kind
        for column, whole in types.items()
        for text, kind in _with_fields(column, whole).items()
        if path_to(text, types).column == column
    }


def _with_fields(name: str, kind: pa.DataType) -> dict[str, pa.DataType]:
    """The column and the fields inside it, by path. Fields whose name contains a dot or is not unique have no
    path."""
    paths = {name: kind}
    for field in kind if pa.types.is_struct(kind) else ():
        exists = kind.get_field_index(field.name) >= 0
        if exists and field.name not in ("", REST) and "." not in field.name:
            paths |= _with_fields(f"{name}.{field.name}", field.type)
    return paths


def _refuse_conflicts(assignments: Sequence[Assignment], table: str) -> None:
    for a in assignments:
        if a.target is not None and a.path.overlaps(a.target):
            raise BadData(
                f"{table}: {a.operator.name} cannot move '{a.path.text}' to '{a.target.text}'",
                "They are the same, or one lies inside the other",
                "Give another name",
            )
    paths = [path for a in assignments for path in (a.path, a.target) if path is not None]
    for i, path in enumerate(paths):
        for earlier in paths[:i]:
            if path.overlaps(earlier):
                both = "" if path.text == earlier.text else f" and '{earlier.text}'"
                raise BadData(
                    f"{table}: two operators change '{path.text}'{both}",
                    "the result would depend on their order",
                    "Make two updates",
                )


def columns_read(assignments: Iterable[Assignment]) -> list[str]:
    """The names of the columns that the assignments read or change, each once; some may not exist yet."""
    names: dict[str, None] = {}
    for a in assignments:
        names |= dict.fromkeys(path.column for path in (a.path, a.target) if path is not None)
        if isinstance(a.operand, Computation):
            names |= dict.fromkeys(columns_in(a.operand.expression))
    return list(names)


def apply_assignments(
    assignments: Iterable[Assignment],
    values: Mapping[str, pa.Array],
    count: int,
    context: RowContext,
    inserted: bool = False,
) -> dict[str, pa.Array]:
    """The new values of the columns that the assignments change, `count` of each.

    They keep the stored type if they fit it, else get one that takes them. `inserted`: the rows are new.
    Raises `BadData` naming the operator and the column.
    """
    rows, table = _Rows(values, count, context), context.table
    for assignment in assignments:
        if assignment.operator.only_on_insert and not inserted:
            continue
        try:
            _apply(assignment, rows)
        except Refusal as refusal:
            raise assignment.to_error(table, refusal) from refusal
    return rows.changed_columns


class _Rows:
    """The columns of rows while assignments are applied one after another."""

    def __init__(self, values: Mapping[str, pa.Array], count: int, context: RowContext) -> None:
        self._columns, self._count, self.context = values, count, context
        self.changed_columns: dict[str, pa.Array] = {}

    def get(self, path: Path) -> pa.Array:
        return value_in(self._column(path.column), path.steps)

    def change(self, path: Path, compute: Compute) -> None:
        column, rows = self._column(path.column), np.arange(self._count)
        if path.steps:
            self.changed_columns[path.column] = change_at(column, path.steps, compute, rows)
        else:
            self.changed_columns[path.column] = to_stored_type(compute(column, rows), column.type)

    def _column(self, name: str) -> pa.Array:
        column = self.changed_columns.get(name, self._columns.get(name))
        return nulls(self._count) if column is None else column


def _apply(assignment: Assignment, rows: _Rows) -> None:
    operator = assignment.operator
    if assignment.target is not None:
        _copy(rows, assignment.path, assignment.target)

    def compute(values: pa.Array, some: np.ndarray) -> pa.Array:
        if not pa.types.is_null(values.type) and not operator.fits(values.type):
            raise Refusal(f"it is for {operator.wants}, but this is {values.type}", "Cast it first")
        if operator.of_rows is None:
            return operator.compute(values, assignment.operand)
        if assignment.path.steps and isinstance(assignment.operand, Filling) and assignment.operand.source:
            raise Refusal("inside nested values it takes only a value", "Give {'value': …}")
        context = rows.context.at_places(some)
        return operator.of_rows(values, assignment.operand, context, assignment.path.column)

    rows.change(assignment.path, compute)


def _copy(rows: _Rows, source: Path, target: Path) -> None:
    values = rows.get(source)
    present = to_numpy(values.is_valid())
    rows.change(target, lambda before, some: choose(present[some], take(values, some), before))
