"""What a search text asks for, as a tree."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Words:
    """Words one behind the other in one column: `column`, or any of the index. They are in lower case."""

    words: tuple[str, ...]
    column: str | None = None


@dataclass(frozen=True)
class Beginning:
    """A word that begins so."""

    word: str
    column: str | None = None


@dataclass(frozen=True)
class Near:
    """A word that becomes this one by so many letters added, left out, changed, or swapped with the next."""

    word: str
    edits: int
    column: str | None = None


@dataclass(frozen=True)
class Clauses:
    """All of `required`, none of `excluded`, and one of `wanted` where nothing is required. What is wanted
    besides makes a row count more. Only excluded: every other row."""

    required: tuple[Node, ...] = ()
    wanted: tuple[Node, ...] = ()
    excluded: tuple[Node, ...] = ()


Leaf = Words | Beginning | Near
Node = Leaf | Clauses


def leaves(node: Node) -> list[Leaf]:
    """Those that make a row an answer, in order: not what is excluded."""
    if not isinstance(node, Clauses):
        return [node]
    return [leaf for child in (*node.required, *node.wanted) for leaf in leaves(child)]
