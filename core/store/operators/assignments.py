"""What `{"$inc": {"price": 5}, …}` asks for, checked against a table's columns before anything is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from lamella.core.arguments import text_of
from lamella.core.errors import BadData, UnknownColumn, UnknownName, shown
from lamella.core.layouts import REST
from lamella.core.scan.snapshot import Column
from lamella.core.schema import ID
from lamella.core.store.operators.inside import has_place
from lamella.core.store.operators.refusal import Refusal
from lamella.core.store.operators.table import OPERATORS, Operator

Operators = Mapping[str, Mapping[str, Any]]


class UnknownOperator(UnknownName):
    kind = "update operator"


@dataclass(frozen=True)
class Path:
    """A column, or a place inside its values. `text` is how it was written."""

    column: str
    steps: tuple[str, ...]
    text: str

    def overlaps(self, other: Path) -> bool:
        common = min(len(self.steps), len(other.steps))
        return self.column == other.column and self.steps[:common] == other.steps[:common]


@dataclass(frozen=True)
class Assignment:
    """One operator at one path; `target` is where $rename moves the values."""

    operator: Operator
    path: Path
    operand: Any
    target: Path | None = None

    def refused(self, table: str, refusal: Refusal) -> BadData:
        what = f"{table}: {self.operator.name} of column '{self.path.text}': {refusal.reason}"
        return BadData(what, fix=refusal.fix)


def assignments(operators: Operators, columns: Sequence[Column], table: str) -> list[Assignment]:
    """In the order given. Raises `UnknownOperator`, `UnknownColumn`, or `BadData` for operands that do not
    fit, and for two operators that change the same place."""
    if not isinstance(operators, Mapping):
        raise BadData(
            f"{table}: an update takes a dict of operators, not {shown(operators)}",
            fix="Write {'$set': {'n': 1}}",
        )
    types = {c.name: c.type for c in columns}
    known = [(_operator(name, table), operands) for name, operands in operators.items()]
    found = [
        _assignment(operator, path, operand, types, table)
        for operator, operands in known
        for path, operand in _operands(operator.name, operands, table).items()
    ]
    _refuse_conflicts(found, table)
    return found


def told(operators: Operators) -> str:
    """The sentence for the history: "set late, increase fee"."""
    parts = [
        f"{OPERATORS[name].verb} {', '.join(map(str, operands))}"
        for name, operands in operators.items()
        if name in OPERATORS and isinstance(operands, Mapping)
    ]
    return ", ".join(parts)


def path_to(text: str, names: Sequence[str] | Mapping[str, Any]) -> Path:
    """A column of exactly this name, else the one named by the longest beginning; else a new column."""
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
            f"{table}: {name} takes operands by column, not {operands!r}",
            fix=f"Write {{'{name}': {{column: …}}}}",
        )
    for path in operands:
        text_of(path, f"{table}: the column name")
    return operands


def _assignment(
    operator: Operator, text: str, operand: Any, types: Mapping[str, pa.DataType], table: str
) -> Assignment:
    path = _checked(text, types, table, operator.creates)
    try:
        target = _target(path, operand, types, table) if operator.moves else None
        made = Assignment(operator, path, operator.read(operand), target)
    except Refusal as refusal:
        raise Assignment(operator, path, operand).refused(table, refusal) from refusal
    if path.column not in types and operand is None:
        raise UnknownColumn(path.column, table, types)  # nothing says of what type it would be
    return made


def _target(path: Path, operand: Any, types: Mapping[str, pa.DataType], table: str) -> Path:
    if not isinstance(operand, str) or not operand:
        raise Refusal(f"it takes the new name, not {operand!r}")
    target = _checked(operand, types, table, creates=True)
    if any(step.isdigit() for step in (*path.steps, *target.steps)):
        raise Refusal("items of lists are not moved")
    return target


def _checked(text: str, types: Mapping[str, pa.DataType], table: str, creates: bool) -> Path:
    path = path_to(text, types)
    if path.column == ID:
        raise BadData(f"{table}: {ID} cannot be changed", "it is how rows are found")
    if not path.column or "" in path.steps:
        raise BadData(f"{table}: '{text}' names no column", "a part of it is empty")
    if REST in path.steps:
        raise BadData(
            f"{table}: '{text}' cannot be changed", f"'{REST}' is where documents keep keys without a field",
            "Name the key itself, as if it were a field",
        )  # fmt: skip
    if not creates and path.column not in types:
        raise UnknownColumn(path.column, table, types)
    if not creates and path.steps and not has_place(types[path.column], path.steps):
        raise UnknownColumn(text, table, _places(path.column, types[path.column]))
    return path


def _places(name: str, kind: pa.DataType) -> list[str]:
    """The column and the fields inside it, as paths."""
    found = [name]
    if pa.types.is_struct(kind):
        for i in range(kind.num_fields):
            found += _places(f"{name}.{kind.field(i).name}", kind.field(i).type)
    return found


def _refuse_conflicts(found: Sequence[Assignment], table: str) -> None:
    for a in found:
        if a.target is not None and a.path.overlaps(a.target):
            raise BadData(
                f"{table}: {a.operator.name} cannot move '{a.path.text}' to '{a.target.text}'",
                "One is the other, or lies inside it",
                "Give another name",
            )
    paths = [path for a in found for path in (a.path, a.target) if path is not None]
    for i, path in enumerate(paths):
        for other in paths[:i]:
            if path.overlaps(other):
                both = "" if path.text == other.text else f" and '{other.text}'"
                raise BadData(
                    f"{table}: two operators change '{path.text}'{both}",
                    "which comes first would decide",
                    "Make two updates of it",
                )
