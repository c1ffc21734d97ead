"""Which datasets and keys a join is of."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from lamella.core.arguments import names_of
from lamella.core.errors import BadQuery, shown
from lamella.core.query.asking import Asking
from lamella.core.query.pipeline import Pipeline
from lamella.core.query.steps import How, Join
from lamella.core.query.together import renamed, together

if TYPE_CHECKING:
    from lamella.core.query.fluent import Fluent

Keys = str | Iterable[str] | None
Names = tuple[str, ...]


def join(left: Asking, right: Asking, on: tuple[Names, Names], how: How, suffix: str | None) -> Asking:
    """By the columns of the left side that equal those of the right side."""
    ends = f"_{right.name}" if suffix is None else suffix
    sources, names = together(left.sources, right.sources)
    steps = (*left.pipeline.steps, Join(renamed(right.pipeline, names), *on, how, ends))
    return Asking(sources, Pipeline(left.pipeline.source, steps))


def other_side(left: Asking, other: Fluent | str) -> Asking:
    """What is joined: a name is that of a table of the same store."""
    from lamella.core.query.fluent import Fluent
    from lamella.core.store.handle import TableHandle

    if isinstance(other, Fluent):
        return other.asking()
    ours = left.sources[left.pipeline.source]
    if isinstance(other, str) and isinstance(ours, TableHandle):
        return ours.store[other].asking()
    raise BadQuery(
        f"{left.name}: {shown(other)} cannot be joined",
        "It is no table, no other dataset and no query",
        "Give what open_dataset gives, or a table of a store",
    )


def keys(
    left: Asking, right: Asking, on: Keys, left_on: Keys, right_on: Keys, through: str | None
) -> tuple[Names, Names]:
    """The columns of both sides. Raises `BadQuery` where it is not clear which are meant."""
    if on is not None and left_on is None and right_on is None:
        named = tuple(names_of(on, f"{left.name}: join"))
        return named, named
    if on is None and left_on is not None and right_on is not None:
        return tuple(names_of(left_on, f"{left.name}: join")), tuple(names_of(right_on, f"{left.name}: join"))
    if on is None and left_on is None and right_on is None:
        return _related(left, right, through)
    raise BadQuery(
        f"{left.name}: it is not clear what the join is by",
        fix="Give on= for keys that are called the same, left_on= and right_on= for others",
    )


def _related(left: Asking, right: Asking, through: str | None) -> tuple[Names, Names]:
    from lamella.core.store.handle import TableHandle

    ours, theirs = left.sources[left.pipeline.source], right.sources[right.pipeline.source]
    if (
        not isinstance(ours, TableHandle)
        or not isinstance(theirs, TableHandle)
        or ours.store is not theirs.store
    ):
        raise BadQuery(
            f"{left.name}: a join with {right.name} needs keys",
            "Only tables of one store can be related",
            "Give on=, or left_on= and right_on=",
        )
    link = ours.store.relation_between(ours.name, theirs.name, through)
    return link.columns, link.other_columns
