"""How an answer is found: which parts of the files are read for it, and which are skipped."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import partial

from lamella.core.filters.binding import bind
from lamella.core.filters.expr import columns_read
from lamella.core.jobs import Job
from lamella.core.query.find import Reads, RowSearch, SearchResult, Strategy, own_order
from lamella.core.query.pruning import may_meet
from lamella.core.query.scan_query import ScanQuery
from lamella.core.scan.read import pieces
from lamella.core.scan.snapshot import Snapshot, project


@dataclass(frozen=True)
class Explain:
    """What was read of a dataset's files to answer a query, and what was skipped.

    `seconds` is the time until the rows were found, and `rows` their number. `columns_read` are the columns
    that the condition, the order and the answer need. Rows in memory belong to no file. `files_read` is None
    if row groups were counted over all files together. If no search was needed, nothing is counted. `index`
    names the index that was used; `strategies` are how the rows were found and why: one strategy, or the
    distinct ones of a query on several datasets.
    """

    seconds: float
    rows: int
    columns_read: tuple[str, ...] = ()
    columns_skipped: tuple[str, ...] = ()
    row_groups_read: int = 0
    row_groups_total: int = 0
    files_read: int | None = 0
    files_total: int = 0
    index: str | None = None
    strategies: tuple[Strategy, ...] = ()

    def __str__(self) -> str:
        lines = [
            f"rows        {self.rows:,}",
            f"files       {self._files()}",
            f"row groups  {_part(self.row_groups_read, self.row_groups_total)}",
            f"columns     {_part(len(self.columns_read), len(self.columns_read + self.columns_skipped))}"
            f": {', '.join(self.columns_read) or 'none'}",
            f"index       {self.index or 'none'}",
            f"found by    {'; '.join(map(str, self.strategies))}",
            f"seconds     {self.seconds:.4f}",
        ]
        return "\n".join(lines)

    def _files(self) -> str:
        if self.files_read is None:
            return f"{self.files_total:,}, whose row groups were counted together"
        return _part(self.files_read, self.files_total)


def explain(snapshot: Snapshot, query: ScanQuery, job: Job | None = None) -> Explain:
    """Find the rows of a query, and report what that took. The rows themselves are not fetched."""
    started = time.perf_counter()
    if query.where is None and not query.sort:
        rows, result = own_order(snapshot, query.offset, query.limit)
    else:
        stop = None if query.limit is None else query.offset + query.limit
        result = RowSearch(snapshot, query.where, query.sort, stop).run(job)
        rows = len(result.positions[query.offset : stop])
        result = replace(result, reads=partial(_reads, snapshot, query, result))
    return explain_result(snapshot, query, result, rows, time.perf_counter() - started)


def explain_result(
    snapshot: Snapshot, query: ScanQuery, result: SearchResult, rows: int, seconds: float
) -> Explain:
    """The report on a search; `rows` is how many of the rows found are in the answer."""
    keys, reads = _columns_read(snapshot, query), result.reads()
    return Explain(
        seconds,
        rows,
        tuple(c.name for c in snapshot.columns if c.key in keys),
        tuple(c.name for c in snapshot.columns if c.key not in keys),
        reads.row_groups_read,
        reads.row_groups_total,
        reads.files_read,
        reads.files_total,
        result.index,
        (result.strategy,),
    )


def _columns_read(snapshot: Snapshot, query: ScanQuery) -> set[int]:
    used = [key.column for key in query.sort]
    if query.where is not None:
        used += columns_read(bind(query.where, snapshot.schema, snapshot.name))
    columns = (*project(snapshot, used), *project(snapshot, query.columns))
    return {column.key for column in columns}


def _reads(snapshot: Snapshot, query: ScanQuery, result: SearchResult) -> Reads:
    """What was read, with the number of files."""
    reads = result.reads()
    return replace(reads, files_read=_files_read(snapshot, query)) if reads.files_read is None else reads


def _files_read(snapshot: Snapshot, query: ScanQuery) -> int:
    """The number of files with row groups that statistics do not rule out."""
    if query.where is None:
        return len(snapshot.files)
    may_match = may_meet(snapshot, bind(query.where, snapshot.schema, snapshot.name))
    segments = {
        id(piece.segment) for piece in pieces(snapshot, 0, snapshot.num_positions) if may_match(piece)
    }
    return sum(id(file) in segments for file in snapshot.files)


def _part(some: int, total: int) -> str:
    return f"{some:,} of {total:,} read, {total - some:,} skipped"
