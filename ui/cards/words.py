"""The texts of a column card: range, shares and counts, short on the card and complete in its tooltip."""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa

from lamella.core.arrow.nested_values import json_text
from lamella.core.errors import visible
from lamella.core.filters.kinds import NUMBERS, Kind, kind_of
from lamella.core.phrases import quantity
from lamella.core.query.cards import Bars, ColumnCard, Figures
from lamella.ui.formats.formats import usual_format
from lamella.ui.grid.texts import MINUS, screen_texts, with_minus

RANGE, ABOUT = " \u2013 ", "\u2248 "
LONGEST = 60
_LARGE = ((10**12, "T"), (10**9, "B"), (10**6, "M"), (10**3, "k"))


@dataclass(frozen=True)
class CardTexts:
    """The texts of a card. `captions` are variants, the longest first; `values` are the values listed on the
    card."""

    captions: tuple[str, ...]
    missing: str
    values: tuple[str, ...]
    shares: tuple[str, ...]
    summary: str


def texts_of(card: ColumnCard) -> CardTexts:
    """The texts of a card. Any thread."""
    figures, captions = card.shown_figures, captions_of(card)
    if card.is_sample:
        captions = (*(f"{text}, sample" for text in captions if text), "sample")
    return CardTexts(
        captions,
        missing_share(figures),
        tuple(value_text(value.value, card.type) for value in card.top),
        tuple(percent(value.count, figures.rows) for value in card.top),
        summary_of(card),
    )


def percent(part: int, whole: int) -> str:
    """At most three digits; 0% and 100% only if exact."""
    if not whole or not part:
        return "0%"
    share = 100 * part / whole
    if share < 0.1:
        return "<0.1%"
    if part < whole and share > 99.9:
        return ">99.9%"
    return f"{share:.1f}%" if share < 9.95 or (share > 99 and part < whole) else f"{share:.0f}%"


def missing_share(figures: Figures) -> str:
    """The share of nulls or, if there are none, of NaN; empty if nothing is missing."""
    if figures.rows and figures.nulls == figures.rows:
        return "all null"
    if figures.nulls:
        return f"{percent(figures.nulls, figures.rows)} null"
    return f"{percent(figures.nans, figures.rows)} NaN" if figures.nans else ""


def captions_of(card: ColumnCard) -> tuple[str, ...]:
    kind, figures = kind_of(card.type), card.shown_figures
    if figures.rows == 0:
        return ("no rows",)
    if figures.nulls == figures.rows:
        return ("",)
    if card.scale is not None and figures.min is not None:
        texts = ranges(figures.min, figures.max, kind)
        return texts if _holds_amounts(card) else (texts[0].replace(",", ""), *texts[1:])
    if kind is Kind.BOOLEAN:
        true = next((value.count for value in card.top if value.value is True), 0)
        return (f"{percent(true, figures.rows)} true",)
    number = _distinct(figures)
    if card.matching_figures is None:
        return (f"{number} value{'' if figures.distinct == 1 else 's'}", number)
    of = f"{number} of {_distinct(card.figures)}"
    return (f"{of} values", of, f"{number} value{'' if figures.distinct == 1 else 's'}", number)


def _holds_amounts(card: ColumnCard) -> bool:
    """Whether the values are not whole numbers that are codes or times, such as 2400: the grid writes those
    without separators."""
    return not pa.types.is_integer(card.type) or usual_format(card.column, card.type) is not None


def _distinct(figures: Figures) -> str:
    return f"{ABOUT if figures.approximate else ''}{figures.distinct:,}"


# ------------------------------------------------------------------ ranges


def ranges(low: Any, high: Any, kind: Kind) -> tuple[str, ...]:
    """From the least to the greatest value, in a longer and in shorter forms."""
    if isinstance(low, str) or isinstance(high, str):
        return (_range_text(str(low)[:10].partition("T")[0], str(high)[:10].partition("T")[0]),)
    if kind in NUMBERS:
        return _number_ranges(low, high)
    if isinstance(low, dt.timedelta):
        return (_range_text(span_text(low), span_text(high)),)
    if isinstance(low, dt.time):
        return (_range_text(f"{low:%H:%M}", f"{high:%H:%M}"),)
    if isinstance(low, dt.date) and isinstance(high, dt.date):
        return _date_ranges(low, high)
    return (_range_text(number_text(low), number_text(high)),)


