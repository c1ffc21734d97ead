"""Which version of a table somebody means: a number, a name, or a time."""

from __future__ import annotations

import datetime as dt

from lamella.core.arguments import text_of
from lamella.core.errors import BadData, StoreProblem, UnknownVersion, shown
from lamella.core.store.catalog_versions import CatalogVersions

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
When = int | str | dt.datetime
"""A version's number or name, or a time for the version that was the newest then (local without a zone)."""


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
