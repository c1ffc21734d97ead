"""The columns of a dataset as SQLite is told of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from lamella.core.bridge.column_types import ColumnType, column_type
from lamella.core.errors import LamellaError
from lamella.core.scan.snapshot import Column, Snapshot


@dataclass(frozen=True)
class Declared:
    """`key` is the column's, and so is `name`, but where SQLite would take two of them for the same."""

    name: str
    key: int
    type: ColumnType


def declare(columns: Iterable[Column]) -> list[Declared]:
    """SQLite ignores the case of ASCII letters in names: of two that differ in nothing else the second gets a
    number, as does a column without a name."""
    columns = list(columns)
    taken = {folded(column.name) for column in columns}
    named: set[str] = {""}
    found = []
    for column in columns:
        name, number = column.name, 2
        while folded(name) in named or (name != column.name and folded(name) in taken):
            name, number = f"{column.name or 'column'}_{number}", number + 1
        named.add(folded(name))
        found.append(Declared(name, column.key, column_type(column.type)))
    return found


def statement(columns: Iterable[Declared]) -> str:
    listed = ", ".join(f"{quoted(column.name)} {column.type.declared}" for column in columns)
    return f"CREATE TABLE declared ({listed})"


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def found_again(told: Declared, snapshot: Snapshot) -> Column:
    """Where the column is by now. Raises `LamellaError` when SQLite's idea of it is out of date."""
    now = next((column for column in snapshot.columns if column.key == told.key), None)
    if now is not None and column_type(now.type).declared == told.type.declared:
        return now
    became = "was dropped or cast" if now is None else f"is of type {now.type} now"
    raise LamellaError(
        f"{snapshot.name}: column '{told.name}' {became}",
        "The table changed after SQLite was connected to it",
        "Connect again",
    )


def folded(name: str) -> str:
    """Equal for names that SQLite takes for the same."""
    return "".join(letter.lower() if letter.isascii() else letter for letter in name)
