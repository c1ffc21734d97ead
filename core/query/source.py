"""What a query reads: the protocol that datasets fulfil, so that queries know neither files nor stores."""

from __future__ import annotations

import datetime as dt
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import pyarrow as pa

from lamella.core.errors import BadQuery
from lamella.core.jobs import Job
from lamella.core.scan.snapshot import Snapshot

if TYPE_CHECKING:
    from lamella.core.query.fields import Fields

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


@runtime_checkable
class Fillable(Protocol):
    """Rows that come in while somebody reads: those of a file with a cache."""

    def fill(self, job: Job) -> None:
        """Make every row reachable: `snapshot().complete` is true afterwards."""
        ...


@runtime_checkable
class Versioned(Protocol):
    """Rows that have versions, and follow changes."""

    def as_of(self, when: When) -> Source:
        """The rows as they were. Raises `StoreProblem` for a version that has expired."""
        ...


@runtime_checkable
class Pinned(Protocol):
    """Rows that stay at a version."""

    @property
    def pinned_version(self) -> int: ...


@runtime_checkable
class Computed(Protocol):
    """Rows of which a statement computes some columns."""

    @property
    def figures(self) -> frozenset[str]:
        """The names of those that are averages or the like: their last digits mean nothing."""
        ...


class Engine(Protocol):
    """What answers queries of rows that lie elsewhere: it computes there, and answers alone travel. All of it
    blocks, and is stopped by cancelling the job."""

    @property
    def title(self) -> str:
        """What people call it, with where it is."""
        ...

    def schema(self, query: Question, job: Job) -> pa.Schema: ...

    def read(self, query: Question, job: Job) -> pa.Table: ...

    def batches(self, query: Question, job: Job) -> pa.RecordBatchReader: ...

    def count(self, query: Question, job: Job) -> int: ...

    def fetch(self, query: Question, job: Job, before: Fetched | None = None) -> Fetched:
        """The answer as rows that lie here, as far as a limit goes; with the rows that were fetched `before`,
        so many rows further."""
        ...

    def figure_rows(self, query: Question, job: Job) -> FigureRows:
        """The rows of the answer, for statements that compute figures of all of them there."""
        ...


class FigureRows(Protocol):
    """Rows that charts, cards and profiles are computed of, by statements in DuckDB's dialect. Used by one
    thread, as long as it is open."""

    @property
    def fields(self) -> Fields: ...

    @property
    def token(self) -> Hashable:
        """The same for the same rows; None where nobody can tell whether they changed."""
        ...

    @property
    def is_remote(self) -> bool:
        """Whether quantiles of very many values are estimated: no machine of a cluster holds them all."""
        ...

    @property
    def sample_key(self) -> str | None:
        """The identifier of a column by whose hash rows are chosen for estimates; None where the engine has
        estimates of its own."""
        ...

    def stated_extremes(self, name: str) -> tuple[float, float, int] | None:
        """The least and the greatest value of a column of floats that has no nulls, as files state them, and
        how many rows there are: NaN is left out of these. None where nothing states them."""
        ...

    def relation(self, identifiers: frozenset[str]) -> str:
        """A SELECT of at least the columns of these identifiers."""
        ...

    def read(self, statement: str, types: Mapping[str, pa.DataType]) -> pa.Table:
        """The answer of a statement over `relation`; `types` are those of the columns that it names itself.
        Raises `BadSql` for what the engine's dialect lacks."""
        ...

    def constants(self, name: str, values: pa.ChunkedArray) -> str:
        """An expression of a list of these values; `name` tells several lists apart."""
        ...


@dataclass(frozen=True)
class Fetched:
    """`total` is how many rows the answer has; `snapshot` holds the first of them, or all. `token` is the
    same as long as the answer is; `bookmark` is where its engine goes on."""

    snapshot: Snapshot
    total: int
    engine: str
    token: object = field(default_factory=object)
    bookmark: tuple[Any, ...] | None = None

    @property
    def is_whole(self) -> bool:
        return self.snapshot.num_rows == self.total


class Question(Protocol):
    """A query, as engines take it."""

    @property
    def pipeline(self) -> Any: ...

    @property
    def sources(self) -> Mapping[str, Source]: ...


@runtime_checkable
class Remote(Protocol):
    """A source whose rows lie elsewhere; a snapshot of it has the columns alone.

    It has no other members, as each `isinstance` reads them all: the name of a table is in its catalog."""

    @property
    def engine(self) -> Engine: ...


def engine_of(query: Question) -> Engine | None:
    """The one that has to answer the query; None for rows that are here."""
    for name in query.pipeline.sources():
        source = query.sources[name]
        if isinstance(source, Remote):
            return source.engine
    return None


class SourceStore(Protocol):
    """What a table of a store knows the others by."""

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
    """The rows of a snapshot, to be queried."""

    frozen: Snapshot

    @property
    def name(self) -> str:
        return self.frozen.name

    @property
    def schema(self) -> pa.Schema:
        return self.frozen.schema

    def snapshot(self) -> Snapshot:
        return self.frozen


def whole_snapshot(source: Source, job: Job) -> Snapshot:
    """All rows, frozen: what is not reachable yet is read first. Raises `BadQuery` for those elsewhere."""
    if isinstance(source, Remote):
        raise BadQuery(
            f"'{source.name}' lies on {source.engine.title}, and cannot be read here as a whole",
            "Its rows stay there, and answers alone travel",
            "Ask for it as a query, or export it and open the file",
        )
    snapshot = source.snapshot()
    if not snapshot.complete and isinstance(source, Fillable):
        source.fill(job)
        return source.snapshot()
    return snapshot


def sibling(source: Source, name: str) -> Source | None:
    """Another table of the same store; None where there is no store. Raises `UnknownTable`."""
    return source.store[name] if isinstance(source, StoreTable) else None


def related_keys(source: Source, other: Source, relation: str | None) -> Keys | None:
    """The keys of the relation between two tables of one store, by its name where several lead there; None
    for what cannot be related. Raises `StoreProblem` where no relation leads there."""
    if (
        not (isinstance(source, StoreTable) and isinstance(other, StoreTable))
        or source.store is not other.store
    ):
        return None
    link = source.store.relations.between(source.name, other.name, relation)
    return link.columns, link.other_columns


def merge_sources(
    ours: Mapping[str, Source], theirs: Mapping[str, Source]
) -> tuple[dict[str, Source], dict[str, str]]:
    """The datasets of both, and what each of `theirs` is called among them."""
    sources, names = dict(ours), {}
    for name, dataset in theirs.items():
        called, number = name, 2
        while called in sources and sources[called] is not dataset:
            called, number = f"{name}#{number}", number + 1
        sources[called] = dataset
        names[name] = called
    return sources, names
