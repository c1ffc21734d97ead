"""Actions on the relations of a store, each with its undo."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from lamella.core.relations import Relation
from lamella.core.store.relations import StoreRelations
from lamella.ui.relations.layout import Point
from lamella.ui.relations.schema import column_names

MOST_ACTS = 100


@dataclass(frozen=True)
class Act:
    """An action. `do` and `undo` block and raise `LamellaError`. `text` describes it in the infinitive.
    Moving boxes has `places`, before and after, and does not change the store."""

    text: str
    do: Callable[[StoreRelations], object] = lambda relations: None
    undo: Callable[[StoreRelations], object] = lambda relations: None
    places: tuple[dict[str, Point], dict[str, Point]] | None = None


def declare(source: list[str], target: list[str], name: str | None) -> Act:
    """Declare a relation. Its name is remembered for undo and redo."""
    names = [name]

    def do(relations: StoreRelations) -> Relation:
        relation = relations.declare(source, target, names[0])
        names[0] = relation.name
        return relation

    def undo(relations: StoreRelations) -> None:
        assert names[0] is not None
        relations.drop(names[0])

    return Act(f"declare {' and '.join(source)} → {' and '.join(target)}", do, undo)


def remove(relation: Relation) -> Act:
    columns = column_names(
        relation.from_table, relation.from_columns, relation.to_table, relation.to_columns
    )  # fmt: skip
    return Act(
        f"remove {relation.name}",
        lambda relations: relations.drop(relation.name),
        lambda relations: relations.declare(*columns, relation.name),
    )


def rename(old: str, new: str) -> Act:
    return Act(
        f"rename {old} to {new}",
        lambda relations: relations.rename(old, new),
        lambda relations: relations.rename(new, old),
    )


def move(before: dict[str, Point], after: dict[str, Point], text: str) -> Act:
    return Act(text, places=(before, after))


@dataclass
class ActStack:
    """The actions that can be undone, and those that can be redone."""

    past: list[Act] = field(default_factory=list)
    undone: list[Act] = field(default_factory=list)

    @classmethod
    def of(cls, histories: dict[tuple[str, ...], Any], key: tuple[str, ...]) -> ActStack:
        """The stack of a diagram, by its key; created if there is none."""
        stack: ActStack = histories.setdefault(key, cls())
        return stack

    @property
    def undo_text(self) -> str:
        return self.past[-1].text if self.past else ""

    @property
    def redo_text(self) -> str:
        return self.undone[-1].text if self.undone else ""

    def push(self, act: Act) -> None:
        """Add an action that was done; undone actions can no longer be redone."""
        self.past.append(act)
        del self.past[:-MOST_ACTS]
        self.undone.clear()

    def drop(self, act: Act) -> None:
        """Remove an action that can no longer be done or undone, because its subject is gone."""
        self.past = [earlier for earlier in self.past if earlier is not act]
        self.undone = [earlier for earlier in self.undone if earlier is not act]

    def step_back(self) -> None:
        """Move the last action to those that can be redone, after it was undone."""
        self.undone.append(self.past.pop())

    def step_forward(self) -> None:
        self.past.append(self.undone.pop())
