"""The description of a chart as plain data: its type, its columns, and how rows become figures."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

import pyarrow as pa
from pyarrow import types as is_

from lamella.core.errors import BadQuery, instead_of, short_text
from lamella.core.filters.kinds import COMPARABLE, Kind, kind_of, value_type
from lamella.core.query.functions.times import UNITS

HISTOGRAM, BAR, LINE, AREA = "histogram", "bar", "line", "area"
SCATTER, BOX, HEAT_MAP = "scatter", "box", "heat_map"
TITLES = {
    LINE: "Line chart",
    BAR: "Bar chart",
    AREA: "Area chart",
    SCATTER: "Scatter plot",
    HISTOGRAM: "Histogram",
    BOX: "Box plot",
    HEAT_MAP: "Heat map",
}
AGGREGATES = {
    "count": "count",
    "sum": "sum",
    "mean": "mean",
    "median": "median",
    "min": "minimum",
    "max": "maximum",
    "distinct": "distinct",
}
"""Aggregates that compute a figure from the rows of a group, with their names on screen."""

OF_ANY = ("count", "distinct")
"""Aggregates that take values of any type; the others take numbers."""

ADDITIVE = ("count", "sum")
"""Aggregates whose figures add up to those of all rows."""

AGGREGATED = (BAR, LINE, AREA, HEAT_MAP)
"""Charts whose figures are aggregates of a column, or counts of rows."""

Types = Mapping[str, pa.DataType]


@dataclass(frozen=True)
class ChartSpec:
    """The description of a chart. `x` and `y` are the columns along the axes; only scatter plots, box plots
    and heat maps have a `y`. The others, and the cells of a heat map, show the `aggregate` of the column
    `measure`, or the number of rows if there is none. `color` distinguishes rows by colour, and `panels`
    draws them side by side. `size` is the column that gives the points of a scatter plot their area.

    `unit` is the unit of time by which moments along `x` are grouped; empty for a suitable one. `log_x` and
    `log_y` make an axis logarithmic.
    """

    kind: str
    x: str = ""
    y: str = ""
    measure: str = ""
    aggregate: str = "count"
    color: str = ""
    panels: str = ""
    size: str = ""
    unit: str = ""
    log_x: bool = False
    log_y: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the chart reads, each once."""
        measure = self.measure if self.has_measure else ""
        y = self.y if self.has_y else ""
        size = self.size if self.has_size else ""
        names = (self.x, y, measure, self.color if self.has_color else "", self.panels, size)
        return tuple(dict.fromkeys(name for name in names if name))

    @property
    def has_y(self) -> bool:
        return self.kind in (SCATTER, BOX, HEAT_MAP)

    @property
    def has_size(self) -> bool:
        return self.kind == SCATTER

    @property
    def is_map(self) -> bool:
        """Whether the names of the axes are those of longitude and latitude."""
        plain = self.kind == SCATTER and not (self.log_x or self.log_y)
        return plain and _is_called(self.x, _LONGITUDES) and _is_called(self.y, _LATITUDES)

    @property
    def has_measure(self) -> bool:
        return self.kind in AGGREGATED

    @property
    def counts(self) -> bool:
        """Whether the figures are whole numbers: of rows, or of different values."""
        return self.kind == HISTOGRAM or (self.has_measure and self.aggregate in OF_ANY)

    @property
    def has_color(self) -> bool:
        """Whether colours distinguish rows; the cells of a heat map are coloured by their figures."""
        return self.kind not in (HEAT_MAP, BOX)

    @property
    def figure(self) -> str:
        """The name of the figures."""
        if self.kind == BOX:
            return self.y
        if not self.has_measure or not self.measure:
            return "rows"
        return f"{self.aggregate}({self.measure})"

    def to_json(self) -> dict[str, Any]:
        """The fields that differ from their defaults."""
        plain = {field.name: field.default for field in fields(self) if field.name != "kind"}
        return {name: value for name, value in asdict(self).items() if plain.get(name) != value}

    @classmethod
    def from_json(cls, item: Any) -> ChartSpec:
        """Raises `BadQuery` if `item` is not a chart."""
        if not isinstance(item, Mapping):
            raise BadQuery(f"{short_text(item)} is not a chart", fix="Give a dict with its 'kind'")
        types = {field.name: field.type for field in fields(cls)}
        for name, value in item.items():
            if name not in types:
                raise BadQuery(f"a chart has no '{short_text(name)}'", fix=instead_of(str(name), list(types)))
            if not isinstance(value, bool if types[name] == "bool" else str):
                raise BadQuery(f"{short_text(value)} is not a '{name}' of a chart")
        spec = cls(**{"kind": "", **item})
        spec.check()
        return spec

    def check(self) -> None:
        """Raises `BadQuery` for an unknown type, aggregate or unit."""
        for word, words, what in (
            (self.kind, tuple(TITLES), "type of chart"),
            (self.aggregate, tuple(AGGREGATES), "aggregate"),
            (self.unit or UNITS[0], UNITS, "unit of time"),
        ):
            if word not in words:
                raise BadQuery(f"there is no {what} {short_text(word)}", fix=instead_of(word, list(words)))

    def as_kind(self, kind: str, types: Types) -> ChartSpec:
        """Another type of chart with the same columns, as far as it can show them."""
        spec = replace(self, kind=kind, log_x=False, log_y=False)
        numbers = self.measure or self.y
        if self.kind == HEAT_MAP and self.y in types and is_category(types[self.y]):
            spec = replace(spec, color=self.y)
        if kind == HEAT_MAP and self.kind == SCATTER:
            return replace(spec, measure="", aggregate="count", color="")
        if kind == HEAT_MAP and self.kind != HEAT_MAP:
            if self.kind == BOX:
                spec = replace(spec, measure=self.y, aggregate="mean")
            across = self.color or self.panels or next((n for n in types if self._is_free(n, types)), "")
            panels = "" if across == self.panels else self.panels
            return replace(spec, y=across, color="", panels=panels)
        if kind in (SCATTER, BOX) and (self.kind == HEAT_MAP or not self.has_y):
            spec = replace(spec, y=numbers if fits(kind, "y", types.get(numbers)) else "")
            return (
                spec
                if spec.y
                else replace(spec, y=next((n for n in types if self._is_y(kind, n, types)), ""))
            )
        if kind in AGGREGATED and self.kind in (SCATTER, BOX):
            measured = self.y if self.y in types and is_number(types[self.y]) else ""
            return replace(spec, measure=measured, aggregate="mean" if measured else "count")
        if (
            kind == HISTOGRAM
            and not fits(kind, "x", types.get(self.x))
            and fits(kind, "x", types.get(numbers))
        ):
            return replace(spec, x=numbers)
        return spec

    def _is_y(self, kind: str, name: str, types: Types) -> bool:
        return name not in (self.x, self.color, self.panels) and fits(kind, "y", types[name])

    def _is_free(self, name: str, types: Types) -> bool:
        columns = (self.x, self.y if self.kind == BOX else self.measure)
        return name not in columns and is_category(types[name])

    def problem(self, types: Types) -> str:
        """What is missing to draw the chart from columns of these types; empty if nothing."""
        for role in ("x", "y", "measure", "color", "panels", "size"):
            name = getattr(self, role)
            if name and name in self.columns and name not in types:
                return f"The column '{name}' no longer exists. Choose another."
        for role, word in (("x", "X"), ("y", "Y")):
            name = getattr(self, role)
            if role == "y" and not self.has_y:
                continue
            if not name and not (self.kind == BOX and role == "x"):
                return f"Choose a column for {word}."
            if misfit := self.misfit(role, types):
                return misfit
        for role in ("color", "panels", "size"):
            if misfit := self.misfit(role, types):
                return misfit
        if self.has_measure and self.aggregate != "count" and not self.measure:
            return f"Choose a column for the {AGGREGATES[self.aggregate]}."
        return self.misfit("measure", types)

    def misfit(self, role: str, types: Types) -> str:
        """Why the column of a role does not suit it, and what to do; empty if it does."""
        name = getattr(self, role)
        if not name or name not in self.columns or name not in types:
            return ""
        if role == "measure" and fits(self.kind, role, types[name]):
            if self.aggregate in OF_ANY or is_number(types[name]):
                return ""
            wants, instead = (
                f"The {AGGREGATES[self.aggregate]} takes numbers",
                ", or count its distinct values",
            )
        elif fits(self.kind, role, types[name]):
            return ""
        elif role == "size":
            wants, instead = "The size of a point takes numbers", ""
        elif role in ("x", "y"):
            takes, instead = _WANTS[self.kind, role]
            instead = instead if fits(BAR, "x", types[name]) else ""
            wants = f"{role.upper()} of {phrase_of(self.kind)} {takes}"
        else:
            wants, instead = f"{_WORDS_ON_SCREEN[role]} {_WANTS_SINGLE}", ""
        return f"{wants}, and '{name}' is {types[name]}. Choose another column{instead}."


