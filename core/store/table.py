"""A table of a store: read like any dataset, changed by commits."""

from __future__ import annotations

from core.store.state import State
from core.store.table_changes import TableChanges
from core.store.table_columns import TableColumns
from core.store.table_history import TableHistory
from core.store.table_indexes import TableIndexes
from core.store.table_relations import TableRelations
from core.store.table_search import TableSearch
from core.store.table_upkeep import TableUpkeep
from core.store.versions import When


class Table(TableChanges, TableColumns, TableHistory, TableIndexes, TableRelations, TableSearch, TableUpkeep):
    """Rows with an `_id`, in `_id` order. Any thread; changes wait for each other."""

    def state(self, as_of: When | None = None) -> State:
        return self._reader.current() if as_of is None else self._state_at(as_of)
