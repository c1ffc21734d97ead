"""Rows from which charts, cards and profiles are computed by statements in DuckDB's dialect. DuckDB runs them
on local rows, an engine on the rows that it holds."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager

import pyarrow as pa

from lamella.core.filters.expr import Filter
from lamella.core.jobs import Job
from lamella.core.libraries import duckdb
from lamella.core.query.builder import Query
from lamella.core.query.duckdb_source import Decodings
from lamella.core.query.engine import query_cursor
from lamella.core.query.fields import Fields
from lamella.core.query.plan import Identifiers, Node, QueryContext, ScanNode
from lamella.core.query.pruning import stated_extremes
from lamella.core.query.scan_query import as_scan
from lamella.core.query.source import FigureRows, engine_of, whole_snapshot
from lamella.core.scan.snapshot import Snapshot

Types = Mapping[str, pa.DataType]


class LocalRows:
    """Local rows. With `decodes`, columns of files are decoded into memory when they are read again, since
    further charts of them are likely."""

    def __init__(
        self,
        node: Node,
        token: Hashable,
        connection: duckdb.DuckDBPyConnection,
        job: Job,
        decodes: bool = True,
        scan: tuple[Snapshot, Filter | None] | None = None,
    ) -> None:
        self._node, self.token, self._connection, self._job = node, token, connection, job
        self.scan = scan
        self._decodes = decodes
        self.is_remote = False

    @property
    def fields(self) -> Fields:
        return self._node.fields

    @property
    def sample_key(self) -> str | None:
        return self._node.order[0].identifier if self._node.order else None

    def relation(self, identifiers: Identifiers) -> str:
        context = QueryContext(
            self._connection,
            self._job,
            decodings=Decodings() if self._decodes else None,
            grouping=self._decodes,
        )
        return self._node.query(identifiers, context).sql("duckdb")

    def stated_extremes(self, name: str) -> tuple[int | float, int | float, int] | None:
        node = self._node
        if not isinstance(node, ScanNode) or node.where or name not in node.snapshot.by_name:
            return None
        extremes = stated_extremes(node.snapshot, node.snapshot.by_name[name])
        return None if extremes is None else (*extremes, node.snapshot.num_rows)

    def read(self, statement: str, types: Types) -> pa.Table:
        self._job.check()
        return self._connection.sql(statement).to_arrow_table()

    def constants(self, name: str, values: pa.ChunkedArray) -> str:
        places = pa.array(range(len(values)), pa.int64())
        self._connection.register(name, pa.table({"v": values, "k": places}))
        return f"(SELECT list(v ORDER BY k) FROM {name})"


@contextmanager
def figure_rows(query: Query, job: Job) -> Iterator[FigureRows]:
    """Yield the rows of a query's answer. Blocks while statements run. Raises like `Query.read`."""
    from lamella.core.query.compile import compile_pipeline

    engine = engine_of(query)
    if engine is not None:
        yield engine.figure_rows(query, job)
        return
    rows = {name: whole_snapshot(query.sources[name], job) for name in query.pipeline.sources()}
    node = compile_pipeline(query.pipeline, rows.__getitem__, job)
    token = (repr(query.pipeline), *(row.token for row in rows.values()))
    with query_cursor(node.fields.place, job) as connection:
        scan = as_scan(query.pipeline.steps)
        is_plain = scan is not None and scan.limit is None and not scan.offset
        scanned = (rows[query.pipeline.source], scan.where) if scan is not None and is_plain else None
        yield LocalRows(node, token, connection, job, scan=scanned)
