"""Cards and profiles of columns whose rows an engine holds, which counts them there: of all rows of an
answer, not of those that were fetched."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import pyarrow as pa

from lamella.core.filters.expr import Filter
from lamella.core.jobs import Job
from lamella.core.query.axis import CLIPPED, Scale
from lamella.core.query.builder import Query, query_of
from lamella.core.query.cards import TOP_VALUES, ColumnCard, Figures, TopValue, card
from lamella.core.query.column_figures import ColumnValues, Measures
from lamella.core.query.computed_view import ComputedView
from lamella.core.query.figure_rows import figure_rows
from lamella.core.query.profile import ColumnProfile, profile, read_profile
from lamella.core.query.source import SnapshotSource
from lamella.core.query.view import View
from lamella.core.scan.snapshot import Snapshot


@dataclass(frozen=True, eq=False)
class EngineRows:
    """The rows of a query that an engine answers. `token` is the same as long as they are the same."""

    query: Query
    num_rows: int
    schema: pa.Schema
    token: Hashable

    def card(self, name: str, job: Job) -> ColumnCard:
        """Of a column, or of a field inside one by its path. Blocks. Raises `UnknownColumn`, `BadQuery` for
        what the engine cannot compute, and what else the engine raises."""
        with figure_rows(self.query, job) as rows:
            return _read_card(ColumnValues.of(rows, name), name)

    def profile(self, name: str, job: Job) -> ColumnProfile:
        """The same for a profile."""
        return profile_of_query(self.query, name, job)


def profile_of_query(query: Query, name: str, job: Job) -> ColumnProfile:
    with figure_rows(query, job) as rows:
        return read_profile(ColumnValues.of(rows, name), name)


class FetchedView(View):
    """The first rows of an answer, of which `all_rows` has more."""

    def __init__(self, snapshot: Snapshot, all_rows: EngineRows) -> None:
        super().__init__(snapshot)
        self.all_rows = all_rows


def all_rows(view: View | ComputedView) -> Snapshot | EngineRows:
    """What figures of a view are computed of."""
    return view.all_rows if isinstance(view, FetchedView) else view.snapshot


def query_of_rows(rows: Snapshot | EngineRows) -> Query:
    return rows.query if isinstance(rows, EngineRows) else query_of(SnapshotSource(rows))


def card_of(
    rows: Snapshot | EngineRows, name: str, where: Filter | None, job: Job, sampled: bool = False
) -> ColumnCard:
    """As `core.query.cards.card`; an engine's rows are filtered by their query, and never sampled."""
    return rows.card(name, job) if isinstance(rows, EngineRows) else card(rows, name, where, job, sampled)


def profile_of(rows: Snapshot | EngineRows, name: str, where: Filter | None, job: Job) -> ColumnProfile:
    """As `core.query.profile.profile`."""
    return rows.profile(name, job) if isinstance(rows, EngineRows) else profile(rows, name, where, job)


def _read_card(values: ColumnValues, name: str) -> ColumnCard:
    scale = None if values.figures.axis is None else _scale(values)
    figures = _figures_of_values(values) if scale is None else _figures_on_axis(values, scale)
    top = tuple(TopValue(value, count, None) for value, count in figures.top)
    return ColumnCard(name, values.figures.type, figures, None, top, scale)


def _scale(values: ColumnValues) -> Scale:
    figures, axis = values.figures, values.figures.axis
    assert axis is not None
    one = values.measure({**figures.ends, **figures.places((0.01, 0.99))})
    return Scale.between_percentiles(axis, figures.plain, (one["low"], one["high"]), one["places"] or ())


def _figures_on_axis(values: ColumnValues, scale: Scale) -> Figures:
    """One statement: the figures of each bin, of which those of all values are made."""
    figures = values.figures
    assert figures.axis is not None
    outside = f"CASE WHEN {figures.place} < {scale.edge(0)!r} THEN {-CLIPPED} ELSE {CLIPPED} END"
    bin_number = f"coalesce({scale.number(figures.axis)}, {outside})"
    is_in_bin = figures.is_finite or "v IS NOT NULL"
    measures: Measures = {
        "bin": (f"CASE WHEN {is_in_bin} THEN {bin_number} END", pa.int64()),
        **figures.counts,
        **figures.about_distinct,
        **figures.extremes,
    }
    answer = values.read(measures, "GROUP BY ALL")
    rows, present = sum(answer["rows"]), sum(answer["present"])
    bins = {bin: n for bin, n in zip(answer["bin"], answer["rows"], strict=True) if bin is not None}
    return Figures(
        rows, rows - present, sum(answer.get("nans", ())), sum(answer["distinct"]), True,
        min((low for low in answer["min"] if low is not None), default=None),
        max((high for high in answer["max"] if high is not None), default=None), bins,
    )  # fmt: skip


def _figures_of_values(values: ColumnValues) -> Figures:
    figures = values.figures
    one = values.measure({**figures.counts, **figures.about_distinct, **figures.short_extremes})
    return Figures(
        one["rows"], one["rows"] - one["present"], 0, one["distinct"], True,
        one.get("min"), one.get("max"), {}, values.top(TOP_VALUES),
    )  # fmt: skip
