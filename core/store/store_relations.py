"""How the tables of a store belong together."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, cast

from lamella.core.jobs import Job
from lamella.core.store.catalog.queries import Catalog
from lamella.core.store.table import Table

if TYPE_CHECKING:
    from lamella.core.relations import Direction, Link, Relation
    from lamella.core.relations.checking import RelationCheck
    from lamella.core.relations.graphs import Edges
    from lamella.core.relations.suggesting import Suggestion
    from lamella.core.store.declared_relations import DeclaredRelations
    from lamella.core.store.store import Store


class StoreRelations(ABC):
    """Relations belong to the store, not to a version: they are neither undone nor restored. They follow what
    tables and columns are called, and what a cast makes of a column; dropping a table drops its own."""

    catalog: Catalog

    @property
    @abstractmethod
    def tables(self) -> list[str]: ...

    def relate(
        self, one: str | Iterable[str], other: str | Iterable[str], name: str | None = None
    ) -> Relation:
        """Declare that rows of one table point at rows of another by equal values.

            store.relate("flights.carrier", "airlines.carrier")
            store.relate(["flights.origin", "flights.time_hour"], ["weather.origin", "weather.time_hour"])

        The first end is what points: many flights at one airline. Nothing is checked of the rows; see
        `check_relations`. Without a `name` it is called after table and columns: `flights_carrier`.
        Raises `UnknownTable`, `UnknownColumn`, `TypeConflict` for columns whose values are never equal, and
        `StoreProblem` where there is such a relation or name already.
        """
        return self._relations().declare(one, other, name)

    @property
    def relations(self) -> tuple[Relation, ...]:
        """The first declared first. One whose column was dropped says so in its `problem`."""
        return self._relations().all()

    def unrelate(self, name: str) -> None:
        """Give a relation up; no row changes. Raises `UnknownRelation`."""
        self._relations().drop(name)

    def relation_between(
        self, table: str, other: str, through: str | None = None, direction: Direction | None = None
    ) -> Link:
        """How rows of `table` lead to rows of `other`: by `columns` that equal `other_columns`.

        `through` names a relation where there are several, `direction` tells the two ways of one that leads
        from a table to itself. Raises `UnknownTable`, `UnknownRelation`, and `StoreProblem` where none leads
        there.
        """
        return self._relations().between(table, other, through, direction)

    def check_relations(self, *names: str, job: Job | None = None) -> tuple[RelationCheck, ...]:
        """Whether the rows that others point at are there: counts and examples by relation, all or these.

        Raises `UnknownRelation`.
        """
        from lamella.core.relations.checking import check

        declared = self._relations()
        asked = [declared.named(name) for name in names] if names else declared.all()
        return tuple(
            check(r, self[r.from_table].snapshot(), self[r.to_table].snapshot(), job or Job()) for r in asked
        )

    def suggest_relations(self, *tables: str, job: Job | None = None) -> tuple[Suggestion, ...]:
        """Relations that these tables, or all, may have, the most likely first; none is declared by this.

        A column may point at one whose values are each there once, if most of a sample is found there, and at
        several columns of the same names in another table. Text says enough by itself; numbers and dates may
        coincide, so they have to be called like what they point at.
        """
        from lamella.core.relations.suggesting import suggestions

        asked = [self[name].snapshot() for name in tables or self.tables]
        return suggestions(asked, self.relations, job or Job())

    def edges(self, table: str, source: str | None = None, target: str | None = None) -> Edges:
        """A table as edges between rows of others: `source` and `target` name the relations that say where
        they begin and end. Where exactly two lead from the table, the first declared is the source.

        Raises `UnknownTable`, `UnknownRelation`, and `StoreProblem` where it is not clear which are meant.
        """
        from lamella.core.relations.graphs import edges_of

        return edges_of(cast("Store", self), table, source, target)

    def from_networkx(
        self,
        graph: Any,
        nodes: str,
        edges: str,
        *,
        key: str = "node",
        ends: tuple[str, str] = ("source", "target"),
        job: Job | None = None,
    ) -> Edges:
        """Two new tables of a networkx graph's nodes and edges, with their attributes as columns, and the
        relations between them: all of it, or nothing.

        What nodes are called is in the column `key`, and in the two columns `ends` of the edges. Keys of
        parallel edges are in a column `key` where networkx did not number them itself. Raises `BadData` for
        names of nodes that have no type in common, `TypeConflict` for nested ones.
        """
        from lamella.core.relations.graphs import tables_of

        return tables_of(cast("Store", self), graph, nodes, edges, key, ends, job)

    @abstractmethod
    def __getitem__(self, name: str) -> Table: ...

    @abstractmethod
    def _table(self, table_id: int) -> Table: ...

    def _relations(self) -> DeclaredRelations:
        from lamella.core.store.declared_relations import DeclaredRelations

        return DeclaredRelations(self.catalog, self._table)
