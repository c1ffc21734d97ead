"""The open full-text indexes of a table: parts of data files, and in-memory parts of pending rows."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types as is_

from lamella.core.arrow.arrays import take, to_numpy
from lamella.core.arrow.sorted_ids import EMPTY, among, union, without
from lamella.core.errors import BadData, FileProblem, LamellaError, UnknownColumn, UnknownName, nearest
from lamella.core.index.definition import Index, IndexFolder, Options, counted_rows
from lamella.core.index.fulltext import files
from lamella.core.index.fulltext.files import FileParts, Source
from lamella.core.index.fulltext.part import ENGLISH, LANGUAGES, Part, TooLarge, build
from lamella.core.jobs import Job
from lamella.core.processes import call_after_fork
from lamella.core.scan.read import changed_cells, take_rows
from lamella.core.scan.snapshot import Column, FileSegment, Snapshot

MOST_LAYERS = 8
TEXTS = (pa.string(), pa.large_string())
"""The types that are compared all at once."""


@dataclass(frozen=True, eq=False)
class Layer:
    """A part in memory, with the ascending positions of its rows, and the cells it was built from."""

    part: Part
    positions: np.ndarray
    cells: pa.Table


@dataclass(frozen=True, eq=False)
class PlacedPart:
    """A part in a snapshot. Its rows are at `positions`, with -1 for those that have changed since. None
    means consecutive rows from `start` on, except those at positions in `stale_positions`."""

    part: Part
    positions: np.ndarray | None = None
    start: int = 0
    stale_positions: np.ndarray = field(default_factory=lambda: EMPTY)

    @cached_property
    def num_stale(self) -> int:
        """The number of the part's documents that are not rows of the snapshot."""
        rows = self.part.rows
        if self.positions is not None:
            return self.part.documents - int((self.positions >= 0).sum())
        low, high = np.searchsorted(self.stale_positions, (self.start, self.start + rows))
        return self.part.documents - rows + int(high - low)

    def at(self, rows: np.ndarray) -> np.ndarray:
        """The positions of rows, -1 for those that have changed since."""
        if self.positions is not None:
            placed: np.ndarray = self.positions[rows]
            return placed
        positions = rows + self.start
        return (
            np.where(among(positions, self.stale_positions), -1, positions)
            if len(self.stale_positions)
            else positions
        )

    def rows_at(self, positions: np.ndarray) -> np.ndarray:
        """The rows at these positions, ascending."""
        if self.positions is not None:
            rows: np.ndarray = np.flatnonzero(among(self.positions, positions))
            return rows
        low, high = np.searchsorted(positions, (self.start, self.start + self.part.rows))
        return without(positions[low:high], self.stale_positions) - self.start


class Pending:
    """Parts of pending rows for one index and set of columns. Parts built for one snapshot are reused for the
    next, as far as they are still valid."""

    def __init__(self, language: str | None) -> None:
        self._language = language
        self._layers: list[Layer] = []

    def of(
        self, snapshot: Snapshot, columns: Sequence[Column], usual: Mapping[int, float]
    ) -> list[PlacedPart]:
        """Parts of all rows that no data file has in their current form."""
        positions = unindexed_positions(snapshot, columns)
        cells = take_rows(snapshot, positions, columns)
        placed, missing = self._placed_parts(positions, cells)
        if self._is_worn(len(positions), int(missing.sum())):
            self._layers, placed = [], []
            missing[:] = True
        if missing.any():
            keys, rows = [column.key for column in columns], np.flatnonzero(missing)
            layers = list(_layers(positions[rows], take(cells, rows), keys, self._language, usual))
            self._layers += layers
            placed += [PlacedPart(layer.part, layer.positions) for layer in layers]
        return placed

    def _placed_parts(self, positions: np.ndarray, cells: pa.Table) -> tuple[list[PlacedPart], np.ndarray]:
        """Return the reusable parts, and which rows are missing. A layer without any of these rows is
        dropped, since its words would affect scores."""
        missing, placed, of_use = np.ones(len(positions), np.bool_), list[PlacedPart](), list[Layer]()
        for layer in self._layers:
            rows = np.flatnonzero(among(layer.positions, positions))
            places = np.searchsorted(positions, layer.positions[rows])
            rows, places = rows[missing[places]], places[missing[places]]
            same = _are_same(take(layer.cells, rows), take(cells, places))
            valid = np.full(layer.part.rows, -1, np.int64)
            valid[rows[same]] = layer.positions[rows[same]]
            missing[places[same]] = False
            if same.any():
                of_use.append(layer)
                placed.append(PlacedPart(layer.part, valid))
        self._layers = of_use
        return placed, missing

    def _is_worn(self, needed_rows: int, missing: int) -> bool:
        """Whether there are too many layers, or most of their rows are outdated."""
        rows = sum(layer.part.rows for layer in self._layers)
        return (missing > 0 and len(self._layers) >= MOST_LAYERS) or rows + missing > 2 * needed_rows


