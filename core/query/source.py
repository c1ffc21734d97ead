"""What a query reads: the protocol that datasets fulfil, so that queries know neither files nor stores."""

from __future__ import annotations

import datetime as dt
from typing import Protocol

import pyarrow as pa

from lamella.core.jobs import Job
from lamella.core.scan.snapshot import Snapshot

Keys = tuple[tuple[str, ...], tuple[str, ...]]
"""The columns of one source, and those of another that equal them."""
When = int | str | dt.datetime
"""A version of a table: its number, its name, or a time at which it was the newest."""


class Source(Protocol):
    """Named rows with a schema. Any thread."""

    @property
    def name(self) -> str: ...

    @property
    def schema(self) -> pa.Schema: ...

    def snapshot(self) -> Snapshot:
        """The rows as they are now, frozen. Cheap: no data is read."""
        ...

    def fill(self, job: Job) -> None:
        """Make every row reachable: `snapshot().complete` is true afterwards."""
        ...

    @property
    def pinned_version(self) -> int | None:
        """The version that these rows stay at; None for rows that follow changes."""
        ...

    def at_version(self, number: int) -> Source | None:
        """The same table as it was; None for what has no versions. Raises `StoreProblem` where it expired."""
        ...

    def sibling(self, name: str) -> Source | None:
        """Another table of the same store; None where there is no store. Raises `UnknownTable`."""
        ...

    def keys_to(self, other: Source, relation: str | None) -> Keys | None:
        """The keys of the relation between two tables of one store, by its name where several lead there;
        None for what cannot be related. Raises `StoreProblem` where no relation leads there."""
        ...
