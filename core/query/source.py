"""Sources of queries: the protocols that datasets implement, so that queries depend on neither files nor
stores."""

from __future__ import annotations

import datetime as dt
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import pyarrow as pa

from lamella.core.errors import BadQuery
from lamella.core.filters.expr import Filter
from lamella.core.jobs import Job
from lamella.core.scan.snapshot import Snapshot

if TYPE_CHECKING:
    from lamella.core.query.fields import Fields

Keys = tuple[tuple[str, ...], tuple[str, ...]]
"""Key columns of one source, and the corresponding ones of another."""
VersionOrTime = int | str | dt.datetime
"""A version of a table: its number, its name, or a time at which it was the current one."""


class Source(Protocol):
    """Named rows with a schema. Any thread."""

    @property
    def name(self) -> str: ...

    @property
    def schema(self) -> pa.Schema: ...

    def snapshot(self) -> Snapshot:
        """The rows as they are now, frozen. Cheap: no data is read."""
        ...


@runtime_checkable
class Fillable(Protocol):
    """Rows that arrive while they are being read: those of a file with a cache."""

    def fill(self, job: Job) -> None:
        """Read every row; afterwards `snapshot().complete` is true."""
        ...


@runtime_checkable
class VersionedSource(Protocol):
    """Rows that change, and have versions."""

    def as_of(self, when: VersionOrTime) -> Source:
        """The rows as they were. Raises `StoreProblem` for a version that has expired."""
        ...


@runtime_checkable
class PinnedSource(Protocol):
    """Rows that stay at one version."""

    @property
    def pinned_version(self) -> int: ...


@runtime_checkable
class ComputedSource(Protocol):
    """Rows with columns that a statement computes."""

    @property
    def figures(self) -> frozenset[str]:
        """The names of columns with averages and the like, whose last digits are insignificant."""
        ...


class Engine(Protocol):
    """Answers queries of remote rows: it computes on the server, and only answers are transferred. All
    methods block, and stop when the job is cancelled."""

    @property
    def title(self) -> str:
        """The name that is shown, with the location."""
        ...

    def schema(self, query: Question, job: Job) -> pa.Schema: ...

    def read(self, query: Question, job: Job) -> pa.Table: ...

    def batches(self, query: Question, job: Job) -> pa.RecordBatchReader: ...

    def count(self, query: Question, job: Job) -> int: ...

    def fetch(self, query: Question, job: Job, before: FetchedRows | None = None) -> FetchedRows:
        """Fetch the rows of the answer, up to a limit; given the rows fetched `before`, fetch as many
        more."""
        ...

    def figure_rows(self, query: Question, job: Job) -> FigureRows:
        """The rows of the answer, for statements that compute figures of all of them on the server."""
        ...


class FigureRows(Protocol):
    """Rows from which charts, cards and profiles are computed, by statements in DuckDB's dialect. Used by one
    thread, while it is open."""

    @property
    def fields(self) -> Fields: ...

    @property
    def token(self) -> Hashable:
        """Equal for equal rows; None if it is unknown whether they changed."""
        ...

    @property
    def is_remote(self) -> bool:
        """Whether quantiles of very many values are estimated: no machine of a cluster holds them all."""
        ...

    @property
    def sample_key(self) -> str | None:
        """The identifier of the column whose hash selects rows for estimates; None if the engine has its own
        estimates."""
        ...

    @property
    def scan(self) -> tuple[Snapshot, Filter | None] | None:
        """The snapshot and the filter, if the rows are those of one snapshot that meet a filter."""
        ...

    def stated_extremes(self, name: str) -> tuple[int | float, int | float, int] | None:
        """The least and the greatest stored value of a column of numbers or moments without nulls, as the
        files state them, leaving out NaN, and the number of rows. None if the files do not state them."""
        ...

    def relation(self, identifiers: frozenset[str]) -> str:
        """A SELECT with at least the columns of these identifiers."""
        ...

    def read(self, statement: str, types: Mapping[str, pa.DataType]) -> pa.Table:
        """Run a statement over `relation`; `types` are those of its named columns. Raises `BadSql` for what
        the engine's dialect lacks."""
        ...

    def constants(self, name: str, values: pa.ChunkedArray) -> str:
        """An expression for the list of these values; `name` distinguishes several lists."""
        ...