def unindexed_positions(snapshot: Snapshot, columns: Sequence[Column]) -> np.ndarray:
    """Positions of the live rows that are in memory, or have pending cells in these columns."""
    starts = snapshot.segment_starts
    loose = [
        np.arange(starts[number], starts[number + 1])
        for number, segment in enumerate(snapshot.segments)
        if not isinstance(segment, FileSegment)
    ]
    return without(union(changed_positions(snapshot, columns), *loose), snapshot.deleted_positions)


def changed_positions(snapshot: Snapshot, columns: Sequence[Column]) -> np.ndarray:
    """Positions with pending cells in these columns."""
    cells = [changed_cells(snapshot, column) for column in columns]
    return union(EMPTY, *(cell[0] for cell in cells if cell is not None))


def _are_same(cells: pa.Table, earlier: pa.Table) -> np.ndarray:
    """Whether rows are equal in all columns."""
    same = np.ones(len(cells), np.bool_)
    for column, earlier_column in zip(cells.columns, earlier.columns, strict=True):
        if column.type == earlier_column.type and column.type in TEXTS:
            null, nothing = to_numpy(column.is_null()), to_numpy(earlier_column.is_null())
            same &= (null & nothing) | (to_numpy(pc.equal(column, earlier_column)) & ~null & ~nothing)
        else:
            pairs = zip(column.to_pylist(), earlier_column.to_pylist(), strict=True)
            same &= np.fromiter((cell == earlier_cell for cell, earlier_cell in pairs), np.bool_, len(cells))
    return same


def _layers(
    positions: np.ndarray,
    cells: pa.Table,
    keys: Sequence[int],
    language: str | None,
    usual: Mapping[int, float],
) -> list[Layer]:
    texts = dict(zip(keys, cells.columns, strict=True))
    try:
        part = build(texts, len(positions), language, usual)
    except TooLarge:
        middle = len(positions) // 2
        first = _layers(positions[:middle], cells.slice(0, middle), keys, language, usual)
        return first + _layers(positions[middle:], cells.slice(middle), keys, language, usual)
    return [Layer(part, positions, cells)]


KEPT_OPEN = 1_024
MOST_PLACEMENTS = 4
SECONDS_A_CHECK = 0.05

log = logging.getLogger(__name__)


