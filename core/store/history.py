"""Which version an undo or a redo goes to: read off the commits, so it survives a restart."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Any

from core.store.commit import Commit


def commit_from_row(table: str, row: Sequence[Any]) -> Commit:
    version, at, kind, restores, inserted, updated, deleted, seconds, message, name, transaction = row
    when = dt.datetime.fromtimestamp(at, dt.UTC)
    counts = (inserted, updated, deleted)
    return Commit(table, version, *counts, seconds, when, message, kind, restores, name, transaction)


def undo_target(commits: Sequence[Commit]) -> Commit | None:
    """The commit that an undo takes back: the one whose content the table has, unless it is the first."""
    by_version = {c.version: c for c in commits}
    newest = _origin(by_version, commits[-1])
    return newest if newest.version - 1 in by_version else None


def redo_target(commits: Sequence[Commit]) -> Commit | None:
    """The commit that a redo brings back: the last one undone and not done over."""
    by_version = {c.version: c for c in commits}
    undone: list[Commit] = []
    for commit in commits:
        if commit.kind == "undo":
            undone.append(_origin(by_version, by_version[commit.version - 1]))
        elif commit.kind == "redo":
            undone.pop()
        else:
            undone.clear()
    return undone[-1] if undone else None


def content_before(commits: Sequence[Commit], commit: Commit) -> Commit:
    """The commit whose content the table had before `commit`."""
    by_version = {c.version: c for c in commits}
    return _origin(by_version, by_version[commit.version - 1])


def _origin(by_version: dict[int, Commit], commit: Commit) -> Commit:
    return commit if commit.restores is None else by_version[commit.restores]