_LINE_TYPES = frozenset(
    {Kind.INTEGER, Kind.FLOAT, Kind.DECIMAL, Kind.DATE, Kind.TIMESTAMP, Kind.TIME, Kind.DURATION}
)
_WORDS_ON_SCREEN = {"measure": "Y", "color": "Colour", "panels": "Panels"}
_WANTS_SINGLE = "takes single values"
_WANTS = {(kind, role): (_WANTS_SINGLE, "") for kind in TITLES for role in ("x", "y")} | {
    (HISTOGRAM, "x"): ("takes numbers or times", ", or a bar chart"),
    (SCATTER, "x"): ("takes numbers or times", ", or a box plot"),
    (SCATTER, "y"): ("takes numbers or times", ", or a heat map"),
    (BOX, "y"): ("takes numbers", ", or a heat map"),
}
"""What an axis takes, and which other chart takes more."""


_LONGITUDES, _LATITUDES = ("longitude", "long", "lon", "lng"), ("latitude", "lat")
_WORDS = re.compile(r"[a-z]+")


def _is_called(name: str, words: Sequence[str]) -> bool:
    """Whether one of the words in a name is among `words`, as in `start_lon`."""
    return not set(words).isdisjoint(_WORDS.findall(name.casefold()))


def phrase_of(kind: str) -> str:
    """A type of chart within a sentence, such as "an area chart"."""
    return f"{'an' if kind == AREA else 'a'} {TITLES[kind].lower()}"


