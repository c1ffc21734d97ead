"""A table as it was."""

from __future__ import annotations

from core.dataset import Dataset
from core.scan.snapshot import Snapshot
from core.store.state import State


class OldVersion(Dataset):
    """A version of a table, with the columns it had. Its files stay on disk while anybody refers to it."""

    def __init__(self, state: State) -> None:
        self._state = state
        self.name = state.row.name

    @property
    def version(self) -> int:
        return self._state.version

    def snapshot(self) -> Snapshot:
        return self._state.snapshot
