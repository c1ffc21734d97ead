"""Columns of text that look like numbers or dates, and the effect of converting their values."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc

from lamella.core.datasets.text.regional import (
    DAY_FIRST,
    MONTH_FIRST,
    YEAR_FIRST,
    Conventions,
    SpelledType,
    likely_spelling,
)
from lamella.core.datasets.text.types import convert

Goal = Literal["numbers", "dates"]
GOALS: tuple[Goal, ...] = ("dates", "numbers")
SAMPLE_ROWS, LEAST_SHARE, MOST_EXAMPLES = 2_000, 0.8, 3
_ZEROS_IN_FRONT = "^[+-]?0[0-9]+$"
"""Postcodes and part numbers begin like this; they are not quantities."""


@dataclass(frozen=True)
class Conversion:
    """The effect of converting a column of texts to `kind`: `total` of them are not null, and `failing` of
    these would become null. `sample` is the first text, with its value, that looks different as a value.
    `other`: no value shows which part of a date comes first; this conversion has the day first, the other
    one the month. `names_order`: the values of a file are read so only if the option `dates` says it."""

    goal: Goal
    kind: SpelledType
    total: int
    failing: int
    examples: tuple[str, ...]
    sample: tuple[str, str] | None = None
    other: Conversion | None = None
    names_order: bool = False

    @property
    def doubt(self) -> str:
        """What the two orders of day and month make of the first value; empty if there is no doubt."""
        if self.other is None or self.sample is None or self.other.sample is None:
            return ""
        text, value = self.sample
        return f"'{text[:40]}' is {value} with the day first, {self.other.sample[1]} with the month first"

    def __str__(self) -> str:
        """For users: what would be lost, and how the other texts are read."""
        sample_text = f", '{self.sample[0][:40]}' read as {self.sample[1]}" if self.sample is not None else ""
        sample_text = f"; {self.doubt}" if self.doubt else sample_text
        if not self.failing:
            return f"All {self.total:,} values are {self.goal}{sample_text}"
        example_texts = ", ".join(f"'{text[:40]}'" for text in self.examples)
        word = "1 is not, and becomes" if self.failing == 1 else f"{self.failing:,} are not, and become"
        good = f"{self.total - self.failing:,} of {self.total:,} values are {self.goal}{sample_text}"
        return f"{good}; {word} null: {example_texts}"


def looks_like(texts: pa.Array) -> Goal | None:
    """Return what most of the first values of a column look like; None if it is neither."""
    present = pc.drop_null(texts)
    if not len(present):
        return None
    for goal in GOALS:
        if goal == "numbers" and pc.any(pc.match_substring_regex(present, _ZEROS_IN_FRONT)).as_py():
            continue
        for kind in _kinds(goal, present):
            values, misfits = convert(present, kind)
            failing = 0 if misfits is None else pc.sum(misfits).as_py()
            if len(values) - values.null_count and len(present) - failing >= LEAST_SHARE * len(present):
                return goal
    return None


def conversion(texts: Iterable[pa.Array], goal: Goal) -> Conversion:
    """Return the effect of converting a whole column. The first values determine how they are parsed, but for
    the order of day and month: that in which more of all values are dates."""
    first = pa.nulls(0, pa.string())
    counts: list[_Count] = []
    total = 0
    for part in texts:
        if not counts:
            first = pc.drop_null(part).slice(0, SAMPLE_ROWS)
            if not len(first):
                continue
            counts = [_Count(kind) for kind in _kinds(goal, first)]
        total += len(part) - part.null_count
        for count in counts:
            count.add(part)
    counts = counts or [_Count(_kinds(goal, first)[0])]
    ways = [
        Conversion(
            goal,
            best.kind,
            total,
            best.failing,
            tuple(best.examples),
            _sample(first, best.kind),
            names_order=len(counts) > 2,
        )
        for best in (_narrowest(counts[place : place + 2]) for place in range(0, len(counts), 2))
    ]
    ways.sort(key=lambda way: way.failing)
    if len(ways) > 1 and ways[0].failing == ways[1].failing:
        return replace(ways[0], other=ways[1])
    return ways[0]


class _Count:
    """The values of a column that do not fit a type."""

    def __init__(self, kind: SpelledType) -> None:
        self.kind, self.failing, self.examples = kind, 0, list[str]()

    def add(self, texts: pa.Array) -> None:
        _, misfits = convert(texts, self.kind)
        if misfits is None:
            return
        self.failing += pc.sum(misfits).as_py() or 0
        if len(self.examples) < MOST_EXAMPLES:
            self.examples += texts.filter(misfits).slice(0, MOST_EXAMPLES - len(self.examples)).to_pylist()


def _narrowest(counts: list[_Count]) -> _Count:
    """The last type, which is narrower, if it fits as many values."""
    return counts[-1] if counts[-1].failing <= counts[0].failing else counts[0]


def _sample(texts: pa.Array, kind: SpelledType) -> tuple[str, str] | None:
    """The first text whose value looks different, with that value."""
    values, _ = convert(texts, kind)
    for text, value in zip(texts.to_pylist(), values.to_pylist(), strict=True):
        spelling = f"{value:.15g}" if isinstance(value, float) else str(value)
        if value is not None and spelling != text.strip():
            return text, spelling
    return None


def _kinds(goal: Goal, first: pa.Array) -> list[SpelledType]:
    """The type that fits the most values, and a narrower one to be used if it fits as many; of dates, both
    with the day and with the month first if the first values leave that open."""
    wide, narrow = (pa.float64(), pa.int64()) if goal == "numbers" else (pa.timestamp("us"), pa.date32())
    spelling = replace(likely_spelling(first, wide, Conventions()), is_forced=True)
    is_open = goal == "dates" and spelling.order == YEAR_FIRST and pc.any(
        pc.match_substring_regex(first, r"^\s*[0-9]{1,2}[./-][0-9]{1,2}[./-]")
    ).as_py()  # fmt: skip
    orders = (DAY_FIRST, MONTH_FIRST) if is_open else (spelling.order,)
    return [SpelledType(kind, replace(spelling, order=order)) for order in orders for kind in (wide, narrow)]


def spelled_type(kind: pa.DataType, texts: pa.Array, conventions: Conventions) -> pa.DataType:
    """Return the rules for reading texts as a type chosen by the user, derived from the texts themselves or
    else from other columns; texts that do not fit become null."""
    if pa.types.is_string(kind):
        return kind
    zone = ""
    if pa.types.is_timestamp(kind):
        zone = conventions.zone or kind.tz or ""
        kind = pa.timestamp("ns" if kind.unit == "ns" else "us", zone or None)
    spelling = likely_spelling(texts, kind, conventions)
    return SpelledType(kind, replace(spelling, zone=zone, is_forced=True, booleans=conventions.booleans))


def as_texts(texts: pa.Array, kind: SpelledType) -> pa.Array:
    """Return the values as text in their canonical form; null for texts that do not fit the type."""
    values, _ = convert(texts, kind)
    return pc.cast(values, pa.string())
