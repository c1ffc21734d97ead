"""A relation as people see it, and as it is seen from one of its tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from lamella.core.errors import StoreProblem

Direction = Literal["out", "in"]
"""Out goes to the rows that a row points at, in to the rows that point at it."""
DIRECTIONS: tuple[Direction, ...] = ("out", "in")


@dataclass(frozen=True)
class Relation:
    """Rows of one table point at those rows of another, or of the same, that have equal values.

    Null points at nothing. Names are those that tables and columns have now. `problem` says why the relation
    cannot be followed, and is empty where it can.
    """

    name: str
    from_table: str
    from_columns: tuple[str, ...]
    to_table: str
    to_columns: tuple[str, ...]
    problem: str = ""

    def __str__(self) -> str:
        told = f"{_end(self.from_table, self.from_columns)} → {_end(self.to_table, self.to_columns)}"
        return f"{self.name}: {told}" + (f" ({self.problem})" if self.problem else "")

    @property
    def within_one_table(self) -> bool:
        return self.from_table == self.to_table

    def seen(self, direction: Direction) -> Link:
        """From the table that points ("out"), or from the one that is pointed at."""
        if direction == "out":
            return Link(
                self, direction, self.from_table, self.from_columns, self.to_table, self.to_columns
            )  # fmt: skip
        return Link(self, direction, self.to_table, self.to_columns, self.from_table, self.from_columns)

    def usable(self) -> Relation:
        """Itself; raises `StoreProblem` where it cannot be followed."""
        if self.problem:
            raise StoreProblem(
                f"the relation '{self.name}' cannot be followed",
                self.problem,
                f"Undo that, or give the relation up: store.unrelate({self.name!r})",
            )
        return self


@dataclass(frozen=True)
class Link:
    """A relation seen from `table`: its `columns` are equal to `other_columns` of the table `other`."""

    relation: Relation
    direction: Direction
    table: str
    columns: tuple[str, ...]
    other: str
    other_columns: tuple[str, ...]


def _end(table: str, columns: tuple[str, ...]) -> str:
    return f"{table}.{columns[0]}" if len(columns) == 1 else f"{table}.({', '.join(columns)})"
