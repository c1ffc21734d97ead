"""A table of a Spark server as a dataset: its rows stay there, and only the answers of queries travel."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import pyarrow as pa

from lamella.core.arrow.interchange import sized_batches
from lamella.core.datasets.base import Dataset
from lamella.core.errors import BadData, UnknownColumn
from lamella.core.filters.condition import Condition, condition_of
from lamella.core.jobs import Job
from lamella.core.query.builder import Query, query_of
from lamella.core.query.scan_query import scan_query_of
from lamella.core.query.spark.answers import SparkEngine
from lamella.core.query.spark.plan import columns_of, shown_schema
from lamella.core.query.steps import Limit, Select, Sort, Step, Where
from lamella.core.remote.spark_connect import ServerTable, SparkServer, parse_address, server_at
from lamella.core.scan.snapshot import NOTE, Column, Snapshot

if TYPE_CHECKING:
    from lamella.core.query.profile import ColumnProfile


class SparkTable(Dataset):
    """A table of a Spark server; `open_spark_table` creates it. `key` are the columns that identify its rows
    and order them."""

    def __init__(
        self, server: SparkServer, table: ServerTable, stored: pa.Schema, key: tuple[str, ...] = ()
    ) -> None:
        self.server, self.table, self.stored_schema, self.key = server, table, stored, key
        self.name = table.name
        self.engine = SparkEngine(server)
        for name in key:
            if name not in self.schema.names:
                raise UnknownColumn(name, self.name, self.schema.names)

    @property
    def address(self) -> str:
        """The address that opens the table again."""
        return self.server.address.of(self.table)

    @property
    def relation(self) -> str:
        return self.table.sql

    @cached_property
    def schema(self) -> pa.Schema:
        return shown_schema(self.stored_schema)

    def with_key(self, *columns: str) -> SparkTable:
        """Return the table with its rows ordered by a key: the columns that identify them. Without a key
        their order is undefined, and a limit returns arbitrary rows. Raises `UnknownColumn`."""
        return SparkTable(self.server, self.table, self.stored_schema, columns)

    def snapshot(self) -> Snapshot:
        """Return a snapshot of the columns without rows: these are on the server."""
        columns = [
            Column(field.name, field.type, place, note=(field.metadata or {}).get(NOTE, b"").decode())
            for place, field in enumerate(self.schema)
        ]
        return Snapshot(
            self.name, tuple(columns), (), ("spark", self.address, columns_of(self.stored_schema))
        )

    def count(self, where: Condition | None = None, job: Job | None = None) -> int:
        condition = condition_of(where, f"{self.name}: where", self)
        rows = self.query()
        return (rows if condition is None else rows.where(condition)).count(job)

    def read(
        self,
        columns: list[str] | None = None,
        where: Condition | None = None,
        sort: list[str] | None = None,
        limit: int | None = None,
        offset: int = 0,
        job: Job | None = None,
        *,
        flatten: bool = False,
    ) -> pa.Table:
        return self._rows(columns, where, sort, limit, offset, flatten).read(job)

    def batches(
        self,
        columns: list[str] | None = None,
        where: Condition | None = None,
        sort: list[str] | None = None,
        job: Job | None = None,
        *,
        flatten: bool = False,
        batch_size: int | None = None,
    ) -> pa.RecordBatchReader:
        reader = self._rows(columns, where, sort, None, 0, flatten).batches(job)
        return reader if batch_size is None else sized_batches(reader, batch_size, self.name)

    def profile(self, column: str, where: Condition | None = None, job: Job | None = None) -> ColumnProfile:
        from lamella.core.query.engine_figures import profile_of_query

        condition = condition_of(where, f"{self.name}: where", self)
        rows = self.query() if condition is None else self.query().where(condition)
        return profile_of_query(rows, column, job or Job())

    def head(self, count: int = 5) -> pa.Table:
        return self._rows(None, None, None, count, 0, False).read()

    def _rows(
        self,
        columns: Sequence[str] | None,
        where: Condition | None,
        sort: Sequence[str] | None,
        limit: int | None,
        offset: int,
        flatten: bool,
    ) -> Query:
        if flatten:
            raise BadData(
                f"{self.name}: rows of a Spark server are not flattened",
                fix="Select the fields by their paths",
            )
        scan = scan_query_of(self.snapshot(), columns, where, sort, limit, offset)
        steps: list[Step] = []
        if scan.where is not None:
            steps.append(Where(scan.where))
        if scan.sort:
            steps.append(Sort(scan.sort))
        if scan.limit is not None or scan.offset:
            steps.append(Limit(scan.limit, scan.offset))
        if scan.columns is not None:
            steps.append(Select(tuple(scan.columns)))
        return query_of(self).with_steps(tuple(steps))

    def __repr__(self) -> str:
        return f"<SparkTable {self.address}>"


def open_spark_table(address: str, key: Sequence[str] = (), job: Job | None = None) -> SparkTable:
    """Open a table, or a path that the server can read, of a Spark server: `sc://host:15002/sales.trips`, or
    `sc://host/parquet:/data/trips`. Blocks. Raises `BadData` for an address without a table, `ServerProblem`
    and `ServerRefusal`."""
    where, table = parse_address(address)
    if table is None:
        raise BadData(
            f"'{address}' names a server, but none of its tables",
            fix="Write it as sc://host:15002/database.table, or sc://host:15002/parquet:/path",
        )
    server = server_at(where)
    return SparkTable(server, table, server.schema(f"SELECT * FROM {table.sql}", job), tuple(key))