class OpenFulltext:
    """The open full-text indexes of one open table. Any thread."""

    def __init__(self, place: IndexFolder) -> None:
        self._place = place
        self._open: OrderedDict[Path, FileParts] = OrderedDict()
        self._pending: dict[tuple[Index, tuple[int, ...]], Pending] = {}
        self._placed_parts: OrderedDict[tuple[object, ...], list[PlacedPart]] = OrderedDict()
        self.reset_after_fork()
        call_after_fork(self)

    def reset_after_fork(self) -> None:
        """Replace the locks, whose holders do not exist in the child."""
        self._one_at_a_time = threading.Lock()
        self._making: dict[Index, threading.RLock] = {}

    def parts(self, index: Index, snapshot: Snapshot, job: Job) -> list[PlacedPart]:
        """Parts that together have every live row once. Missing or damaged ones are built first; other
        threads that need the same index wait, unless their job is cancelled."""
        at = (index, language_of(index), snapshot.token)
        placed, making = self._cached_parts(at, index)
        if placed is not None:
            return placed
        while not making.acquire(timeout=SECONDS_A_CHECK):
            job.check()
        try:
            placed, _ = self._cached_parts(at, index)
            return self._parts(index, snapshot, job, at) if placed is None else placed
        finally:
            making.release()

    def _cached_parts(
        self, at: tuple[object, ...], index: Index
    ) -> tuple[list[PlacedPart] | None, threading.RLock]:
        """The cached parts, and the lock for building them."""
        with self._one_at_a_time:
            if at in self._placed_parts:
                self._placed_parts.move_to_end(at)
            return self._placed_parts.get(at), self._making.setdefault(index, threading.RLock())

    def let_go(self) -> None:
        """Close everything; what is in use is opened again."""
        with self._one_at_a_time:
            self._open.clear()
            self._placed_parts.clear()
            self._pending.clear()

    def forget(self, index: Index) -> None:
        """Close a dropped index."""
        with self._one_at_a_time:
            self._placed_parts.clear()
            self._making.pop(index, None)
            for key in [key for key in self._pending if key[0] == index]:
                del self._pending[key]
            for path in [p for p in self._open if index.owns(p.name)]:
                del self._open[path]

    def _parts(self, index: Index, snapshot: Snapshot, job: Job, at: tuple[object, ...]) -> list[PlacedPart]:
        own_columns = (c for c in snapshot.columns if c.key in index.keys and not c.path)
        columns = sorted(own_columns, key=lambda column: column.key)
        stale_positions = union(snapshot.deleted_positions, changed_positions(snapshot, columns))
        placed = []
        for number, segment in enumerate(snapshot.segments):
            if isinstance(segment, FileSegment):
                job.check()
                covering = self._covering(index, segment, snapshot, job)
                start = int(snapshot.segment_starts[number])
                parts = zip(covering.starts, covering.parts, strict=True)
                placed += [PlacedPart(part, None, start + first, stale_positions) for first, part in parts]
        having = (index, tuple(column.key for column in columns))
        with self._one_at_a_time:
            pending = self._pending.setdefault(having, Pending(language_of(index)))
        placed += pending.of(snapshot, columns, _usual((p.part.rows, p.part.lengths) for p in placed))
        with self._one_at_a_time:
            self._placed_parts[at] = placed
            if len(self._placed_parts) > MOST_PLACEMENTS:
                self._placed_parts.popitem(last=False)
        return placed

    def _covering(self, index: Index, segment: FileSegment, snapshot: Snapshot, job: Job) -> FileParts:
        path = files.path_of(self._place, segment, index)
        with self._one_at_a_time:
            covering = self._open.get(path)
        if covering is not None:
            return covering
        covering = self._read_or_make(path, source_of(self._place, index, segment, snapshot), job)
        with self._one_at_a_time:
            self._open[path] = covering
            if len(self._open) > KEPT_OPEN:
                self._open.popitem(last=False)
        return covering

    def _read_or_make(self, path: Path, source: Source, job: Job) -> FileParts:
        try:
            if path.exists():
                return files.read(path, source.segment, source.keys, self._place.writable)
            log.info("%s: the full-text index is missing, and is rebuilt", path)
        except FileProblem as problem:
            log.warning("%s It is rebuilt", problem)
        try:
            if self._place.writable:
                files.remove(path)
                files.write(path, source, job)
                return files.read(path, source.segment, source.keys, writable=True)
        except (LamellaError, OSError, ValueError, pa.ArrowException) as error:
            log.warning("%s: the full-text index is kept in memory: %s", path, error)
        return files.in_memory(source, job)


def language_of(index: Index) -> str | None:
    language = index.options.get("language")
    return None if language is None else str(language)


def source_of(place: IndexFolder, index: Index, segment: FileSegment, snapshot: Snapshot) -> Source:
    """The input of a data file's index, with text lengths from the indexes of the snapshot's other files."""
    older_files = [file for file in snapshot.files if file is not segment]
    lengths = (
        part_length
        for older_file in older_files
        for part_length in files.part_lengths(files.path_of(place, older_file, index))
    )
    return Source(segment, index.keys, language_of(index), _usual(lengths))


def _usual(parts: Iterable[tuple[int, Mapping[int, float]]]) -> dict[int, float]:
    """The average length of texts by column key, over parts with these numbers of rows and lengths."""
    rows, words = 0, defaultdict[int, float](float)
    for count, lengths in parts:
        rows += count
        for key, length in lengths.items():
            words[key] += count * length
    return {key: total / rows for key, total in words.items() if rows}


