"""The planner: finds the rows that meet a filter, in sort order, with an index, masks or DuckDB."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property, partial, reduce

import numpy as np
import pyarrow as pa
from pyarrow import types as is_

from lamella.core.arrow.arrays import to_numpy
from lamella.core.arrow.sorted_ids import EMPTY, among, union, without
from lamella.core.filters.binding import bind, bind_to
from lamella.core.filters.expr import And, Filter, Not, Or, Predicate, asks_words, columns_read, predicates
from lamella.core.filters.to_arrow import mask
from lamella.core.filters.to_sql import to_sql
from lamella.core.index.planning import IndexedRows, are_met, find_by_index, in_sort_order, key_columns
from lamella.core.jobs import Job
from lamella.core.libraries import duckdb, exp
from lamella.core.query.duckdb_source import POSITION, identifier, relation
from lamella.core.query.engine import cursor, stream_batches
from lamella.core.query.number_sort import is_sorted_here, number_order, room_for
from lamella.core.query.pruning import may_meet, row_groups_of
from lamella.core.scan.cache import LruCache, cache
from lamella.core.scan.chunks import are_decoded
from lamella.core.scan.parquet_file import unchanged_footer
from lamella.core.scan.read import Piece, live_positions, pieces, pieces_with, runs, with_changes
from lamella.core.scan.snapshot import Column, FileSegment, Snapshot, SortKey, project

MOST_CACHED_ROWS = 2_000_000
ROWS_AT_ONCE = 500_000
FEWEST_ROWS = 4_096
MANY_TEXTS = 250_000
"""From this many texts on, comparing them in DuckDB is faster than decoding them here: docs/design/reading.md
has the figures."""
PARTS_OF_TEXTS = frozenset({"contains", "not_contains", "starts_with", "ends_with", "like", "regex"})
"""Operators that take longer than comparing whole values."""
MOST_IN_STATEMENT = 10_000
"""Up to this many rows found by an index are passed to a statement; beyond that, the engine reads the
files."""
FEW_TO_ORDER = 10_000
FEW_WITHIN = 1_000
"""Up to this many rows are checked one by one; for more, the rows that meet the condition are found first."""


class Method(StrEnum):
    """How rows are found. NONE: all rows are wanted, in their own order. ORDER: the rows were sorted this way
    before, and the order is cached."""

    NONE = "none"
    ORDER = "cached order"
    INDEX = "index"
    MASKS = "masks"
    DUCKDB = "DuckDB"


@dataclass(frozen=True)
class Strategy:
    """How rows are found, and why this way."""

    method: Method
    reason: str

    def __str__(self) -> str:
        return f"{self.method}: {self.reason}"


MASKS = Strategy(Method.MASKS, "the compared columns are, or will be, in memory")
READ_WHOLE = Strategy(Method.DUCKDB, "the statement reads every row")
BY_WORDS = Strategy(Method.INDEX, "full-text index")
OWN_ORDER = Strategy(Method.NONE, "the rows keep their own order")


@dataclass(frozen=True)
class Reads:
    """What a search read. Row groups are those of files: how many there are, and how many were read.
    `files_read` is None if reads were counted over all files together."""

    row_groups_read: int = 0
    row_groups_total: int = 0
    files_read: int | None = 0
    files_total: int = 0


@dataclass(frozen=True, eq=False)
class SearchResult:
    """The rows that were found. `positions` are int64, and mapped to a temporary file if there are more than
    eight million.

    `strategy` is how they were found. `reads` counts what was read of the files, only on demand. `index`
    names the index that was used.
    """

    positions: np.ndarray
    reads: Callable[[], Reads]
    strategy: Strategy
    index: str | None = None


def is_cacheable(snapshot: Snapshot) -> bool:
    """Whether searched columns are decoded whole and stay in memory: up to two million rows."""
    return snapshot.num_positions <= MOST_CACHED_ROWS


class RowSearch:
    """A search for the live rows that meet `where`: in ascending order, or in the order of `sort` with ties
    ascending. The strategy is chosen on construction.

    `first` means that at least that many rows are needed, `start` that no rows before that position are (only
    without a sort). A `statement` filters the rows itself, so it can use only an index. `method` is for tests
    and measurements that compare methods; it raises `ValueError` if it is an index that does not help.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        where: Filter | None = None,
        sort: tuple[SortKey, ...] = (),
        first: int | None = None,
        *,
        start: int = 0,
        statement: bool = False,
        method: Method | None = None,
    ) -> None:
        self.snapshot, self.where, self.sort, self.first, self.start = snapshot, where, sort, first, start
        self._statement, self._caches_order = statement, False
        self._order: np.ndarray | None = None
        self.asks_words = asks_words(where)
        self.strategy = self._choose() if method is None else self._strategy_of(method)

    def run(self, job: Job | None = None) -> SearchResult:
        """Find the rows. If masks find too many to sort, the strategy is DuckDB, which then does both."""
        job, method = job or Job(), self.strategy.method
        if self.asks_words:
            return self._by_words(job)
        if method is Method.ORDER:
            assert self._order is not None
            begin = np.searchsorted(self._order, self.start) if self.start else 0
            return SearchResult(self._order[begin:], partial(reads_in, self.snapshot, ()), self.strategy)
        if method is Method.INDEX:
            result = self._by_index()
        elif method is Method.MASKS:
            result = self._by_masks(job)
        else:
            result = self._by_duckdb(job, self.strategy)
        if self._caches_order:
            cache_order(order_key(self.snapshot, self.where, self.sort), result.positions)
        return result

    def count(self, job: Job | None = None) -> int:
        """Count the rows."""
        if self.strategy.method is Method.DUCKDB and not self.asks_words:
            return self._counted_by_duckdb(job or Job())
        return len(self.run(job).positions)

    # ------------------------------------------------------------------ choosing

    def _choose(self) -> Strategy:
        if self.asks_words:
            return BY_WORDS
        if not self._statement and self._may_have_order() and self._is_order_cached():
            return Strategy(Method.ORDER, "the rows were sorted this way before")
        served = self._index_answer
        if served is not None and (not self._statement or len(served.positions) <= MOST_IN_STATEMENT):
            return Strategy(Method.INDEX, served.index)
        why = self._why_duckdb()
        if why:
            return Strategy(Method.DUCKDB, why)
        return MASKS

    def _why_duckdb(self) -> str:
        """Why masks are unsuitable; empty if they are suitable."""
        if self._statement:
            return "the statement filters while it reads"
        if self.where is None:
            return "every row is sorted" if self.sort else "every row is wanted"
        if not is_cacheable(self.snapshot):
            return f"there are more than {MOST_CACHED_ROWS:,} rows"
        if key_columns(self.snapshot, self.sort) is None:
            return "only DuckDB sorts values of these types"
        if self.first is not None or self.snapshot.num_positions < MANY_TEXTS:
            return ""
        columns = project(self.snapshot, columns_read(self._bound_filter))
        texts = [column for column in columns if not _has_width(column.type)]
        if texts and self._compares_repeated_texts(texts):
            return "repeated texts are each compared once"
        if texts and self._has_to_decode(texts):
            return "texts would have to be decoded first, and this is the first search among them"
        return ""

    @cached_property
    def _bound_filter(self) -> Filter:
        assert self.where is not None
        return bind(self.where, self.snapshot.schema, self.snapshot.name)

    def _compares_repeated_texts(self, texts: Sequence[Column]) -> bool:
        """Whether the filter searches within texts that files store once each, in a dictionary."""
        conditions = predicates(self._bound_filter)
        names = {p.column for p in conditions if p.operator in PARTS_OF_TEXTS or p.ignore_case}
        return any(
            unchanged_footer(file).repeats_texts(file.names[column.key])
            for column in texts
            if column.name in names and not column.path
            for file in self.snapshot.files
            if column.key in file.names
        )

    def _may_have_order(self) -> bool:
        """Whether an order may be cached: those of sorts, and of pages of filtered rows if masks do not find
        them."""
        return bool(self.sort) or (self.first is not None and not is_cacheable(self.snapshot))

    def _is_order_cached(self) -> bool:
        """Look for a cached order. If the first rows of an order are requested repeatedly, have it cached
        whole."""
        key = order_key(self.snapshot, self.where, self.sort)
        self._order = cached_order(key)
        if self._order is not None:
            return True
        if self.sort and self.first is not None and self.snapshot.num_rows <= SMALL_ROWS and is_repeated(key):
            self._caches_order, self.first = True, None
        return False

    def _has_to_decode(self, columns: Sequence[Column]) -> bool:
        """Whether the columns have many values that are not in memory and were not searched before."""
        row_groups = may_meet(self.snapshot, self._bound_filter)
        cold = [
            piece
            for piece in pieces(self.snapshot, 0, self.snapshot.num_positions)
            if isinstance(piece.segment, FileSegment)
            and not are_decoded(piece.segment, piece.row_groups, columns, cache)
            and row_groups(piece)
        ]
        if sum(piece.stop - piece.first for piece in cold) * len(columns) < MANY_TEXTS:
            return False
        segment = cold[0].segment
        assert isinstance(segment, FileSegment)
        key = (segment.path, tuple(column.key for column in columns))
        if not _recent_searches.again(key):
            return True
        _recent_searches.forget(key)  # if the cache has no room for the texts, DuckDB is used again next time
        return False

    def _strategy_of(self, method: Method) -> Strategy:
        if method in (Method.NONE, Method.ORDER) or (method is Method.INDEX and self._index_answer is None):
            raise ValueError(f"{method} finds no rows here")
        return Strategy(method, "it was requested")

    # ------------------------------------------------------------------ by index

    @cached_property
    def _index_answer(self) -> IndexedRows | None:
        return find_by_index(self.snapshot, self.where, self.sort, self.first, may_meet)

    def _by_index(self) -> SearchResult:
        served = self._index_answer
        assert served is not None
        positions = served.positions
        if self.start:
            positions = positions[np.searchsorted(positions, self.start) :]
        reads = partial(_reads, self.snapshot, served.compared_positions)
        return SearchResult(positions, reads, self.strategy, served.index)

    def _by_words(self, job: Job) -> SearchResult:
        positions = _find_with_words(self.snapshot, self._bound_filter, job)
        if self.sort:
            positions = _find_within(self.snapshot, None, self.sort, job, positions)
        elif self.start:
            positions = positions[np.searchsorted(positions, self.start) :]
        return SearchResult(positions, partial(reads_in, self.snapshot, ()), BY_WORDS, BY_WORDS.reason)

    # ------------------------------------------------------------------ by masks

    def _by_masks(self, job: Job) -> SearchResult:
        if not self.sort:
            return self._search_masks(job, self.first)
        columns = key_columns(self.snapshot, self.sort)
        result = None if columns is None else self._search_masks(job, FEW_TO_ORDER + 1)
        if columns is None or result is None or len(result.positions) > FEW_TO_ORDER:
            many = Strategy(Method.DUCKDB, f"more than {FEW_TO_ORDER:,} rows that meet the filter are sorted")
            return self._by_duckdb(job, many)
        ordered = in_sort_order(self.snapshot, result.positions, self.sort, columns)
        return SearchResult(ordered, result.reads, result.strategy)

    def _search_masks(self, job: Job, enough: int | None) -> SearchResult:
        """Search with masks, and stop once `enough` rows are found."""
        snapshot, bound = self.snapshot, self._bound_filter
        counted_by = [column.name for column in snapshot.columns[:1]]  # if the filter reads no columns
        columns = project(snapshot, columns_read(bound) or counted_by)
        parts, rows, looked_at = [EMPTY], 0, dict[int, Piece]()
        rows_at_once = ROWS_AT_ONCE if enough is None else enough
        ranges = runs(
            snapshot, self.start, snapshot.num_positions, max(rows_at_once, FEWEST_ROWS),
            may_meet(snapshot, bound),
        )  # fmt: skip
        for piece, low, high, chunks in _blocks(snapshot, ranges, columns, self.start, rows_at_once):
            job.check()
            looked_at[piece.first] = piece
            hits = mask(bound, with_changes(snapshot, low, high, columns, chunks), job.check)
            live = without(np.flatnonzero(to_numpy(hits)) + low, snapshot.deleted_positions)
            parts.append(live)
            rows += len(live)
            if enough is not None and rows >= enough:
                break
        reads = partial(reads_in, snapshot, looked_at.values())
        return SearchResult(np.concatenate(parts)[:enough], reads, self.strategy)

    # ----------------------------------------------------------------- by DuckDB

    def _by_duckdb(self, job: Job, strategy: Strategy) -> SearchResult:
        snapshot, where, sort = self.snapshot, self.where, self.sort
        with cursor(job, snapshot.name) as connection:
            connection.execute("SET enable_profiling = 'no_output'")
            if is_sorted_here(snapshot, sort, self.first):
                positions = _sort_numbers(snapshot, connection, where, sort[0], job)
            else:
                query = _select(snapshot, connection, [exp.column(POSITION, quoted=True)], where, sort, job)
                if sort and self.first is not None:
                    query = query.limit(min(self.first, snapshot.num_rows))
                positions = _collect(connection.sql(query.sql("duckdb")), snapshot.num_rows, job)
            profile = json.loads(connection.get_profiling_information(format="json"))["query"]
        if not sort and len(positions) > 1 and not bool(np.all(positions[1:] > positions[:-1])):
            positions.sort()
        if self.start:
            positions = positions[np.searchsorted(positions, self.start) :]
        reads = partial(_reads_of_search, snapshot, int(profile["total_row_groups_scanned"]))
        return SearchResult(positions, reads, strategy)

    def _counted_by_duckdb(self, job: Job) -> int:
        with cursor(job, self.snapshot.name) as connection:
            query = _select(self.snapshot, connection, [exp.Count(this=exp.Star())], self.where, (), job)
            job.check()
            return int(connection.sql(query.sql("duckdb")).fetchall()[0][0])


