"""The texts of a chart: its title, labels of places, figures under the mouse, and which rows it leaves
out."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from functools import partial
from typing import Any

import pyarrow as pa

from lamella.core.errors import visible
from lamella.core.filters.kinds import Kind, kind_of
from lamella.core.filters.temporal import span_text
from lamella.core.phrases import quantity
from lamella.core.query.charts import ChartData, ChartSpec
from lamella.core.query.charts.dimensions import NULL, OTHERS, Dimension, Place
from lamella.core.query.charts.spec import AGGREGATES, AREA, BOX, HEAT_MAP, HISTOGRAM, LINE, OF_ANY, SCATTER
from lamella.ui.cards.words import is_like_years, number_text, short_number, value_text
from lamella.ui.grid.texts import MINUS

LONGEST = 24
FIGURE_DIGITS = 4
MOST_CELL_DIGITS = 4
COMMON_MOST = 1e5
"""Figures from here on are written with the places that they need themselves."""
NS = 10**9
SHORT_FROM = 100_000
"""From here on, a scale's ends are labelled with three digits and a letter, which take half the room."""


def title_of(spec: ChartSpec, colored: bool = True, unit: str = "") -> str:
    """Such as "Mean of arr_delay by hour and origin", or "by week of date" if places are units of time.
    Without `colored`, so dense that colours are left out."""
    x, y = visible(spec.x), visible(spec.y)
    x = f"{unit} of {x}" if unit else x
    by = [name for name in (spec.color if spec.has_color and colored else "", spec.panels) if name]
    if spec.kind == HISTOGRAM:
        what = [f"Rows by {x}"]
    elif spec.kind == SCATTER:
        what = [f"{y} by {x}"]
    elif spec.kind == BOX:
        what = [f"Spread of {y}" + (f" by {x}" if x else "")]
    else:
        what = [f"{figure_title(spec)} by {x}"]
        by = [spec.y, *by] if spec.kind == HEAT_MAP else by
    by = list(dict.fromkeys(by))
    return what[0] + "".join(
        f"{' and ' if n == len(by) - 1 else ', '}{visible(name)}" for n, name in enumerate(by)
    )


def axis_title(dimension: Dimension) -> str:
    """The name of the column, with the unit of time that a place is: "date, by week"."""
    name = visible(dimension.column)
    return f"{name}, by {dimension.unit}" if dimension.unit else name


def figure_title(spec: ChartSpec) -> str:
    """The name of the figures, as on the axis."""
    if spec.kind in (SCATTER, BOX):
        return visible(spec.y)
    if not spec.has_measure or not spec.measure:
        return "Rows"
    if spec.aggregate == "count":
        return f"Rows with {visible(spec.measure)}"
    if spec.aggregate == "distinct":
        return f"Distinct values of {visible(spec.measure)}"
    return f"{AGGREGATES[spec.aggregate].capitalize()} of {visible(spec.measure)}"


def figures_are_durations(spec: ChartSpec, types: Mapping[str, pa.DataType]) -> bool:
    """Whether the figures are durations, which charts have in seconds."""
    if spec.kind == BOX:
        column = spec.y
    else:
        column = spec.measure if spec.has_measure and spec.aggregate not in OF_ANY else ""
    return column in types and kind_of(types[column]) is Kind.DURATION


def duration_text(seconds: float) -> str:
    """A duration as cells show it, without fractions of a second from a minute on."""
    if not math.isfinite(seconds):
        return number_text(seconds)
    digits = 0 if abs(seconds) >= 60 else 3
    return span_text(int(round(Decimal(seconds), digits) * NS)).replace("-", MINUS)


def figure_text(value: float | None, is_duration: bool = False) -> str:
    """A figure with few decimal places, for reading."""
    if value is None:
        return "NULL"
    if is_duration:
        return duration_text(value)
    if float(value).is_integer() and abs(value) < 1e15:
        return number_text(int(value))
    if not 1e-4 <= abs(value) < 1e15:
        return number_text(float(value))
    digits = FIGURE_DIGITS - len(str(int(abs(value)))) if abs(value) >= 1 else FIGURE_DIGITS
    return number_text(round(float(value), max(0, digits)))


