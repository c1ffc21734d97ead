"""The one table of options for reading a file differently than detected; for Python, the command line, the
window and the docs."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import pyarrow as pa

from lamella.core.arrow.types import type_named
from lamella.core.errors import BadData, UnknownName, instead_of, nearest, short_text
from lamella.core.validation import names_of, text_of

CHARACTERS = {"tab": "\t", "\\t": "\t", "space": " ", "comma": ",", "semicolon": ";", "pipe": "|", "none": ""}
"""Names for characters that are hard to type in a shell or a form."""
ENCODINGS = (
    "utf-8", "utf-16", "utf-16-le", "utf-16-be", "cp1252", "latin-1", "cp1250", "cp1251", "cp1253", "cp1254",
    "cp850", "mac_roman", "koi8_r", "shift_jis", "gb18030", "big5", "euc_kr",
)  # fmt: skip
"""The encodings that are suggested; Python supports more."""
YES_NO_FIX = "Give pairs of words: ja/nein"


class UnknownReading(UnknownName):
    kind = "option"


READABLE = (
    pa.types.is_string, pa.types.is_boolean, pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal,
    pa.types.is_date, pa.types.is_time, pa.types.is_timestamp,
)  # fmt: skip
"""Tests for the types that text can be parsed as."""


@dataclass(frozen=True)
class Reading:
    """An option of opening a file. For a sign, `choices` are suggestions; for a choice, they are all values.
    `metavar` is its value in the command line's help. An option left out is detected from the file."""

    name: str
    kind: Literal[
        "sign", "choice", "switch", "number", "names", "pairs", "yes-no", "encoding", "zone", "range"
    ]
    help: str
    choices: tuple[str, ...] = ()
    title: str = ""
    metavar: str = ""

    @property
    def flag(self) -> str:
        return f"--{self.name.replace('_', '-')}"

    @property
    def label(self) -> str:
        return self.title or self.name.replace("_", " ").capitalize()

    def read(self, value: Any) -> Any:
        """Parse a value that a user or program gave for `OpenOptions`. Raises `BadData`."""
        if value is None:
            return None
        of_other_values: dict[str, Callable[[Any], Any]] = {
            "names": self._names, "pairs": self._pairs, "yes-no": self._yes_no, "switch": self._switch,
            "number": self._number,
        }  # fmt: skip
        if self.kind in of_other_values:
            return of_other_values[self.kind](value)
        text = text_of(value, self._context)
        if self.kind == "encoding":
            return codec_name(text)
        if self.kind == "zone":
            return self._zone(text)
        if self.kind == "choice" and text not in self.choices:
            raise self._refusal(value, instead_of(text, self.choices))
        if self.kind == "sign":
            return self._sign(text)
        return text

    @property
    def _context(self) -> str:
        return f"open_dataset: {self.name}"

    def _sign(self, text: str) -> str:
        sign = CHARACTERS.get(text, text)
        if len(sign) > 1 or (not sign and "" not in self.choices) or sign in ("\r", "\n", "\0"):
            raise self._refusal(text, "Give one character")
        if sign and self.name in ("decimal", "thousands") and sign not in self.choices:
            raise self._refusal(text, f"Give one of {', '.join(map(repr, self.choices))}")
        return sign

    def _zone(self, text: str) -> str:
        from zoneinfo import ZoneInfo

        try:
            return ZoneInfo(text).key
        except (KeyError, ValueError, OSError) as error:
            raise self._refusal(text, "Give the name of a time zone, such as Europe/Berlin") from error

    def _switch(self, value: Any) -> bool:
        if not isinstance(value, bool):
            raise self._refusal(value, "Give True or False")
        return value

    def _number(self, value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise self._refusal(value, "Give a whole number from 0")
        return value

    def _names(self, value: Any) -> tuple[str, ...]:
        return tuple(names_of(value, self._context))

    def _pairs(self, value: Any) -> tuple[tuple[str, str], ...]:
        """Parse pairs of a column, by its name in the file, and its type or new name."""
        pairs = value.items() if isinstance(value, Mapping) else value
        if isinstance(pairs, str) or not isinstance(pairs, Iterable):
            raise self._refusal(value, "Give a dict by columns' names")
        texts = []
        for pair in pairs:
            if isinstance(pair, str) or not isinstance(pair, (tuple, list)) or len(pair) != 2:
                raise self._refusal(value, "Give a dict by columns' names")
            column, words = pair
            if self.name == "types":
                words = self._type(words)
            texts.append((text_of(column, self._context), text_of(words, self._context)))
        return tuple(texts)

    def _type(self, name: Any) -> str:
        """Parse the name of a type that text can be parsed as."""
        kind = type_named(name)
        if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
            kind = pa.string()
        if not any(is_of_kind(kind) for is_of_kind in READABLE):
            fix = "Read it as text, a number, a boolean, a date, a time or a timestamp"
            raise self._refusal(str(kind), fix)
        return "float32" if kind == pa.float32() else str(kind)  # whose str() means another type

    def _yes_no(self, value: Any) -> tuple[tuple[str, str], ...]:
        """Parse words for true and false, such as `ja/nein`; case does not matter."""
        from lamella.core.datasets.text.types import NULL_MARKERS

        if not isinstance(value, Iterable):
            raise self._refusal(value, YES_NO_FIX)
        pairs = [self._yes_and_no(pair) for pair in ([value] if isinstance(value, str) else value)]
        yes, no = ({pair[place].lower() for pair in pairs} for place in (0, 1))
        for word in (word for pair in pairs for word in pair):
            if word.lower() in yes & no:
                raise self._refusal(value, f"Let '{word}' mean either yes or no, not both")
            if word in NULL_MARKERS:
                raise self._refusal(value, f"'{word}' stands for no value in every file: leave it out")
        return tuple(pairs)

    def _yes_and_no(self, pair: Any) -> tuple[str, str]:
        words = pair.split("/") if isinstance(pair, str) else pair
        if not isinstance(words, (tuple, list)) or len(words) != 2:
            raise self._refusal(pair, YES_NO_FIX)
        yes, no = (text_of(word, self._context).strip() for word in words)
        if not (yes and no):
            raise self._refusal(pair, YES_NO_FIX)
        return yes, no

    def _refusal(self, value: Any, fix: str) -> BadData:
        return BadData(f"{self._context} cannot be {short_text(value)}", fix=fix)


READING = (
    Reading("encoding", "encoding", "encoding of the text: cp1252 for Western, cp1251 for Cyrillic",
            ENCODINGS, metavar="NAME"),
    Reading("delimiter", "sign", "the character between fields", (",", ";", "\t", "|"), "Separator", "SIGN"),
    Reading("quote", "sign", "the character around fields, or none", ('"', "'", ""), "Quotes", "SIGN"),
    Reading("header", "switch", "whether the first row names the columns", title="First row"),
    Reading("skip_rows", "number", "number of lines above the table to leave out", title="Skip lines",
            metavar="N"),
    Reading("decimal", "sign", "sign between a number and its fraction", (".", ","), "Decimals", "SIGN"),
    Reading("thousands", "sign", "sign between thousands", (".", ",", " ", "'", ""), metavar="SIGN"),
    Reading("dates", "choice", "which part of a date such as 01/02/2025 comes first",
            ("day-first", "month-first", "iso", "month-names"),
            metavar="day-first|month-first|iso|month-names"),
    Reading("zone", "zone", "zone of times without one, such as Europe/Berlin", title="Time zone",
            metavar="ZONE"),
    Reading("nulls", "names", "words that stand for no value, in every column", title="Null words",
            metavar="WORD,WORD,…"),
    Reading("booleans", "yes-no", "words for true and false: columns that hold only such words are boolean",
            title="Yes/no words", metavar="YES/NO,…"),
    Reading("text_columns", "names", "columns that stay as they are written: versions such as 1.10 and 1.100",
            metavar="COLUMNS"),
    Reading("types", "pairs", "types of columns, by their names in the file; values that do not fit become"
            " null, and are counted", metavar="COLUMN=TYPE,…"),
    Reading("names", "pairs", "new names of columns, by their names in the file", metavar="COLUMN=NAME,…"),
    Reading("bad_lines", "choice", "what to do with lines that cannot be read: set-aside leaves them out,"
            " and counts and lists them", ("refuse", "set-aside"), metavar="refuse|set-aside"),
    Reading("bad_bytes", "choice", "what to do with bytes that are not valid in the encoding: refuse their"
            " lines, or replace the bytes by the character \ufffd", ("refuse", "replace"), "Broken bytes",
            "refuse|replace"),
    Reading("cells", "range", "range of cells of a sheet, such as B3:F200", metavar="RANGE"),
    Reading("version", "number", "version of a Delta table, instead of the newest", metavar="N"),
    Reading("row_key", "names", "columns that identify and order the rows of a Spark server's table",
            metavar="COLUMNS"),
)  # fmt: skip
BY_NAME = {reading.name: reading for reading in READING}


def read_options(values: Mapping[str, Any]) -> dict[str, Any]:
    """Check and parse the options that are not None. Raises `BadData` and `UnknownReading`."""
    options = {}
    for name, value in values.items():
        if name not in BY_NAME:
            raise UnknownReading(name, "open_dataset", BY_NAME)
        if value is not None:
            options[name] = BY_NAME[name].read(value)
    return options


def codec_name(encoding: str) -> str:
    """Return Python's name of an encoding; raise `BadData`."""
    try:
        return codecs.lookup(encoding).name
    except LookupError as error:
        near = nearest(encoding, ENCODINGS)
        fix = f"Did you mean '{near[0]}'?" if near else f"Some that are known: {', '.join(ENCODINGS[:9])}"
        raise BadData(f"no encoding is called '{encoding}'", fix=fix) from error