def find_rows(
    snapshot: Snapshot,
    where: Filter | None = None,
    sort: tuple[SortKey, ...] = (),
    job: Job | None = None,
    within: np.ndarray | None = None,
    first: int | None = None,
    method: Method | None = None,
) -> np.ndarray:
    """Positions of the rows that meet `where`, in order; if `first` is given, at least that many of them.
    `within` restricts the search to these live positions, which ascend."""
    if within is None:
        return RowSearch(snapshot, where, sort, first, method=method).run(job).positions
    return _find_within(snapshot, where, sort, job or Job(), within)


def count_rows(
    snapshot: Snapshot, where: Filter | None = None, job: Job | None = None, method: Method | None = None
) -> int:
    """The number of live rows that meet `where`."""
    return snapshot.num_rows if where is None else RowSearch(snapshot, where, method=method).count(job)


def whole_order(snapshot: Snapshot, where: Filter | None, sort: tuple[SortKey, ...], job: Job) -> np.ndarray:
    """All rows that meet `where`, in order; cached for further pages."""
    key = order_key(snapshot, where, sort)
    order = cached_order(key)
    return cache_order(key, find_rows(snapshot, where, sort, job)) if order is None else order


def own_order(snapshot: Snapshot, offset: int, limit: int | None) -> tuple[int, SearchResult]:
    """Without filter and sort, return the number of rows from row `offset` on, and the positions of the first
    and the last. The row groups that count as read are those that contain the rows."""
    following = max(0, snapshot.num_rows - offset)
    rows = following if limit is None else min(limit, following)
    if not rows:
        return 0, SearchResult(EMPTY, partial(reads_in, snapshot, ()), OWN_ORDER)
    ends = live_positions(snapshot, np.array([offset, offset + rows - 1]))
    first, last = ends.tolist()
    return rows, SearchResult(
        ends, partial(reads_in, snapshot, list(pieces(snapshot, first, last + 1))), OWN_ORDER
    )


