"""Files with several tables, such as databases: their tables, the choice of one, and explanations of the
database's own error messages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lamella.core.errors import FileProblem, UnknownTable

MOST_NAMES = 12


@dataclass(frozen=True)
class TableEntry:
    """A table, view or sheet of a file. `rows` and `columns` are None if counting them would take long.
    `is_offered` is False for hidden and empty ones, which users hardly ever want."""

    name: str
    kind: str = "table"
    rows: int | None = None
    columns: int | None = None
    is_offered: bool = True


@dataclass(frozen=True)
class ForeignKey:
    """A reference from rows of one table of a file to rows of another by equal values."""

    table: str
    columns: tuple[str, ...]
    to_table: str
    to_columns: tuple[str, ...]


def quote_identifier(name: str) -> str:
    """Return the name as a quoted SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


DatabaseProblem = tuple[tuple[str, ...], str, str, str]
"""An explanation of a database's messages that contain one of these words: what happened, why, what to do."""


def known_problem(path: Path, message: str, problems: Sequence[DatabaseProblem]) -> FileProblem | None:
    """Return the problem for the first entry of `problems` that has a word of the message; None if none
    has."""
    for words, what, why, fix in problems:
        if any(word in message for word in words):
            return FileProblem(path, what, why, fix)
    return None


class SeveralTables(FileProblem):
    """A file with several tables was opened without naming one; `tables` are all of them."""

    def __init__(self, path: Path, tables: Sequence[TableEntry], option: str) -> None:
        self.tables, self.option = tuple(tables), option
        offered = [table for table in tables if table.is_offered] or list(tables)
        kinds = {table.kind for table in offered}
        word = kinds.pop() if len(kinds) == 1 else "table"
        names = ", ".join(f"'{table.name}'" for table in offered[:MOST_NAMES])
        more = f" and {len(offered) - MOST_NAMES:,} more" if len(offered) > MOST_NAMES else ""
        super().__init__(
            path,
            f"holds {len(offered):,} {word}s",
            f"They are {names}{more}",
            f"Name one of them: {option}='{offered[0].name}'",
        )


class NoSuchTable(UnknownTable):
    """The file does not hold the named table or sheet."""


def chosen_table(path: Path, tables: Sequence[TableEntry], name: str | None, option: str) -> TableEntry:
    """Return the table of this name, or the only one that can be chosen.

    Raises `NoSuchTable`, `SeveralTables`, and `FileProblem` for a file without tables.
    """
    if name is not None:
        matches = [table for table in tables if table.name == name]
        if not matches:
            raise NoSuchTable(name, str(path), [table.name for table in tables])
        return matches[0]
    if not tables:
        raise FileProblem(path, "holds no tables", fix="Choose a file with data in it")
    offered = [table for table in tables if table.is_offered]
    if len(offered) == 1 or len(tables) == 1:
        return (offered or list(tables))[0]
    raise SeveralTables(path, tables, option)