def common_digits(values: Sequence[Any]) -> int | None:
    """The decimal places with which each of some figures can be read, not more than they have; None if they
    differ too much for that, or if none is a float."""
    sizes = [abs(value) for value in values if isinstance(value, float) and math.isfinite(value) and value]
    if not sizes or not 1e-3 <= min(sizes) <= max(sizes) < COMMON_MOST:
        return None
    places = [FIGURE_DIGITS - (len(str(int(size))) if size >= 1 else 0) for size in sizes if size % 1]
    most = max((len(repr(size).partition(".")[2]) for size in sizes if size % 1), default=0)
    return max([0, *(min(place, most) for place in places)])


def scale_text(value: float, is_duration: bool = False) -> str:
    """A number in a legend: 7,500, but 50M."""
    if is_duration:
        return duration_text(value)
    return short_number(value) if abs(value) >= SHORT_FROM else figure_text(value)


def rounded(value: float) -> float:
    """A figure rounded to fit into a cell of a heat map."""
    return round(value, 1) if abs(value) < 1000 else round(value)


def cell_texts(figures: Sequence[float], are_durations: bool = False) -> list[str]:
    """The figures of a heat map, all with the same number of decimal places: none for whole numbers and from
    a thousand on, otherwise as many as the greatest needs for two digits."""
    if are_durations:
        return [duration_text(rounded(figure)) for figure in figures]
    sizes = [abs(figure) for figure in figures if math.isfinite(figure)]
    greatest = max(sizes, default=0)
    digits = 0
    if greatest < 1000 and not all(float(size).is_integer() for size in sizes):
        digits = max(1, 1 - math.floor(math.log10(greatest)))
    if digits > MOST_CELL_DIGITS or greatest >= 1e15:
        return [figure_text(figure) for figure in figures]
    texts = [number_text(round(float(figure), digits), digits) for figure in figures]
    return [text.removeprefix(MINUS) if not text.strip(f"{MINUS}0.") else text for text in texts]


def place_text(dimension: Dimension, place: Place) -> str:
    """The value, the range or the unit of time, in full."""
    if place.key == OTHERS:
        return f"{dimension.others:,} others"
    if place.key == NULL:
        return "NULL"
    if dimension.form == "moments":
        return moment_text(place.low, dimension.unit)
    if dimension.form == "values":
        return value_text(place.low, dimension.type)
    return _range_text(dimension, place)