@dataclass(frozen=True)
class FetchedRows:
    """Fetched rows of an answer. `total` is the number of rows in the answer; `snapshot` has the first of
    them, or all. `token` is the same as long as the answer is; `bookmark` is where the engine continues."""

    snapshot: Snapshot
    total: int
    engine: str
    token: object = field(default_factory=object)
    bookmark: tuple[Any, ...] | None = None

    @property
    def is_whole(self) -> bool:
        return self.snapshot.num_rows == self.total


class Question(Protocol):
    """A query in the form that engines take."""

    @property
    def pipeline(self) -> Any: ...

    @property
    def sources(self) -> Mapping[str, Source]: ...


@runtime_checkable
class Remote(Protocol):
    """A source whose rows are on a server; its snapshot has only the columns.

    This protocol has no other members, since each `isinstance` would evaluate them: a table's name requires
    its catalog."""

    @property
    def engine(self) -> Engine: ...


def engine_of(query: Question) -> Engine | None:
    """The engine that must answer the query; None for local rows."""
    for name in query.pipeline.sources():
        source = query.sources[name]
        if isinstance(source, Remote):
            return source.engine
    return None


class SourceStore(Protocol):
    """A store, as its tables use it to find one another."""

    @property
    def relations(self) -> Any: ...

    def __getitem__(self, name: str) -> Source: ...


@runtime_checkable
class StoreTable(Protocol):
    """A table of a store."""

    @property
    def store(self) -> SourceStore: ...


@dataclass(frozen=True)
class SnapshotSource:
    """The rows of a snapshot as a source."""

    frozen_snapshot: Snapshot

    @property
    def name(self) -> str:
        return self.frozen_snapshot.name

    @property
    def schema(self) -> pa.Schema:
        return self.frozen_snapshot.schema

    def snapshot(self) -> Snapshot:
        return self.frozen_snapshot


def whole_snapshot(source: Source, job: Job) -> Snapshot:
    """A snapshot of all rows; rows that have not arrived yet are read first. Raises `BadQuery` for remote
    rows."""
    if isinstance(source, Remote):
        raise BadQuery(
            f"'{source.name}' is on {source.engine.title}, and cannot be read here as a whole",
            "Its rows stay on the server; only answers are transferred",
            "Query it, or export it and open the file",
        )
    snapshot = source.snapshot()
    if not snapshot.complete and isinstance(source, Fillable):
        source.fill(job)
        return source.snapshot()
    return snapshot


def sibling(source: Source, name: str) -> Source | None:
    """Another table of the same store; None if there is no store. Raises `UnknownTable`."""
    return source.store[name] if isinstance(source, StoreTable) else None


def related_keys(source: Source, target: Source, relation: str | None) -> Keys | None:
    """The keys of the relation between two tables of one store, which `relation` names if there are several;
    None if the sources cannot be related. Raises `StoreProblem` if there is no such relation."""
    if (
        not (isinstance(source, StoreTable) and isinstance(target, StoreTable))
        or source.store is not target.store
    ):
        return None
    link = source.store.relations.between(source.name, target.name, relation)
    return link.columns, link.other_columns


def merge_sources(
    ours: Mapping[str, Source], theirs: Mapping[str, Source]
) -> tuple[dict[str, Source], dict[str, str]]:
    """Merge the datasets of both; return them with the names that `theirs` have among them."""
    sources, names = dict(ours), {}
    for name, dataset in theirs.items():
        called, number = name, 2
        while called in sources and sources[called] is not dataset:
            called, number = f"{name}#{number}", number + 1
        sources[called] = dataset
        names[name] = called
    return sources, names
