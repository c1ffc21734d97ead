"""Colours of cells by their values, without Qt: scales, bars and rules."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

SHADINGS = {
    "": "None",
    "scale": "Scale from least to greatest",
    "center": "Scale around a value",
    "bars": "Bars",
    "rules": "Rules",
}
COLORS = ("blue", "red", "green", "purple", "amber")
"""In the order of the plots' palette, whose colours stay distinct with any of the common colour
deficiencies."""

RULES: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "≤": operator.le,
    "=": operator.eq,
    "≠": operator.ne,
    "≥": operator.ge,
    ">": operator.gt,
}
MOST_RULES = 8


@dataclass(frozen=True)
class Rule:
    """Values that meet the rule are bold, on a background of this colour."""

    operator: str
    value: float
    color: str = "red"

    def __post_init__(self) -> None:
        if self.operator not in RULES or self.color not in COLORS or not _is_number(self.value):
            raise ValueError(f"invalid rule {self.operator!r} {self.value!r} → {self.color!r}")

    def holds(self, value: float) -> bool:
        return RULES[self.operator](value, self.value)


@dataclass(frozen=True)
class Shade:
    """The shade of one cell: `color` at a strength up to 1, over the part of its width from `left` to
    `right`."""

    color: str
    strength: float = 1.0
    left: float = 0.0
    right: float = 1.0
    bold: bool = False


@dataclass(frozen=True)
class Shading:
    """Colours by value. `low` and `high` are the ends of a scale and of bars; None for the least and greatest
    values seen. Values beyond an end have its colour."""

    kind: str
    low: float | None = None
    high: float | None = None
    center: float = 0.0
    rules: tuple[Rule, ...] = ()

    def __post_init__(self) -> None:
        ends = [end for end in (self.low, self.high, self.center) if end is not None]
        if not self.kind or self.kind not in SHADINGS or not all(map(_is_number, ends)):
            raise ValueError(f"invalid shading {self.kind!r} from {self.low!r} to {self.high!r}")
        if len(self.rules) > MOST_RULES:
            raise ValueError(f"a column has at most {MOST_RULES} rules")

    def shade(self, value: float | None, extent: tuple[float, float]) -> Shade | None:
        """The shade of a value; None for null and NaN, and if no rule applies. `extent` are the extremes so
        far."""
        if value is None or math.isnan(value):
            return None
        if self.kind == "rules":
            color = next((rule.color for rule in self.rules if rule.holds(value)), None)
            return None if color is None else Shade(color, bold=True)
        low = extent[0] if self.low is None else self.low
        high = extent[1] if self.high is None else self.high
        if self.kind == "scale":
            return Shade("blue", _share(value, low, high))
        if self.kind == "bars":
            return _bar(value, low, high)
        return self._around(value, low, high)

    def _around(self, value: float, low: float, high: float) -> Shade:
        """Both sides on one scale, so that equal distances have equal strength."""
        reach = max(self.center - low, high - self.center)
        strength = _share(abs(value - self.center), 0.0, reach)
        return Shade("blue" if value < self.center else "amber", strength)

    def to_json(self) -> dict[str, Any]:
        obj: dict[str, Any] = {"kind": self.kind}
        obj |= {name: end for name, end in (("low", self.low), ("high", self.high)) if end is not None}
        if self.kind == "center":
            obj["center"] = self.center
        if self.rules:
            obj["rules"] = [[rule.operator, rule.value, rule.color] for rule in self.rules]
        return obj

    @staticmethod
    def from_json(obj: Any) -> Shading:
        """The shading that `to_json` wrote. Raises ValueError for anything else."""
        if not isinstance(obj, Mapping) or not set(obj) <= {"kind", "low", "high", "center", "rules"}:
            raise ValueError(f"a shading is not {obj!r}")
        rules = obj.get("rules", [])
        if not isinstance(rules, list) or not all(
            isinstance(rule, list) and len(rule) == 3 for rule in rules
        ):
            raise ValueError(f"the rules of a shading are not {rules!r}")
        options = {name: value for name, value in obj.items() if name != "rules"}
        if not isinstance(options.get("kind"), str):
            raise ValueError("a shading has a kind")
        return Shading(**options, rules=tuple(Rule(*rule) for rule in rules))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _share(value: float, low: float, high: float) -> float:
    if high <= low or value >= high:
        return 1.0 if value >= high else 0.0
    return max(0.0, value - low) / (high - low) if math.isfinite(high - low) else 0.5


def _bar(value: float, low: float, high: float) -> Shade:
    """A bar from 0, or from the end of the scale nearest to 0, to the value."""
    low, high = min(low, 0.0), max(high, 0.0)
    zero, end = _share(0.0, low, high) if low < 0 else 0.0, _share(value, low, high)
    return Shade("red" if value < 0 else "blue", 1.0, min(zero, end), max(zero, end))
