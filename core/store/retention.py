"""Which versions of a table may be let go of."""

from __future__ import annotations

import bisect
import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass

from lamella.core.arguments import count_of
from lamella.core.errors import BadData, shown
from lamella.core.store.versions import seconds_of

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
