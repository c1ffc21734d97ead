"""The content of a diagram: the tables of a store with their columns, and the relations between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lamella.core.arrow.types import ID
from lamella.core.errors import LamellaError
from lamella.core.filters.expr import Predicate, all_of
from lamella.core.jobs import Job
from lamella.core.query.line import Line
from lamella.core.query.steps import Join, Pipeline, Select, Where
from lamella.core.relations import Relation
from lamella.core.relations.checking import RelationCheck
from lamella.core.relations.relation import apart
from lamella.core.relations.suggesting import Suggestion, likeness
from lamella.core.scan.snapshot import Column
from lamella.core.store.store import Store

LEAST_LIKENESS = 0.5


@dataclass(frozen=True)
class TableShape:
    """A table. If it cannot be read, `rows` is None and `problem` says why. Its last column is `_id`."""

    name: str
    columns: tuple[Column, ...] = ()
    rows: int | None = None
    problem: str = ""

    def column(self, name: str) -> Column | None:
        return next((column for column in self.columns if column.name == name), None)


@dataclass(frozen=True)
class StoreShape:
    """The tables of a store. `stamp` changes whenever tables, columns or relations do."""

    tables: tuple[TableShape, ...]
    relations: tuple[Relation, ...]
    stamp: object = None

    def table(self, name: str) -> TableShape | None:
        return next((table for table in self.tables if table.name == name), None)

    @property
    def rows(self) -> int:
        return sum(table.rows or 0 for table in self.tables)


def read_stamp(store: Store) -> object:
    """The current stamp of a store. Blocks, but quick: no table is read."""
    return tuple(store.tables), tuple(store.relations)


def read_shape(store: Store, job: Job) -> StoreShape:
    """Read the tables. Blocks. A table that cannot be read is included with its problem; one that is dropped
    meanwhile is not."""
    stamp = read_stamp(store)
    tables = []
    for name in store.tables:
        job.check()
        try:
            snapshot = store[name].snapshot()
        except LamellaError as error:
            if name in store:
                tables.append(TableShape(name, problem=str(error)))
            continue
        own = [column for column in snapshot.columns if column.name != ID]
        ids = [column for column in snapshot.columns if column.name == ID]
        tables.append(TableShape(name, (*own, *ids), snapshot.num_rows))
    return StoreShape(tuple(tables), tuple(store.relations), stamp)


@dataclass(frozen=True)
class Connection:
    """A line of the diagram: a relation, or a suggested one. Its `name` is unique."""

    name: str
    from_table: str
    from_columns: tuple[str, ...]
    to_table: str
    to_columns: tuple[str, ...]
    suggestion: Suggestion | None = None
    problem: str = ""
    check: RelationCheck | None = None

    @property
    def is_suggested(self) -> bool:
        return self.suggestion is not None

    @property
    def dangling(self) -> int:
        return 0 if self.check is None else self.check.dangling

    @property
    def cardinality(self) -> tuple[str, str]:
        """The cardinality of each end: "n", "1", or empty if unknown. That of an `_id` is always "1"."""
        if self.check is not None and not self.problem:
            return self.check.cardinality
        if self.suggestion is not None or self.to_columns == (ID,):
            return "", "1"
        return "", ""

    @property
    def text(self) -> str:
        """The columns of both ends: `flights.carrier → airlines.carrier`."""
        ends = ((self.from_table, self.from_columns), (self.to_table, self.to_columns))
        return " → ".join(
            f"{table}.{names[0]}" if len(names) == 1 else f"{table}.({', '.join(names)})"
            for table, names in ends
        )

    @property
    def sentence(self) -> str:
        """How its rows are related, in words."""
        words = {"n": "many rows of", "1": "one row of", "": "rows of"}
        source, target = self.cardinality
        return f"{words[source].capitalize()} {self.from_table} point at {words[target]} {self.to_table}"


def connection_of(relation: Relation, check: RelationCheck | None = None) -> Connection:
    return Connection(
        relation.name, relation.from_table, relation.from_columns, relation.to_table, relation.to_columns,
        None, relation.problem, check,
    )  # fmt: skip


def suggested_connection(suggestion: Suggestion) -> Connection:
    source, target = suggestion.endpoints
    return Connection(
        f"{' '.join(source)} → {' '.join(target)}", suggestion.from_table, suggestion.from_columns,
        suggestion.to_table, suggestion.to_columns, suggestion,
    )  # fmt: skip


def column_names(
    from_table: str, from_columns: Sequence[str], to_table: str, to_columns: Sequence[str]
) -> tuple[list[str], list[str]]:
    """The ends of a relation in the form that `declare` takes."""
    return [f"{from_table}.{name}" for name in from_columns], [f"{to_table}.{name}" for name in to_columns]


def mismatch(table: TableShape, column: str, target: TableShape, other_column: str) -> str:
    """Why values of the two columns can never be equal; empty if they can, or if a column is gone."""
    source_column, two = table.column(column), target.column(other_column)
    if source_column is None or two is None:
        return ""
    if table.name == target.name and column == other_column:
        return "A column cannot point at itself"
    return apart(table.name, source_column, target.name, two)


def likely_target(table: TableShape, column: str, target: TableShape) -> str:
    """The column of `target` that a column of `table` may point at; empty if none has suitable values."""
    fitting = [
        candidate.name for candidate in target.columns if not mismatch(table, column, target, candidate.name)
    ]
    if not fitting:
        return ""
    within = table.name == target.name
    scores = {name: likeness(column, target.name, name, within)[0] for name in fitting}
    best = max(fitting, key=lambda name: scores[name])
    return best if scores[best] >= LEAST_LIKENESS or len(fitting) == 1 else ""


def dangling_rows(connection: Connection, store: Store, job: Job) -> Line:
    """The rows that point at nothing, as steps on the pointing table. Blocks."""
    target = store[connection.to_table]
    has_key = [Predicate(name, "not_null") for name in connection.from_columns]
    pointed_at = Pipeline(target.name, (Select(tuple(connection.to_columns)),))
    missing = Join(pointed_at, connection.from_columns, connection.to_columns, "anti", f"_{target.name}")
    return Line.of([Where(all_of(has_key)), missing], {target.name: target})


def joined_rows(connection: Connection, store: Store, job: Job) -> Line:
    """The rows of the pointing table, joined with what they point at. Blocks."""
    target = store[connection.to_table]
    names = tuple(dict.fromkeys([n for n in target.schema.names if n != ID] + list(connection.to_columns)))
    pointed_at = Pipeline(target.name, (Select(names),))
    join = Join(pointed_at, connection.from_columns, connection.to_columns, "left", f"_{target.name}")
    return Line.of([join], {target.name: target})


def keys_by_table(connections: Sequence[Connection]) -> Mapping[str, frozenset[str]]:
    """The columns of each table that are part of a relation."""
    keys: dict[str, set[str]] = {}
    for connection in connections:
        if not connection.is_suggested:
            keys.setdefault(connection.from_table, set()).update(connection.from_columns)
            keys.setdefault(connection.to_table, set()).update(connection.to_columns)
    return {table: frozenset(names) for table, names in keys.items()}
