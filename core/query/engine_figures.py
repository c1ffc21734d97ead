"""Cards and profiles of remote columns. The engine that holds the rows computes them, over all rows of an
answer rather than the fetched ones."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from lamella.core.filters.expr import Filter
from lamella.core.filters.kinds import COMPARABLE, kind_of
from lamella.core.jobs import Job
from lamella.core.query.axis import FARTHEST_BIN, Scale, value_filter
from lamella.core.query.builder import Query, query_of
from lamella.core.query.cards import KEPT_BYTES, ColumnCard, Figures, TopValue, card, shown_values, top_values
from lamella.core.query.column_figures import ColumnFigures, ColumnValues, Measures
from lamella.core.query.computed_view import ComputedView
from lamella.core.query.figure_rows import figure_rows
from lamella.core.query.profile import ColumnProfile, profile, read_profile
from lamella.core.query.source import SnapshotSource
from lamella.core.query.view import View
from lamella.core.scan.cache import LruCache
from lamella.core.scan.snapshot import Snapshot

COUNTED_VALUES = 100
"""The number of frequent values of all rows whose counts are read: a filter may bring them to the top of a
card."""
_cards: LruCache[tuple[object, ...], ColumnCard] = LruCache(KEPT_BYTES)


@dataclass(frozen=True, eq=False)
class EngineRows:
    """The rows of a query that an engine answers, without the filter on them. `token` stays the same as long
    as the rows do; meanwhile their cards are cached."""

    query: Query
    schema: pa.Schema
    token: Hashable

    def card(self, name: str, where: Filter | None, job: Job) -> ColumnCard:
        """The card of a column, or of a field by its path, for all rows and for those that meet `where`.
        Blocks. Raises `UnknownColumn`, `BadFilter`, `BadQuery` for what the engine cannot compute, and the
        engine's own errors."""
        key = (self.token, name, where)
        column_card = _cards.get([key])[0]
        if column_card is None:
            whole = None if where is None else self.card(name, None, job)
            with figure_rows(self._rows(where), job) as rows:
                column_card = self._read_card(ColumnValues.of(rows, name), name, whole, job)
            _cards.put([(key, column_card)])
        return column_card

    def profile(self, name: str, where: Filter | None, job: Job) -> ColumnProfile:
        """The profile of a column over the rows that meet `where`. Blocks and raises like `card`."""
        return profile_of_query(self._rows(where), name, job)

    def _rows(self, where: Filter | None) -> Query:
        return self.query if where is None else self.query.where(where)

    def _read_card(self, values: ColumnValues, name: str, whole: ColumnCard | None, job: Job) -> ColumnCard:
        kind, scale = values.figures.type, None if whole is None else whole.scale
        if values.figures.axis is None:
            figures = _figures_of_values(values)
        elif scale is None:
            figures, scale = _figures_and_scale(values)
        else:
            figures = _figures_on_scale(values, scale)
        if whole is None:
            top = tuple(TopValue(value, count, None) for value, count in figures.top)
            return ColumnCard(name, kind, figures, None, top, scale)
        top = top_values(figures, whole.figures, lambda missing: self._count(missing, name, kind, job))
        return ColumnCard(name, kind, whole.figures, figures, top, scale)

    def _count(self, values: Sequence[Any], name: str, kind: pa.DataType, job: Job) -> Sequence[int]:
        """The number of all rows with each of the values; 0 for values that conditions cannot name."""
        if kind_of(kind) not in COMPARABLE:
            return [0] * len(values)
        with figure_rows(self._rows(value_filter(name, kind, values)), job) as rows:
            counts = dict(ColumnValues.of(rows, name).top(len(values)))
        return [counts.get(value, 0) for value in values]


def profile_of_query(query: Query, name: str, job: Job) -> ColumnProfile:
    with figure_rows(query, job) as rows:
        return read_profile(ColumnValues.of(rows, name), name)


class FetchedView(View):
    """The fetched rows of an answer: the first ones, or all. Figures are computed from `engine_rows`,
    filtered by `engine_filter`."""

    def __init__(self, snapshot: Snapshot, rows: EngineRows, where: Filter | None, is_whole: bool) -> None:
        super().__init__(snapshot)
        self.engine_rows, self.engine_filter, self.is_fetched_whole = rows, where, is_whole