def _find_with_words(snapshot: Snapshot, where: Filter, job: Job) -> np.ndarray:
    """Positions of the live rows that meet a bound filter, ascending. Its conditions on words use full-text
    indexes."""
    from lamella.core.index.fulltext.conditions import rows_with_words

    if not asks_words(where):
        return find_rows(snapshot, where, (), job)
    if isinstance(where, Predicate):
        return rows_with_words(snapshot, where, job)
    assert isinstance(where, And | Or | Not)
    parts = [_find_with_words(snapshot, child, job) for child in where.children if asks_words(child)]
    alternatives = tuple(child for child in where.children if not asks_words(child))
    if isinstance(where, Not):
        return without(live_positions(snapshot, np.arange(snapshot.num_rows)), parts[0])
    if isinstance(where, Or):
        return union(*parts, *([find_rows(snapshot, Or(alternatives), (), job)] if alternatives else ()))
    smallest_first = sorted(parts, key=len)
    both = reduce(lambda ids, part: ids[among(ids, part)], smallest_first)
    return find_rows(snapshot, And(alternatives), (), job, within=both) if alternatives else both


def _find_within(
    snapshot: Snapshot, where: Filter | None, keys: tuple[SortKey, ...], job: Job, within: np.ndarray
) -> np.ndarray:
    if where is not None and asks_words(where):
        matches = _find_with_words(snapshot, bind_to(where, snapshot.types, snapshot.name), job)
        within, where = within[among(within, matches)], None
    if where is None and not keys:
        return within
    columns = key_columns(snapshot, keys)
    if columns is None or len(within) > (FEW_TO_ORDER if where is None else FEW_WITHIN):
        ordered = find_rows(snapshot, where, keys, job)
        positions: np.ndarray = ordered[among(ordered, within)]
        return positions
    if where is not None:
        bound = bind_to(where, snapshot.types, snapshot.name)
        within = within[are_met(snapshot, within, bound)]
    return in_sort_order(snapshot, within, keys, columns)