def is_on_line(kind: pa.DataType) -> bool:
    """Whether values lie on a line, with distances between them."""
    return kind_of(kind) in _LINE_TYPES and not is_.is_decimal256(value_type(kind))


def is_number(kind: pa.DataType) -> bool:
    """Whether values can be added up; true counts as 1."""
    plain = kind_of(kind) in (Kind.INTEGER, Kind.FLOAT, Kind.DECIMAL, Kind.BOOLEAN, Kind.DURATION)
    return plain and not is_.is_decimal256(value_type(kind))


def is_moment(kind: pa.DataType) -> bool:
    return kind_of(kind) in (Kind.DATE, Kind.TIMESTAMP)


def is_category(kind: pa.DataType) -> bool:
    return kind_of(kind) in (Kind.TEXT, Kind.BOOLEAN)


def fits(kind: str, role: str, type: pa.DataType | None) -> bool:
    """Whether a column of this type can have this role in a type of chart."""
    if type is None or kind_of(type) not in COMPARABLE:
        return False
    if (kind, role) in ((HISTOGRAM, "x"), (SCATTER, "x"), (SCATTER, "y")):
        return is_on_line(type)
    if (kind, role) == (BOX, "y") or role == "size":
        return is_number(type) and is_on_line(type)
    return True


def suggest(names: Sequence[str], types: Types) -> ChartSpec:
    """The chart that suits these columns by their types, with the first columns preferred; a bar chart
    without a column if none can be drawn."""
    axis_columns = [name for name in names if fits(BAR, "x", types.get(name))]
    moments = [name for name in axis_columns if is_moment(types[name])]
    numbers = [name for name in axis_columns if is_on_line(types[name]) and name not in moments]
    categories = [name for name in axis_columns if name not in moments and name not in numbers]
    color = categories[0] if categories else ""
    if moments:
        measure = next((name for name in numbers if is_number(types[name])), "")
        return ChartSpec(
            LINE, moments[0], measure=measure, aggregate="mean" if measure else "count", color=color
        )
    if len(numbers) > 1:
        map_spec = ChartSpec(SCATTER, numbers[1], numbers[0], color=color)
        return map_spec if map_spec.is_map else ChartSpec(SCATTER, numbers[0], numbers[1], color=color)
    if numbers and categories:
        if not is_number(types[numbers[0]]):
            return ChartSpec(HISTOGRAM, numbers[0], color=color)
        across = categories[1] if len(categories) > 1 else ""
        kind = HEAT_MAP if across else BAR
        return ChartSpec(kind, categories[0], y=across, measure=numbers[0], aggregate="mean")
    if numbers:
        return ChartSpec(HISTOGRAM, numbers[0])
    if len(categories) > 1:
        return ChartSpec(HEAT_MAP, categories[0], categories[1])
    return ChartSpec(BAR, color)
