"""SQLite over Parquet by virtual tables: one for each file under views, as published, or one for all."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from lamella.core.bench.taxi.backend import TaxiBackend
from lamella.core.bench.taxi.columns import SCHEMA
from lamella.core.bench.taxi.pyarrow import CONVERTED
from lamella.core.bench.taxi.queries import QUERIES, SQLITE_MILLISECONDS, SQLITE_VIEWS, view

if TYPE_CHECKING:
    import apsw

_BLOCK_BYTES = 64 << 20
"""Of text, which becomes a row group: about 130,000 rows."""

_HELD = pa.schema([f.with_type(pa.int64()) if pa.types.is_timestamp(f.type) else f for f in SCHEMA])


class OverParquet(TaxiBackend):
    """A Parquet file for each CSV file, Snappy, times as milliseconds since 1970 in whole numbers."""

    statements: ClassVar[Mapping[str, str]]

    @classmethod
    def version(cls) -> str:
        import apsw

        return f"{apsw.sqlite_lib_version()} (apsw)"

    @property
    def _parquet(self) -> Path:
        return self.folder / "trips"

    def fill(self, rows: int) -> None:
        self._parquet.mkdir()
        for number, file in enumerate(self.files(rows)):
            _convert(file, self._parquet / f"trips_{number:02}.parquet")

    def open(self, writing: bool) -> None:
        self._connection = self._connected()

    def close(self) -> None:
        self._connection.close()

    def ask(self, query: str) -> list[tuple[Any, ...]]:
        return self._connection.execute(self.statements[query]).fetchall()

    def rows_of(self, answer: list[tuple[Any, ...]]) -> Iterable[Sequence[Any]]:
        return answer

    def whole_trips(self, ids: Sequence[int]) -> pa.Table:
        marks = ", ".join("?" * len(ids))
        asked = f"SELECT {', '.join(SCHEMA.names)} FROM {{}} WHERE trip_id IN ({marks})"
        rows = [row for table in self._tables for row in self._connection.execute(asked.format(table), ids)]
        columns = zip(zip(*rows, strict=True), _HELD, strict=True)
        return pa.table([pa.array(cells, field.type) for cells, field in columns], _HELD).cast(SCHEMA)

    @property
    @abstractmethod
    def _tables(self) -> Sequence[str]:
        """Those that hold the trips together."""

    @abstractmethod
    def _connected(self) -> apsw.Connection:
        """With the tables that `statements` name."""


class TableForEachFile(OverParquet):
    id = "sqlite-parquet"
    statements = SQLITE_VIEWS

    @property
    def _tables(self) -> Sequence[str]:
        return [file.stem for file in sorted(self._parquet.iterdir())]

    @classmethod
    def describe(cls) -> str:
        return (
            "a virtual table for each Parquet file, under the published views that add them up; "
            "reads only: files written with Snappy, not synced, so not durable"
        )

    def _connected(self) -> apsw.Connection:
        from lamella.core.bridge import connect

        connection = connect(sorted(self._parquet.iterdir()))
        for query in QUERIES:
            connection.execute(view(query, list(self._tables)))
        return connection


class OneTable(OverParquet):
    id = "sqlite-parquet-one-table"
    statements = SQLITE_MILLISECONDS
    _tables = ("trips",)

    @classmethod
    def describe(cls) -> str:
        return (
            "one virtual table over all Parquet files, and no views; "
            "reads only: files written with Snappy, not synced, so not durable"
        )

    def _connected(self) -> apsw.Connection:
        from lamella.core.bridge import connect

        return connect(self._parquet)


def _convert(source: Path, target: Path) -> None:
    block = pa.csv.ReadOptions(block_size=_BLOCK_BYTES)
    with (
        pa.csv.open_csv(source, read_options=block, convert_options=CONVERTED) as reader,
        pq.ParquetWriter(target, _HELD, compression="snappy") as writer,
    ):
        for batch in reader:
            writer.write_table(pa.Table.from_batches([batch]).cast(_HELD))