def _has_width(kind: pa.DataType) -> bool:
    """Whether all values of the type have the same size: decoding these costs about as much as comparing
    them."""
    return bool(is_.is_primitive(kind) or is_.is_decimal(kind) or is_.is_null(kind))


def _blocks(
    snapshot: Snapshot, pieces: Iterable[Piece], columns: Sequence[Column], first: int, rows: int
) -> Iterator[tuple[Piece, int, int, list[pa.ChunkedArray]]]:
    """Yield the columns from position `first` on, in blocks that grow from a few rows."""
    rows = max(rows, FEWEST_ROWS)
    for piece in pieces:
        chunks = piece.stored_chunks(snapshot, columns, cache)
        low = max(first, piece.first)
        while low < piece.stop:
            high = min(low + rows, piece.stop)
            whole = high - low == piece.stop - piece.first
            cut = chunks if whole else [c.slice(low - piece.first, high - low) for c in chunks]
            yield piece, low, high, cut
            low, rows = high, 2 * rows


def _reads(snapshot: Snapshot, looked_at: np.ndarray) -> Reads:
    return reads_in(snapshot, pieces_with(snapshot, np.sort(looked_at)))


def reads_in(snapshot: Snapshot, looked_at: Iterable[Piece]) -> Reads:
    """What was read, given the pieces whose values had to be compared. No row group may be in two pieces."""
    files = [(piece.segment, len(piece.row_groups)) for piece in looked_at]
    segments = [(segment, groups) for segment, groups in files if isinstance(segment, FileSegment)]
    return Reads(
        sum(groups for _, groups in segments),
        row_groups_of(snapshot),
        len({id(segment) for segment, _ in segments}),
        len(snapshot.files),
    )


