"""Full-text search in the rows of a table, answered by an index."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from lamella.core.arrow.arrays import from_numpy, from_values
from lamella.core.errors import BadData, UnknownColumn
from lamella.core.filters.condition import Condition, condition_of
from lamella.core.index.definition import Index
from lamella.core.index.fulltext.conditions import no_fulltext_index
from lamella.core.index.fulltext.open_parts import language_of
from lamella.core.index.fulltext.query import Hits, Node, leaves, read, search
from lamella.core.index.fulltext.snippets import Highlight, snippet
from lamella.core.index.open_indexes import FULLTEXT, OpenIndexes
from lamella.core.jobs import Job
from lamella.core.query.find import find_rows
from lamella.core.scan.read import take_rows
from lamella.core.scan.row_ids import ID_COLUMN, ids_at
from lamella.core.scan.snapshot import Column, Snapshot, project
from lamella.core.store.table_version import TableVersion
from lamella.core.validation import MOST_ROWS, count_of, names_of, text_of

ROW_ID, SCORE = pa.field(ID_COLUMN.name, ID_COLUMN.type), pa.field("_score", pa.float64())
SNIPPET = "_snippet_"


@dataclass(frozen=True)
class _Search:
    """A search text parsed for an index of the snapshot."""

    snapshot: Snapshot
    index: Index
    node: Node

    @property
    def columns(self) -> list[Column]:
        return [column for column in self.snapshot.columns if column.key in self.index.keys]


def find_words(  # noqa: PLR0913 -- all that can be asked of a search
    state: TableVersion,
    indexes: OpenIndexes,
    text: str,
    *,
    columns: list[str] | None,
    where: Condition | None,
    limit: int | None,
    offset: int,
    highlight: bool | str | Sequence[str] | Highlight,
    job: Job,
    on: str | Sequence[str] | None,
    earlier: bool,
) -> pa.Table:
    """Find the rows that match `text`; see `Table.search`. `earlier`: the state is an earlier version."""
    snapshot, name = state.snapshot, state.snapshot.name
    count = MOST_ROWS if limit is None else count_of(limit, f"{name}: limit")
    first = count_of(offset, f"{name}: offset")
    names = None if columns is None else names_of(columns, f"{name}: columns")
    answer_columns = [c for c in project(snapshot, names) if c.key != ID_COLUMN.key]
    able = _fulltext(indexes, snapshot, on, earlier)
    text_query = _parse_search(snapshot, text_of(text, f"{name}: the search text"), able)
    how = _highlight(text_query, highlight)
    condition = condition_of(where, f"{name}: where", snapshot)
    within = None if condition is None else np.sort(find_rows(snapshot, condition, (), job))
    last = min(first + count, snapshot.num_rows)
    indexes.usage.note(text_query.index.stem)
    hits = search(snapshot, text_query.index, indexes.fulltext, text_query.node, last, within, job)
    return _answer(
        state, text_query, Hits(hits.positions[first:], hits.scores[first:]), answer_columns, how, job
    )


def _fulltext(
    indexes: OpenIndexes, snapshot: Snapshot, on: str | Sequence[str] | None, earlier: bool
) -> list[Index]:
    """The full-text indexes that can answer for the snapshot; an earlier version may lack some of their
    columns."""
    present = {column.key for column in snapshot.columns}
    enough = present.intersection if earlier else present.issuperset
    listed = indexes.definitions
    usable = [index for index in listed if index.kind == FULLTEXT and enough(index.keys)]
    if on is None:
        if not usable:
            raise no_fulltext_index(snapshot, lost=any(index.kind == FULLTEXT for index in listed))
        return usable
    names = names_of(on, f"{snapshot.name}: on")
    keys = {snapshot.column(name).key for name in names}
    matches = [index for index in usable if set(index.keys) == keys]
    if not matches:
        raise no_fulltext_index(snapshot, names)
    return matches


def _parse_search(snapshot: Snapshot, text: str, indexes: Sequence[Index]) -> _Search:
    """Parse the text for the first index that has the columns named in it."""
    unknown: UnknownColumn | None = None
    for index in indexes:
        names = [column.name for column in snapshot.columns if column.key in index.keys]
        try:
            return _Search(snapshot, index, read(text, f"The full-text index of {snapshot.name}", names))
        except UnknownColumn as error:
            unknown = unknown or error
    raise unknown or no_fulltext_index(snapshot)


def _answer(
    state: TableVersion,
    search: _Search,
    hits: Hits,
    columns: Sequence[Column],
    how: Highlight | None,
    job: Job,
) -> pa.Table:
    snapshot = state.snapshot
    highlighted = [] if how is None else [c for c in search.columns if c.name in (how.columns or ())]
    needed = list(dict.fromkeys([*columns, *highlighted]))
    rows = take_rows(snapshot, hits.positions, needed).columns if needed else []
    by_column, ids = dict(zip(needed, rows, strict=True)), ids_at(state, hits.positions)
    fields = [ROW_ID, SCORE, *(pa.field(c.name, c.type) for c in columns)]
    values: list[Any] = [from_numpy(ids), from_numpy(hits.scores), *(by_column[c] for c in columns)]
    sought = leaves(search.node)
    for column in highlighted if how is not None else ():
        cells = by_column[column].to_pylist()
        own_leaves = [leaf for leaf in sought if leaf.column in (None, column.name)]
        language, highlight = language_of(search.index), how or Highlight()
        values.append(
            from_values([snippet(c, own_leaves, language, highlight, job) for c in cells], pa.string())
        )
        fields.append(pa.field(f"{SNIPPET}{column.name}", pa.string()))
    _refuse_twice(snapshot, [field.name for field in fields])
    return pa.Table.from_arrays(values, schema=pa.schema(fields))


def _highlight(search: _Search, highlight: bool | str | Sequence[str] | Highlight) -> Highlight | None:
    """The highlighting with its columns resolved; None for no snippets."""
    if highlight is False:
        return None
    if not isinstance(highlight, (bool, Highlight)):
        highlight = Highlight(tuple(names_of(highlight, f"{search.snapshot.name}: highlight")))
    how, place = Highlight() if highlight is True else highlight, f"{search.snapshot.name}: highlight"
    count_of(how.length, f"{place}: length")
    for mark in (how.before, how.after):
        text_of(mark, f"{place}: before and after")
    names = [column.name for column in search.columns]
    column_names = how.columns if how.columns is None else names_of(how.columns, place)
    for name in column_names or ():
        if name not in names:
            raise UnknownColumn(name, f"The full-text index of {search.snapshot.name}", names)
    return replace(how, columns=tuple(names if column_names is None else column_names))


def _refuse_twice(snapshot: Snapshot, names: Sequence[str]) -> None:
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise BadData(
            f"{snapshot.name}: the answer would have two columns '{twice[0]}'",
            "the table has a column of that name",
            "Name the columns you want: columns=[…]",
        )