LANGUAGE, WEIGHTS = "language", "weights"


class FulltextKind:
    """The kind of full-text indexes. Options: `language`, whose stemmer is used (None for no stemming);
    `weights` by column."""

    def check_options(self, table: str, columns: Sequence[Column], options: Options) -> Options:
        for name in options:
            if name not in (LANGUAGE, WEIGHTS):
                raise UnknownName(name, f"{table}: a full-text index", [LANGUAGE, WEIGHTS])
        if not columns:
            raise BadData(f"{table}: a full-text index needs a column", fix="Name one, or several")
        for column in columns:
            _refuse_other_than_text(table, column)
        if len({column.key for column in columns}) < len(columns):
            raise BadData(f"{table}: a column is named twice for its full-text index", fix="Name it once")
        return {
            LANGUAGE: _language(table, options.get(LANGUAGE, ENGLISH)),
            WEIGHTS: _weights(table, columns, options.get(WEIGHTS)),
        }

    def make(self, place: IndexFolder, index: Index, snapshot: Snapshot, job: Job) -> None:
        counted, before = counted_rows(snapshot, job), 0
        for segment in snapshot.files:
            counted.reach(before)
            path = files.path_of(place, segment, index)
            if not path.exists():
                files.write(path, source_of(place, index, segment, snapshot), counted)
            before += segment.num_rows
        counted.reach(counted.total)

    def path(self, place: IndexFolder, index: Index, segment: FileSegment, snapshot: Snapshot) -> Path | None:
        return files.path_of(place, segment, index)

    def drop(self, place: IndexFolder, index: Index) -> None:
        for path in place.folder.glob(f"*.{index.stem}-*"):
            if index.owns(path.name):
                files.remove(path)

    def problems(self, place: IndexFolder, index: Index, snapshot: Snapshot, quick: bool) -> Iterator[str]:
        for segment in snapshot.files:
            path = files.path_of(place, segment, index)
            try:
                if path.exists():
                    files.check_seal(path, segment, quick)
            except FileProblem as problem:
                yield f"index {problem}"

    def needs(self, index: Index, name: str, data_files: Collection[str]) -> bool:
        stem, _, tail = name.partition(".")
        return index.owns(name) and "." not in tail and f"{stem}.parquet" in data_files


def is_text(kind: pa.DataType) -> bool:
    """Whether a type is text, or lists of text."""
    if is_.is_list(kind) or is_.is_large_list(kind) or is_.is_fixed_size_list(kind):
        kind = kind.value_type
    if is_.is_dictionary(kind):
        kind = kind.value_type
    return bool(is_.is_string(kind) or is_.is_large_string(kind) or is_.is_string_view(kind))


def _refuse_other_than_text(table: str, column: Column) -> None:
    if not is_text(column.type):
        raise BadData(
            f"{table}: column '{column.name}' cannot have a full-text index",
            f"it is {column.type}, which contains no words",
            "Index columns of text, or of lists of text",
        )


def _language(table: str, value: Any) -> str | None:
    if value is None or value in LANGUAGES:
        return None if value is None else str(value)
    meant = nearest(str(value), LANGUAGES) or LANGUAGES
    raise BadData(
        f"{table}: there is no stemmer for the language {value!r}",
        fix=f"Give one of {', '.join(meant)}, or None for no stemming",
    )


def _weights(table: str, columns: Sequence[Column], value: Any) -> list[float] | None:
    """The weights in the order of the columns, as which they may also be given; None if all are equal."""
    if value is None:
        return None
    if isinstance(value, list) and len(value) == len(columns):
        value = {column.name: weight for column, weight in zip(columns, value, strict=True)}
    if not isinstance(value, Mapping):
        raise BadData(f"{table}: weights {value!r} are not a dict", fix="Give one: {'title': 2}")
    names = [column.name for column in columns]
    for name, weight in value.items():
        if name not in names:
            raise UnknownColumn(str(name), f"{table}: the full-text index", names)
        if isinstance(weight, bool) or not isinstance(weight, (int, float)) or not 0 < weight < float("inf"):
            raise BadData(f"{table}: the weight of '{name}' is {weight!r}", fix="Give a number above 0")
    return [float(value.get(name, 1)) for name in names]