def _reads_of_search(snapshot: Snapshot, row_groups: int) -> Reads:
    return Reads(row_groups, row_groups_of(snapshot), None if row_groups else 0, len(snapshot.files))


ROWS_A_BATCH = 1 << 20


def _sort_numbers(
    snapshot: Snapshot, connection: duckdb.DuckDBPyConnection, where: Filter | None, key: SortKey, job: Job
) -> np.ndarray:
    (column,) = project(snapshot, [key.column])
    values = [exp.column(POSITION, quoted=True), exp.column(identifier(column), quoted=True)]
    query = _select(snapshot, connection, values, where, (), job, also=[key.column])
    reader = connection.sql(query.sql("duckdb")).to_arrow_reader(ROWS_A_BATCH)
    return number_order(stream_batches(reader, job), snapshot.num_rows, key.descending, job)


def _select(
    snapshot: Snapshot,
    connection: duckdb.DuckDBPyConnection,
    values: Sequence[exp.Expr],
    where: Filter | None,
    sort: Sequence[SortKey],
    job: Job,
    also: Sequence[str] = (),
) -> exp.Select:
    """`also` names further columns that `values` read."""
    bound = bind(where, snapshot.schema, snapshot.name) if where is not None else None
    filtered = columns_read(bound) if bound is not None else []
    names = dict.fromkeys([*filtered, *(key.column for key in sort), *also])
    columns = project(snapshot, names)
    query = exp.select(*values).from_(relation(snapshot, columns, connection, job=job))
    if bound is not None:
        query = query.where(to_sql(bound, {c.name: identifier(c) for c in columns}))
    return query.order_by(*_order(sort, columns)) if sort else query