Rows = Snapshot | EngineRows


def all_rows(view: View | ComputedView) -> tuple[Rows, Filter | None]:
    """All rows behind a view, and the filter that it applies, for figures that compare both."""
    if isinstance(view, FetchedView):
        return view.engine_rows, view.engine_filter
    return view.snapshot, view.query.where


def shown_rows(view: View | ComputedView) -> tuple[Rows, Filter | None]:
    """The same for figures of the filtered rows only; an answer that was fetched whole is local."""
    if isinstance(view, FetchedView) and view.is_fetched_whole:
        return view.snapshot, None
    return all_rows(view)


def query_of_rows(rows: Rows) -> Query:
    return rows.query if isinstance(rows, EngineRows) else query_of(SnapshotSource(rows))


def card_of(rows: Rows, name: str, where: Filter | None, job: Job, sampled: bool = False) -> ColumnCard:
    """Like `core.query.cards.card`; an engine's rows are never sampled."""
    if isinstance(rows, EngineRows):
        return rows.card(name, where, job)
    return card(rows, name, where, job, sampled)


def profile_of(rows: Rows, name: str, where: Filter | None, job: Job) -> ColumnProfile:
    """Like `core.query.profile.profile`."""
    if isinstance(rows, EngineRows):
        return rows.profile(name, where, job)
    return profile(rows, name, where, job)


def _figures_and_scale(values: ColumnValues) -> tuple[Figures, Scale]:
    """Measure the figures first, which determine the bins, then count the values of each bin."""
    figures, axis = values.figures, values.figures.axis
    assert axis is not None
    answers = values.measure({**_of_rows(figures), **figures.ends, **figures.places((0.01, 0.99))})
    ends, places = (answers["low"], answers["high"]), answers["places"] or ()
    scale = Scale.between_percentiles(axis, figures.plain, ends, places)
    answer = values.read({**_bin(figures, scale), **_ROWS}, "GROUP BY ALL")
    return _figures(answers, answer), scale


def _figures_on_scale(values: ColumnValues, scale: Scale) -> Figures:
    """Compute the figures of each bin in one statement, and combine them into the figures of all values."""
    figures = values.figures
    answer = values.read({**_bin(figures, scale), **_of_rows(figures)}, "GROUP BY ALL")
    counts = (*figures.counts, *figures.about_distinct)
    answers: dict[str, Any] = {name: sum(answer[name]) for name in counts}
    for name, extreme in (("min", min), ("max", max)):
        answers[name] = extreme((value for value in answer[name] if value is not None), default=None)
    return _figures(answers, answer)


_ROWS: Measures = {"rows": ("count(*)", pa.int64())}


def _of_rows(figures: ColumnFigures) -> Measures:
    """The figures of all rows, or of the rows of a bin."""
    return {**figures.counts, **figures.about_distinct, **figures.extremes}


def _bin(figures: ColumnFigures, scale: Scale) -> Measures:
    """`bin`: the number of a finite value's bin; null for other values."""
    assert figures.axis is not None
    outside = f"CASE WHEN {figures.place} < {scale.edge(0)!r} THEN {-FARTHEST_BIN} ELSE {FARTHEST_BIN} END"
    number = f"coalesce({scale.number(figures.axis)}, {outside})"
    return {"bin": (f"CASE WHEN {figures.is_finite or 'v IS NOT NULL'} THEN {number} END", pa.int64())}


def _figures(row: Mapping[str, Any], bins: Mapping[str, Sequence[Any]]) -> Figures:
    counts = {number: n for number, n in zip(bins["bin"], bins["rows"], strict=True) if number is not None}
    return Figures(
        row["rows"], row["rows"] - row["present"], row.get("nans") or 0, row["distinct"], True,
        row["min"], row["max"], counts,
    )  # fmt: skip


def _figures_of_values(values: ColumnValues) -> Figures:
    figures = values.figures
    row = values.measure({**figures.counts, **figures.about_distinct, **figures.short_extremes})
    top, counts = shown_values(values.top(COUNTED_VALUES))
    return Figures(
        row["rows"], row["rows"] - row["present"], 0, row["distinct"], True,
        row.get("min"), row.get("max"), {}, top, counts,
    )  # fmt: skip
