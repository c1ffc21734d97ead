"""Rows of text files as bytes: finds them, edits their fields, and writes new rows in the style of the
others."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types as is_

from lamella.core.arrow.nested_values import python_values
from lamella.core.datasets.text.blocks import TextBlock
from lamella.core.datasets.text.delimited import DelimitedText
from lamella.core.datasets.text.json_lines import JsonLines
from lamella.core.datasets.text.month_names import MONTH_NAMES, day_of, day_writer
from lamella.core.datasets.text.regional import (
    DAY_FIRST,
    POINT,
    SEPARATORS,
    YEAR_FIRST,
    SpelledType,
    Spelling,
)
from lamella.core.datasets.text.types import NULL_MARKERS, solid
from lamella.core.transfer.text_columns import json_text, texts_of

SAMPLE_ROWS = 1_000
Cell = tuple[int, "str | None"]
"""The index of a column, and the text of the value; None for null."""
Encode = Callable[[str, str], bytes]
"""Encodes a text, with the name of its column for errors. Raises `Unwritable`."""


class Unwritable(Exception):
    """A value that the file cannot hold."""

    def __init__(self, column: str, why: str) -> None:
        super().__init__(why)
        self.column, self.why = column, why


class Lines(Protocol):
    def spans(self, data: bytes) -> tuple[np.ndarray, np.ndarray]:
        """Where each row begins and ends in a block of whole rows, including its line end."""

    def count(self, data: bytes) -> int | None:
        """The number of rows, or None if they cannot be counted quickly."""

    def texts(self, place: int, values: pa.Array) -> list[str | None]:
        """The values of a column as text in the file's style."""

    def edit(self, body: bytes, cells: Sequence[Cell]) -> bytes:
        """Return a row, without its line end, with some cells replaced. Raises `Unwritable`."""

    def new(self, rows: pa.Table) -> list[bytes]:
        """Return new rows with all columns, without their line ends. Raises `Unwritable`."""


class DelimitedLines:
    """Rows of delimited text. `first` has the first rows of the file, whose style new values follow."""

    def __init__(self, text: DelimitedText, first: TextBlock, schema: pa.Schema, encode: Encode) -> None:
        self._ends, self._schema, self._encode = text.ends, schema, encode
        self._quote = text.ends.quote or b""
        self._delimiter = text.ends.delimiter
        sample = [column.slice(0, SAMPLE_ROWS) for column in text.fields(first)]
        self._styles = [
            ValueStyle(field.type, [t for t in texts.to_pylist() if t is not None], texts.null_count > 0)
            for field, texts in zip(schema, sample, strict=True)
        ]
        lines = first.data[: 1 << 16]
        starts, stops = self.spans(lines)
        self._pattern = self._fields(_body(lines, starts[0], stops[0])) if len(starts) > 1 else []

    def spans(self, data: bytes) -> tuple[np.ndarray, np.ndarray]:
        starts, stops = self._ends.spans(data)
        if self._ends.blank_rows:
            return starts, stops
        view = np.frombuffer(data, np.uint8)
        blank = np.isin(view[starts], np.frombuffer(b"\r\n", np.uint8)) if len(starts) else np.zeros(0, bool)
        return starts[~blank], stops[~blank]

    def count(self, data: bytes) -> int | None:
        quote = self._ends.quote
        if (quote is not None and quote in data) or not data.endswith(b"\n"):
            return None
        if b"\r" in data and data.count(b"\r") != data.count(b"\r\n"):
            return None
        if not self._ends.blank_rows and (data[:1] in (b"\r", b"\n") or b"\n\n" in data or b"\n\r" in data):
            return None
        return data.count(b"\n")

    def texts(self, place: int, values: pa.Array) -> list[str | None]:
        return self._styles[place].texts(values)

    def edit(self, body: bytes, cells: Sequence[Cell]) -> bytes:
        fields = self._fields(body)
        for place, text in sorted(cells):
            fields += [b""] * (place + 1 - len(fields))
            fields[place] = self._field(place, text, fields[place])
        return self._delimiter.join(fields)

    def new(self, rows: pa.Table) -> list[bytes]:
        columns = [self.texts(place, values.combine_chunks()) for place, values in enumerate(rows.columns)]
        pattern = [*self._pattern, *[b""] * (len(columns) - len(self._pattern))]
        lines = []
        for texts in zip(*columns, strict=True):
            fields = [self._field(place, text, pattern[place]) for place, text in enumerate(texts)]
            lines.append(self._delimiter.join(fields))
        return lines

    def _fields(self, body: bytes) -> list[bytes]:
        if not self._quote or self._quote not in body:
            return body.split(self._delimiter)
        fields, place = [], 0
        while True:
            end = self._ends.field_end(body, place)
            fields.append(body[place:end])
            if end >= len(body):
                return fields
            place = end + len(self._delimiter)

    def _field(self, place: int, text: str | None, before: bytes) -> bytes:
        """Encode a field, in quotes if it needs them or the old field has them."""
        name = self._schema.field(place).name
        if text is None:
            return self._styles[place].null
        data, quote = self._encode(text, name), self._quote
        signs = (self._delimiter, b"\r", b"\n", *((quote,) if quote else ()))
        needs = not data or any(sign in data for sign in signs)
        if needs and not quote:
            what = "An empty text cannot be told from null" if not data else "Line breaks end a row"
            raise Unwritable(name, f"{what} in a file without quotes")
        if needs or (quote and before.startswith(quote)):
            return quote + data.replace(quote, quote * 2) + quote
        return data


