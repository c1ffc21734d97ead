"""Units of time at the ends of an axis of which the rows cover only a part."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping

from lamella.core.query.charts.dimensions import UNIT_SECONDS, Dimension

LONG_UNITS = ("week", "month", "quarter", "year")
"""Shorter units are often empty for a part, such as at night, although nothing is missing."""
LEAST_SHARE = 0.05
"""What may be missing of a unit that is still complete."""
GAPLESS = 1.05
"""Up to this many days from one day with rows to the next, there are rows on every day."""
MOST_GAPS = 2.25
"""How many usual gaps between days with rows may be at an end, such as a weekend and a holiday."""

Days = tuple[dt.date, dt.date]


def partial_units(
    axis: Dimension, first: object, last: object, count_days: Callable[[], int]
) -> Mapping[int, Days]:
    """The keys of the first and the last place if rows cover only a part of their unit of time, with the
    first and last day of this part. `first` and `last` are the extremes of the column; `count_days` returns
    on how many days there are rows, and is only called if an end falls short."""
    begin, end = day_of(first), day_of(last)
    places = [place for place in axis.places if place.key >= 0]
    if axis.unit not in LONG_UNITS or not places or begin is None or end is None:
        return {}
    low, high = day_of(places[0].low), day_of(places[-1].high)
    if low is None or high is None:
        return {}
    missing_first, missing_last = (begin - low).days, (high - end).days - 1
    least = LEAST_SHARE * UNIT_SECONDS[axis.unit] / UNIT_SECONDS["day"]
    if max(missing_first, missing_last) <= least:
        return {}
    gap = ((end - begin).days + 1) / max(1, count_days())
    most = max(least, 0 if gap <= GAPLESS else MOST_GAPS * gap)
    partial = dict[int, Days]()
    if missing_first > most:
        until = day_of(places[0].high)
        partial[places[0].key] = begin, end if until is None or end < until else until - dt.timedelta(days=1)
    if missing_last > most:
        since = day_of(places[-1].low)
        partial[places[-1].key] = begin if since is None or begin > since else since, end
    return partial


def day_of(moment: object) -> dt.date | None:
    """The day of a date or time; None beyond Python's calendar."""
    if isinstance(moment, dt.datetime):
        return moment.date()
    return moment if isinstance(moment, dt.date) else None
