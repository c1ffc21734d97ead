"""Patterns that users search for, and the values of a column that match them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lamella.core.arrow.arrays import from_values, to_numpy
from lamella.core.errors import BadFilter, LamellaError
from lamella.core.filters.binding import bind
from lamella.core.filters.cell_texts import text_array
from lamella.core.filters.cells import parse_cell
from lamella.core.filters.expr import Filter, Predicate
from lamella.core.filters.kinds import COMPARABLE, TEMPORAL, Kind, kind_of, value_type
from lamella.core.filters.predicate_values import check_pattern
from lamella.core.filters.to_arrow import ArrowOperand, mask
from lamella.core.phrases import sentence_case

LONGEST = 1 << 20
"""The maximum length of the text to search for, in characters."""
DAY_SECONDS = 86_400
FIRST_DAY, LAST_DAY = -700_000, 2_900_000
"""The years with four digits, as days from 1970."""
SIGNS = {
    Kind.INTEGER: "0123456789-",
    Kind.DECIMAL: "0123456789-+.e",
    Kind.FLOAT: "0123456789-+.ena∞",
    Kind.BOOLEAN: "truefals",
    Kind.DATE: "0123456789-",
    Kind.TIMESTAMP: "0123456789-+:. z",
    Kind.TIME: "0123456789:.",
    Kind.DURATION: "0123456789-:. d",
    Kind.BINARY: "0123456789abcdefx",
    Kind.UUID: "0123456789abcdef-",
}
"""The characters, in lower case, that occur in the texts of values of these kinds."""
STANDS_FOR = {"↵": "\n", "⇥": "\t"}
"""The characters that cells show for line breaks and tabs."""

TextConversion = Callable[[pa.Array], Sequence[str | None]]
"""Returns the texts of values as cells show them, if these differ from the values' own texts."""


@dataclass(frozen=True)
class TextPattern:
    """A text to search for. `case` matches letters only of the same case. `whole` matches the text of a whole
    value rather than a part of it. `regex` makes the text a regular expression in RE2's syntax, which always
    takes time in proportion to the text searched."""

    text: str
    case: bool = False
    whole: bool = False
    regex: bool = False

    @property
    def problem(self) -> str:
        """Why the pattern cannot match anything; empty if it can."""
        try:
            self.text.encode()
        except UnicodeEncodeError:
            return "It contains half of a surrogate pair"
        if len(self.text) > LONGEST:
            return f"It is longer than {LONGEST:,} characters"
        if not self.regex:
            return ""
        try:
            check_pattern(Predicate("", "regex", (self.text,)))
        except BadFilter as error:
            return sentence_case(error.why)
        return ""

    @property
    def _ignores_case(self) -> bool:
        """Whether to ignore case. Not for patterns without letters: folding the case of a column's texts
        takes longer than searching them."""
        return not self.case and (self.regex or self.text.lower() != self.text.upper())

    def predicate(self, column: str) -> Predicate:
        """The condition for values of a text column to match."""
        ignore_case = self._ignores_case
        if self.regex:
            pattern = rf"\A(?:{self.text})\z" if self.whole else self.text
            return Predicate(column, "regex", (pattern,), ignore_case)
        return Predicate(column, "eq" if self.whole else "contains", (self.text,), ignore_case)

    def matches(self, texts: pa.Array) -> np.ndarray:
        """Whether each text matches; null never does."""
        operand, predicate = ArrowOperand(texts, self._ignores_case), self.predicate("")
        if predicate.operator == "regex":
            hits = operand.regex(predicate.values[0])
        elif self.whole:
            hits = operand.compare("eq", self.text)
        else:
            hits = operand.contains(self.text)
        return np.asarray(to_numpy(hits) & to_numpy(hits.is_valid()))

    def text_matches(self, texts: Sequence[str | None]) -> np.ndarray:
        """The same for texts that are not in Arrow."""
        return self.matches(from_values(list(texts), pa.large_string()))

    def spans(self, text: str) -> list[tuple[int, int]]:
        """The start and end of each match in a text. For a regular expression, only the first match: Python's
        `re` could find more, but might never finish."""
        if self.whole:
            return [(0, len(text))] if self.matches(from_values([text], pa.large_string()))[0] else []
        if self.regex:
            return self._first_span(text)
        return [match.span() for match in _compile(self).finditer(text)] if self.text else []

    def _first_span(self, text: str) -> list[tuple[int, int]]:
        """The first match, from where it starts and from what is missing when it is removed: no kernel of
        Arrow returns both for patterns with groups."""
        texts, flags = from_values([text], pa.string()), "" if self.case else "(?i)"
        start = pc.find_substring_regex(texts, f"{flags}{self.text}")[0].as_py()
        if start < 0:
            return []
        tail = pc.replace_substring_regex(texts, f"{flags}{self.text}", "", max_replacements=1)[0].as_py()
        first = len(text.encode()[:start].decode())
        stop = first + len(text) - len(tail)
        return [(first, stop)] if stop > first else []