def short_text(dimension: Dimension, place: Place) -> str:
    """The same, shortened to fit into a legend."""
    text = "others" if place.key == OTHERS else place_text(dimension, place)
    if len(text) <= LONGEST:
        return text
    whole = visible(place.low) if isinstance(place.low, str) else text
    end = whole[-LONGEST // 3 :]  # distinguishes names with the same beginning
    return f"{text[: LONGEST - len(end) - 1]}…{end}"


def tick_text(dimension: Dimension, place: Place) -> str:
    """The label of a place below its bar; for a range, its beginning."""
    if dimension.form == "ranges" and place.key >= 0 and _single(dimension, place) is None:
        return _edge(dimension, place.low)
    return short_text(dimension, place)


def _range_text(dimension: Dimension, place: Place) -> str:
    single = _single(dimension, place)
    if single is not None:
        return _edge(dimension, single)
    if place.high is None:
        return f"{_edge(dimension, place.low)} and later"
    kind = kind_of(dimension.type)
    if kind in (Kind.INTEGER, Kind.DATE):
        last = place.high - (dt.timedelta(days=1) if kind is Kind.DATE else 1)
        return f"{_edge(dimension, place.low)} – {_edge(dimension, last)}"
    low, high = _log_ends(place.low, place.high) if dimension.log else (place.low, place.high)
    return f"{_edge(dimension, low)} to below {_edge(dimension, high)}"


def _log_ends(low: Any, high: Any) -> tuple[Any, Any]:
    """The ends of a range along a log axis, with the digits that tell them apart."""
    if not isinstance(low, float) or not isinstance(high, float) or not 0 < low < high < math.inf:
        return low, high
    digits = max(FIGURE_DIGITS, 2 + math.ceil(-math.log10((high - low) / high)))
    return float(f"{low:.{digits}g}"), float(f"{high:.{digits}g}")


def _single(dimension: Dimension, place: Place) -> Any:
    """The single value in a range of whole numbers; None if there are several."""
    if kind_of(dimension.type) is not Kind.INTEGER or place.high is None:
        return None
    return place.low if place.high - place.low == 1 else None


def _edge(dimension: Dimension, value: Any) -> str:
    ends = [place.low for place in (dimension.places[0], dimension.places[-1]) if place.key >= 0]
    if len(ends) == 2 and is_like_years(*ends):
        return str(value)
    return value_text(value, dimension.type)


def moment_text(moment: Any, unit: str) -> str:
    """A unit of time, named by its beginning."""
    if not isinstance(moment, dt.date):
        return str(moment)[:10]
    if unit == "year":
        return f"{moment.year:04}"
    if unit == "quarter":
        return f"{moment.year:04} Q{(moment.month + 2) // 3}"
    if unit == "month":
        return f"{moment.year:04}-{moment.month:02}"
    day = f"{moment.year:04}-{moment.month:02}-{moment.day:02}"
    if unit == "week":
        return f"week of {day}"
    if unit == "day" or not isinstance(moment, dt.datetime):
        return day
    return f"{day} {moment:%H:%M}" if unit != "second" else f"{day} {moment:%H:%M:%S}"


def partial_texts(data: ChartData) -> list[str]:
    """What should be known about units of time that are not complete."""
    if data.x is None or not data.partial:
        return []
    places, texts = [place for place in data.x.places if place.key >= 0], []
    for key, (begin, end) in data.partial.items():
        if len(places) == 1:
            texts.append(f"The {data.x.unit} is incomplete: rows are from {begin} to {end}")
        elif key == places[0].key:
            texts.append(f"The first {data.x.unit} is incomplete: rows begin on {begin}")
        else:
            texts.append(f"The last {data.x.unit} is incomplete: rows end on {end}")
    return texts


def hover_text(data: ChartData, row: Mapping[str, Any]) -> str:
    """Everything known about one figure, on a line each."""
    spec, lines = data.spec, list[str]()
    for name, dimension in (("panels", data.panels), ("color", data.color), ("x", data.x), ("y", data.y)):
        if dimension is not None and name in row and not (data.shows_points and name in ("x", "y")):
            place = dimension.place(row[name])
            text_of_place = place_text(dimension, place)
            if name == "x" and place.key in data.partial:
                begin, end = data.partial[place.key]
                text_of_place += f" (incomplete: {begin} to {end})"
            lines.append(f"{visible(dimension.column)}: {text_of_place}")
    if data.shows_points:
        size = row.get("size")
        lines += (
            [f"{visible(spec.size)}: {'null' if size is None else figure_text(size)}"]
            if "size" in row
            else []
        )
        return "\n".join([*point_lines(data, row), *lines])
    text = partial(figure_text, is_duration=figures_are_durations(spec, data.types))
    if spec.kind == BOX:
        return "\n".join([*lines, *_box_lines(row, text), quantity(row["rows"], "row")])
    if spec.has_measure and spec.measure and spec.aggregate != "count":
        figure = f"{figure_title(spec)}: {text(row['value'])}"
        if row.get("low") is not None:
            figure += f" (95%: {text(row['low'])} to {text(row['high'])})"
        lines.append(figure)
    return "\n".join([*lines, quantity(row["rows"], "row")])


def point_lines(data: ChartData, row: Mapping[str, Any]) -> list[str]:
    lines = []
    for dimension, at in ((data.x, "at_x"), (data.y, "at_y")):
        assert dimension is not None
        value = 10.0 ** row[at] if dimension.log else row[at]
        kind = kind_of(dimension.type)
        if kind in (Kind.DATE, Kind.TIMESTAMP):
            text = str(dt.datetime(1970, 1, 1) + dt.timedelta(seconds=value))
        elif kind in (Kind.TIME, Kind.DURATION):
            text = duration_text(value)
        else:
            text = figure_text(value)
        lines.append(f"{visible(dimension.column)}: {text}")
    return lines


def _box_lines(row: Mapping[str, Any], text: Callable[[float], str]) -> list[str]:
    return [
        f"Median: {text(row['value'])}",
        f"Middle half: {text(row['q1'])} to {text(row['q3'])}",
        f"Whiskers: {text(row['low'])} to {text(row['high'])}",
        f"Minimum and maximum: {text(row['least'])}, {text(row['greatest'])}",
        f"Beyond the whiskers: {row['outliers']:,}",
    ]


def counts_of(data: ChartData, total: int) -> list[tuple[str, str]]:
    """The numbers of rows in the chart and left out; `total` counts the rows before the filter."""
    lines = [("Used", f"{data.used:,}"), *((visible(why), f"{n:,}") for why, n in data.left_out)]
    if total > data.rows:
        lines.append(("Filtered out", f"{total - data.rows:,}"))
    return lines


def remarks_of(data: ChartData) -> list[str]:
    """What should be known about the figures, and about those that are not drawn."""
    is_of_texts = data.x is not None and data.x.form == "values" and kind_of(data.x.type) is Kind.TEXT
    order = f"{visible(data.spec.x)} is text: its values are in the order of their letters"
    joins_texts = is_of_texts and data.spec.kind in (LINE, AREA)
    return [*partial_texts(data), *([order] if joins_texts else []), *_drawing_remarks(data)]


def _drawing_remarks(data: ChartData) -> list[str]:
    if data.spec.kind == SCATTER:
        lacks_map = data.spec.is_map and not data.is_map and data.table.num_rows
        sizes = data.table["size"].to_pylist() if "size" in data.table.column_names else []
        return [
            *data.remarks,
            *([f"No map: {visible(data.spec.y)} goes beyond 90 degrees"] if lacks_map else []),
            *_size_remarks(visible(data.spec.size or ""), sizes),
        ]
    if not data.spec.log_y or data.spec.kind == HEAT_MAP:
        return list(data.remarks)
    name = "low" if data.spec.kind == BOX else "value"
    values = data.table[name].to_pylist()
    lost = sum(value is not None and value <= 0 for value in values)
    if not lost:
        return list(data.remarks)
    are = "figure is" if lost == 1 else "figures are"
    return [*data.remarks, f"{lost:,} {are} 0 or less, which a log scale lacks"]


def _size_remarks(name: str, sizes: Sequence[float | None]) -> list[str]:
    """Which points have a size that is not in proportion."""
    numbers = [size for size in sizes if size is not None and not math.isnan(size)]
    missing, below = len(sizes) - len(numbers), sum(size < 0 for size in numbers)
    infinite = sum(size == math.inf for size in numbers)
    counts = ((missing, "without a number"), (below, "below 0"))
    smallest = " and ".join(f"{count:,} {what}" for count, what in counts if count)
    return [
        *([f"Smallest points by {name}: {smallest}"] if smallest else []),
        *([f"Largest points by {name}: {infinite:,} infinite"] if infinite else []),
    ]


def summary_of(data: ChartData) -> str:
    """A description of the chart for screen readers."""
    if not data.table.num_rows:
        return f"{title_of(data.spec)}: no figures"
    what = f"{title_of(data.spec)}: {quantity(data.table.num_rows, 'figure')} of {quantity(data.used, 'row')}"
    if "value" not in data.table.column_names or data.spec.kind == BOX:
        return what
    values = [value for value in data.table["value"].to_pylist() if value is not None]
    if not values:
        return what
    text = partial(figure_text, is_duration=figures_are_durations(data.spec, data.types))
    return f"{what}, from {text(min(values))} to {text(max(values))}"


def brush_text(dimension: Dimension, places: Sequence[Place]) -> str:
    """A text for a range of the axis, such as "hour 17 – 20"."""
    first, last = places[0], places[-1]
    name = visible(dimension.column)
    if first is last:
        return f"{name} {place_text(dimension, first)}"
    if dimension.form == "values" and not dimension.is_even:
        texts = [short_text(dimension, place) for place in places]
        return f"{name} {', '.join(texts[:3])}" + (f" and {len(texts) - 3} more" if len(texts) > 3 else "")
    ends = Place(0, first.low, last.high, 0, 0, 0)
    if dimension.form == "ranges":
        return f"{name} {_range_text(dimension, ends)}"
    return f"{name} {place_text(dimension, first)} – {place_text(dimension, last)}"
