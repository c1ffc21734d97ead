"""A table as it was."""

from __future__ import annotations

from lamella.core.errors import BadData
from lamella.core.store.rows_by_id import RowsById
from lamella.core.store.state import State
from lamella.core.store.versions import When


class OldVersion(RowsById):
    """A version of a table, with the columns it had. Its files stay on disk while anybody refers to it."""

    def __init__(self, state: State) -> None:
        self._state = state
        self.name = state.row.name

    def __repr__(self) -> str:
        return f"<OldVersion {self.version} of '{self.name}'>"

    @property
    def version(self) -> int:
        return self._state.version

    def state(self, as_of: When | None = None) -> State:
        if as_of is not None:
            raise BadData(
                f"{self.name}: version {self.version} has no versions of its own", fix="Ask the table for it"
            )
        return self._state
