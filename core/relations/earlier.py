"""Relations, which have no versions, followed between tables as they were."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import replace

from lamella.core.errors import BadData, StoreProblem, UnknownTable
from lamella.core.relations.relation import Link
from lamella.core.scan.snapshot import Snapshot
from lamella.core.store.versions import When

AsOf = When | Mapping[str, When]
"""A time, or a name that a version of both tables has; a version of each, by the table's name."""


def versions(link: Link, as_of: AsOf | None) -> tuple[When | None, When | None]:
    """Of the table and of the other one, None for the newest. Raises `BadData` for a number of two tables."""
    if isinstance(as_of, Mapping):
        for name in as_of:
            if name not in (link.table, link.other):
                raise UnknownTable(
                    str(name), f"the relation '{link.relation.name}'", [link.table, link.other]
                )
        return as_of.get(link.table), as_of.get(link.other)
    if as_of is None or isinstance(as_of, str | dt.datetime) or link.table == link.other:
        return as_of, as_of
    raise BadData(
        f"{link.table} and {link.other} have no version {as_of!r} in common",
        "Each table counts its own versions",
        f"Give a time, or both: as_of={{'{link.table}': {as_of!r}, '{link.other}': …}}",
    )


def link_at(link: Link, own: tuple[Snapshot, Snapshot], other: tuple[Snapshot, Snapshot]) -> Link:
    """The link by what its columns were called: each pair is of a table as it is, and as it was."""
    return replace(
        link,
        columns=_called(link, link.columns, *own),
        other_columns=_called(link, link.other_columns, *other),
    )


def _called(link: Link, names: Sequence[str], now: Snapshot, then: Snapshot) -> tuple[str, ...]:
    if now is then:
        return tuple(names)
    known = {column.key: column.name for column in then.columns}
    keys = {name: now.column(name).key for name in names}
    for name, key in keys.items():
        if key not in known:
            raise StoreProblem(
                f"the relation '{link.relation.name}' cannot be followed in that version of {now.name}",
                f"the column '{name}' was added or cast later",
                "Name a later version, or join by columns that are there: table.as_of(…).join(…)",
            )
    return tuple(known[keys[name]] for name in names)
