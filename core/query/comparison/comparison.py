"""Compares two datasets, or two versions of one, row by row: rows that were added, removed and changed."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa

from lamella.core.arrow.arrays import take
from lamella.core.errors import BadData, short_text
from lamella.core.jobs import Job
from lamella.core.query.builder import Query
from lamella.core.query.comparison.cells import CellRule, differing, largest_difference
from lamella.core.query.comparison.columns import (
    ColumnPair,
    SchemaDifferences,
    pair_columns,
    schema_differences,
)
from lamella.core.query.comparison.pairing import RowPairs, pair_by_key, pair_by_order, suggest_key
from lamella.core.query.source import Source, whole_snapshot
from lamella.core.query.view import fetch
from lamella.core.scan.chunks import coded_texts
from lamella.core.scan.open_file import OpenFile
from lamella.core.scan.read import changed_cells, live_positions, read_range, runs
from lamella.core.scan.snapshot import Column, FileSegment, Snapshot, snapshot_of_rows
from lamella.core.validation import names_of

ROWS_A_BLOCK = 1 << 18
CELLS_A_BLOCK = 1 << 22
SCATTERED_ROWS = 1 << 22
"""The number of rows read at once if the rows of one side come in another order: each block then decodes most
row groups."""
EXAMPLES = 3


@dataclass(frozen=True)
class CellExample:
    """A cell that differs: its row numbers on both sides, from 0, and its values."""

    before_row: int
    after_row: int
    before: pa.Scalar
    after: pa.Scalar


@dataclass(frozen=True)
class ColumnDifferences:
    """The number of rows in which a column differs, the first of these, and the largest difference between
    two numbers; None if there is none."""

    name: str
    rows: int
    examples: tuple[CellExample, ...] = ()
    largest: float | None = None


@dataclass(frozen=True, eq=False)
class Comparison:
    """The differences between `before` and `after`. Rows are numbered from 0 in the order of their side.

    `added` are rows of the later side, ascending. `removed` are rows of the earlier side, sorted by where
    they belong among the rows of the later side: `removed_places` is the row before which each belongs.
    `changed` are rows of the later side, ascending, and `changed_before` the corresponding earlier rows.
    `key` has the columns by which rows were paired; it is empty if they were paired by order. `notes` are
    remarks for the user.

    Which cells of a row differ is computed on demand and not kept. It raises `FileProblem` if a file has
    changed since.
    """

    before: Snapshot
    after: Snapshot
    pairs: tuple[ColumnPair, ...]
    key: tuple[str, ...]
    rule: CellRule | None
    added: np.ndarray
    removed: np.ndarray
    removed_places: np.ndarray
    changed: np.ndarray
    changed_before: np.ndarray
    columns: tuple[ColumnDifferences, ...]
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
    names: tuple[str, str] = field(default=("", ""))

    def __bool__(self) -> bool:
        """Whether anything differs, including the names and types of columns."""
        return bool(self.num_rows or self.schema)

    def __str__(self) -> str:
        before, after = self.titles
        lines = [f"{before} → {after}", *self.schema.sentences(), *self.notes, self.counts_text]
        lines += [
            f"  {column.name}: {column.rows:,}"
            + (f", by at most {column.largest:g}" if column.largest else "")
            for column in self.columns
            if column.rows
        ]
        return "\n".join(lines)

    @property
    def titles(self) -> tuple[str, str]:
        """The names of the two sides."""
        return self.names[0] or self.before.name, self.names[1] or self.after.name

    @property
    def counts_text(self) -> str:
        """The counts, such as `2 added, 1 removed, 7 changed`."""
        counts = (len(self.added), "added"), (len(self.removed), "removed"), (len(self.changed), "changed")
        return ", ".join(f"{count:,} {word}" for count, word in counts if count) or "no row differs"

    @property
    def num_rows(self) -> int:
        """The number of rows that differ."""
        return len(self.added) + len(self.removed) + len(self.changed)

    @cached_property
    def schema(self) -> SchemaDifferences:
        return schema_differences(self.pairs, self.before)

    @property
    def common(self) -> tuple[ColumnPair, ...]:
        """The columns that both sides have."""
        return tuple(pair for pair in self.pairs if pair.is_common)

    def rows_changed_in(self, name: str, job: Job | None = None) -> np.ndarray:
        """The rows of the later side in which a column differs, ascending. Blocks."""
        pair = next((p for p in self.common if p.name == name), None)
        if pair is None:
            return np.empty(0, np.int64)
        blocks = [np.empty(0, np.int64)]
        for first in range(0, len(self.changed), ROWS_A_BLOCK):
            (job or Job()).check()
            rows = slice(first, first + ROWS_A_BLOCK)
            before = rows_of(self.before, self.changed_before[rows], [_of(pair.before)])
            after = rows_of(self.after, self.changed[rows], [_of(pair.after)])
            blocks.append(self.changed[rows][differing(before.column(0), after.column(0), self.rule)])
        return np.concatenate(blocks)


def compare(
    before: Source | Query,
    after: Source | Query,
    key: str | Sequence[str] | None = None,
    *,
    columns: Sequence[str] | None = None,
    tolerance: float = 0.0,
    ignore_case: bool = False,
    ignore_space: bool = False,
    job: Job | None = None,
) -> Comparison:
    """Compare two tables, files, versions or answers of queries.

    Rows are paired if their `key` columns are equal. If `key` is None, it is `_id` for two versions of one
    table, otherwise columns of both whose values are unique together (`suggest_key`), otherwise rows are
    paired by order; an empty list always pairs by order. Null is a key like any other. Rows that share a key
    are paired in order, which `notes` mentions.

    If `columns` are given, only these are compared. Numbers that differ by at most `tolerance` are equal, and
    so are texts that differ only in case or white space if these are ignored. Blocks.

    Raises `UnknownColumn`, `BadData` if there is no common column or a key cannot be compared, and
    `FileProblem` for a file that changed meanwhile.
    """
    started, work = time.perf_counter(), job or Job()
    rule = CellRule(tolerance, bool(ignore_case), bool(ignore_space))
    sides = _snapshot(before, work), _snapshot(after, work)
    names = None if columns is None else names_of(columns, "compare: columns")
    pairs = pair_columns(*sides, names)
    keys = suggest_key(*sides, work) if key is None else tuple(names_of(key, "compare: key") if key else ())
    return compare_snapshots(*sides, pairs, keys, rule, work, started, is_unique=key is None)


def compare_snapshots(
    before: Snapshot,
    after: Snapshot,
    pairs: tuple[ColumnPair, ...],
    key: tuple[str, ...],
    rule: CellRule,
    job: Job,
    started: float | None = None,
    is_unique: bool = False,
) -> Comparison:
    """Like `compare`, for snapshots. `is_unique` means that the key is known to be unique on both sides."""
    started = time.perf_counter() if started is None else started
    none = np.empty(0, np.int64)
    if before.token == after.token:
        columns = tuple(ColumnDifferences(pair.name, 0) for pair in pairs if pair.is_common)
        return Comparison(before, after, pairs, key, rule, none, none, none, none, none, columns)
    job.report(0, None, "Pairing rows")
    if key:
        rows = pair_by_key(before, after, key, rule, job, is_unique and not rule.is_about_text)
    else:
        rows = pair_by_order(before, after)
    tally = Tally([p for p in pairs if p.is_common], rule)
    changed = _changed_rows(before, after, rows, tally, job)
    before_rows, after_rows = row_numbers(before, rows.before), row_numbers(after, rows.after)
    removed, places = place_removed_rows(row_numbers(before, rows.removed_rows), before_rows, after_rows)
    return Comparison(
        before, after, pairs, key, rule, row_numbers(after, rows.added_rows), removed, places,
        after_rows[changed], before_rows[changed], tally.columns, rows.notes,
        time.perf_counter() - started,
    )  # fmt: skip


def _snapshot(rows: Source | Query, job: Job) -> Snapshot:
    if isinstance(rows, Query):
        return snapshot_of_rows(rows.read(job), rows.name)
    if not hasattr(rows, "snapshot"):
        raise BadData(f"compare was given {short_text(rows)}", fix="Give a table, an opened file or a query")
    return whole_snapshot(rows, job)


def _of(column: Column | None) -> Column:
    assert column is not None, "both sides have it"
    return column


class Tally:
    """Counts the differences of each column, as blocks of rows are compared."""

    def __init__(self, pairs: Sequence[ColumnPair], rule: CellRule | None) -> None:
        self.pairs, self.rule = list(pairs), rule
        self._rows = [0] * len(pairs)
        self._examples: list[list[CellExample]] = [[] for _ in pairs]
        self._largest: list[float | None] = [None] * len(pairs)

    def add(
        self,
        place: int,
        cells: tuple[pa.ChunkedArray, pa.ChunkedArray],
        different: np.ndarray,
        rows: tuple[np.ndarray, np.ndarray],
    ) -> None:
        """Count the differences of the column pair at this index. `cells` are its cells on both sides,
        `different` whether they differ, and `rows` their row numbers."""
        places = np.flatnonzero(different)
        if not len(places):
            return
        self._rows[place] += len(places)
        examples = self._examples[place]
        for at in places[: EXAMPLES - len(examples)].tolist():
            before, after = (_text_of(values[at]) for values in cells)
            examples.append(CellExample(int(rows[0][at]), int(rows[1][at]), before, after))
        largest = largest_difference(*(take(values, places) for values in cells))
        if largest is not None:
            self._largest[place] = max(largest, self._largest[place] or 0.0)

    @property
    def columns(self) -> tuple[ColumnDifferences, ...]:
        return tuple(
            ColumnDifferences(pair.name, rows, tuple(examples), largest)
            for pair, rows, examples, largest in zip(
                self.pairs, self._rows, self._examples, self._largest, strict=True
            )
        )


def _text_of(cell: pa.Scalar) -> pa.Scalar:
    """The value of a cell; for a dictionary, the value of its entry."""
    return cell.value if isinstance(cell, pa.DictionaryScalar) else cell


def _changed_rows(before: Snapshot, after: Snapshot, rows: RowPairs, tally: Tally, job: Job) -> np.ndarray:
    """Whether each pair of rows differs in some column. Reads blocks of rows and columns."""
    count, changed = len(rows.after), np.zeros(len(rows.after), bool)
    block = ROWS_A_BLOCK if bool(np.all(rows.before[1:] > rows.before[:-1])) else SCATTERED_ROWS
    for first in range(0, count, block):
        stop = min(first + block, count)
        job.report(first, count, f"{first:,} of {count:,} rows compared")
        ours, theirs = rows.before[first:stop], rows.after[first:stop]
        numbers = row_numbers(before, ours), row_numbers(after, theirs)
        for places in _column_groups(len(tally.pairs), stop - first):
            job.check()
            some = [tally.pairs[place] for place in places]
            left = rows_at(before, ours, [_of(pair.before) for pair in some], job, coded=True)
            right = rows_at(after, theirs, [_of(pair.after) for pair in some], job, coded=True)
            for place, a, b in zip(places, left.columns, right.columns, strict=True):
                different = differing(a, b, tally.rule)
                tally.add(place, (a, b), different, numbers)
                changed[first:stop] |= different
    return changed


def _column_groups(columns: int, rows: int) -> Iterator[range]:
    """Split the columns into groups that keep the number of cells in a block small."""
    width = max(1, CELLS_A_BLOCK // max(1, rows))
    return (range(first, min(first + width, columns)) for first in range(0, columns, width))


def rows_at(
    snapshot: Snapshot,
    positions: np.ndarray,
    columns: Sequence[Column],
    job: Job | None = None,
    coded: bool = False,
) -> pa.Table:
    """Read the rows at live positions, in their order. If these are most of a range, the whole range is read;
    `coded` leaves repeated texts dictionary-encoded."""
    if not len(positions):
        return fetch(snapshot, positions, columns, job)
    low, high = int(positions.min()), int(positions.max()) + 1
    low_row, high_row = (int(n) for n in row_numbers(snapshot, np.array([low, high - 1])))
    if high_row - low_row >= 2 * len(positions):
        return fetch(snapshot, positions, columns, job)
    texts = _coded_texts(snapshot, low, high, columns) if coded else {}
    plain_places = [place for place in range(len(columns)) if place not in texts]
    plain = read_range(snapshot, low, high, [columns[place] for place in plain_places])
    values = texts | dict(zip(plain_places, plain.columns, strict=True))
    table = pa.table([values[place] for place in range(len(columns))], [column.name for column in columns])
    is_whole = table.num_rows == len(positions) and bool(np.all(positions[1:] > positions[:-1]))
    return table if is_whole else take(table, row_numbers(snapshot, positions) - low_row)


def _coded_texts(
    snapshot: Snapshot, low: int, high: int, columns: Sequence[Column]
) -> dict[int, pa.ChunkedArray]:
    """The columns that files store dictionary-encoded, by index: decoding each text takes longer than
    comparing codes."""
    codes_by_id = dict[int, pa.ChunkedArray]()
    if len(snapshot.deleted_positions):
        return codes_by_id
    with OpenFile() as file:
        for place, column in enumerate(columns):
            if not pa.types.is_string(column.type) or changed_cells(snapshot, column) is not None:
                continue
            parts = list[pa.Array]()
            for piece in runs(snapshot, low, high, high - low):
                segment = piece.segment
                if not isinstance(segment, FileSegment) or column.key not in segment.names:
                    break
                coded = coded_texts(segment, piece.row_groups, column, file)
                if coded is None:
                    break
                first = max(low, piece.first)
                parts += coded.slice(first - piece.first, min(high, piece.stop) - first).chunks
            else:
                codes_by_id[place] = pa.chunked_array(parts)
    return codes_by_id


def rows_of(snapshot: Snapshot, rows: np.ndarray, columns: Sequence[Column]) -> pa.Table:
    """Read the rows with these numbers."""
    return rows_at(snapshot, live_positions(snapshot, rows), columns)


def row_numbers(snapshot: Snapshot, positions: np.ndarray) -> np.ndarray:
    """The row numbers of live positions, which do not count deleted rows."""
    if not len(snapshot.deleted_positions):
        return positions
    numbers: np.ndarray = positions - np.searchsorted(snapshot.deleted_positions, positions)
    return numbers


def place_removed_rows(
    removed: np.ndarray, before: np.ndarray, after: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return removed rows, and the row of the later side before which each is shown: directly after the row
    that it followed. `before` and `after` are the numbers of paired rows."""
    if not len(removed):
        return removed, removed
    if len(before) > 1 and not bool(np.all(before[1:] >= before[:-1])):
        order = np.argsort(before, kind="stable")
        before, after = before[order], after[order]
    followed = np.searchsorted(before, removed) - 1
    places = np.where(followed >= 0, after[np.maximum(followed, 0)] + 1 if len(after) else 0, 0)
    order = np.lexsort((removed, places))
    return removed[order], places[order]