def _order(sort: Sequence[SortKey], columns: Sequence[Column]) -> list[exp.Expr]:
    by_name = {c.name: c for c in columns}
    keys: list[exp.Expr] = [
        exp.Ordered(
            this=exp.column(identifier(by_name[key.column]), quoted=True),
            desc=key.descending,
            nulls_first=False,
        )
        for key in sort
    ]
    return [*keys, exp.column(POSITION, quoted=True)]


def _collect(relation: duckdb.DuckDBPyRelation, at_most: int, job: Job) -> np.ndarray:
    answer, filled = np.empty(0, np.int64), 0
    job.check()
    for batch in stream_batches(relation.to_arrow_reader(ROWS_A_BATCH), job):
        if filled + batch.num_rows > len(answer):
            answer = _grow(answer, filled, filled + batch.num_rows, at_most)
        answer[filled : filled + batch.num_rows] = to_numpy(batch.column(0))
        filled += batch.num_rows
        job.check()
    return answer[:filled]


def _grow(answer: np.ndarray, filled: int, least: int, at_most: int) -> np.ndarray:
    size = min(max(least, 4 * len(answer)), max(at_most, least))
    larger = room_for(size)
    larger[:filled] = answer[:filled]
    return larger


MOST_BYTES = 64 << 20
SMALL_ROWS = 500_000
"""Up to this many rows, an order is cached whole the second time its first rows are requested."""
MOST_KEYS = 64

OrderKey = tuple[object, ...]
"""A snapshot, a filter and a sort."""


class _RecentKeys:
    """The keys of recent requests. Any thread."""

    def __init__(self) -> None:
        self._keys: OrderedDict[Hashable, None] = OrderedDict()
        self._lock = threading.Lock()

    def again(self, key: Hashable) -> bool:
        """Whether the key was requested recently; records the request."""
        with self._lock:
            again = key in self._keys
            self._keys[key] = None
            self._keys.move_to_end(key)
            if len(self._keys) > MOST_KEYS:
                self._keys.popitem(last=False)
        return again

    def forget(self, key: Hashable) -> None:
        with self._lock:
            self._keys.pop(key, None)

    def clear(self) -> None:
        with self._lock:
            self._keys.clear()


_orders: LruCache[OrderKey, np.ndarray] = LruCache(MOST_BYTES)
_first_rows, _recent_searches = _RecentKeys(), _RecentKeys()
"""Orders whose first rows were requested; columns that were searched before they were decoded."""


def order_key(snapshot: Snapshot, where: Filter | None, keys: tuple[SortKey, ...]) -> OrderKey:
    return (snapshot.token, where, keys)


def cached_order(key: OrderKey) -> np.ndarray | None:
    """The positions in this order, if cached."""
    return _orders.get([key])[0]


def cache_order(key: OrderKey, positions: np.ndarray) -> np.ndarray:
    _orders.put([(key, positions)])
    return positions


def is_repeated(key: OrderKey) -> bool:
    """Whether the first rows of this order were requested before; records the request."""
    return _first_rows.again(key)


def forget() -> None:
    """Drop all cached orders and recorded requests."""
    _orders.resize(0)
    _orders.resize(MOST_BYTES)
    _first_rows.clear()
    _recent_searches.clear()