@lru_cache(16)
def _compile(pattern: TextPattern) -> re.Pattern[str]:
    return re.compile(re.escape(pattern.text), 0 if pattern.case else re.IGNORECASE)


class ColumnMatcher:
    """Tells which values of a column match a pattern: by their own text, by the text as `displayed`, or
    because the pattern reads as an equal value (1e3 for 1000)."""

    def __init__(
        self, pattern: TextPattern, type_: pa.DataType, displayed: TextConversion | None = None
    ) -> None:
        self._pattern, self._to_texts = pattern, displayed
        self._type = value_type(type_)
        self._kind = kind_of(type_)
        self._equal = _value_condition(pattern, type_)
        self._clock_hits: np.ndarray | None = None
        self._texts_can_match = self._can_texts_match()

    @property
    def can_match(self) -> bool:
        """Whether values of the type can match at all."""
        return self._texts_can_match or self._to_texts is not None or self._equal is not None

    def matches(self, values: pa.Array) -> np.ndarray:
        hits = self._text_matches(values) if self._texts_can_match else np.zeros(len(values), np.bool_)
        if self._equal is not None:
            equal = mask(self._equal, pa.Table.from_arrays([values], names=[""]))
            hits |= to_numpy(equal)
        if self._to_texts is not None:
            hits |= self._display_matches(values, self._to_texts)
        return hits

    def _text_matches(self, values: pa.Array) -> np.ndarray:
        quick = self._moment_matches(values) if self._kind is Kind.TIMESTAMP else None
        if quick is not None:
            return quick
        if pa.types.is_dictionary(values.type) and len(values.dictionary) < len(values):
            return _of_dictionary(self._text_matches(values.dictionary), values)
        if self._kind is Kind.TEXT:
            try:
                return self._pattern.matches(values)
            except pa.ArrowInvalid:  # not UTF-8: cells show it with escapes
                pass
        return self._pattern.matches(text_array(values))

    def _can_texts_match(self) -> bool:
        signs = SIGNS.get(self._kind)
        if self._pattern.regex or signs is None or (self._kind is Kind.TIMESTAMP and self._type.tz):
            return True
        return set(self._pattern.text.lower()) <= set(signs)

    def _display_matches(self, values: pa.Array, displayed: TextConversion) -> np.ndarray:
        """Match displayed texts; repeated values are formatted once."""
        if pa.types.is_nested(values.type):
            return self._pattern.text_matches(displayed(values))
        coded = values if pa.types.is_dictionary(values.type) else values.dictionary_encode()
        if not len(coded.dictionary):
            return np.zeros(len(values), np.bool_)
        return _of_dictionary(self._pattern.text_matches(displayed(coded.dictionary)), coded)

    def _moment_matches(self, values: pa.Array) -> np.ndarray | None:
        """Match whole seconds without a zone. Days and times of day repeat, so the parts of a plain text are
        searched in these. None if this does not apply."""
        pattern, kind = self._pattern, values.type
        per_second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}.get(getattr(kind, "unit", ""))
        if pattern.regex or per_second is None or kind.tz is not None or not len(values):
            return None
        counts = to_numpy(values.cast(pa.int64()))
        valid = to_numpy(values.is_valid())
        counts = np.where(valid, counts, 0)
        seconds, remainder = np.divmod(counts, per_second) if per_second > 1 else (counts, 0)
        if np.any(remainder):
            return None
        days, clock = np.divmod(seconds, DAY_SECONDS)
        first, last = int(days.min()), int(days.max())
        if last - first > len(values) or not FIRST_DAY <= first <= last <= LAST_DAY:
            return None
        texts, text = _days(first, last), pattern.text
        before, space, behind = text.partition(" ")
        if pattern.whole:
            hits = (texts == before)[days - first] & self._in_clocks(behind)[clock]
        elif space:
            hits = np.strings.endswith(texts, before)[days - first] & self._in_clocks(behind)[clock]
        else:
            hits = (np.strings.find(texts, text) >= 0)[days - first] | self._in_clocks(text)[clock]
        matched: np.ndarray = hits & valid
        return matched

    def _in_clocks(self, text: str) -> np.ndarray:
        """Whether the text of each second of the day matches: it is `text`, starts with `text` if the pattern
        has a space before it, or contains `text`."""
        if self._clock_hits is None:
            if self._pattern.whole:
                hits = _clocks() == text
            elif " " in self._pattern.text:
                hits = np.strings.startswith(_clocks(), text)
            else:
                hits = np.strings.find(_clocks(), text) >= 0
            self._clock_hits = hits
        return self._clock_hits