def _range_text(low: str, high: str) -> str:
    return low if low == high else f"{low}{RANGE}{high}"


def _number_ranges(low: Any, high: Any) -> tuple[str, ...]:
    if is_like_years(low, high):
        return (_range_text(str(low), str(high)),)
    digits = _digits(low, high)
    full = _range_text(number_text(low, digits), number_text(high, digits))
    fewer = _range_text(number_text(low, digits - 1), number_text(high, digits - 1)) if digits else full
    texts = [full]
    for text in (fewer, _range_text(short_number(low), short_number(high))):
        if len(text) < len(texts[-1]) and (RANGE in text or RANGE not in full):  # both ends may round to one
            texts.append(text)
    return tuple(texts)


def is_like_years(low: Any, high: Any) -> bool:
    """Whether whole numbers in this range read better without a separator, as 2013 does."""
    return isinstance(low, int) and isinstance(high, int) and 1000 <= low <= high < 3000


def _digits(low: Any, high: Any) -> int | None:
    """The decimal places that give the range two significant digits; None for whole numbers."""
    if isinstance(low, int) and isinstance(high, int):
        return None
    span = abs(float(high) - float(low)) or abs(float(high))
    if not span or not math.isfinite(span):
        return 2
    return min(max(1 - math.floor(math.log10(span)), 0), 6)


def number_text(value: Any, digits: int | None = None) -> str:
    if isinstance(value, Decimal) and not value.is_finite():
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else ("∞" if value > 0 else f"{MINUS}∞")
    if isinstance(value, float | Decimal) and value and not 1e-4 <= abs(float(value)) < 1e15:
        return f"{value:.2g}".replace("-", MINUS)
    if isinstance(value, float) and digits is None:
        text = f"{value:,.10f}".rstrip("0").rstrip(".") if abs(value) < 1e9 else f"{value:,.4f}"
        return text.replace("-", MINUS)
    if isinstance(value, int | float | Decimal):
        return (f"{value:,}" if digits is None else f"{value:,.{digits}f}").replace("-", MINUS)
    return str(value)


def short_number(value: Any) -> str:
    """A number of three digits, with a letter for thousands, millions, billions or trillions."""
    if isinstance(value, float | Decimal) and not math.isfinite(value):
        return number_text(value)
    size = abs(value)
    if size >= 10**15:
        return f"{float(value):.1g}".replace("-", MINUS) if size < 1e308 else number_text(value)
    for unit, letter in _LARGE:
        if size >= unit:
            return f"{float(value) / unit:.3g}{letter}".replace("-", MINUS)
    return f"{float(value):.3g}".replace("-", MINUS)


def _date_ranges(low: dt.date, high: dt.date) -> tuple[str, ...]:
    days = (_day(high) - _day(low)).days
    if days == 0 and isinstance(low, dt.datetime) and isinstance(high, dt.datetime):
        hours = _range_text(f"{low:%H:%M}", f"{high:%H:%M}")
        return (f"{_day_text(low)} {hours}", hours)
    if days == 0:
        return (_day_text(low), str(low.year))
    if days <= 60:
        return _day_ranges(low, high)
    if low.year == high.year:
        return (f"{low:%b}{RANGE}{high:%b} {high.year}", str(high.year))
    years = _range_text(str(low.year), str(high.year))
    if days <= 730:
        return (f"{low:%b} {low.year}{RANGE}{high:%b} {high.year}", years)
    return (years,)


def _day_ranges(low: dt.date, high: dt.date) -> tuple[str, ...]:
    if (low.year, low.month) == (high.year, high.month):
        return (f"{low.day}{RANGE}{_day_text(high)}", f"{high:%b} {high.year}")
    if low.year == high.year:
        return (f"{low.day} {low:%b}{RANGE}{_day_text(high)}", f"{low:%b}{RANGE}{high:%b} {high.year}")
    return (f"{_day_text(low)}{RANGE}{_day_text(high)}", _range_text(str(low.year), str(high.year)))


def _day(value: dt.date) -> dt.date:
    return value.date() if isinstance(value, dt.datetime) else value


def _day_text(value: dt.date) -> str:
    return f"{value.day} {value:%b} {value.year}"


