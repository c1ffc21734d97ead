"""A table of a store: read like any dataset, changed by commits."""

from __future__ import annotations

from lamella.core.store.state import State
from lamella.core.store.table_changes import TableChanges
from lamella.core.store.table_columns import TableColumns
from lamella.core.store.table_history import TableHistory
from lamella.core.store.table_indexes import TableIndexes
from lamella.core.store.table_relations import TableRelations
from lamella.core.store.table_search import TableSearch
from lamella.core.store.table_upkeep import TableUpkeep
from lamella.core.store.versions import When


class Table(TableChanges, TableColumns, TableHistory, TableIndexes, TableRelations, TableSearch, TableUpkeep):
    """Rows with an `_id`, in `_id` order. Any thread; changes wait for each other."""

    def state(self, as_of: When | None = None) -> State:
        return self._reader.current() if as_of is None else self._state_at(as_of)
