"""The best rows of a snapshot for a search text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from tantivy import Query

from lamella.core.ascending import among
from lamella.core.index.fulltext.compiling import Search
from lamella.core.index.fulltext.opened import OpenFulltext, language_of
from lamella.core.index.fulltext.pending import Placed
from lamella.core.index.fulltext.tree import Clauses, Node, Words
from lamella.core.index.registry import Index
from lamella.core.jobs import Job
from lamella.core.scan.snapshot import Snapshot

FEWEST_HITS = 64
MORE = 8
"""By so many times more rows are asked for where too many of the best were left out."""


@dataclass(frozen=True, eq=False)
class Hits:
    """Positions of rows, the best first, and their scores. Equal scores come in the rows' own order."""

    positions: np.ndarray
    scores: np.ndarray


def search_of(index: Index, snapshot: Snapshot, placed: list[Placed]) -> Search:
    """In the index's columns that the snapshot has."""
    given = index.options.get("weights") or [1.0] * len(index.keys)
    told = dict(zip(index.keys, given, strict=True))
    keys = {column.name: column.key for column in snapshot.columns if column.key in index.keys}
    weights = {key: told[key] for key in keys.values()}
    return Search([one.part for one in placed], language_of(index), weights, keys)


def search(
    snapshot: Snapshot,
    index: Index,
    opened: OpenFulltext,
    node: Node,
    count: int,
    within: np.ndarray | None,
    job: Job,
) -> Hits:
    """The `count` best rows; `within`: among these positions, ascending, alone."""
    placed = opened.parts(index, snapshot, job)
    asked = search_of(index, snapshot, placed)
    few = within if within is not None and len(within) <= FEWEST_HITS and _is_exact(node) else None
    found = []
    for one in placed:
        job.check()
        query = asked.query(node, one.part)
        found.append(_best(one, query, count, within) if few is None else _among(one, query, few))
    if len(found) == 1 and few is None:
        return found[0]
    positions = np.concatenate([hits.positions for hits in found] or [np.empty(0, np.int64)])
    scores = np.concatenate([hits.scores for hits in found] or [np.empty(0)])
    order = np.lexsort((positions, -scores))[:count]
    return Hits(positions[order], scores[order])


def _is_exact(node: Node) -> bool:
    """Whether each row can be asked for by itself: to find the words that begin so takes long for each, and
    tantivy does not tell of a row before the first that is found, where all rows but some are asked for."""
    if isinstance(node, Clauses):
        return bool(node.required or node.wanted) and all(
            map(_is_exact, (*node.required, *node.wanted, *node.excluded))
        )
    return isinstance(node, Words)


def _among(placed: Placed, query: Query, positions: np.ndarray) -> Hits:
    """All hits at these positions."""
    rows = placed.rows_at(positions)
    scores = [placed.part.score(query, row) for row in rows.tolist()]
    hit = np.array([score is not None for score in scores], np.bool_)
    return Hits(placed.at(rows[hit]), np.array([score for score in scores if score is not None], np.float64))


def _best(placed: Placed, query: Query, count: int, within: np.ndarray | None) -> Hits:
    if within is None and not placed.left_out:
        rows, scores = placed.part.best(query, count)
        return Hits(placed.at(rows), scores)
    enough = None if within is not None else count + placed.left_out
    for wanted in _growing(count, placed.part.documents, enough):
        rows, scores = placed.part.best(query, wanted)
        positions = placed.at(rows)
        valid = positions >= 0
        if within is not None:
            valid &= among(positions, within)
        if int(valid.sum()) >= count:
            break
    return Hits(positions[valid][:count], scores[valid][:count])


def _growing(count: int, most: int, enough: int | None) -> Iterator[int]:
    """How many hits are asked for until `count` of them are rows that are wanted; `enough` of them hold as
    many, whichever are left out. What is not asked for, tantivy need not score."""
    wanted = max(FEWEST_HITS, 2 * count)
    wanted = wanted if enough is None else min(wanted, enough)
    while wanted < most:
        yield wanted
        wanted *= MORE
    yield most
