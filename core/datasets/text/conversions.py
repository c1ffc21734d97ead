"""Columns of text that look like numbers or dates, and the effect of converting their values."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc

from lamella.core.datasets.text.regional import (
    DAY_FIRST,
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
    `is_assumed`: no value shows which part of a date comes first."""

    goal: Goal
    kind: SpelledType
    total: int
    failing: int
    examples: tuple[str, ...]
    sample: tuple[str, str] | None = None
    is_assumed: bool = False

    def __str__(self) -> str:
        """For users: what would be lost, and how the other texts are read."""
        sample_text = f", '{self.sample[0][:40]}' read as {self.sample[1]}" if self.sample is not None else ""
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
        values, misfits = convert(present, _kind(goal, present)[0])
        if goal == "numbers" and pc.any(pc.match_substring_regex(present, _ZEROS_IN_FRONT)).as_py():
            continue
        failing = 0 if misfits is None else pc.sum(misfits).as_py()
        if len(values) - values.null_count and len(present) - failing >= LEAST_SHARE * len(present):
            return goal
    return None


def conversion(texts: Iterable[pa.Array], goal: Goal) -> Conversion:
    """Return the effect of converting a whole column; the first values determine how they are parsed."""
    kinds: list[SpelledType] = []
    totals, failing, examples = 0, [0, 0], list[str]()
    first, is_assumed = pa.nulls(0, pa.string()), False
    for part in texts:
        if not kinds:
            first = pc.drop_null(part).slice(0, SAMPLE_ROWS)
            if not len(first):
                continue
            kinds, is_assumed = _kinds(goal, first)
        totals += len(part) - part.null_count
        for place, kind in enumerate(kinds):
            _, misfits = convert(part, kind)
            if misfits is not None:
                failing[place] += pc.sum(misfits).as_py() or 0
                if not place and len(examples) < MOST_EXAMPLES:
                    examples += part.filter(misfits).slice(0, MOST_EXAMPLES - len(examples)).to_pylist()
    if not kinds:
        kinds = [_kind(goal, first)[0]]
    narrow = len(kinds) > 1 and failing[1] <= failing[0]
    kind = kinds[1] if narrow else kinds[0]
    return Conversion(
        goal,
        kind,
        totals,
        failing[narrow],
        tuple(examples[: failing[narrow]]),
        _sample(first, kind),
        is_assumed,
    )


def _sample(texts: pa.Array, kind: SpelledType) -> tuple[str, str] | None:
    """The first text whose value looks different, with that value."""
    values, _ = convert(texts, kind)
    for text, value in zip(texts.to_pylist(), values.to_pylist(), strict=True):
        spelling = f"{value:.15g}" if isinstance(value, float) else str(value)
        if value is not None and spelling != text.strip():
            return text, spelling
    return None


def _kinds(goal: Goal, first: pa.Array) -> tuple[list[SpelledType], bool]:
    """The type that fits the most values, and a narrower one to be used if it fits as many."""
    wide, is_assumed = _kind(goal, first)
    narrow = pa.int64() if goal == "numbers" else pa.date32()
    return [wide, SpelledType(narrow, wide.spelling)], is_assumed


def _kind(goal: Goal, first: pa.Array) -> tuple[SpelledType, bool]:
    """The type as which texts are converted, and whether the order of day and month is only assumed."""
    kind = pa.float64() if goal == "numbers" else pa.timestamp("us")
    spelling, doubtful = likely_spelling(first, kind, Conventions()), False
    if goal == "dates" and spelling.order == YEAR_FIRST:
        doubtful = pc.any(pc.match_substring_regex(first, r"^\s*[0-9]{1,2}[./-][0-9]{1,2}[./-]")).as_py()
        spelling = replace(spelling, order=DAY_FIRST) if doubtful else spelling
    return SpelledType(kind, replace(spelling, is_forced=True)), doubtful


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
