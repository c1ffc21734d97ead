"""The figures of columns as rows of a table: their texts, their order, and a table for export."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import IntEnum
from typing import Any

import pyarrow as pa

from lamella.core.arrow.types import type_text
from lamella.core.errors import visible
from lamella.core.query.profile import ColumnProfile
from lamella.ui.cards.words import ABOUT, percent, value_text
from lamella.ui.formats.formats import usual_format

MEDIAN = 0.5
MEAN_DIGITS = 6
Key = tuple[int, Any]


class Figure(IntEnum):
    """The columns of the table, in their order."""

    NAME = 0
    TYPE = 1
    SPREAD = 2
    NULLS = 3
    DISTINCT = 4
    MIN = 5
    MAX = 6
    MEAN = 7
    MEDIAN = 8
    TOP = 9


TITLES = (
    "Column", "Type", "Distribution", "Nulls", "Distinct", "Min", "Max", "Mean", "Median", "Most frequent"
)  # fmt: skip
NUMBERS = frozenset({Figure.NULLS, Figure.DISTINCT, Figure.MIN, Figure.MAX, Figure.MEAN, Figure.MEDIAN})
"""The figures that are aligned to the right."""


@dataclass(frozen=True)
class ProfileRow:
    """A column, with its profile once that is computed, or the reason why there is none."""

    name: str
    type: pa.DataType
    profile: ColumnProfile | None = None
    error: str = ""

    def value(self, figure: Figure) -> Any:
        """The value of a figure; None if there is none, or none yet."""
        if figure is Figure.NAME:
            return self.name
        if figure is Figure.TYPE:
            return type_text(self.type)
        profile = self.profile
        if profile is None:
            return None
        if figure is Figure.NULLS:
            return profile.nulls / profile.rows if profile.rows else 0.0
        if figure is Figure.MEDIAN:
            return None if profile.quantiles is None else profile.quantiles.get(MEDIAN)
        if figure is Figure.TOP:
            return profile.top_values[0][0] if profile.top_values else None
        if figure is Figure.SPREAD:
            return None
        return getattr(profile, figure.name.lower())

    def text(self, figure: Figure) -> str:
        """A figure as one line of text; empty if there is none."""
        value, profile = self.value(figure), self.profile
        if figure in (Figure.NAME, Figure.TYPE):
            return visible(value)
        if profile is None or figure is Figure.SPREAD:
            return ""
        if figure is Figure.NULLS:
            return percent(profile.nulls, profile.rows)
        if figure is Figure.DISTINCT:
            return f"{ABOUT if profile.approximate else ''}{value:,}"
        if figure is Figure.TOP:
            share = f" · {percent(profile.top_values[0][1], profile.rows)}" if profile.top_values else ""
            return f"{self._value_text(value)}{share}" if profile.top_values else ""
        if value is None:
            return ""
        if figure is Figure.MEAN and isinstance(value, float):
            value = float(f"{value:.{MEAN_DIGITS}g}")
        return f"{ABOUT if figure is Figure.MEDIAN and profile.approximate else ''}{self._value_text(value)}"

    def _value_text(self, value: Any) -> str:
        """A value as the grid shows it: without separators for numbers that are not amounts, such as
        years."""
        text = value_text(value, pa.float64() if isinstance(value, float) else self.type)
        is_amount = not pa.types.is_integer(self.type) or usual_format(self.name, self.type) is not None
        return text if is_amount else text.replace(",", "")

    def key(self, figure: Figure) -> Key:
        """The sort key of a figure: numbers, then times, then texts; missing figures come last."""
        return _key(self.value(figure))


def _key(value: Any) -> Key:
    if value is None or value != value:
        return (9, 0)
    if isinstance(value, bool | int | float | Decimal):
        return (0, float(value))
    if isinstance(value, dt.timedelta):
        return (1, value.total_seconds())
    if isinstance(value, dt.datetime):
        moment = value if value.tzinfo is None else value.astimezone(dt.UTC)
        return (2, moment.replace(tzinfo=None))
    if isinstance(value, dt.date):
        return (2, dt.datetime(value.year, value.month, value.day))
    return (3, str(value).casefold())


def sort_rows(rows: Sequence[ProfileRow], figure: Figure | None, descending: bool) -> list[ProfileRow]:
    """Sort rows by a figure. Equal ones keep their order; missing figures always come last."""
    if figure is None:
        return list(rows)
    rows_with_figure = [row for row in rows if row.key(figure)[0] < 9]
    unknown = [row for row in rows if row.key(figure)[0] == 9]
    return [*sorted(rows_with_figure, key=lambda row: row.key(figure), reverse=descending), *unknown]


def matches(row: ProfileRow, words: Sequence[str]) -> bool:
    """Whether name and type contain all the words, ignoring case."""
    text = f"{row.name} {type_text(row.type)}".casefold()
    return all(word in text for word in words)


def export_table(rows: Sequence[ProfileRow]) -> pa.Table:
    """A table with a row for each column that has figures. Values of different types are texts, as on
    screen."""
    profiles = [(row, row.profile) for row in rows if row.profile is not None]

    def number(value: Any) -> float | None:
        return float(value) if isinstance(value, int | float | Decimal) and value == value else None

    def text(row: ProfileRow, value: Any) -> str | None:
        return value if value is None or isinstance(value, str) else value_text(value, row.type)

    columns: Mapping[str, tuple[list[Any], pa.DataType]] = {
        "column": ([row.name for row, _ in profiles], pa.string()),
        "type": ([type_text(row.type) for row, _ in profiles], pa.string()),
        "rows": ([profile.rows for _, profile in profiles], pa.int64()),
        "nulls": ([profile.nulls for _, profile in profiles], pa.int64()),
        "nans": ([profile.nans for _, profile in profiles], pa.int64()),
        "distinct": ([profile.distinct for _, profile in profiles], pa.int64()),
        "estimated": ([profile.approximate for _, profile in profiles], pa.bool_()),
        "min": ([text(row, profile.min) for row, profile in profiles], pa.string()),
        "max": ([text(row, profile.max) for row, profile in profiles], pa.string()),
        "mean": ([number(profile.mean) for _, profile in profiles], pa.float64()),
        "median": ([text(row, row.value(Figure.MEDIAN)) for row, _ in profiles], pa.string()),
        "most_frequent": ([text(row, row.value(Figure.TOP)) for row, _ in profiles], pa.string()),
        "most_frequent_rows": (
            [profile.top_values[0][1] if profile.top_values else None for _, profile in profiles], pa.int64()
        ),
    }  # fmt: skip
    return pa.table({name: pa.array(values, type_) for name, (values, type_) in columns.items()})