def span_text(value: dt.timedelta) -> str:
    """A duration in the largest unit in which it is at least 1."""
    seconds = abs(value.total_seconds())
    sign = MINUS if value < dt.timedelta(0) else ""
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s")):
        if seconds >= size:
            return f"{sign}{seconds / size:,.3g} {unit}"
    return f"{sign}{seconds * 1000:.3g} ms" if seconds else "0 s"


# ------------------------------------------------------------------ values


def value_text(value: Any, type_: pa.DataType) -> str:
    """A value on one line, as cells of the grid show it."""
    if value is None:
        return "NULL"
    if value == "":
        return "empty"
    if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
        return number_text(value)
    if isinstance(value, bytes):
        text = f"0x{value[:LONGEST].hex()}"
    elif isinstance(value, str):
        text = " ".join(visible(value[: LONGEST * 2]).split()) or "spaces"
    else:
        try:
            text = screen_texts(pa.array([value], type_))[0] or ""
            text = with_minus(text) if isinstance(value, dt.timedelta) else text
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            text = json_text(value) if isinstance(value, dict | list) else str(value)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def bar_text(card: ColumnCard, bars: Bars, first: int, last: int) -> str:
    """The values that bars stand for."""
    low = bars.edges[first - 1] if first > 0 else None
    high = bars.edges[last] if last < len(bars) - 1 else None
    if low is None and high is None:
        return "all values"
    if high is None:
        return f"{_edge_text(card, low)} and above"
    if low is None:
        return f"below {_edge_text(card, high)}"
    step = {int: 1, dt.date: dt.timedelta(days=1)}.get(type(high))
    if step is not None:
        return _range_text(_edge_text(card, low), _edge_text(card, high - step))
    return f"{_edge_text(card, low)} to below {_edge_text(card, high)}"


def _edge_text(card: ColumnCard, edge: Any) -> str:
    if isinstance(edge, int) and (
        is_like_years(card.figures.min, card.figures.max) or not _holds_amounts(card)
    ):
        return str(edge).replace("-", MINUS)
    return value_text(edge, card.type)


def bar_counts(bars: Bars, first: int, last: int) -> str:
    whole = sum(bars.counts[first : last + 1])
    if bars.matching_counts is None:
        return quantity(whole, "row")
    return f"{sum(bars.matching_counts[first : last + 1]):,} filtered, {whole:,} of all rows"


def value_counts(card: ColumnCard, place: int) -> str:
    value = card.top[place]
    if value.matching_count is None:
        return f"{quantity(value.total, 'row')}, {percent(value.total, card.figures.rows)}"
    met = card.shown_figures.rows
    whole = (
        f"{value.total:,} of all rows, {percent(value.total, card.figures.rows)}"
        if card.is_comparable
        else ""
    )
    return f"{value.matching_count:,} filtered, {percent(value.matching_count, met)}" + (
        f"; {whole}" if whole else ""
    )


def summary_of(card: ColumnCard) -> str:
    """All figures, one line for each set of rows."""
    lines = [f"{visible(card.column[:200])} \u00b7 {card.type!s:.80}"]
    if card.matching_figures is not None:
        lines.append(f"Filtered: {_figures(card, card.matching_figures)}")
    lines.append(
        f"All rows: {_figures(card, card.figures)}" if card.matching_figures else _figures(card, card.figures)
    )
    if card.is_sample:
        lines.append(f"From a sample of {card.figures.rows:,} rows. Exact figures follow.")
    return "\n".join(lines)


def _figures(card: ColumnCard, figures: Figures) -> str:
    parts = [quantity(figures.rows, "row")]
    if figures.nulls:
        parts.append(f"{figures.nulls:,} null ({percent(figures.nulls, figures.rows)})")
    if figures.nans:
        parts.append(f"{figures.nans:,} NaN")
    if figures.distinct:
        parts.append(f"{_distinct(figures)} different value{'' if figures.distinct == 1 else 's'}")
    if figures.min is not None:
        low, high = figures.min, figures.max
        plain = is_like_years(low, high) or not _holds_amounts(card)
        ends = [str(end).replace("-", MINUS) if plain else value_text(end, card.type) for end in (low, high)]
        parts.append(ends[0] if low == high else f"{ends[0]} to {ends[1]}")
    return " \u00b7 ".join(parts)
