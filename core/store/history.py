"""Which version an undo or a redo goes to: read off the commits, so it survives a restart.

Where the commits before have expired there is nothing to undo.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lamella.core.store.commit import Commit

Counts = tuple[int, int, int]
"""Rows inserted, updated and deleted."""
NOTHING = 0
"""The version before a table's first: nothing was valid then, no column and no row."""
FOLLOWS = ("undo", "redo")
"""Commits that go along the history, and add nothing to it."""


@dataclass(frozen=True)
class Restored:
    """The version whose content is wanted again, what brings it back, and what that changes."""

    version: int
    about: str
    counts: Counts


def commit_from_row(table: str, row: Sequence[Any], given_ids: tuple[range, ...] = ()) -> Commit:
    version, at, kind, restores, inserted, updated, deleted, seconds, message, name, transaction = row
    when = dt.datetime.fromtimestamp(at, dt.UTC)
    counts = (inserted, updated, deleted)
    known = (table, version, *counts, seconds, when, message, kind, restores, name, transaction)
    return Commit(*known, given_ids)


def undo_target(commits: Sequence[Commit]) -> Commit | None:
    """The commit that an undo takes back, with all of its transaction: whose content the table has.

    A commit that made the table is taken back as part of a transaction alone."""
    by_version = {c.version: c for c in commits}
    newest = _origin(by_version, commits[-1])
    first = _together(commits, newest)[0]
    made_here = _makes_table(first) and first.transaction_id is not None
    known = first.version - 1 in by_version or made_here
    return newest if newest.kind not in FOLLOWS and known else None


def redo_target(commits: Sequence[Commit]) -> Commit | None:
    """The commit that a redo brings back: the last one undone and not done over. What was undone before
    versions that expired is not known."""
    by_version = {c.version: c for c in commits}
    undone: list[Commit] = []
    for commit in commits:
        before = by_version.get(commit.version - 1)
        if before is None:
            undone.clear()
        elif commit.kind == "undo":
            undone.append(_origin(by_version, before))
        elif commit.kind == "redo":
            undone = undone[:-1]
        else:
            undone.clear()
    return undone[-1] if undone else None


def newest_change(commits: Sequence[Commit]) -> Commit:
    """The commit whose content the table has."""
    return _origin({c.version: c for c in commits}, commits[-1])


def taken_back(commits: Sequence[Commit], undone: Commit) -> Restored:
    """What undoing this commit, with all of its transaction, restores."""
    by_version = {c.version: c for c in commits}
    made = _together(commits, undone)
    inserted, updated, deleted = _counts(made)
    if _makes_table(made[0]):
        return Restored(NOTHING, undone.message, (deleted, updated, inserted))
    content = _origin(by_version, by_version[made[0].version - 1])
    return Restored(content.version, undone.message, (deleted, updated, inserted))


def brought_back(commits: Sequence[Commit], redone: Commit) -> Restored:
    return Restored(redone.version, redone.message, _counts(_together(commits, redone)))


def _makes_table(commit: Commit) -> bool:
    return commit.kind == "create"


def _together(commits: Sequence[Commit], commit: Commit) -> list[Commit]:
    """The commits of this one's transaction, this one last."""
    if commit.transaction_id is None:
        return [commit]
    return [c for c in commits if c.transaction_id == commit.transaction_id]


def _counts(commits: Sequence[Commit]) -> Counts:
    return sum(c.inserted for c in commits), sum(c.updated for c in commits), sum(c.deleted for c in commits)


def _origin(by_version: dict[int, Commit], commit: Commit) -> Commit:
    """The commit that made this one's content; itself where that one has expired."""
    if commit.kind not in FOLLOWS or commit.restores is None:
        return commit
    return by_version.get(commit.restores, commit)