def _days(first: int, last: int) -> np.ndarray:
    """The texts of days, counted from 1970."""
    texts: np.ndarray = np.arange(first, last + 1).astype("datetime64[D]").astype(str)
    return texts


@lru_cache(1)
def _clocks() -> np.ndarray:
    """The texts of all seconds of a day."""
    moments = np.arange(DAY_SECONDS).astype("datetime64[s]").astype(str)
    return np.array([text[11:] for text in moments])


def _of_dictionary(hits: np.ndarray, values: pa.DictionaryArray) -> np.ndarray:
    """Whether the dictionary entry of each value matches."""
    valid = to_numpy(values.indices.is_valid())
    places = np.where(valid, to_numpy(values.indices), 0)
    matched: np.ndarray = hits[places] & valid if len(hits) else np.zeros(len(values), np.bool_)
    return matched


def _value_condition(pattern: TextPattern, type_: pa.DataType) -> Filter | None:
    """The condition that a value equals what the pattern reads as; None if it does not read as a value, or if
    that value's own text matches anyway."""
    kind = kind_of(type_)
    if pattern.regex or kind is Kind.TEXT or kind not in COMPARABLE or not pattern.text.strip():
        return None
    try:
        value: Any = parse_cell(pattern.text, type_)
        if pattern.matches(text_array(from_values([value], value_type(type_))))[0]:
            return None
        return bind(Predicate("", "eq", (value,)), pa.schema([pa.field("", type_)]), "")
    except (LamellaError, ValueError, TypeError):
        return None


def period_condition(pattern: TextPattern, column: str, type_: pa.DataType) -> Filter | None:
    """The range of the days that start with the pattern: `2013-07` is a month, `2013-07-04` a day. None for
    other patterns and types."""
    if kind_of(type_) not in TEMPORAL - {Kind.TIME} or pattern.regex or pattern.whole:
        return None
    if not re.fullmatch(r"\d{4}-\d\d(-\d\d)?", pattern.text):
        return None
    try:
        first = np.datetime64(pattern.text)
    except ValueError:
        return None
    low, high = (str(day.astype("datetime64[D]")) for day in (first, first + 1))
    return Predicate(column, "gte", (low,)) & Predicate(column, "lt", (high,))