def _body(data: bytes, start: int, stop: int) -> bytes:
    return without_line_end(data[int(start) : int(stop)])[0]


def without_line_end(row: bytes) -> tuple[bytes, bytes]:
    """Split a row into its content and its line end."""
    size = 2 if row.endswith(b"\r\n") else int(row.endswith((b"\n", b"\r")))
    return row[: len(row) - size], row[len(row) - size :]


class ValueStyle:
    """How the values of a column are written, judged by a sample. `kind` may be a spelled type."""

    def __init__(self, kind: pa.DataType, sample: Sequence[str], has_empty: bool = True) -> None:
        self._spelled_type = kind if isinstance(kind, SpelledType) else None
        self._kind, self._sample = solid(kind), [text.strip() for text in sample]
        self.null = b"" if has_empty else self._marker()

    def _marker(self) -> bytes:
        """The marker for null; none in columns of text, where such words are texts."""
        if is_.is_string(self._kind):
            return b""
        words = Counter(text for text in self._sample if text in NULL_MARKERS)
        return words.most_common(1)[0][0].encode() if words else b""

    def texts(self, values: pa.Array) -> list[str | None]:
        if is_.is_string(values.type):
            return list(values.to_pylist())
        if self._spelled_type is not None and self._spelled_type.spelling.zone:
            values = pc.local_timestamp(values)
        written = texts_of(values).to_pylist()
        change = (
            self._change() if self._spelled_type is None else spelling_of(self._spelled_type, self._sample)
        )
        return [None if text is None else change(text) for text in written]

    def _change(self) -> Callable[[str], str]:
        if is_.is_boolean(self._kind):
            return self._capitals()
        if is_.is_floating(self._kind):
            return decimals(self._sample)
        return self._moments() if is_.is_timestamp(self._kind) else str

    def _capitals(self) -> Callable[[str], str]:
        return capitals(next((text for text in self._sample if text.casefold() in ("true", "false")), ""))

    def _moments(self) -> Callable[[str], str]:
        sample = [text for text in self._sample if re.match(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ]", text)]
        times = [re.sub(r"(Z|[+-][0-9:]+)$", "", text[11:]) for text in sample]
        between = "T" if sample and sample[0][10] == "T" else " "
        zones = [text[11 + len(time) :] for text, time in zip(sample, times, strict=True)]
        zone = zones[0] if zones else "Z"
        zone = zone if zone in ("Z", "") else re.sub("[0-9]", "0", zone).replace("-", "+")
        minutes = bool(times) and all(len(time) == len("10:00") for time in times)
        digits = min((len(time.partition(".")[2]) for time in times), default=0)
        zoned = is_.is_timestamp(self._kind) and self._kind.tz is not None

        def change(text: str) -> str:
            day, _, time = text.partition(" ")
            clock, _, fraction = re.sub(r"(Z|[+-][0-9:]+)$", "", time).partition(".")
            fraction = fraction.rstrip("0").ljust(digits, "0")
            if minutes and not fraction and clock.endswith(":00") and clock.count(":") == 2:
                clock = clock[:5]
            written = f"{day}{between}{clock}" + (f".{fraction}" if fraction else "")
            return written + ((zone or "Z") if zoned else "")

        return change


def decimals(sample: Sequence[str]) -> Callable[[str], str]:
    """Return a function that writes numbers with as many decimal places as the sample, if they all have the
    same and the value does not change."""
    plain = [text for text in sample if re.fullmatch(r"-?[0-9]*(\.[0-9]*)?", text)]
    places = {len(text.partition(".")[2]) if "." in text else -1 for text in plain}
    if len(places) == 1 and (digits := places.pop()) > 0:
        return lambda text: _with_places(text, digits)
    return _without_point if -1 in places else str


def _with_places(text: str, digits: int) -> str:
    try:
        longer = f"{float(text):.{digits}f}"
    except ValueError:
        return text
    return longer if float(longer) == float(text) else text


def _without_point(text: str) -> str:
    return text.removesuffix(".0")


def spelling_of(kind: SpelledType, sample: Sequence[str]) -> Callable[[str], str]:
    """Return a function that writes numbers, dates and booleans from their plain form in a regional
    notation."""
    if is_.is_boolean(kind.storage_type):
        return _spelled_truths(kind.spelling, sample)
    return _spelled_numbers(kind.spelling, sample) if kind.is_number else _spelled_moments(kind, sample)


def _spelled_truths(spelling: Spelling, sample: Sequence[str]) -> Callable[[str], str]:
    """Return a function that writes booleans with the pair of words that the column uses, in its capitals."""
    pairs = [(yes.lower(), no.lower()) for yes, no in spelling.booleans]
    spellings = {text.lower(): text for text in sample}
    pair = next((pair for pair in pairs if not spellings.keys().isdisjoint(pair)), pairs[0])
    style = capitals(next((spellings[word] for word in pair if word in spellings), ""))
    words = {"true": pair[0], "false": pair[1]}
    return lambda text: spellings.get(words[text], style(words[text]))


def capitals(example: str) -> Callable[[str], str]:
    """Return a function that writes a word with the capitalisation of the example."""
    return str.upper if example.isupper() else str.capitalize if example[:1].isupper() else str


def _spelled_numbers(spelling: Spelling, sample: Sequence[str]) -> Callable[[str], str]:
    between = SEPARATORS[spelling.thousands]
    signs = [match[0] for text in sample if between and (match := re.search(between, text))]
    sign = signs[0] if signs else ""
    plain = [re.sub(between, "", text) if between else text for text in sample]
    with_places = decimals([text.replace(spelling.decimal, POINT) for text in plain])

    def write(text: str) -> str:
        whole, _, digits = with_places(_in_full(text)).partition(POINT)
        if sign and re.fullmatch("-?[0-9]+", whole):
            whole = f"{int(whole):,}".replace(",", sign)
        return whole + (spelling.decimal + digits if digits else "")

    return write


def _in_full(text: str) -> str:
    """Write a number without an exponent."""
    return f"{Decimal(text):f}" if re.fullmatch(r"-?[0-9.]+e[+-]?[0-9]+", text) else text


_DAY = re.compile(r"([0-9]{1,4})([./-])([0-9]{1,2})([./-])([0-9]{1,4})")
_TIME = re.compile(r"(.*?)([0-9]{1,2}):[0-9]{2}(:[0-9]{2})?(?:([.,])([0-9]{1,9}))?( ?[AaPp]\.?[Mm]\.?)?")
_SHORT_YEARS = range(1969, 2069)


def _spelled_moments(kind: SpelledType, sample: Sequence[str]) -> Callable[[str], str]:
    has_month_names = kind.spelling.order == MONTH_NAMES
    days = [match for text in sample if (match := day_of(text) if has_month_names else _DAY.match(text))]
    rests = [(day["rest"] or "") if has_month_names else day.string[day.end() :] for day in days]
    times = [match for tail in rests if (match := _TIME.fullmatch(tail))]
    write_day = day_writer(days) if has_month_names else _spelled_days(kind.spelling.order, days)
    if not pa.types.is_timestamp(kind.storage_type):
        return write_day
    write_time = _spelled_times(times)

    def write(text: str) -> str:
        day, _, time = text.partition(" ")
        return write_day(day) + write_time(time)

    return write


def _spelled_days(order: str, sample: Sequence[re.Match[str]]) -> Callable[[str], str]:
    year_first = order == YEAR_FIRST
    first, second = (sample[0][2], sample[0][4]) if sample else ("-", "-")
    small = [part for day in sample for part in (day.group(3, 5) if year_first else day.group(1, 3))]
    padded = not small or any(part.startswith("0") for part in small) or all(len(p) == 2 for p in small)
    short = bool(sample) and not year_first and all(len(day[5]) == 2 for day in sample)

    def write(text: str) -> str:
        match = re.fullmatch(r"([0-9]{4})-([0-9]{2})-([0-9]{2})", text)
        if match is None:
            return text
        year, *tail = match.groups()
        month, day = tail if padded else [part.lstrip("0") for part in tail]
        if year_first:
            return f"{year}{first}{month}{second}{day}"
        a, b = (day, month) if order == DAY_FIRST else (month, day)
        return f"{a}{first}{b}{second}{year[2:] if short and int(year) in _SHORT_YEARS else year}"

    return write


def _spelled_times(sample: Sequence[re.Match[str]]) -> Callable[[str], str]:
    between = sample[0][1] if sample else " "
    seconds = not sample or any(time[3] for time in sample)
    point = next((time[4] for time in sample if time[4]), ".")
    digits = min((len(time[5] or "") for time in sample), default=0)
    half = next((time[6] for time in sample if time[6]), "")
    padded = not sample or any(time[2].startswith("0") for time in sample) or not half

    def write(text: str) -> str:
        clock, _, fraction = text.partition(".")
        hour, minute, second = clock.split(":")
        fraction = fraction.rstrip("0").ljust(digits, "0")
        number = int(hour)
        suffix = _half_of_day(half, number >= 12)
        number = (number % 12 or 12) if half else number
        shown_hour = f"{number:02}" if padded else str(number)
        tail = f":{second}" if seconds or second != "00" or fraction else ""
        return f"{between}{shown_hour}:{minute}{tail}" + (f"{point}{fraction}" if fraction else "") + suffix

    return write


def _half_of_day(sample: str, is_pm: bool) -> str:
    letter = "p" if is_pm else "a"
    return re.sub("[AaPp]", lambda match: letter.upper() if match[0].isupper() else letter, sample, count=1)


_DECODER = json.JSONDecoder(strict=False)
_BLANKS = re.compile(r"[ \t\r\n]*")


class JsonObjects:
    """Rows of JSON lines. New members are spaced as in the first line."""

    def __init__(
        self, text: JsonLines, first: TextBlock, schema: pa.Schema, encode: Encode, encoding: str
    ) -> None:
        """`encoding` is that of the rows; `first` is in UTF-8."""
        self._schema, self._encode, self._encoding, self._ends = schema, encode, encoding, text.ends
        lines = [line for line in first.data.split(b"\n")[:SAMPLE_ROWS] if line.strip()]
        rows = [json.loads(line) for line in lines]
        self._colon, self._comma = _separators(lines[0].decode()) if lines else (": ", ", ")
        self._styles = [
            ValueStyle(field.type, [v for row in rows if isinstance(v := row.get(field.name), str)])
            for field in schema
        ]

    def spans(self, data: bytes) -> tuple[np.ndarray, np.ndarray]:
        starts, stops = self._ends.spans(data, lone_returns=False)
        if self.count(data) is None:
            pairs = zip(starts.tolist(), stops.tolist(), strict=True)
            is_row = np.fromiter((not data[a:b].isspace() for a, b in pairs), bool, len(starts))
            starts, stops = starts[is_row], stops[is_row]
        return starts, stops

    def count(self, data: bytes) -> int | None:
        blanks = any(b"\n" + sign in data for sign in (b"\n", b"\r", b" ", b"\t"))
        return data.count(b"\n") if data[:1] == b"{" and data.endswith(b"\n") and not blanks else None

    def texts(self, place: int, values: pa.Array) -> list[str | None]:
        field = self._schema.field(place)
        if is_.is_nested(field.type):
            return [None if value is None else json_text(value) for value in python_values(values)]
        if is_.is_floating(field.type):
            for value in values.to_pylist():
                if value is not None and (value != value or value in (float("inf"), float("-inf"))):
                    raise Unwritable(field.name, f"JSON has no number {value}")
        texts = self._styles[place].texts(values)
        if is_.is_string(field.type) or is_.is_temporal(field.type):
            return [None if text is None else json.dumps(text, ensure_ascii=False) for text in texts]
        return texts

    def edit(self, body: bytes, cells: Sequence[Cell]) -> bytes:
        members, end = _members(body, self._encoding)
        places = {name: place for place, (name, _, _) in enumerate(members)}
        parts, position = list[bytes](), 0
        added = [cell for cell in cells if self._schema.field(cell[0]).name not in places]
        members_present = [(members[places[self._schema.field(c).name]], c, text) for c, text in cells
                 if self._schema.field(c).name in places]  # fmt: skip
        for (name, start, stop), _, text in sorted(members_present, key=lambda each: each[0][1]):
            parts += [body[position:start], self._value(name, text)]
            position = stop
        last = max((stop for _, _, stop in members), default=end)
        last = max(last, position)
        parts.append(body[position:last])
        for number, (place, text) in enumerate(sorted(added)):
            if text is not None:
                comma = self._comma if members or number else ""
                parts.append(self._member(self._schema.field(place).name, text, comma))
        parts.append(body[last:])
        return b"".join(parts)

    def new(self, rows: pa.Table) -> list[bytes]:
        columns = [self.texts(place, values.combine_chunks()) for place, values in enumerate(rows.columns)]
        lines = []
        for texts in zip(*columns, strict=True):
            members = [
                self._member(name, text, self._comma if place else "")
                for place, (name, text) in enumerate(zip(self._schema.names, texts, strict=True))
            ]
            lines.append(b"".join([b"{", *members, b"}"]))
        return lines

    def _member(self, name: str, text: str | None, comma: str) -> bytes:
        key = self._encode(comma + json.dumps(name, ensure_ascii=False) + self._colon, name)
        return key + self._value(name, text)

    def _value(self, name: str, text: str | None) -> bytes:
        return self._encode("null" if text is None else text, name)


def _members(body: bytes, encoding: str) -> tuple[list[tuple[str, int, int]], int]:
    """The members: name, and start and end of the value; and the position for a first member."""
    text = body.decode("latin-1")  # one character per byte, so positions are those of bytes
    inside = _skip(text, 0) + 1
    members, place = [], _skip(text, inside)
    while text[place : place + 1] == '"':
        _, after = _DECODER.raw_decode(text, place)
        name = json.loads(body[place:after].decode(encoding), strict=False)
        start = _skip(text, _skip(text, after) + 1)
        _, stop = _DECODER.raw_decode(text, start)
        members.append((name, start, stop))
        place = _skip(text, stop)
        if text[place : place + 1] != ",":
            break
        place = _skip(text, place + 1)
    return members, inside


def _separators(line: str) -> tuple[str, str]:
    """The separators between a name and its value, and between members."""
    match = re.match(r'\s*\{\s*"(?:[^"\\]|\\.)*"(\s*:[ \t]*)', line)
    colon = match[1] if match else ": "
    return colon, ", " if colon.endswith(" ") else ","


def _skip(text: str, place: int) -> int:
    match = _BLANKS.match(text, place)
    assert match is not None
    return match.end()
