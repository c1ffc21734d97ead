"""Writes delimited text: a line for each row, in the requested dialect."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lamella.core.arrow.arrays import from_values, to_numpy
from lamella.core.errors import BadData, visible
from lamella.core.jobs import Job
from lamella.core.transfer.text_columns import (
    TextStyle,
    holds,
    join_texts,
    naming_column,
    scalar_text,
    texts_of,
    without_nulls,
)
from lamella.core.transfer.writer import Output, Rows, Values, kind_of, made_in_order, pieces

NEWLINES = {"lf": "\n", "crlf": "\r\n"}
ENCODINGS = {
    "utf-8": "utf-8",
    "utf-8-bom": "utf-8",
    "utf-16": "utf-16-le",
    "windows-1252": "cp1252",
    "latin-1": "latin-1",
}
MARKS = {"utf-8-bom": b"\xef\xbb\xbf", "utf-16": b"\xff\xfe"}
FORMULA_SIGNS = "=+-@\t\r"
UNQUOTED_CHARACTERS = frozenset("0123456789+-./: aefilnrstuDHMPSTYW")
"""The characters of values that are not text, apart from a decimal comma."""
CELLS_AT_ONCE, LEAST_ROWS, MOST_ROWS = 500_000, 1_000, 50_000
"""The size of a piece converted to text at once: each column of a piece costs some Arrow calls, however few
rows it has."""
_SPACE = ord(" ")
TEXTS = frozenset(("text", "category", "binary", "list", "struct", "map"))


@dataclass(frozen=True)
class Dialect:
    delimiter: str
    quote: str
    quoting: str
    null: str
    newline: str
    neutralise: bool
    style: TextStyle

    @classmethod
    def of(cls, values: Values) -> Dialect:
        """Make a dialect from options; raise `BadData` for characters that no reader could tell apart."""
        delimiter, quote, decimal = (values[name] for name in ("delimiter", "quote", "decimal_sign"))
        for name, sign in (("delimiter", delimiter), ("quote", quote)):
            if len(sign) != 1 or sign in "\r\n" or sign.isalnum():
                raise BadData(
                    f"export: {name} cannot be {sign!r}",
                    fix="Give one character that is not a letter, digit or line end",
                )
        if delimiter == quote:
            raise BadData(f"export: delimiter and quote are both {quote!r}", fix="Give two that differ")
        null = values["null"]
        if any(sign in null for sign in (delimiter, quote, "\n", "\r")):
            raise BadData(
                f"export: null cannot be {null!r}", "It has a delimiter, quote or line end", "Give a word"
            )
        newline = NEWLINES[values["line_ends"]]
        style = TextStyle(decimal, values["dates"])
        return cls(delimiter, quote, values["quoting"], null, newline, values["neutralise_formulas"], style)

    def header(self, names: list[str]) -> str:
        columns = [self._write_texts(from_values([name], pa.string()), True) for name in names]
        return self.delimiter.join(column[0].as_py() for column in columns) + self.newline

    def lines(self, batch: pa.RecordBatch) -> pa.Buffer:
        """The lines of a batch. Each line end comes before the next line, and the last one is written
        separately, so that Arrow lays out the whole text."""
        columns = []
        for name, values in zip(batch.schema.names, batch.columns, strict=True):
            with naming_column(name):
                columns.append(self._write_texts(texts_of(values, self.style), kind_of(values.type) in TEXTS))
        columns = [without_nulls(texts, self.null) for texts in columns]
        columns[0] = join_texts(self.newline, columns[0])
        return join_texts(*columns, between=self.delimiter).buffers()[2]

    def _write_texts(self, texts: pa.Array, is_text: bool) -> pa.Array:
        if is_text and self.neutralise:
            risky = pc.match_substring_regex(texts, "^[=+\\-@\t\r]")
            if pc.any(risky).as_py():
                texts = pc.if_else(risky, join_texts("'", texts), texts)
        if self.quoting == "all" or (is_text and self.quoting == "text"):
            return self._quote(texts)
        if not is_text and not {self.delimiter, self.quote} & {*UNQUOTED_CHARACTERS, self.style.decimal_sign}:
            return texts
        if not self._may_need_quotes(texts):
            return texts
        signs = "".join(f"\\x{{{ord(sign):x}}}" for sign in (self.delimiter, self.quote, "\r", "\n"))
        needs = pc.or_(
            pc.match_substring_regex(texts, f"[{signs}]|^ | $"), pc.equal(texts, scalar_text(self.null))
        )
        if not pc.any(needs).as_py():
            return texts
        return pc.if_else(needs, self._quote(texts), texts)

    def _may_need_quotes(self, texts: pa.Array) -> bool:
        """Whether any text may need quotes, by a look at all bytes at once: most columns have none of the
        special characters, no space at either end of a text, and no text that reads as null."""
        if not len(texts):
            return False
        offsets, data = np.frombuffer(texts.buffers()[1], np.int32), texts.buffers()[2]
        ends = offsets[texts.offset : texts.offset + len(texts) + 1]
        lengths = np.diff(ends)
        if not self.null and not lengths.all():
            empty = lengths == 0
            if not texts.null_count or (empty & to_numpy(texts.is_valid())).any():
                return True
        first, last = int(ends[0]), int(ends[-1])
        if data is None or first == last:
            return False
        whole = data.slice(first, last - first).to_pybytes()
        if any(sign.encode() in whole for sign in (self.delimiter, self.quote, "\r", "\n")):
            return True
        if self.null and self.null.encode() in whole:
            return True
        begins, stops = ends[:-1] - first, ends[1:] - first - 1
        if not lengths.all():
            begins, stops = begins[lengths > 0], stops[lengths > 0]
        bytes_ = np.frombuffer(whole, np.uint8)
        return bool((bytes_[begins] == _SPACE).any() or (bytes_[stops] == _SPACE).any())

    def _quote(self, texts: pa.Array) -> pa.Array:
        if holds(texts, self.quote):
            texts = pc.replace_substring(texts, self.quote, self.quote * 2)
        return join_texts(self.quote, texts, self.quote)


def write_delimited_text(path: Path, rows: Rows, values: Values, job: Job) -> None:
    dialect = Dialect.of(values)
    encode = _encoder(values["encoding"])
    with Output(path) as output:
        output.write(MARKS.get(values["encoding"], b""))
        for text in _texts(dialect, rows, values["header"]):
            output.write(encode(text))


def _texts(dialect: Dialect, rows: Rows, header: bool) -> Iterator[Any]:
    end = dialect.newline.encode()
    if header:
        yield dialect.header(rows.schema.names).encode()
    first = True
    most_rows = max(LEAST_ROWS, min(MOST_ROWS, CELLS_AT_ONCE // max(1, len(rows.schema))))
    for lines in made_in_order(pieces(rows.tables, most_rows), dialect.lines):
        yield memoryview(lines)[len(end) :] if first else lines
        first = False
    if not first:
        yield end


def _encoder(name: str) -> Any:
    codec = ENCODINGS[name]
    if codec == "utf-8":
        return lambda text: text

    def encode(text: Any) -> bytes:
        try:
            return str(text, "utf-8").encode(codec)
        except UnicodeEncodeError as error:
            sign = error.object[error.start]
            raise BadData(
                f"{name} has no character '{visible(sign)}' (U+{ord(sign):04X})",
                fix="Choose utf-8-bom, which Excel reads as well, or utf-16",
            ) from error

    return encode
