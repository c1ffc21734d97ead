"""ZODB: persistent objects in a BTree, in a FileStorage."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import version
from typing import Any

import ZODB
from BTrees.LOBTree import LOBTree
from BTrees.OOBTree import OOTreeSet
from persistent import Persistent
from ZODB.FileStorage import FileStorage

from lamella.core.bench.systems.base import Rows, TableSystem
from lamella.core.bench.systems.rows import names_of, object_blocks
from lamella.core.bench.workloads.model import Columns, Values
from lamella.core.bench.workloads.table_rows import BLOCK_ROWS, Row, dicts

NumberedRecords = list[tuple[int, "Record"]]


class Record(Persistent):  # type: ignore[misc]  # ZODB has no type hints
    """A row, with an attribute for each column."""

    def __init__(self, row: Row) -> None:
        self.__dict__.update(row)


class ZODBTree(TableSystem):
    """The tree's keys are the workload's keys, or number the rows."""

    id = "zodb"
    description = (
        "FileStorage, a persistent object for each row with an attribute for each column, in an LOBTree "
        "by key; queries load every object and filter in Python; an index is a tree of values that the "
        "program fills; default cache; every commit is durable (synced)"
    )

    @classmethod
    def version(cls) -> str:
        return version("ZODB")

    @property
    def columns(self) -> int:
        return len(names_of(self.workload))

    def open(self, writing: bool) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        storage = FileStorage(str(self.folder / "benchmark.fs"), pack_keep_old=False)
        self._db: Any = ZODB.DB(storage)
        self._connection: Any = self._db.open()

    def close(self) -> None:
        self._connection.close()
        self._db.close()

    def disk_bytes(self) -> int:
        """Return the bytes of data and index, without the temporary file of commits, which the next opening
        empties."""
        return sum(file.stat().st_size for file in self.folder.glob("*.fs*") if file.suffix != ".tmp")

    def vacuum(self) -> bool:
        self._db.pack()
        return True

    def prepare(self, rows: Rows) -> NumberedRecords:
        return self._numbered_records(rows, 0)

    def create(self, prepared: NumberedRecords) -> None:
        self._root["rows"] = LOBTree(prepared)
        self._commit()

    def fill(self, blocks: Iterable[Columns]) -> None:
        """Commit each block separately, so that not all objects have to be in memory."""
        rows = self._root["rows"] = LOBTree()
        for number, block in enumerate(blocks):
            rows.update(self._numbered_records(dicts(block), number * BLOCK_ROWS))
            self._commit()

    def read(self) -> list[Record]:
        return [record for record in self._rows.values() if _load(record)]

    def query(self) -> list[Any]:
        return [row for row in self._rows.values() if row.col1 > 100 and row.col97 < 1000]

    def find(self) -> list[Any]:
        indexes = self._root.get("indexes", {})
        if "col0" in indexes:
            return [self._rows[number] for _, number in indexes["col0"].keys((-1,), (-1, float("inf")))]
        return [row for row in self._rows.values() if row.col0 == -1]

    def get(self, row_id: int) -> Any:
        record = self._rows[row_id]
        record._p_activate()
        return record

    def as_row(self, answer: Any) -> Row:
        return {name: getattr(answer, name) for name in names_of(self.workload)}

    def index(self, column: str) -> bool:
        """Create a sorted set of pairs of a value and a row's key; for the key itself, the tree is the
        index."""
        if column == self.workload.key:
            return False
        pairs = ((getattr(record, column), number) for number, record in self._rows.items())
        self._root["indexes"] = {column: OOTreeSet(pairs)}
        self._commit()
        return True

    def prepare_update(self, rows: Rows) -> list[tuple[int, Row]]:
        key = self.workload.key
        assert key is not None
        return [(int(row[key]), row) for row in rows]

    def update(self, prepared: list[tuple[int, Row]]) -> None:
        rows = self._rows
        for number, values in prepared:
            record = rows[number]
            for name, value in values.items():
                setattr(record, name, value)
        self._commit()

    def prepare_update_by_row_id(self, row_ids: Sequence[int], rows: Rows) -> list[tuple[int, Row]]:
        return list(zip(row_ids, rows, strict=True))

    def delete(self, row_ids: Sequence[int]) -> None:
        rows = self._rows
        for row_id in row_ids:
            del rows[row_id]
        self._commit()

    def blocks(self, answer: list[Any], names: Sequence[str]) -> Iterator[Sequence[Values]]:
        return object_blocks(answer, names)

    @property
    def _root(self) -> Any:
        return self._connection.root()

    @property
    def _rows(self) -> Any:
        return self._root["rows"]

    def _commit(self) -> None:
        self._connection.transaction_manager.commit()

    def _numbered_records(self, rows: Rows, start: int) -> NumberedRecords:
        key = self.workload.key
        if key:
            return [(int(row[key]), Record(row)) for row in rows]
        return [(number, Record(row)) for number, row in enumerate(rows, start)]


def _load(record: Any) -> bool:
    """Load the values of an object; until then, it is empty."""
    record._p_activate()
    return True
