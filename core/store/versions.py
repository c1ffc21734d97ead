"""Which version of a table is meant: by number, name or time, for undo and redo, and which may expire."""

from __future__ import annotations

import bisect
import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lamella.core.errors import BadData, StoreProblem, UnknownVersion, shown
from lamella.core.query.source import When
from lamella.core.store.catalog.queries import CatalogVersions
from lamella.core.store.commit import Commit
from lamella.core.validation import count_of, text_of

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def version_of(table: str, newest: int, versions: CatalogVersions, when: When) -> int:
    """Raises `UnknownVersion` for a name, `StoreProblem` for a version that is not there or has expired."""
    if isinstance(when, str):
        named = versions.named(text_of(when, f"{table}: the version"))
        if named is None:
            raise UnknownVersion(when, table, versions.names())
        return named
    if isinstance(when, dt.datetime):
        return _at(table, newest, versions, when)
    if isinstance(when, bool) or not isinstance(when, int):
        raise BadData(
            f"{table}: {shown(when)} names no version", "it is neither a number nor a name nor a time",
            "Give a version's number or name, or a datetime",
        )  # fmt: skip
    if not (1 <= when <= newest and versions.exists(when)):
        raise _missing(table, newest, when)
    return when


def _at(table: str, newest: int, versions: CatalogVersions, when: dt.datetime) -> int:
    found = versions.at(seconds_of(when))
    if found is None and versions.exists(1):
        raise StoreProblem(
            f"{table}: there was no version yet at {when}", "the table was made later", "Name a later time"
        )
    if found is None or not (found == newest or versions.exists(found + 1)):
        raise _expired(table, f"the version of {when}")
    return found


def seconds_of(when: dt.datetime) -> float:
    """Since 1970, to the microsecond, which `timestamp` is not for times without a zone.

    The hours at either end of what a datetime can say count as the very end where UTC has none for them.
    """
    try:
        there = when.astimezone(dt.UTC)
    except (ValueError, OverflowError):
        there = (dt.datetime.min if when.year == 1 else dt.datetime.max).replace(tzinfo=dt.UTC)
    return (there - _EPOCH) // dt.timedelta(microseconds=1) / 1_000_000


def _missing(table: str, newest: int, version: int) -> StoreProblem:
    if 1 <= version <= newest:
        return _expired(table, f"version {version}")
    return StoreProblem(
        f"{table}: there is no version {version}", f"the newest is {newest}", "See the table's history"
    )


def _expired(table: str, what: str) -> StoreProblem:
    return StoreProblem(
        f"{table}: {what} has expired", "older versions were let go of", "See the table's history"
    )


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


Stamp = tuple[int, float]
"""A version and when it was made, in seconds since 1970."""


@dataclass(frozen=True)
class FileSpan:
    """The versions [first, stop) that a file is part of, once for each time it was entered."""

    path: str
    bytes: int
    first: int
    stop: int


@dataclass(frozen=True)
class ExpireReport:
    """`expired` versions are gone, `named` ones older than the `oldest` kept stay; so many `files` of so many
    `bytes` are of no version any more, and vacuum frees them."""

    expired: tuple[int, ...]
    oldest: int
    named: tuple[int, ...]
    files: int
    bytes: int


@dataclass(frozen=True)
class Policy:
    """What is to be kept. `max_bytes` bounds the files of all versions together; the newest version always
    stays, and so do `keep_versions` whatever else is said."""

    older_than: dt.timedelta | dt.datetime | None = None
    keep_versions: int | None = None
    max_bytes: int | None = None

    def checked(self, table: str) -> Policy:
        if self == Policy():
            raise BadData(
                f"{table}: nothing says which versions are to expire",
                fix="Give older_than=, keep_versions= or max_bytes=",
            )
        if self.older_than is not None and not isinstance(self.older_than, (dt.timedelta, dt.datetime)):
            raise BadData(
                f"{table}: older_than {shown(self.older_than)} is no time",
                fix="Give a datetime, or how long ago: datetime.timedelta(days=1)",
            )
        if isinstance(self.older_than, dt.timedelta) and self.older_than < dt.timedelta(0):
            raise BadData(
                f"{table}: older_than {self.older_than} is a time to come, and would let every version go",
                fix="Give how long ago it was: datetime.timedelta(days=1)",
            )
        if self.keep_versions is not None:
            count_of(self.keep_versions, f"{table}: keep_versions", least=1)
        if self.max_bytes is not None:
            count_of(self.max_bytes, f"{table}: max_bytes")
        return self

    def oldest_kept(self, stamps: Sequence[Stamp], named: Sequence[int], files: Sequence[FileSpan]) -> int:
        """The version that is the oldest from now on, named ones aside. `stamps` are of all, ascending."""
        versions = [version for version, _ in stamps]
        wanted = [versions[0]]
        if self.older_than is not None:
            wanted.append(_newest_at(stamps, _seconds(self.older_than)))
        if self.max_bytes is not None:
            wanted.append(_fitting(versions, named, files, self.max_bytes))
        if self.keep_versions is None:
            return max(wanted)
        kept_anyhow = versions[-min(self.keep_versions, len(versions))]
        return kept_anyhow if len(wanted) == 1 else min(max(wanted), kept_anyhow)


def report(
    stamps: Sequence[Stamp], named: Sequence[int], files: Sequence[FileSpan], oldest: int
) -> ExpireReport:
    gone = tuple(version for version, _ in stamps if version < oldest and version not in named)
    held = _paths(files, named, oldest)
    removed = {f.path: f.bytes for f in files if f.path not in held}
    kept = tuple(version for version in named if version < oldest)
    return ExpireReport(gone, oldest, kept, len(removed), sum(removed.values()))


def _seconds(limit: dt.timedelta | dt.datetime) -> float:
    """A limit is a moment, or a time before now, which may be longer than there are years."""
    if isinstance(limit, dt.timedelta):
        return dt.datetime.now(dt.UTC).timestamp() - limit.total_seconds()
    return seconds_of(limit)


def _newest_at(stamps: Sequence[Stamp], seconds: float) -> int:
    """The version that was the newest then: it is no older than that, it only began before."""
    made = [version for version, at in stamps if at <= seconds]
    return made[-1] if made else stamps[0][0]


def _fitting(versions: Sequence[int], named: Sequence[int], files: Sequence[FileSpan], most: int) -> int:
    """The oldest version from which on all files fit; the fewer versions, the fewer files."""

    def fits(oldest: int) -> bool:
        return sum(_paths(files, named, oldest).values()) <= most

    at = bisect.bisect_left(versions, True, key=fits)
    return versions[min(at, len(versions) - 1)]


def _paths(files: Sequence[FileSpan], named: Sequence[int], oldest: int) -> dict[str, int]:
    """Files, with their sizes, that a version from `oldest` on or a named one has."""
    return {
        f.path: f.bytes
        for f in files
        if f.first < f.stop and (f.stop > oldest or any(f.first <= n < f.stop for n in named))
    }
