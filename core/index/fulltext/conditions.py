"""Conditions on words in filters: the rows whose column has the words, found by a full-text index."""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from lamella.core.arrow.sorted_ids import distinct
from lamella.core.errors import BadSearch
from lamella.core.filters.expr import Predicate
from lamella.core.index.definition import Index
from lamella.core.index.fulltext.open_parts import is_text
from lamella.core.index.fulltext.part import ENGLISH, build
from lamella.core.index.fulltext.query import Clauses, Leaf, Node, read, search
from lamella.core.index.open_indexes import FULLTEXT, OpenIndexes
from lamella.core.jobs import Job
from lamella.core.scan.cache import LruCache
from lamella.core.scan.read import live_positions, take_rows
from lamella.core.scan.snapshot import Column, Snapshot

CACHE_BYTES = 64 << 20
_known_positions: LruCache[tuple[object, ...], np.ndarray] = LruCache(CACHE_BYTES)
"""Positions by snapshot, index and words."""


def rows_with_words(snapshot: Snapshot, condition: Predicate, job: Job) -> np.ndarray:
    """Positions of the live rows that meet a condition on words, ascending. Raises `BadSearch` if the column
    has no full-text index, or the words cannot be parsed."""
    column = snapshot.column(condition.column)
    index, text = index_with(snapshot, column), str(condition.values[0])
    key = (snapshot.token, index.stem, column.key, text)
    positions = _known_positions.get([key])[0]
    if positions is None:
        positions = _search(snapshot, index, column, text, job)
        _known_positions.put([(key, positions)])
    return positions


def _search(snapshot: Snapshot, index: Index, column: Column, text: str, job: Job) -> np.ndarray:
    node = _in_column(read_words(text, column.name), column.name)
    assert isinstance(snapshot.indexes, OpenIndexes)
    snapshot.indexes.usage.note(index.stem)
    hits = search(snapshot, index, snapshot.indexes.fulltext, node, snapshot.num_rows, None, job)
    return np.sort(hits.positions)


def read_words(text: str, name: str) -> Node:
    """Parse a search in a column. Raises `BadSearch` and `UnknownColumn`."""
    return read(text, f"The full-text index of '{name}'", [name])


def index_with(snapshot: Snapshot, column: Column) -> Index:
    """A full-text index of a column, preferably of it alone. Raises `BadSearch`."""
    definitions = snapshot.indexes.definitions if isinstance(snapshot.indexes, OpenIndexes) else ()
    candidates = [index for index in definitions if index.kind == FULLTEXT and column.key in index.keys]
    present = {present_column.key for present_column in snapshot.columns}
    usable = [index for index in candidates if present.issuperset(index.keys)]
    if column.path or not usable:
        raise no_fulltext_index(snapshot, [column.name], lost=bool(candidates) and not column.path)
    return min(usable, key=lambda index: len(index.keys))


def _in_column(node: Node, name: str) -> Node:
    """Restrict a search in an index of several columns to this one."""
    if isinstance(node, Leaf):
        return replace(node, column=name)
    parts = (node.required_nodes, node.optional_nodes, node.excluded_nodes)
    return Clauses(*(tuple(_in_column(child, name) for child in part) for part in parts))


def no_fulltext_index(
    snapshot: Snapshot, on: Sequence[str] | None = None, lost: bool = False
) -> BadSearch:  # fmt: skip
    """The error for a missing index. `lost` means that there is one, but on a column that the version
    lacks."""
    texts = [column.name for column in snapshot.columns if is_text(column.type)]
    names = [name for name in on or texts[:3] if name in texts]
    on_text = f" on {', '.join(on)}" if on else ""
    why = "only an index can find words"
    if lost:
        why = "a column of its index was dropped, or changed to a type without words"
    if on and len(names) < len(on):
        why = f"'{next(name for name in on if name not in texts)}' is not a column of text"
        names = names or texts[:3]
    call = f"table.indexes.create({names!r}, kind='{FULLTEXT}')"
    if names and snapshot.ids is None:
        call = "import it into a store first, since only tables of a store have indexes"
    return BadSearch(
        f"{snapshot.name} has no full-text index{on_text}",
        why,
        f"Create one: {call}" if names else "It has no columns of text",
    )


SAMPLE_ROWS = (500, 2_000, 5_000)
STEEPEST = -0.25
"""The steepest decrease that samples, whose rows are not all of the same length, are believed."""


@dataclass(frozen=True)
class IndexCost:
    """The expected cost of an index: bytes on disk, and seconds to build."""

    num_bytes: int
    seconds: float


def expected_cost(snapshot: Snapshot, names: Sequence[str], job: Job) -> IndexCost:
    """Estimate the cost of a full-text index of these columns from three samples of their rows. Blocks."""
    columns, rows = [snapshot.column(name) for name in names], snapshot.num_rows
    if rows <= SAMPLE_ROWS[-1]:
        return _cost_of(snapshot, columns, rows, job)
    samples = [_cost_of(snapshot, columns, count, job) for count in SAMPLE_ROWS]
    few, some = samples[0], samples[-1]
    share = (rows - SAMPLE_ROWS[-1]) / (SAMPLE_ROWS[-1] - SAMPLE_ROWS[0])
    return IndexCost(
        round(extrapolate([(n, cost.num_bytes) for n, cost in zip(SAMPLE_ROWS, samples, strict=True)], rows)),
        some.seconds + max(0.0, some.seconds - few.seconds) * share,
    )


def extrapolate(samples: Sequence[tuple[int, int]], rows: int) -> float:
    """The size for this many rows, from (rows, size) of three samples.

    The more rows there are, the fewer words of the next one are new, so a row adds less and less: how much
    less from the first two samples to the last two, by a power of the number of rows. It does not add less
    where all words are known.
    """
    (first, size), (second, larger), (third, largest) = samples
    early, late = (larger - size) / (second - first), (largest - larger) / (third - second)
    if early <= 0 or late <= 0:
        return max(size, larger, largest)
    before, after = math.sqrt(first * second), math.sqrt(second * third)
    power = min(0.0, max(STEEPEST, math.log(late / early) / math.log(after / before)))
    added = (rows ** (power + 1) - third ** (power + 1)) / (power + 1)
    return float(largest + late * after**-power * added)


def _cost_of(snapshot: Snapshot, columns: Sequence[Column], count: int, job: Job) -> IndexCost:
    """The cost for evenly spread rows."""
    live = distinct(np.linspace(0, max(0, snapshot.num_rows - 1), count).astype(np.int64))[:count]
    values = take_rows(snapshot, live_positions(snapshot, live), columns)
    with tempfile.TemporaryDirectory(prefix="lamella-index-") as folder:
        started = time.perf_counter()
        texts = {column.key: values.column(place) for place, column in enumerate(columns)}
        build(texts, len(live), ENGLISH, folder=Path(folder), job=job)
        seconds = time.perf_counter() - started
        num_bytes = sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file())
    return IndexCost(num_bytes, seconds)
