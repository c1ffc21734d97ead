"""A table of a store as a dataset: what all that can be asked of it stands on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.dataset import Dataset
from core.scan.snapshot import Snapshot
from core.store.reader import Reader
from core.store.writing import TableWriter

if TYPE_CHECKING:
    from core.store.store import Store


class TableHandle(Dataset):
    """Where a table is and what reads and writes it. Any thread; changes wait for each other."""

    editable = True

    def __init__(self, store: Store, table_id: int, reader: Reader, writer: TableWriter) -> None:
        self.store, self.table_id = store, table_id
        self._reader, self._writer = reader, writer

    @property
    def name(self) -> str:  # type: ignore[override]
        return self._reader.current().row.name

    @property
    def version(self) -> int:
        return self._reader.current().version

    def snapshot(self) -> Snapshot:
        return self._reader.current().snapshot
