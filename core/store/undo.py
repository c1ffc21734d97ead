"""Finds what an undo or redo of a table takes back or brings back, from its newest commit backwards."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from lamella.core.store.catalog.queries import Catalog
from lamella.core.store.commit import Commit, commit_from_row

COMMITS_A_READ = 32
Counts = tuple[int, int, int]
"""Rows inserted, updated and deleted."""
NOTHING = 0
"""The version before a table's first, in which it had no columns and no rows."""
FOLLOWS = ("undo", "redo")
"""Kinds of commits that move along the history without adding to it."""


@dataclass(frozen=True)
class Restoration:
    """A version to restore: its number, a description, and the counts of changed rows."""

    version: int
    about: str
    counts: Counts


class CommitLog:
    """The commits of a table, read only as far as needed."""

    def __init__(self, table: str, table_id: int, catalog: Catalog) -> None:
        self._table, self._table_id, self._catalog = table, table_id, catalog
        self._newest: list[Commit] = []
        self._by_version: dict[int, Commit] = {}

    def from_newest(self) -> Iterator[Commit]:
        place = 0
        while True:
            if place == len(self._newest):
                more = self._read(COMMITS_A_READ, self._newest[-1].version if place else None)
                self._newest += more
                self._by_version |= {commit.version: commit for commit in more}
            if place == len(self._newest):
                return
            yield self._newest[place]
            place += 1

    def at(self, version: int) -> Commit | None:
        """The commit of a version; None if it has expired."""
        if self._newest and version >= self._newest[-1].version:
            return self._by_version.get(version)
        commits = self._read(1, version + 1)
        return commits[0] if commits and commits[0].version == version else None

    @property
    def newest(self) -> Commit:
        return next(self.from_newest())

    def origin(self, commit: Commit) -> Commit:
        """The commit that made this one's content; this one itself if that has expired."""
        if commit.kind not in FOLLOWS or commit.restores is None:
            return commit
        return self.at(commit.restores) or commit

    def group(self, commit: Commit) -> list[Commit]:
        """The commits of this table in the transaction that ends with this one, in order."""
        commits = [commit]
        while commit.transaction_id is not None:
            before = self.at(commits[-1].version - 1)
            if before is None or before.transaction_id != commit.transaction_id:
                break
            commits.append(before)
        return commits[::-1]

    def _read(self, count: int, before: int | None) -> list[Commit]:
        rows = self._catalog.newest_commits(self._table_id, count, before)
        return [commit_from_row(self._table, row) for row in rows]


def undo_target(log: CommitLog) -> Commit | None:
    """The commit that an undo takes back, with all of its transaction: the one that made the current content.

    The commit that created the table is taken back only as part of a transaction.
    """
    newest = newest_change(log)
    first = log.group(newest)[0]
    made_here = _makes_table(first) and first.transaction_id is not None
    exists = made_here or log.at(first.version - 1) is not None
    return newest if newest.kind not in FOLLOWS and exists else None


def redo_target(log: CommitLog) -> Commit | None:
    """The commit that a redo brings back: the last one undone and not redone. None if it was undone before
    versions that have expired."""
    done_over = 0
    for commit in log.from_newest():
        before = log.at(commit.version - 1) if commit.kind in FOLLOWS else None
        if before is None:
            return None
        if commit.kind == "redo":
            done_over += 1
        elif not done_over:
            return log.origin(before)
        else:
            done_over -= 1
    return None


def newest_change(log: CommitLog) -> Commit:
    """The commit that made the table's current content."""
    return log.origin(log.newest)


def undo_of(log: CommitLog, undone: Commit) -> Restoration:
    """The version that undoing this commit, with all of its transaction, restores."""
    commits = log.group(undone)
    inserted, updated, deleted = _counts(commits)
    if _makes_table(commits[0]):
        return Restoration(NOTHING, undone.message, (deleted, updated, inserted))
    before = log.at(commits[0].version - 1)
    assert before is not None, "else it could not be undone"
    return Restoration(log.origin(before).version, undone.message, (deleted, updated, inserted))


def leads_back_to(version: int, log: CommitLog) -> bool:
    """Whether undoing changes of this table alone, one after another, leads to the content of a version that
    differs from the current one."""
    commit, target = newest_change(log), log.at(version)
    content = None if target is None else log.origin(target)
    if content is None or commit.version == content.version:
        return False
    while commit.version > content.version and commit.transaction_id is None:
        before = log.at(commit.version - 1)
        if before is None:
            return False
        commit = log.origin(before)
    return commit.version == content.version


def redo_of(log: CommitLog, redone: Commit) -> Restoration:
    """The version that redoing this commit, with all of its transaction, restores."""
    return Restoration(redone.version, redone.message, _counts(log.group(redone)))


def _makes_table(commit: Commit) -> bool:
    return commit.kind == "create"


def _counts(commits: list[Commit]) -> Counts:
    return sum(c.inserted for c in commits), sum(c.updated for c in commits), sum(c.deleted for c in commits)
